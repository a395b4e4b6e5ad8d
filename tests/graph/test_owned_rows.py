"""Bounding what each owner contributes: every small file, and what must not matter."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.owned_rows import COUNTINGS, MOST_STEPS, OwnedRows
from graphcuts_dp.pairs.vertices import Arcs, VertexSet

N = 3
EDGES = [(0, 1), (0, 2), (1, 2)]
ARCS = [(0, 1), (1, 0), (2, 1)]
WEIGHTS = (0.4, 1.0, 2.7)


def rows_of(owners, *, counting, pairs=EDGES, directed=False, unit=1.0):
    """Rows of a file: for each owner its list of (pair, weight)."""
    listed = [(o, *pairs[p], w) for o, rows in owners.items() for p, w in rows]
    columns = list(zip(*listed, strict=True)) or [(), (), (), ()]
    whose, first, second = (np.array(column, dtype=np.int64) for column in columns[:3])
    return OwnedRows(
        Arcs(VertexSet(N)) if directed else VertexSet(N),
        whose,
        np.array([11, 222, 3333], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15),
        (first, second),
        np.array(columns[3], dtype=float) if counting == "weight" else None,
        counting=counting,
        unit=unit,
    )


def matrix(owners, at_most, **kind):
    return rows_of(owners, **kind).bounded(at_most=at_most).dense()


def files_of_one(counting, most):
    """Everything that one owner can have: all multisets of up to `most` rows."""
    weights = WEIGHTS if counting == "weight" else (1.0,)
    kinds = list(product(range(len(EDGES)), weights))
    return [rows for size in range(most + 1) for rows in combinations_with_replacement(kinds, size)]


def largest_changes(counting, at_most, *, directed=False, most=3, graph_of=matrix):
    """Largest L1 and squared L2 change over all files of two owners when the second one leaves."""
    kind = {"counting": counting, "pairs": ARCS if directed else EDGES, "directed": directed}
    found = [(0.0, 0.0, 0.0)]
    every = files_of_one(counting, most)
    for first in every:
        alone = graph_of({0: first}, at_most, **kind)
        for second in every:
            change = graph_of({0: first, 1: second}, at_most, **kind) - alone
            if not directed:
                change = np.triu(change)
            found.append((np.abs(change).sum(), (change**2).sum(), -change.min()))
    return tuple(np.max(found, axis=0))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("at_most", [1, 2, 3])
@pytest.mark.parametrize("counting", COUNTINGS)
def test_an_owner_is_a_path_of_at_most_k_steps(counting, at_most, directed):
    most = 2 if counting == "weight" else 3
    total, squares, fallen = largest_changes(counting, at_most, directed=directed, most=most)
    # Changes of one owner are whole numbers of one sign, so a path of `total` steps of one exists.
    assert fallen == 0
    assert total == at_most
    # A pair once: the squares are as few as the steps. Else they can all be on one pair.
    assert squares == (at_most if counting in ("edges", "owners") else at_most**2)


@pytest.mark.parametrize("counting", COUNTINGS)
def test_replacing_an_owner_costs_twice_the_steps(counting):
    most = 1 if counting == "weight" else 2
    every = files_of_one(counting, most)
    largest = 0.0
    for first, old, new in product(every, repeat=3):
        before, after = (
            np.triu(matrix({0: first, 1: own}, 2, counting=counting)) for own in (old, new)
        )
        largest = max(largest, np.abs(before - after).sum())
    # Of three pairs, two and the third one can change; rows and units change by two and two.
    assert largest == (3 if counting in ("edges", "owners") else 4)


def test_whole_numbers_and_what_is_public():
    rows = rows_of({0: [(0, 2.7), (1, 2.7)], 1: [(0, 1.0)]}, counting="weight", unit=0.5)
    graph = rows.bounded(at_most=4)
    # 5.4 units each are scaled to 2; the other owner has 2 units.
    assert graph.dense()[0, 1] == 4
    assert graph.dense()[0, 2] == 2
    assert graph.hide_change == 1
    assert graph.weight_cap is None
    assert graph.note == "weights in units of 0.5"
    assert repr(rows) == "OwnedRows(n=3, weight in units of 0.5)"
    simple = rows_of({0: [(0, 1.0)]}, counting="edges").bounded(at_most=1)
    assert not simple.weighted
    with pytest.raises(TypeError):
        hash(rows)


def rounded_after(owners, at_most, **_):
    """A twin that rounds what was added up: an owner with next to nothing moves all pairs."""
    total = np.zeros((N, N))
    for own in owners.values():
        weight = sum(weight for _, weight in own)
        for place, each in own:
            total[EDGES[place]] += each * min(1.0, at_most / weight)
    return np.floor(total + 1e-9)


def bounded_by_pair(owners, at_most, **_):
    """A twin that bounds the rows of each pair, and not those of an owner."""
    kept = np.zeros((N, N))
    for place, _ in (row for rows in owners.values() for row in rows):
        kept[EDGES[place]] = min(at_most, kept[EDGES[place]] + 1)
    return kept


@pytest.mark.parametrize(
    ("twin", "counting", "at_most"), [(rounded_after, "weight", 1), (bounded_by_pair, "rows", 1)]
)
def test_twins_that_bound_something_else_are_seen(twin, counting, at_most):
    assert largest_changes(counting, at_most, most=2, graph_of=twin)[0] > at_most


@pytest.mark.parametrize("counting", COUNTINGS)
def test_neither_the_order_nor_the_others_matter(counting):
    rng = np.random.default_rng(5)
    n, owners, count = 30, 20, 600
    whose = rng.integers(owners, size=count)
    ends = rng.integers(n, size=(2, count))
    weights = rng.exponential(size=count)
    marks = rng.integers(2**63, size=owners, dtype=np.uint64)

    def graph(keep, numbers=None, order=slice(None)):
        number = np.arange(owners) if numbers is None else numbers
        moved = np.empty(owners, dtype=np.uint64)
        moved[number] = marks
        picked = np.flatnonzero(keep)[order]
        return OwnedRows(
            VertexSet(n),
            number[whose[picked]],
            moved,
            (ends[0][picked], ends[1][picked]),
            weights[picked],
            counting=counting,
            unit=0.25 if counting == "weight" else 1.0,
        ).bounded(at_most=7)

    everything = np.ones(count, dtype=bool)
    whole = graph(everything)
    shuffled = rng.permutation(count)
    assert graph(everything, rng.permutation(owners), shuffled) == whole
    # Each owner adds the same whoever else is there.
    one_by_one = sum(graph(whose == each).dense() for each in range(owners))
    if counting == "edges":
        one_by_one = np.minimum(one_by_one, 1)
    assert np.array_equal(one_by_one, whole.dense())
    assert np.triu(graph(whose == 3).dense()).sum() <= 7


def test_which_rows_are_kept_differs_between_owners():
    """All owners have all pairs; if all kept the same ones, the rest would never be seen."""
    n, owners, at_most = 12, 300, 10
    first, second = np.triu_indices(n, 1)
    whose = np.repeat(np.arange(owners), len(first))
    rows = OwnedRows(
        VertexSet(n),
        whose,
        np.random.default_rng(1).integers(2**63, size=owners, dtype=np.uint64),
        (np.tile(first, owners), np.tile(second, owners)),
        counting="owners",
    )
    graph = rows.bounded(at_most=at_most)
    assert graph.weights.sum() == owners * at_most
    # Each pair is kept by 10/66 of 300 owners: 45; no pair is far off (6.5 standard deviations).
    assert len(graph.weights) == len(first)
    assert np.abs(graph.weights - owners * at_most / len(first)).max() < 41


def test_equal_rows_count_once_or_each():
    twice = {0: [(0, 1.0)] * 5}
    assert matrix(twice, 3, counting="rows")[0, 1] == 3
    assert matrix(twice, 3, counting="owners")[0, 1] == 1
    assert matrix({0: [(0, 1.0)], 1: [(0, 1.0)]}, 3, counting="owners")[0, 1] == 2
    assert rows_of(twice, counting="rows").contributions().tolist() == [5]
    assert rows_of(twice, counting="owners").contributions().tolist() == [1]


def test_contributions_tell_who_is_above_a_bound():
    rows = rows_of({0: [(0, 2.7), (1, 0.4)], 1: [(2, 1.0)]}, counting="weight")
    assert sorted(rows.contributions().tolist()) == [1, 4]
    assert len(rows_of({}, counting="edges").contributions()) == 0
    assert len(rows_of({}, counting="weight").contributions()) == 0


def test_huge_weights_and_bounds_stay_exact():
    rows = rows_of({0: [(0, 1e300), (1, 1e300), (2, 1.0)]}, counting="weight", unit=1e-5)
    graph = rows.bounded(at_most=MOST_STEPS)
    assert graph.weights.sum() <= MOST_STEPS
    assert graph.dense()[0, 1] == graph.dense()[0, 2] > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *(({"at_most": x}, "at_most must be a whole number") for x in (0, -1, 1.5, True, None)),
        *(({"at_most": x}, "at_most must be a whole number") for x in ("3", MOST_STEPS + 1)),
        ({"counting": "sums"}, "unknown counting"),
        ({"counting": "edges", "unit": 2.0}, "unit is for"),
        *(({"counting": "weight", "unit": x}, "unit must be") for x in (0.0, np.nan, "1")),
    ],
)
def test_what_is_no_bound_counting_or_unit(options, words):
    at_most = options.pop("at_most", 1)
    with pytest.raises(ParameterError, match=words):
        rows_of({}, **{"counting": "edges"} | options).bounded(at_most=at_most)


def test_two_sides_may_join_equal_numbers():
    rows = OwnedRows(
        (VertexSet(2), VertexSet(2)),
        np.array([0, 0]),
        np.arange(1, dtype=np.uint64),
        (np.array([1, 0]), np.array([1, 1])),
    )
    assert isinstance(rows.bounded(at_most=2), gc.BipartiteGraph)
    assert rows.bounded(at_most=2).dense().tolist() == [[0, 1], [0, 1]]
