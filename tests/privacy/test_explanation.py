"""A promise in plain words: odds by Bayes' rule, and sentences for everybody it may protect."""

import math

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.guarantee import posterior


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("prior", [1e-6, 0.01, 0.5, 0.999])
def test_the_posterior_is_reached_by_randomised_response_and_passed_by_nothing(epsilon, prior):
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    yes = prior * truth / (prior * truth + (1 - prior) * (1 - truth))
    assert posterior(prior, epsilon) == pytest.approx(yes, rel=1e-12)
    no = prior * (1 - truth) / (prior * (1 - truth) + (1 - prior) * truth)
    assert posterior(prior, -epsilon) == pytest.approx(no, rel=1e-12)
    assert (posterior(0, epsilon), posterior(1, epsilon)) == (0.0, 1.0)
    generator = np.random.default_rng(1)
    for _ in range(50):  # any mechanism within e^epsilon
        first = generator.dirichlet(np.ones(6))
        second = first * np.exp(generator.uniform(-epsilon, epsilon, 6))
        if second.sum() > 1:
            continue
        reached = prior * second / (prior * second + (1 - prior) * first)
        assert reached.max() <= posterior(prior, epsilon) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("whom", "expected"),
    [
        (gc.Protect(), "each single edge"),
        (gc.Protect.edges(20), "any 20 edges together"),
        (gc.Protect.owner(at_most=1000), "at most 1,000 rows"),
        (gc.Protect.vertex(degree_bound=50), "at most 50 edges of a vertex"),
        (gc.Protect.of_people(2), "where any 2 people together are"),
    ],
)
def test_it_says_whom(whom, expected):
    made = whom.explain(epsilon=1.0)
    assert expected in str(made)
    assert "e^1 = 2.72" in str(made)
    assert "believed 0.5 beforehand believes between 0.269 and 0.731" in str(made)
    assert "delta" not in made.sentences["Strength"]
    assert "at most 1e-06 this fails" in str(whom.explain(epsilon=1.0, delta=1e-6))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "positive"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta"),
        ({"epsilon": 1.0, "priors": [1.5]}, "a prior is a probability"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        gc.Protect().explain(**options)
