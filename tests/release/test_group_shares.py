"""What is bought of public groups: shares, refined sums, and what groups may not change."""

from fractions import Fraction

import numpy as np
import pytest
from group_cases import cliques, drawn, two_sided
from release_cases import job_of, measured

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, GraphError, Groups, ParameterError
from graphcuts_dp.estimate.measurement import CellSums
from graphcuts_dp.measure.cells import refinable_groups, sides_of_groups
from graphcuts_dp.measure.statistics import Refinable
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.synth import budget_plans
from graphcuts_dp.synth.budget_plans import (
    MeasuredGroups,
    degree_share_beside_groups,
    group_share,
)
from graphcuts_dp.synth.decisions import informative_groups


def test_shares_follow_their_formulas():
    """Two sums of errors, each least where its derivative vanishes; found again by a grid."""
    parts = np.linspace(0.001, 0.999, 9981)
    for n in (100, 500, 10_000):
        least = parts[np.argmin(n / parts + n**1.5 / 50 / (1 - parts))]
        assert float(degree_share_beside_groups(n)) == pytest.approx(least, abs=0.01)
        for k in (4, 10, 16, 40):
            t = float(degree_share_beside_groups(n))
            rest = n / t + n**1.5 / 50 / (1 - t)
            least = parts[np.argmin(0.7 * k**1.5 / parts + rest / (1 - parts))]
            wanted = min(max(least, 6 * k / n, 0.05), 0.25)
            assert float(group_share(n, k)) == pytest.approx(wanted, abs=0.002)


@pytest.mark.parametrize("how", ["randomized-response", "degrees+randomized-response", "auto"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 30.0])
def test_all_parts_add_up_to_epsilon(how, epsilon):
    for graph, groups in (cliques((9, 9, 9)), two_sided()):
        made = drawn(graph, groups, how, epsilon=epsilon)
        spent = sum((each.epsilon for each in made.measurements.values), Fraction(0))
        assert spent == Fraction(epsilon)
        assert [name for name, _ in made.guarantee.spent] == [
            each.name for each in made.measurements.values
        ]
        assert sum(part for _, part in made.guarantee.spent) == pytest.approx(epsilon)
        plan = shares_of(graph, groups)
        assert [name for name, _ in made.guarantee.spent].count("groups") == 1
        assert made.measurements.find(CellSums).epsilon in {
            Fraction(epsilon) * share for share in (plan.first_look, plan.both_looks)
        }


def shares_of(graph, groups):
    return MeasuredGroups.of(sides_of_groups(graph, groups), graph.shape)


def looks_that_tell(graph, labels, epsilon, runs=40):
    plan = shares_of(graph, Groups(graph.vertices, {"g": np.asarray(labels).tolist()}))
    found = 0
    for seed in range(runs):
        measured = refinable_groups(
            graph,
            plan.sides,
            epsilon=Fraction(epsilon) * plan.first_look,
            whole=False,
            name="groups",
            source=SeededEntropy(seed),
        ).measurement
        found += informative_groups(measured, 1.0)
    return found / runs


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
def test_groups_made_by_chance_are_not_looked_at_again(epsilon):
    """Seeds are fixed: what passes here passes always."""
    graph, groups = cliques((30,) * 6)
    labels = groups.codes()
    chance = np.random.default_rng(3).permutation(labels)
    assert looks_that_tell(graph, chance, epsilon) == 0
    random = np.random.default_rng(4)
    rows, columns = np.nonzero(np.triu(random.random((180, 180)) < 0.1, 1))
    uniform = gc.Graph(rows, columns, vertices=180)
    assert looks_that_tell(uniform, labels, epsilon) == 0
    if epsilon >= 1:
        assert looks_that_tell(graph, labels, epsilon) == 1


@pytest.mark.thorough
def test_without_a_second_look_the_mechanism_is_that_of_no_groups():
    graph, groups = cliques((30,) * 6)
    chance = np.random.default_rng(3).permutation(groups.codes())
    made = drawn(graph, Groups(graph.vertices, {"g": chance.tolist()}), "auto", epsilon=1.0)
    kinds = [each.name for each in made.measurements.values]
    without = [each.name for each in measured(graph, "auto", epsilon=1.0).values]
    assert kinds[0] == "groups"
    assert made.measurements.values[0].epsilon == shares_of(graph, groups).first_look
    assert [name for name in kinds if name in ("degrees", "entries")] == [
        name for name in without if name in ("degrees", "entries")
    ]


def test_what_cannot_be_bought_is_refused_before_anything_is_drawn(monkeypatch):
    graph, groups = cliques()

    def never(*_, **__):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr("graphcuts_dp.release.measuring.refinable_groups", never)
    other = Groups(gc.VertexSet(3), {"a": [0, 1, 2]})
    for given, kind, told in (
        (other, GraphError, "other vertices"),
        ((groups, groups), GraphError, "a Groups"),
        ("staff.csv", GraphError, r"Groups\.read"),
    ):
        with pytest.raises(kind, match=told):
            gc.release_graph(graph, epsilon=1.0, groups=given)
    with pytest.raises(ParameterError, match="leave the groups out"):
        gc.release_graph(graph, epsilon=1e-6, groups=groups)
    monkeypatch.setattr(budget_plans, "MOST_GROUPS", 2)
    with pytest.raises(GraphError, match="at most 2 groups"):
        gc.release_graph(graph, epsilon=1.0, groups=groups)


def test_degrees_have_their_part_of_what_telling_groups_leave():
    """Two full halves of 200 vertices, far above the noise on the sums: any draw tells that."""
    graph, groups = cliques((100, 100))
    plan, data = shares_of(graph, groups), drawn(graph, groups, "auto", epsilon=1.0)
    parts = {value.name: value.epsilon for value in data.measurements.values}
    assert set(parts) == {"groups", "degrees", "entries"}
    assert parts["groups"] == plan.both_looks
    assert sum(parts.values()) == 1
    left = 1 - plan.both_looks
    assert parts["degrees"] == left * plan.degrees
    assert job_of(graph, groups=groups).least_distribution.epsilon <= parts["entries"]


def test_finer_sums_that_cost_more_than_their_part_are_refused(monkeypatch):
    graph, groups = cliques((100, 100))
    plain = Refinable.refined

    def dearer(self, epsilon, *arguments, **options):
        return plain(self, epsilon * Fraction(101, 100), *arguments, **options)

    monkeypatch.setattr(Refinable, "refined", dearer)
    with pytest.raises(BudgetError, match="would cost more than epsilon = "):
        drawn(graph, groups, "auto", epsilon=1.0)


@pytest.mark.thorough
@pytest.mark.parametrize(("density", "bought"), [(0.3, False), (0.16, True)])
def test_a_total_is_bought_beside_groups_only_where_it_could_change_the_choice(density, bought):
    """Sums between 12 groups made by chance know the mean degree up to 2: 120 is clear, 64 not.

    The threshold is 61: three deviations of noise move the first graph across no threshold, and the
    second one across this.
    """
    random = np.random.default_rng(1)
    ends = np.nonzero(np.triu(random.random((400, 400)) < density, 1))
    graph = gc.Graph(*ends, vertices=400)
    groups = gc.Groups(graph.vertices, {"g": random.integers(0, 12, 400).tolist()})
    values = drawn(graph, groups, "auto", epsilon=1.0).measurements.values
    names = [value.name for value in values]
    assert names[0] == "groups"
    assert values[0].epsilon == shares_of(graph, groups).first_look
    assert ("total" in names) is bought
    assert sum(value.epsilon for value in values) == 1
