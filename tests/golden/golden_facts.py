"""Records of results: digests of their measurements, and all numbers that they report.

Only `measured` reads internal parts of a result. All other functions use public names, so that
they stay as they are while those names do.
"""

import hashlib
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp import QueryError
from graphcuts_dp.synth.budget_plans import SQUARED_DISTANCE

Record = dict[str, Any]
Shape = tuple[int, ...]  # (n,), or (left, right) of a bipartite graph


def exact(values: Any) -> str:
    """Return a digest of numbers, rounded to nine decimal places of their exponent form.

    They are multiplied by an irrational number first, so that none lies half-way between two
    roundings, where the last bit would decide.
    """
    text = " ".join(f"{x * math.e:.9e}" for x in np.asarray(values, dtype=np.float64).ravel())
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def measured(result: Any) -> Record:
    """Return a digest of each measurement of a result, by its name; {} if it has none here.

    The squared distance of a fit is left out: its last digits are those of the fit.
    """
    if isinstance(result, gc.Release):
        measurements = [
            measurement
            for measurement in result.measurements.values
            if measurement.name != SQUARED_DISTANCE
        ]
        return {measurement.name: _digest(measurement) for measurement in measurements}
    if isinstance(result, gc.Flows | gc.results.FlowsOverTime):
        return {f"level {i}": exact(sums) for i, sums in enumerate(result.noisy.steps)}
    transcript = getattr(result, "transcript", None)
    if transcript:
        return {"noisy answers": [float(entry.value) for entry in transcript]}
    return {}


def _digest(measurement: Any) -> str:
    if measurement.name == "entries":
        return exact(measurement.steps)
    if measurement.name == "kept edges":
        return exact([measurement.rows, measurement.columns, measurement.steps * measurement.unit])
    return exact(np.concatenate(measurement.values))


def guarantee_record(guarantee: gc.PrivacyGuarantee) -> Record:
    """Return the numbers and the sentences of a guarantee."""
    return {
        "epsilon": float(guarantee.epsilon),
        "delta": float(guarantee.delta),
        "privacy_unit": guarantee.privacy_unit,
        "neighbours": guarantee.neighbours,
        "spent": {name: float(spent) for name, spent in guarantee.spent},
    }


def answer_numbers(answer: Any) -> list[float]:
    """Return the estimate, both ends of the interval, and the typical error if there is one."""
    low, high = answer.interval
    numbers = [float(getattr(answer, "estimate", answer.value)), float(low), float(high)]
    typical_error = getattr(answer, "typical_error", None)
    return numbers if typical_error is None else [*numbers, float(typical_error)]


def reply_record(reply: Any) -> Record:
    """Return a reply of a session: its answer, its updates, and what is left for later queries."""
    record: Record = {"answer": answer_numbers(reply)}
    if reply.updates:
        record["updates"] = [[update.sign, update.value] for update in reply.updates]
    record["left"] = [reply.guaranteed, reply.queries_left, reply.updates_left]
    return record


def certificate_record(certificate: Any) -> Record | None:
    """Return both bounds of a certificate and its method; None without a certificate."""
    if certificate is None:
        return None
    return {"bounds": [certificate.lower, certificate.upper], "method": certificate.method}


def cuts_of(shape: Shape) -> list[gc.CutQuery]:
    """Return cuts of every kind between the vertices of a graph: single, halves, alternate, all."""
    if len(shape) == 2:
        left, right = shape
        return [
            gc.CutQuery([0]),
            gc.CutQuery(range(left // 2), range(right // 2)),
            gc.CutQuery(range(0, left, 2), range(1, right, 2)),
            gc.CutQuery("*", [1]),
            gc.CutQuery("*", "*"),
        ]
    (n,) = shape
    return [
        gc.CutQuery([0]),
        gc.CutQuery(range(n // 2)),
        gc.CutQuery(range(0, n, 2), range(1, n, 2)),
        gc.CutQuery(range(n // 2), range(n // 3, n - 2)),
        gc.CutQuery("*", "*"),
    ]


def other_queries(shape: Shape) -> list[gc.Query]:
    """Return a rank-one query and a matrix query, both with coefficients that differ."""
    rows, columns = shape if len(shape) == 2 else shape * 2
    u, v = np.arange(rows) / rows, (np.arange(columns) * 3 % 7) / 7
    coefficients = np.add.outer(np.arange(rows), np.arange(columns)) % 5 - 1.0
    if len(shape) == 1:
        np.fill_diagonal(coefficients, 0)
    return [gc.Query.rank_one(u, v), gc.Query.matrix(coefficients)]


def release_record(release: gc.Release, shape: Shape) -> Record:
    """Return everything that a release of a graph reports."""
    cuts = cuts_of(shape)
    record = {
        "guarantee": guarantee_record(release.guarantee),
        "measured": measured(release),
        "answers": [answer_numbers(answer) for answer in release.answer_all(cuts)],
        "at 99 %": answer_numbers(release.answer(cuts[1], confidence=0.99)),
        "simultaneous": answer_numbers(release.answer(cuts[1], simultaneous=True)),
        "joint": [answer_numbers(answer) for answer in release.answer_all(cuts[:3], joint=True)],
    }
    with suppress(QueryError):  # of models without an entry for each pair
        record["other queries"] = [
            answer_numbers(release.answer(query)) for query in other_queries(shape)
        ]
    if release.has_graph:
        graph_record = {
            "certificate": certificate_record(release.certificate),
            "worst cut error": release.worst_cut_error_bound(),
        }
        random_halves = release.random_halves()
        if random_halves is not None:
            graph_record["random halves"] = random_halves.to_dict()
        if release.fit.rounding is None:
            record |= graph_record | {"graph": [query.value(release.graph) for query in cuts]}
        else:  # another kernel may draw another edge, so the graph itself is not compared
            record["rounded"] = graph_record
            record["expected"] = [query.value(release.expected) for query in cuts]
        shrunk_answers = release.answer_all(cuts, estimate="shrunk")
        record[shrunk_answers[0].kind] = [answer_numbers(answer) for answer in shrunk_answers]
    return record


def flows_record(flows: gc.Flows) -> Record:
    """Return everything that a table of flows between groups reports."""
    record = {"guarantee": guarantee_record(flows.guarantee), "measured": measured(flows)}
    record["total"] = [*answer_numbers(flows.total), flows.total.deviation]
    for level in flows.levels:
        low, high = flows.intervals(level)
        record[level] = {
            "values": np.ravel(flows.values(level)).tolist(),
            "deviations": np.ravel(flows.deviations(level)).tolist(),
            "interval": [np.ravel(low).tolist(), np.ravel(high).tolist()],
        }
    first_group = flows.groups.labels()[0]
    record["between"] = answer_numbers(flows.between(first_group, flows.right_groups.labels()[-1]))
    record["simultaneous"] = answer_numbers(
        flows.between(first_group, first_group, simultaneous=True)
    )
    if flows.counted_rows is not None and flows.counted_rows.known_max is not None:
        record["all rows"] = list(flows.total.all_rows)
    return record


def updates_record(flows: gc.results.FlowsOverTime) -> Record:
    """Return everything that a table over time reports."""
    table = flows.columns()
    record = {"guarantee": guarantee_record(flows.guarantee), "measured": measured(flows)}
    record["windows"] = list(flows.windows)
    record |= {name: table[name].tolist() for name in ("estimate", "deviation", "low", "high")}
    record["total"] = [*answer_numbers(flows.total()), flows.total().deviation]
    return record


def cut_record(partition: gc.Partition) -> Record:
    """Return everything that a least cut reports."""
    return {
        "guarantee": guarantee_record(partition.guarantee),
        "parts": partition.codes.tolist(),
        "excess": exact(partition.shortfall),
        "weight": [
            exact(weight) for weight in (partition.value, *partition.interval, *partition.optimum)
        ],
    }


def answers_record(answers: Any, queries: Sequence[gc.Query]) -> Record:
    """Return everything that a list of answers, learned or measured at once, reports."""
    record = {
        "guarantee": guarantee_record(answers.guarantee),
        "measured": measured(answers),
        "answers": [answer_numbers(answers.answer(query)) for query in queries],
    }
    if answers.has_graph:
        graph = answers.graph
        record["graph"] = [
            float(query.value(graph)) for query in queries if isinstance(query, gc.CutQuery)
        ]
    record["errors"] = [answers.accuracy.error, answers.accuracy.graph_error]
    record |= {"deviation": answers.accuracy.deviation} if answers.accuracy.deviation else {}
    return record | ({"members": answers.law.members} if hasattr(answers.law, "members") else {})


EXACTLY = 1e-9  # of numbers that do not depend on the kernels of linear algebra
_ROUNDED = 0.15  # of what another kernel may round to another edge
_OF_A_FIT = ("graph", "expected", "shrunk", "certificate", "worst cut error", "random halves")


def differences(result: Any, recorded: Any, fitted: float = EXACTLY, path: str = "") -> list[str]:
    """Return a line for each difference between two records.

    Numbers differ if they are further apart than a tolerance, relative and absolute; all other
    values if they are not equal.

    Args:
        result: record of a result.
        recorded: record from the file.
        fitted: tolerance of numbers about a synthetic graph, since another kernel of linear algebra
            ends fits elsewhere; that of all others is 1e-9.
        path: where both stand in the whole record, such as "/graph[0]".
    """
    if isinstance(recorded, dict) and isinstance(result, dict):
        parts = [(result.get(key), recorded.get(key), f"/{key}") for key in recorded | result]
    elif (
        isinstance(recorded, list)
        and isinstance(result, list | tuple)
        and len(recorded) == len(result)
    ):
        pairs = zip(result, recorded, strict=True)
        parts = [(value, known, f"[{index}]") for index, (value, known) in enumerate(pairs)]
    elif _is_close(result, recorded, _tolerance(path, fitted)):
        return []
    else:
        return [f"{path}: {result!r}, recorded {recorded!r}"]
    return [
        line
        for value, recorded_value, step in parts
        for line in differences(value, recorded_value, fitted, path + step)
    ]


def _tolerance(path: str, fitted: float) -> float:
    if path.startswith("/rounded"):
        return _ROUNDED
    return fitted if path.startswith(tuple(f"/{name}" for name in _OF_A_FIT)) else EXACTLY


def _is_close(value: Any, recorded: Any, tolerance: float) -> bool:
    types = {type(value), type(recorded)}
    if float in types and types <= {int, float}:
        return value == recorded or abs(value - recorded) <= tolerance * (1 + abs(recorded))
    return len(types) == 1 and value == recorded
