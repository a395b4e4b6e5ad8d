"""Frieze-Kannan and multiplicative weights: single steps, bounds from sizes, and the definition."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import frieze_kannan, multiplicative_weights

from graphcuts_dp import CutQuery, HypothesisError, MatrixError
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.constructions import CONSTRUCTIONS, bound_of
from graphcuts_dp.learn.rules import MultiplicativeWeightsRule
from graphcuts_dp.learn.sizes import largest_disjoint_cut, pairs_of, size_of
from graphcuts_dp.plugins import Universe
from graphcuts_dp.queries.linear import MatrixQuery, RankOneQuery
from scripts.figures.update_sequence import UpdateSequence, checked

SIX = Universe(6)
CUT = CutQuery([0, 1], [2, 3, 4])  # 6 of 15 pairs


def test_frieze_kannan_steps():
    printed = frieze_kannan(SIX, alpha=3.0, total_weight=7.5, rule="as printed")
    tight = frieze_kannan(SIX, alpha=3.0, total_weight=7.5)
    for rule, start, step in ((printed, 0, 6 * 3 / 15), (tight, 3, 3)):
        assert rule.initial().estimate(CUT) == pytest.approx(start)
        for sign in (1, -1):
            found = rule.update(rule.initial(), CUT, sign).estimate(CUT)
            assert found == pytest.approx(start + sign * step)


def test_a_value_lengthens_the_frieze_kannan_step_as_far_as_it_is_safe():
    exact = frieze_kannan(SIX, alpha=1.0, total_weight=3.0, value_error=0.0)
    loose, printed = replace(exact, value_error=None), replace(exact, rule="as printed")
    for rule, sign, value, found in [
        (exact, 1, 5.7, 5.7),
        (exact, -1, 0.0, 0.0),
        (loose, 1, 5.7, 4.7),
        (loose, 1, 2.3, 2.2),
        (exact, 1, 0.0, 2.2),  # on the wrong side: the step of the sign
        (printed, 1, 5.7, 1.2 + 6 / 15),
    ]:
        moved = rule.update(exact.initial(), CUT, sign, value)
        assert moved.estimate(CUT) == pytest.approx(found)


def test_multiplicative_weights_steps():
    for rule, eta in (("as printed", 1.5 / (2 * 7.5)), ("tight", 4 * 1.5 / 7.5)):
        construction = multiplicative_weights(SIX, alpha=1.5, total_weight=7.5, rule=rule)
        start = construction.initial()
        assert start.estimate(CUT) == pytest.approx(3)
        for sign in (1, -1):
            inside, outside = 6 * math.exp(sign * eta), 9
            found = construction.update(start, CUT, sign)
            assert found.estimate(CUT) == pytest.approx(7.5 * inside / (inside + outside))
            assert found.total() == pytest.approx(7.5)
        same = construction.update(start, CutQuery([], range(6)), 1)
        assert same.estimate(CUT) == pytest.approx(3)  # a query without pairs teaches nothing


def test_a_value_lengthens_the_multiplicative_step_and_an_uncertain_total_shortens_it():
    exact = multiplicative_weights(SIX, alpha=0.5, total_weight=7.5, value_error=0.0)
    start = exact.initial()

    def moved(rule, value=None):
        return rule.update(start, CUT, 1, value).estimate(CUT)

    assert moved(exact) < moved(exact, 6.0) == pytest.approx(moved(replace(exact, alpha=3.0)))
    # However far off the value is said to be, no discrepancy is above the total weight.
    assert exact.update(start, CUT, 1, 1e12).total() == pytest.approx(7.5)
    unsure = multiplicative_weights(SIX, alpha=1.0, total_weight=7.5, total_error=0.5)
    assert moved(unsure) == pytest.approx(moved(exact))
    assert unsure.least_drop(1.0) == pytest.approx(exact.least_drop(0.5))


def test_coefficients_of_any_span():
    """Rank-one queries with coefficients up to 2, matrix queries with negative ones."""
    rule = MultiplicativeWeightsRule(
        start=DenseHypothesis.constant(SIX, 0.5), alpha=0.5, start_potential=1.0, span=2.0
    )
    board = np.where(np.indices((6, 6)).sum(axis=0) % 2, 1.0, -1.0)
    for query, learns in [
        (RankOneQuery(np.ones(6), np.ones(6) / 2), False),  # all coefficients alike
        (MatrixQuery(np.triu(board, 1)), True),
        (CUT, True),
    ]:
        raised = rule.update(rule.initial(), query, 1)
        assert raised.total() == pytest.approx(7.5)
        assert (raised.estimate(query) > rule.initial().estimate(query) + 1e-9) is learns


@pytest.mark.parametrize("name", CONSTRUCTIONS)
@pytest.mark.parametrize("rule", ["tight", "as printed"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_bounds_from_sizes_are_those_of_the_learners(name, rule, disjoint):
    """Whatever the sizes: the planner tells of a session what it will go by."""
    line = CONSTRUCTIONS[name]
    for universe in (Universe(20), Universe(21), Universe(7, 12), Universe(9, directed=True)):
        size = size_of(universe)
        assert pairs_of(size) == universe.size
        assert largest_disjoint_cut(size) == universe.disjoint_norm_squared
        learner = line.learner(universe, disjoint, rule)
        if name == "mirror-descent":
            learner = replace(learner, norm="auto")
        for edges in (1.0, 30.5, 70.0):
            found = line.updates(size, edges, rule, disjoint)
            theirs = bound_of(learner, alpha=0.5, total_weight=edges, total_error=0.0)
            assert found(0.5) == pytest.approx(theirs(0.5))


def test_update_sequences_refuse_what_the_definition_forbids():
    truth = checked(SIX, np.ones((6, 6)))
    construction = frieze_kannan(SIX, alpha=2.0, total_weight=7.5, total_error=7.5)
    sequence = UpdateSequence(construction, truth)
    assert sequence.discrepancy(CUT) == pytest.approx(3)
    for words, *step in [
        ("no update is due: the answer is off by 0", CutQuery([], [0])),
        ("the sign is -1", CUT, -1),
        *(("the value is off", CUT, None, value) for value in (8.5, 3.5, math.nan)),
    ]:
        with pytest.raises(HypothesisError, match=words):
            sequence.update(*step)
    assert sequence.count == 0
    sequence.update(CUT, 1, 7.0)
    assert sequence.count == 1
    assert sequence.hypothesis.estimate(CUT) == pytest.approx(5)
    # A start potential that is not true is caught.
    false = replace(construction, start_potential=0.0)
    with pytest.raises(HypothesisError, match=r"more than B\(alpha\)"):
        UpdateSequence(false, truth).update(CUT)
    for wrong, message in ((np.full((6, 6), 1.01), "outside"), (np.ones((5, 5)), "shape")):
        with pytest.raises(MatrixError, match=message):
            UpdateSequence(construction, wrong)
