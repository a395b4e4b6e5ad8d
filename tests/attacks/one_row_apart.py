"""Checks that a reader of private rows reads each row, and each user, independently of the others.

A case has the rows of a source and a function that reads some of them. All rows are read, then all
but one (or all but those of one user), then that row alone. A reader is correct if the first result
is the second one merged with the third. Nothing is checked if the rows are refused, so each test
counts the cases that were read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from graphcuts_dp import GraphCutsError, ParameterError, Rows
from graphcuts_dp.graph.adjacency import AnyGraph
from tests.audits.rows_in_memory import bounded

MERGE_FUNCTIONS = {"max": max, "min": min, "sum": lambda a, b: a + b}


@dataclass(frozen=True, kw_only=True)
class Case:
    """Private rows and a function that reads them.

    Attributes:
        rows: in the form that `read` takes.
        read: reads some of the rows as a graph or as rows with users. The public part of the source
            (a header, comments, a declared number of rows) is the same in each call, and so are the
            vertices.
        users: the user of each row; empty if rows have no users.
        merge: how weights of one pair are merged ("max", "min" or "sum"). For "min" all weights are
            positive, since a weight of 0 is no edge.
        max_weight: to which weights are clipped after merging; None if they are not.
        infers_weights: whether the source does not declare whether the graph is weighted. Then the
            first row decides, and mechanisms refuse the graph for lack of a bound on weights.
    """

    rows: Sequence[Any]
    read: Callable[[Sequence[Any]], Any]
    users: Sequence[Any] = ()
    merge: str = "max"
    max_weight: float | None = None
    infers_weights: bool = False

    def read_or_none(self, rows: Sequence[Any]) -> Any:
        """Return what these rows are read as; None if they are refused."""
        try:
            return self.read(rows)
        except GraphCutsError:
            return None


def weight_by_pair(graph: AnyGraph) -> dict[tuple[int, int], float]:
    """Return the weight of each edge by its pair of vertices."""
    pairs = zip(graph.rows.tolist(), graph.columns.tolist(), strict=True)
    return dict(zip(pairs, graph.weights.tolist(), strict=True))


def public_part(graph: AnyGraph) -> tuple[Any, ...]:
    """Return everything that is public of a graph: all but its edges and weights."""
    vertex_sets = graph.space if isinstance(graph.space, tuple) else (graph.space,)
    return (
        type(graph),
        graph.weighted,
        graph.max_weight,
        graph.max_weight_change,
        graph.note,
        *((list(vertices.labels), vertices.inferred) for vertices in vertex_sets),
    )


def check_row(case: Case, index: int) -> bool:
    """Check that one row changes its own pair only, by its own weight.

    Args:
        index: of the row.

    Returns:
        False if nothing was checked, since the rows were refused with that row or without it.
    """
    rows = case.rows
    of_all_rows = case.read_or_none(rows)
    without_row = case.read_or_none([*rows[:index], *rows[index + 1 :]])
    if of_all_rows is None or without_row is None:
        return False
    if case.infers_weights and of_all_rows.weighted and not without_row.weighted:
        assert len(rows) == 1
        with pytest.raises(ParameterError, match="without a public bound"):
            of_all_rows.check_bounded()
        return False
    of_row_alone = case.read_or_none([rows[index]])
    assert public_part(without_row) == public_part(of_all_rows)
    weights, expected = weight_by_pair(of_all_rows), weight_by_pair(without_row)
    if of_row_alone is None:  # such as a row that looks like a header if no row is above it
        pairs = weights.keys() | expected.keys()
        assert sum(weights.get(pair) != expected.get(pair) for pair in pairs) <= 1
        return True
    assert public_part(of_row_alone) == public_part(of_all_rows)
    weights_of_row = weight_by_pair(of_row_alone)
    assert len(weights_of_row) <= 1
    merge = MERGE_FUNCTIONS[case.merge] if of_all_rows.weighted else max
    for pair, weight in weights_of_row.items():
        merged = merge(expected[pair], weight) if pair in expected else weight
        expected[pair] = merged if case.max_weight is None else min(merged, case.max_weight)
    assert weights == pytest.approx(expected, rel=1e-12, abs=0)
    return True


def rows_by_user(rows: Rows) -> dict[int, list[tuple[tuple[int, ...], float]]]:
    """Return each user's pairs and weights, sorted.

    The key of a user depends on the name of the user only, and not on other rows.
    """
    pairs_and_weights: dict[int, list[tuple[tuple[int, ...], float]]] = {}
    arrays = rows.row_arrays
    assert arrays is not None
    assert arrays.users is not None
    weights = np.zeros(len(arrays.users)) if arrays.weights is None else arrays.weights
    user_keys = arrays.marks[arrays.users].tolist()
    endpoints = (vertices.tolist() for vertices in arrays.endpoints)
    for user_key, *pair, weight in zip(user_keys, *endpoints, weights.tolist(), strict=True):
        pairs_and_weights.setdefault(user_key, []).append((tuple(pair), weight))
    return {user_key: sorted(values) for user_key, values in pairs_and_weights.items()}


def check_user(case: Case, user: Any, *, max_contributions: int | None) -> bool:
    """Check that the rows of one user do not change those of others, nor a count by much.

    Args:
        user: whose rows are removed.
        max_contributions: bound on the change of the counts; None to skip this check, which takes
            as long as the other one and does not depend on the format.

    Returns:
        False if nothing was checked, since the rows were refused with that user or without.
    """
    rows_of_others = [
        row for row, row_user in zip(case.rows, case.users, strict=True) if row_user != user
    ]
    of_all_rows, without_user = case.read_or_none(case.rows), case.read_or_none(rows_of_others)
    if of_all_rows is None or without_user is None:
        return False
    assert isinstance(of_all_rows, Rows)
    assert isinstance(without_user, Rows)
    for public in ("space", "counting", "weight_unit", "user_is_source"):
        assert getattr(without_user, public) == getattr(of_all_rows, public), public
    before, after = rows_by_user(of_all_rows), rows_by_user(without_user)
    removed_users = before.keys() - after.keys()
    assert len(removed_users) <= 1
    assert {key: rows for key, rows in before.items() if key not in removed_users} == after
    if max_contributions is None:
        return True
    graphs = [bounded(rows, max_contributions) for rows in (of_all_rows, without_user)]
    assert public_part(graphs[0]) == public_part(graphs[1])
    counts_before, counts_after = map(weight_by_pair, graphs)
    change = sum(
        abs(counts_before.get(pair, 0) - counts_after.get(pair, 0))
        for pair in counts_before | counts_after
    )
    assert change <= max_contributions
    return True


# A few hundred files of all formats together show a fault of a reader; the slow tests read more.
in_many_cases = pytest.mark.parametrize("cases", [20, pytest.param(2_000, marks=pytest.mark.slow)])
