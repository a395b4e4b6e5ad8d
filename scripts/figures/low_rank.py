"""Count updates of Schatten-p mirror descent on low-rank matrices, beside the Frobenius norm's.

A stream of fresh random queries <F, X> is put to a hypothesis that starts at 0; it is corrected
whenever its answer is off by alpha = ||X||_F, the typical size of an answer, and the stream ends
after a hundred answers in a row that are not. No noise: what is counted is the learning alone,
which is what B(alpha) bounds; a mechanism's error grows as the fourth root of B alpha^2.

Claims, corrected. With p* = ln mn and ||X||_{S_1} <= sqrt(r) ||X||_F, mirror descent makes at most
zeta^2 r ||X||_F^2 (ln(mn) - 1)/alpha^2 updates, zeta the largest ||F||_{S_p*}, where Frobenius
makes at most mn ||X||_F^2/alpha^2 (queries of Frobenius norm sqrt(mn)). A Gaussian F has
||F||_{S_p*} <= e sigma_1 = O(sqrt(n)) for m = 4n, so the ratio of the two is O((r/n) ln mn), and
that of the errors its fourth root: JT12 says that Schatten's error is "a factor of sqrt(n)"
smaller, which is the root of the ratio of B's and not its fourth root. For a rank-one F,
||F||_{S_p*} = ||F||_F, and Frobenius is better for every r.

Source: JT12 section 4.2.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, final

import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.learn.norms import step_size
from graphcuts_dp.learn.potentials import LpNorm, Potential, SchattenNorm, near_one
from graphcuts_dp.plotting.style import PAGE, house_style
from graphcuts_dp.resources import Progress, one_blas_thread
from scripts.figures.base import Finding, Table, above, exponent, finding, fitted_exponent
from scripts.figures.style import draw_each, draw_slope, label_ends, log_log, trivial_look

Queries = Literal["gaussian", "rank-one"]
FROBENIUS, SCHATTEN, BEST = "Frobenius", "Schatten, JT12's p", "Schatten, best p"
ASPECT = 4  # m = 4n
_RANK, _SILENCE = 2, 100
_TOLERANCE = 0.25  # of exponents: sizes span a factor of five, and constants are not yet constant
_COLUMNS = ("part", "queries", "method", "p", "n", "rank", "repetition", "updates", "bound")
_TITLES = {"gaussian": "Gaussian queries", "rank-one": "Rank-one queries"}


@final
@dataclass(frozen=True)
class _Sizes:
    """Sizes of the graphs: values of n for rank 2, and ranks for one n."""

    gaussian: tuple[int, ...]
    rank_one: tuple[int, ...]
    gaussian_n: int
    rank_one_n: int
    ranks: tuple[int, ...]
    repetitions: int


_FULL = _Sizes((8, 12, 16, 24, 32, 40), (6, 8, 12, 16, 20), 24, 12, (1, 2, 4, 8), 5)
_QUICK = _Sizes((6, 8, 12, 16), (4, 6, 8), 12, 6, (1, 2, 4), 2)


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:
    """Updates that learn a low-rank matrix against n and the rank, with Schatten norms and with
    Frobenius, for Gaussian and for rank-one queries.

    Columns: part "n" or "rank" (what varies); kind of queries; potential with its exponent p (best:
    of least B for this X and kind of query); n, with m = 4n rows; rank; updates until a hundred
    answers in a row were within alpha; B(alpha) for the largest query asked.

    Tests: JT12 section 4.2, equation (7), with the error's factor n^(1/4) where sqrt(n) is printed.
    """
    sizes = _QUICK if quick else _FULL
    plan = list(_plan(sizes))
    work = np.cumsum([n**3 for _, _, _, n, _, _ in plan])
    rows = []
    with one_blas_thread():
        for step, (part, queries, method, n, rank, repetition) in enumerate(plan):
            # One matrix and one stream for all methods.
            rng = np.random.default_rng([seed, n, rank, repetition, queries == "gaussian"])
            p, updates, bound = _updates(queries, method, n, rank, rng)
            rows.append((part, queries, method, p, n, rank, repetition, updates, bound))
            progress(float(work[step] / work[-1]), f"{queries} queries, n = {n}, rank {rank}")
    parameters = {
        "m": f"{ASPECT} n",
        "alpha": "||X||_F",
        "silence": _SILENCE,
        "rank in part n": _RANK,
        "repetitions": sizes.repetitions,
    }
    return Table.of(_COLUMNS, rows, parameters, _findings)


def _plan(sizes: _Sizes) -> Iterator[tuple[str, Queries, str, int, int, int]]:
    for repetition, method in product(range(sizes.repetitions), (FROBENIUS, SCHATTEN, BEST)):
        for n in sizes.gaussian:
            yield "n", "gaussian", method, n, _RANK, repetition
        for rank in sizes.ranks:
            yield "rank", "gaussian", method, sizes.gaussian_n, rank, repetition
        if method == BEST:  # of rank-one queries it is 2: Frobenius
            continue
        for n in sizes.rank_one:
            yield "n", "rank-one", method, n, _RANK, repetition
        for rank in sizes.ranks:
            yield "rank", "rank-one", method, sizes.rank_one_n, rank, repetition


def low_rank_matrix(n: int, rank: int, rng: np.random.Generator) -> FloatMatrix:
    """Return a product of Gaussian factors, shape (4n, n), of Frobenius norm 1."""
    X = rng.standard_normal((ASPECT * n, rank)) @ rng.standard_normal((rank, n))
    matrix: FloatMatrix = X / np.linalg.norm(X)
    return matrix


def random_query(queries: Queries, n: int, rng: np.random.Generator) -> FloatMatrix:
    """Draw Gaussian entries, or a product of two Gaussian vectors, of Frobenius norm sqrt(mn)."""
    shape = ASPECT * n, n
    if queries == "gaussian":
        F = rng.standard_normal(shape)
    else:
        F = np.multiply.outer(rng.standard_normal(shape[0]), rng.standard_normal(shape[1]))
    entries = F.ravel()
    F *= math.sqrt(F.size) / math.sqrt(entries.dot(entries))
    return F


def count_updates(
    X: FloatMatrix, psi: Potential, ask: Callable[[], FloatMatrix], *, alpha: float, silence: int
) -> tuple[int, float]:
    """Count updates of mirror descent until `silence` answers in a row are within alpha.

    Args:
        X: the truth.
        psi: the potential; no domain.
        ask: makes the next query.
        alpha: tolerance.
        silence: >= 1.

    Returns:
        Their number, and the largest dual norm of a query that updated.
    """
    theta, residual = np.zeros_like(X), X
    updates, quiet, zeta = 0, 0, 0.0
    while quiet < silence:
        F = ask()
        gap = float(np.vdot(F, residual))
        if abs(gap) < alpha:
            quiet += 1
            continue
        quiet, updates = 0, updates + 1
        size = psi.dual_norm(F)
        zeta = max(zeta, size)
        theta = theta + np.sign(gap) * step_size(alpha, size, psi.order) * F
        residual = X - psi.minimise(theta)  # theta is its gradient; see `MirrorDescentRule`
    return updates, zeta


def best_exponent(X: FloatMatrix, F: FloatMatrix) -> float:
    """Return the p in (1, 2] of least B for a truth and a typical query."""

    def cost(p: float) -> float:
        psi = SchattenNorm(p)
        return psi.value(X) * psi.dual_norm(F) ** 2

    return float(scipy.optimize.minimize_scalar(cost, bounds=(1.02, 2.0), method="bounded").x)


def _updates(
    queries: Queries, method: str, n: int, rank: int, rng: np.random.Generator
) -> tuple[float, int, float]:
    """Return p, the number of updates, and B for them."""
    X = low_rank_matrix(n, rank, rng)
    typical = random_query(queries, n, rng)
    psi: Potential = LpNorm(2.0)
    p = 2.0
    if method != FROBENIUS:
        p = near_one(X.size) if method == SCHATTEN else best_exponent(X, typical)
        psi = SchattenNorm(p)
    count, zeta = count_updates(
        X, psi, lambda: random_query(queries, n, rng), alpha=1.0, silence=_SILENCE
    )
    return p, count, psi.order * zeta**psi.order * psi.value(X)


def _findings(table: Table) -> list[Finding]:
    def updates(part: str, queries: str, method: str) -> tuple[list[int], list[float]]:
        return table.middle(part, "updates", part=part, queries=queries, method=method)

    n, frobenius = updates("n", "gaussian", FROBENIUS)
    _, schatten = updates("n", "gaussian", SCHATTEN)
    logs = np.log(ASPECT * np.square(n)) - 1  # 1/(p - 1)
    per_log = np.array(schatten) / logs
    ranks, by_rank = updates("rank", "gaussian", SCHATTEN)
    _, flat = updates("rank", "gaussian", FROBENIUS)
    most = max(row["updates"] / row["bound"] for row in table.where())
    worse = [
        np.divide(
            updates(part, "rank-one", SCHATTEN)[1], updates(part, "rank-one", FROBENIUS)[1]
        ).min()
        for part in ("n", "rank")
    ]
    growth = fitted_exponent(ranks, by_rank)
    return [
        exponent(
            "JT12 4.2, Gaussian queries: Frobenius' updates ~ n^2", (n, frobenius), 2, _TOLERANCE
        ),
        exponent(
            "JT12 (7), Gaussian queries: Schatten's updates ~ n ln mn", (n, per_log), 1, _TOLERANCE
        ),
        exponent(
            "JT12 (7) corrected: error of Schatten over Frobenius ~ n^(-1/4) (ln mn)^(1/4)",
            (n, (per_log / frobenius) ** 0.25),
            -0.25,
            0.1,
        ),
        exponent(
            "JT12 4.2, Gaussian queries: Frobenius' updates do not depend on the rank",
            (ranks, flat),
            0,
            _TOLERANCE,
        ),
        finding(
            "JT12 (7): Schatten's updates grow with the rank, at most as r",
            growth,
            agrees=0 < growth <= 1,
            claimed=1.0,
        ),
        above(
            "JT12 4.2, rank-one queries: least ratio of Schatten's to Frobenius' updates",
            min(worse),
        ),
        finding(
            "JT12 Alg. 2, corrected step: largest share of B(alpha) that is used",
            most,
            agrees=most <= 1,
            claimed=1.0,
        ),
    ]


def draw(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of the experiment `low_rank`.

    Returns:
        A figure of four panels: updates against n (left) and against the rank (right), for Gaussian
        (above) and rank-one queries (below); lines are medians, bands the range over repetitions.
        Dotted: one update for each of the mn entries.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 5.2))
        panels = figure.subplots(2, 2, sharey="row")
        for (left, right), (queries, title) in zip(panels, _TITLES.items(), strict=True):
            _draw(left, table, part="n", queries=queries)
            lines = _draw(right, table, part="rank", queries=queries)
            n = table.where(part="rank", queries=queries)[0]["n"]
            left.set_title(f"{title}, matrices of rank {table.parameters['rank in part n']}")
            right.set_title(f"{title}, {ASPECT * n} × {n} matrices")
            left.set_ylabel("updates until nothing is off")
            label_ends(right, lines)
        _draw_claims(panels[0, 0], table)
        panels[1, 0].set_xlabel("n (matrices are 4n × n)")
        panels[1, 1].set_xlabel("rank r")
    return figure


def _draw(axes: Axes, table: Table, *, part: str, queries: str) -> list[Line2D]:
    names = {method: method.replace(" p", " $p$") for method in (FROBENIUS, SCHATTEN, BEST)}
    lines = draw_each(axes, table, names, part, "updates", part=part, queries=queries)
    positions: Any = lines[0].get_xdata()
    entries = [
        ASPECT * table.where(part=part, queries=queries, **{part: x})[0]["n"] ** 2
        for x in positions
    ]
    lines += axes.plot(positions, entries, label="every entry", **trivial_look())
    log_log(axes)
    axes.set_xticks(positions, [str(x) for x in positions])
    axes.minorticks_off()
    return lines


def _draw_claims(axes: Axes, table: Table) -> None:
    """Draw a wedge of slopes 1 and 2, below the lines."""
    n, updates = table.series("n", "updates", part="n", queries="gaussian")
    middle = len(n) // 2 - 1
    start, stop, foot = n[middle], n[-1], 0.17 * updates[middle].min()
    for power, text in ((2, "$n^2$"), (1, "$n$")):
        draw_slope(axes, (start, stop), foot, power, label=text)
        end = (stop, foot * (stop / start) ** power)
        axes.annotate(text, end, xytext=(0, 3), textcoords="offset points", ha="right", fontsize=8)
