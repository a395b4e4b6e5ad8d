"""What a release measures about public groups: shares of epsilon, refined sums, and refusals.

A release with groups first measures the sums between groups (the *first look*). If these are
informative it refines them (the *second look*), then measures degrees and entries.
"""

from fractions import Fraction

import numpy as np
import pytest
from group_cases import cliques, drawn, two_sided
from release_cases import job_of, measured

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import CellSums
from graphcuts_dp.measure.cells import measure_refinable_groups, sides_of_groups
from graphcuts_dp.measure.statistics import Refinable
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.synth import budget_plans
from graphcuts_dp.synth.budget_plans import (
    MeasuredGroups,
    degree_share_beside_groups,
    group_share,
)
from graphcuts_dp.synth.decisions import informative_groups


@pytest.mark.parametrize("n", [100, 500, 10_000])
def test_shares_minimise_the_sum_of_errors_of_their_formulas(n):
    """Against the least values on a grid; the formulas are in `synth.budget_plans`."""
    shares = np.linspace(0.001, 0.999, 9981)
    errors = n / shares + n**1.5 / 50 / (1 - shares)
    degree_share = float(degree_share_beside_groups(n))
    assert degree_share == pytest.approx(shares[np.argmin(errors)], abs=0.01)
    error_of_the_others = n / degree_share + n**1.5 / 50 / (1 - degree_share)
    for groups in (4, 10, 16, 40):
        errors = 0.7 * groups**1.5 / shares + error_of_the_others / (1 - shares)
        best_share = shares[np.argmin(errors)]
        expected = min(max(best_share, 6 * groups / n, 0.05), 0.25)
        assert float(group_share(n, groups)) == pytest.approx(expected, abs=0.002)


def shares_of(graph, groups):
    return MeasuredGroups.of(sides_of_groups(graph, groups), graph.shape)


@pytest.mark.parametrize(
    ("graph", "groups"),
    [pytest.param(*cliques((9, 9, 9)), id="cliques"), pytest.param(*two_sided(), id="two sides")],
)
@pytest.mark.parametrize(
    "mechanism", ["randomized-response", "degrees+randomized-response", "auto"]
)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
def test_all_measurements_add_up_to_epsilon(graph, groups, mechanism, epsilon):
    release = drawn(graph, groups, mechanism, epsilon=epsilon)
    measurements = release.measurements
    assert sum((value.epsilon for value in measurements.values), Fraction(0)) == Fraction(epsilon)
    spent_names = [name for name, _ in release.guarantee.spent]
    assert spent_names == [value.name for value in measurements.values]
    assert sum(amount for _, amount in release.guarantee.spent) == pytest.approx(epsilon)
    assert spent_names.count("groups") == 1
    shares = shares_of(graph, groups)
    assert measurements.find(CellSums).epsilon in {
        Fraction(epsilon) * share for share in (shares.first_look, shares.both_looks)
    }


def informative_share(graph, labels, epsilon):
    """Return the share of 40 first looks that find groups of these labels informative."""
    shares = shares_of(graph, gc.Groups(graph.vertices, {"g": np.asarray(labels).tolist()}))
    first_looks = [
        measure_refinable_groups(
            graph,
            shares.sides,
            epsilon=Fraction(epsilon) * shares.first_look,
            whole=False,
            name="groups",
            source=SeededEntropy(seed),
        ).measurement
        for seed in range(40)
    ]
    return np.mean([informative_groups(sums, 1.0) for sums in first_looks])


SIX_CLIQUES, SIX_GROUPS = cliques((30,) * 6)
# Groups of the sizes of the cliques, which have nothing to do with the edges.
RANDOM_LABELS = np.random.default_rng(3).permutation(SIX_GROUPS.codes())


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
def test_random_groups_are_not_informative(epsilon):
    assert informative_share(SIX_CLIQUES, RANDOM_LABELS, epsilon) == 0


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
def test_groups_of_a_random_graph_are_not_informative(epsilon):
    is_edge = np.random.default_rng(4).random((180, 180)) < 0.1
    graph = gc.Graph(*np.nonzero(np.triu(is_edge, 1)), vertices=180)
    assert informative_share(graph, SIX_GROUPS.codes(), epsilon) == 0


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("epsilon", [1, 10])
def test_groups_that_are_cliques_are_informative(epsilon):
    assert informative_share(SIX_CLIQUES, SIX_GROUPS.codes(), epsilon) == 1


@pytest.mark.thorough
def test_without_a_second_look_the_other_measurements_are_those_without_groups():
    random_groups = gc.Groups(SIX_CLIQUES.vertices, {"g": RANDOM_LABELS.tolist()})
    with_groups = drawn(SIX_CLIQUES, random_groups, "auto", epsilon=1.0).measurements.values
    without_groups = measured(SIX_CLIQUES, "auto", epsilon=1.0).values
    assert with_groups[0].name == "groups"
    assert with_groups[0].epsilon == shares_of(SIX_CLIQUES, SIX_GROUPS).first_look
    names, names_without_groups = (
        [value.name for value in values if value.name in ("degrees", "entries")]
        for values in (with_groups, without_groups)
    )
    assert names == names_without_groups


@pytest.fixture
def no_noise_may_be_drawn(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr("graphcuts_dp.release.measuring.measure_refinable_groups", fail)


GRAPH, GROUPS = cliques()


@pytest.mark.usefixtures("no_noise_may_be_drawn")
@pytest.mark.parametrize(
    ("groups", "message"),
    [
        pytest.param(
            gc.Groups(gc.VertexSet(3), {"a": [0, 1, 2]}), "other vertices", id="other vertices"
        ),
        pytest.param((GROUPS, GROUPS), "a Groups", id="two groups for one side"),
        pytest.param("staff.csv", r"Groups\.read", id="path of a file"),
    ],
)
def test_unsuitable_groups_are_refused_before_noise_is_drawn(groups, message):
    with pytest.raises(gc.GraphError, match=message):
        gc.release_graph(GRAPH, epsilon=1.0, groups=groups)


@pytest.mark.usefixtures("no_noise_may_be_drawn")
def test_an_epsilon_too_small_for_groups_is_refused_before_noise_is_drawn():
    with pytest.raises(gc.ParameterError, match="leave the groups out"):
        gc.release_graph(GRAPH, epsilon=1e-6, groups=GROUPS)


@pytest.mark.usefixtures("no_noise_may_be_drawn")
def test_too_many_groups_are_refused_before_noise_is_drawn(monkeypatch):
    monkeypatch.setattr(budget_plans, "MOST_GROUPS", 2)
    with pytest.raises(gc.GraphError, match="at most 2 groups"):
        gc.release_graph(GRAPH, epsilon=1.0, groups=GROUPS)


def test_degrees_have_their_share_of_what_informative_groups_leave():
    """Two cliques of 100 vertices, far above the noise of the sums: any draw is informative."""
    graph, groups = cliques((100, 100))
    measurements = drawn(graph, groups, "auto", epsilon=1.0).measurements
    epsilons = {value.name: value.epsilon for value in measurements.values}
    shares = shares_of(graph, groups)
    assert set(epsilons) == {"groups", "degrees", "entries"}
    assert sum(epsilons.values()) == 1
    assert epsilons["groups"] == shares.both_looks
    assert epsilons["degrees"] == (1 - shares.both_looks) * shares.degrees
    assert job_of(graph, groups=groups).least_distribution.epsilon <= epsilons["entries"]


def test_refined_sums_that_cost_more_than_their_share_are_refused(monkeypatch):
    """The incorrect variant: the second look spends 1 % more than it is given."""
    graph, groups = cliques((100, 100))
    refined = Refinable.refined

    def refined_for_more(self, epsilon, *arguments, **options):
        return refined(self, epsilon * Fraction(101, 100), *arguments, **options)

    monkeypatch.setattr(Refinable, "refined", refined_for_more)
    with pytest.raises(gc.BudgetError, match="would cost more than epsilon = "):
        drawn(graph, groups, "auto", epsilon=1.0)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("density", "measures_total"),
    [
        pytest.param(0.3, False, id="mean degree 120"),
        pytest.param(0.16, True, id="mean degree 64"),
    ],
)
def test_a_total_is_measured_besides_groups_only_if_it_can_change_the_mechanism(
    density, measures_total
):
    """The mechanism depends on whether the mean degree is above 61.

    Sums between 12 random groups tell the mean degree up to 2: three deviations of their noise
    cannot take 120 below the threshold, but 64.
    """
    rng = np.random.default_rng(1)
    graph = gc.Graph(*np.nonzero(np.triu(rng.random((400, 400)) < density, 1)), vertices=400)
    groups = gc.Groups(graph.vertices, {"g": rng.integers(0, 12, 400).tolist()})
    values = drawn(graph, groups, "auto", epsilon=1.0).measurements.values
    assert values[0].name == "groups"
    assert values[0].epsilon == shares_of(graph, groups).first_look
    assert ("total" in [value.name for value in values]) is measures_total
    assert sum(value.epsilon for value in values) == 1
