"""When a run is too small to tell whether a statement holds."""

import math

import numpy as np
import pytest

from scripts.figures.base import (
    above,
    at_full_size,
    below,
    exponent,
    exponent_uncertainty,
    mean_uncertainty,
)

SIZES = np.array([30, 60, 120])
MANY = np.geomspace(50, 5000, 9)


def test_few_scattered_points_are_too_small_and_many_clean_ones_are_not():
    scattered = SIZES**1.5 * np.array([1, 0.85, 1.0])
    few = exponent("n^1.2", (SIZES, scattered), 1.2, 0.05)
    assert (few.agrees, few.too_small, few.verdict) == (False, True, "too small to tell")
    assert str(few).endswith("too small to tell")
    clean = exponent("n^1.2", (MANY, MANY**1.5), 1.2, 0.05)
    assert (clean.agrees, clean.too_small, clean.verdict) == (False, False, "NO")
    assert str(clean).endswith("does not agree")
    right = exponent("n^1.5", (SIZES, scattered), 1.5, 0.05)
    assert right.verdict == "yes"
    assert not right.too_small


def test_the_uncertainty_is_that_of_the_slope_or_its_drift():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        noisy = 2 * MANY**0.7 * np.exp(0.1 * rng.normal(size=len(MANY)))
        fitted = np.polyfit(np.log(MANY), np.log(noisy), 1)[0]
        hits += abs(fitted - 0.7) <= exponent_uncertainty(MANY, noisy)
    assert hits >= 190  # 95 %, or more where the halves differ
    curved = MANY**0.5 * np.log(MANY) ** 2
    low, high = (np.polyfit(np.log(MANY[part]), np.log(curved[part]), 1)[0]
                 for part in (slice(None, 5), slice(4, None)))  # fmt: skip
    assert exponent_uncertainty(MANY, curved) >= low - high > 0.1
    assert exponent_uncertainty([1, 2], [1, 2]) == math.inf


def test_the_uncertainty_of_a_mean_is_that_of_few_values():
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(400, 3))
    hits = sum(abs(sample.mean()) <= mean_uncertainty(sample) for sample in samples)
    assert 365 <= hits <= 395  # 95 %


def test_a_disagreement_for_a_reason_that_points_do_not_show():
    finding = exponent("n^1.2", (MANY, MANY**1.5), 1.2, 0.05, too_small=True)
    assert finding.verdict == "too small to tell"


@pytest.mark.parametrize(
    ("measured", "size", "verdict"),
    [(1.2, 60, "yes"), (0.6, 60, "too small to tell"), (0.3, 60, "NO"), (0.6, 400, "NO")],
)
def test_an_inequality_is_extrapolated_to_the_full_size_by_the_claimed_growth(
    measured, size, verdict
):
    """sqrt(400/60) is 2.58."""
    at_full = at_full_size(measured, size=size, full=400, growth=0.5)
    assert above("gain", measured, at_full=at_full).verdict == verdict
    assert below("loss", 1 / measured, at_full=1 / at_full).verdict == verdict
    assert above("gain", 0.9).verdict == "NO"
