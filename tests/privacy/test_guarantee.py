import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon

BAD_NUMBERS = [0, 0.0, -1, -0.5, math.nan, math.inf, -math.inf, 1e-9, 1e9, 50.0001, 10**400]
NOT_NUMBERS = [True, False, "1", None, [1.0], 1j]


@pytest.mark.parametrize("epsilon", [*BAD_NUMBERS, Fraction(10**400), Fraction(1, 10**400)])
def test_epsilon_out_of_range(epsilon):
    with pytest.raises(ParameterError, match="epsilon") as caught:
        exact_epsilon(epsilon)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("epsilon", NOT_NUMBERS)
def test_epsilon_that_is_no_number(epsilon):
    with pytest.raises(ParameterError, match="epsilon must be a number") as caught:
        exact_epsilon(epsilon)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1, 50, Fraction(1, 3), np.float64(0.7)])
def test_epsilon_is_kept_exactly(epsilon):
    exact = exact_epsilon(epsilon)
    assert isinstance(exact, Fraction)
    assert exact == Fraction(epsilon)


def test_the_text_says_everything():
    text = str(PrivacyGuarantee(epsilon=0.5, neighbours="whether any one pair is an edge"))
    assert "epsilon = 0.5" in text
    assert "whether any one pair is an edge" in text
    assert "public: the vertex set" in text
    assert "delta" not in text
    assert "not private" not in text


def test_delta_is_told_when_there_is_one():
    assert "delta = 1e-06" in str(PrivacyGuarantee(epsilon=1, delta=1e-6, neighbours="x"))


def test_a_seed_voids_the_promise_everywhere():
    seeded = PrivacyGuarantee(epsilon=1.0, neighbours="x", seed=0)
    assert not seeded.is_private
    assert str(seeded).startswith("seeded: not private")
    assert seeded.to_dict()["entropy"] == "seeded: not private"


def test_to_dict_is_plain_and_complete():
    parts = (("degrees", 0.25), ("entries", 0.75))
    promise = PrivacyGuarantee(epsilon=1.0, delta=0.25, neighbours="x", public="y", parts=parts)
    stored = json.loads(json.dumps(promise.to_dict()))
    assert stored["entropy"] == "operating system"
    assert PrivacyGuarantee.from_dict(stored) == promise


def test_a_guarantee_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PrivacyGuarantee(epsilon=1.0, neighbours="x").epsilon = 0.1
