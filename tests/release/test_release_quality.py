"""What the default release is for: right cuts between communities, and small worst cuts.

400 vertices in four blocks, densities 0.5 and 0.05, epsilon 1. The limits are wide: over many seeds
the community error of the default release is 0.8 to 0.95 of that of the noisy matrix, and its worst
cut a third.
"""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from noisy_cases import indicators, planted

import graphcuts_dp as gc
from graphcuts_dp.estimate.noises import noise_distribution

BLOCK_SIZES = (100, 100, 100, 100)


def planted_graph():
    graph, _ = planted(BLOCK_SIZES, 0.5, 0.05, seed=0)
    return graph


@pytest.fixture(scope="module")
def weights():
    return planted_graph().dense()


@pytest.fixture(scope="module")
def release():
    return gc.release_graph(planted_graph(), epsilon=1.0, seed=0)


@pytest.mark.thorough
def test_cuts_between_communities_are_nearly_as_good_as_those_of_the_noisy_matrix(weights, release):
    """The mean absolute error of the six cuts between two blocks, each of 100 x 100 pairs."""
    membership = indicators(BLOCK_SIZES)
    errors = membership.T @ (release.graph.dense() - weights) @ membership
    mean_error = np.abs(errors[np.triu_indices(4, 1)]).mean()
    # If all of epsilon is for entries, an error is about normal; E|Z| = (2/pi)^(1/2) deviations.
    entries = noise_distribution("binary", epsilon=1.0, max_weight=1.0)
    error_of_noisy_matrix = entries.standard_deviation * 100 * math.sqrt(2 / math.pi)
    assert mean_error < 2 * error_of_noisy_matrix


@pytest.mark.thorough
def test_the_worst_cut_is_within_its_bound_and_far_below_that_of_the_noisy_matrix(weights, release):
    """Proven on both sides: an upper bound of the release, a cut of the noisy matrix."""
    raw_release = gc.release_graph(planted_graph(), epsilon=1.0, fit="none", seed=0)
    worst_of_noisy_matrix = gc.cut_norm(raw_release.noisy.estimate() - weights).lower
    worst = gc.cut_norm(release.graph.dense() - weights).upper
    assert worst < 0.6 * worst_of_noisy_matrix
    assert worst < release.worst_cut_error_bound()
    assert (release.fit.method, release.fit.mixed) == ("maximum-entropy", 0)


def test_degrees_are_better_than_those_of_the_noisy_matrix(weights, release):
    true, noisy, synthetic = (
        matrix.sum(axis=1) for matrix in (weights, release.noisy.estimate(), release.graph.dense())
    )
    assert ((synthetic - true) ** 2).mean() < 0.7 * ((noisy - true) ** 2).mean()


def release_of_two_blocks(inside, between, *, epsilon=1.0, seed=1, **options):
    graph, _ = planted((60, 60), inside, between)
    options = {"mechanism": "randomized-response"} | options
    return gc.release_graph(graph, epsilon=epsilon, seed=seed, **options)


@pytest.mark.thorough
def test_communities_near_the_noise_are_announced(tmp_path):
    """Their signal is 1.2 times the least that can be detected."""
    with pytest.warns(gc.AccuracyWarning, match="communities may be merged") as messages:
        release = release_of_two_blocks(0.34, 0.1, seed=5)
    assert release.fit.near_noise == 1
    assert release.fit.warning == str(messages[0].message)
    release.save(tmp_path / "g.csv")
    assert gc.Release.load(tmp_path / "g.csv").fit == release.fit


@pytest.mark.thorough
def test_an_announcement_does_not_stop_a_release_although_warnings_are_errors():
    """Its budget is spent already."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = release_of_two_blocks(0.34, 0.1, seed=5)
    assert "communities may be merged" in release.fit.warning


@pytest.mark.thorough
def test_communities_far_above_the_noise_are_not_announced():
    """Warnings are errors in tests."""
    clear = release_of_two_blocks(0.99, 0.01)
    assert (clear.fit.near_noise, clear.fit.warning) == (0, None)
    # Entries of much epsilon keep what their noise hides from the spectrum.
    fine = release_of_two_blocks(0.34, 0.1, epsilon=4.0)
    assert (fine.fit.near_noise, fine.fit.directions, fine.fit.warning) == (0, None, None)


@pytest.mark.thorough
def test_a_release_that_shows_no_communities_says_so():
    with pytest.warns(gc.AccuracyWarning, match="none of its communities"):
        release = release_of_two_blocks(0.1, 0.1, mechanism="degrees+randomized-response")
    assert (release.fit.near_noise, release.fit.directions) == (0, 0)
    assert release.fit.shown_from > 1


@pytest.fixture(scope="module")
def karate_club():
    club = gc.datasets.load("karate")
    return gc.Graph(club.rows, club.columns, vertices=club.n)


@pytest.mark.parametrize("seed", range(3))
def test_the_karate_club_at_epsilon_1_names_the_epsilon_that_would_show_communities(
    karate_club, seed, tmp_path
):
    """A mean degree of 4.6 needs epsilon = 1.7; noisy degrees err by .8, and say 1.3 to 2.8."""
    with pytest.warns(
        gc.AccuracyWarning, match=r"none of its communities.* epsilon >="
    ) as messages:
        release = gc.release_graph(karate_club, epsilon=1.0, seed=seed)
    assert 1.3 < release.fit.shown_from < 2.8
    assert release.facts()["communities"] == release.fit.warning == str(messages[0].message)
    release.save(tmp_path / "club.csv")
    assert gc.Release.load(tmp_path / "club.csv").fit == release.fit


def test_two_edges_as_privacy_unit_need_twice_the_epsilon_to_show_communities(karate_club):
    two_edges = gc.PrivacyUnit.edge(2)
    with pytest.warns(gc.AccuracyWarning):
        release = gc.release_graph(karate_club, epsilon=2.0, seed=0, privacy_unit=two_edges)
    assert release.fit.shown_from > 3


def test_no_epsilon_is_named_if_none_that_is_allowed_is_enough(karate_club):
    with pytest.warns(gc.AccuracyWarning):
        release = gc.release_graph(karate_club, epsilon=1.0, seed=0)
    too_large = replace(release.fit, shown_from=51.0)
    assert "if it has any: public groups could show them" in too_large.warning
