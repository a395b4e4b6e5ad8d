"""Statistics of flows: their definitions beside networkx, and that intervals hold as promised."""

import functools

import networkx as nx
import numpy as np
import pytest
import scipy
from statistic_cases import exact_flows, many_flows, planted

from graphcuts_dp.datasets import load
from graphcuts_dp.errors import QueryError
from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.release.releases import release_flows

RELEASES, FEW = 2000, 500


def most_failures(releases):
    """A count of failures, of 5 % each, that is passed with a chance of less than 1e-7."""
    return int(scipy.stats.binom.isf(1e-7, releases, 0.05))


MOST_FAILURES = most_failures(RELEASES)


@functools.cache
def case(parts=3, seed=0):
    return planted(parts=parts, seed=seed)


def parts_of(codes):
    return [set(np.flatnonzero(codes == code).tolist()) for code in np.unique(codes)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("parts", [2, 3, 5])
def test_definitions_are_those_of_networkx(parts, seed):
    graph, same, groups, codes = case(parts, seed)
    flows, sets = exact_flows(graph, groups), parts_of(codes)
    assert flows.modularity("part").value == pytest.approx(nx.community.modularity(same, sets))
    assert flows.assortativity("part").value == pytest.approx(
        nx.attribute_assortativity_coefficient(same, "part")
    )
    coverage, _ = nx.community.partition_quality(same, sets)
    assert flows.share_inside("part").value == pytest.approx(coverage)
    assert flows.share_outside("part").value == pytest.approx(1 - coverage)
    inside = sum(codes[a] == codes[b] for a, b in same.edges)
    outside = same.number_of_edges() - inside
    index = (outside - inside) / (outside + inside)
    assert flows.ei_index("part").value == pytest.approx(index)
    found = flows.conductance("part")
    for label, value in zip(*found.labels, found.values, strict=True):
        assert value == pytest.approx(nx.conductance(same, set(np.flatnonzero(codes == label))))


def test_karate_by_club_is_what_networkx_says():
    graph, same = load("karate"), nx.karate_club_graph()
    clubs = [same.nodes[v]["club"] for v in same]
    flows = exact_flows(graph, Groups(graph.vertices, {"club": clubs}))
    sets = [{v for v in same if clubs[v] == club} for club in sorted(set(clubs))]
    assert flows.modularity().value == pytest.approx(
        nx.community.modularity(same, sets, weight=None)
    )
    for statistic in (flows.modularity(), flows.assortativity(), flows.share_inside()):
        low, high = statistic.interval
        assert low <= statistic.value <= high
        assert high - low < 0.02


def test_directions_do_not_change_the_formulas():
    # A table of one set in which (a, b) and (b, a) are two cells, beside sums over its entries.
    rng = np.random.default_rng(3)
    table = rng.integers(0, 50, size=(4, 4)).astype(float)
    e = table / table.sum()
    expected = np.trace(e) - (e.sum(1) * e.sum(0)).sum()
    flows = directed_flows(table)
    assert flows.modularity().value == pytest.approx(expected)
    assert flows.assortativity().value == pytest.approx(
        expected / (1 - (e.sum(1) * e.sum(0)).sum())
    )
    low, high = flows.modularity().interval
    assert low <= expected <= high
    with pytest.raises(QueryError, match="direction"):
        flows.conductance()


def directed_flows(table):
    """Flows of a table of arcs between groups of 20 vertices each."""
    import dataclasses

    from graphcuts_dp.pairs.groups import CellTree
    from graphcuts_dp.results.flows import Flows

    size = len(table)
    groups = Groups(
        Graph([], [], vertices=20 * size).vertices, {"part": np.repeat(np.arange(size), 20)}
    )
    model = release_flows(Graph([], [], vertices=20 * size), groups, epsilon=20.0, seed=0)
    cells = CellTree(groups.tree, directed=True)
    finest = table[cells.cells(1)].astype(np.int64)
    values = {0: np.array([finest.sum()]), 1: finest}
    sums = tuple(values[place] for place in model.noisy.map.places)
    return Flows(
        noisy=dataclasses.replace(
            model.noisy, map=dataclasses.replace(model.noisy.map, tree=cells), steps=sums
        ),
        strategy=model.strategy,
        guarantee=model.guarantee,
    )


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
    cells = ends.copy()
    cells[np.diag_indices(len(sizes))] /= 2
    index = cells / np.outer(sizes, sizes)
    found = flows.social_connectedness("part")
    assert found.values == pytest.approx(index * 1e6 / index.max())
    assert len(found.to_frame()) == len(sizes) ** 2
    assert flows.social_connectedness("part", largest=1e9).values.max() == pytest.approx(1e9)


STATISTICS = ("share_inside", "ei_index", "modularity", "assortativity")
LAWS = {
    "one level": {"epsilon": 1.0},
    "little noise": {"epsilon": 4.0},
    "Gaussian": {"epsilon": 0.5, "delta": 0.1},
}


def failures(flows, truths, level):
    found = np.zeros(len(truths), dtype=int)
    for each in flows:
        for number, (name, truth) in enumerate(truths.items()):
            low, high = getattr(each, name)(level).interval
            found[number] += not low <= truth <= high
    return dict(zip(truths, found.tolist(), strict=True))


def test_intervals_of_ratios_hold_as_often_as_promised():
    check_coverage("one level", ("share_inside",), FEW)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_all_intervals_of_ratios_hold_with_every_noise(law):
    check_coverage(law, STATISTICS)


def check_coverage(law, names, releases=RELEASES):
    graph, _, groups, _ = case()
    exact = exact_flows(graph, groups)
    truths = {name: getattr(exact, name)("part").value for name in names}
    found = failures(many_flows(graph, groups, count=releases, **LAWS[law]), truths, "part")
    assert max(found.values()) <= most_failures(releases), found


def test_intervals_for_less_noise_than_there_is_fail():
    # The twin: noise with four times the deviation that is stated.
    graph, _, groups, _ = case()
    exact = exact_flows(graph, groups)
    truths = {"share_inside": exact.share_inside("part").value}
    flows = many_flows(graph, groups, epsilon=1.0, count=FEW, told=4)
    assert failures(flows, truths, "part")["share_inside"] > most_failures(FEW)


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
    wrong_ranks = wrong_orders = wrong_sets = 0
    claimed = 0
    for flows in many_flows(graph, groups, epsilon=2.0, count=RELEASES, seed=1):
        top = flows.top_flows(3)
        claimed += top.set_chance > 0.5
        cells = [exact.between(each.source, each.target).value for each in top.flows]
        best = sorted(values, reverse=True)[:3]
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
    values = exact.estimates[-1]
    order = np.argsort(-values, kind="stable")
    top = exact.top_flows(3)
    assert [each.value for each in top.flows] == sorted(values, reverse=True)[:3]
    assert [each.ranks[0] for each in top.flows] == [
        1 + int((values > values[cell]).sum()) for cell in order[:3]
    ]


def test_refusals():
    graph, _, groups, _ = case()
    flows = release_flows(graph, groups, epsilon=1.0, seed=0)
    with pytest.raises(QueryError, match="unknown level"):
        flows.modularity("county")
    for confidence in (0, 1, 2.0, True, "much"):
        with pytest.raises(QueryError, match="confidence"):
            flows.share_inside(confidence=confidence)
    with pytest.raises(QueryError, match="number of flows"):
        flows.top_flows(0)
    with pytest.raises(QueryError, match="unknown group"):
        flows.conductance("part", groups=["Sales"])
    with pytest.raises(QueryError, match="largest"):
        flows.social_connectedness(largest=-1)
    sides = BipartiteGraph([0, 1], [1, 0], left=4, right=4)
    pair = tuple(Groups(side, {"half": [0, 0, 1, 1]}) for side in (sides.left, sides.right))
    flows = release_flows(sides, pair, epsilon=1.0, seed=0)
    with pytest.raises(QueryError, match="two sides"):
        flows.modularity()
    assert flows.contacts().values.shape == (2, 2)


def test_nothing_is_promised_where_the_weight_may_be_nothing():
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
    assert found.value == 0
    assert found.interval == (0.0, 0.0)


def test_seeded_statistics_say_so():
    graph, _, groups, _ = case()
    flows = release_flows(graph, groups, epsilon=1.0, seed=0)
    assert "seeded: not private" in str(flows.modularity())
    assert flows.top_flows(1).seeded
    assert "seeded" not in str(release_flows(graph, groups, epsilon=1.0).modularity())
