"""What a user can change of a table by periods, against every way to change it."""

from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.estimate.cell_changes import cell_changes
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import Reach

GROUPS = ([0, 0, 1], [0, 1, 2], [0, 1, 1])
PERIODS = gc.Periods.of("2025-12..2026-02")


def tree_of(kind, groups, by, loops):
    tree = gc.Groups(gc.VertexSet(3), {"g": groups}).tree
    periods = PERIODS.tree(by)
    if kind == "bipartite":
        return CellTree(tree, gc.Groups(gc.VertexSet(2), {"h": [0, 0]}).tree, periods=periods)
    return CellTree(tree, directed=kind == "directed", periods=periods, loops=loops)


def occurrences(kind, loops):
    """Every pair in every month: who it begins at, or both who may, and its two ends."""
    for month, u, v in product(range(3), range(3), range(2 if kind == "bipartite" else 3)):
        if kind == "bipartite" or (u == v and loops) or u < v or (u > v and kind == "directed"):
            yield month, u, v


def places_of(tree, groups, by, occurrence):
    """The number of the cell of each place that holds an occurrence."""
    month, u, v = occurrence
    finest = PERIODS.codes(by)[month]
    a, b = groups[u], groups[v] if tree.one_set else 0
    found = []
    for place in range(tree.depth - 1, -1, -1):
        if not found:
            ends = (np.array([each]) for each in (a, b))
            found.append(int(tree.locate(place, *ends, np.array([finest]))[0]))
        else:
            found.insert(0, int(tree.parents(place + 1)[found[0]]))
    return found


CASES = [
    (kind, by, loops)
    for kind, by, loops in product(
        ("plain", "directed", "bipartite"), ("month", "year", ("year", "month")), (False, True)
    )
    if not (kind == "bipartite" and loops)
]


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize(("kind", "by", "loops"), CASES)
def test_the_stated_change_is_the_largest_there_is(kind, by, loops, once, tail):
    every = list(occurrences(kind, loops))
    for groups, max_contributions in product(GROUPS, (1, 2, 3)):
        tree = tree_of(kind, groups, by, loops)
        cells = {each: places_of(tree, groups, by, each) for each in every}
        worst = np.zeros((tree.depth, 2), dtype=int)
        ways = combinations if once else combinations_with_replacement
        for rows in ways(every, max_contributions):
            if tail and kind != "plain" and len({u for _, u, _ in rows}) > 1:
                continue
            if tail and kind == "plain" and not set.intersection(*({u, v} for _, u, v in rows)):
                continue
            for place in range(tree.depth):
                counts = np.bincount([cells[row][place] for row in rows])
                worst[place] = np.maximum(worst[place], [counts.sum(), (counts**2).sum()])
        privacy_unit = gc.PrivacyUnit.user(max_contributions=max_contributions)
        stated = cell_changes(tree, privacy_unit, capped=once, reach=Reach(once, tail))
        for place, (total, squares) in enumerate(stated):
            assert total == max_contributions
            # Exactly the largest, but that some user may have fewer pairs than fit.
            assert squares == worst[place][1], (place, groups, max_contributions)


def test_pairs_that_are_no_users_may_lie_anywhere():
    """Of rows whose user is the first end, too: four arcs between two pairs of vertices."""
    groups = gc.Groups(gc.VertexSet(4), {"g": [0, 0, 1, 1]})
    tree = CellTree(groups.tree, directed=True)
    reach = Reach(once=True, tail=True)
    assert cell_changes(tree, gc.PrivacyUnit.edge(4), reach=reach)[1] == (4, 16)
    assert cell_changes(tree, gc.PrivacyUnit.user(max_contributions=4), reach=reach)[1] == (4, 5)


def test_steps_of_a_row_count_as_its_share():
    tree = tree_of("plain", GROUPS[0], "month", True)
    privacy_unit = gc.PrivacyUnit.user(max_contributions=4)
    stated = cell_changes(tree, privacy_unit, sensitivity=1024, capped=False)
    assert stated == ((4 * 1024, (4 * 1024) ** 2),) * tree.depth


@pytest.mark.parametrize(("by", "loops"), [("month", False), (None, True)])
def test_vertices_are_protected_in_one_graph(by, loops):
    tree = CellTree(
        gc.Groups(gc.VertexSet(3), {"g": [0, 0, 1]}).tree,
        periods=None if by is None else PERIODS.tree(by),
        loops=loops,
    )
    with pytest.raises(ParameterError, match="leave periods out, or take privacy_unit='user"):
        cell_changes(tree, gc.PrivacyUnit.vertex(max_degree=3))
