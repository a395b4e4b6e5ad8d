"""Measure errors on JT12's bipartite families with three potentials: guaranteed, and of sessions.

A query is a set of left vertices against at most |S| right ones. Guarantees come from degrees
alone, so they reach sizes that no hypothesis fits in; they are for V^|S| queries, as many as there
are with all left vertices, which are the paper's, and take the truth's own divergence from the
start and its total as known. Sessions are those of `open_session`, which measure what they need,
against an analyst who knows the truth and always asks a query that the hypothesis answers worst;
there |S| = V/2 and 1,000 queries are guaranteed, because with few right vertices no guarantee beats
answering 0 at a size that fits. Sessions with l_2 and entropy start at the noisy density, those
with (2,p) at nothing, with JT12's p. What is measured here is not private.

Source: JT12, section 4.1.
"""

import itertools
import math
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import AccuracyWarning
from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.learn.potentials import near_one
from graphcuts_dp.plotting.style import PAGE, house_style
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.resources import Progress
from graphcuts_dp.session.session import session_of
from scripts.figures.analysts import worst_cut
from scripts.figures.base import Finding, Table, at_full_size, below, exponent, near
from scripts.figures.bounds import mirror_descent_updates
from scripts.figures.random_graphs import imbalanced_bipartite, power_law_bipartite
from scripts.figures.rates import BipartiteRates, imbalanced_rates, power_law_rates
from scripts.figures.style import log_log, look, plain_log_ticks, trivial_look
from scripts.figures.table_one import tight_error

METHODS = ("l_2", "entropy", "(2,p)")
COLUMNS = ("part", "method", "V", "|S|", "log10 queries", "quantity", "repeat", "error")
# Powers of ln V in a guarantee for V^|S| queries: ln(queries)^(1/2), and the potential's own.
_LOGS: Mapping[str, float] = {"l_2": 0.5, "entropy": 0.75, "(2,p)": 0.75}
_EPSILON, _DELTA, _BETA = 1.0, 1e-6, 0.05
_SIZE, _SIDE = 16, 10**6  # |S| while V varies, V while |S| varies
_SIZES = (64, 256, 1024, 4096, 16384)
_QUERIES, _ASKED = 1000, 60  # guaranteed to a session; asked in it
_SIDES = (128, 181, 256, 362, 512, 724)
_QUICK_SIDES = (40, 64, 96)
_GUARANTEE_TOLERANCE, _SESSION_TOLERANCE = 0.03, 0.06

Row = tuple[str, str, int, int, float, str, int, float]
EXPONENT = 1.25  # b of the power law, inside the paper's 1 < b < 3/2
_GROUP_NORM = "JT12 4.1, guaranteed error with (2,p): exponent of V, logarithms divided out"
_LEAST_SIDES = 3  # that an exponent of sessions is fitted to
_NAMES = {
    "l_2": r"$\ell_2$ (Frieze–Kannan)",
    "entropy": "entropy (weights)",
    "(2,p)": "$(2,p)$",
}
_SEEN = "largest error of a session"


@final
@dataclass(frozen=True)
class Family:
    """A family of graphs with V left and V right vertices.

    Attributes:
        name: in words.
        degrees: for V, the left degrees that occur and how many vertices have each.
        graph: for V and a seed, a member.
        rates: for V and |S|, the claims, without logarithms.
        powers: powers of 10 for V in the full experiment.
    """

    name: str
    degrees: Callable[[int], tuple[FloatVector, FloatVector]]
    graph: Callable[[int, int], BipartiteGraph]
    rates: Callable[[float, float], BipartiteRates]
    powers: Sequence[int]


def _imbalanced_degrees(side: int) -> tuple[FloatVector, FloatVector]:
    hubs = round(side**0.75)
    return np.array([side, round(side**0.5)], float), np.array([hubs, side - hubs], float)


def _power_law_degrees(side: int) -> tuple[FloatVector, FloatVector]:
    """Return the distribution itself, not rounded to whole numbers of vertices."""
    degrees = np.arange(1, side + 1, dtype=np.float64)
    counts = degrees**-EXPONENT
    return degrees, side * counts / counts.sum()


IMBALANCED = Family(  # few left vertices joined to all, most to few
    name="imbalanced",
    degrees=_imbalanced_degrees,
    graph=lambda side, seed: imbalanced_bipartite(side, seed=seed),
    rates=imbalanced_rates,
    powers=range(2, 9),
)
POWER_LAW = Family(
    name="power law",
    degrees=_power_law_degrees,
    graph=lambda side, seed: power_law_bipartite(side, EXPONENT, seed=seed),
    rates=lambda side, size: power_law_rates(side, size, EXPONENT),
    powers=range(2, 8),
)


def measure_imbalanced(*, quick: bool, seed: int, progress: Progress) -> Table:
    """Guaranteed errors against V and |S|, and errors of sessions, with three potentials on
    imbalanced bipartite graphs, over the error of answering 0.

    Tests: JT12 section 4.1, equations (2) to (5).
    """
    return measure_family(IMBALANCED, quick=quick, seed=seed, progress=progress)


def measure_power_law(*, quick: bool, seed: int, progress: Progress) -> Table:
    """The same on bipartite graphs whose left degrees follow a power law.

    The paper prints V^(3/4-b/2) for (2,p); V^(5/4-b/2) is right. A finding tells the printed one
    apart.

    Tests: JT12 section 4.1, with the exponent 5/4 - b/2 where 3/4 - b/2 is printed.
    """
    table = measure_family(POWER_LAW, quick=quick, seed=seed, progress=progress)
    (corrected,) = (one for one in table.findings if one.statement == _GROUP_NORM)
    statement, claimed = f"{corrected.statement}, as printed", 0.75 - EXPONENT / 2
    printed = near(statement, corrected.measured, claimed=claimed, tolerance=_GUARANTEE_TOLERANCE)
    parameters = {**table.parameters, "exponent of the distribution": EXPONENT}
    return replace(table, parameters=parameters, findings=[*table.findings, printed])


def measure_family(family: Family, *, quick: bool, seed: int, progress: Progress) -> Table:
    """Measure guarantees against V and |S|, sessions against V, and their exponents.

    Args:
        family: of graphs.
        quick: see `Experiment`.
        seed: see `Experiment`.
        progress: see `Experiment`.
    """
    powers = family.powers[: -2 if quick else None]
    sides, repeats = (_QUICK_SIDES, 1) if quick else (_SIDES, 3)
    rows = []
    for power in powers:
        progress(0.1 * (power / powers[-1]), f"guarantees for V = 10^{power}")
        rows += _guaranteed(family, "V varies", 10**power, _SIZE)
    for size in _SIZES:
        rows += _guaranteed(family, "|S| varies", _SIDE, size)
    rows += _claimed(rows, family)
    work, done = sum(side**2 for side in sides), 0
    for side in sides:
        progress(0.1 + 0.9 * done / work, f"sessions for V = {side}")
        rows += _sessions(family, side, repeats, seed)
        done += side**2
    parameters = {
        "family": family.name,
        "epsilon": _EPSILON,
        "delta": _DELTA,
        "beta": _BETA,
        "powers": list(powers),
        "sizes": list(_SIZES),
        "sides": list(sides),
        "repeats": repeats,
        "queries of a session": _QUERIES,
        "asked in a session": _ASKED,
    }
    return Table.of(COLUMNS, rows, parameters, lambda table: _findings(table, family))


def update_bounds(
    degrees: FloatVector, counts: FloatVector, side: int, size: int
) -> dict[str, UpdateBound]:
    """Return B of each method, for cuts with at most `size` right vertices.

    Args:
        degrees: left degrees that occur.
        counts: how many vertices have each, >= 0, not always whole.
        side: V.
        size: |S|.
    """
    edges = float(degrees @ counts)
    p = near_one(side)
    squared = float((counts * degrees ** (p / 2)).sum()) ** (2 / p)
    widest = math.sqrt(size)  # the dual norm of one row
    return {
        "l_2": mirror_descent_updates(widest * math.sqrt(side), edges / 2),
        "entropy": mirror_descent_updates(0.5, edges**2 * math.log(side**2 / edges)),
        "(2,p)": mirror_descent_updates(widest * side ** (1 - 1 / p), squared / (2 * (p - 1))),
    }


def _guaranteed(family: Family, part: str, side: int, size: int) -> list[Row]:
    degrees, counts = family.degrees(side)
    head = (side, size, size * math.log10(side))
    rows: list[Row] = []
    for method, bound in update_bounds(degrees, counts, side, size).items():
        error = tight_error(bound, log_queries=size * math.log(side))
        rows.append((part, method, *head, "guaranteed", 0, error))
    # All left vertices against |S| right ones, whose degrees are |E|/V on average.
    nothing = float(degrees @ counts) * size / side
    rows.append((part, "answer 0", *head, "exact", 0, nothing))
    return rows


def _claimed(rows: Sequence[Row], family: Family) -> list[Row]:
    """Return the claims with their logarithms, scaled so that they meet the last guarantees."""
    claimed: list[Row] = []
    for part, method in itertools.product(("V varies", "|S| varies"), METHODS):
        claim = _claim(family, method)
        guaranteed = [
            row for row in rows if (row[0], row[1], row[5]) == (part, method, "guaranteed")
        ]
        shape = [claim(row[2], row[3]) * math.log(row[2]) ** _LOGS[method] for row in guaranteed]
        for row, value in zip(guaranteed, shape, strict=True):
            error = value * guaranteed[-1][7] / shape[-1]
            claimed.append((*row[:5], "claimed, scaled", 0, error))
    return claimed


def _sessions(family: Family, side: int, repeats: int, seed: int) -> list[Row]:
    """Return the largest errors of sessions, and their guarantees."""
    graph = family.graph(side, seed)
    truth, size = graph.dense().astype(np.float64), side // 2
    norms = {"l_2": "l2", "entropy": "entropy", "(2,p)": f"2,{near_one(side):.9f}"}
    rows: list[Row] = []
    head = (side, size, math.log10(_QUERIES))
    for method in METHODS:
        guarantees = []
        for repeat in range(repeats):
            run = seed * repeats + repeat
            guarantee, error = _session(norms[method], graph, truth, size, run)
            rows.append(("session", method, *head, "measured", repeat, error))
            guarantees.append(guarantee)
        rows.append(("session", method, *head, "guaranteed", 0, max(guarantees)))
    # All left vertices against the right ones of largest, or of smallest, degrees.
    degrees = np.sort(truth.sum(axis=0))
    off = np.cumsum(degrees - degrees.mean())
    rows.append(("session", "answer 0", *head, "exact", 0, float(degrees[-size:].sum())))
    rows.append(("session", "uniform graph", *head, "exact", 0, float(np.abs(off).max())))
    return rows


def _session(
    norm: str, graph: BipartiteGraph, truth: npt.NDArray[np.float64], size: int, seed: int
) -> tuple[float, float]:
    """Return the guaranteed error and the largest error of one session on a store.

    The analyst asks no query twice, since the second answer would come from the record.
    """
    rng = np.random.default_rng([seed, len(truth)])
    earlier_cuts: set[bytes] = set()
    largest = 0.0
    terms: dict[str, Any] = {"epsilon": _EPSILON, "delta": _DELTA, "beta": _BETA}
    terms |= {"method": "mirror-descent", "norm": norm, "queries": _QUERIES, "max_right_size": size}
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(action="ignore", category=AccuracyWarning),
        session_of(graph, store=Path(folder) / "store.db", **terms, seed=seed) as session,
    ):
        for _ in range(_ASKED):
            residual = truth - session.hypothesis
            S, T = session.universe.masks(
                worst_cut(residual, session.universe, rng=rng, max_right_size=size)
            )
            while (key := np.packbits(np.append(S, T)).tobytes()) in earlier_cuts:
                S = S ^ (np.arange(len(S)) == rng.integers(len(S)))
            earlier_cuts.add(key)
            answer = session.ask(S, T)
            if not answer.guaranteed:
                break
            largest = max(largest, abs(answer.value - CutQuery(S, T).value(graph)))
        return session.error_bound, float(largest)


# What the table says about the claims


def _findings(table: Table, family: Family) -> list[Finding]:
    """Compare exponents of guarantees and sessions with the claims, and methods by size."""
    findings = []
    for method in METHODS:
        claim = _claim(family, method)
        findings += [
            exponent(
                f"JT12 4.1, guaranteed error with {method}: exponent of V, logarithms divided out",
                _without_logs(*_series(table, "V varies", method, "guaranteed"), _LOGS[method]),
                math.log(claim(math.e, 1)),
                _GUARANTEE_TOLERANCE,
            ),
            exponent(
                f"JT12 4.1, guaranteed error with {method}: exponent of |S|",
                _series(table, "|S| varies", method, "guaranteed"),
                math.log(claim(1, math.e)),
                _GUARANTEE_TOLERANCE,
            ),
            # The claims hold ln(queries)^(1/2) ~ (|S| ln V)^(1/2), which is fixed here.
            exponent(
                f"JT12 (2)-(4), error of sessions with {method}, |S| = V/2: exponent of V,"
                " logarithms divided out",
                _without_logs(*_learnt(table, method), _LOGS[method] - 0.5),
                math.log(claim(math.e, math.e)) - 0.5,
                _SESSION_TOLERANCE,
                too_small=bool(_useful(table, method).sum() < _LEAST_SIDES),
            ),
        ]
    return [*findings, *_comparisons(table, family)]


def _learnt(table: Table, method: str) -> tuple[FloatVector, FloatVector]:
    """Return V and the errors of sessions that guarantee less than answering 0.

    At least the largest V, as many as an exponent needs.
    """
    sides, errors = _series(table, "session", method, "measured")
    useful = _useful(table, method)
    useful[-_LEAST_SIDES:] = True
    return sides[useful], errors[useful]


def _useful(table: Table, method: str) -> npt.NDArray[np.bool_]:
    """Tell at which V sessions guarantee less than answering 0.

    Elsewhere the threshold is above every possible error, and nothing is learnt: such sessions say
    nothing of an exponent.
    """
    guaranteed = _series(table, "session", method, "guaranteed")[1]
    useful: npt.NDArray[np.bool_] = guaranteed < _series(table, "session", "answer 0", "exact")[1]
    return useful


def _comparisons(table: Table, family: Family) -> list[Finding]:
    guaranteed = {method: _series(table, "V varies", method, "guaranteed")[1] for method in METHODS}
    sides, zero = _series(table, "V varies", "answer 0", "exact")
    ratio = guaranteed["(2,p)"] / guaranteed["l_2"]
    gain = _claim(family, "(2,p)")(math.e, 1) / _claim(family, "l_2")(math.e, 1)
    best = min(errors[-1] for errors in guaranteed.values()) / zero[-1]
    largest = f"V = {sides[-1]:.0e}"
    uniform = _series(table, "session", "uniform graph", "exact")[1]
    session = [_series(table, "session", method, "guaranteed")[1] for method in METHODS]
    worst = max(
        float((_by_repeat(table, "session", method, "measured")[1].max(axis=1) / errors).max())
        for method, errors in zip(METHODS, session, strict=True)
    )
    return [
        exponent(
            "JT12 4.1, (2,p) over l_2 = o(1): exponent of V, logarithms divided out",
            _without_logs(sides, ratio, _LOGS["(2,p)"] - _LOGS["l_2"]),
            math.log(gain),
            _GUARANTEE_TOLERANCE,
        ),
        below(
            f"JT12 4.1, (2,p) guarantees less than l_2: ratio at {largest}",
            ratio[-1],
            at_full=at_full_size(
                ratio[-1], size=sides[-1], full=10.0 ** family.powers[-1], growth=math.log(gain)
            ),
        ),
        below(
            f"JT12 4.1, better than answering 0: the best guarantee over 0's error at {largest},"
            f" |S| = {_SIZE}",
            best,
        ),
        below(
            "A uniform graph answers the paper's queries, all left vertices against S, with less"
            " error than any guarantee: largest ratio for |S| = V/2",
            float((uniform / np.min(session, axis=0)).max()),
        ),
        below("No session errs by more than it guaranteed: largest error over guarantee", worst),
    ]


def _without_logs(x: FloatVector, y: FloatVector, power: float) -> tuple[FloatVector, FloatVector]:
    return x, y / np.log(x) ** power


def _claim(family: Family, method: str) -> Callable[[float, float], float]:
    name = {"l_2": "frieze_kannan", "entropy": "multiplicative_weights", "(2,p)": "group_norm"}
    return lambda side, size: float(getattr(family.rates(side, size), name[method]))


def _by_repeat(
    table: Table, part: str, method: str, quantity: str
) -> tuple[FloatVector, FloatMatrix]:
    """Return the values of what varies, and the errors of all repeats."""
    by = "|S|" if part == "|S| varies" else "V"
    x, errors = table.series(by, "error", part=part, method=method, quantity=quantity)
    return np.array(x, dtype=np.float64), errors


def _series(table: Table, part: str, method: str, quantity: str) -> tuple[FloatVector, FloatVector]:
    """Return means over repeats, by what varies."""
    x, errors = _by_repeat(table, part, method, quantity)
    return x, errors.mean(axis=1)


def draw(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of `measure_family`.

    Returns:
        A figure of three panels of errors over the error of answering 0: guarantees against V and
        against |S|, with the claims as thin lines that meet them at the right; and guarantees to
        sessions, with the largest errors seen in them (median and range over seeds).
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 3.2))
        by_side, by_size, sessions = figure.subplots(1, 3)
        _draw_guarantees(by_side, table, "V")
        _draw_guarantees(by_size, table, "|S|")
        _draw_sessions(sessions, table)
        (shared,) = {row["|S|"] for row in table.where(part="V varies")}
        by_side.set(
            title=f"Guarantees, |S| = {shared}",
            xlabel="V, vertices on each side",
            ylabel="error / error of answering 0",
        )
        (shared,) = {row["V"] for row in table.where(part="|S| varies")}
        by_size.set(title=f"Guarantees, V = {shared:,}", xlabel="|S|, right vertices of a cut")
        figure.legend(handles=_legend(by_side), loc="outside lower left", ncols=3, fontsize=8)
    return figure


def _legend(axes: Axes) -> list[Line2D]:
    """Order methods in the upper row, others below; legends fill columns first."""
    methods = [line for line in axes.lines if line.get_label() in _NAMES.values()]
    other_lines = [
        Line2D([], [], color="black", linewidth=0.6, label="claimed powers and logarithms"),
        Line2D([], [], label="answer 0", **trivial_look()),
        Line2D([], [], color="black", linestyle="none", marker="o", ms=4, label=_SEEN),
    ]
    return [line for pair in zip(methods, other_lines, strict=True) for line in pair]


def _draw_guarantees(axes: Axes, table: Table, varied: str) -> None:
    part = f"{varied} varies"
    sizes, zero = _series(table, part, "answer 0", "exact")
    for index, (method, name) in enumerate(_NAMES.items()):
        guaranteed = _series(table, part, method, "guaranteed")[1]
        axes.plot(sizes, guaranteed / zero, label=name, **look(index))
        claimed = _series(table, part, method, "claimed, scaled")[1]
        axes.plot(sizes, claimed / zero, color="black", linewidth=0.6)
    axes.plot(sizes, np.ones(len(zero)), **trivial_look())
    log_log(axes)
    plain_log_ticks(axes.yaxis)


def _draw_sessions(axes: Axes, table: Table) -> None:
    sides, zero = _series(table, "session", "answer 0", "exact")
    for index, method in enumerate(_NAMES):
        how = look(index)
        guaranteed = _series(table, "session", method, "guaranteed")[1]
        axes.plot(sides, guaranteed / zero, **(how | {"marker": ""}))
        shares = _by_repeat(table, "session", method, "measured")[1] / zero[:, None]
        middle = np.median(shares, axis=1)
        spread = np.abs([shares.min(axis=1) - middle, shares.max(axis=1) - middle])
        axes.errorbar(sides, middle, yerr=spread, **(how | {"linestyle": "none"}))
    axes.plot(sides, np.ones(len(sides)), **trivial_look())
    log_log(axes)
    for axis in (axes.xaxis, axes.yaxis):
        plain_log_ticks(axis)
    axes.set(title="Sessions, |S| = V/2", xlabel="V, vertices on each side")
