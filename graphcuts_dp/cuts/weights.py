"""Weights of a noisy cut and of the trivial ones, measured once, and the lightest of them.

If noise decides a private cut, to cut off terminals alone is better. So the noisy cut is compared
with the *trivial* cuts, in each of which one terminal keeps all *free* vertices (those that are no
terminals); with two terminals, the other one is alone. The measured weights are

    x     the weight across the noisy cut, of pairs with a free endpoint,
    f_i   the weight between terminal i and all free vertices,
    b     the weight of pairs of two different terminals, which every cut has.

The noisy cut weighs x + b, and the trivial cut of terminal j the sum of f_i over i != j, and b.
Everything else is computed from the noisy x, f and b: `lightest`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolVector, IntVector
from graphcuts_dp.estimate.answers import nearest_within
from graphcuts_dp.graph.adjacency import AnyGraph, DirectedGraph
from graphcuts_dp.learn.least_cut_error import CutErrors, CutRates, halvings_of
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace

# `_sum` adds up the low 26 bits of weights and the other ones separately, each within 64 bits.
_LOW_BITS = 26


@final
@dataclass(frozen=True, kw_only=True)
class MeasuredCut:
    """The noisy cut, and noisy weights in grid units. Public.

    Attributes:
        codes: number of the part of each vertex in the noisy cut, in 0..k - 1, shape (n,).
        across: noisy x.
        terminals: noisy f_i of each of the k terminals.
        between: noisy b.
    """

    codes: IntVector
    across: int
    terminals: tuple[int, ...]
    between: int


@final
@dataclass(frozen=True, kw_only=True)
class LightestCut:
    """The cut of the least measured weight, computed from public numbers.

    Attributes:
        codes: number of the part of each vertex, in 0..k - 1, shape (n,).
        value: measured weight, moved into `interval` where noise made it impossible.
        interval: bounds on the weight of the cut, which hold `value`.
        optimum: interval for the weight of the least cut that keeps the terminals apart.
        shortfall: bound on how much more the cut weighs than the least cuts of all halvings, added
            up. With two terminals that is the least cut.
    """

    codes: IntVector
    value: float
    interval: tuple[float, float]
    optimum: tuple[float, float]
    shortfall: float


def measure_weights(
    graph: AnyGraph,
    source: EntropySource,
    *,
    weights: IntVector,
    codes: IntVector,
    terminal_rows: Sequence[IntVector],
    rates: CutRates,
) -> MeasuredCut:
    """Measure the weights of the noisy cut and of the trivial ones.

    Args:
        graph: private.
        source: where the noise comes from.
        weights: weights of the edges of the graph, in grid units, none above `largest_weight`,
            shape (m,).
        codes: number of the part of each vertex in the noisy cut, shape (n,).
        terminal_rows: row numbers of each terminal.
        rates: rates of the discrete Laplace noise, per grid unit.

    Guarantee: `CutRates.loss` together with the noisy cut. The sensitivity is exact: a pair of free
    vertices counts in x alone, a pair of a terminal i and a free vertex in f_i and at most once in
    x, a pair of two terminals in b or in nothing; each with coefficient 0 or 1. Of directed graphs
    arcs that leave the first terminal or enter the second one count, and in x those that leave the
    first part. Theorem "Weights of cuts".
    """
    terminal_of = np.full(len(codes), -1, dtype=np.int64)
    for terminal, rows in enumerate(terminal_rows):
        terminal_of[rows] = terminal
    tails, heads = terminal_of[graph.rows], terminal_of[graph.columns]
    crosses = codes[graph.rows] != codes[graph.columns]
    if isinstance(graph, DirectedGraph):
        crosses &= codes[graph.rows] == 0
        at_terminal = [(tails == 0) & (heads < 0), (heads == 1) & (tails < 0)]
    else:
        at_terminal = [
            ((tails == terminal) & (heads < 0)) | ((heads == terminal) & (tails < 0))
            for terminal in range(len(terminal_rows))
        ]
    only_terminals = (tails >= 0) & (heads >= 0)
    laplace = sample_discrete_laplace
    return MeasuredCut(
        codes=codes,
        across=_sum(weights, crosses & ~only_terminals) + int(laplace(rates.across, 1, source)[0]),
        terminals=tuple(
            _sum(weights, is_counted) + noise
            for is_counted, noise in zip(
                at_terminal,
                laplace(rates.terminal, len(terminal_rows), source).tolist(),
                strict=True,
            )
        ),
        between=_sum(weights, crosses & only_terminals) + int(laplace(rates.between, 1, source)[0]),
    )


def lightest(
    measured: MeasuredCut, terminal_rows: Sequence[IntVector], errors: CutErrors, unit: float
) -> LightestCut:
    """Return the cut of the least measured weight; of equal ones the noisy cut.

    The interval holds although the cut was chosen by its measured weight, since the intervals of
    all candidates hold at once. The least cut weighs at least (w - `errors.noisy`)/h, with w the
    weight of the noisy cut and h the number of halvings, and at most as much as this cut. All of it
    is computed from public numbers.

    Args:
        measured: the noisy cut and the weights.
        terminal_rows: row numbers of each terminal.
        errors: bounds that hold together with the stated confidence: `noisy` on how much the noisy
            cut weighs above the least cuts, the others on errors of measured weights.
        unit: weight of one grid unit.
    """
    noisy = measured.across
    # In the lightest trivial cut the heaviest terminal keeps all free vertices.
    keeper = int(np.argmax(np.array(measured.terminals, dtype=object)))
    trivial = sum(measured.terminals) - measured.terminals[keeper]
    codes, value, error = measured.codes, noisy, errors.across
    if trivial < noisy:
        codes, value, error = np.full_like(codes, keeper), trivial, errors.trivial
        for terminal, rows in enumerate(terminal_rows):
            codes[rows] = terminal
    between = unit * measured.between  # noisy b, which every cut has
    weight = unit * value + between
    high = max(0.0, weight + error + errors.between)
    low = min(high, max(0.0, weight - error - errors.between))
    # Both weights include b, so its noise does not count in their difference.
    above_noisy = 0.0 if value == noisy else unit * (value - noisy) + errors.trivial + errors.across
    # The noisy cut weighs at least this. The least cuts of all halvings together weigh less by
    # `errors.noisy` at most, and none of them weighs more than the least cut.
    noisy_at_least = unit * noisy - errors.across + between - errors.between
    halvings = halvings_of(len(terminal_rows))
    optimum_at_least = (noisy_at_least - errors.noisy) / halvings
    optimum = min(high, max(0.0, optimum_at_least)), high
    # The least cuts of several halvings may add up to more than the least cut.
    shortfall = min(high, errors.noisy + above_noisy) if halvings == 1 else high - optimum[0]
    return LightestCut(
        codes=codes,
        value=nearest_within(weight, (low, high)),
        interval=(low, high),
        optimum=optimum,
        shortfall=max(0.0, shortfall),
    )


def _sum(weights: IntVector, is_counted: BoolVector) -> int:
    """Return the exact sum of weights of up to 51 bits; it may have more than 63 bits."""
    summands = weights[is_counted]
    low = summands & ((1 << _LOW_BITS) - 1)
    return (int((summands >> _LOW_BITS).sum()) << _LOW_BITS) + int(low.sum())
