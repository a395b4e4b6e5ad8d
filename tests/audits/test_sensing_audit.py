"""The sensitivity of private sensing, of which the audit of its choices and answers makes use."""

import itertools

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.offline.lists import Steps
from graphcuts_dp.pairs.universe import Universe

CAP = 3.0
QUERIES = [
    gc.Query.matrix(np.array([[0.0, 0.3, -0.7], [1.0, 0.01, 0.0]])),
    gc.Query.rank_one([0.2, 0.9], [1.0, 0.5, 0.3]),
    gc.CutQuery([1], [0, 2]),
]
STEPS = Steps(Universe(2, 3), QUERIES, CAP)


def counts(ratings):
    """True answers of a dense matrix of ratings, in steps."""
    ends = np.nonzero(ratings)
    return STEPS.count(gc.BipartiteGraph(*ends, ratings[ends], left=2, right=3, weight_cap=CAP))


def changes():
    """How far each answer moves, in steps, on neighbours of random matrices: every pair."""
    rng = np.random.default_rng(0)
    for i, j in itertools.product(range(2), range(3)):
        for before, after in ((0.0, CAP), (CAP, 0.0), *rng.uniform(0, CAP, (30, 2))):
            ratings = rng.uniform(0, CAP, (2, 3))
            ratings[i, j] = before
            first = counts(ratings)
            ratings[i, j] = after
            yield counts(ratings) - first


def test_no_rating_moves_an_answer_by_more_than_the_sensitivity_and_one_does_by_as_much():
    assert max(int(np.abs(change).max()) for change in changes()) == STEPS.sensitivity
    # A twin that rounds up, or takes the cap's steps for 2^bits, would be below.
    assert STEPS.sensitivity * STEPS.unit == pytest.approx(CAP)
    # Both directions occur at once: the choice must not be taken for monotone.
    assert any((change > 0).any() and (change < 0).any() for change in changes())


def test_the_largest_coefficient_counts_as_many_steps_as_its_own_rounding_gives():
    """To the nearest step, upwards in half of the cases: rounded down, Delta would be too small."""
    ratings = gc.BipartiteGraph([0], [0], [CAP], left=1, right=1, weight_cap=CAP)
    upwards = 0
    for largest in np.random.default_rng(1).uniform(0.5, 2.0, size=40):
        steps = Steps(Universe(1, 1), [gc.Query.matrix(np.array([[largest]]))], CAP)
        assert int(steps.count(ratings)[0]) == steps.sensitivity
        upwards += largest / steps._of_coefficients % 1 > 0.5
    assert 5 < upwards < 35
