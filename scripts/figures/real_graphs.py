"""Compare every way to release a graph on the bundled real graphs: worst cut against epsilon.

The graphs are public; weights are left out. Errors are relative: the worst cut found of the
estimate less the graph, over that of the graph itself (2m, or m if bipartite), so that answering 0
has error 1. The other trivial answer spreads the true number of edges over all pairs; a private one
can only be worse. Releases are seeded.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcuts_dp import datasets
from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.iterative.methods import release_iteratively
from graphcuts_dp.plotting.style import PAGE, house_style
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.graphs import release_graph
from graphcuts_dp.resources import Progress
from scripts.benchmark.baselines import noisy_degrees_chung_lu
from scripts.figures.base import Finding, Table, at_most, exponent, finding
from scripts.figures.style import (
    draw_series,
    light_grid,
    log_log,
    look,
    plain_log_ticks,
    trivial_look,
)

COLUMNS = ("panel", "graph", "series", "repetition", "x", "y")
TRIVIAL = ("answer 0", "true density")
DEFAULT = "maximum-entropy"
DELTA = 1e-6  # of the iterative construction; all others have none

Row = tuple[str, str, str, int, float, float]


_Method = Callable[..., RealMatrix]  # (graph, epsilon=, seed=) -> an estimate of its matrix
_LARGE = "us_flights_2008"  # enough vertices for one draw to be near its mean
_MANY = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_SLOW = ("cutting-plane", "iterative construction")
_TRIVIAL_LINES = {"answer 0": (0, (1, 1.5)), "true density": (0, (4, 2))}
_LEAST = 0.01  # lower errors, 0 among them, leave the panel
_SHORT = {"davis_women": "davis", "us_flights_2008": "flights", "air_routes": "routes"}


def _fit(name: str) -> _Method:
    def estimate(graph: AnyGraph, *, epsilon: float, seed: int) -> RealMatrix:
        release = release_graph(graph, epsilon=epsilon, fit=name, seed=seed)
        return release.expected.dense() if release.has_graph else release.noisy.estimate()

    return estimate


def _iterative(graph: AnyGraph, *, epsilon: float, seed: int) -> RealMatrix:
    return release_iteratively(graph, epsilon=epsilon, delta=DELTA, seed=seed).graph.dense()


def _chung_lu(graph: AnyGraph, *, epsilon: float, seed: int) -> RealMatrix:
    assert isinstance(graph, Graph)  # noqa: S101  # the plan has it for no other
    return noisy_degrees_chung_lu(graph, epsilon=epsilon, seed=seed).matrix


METHODS: Mapping[str, _Method] = {
    DEFAULT: _fit("maximum-entropy"),
    "first-order": _fit("first-order"),
    "cutting-plane": _fit("cutting-plane"),
    "iterative construction": _iterative,
    "noisy degrees": _chung_lu,
    "spectral": _fit("spectral"),
    "noisy matrix": _fit("none"),
}


@final
@dataclass(frozen=True)
class _Plan:
    """The methods that run on a graph; others take minutes there, or are not for it."""

    name: str
    epsilons: Sequence[float]
    repetitions: int
    without: Sequence[str] = ()


_PLANS = (
    _Plan("karate", _MANY, 3),
    _Plan("davis_women", _MANY, 3, without=("noisy degrees",)),
    _Plan("lesmis", _MANY, 3),
    _Plan(_LARGE, _MANY, 3, without=_SLOW),
    _Plan("air_routes", (0.5, 2.0, 8.0), 1, without=(*_SLOW, "first-order", "spectral")),
)
_QUICK = (
    _Plan("karate", (0.25, 1.0, 4.0), 1, without=_SLOW),
    _Plan("davis_women", (0.25, 4.0), 1, without=("noisy degrees",)),
    _Plan(_LARGE, (0.25, 1.0), 1, without=(*_SLOW, "spectral", "first-order")),
)


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:
    """Worst cut of every way to release each bundled graph against epsilon, and the epsilon from
    which on it beats the trivial answers.

    "error": y is the error at epsilon x. "useful": y is the epsilon from which on the median error
    is below that of the best trivial answer, between the measured ones by interpolation of
    logarithms, or the least one tried if it is so there already; a method that never gets there has
    no row.

    Tests: GRU12 Lemma 6.2, section 6.
    """
    plans = _QUICK if quick else _PLANS
    rows: list[Row] = []
    for i, plan in enumerate(plans):

        def report(done: float, message: str, start: int = i) -> None:
            progress((start + done) / len(plans), message)

        graph_rows = _measure_graph(plan, seed, report)
        rows += graph_rows + _useful(plan, graph_rows)
    parameters = {
        "graphs": [plan.name for plan in plans],
        "epsilons": {plan.name: list(plan.epsilons) for plan in plans},
        "repetitions": {plan.name: plan.repetitions for plan in plans},
        "without": {plan.name: list(plan.without) for plan in plans},
        "methods": list(METHODS),
        "delta_of_iterative_construction": DELTA,
        "weights": "left out",
    }
    return Table.of(COLUMNS, rows, parameters, _findings)


def _measure_graph(plan: _Plan, seed: int, progress: Progress) -> list[Row]:
    graph = datasets.load(plan.name, weighted=False)
    truth = graph.dense()
    total = truth.sum()
    universe = Universe.of(graph)
    density = universe.matrix_of(np.full(universe.size, universe.total(truth) / universe.size))
    flat = cut_norm(density - truth).lower / total
    rows: list[Row] = []
    for i, epsilon in enumerate(plan.epsilons):
        progress(i / len(plan.epsilons), f"{plan.name}, epsilon = {epsilon:g}")
        for name, y in zip(TRIVIAL, (1.0, flat), strict=True):
            rows.append(("error", plan.name, name, 0, epsilon, y))
        for name, method in METHODS.items():
            for repetition in range(0 if name in plan.without else plan.repetitions):
                estimate = method(graph, epsilon=epsilon, seed=seed + repetition)
                y = cut_norm(estimate - truth).lower / total
                rows.append(("error", plan.name, name, repetition, epsilon, float(y)))
    return rows


def _useful(plan: _Plan, rows: Sequence[Row]) -> list[Row]:
    best = min(row[5] for row in rows if row[2] in TRIVIAL)
    useful_rows: list[Row] = []
    for name in METHODS:
        if name not in plan.without:
            medians = [
                float(np.median([row[5] for row in rows if row[2] == name and row[4] == epsilon]))
                for epsilon in plan.epsilons
            ]
            epsilon = _crossing(plan.epsilons, medians, best)
            if epsilon is not None:
                useful_rows.append(("useful", plan.name, name, 0, 0.0, epsilon))
    return useful_rows


def _crossing(epsilons: Sequence[float], errors: Sequence[float], level: float) -> float | None:
    """Return the least epsilon from which all errors are below a level; None if there is none."""
    above = [i for i, error in enumerate(errors) if error >= level]
    if not above:
        return epsilons[0]
    last = above[-1]
    if last == len(errors) - 1:
        return None
    x, y = np.log(epsilons[last : last + 2]), np.log(errors[last : last + 2])
    return float(np.exp(x[0] + (np.log(level) - y[0]) / (y[1] - y[0]) * (x[1] - x[0])))


def _findings(table: Table) -> list[Finding]:
    names = ("graph", "series", "repetition", "x")
    errors = {tuple(row[key] for key in names): row["y"] for row in table.where(panel="error")}
    ratios = [
        error / errors[graph, "noisy matrix", repetition, epsilon]
        for (graph, name, repetition, epsilon), error in errors.items()
        if name in ("first-order", "cutting-plane")
    ]
    noisy = table.where(panel="error", graph=_LARGE, series="noisy matrix")
    points = [(row["x"], row["y"]) for row in noisy if row["x"] <= 1]
    useful = dict(zip(*table.line("graph", "y", panel="useful", series=DEFAULT), strict=True))
    lemma = "GRU12 Lemma 6.2: fit's worst cut <= 2 x the noisy matrix's, largest ratio"
    growth = f"GRU12 section 6: error of the noisy matrix ~ 1/epsilon up to 1, {_LARGE}"
    return [
        at_most(lemma, max(ratios), 2),
        exponent(growth, tuple(zip(*points, strict=True)), -1.0, 0.1),
        *(
            finding(
                f"Default release below all trivial answers from epsilon = ..., {graph}",
                useful.get(graph, max(epsilons)),
                agrees=graph in useful,
            )
            for graph, epsilons in table.parameters["epsilons"].items()
        ),
    ]


def draw(table: Table) -> Figure:
    """Draw the table of `measure`.

    Returns:
        A panel for each graph: relative error of the worst cut against epsilon; and one with the
        epsilon from which on each method beats the trivial answers.
    """
    graphs: Sequence[str] = table.parameters["graphs"]
    with house_style():
        figure = Figure(figsize=(PAGE, 5.2))
        panels = figure.subplots(2, 3).ravel()
        for axes, graph in zip(panels, graphs, strict=False):
            _draw_graph(axes, table, graph)
        for axes in panels[len(graphs) : -1]:
            axes.set_axis_off()
        _draw_useful(panels[-1], table, graphs)
        for axes in (panels[0], panels[3]):
            axes.set_ylabel("worst cut, relative error")
        figure.legend(
            *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
        )
    return figure


def _draw_graph(axes: Axes, table: Table, graph: str) -> None:
    for i, method in enumerate(table.parameters["methods"]):
        x, y = table.series("x", "y", panel="error", graph=graph, series=method)
        if x:
            draw_series(axes, x, np.maximum(y, _LEAST / 3), index=i, label=method)
        else:
            axes.plot([], [], label=method, **look(i))  # for the legend
    for name, line in _TRIVIAL_LINES.items():
        x, values = table.middle("x", "y", panel="error", graph=graph, series=name)
        axes.plot(x, values, label=name, **(trivial_look() | {"linestyle": line}))
    log_log(axes)
    plain_log_ticks(axes.xaxis)
    axes.set_ylim(_LEAST, 13)  # the same in all panels
    axes.set(xlabel=r"$\varepsilon$", title=graph.replace("_", " "))


def _draw_useful(axes: Axes, table: Table, graphs: Sequence[str]) -> None:
    """Draw one line of the panel for each graph, with the marks of the methods around it."""
    methods = table.parameters["methods"]
    for i, method in enumerate(methods):
        rows = table.where(panel="useful", series=method)
        lower = 0.7 * (i / (len(methods) - 1) - 0.5)  # so that marks do not hide each other
        axes.plot(
            [row["y"] for row in rows],
            [graphs.index(row["graph"]) + lower for row in rows],
            **(look(i) | {"linestyle": "none", "markersize": 5}),
        )
    axes.set_xscale("log")
    plain_log_ticks(axes.xaxis)
    light_grid(axes)
    axes.set_yticks(range(len(graphs)), [_SHORT.get(graph, graph) for graph in graphs])
    axes.set_ylim(len(graphs) - 0.5, -0.5)
    axes.set(xlabel=r"$\varepsilon$", title="Better than trivial from")
