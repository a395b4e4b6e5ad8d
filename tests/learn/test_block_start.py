"""Starts from sums between groups: the potential there is bounded as proven, and bounds updates."""

from dataclasses import replace

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.blocks import GAIN_STEPS, MOST_GROUPS, start_from_sums
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    GroupLearner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.pairs.groups import CellTree
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import VertexSet
from scripts.figures.update_sequence import UpdateSequence, potential

LEARNERS = {
    "frieze-kannan": FriezeKannanLearner,
    "multiplicative-weights": MultiplicativeWeightsLearner,
    "mirror-descent, l2": lambda universe: MirrorDescentLearner(universe, norm="l2"),
    "mirror-descent, entropy": lambda universe: MirrorDescentLearner(universe, norm="entropy"),
}
KINDS = ("plain", "bipartite", "directed")


def case(kind, seed, *, weighted=False, n=30):
    """A universe, groups, a truth with blocks, and the true weight of each cell."""
    rng = np.random.default_rng(seed)
    shape = (n, n - 7) if kind == "bipartite" else (n, n)
    universe = {
        "plain": lambda: Universe(n),
        "bipartite": lambda: Universe(*shape),
        "directed": lambda: Universe(n, directed=True),
    }[kind]()
    codes = [rng.integers(0, k, size) for k, size in zip((4, 3), shape, strict=True)]
    codes = codes if kind == "bipartite" else [codes[0], codes[0]]
    chances = rng.choice([0.02, 0.2, 0.7], size=(4, 4))
    chances = chances if kind != "plain" else np.minimum(chances, chances.T)
    truth = (rng.random(shape) < chances[np.ix_(*codes)]).astype(float)
    if weighted:
        truth *= rng.random(shape)
    if kind == "plain":
        truth = np.triu(truth, 1) + np.triu(truth, 1).T
    universe.clear_diagonal(truth)
    sides = [gc.Groups(VertexSet(len(each)), {"g": [*map(str, each)]}) for each in codes]
    trees = sides[0].tree, (sides[1].tree if kind == "bipartite" else None)
    cells = CellTree(*trees, directed=kind == "directed")
    codes = tuple(side.codes() for side in sides)
    a, b = cells.cells(1)
    sums = np.array(
        [
            truth[np.ix_(codes[0] == i, codes[1] == j)].sum()
            / (2 if kind == "plain" and i == j else 1)
            for i, j in zip(a, b, strict=True)
        ]
    )
    return universe, cells, codes, truth, sums


def started(kind, seed, *, deviation=3.0, weighted=False, exact=False):
    universe, cells, codes, truth, sums = case(kind, seed, weighted=weighted)
    noise = np.random.default_rng(seed + 1).normal(0, deviation, len(sums)) * (not exact)
    total = float(sums.sum())
    start = start_from_sums(
        universe, cells, codes, sums + noise, deviation=deviation, total_weight=total
    )
    return universe, start, truth, sums, total


def gain(start, learner, sums):
    return float(start.coefficients(learner.distance) @ sums) / GAIN_STEPS


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_holds_and_is_near_for_graphs_without_weights(kind, weighted, name):
    """Theorems of `block_start`: for any noise in the sums, given the true G."""
    for seed in range(6):
        universe, start, truth, sums, total = started(kind, seed, weighted=weighted)
        learner = LEARNERS[name](universe)
        assert isinstance(learner, GroupLearner)
        flat = learner.construction(alpha=2 * total, total_weight=total, total_error=0.0)
        scale = learner.potential_scale(total)
        bound = scale * start.potential(
            learner.distance,
            flat=flat.start_potential / scale,
            gain=gain(start, learner, sums),
            total_weight=total,
            total_error=0.0,
        )
        true = potential(flat, learner.first(start), truth)
        assert true <= bound * (1 + 1e-9)
        if not weighted:  # coefficients are rounded up by at most 1/1024 each
            per_edge = scale * total / GAIN_STEPS
            if learner.distance == "relative entropy":
                per_edge /= total
            assert bound <= true + per_edge + 1e-6 * bound
            assert bound < flat.start_potential


@pytest.mark.parametrize("error", [0.0, 20.0])
def test_a_total_that_is_off_still_gives_a_bound(error):
    for seed, sign in ((1, 1), (2, -1), (3, 1)):
        universe, cells, codes, truth, sums = case("plain", seed)
        total = float(sums.sum()) + sign * error
        start = start_from_sums(universe, cells, codes, sums, deviation=1.0, total_weight=total)
        # Not mirror descent with entropy, whose bound is for the truth times total/M.
        for name in ("frieze-kannan", "multiplicative-weights", "mirror-descent, l2"):
            learner = LEARNERS[name](universe)
            scale = learner.potential_scale(total)
            flat = learner.construction(alpha=3 * total, total_weight=total, total_error=error)
            found = start.potential(
                learner.distance,
                flat=flat.start_potential / scale,
                gain=gain(start, learner, sums),
                total_weight=total,
                total_error=error,
            )
            assert potential(flat, learner.first(start), truth) <= scale * found * (1 + 1e-9)


@pytest.mark.parametrize("name", LEARNERS)
def test_no_sequence_of_updates_is_longer_than_b_from_there(name):
    universe, start, truth, sums, total = started("plain", 5)
    learner = LEARNERS[name](universe)
    scale, alpha = learner.potential_scale(total), 9.0
    made = learner.construction(alpha=alpha, total_weight=total, total_error=0.0)
    bound = scale * start.potential(
        learner.distance,
        flat=made.start_potential / scale,
        gain=gain(start, learner, sums),
        total_weight=total,
        total_error=0.0,
    )
    sequence = UpdateSequence(replace(made, start_potential=bound), truth)
    sequence.hypothesis = learner.first(start)
    rng = np.random.default_rng(3)
    for _ in range(4000):  # refuses an update beyond B
        query = CutQuery(rng.random(30) < 0.5, rng.random(30) < 0.5)
        if abs(sequence.discrepancy(query)) >= alpha:
            sequence.update(query)
    assert 3 <= sequence.count <= bound / made.least_drop(alpha)


def test_cells_that_say_nothing_are_left_at_the_density():
    universe, cells, codes, _, sums = case("plain", 8)
    total = float(sums.sum())
    rng = np.random.default_rng(0)
    noise = total / universe.size * cells.pairs(1) + rng.normal(0, 30, len(sums))
    far = start_from_sums(universe, cells, codes, noise, deviation=60.0, total_weight=total)
    assert np.allclose(far.weights, far.density)
    near = start_from_sums(universe, cells, codes, sums, deviation=1e-6, total_weight=total)
    a, b, pairs = near.cells
    seen = np.maximum(sums / pairs, near.density / 64)
    seen *= total / (pairs @ seen)
    assert np.allclose(near.weights[a, b], seen, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_all_densities_are_positive_and_give_the_total(kind):
    for seed in range(5):
        _, start, _, _, total = started(kind, seed, deviation=40.0)
        assert (start.weights > 0).all()
        a, b, pairs = start.cells
        assert pairs @ start.weights[a, b] == pytest.approx(total)


def test_groups_of_one_vertex_and_groups_without_any_are_no_trouble():
    universe = Universe(4)
    groups = gc.Groups(VertexSet(4), {"g": ["a", "a", "a", "b"]})
    cells = CellTree(groups.tree)
    codes = groups.codes()
    start = start_from_sums(
        universe, cells, (codes, codes), [2.0, 1.0], deviation=0.1, total_weight=3.0
    )
    assert start.blocks().total() == pytest.approx(3.0)
    assert len(start.coefficients("squares")) == 2


def test_too_many_groups_are_refused():
    n = MOST_GROUPS + 1
    groups = gc.Groups(VertexSet(n), {"g": [*map(str, range(n))]})
    cells = CellTree(groups.tree)
    sums = np.ones(cells.size(1))
    with pytest.raises(ParameterError, match="2,048 groups; give it a coarser level"):
        start_from_sums(
            Universe(n), cells, (groups.codes(),) * 2, sums, deviation=1.0, total_weight=5.0
        )


def test_rules_as_printed_and_other_norms_have_no_such_start():
    universe = Universe(9)
    assert FriezeKannanLearner(universe, False, "as printed").distance is None
    assert MultiplicativeWeightsLearner(universe, "as printed").distance is None
    assert MirrorDescentLearner(universe, norm="lp").distance is None
