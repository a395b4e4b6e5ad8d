"""The noisy maximum: its distribution, its guarantee and its accuracy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.choices import exponential_choice, noisy_maximum, shortfall
from tests.audits.selection import choice_probabilities

SCORES = np.array([0, -2, 0, 1, -5])


def losses(first, second, rate):
    """The largest |ln P/P'| over candidates."""
    p, q = choice_probabilities(first, rate), choice_probabilities(second, rate)
    return float(np.abs(np.log(p / q)).max())


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(3, 2)])
def test_choices_have_the_probabilities_of_the_reference(rate):
    """Each count is within its binomial quantiles at 1e-7, with the fixed seed."""
    source, runs = SeededEntropy(1), 20_000
    counts = np.bincount([noisy_maximum(SCORES, rate, source) for _ in range(runs)], minlength=5)
    expected = choice_probabilities(SCORES, rate)
    assert expected.sum() == pytest.approx(1, abs=1e-12)
    for count, p in zip(counts, expected, strict=True):
        assert binom.ppf(5e-8, runs, p) <= count <= binom.isf(5e-8, runs, p)


def test_of_equal_scores_the_first_is_likeliest():
    p = choice_probabilities([0, 0, 0], Fraction(1))
    assert p[0] > p[1] > p[2]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(-2, 2)), min_size=2, max_size=6),
    st.fractions(Fraction(1, 8), Fraction(2)),
)
def test_scores_that_differ_by_s_either_way_lose_2_s_rate(scores, rate):
    first = np.array([score for score, _ in scores])
    moves = np.array([move for _, move in scores])
    s = int(np.abs(moves).max())
    assert losses(first, first + moves, rate) <= 2 * s * float(rate) + 1e-9
    assert losses(first, first + np.abs(moves), rate) <= s * float(rate) + 1e-9


def test_both_guarantees_are_nearly_reached():
    """One candidate against another: far below, both bounds are sharp."""
    rate = Fraction(1, 2)
    assert losses([-40, 0], [-39, -1], rate) == pytest.approx(1.0, abs=1e-6)
    assert losses([-40, 0], [-39, 0], rate) == pytest.approx(0.5, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(-9, 0), min_size=2, max_size=8),
    st.fractions(Fraction(1, 4), Fraction(2)),
    st.floats(0.001, 0.9),
)
def test_the_chosen_score_is_within_the_shortfall(scores, rate, failure):
    within = shortfall(len(scores), rate, failure=failure)
    u = np.array(scores)
    missed = choice_probabilities(u, rate)[u < u.max() - within].sum()
    assert missed <= failure * (1 + 1e-9)


def test_the_shortfall_is_the_least_whole_number_that_the_union_bound_gives():
    rate = Fraction(1, 3)
    k = shortfall(100, rate, failure=0.05)
    assert 99 * math.exp(-float(rate) * (k + 1)) <= 0.05 < 99 * math.exp(-float(rate) * k)
    assert shortfall(1, rate, failure=0.05) == 0
    assert shortfall(2, rate, failure=0.999) == 0


def test_the_exponential_mechanism_has_its_probabilities():
    """Each count is within its binomial quantiles at 1e-7, with the fixed seed."""
    rate, source, runs = Fraction(3, 4), SeededEntropy(2), 20_000
    counts = np.bincount(
        [exponential_choice(SCORES, rate, source) for _ in range(runs)], minlength=5
    )
    expected = np.exp(float(rate) * SCORES)
    for count, p in zip(counts, expected / expected.sum(), strict=True):
        assert binom.ppf(5e-8, runs, p) <= count <= binom.isf(5e-8, runs, p)


def test_far_scores_and_fine_rates_do_not_matter_to_the_exponential_mechanism():
    """Differences count, not sizes: 2^60 apart is never chosen, equal ones are."""
    source = SeededEntropy(3)
    scores = np.array([2**60, -(2**60), 2**60], dtype=np.int64)
    drawn = {exponential_choice(scores, Fraction(1, 2**40), source) for _ in range(200)}
    assert drawn == {0, 2}
