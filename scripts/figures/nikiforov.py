"""Compare the largest singular value with the normalised cut norm, on random and worst matrices.

The worst ones are rank-one matrices x y' with x_k = sqrt(k) - sqrt(k-1): all prefixes of x have
x(S)/sqrt(|S|) = 1, so ||x y'||_NC = 1 exactly, while sigma_1 = ||x||^2 = H_n. With x = (v, -v) for
such a v of length n/2, sigma_1 = 2 H_{n/2}: within (ln 2)/2 of the bound 2 H_n.
"""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.spectral import exact_normalised, largest_singular_value, prefix_cuts
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.measure.entries import randomized_response
from graphcuts_dp.plotting.style import PAGE, house_style
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.resources import Progress
from scripts.figures.base import Finding, Table, at_most, finding, near
from scripts.figures.random_graphs import planted_partition
from scripts.figures.style import draw_each, label_ends, light_grid, look, trivial_look

COLUMNS = ("panel", "series", "repetition", "x", "y")
WORST = "worst, two signs"

Row = tuple[str, str, int, float, float]


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:
    """The largest singular value over the normalised cut norm against n, on random and on the worst
    matrices; what rounding finds.

    "sigma": sigma_1(A)/||A||_NC against n, with the largest cut found in place of ||A||_NC (for the
    worst matrices it is exact). "rounding": the largest cut found over ||A||_NC, by enumeration,
    for small n.

    Tests: Nikiforov 2009, GRU12 section 6.2.
    """
    sizes = (50, 100, 200) if quick else (50, 100, 200, 400, 700, 1000)
    small = (4, 7, 10) if quick else (4, 6, 8, 10, 12, 14)
    repetitions, exact_repetitions = (2, 5) if quick else (5, 40)
    tasks = [("sigma", n, repetitions, _sigma_ratio) for n in sizes]
    tasks += [("rounding", n, exact_repetitions, _rounding_ratio) for n in small]
    rows: list[Row] = [("sigma", "bound 2 H_n", 0, n, 2 * harmonic_factor(n)) for n in sizes]
    for step, (panel, n, count, ratio) in enumerate(tasks):
        progress(step / len(tasks), f"{panel}, n = {n}")
        for name, make in FAMILIES.items():
            for repetition in range(count):
                y = ratio(make(n, _seed(seed, n, repetition)))
                rows.append((panel, name, repetition, n, y))
    parameters = {
        "sizes": list(sizes),
        "small": list(small),
        "repetitions": repetitions,
        "exact_repetitions": exact_repetitions,
        "families": list(FAMILIES),
    }
    return Table.of(COLUMNS, rows, parameters, _findings)


def _seed(seed: int, n: int, repetition: int) -> int:
    return int(np.random.SeedSequence([seed, n, repetition]).generate_state(1)[0])


# Families: each takes n and a seed


def _signs(n: int, seed: int) -> FloatMatrix:
    return np.random.default_rng(seed).choice((-1.0, 1.0), (n, n))


def _response(n: int, seed: int) -> FloatMatrix:
    """Draw noise of a release at epsilon = 1, which GRU12 bounds."""
    graph = planted_partition(n, 2, 0.3, 0.1, seed=seed)
    distribution = noise_distribution("binary", epsilon=1.0, max_weight=1.0)
    noise: FloatMatrix = randomized_response(graph, distribution, SeededEntropy(seed)).estimate()
    noise -= graph.dense()
    return noise


def _planted(n: int, seed: int) -> FloatMatrix:
    """Return two groups less the density: one large cut above noise."""
    graph = planted_partition(n, 2, 0.3, 0.1, seed=seed)
    A: FloatMatrix = graph.dense()
    A -= A.sum() / n**2
    return A


def _star(n: int, seed: int) -> FloatMatrix:
    """Return a few vertices joined to all, the others to few: uneven degrees."""
    rng = np.random.default_rng(seed)
    chance = np.minimum(1.0, 1.0 / np.arange(1, n + 1) ** 0.5)
    A = np.triu(rng.random((n, n)) < np.outer(chance, chance), 1).astype(np.float64)
    A += A.T
    return A


def _worst(n: int, seed: int) -> FloatMatrix:
    """Return the worst matrix with both signs, rows and columns in random order; see the module."""
    rng = np.random.default_rng(seed)
    half = np.diff(np.sqrt(np.arange(n // 2 + 1)))
    x = np.concatenate([half, -half, np.zeros(n % 2)])
    return np.outer(rng.permutation(x), rng.permutation(x))


FAMILIES: dict[str, Callable[[int, int], FloatMatrix]] = {
    WORST: _worst,
    "uneven degrees": _star,
    "random signs": _signs,
    "noise of a release": _response,
    "two groups": _planted,
}


def _sigma_ratio(matrix: FloatMatrix) -> float:
    return largest_singular_value(Operand(matrix)).value / _found(matrix)


def _rounding_ratio(matrix: FloatMatrix) -> float:
    """Return the rounding ratio; 1 for the zero matrix, whose best cut is any."""
    exact = exact_normalised(Operand(matrix))[2]
    return _found(matrix) / exact if exact > 0 else 1.0


def _found(matrix: FloatMatrix) -> float:
    cut = prefix_cuts(matrix, 1)
    return abs(float(cut.values[0])) / float(np.sqrt(cut.S[0].sum() * cut.T[0].sum()))


def _findings(table: Table) -> list[Finding]:
    sigma = [row for row in table.where(panel="sigma") if row["series"] in FAMILIES]
    small = table.where(panel="rounding")
    share = max(row["y"] / (2 * harmonic_factor(row["x"])) for row in sigma)
    least = min(row["y"] for row in sigma)
    return [
        finding("Nikiforov: ||A||_NC <= sigma_1, least sigma_1/found", least, agrees=least >= 1),
        at_most(
            "Nikiforov sharpened: sigma_1 <= 2 H_n ||A||_NC, largest share of the bound", share
        ),
        near(
            "The factor ln n is needed: slope of the ratio in ln n, worst matrices",
            _slope(table, WORST),
            claimed=0.5,
            tolerance=0.02,
        ),
        near(
            "On noise it is not: slope of the ratio in ln n, random signs",
            _slope(table, "random signs"),
            claimed=0.0,
            tolerance=0.1,
        ),
        finding(
            "Rounding finds a share of ||A||_NC of at least 1/2H_n, least share, small n",
            min(row["y"] for row in small),
            agrees=all(row["y"] * 2 * harmonic_factor(row["x"]) >= 1 for row in small),
        ),
    ]


def _slope(table: Table, series: str) -> float:
    """Return the slope of y in ln x."""
    x, y = table.line("x", "y", panel="sigma", series=series)
    return float(np.polyfit(np.log(x), y, 1)[0])


def draw(table: Table) -> Figure:
    """Draw the table of `measure`.

    Returns:
        Two panels: sigma_1 over the normalised cut norm against n, and the share of that norm that
        rounding finds, the least of all matrices.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 3.0))
        sigma, rounding = figure.subplots(1, 2, width_ratios=(1.5, 1))
        _draw_rounding(rounding, table)
        _draw_sigma(sigma, table)
    return figure


def _draw_sigma(axes: Axes, table: Table) -> None:
    names = {family: family for family in table.parameters["families"]}
    lines = draw_each(axes, table, names, "x", "y", key="series", panel="sigma")
    x, bound = table.middle("x", "y", panel="sigma", series="bound 2 H_n")
    lines += axes.plot(x, bound, color="black", linewidth=0.9, label="bound $2H_n$")
    lines += axes.plot(x, np.ones(len(x)), label="least possible: 1", **trivial_look())
    axes.set_xscale("log")
    axes.set_ylim(0, 1.05 * max(bound))
    light_grid(axes)
    axes.set(xlabel="$n$", title=r"$\sigma_1(A)\,/\,\|A\|_{NC}$, by the cut found")
    label_ends(axes, lines)


def _draw_rounding(axes: Axes, table: Table) -> None:
    for i, family in enumerate(table.parameters["families"]):
        x, y = table.series("x", "y", panel="rounding", series=family)
        axes.plot(x, y.min(axis=1), **look(i))
    axes.axhline(1.0, **trivial_look())
    axes.set_ylim(0.7, 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    light_grid(axes)
    axes.set(xlabel="$n$", title=r"Found$\,/\,\|A\|_{NC}$, the least seen")


def harmonic_factor(n: int) -> float:
    """Return H_n = sum_{k=1..n} (sqrt(k) - sqrt(k-1))^2, about (ln n)/4 + 1.

    Args:
        n: at least 1.
    """
    roots = np.sqrt(np.arange(n + 1, dtype=np.float64))
    return float(np.square(np.diff(roots)).sum())
