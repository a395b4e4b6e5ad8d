"""What the default release is for: right cuts between communities, and small worst cuts.

400 vertices in four blocks, densities 0.5 and 0.05, epsilon 1. The margins are wide: measured over
seeds, the default has 0.8 to 0.95 of the raw community error and a third of the raw worst cut.
"""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from noisy_cases import indicators, planted

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, Release, cut_norm, release_graph
from graphcuts_dp.estimate.noises import noise_distribution

SIZES = (100, 100, 100, 100)
GROUPS = indicators(SIZES)


def community_error(x, A):
    """Mean error of the six cuts between two communities."""
    between = GROUPS.T @ (x - A) @ GROUPS
    return np.abs(between[np.triu_indices(4, 1)]).mean()


def expected_raw_error():
    """A normal of 100 x 100 entries' deviation, in modulus, with all of epsilon for the entries."""
    distribution = noise_distribution("binary", epsilon=1.0, max_weight=1.0)
    return distribution.standard_deviation * 100 * math.sqrt(2 / math.pi)


@pytest.fixture(scope="module")
def made():
    found = []
    for seed in range(1):
        graph, _ = planted(SIZES, 0.5, 0.05, seed)
        found.append((graph.dense(), release_graph(graph, epsilon=1.0, seed=seed)))
    return found


@pytest.mark.thorough
def test_cuts_between_communities_are_right(made):
    errors = [community_error(release.graph.dense(), A) for A, release in made]
    assert np.mean(errors) < 2 * expected_raw_error()


@pytest.mark.thorough
def test_the_worst_cut_is_within_its_bound_and_far_below_that_of_the_noisy_matrix(made):
    """Proven on both sides: an upper bound here, a cut that is as bad there."""
    for seed, (A, release) in enumerate(made):
        graph, _ = planted(SIZES, 0.5, 0.05, seed)
        raw = release_graph(graph, epsilon=1.0, fit="none", seed=seed).noisy.estimate()
        worst = cut_norm(release.graph.dense() - A).upper
        assert worst < 0.6 * cut_norm(raw - A).lower
        assert worst < release.worst_cut_error_bound()
        assert (release.fit.method, release.fit.mixed) == ("maximum-entropy", 0)


def test_degrees_are_better_than_the_noisy_ones(made):
    for A, release in made:
        true = A.sum(axis=1)
        noisy = release.noisy.estimate().sum(axis=1)
        x = release.graph.dense().sum(axis=1)
        assert ((x - true) ** 2).mean() < 0.7 * ((noisy - true) ** 2).mean()


@pytest.mark.thorough
def test_communities_near_the_noise_are_announced(tmp_path):
    """Signal 1.2 times the least that can be seen, then 5 times and more."""

    def released(inside, outside, *, epsilon=1.0, mechanism="randomized-response", seed=1):
        graph, _ = planted((60, 60), inside, outside)
        return release_graph(graph, epsilon=epsilon, mechanism=mechanism, seed=seed)

    with pytest.warns(AccuracyWarning, match="communities may be merged") as caught:
        made = released(0.34, 0.1, seed=5)
    assert made.fit.near_noise == 1
    assert made.fit.warning == str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what was paid for is not lost
        assert released(0.34, 0.1, seed=5).fit == made.fit
    made.save(tmp_path / "g.csv")
    assert Release.load(tmp_path / "g.csv").fit == made.fit
    clean = released(0.99, 0.01)  # warnings are errors here
    assert (clean.fit.near_noise, clean.fit.warning) == (0, None)
    with pytest.warns(AccuracyWarning, match="none of its communities"):
        empty = released(0.1, 0.1, mechanism="degrees+randomized-response")
    assert (empty.fit.near_noise, empty.fit.directions) == (0, 0)
    assert empty.fit.shown_from > 1
    # Entries that tell edges keep what is hidden in their noise.
    fine = released(0.34, 0.1, epsilon=4.0)
    assert (fine.fit.near_noise, fine.fit.directions, fine.fit.warning) == (0, None, None)


def test_the_karate_club_loses_its_communities_at_epsilon_1_and_is_told_so(tmp_path):
    """A mean degree of 4.6 needs epsilon = 1.7; noisy ones err by .8, and say about 1.3 to 2.8."""
    club = gc.datasets.load("karate")
    graph = gc.Graph(club.rows, club.columns, vertices=club.n)
    for seed in range(3):
        with pytest.warns(AccuracyWarning, match=r"none of its communities.* epsilon >=") as caught:
            made = release_graph(graph, epsilon=1.0, seed=seed)
        assert 1.3 < made.fit.shown_from < 2.8
        assert made.facts()["communities"] == made.fit.warning == str(caught[0].message)
    made.save(tmp_path / "club.csv")
    assert Release.load(tmp_path / "club.csv").fit == made.fit
    # Where two edges share epsilon, twice as much is needed.
    with pytest.warns(AccuracyWarning):
        shared = release_graph(graph, epsilon=2.0, seed=0, privacy_unit=gc.PrivacyUnit.edge(2))
    assert shared.fit.shown_from > 3
    # Where no epsilon that may be asked for is enough, none is named.
    unknown = replace(made.fit, shown_from=51.0)
    assert "if it has any: public groups could show them" in unknown.warning
