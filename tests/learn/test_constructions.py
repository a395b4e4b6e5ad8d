"""Frieze-Kannan and multiplicative weights: single steps, what is refused, tiny universes."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import frieze_kannan, multiplicative_weights
from idc_cases import extreme_cuts, universe_of

from graphcuts_dp.errors import HypothesisError, MatrixError, ParameterError, QueryError
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.learn.cut_sum import CutSum
from graphcuts_dp.learn.rules import (
    FriezeKannanRule,
    MultiplicativeWeightsRule,
)
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery
from graphcuts_dp.pairs.universe import Universe
from scripts.figures.update_sequence import UpdateSequence, checked

BUILDS = [frieze_kannan, multiplicative_weights]
RULES = ["tight", "as printed"]
SIX = Universe(6)
CUT = CutQuery([0, 1], [2, 3, 4])  # 6 of 15 pairs


# Steps.


def test_frieze_kannan_steps():
    printed = frieze_kannan(SIX, alpha=3.0, total_weight=7.5, rule="as printed")
    assert printed.initial().estimate(CUT) == 0
    assert printed.update(printed.initial(), CUT, 1).estimate(CUT) == pytest.approx(6 * 3 / 15)
    assert printed.update(printed.initial(), CUT, -1).estimate(CUT) == pytest.approx(-6 * 3 / 15)
    tight = frieze_kannan(SIX, alpha=3.0, total_weight=7.5)
    assert tight.initial().estimate(CUT) == pytest.approx(3)
    assert tight.update(tight.initial(), CUT, 1).estimate(CUT) == pytest.approx(6)
    assert tight.update(tight.initial(), CUT, -1).estimate(CUT) == pytest.approx(0)


def test_a_value_lengthens_the_frieze_kannan_step_as_far_as_it_is_safe():
    exact = frieze_kannan(SIX, alpha=1.0, total_weight=3.0, value_error=0.0)
    start = exact.initial()
    assert start.estimate(CUT) == pytest.approx(1.2)
    assert exact.update(start, CUT, 1, 5.7).estimate(CUT) == pytest.approx(5.7)
    assert exact.update(start, CUT, -1, 0.0).estimate(CUT) == pytest.approx(0.0)
    loose = replace(exact, value_error=None)
    assert loose.update(start, CUT, 1, 5.7).estimate(CUT) == pytest.approx(4.7)
    assert loose.update(start, CUT, 1, 2.3).estimate(CUT) == pytest.approx(2.2)
    # A value on the wrong side, or the rule as printed: the step of the sign.
    assert exact.update(start, CUT, 1, 0.0).estimate(CUT) == pytest.approx(2.2)
    printed = replace(exact, rule="as printed")
    assert printed.update(start, CUT, 1, 5.7).estimate(CUT) == pytest.approx(1.2 + 6 / 15)


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


def test_a_value_lengthens_the_multiplicative_step():
    exact = multiplicative_weights(SIX, alpha=0.5, total_weight=7.5, value_error=0.0)
    start = exact.initial()
    by_sign = exact.update(start, CUT, 1).estimate(CUT)
    by_value = exact.update(start, CUT, 1, 6.0).estimate(CUT)
    assert by_sign < by_value
    longer = replace(exact, alpha=3.0).update(start, CUT, 1).estimate(CUT)
    assert by_value == pytest.approx(longer)
    # However far off the value is said to be, no discrepancy is above the total weight.
    assert exact.update(start, CUT, 1, 1e12).total() == pytest.approx(7.5)


def test_an_uncertain_total_shortens_the_multiplicative_step():
    sure = multiplicative_weights(SIX, alpha=1.0, total_weight=7.5)
    unsure = multiplicative_weights(SIX, alpha=1.5, total_weight=7.5, total_error=0.5)
    start = sure.initial()
    assert sure.update(start, CUT, 1).estimate(CUT) == pytest.approx(
        unsure.update(start, CUT, 1).estimate(CUT)
    )
    assert sure.least_drop(1.0) == pytest.approx(unsure.least_drop(1.5))


def test_coefficients_of_any_span():
    """Rank-one queries with coefficients up to 2, matrix queries with negative ones."""
    dense = MultiplicativeWeightsRule(
        start=DenseHypothesis.constant(SIX, 0.5), alpha=0.5, start_potential=1.0, span=2.0
    )
    ones = np.ones(6)
    signed = MatrixQuery(
        np.triu(np.array([[(-1.0) ** (i + j) for i in range(6)] for j in range(6)]), 1)
    )
    for query in (RankOneQuery(ones, ones / 2), signed, CUT):
        raised = dense.update(dense.initial(), query, 1)
        assert raised.total() == pytest.approx(7.5)
        if query is not CUT and not isinstance(query, MatrixQuery):
            continue  # all coefficients alike: nothing to learn
        assert raised.estimate(query) > dense.initial().estimate(query)
    with pytest.raises(QueryError, match="span=2"):
        dense.update(dense.initial(), MatrixQuery(3 * np.ones((6, 6))), 1)
    printed = replace(dense, span=1.0, rule="as printed")
    with pytest.raises(QueryError, match="span=1"):
        printed.update(printed.initial(), MatrixQuery(-np.ones((6, 6)) / 2), 1)


def test_queries_outside_the_class_are_refused():
    disjoint = frieze_kannan(SIX, alpha=1.0, total_weight=3.0, disjoint=True)
    everything = CutQuery(range(6), range(6))
    with pytest.raises(QueryError, match="allows 9"):
        disjoint.update(disjoint.initial(), everything, 1)
    assert disjoint.update(disjoint.initial(), CutQuery([0, 1, 2]), 1).estimate(everything) > 3


def test_starts_from_blocks_and_from_a_released_graph():
    blocks = CutSum(SIX, BlockHypothesis(SIX, [0, 0, 0, 1, 1, 1], [[0.5, 0.1], [0.1, 0.8]]))
    released = DenseHypothesis(SIX, blocks.dense())
    for start in (blocks, released):
        construction = FriezeKannanRule(start=start, alpha=1.0, start_potential=5.0)
        before = construction.initial().estimate(CUT)
        assert construction.update(start, CUT, 1).estimate(CUT) == pytest.approx(before + 1)
        assert construction.update_bound(1.0) == pytest.approx(5.0 * 15)


# Parameters.


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": math.inf}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"rule": "loose"}, "rule"),
        ({"value_error": -1.0}, "value_error"),
        ({"value_error": math.nan}, "value_error"),
        ({"total_weight": -1.0}, "total_weight"),
        ({"total_weight": 16.0}, "total_weight"),
        ({"total_weight": 16.0, "rule": "as printed"}, "total_weight"),
        ({"total_weight": math.nan}, "total_weight"),
        ({"total_error": -1.0}, "total_error"),
        ({"total_error": math.nan}, "total_error"),
    ],
)
def test_parameters_out_of_range(build, wrong, message):
    with pytest.raises(ParameterError, match=message):
        build(SIX, **{"alpha": 1.0, "total_weight": 3.0, **wrong})


def test_more_parameters_out_of_range():
    start = DenseHypothesis.constant(SIX, 0.5)
    for kind, wrong, message in [
        (FriezeKannanRule, {"start_potential": -1.0}, "start_potential"),
        (FriezeKannanRule, {"start_potential": math.nan}, "start_potential"),
        (FriezeKannanRule, {"largest_norm_squared": 0.0}, "largest_norm_squared"),
        (MultiplicativeWeightsRule, {"start_potential": math.inf}, "start_potential"),
        (MultiplicativeWeightsRule, {"span": 0.0}, "span"),
        (MultiplicativeWeightsRule, {"span": 2.0, "rule": "as printed"}, "span=1"),
        (MultiplicativeWeightsRule, {"total_error": 1.0}, "larger than"),
        (
            MultiplicativeWeightsRule,
            {"start": DenseHypothesis.constant(SIX, 0.0)},
            "positive total",
        ),
    ]:
        with pytest.raises(ParameterError, match=message):
            kind(**{"start": start, "alpha": 1.0, "start_potential": 1.0, **wrong})
    with pytest.raises(ParameterError, match="positive total weight"):
        multiplicative_weights(SIX, alpha=1.0, total_weight=0.0)
    for build in BUILDS:
        with pytest.raises(ParameterError, match="pairs"):
            build(Universe(1), alpha=1.0, total_weight=0.0)


# Tiny and extreme.


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shape", [(2, None), (1, 1), (1, 5), (7, 1), (2, "arcs")])
def test_tiny_universes(build, rule, shape):
    universe = universe_of(shape)
    construction = build(universe, alpha=0.25, total_weight=0.5, rule=rule)
    hypothesis = construction.initial()
    for query in extreme_cuts(universe):
        if universe.norm_squared(query) > 0:
            higher = construction.update(hypothesis, query, 1)
            # One weight that cannot move: multiplicative weights keep the total.
            moves = build is frieze_kannan or universe.norm_squared(query) < universe.size
            assert (higher.estimate(query) > hypothesis.estimate(query) + 1e-9) is moves
        else:
            assert hypothesis.estimate(query) == 0


def test_a_query_without_pairs_teaches_nothing():
    construction = frieze_kannan(SIX, alpha=1.0, total_weight=3.0)
    for query in (CutQuery([], range(6)), CutQuery([0], [0]), CutQuery(range(6))):
        assert construction.initial().estimate(query) == 0
        with pytest.raises(HypothesisError, match="no pair"):
            construction.update(construction.initial(), query, 1)
    weights = multiplicative_weights(SIX, alpha=1.0, total_weight=3.0)
    same = weights.update(weights.initial(), CutQuery([], range(6)), 1)
    assert same.estimate(CUT) == pytest.approx(weights.initial().estimate(CUT))


# Update sequences.


def test_update_sequences_refuse_what_the_definition_forbids():
    truth = checked(SIX, np.ones((6, 6)))
    construction = frieze_kannan(SIX, alpha=2.0, total_weight=7.5, total_error=7.5)
    sequence = UpdateSequence(construction, truth)
    assert sequence.discrepancy(CUT) == pytest.approx(3)
    with pytest.raises(HypothesisError, match="no update is due: the answer is off by 0"):
        sequence.update(CutQuery([], [0]))
    with pytest.raises(HypothesisError, match="the sign is -1"):
        sequence.update(CUT, -1)
    for value in (8.5, 3.5, math.nan):
        with pytest.raises(HypothesisError, match="the value is off"):
            sequence.update(CUT, value=value)
    assert sequence.count == 0
    assert sequence.hypothesis is construction.initial()
    sequence.update(CUT, 1, 7.0)
    assert sequence.count == 1
    assert sequence.hypothesis.estimate(CUT) == pytest.approx(5)

    # A start potential that is not true is caught.
    construction = replace(frieze_kannan(SIX, alpha=2.0, total_weight=7.5), start_potential=0.0)
    with pytest.raises(HypothesisError, match=r"more than B\(alpha\)"):
        UpdateSequence(construction, checked(SIX, np.ones((6, 6)))).update(CUT)

    for wrong, message in ((np.full((6, 6), 1.01), "outside"), (np.ones((5, 5)), "shape")):
        with pytest.raises(MatrixError, match=message):
            UpdateSequence(construction, wrong)
