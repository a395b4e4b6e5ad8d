"""Bounding what each user contributes: every small file, and what must not matter."""

from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError, VertexSet
from graphcuts_dp.graph.engine import MOST
from graphcuts_dp.schema.counting import COUNTINGS
from graphcuts_dp.schema.vertices import Arcs
from tests.audits.rows_in_memory import bounded, rows_in_memory

pytestmark = pytest.mark.usefixtures("one_database")  # of many small tables

N = 3
EDGES = [(0, 1), (0, 2), (1, 2)]
ARCS = [(0, 1), (1, 0), (2, 1)]
WEIGHTS = (0.4, 1.0, 2.7)


def rows_of(users, *, counting, pairs=EDGES, directed=False, weight_unit=1.0, n=N):
    """Rows of a file: for each user its list of (pair, weight)."""
    listed = [(o, *pairs[p], w) for o, rows in users.items() for p, w in rows]
    columns = list(zip(*listed, strict=True)) or [(), (), (), ()]
    whose, first, second = (np.array(column, dtype=np.int64) for column in columns[:3])
    return rows_in_memory(
        Arcs(VertexSet(n)) if directed else VertexSet(n),
        whose,
        np.arange(max([*users, 2]) + 1, dtype=np.uint64),
        (first, second),
        np.array(columns[3], dtype=float) if counting == "weight" else None,
        counting=counting,
        weight_unit=weight_unit,
    )


def matrix(users, bound, **kind):
    return bounded(rows_of(users, **kind), bound).dense()


def files_of_one(counting, most):
    """Everything that one user can have: all multisets of up to `most` rows."""
    weights = WEIGHTS if counting == "weight" else (1.0,)
    kinds = list(product(range(len(EDGES)), weights))
    return [rows for size in range(most + 1) for rows in combinations_with_replacement(kinds, size)]


@cache
def contributed(counting, bound, most, directed=False):
    """What one user adds to each pair, for everything that it can have, shape (files, pairs).

    All in one table: each user has vertices of its own. `test_neither_the_order_nor_the_others_
    matter` shows that users add up.
    """
    files, pairs = files_of_one(counting, most), ARCS if directed else EDGES
    moved = [(u + N * each, v + N * each) for each in range(len(files)) for u, v in pairs]
    users = {
        each: [(place + len(pairs) * each, weight) for place, weight in rows]
        for each, rows in enumerate(files)
    }
    kind = {"counting": counting, "pairs": moved, "directed": directed, "n": N * len(files)}
    graph = bounded(rows_of(users, **kind), bound)
    weights = dict(zip(zip(graph.rows, graph.columns, strict=True), graph.weights, strict=True))
    found = [
        weights.get((min(p) if not directed else p[0], max(p) if not directed else p[1]), 0.0)
        for p in moved
    ]
    return np.array(found).reshape(len(files), len(pairs))


@pytest.mark.thorough(cases=11)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("bound", [1, 2, 3])
@pytest.mark.parametrize("counting", COUNTINGS)
def test_a_user_is_a_path_of_at_most_k_steps(counting, bound, directed):
    most = 2 if counting == "weight" else 3
    found = contributed(counting, bound, most, directed)
    assert (found == np.round(found)).all()
    assert found.min() == 0
    # Whole numbers above 0, so a path of as many steps of one exists.
    assert found.sum(axis=1).max() == bound
    # A pair once: the squares are as few as the steps. Else they can all be on one pair.
    squares = (found**2).sum(axis=1).max()
    assert squares == (bound if counting in ("edges", "users") else bound**2)


@pytest.mark.parametrize("counting", COUNTINGS)
def test_as_much_is_kept_as_the_bound_allows(counting):
    files = files_of_one(counting, 2)
    for rows, kept in zip(files, contributed(counting, 2, 2), strict=True):
        if counting == "weight":
            total = sum(weight for _, weight in rows)
            exact = [sum(w for p, w in rows if p == place) for place in range(3)]
            exact = np.array(exact) * min(1, 2 / total if total else 1)
            assert (np.abs(kept - np.floor(exact + 1e-3)) <= 1e-9).all()
        else:
            have = len({p for p, _ in rows}) if counting in ("edges", "users") else len(rows)
            assert kept.sum() == min(2, have)


@pytest.mark.parametrize("counting", COUNTINGS)
def test_replacing_a_user_costs_twice_the_steps(counting):
    found = contributed(counting, 2, 1 if counting == "weight" else 2)
    largest = np.abs(found[:, None] - found[None]).sum(axis=2).max()
    # Of three pairs, two and the third one can change; rows and units change by two and two.
    assert largest == (3 if counting in ("edges", "users") else 4)


def test_whole_numbers_and_what_is_public():
    rows = rows_of({0: [(0, 2.7), (1, 2.7)], 1: [(0, 1.0)]}, counting="weight", weight_unit=0.5)
    graph = bounded(rows, 4)
    # 5.4 units each are scaled to 2; the other user has 2 units.
    assert graph.dense()[0, 1] == 4
    assert graph.dense()[0, 2] == 2
    assert graph.max_weight_change == 1
    assert graph.max_weight is None
    assert graph.note == "weights in units of 0.5"
    assert repr(rows) == "Rows(n=3, weight in units of 0.5)"
    simple = bounded(rows_of({0: [(0, 1.0)]}, counting="edges"), 1)
    assert not simple.weighted
    with pytest.raises(TypeError):
        hash(rows)


def rounded_after(users, bound):
    """A twin that rounds what was added up: a user with next to nothing moves all pairs."""
    total = np.zeros(len(EDGES))
    for own in users:
        weight = sum(weight for _, weight in own)
        for place, each in own:
            total[place] += each * min(1.0, bound / weight)
    return np.floor(total + 1e-9)


def bounded_by_pair(users, bound):
    """A twin that bounds the rows of each pair, and not those of a user."""
    kept = np.zeros(len(EDGES))
    for place, _ in (row for rows in users for row in rows):
        kept[place] = min(bound, kept[place] + 1)
    return kept


@pytest.mark.parametrize(
    ("twin", "counting", "bound"), [(rounded_after, "weight", 1), (bounded_by_pair, "rows", 1)]
)
def test_twins_that_bound_something_else_are_seen(twin, counting, bound):
    pairs = product(files_of_one(counting, 2), repeat=2)
    changes = [twin([a, b], bound) - twin([a], bound) for a, b in pairs]
    assert np.abs(changes).sum(axis=1).max() > bound


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("counting", COUNTINGS)
def test_neither_the_order_nor_the_others_matter(counting):
    rng = np.random.default_rng(5)
    n, users, count = 30, 20, 600
    whose = rng.integers(users, size=count)
    ends = rng.integers(n, size=(2, count))
    weights = rng.exponential(size=count)
    marks = rng.integers(2**63, size=users, dtype=np.uint64)

    def graph(keep, numbers=None, order=slice(None)):
        number = np.arange(users) if numbers is None else numbers
        moved = np.empty(users, dtype=np.uint64)
        moved[number] = marks
        picked = np.flatnonzero(keep)[order]
        return bounded(
            rows_in_memory(
                VertexSet(n),
                number[whose[picked]],
                moved,
                (ends[0][picked], ends[1][picked]),
                weights[picked],
                counting=counting,
                weight_unit=0.25 if counting == "weight" else 1.0,
            ),
            7,
        )

    everything = np.ones(count, dtype=bool)
    whole = graph(everything)
    shuffled = rng.permutation(count)
    assert graph(everything, rng.permutation(users), shuffled) == whole
    # A user adds the same whoever else is there, and others do the same with and without.
    for each in (3, 11):
        alone, others = graph(whose == each).dense(), graph(whose != each).dense()
        joined = np.maximum(alone, others) if counting == "edges" else alone + others
        assert np.array_equal(joined, whole.dense())
        assert np.triu(alone).sum() <= 7
        assert alone.any() or counting == "weight"  # small weights are rounded down to no unit


def test_which_rows_are_kept_differs_between_users():
    """All users have all pairs; if all kept the same ones, the rest would never be seen."""
    n, users, bound = 12, 300, 10
    first, second = np.triu_indices(n, 1)
    whose = np.repeat(np.arange(users), len(first))
    rows = rows_in_memory(
        VertexSet(n),
        whose,
        np.random.default_rng(1).integers(2**63, size=users, dtype=np.uint64),
        (np.tile(first, users), np.tile(second, users)),
        counting="users",
    )
    graph = bounded(rows, bound)
    assert graph.weights.sum() == users * bound
    # Each pair is kept by 10/66 of 300 users: 45; no pair is far off (6.5 standard deviations).
    assert len(graph.weights) == len(first)
    assert np.abs(graph.weights - users * bound / len(first)).max() < 41


def test_equal_rows_count_once_or_each():
    twice = {0: [(0, 1.0)] * 5}
    assert matrix(twice, 3, counting="rows")[0, 1] == 3
    assert matrix(twice, 3, counting="users")[0, 1] == 1
    assert matrix({0: [(0, 1.0)], 1: [(0, 1.0)]}, 3, counting="users")[0, 1] == 2
    assert rows_of(twice, counting="rows").contributions().tolist() == [5]
    assert rows_of(twice, counting="users").contributions().tolist() == [1]


def test_contributions_tell_who_is_above_a_bound():
    rows = rows_of({0: [(0, 2.7), (1, 0.4)], 1: [(2, 1.0)]}, counting="weight")
    assert sorted(rows.contributions().tolist()) == [1, 4]
    assert len(rows_of({}, counting="edges").contributions()) == 0
    assert len(rows_of({}, counting="weight").contributions()) == 0


def test_huge_weights_and_bounds_stay_exact():
    rows = rows_of({0: [(0, 1e300), (1, 1e300), (2, 1.0)]}, counting="weight", weight_unit=1e-5)
    graph = bounded(rows, MOST)
    assert graph.weights.sum() <= MOST
    assert graph.dense()[0, 1] == graph.dense()[0, 2] > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *(({"bound": x}, "must be a whole number") for x in (0, -1, 1.5, True)),
        *(({"bound": x}, "must be a whole number") for x in ("3", MOST + 1)),
        ({"counting": "sums"}, "unknown counting"),
        ({"counting": "edges", "weight_unit": 2.0}, "unit is for"),
        *(
            ({"counting": "weight", "weight_unit": x}, "unit must be")
            for x in (0.0, 5e-324, np.nan, "1")
        ),
    ],
)
def test_what_is_no_bound_counting_or_unit(options, words):
    bound = options.pop("bound", 1)
    with pytest.raises(ParameterError, match=words):
        bounded(rows_of({}, **{"counting": "edges"} | options), bound)


def test_two_sides_may_join_equal_numbers():
    rows = rows_in_memory(
        (VertexSet(2), VertexSet(2)),
        np.array([0, 0]),
        np.arange(1, dtype=np.uint64),
        (np.array([1, 0]), np.array([1, 1])),
    )
    assert isinstance(bounded(rows, 2), gc.BipartiteGraph)
    assert bounded(rows, 2).dense().tolist() == [[0, 1], [0, 1]]


def test_rows_in_memory_do_not_show_themselves():
    rows = rows_of({0: [(0, 1.0)]}, counting="weight")
    assert repr(rows.row_arrays) == "RowArrays(private)"
