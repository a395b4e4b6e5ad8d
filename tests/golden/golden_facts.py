"""What is recorded of a result: the measurements to the last bit, and all numbers that it tells.

Only `measured` knows the inside of a result. The rest uses public names, so that a rebuilding which
keeps these needs no change here but in that one function.
"""

import hashlib
import math
from contextlib import suppress

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp import QueryError
from graphcuts_dp.synth.budget_plans import SQUARED_DISTANCE


def exact(values):
    """A digest of numbers, to nine digits; the measurements of a seed are the same everywhere.

    They are multiplied by an irrational number first, so that none lies half-way between two
    roundings, where the last bit would decide.
    """
    text = " ".join(f"{x * math.e:.9e}" for x in np.asarray(values, dtype=np.float64).ravel())
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def measured(result):
    """Digest of each noisy value that a result was made from, by name.

    The squared distance of a fit is left out: its last digits are those of the fit.
    """
    if isinstance(result, gc.Release):
        parts = [part for part in result.measurements.values if part.name != SQUARED_DISTANCE]
        return {part.name: _part(part) for part in parts}
    if isinstance(result, gc.Flows | gc.results.FlowsOverTime):
        return {f"level {i}": exact(sums) for i, sums in enumerate(result.noisy.steps)}
    bought = getattr(result, "transcript", None)
    if bought:
        return {"noisy answers": [float(entry.value) for entry in bought]}
    return {}


def _part(part):
    if part.name == "entries":
        return exact(part.steps)
    if part.name == "kept edges":
        return exact([part.rows, part.columns, part.steps * part.unit])
    return exact(np.concatenate(part.values))


def facts_of(guarantee):
    """What is guaranteed, in numbers and in words."""
    return {
        "epsilon": float(guarantee.epsilon),
        "delta": float(guarantee.delta),
        "privacy_unit": guarantee.privacy_unit,
        "neighbours": guarantee.neighbours,
        "spent": {name: float(spent) for name, spent in guarantee.spent},
    }


def answer(given):
    """A value and its interval, and what else an answer of its kind tells."""
    told = [float(getattr(given, "estimate", given.value)), *(float(end) for end in given.interval)]
    extra = getattr(given, "typical_error", None)
    return told if extra is None else [*told, float(extra)]


def reply(given):
    """An answer of a session: also the corrections, and what is left."""
    told = {"answer": answer(given)}
    if given.updates:
        told["updates"] = [[update.sign, update.value] for update in given.updates]
    left = [given.guaranteed, given.queries_left, given.updates_left]
    return told | {"left": left}


def certificate(found):
    """Both bounds and how they were proven."""
    if found is None:
        return None
    return {"bounds": [found.lower, found.upper], "method": found.method}


def cuts_of(shape):
    """Cuts of every shape between the vertices of such a graph: (n,) or (left, right)."""
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


def other_queries(shape):
    """A rank-one and a matrix query, each with coefficients that differ."""
    rows, columns = shape if len(shape) == 2 else shape * 2
    u, v = np.arange(rows) / rows, (np.arange(columns) * 3 % 7) / 7
    both = np.add.outer(np.arange(rows), np.arange(columns)) % 5 - 1.0
    if len(shape) == 1:
        np.fill_diagonal(both, 0)
    return [gc.Query.rank_one(u, v), gc.Query.matrix(both)]


def of_release(made, shape):
    """Everything that a release of a graph tells."""
    cuts = cuts_of(shape)
    told = {
        "guarantee": facts_of(made.guarantee),
        "measured": measured(made),
        "answers": [answer(given) for given in made.answer_all(cuts)],
        "at 99 %": answer(made.answer(cuts[1], confidence=0.99)),
        "simultaneous": answer(made.answer(cuts[1], simultaneous=True)),
        "joint": [answer(given) for given in made.answer_all(cuts[:3], joint=True)],
    }
    with suppress(QueryError):  # of models without an entry for each pair
        told["other queries"] = [answer(made.answer(query)) for query in other_queries(shape)]
    if made.has_graph:
        of_graph = {
            "certificate": certificate(made.certificate),
            "worst cut error": made.worst_cut_error_bound(),
        }
        halves = made.random_halves()
        if halves is not None:
            of_graph["random halves"] = halves.to_dict()
        if made.fit.rounding is None:
            told |= of_graph | {"graph": [query.value(made.graph) for query in cuts]}
        else:  # another kernel may draw another edge, so the graph itself is not compared
            told["rounded"] = of_graph
            told["expected"] = [query.value(made.expected) for query in cuts]
        nearer = made.answer_all(cuts, estimate="shrunk")
        told[nearer[0].kind] = [answer(given) for given in nearer]
    return told


def of_flows(made):
    """Everything that tables between groups tell."""
    told = {"guarantee": facts_of(made.guarantee), "measured": measured(made)}
    told["total"] = [*answer(made.total), made.total.deviation]
    for level in made.levels:
        low, high = made.intervals(level)
        told[level] = {
            "values": np.ravel(made.values(level)).tolist(),
            "deviations": np.ravel(made.deviations(level)).tolist(),
            "interval": [np.ravel(low).tolist(), np.ravel(high).tolist()],
        }
    first = made.groups.labels()[0]
    told["between"] = answer(made.between(first, made.right_groups.labels()[-1]))
    told["simultaneous"] = answer(made.between(first, first, simultaneous=True))
    if made.counted_rows is not None and made.counted_rows.known_max is not None:
        told["all rows"] = list(made.total.all_rows)
    return told


def of_updates(made):
    """Everything that tables over time tell."""
    table = made.columns()
    told = {"guarantee": facts_of(made.guarantee), "measured": measured(made)}
    told["windows"] = list(made.windows)
    told |= {name: table[name].tolist() for name in ("estimate", "deviation", "low", "high")}
    told["total"] = [*answer(made.total()), made.total().deviation]
    return told


def of_cut(made):
    """Everything that a least cut tells."""
    return {
        "guarantee": facts_of(made.guarantee),
        "parts": made.codes.tolist(),
        "excess": exact(made.shortfall),
        "weight": [exact(each) for each in (made.value, *made.interval, *made.optimum)],
    }


def of_answers(made, queries):
    """Everything that a list of answers, learnt or bought at once, tells."""
    told = {
        "guarantee": facts_of(made.guarantee),
        "measured": measured(made),
        "answers": [answer(made.answer(query)) for query in queries],
    }
    if made.has_graph:
        graph = made.graph
        told["graph"] = [
            float(query.value(graph)) for query in queries if isinstance(query, gc.CutQuery)
        ]
    told["errors"] = [made.accuracy.error, made.accuracy.graph_error]
    told |= {"deviation": made.accuracy.deviation} if made.accuracy.deviation else {}
    return told | ({"members": made.law.members} if hasattr(made.law, "members") else {})


EXACTLY = 1e-9
_ROUNDED = 0.15
_OF_A_FIT = ("graph", "expected", "shrunk", "certificate", "worst cut error", "random halves")


def differences(found, known, fitted=EXACTLY, where=""):
    """Where two records differ, in words: numbers by more than a tolerance, the rest at all.

    Numbers may differ by 1e-9, relative and absolute; those of a synthetic graph and what is said
    of it by `fitted`, since fits end elsewhere under another kernel of linear algebra.
    """
    if isinstance(known, dict) and isinstance(found, dict):
        places = [(found.get(name), known.get(name), f"/{name}") for name in known | found]
    elif isinstance(known, list) and isinstance(found, list | tuple) and len(known) == len(found):
        places = [(*both, f"[{i}]") for i, both in enumerate(zip(found, known, strict=True))]
    else:
        near = fitted if where.startswith(tuple(f"/{name}" for name in _OF_A_FIT)) else EXACTLY
        near = _ROUNDED if where.startswith("/rounded") else near
        numbers = all(type(value) in (int, float) for value in (found, known))
        same = type(found) is type(known) and found == known
        if numbers and not same and float in (type(found), type(known)):
            same = found == known or abs(found - known) <= near * (1 + abs(known))
        return [] if same else [f"{where}: {found!r}, recorded {known!r}"]
    return [
        line
        for one, other, step in places
        for line in differences(one, other, fitted, where + step)
    ]
