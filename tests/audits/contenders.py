"""Audits of the benchmark's contenders that add noise to counts, degrees, pairs or projections.

The others are public functions or baselines, or in `contenders_of_structure`. By what they hand in,
or by the chances of all outputs.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.plugins import EntropySource, Universe
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.privacy.entropy import entropy_source
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.schema.layout import Layout
from scripts.benchmark.baselines import noisy_degrees
from scripts.benchmark.contenders import (
    dp_1k,
    high_pass_filter,
    isotonic_degrees,
    tmf,
    topology_sampler,
)
from scripts.benchmark.contenders import johnson_lindenstrauss as transform
from scripts.benchmark.contenders.johnson_lindenstrauss import ProjectionNoise
from scripts.benchmark.contenders.privskg import measured_degrees
from scripts.benchmark.contenders.simple import DRAWN, GROUP_SUMS, drawn_graph
from tests.audits.base import Variants, audited_laws, audited_runs
from tests.audits.graphs import DIRECTED, HUB, LAST_PAIR, Side, seed_of, sides
from tests.audits.losses import DistributionPair, clipped_laplace, laplace_gain
from tests.audits.top_m_laws import (
    Law,
    dropped_come_back,
    filled_up,
    largest_entries,
    pair_of_laws,
)

_PAIRS = (LAST_PAIR, HUB)
_SIDES = tuple(map(sides, _PAIRS))
_UPPER = np.triu_indices(4, 1)


# Sums of groups.

_CELLS = (0, 1, 5)  # of these pairs: one within each half, and one between them
_CELL_SIZES = np.array([1, 4, 1])


@audited_runs(
    "benchmark: group-sums",
    pairs=_PAIRS,
    incorrect_variants={
        "a quarter of the noise": {"factor": 4},
        "scaled to the true number of edges": {"scaled": True},
    },
    runs=4000,
)
def _sums(
    epsilon: float, graph: gc.Graph, source: EntropySource, factor: int = 1, scaled: bool = False
) -> FloatVector:
    """The noisy sums that group-sums spreads, and their total; or scaled to the true one."""
    halves, seed = gc.Groups(graph.vertices, {"half": [0, 0, 1, 1]}), seed_of(source)
    terms: dict[str, Any] = {"epsilon": factor * epsilon, "delta": 0.0, "groups": halves}
    made = GROUP_SUMS.method(graph, **terms, seed=seed)
    cells = np.asarray(made.estimate)[_UPPER][list(_CELLS)] * _CELL_SIZES
    total = cells.sum()
    if scaled:
        cells, total = cells + (len(graph.rows) - total) / 3, len(graph.rows)
    return np.append(cells, total)


# A graph that is drawn by noisy degrees.


def _counted(estimate: Any) -> FloatVector:
    matrix = estimate.toarray()[_UPPER]
    return np.append(matrix, matrix.sum())


def _true_count(epsilon: float, graph: gc.Graph, source: EntropySource) -> FloatVector:
    """As many draws as there are edges."""
    noisy = noisy_degrees(graph, Fraction(epsilon), source)
    random, universe = np.random.default_rng(seed_of(source)), Universe.of(graph)
    return _counted(drawn_graph(noisy, noisy, random, universe, count=len(graph.rows)))


def _isolated(epsilon: float, graph: gc.Graph, source: EntropySource) -> FloatVector:
    """Vertices without edges stay without."""
    noisy = noisy_degrees(graph, Fraction(epsilon), source)
    noisy = np.where(graph.dense().any(axis=1), np.maximum(noisy, 1), 0)
    random = np.random.default_rng(seed_of(source))
    return _counted(drawn_graph(noisy, noisy, random, Universe.of(graph)))


@audited_runs(
    "benchmark: degrees-drawn",
    pairs=_PAIRS,
    incorrect_variants={"m used raw": _true_count, "isolated vertices left alone": _isolated},
    runs=4000,
)
def _drawn(epsilon: float, graph: gc.Graph, source: EntropySource) -> FloatVector:
    """The drawn graph, and its number of edges."""
    made = DRAWN.method(graph, epsilon=epsilon, delta=0.0, groups=None, seed=seed_of(source))
    return _counted(made.estimate)


# The top-m filter.

_HALF = Fraction(1, 2)
_SIZES = ((3, 0), (6, 2), (66, 1))  # pairs, edges


@audited_laws(
    "benchmark: tmf, law",
    incorrect_variants={
        "half the noise": {"factor": 2},
        "the true number of edges": {"charged": False},
        "filled up with false edges, as published": {"law": filled_up},
        "dropped edges come back as false ones, as in PGB's code": {
            "law": dropped_come_back,
            "share": _HALF,
        },
    },
)
def _top_m(
    epsilon: float,
    factor: int = 1,
    law: Law = largest_entries,
    share: Fraction = tmf.COUNT_SHARE,
    charged: bool = True,
) -> Iterator[DistributionPair]:
    for pairs, edges in _SIZES:
        rate = factor * Fraction(epsilon)
        yield pair_of_laws(law, pairs, edges, rate, share=share, charged=charged)


@audited_runs(
    "benchmark: tmf, runs",
    pairs=(HUB, DIRECTED[0]),
    incorrect_variants={
        "a twentieth of the noise": {"factor": 20},
        "the true number of edges": {"true_count": True},
    },
    variant_pairs=(LAST_PAIR,),
)
def _filtered(
    epsilon: float,
    graph: AnyGraph,
    source: EntropySource,
    factor: int = 1,
    true_count: bool = False,
) -> list[float]:
    """Which pairs are edges, and how many."""
    rate, count = factor * Fraction(epsilon), len(graph.rows)
    for_count = rate * tmf.COUNT_SHARE
    if not true_count:
        count = tmf.noisy_count(graph, epsilon=for_count, source=source)
    rows, columns = tmf.filtered(graph, count, epsilon=rate - for_count, source=source)
    layout = Layout.of(graph.space)
    there = np.zeros(layout.pairs_before(layout.shape[0]))
    there[layout.places(rows.astype(np.int64), columns.astype(np.int64))] = 1
    return [float(len(rows)), *there.tolist()]


# Degrees, their histogram and their order. A run gives the log likelihood ratio of the neighbours
# for what was released, and what was released.


def _degrees(graph: AnyGraph) -> IntVector:
    return np.bincount(np.concatenate([graph.rows, graph.columns]), minlength=graph.shape[0])


@audited_runs(
    "benchmark: dgg",
    pairs=_SIDES,
    incorrect_variants={"noise for one degree, as in PGB's code": {"charged": 1}},
    variant_pairs=_SIDES[:1],
)
def _noisy_degrees(
    epsilon: float, side: Side, source: EntropySource, charged: int = 2
) -> list[float]:
    """Noisy degrees, charged for so many that an edge changes: the graph is made of them alone."""
    rate = Fraction(epsilon) / charged
    noisy = noisy_degrees(side.graph, 2 * rate, source)
    gain = laplace_gain(noisy, _degrees(side.first), _degrees(side.second), rate)
    return [gain, *noisy.astype(np.float64).tolist()]


def _true_largest(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    """How many counts there are, which go up to the true largest degree."""
    true = np.bincount(_degrees(side.graph))
    return [float(len(true + sample_discrete_laplace(Fraction(epsilon) / 4, len(true), source)))]


@audited_runs(
    "benchmark: dp-1k",
    pairs=_SIDES,
    incorrect_variants={
        "sensitivity 2 for 4": {"factor": 2},
        "counts up to the true largest degree, as in PGB's code": _true_largest,
    },
    variant_pairs=_SIDES[:1],
)
def _histogram(epsilon: float, side: Side, source: EntropySource, factor: int = 1) -> list[float]:
    """The largest degree and the counts."""
    exact = factor * Fraction(epsilon)
    largest, counts = dp_1k.measure_histogram(side.graph, epsilon=exact, source=source)
    first, second = (
        np.bincount(np.minimum(_degrees(graph), largest), minlength=largest + 1)
        for graph in (side.first, side.second)
    )
    padded = np.zeros(side.graph.shape[0])
    padded[: len(counts)] = counts
    rate = exact * (1 - dp_1k.LARGEST_SHARE) / dp_1k.SENSITIVITY
    return [laplace_gain(counts, first, second, rate), float(largest), *padded.tolist()]


@audited_runs(
    "benchmark: isotonic-degrees",
    pairs=_SIDES,
    incorrect_variants={
        "sensitivity 1 for 2": {"factor": 2},
        "vertices in their true order": {"true_order": True},
    },
    variant_pairs=_SIDES[1:],
)
def _sorted(
    epsilon: float, side: Side, source: EntropySource, factor: int = 1, true_order: bool = False
) -> list[float]:
    """The sorted degrees, or what vertices would get of them in their true order."""
    exact = factor * Fraction(epsilon)
    noisy = isotonic_degrees.measure_sorted(side.graph, epsilon=exact, source=source)
    if true_order:
        own = np.empty(len(noisy))
        own[np.argsort(_degrees(side.graph), kind="stable")] = np.arange(len(own))
        return list(map(float, own))
    first, second = (np.sort(_degrees(graph)) for graph in (side.first, side.second))
    gain = laplace_gain(noisy, first, second, exact / isotonic_degrees.SENSITIVITY)
    return [gain, *noisy.astype(np.float64).tolist()]


# A Kronecker model fitted to noisy degrees, and what public code does instead.

_FAR = 12  # degrees this far from 0 are told from each other no more
_COMMON = 8  # neighbours that the ends of an edge have in common


def _degree_laws(degree: int, epsilon: float) -> list[FloatVector]:
    """Chances of a noisy degree and of that with one edge more."""
    rate = measured_degrees(LAST_PAIR.first, Fraction(epsilon), entropy_source(0)).rate
    return [clipped_laplace(each, rate, -_FAR, _FAR) for each in (degree, degree + 1)]


def _true_degrees_in_stars(epsilon: float) -> Iterator[DistributionPair]:
    """The number of stars, sum of d (y - 1)(y - 2), is told along with the noisy degrees y."""
    values = np.arange(-_FAR, _FAR + 1)
    factor = (values - 1) * (values - 2)
    told = factor[:, None] + factor[None, :] != 0  # by how much the sum differs
    joint = [np.outer(law, law) for law in _degree_laws(0, epsilon)]
    nothing = np.zeros(int(told.sum()))
    first = np.concatenate([joint[0][~told], joint[0][told], nothing])
    second = np.concatenate([joint[1][~told], nothing, joint[1][told]])
    yield DistributionPair("degrees 0", first, second)


def _triangles_by_their_own_scale(epsilon: float) -> Iterator[DistributionPair]:
    """Triangles get noise that is scaled by the most that one vertex has, 1 if there are none."""
    ends = np.linspace(-10 * _COMMON / epsilon, 10 * _COMMON / epsilon, 401)
    laws = []
    for triangles in (0, _COMMON):
        scale = 2 * max(triangles, 1) / (epsilon / 2)
        below = scipy.stats.laplace.cdf(ends, loc=triangles, scale=scale)
        laws.append(np.diff(np.concatenate([[0.0], below, [1.0]])))
    yield DistributionPair("ends with common neighbours", laws[0], laws[1])


@audited_laws(
    "benchmark: privskg",
    incorrect_variants={
        "public code: sensitivity 1 for 2 degrees": {"factor": 2},
        "public code: true degrees count stars": _true_degrees_in_stars,
        "public code: triangles hidden by their own number": _triangles_by_their_own_scale,
    },
)
def _two_degrees(epsilon: float, factor: int = 1) -> Iterator[DistributionPair]:
    """An edge raises two degrees by 1. All else comes of these and of others that stay."""
    for degree in (0, 3):
        laws = _degree_laws(degree, factor * epsilon)
        yield DistributionPair(f"degrees {degree}", laws[0], laws[1], copies=2)


# The high-pass filter: what comes out of the one pair that differs; the rest has one law.

_SMALL = 0.01  # delta
_SPAN = 6.0  # scales of the noise beyond the threshold that are told apart
_GRAINS = 64  # in a scale: on a fine grid, the others lie between these


def _passed(steps: int | None, noise: LaplaceNoise, threshold: int) -> FloatVector:
    """Chances of what comes out of a pair: nothing; each value from the threshold on.

    Values are taken together a few at a time on fine grids, and beyond a last one.

    Args:
        steps: weight of the edge, None for no edge.
        noise: its distribution.
        threshold: in steps.
    """
    scale = 1 / float(noise.rate)
    grain = max(1, round(scale / _GRAINS))
    if steps is None:
        count = math.ceil(_SPAN * scale / grain) + 2
        nothing: FloatVector = np.eye(1, count)[0]
        return nothing
    ends = threshold + grain * np.arange(math.ceil(_SPAN * scale / grain) + 1)
    above = np.array([_tail(int(end) - steps, noise) for end in ends])
    return np.concatenate([[1 - above[0]], above[:-1] - above[1:], above[-1:]])


def _tail(steps: int, noise: LaplaceNoise) -> float:
    """P(K >= steps)."""
    ratio = math.exp(-float(noise.rate))
    if steps > 0:
        return ratio**steps / (1 + ratio)
    return 1 - ratio ** (1 - steps) / (1 + ratio)


_FILTERED: dict[str, tuple[str, float | None]] = {
    "": ("discrete-laplace", 1.0),
    ", weights": ("laplace", None),
    ", capped": ("laplace", 20.0),
}
_BY_DELTA = "Below a cap the threshold alone hides an edge: it uses delta, and none of epsilon."


def _filter_variants(kind: str) -> Variants:
    incorrect_variants: dict[str, dict[str, Any]] = {
        "twice the noise, the same threshold": {"factor": _HALF},
        "a threshold for an edge of no weight": {"from_nothing": True},
        "edges below the threshold are told": {"drops": False},
    }
    if _FILTERED[kind][1] is None:  # below a cap all edges are hidden by the threshold alone
        incorrect_variants["half the noise"] = {"factor": 2}
    return incorrect_variants


@audited_laws(
    "benchmark: high-pass-filter{}",
    _FILTERED,
    incorrect_variants=_filter_variants,
    claim=lambda _, epsilon: Claim(epsilon, _SMALL),
    why_below_half=lambda kind: "" if _FILTERED[kind][1] is None else _BY_DELTA,
)
def _filters(
    kind: str,
    epsilon: float,
    *,
    factor: int | Fraction = 1,
    from_nothing: bool = False,
    drops: bool = True,
) -> Iterator[DistributionPair]:
    """All that neighbours can differ in, at one pair, within some multiples of the change."""
    name, cap = _FILTERED[kind]
    noise = noise_distribution(name, epsilon=epsilon, max_weight=cap)
    if not isinstance(noise, LaplaceNoise):
        raise TypeError("Laplace noise was asked for")
    threshold, change = high_pass_filter.threshold_of(noise, _SMALL), noise.sensitivity_steps
    if from_nothing:
        threshold = max(1, threshold - change)
    noise = replace(noise, epsilon=noise.epsilon * factor)
    # An edge can weigh next to nothing, and is an edge.
    edges = [(0, change), (change, 2 * change), (threshold - change, threshold)]
    for first, second in edges if cap is None else edges[:1]:
        laws = [_passed(each, noise, threshold) for each in (first, second)]
        yield DistributionPair(f"an edge of {first} or {second} steps", laws[0], laws[1])
    for steps in (0, change):
        laws = [_passed(None, noise, threshold), _passed(steps, noise, threshold)]
        if not drops:  # the edge itself is told
            laws = [np.append(law, 0.0) for law in laws]
            laws[1][0], laws[1][-1] = 0.0, laws[1][0]
        yield DistributionPair(f"no edge or {steps} steps", laws[0], laws[1])


# The topology sampler: every set of pairs can come out, and its size is the noisy count.

_FEW_PAIRS = 10


def _sets(edges: int, size_rate: Fraction | None, rate: Fraction, *, hidden: bool) -> FloatVector:
    """Chances of one set of each size with each number of edges in it.

    A set is told by its size, by whether it has the pair that differs, and by how many of the
    other edges it has: others of the same numbers are equally likely.

    Args:
        edges: of the neighbour without the pair.
        size_rate: of the noisy size; None for the true one.
        rate: of the set.
        hidden: whether the pair is an edge here.
    """
    true = edges + hidden
    sizes = np.eye(_FEW_PAIRS + 1)[true]
    if size_rate is not None:
        sizes = clipped_laplace(true, size_rate, 0, _FEW_PAIRS)
    found = []
    for size in range(_FEW_PAIRS + 1):
        for here in (0, 1):
            fewest = max(0, size - here - (_FEW_PAIRS - 1 - edges))
            for other in range(fewest, min(edges, size - here) + 1):
                overlap = other + here * hidden
                chance = topology_sampler.set_chance(overlap, true, size, _FEW_PAIRS, rate)
                found.append(float(sizes[size]) * chance)
    return np.array(found)


_COUNT_SHARE = topology_sampler.COUNT_SHARE


@audited_laws(
    "benchmark: topology-sampler",
    incorrect_variants={
        "m used raw": {"of_size": None},
        "the size is not charged": {"of_size": 1, "of_set": 1},
        "a score that counts both kinds of errors": {"of_set": 2 * (1 - _COUNT_SHARE)},
    },
)
def _samples(
    epsilon: float,
    of_size: Fraction | None = _COUNT_SHARE,
    of_set: Fraction = 1 - _COUNT_SHARE,
) -> Iterator[DistributionPair]:
    """Of these parts of epsilon: of the noisy size, None for the true one, and of the set."""
    exact = Fraction(epsilon)
    size_rate = None if of_size is None else of_size * exact
    for edges in range(_FEW_PAIRS):
        laws = [_sets(edges, size_rate, of_set * exact, hidden=hidden) for hidden in (False, True)]
        yield DistributionPair(f"{edges} edges and one more", laws[0], laws[1])


# The Johnson-Lindenstrauss transform: its law, and what is drawn.

_RARE = 1e-3  # delta
_ROWS, _FEW_ROWS = 64, 8
_PARTS = 12_000  # in which squares are told apart


def _rare_claim(epsilon: float) -> Claim:
    return Claim(epsilon, _RARE)


@lru_cache(maxsize=8)
def _noise(epsilon: float, rows: int, smaller: int = 1) -> ProjectionNoise:
    """With so many times less variance of vertices."""
    noise = transform.projection_noise(epsilon=epsilon, delta=_RARE, rows=rows)
    return replace(noise, vertex_variance=max(1, noise.vertex_variance // smaller))


@audited_laws(
    "benchmark: johnson-lindenstrauss",
    incorrect_variants={
        "public code: epsilon is spent on each row": {"paid": 1},
        "half the noise": {"factor": 2},
        "an edge as long as its change at one end": {"shorter": 2},
    },
    claim=_rare_claim,
)
def _squares(
    epsilon: float, factor: float = 1, paid: int = _ROWS, shorter: int = 1
) -> Iterator[DistributionPair]:
    """Chances of what tells neighbours apart, in cells.

    With u and v the ends of the edge that differs, and all else fixed, likelihoods depend on
    squares of what comes out at u less what comes out at v, summed over the rows. Over twice the
    variance it is chi-square, times 1 + t with the edge, up to sums over the grid that are
    integrals to within e^-20 (`log_delta`). Cells hide the differences within them.
    """
    law = scipy.stats.chi2(_ROWS)
    factors = 1.0, 1 + _noise(factor * epsilon, paid, shorter).change
    tails = np.geomspace(1e-12, 0.5, _PARTS // 2), np.geomspace(1e-12, 0.5, _PARTS // 4)
    cells = np.concatenate([law.isf(tails[0]), law.ppf(tails[1])])
    ends = np.unique(np.concatenate([cells * each for each in factors]))
    chances = [np.diff(np.concatenate([[0.0], law.cdf(ends / each), [1.0]])) for each in factors]
    yield DistributionPair("an edge more", chances[0], chances[1])


@audited_runs(
    "benchmark: johnson-lindenstrauss, draws",
    pairs=_SIDES,
    incorrect_variants={
        "an eighth of the noise of vertices": {"smaller": 64},
        "public code: no noise where no edge is": {"spanned": True},
    },
    variant_pairs=_SIDES[:1],
    runs=4000,
    claim=_rare_claim,
)
def _projected(
    epsilon: float, side: Side, source: EntropySource, smaller: int = 1, spanned: bool = False
) -> list[float]:
    """Squares of the difference at the ends of the edge; and of what is at each of them.

    If spanned, vertices without edges get no noise.
    """
    noise = _noise(epsilon, _FEW_ROWS, smaller)
    found = transform.projected(side.graph, noise, source).astype(np.float64)
    if spanned:
        found[_degrees(side.graph) == 0] = 0.0
    found /= math.sqrt(noise.vertex_variance)
    u, v = (found[end] for end in side.endpoints)
    return [float(((u - v) ** 2).sum()), float((u**2).sum()), float(u @ v), float(u[0])]
