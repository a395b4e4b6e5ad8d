"""Answers of releases with public groups: the best of all that was measured, proven intervals."""

import math

import numpy as np
import pytest
import scipy.stats
from group_cases import cliques, coefficients, directed, drawn, observations, two_sided

import graphcuts_dp as gc
from graphcuts_dp.estimate import least_squares
from graphcuts_dp.estimate.measurement import CellSums
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.privacy.noise import SeededEntropy

CASES = {
    "graph": (cliques, "binary"),
    "weights": (lambda: cliques(cap=3.0), "discrete-laplace"),
    "fine weights": (lambda: cliques(cap=0.3), "laplace"),
    "arcs": (directed, "binary"),
    "arcs with weights": (lambda: directed(cap=2.0), "laplace"),
    "two sides": (two_sided, "binary"),
    "two sides, weights": (lambda: two_sided(cap=2.0), "laplace"),
}
RUNS = 150
ALARM = 1e-6


def splitting_cuts(release, count):
    """Cuts in which every group is split, so that each stands for itself."""
    rng = np.random.default_rng(4)
    measured = release.measurements.find(CellSums).map
    while count:
        S, T = (rng.random(size) < 0.5 for size in release.noisy.shape)
        codes = (S + 2 * T, S + 2 * T) if measured.tree.symmetric else (S, T)
        sides = zip(measured.members, codes, strict=True)
        if all(len(set(code[own == g])) > 1 for own, code in sides for g in set(own)):
            count -= 1
            yield S, T


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("how", ["response", "degrees+response", "auto"])
@pytest.mark.parametrize("epsilon", [1.0, 30.0])
def test_the_value_is_the_best_of_all_unbiased_ones(case, how, epsilon):
    make, noise = CASES[case]
    release = drawn(*make(), how, noise=noise, epsilon=epsilon)
    pairs, patterns, values, variances = observations(release)
    inverse = np.linalg.inv(patterns.T @ (patterns / variances[:, None]))
    best = inverse @ (patterns.T @ (values / variances))
    for S, T in splitting_cuts(release, 8):
        wanted = coefficients(pairs, S, T, symmetric=release.noisy.symmetric)
        assert release.answer(S, T).value == pytest.approx(wanted @ best, rel=1e-6, abs=1e-5)
        variance = release.estimator.estimate(S, T).noise.variance
        assert variance == pytest.approx(wanted @ inverse @ wanted, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("most", [1, 2, 12])
def test_classes_that_are_put_together_lose_precision_and_nothing_else(most, monkeypatch):
    """The value stays a linear unbiased estimate: with noise taken away it is the truth."""
    graph, groups = cliques((3, 4, 2, 5))
    release = drawn(graph, groups, "degrees+response")
    pairs, patterns, _, variances = observations(release)
    inverse = np.linalg.inv(patterns.T @ (patterns / variances[:, None]))
    monkeypatch.setattr(least_squares, "_MOST_SPLIT", most)
    rng = np.random.default_rng(7)
    for _ in range(10):
        S, T = rng.random(graph.n) < 0.5, rng.random(graph.n) < 0.5
        wanted = coefficients(pairs, S, T, symmetric=True)
        best = wanted @ inverse @ wanted
        variance = release.estimator.estimate(S, T).noise.variance
        alone = wanted @ wanted * release.noisy.distribution.standard_deviation**2
        assert best * (1 - 1e-9) <= variance <= alone * (1 + 1e-9)


def test_unions_of_groups_are_answered_from_the_measured_sums():
    """Eight groups of forty: the noise of a sum is far below that of 1,600 entries."""
    graph, groups = cliques((40,) * 8)
    release = drawn(graph, groups, "auto", epsilon=1.0)
    looks = release.measurements.all_of(CellSums)
    assert len(looks) == 2
    variance = 1 / sum(1 / look.law.variance for look in looks)
    first, second = (groups.members(label) for label in ("c0", "c5"))
    one = release.estimator.estimate(first, second).noise.deviation
    raw = release.noisy.distribution.standard_deviation * 40
    assert one <= math.sqrt(variance) < 0.4 * raw
    union = first | groups.members("c1") | groups.members("c2")
    rest = release.estimator.estimate(union, ~union).noise.deviation
    assert rest <= math.sqrt(3 * 5 * variance)
    truth = CutQuery(union, ~union).value(graph)
    low, high = release.answer(union).interval
    assert low <= truth <= high
    assert high - low < 1.1 * 2 * 1.96 * math.sqrt(3 * 5 * variance)


@pytest.mark.parametrize("case", ["graph", "fine weights", "two sides"])
def test_intervals_hold_as_often_as_they_say(case):
    """Each misses at most with the chance that it states, but for a chance below 1e-6."""
    make, noise = CASES[case]
    graph, groups = make()
    source = SeededEntropy(21)
    halves = np.arange(graph.shape[0]) % 2 == 0, np.arange(graph.shape[1]) % 2 == 0
    queries = [CutQuery([0]), CutQuery(*halves), CutQuery([0, 1, 2, 3], [0, 4])]
    truth = [query.value(graph) for query in queries]
    misses, at_once, errors = np.zeros(len(queries)), 0, []
    for _ in range(RUNS):
        release = drawn(graph, groups, "auto", noise=noise, source=source)
        found = release.answer_all(queries, confidence=0.8)
        every = release.answer_all(queries, confidence=0.5, simultaneous=True)
        misses += [
            not a.interval[0] <= t <= a.interval[1] for a, t in zip(found, truth, strict=True)
        ]
        at_once += any(
            not a.interval[0] <= t <= a.interval[1] for a, t in zip(every, truth, strict=True)
        )
        errors.append([a.value - t for a, t in zip(found, truth, strict=True)])
    assert misses.max() <= scipy.stats.binom.isf(ALARM, RUNS, 0.2)
    assert at_once <= scipy.stats.binom.isf(ALARM, RUNS, 0.5)
    means, spreads = np.mean(errors, axis=0), np.std(errors, axis=0)
    assert (np.abs(means) <= 5.5 * spreads / math.sqrt(RUNS)).all()


def test_a_release_is_read_back_with_its_groups(tmp_path):
    for make in (cliques, two_sided):
        graph, groups = make()
        made = gc.release_graph(graph, epsilon=30.0, groups=groups, seed=1, fit="none")
        looks = ["groups", "groups again"] if make is cliques else ["groups"]
        names = [name for name, _ in made.guarantee.parts]
        assert [name for name in names if name.startswith("groups")] == looks
        assert "the groups" in made.guarantee.public
        path = tmp_path / f"{make.__name__}.graphml"
        made.save(path)
        again = gc.Release.load(path)
        cut = CutQuery([0, 1, 2])
        assert again.answer(cut) == made.answer(cut)
        for mine, theirs in zip(
            made.measurements.all_of(CellSums),
            again.measurements.all_of(CellSums),
            strict=True,
        ):
            (fields, arrays), (same, others) = mine.parts(), theirs.parts()
            assert fields == same
            assert arrays.keys() == others.keys()
            assert all(np.array_equal(each, others[name]) for name, each in arrays.items())


def test_of_nested_levels_the_finest_that_is_not_too_fine_is_measured(monkeypatch):
    graph, groups = cliques((4, 3, 5))
    codes = groups.codes().tolist()
    nested = Groups(graph.vertices, {"half": [code // 2 for code in codes], "club": codes})
    found = gc.release_graph(graph, epsilon=1.0, groups=nested, seed=1, fit="none")
    assert found.measurements.find(CellSums).map.shape == (3, 3)
    monkeypatch.setattr("graphcuts_dp.release.shares.MOST_GROUPS", 2)
    found = gc.release_graph(graph, epsilon=1.0, groups=nested, seed=1, fit="none")
    assert found.measurements.find(CellSums).map.shape == (2, 2)
