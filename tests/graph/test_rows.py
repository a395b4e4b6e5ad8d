"""Bounding what each user contributes: on every small table, and whatever else is in the table."""

from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError, VertexSet
from graphcuts_dp.graph.engine import MOST
from graphcuts_dp.schema.counting import COUNTINGS, Counting
from graphcuts_dp.schema.vertices import Arcs
from tests.audits.rows_in_memory import bounded, rows_in_memory

pytestmark = pytest.mark.usefixtures("one_database")  # of many small tables

Pair = tuple[int, int]
UserRows = tuple[tuple[int, float], ...]  # of one user: numbers of pairs, and weights

N = 3
EDGES = [(0, 1), (0, 2), (1, 2)]
ARCS = [(0, 1), (1, 0), (2, 1)]
WEIGHTS = (0.4, 1.0, 2.7)  # below, at and above one unit


def rows_of(
    rows_of_users: dict[int, UserRows],
    *,
    counting: Counting,
    pairs: list[Pair] = EDGES,
    directed: bool = False,
    weight_unit: float = 1.0,
    n: int = N,
) -> gc.Rows:
    """Return a table with the rows of each user."""
    table = [
        (user, *pairs[pair_index], weight)
        for user, user_rows in rows_of_users.items()
        for pair_index, weight in user_rows
    ]
    *integers, weights = list(zip(*table, strict=True)) or [(), (), (), ()]
    users, first, second = (np.array(column, dtype=np.int64) for column in integers)
    return rows_in_memory(
        Arcs(VertexSet(n)) if directed else VertexSet(n),
        users,
        np.arange(max([*rows_of_users, 2]) + 1, dtype=np.uint64),
        (first, second),
        np.array(weights, dtype=float) if counting == "weight" else None,
        counting=counting,
        weight_unit=weight_unit,
    )


def all_user_rows(counting: Counting, most: int) -> list[UserRows]:
    """Return everything that one user can have: all multisets of up to `most` rows."""
    weights = WEIGHTS if counting == "weight" else (1.0,)
    possible_rows = list(product(range(len(EDGES)), weights))
    return [
        user_rows
        for size in range(most + 1)
        for user_rows in combinations_with_replacement(possible_rows, size)
    ]


@cache
def contributed(counting: Counting, bound: int, most: int, directed: bool = False) -> np.ndarray:
    """Return what one user adds to each pair, a line for each element of `all_user_rows`.

    All are in one table, where each user has vertices of its own. That users add up is shown by
    `test_a_user_contributes_the_same_whatever_the_order_and_the_other_users`.
    """
    possible, pairs = all_user_rows(counting, most), ARCS if directed else EDGES
    shifted_pairs = [
        (u + N * user, v + N * user) for user in range(len(possible)) for u, v in pairs
    ]
    rows_of_users = {
        user: tuple((pair_index + len(pairs) * user, weight) for pair_index, weight in user_rows)
        for user, user_rows in enumerate(possible)
    }
    rows = rows_of(
        rows_of_users,
        counting=counting,
        pairs=shifted_pairs,
        directed=directed,
        n=N * len(possible),
    )
    graph = bounded(rows, bound)
    weights = dict(zip(zip(graph.rows, graph.columns, strict=True), graph.weights, strict=True))
    keys = shifted_pairs if directed else [(min(pair), max(pair)) for pair in shifted_pairs]
    return np.array([weights.get(key, 0.0) for key in keys]).reshape(len(possible), len(pairs))


@pytest.mark.thorough(cases=11)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("bound", [1, 2, 3])
@pytest.mark.parametrize("counting", COUNTINGS)
def test_a_user_contributes_whole_numbers_whose_sum_is_at_most_the_bound(counting, bound, directed):
    """So a user is a path of `bound` changes by one, as group privacy counts them."""
    most = 2 if counting == "weight" else 3
    contributions = contributed(counting, bound, most, directed)
    assert (contributions == np.round(contributions)).all()
    assert contributions.min() == 0
    assert contributions.sum(axis=1).max() == bound
    # A pair counts once for edges and users; otherwise the whole bound can be on one pair.
    squares = (contributions**2).sum(axis=1).max()
    assert squares == (bound if counting in ("edges", "users") else bound**2)


@pytest.mark.parametrize("counting", COUNTINGS)
def test_a_user_contributes_as_much_as_the_bound_allows(counting):
    bound = 2
    contributions = contributed(counting, bound, most=2)
    for user_rows, kept in zip(all_user_rows(counting, most=2), contributions, strict=True):
        if counting == "weight":
            weights = [0.0] * len(EDGES)
            for pair_index, weight in user_rows:
                weights[pair_index] += weight
            scale = min(1, bound / sum(weights)) if user_rows else 1
            assert (kept == np.floor(np.array(weights) * scale + 1e-3)).all()
        else:
            pairs = [pair_index for pair_index, _ in user_rows]
            count = len(set(pairs)) if counting in ("edges", "users") else len(pairs)
            assert kept.sum() == min(bound, count)


@pytest.mark.parametrize("counting", COUNTINGS)
def test_replacing_a_user_changes_at_most_twice_the_bound(counting):
    contributions = contributed(counting, 2, 1 if counting == "weight" else 2)
    largest = np.abs(contributions[:, None] - contributions[None]).sum(axis=2).max()
    # Two and two rows or units; there are only three pairs to differ in if each counts once.
    assert largest == (3 if counting in ("edges", "users") else 4)


def test_a_bounded_graph_has_whole_numbers_of_units_and_states_the_unit():
    rows = rows_of({0: [(0, 2.7), (1, 2.7)], 1: [(0, 1.0)]}, counting="weight", weight_unit=0.5)
    graph = bounded(rows, 4)
    # 5.4 units each are scaled to 2; the other user has 2 units.
    assert graph.dense()[0, 1] == 4
    assert graph.dense()[0, 2] == 2
    assert graph.max_weight_change == 1
    assert graph.max_weight is None
    assert graph.note == "weights in units of 0.5"
    assert repr(rows) == "Rows(n=3, weight in units of 0.5)"
    with pytest.raises(TypeError):
        hash(rows)


def test_a_bounded_graph_of_edges_has_no_weights():
    assert not bounded(rows_of({0: [(0, 1.0)]}, counting="edges"), 1).weighted


def rounded_at_the_end(rows_of_users: list[UserRows], bound: int) -> np.ndarray:
    """Round sums: an incorrect variant, since a user with a tiny weight can change every pair."""
    total = np.zeros(len(EDGES))
    for user_rows in rows_of_users:
        user_weight = sum(weight for _, weight in user_rows)
        for pair_index, weight in user_rows:
            total[pair_index] += weight * min(1.0, bound / user_weight)
    return np.floor(total + 1e-9)


def bounded_by_pair(rows_of_users: list[UserRows], bound: int) -> np.ndarray:
    """Bound the rows of each pair: an incorrect variant, since a user can have many pairs."""
    kept = np.zeros(len(EDGES))
    for user_rows in rows_of_users:
        for pair_index, _ in user_rows:
            kept[pair_index] = min(bound, kept[pair_index] + 1)
    return kept


@pytest.mark.parametrize(
    ("variant", "counting"), [(rounded_at_the_end, "weight"), (bounded_by_pair, "rows")]
)
def test_incorrect_variants_let_a_user_change_more_than_the_bound(variant, counting):
    bound = 1
    pairs = product(all_user_rows(counting, most=2), repeat=2)
    changes = [variant([first, second], bound) - variant([first], bound) for first, second in pairs]
    assert np.abs(changes).sum(axis=1).max() > bound


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("counting", COUNTINGS)
def test_a_user_contributes_the_same_whatever_the_order_and_the_other_users(counting):
    rng = np.random.default_rng(5)
    n, users, count, bound = 30, 20, 600, 7
    user_of_row = rng.integers(users, size=count)
    first, second = rng.integers(n, size=(2, count))
    weights = rng.exponential(size=count)
    marks = rng.integers(2**63, size=users, dtype=np.uint64)

    def graph(row_indices: np.ndarray, user_numbers: np.ndarray | None = None) -> gc.Graph:
        """Return the bounded graph of some rows, with other numbers for the users."""
        if user_numbers is None:
            user_numbers = np.arange(users)
        marks_of_numbers = np.empty(users, dtype=np.uint64)
        marks_of_numbers[user_numbers] = marks
        rows = rows_in_memory(
            VertexSet(n),
            user_numbers[user_of_row[row_indices]],
            marks_of_numbers,
            (first[row_indices], second[row_indices]),
            weights[row_indices],
            counting=counting,
            weight_unit=0.25 if counting == "weight" else 1.0,
        )
        return bounded(rows, bound)

    whole = graph(np.arange(count))
    shuffled = rng.permutation(count)
    assert graph(shuffled, rng.permutation(users)) == whole
    for user in (3, 11):
        alone = graph(np.flatnonzero(user_of_row == user)).dense()
        others = graph(np.flatnonzero(user_of_row != user)).dense()
        together = np.maximum(alone, others) if counting == "edges" else alone + others
        assert np.array_equal(together, whole.dense())
        assert np.triu(alone).sum() <= bound
        assert alone.any() or counting == "weight"  # small weights are rounded down to no unit


def test_users_with_the_same_pairs_keep_different_ones():
    """If all users kept the same pairs, the others would never be counted."""
    n, users, bound = 12, 300, 10
    first, second = np.triu_indices(n, 1)
    rows = rows_in_memory(
        VertexSet(n),
        np.repeat(np.arange(users), len(first)),
        np.random.default_rng(1).integers(2**63, size=users, dtype=np.uint64),
        (np.tile(first, users), np.tile(second, users)),
        counting="users",
    )
    graph = bounded(rows, bound)
    assert graph.weights.sum() == users * bound
    # Each pair is kept by 10/66 of 300 users: 45, up to 41 or 6.5 standard deviations.
    assert len(graph.weights) == len(first)
    assert np.abs(graph.weights - users * bound / len(first)).max() < 41


def test_equal_rows_of_a_user_count_each_as_rows_and_once_as_users():
    def first_weight(rows_of_users: dict[int, UserRows], counting: Counting) -> float:
        return float(bounded(rows_of(rows_of_users, counting=counting), 3).dense()[0, 1])

    five_rows = {0: [(0, 1.0)] * 5}
    assert first_weight(five_rows, "rows") == 3
    assert first_weight(five_rows, "users") == 1
    assert first_weight({0: [(0, 1.0)], 1: [(0, 1.0)]}, "users") == 2
    assert rows_of(five_rows, counting="rows").contributions().tolist() == [5]
    assert rows_of(five_rows, counting="users").contributions().tolist() == [1]


def test_contributions_are_rounded_up_to_whole_units():
    rows = rows_of({0: [(0, 2.7), (1, 0.4)], 1: [(2, 1.0)]}, counting="weight")
    assert sorted(rows.contributions().tolist()) == [1, 4]
    assert len(rows_of({}, counting="edges").contributions()) == 0
    assert len(rows_of({}, counting="weight").contributions()) == 0


def test_huge_weights_and_bounds_stay_exact():
    rows = rows_of({0: [(0, 1e300), (1, 1e300), (2, 1.0)]}, counting="weight", weight_unit=1e-5)
    graph = bounded(rows, MOST)
    assert graph.weights.sum() <= MOST
    assert graph.dense()[0, 1] == graph.dense()[0, 2] > 0


@pytest.mark.parametrize("bound", [0, -1, 1.5, pytest.param(True, id="bool"), "3", MOST + 1])
def test_a_bound_that_is_no_whole_number_in_range_is_refused(bound):
    with pytest.raises(ParameterError, match="must be a whole number"):
        bounded(rows_of({}, counting="edges"), bound)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"counting": "sums"}, "unknown counting"),
        ({"counting": "edges", "weight_unit": 2.0}, "unit is for"),
        *(
            ({"counting": "weight", "weight_unit": weight_unit}, "unit must be")
            for weight_unit in (0.0, 5e-324, np.nan, "1")
        ),
    ],
)
def test_an_unknown_counting_or_unit_of_weight_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        bounded(rows_of({}, **options), 1)


def test_a_bipartite_graph_may_join_vertices_of_equal_numbers():
    rows = rows_in_memory(
        (VertexSet(2), VertexSet(2)),
        np.array([0, 0]),
        np.arange(1, dtype=np.uint64),
        (np.array([1, 0]), np.array([1, 1])),
    )
    assert isinstance(bounded(rows, 2), gc.BipartiteGraph)
    assert bounded(rows, 2).dense().tolist() == [[0, 1], [0, 1]]


def test_the_repr_of_rows_in_memory_shows_no_row():
    rows = rows_of({0: [(0, 1.0)]}, counting="weight")
    assert repr(rows.row_arrays) == "RowArrays(private)"
