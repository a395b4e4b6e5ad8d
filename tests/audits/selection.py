"""Audits of what chooses privately: distinguishers, the net mechanism, sensing.

The distribution of a choice is written out where it can be; that the samplers have these
distributions is tested by themselves. The others run.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.evaluation.audit import Claim, Draw, Neighbours
from graphcuts_dp.iterative import net as net_module
from graphcuts_dp.iterative.answer_grid import AnswerGrid
from graphcuts_dp.iterative.distinguisher import ExactCuts, Exponential
from graphcuts_dp.iterative.power_method import PowerRankOne
from graphcuts_dp.iterative.rank_one import ResponseRankOne
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.plugins import EntropySource, SeededEntropy, Universe
from graphcuts_dp.privacy.noise import sample_geometric
from graphcuts_dp.queries.linear import LinearQuery
from graphcuts_dp.queries.plain import plain_query
from graphcuts_dp.schema.vertices import Space
from scripts.figures.gaussian_rank_one import GaussianRankOne
from tests.audits.base import (
    Audit,
    Sampled,
    audited,
    audited_laws,
    audited_runs,
    claimed_for,
    claimed_rho,
)
from tests.audits.graphs import LAST_PAIR, one_more, seed_of
from tests.audits.losses import DistributionPair, half_way, normal_pair, softmax

UNIVERSE = Universe(4)
QUERIES = gc.CutList(UNIVERSE, [gc.CutQuery([2], [3]), gc.CutQuery([0], [1, 2, 3])])
START = DenseHypothesis.constant(UNIVERSE, 0.0)
PAIRS = (
    one_more("beside a heavy cut", [0, 0, 0, 2], [1, 2, 3, 3]),
    replace(LAST_PAIR, name="nothing else"),
)


def choice_probabilities(scores: npt.ArrayLike, rate: Fraction | float) -> FloatVector:
    """P(candidate i is chosen) by a noisy maximum, shape (candidates,).

    A sum over the geometric noise of i, cut at 1e-18.

    Args:
        scores: whole numbers, shape (candidates,).
        rate: of the noise.
    """
    u = np.asarray(scores, dtype=np.int64)
    ratio = math.exp(-float(rate))
    k = np.arange(math.ceil(42 / float(rate)) + 1)
    earlier = np.tri(len(u), k=-1, dtype=bool)  # [i, j]: j comes before i, and wins ties
    found = np.empty(len(u))
    for i in range(len(u)):
        # j loses to i with G_i = k when G_j < room; G_j = room is enough where j comes before i.
        room = u[i] - u[:, None] + k + np.where(earlier[i], 0, 1)[:, None]
        loses = 1 - ratio ** np.maximum(room, 0)
        loses[i] = 1
        found[i] = (1 - ratio) * (ratio**k * loses.prod(axis=0)).sum()
    return found


# Two cuts with the pair: one has a small score that grows, the other a large one that shrinks.
_BOTH = gc.CutList(UNIVERSE, [gc.CutQuery([2], [3]), gc.CutQuery([2], [0, 1, 3])])
_HEAVY = DenseHypothesis(
    UNIVERSE, 4.0 * np.array([[0, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
)


def _exponential(epsilon: Fraction, factor: float) -> Iterator[DistributionPair]:
    of = Exponential(queries=QUERIES, epsilon=epsilon)
    rate = float(of.scoring.rate(epsilon)) * of.scoring.substeps * factor
    for pair, (queries, start) in itertools.product(PAIRS, ((QUERIES, START), (_BOTH, _HEAVY))):

        def law(
            graph: gc.Graph, queries: gc.CutList = queries, start: DenseHypothesis = start
        ) -> FloatVector:
            gaps = np.asarray(queries.counts(graph, of.grid)) - queries.answers(start)
            return softmax(np.concatenate([gaps, -gaps]), rate)

        yield DistributionPair.of(pair, law)


def _exact_cuts(epsilon: Fraction, factor: float) -> Iterator[DistributionPair]:
    """Of all cuts between disjoint sets, with both signs."""
    of = ExactCuts(universe=UNIVERSE, epsilon=epsilon)
    rate = float(of.scoring.rate(epsilon)) * factor
    places = np.array(list(itertools.product((0, 1, 2), repeat=4)))
    S, T = (places == 1).astype(np.int64), (places == 2).astype(np.int64)
    for pair, start in itertools.product(PAIRS, (START, _HEAVY)):

        def law(graph: gc.Graph, start: DenseHypothesis = start) -> FloatVector:
            gaps = of.pair_scores(graph) - of.scoring.in_substeps(start.dense())
            cuts = np.einsum("ki,ij,kj->k", S, gaps, T)
            return softmax(np.concatenate([cuts, -cuts]), rate)

        yield DistributionPair.of(pair, law)


_CHOICES = {"exponential": _exponential, "exact-cuts": _exact_cuts}


@audited_laws(
    "distinguisher: {}", _CHOICES, incorrect_variants={"sensitivity 1 for 2": {"factor": 2}}
)
def _choices(name: str, epsilon: float, factor: float = 1) -> Iterable[DistributionPair]:
    """Twice the rate: a sensitivity of 1 for 2, or scores taken for moving in one direction."""
    return _CHOICES[name](Fraction(epsilon), factor)


# Rank-one distinguishers: many pairs of one large graph are so many runs.

EDGES = (Neighbours("with and without", False, True),)


def _entries(make: Callable[[Universe], Any], source: EntropySource) -> Draw:
    """Noisy entries of a large graph that has all pairs or none."""

    def draw(full: Any, start: int, count: int) -> npt.NDArray[np.float64]:
        del start
        n = math.ceil((1 + math.sqrt(1 + 8 * count)) / 2)
        rows, columns = np.triu_indices(n, 1)
        kept = slice(None if full else 0)
        graph = gc.Graph(rows[kept], columns[kept], vertices=n)
        noisy = make(Universe(n)).noisy(graph, source)[rows, columns]
        return np.asarray(noisy[:count, None], dtype=np.float64)

    return draw


def _response(epsilon: float, universe: Universe) -> ResponseRankOne:
    return ResponseRankOne(
        universe=universe, distribution=noise_distribution("binary", epsilon=epsilon)
    )


def _gaussian(rho: float, universe: Universe) -> GaussianRankOne:
    return GaussianRankOne(universe=universe, rho=rho)


class _NoHypothesis:
    """A zero matrix that takes no memory."""

    def __matmul__(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.zeros(X.shape)


_ALIKE = 3


def _products(rho: float, reused: bool, source: EntropySource) -> Draw:
    """Two noisy products of many single pairs: along what an edge adds, and their difference.

    X has three columns that are alike, so that all entries of both rows move.
    """

    def draw(full: Any, start: int, count: int) -> npt.NDArray[np.float64]:
        del start
        ends = 2 * np.arange(count)
        rows = ends if full else ends[:0]
        universe = Universe(2 * count)
        of = PowerRankOne(universe=universe, rho=rho, delta=1e-6, steps=1)
        search = of.begin(gc.Graph(rows, rows + 1, vertices=2 * count), source)
        seed = seed_of(source)
        found: Any = []
        for turn in (1, -1):
            X = np.tile(np.array([[5], [5 * turn]], dtype=np.int64), (count, _ALIKE))
            noise = SeededEntropy(seed) if reused else source
            dense: Any = _NoHypothesis()
            product = search._product(X, 0, dense, noise)
            found.append(product.reshape(count, 2, _ALIKE).sum(axis=2))
        one, other = found
        along = one[:, 0] + one[:, 1] - other[:, 0] + other[:, 1]
        return np.column_stack([along, one[:, 0] - other[:, 0]])

    return draw


_EDGE = (one_more("one edge", [0], [1], vertices=2),)


@audited_runs(
    "distinguisher: power-rank-one-certified",
    pairs=_EDGE,
    incorrect_variants={"half the noise": {"factor": 2}, "bought sixteen times": {"times": 16}},
    claim=claimed_rho,
    prepared=True,
)
def _certified(epsilon: float, source: EntropySource, factor: int = 1, times: int = 1) -> Any:
    """The quotient of a certificate, which has a tenth of its budget: the mean of so many."""
    rho = (factor * epsilon) ** 2 / 2
    of = PowerRankOne(universe=Universe(2), rho=1.0, delta=1e-6, certificate_rho=10 * rho)
    both, nothing = np.ones(2), np.zeros((2, 2))
    ready = {id(each): of.begin(each, source) for each in (_EDGE[0].first, _EDGE[0].second)}

    def run(graph: gc.Graph) -> npt.NDArray[np.float64]:
        bought = ready[id(graph)]
        seen = [bought.quotient(both, both, nothing, source)[0] for _ in range(times)]
        return np.array([np.mean([pair.gap * pair.left[0] for pair in seen])])

    return run


@audited_runs(
    "distinguisher: power-rank-one, calls",
    pairs=_EDGE,
    incorrect_variants={"an eighth of the noise": {"factor": 8}},
    claim=claimed_rho,
    why_below_half="Which cut is found, and its sign, is a small part of what its products tell.",
)
def _called(epsilon: float, graph: gc.Graph, source: EntropySource, factor: int = 1) -> list[float]:
    """What a call says: whether the cut that it finds holds the edge, and its sign."""
    universe, rho = Universe(2), (factor * epsilon) ** 2 / 2
    of = PowerRankOne(universe=universe, rho=rho, delta=1e-6, steps=1)
    found = of.begin(graph, source).find(DenseHypothesis.constant(universe, 0.5), source)
    S, T = universe.masks(cast(gc.CutQuery, found.query))
    return [float(found.sign or 0) * float(S[0] & T[1] | S[1] & T[0])]


@audited("distinguisher: {}-rank-one", ("response", "gaussian", "power"))
def _matrix_audit(kind: str, epsilon: float) -> Audit:
    rho = epsilon**2 / 2
    start: dict[str, Callable[[float], Any]] = {
        "response": lambda factor: partial(_entries, partial(_response, factor * epsilon)),
        "gaussian": lambda factor: partial(_entries, partial(_gaussian, factor**2 * rho)),
        "power": lambda factor: partial(_products, factor**2 * rho, False),
    }
    made = start[kind]
    incorrect_variants = {"half the noise": made(2)}
    if kind == "power":
        incorrect_variants["noise reused"] = partial(_products, rho, True)
        # 5^2 for two rows of three times 5^2.
        incorrect_variants["sensitivity of the largest entry"] = partial(
            _products, 2 * _ALIKE * rho, False
        )
    return Sampled(
        claim=Claim(epsilon) if kind == "response" else Claim(rho, kind="rho"),
        pairs=EDGES,
        start=made(1),
        incorrect_variants=incorrect_variants,
        runs=24_000,
        batch=True,
    )


# The net mechanism: every graph of three or four vertices and each of its neighbours.


def _graphs(n: int) -> Iterator[gc.Graph]:
    rows, columns = np.triu_indices(n, 1)
    for bits in itertools.product([0, 1], repeat=len(rows)):
        used = np.array(bits, dtype=bool)
        yield gc.Graph(rows[used], columns[used], vertices=n)


def _all_cuts(n: int) -> list[LinearQuery]:
    """Each cut once: the side without vertex 0."""
    sides = itertools.product([False, True], repeat=n - 1)
    return [gc.CutQuery(np.array([False, *side])) for side in sides if any(side)]


_WEIGHTED: Sequence[LinearQuery] = [gc.Query.matrix(np.array([[0, 2, 1], [0, 0, -1], [0, 0, 0]]))]


def _net_distributions(
    n: int, queries: Sequence[LinearQuery], rate: float, moves: int | None
) -> Iterator[DistributionPair]:
    public = net_module._Net(Universe(n), queries, None, 0.0)
    rate /= 2 * (moves or public.sensitivity)
    distributions = [choice_probabilities(public.scores(graph), rate) for graph in _graphs(n)]
    for i, pair in itertools.product(range(len(distributions)), range(n * (n - 1) // 2)):
        j = i ^ (1 << pair)
        if i < j:
            yield DistributionPair(f"graphs {i} and {j}", distributions[i], distributions[j])


_NETS = {"net": 3, "net, four vertices": 4}


@audited_laws(
    "{}",
    _NETS,
    incorrect_variants={"half the noise": {"factor": 2}, "sensitivity 1 for 2": {"moves": 1}},
    covers="release: {}",
)
def _net(
    name: str, epsilon: float, factor: int = 1, moves: int | None = None
) -> Iterator[DistributionPair]:
    """Of all cuts, whose sensitivity is 1, and of a query with coefficients up to 2."""
    for n, queries in ((_NETS[name], _all_cuts(_NETS[name])), (3, _WEIGHTED)):
        yield from _net_distributions(n, queries, factor * epsilon, moves)


def _one_noise_for_all_members(
    epsilon: float, graph: gc.Graph, source: EntropySource
) -> FloatVector:
    public = net_module._Net(Universe(3), _all_cuts(3), None, 0.0)
    shared = sample_geometric(Fraction(epsilon) / (2 * public.sensitivity), 1, source)
    chosen: FloatVector = public.databases[int(np.argmax(public.scores(graph) + shared))]
    return chosen


@audited_runs(
    "net, as released",
    pairs=(one_more("a pair", [0, 0], [1, 2], vertices=3),),
    incorrect_variants={"same noise for all members": _one_noise_for_all_members},
)
def _net_release(epsilon: float, graph: gc.Graph, source: EntropySource) -> FloatVector:
    """Which pairs are edges in the graph that is released."""
    made = gc.release_iteratively(
        graph, _all_cuts(3), epsilon=epsilon, construction="net", seed=seed_of(source)
    )
    return made.graph.dense()[np.triu_indices(3, 1)]


# Sensing: a choice and a measurement in each round.

_CAP, _ROUNDS = 3.0, 4
_RATINGS: Sequence[LinearQuery] = [
    gc.Query.matrix(np.array([[0.0, 0.3, -0.7], [1.0, 0.01, 0.0]])),
    gc.CutQuery([1], [0, 2]),
]


_RATED = one_more(
    "the largest coefficient", [1], [0], [_CAP], kind=gc.BipartiteGraph, max_weight=_CAP
)
_SENSED = claimed_for(1e-6)


@audited_laws(
    "sensing",
    incorrect_variants={
        "half the noise": {"values": 2},
        "choices taken for monotone": {"choices": 2},
        "sensitivity without the cap": {"values": _CAP},
    },
    claim=_SENSED,
    covers="release: sensing",
)
def _sensing(epsilon: float, choices: float = 1, values: float = 1) -> Iterator[DistributionPair]:
    """One rating is 0 or 3, where the first query has its largest coefficient."""
    steps = AnswerGrid(Universe(2, 3), _RATINGS, _CAP)
    rate, noise = steps.noise(Fraction(_SENSED(epsilon).value), _ROUNDS)
    first, second = (steps.count(graph) for graph in (_RATED.first, _RATED.second))
    change = (second - first)[:1]
    measured = normal_pair(float(noise.parameter) / values**2, float(change[0]))
    answers = (replace(measured, copies=_ROUNDS),)
    yield half_way(_RATED.name, change, float(rate) * choices, copies=_ROUNDS, independent=answers)


@audited_laws(
    "sensing, every query",
    incorrect_variants={
        "the noise of one query": {"copies": 1},
        "one query forgotten": {"copies": _ROUNDS - 1},
    },
    claim=_SENSED,
)
def _every_query(epsilon: float, copies: int = _ROUNDS) -> Iterator[DistributionPair]:
    """Four queries that all count the same rating with their largest coefficients, measured once.

    The noise is made for so many of them.
    """
    steps = AnswerGrid(Universe(2, 3), [_RATINGS[0]] * copies, _CAP)
    noise = steps.noise_for_all(Fraction(_SENSED(epsilon).value))
    if noise is None:
        raise ValueError("noise of a small matrix fits into 64 bits")
    measured = normal_pair(float(noise.parameter), float(steps.sensitivity))
    yield replace(measured, name=_RATED.name, copies=_ROUNDS)


class _Understated(gc.Query):
    """A user's query that overrides its sensitivity by a number that is too small."""

    def coefficients(self, space: Space) -> FloatMatrix:
        return np.full(Universe.over(space).shape, 1000.0)

    def sensitivity(self, graph: Any) -> float:
        del graph
        return 1.0


@audited_laws(
    "sensing, a query that understates its sensitivity",
    incorrect_variants={"the query is believed": {"believed": True}},
    claim=_SENSED,
)
def _understated(epsilon: float, believed: bool = False) -> Iterator[DistributionPair]:
    """One rating is 0 or 3; the noise is made for what the query moves, not for what it says."""
    query, universe = _Understated(), Universe(2, 3)
    steps = AnswerGrid(universe, [plain_query(query, universe.space)], _CAP)
    noise = steps.noise_for_all(Fraction(_SENSED(epsilon).value))
    if noise is None:
        raise ValueError("noise of a small matrix fits into 64 bits")
    first, second = (steps.count(graph) for graph in (_RATED.first, _RATED.second))
    stated = query.sensitivity(universe.space) / 1000.0 if believed else 1.0
    measured = normal_pair(float(noise.parameter) * stated**2, float((second - first)[0]))
    yield replace(measured, name=_RATED.name)
