"""Trees of cells with periods and loops, compared with a list of all pairs in all months.

A level index counts levels of the whole tree: 0 is the total, then each of groups, and of periods.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import GraphError, QueryError
from graphcuts_dp.schema.cells import CellTree

LEFT = {"county": [0, 0, 0, 1, 1], "zone": [0, 1, 1, 2, 3]}
RIGHT = {"region": ["a", "a", "b"], "place": ["a1", "a2", "b1"]}
WHEN = gc.Periods.of("2025-11..2026-04")
LEVELS = (None, "month", "quarter", "year", ("year", "month"), ("year", "quarter", "month"))
By = str | tuple[str, ...] | None  # levels of periods, from the coarsest
Occurrence = tuple[int, int, int]  # month, and both endpoints
KINDS = ("plain", "directed", "bipartite")


def tree_of(kind: str, by: By, loops: bool) -> CellTree:
    rows = gc.Groups(gc.VertexSet(5), LEFT).tree
    columns = gc.Groups(gc.VertexSet(3), RIGHT).tree if kind == "bipartite" else None
    periods = None if by is None else WHEN.tree(by)
    return CellTree(rows, columns, directed=kind == "directed", periods=periods, loops=loops)


def occurrences(kind: str, by: By, loops: bool) -> Iterator[Occurrence]:
    """Yield every possible pair in every month."""
    for month in range(1 if by is None else len(WHEN.labels)):
        for u, v in product(range(5), range(3 if kind == "bipartite" else 5)):
            if kind == "bipartite" or (u == v and loops) or u < v or (u > v and kind == "directed"):
                yield month, u, v


def period_levels(by: By) -> list[str]:
    return [] if by is None else [by] if isinstance(by, str) else list(by)


def cell_of(
    tree: CellTree, kind: str, by: By, level_index: int, occurrence: Occurrence
) -> tuple[Any, Any, Any]:
    """Return the period and the groups of the cell that holds an occurrence, by definition."""
    month, u, v = occurrence
    if level_index == 0:
        return None, 0, 0
    period = None
    if levels := period_levels(by):
        # The first level of groups has the coarsest periods, the second all of them in turn.
        level = levels[max(level_index - 2, 0)]
        period = tree.periods.labels(level)[WHEN.codes(level)[month]]
    group_level = min(level_index, 2) - 1
    right = RIGHT if kind == "bipartite" else LEFT
    groups = list(LEFT.values())[group_level][u], list(right.values())[group_level][v]
    return period, *(sorted(groups) if kind == "plain" else groups)


def labels_of(tree: CellTree, level_index: int) -> list[tuple[Any, Any, Any]]:
    """Return the period and the groups of each cell of a level, in the order of the tree."""
    if level_index == 0:
        return [(None, 0, 0)]
    level = tree.period_level(level_index)
    periods = [None] if level is None else tree.periods.labels(level)
    left, right = tree.names(level_index)
    rows, columns = tree.rows.labels(left), tree.columns.labels(right)
    cells = zip(tree.periods_of(level_index), *tree.cells(level_index), strict=True)
    return [(periods[t], rows[a], columns[b]) for t, a, b in cells]


CASES = [
    (kind, by, loops)
    for kind, by, loops in product(KINDS, LEVELS, (False, True))
    if not (kind == "bipartite" and loops)
]


@pytest.mark.thorough(cases=14)
@pytest.mark.parametrize(("kind", "by", "loops"), CASES)
def test_every_pair_lies_in_one_cell_of_each_level_and_in_its_parent(kind, by, loops):
    tree = tree_of(kind, by, loops)
    assert tree.depth == 3 + max(0, len(period_levels(by)) - 1)
    parents = None
    for level_index in range(tree.depth):
        cells = labels_of(tree, level_index)
        assert len(set(cells)) == len(cells) == tree.size(level_index)
        cell_of_each = [
            cell_of(tree, kind, by, level_index, occurrence)
            for occurrence in occurrences(kind, by, loops)
        ]
        counts = Counter(cell_of_each)
        assert [counts[cell] for cell in cells] == tree.pairs(level_index).tolist()
        numbers = [cells.index(cell) for cell in cell_of_each]
        if parents is not None:
            assert tree.parents(level_index)[numbers].tolist() == parents
            sums = tree.sums(level_index, np.bincount(numbers, minlength=len(cells)))
            assert sums.tolist() == tree.pairs(level_index - 1).tolist()
        parents = numbers
        a, b = tree.cells(level_index)
        period = tree.periods_of(level_index) if tree.periods is not None else None
        assert tree.locate(level_index, a, b, period).tolist() == list(range(len(cells)))
        if kind == "plain":
            assert tree.locate(level_index, b, a, period).tolist() == list(range(len(cells)))
    assert tree.total_size == sum(tree.size(level_index) for level_index in range(1, tree.depth))


def test_levels_are_named_by_groups_of_both_sides_and_periods():
    assert tree_of("plain", None, False).levels == ("county", "zone")
    assert tree_of("plain", "month", False).levels == ("county", "zone")
    assert tree_of("bipartite", ("year", "month"), False).levels == (
        "county x region by year",
        "zone x place by year",
        "zone x place by month",
    )
    assert repr(tree_of("directed", "year", True)) == "CellTree(8 of county, 32 of zone)"


@pytest.mark.parametrize(("kind", "by", "loops"), CASES)
def test_cells_of_two_groups_are_picked_and_a_matrix_has_all_of_them(kind, by, loops):
    tree = tree_of(kind, by, loops)
    right = "a1" if kind == "bipartite" else 0
    level_index = tree.depth - 1
    cells = labels_of(tree, level_index)
    last_period = None if by is None else tree.periods.labels()[-1]
    groups = sorted((1, right)) if kind == "plain" else (1, right)
    picked = tree.picked(level_index, 1, right, last_period)
    assert [cell == (last_period, *groups) for cell in cells] == picked.tolist()
    of_all_periods = tree.picked(level_index, 1, right)
    assert of_all_periods.sum() == len(tree.lengths(level_index)) * picked.sum()
    values = np.arange(1.0, len(cells) + 1)
    for label in [None] if by is None else tree.periods.labels():
        table = tree.matrix(level_index, tree.summed(level_index, values, label))
        value_of = {
            (row, column): value
            for (period, row, column), value in zip(cells, values, strict=True)
            if period == label
        }
        left, columns = (side.labels(side.levels[-1]) for side in (tree.rows, tree.columns))
        for (a, row), (b, column) in product(enumerate(left), enumerate(columns)):
            key = tuple(sorted((row, column))) if kind == "plain" else (row, column)
            assert table[a, b] == value_of.get(key, 0)
    assert tree.summed(level_index, values).sum() == values.sum()


@pytest.mark.parametrize("by", [by for by in LEVELS if by is not None])
def test_one_coarsest_period_is_a_tree_of_its_own(by):
    tree = tree_of("plain", by, True)
    first = tree.period_level(1)
    assert tree.has_period_trees is (len(tree.periods.labels(first)) > 1)
    assert tree.has_one_period_level is isinstance(by, str)
    for code, label in enumerate(tree.periods.labels(first)):
        subtree = tree.of_period(label)
        assert subtree.levels == tree.levels
        for level_index in range(1, tree.depth):
            inside = tree.in_period(level_index, code)
            cells = [
                cell
                for cell, is_in in zip(labels_of(tree, level_index), inside, strict=True)
                if is_in
            ]
            assert labels_of(subtree, level_index) == cells
            assert subtree.pairs(level_index).tolist() == tree.pairs(level_index)[inside].tolist()
    assert tree.of_period() == tree.of_period(tree.periods.labels(first)[0])


def test_trees_are_equal_if_groups_kind_periods_and_loops_are():
    trees = [tree_of(*case) for case in CASES]
    equal = np.array([[first == second for second in trees] for first in trees])
    assert np.array_equal(equal, np.eye(len(trees), dtype=bool))
    tree = tree_of("plain", "month", True)
    assert hash(tree) == hash(tree_of("plain", "month", True))
    assert tree != "a tree"


def test_a_single_vertex_has_a_cell_only_if_loops_count():
    alone = gc.Groups(gc.VertexSet(1), {"zone": ["a"]}).tree
    with pytest.raises(GraphError, match="nothing to count"):
        CellTree(alone)
    for directed in (False, True):
        assert CellTree(alone, directed=directed, loops=True).pairs(1).tolist() == [1]


def test_unknown_and_missing_periods_are_refused():
    tree = tree_of("plain", "year", False)
    with pytest.raises(QueryError, match="unknown period '2026-01'; this level has '2025', '2026'"):
        tree.picked(2, 0, 1, "2026-01")
    with pytest.raises(QueryError, match="name a period"):
        tree.picked(2, 0, 1, [])
    with pytest.raises(QueryError, match="no periods: leave period= out"):
        tree_of("plain", None, False).picked(2, 0, 1, "2026")
    with pytest.raises(ValueError, match="found by their periods"):
        tree.locate(2, np.zeros(1, int), np.ones(1, int))
