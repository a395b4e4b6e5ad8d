"""Partitions against all partitions of small graphs, and bounds that no partition passes."""

import math
from functools import lru_cache

import numpy as np
import pytest
import scipy.sparse as sp

from graphcuts_dp import GraphError, ParameterError
from graphcuts_dp.synth import partitions
from graphcuts_dp.synth.partitions import KINDS, Partitioning

SIZE = 8


def weights_of(n, seed, *, noisy=False):
    """Weights of a graph with two communities, or of a noisy matrix, of which some are negative."""
    rng = np.random.default_rng(seed)
    chances = np.where(np.equal.outer(np.arange(n) < n // 2, np.arange(n) < n // 2), 0.8, 0.3)
    upper = np.triu(rng.random((n, n)) < chances, 1) * rng.integers(1, 4, (n, n)).astype(float)
    upper += np.triu(rng.normal(0, 1.5, (n, n)), 1) if noisy else 0
    return upper + upper.T


@lru_cache
def all_partitions(n):
    """Every partition of n vertices, as codes in order of appearance."""
    found = [(0,)]
    for _ in range(n - 1):
        found = [(*each, code) for each in found for code in range(max(each) + 2)]
    return [np.array(each) for each in found]


def between(weights, codes):
    return float(weights[np.not_equal.outer(codes, codes)].sum()) / 2


def density(weights, codes):
    sizes = np.bincount(codes)
    return between(weights, codes) / (sizes[0] * sizes[1])


def gain(weights, codes, resolution):
    same = np.equal.outer(codes, codes) & ~np.eye(len(codes), dtype=bool)
    return float((weights - resolution)[same].sum()) / 2


def best(kind, weights, wanted):
    """The optimum by enumeration."""
    n = len(weights)
    codes = all_partitions(n)
    two = [each for each in codes if each.max() == 1]
    if kind == "max-cut":
        return max(between(weights, each) for each in two)
    if kind == "sparsest":
        kept = (each for each in two if min(np.bincount(each)) >= wanted.smallest)
        return min(density(weights, each) for each in kept)
    if kind == "balanced":
        sizes = sorted(partitions.part_sizes(n, wanted.parts))
        kept = (each for each in codes if sorted(np.bincount(each)) == sizes)
        return min(between(weights, each) for each in kept)
    if kind == "clusters":
        return max(gain(weights, each, wanted.resolution) for each in codes)
    return best_cost(weights)


def best_cost(weights):
    """The least cost of a tree, by dynamic programming over sets of vertices."""
    n = len(weights)
    inside = np.zeros(1 << n)
    cost = np.zeros(1 << n)
    masks = [[i for i in range(n) if mask >> i & 1] for mask in range(1 << n)]
    for mask in range(1, 1 << n):
        inside[mask] = weights[np.ix_(masks[mask], masks[mask])].sum() / 2
        tries, part = [], (mask - 1) & mask
        while part:
            other = mask ^ part
            tries.append(
                (inside[mask] - inside[part] - inside[other]) * len(masks[mask])
                + cost[part]
                + cost[other]
            )
            part = (part - 1) & mask
        cost[mask] = min(tries, default=0.0)
    return cost[-1]


def value(kind, weights, found, wanted):
    if kind in ("max-cut", "balanced"):
        return between(weights, found.codes)
    if kind == "sparsest":
        return density(weights, found.codes)
    if kind == "clusters":
        return gain(weights, found.codes, wanted.resolution)
    return partitions.tree_cost(weights, found.tree)


WANTED = {
    "max-cut": [{}],
    "sparsest": [{}, {"smallest": 3}],
    "balanced": [{"parts": 2}, {"parts": 3}],
    "clusters": [{"resolution": 0.5}, {"resolution": 1.2}],
    "hierarchy": [{"parts": 3}],
}
CASES = [(kind, options) for kind, many in WANTED.items() for options in many]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("kind", "options"), CASES)
def test_no_partition_is_better_and_most_are_the_best(kind, options):
    wanted, right, count = Partitioning(**options), 0, 0
    for seed in range(12):
        weights = weights_of(SIZE, seed, noisy=seed % 3 == 2)
        optimum = best(kind, weights, wanted)
        found = value(kind, weights, KINDS[kind].search(weights, wanted), wanted)
        sign = 1 if KINDS[kind].largest else -1
        slack = 1e-9 * np.abs(weights).sum()
        assert sign * (found - optimum) <= slack
        right += sign * (found - optimum) >= -slack
        count += 1
    # An average linkage is no search for the least cost.
    assert right >= (count / 4 if kind == "hierarchy" else 0.9 * count)


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold_for_every_partition(seed, noisy):
    weights = weights_of(SIZE, seed, noisy=noisy)
    total, codes = weights.sum() / 2, all_partitions(SIZE)
    cuts = [between(weights, each) for each in codes if each.max() <= 1]
    largest = (weights.sum() + partitions.relaxed(-weights)) / 4
    assert max(cuts) <= largest <= max(cuts) * 1.3 + 3
    shifted = weights - 0.7 * (1 - np.eye(SIZE))
    most = max(gain(weights, each, 0.7) for each in codes)
    assert most <= partitions.relaxed(shifted) / 2 <= 1.6 * most + 3
    for sizes in [(4, 4), (5, 3), (3, 3, 2), (6, 1, 1), (2, 2, 2, 2), (1,) * 8]:
        kept = [each for each in codes if sorted(np.bincount(each)) == sorted(sizes)]
        least = min(between(weights, each) for each in kept)
        bound = partitions.least_between(weights, np.array(sizes))
        assert bound <= least + 1e-9
        assert least - bound <= 0.8 * (np.abs(weights).sum() / 2)
    assert partitions.least_between(weights, np.ones(8, dtype=int)) == pytest.approx(total)
    if not noisy:
        bound = partitions.least_cost(weights, total, 0.0)
        assert 0.6 * best_cost(weights) <= bound <= best_cost(weights)


def test_a_slack_makes_the_least_cost_smaller():
    """By what every level below the first two may be off, and no level is less than nothing."""
    weights = weights_of(SIZE, 1)
    total = weights.sum() / 2
    exact, less = (partitions.least_cost(weights, total, slack) for slack in (0.0, 1.0))
    assert exact - (SIZE - 2) <= less < exact
    assert partitions.least_cost(weights, total, 1e6) == 2 * total


@pytest.mark.parametrize("seed", range(4))
def test_the_cost_of_a_tree_is_the_sum_of_its_levels(seed):
    weights = weights_of(11, seed)
    tree = partitions.hierarchy(weights, Partitioning()).tree
    clusters = [{i} for i in range(11)]
    for a, b in tree[:, :2].astype(int):
        clusters.append(clusters[a] | clusters[b])
    expected, by_levels = weights.sum() / 2, []
    for t in range(1, 11):
        small = [each for each in clusters if len(each) <= t]
        largest = [each for each in small if not any(each < other for other in small)]
        codes = np.zeros(11, dtype=int)
        for code, each in enumerate(largest):
            codes[list(each)] = code
        expected += between(weights, codes)
        by_levels.append(sorted(map(len, largest)))
    assert partitions.tree_cost(weights, tree) == pytest.approx(expected)
    found = [sorted(sizes) for count, sizes in partitions.levels(tree) for _ in range(count)]
    assert found == by_levels


@pytest.mark.parametrize("parts", [2, 3, 6, 11])
def test_a_tree_is_cut_where_its_last_branches_part(parts):
    found = partitions.hierarchy(weights_of(11, 3, noisy=True), Partitioning(parts=parts))
    below = [{i} for i in range(11)]
    for a, b in found.tree[: 11 - parts, :2].astype(int):
        below.append(below[a] | below[b])
    largest = {frozenset(each) for each in below if not any(each < other for other in below)}
    members = [frozenset(np.flatnonzero(found.codes == part).tolist()) for part in range(parts)]
    assert set(members) == largest


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_sparse_weights_give_as_good_a_partition(kind, options):
    wanted = Partitioning(**options)
    weights = weights_of(30, 4)
    dense, sparse = (
        value(kind, weights, KINDS[kind].search(each, wanted), wanted)
        for each in (weights, sp.csr_array(weights))
    )
    assert dense == pytest.approx(sparse, rel=0.02)


def test_rows_of_sparse_weights_are_those_of_the_matrix():
    """Also one without entries, and entries that are stored in two parts."""
    weights = weights_of(12, 5, noisy=True)
    weights[3] = weights[:, 3] = 0
    row_of = partitions._row_reader(sp.csr_array(weights))
    assert np.array_equal([row_of(place) for place in range(12)], weights)
    twice = sp.csr_array(([1.0, 2.0, 4.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    row_of = partitions._row_reader(twice)
    assert np.array_equal([row_of(place) for place in range(2)], [[0, 3], [4, 0]])


def test_large_graphs_are_swept_without_all_eigenvectors():
    """Above 600 vertices: planted halves are found by Lanczos, and improved."""
    rng = np.random.default_rng(1)
    side = rng.permutation(np.arange(700) % 2)
    chances = np.where(np.equal.outer(side, side), 0.06, 0.01)
    upper = np.triu(rng.random((700, 700)) < chances, 1)
    weights = sp.csr_array((upper + upper.T).astype(float))
    halves = partitions.balanced(weights, Partitioning()).codes
    assert max(np.mean(halves == side), np.mean(halves != side)) >= 0.98
    sides = partitions.sparsest(weights, Partitioning(smallest=100)).codes
    assert max(np.mean(sides == side), np.mean(sides != side)) >= 0.95


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("max-cut", {"parts": 3}, "parts is an option of kind 'balanced' and 'hierarchy'"),
        ("balanced", {"resolution": 0.5}, "resolution is an option of kind 'clusters'"),
        ("clusters", {"smallest": 2}, "smallest is an option of kind 'sparsest'"),
        ("modularity", {}, "unknown kind 'modularity'; choose one of max-cut, sparsest"),
    ],
)
def test_options_of_other_kinds_are_refused(kind, options, message):
    with pytest.raises(ParameterError, match=message):
        partitions.check_kind(kind, Partitioning(**options))


@pytest.mark.parametrize(
    ("kind", "options"),
    [("balanced", {"parts": 9}), ("sparsest", {"smallest": 5}), ("hierarchy", {"parts": 9})],
)
def test_more_than_there_are_vertices_is_refused(kind, options):
    with pytest.raises((ParameterError, GraphError), match="vertices"):
        KINDS[kind].search(weights_of(SIZE, 0), Partitioning(**options))


@pytest.mark.parametrize(("name", "given"), [("parts", 1), ("smallest", 0), ("confidence", 1.0)])
def test_options_are_checked(name, given):
    with pytest.raises(ParameterError, match=name):
        Partitioning(**{name: given})


@pytest.mark.parametrize("kind", list(KINDS))
def test_an_empty_graph_has_partitions(kind):
    found = KINDS[kind].search(np.zeros((6, 6)), Partitioning())
    assert found.codes.shape == (6,)
    assert math.isfinite(partitions.relaxed(np.zeros((6, 6))))


def test_rounding_errors_are_no_gains():
    """Of these weights all can be within parts, and errors of sums once went round for ever."""
    star = [(0, 2, 177), (0, 11, 178), (0, 12, 178), (0, 27, 178), (0, 36, 178)]
    ring = [(1, 6, 60), (6, 8, 77), (6, 14, 75), (8, 20, 86), (14, 20, 83)]
    rest = [(19, 21, 42), (19, 25, 46), (21, 23, 34), (21, 29, 42), (25, 29, 46)]
    weights = np.zeros((40, 40))
    for first, second, weight in star + ring + rest:
        weights[first, second] = weights[second, first] = weight / 10_000
    found = partitions.balanced(weights, Partitioning(parts=4))
    assert np.bincount(found.codes).tolist() == [10] * 4
    within = float(partitions.block_sums(weights, found.codes).trace())
    assert within == pytest.approx(float(weights.sum()))
