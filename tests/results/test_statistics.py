"""Statistics of flows: their definitions beside networkx, and that intervals hold as guaranteed."""

import dataclasses
import functools

import networkx as nx
import numpy as np
import pytest
import scipy
from helpers import LARGE_DELTA, random_graph
from statistic_cases import exact_flows, many_flows, planted

from graphcuts_dp import Graph, Groups, QueryError, VertexSet, release_flows
from graphcuts_dp.schema.cells import CellTree

RELEASES, FEW = 2000, 300


def most_failures(releases):
    """A count of failures, of 5 % each, that is passed with a chance of less than 1e-7."""
    return int(scipy.stats.binom.isf(1e-7, releases, 0.05))


MOST_FAILURES = most_failures(RELEASES)


@functools.cache
def case(parts=3, seed=0):
    return planted(parts=parts, seed=seed)


@functools.cache
def noisy():
    graph, _, groups, _ = case()
    return release_flows(graph, groups, epsilon=1.0, seed=0)


@functools.cache
def two_sided():
    sides = random_graph((12, 9), 3)
    left = Groups(sides.left, {"region": np.arange(12) % 3})
    right = Groups(sides.right, {"genre": ["a", "b", "b"] * 3})
    return release_flows(sides, (left, right), epsilon=9.0, seed=1)


def parts_of(codes):
    return [set(np.flatnonzero(codes == code).tolist()) for code in np.unique(codes)]


@pytest.mark.parametrize(("parts", "seed"), [(2, 0), (3, 1), (5, 2)])
def test_definitions_are_those_of_networkx(parts, seed):
    graph, same, groups, codes = case(parts, seed)
    flows, sets = exact_flows(graph, groups), parts_of(codes)
    coverage, _ = nx.community.partition_quality(same, sets)
    inside = sum(codes[a] == codes[b] for a, b in same.edges)
    outside = same.number_of_edges() - inside
    for statistic, wanted in {
        flows.modularity: nx.community.modularity(same, sets),
        flows.assortativity: nx.attribute_assortativity_coefficient(same, "part"),
        flows.share_inside: coverage,
        flows.share_outside: 1 - coverage,
        flows.ei_index: (outside - inside) / (outside + inside),
    }.items():
        assert statistic("part").value == pytest.approx(wanted)
    found = flows.conductance("part")
    for label, value in zip(*found.labels, found.values, strict=True):
        assert value == pytest.approx(nx.conductance(same, set(np.flatnonzero(codes == label))))


def test_directions_do_not_change_the_formulas():
    """A table of one set in which (a, b) and (b, a) are two cells, beside sums over its entries."""
    table = np.random.default_rng(3).integers(0, 50, size=(4, 4))
    e = table / table.sum()
    chance = (e.sum(1) * e.sum(0)).sum()
    expected = np.trace(e) - chance
    graph = Graph([], [], vertices=80)
    groups = Groups(graph.vertices, {"part": np.repeat(np.arange(4), 20)})
    model = release_flows(graph, groups, epsilon=20.0, seed=0)
    cells = CellTree(groups.tree, directed=True)
    values = {0: np.array([table.sum()]), 1: table[cells.cells(1)]}
    measured = dataclasses.replace(
        model.noisy,
        map=dataclasses.replace(model.noisy.map, tree=cells),
        steps=tuple(values[place] for place in model.noisy.map.measured_levels),
    )
    flows = dataclasses.replace(model, noisy=measured)
    assert flows.modularity().value == pytest.approx(expected)
    assert flows.assortativity().value == pytest.approx(expected / (1 - chance))
    low, high = flows.modularity().interval
    assert low <= expected <= high
    with pytest.raises(QueryError, match="direction"):
        flows.conductance()


def test_tables_per_head_are_cells_over_sizes():
    graph, same, groups, codes = case()
    flows, sizes = exact_flows(graph, groups), np.bincount(codes)
    adjacency = nx.to_numpy_array(same, nodelist=range(graph.n), weight=None)
    member = np.eye(len(sizes))[codes]
    ends = member.T @ adjacency @ member  # an edge inside from both of its ends
    found = flows.contacts("part")
    assert found.values == pytest.approx(ends / sizes[:, None])
    assert (found.low <= found.values).all()
    assert (found.values <= found.high).all()
    cells = ends - np.diag(ends.diagonal()) / 2
    index = cells / np.outer(sizes, sizes)
    found = flows.social_connectedness("part")
    assert found.values == pytest.approx(index * 1e6 / index.max())
    assert flows.social_connectedness("part", largest=1e9).values.max() == pytest.approx(1e9)


def test_the_table_of_a_statistic_names_the_groups_of_each_value():
    """Groups that are numbers are numbers in it."""
    found = two_sided().contacts()
    table = found.to_frame("pandas")
    assert list(table.columns) == ["from", "to", "value", "low", "high"]
    assert table["from"].dtype == np.int64
    for name, matrix in (("value", found.values), ("low", found.low), ("high", found.high)):
        told = table.pivot_table(name, "from", "to")
        assert told.to_numpy() == pytest.approx(matrix)
        assert (list(told.index), list(told.columns)) == ([0, 1, 2], ["a", "b"])
    found = noisy().conductance("part")
    table = found.to_frame("pandas")
    assert list(table.columns) == ["group", "value", "low", "high"]
    assert table["group"].dtype == np.int64
    assert table["group"].tolist() == list(found.labels[0])
    assert table["value"].to_numpy() == pytest.approx(found.values)


STATISTICS = ("share_inside", "ei_index", "modularity", "assortativity")
LAWS = {
    "one level": {"epsilon": 1.0},
    "little noise": {"epsilon": 4.0},
    "Gaussian": {"epsilon": 0.5, "delta": 0.1},
}


def failures(names, count, **law):
    """How often the intervals of each statistic miss the truth, in so many releases."""
    graph, _, groups, _ = case()
    exact = exact_flows(graph, groups)
    truths = {name: getattr(exact, name)("part").value for name in names}
    found = dict.fromkeys(names, 0)
    for flows in many_flows(graph, groups, count=count, **law):
        for name, truth in truths.items():
            low, high = getattr(flows, name)("part").interval
            found[name] += not low <= truth <= high
    return found


@pytest.mark.thorough
def test_intervals_of_a_ratio_hold_as_often_as_guaranteed_and_fail_for_more_noise():
    """The twin: noise with four times the deviation that is stated."""
    one = ("share_inside",)
    assert failures(one, FEW, epsilon=1.0)["share_inside"] <= most_failures(FEW)
    assert failures(one, FEW, epsilon=1.0, told=4)["share_inside"] > most_failures(FEW)


@LARGE_DELTA
@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_all_intervals_of_ratios_hold_with_every_noise(law):
    found = failures(STATISTICS, RELEASES, **LAWS[law])
    assert max(found.values()) <= MOST_FAILURES, found


@pytest.mark.parametrize("statistic", ["contacts", "social_connectedness"])
def test_numbers_per_head_have_intervals_from_0_on(statistic):
    """Rounding downward once turned 0 into -5e-324."""
    graph = random_graph(34, 2)
    groups = Groups(VertexSet(34), {"part": np.arange(34) % 8})
    low = getattr(release_flows(graph, groups, epsilon=1.5, seed=3), statistic)().low
    assert (low >= 0).all()
    assert (low == 0).any()


@pytest.mark.parametrize("simultaneous", [True, False])
def test_conductances_of_no_groups_are_an_empty_table(simultaneous):
    conductances = noisy().conductance("part", groups=[], simultaneous=simultaneous)
    assert conductances.values.shape == conductances.low.shape == conductances.high.shape == (0,)


@pytest.mark.slow
def test_conductances_hold_one_by_one_and_all_at_once():
    graph, _, groups, _ = case()
    truth = exact_flows(graph, groups).conductance("part").values
    alone, together = np.zeros(len(truth), dtype=int), 0
    for flows in many_flows(graph, groups, epsilon=1.0, count=RELEASES):
        found = flows.conductance("part")
        alone += (truth < found.low) | (truth > found.high)
        found = flows.conductance("part", simultaneous=True)
        together += bool(((truth < found.low) | (truth > found.high)).any())
    assert alone.max() <= MOST_FAILURES
    assert together <= MOST_FAILURES


@pytest.mark.slow
def test_ranks_and_chances_hold():
    graph, _, groups, _ = case(parts=4)
    exact = exact_flows(graph, groups)
    values = exact.estimates[-1]
    assert len(set(values)) > 3
    best = sorted(values, reverse=True)[:3]
    wrong_ranks = wrong_orders = wrong_sets = claimed = 0
    for flows in many_flows(graph, groups, epsilon=2.0, count=RELEASES, seed=1):
        top = flows.top_flows(3)
        claimed += top.set_chance > 0.5
        cells = [exact.between(each.source, each.target).estimate for each in top.flows]
        wrong_orders += top.order_chance >= 0.95 and cells != best
        wrong_sets += top.set_chance >= 0.95 and sorted(cells, reverse=True) != best
        wrong_ranks += not all(
            each.ranks[0] <= (values >= cell).sum() and (values > cell).sum() + 1 <= each.ranks[1]
            for each, cell in zip(top.flows, cells, strict=True)
        )
    assert max(wrong_ranks, wrong_orders, wrong_sets) <= MOST_FAILURES
    assert claimed > RELEASES / 20  # that chances are stated at all


def test_ranks_of_a_table_without_noise():
    graph, _, groups, _ = case(parts=4)
    exact = exact_flows(graph, groups)
    values = np.sort(exact.estimates[-1])[::-1]
    top = exact.top_flows(3).flows
    assert [each.estimate for each in top] == values[:3].tolist()
    assert [each.ranks[0] for each in top] == [1 + (values > value).sum() for value in values[:3]]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: noisy().modularity("county"), "unknown level"),
        *(
            (functools.partial(lambda level: noisy().share_inside(confidence=level), level), "conf")
            for level in (0, 1, 2.0, True, "much")
        ),
        (lambda: noisy().top_flows(0), "number of flows"),
        (lambda: noisy().conductance("part", groups=["Sales"]), "unknown group"),
        (lambda: noisy().social_connectedness(largest=-1), "largest"),
        (lambda: two_sided().modularity(), "two sides"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask, words):
    with pytest.raises(QueryError, match=words):
        ask()


def test_nothing_is_guaranteed_where_the_weight_may_be_nothing():
    graph = Graph([], [], vertices=20)
    groups = Groups(graph.vertices, {"half": [0] * 10 + [1] * 10})
    flows = release_flows(graph, groups, epsilon=1.0, seed=5)
    assert flows.share_inside().interval == (0.0, 1.0)
    low, high = flows.modularity().interval
    assert low == -0.5
    assert high >= 0.5  # two groups have no more
    assert flows.assortativity().interval == (-1.0, 1.0)


def test_a_level_without_inside_has_share_nothing():
    graph, _, _, _ = case()
    groups = Groups(graph.vertices, {"vertex": list(range(graph.n))})
    found = exact_flows(graph, groups).share_inside()
    assert (found.value, found.interval) == (0, (0.0, 0.0))


def test_seeded_statistics_say_so():
    graph, _, groups, _ = case()
    assert "seeded: not private" in str(noisy().modularity())
    assert noisy().top_flows(1).seeded
    assert "seeded" not in str(release_flows(graph, groups, epsilon=1.0).modularity())
