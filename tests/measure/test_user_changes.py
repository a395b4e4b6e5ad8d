"""What the rows of one user can change of a table, against every way to change it."""

from functools import cache, lru_cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from graphcuts_dp import Groups, PrivacyUnit, VertexSet
from graphcuts_dp.estimate.cell_changes import cell_changes
from graphcuts_dp.graph.adjacency import on_space
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.rows import reach_of
from graphcuts_dp.measure.cells import cell_tree, sides_of_groups, sums_of_cells
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import Reach
from graphcuts_dp.schema.vertices import Arcs, vertex_sets
from tests.audits.rows_in_memory import bounded, rows_in_memory

pytestmark = pytest.mark.usefixtures("one_database")  # of many small tables

GROUPS = ((0, 0, 1, 1), (0, 0, 0, 1), (0, 1, 2, 2))
SPACES = {
    "plain": VertexSet(4),
    "directed": Arcs(VertexSet(4)),
    "bipartite": (VertexSet(2), VertexSet(4)),
}

HIDDEN = {True: {"max_weight_change": 1}, False: {}}


def pairs_of(kind):
    if kind == "bipartite":
        return list(product(range(2), range(4)))
    return [(u, v) for u in range(4) for v in range(4) if u < v or (kind == "directed" and u != v)]


@cache
def table(kind, groups):
    """The sides and the cells of a table, which no row has a say in."""
    space = SPACES[kind]
    sets = space if kind == "bipartite" else [space.vertices if kind == "directed" else space]
    made = [Groups(vertices, {"g": list(groups[: len(vertices)])}) for vertices in sets]
    graph = bounded(rows_in_memory(space, [], np.zeros(1, np.uint64), ([], [])), 1)
    given = tuple(made) if kind == "bipartite" else made[0]
    sides = sides_of_groups(graph, given)
    return sides, cell_tree(graph, sides)


@cache
@lru_cache(maxsize=2)
def graphs_of_one_user(kind, counting, tail, at_most):
    """The bounded graphs of everything that one user can have.

    All of them are one table, in which every user has vertices of its own.
    """
    files = []
    for rows in combinations_with_replacement(pairs_of(kind), at_most + 1):
        if tail:
            # The user is the first end of its rows: of a plain pair, whichever is in all of them.
            ends = set(range(4)).intersection(*map(set, rows))
            if kind == "plain" and not ends:
                continue
            if kind != "plain" and len({u for u, _ in rows}) > 1:
                continue
        files.append(rows)
    sizes = np.array([len(side) for side in vertex_sets(SPACES[kind])])
    large = [VertexSet(int(size) * len(files)) for size in sizes]
    space = {"plain": large[0], "directed": Arcs(large[0]), "bipartite": tuple(large)}[kind]
    whose = np.repeat(np.arange(len(files)), at_most + 1)
    ends = np.array(files).reshape(-1, 2) + whose[:, None] * sizes
    marks = np.arange(len(files), dtype=np.uint64)
    graph = bounded(rows_in_memory(space, whose, marks, ends.T, counting=counting), at_most)
    found = []
    for each in range(len(files)):
        own = graph.rows // sizes[0] == each
        rows, columns = graph.rows[own] % sizes[0], graph.columns[own] % sizes[1]
        weights = graph.weights[own] if graph.weighted else None
        found.append(on_space(SPACES[kind], rows, columns, weights, **HIDDEN[graph.weighted]))
    return found


def worst(kind, groups, counting, tail, at_most):
    """Largest sums of |change| and change^2 of each place over everything one user can have."""
    sides, cells = table(kind, groups)
    found = np.zeros((cells.depth, 2), dtype=int)
    for graph in graphs_of_one_user(kind, counting, tail, at_most):
        sums = sums_of_cells(graph, sides, cells, Grid(cap=None if graph.weighted else 1.0))
        for place, each in enumerate(sums):
            found[place] = np.maximum(found[place], [each.sum(), (each**2).sum()])
    return cells, found


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("counting", ["edges", "users", "rows"])
@pytest.mark.parametrize("kind", SPACES)
def test_the_stated_change_is_the_largest_there_is(kind, counting, tail):
    for groups, at_most in product(GROUPS, (1, 3)):
        cells, found = worst(kind, groups, counting, tail, at_most)
        capped = counting == "edges"
        privacy_unit = PrivacyUnit.user(max_contributions=at_most)
        reach = Reach(counting != "rows", tail)
        stated = cell_changes(cells, privacy_unit, capped=capped, reach=reach)
        for place, (total, squares) in enumerate(stated):
            assert total == at_most
            assert found[place][0] <= total
            # Exactly the largest: of as many pairs as there are in a cell, one after the other.
            assert squares == found[place][1], (place, at_most)


def test_the_squares_of_one_cell_are_too_few_for_a_table():
    """The twin: each cell alone changes by 1 if a user is thought to have one row a cell."""
    cells, found = worst("plain", GROUPS[0], "edges", False, 3)
    assert found[-1][1] > 3  # what three cells that change by one each would give
    assert cells.depth == 2


def test_a_user_in_one_row_of_a_large_table_changes_less():
    vertices = VertexSet(100)
    groups = Groups(vertices, {"g": [v // 5 for v in range(100)]})
    cells = CellTree(groups.tree, directed=True)
    privacy_unit = PrivacyUnit.user(max_contributions=20)
    whole = cell_changes(cells, privacy_unit, reach=Reach(True, False))
    own = cell_changes(cells, privacy_unit, reach=Reach(True, True))
    rows = cell_changes(cells, privacy_unit, capped=False, reach=Reach(False, True))
    assert whole[1] == (20, 400)  # a cell of 25 pairs takes all of them
    assert own[1] == (20, 4 * 25)  # but a user has 5 pairs in each
    assert rows[1] == (20, 400)


def test_what_is_told_of_rows_and_of_graphs():
    rows = rows_in_memory(
        VertexSet(3), [], np.zeros(1, np.uint64), ([], []), counting="rows", user_is_source=True
    )
    assert reach_of(rows) == Reach(once=False, tail=True)
    assert reach_of(bounded(rows, 1)) is None
