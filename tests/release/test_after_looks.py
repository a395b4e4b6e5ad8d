"""Answers hold in each branch that a release takes: no interval uses noise that a decision saw."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from group_cases import cliques, drawn
from release_cases import job_of

import graphcuts_dp as gc
from graphcuts_dp import Release
from graphcuts_dp.estimate.estimator import AnswerOptions
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement, Degrees, Total
from graphcuts_dp.estimate.usable_sums import UsableMeasurements
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.synth.budget_plans import (
    EARLY_SHARE,
    SECOND_GROUPS,
    TOTAL_SHARE,
    UNCERTAIN_SHARE,
    UNDETECTABLE_SHARE,
    MatrixShares,
    MeasuredGroups,
)
from graphcuts_dp.synth.decisions import MatrixDecisions

NEAR = 0.9  # strength of two groups of 40 vertices that half of the looks find informative
CONFIDENCE = AnswerOptions()


def two_groups(n=40, strength=NEAR, density=0.3):
    """A graph whose two groups differ by so much, and the groups."""
    codes = np.arange(n) * 2 // n
    inside = codes[:, None] == codes
    chances = np.clip(density * np.where(inside, 1 + strength, 1 - strength), 0, 1)
    ends = np.nonzero(np.triu(np.random.default_rng(5).random((n, n)) < chances, 1))
    graph = gc.Graph(*ends, vertices=n)
    return graph, gc.Groups(graph.vertices, {"g": [f"g{code}" for code in codes]})


def uneven(n, spread, mean):
    """A graph without structure but uneven degrees."""
    random = np.random.default_rng(6)
    sizes = np.exp(random.normal(0, spread, n))
    chances = np.minimum(np.outer(sizes, sizes) * mean / sizes.sum() / sizes.mean(), 1)
    return gc.Graph(*np.nonzero(np.triu(random.random((n, n)) < chances, 1)), vertices=n)


def cuts_of(graph, groups=None):
    """Cuts by name: all, a vertex of largest degree, halves, ten vertices, and groups."""
    (n, _), dense = graph.shape, graph.dense()
    vertex = np.arange(n) == dense.sum(axis=1).argmax()
    even, everything = np.arange(n) % 2 == 0, np.ones(n, dtype=bool)
    masks = [(everything, everything), (vertex, ~vertex), (even, ~even)]
    if groups is not None:
        first = groups.codes() == 0
        masks += [(first, first), (first, ~first), (~first, ~first)]
    return [gc.CutQuery(*pair) for pair in masks]


def misses_by_branch(graph, groups, runs, branch_of, epsilon=1.0):
    """How often each cut was missed in each branch: {branch: array of shape (runs, cuts)}."""
    job, cuts = job_of(graph, epsilon=epsilon, groups=groups), cuts_of(graph, groups)
    truths = np.array([cut.value(graph) for cut in cuts])
    misses = {}
    for seed in range(runs):
        measured = job.measure(graph, SeededEntropy(seed))
        estimates = Release(measurements=measured).estimator.estimate(cuts, CONFIDENCE).queries
        low, high = np.array([estimate.interval for estimate in estimates]).T
        misses.setdefault(branch_of(measured), []).append((low > truths) | (truths > high))
    return {branch: np.array(missed) for branch, missed in misses.items()}


def limit(runs):
    return 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def is_refined(measured):
    sums = measured.named("groups")
    return sums.look is not None


@pytest.mark.thorough
@pytest.mark.parametrize("runs", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_intervals_hold_whether_groups_were_refined_or_not(runs):
    graph, groups = two_groups()
    misses = misses_by_branch(graph, groups, runs, is_refined, epsilon=2.0)
    assert set(misses) == {False, True}
    for missed in misses.values():
        assert len(missed) > runs / 6
        assert (missed.mean(axis=0) <= limit(len(missed))).all()


@pytest.mark.thorough
@pytest.mark.parametrize("runs", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_intervals_hold_whether_degrees_were_refined_or_not(runs):
    """Degrees that differ by about as much as decides on their share, beside a total."""
    graph = uneven(64, 0.5, 20.0)
    misses = misses_by_branch(graph, None, runs, lambda measured: tuple(names(measured)))
    assert sum(map(len, misses.values())) == runs
    for missed in misses.values():
        assert (missed.mean(axis=0) <= limit(len(missed))).all()


def names(measured):
    return [measurement.name for measurement in measured.values]


def test_answers_do_not_use_numbers_that_a_decision_has_seen():
    """Of groups that are not informative only the second sums are used; of the total nothing."""
    graph, groups = cliques((30,) * 6)
    chance = np.random.default_rng(3).permutation(groups.codes())
    release = drawn(graph, gc.Groups(graph.vertices, {"g": chance.tolist()}), "auto", epsilon=1.0)
    first, second = release.measurements.values[:2]
    assert (first.name, second.name) == ("groups", SECOND_GROUPS)
    assert first.used_in_decision
    assert not second.used_in_decision
    assert first.epsilon == second.epsilon
    assert not np.array_equal(first.steps[0], second.steps[0])
    counts = [each for each in release.measurements.values if isinstance(each, CountMeasurement)]
    cuts = cuts_of(graph, groups)
    before = release.estimator.estimate(cuts, CONFIDENCE).queries
    moved = tuple(
        replace(each, steps=tuple(part + 1000 for part in each.steps))
        if each in counts and each.used_in_decision
        else each
        for each in release.measurements.values
    )
    changed = Release(measurements=replace(release.measurements, values=moved))
    assert changed.estimator.estimate(cuts, CONFIDENCE).queries == before
    assert changed.measurements.named("groups").values[0] is not first.values[0]


def test_refined_sums_give_shorter_intervals_than_fresh_ones_and_files_keep_both(tmp_path):
    graph, groups = cliques((50, 50))
    release = gc.release_graph(graph, epsilon=1.0, groups=groups, seed=1, fit="none")
    sums = release.measurements.find(CellSums)
    assert sums.look is not None
    usable = UsableMeasurements.of(release.measurements)
    assert usable.refined
    fresh, values = usable.for_intervals.groups.law, usable.for_values.groups.law
    rate = float(sums.rate)
    assert fresh.rate == pytest.approx(rate * 5 / 6)
    assert sums.law.variance < values.variance < 1.1 * sums.law.variance
    release.save(tmp_path / "release.graphml")
    again = gc.load(tmp_path / "release.graphml")
    cuts = cuts_of(graph, groups)
    options = AnswerOptions(joint=True)
    for asked in (CONFIDENCE, options):
        assert again.estimator.estimate(cuts, asked) == release.estimator.estimate(cuts, asked)
    # A cell by its conditional law; a sum of all three cells by fresh noise.
    plain = Release(
        measurements=replace(
            release.measurements,
            values=tuple(
                replace(each, look=None) if isinstance(each, CountMeasurement) else each
                for each in release.measurements.values
            ),
        )
    )
    halves = [
        [
            (high - low) / 2
            for _, (low, high), *_ in made.estimator.estimate(cuts, CONFIDENCE).queries
        ]
        for made in (release, plain)
    ]
    ratios = np.divide(*halves)
    assert (ratios[3:] < 1.1).all()
    assert ratios[0] < 1.25
    receipt = json.dumps(sums.parts()[0])
    assert "does not depend on it" in receipt


def test_plans_spend_epsilon_in_every_branch_and_look_early():
    graph, groups = two_groups(200)
    job = job_of(graph, groups=groups)
    runs = job.budget_plan.possible_runs
    assert {run.spent for run in runs} == {Fraction(1)}
    plan = MeasuredGroups.of((groups, groups), graph.shape)
    assert plan.second == plan.first_look
    for run in runs:
        refined = run.amounts["groups"] > plan.first_look
        assert (SECOND_GROUPS in run.amounts) is not refined
        if not refined:
            assert run.amounts[SECOND_GROUPS] == plan.first_look
    alone = job_of(graph, tested=False).budget_plan
    assert {run.spent for run in alone.possible_runs} == {Fraction(1)}
    steps = [(step.statistic, step.shares[0]) for step in alone.steps]
    assert steps[:2] == [("total", TOTAL_SHARE / 4), ("total", TOTAL_SHARE)]
    shares = [share for statistic, share in steps if statistic == "degrees"]
    assert shares[-3:] == [EARLY_SHARE, UNDETECTABLE_SHARE, UNCERTAIN_SHARE]
    small = [step.statistic for step in job_of(two_groups(40)[0]).budget_plan.steps]
    assert small.count("total") == 1


def test_a_total_of_many_vertices_is_refined_and_decisions_read_its_first_look():
    graph = uneven(210, 0.3, 12.0)
    measured = job_of(graph, tested=False).measure(graph, SeededEntropy(3))
    total = measured.find(Total)
    assert total.look is not None
    assert total.epsilon == TOTAL_SHARE
    assert not total.used_in_decision
    degrees = measured.find(Degrees)
    assert degrees.look is not None
    assert not degrees.used_in_decision
    decisions = MatrixDecisions(MatrixShares(graph.shape, 1.0, "binary"), Fraction(1))
    first = replace(total, steps=total.look.steps, noise=total.look.noise, look=None)
    decisions.record("total", first)
    decisions.record("total", total)
    assert decisions._total == first.total
    assert not decisions.has_seen("total")


def test_small_graphs_leave_the_total_out_of_answers():
    graph = uneven(40, 0.3, 8.0)
    measured = job_of(graph).measure(graph, SeededEntropy(3))
    assert measured.find(Total).used_in_decision
    usable = UsableMeasurements.of(measured)
    assert usable.for_values.total is None
    assert usable.for_intervals.total is None


@pytest.mark.parametrize("spread", [0.1, 1.2])
def test_the_choice_of_a_larger_share_reads_an_early_look_alone(spread):
    """Where entries can show nothing, degrees get .6 or .75, and only the early look is seen."""
    graph = uneven(300, spread, 20.0)
    measured = job_of(graph, tested=False).measure(graph, SeededEntropy(1))
    degrees = measured.find(Degrees)
    left = 1 - TOTAL_SHARE
    assert degrees.epsilon in {UNDETECTABLE_SHARE * left, UNCERTAIN_SHARE * left}
    assert degrees.look.noise.parameters[0] * 2 == EARLY_SHARE * left
    assert not degrees.used_in_decision
