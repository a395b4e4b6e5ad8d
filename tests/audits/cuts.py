"""Audits of least cuts: exact laws on all graphs of four vertices, and runs on five.

Of the exact ones two vertices are free, so that an output is where each of them is, and each
noisy weight. The noise enters the least cut only up to the weight of all pairs at a vertex: what is
beyond is lumped. So are noisy weights outside of all true ones, where the ratio of their chances is
largest.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial

import numpy as np
import numpy.typing as npt

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.cuts import least
from graphcuts_dp.evaluation.audit import Claim, Draw, Neighbours
from graphcuts_dp.learn.least_cut_error import CutRates
from graphcuts_dp.plugins import EntropySource
from tests.audits.base import Sampled, audited, audited_laws
from tests.audits.graphs import one_more
from tests.audits.losses import DistributionPair

_MOST = 2  # weight of a pair
_BEYOND = 32  # above all weights of cuts
FREE = ((0, 0), (1, 0), (0, 1), (1, 1))  # in the part of the first terminal, of vertices 1 and 2


def pairs_of_four(*, directed: bool) -> tuple[tuple[int, int], ...]:
    """But for the pair of terminals 0 and 3, which costs the same in every cut."""
    pairs = itertools.permutations(range(4), 2) if directed else itertools.combinations(range(4), 2)
    # Arcs that enter 0 or leave 3 are in no cut.
    return tuple(
        (u, v) for u, v in pairs if {u, v} != {0, 3} and not (directed and (v == 0 or u == 3))
    )


def split_law(costs: Sequence[float], rate: float) -> FloatVector:
    """The probability of each of `FREE`, with noise of this rate on both vertices, shape (4,).

    Args:
        costs: of the cuts that have each of `FREE`, whole numbers.
        rate: of the noise; the law is right up to rounding.
    """
    most = 1 + int(max(costs))
    r, k = math.exp(-rate), np.arange(-most, most + 1)
    chance = (1 - r) / (1 + r) * r ** np.abs(k)
    chance[[0, -1]] = r**most / (1 + r)
    # The least, and of equal ones that within the others.
    keys = [
        8 * (cost - u * k[:, None] - v * k) + u + v
        for cost, (u, v) in zip(costs, FREE, strict=True)
    ]
    first = np.argmin(keys, axis=0)
    both = np.outer(chance, chance)
    return np.array([both[first == place].sum() for place in range(len(FREE))])


def cut_law(weights: Sequence[int], rate: float, *, directed: bool = False) -> FloatVector:
    """The law of the cut of a graph of four vertices."""
    ends = pairs_of_four(directed=directed)
    costs = []
    for u, v in FREE:
        S = (1, u, v, 0)
        parted = [(S[a] > S[b]) if directed else S[a] != S[b] for a, b in ends]
        costs.append(sum(w for w, out in zip(weights, parted, strict=True) if out))
    return split_law(costs, rate)


def noisy_weights_law(value: int, rate: Fraction) -> FloatVector:
    """The chances that a weight with noise is at most 0, between, or at least `_BEYOND`."""
    r = math.exp(-float(rate))
    low, high = (r**distance / (1 + r) for distance in (value, _BEYOND - value))
    return np.array([low, 1 - low - high, high])


def with_weights(
    chances: Sequence[float], across: Sequence[int], terminals: Sequence[int], rates: CutRates
) -> FloatVector:
    """The law of a cut and all noisy weights but that between terminals.

    Args:
        chances: of each cut.
        across: what each cut weighs.
        terminals: the weight at each terminal.
        rates: of the noise.
    """
    beside = np.ones(1)
    for value in terminals:
        beside = np.outer(beside, noisy_weights_law(value, rates.terminal)).ravel()
    laws = [
        chance * np.outer(noisy_weights_law(value, rates.across), beside)
        for chance, value in zip(chances, across, strict=True)
    ]
    return np.array(laws).ravel()


def released_law(weights: Sequence[int], rates: CutRates, *, directed: bool) -> FloatVector:
    """The law of all that is released of a graph of four vertices; see `with_weights`."""
    ends = pairs_of_four(directed=directed)
    across = []
    for u, v in FREE:
        S = (1, u, v, 0)
        parted = [(S[a] > S[b]) if directed else S[a] != S[b] for a, b in ends]
        across.append(sum(w for w, out in zip(weights, parted, strict=True) if out))
    terminals = [
        sum(w for w, pair in zip(weights, ends, strict=True) if terminal in pair)
        for terminal in (0, 3)
    ]
    chances = cut_law(weights, float(rates.cut), directed=directed)
    return with_weights(chances.tolist(), across, terminals, rates)


def changed_rates(epsilon: float, halvings: int = 1, **factors: int) -> CutRates:
    """The rates of a least cut, some of them times a factor."""
    rates = CutRates.of(Fraction(epsilon), 1, halvings)
    return replace(rates, **{name: by * getattr(rates, name) for name, by in factors.items()})


def _neighbours(rates: CutRates, *, directed: bool) -> Iterator[DistributionPair]:
    law = cache(lambda weights: released_law(weights, rates, directed=directed))
    count = len(pairs_of_four(directed=directed))
    between = [noisy_weights_law(weight, rates.between) for weight in range(2)]
    yield DistributionPair("one pair of terminals more", between[0], between[1])
    for weights in itertools.product(range(_MOST + 1), repeat=count):
        for place in range(count):
            if weights[place] < _MOST:
                more = (*weights[:place], weights[place] + 1, *weights[place + 1 :])
                name = f"{weights} and {more}"
                yield DistributionPair(name, law(weights), law(more))


_VARIANTS = {
    "twice the rate": {"cut": 2},
    "a weight for nothing": {"across": 2},
    "weights at terminals with all of epsilon": {"terminal": 3},
    "twice the rate between terminals": {"between": 2},
}


@audited_laws("least cut", incorrect_variants=_VARIANTS)
def _undirected(epsilon: float, **factors: int) -> Iterator[DistributionPair]:
    """All graphs with weights up to 2, and every pair changed by 1."""
    return _neighbours(changed_rates(epsilon, **factors), directed=False)


@audited_laws("least cut: directed", incorrect_variants=_VARIANTS)
def _directed(epsilon: float, **factors: int) -> Iterator[DistributionPair]:
    return _neighbours(changed_rates(epsilon, **factors), directed=True)


# As released: many copies of a graph that share their terminals, which come first, are as many runs
# at once, since no edge joins two of them.


def _copies(graph: gc.Graph, ends: int, count: int) -> gc.Graph:
    """So many copies of a graph on the same first vertices."""
    free = graph.n - ends
    moved = free * np.arange(count)[:, None]
    rows, columns = (
        (side + np.where(side < ends, 0, moved)).ravel() for side in (graph.rows, graph.columns)
    )
    return gc.Graph(rows, columns, vertices=ends + free * count)


def _runs(
    pairs: Sequence[Neighbours], ends: int, epsilon: float, wrong: float, variant: str
) -> Sampled:
    def start(source: EntropySource, factor: float = 1) -> Draw:
        def draw(data: gc.Graph, first: int, count: int) -> npt.NDArray[np.float64]:
            del first
            many = _copies(data, ends, count)
            job = least.cut_job(many, *range(ends), epsilon=factor * epsilon)
            codes = job.measure(many, source).codes[ends:]  # the lightest is one for all copies
            return codes.reshape(count, -1).astype(np.float64)

        return draw

    return Sampled(
        claim=Claim(epsilon),
        pairs=pairs,
        start=start,
        incorrect_variants={variant: partial(start, factor=wrong)},
        runs=300_000,
        batch=True,
    )


def _five(name: str, edges: Sequence[tuple[int, int]]) -> Neighbours:
    rows, columns = zip(*edges, strict=True)
    return one_more(name, rows, columns, vertices=5)


def _small_runs(
    pairs: Sequence[Neighbours], ends: int, epsilon: float, wrong: float, variant: str
) -> Sampled:
    """Runs of small graphs one by one: the noisy cut, its weight and those at the terminals."""

    def start(source: EntropySource, factor: float = 1) -> Draw:
        def draw(data: gc.Graph, first: int, count: int) -> npt.NDArray[np.float64]:
            del first
            job = least.cut_job(data, *range(ends), epsilon=factor * epsilon)
            runs = [job.measure(data, source) for _ in range(count)]
            return np.array(
                [[*run.codes[ends:], run.across, *run.terminals, run.between] for run in runs],
                dtype=np.float64,
            )

        return draw

    return Sampled(
        claim=Claim(epsilon),
        pairs=pairs,
        start=start,
        incorrect_variants={variant: partial(start, factor=wrong)},
        runs=20_000,
        batch=True,
    )


_FIVE = (
    _five("two free vertices", [(3, 4), (2, 3)]),
    _five("two that hang on an end", [(1, 2), (1, 4), (2, 3)]),
    _five("a way between the ends", [(0, 2), (1, 4), (3, 4), (2, 3)]),
)


@audited("least cut, as released", covers="least cut")
def _released(epsilon: float) -> Sampled:
    """Of five vertices, two of them terminals."""
    return _runs(_FIVE, 2, epsilon, 2, "twice the epsilon")


@audited(
    "least cut: weights, as released",
    covers="least cut",
    why_below_half="All of epsilon is lost only if a pair is parted and its noisy weights lie far "
    "out.",
)
def _released_weights(epsilon: float) -> Sampled:
    """Of five vertices: everything that is measured, in each run."""
    return _small_runs(_FIVE[:1], 2, epsilon, 8, "eight times the epsilon")


def several_law(
    of_u: Sequence[int], of_v: Sequence[int], between: int, rate: float
) -> npt.NDArray[np.float64]:
    """In which of the parts of four terminals two free vertices are, shape (4, 4).

    Args:
        of_u: weights of the pairs of u with the terminals.
        of_v: likewise.
        between: weight of the pair of both.
        rate: of the noise in both halvings.
    """

    def halved(own: Sequence[int], other: Sequence[int], weight: int) -> FloatVector:
        # What the first half and the second one weigh at each vertex; (1, 0): in the first half.
        return split_law([own[u] + other[v] + weight * (u != v) for u, v in FREE], rate)

    def halves(weights: Sequence[int], part: slice) -> tuple[int, int]:
        first, second = np.array(weights)[part].reshape(2, -1).sum(axis=1)
        return int(first), int(second)

    found = np.zeros((4, 4))
    above = halved(halves(of_u, slice(4)), halves(of_v, slice(4)), between)
    for chance, (u, v) in zip(above, FREE, strict=True):
        parts = [slice(0, 2) if side else slice(2, 4) for side in (u, v)]
        within = halved(halves(of_u, parts[0]), halves(of_v, parts[1]), between * (u == v))
        for lower, (a, b) in zip(within, FREE, strict=True):
            found[2 * (1 - u) + 1 - a, 2 * (1 - v) + 1 - b] += chance * lower
    return found


_TIES = ((0, 0, 0, 0), (0, 1, 2, 0), (0, 2, 4, 0), (2, 0, 0, 4), (0, 2, 5, 0), (3, 0, 0, 0))


def several_released(
    of_u: Sequence[int], of_v: Sequence[int], between: int, rates: CutRates
) -> FloatVector:
    """The law of all that is released of four terminals; see `with_weights`."""
    across = [
        sum(of_u) - of_u[a] + sum(of_v) - of_v[b] + between * (a != b)
        for a, b in itertools.product(range(4), repeat=2)
    ]
    chances = several_law(of_u, of_v, between, float(rates.cut)).ravel().tolist()
    at_terminals = [u + v for u, v in zip(of_u, of_v, strict=True)]
    return with_weights(chances, across, at_terminals, rates)


@audited_laws(
    "least cut: several",
    incorrect_variants={
        "each halving has all": {"halvings": 1},
        "a weight for nothing": {"across": 4},
        "weights at terminals with all of epsilon": {"terminal": 3},
    },
)
def _several_laws(epsilon: float, halvings: int = 2, **factors: int) -> Iterator[DistributionPair]:
    """Both free vertices are drawn away from where they end, in both halvings."""
    rates = changed_rates(epsilon, halvings, **factors)
    for of_u, of_v in itertools.product(_TIES, repeat=2):
        laws = [several_released(of_u, of_v, between, rates) for between in range(4)]
        for weight, (first, second) in enumerate(itertools.pairwise(laws)):
            yield DistributionPair(f"{of_u}, {of_v}, {weight} and 1 more", first, second)
        for place in range(4):
            more = [weight + (place == other) for other, weight in enumerate(of_u)]
            changed = several_released(more, of_v, 1, rates)
            yield DistributionPair(f"{more}, {of_v}, 1 and 1 less", changed, laws[1])


_SIX = (one_more("two free vertices", [4], [5], vertices=6),)


@audited(
    "least cut: several, as released",
    covers="least cut: several",
    why_below_half=(
        "A pair that is parted by the first halving pays nothing for the second, and one that is "
        "not tells little of it."
    ),
)
def _several(epsilon: float) -> Sampled:
    """Of four terminals: the second halving cuts parts that the first one made."""
    return _runs(_SIX, 4, epsilon, 4, "four times the epsilon")
