"""Cells with periods and pairs of a vertex with itself, against a list of all that can occur."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import GraphError, QueryError
from graphcuts_dp.schema.cells import CellTree

LEFT = {"county": [0, 0, 0, 1, 1], "zone": [0, 1, 1, 2, 3]}
RIGHT = {"region": ["a", "a", "b"], "place": ["a1", "a2", "b1"]}
WHEN = gc.Periods.of("2025-11..2026-04")
LEVELS = (None, "month", "quarter", "year", ("year", "month"), ("year", "quarter", "month"))
KINDS = ("plain", "directed", "bipartite")


def tree_of(kind, by, loops):
    rows = gc.Groups(gc.VertexSet(5), LEFT).tree
    columns = gc.Groups(gc.VertexSet(3), RIGHT).tree if kind == "bipartite" else None
    periods = None if by is None else WHEN.tree(by)
    return CellTree(rows, columns, directed=kind == "directed", periods=periods, loops=loops)


def occurrences(kind, by, loops):
    """Every pair in every month: its month and both ends."""
    for month in range(1 if by is None else len(WHEN.labels)):
        for u, v in product(range(5), range(3 if kind == "bipartite" else 5)):
            if kind == "bipartite" or (u == v and loops) or u < v or (u > v and kind == "directed"):
                yield month, u, v


def cell_of(tree, kind, by, place, occurrence):
    """The labels of the cell that holds an occurrence, from the definition."""
    month, u, v = occurrence
    if place == 0:
        return None, 0, 0
    names = [] if by is None else [by] if isinstance(by, str) else list(by)
    at = min(place, 2) - 1
    when = None
    if names:
        name = names[max(place - 2, 0)]
        when = tree.periods.labels(name)[WHEN.codes(name)[month]]
    right = RIGHT if kind == "bipartite" else LEFT
    ends = list(LEFT.values())[at][u], list(right.values())[at][v]
    return when, *(sorted(ends) if kind == "plain" else ends)


def labels_of(tree, place):
    """The labels of each cell of a place, in their order."""
    if place == 0:
        return [(None, 0, 0)]
    level = tree.period_level(place)
    times = [None] if level is None else tree.periods.labels(level)
    left, right = tree.names(place)
    rows, columns = tree.rows.labels(left), tree.columns.labels(right)
    parts = zip(tree.periods_of(place), *tree.cells(place), strict=True)
    return [(times[t], rows[a], columns[b]) for t, a, b in parts]


CASES = [
    (kind, by, loops)
    for kind, by, loops in product(KINDS, LEVELS, (False, True))
    if not (kind == "bipartite" and loops)
]


@pytest.mark.thorough(cases=14)
@pytest.mark.parametrize(("kind", "by", "loops"), CASES)
def test_every_occurrence_lies_in_one_cell_of_each_place(kind, by, loops):
    tree = tree_of(kind, by, loops)
    names = [] if by is None else [by] if isinstance(by, str) else list(by)
    assert tree.depth == 3 + max(0, len(names) - 1)
    every = list(occurrences(kind, by, loops))
    before = None
    for place in range(tree.depth):
        cells = labels_of(tree, place)
        assert len(set(cells)) == len(cells) == tree.size(place)
        own = [cell_of(tree, kind, by, place, each) for each in every]
        counts = Counter(own)
        assert [counts[cell] for cell in cells] == tree.pairs(place).tolist()
        numbers = [cells.index(cell) for cell in own]
        if before is not None:
            assert tree.parents(place)[numbers].tolist() == before
            sums = tree.sums(place, np.bincount(numbers, minlength=len(cells)))
            assert sums.tolist() == tree.pairs(place - 1).tolist()
        before = numbers
        a, b = tree.cells(place)
        period = tree.periods_of(place) if tree.periods is not None else None
        assert tree.locate(place, a, b, period).tolist() == list(range(len(cells)))
        if kind == "plain":
            assert tree.locate(place, b, a, period).tolist() == list(range(len(cells)))
    assert tree.total_size == sum(tree.size(place) for place in range(1, tree.depth))


def test_names_of_levels():
    assert tree_of("plain", None, False).levels == ("county", "zone")
    assert tree_of("plain", "month", False).levels == ("county", "zone")
    assert tree_of("bipartite", ("year", "month"), False).levels == (
        "county x region by year",
        "zone x place by year",
        "zone x place by month",
    )
    assert repr(tree_of("directed", "year", True)) == "CellTree(8 of county, 32 of zone)"


@pytest.mark.parametrize(("kind", "by", "loops"), CASES)
def test_picked_cells_and_matrices(kind, by, loops):
    tree = tree_of(kind, by, loops)
    right = "a1" if kind == "bipartite" else 0
    place = tree.depth - 1
    cells = labels_of(tree, place)
    when = None if by is None else tree.periods.labels()[-1]
    chosen = {(when, 1, right), (when, *sorted((1, right)))} if kind == "plain" else None
    chosen = chosen or {(when, 1, right)}
    picked = tree.picked(place, 1, right, when)
    assert [cell in chosen for cell in cells] == picked.tolist()
    every = tree.picked(place, 1, right)
    assert every.sum() == len(tree.lengths(place)) * picked.sum()
    values = np.arange(1.0, len(cells) + 1)
    for label in [None] if by is None else tree.periods.labels():
        table = tree.matrix(place, tree.summed(place, values, label))
        own = {cell[1:]: value for cell, value in zip(cells, values, strict=True)
               if cell[0] == label}  # fmt: skip
        left, columns = (side.labels(side.levels[-1]) for side in (tree.rows, tree.columns))
        for (a, row), (b, column) in product(enumerate(left), enumerate(columns)):
            key = tuple(sorted((row, column))) if kind == "plain" else (row, column)
            assert table[a, b] == own.get(key, 0)
    assert tree.summed(place, values).sum() == values.sum()


@pytest.mark.parametrize("by", [by for by in LEVELS if by is not None])
def test_one_coarsest_period_is_a_tree_of_its_own(by):
    tree = tree_of("plain", by, True)
    first = tree.period_level(1)
    assert tree.has_period_trees is (len(tree.periods.labels(first)) > 1)
    assert tree.has_one_period_level is isinstance(by, str)
    for code, label in enumerate(tree.periods.labels(first)):
        own = tree.of_period(label)
        assert own.levels == tree.levels
        for place in range(1, tree.depth):
            inside = tree.in_period(place, code)
            kept = [
                cell for cell, is_in in zip(labels_of(tree, place), inside, strict=True) if is_in
            ]
            assert labels_of(own, place) == kept
            assert own.pairs(place).tolist() == tree.pairs(place)[inside].tolist()
    assert tree.of_period() == tree.of_period(tree.periods.labels(first)[0])


def test_trees_are_equal_if_all_of_them_is():
    made = [tree_of(*case) for case in CASES]
    for number, first in enumerate(made):
        assert [first == second for second in made] == [number == at for at in range(len(made))]
    again = tree_of("plain", "month", True)
    assert hash(again) == hash(tree_of("plain", "month", True))
    assert again != "a tree"


def test_single_vertices_have_a_cell_with_themselves_if_loops_count():
    alone = gc.Groups(gc.VertexSet(1), {"zone": ["a"]}).tree
    with pytest.raises(GraphError, match="nothing to count"):
        CellTree(alone)
    for directed in (False, True):
        assert CellTree(alone, directed=directed, loops=True).pairs(1).tolist() == [1]


def test_what_is_refused():
    tree = tree_of("plain", "year", False)
    with pytest.raises(QueryError, match="unknown period '2026-01'; this level has '2025', '2026'"):
        tree.picked(2, 0, 1, "2026-01")
    with pytest.raises(QueryError, match="name a period"):
        tree.picked(2, 0, 1, [])
    with pytest.raises(QueryError, match="no periods: leave period= out"):
        tree_of("plain", None, False).picked(2, 0, 1, "2026")
    with pytest.raises(ValueError, match="found by their periods"):
        tree.locate(2, np.zeros(1, int), np.ones(1, int))
