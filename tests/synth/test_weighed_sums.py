"""Two estimates of sums between groups: each counts for what it is worth."""

import numpy as np
import pytest

from graphcuts_dp.synth.credible_sums import weighed_sums


def frame_of(n, k, seed=0):
    columns = np.random.default_rng(seed).normal(size=(n, k))
    columns[:, 0] = 1.0
    return np.linalg.qr(columns)[0]


def noisy(k, deviation, seed):
    noise = np.random.default_rng(seed).normal(0, deviation, (k, k))
    return (noise + noise.T) / np.sqrt(2)


def away_from_ones(frame, matrix):
    """Without what touches the vector of ones, which both estimates have alike."""
    ones = frame.sum(axis=0) / np.linalg.norm(frame.sum(axis=0))
    keep = np.eye(len(ones)) - np.outer(ones, ones)
    return keep @ matrix @ keep


@pytest.mark.parametrize("symmetric", [True, False])
def test_what_noise_alone_explains_leaves_the_structure_as_it_is(symmetric):
    """A mean squared error of a tenth of the noise's, over 40 draws of ten or more numbers; without
    a weight it would be that of the noise, 36 of variance 1 a draw."""
    frame = frame_of(200, 7)
    errors = []
    for seed in range(40):
        seen = away_from_ones(frame, noisy(7, 1.0, seed))
        found = weighed_sums(
            seen, np.zeros((7, 7)), frame, frame, 1.0, largest=50.0, symmetric=symmetric
        )
        errors.append((found**2).sum() / (seen**2).sum())
    assert np.mean(errors) < 0.1


@pytest.mark.parametrize("symmetric", [True, False])
def test_what_noise_cannot_explain_is_taken_from_the_matrix(symmetric):
    frame = frame_of(200, 5)
    truth = away_from_ones(frame, noisy(5, 30.0, 1))
    seen = truth + away_from_ones(frame, noisy(5, 1.0, 2))
    found = weighed_sums(
        seen, np.zeros((5, 5)), frame, frame, 1.0, largest=100.0, symmetric=symmetric
    )
    assert found == pytest.approx(seen, abs=0.5)
    if symmetric:
        assert np.array_equal(found, found.T)


def test_noise_above_all_that_entries_can_be_counts_for_little():
    """Errors of a size that only the noise has: the matrix gets a weight of (5/1000)^2 at most."""
    frame = frame_of(200, 2)
    seen = away_from_ones(frame, noisy(2, 1000.0, 3))
    found = weighed_sums(seen, np.zeros((2, 2)), frame, frame, 1000.0, largest=5.0, symmetric=True)
    assert np.abs(found).max() <= 2.5e-5 * np.abs(seen).max()


def test_sums_that_the_vector_of_ones_tells_stay():
    frame = frame_of(50, 1)
    said = np.array([[7.0]])
    assert weighed_sums(said, said, frame, frame, 1.0, largest=9.0, symmetric=True) == said
