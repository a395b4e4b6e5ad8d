"""Starts from sums between groups: the potential there is bounded as proven, and bounds updates."""

from dataclasses import replace

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import CutQuery, VertexSet
from graphcuts_dp.learn.group_start import CORRECTION_UNITS, start_from_sums
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.plugins import Universe
from graphcuts_dp.schema.cells import CellTree
from scripts.figures.update_sequence import UpdateSequence, potential

LEARNERS = {
    "frieze-kannan": FriezeKannanLearner,
    "multiplicative-weights": MultiplicativeWeightsLearner,
    "mirror-descent, l2": lambda universe: MirrorDescentLearner(universe, norm="l2"),
    "mirror-descent, entropy": lambda universe: MirrorDescentLearner(universe, norm="entropy"),
}
UNIVERSES = {
    "plain": Universe(30),
    "bipartite": Universe(30, 23),
    "directed": Universe(30, directed=True),
}


class Started:
    """A truth with blocks, and a start from noisy sums of its cells."""

    def __init__(self, kind, seed, *, deviation=3.0, weighted=False, exact=False, off=0.0):
        rng = np.random.default_rng(seed)
        self.universe = universe = UNIVERSES[kind]
        codes = [rng.integers(0, k, size) for k, size in zip((4, 3), universe.shape, strict=True)]
        codes = codes if universe.bipartite else [codes[0], codes[0]]
        chances = rng.choice([0.02, 0.2, 0.7], size=(4, 4))
        chances = np.minimum(chances, chances.T) if universe.symmetric else chances
        truth = (rng.random(universe.shape) < chances[np.ix_(*codes)]).astype(float)
        truth *= rng.random(universe.shape) if weighted else 1
        if universe.symmetric:
            truth = np.triu(truth, 1) + np.triu(truth, 1).T
        universe.clear_diagonal(truth)
        groups = [gc.Groups(VertexSet(len(each)), {"g": [*map(str, each)]}) for each in codes]
        trees = groups[0].tree, (groups[1].tree if universe.bipartite else None)
        self.cells = CellTree(*trees, directed=universe.directed)
        left, right = (side.codes() for side in groups)
        self.sums = np.array(
            [
                truth[np.ix_(left == i, right == j)].sum()
                / (2 if universe.symmetric and i == j else 1)
                for i, j in zip(*self.cells.cells(1), strict=True)
            ]
        )
        noise = np.random.default_rng(seed + 1).normal(0, deviation, len(self.sums))
        self.truth, self.off = truth, abs(off)
        self.total = float(self.sums.sum()) + off
        self.start = start_from_sums(
            universe,
            self.cells,
            (left, right),
            self.sums + noise * (not exact),
            deviation=deviation,
            total_weight=self.total,
        )

    def tuned(self, name, alpha):
        """The first hypothesis, the rule with its potential from a flat start, and its bound."""
        learner = LEARNERS[name](self.universe)
        flat = learner.construction(alpha=alpha, total_weight=self.total, total_error=self.off)
        scale = learner.potential_scale(self.total)
        gain = float(self.start.coefficients(learner.distance) @ self.sums) / CORRECTION_UNITS
        bound = scale * self.start.distance_bound(
            learner.distance,
            uniform=flat.start_potential / scale,
            correction=gain,
            total_weight=self.total,
            total_error=self.off,
        )
        # Coefficients are rounded up by at most 1/1024 each.
        rounding = scale * self.total / CORRECTION_UNITS
        rounding /= self.total if learner.distance == "relative entropy" else 1
        return learner.first_hypothesis(self.start), flat, bound, rounding


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", UNIVERSES)
def test_the_bound_holds_and_is_near_for_graphs_without_weights(kind, weighted, name):
    """Theorems of `block_start`: for any noise in the sums, given the true G."""
    for seed in range(4):
        case = Started(kind, seed, weighted=weighted)
        first, flat, bound, rounding = case.tuned(name, 2 * case.total)
        true = potential(flat, first, case.truth)
        assert true <= bound * (1 + 1e-9)
        if not weighted:
            assert bound <= true + rounding + 1e-6 * bound
            assert bound < flat.start_potential


@pytest.mark.parametrize("off", [0.0, 20.0, -20.0])
def test_a_total_that_is_off_still_gives_a_bound(off):
    for seed in (1, 2, 3):
        case = Started("plain", seed, deviation=1.0, exact=True, off=off)
        # Not mirror descent with entropy, whose bound is for the truth times total/M.
        for name in ("frieze-kannan", "multiplicative-weights", "mirror-descent, l2"):
            first, flat, bound, _ = case.tuned(name, 3 * case.total)
            assert potential(flat, first, case.truth) <= bound * (1 + 1e-9)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", LEARNERS)
def test_no_sequence_of_updates_is_longer_than_b_from_there(name):
    case, alpha = Started("plain", 5), 7.0
    first, flat, bound, _ = case.tuned(name, alpha)
    sequence = UpdateSequence(replace(flat, start_potential=bound), case.truth)
    sequence.hypothesis = first
    rng = np.random.default_rng(3)
    for _ in range(1500):  # refuses an update beyond B
        query = CutQuery(rng.random(30) < 0.5, rng.random(30) < 0.5)
        if abs(sequence.discrepancy(query)) >= alpha:
            sequence.update(query)
    assert 3 <= sequence.count <= bound / flat.least_drop(alpha)


@pytest.mark.parametrize("kind", UNIVERSES)
def test_densities_are_positive_give_the_total_and_follow_what_the_sums_say(kind):
    for seed in range(5):
        case = Started(kind, seed, deviation=40.0)
        a, b, pairs = case.start.cells
        assert (case.start.weights > 0).all()
        assert pairs @ case.start.weights[a, b] == pytest.approx(case.total)
    near = Started(kind, 8, deviation=1e-6, exact=True)
    a, b, pairs = near.start.cells
    seen = np.maximum(near.sums / pairs, near.start.density / 64)
    seen *= near.total / (pairs @ seen)
    assert np.allclose(near.start.weights[a, b], seen, rtol=1e-6)


def test_cells_that_say_nothing_are_left_at_the_density():
    case = Started("plain", 8)
    pairs = case.cells.pairs(1)
    noise = np.random.default_rng(0).normal(0, 30, len(pairs))
    flat = case.total / case.universe.size * pairs
    codes = case.start.labels
    far = start_from_sums(
        case.universe, case.cells, codes, flat + noise, deviation=60.0, total_weight=case.total
    )
    assert np.allclose(far.weights, far.density)


def test_groups_of_one_vertex_and_groups_without_any_are_no_trouble():
    groups = gc.Groups(VertexSet(4), {"g": ["a", "a", "a", "b"]})
    codes = groups.codes()
    start = start_from_sums(
        Universe(4),
        CellTree(groups.tree),
        (codes, codes),
        [2.0, 1.0],
        deviation=0.1,
        total_weight=3.0,
    )
    assert start.blocks().total() == pytest.approx(3.0)
    assert len(start.coefficients("squares")) == 2


def test_rules_as_printed_and_other_norms_have_no_such_start():
    universe = Universe(9)
    assert FriezeKannanLearner(universe, False, "as printed").distance is None
    assert MultiplicativeWeightsLearner(universe, "as printed").distance is None
    assert MirrorDescentLearner(universe, norm="lp").distance is None
