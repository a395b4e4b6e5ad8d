"""Compare errors against the number of queries k: the planner's formulas, and mechanisms that run.

Each mechanism is tuned for k queries and answers at most `asked` of them: random halves of the
vertices, and halves that keep or split two planted blocks, which the density does not predict. Its
noise and its tests are those for k queries, so its errors are those of a session of k queries,
except that the largest of fewer errors is smaller.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.workload import SessionWorkload, Setting
from graphcuts_dp.planning.planner import plan_of
from graphcuts_dp.plotting.style import COLOURS, PAGE, house_style
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.queries.linear import CutQuery, answer_all
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.resources import Progress
from graphcuts_dp.session.plain import BinaryAnswers
from graphcuts_dp.session.terms import SessionTerms
from scripts.figures.base import Finding, Table, at_most, below, exponent, near
from scripts.figures.random_graphs import planted_partition
from scripts.figures.style import draw_each, label_ends, light_grid, log_log, look, trivial_look

METHODS = ("tight MW", "tight FK", "gaussian", "laplace", "binary")
PAPERS = ("gru12", "jt12", "dr14")
_RUN: dict[str, tuple[str, dict[str, Any]]] = {
    "tight MW": ("multiplicative-weights", {"delta": 1e-6}),
    "tight FK": ("frieze-kannan", {"delta": 1e-6, "disjoint": True}),
    "gaussian": ("gaussian", {"delta": 1e-6}),
    "laplace": ("laplace", {}),
    "binary": ("binary", {}),
}
_EPSILON, _DELTA, _BETA = 1.0, 1e-6, 0.05
_DEGREE = 20  # mean degree; nine tenths of the edges lie within two blocks
_GUARANTEED = tuple(10**power for power in range(10))
_DECADES = 0.6  # tolerance of log10 k: guarantees and measurements differ by constants
_NAMES = {
    "tight MW": "weights",
    "tight FK": "Frieze–Kannan",
    "gaussian": "Gaussian",
    "laplace": "Laplace",
    "binary": "randomized response",
}
_PAPERS = {"gru12": "GRU12", "jt12": "JT12", "dr14": "DR14"}
_SHOWN = (3, 3e6)  # range of errors, in edges; only noise on each query is beyond it


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:
    """Errors against the number of queries, guaranteed and measured.

    Rows of part "guaranteed" are errors of the planner: for `METHODS`, for "binary, any k" (queries
    may depend on answers), for the better construction of each of `PAPERS` with its printed
    constants, and for the trivial answer (the better one of 0 and the middle). Rows of part
    "measured" have, for each repetition, the largest and the mean error of the answers, and how
    many answers lay outside their intervals.

    Tests: GRU12 Theorem 4.9, JT12 Theorem 2, DR14 Theorem 5.15.
    """
    n, most_queries, repetitions = (400, 60, 1) if quick else (3000, 200, 3)
    graph = planted_partition(n, 2, 1.8 * _DEGREE / n, 0.2 * _DEGREE / n, seed=seed)
    edges = len(graph.rows)
    rows = [row for k in _GUARANTEED for row in _guaranteed(n, edges, k)]
    cuts = _cuts(n, most_queries, seed)
    truths = [int(value) for value in answer_all(cuts, graph)]
    counts = [10**power for power in ((1, 3, 5, 7) if quick else range(1, 10))]
    for count_index, k in enumerate(counts):
        progress(count_index / len(counts), f"{k:,} queries")
        for repetition in range(repetitions):
            for number, method in enumerate(METHODS):
                key = np.random.SeedSequence([seed, count_index, repetition, number])
                source = SeededEntropy(int(key.generate_state(1)[0]))
                errors = _measured(method, graph, k, cuts[:k], truths, source)
                rows.append(("measured", method, k, repetition, *errors))
    columns = ("part", "method", "queries", "repetition", "largest error", "mean error", "wrong")
    parameters = {
        "n": n,
        "edges": edges,
        "asked": most_queries,
        "epsilon": _EPSILON,
        "delta": _DELTA,
        "beta": _BETA,
    }
    return Table.of(columns, rows, parameters, _findings)


def _guaranteed(n: int, edges: int, k: int) -> list[tuple[Any, ...]]:
    workload = SessionWorkload(queries=k, beta=_BETA)
    setting = Setting(n=n, edges=edges, workload=workload, epsilon=_EPSILON, delta=_DELTA)
    planned = plan_of(setting, iterative=False)
    errors: dict[str, float] = {}
    for row in planned.rows:
        name = row.calibration if row.calibration in PAPERS else row.name
        name = "trivial" if row.trivial else name
        name = "binary, any k" if (row.method, row.cuts) == ("binary", "all") else name
        if name != "release":
            errors[name] = min(row.guaranteed, errors.get(name, math.inf))
    return [("guaranteed", name, k, 0, error, None, None) for name, error in errors.items()]


def _measured(
    method: str,
    graph: Graph,
    k: int,
    cuts: Sequence[CutQuery],
    truths: Sequence[int],
    source: SeededEntropy,
) -> tuple[float, float, int]:
    """Return the largest and the mean error, and how many answers lay outside their intervals."""
    name, options = _RUN[method]
    mechanism = SessionTerms.of(
        method=name, epsilon=_EPSILON, queries=k, beta=_BETA, **options
    ).mechanism(Universe(graph.vertices), Grid.of(graph))
    if isinstance(mechanism, BinaryAnswers):  # the cuts are chosen before any answer
        mechanism = replace(mechanism, adaptive=False)
    state = mechanism.start(graph, source)
    errors, wrong = [], 0
    for cut, truth in zip(cuts, truths, strict=False):
        state, answer = mechanism.step(state, cut, truth, source)
        errors.append(abs(answer.value - truth))
        wrong += not answer.interval[0] <= truth <= answer.interval[1]
    return float(max(errors)), float(np.mean(errors)), wrong


def _cuts(n: int, count: int, seed: int) -> list[CutQuery]:
    """Return cuts of which every second one keeps or splits the blocks, shifted a little."""
    random = np.random.default_rng(seed)
    cuts = []
    for number in range(count):
        shift = int(random.integers(n)) if number else 0
        planted = np.roll(np.arange(n) < n // 2, shift)
        inside = random.random(n) < 0.5 if number % 2 else planted
        cuts.append(CutQuery(inside, ~inside))
    return cuts


# Findings


def _findings(table: Table) -> tuple[Finding, ...]:
    (wrong,) = table.line("wrong", part="measured")
    missed = "guarantees: share of sessions with an answer outside its interval, at most beta"
    return (
        _growth(table, "laplace", 1.0),
        _growth(table, "gaussian", 0.5),
        *(_overtakes(table, method) for method in ("tight MW", "tight FK")),
        at_most(missed, float(np.mean(np.array(wrong) > 0)), _BETA),
        *(_vacuous(table, paper) for paper in PAPERS),
    )


def _growth(table: Table, method: str, claimed: float) -> Finding:
    statement = f"{method} noise on each answer, measured mean error: exponent of k"
    points = table.line("queries", "mean error", part="measured", method=method)
    return exponent(statement, points, claimed, 0.03)


def _errors(table: Table, part: str, method: str) -> dict[int, float]:
    """Return the largest error by k, the median over repetitions."""
    points = table.middle("queries", "largest error", part=part, method=method)
    return dict(zip(*points, strict=True))


def _log_crossover(table: Table, part: str, method: str) -> float:
    """Return log10 of the k at which a construction becomes better than Gaussian noise."""
    ours, noise = _errors(table, part, method), _errors(table, part, "gaussian")
    logs = [math.log10(k) for k in ours]
    gaps = [math.log(noise[k] / ours[k]) for k in ours]
    last = max(i for i, gap in enumerate(gaps) if gap < 0)
    return float(np.interp(0.0, gaps[last : last + 2], logs[last : last + 2]))


def _overtakes(table: Table, method: str) -> Finding:
    guaranteed, measured = (
        _log_crossover(table, part, method) for part in ("guaranteed", "measured")
    )
    statement = f"{method} overtakes Gaussian noise: log10 k, guaranteed beside measured"
    return near(statement, measured, claimed=guaranteed, tolerance=_DECADES)


def _vacuous(table: Table, paper: str) -> Finding:
    ours, trivial = (_errors(table, "guaranteed", method) for method in (paper, "trivial"))
    statement = f"{paper}'s constants: guaranteed error over the trivial one, any k, at best"
    return below(statement, min(ours[k] / trivial[k] for k in ours))


def draw(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of the experiment `queries`.

    Returns:
        A figure of two panels with the same axes: guaranteed error of all k answers against k, with
        the papers' constants in grey; and the largest error among the queries asked, with its
        range over repetitions.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 3.6))
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        papers = _draw_guaranteed(left, table)
        _draw_measured(right, table)
        left.set_ylim(*_SHOWN)
        label_ends(left, papers)
        handles, names = left.get_legend_handles_labels()
        shown = [h for h, name in zip(handles, names, strict=True) if name not in _PAPERS.values()]
        look_of = {"fontsize": 8, "columnspacing": 1.2, "ncols": len(shown)}
        figure.legend(handles=shown, loc="outside upper left", **look_of)
    return figure


def _guaranteed_line(table: Table, method: str) -> tuple[list[Any], ...]:
    return table.line("queries", "largest error", part="guaranteed", method=method)


def _draw_guaranteed(axes: Axes, table: Table) -> list[Line2D]:
    """Draw the guarantees, and return the lines of the papers."""
    for index, (method, name) in enumerate(_NAMES.items()):
        axes.plot(*_guaranteed_line(table, method), label=name, markevery=3, **look(index))
    papers: list[Line2D] = []
    for paper, name in _PAPERS.items():
        points = _guaranteed_line(table, paper)
        papers += axes.plot(*points, label=name, color=COLOURS["all zero"], linewidth=0.8)
    axes.plot(*_guaranteed_line(table, "trivial"), label="trivial", **trivial_look())
    log_log(axes)
    axes.set(xlabel="queries k", ylabel="error in edges", title="Guaranteed for all k answers")
    return papers


def _draw_measured(axes: Axes, table: Table) -> None:
    draw_each(axes, table, _NAMES, "queries", "largest error", part="measured")
    axes.plot(*_guaranteed_line(table, "trivial"), label="trivial", **trivial_look())
    light_grid(axes)
    axes.set_xlabel("queries k")
    about = table.parameters
    axes.set_title(f"Measured, largest of up to {about['asked']}")
    axes.text(
        0.97,
        0.04,
        f"n = {about['n']:,}, |E| = {about['edges']:,}\n"
        f"epsilon = {about['epsilon']:g}, delta = {about['delta']:g}",
        transform=axes.transAxes,
        ha="right",
        fontsize=8,
    )
