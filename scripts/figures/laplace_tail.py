"""Measure Laplace noise on every pair: tails of sums, errors of cuts by size, and of all cuts.

Only noise is drawn here: under Laplace noise the error of a cut does not depend on the graph. Pairs
are those of a bipartite graph with n vertices on each side, where no edge counts twice.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.spectral import largest_singular_value, prefix_cuts
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.plotting.style import PAGE, house_style
from graphcuts_dp.privacy.entropy import EntropySource, SeededEntropy
from graphcuts_dp.resources import Progress
from scripts.figures.base import Finding, Table, at_most, exponent
from scripts.figures.style import draw_each, draw_slope, light_grid, log_log, look, trivial_look

COLUMNS = ("panel", "series", "repetition", "x", "y")
TERMS = (1, 16, 256)  # of a sum
DENSITY = 0.05  # of the graph whose cuts answering 0 gets wrong
EPSILONS = (0.5, 1.0, 2.0)
_FEWEST = 20  # sums beyond a point for its probability to be shown

Row = tuple[str, str, int, float, float]
_SIZES = {
    "one cut": "one cut, mean",
    "largest found": "worst cut found of the size",
    "all cuts, proven": "all cuts, proven",
}


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:
    """Tails of sums of Laplace noise; errors of one cut and of all cuts by |S||T| and n.

    "tail": P(Y >= alpha) of a sum Y of k Laplace variables of scale b against alpha/(b sqrt(k)),
    and Theorem 6.5's bound. "one size": error of one cut, the largest error found among all cuts of
    its size, and what sigma_1 proves for them, against |S||T| at epsilon = 1. "all sizes": the
    largest |error|/sqrt(|S||T|) of any cut (found, and at most) against n.

    Tests: GRU12 Theorem 6.5, section 6.2.
    """
    source = SeededEntropy(seed)
    sums = 20_000 if quick else 200_000
    n = 128 if quick else 512
    sides = (64, 128, 256) if quick else (64, 128, 256, 512, 1024)
    repetitions = 3 if quick else 5
    rows = _tails(sums, source)
    progress(0.2, "tails measured")
    rows += _sizes(n, repetitions, source, np.random.default_rng(seed))
    progress(0.4, "cuts of each size measured")
    for i, side in enumerate(sides):
        rows += _all_sizes(side, repetitions, source, seed)
        progress(0.4 + 0.6 * (i + 1) / len(sides), f"all cuts at n = {side} measured")
    parameters = {
        "noise": "laplace",
        "sums": sums,
        "terms": list(TERMS),
        "n": n,
        "sides": list(sides),
        "epsilons": list(EPSILONS),
        "density": DENSITY,
        "repetitions": repetitions,
    }
    return Table.of(COLUMNS, rows, parameters, _findings)


def theorem_6_5(terms: int, x: npt.ArrayLike) -> FloatMatrix:
    """Return GRU12's bound on P(Y >= x b sqrt(k)): exp(-x^2/6), beyond sqrt(k) exp(-x sqrt(k)/6).

    Args:
        terms: k.
        x: any shape.
    """
    points = np.asarray(x, dtype=np.float64)
    root = math.sqrt(terms)
    return np.exp(-points * np.minimum(points, root) / 6)


def _noise(shape: tuple[int, int], epsilon: float, source: EntropySource) -> FloatMatrix:
    distribution = noise_distribution("laplace", epsilon=epsilon, max_weight=1.0)
    steps = distribution.respond(math.prod(shape), np.empty(0), np.empty(0, np.int64), source)
    return distribution.estimate(steps).reshape(shape)


def _tails(sums: int, source: EntropySource) -> list[Row]:
    rows: list[Row] = []
    points = np.arange(0.5, 9.1, 0.5)
    for terms in TERMS:
        block = max(1, (1 << 22) // terms)
        parts = [min(block, sums - start) for start in range(0, sums, block)]
        values = np.concatenate([_noise((part, terms), 1.0, source).sum(axis=1) for part in parts])
        scaled = np.sort(np.abs(values)) / math.sqrt(terms)
        beyond = sums - np.searchsorted(scaled, points)  # of both sides, which are alike
        for x, count, bound in zip(
            points.tolist(), beyond, theorem_6_5(terms, points), strict=True
        ):
            if count >= _FEWEST:
                rows.append(("tail", f"k = {terms}", 0, x, float(count / (2 * sums))))
            rows.append(("tail", f"Theorem 6.5, k = {terms}", 0, x, float(bound)))
    return rows


def _sizes(n: int, repetitions: int, source: EntropySource, rng: np.random.Generator) -> list[Row]:
    sizes = [2**i for i in range(1, int(math.log2(n)))]
    rows: list[Row] = [("one size", "answer 0", 0, s * s, DENSITY * s * s) for s in sizes]
    for repetition in range(repetitions):
        noise = _noise((n, n), 1.0, source)
        sigma = largest_singular_value(Operand(noise)).value
        for s in sizes:
            measured = (_mean_error(noise, s, rng), _largest_of_size(noise, s, rng), sigma * s)
            named = zip(_SIZES, measured, strict=True)
            rows += [("one size", name, repetition, s * s, y) for name, y in named]
    return rows


def _mean_error(noise: FloatMatrix, size: int, rng: np.random.Generator, cuts: int = 200) -> float:
    """Return the mean absolute error of random cuts of one size."""
    S, T = (_random_sets(len(noise), size, cuts, rng) for _ in range(2))
    return float(np.abs(np.einsum("ci,ij,cj->c", S, noise, T, optimize=True)).mean())


def _largest_of_size(
    noise: FloatMatrix, size: int, rng: np.random.Generator, starts: int = 64, rounds: int = 12
) -> float:
    """Alternate: for a fixed T the best S of a size are the largest row sums, and so on."""
    T = _random_sets(len(noise), size, starts, rng)
    best = 0.0
    for _ in range(rounds):
        S = _top(T @ noise.T, size)
        sums = S @ noise
        T = _top(sums, size)
        best = max(best, float((sums * T).sum(axis=1).max()))
    return best


def _random_sets(n: int, size: int, count: int, rng: np.random.Generator) -> FloatMatrix:
    return _top(rng.random((count, n)), size)


def _top(values: FloatMatrix, size: int) -> FloatMatrix:
    """Mark the `size` largest numbers of each row."""
    chosen = np.argpartition(values, -size, axis=1)[:, -size:]
    sets = np.zeros(values.shape)
    np.put_along_axis(sets, chosen, 1.0, axis=1)
    return sets


def _all_sizes(side: int, repetitions: int, source: EntropySource, seed: int) -> list[Row]:
    rows: list[Row] = []
    for epsilon in EPSILONS:
        for repetition in range(repetitions):
            noise = _noise((side, side), epsilon, source)
            cut = prefix_cuts(noise, 1, seed=seed)
            size = abs(float(cut.values[0])) / math.sqrt(cut.S[0].sum() * cut.T[0].sum())
            most = largest_singular_value(Operand(noise)).value
            rows.append(("all sizes", f"found, epsilon = {epsilon:g}", repetition, side, size))
            rows.append(("all sizes", f"proven, epsilon = {epsilon:g}", repetition, side, most))
    return rows


def _findings(table: Table) -> list[Finding]:
    def points(panel: str, series: str, **fixed: float) -> tuple[list[Any], ...]:
        return table.line("x", "y", panel=panel, series=series, **fixed)

    ratios = [
        max(np.divide(y, theorem_6_5(terms, x)))
        for terms in TERMS
        for x, y in [points("tail", f"k = {terms}")]
    ]
    side = max(table.parameters["sides"])
    largest = [
        (epsilon, y)
        for epsilon in EPSILONS
        for y in points("all sizes", f"found, epsilon = {epsilon:g}", x=side)[1]
    ]
    every = "GRU12 section 6: all cuts within O(sqrt(n|S||T|)/epsilon), exponent of n"
    tail = "GRU12 Thm 6.5: P(Y >= a) <= exp(-a^2/6kb^2), largest measured/bound"
    return [
        at_most(tail, max(ratios)),
        exponent("Error of one cut ~ (|S||T|)^(1/2)", points("one size", "one cut"), 0.5, 0.03),
        exponent(every, points("all sizes", "found, epsilon = 1"), 0.5, 0.05),
        exponent("The same, exponent of epsilon", tuple(zip(*largest, strict=True)), -1.0, 0.05),
    ]


def draw(table: Table) -> Figure:
    """Draw the table of `measure`.

    Returns:
        Three panels: tails with Theorem 6.5's bound, errors against |S||T|, and the largest
        |error|/sqrt(|S||T|) against n.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 3.1))
        tails, one, every = figure.subplots(1, 3)
        _draw_tails(tails, table)
        _draw_sizes(one, table)
        _draw_all(every, table)
        for axes in (tails, one, every):
            axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(-0.12, -0.24), ncols=1)
    return figure


def _draw_tails(axes: Axes, table: Table) -> None:
    sums = table.parameters["terms"]
    for i, terms in enumerate(sums):
        x, y = table.middle("x", "y", panel="tail", series=f"k = {terms}")
        axes.plot(x, y, label=f"sum of k = {terms}", **look(i))
    for i, terms in enumerate(sums):
        x, y = table.middle("x", "y", panel="tail", series=f"Theorem 6.5, k = {terms}")
        axes.plot(x, y, **_dotted(i, "Theorem 6.5, in the same order"))
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.5 / table.parameters["sums"] * 10, top=1.5)
    light_grid(axes)
    axes.set(xlabel=r"$\alpha\,/\,(b\sqrt{k})$", title=r"$P(Y\geq\alpha)$")


def _draw_sizes(axes: Axes, table: Table) -> None:
    draw_each(axes, table, _SIZES, "x", "y", key="series", panel="one size")
    x, y = table.middle("x", "y", panel="one size", series="answer 0")
    axes.plot(x, y, label=f"answer 0 (density {table.parameters['density']:g})", **trivial_look())
    x, y = table.middle("x", "y", panel="one size", series="one cut")
    draw_slope(axes, (x[0], x[-1]), 0.5 * y[0], 0.5, label="exponent 1/2")
    log_log(axes)
    axes.set(xlabel=r"$|S||T|$", title=rf"Error, $n={table.parameters['n']}$, $\varepsilon=1$")


def _draw_all(axes: Axes, table: Table) -> None:
    epsilons = table.parameters["epsilons"]
    names = {
        f"found, epsilon = {epsilon:g}": rf"worst found, $\varepsilon={epsilon:g}$"
        for epsilon in epsilons
    }
    lines = draw_each(axes, table, names, "x", "y", key="series", panel="all sizes")
    x: Any = lines[0].get_xdata()
    heights: list[Any] = [line.get_ydata() for line in lines]
    for i, epsilon in enumerate(epsilons):
        series = f"proven, epsilon = {epsilon:g}"
        points = table.middle("x", "y", panel="all sizes", series=series)
        axes.plot(*points, **_dotted(i, r"at most ($\sigma_1$), in the same order"))
    lowest = min(height[0] for height in heights)
    draw_slope(axes, (x[0], x[-1]), 0.75 * lowest, 0.5, label="exponent 1/2")
    log_log(axes)
    axes.set(xlabel="$n$", title=r"All cuts: $|$error$|/\sqrt{|S||T|}$")


def _dotted(index: int, label: str) -> dict[str, Any]:
    """Return the look of a bound on the series of this number; the first one carries the name."""
    return {
        "color": look(index)["color"],
        "linewidth": 0.9,
        "linestyle": ":",
        "label": label if index == 0 else None,
    }
