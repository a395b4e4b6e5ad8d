"""The stated change of a table by all rows of one user, against every way to change it."""

from functools import cache, lru_cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from graphcuts_dp import Groups, PrivacyUnit, VertexSet
from graphcuts_dp.estimate.cell_changes import cell_changes
from graphcuts_dp.graph.adjacency import graph_on_space
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.rows import reach_of
from graphcuts_dp.measure.cells import cell_tree, sides_of_groups, sums_of_cells
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import Reach
from graphcuts_dp.schema.vertices import Arcs, vertex_sets
from tests.audits.rows_in_memory import bounded, rows_in_memory

pytestmark = pytest.mark.usefixtures("one_database")  # of many small tables

# Three ways to divide four vertices into groups.
GROUP_LABELS = ((0, 0, 1, 1), (0, 0, 0, 1), (0, 1, 2, 2))
SPACES = {
    "plain": VertexSet(4),
    "directed": Arcs(VertexSet(4)),
    "bipartite": (VertexSet(2), VertexSet(4)),
}


def pairs_of(kind):
    """List the pairs that a row can name, in one order of the two vertices if undirected."""
    if kind == "bipartite":
        return list(product(range(2), range(4)))
    return [(u, v) for u in range(4) for v in range(4) if u < v or (kind == "directed" and u != v)]


@cache
def sides_and_cells(kind, group_labels):
    """Return the sides and the cells of a table, which no row influences."""
    space = SPACES[kind]
    sets = space if kind == "bipartite" else [space.vertices if kind == "directed" else space]
    groups = [Groups(vertices, {"g": list(group_labels[: len(vertices)])}) for vertices in sets]
    no_rows = rows_in_memory(space, [], np.zeros(1, np.uint64), ([], []))
    graph = bounded(no_rows, 1)
    sides = sides_of_groups(graph, tuple(groups) if kind == "bipartite" else groups[0])
    return sides, cell_tree(graph, sides)


def has_common_source(kind, rows):
    """Whether one vertex can be the source of all rows; either endpoint of undirected ones."""
    if kind == "plain":
        return bool(set.intersection(*map(set, rows)))
    return len({source for source, _ in rows}) == 1


@lru_cache(maxsize=2)
def graphs_of_one_user(kind, counting, user_is_source, max_contributions):
    """Return the bounded graphs of all sets of rows that one user can have.

    All of them are read as one table, in which each user has vertices of its own: this is faster.
    The user has one row too many, so that the bound matters.
    """
    rows_of_user = [
        rows
        for rows in combinations_with_replacement(pairs_of(kind), max_contributions + 1)
        if not user_is_source or has_common_source(kind, rows)
    ]
    users = len(rows_of_user)
    sizes = np.array([len(side) for side in vertex_sets(SPACES[kind])])
    large_sets = [VertexSet(int(size) * users) for size in sizes]
    large_space = {
        "plain": large_sets[0],
        "directed": Arcs(large_sets[0]),
        "bipartite": tuple(large_sets),
    }[kind]
    user_of_row = np.repeat(np.arange(users), max_contributions + 1)
    endpoints = np.array(rows_of_user).reshape(-1, 2) + user_of_row[:, None] * sizes
    marks = np.arange(users, dtype=np.uint64)
    rows = rows_in_memory(large_space, user_of_row, marks, endpoints.T, counting=counting)
    large_graph = bounded(rows, max_contributions)

    options = {"max_weight_change": 1} if large_graph.weighted else {}
    graphs = []
    for user in range(users):
        of_user = large_graph.rows // sizes[0] == user
        edges = large_graph.rows[of_user] % sizes[0], large_graph.columns[of_user] % sizes[1]
        weights = large_graph.weights[of_user] if large_graph.weighted else None
        graphs.append(graph_on_space(SPACES[kind], *edges, weights, **options))
    return graphs


def largest_changes(kind, group_labels, counting, user_is_source, max_contributions):
    """Return the cells, and the largest sums of |change| and change^2 of each level.

    The changes are those by all rows that one user can have.
    """
    sides, cells = sides_and_cells(kind, group_labels)
    largest = np.zeros((cells.depth, 2), dtype=int)
    for graph in graphs_of_one_user(kind, counting, user_is_source, max_contributions):
        sums_of_levels = sums_of_cells(
            graph, sides, cells, Grid(cap=None if graph.weighted else 1.0)
        )
        for level, sums in enumerate(sums_of_levels):
            largest[level] = np.maximum(largest[level], [sums.sum(), (sums**2).sum()])
    return cells, largest


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("user_is_source", [False, True])
@pytest.mark.parametrize("counting", ["edges", "users", "rows"])
@pytest.mark.parametrize("kind", SPACES)
def test_the_stated_change_is_the_largest_there_is(kind, counting, user_is_source):
    for group_labels, max_contributions in product(GROUP_LABELS, (1, 3)):
        cells, largest = largest_changes(
            kind, group_labels, counting, user_is_source, max_contributions
        )
        stated = cell_changes(
            cells,
            PrivacyUnit.user(max_contributions=max_contributions),
            capped=counting == "edges",
            reach=Reach(counting != "rows", user_is_source),
        )
        for (stated_sum, stated_squares), (largest_sum, largest_squares) in zip(
            stated, largest, strict=True
        ):
            assert stated_sum == max_contributions
            assert largest_sum <= stated_sum
            # Attained if the user fills the pairs of one cell after the other.
            assert stated_squares == largest_squares


def test_the_changes_of_single_cells_do_not_bound_the_change_of_a_table():
    """The incorrect variant: each cell changes by 1 if a user has one row in each cell."""
    cells, largest = largest_changes("plain", GROUP_LABELS[0], "edges", False, 3)
    assert cells.depth == 2
    squares_of_three_cells = 3
    assert largest[-1][1] > squares_of_three_cells


@pytest.mark.parametrize(
    ("capped", "reach", "change"),
    [
        # A cell of 25 pairs can hold all of twenty contributions.
        pytest.param(True, Reach(True, False), (20, 400), id="pairs, any vertices"),
        # A source has five pairs in each cell.
        pytest.param(True, Reach(True, True), (20, 4 * 25), id="pairs, user is the source"),
        pytest.param(False, Reach(False, True), (20, 400), id="rows, user is the source"),
    ],
)
def test_a_user_who_is_the_source_of_its_pairs_changes_a_large_table_less(capped, reach, change):
    vertices = VertexSet(100)
    groups = Groups(vertices, {"g": [vertex // 5 for vertex in range(100)]})
    cells = CellTree(groups.tree, directed=True)
    privacy_unit = PrivacyUnit.user(max_contributions=20)
    assert cell_changes(cells, privacy_unit, capped=capped, reach=reach)[1] == change


def test_rows_state_what_a_user_reaches_and_graphs_do_not():
    rows = rows_in_memory(
        VertexSet(3), [], np.zeros(1, np.uint64), ([], []), counting="rows", user_is_source=True
    )
    assert reach_of(rows) == Reach(once=False, tail=True)
    assert reach_of(bounded(rows, 1)) is None
