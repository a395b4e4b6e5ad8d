"""Exact laws of the top-m filter and of its public codes, by how many edges of each kind stay.

Of a graph with m edges on N pairs an output is told by its number of edges M, by whether it has
the pair in which neighbours differ, and by how many of the other true edges it has: outputs that
agree in these are equally likely. The noisy count m~ is a whole number in 0..N in all of them; of
outputs alone it is not told.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from tests.audits.losses import DistributionPair, clipped_laplace

_PANELS = 4  # in each scale of the noise
_FAR = 40  # scales, beyond which noise has a chance of e^-40
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@final
class OutputKind(NamedTuple):
    """A kind of output.

    Attributes:
        edges: M, how many edges it has.
        pair: whether it has the pair in which neighbours differ.
        others: how many of the other true edges it has.
    """

    edges: int
    pair: bool
    others: int


@final
class GraphSize(NamedTuple):
    """Of one graph.

    Attributes:
        pairs: N.
        others: how many edges there are beside the pair.
        pair: whether the pair is an edge.
    """

    pairs: int
    others: int
    pair: bool

    @property
    def edges(self) -> int:
        """How many there are."""
        return self.others + self.pair


# (graph, kind of output, m~, epsilon of the entries) -> the chance of one output, given m~
Law = Callable[[GraphSize, OutputKind, int, float], float]


def outputs(size: GraphSize) -> Iterator[OutputKind]:
    """All kinds of outputs that there are."""
    for edges in range(size.pairs + 1):
        for pair in (False, True):
            for others in range(size.others + 1):
                false = edges - pair - others
                if 0 <= false <= size.pairs - 1 - size.others:
                    yield OutputKind(edges, pair, others)


def largest_entries(size: GraphSize, kept: OutputKind, count: int, epsilon: float) -> float:
    """That exactly these entries with Laplace noise are the m~ largest.

    The least of those is at t, all others below: an integral over t, by Gauss-Legendre on panels
    that end at 0 and 1, where densities have corners.
    """
    if kept.edges != count:
        return 0.0
    if count in (0, size.pairs):
        return 1.0
    true = _true(size, kept)
    false = count - true
    t, weights = _grid(epsilon)
    tails = {shift: _log_tail(t - shift, epsilon) for shift in (0, 1)}
    below = {shift: _log_tail(shift - t, epsilon) for shift in (0, 1)}
    lost, left = size.edges - true, size.pairs - size.edges - false
    product = true * tails[1] + false * tails[0] + lost * below[1] + left * below[0]
    found = 0.0
    for number, shift in ((true, 1), (false, 0)):
        log_density = math.log(epsilon / 2) - epsilon * np.abs(t - shift)
        found += number * float((weights * np.exp(product + log_density - tails[shift])).sum())
    return found


def filled_up(size: GraphSize, kept: OutputKind, count: int, epsilon: float) -> float:
    """Edges that pass the paper's threshold, and uniform false edges until there are m~ in all.

    Where too few pairs are free the code never ends: that outcome is left out.
    """
    true, passing = _true(size, kept), passing_chance(size.pairs, count, epsilon)
    passed = _passed(size.edges, true, passing)
    if kept.edges != count:
        return passed if true == kept.edges > count else 0.0
    return passed / math.comb(size.pairs - size.edges, count - true)


def dropped_come_back(size: GraphSize, kept: OutputKind, count: int, epsilon: float) -> float:
    """The same with PGB's threshold, where an edge that did not pass may come as a false one."""
    true, passing = _true(size, kept), pgb_chance(size.pairs, count, epsilon)
    if kept.edges != count:
        return _passed(size.edges, true, passing) if true == kept.edges > count else 0.0
    return sum(
        math.comb(true, passed)
        * _passed(size.edges, passed, passing)
        / math.comb(size.pairs - passed, count - passed)
        for passed in range(true + 1)
    )


@lru_cache(maxsize=1024)
def passing_chance(pairs: int, count: int, epsilon: float) -> float:
    """Of an edge, at the paper's threshold: as many pairs are to pass as there are edges.

    m P(1 + noise > theta) + (N - m) P(noise > theta) = m has the solutions
    theta = 1/2 + ln(N/m - 1)/(2 epsilon), if that is below 1, or
    theta = ln((N + m (e^epsilon - 1))/(2 m))/epsilon, for m up to N/2, as in sparse graphs.
    """
    if count == 0:
        return 0.0
    if count == pairs:
        return 1.0
    threshold = 1 / 2 + math.log(pairs / count - 1) / (2 * epsilon)
    if threshold >= 1:
        threshold = math.log((pairs / count + math.expm1(epsilon)) / 2) / epsilon
    return float(np.exp(_log_tail(np.array([threshold - 1]), epsilon))[0])


@lru_cache(maxsize=1024)
def pgb_chance(pairs: int, count: int, epsilon: float) -> float:
    """Of an edge, at the threshold of PGB's code, which exchanges the cases and lacks the 1/2."""
    if count == 0:
        return 0.0
    odds = max(pairs / count - 1, 1e-9)
    if epsilon < math.log(odds):
        threshold = math.log(odds) / (2 * epsilon)
    else:
        threshold = math.log((pairs / count + math.expm1(epsilon)) / 2) / epsilon
    return float(np.exp(_log_tail(np.array([threshold - 1]), epsilon))[0])


def pair_of_laws(
    law: Law, pairs: int, others: int, epsilon: Fraction, *, share: Fraction, charged: bool = True
) -> DistributionPair:
    """All outputs on two graphs, one of which has an edge more.

    Args:
        law: of the output, given how many edges it has.
        pairs: N.
        others: edges of the smaller graph.
        epsilon: of everything.
        share: of it, for the number of edges.
        charged: whether that has noise; if not, it is true, and the entries have all of epsilon.
    """
    laws = []
    for pair in (False, True):
        size = GraphSize(pairs, others, pair)
        for_entries = float(epsilon * (1 - share) if charged else epsilon)
        counts = np.eye(pairs + 1)[size.edges]
        if charged:
            counts = clipped_laplace(size.edges, epsilon * share, 0, pairs)
        laws.append(
            [
                _multiplicity(size, kept)
                * sum(
                    counts[count] * law(size, kept, count, for_entries)
                    for count in range(kept.edges + 1)
                    if counts[count]
                )
                for kept in outputs(size)
            ]
        )
    name = f"{others} edges of {pairs} pairs, and one more"
    return DistributionPair(name, np.array(laws[0]), np.array(laws[1]))


def _true(size: GraphSize, kept: OutputKind) -> int:
    """How many true edges an output has."""
    return kept.others + (kept.pair and size.pair)


def _multiplicity(size: GraphSize, kept: OutputKind) -> float:
    false = kept.edges - kept.pair - kept.others
    return math.comb(size.others, kept.others) * math.comb(size.pairs - 1 - size.others, false)


def _passed(edges: int, passed: int, chance: float) -> float:
    """That exactly these edges pass."""
    return float(chance**passed * (1 - chance) ** (edges - passed))


def _log_tail(x: FloatVector, epsilon: float) -> FloatVector:
    """Ln P(noise >= x)."""
    above = np.maximum(x, 0)
    below = np.minimum(x, 0)
    found: FloatVector = np.where(
        x >= 0, -epsilon * above - math.log(2), np.log1p(-np.exp(epsilon * below) / 2)
    )
    return found


def _grid(epsilon: float) -> tuple[FloatVector, FloatVector]:
    inside = math.ceil(_PANELS * max(epsilon, 1))
    far = np.arange(1, _FAR * _PANELS + 1) / (_PANELS * epsilon)
    ends = np.concatenate([-far[::-1], np.linspace(0, 1, inside + 1), 1 + far])
    middle, half = (ends[1:] + ends[:-1]) / 2, (ends[1:] - ends[:-1]) / 2
    at = middle[:, None] + half[:, None] * _NODES
    return at.ravel(), (half[:, None] * _WEIGHTS).ravel()
