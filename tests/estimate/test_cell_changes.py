"""The stated change of a table by periods by one user, against every way to change it.

An *occurrence* is a pair in a month: what a row says. A user contributes some occurrences.
"""

from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate.cell_changes import cell_changes
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import Reach

GROUP_LABELS = ([0, 0, 1], [0, 1, 2], [0, 1, 1])  # three ways to group three vertices
PERIODS = gc.Periods.of("2025-12..2026-02")


def cell_tree(kind, group_labels, by, loops):
    """Return the cells of a table by periods; bipartite ones have one group of two on the right."""
    rows = gc.Groups(gc.VertexSet(3), {"g": group_labels}).tree
    periods = PERIODS.tree(by)
    if kind == "bipartite":
        return CellTree(rows, gc.Groups(gc.VertexSet(2), {"h": [0, 0]}).tree, periods=periods)
    return CellTree(rows, directed=kind == "directed", periods=periods, loops=loops)


def all_occurrences(kind, loops):
    """List all (month, u, v); in one order of u and v if undirected."""
    right = 2 if kind == "bipartite" else 3
    return [
        (month, u, v)
        for month, u, v in product(range(3), range(3), range(right))
        if kind == "bipartite" or u < v or (u == v and loops) or (u > v and kind == "directed")
    ]


def cells_of_occurrence(tree, group_labels, by, occurrence):
    """Return the number of the cell of each level that holds an occurrence."""
    month, u, v = occurrence
    target_group = group_labels[v] if tree.one_set else 0
    finest = tree.depth - 1
    (cell,) = tree.locate(
        finest,
        np.array([group_labels[u]]),
        np.array([target_group]),
        np.array([PERIODS.codes(by)[month]]),
    )
    cells = [int(cell)]
    for level in range(finest, 0, -1):
        cells.insert(0, int(tree.parents(level)[cells[0]]))
    return cells


def has_common_source(kind, occurrences):
    """Whether one vertex can be the source of all; either endpoint of undirected pairs."""
    if kind == "plain":
        return bool(set.intersection(*({u, v} for _, u, v in occurrences)))
    return len({u for _, u, _ in occurrences}) == 1


TABLES = [
    (kind, by, loops)
    for kind, by, loops in product(
        ("plain", "directed", "bipartite"), ("month", "year", ("year", "month")), (False, True)
    )
    if not (kind == "bipartite" and loops)
]


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("user_is_source", [False, True])
@pytest.mark.parametrize("once", [False, True], ids=["any rows", "each occurrence once"])
@pytest.mark.parametrize(("kind", "by", "loops"), TABLES)
def test_the_stated_change_is_the_largest_there_is(kind, by, loops, once, user_is_source):
    occurrences = all_occurrences(kind, loops)
    choices = combinations if once else combinations_with_replacement
    for group_labels, max_contributions in product(GROUP_LABELS, (1, 2, 3)):
        tree = cell_tree(kind, group_labels, by, loops)
        cells = {
            occurrence: cells_of_occurrence(tree, group_labels, by, occurrence)
            for occurrence in occurrences
        }
        largest_squares = np.zeros(tree.depth, dtype=int)
        for contributions in choices(occurrences, max_contributions):
            if user_is_source and not has_common_source(kind, contributions):
                continue
            for level in range(tree.depth):
                counts = np.bincount([cells[occurrence][level] for occurrence in contributions])
                largest_squares[level] = max(largest_squares[level], (counts**2).sum())

        stated = cell_changes(
            tree,
            gc.PrivacyUnit.user(max_contributions=max_contributions),
            capped=once,
            reach=Reach(once, user_is_source),
        )

        assert [total for total, _ in stated] == [max_contributions] * tree.depth
        assert [squares for _, squares in stated] == largest_squares.tolist(), group_labels


@pytest.mark.parametrize(
    ("privacy_unit", "change"),
    [
        pytest.param(gc.PrivacyUnit.edge(4), (4, 16), id="four arcs of any sources"),
        # A source has one arc to its own group and two to the other: 1 + 2^2.
        pytest.param(gc.PrivacyUnit.user(max_contributions=4), (4, 5), id="a user with four arcs"),
    ],
)
def test_edges_as_privacy_unit_may_lie_anywhere_and_arcs_of_a_user_have_one_source(
    privacy_unit, change
):
    groups = gc.Groups(gc.VertexSet(4), {"g": [0, 0, 1, 1]})
    tree = CellTree(groups.tree, directed=True)
    assert cell_changes(tree, privacy_unit, reach=Reach(once=True, tail=True))[1] == change


def test_rows_change_cells_by_all_grid_units_of_a_row():
    tree = cell_tree("plain", GROUP_LABELS[0], "month", loops=True)
    units_of_user = 4 * 1024
    stated = cell_changes(
        tree, gc.PrivacyUnit.user(max_contributions=4), sensitivity=1024, capped=False
    )
    assert stated == ((units_of_user, units_of_user**2),) * tree.depth


@pytest.mark.parametrize(
    ("by", "loops"),
    [pytest.param("month", False, id="periods"), pytest.param(None, True, id="loops")],
)
def test_a_vertex_is_no_privacy_unit_of_tables_by_periods_or_with_loops(by, loops):
    groups = gc.Groups(gc.VertexSet(3), {"g": [0, 0, 1]})
    tree = CellTree(groups.tree, periods=PERIODS.tree(by) if by else None, loops=loops)
    with pytest.raises(gc.ParameterError, match="leave periods out, or take privacy_unit='user"):
        cell_changes(tree, gc.PrivacyUnit.vertex(max_degree=3))
