"""Solve GRU12's Table 1 with its constants: the error for all cuts against the number of edges.

Formulas only: no graph is made and no noise drawn, so `seed` changes nothing. All cuts of n
vertices are k = 4^n queries (S, T), far beyond floats, so the circles of `learn.bounds` are
solved here in ln k; a test holds them to that module where k is small enough for it.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.bounds import (
    UpdateBound,
    frieze_kannan_updates,
    multiplicative_weights_updates,
)
from graphcuts_dp.learn.sizes import pairs_of
from graphcuts_dp.plotting.style import PAGE, house_style
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.resources import Progress
from scripts.figures.base import Finding, Table, above, below, exponent
from scripts.figures.bounds import median_updates
from scripts.figures.rates import table_1_all_cuts
from scripts.figures.style import label_ends, log_log, look, trivial_look

CONSTRUCTIONS = ("multiplicative weights", "frieze-kannan", "median")
SIZES = (1_000, 10_000, 100_000)
_EPSILON, _DELTA, _BETA = 1.0, 1e-6, 0.05
_MOST_UPDATES = 1e15
# of |E| and |V| in the last column of Table 1, and of ln k in the one before it
_VARIED = ("|E|", "|V|", "ln k")
_EXPONENTS = {
    "multiplicative weights": (0.5, 0.5, 0.5),
    "frieze-kannan": (0.25, 1.0, 0.5),
    "median": (0.5, 0.75, 0.75),
}
_TOLERANCE = 0.03  # of exponents
_SHORT = {"multiplicative weights": "weights", "frieze-kannan": "Frieze–Kannan"}


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:  # noqa: ARG001
    """Errors for all cuts against |E| with every constant solved; where Frieze-Kannan overtakes
    multiplicative weights.

    Rows of part "error": the error for all cuts at n and |E|, of each construction with "rates"
    (Table 1 as printed, without constants), "GRU12" (Algorithm 1 to the letter, constants
    corrected) and "tight" constants; of binary randomised response, and of the trivial answer (the
    middle of what |E| leaves possible, |E| known). Rows of part "crossover": the |E| above which
    Frieze-Kannan is better than multiplicative weights; none where it never is.

    Tests: GRU12 Table 1.
    """
    points = 16 if quick else 61
    rows: list[tuple[Any, ...]] = []
    for size_index, n in enumerate(SIZES):
        progress(size_index / len(SIZES), f"errors at n = {n:,}")
        for edges in np.geomspace(n, 0.98 * pairs_of(n), points).round().tolist():
            rows += [
                ("error", n, edges, edges / pairs_of(n), method, constants, error)
                for method, constants, error in _errors(n, edges)
            ]
    progress(0.9, "crossovers")
    for n in np.geomspace(SIZES[0], SIZES[-1], 5 if quick else 17).round().astype(int).tolist():
        for constants, error_of in _BY_CONSTANTS.items():
            crossover = _crossover(n, error_of)
            if crossover is not None:
                error = error_of("frieze-kannan", n, crossover)
                share = crossover / pairs_of(n)
                rows.append(("crossover", n, crossover, share, "frieze-kannan", constants, error))
    parameters = {
        "epsilon": _EPSILON,
        "delta": _DELTA,
        "beta": _BETA,
        "cuts": "all 4^n pairs (S, T), each edge counted once",
    }
    columns = ("part", "n", "edges", "density", "method", "constants", "error")
    return Table.of(columns, rows, parameters, _findings)


def log_all_cuts(n: int) -> float:
    """Return the logarithm of k = 4^n, Table 1's 2^(2|V|)."""
    return 2 * n * math.log(2)


def tight_error(bound: UpdateBound, *, log_queries: float) -> float:
    """Return `learn.bounds.tight_online` for ln k, with c treated as a real number.

    Args:
        bound: B, proportional to 1/alpha^2.
        log_queries: ln k.
    """
    constant = bound(1.0)
    rho = zcdp_rho(epsilon=_EPSILON, delta=_DELTA)

    def error(log_updates: float) -> float:
        c = math.exp(log_updates)
        thresholds = math.log(2 * (c + 2) / _BETA)
        tests = float(np.logaddexp(log_queries, log_updates)) + math.log(4 / _BETA)
        both = math.sqrt(thresholds) + math.sqrt(2 * tests)
        return math.sqrt(constant / (c + 1)) + both**2 / math.sqrt(8 * rho / (c + 2))

    top = math.log(_MOST_UPDATES)
    least_error = float(
        scipy.optimize.minimize_scalar(error, bounds=(0, top), method="bounded").fun
    )
    return min(least_error, error(-math.inf))  # or no update at all


def gru12_error(bound: UpdateBound, *, log_queries: float) -> float:
    """Return `bounds.gru12_online` for ln k: alpha^2 = 3000 sqrt(B(1)) ln(4/delta) ln(2k/beta).

    Args:
        bound: B, proportional to 1/alpha^2.
        log_queries: ln k.
    """
    logs = math.log(4 / _DELTA) * (log_queries + math.log(2 / _BETA))
    return 5 / 3 * math.sqrt(3000 * math.sqrt(bound(1.0)) * logs / _EPSILON)


def _bound(method: str, n: int, edges: float, rule: Rule) -> UpdateBound:
    """Return B for all cuts; for the median as if the size of databases were not rounded up."""
    if method == "multiplicative weights":
        return multiplicative_weights_updates(n, edges, rule=rule)
    if method == "frieze-kannan":
        return frieze_kannan_updates(n, edges, rule=rule)
    updates_up_to = median_updates(n, edges, 4**n, rule=rule)
    constant = updates_up_to(1.0)
    return lambda alpha: constant / alpha**2


def _tight(method: str, n: int, edges: float) -> float:
    return tight_error(_bound(method, n, edges, "tight"), log_queries=log_all_cuts(n))


def _gru12(method: str, n: int, edges: float) -> float:
    return gru12_error(_bound(method, n, edges, "as printed"), log_queries=log_all_cuts(n))


def _rates(method: str, n: int, edges: float) -> float:
    rates = table_1_all_cuts(n, edges, epsilon=_EPSILON)
    return float(getattr(rates, method.replace(" ", "_").replace("-", "_")))


ErrorOf = Callable[[str, int, float], float]
_BY_CONSTANTS: dict[str, ErrorOf] = {"rates": _rates, "GRU12": _gru12, "tight": _tight}


def _errors(n: int, edges: float) -> list[tuple[str, str, float]]:
    errors = [
        (method, constants, error_of(method, n, edges))
        for method in CONSTRUCTIONS
        for constants, error_of in _BY_CONSTANTS.items()
    ]
    distribution = noise_distribution("binary", epsilon=_EPSILON, max_weight=1.0)
    response = distribution.radius(pairs_of(n), log_failures=log_all_cuts(n) - math.log(_BETA))
    trivial = min(edges, pairs_of(n) - edges) / 2
    return [*errors, ("randomized response", "tight", response), ("trivial", "", trivial)]


def _crossover(n: int, error_of: ErrorOf) -> float | None:
    """Return the |E| at which Frieze-Kannan and multiplicative weights are equal, or None."""

    def excess(log_edges: float) -> float:
        edges = math.exp(log_edges)
        pair = (error_of(method, n, edges) for method in ("frieze-kannan", CONSTRUCTIONS[0]))
        return math.log(next(pair)) - math.log(next(pair))

    low, high = math.log(n), math.log(pairs_of(n) * (1 - 1e-9))
    if excess(low) * excess(high) > 0:
        return None
    return math.exp(float(scipy.optimize.brentq(excess, low, high, xtol=1e-12)))


# Findings


def _findings(table: Table) -> tuple[Finding, ...]:
    statement = "GRU12 Table 1, {}, constants solved: exponent of {}"
    findings = [
        exponent(statement.format(method, name), points, claimed, _TOLERANCE)
        for method, claims in _EXPONENTS.items()
        for name, claimed, points in zip(_VARIED, claims, _points(method), strict=True)
    ]
    for constants, whose in (("rates", "no constants"), ("GRU12", "GRU12's constants")):
        sizes, edges = table.line("n", "edges", part="crossover", constants=constants)
        scale = [n**2 / math.log(n) for n in sizes]
        statement = f"GRU12, Frieze-Kannan overtakes at |E| ~ V^2/ln V, {whose}: exponent"
        findings.append(exponent(statement, (scale, edges), 1.0, _TOLERANCE))
    return (*findings, _overtakes(table), *(_wins(table, n) for n in SIZES), _useful(table))


def _points(method: str) -> tuple[tuple[list[float], list[float]], ...]:
    """Return |E| and error at 10^6 vertices, |V| and error at 10^9 edges, ln k and error.

    There the graph is dense enough for the tests' noise not to be all, and sparse enough for
    1 - d to be 1. Logarithms are divided out of the first two; the tight rules have ln(X/|E|) where
    Table 1 has ln V. The last is at 10^6 vertices and 10^10 edges, and the median's B has ln k too.
    """

    def without_logs(n: int, edges: float) -> float:
        pairs = pairs_of(n)
        inside = {CONSTRUCTIONS[0]: pairs / edges, "median": pairs}.get(method, math.e)
        return float(_tight(method, n, edges) / math.log(inside) ** 0.25)

    bound = _bound(method, 10**6, 1e10, "tight")

    def for_queries(log_k: float) -> float:
        share = log_k / log_all_cuts(10**6) if method == "median" else 1.0
        return tight_error(lambda alpha: share * bound(alpha), log_queries=log_k)

    edges = np.geomspace(1e9, 2e10, 9).tolist()
    sizes = np.geomspace(1e5, 1e6, 9).tolist()
    counts = np.geomspace(1e4, 1e7, 7).tolist()
    return (
        (edges, [without_logs(10**6, m) for m in edges]),
        (sizes, [without_logs(int(n), 1e9) for n in sizes]),
        (counts, [for_queries(log_k) for log_k in counts]),
    )


def _errors_of(table: Table, method: str, constants: str, **fixed: int) -> list[float]:
    return table.line("error", part="error", method=method, constants=constants, **fixed)[0]


def _overtakes(table: Table) -> Finding:
    """Test where Frieze-Kannan overtakes: nowhere, as d ln(1/d) < 2 (1-d) for d < 1."""
    ours, other = (_errors_of(table, name, "tight") for name in CONSTRUCTIONS[1::-1])
    statement = "GRU12, Frieze-Kannan overtakes, tight rules: its error over the weights', least"
    return below(statement, np.divide(ours, other).min())


def _wins(table: Table, n: int) -> Finding:
    """Compare multiplicative weights with the trivial answer and randomised response."""
    ways = (("trivial", ""), ("randomized response", "tight"), (CONSTRUCTIONS[0], "tight"))
    trivial, response, ours = (_errors_of(table, *way, n=n) for way in ways)
    best = np.divide(np.minimum(trivial, response), ours).max()
    statement = f"all cuts, n = {n:,}: gain of tight weights over every other answer, at best"
    return above(statement, best)


def _useful(table: Table) -> Finding:
    """Test "all of the new bounds do [achieve error <= |E|] for sufficiently dense graphs"."""
    trivial = _errors_of(table, "trivial", "")
    errors = [_errors_of(table, method, "GRU12") for method in CONSTRUCTIONS]
    statement = "GRU12's constants, up to 10^5 vertices: error over the trivial one, at best"
    return below(statement, np.divide(errors, trivial).min())


_FLOOR, _CEILING = 3e-3, 1e3


def draw(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of the experiment `table_one`.

    Returns:
        A figure of four panels: error over |E| against density at three n, solid with tight
        constants, dashed the best of the constructions with GRU12's; and the |E| at which
        Frieze-Kannan overtakes multiplicative weights.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 5.4))
        panels = figure.subplots(2, 2)
        sizes = sorted({row["n"] for row in table.where(part="error")})
        for axes, n in zip(panels.flat, sizes, strict=False):
            _draw_errors(axes, table, n)
        _draw_crossover(panels.flat[3], table)
        for axes in panels[:, 0]:
            axes.set_ylabel("error for all cuts / |E|")
        handles, names = panels.flat[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=3, fontsize=8)
    return figure


def _draw_errors(axes: Axes, table: Table, n: int) -> None:
    for index, method in enumerate((*CONSTRUCTIONS, "randomized response")):
        name = _SHORT.get(method, method)
        rows = table.where(part="error", n=n, method=method, constants="tight")
        _line(axes, rows, f"{name}, tight", **look(index))
    rows = table.where(part="error", n=n, constants="GRU12")
    best = {row["density"]: row for row in sorted(rows, key=lambda row: -row["error"])}
    rows = sorted(best.values(), key=lambda row: float(row["density"]))
    _line(axes, rows, "GRU12's constants, best", **look(6))
    rows = table.where(part="error", n=n, method="trivial")
    _line(axes, rows, "trivial", **trivial_look())
    log_log(axes)
    axes.set_ylim(_FLOOR, _CEILING)
    axes.set(title=f"n = {n:,}", xlabel="density")


def _line(axes: Axes, rows: list[dict[str, Any]], name: str, **how: Any) -> None:
    every = max(1, len(rows) // 6)  # markers
    axes.plot(
        [row["density"] for row in rows],
        [row["error"] / row["edges"] for row in rows],
        label=name,
        markevery=every,
        **how,
    )


def _draw_crossover(axes: Axes, table: Table) -> None:
    lines: list[Line2D] = []
    names = {"rates": "Table 1, no\nconstants", "GRU12": "GRU12's\nconstants"}
    for index, (constants, name) in enumerate(names.items()):
        sizes, edges = table.line("n", "edges", part="crossover", constants=constants)
        lines += axes.plot(sizes, edges, label=name, markevery=4, **look(2 * index + 1))
    lines += axes.plot(sizes, [n * (n - 1) / 2 for n in sizes], label="all pairs", **trivial_look())
    log_log(axes)
    axes.set(xlabel="n", ylabel="|E|", title="Frieze–Kannan overtakes the weights")
    axes.text(0.97, 0.04, "tight rules: never", transform=axes.transAxes, ha="right")
    label_ends(axes, lines)
