"""What every reader of private rows must keep: a row, or a user, changes only what is its own.

A case is the rows of a file or of another source, and the call that reads some of them. What is
read is compared with what is read without one row (or without all rows of one user), and with that
row alone. Reading is right if the whole is what is left, merged with the row: then no row has a say
in how another one is read. A refusal is no reading, and tells nothing here; each test counts how
many cases were really read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from graphcuts_dp import GraphCutsError, ParameterError, Rows
from graphcuts_dp.graph.adjacency import AnyGraph
from tests.audits.rows_in_memory import bounded

JOIN = {"max": max, "min": min, "sum": lambda a, b: a + b}


@dataclass(frozen=True, kw_only=True)
class Case:
    """Private rows, and how they are read.

    Attributes:
        rows: in the form that `read` takes.
        read: makes a graph, or rows with users, of some of the rows: whatever is public in the
            source (a header, a comment above the rows, a count of rows that was corrected) is there
            each time, and the vertices are given or declared.
        users: the user of each row, where they have users.
        merge: how weights of one pair are merged; of `min` no weight is 0, which is no edge.
        cap: bound to which weights are clipped after merging, if there is one.
        undeclared: whether nothing but edges tells whether there are weights. The only edge then
            decides it, and the weighted graph is one that every door refuses.
    """

    rows: Sequence[Any]
    read: Callable[[Sequence[Any]], Any]
    users: Sequence[Any] = ()
    merge: str = "max"
    cap: float | None = None
    undeclared: bool = False

    def reading(self, rows: Sequence[Any]) -> Any:
        """What these rows are read as; None if they are refused."""
        try:
            return self.read(rows)
        except GraphCutsError:
            return None


def pairs_of(graph: AnyGraph) -> dict[tuple[int, int], float]:
    """Each pair that has an edge, and its weight."""
    ends = zip(graph.rows.tolist(), graph.columns.tolist(), strict=True)
    return dict(zip(ends, graph.weights.tolist(), strict=True))


def schema(graph: AnyGraph) -> tuple[Any, ...]:
    """All that is public of a graph."""
    sets = graph.space if isinstance(graph.space, tuple) else (graph.space,)
    facts = type(graph), graph.weighted, graph.max_weight, graph.max_weight_change, graph.note
    return *facts, *((list(each.labels), each.inferred) for each in sets)


def check_row(case: Case, taken: int) -> bool:
    """Check that one row changes its own pair alone, by its own weight; False if not both read."""
    rows = case.rows
    whole, left = case.reading(rows), case.reading([*rows[:taken], *rows[taken + 1 :]])
    if whole is None or left is None:
        return False
    if case.undeclared and whole.weighted and not left.weighted:
        assert len(rows) == 1
        with pytest.raises(ParameterError, match="without a public bound"):
            whole.check_bounded()
        return False
    own = case.reading([rows[taken]])
    assert schema(left) == schema(whole)
    expected, found = pairs_of(left), pairs_of(whole)
    if own is None:  # such as a row that looks like a header where no row is above it
        pairs = found.keys() | expected.keys()
        assert sum(found.get(pair) != expected.get(pair) for pair in pairs) <= 1
        return True
    assert schema(own) == schema(whole)
    mine = pairs_of(own)
    assert len(mine) <= 1
    join = JOIN[case.merge] if whole.weighted else max
    for pair, weight in mine.items():
        joined = join(expected[pair], weight) if pair in expected else weight
        expected[pair] = joined if case.cap is None else min(joined, case.cap)
    assert found == pytest.approx(expected, rel=1e-12, abs=0)
    return True


def rows_by_user(rows: Rows) -> dict[int, list[tuple[tuple[int, ...], float]]]:
    """Each user's pairs and weights, sorted; a user is the number of the name alone."""
    found: dict[int, list[tuple[tuple[int, ...], float]]] = {}
    row_arrays = rows.row_arrays
    assert row_arrays is not None
    assert row_arrays.users is not None
    weights = np.zeros(len(row_arrays.users)) if row_arrays.weights is None else row_arrays.weights
    marks, ends = (
        row_arrays.marks[row_arrays.users].tolist(),
        (end.tolist() for end in row_arrays.endpoints),
    )
    for mark, *pair, weight in zip(marks, *ends, weights.tolist(), strict=True):
        found.setdefault(mark, []).append((tuple(pair), weight))
    return {mark: sorted(own) for mark, own in found.items()}


def check_user(case: Case, user: Any, *, at_most: int | None) -> bool:
    """Check that one user changes no rows of others, and `at_most` steps; False if not both.

    `at_most` is None for most cases: what bounds the rows sees none of the file, and takes as long
    as all else.
    """
    kept = [row for row, whose in zip(case.rows, case.users, strict=True) if whose != user]
    whole, left = case.reading(case.rows), case.reading(kept)
    if whole is None or left is None:
        return False
    for each in (whole, left):
        assert isinstance(each, Rows)
    assert left.space == whole.space
    assert (left.counting, left.weight_unit) == (whole.counting, whole.weight_unit)
    assert left.user_is_source == whole.user_is_source
    found, others = rows_by_user(whole), rows_by_user(left)
    gone = found.keys() - others.keys()
    assert len(gone) <= 1
    assert {mark: own for mark, own in found.items() if mark not in gone} == others
    if at_most is None:
        return True
    graphs = [bounded(each, at_most) for each in (whole, left)]
    assert schema(graphs[0]) == schema(graphs[1])
    before, after = map(pairs_of, graphs)
    assert sum(abs(before.get(k, 0) - after.get(k, 0)) for k in before | after) <= at_most
    return True


# A fault of a reader shows in a few hundred files of all formats together; the whole number of each
# is for the slow tests.
in_many_cases = pytest.mark.parametrize("cases", [20, pytest.param(2_000, marks=pytest.mark.slow)])
