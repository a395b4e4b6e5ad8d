"""Compare methods by cut errors against density and against size.

Graphs have four planted blocks; the odds of an edge inside a block are e^3 times those of others.
All methods are epsilon-DP with epsilon = 1. The constructions, online and offline, also have delta
= 1e-6, and get cuts along the blocks, which the other methods do not know. Errors are those of the
released matrix x: ||x - A||_C (matrix form, edges inside both sets count twice), bounded from both
sides by a certificate, and mean absolute errors of cuts between blocks and of random halves.
Weights, if any, are uniform in [0, 1], on the edges of the same graphs.

Sessions answer the same cuts one by one. Errors of their answers are shown beside the guarantees
for all answers. Bounds of papers are for all cuts, with all their constants.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.learning import Learning
from graphcuts_dp.iterative.methods import release_iteratively
from graphcuts_dp.learn.bounds import frieze_kannan_updates, multiplicative_weights_updates
from graphcuts_dp.plotting.style import PAGE, house_style
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.queries.linear import CutQuery, answer_all
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.graphs import release_graph
from graphcuts_dp.resources import Progress
from graphcuts_dp.session.terms import SessionTerms
from graphcuts_dp.synth.methods import FitOptions
from scripts.benchmark.baselines import density_only, elementwise_clip
from scripts.figures.base import (
    Finding,
    Table,
    above,
    at_full_size,
    at_most,
    exponent,
    exponent_uncertainty,
    finding,
    fitted_exponent,
    mean_uncertainty,
    near,
)
from scripts.figures.random_graphs import planted_partition
from scripts.figures.rates import gru12_lemma_6_1
from scripts.figures.style import draw_each, draw_slope, label_ends, log_log, trivial_look
from scripts.figures.table_one import gru12_error, log_all_cuts

_EPSILON, _DELTA, _BETA = 1.0, 1e-6, 0.05
_BLOCKS, _LOG_ODDS = 4, 3.0
_HALVES = 100  # random cuts into halves
_GUARANTEED = 1000  # queries for which the online construction is tuned; it gets fewer
_ROUNDS = 20  # of the offline construction
_DENSITY = 0.3  # of the graphs of different sizes
_COLUMNS = ("edges", "lower", "upper", "between blocks", "random halves")
_QUICK_SIZES = (25, 50, 100)
_FULL_SIZE = 400  # vertices of the graphs of different densities, in a full run
_GAIN_GROWTH = 0.5  # errors of n^1.5 (Lemma 6.2, Table 1) against n^2 of answers without entries
_CERTIFIED = 0.05  # relative tolerance of certificates
SESSIONS = ("gaussian", "multiplicative-weights", "frieze-kannan")
_RAW = ("binary", "laplace")
_WINNERS = ("binary", "maximum-entropy", "online weights", "offline weights")
# Discrete Laplace noise is in the table; its line would lie on that of Laplace noise.
_NAMES = {
    "binary": "binary, raw",
    "maximum-entropy": "binary, maximum entropy",
    "first-order": "binary, least cut norm",
    "laplace": "Laplace, raw",
    "online weights": "online, cuts given",
    "offline weights": "offline, cuts given",
    "clipped": "binary, clipped",
}
_BOUNDS = {
    "Lemma 6.1": "Lemma 6.1",
    "binary, tail": "binary, proven",
    "Theorem 4.9, weights": "Thm 4.9, weights",
    "Theorem 4.9, Frieze-Kannan": "Thm 4.9, Frieze–Kannan",
}
_SESSIONS = {
    "gaussian": "Gaussian noise",
    "multiplicative-weights": "weights",
    "frieze-kannan": "Frieze–Kannan",
}
_SLOPE = 0.12  # height of the line n^1.5: below all others
_CUTTING_PLANES = {"cutting-plane": "cut norm", "cutting-plane, spectral": "spectral"}


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:
    """Worst cut error of every way to release a graph against density, without and with weights,
    beside bounds with their constants; errors of sessions beside what they guarantee; cuts between
    communities; and the worst against n.

    Rows of part "density": one n, several densities. Rows of part "size": one density, several n;
    the cutting-plane fits at small n only. `lower` and `upper` bound the worst error. Rows of part
    "weighted" are as those of "density", of graphs with weights. In rows of parts "session" and
    "weighted session", `lower` is the largest error of the answers, and `upper` what is guaranteed
    for all of them. In rows of part "bound" both are a formula with all constants, for all 4^n
    cuts, each edge counted once: Lemma 6.1, the tail of binary noise, and Theorem 4.9 with the
    constructions of Table 1.

    Tests: GRU12 Table 1, Theorem 4.9, Lemmas 6.1 and 6.2.
    """
    n, repetitions = (60, 1) if quick else (_FULL_SIZE, 3)
    densities = (0.02, 0.1, 0.5) if quick else (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 0.9)
    sizes = _QUICK_SIZES if quick else (50, 70, 100, 200, 400, 800)
    slow = sizes[:1] if quick else sizes[:2]
    cases = [("density", n, density) for density in densities]
    cases += [("size", size, _DENSITY) for size in sizes]
    rows: list[tuple[Any, ...]] = []
    for case_index, (part, size, density) in enumerate(cases):
        progress(0.8 * case_index / len(cases), f"n = {size}, density {density:g}")
        for repetition in range(repetitions):
            draw = np.random.SeedSequence([seed, case_index, repetition])
            methods = dict(METHODS if part == "density" else GROWING)
            if part == "size" and size in slow and repetition == 0:
                methods |= CUTTING_PLANES
            if repetition and size > 200:
                methods.pop("first-order")  # seconds each
            errors_of_methods = _measured(size, density, methods, draw)
            rows += [
                (part, size, density, name, repetition, *errors)
                for name, *errors in errors_of_methods
            ]
        if part == "density":
            rows += _bounds(size, density)
    progress(0.8, "weights and sessions")
    for case_index, density in enumerate(densities):
        for repetition in range(repetitions):
            draw = np.random.SeedSequence([seed, case_index, repetition])
            rows += _weighted_and_sessions(n, density, repetition, draw)
    columns = ("part", "n", "density", "method", "repetition", *_COLUMNS)
    parameters = {
        "n": n,
        "epsilon": _EPSILON,
        "delta of the constructions": _DELTA,
        "blocks": _BLOCKS,
        "log odds ratio": _LOG_ODDS,
    }
    return Table.of(columns, rows, parameters, _findings)


# Methods


def _raw(graph: Graph, seed: int, *, noise: str) -> FloatMatrix:
    release = release_graph(graph, epsilon=_EPSILON, noise=noise, fit="none", seed=seed)
    return release.noisy.estimate()


def _fitted(graph: Graph, seed: int, **options: Any) -> FloatMatrix:
    return release_graph(graph, epsilon=_EPSILON, seed=seed, **options).expected.dense()


def _online(graph: Graph, seed: int) -> FloatMatrix:
    """Return the hypothesis of multiplicative weights after unions of blocks, and halves."""
    mechanism = SessionTerms.of(
        method="multiplicative-weights", epsilon=_EPSILON, delta=_DELTA, queries=_GUARANTEED
    ).mechanism(Universe(graph.vertices), Grid.of(graph))
    source = SeededEntropy(seed)
    state = mechanism.start(graph, source)
    for cut in _asked(graph.n, seed):
        if not state.stopped:
            state, _ = mechanism.step(state, cut, mechanism.grid.count(cut, graph), source)
    hypothesis: FloatMatrix = state.current.dense()
    return hypothesis


def _offline(graph: Graph, seed: int) -> FloatMatrix:
    """Return the hypothesis if the exponential mechanism picks the worst cut in each round."""
    terms: dict[str, Any] = {"epsilon": _EPSILON, "delta": _DELTA, "seed": seed}
    learning = Learning(distinguisher="exponential", rounds=_ROUNDS)
    release = release_iteratively(graph, _asked(graph.n, seed), construction=learning, **terms)
    matrix: FloatMatrix = release.graph.dense()
    return matrix


def _zero(graph: Graph, seed: int) -> FloatMatrix:  # noqa: ARG001 (nothing is drawn)
    return np.zeros((graph.n, graph.n))


def _session(graph: Graph, seed: int, method: str) -> tuple[float, float]:
    """Return the largest error of a session that is asked these cuts, and its guarantee."""
    mechanism = SessionTerms.of(
        method=method, epsilon=_EPSILON, delta=_DELTA, queries=_GUARANTEED
    ).mechanism(Universe(graph.vertices), Grid.of(graph))
    source = SeededEntropy(seed)
    state, largest = mechanism.start(graph, source), 0.0
    for cut in _asked(graph.n, seed):
        if state.stopped:
            break
        truth = mechanism.grid.count(cut, graph)
        state, answer = mechanism.step(state, cut, truth, source)
        largest = max(largest, abs(answer.value - truth * mechanism.grid.unit))
    return largest, mechanism.error_bound(state)


Method = Callable[[Graph, int], FloatMatrix]
METHODS: dict[str, Method] = {
    "binary": partial(_raw, noise="binary"),
    "laplace": partial(_raw, noise="laplace"),
    "discrete-laplace": partial(_raw, noise="discrete-laplace"),
    "clipped": lambda graph, seed: elementwise_clip(graph, epsilon=_EPSILON, seed=seed).matrix,
    "maximum-entropy": _fitted,
    "first-order": partial(_fitted, fit="first-order"),
    "online weights": _online,
    "offline weights": _offline,
    "density only": lambda graph, seed: density_only(graph, epsilon=_EPSILON, seed=seed).matrix,
    "zero": _zero,
}
WEIGHTED = {
    name: METHODS[name]
    for name in ("laplace", "online weights", "offline weights", "density only", "zero")
} | {"maximum-entropy": partial(_fitted, noise="laplace")}
GROWING = {
    name: METHODS[name]
    for name in ("binary", "laplace", "clipped", "maximum-entropy", "first-order")
}
CUTTING_PLANES: dict[str, Method] = {
    "cutting-plane": partial(_fitted, fit="cutting-plane"),
    "cutting-plane, spectral": partial(_fitted, fit=FitOptions("cutting-plane", oracle="spectral")),
}


# One graph


def _measured(
    n: int, density: float, methods: dict[str, Method], draw: np.random.SeedSequence
) -> list[tuple[Any, ...]]:
    """Name, edges, and the four errors of each method on one graph."""
    seed = int(draw.generate_state(1)[0])
    graph = _graph(n, density, seed)
    truth = graph.dense()
    blocks, halves = _between_blocks(n), _random_halves(n, seed + 1)
    errors: list[tuple[Any, ...]] = []
    for name, method in methods.items():
        difference = method(graph, seed + 2) - truth
        worst = cut_norm(difference, tolerance=_CERTIFIED)
        kinds = (np.abs(answer_all(cuts, difference)).mean() for cuts in (blocks, halves))
        errors.append((name, len(graph.rows), worst.lower, worst.upper, *map(float, kinds)))
    return errors


def _weighted_and_sessions(
    n: int, density: float, repetition: int, draw: np.random.SeedSequence
) -> list[tuple[Any, ...]]:
    """Return rows of the parts "weighted", "session" and "weighted session" for one graph."""
    seed = int(draw.generate_state(1)[0])
    graph = _graph(n, density, seed)
    weights = np.random.default_rng(seed + 3).random(len(graph.rows))
    weighted = Graph(graph.rows, graph.columns, weights, vertices=graph.vertices, max_weight=1.0)
    truth, edges = weighted.dense(), len(graph.rows)
    rows: list[tuple[Any, ...]] = []
    for name, method in WEIGHTED.items():
        worst = cut_norm(method(weighted, seed + 4) - truth, tolerance=_CERTIFIED)
        errors = (worst.lower, worst.upper, None, None)
        rows.append(("weighted", n, density, name, repetition, edges, *errors))
    for part, data in (("session", graph), ("weighted session", weighted)):
        for name in SESSIONS:
            errors = (*_session(data, seed + 2, name), None, None)
            rows.append((part, n, density, name, repetition, edges, *errors))
    return rows


def _graph(n: int, density: float, seed: int) -> Graph:
    """Draw a graph of this expected density."""
    inside = (n / _BLOCKS - 1) / (n - 1)

    def excess(shift: float) -> float:
        inside_chance, outside_chance = (
            scipy.special.expit(shift + _LOG_ODDS),
            scipy.special.expit(shift),
        )
        return float(inside * inside_chance + (1 - inside) * outside_chance) - density

    shift = float(scipy.optimize.brentq(excess, -30, 30))
    inside_chance, outside_chance = scipy.special.expit([shift + _LOG_ODDS, shift]).tolist()
    return planted_partition(n, _BLOCKS, inside_chance, outside_chance, seed=seed)


def _between_blocks(n: int) -> list[CutQuery]:
    block = np.arange(n) * _BLOCKS // n
    pairs = ((i, j) for i in range(_BLOCKS) for j in range(i + 1, _BLOCKS))
    return [CutQuery(block == i, block == j) for i, j in pairs]


def _asked(n: int, seed: int) -> list[CutQuery]:
    """Return the cuts that constructions learn from: blocks, pairs of blocks, and random halves."""
    block = np.arange(n) * _BLOCKS // n
    unions = [[i] for i in range(_BLOCKS)] + [[0, i] for i in range(1, _BLOCKS)]
    return [CutQuery(np.isin(block, union)) for union in unions] + _random_halves(n, seed)


def _random_halves(n: int, seed: int) -> list[CutQuery]:
    random = np.random.default_rng(seed)
    return [CutQuery(random.random(n) < 0.5) for _ in range(_HALVES)]


def _bounds(n: int, density: float) -> list[tuple[Any, ...]]:
    """Return bounds for all cuts, with their constants, at this density."""
    pairs = n * (n - 1) // 2
    edges = round(density * pairs)
    log_cuts = log_all_cuts(n)
    binary = noise_distribution("binary", epsilon=_EPSILON, max_weight=1.0)
    updates = {
        "weights": multiplicative_weights_updates(n, edges, rule="as printed"),
        "Frieze-Kannan": frieze_kannan_updates(n, edges, rule="as printed"),
    }
    formulas = {
        "Lemma 6.1": gru12_lemma_6_1(pairs, log_queries=log_cuts, epsilon=_EPSILON, beta=_BETA),
        "binary, tail": binary.radius(pairs, log_failures=log_cuts - math.log(_BETA)),
        **{
            f"Theorem 4.9, {name}": gru12_error(bound, log_queries=log_cuts)
            for name, bound in updates.items()
        },
    }
    return [
        ("bound", n, density, name, 0, edges, error, error, None, None)
        for name, error in formulas.items()
    ]


# Findings


def _findings(table: Table) -> tuple[Finding, ...]:
    flat = "GRU12 section 6, {}: worst error does not depend on density: exponent"
    grows = "GRU12 Lemma 6.2, {}: worst error O(n^1.5): exponent, at most"
    findings = [exponent(flat.format(name), _worst(table, name), 0.0, 0.02) for name in _RAW]
    findings += [_size(table, name, 1.5, 0.05) for name in _RAW]
    for name in ("first-order", "maximum-entropy"):
        points = _worst(table, name, "size")
        measured = fitted_exponent(*points)
        findings.append(
            finding(
                grows.format(name),
                measured,
                agrees=measured <= 1.6,
                claimed=1.5,
                tolerance=0.1,
                too_small=measured <= 1.6 + exponent_uncertainty(*points),
            )
        )
    findings += [_size(table, "clipped", 2.0, 0.1), _binary_to_laplace(table), _lemma(table)]
    findings += [_wins(table, name) for name in _WINNERS]
    parts = ("session", "weighted session")
    return (
        *findings,
        _kept(table),
        *(_guaranteed(table, part) for part in parts),
        _bounds_hold(table),
    )


def _worst(table: Table, method: str, part: str = "density") -> tuple[list[float], list[float]]:
    """Return densities or sizes, and the proven worst error at each."""
    by = "density" if part == "density" else "n"
    return table.middle(by, "upper", part=part, method=method)


def _size(table: Table, method: str, claimed: float, tolerance: float) -> Finding:
    statement = f"{method}: worst error ~ n^{claimed:g}: exponent"
    return exponent(statement, _worst(table, method, "size"), claimed, tolerance)


def _binary_to_laplace(table: Table) -> Finding:
    binary, laplace = (
        noise_distribution(name, epsilon=_EPSILON, max_weight=1.0).standard_deviation
        for name in _RAW
    )
    measured = np.median(np.divide(_worst(table, "binary")[1], _worst(table, "laplace")[1]))
    statement = "binary over Laplace noise, worst error: ratio of deviations"
    return near(statement, float(measured), claimed=binary / laplace, tolerance=0.05)


def _lemma(table: Table) -> Finding:
    """Test ||x - A|| <= (1 + c) ||z - A|| for a fit within c of the least; 2 for an exact one."""
    same = ("part", "n", "density", "repetition")
    ratios = [
        row["upper"] / other["lower"]
        for name in ("first-order", *CUTTING_PLANES)
        for row in table.where(method=name)
        for other in table.where(method="binary", **{key: row[key] for key in same})
    ]
    statement = "GRU12 Lemma 6.2: least-cut-norm fits over the raw matrix, at most 2: largest"
    return at_most(statement, max(ratios), 2)


def _wins(table: Table, method: str) -> Finding:
    """Compare a method with the better of the two answers that read no entries."""
    ours, zero, even = (_worst(table, name)[1] for name in (method, "zero", "density only"))
    best = float(np.divide(np.minimum(zero, even), ours).max())
    n = table.parameters["n"]
    at_full = at_full_size(best, size=n, full=_FULL_SIZE, growth=_GAIN_GROWTH)
    statement = f"{method}: gain in worst error over zero and density only, at best"
    return above(statement, best, at_full=at_full)


def _kept(table: Table) -> Finding:
    """Test that Laplace noise on weights has the worst error that it has without, by Lemma 6.1."""
    weighted = table.middle("density", "upper", part="weighted", method="laplace")[1]
    ratios = np.divide(weighted, _worst(table, "laplace")[1])
    return near(
        "Laplace noise, worst error with weights over without: mean",
        float(ratios.mean()),
        claimed=1.0,
        tolerance=0.05,
        uncertainty=mean_uncertainty(ratios),
    )


def _guaranteed(table: Table, part: str) -> Finding:
    """Test that the largest error of a session's answers is below the guarantee for all of them."""
    lower, upper = table.line("lower", "upper", part=part)
    statement = f"{part}s: largest error of the answers over what is guaranteed, at most 1: largest"
    return at_most(statement, float(np.divide(lower, upper).max()))


def _bounds_hold(table: Table) -> Finding:
    """Test that no measured worst error of noise is above its bound.

    The measured error counts edges inside both sets twice, the bound once: so it is doubled.
    """
    pairs = (("laplace", "Lemma 6.1"), ("binary", "binary, tail"))
    ratios = [
        row["upper"] / (2 * bound["upper"])
        for method, formula in pairs
        for row in table.where(part="density", method=method)
        for bound in table.where(part="bound", method=formula, density=row["density"])
    ]
    statement = "GRU12 Lemma 6.1, with constants: measured over the bound for all cuts, largest"
    return at_most(statement, max(ratios))


def draw(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of the experiment `density`.

    Returns:
        A figure of six panels: worst error of graphs without and with weights against density,
        certified in these runs, beside bounds that hold beforehand; errors of the answers of
        sessions beside what they guarantee, without and with weights; error of cuts between planted
        blocks against density; and worst error against n. Medians over repetitions, bands for their
        range. Names and looks are those of the first panel.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 11.6))
        parts: Any = figure.subfigures(4, 1, height_ratios=(1.5, 1, 1, 1))
        # Subfigures of their own, so that the names in one take no room in the others.
        worst, weighted = parts[0].subplots(), parts[1].subplots()
        sessions = parts[2].subplots(1, 2, sharey=True)
        between, sizes = parts[3].subplots(1, 2)
        n = table.parameters["n"]
        lines = _draw(worst, table, "upper") + _draw_bounds(worst, table, tuple(_BOUNDS))
        worst.set_title(f"Worst cut, n = {n}: measured (marked), bounds with constants (dashed)")
        weighted_lines = _draw(weighted, table, "upper", part="weighted")
        weighted_lines += _draw_bounds(weighted, table, ("Lemma 6.1",))
        weighted.set_title("The same with weights, uniform in [0, 1]")
        for axes, part, title in zip(
            sessions, ("session", "weighted session"), ("without", "with"), strict=True
        ):
            _draw_session(axes, table, part)
            axes.set(xlabel="density", title=f"Sessions {title} weights")
            axes.minorticks_off()
        sessions[0].set_ylabel("largest error of answers")
        low, high = sessions[0].get_ylim()
        sessions[0].set_ylim(low / 3, high)  # room for the legend
        sessions[0].legend(loc="lower right", fontsize=7, ncols=2)
        _draw(between, table, "between blocks")
        between.set_title("Cuts between planted blocks, mean")
        for axes in (worst, weighted, between):
            axes.set(xlabel="density", ylabel="error in edges")
            axes.set_xlim(None, 1)
        weighted.set_ylabel("error in weight")
        _draw_sizes(sizes, table)
        label_ends(worst, lines)
        label_ends(weighted, weighted_lines)
    return figure


def _draw_session(axes: Axes, table: Table, part: str) -> None:
    """Draw the errors of answers, and what is guaranteed, thin, of the same colour."""
    lines = draw_each(axes, table, _SESSIONS, "density", "lower", part=part)
    for line, method in zip(lines, _SESSIONS, strict=True):
        points = table.middle("density", "upper", part=part, method=method)
        label = "guaranteed" if method == "gaussian" else "_"
        axes.plot(*points, ":", color=line.get_color(), linewidth=1.3, label=label)
    log_log(axes)


def _draw(axes: Axes, table: Table, column: str, part: str = "density") -> list[Line2D]:
    names = _NAMES if part == "density" else _NAMES | {"maximum-entropy": "Laplace, max. entropy"}
    lines = draw_each(axes, table, names, "density", column, part=part)
    for method, marker in (("density only", "|"), ("zero", "")):
        points = table.middle("density", column, part=part, method=method)
        lines += axes.plot(*points, label=method, marker=marker, **trivial_look())
    log_log(axes)
    return lines


def _draw_bounds(axes: Axes, table: Table, methods: tuple[str, ...]) -> list[Line2D]:
    lines: list[Line2D] = []
    for method in methods:
        densities, errors = table.line("density", "upper", part="bound", method=method)
        # The matrix form is the sum of two cut queries, S to T and inside both: so twice a bound.
        doubled = [2 * error for error in errors]
        label = _BOUNDS[method]
        lines += axes.plot(densities, doubled, "--", color="black", linewidth=0.7, label=label)
    return lines


def _draw_sizes(axes: Axes, table: Table) -> None:
    sizes = sorted({row["n"] for row in table.where(part="size")})
    draw_each(axes, table, dict.fromkeys(_NAMES, "_"), "n", "upper", part="size")
    for marker, (method, name) in zip("+x", _CUTTING_PLANES.items(), strict=True):
        points = table.line("n", "upper", part="size", method=method)
        axes.plot(*points, marker, color="black", label=f"cutting plane, {name}")
    draw_slope(axes, (sizes[0], sizes[-1]), _SLOPE * sizes[0] ** 1.5, 1.5, label="_")
    below: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "va": "top"}
    axes.annotate("$n^{1.5}$", (sizes[-1], _SLOPE * sizes[-1] ** 1.5), xytext=(0, -6), **below)
    axes.legend(loc="upper left", fontsize=8)
    log_log(axes)
    ticks = [n for n in sizes if math.log2(n / sizes[0]).is_integer()]
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    axes.set(xlabel="n", title="Worst cut against size")
