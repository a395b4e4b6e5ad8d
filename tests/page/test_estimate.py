"""How sure an estimate of people's rows is, compared with the law that it is drawn from."""

import math
from fractions import Fraction

import numpy as np
import pandas
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.measure.statistics import class_counts, share_scores
from graphcuts_dp.page.estimate import SHARE, EstimateError
from graphcuts_dp.release.contributions import bound_job

FAILURE = Fraction(5, 100)
# Numbers of rows of the people of a file, and an epsilon.
FILES = {
    "trips of 181 people": (np.random.default_rng(1).integers(1, 118, 181), 0.1),
    "trips of 181 people, enough": (np.random.default_rng(1).integers(1, 118, 181), 1.5),
    "few rows of 700 people": (np.random.default_rng(2).integers(1, 16, 700), 0.3),
    "one row of each": (np.ones(900, dtype=int), 0.5),
    "one person has most": (np.array([1] * 500 + [90_000]), 0.6),
}


def rows_of(numbers):
    users = np.repeat(np.arange(len(numbers)), numbers)
    frame = pandas.DataFrame({"user": users, "source": "a", "target": "b"})
    return gc.Rows.of(frame, vertices=["a", "b"], columns=gc.Columns(user="user"))


@pytest.mark.parametrize("name", FILES)
def test_the_stated_share_above_holds_with_the_stated_probability(name):
    """The exact probabilities of the exponential mechanism, added up; nothing is drawn."""
    numbers, epsilon = FILES[name]
    job = bound_job(rows_of(numbers), epsilon=epsilon, share_above=float(SHARE))
    ((_, users),) = job.errors()
    error = EstimateError(epsilon=epsilon, error=users, people=len(numbers))
    classes = class_counts(rows_of(numbers), job.bounds)
    scores = share_scores(classes, job.share)
    weights = np.exp(float(job.rate) * (scores - scores.max()))
    above = np.array([(numbers > bound).sum() for bound in job.bounds])
    most = error.most_of_100 / 100 * len(numbers)
    wrong = weights[above > most].sum() / weights.sum()
    assert wrong <= FAILURE
    nobody = weights[above == 0].sum() / weights.sum()
    if not error.is_informative and numbers.max() < job.bounds[-5]:
        assert nobody > FAILURE, "an estimate that says nothing: it may well be far too high"
    if name == "trips of 181 people":
        too_high = weights[np.array(job.bounds) >= 500].sum() / weights.sum()
        assert too_high > 0.3, "a limit of 500 rows or more, where nobody has 118"
        assert not error.is_informative


@pytest.mark.parametrize("people", [100, 181, 5000])
def test_the_epsilon_that_is_proposed_sees_and_a_smaller_one_does_not(people):
    rows = rows_of(np.ones(3, dtype=int))

    def error_at(epsilon):
        ((_, users),) = bound_job(rows, epsilon=epsilon, share_above=float(SHARE)).errors()
        return EstimateError(epsilon=epsilon, error=users, people=people)

    sufficient = error_at(0.01).sufficient_epsilon
    assert error_at(sufficient).is_informative
    assert not error_at(0.9 * sufficient).is_informative
    assert f"It takes {sufficient:g}" in error_at(0.01).forecast
    assert "It takes" not in error_at(sufficient).forecast


def test_an_estimate_is_stated_with_its_share_or_as_saying_nothing():
    sure = EstimateError(epsilon=1.0, error=12.2, people=1000)
    assert sure.most_of_100 == math.ceil(100 * (0.1 + 0.0122))
    assert "more than 30 rows, and at most 12 of 100 (95%)" in sure.sentences(30)
    vague = EstimateError(epsilon=0.1, error=121.6, people=181)
    assert vague.most_of_100 == 78
    text = vague.sentences(700)
    assert "With about 181 people this says nothing" in text
    assert "About 5 of 100" not in text
    assert f"It takes {vague.sufficient_epsilon:g}" in text
    assert "This used up 0.1." in text


@pytest.mark.parametrize("people", [0, -3])
def test_a_guess_of_people_is_needed(people):
    with pytest.raises(ParameterError, match="about how many people"):
        EstimateError(epsilon=1.0, error=1.0, people=people)
