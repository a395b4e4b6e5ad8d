"""What every reader of private rows must keep: a row, or an owner, changes only what is its own.

A case is a file as its rows, what makes the bytes of a file of some of these rows, and the call
that reads such a file. The file is read as it is, without one row (or without all rows of one
owner), and with that row alone. Reading is right if the whole is what is left, merged with the row:
then no row has a say in how another one is read. A refusal is no reading, and tells nothing here;
each test counts how many cases were really read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphcuts_dp.errors import GraphCutsError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.owned_rows import OwnedRows

JOIN = {"max": max, "min": min, "sum": lambda a, b: a + b}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A private file, and how it is read.

    Attributes:
        name: of the file; its ending tells the format.
        rows: the private rows, in the form that `write` takes.
        write: makes the whole file of some of the rows: whatever is public in it (a header, a
            comment above the rows, a count of rows that was corrected) is there each time.
        read: reads the file at a path into a graph or rows with owners; vertices are given.
        owners: the owner of each row, where they have owners.
        merge: how weights of one pair are merged; no weight is 0, which would be no edge.
        cap: bound to which weights are clipped after merging, if there is one.
    """

    name: str
    rows: Sequence[Any]
    write: Callable[[Sequence[Any]], bytes]
    read: Callable[[Path], Any]
    owners: Sequence[Any] = ()
    merge: str = "max"
    cap: float | None = None


def reading(case: Case, rows: Sequence[Any], folder: Path) -> Any:
    """What a file of these rows is read as; None if it is refused."""
    path = folder / case.name
    path.write_bytes(case.write(rows))
    try:
        return case.read(path)
    except GraphCutsError:
        return None


def pairs_of(graph: AnyGraph) -> dict[tuple[int, int], float]:
    """Each pair that has an edge, and its weight."""
    ends = zip(graph.rows.tolist(), graph.columns.tolist(), strict=True)
    return dict(zip(ends, graph.weights.tolist(), strict=True))


def check_row(case: Case, taken: int, folder: Path) -> bool:
    """Check that one row changes its own pair alone, by its own weight; False if not both read."""
    rows = case.rows
    whole = reading(case, rows, folder)
    left = reading(case, [*rows[:taken], *rows[taken + 1 :]], folder)
    if whole is None or left is None:
        return False
    own = reading(case, [rows[taken]], folder)
    expected, found = pairs_of(left), pairs_of(whole)
    for each in (left, own if own is not None else left):
        assert each.space == whole.space
        assert (each.weighted, each.weight_cap) == (whole.weighted, whole.weight_cap)
    if own is None:  # such as a row that looks like a header where no row is above it
        changed = found.keys() ^ expected.keys()
        changed |= {p for p in found.keys() & expected.keys() if found[p] != expected[p]}
        assert len(changed) <= 1
        return True
    mine = pairs_of(own)
    assert len(mine) <= 1
    join = JOIN[case.merge] if whole.weighted else max
    for pair, weight in mine.items():
        joined = join(expected[pair], weight) if pair in expected else weight
        expected[pair] = joined if case.cap is None else min(joined, case.cap)
    assert found.keys() == expected.keys()
    for pair, weight in found.items():
        assert np.isclose(weight, expected[pair], rtol=1e-12, atol=0)
    return True


def rows_by_owner(rows: OwnedRows) -> dict[int, list[tuple[int, float]]]:
    """Each owner's pairs and weights, sorted; an owner is the number of the name alone."""
    found: dict[int, list[tuple[int, float]]] = {}
    weights = np.zeros(len(rows.owners)) if rows.weights is None else rows.weights
    marks = rows.marks[rows.owners].tolist()
    for mark, pair, weight in zip(marks, rows.pairs.tolist(), weights.tolist(), strict=True):
        found.setdefault(mark, []).append((pair, weight))
    return {mark: sorted(own) for mark, own in found.items()}


def check_owner(case: Case, owner: Any, folder: Path, *, at_most: int) -> bool:
    """Check that one owner changes no rows of others, and `at_most` steps; False if not both."""
    kept = [row for row, whose in zip(case.rows, case.owners, strict=True) if whose != owner]
    whole, left = reading(case, case.rows, folder), reading(case, kept, folder)
    if whole is None or left is None:
        return False
    for each in (whole, left):
        assert isinstance(each, OwnedRows)
    assert left.space == whole.space
    assert (left.counting, left.unit) == (whole.counting, whole.unit)
    assert left.owner_is_tail == whole.owner_is_tail
    found, others = rows_by_owner(whole), rows_by_owner(left)
    gone = found.keys() - others.keys()
    assert len(gone) <= 1
    assert {mark: own for mark, own in found.items() if mark not in gone} == others
    bounded = [pairs_of(each.bounded(at_most=at_most)) for each in (whole, left)]
    steps = sum(
        abs(bounded[0].get(pair, 0.0) - bounded[1].get(pair, 0.0))
        for pair in bounded[0].keys() | bounded[1].keys()
    )
    assert steps <= at_most
    return True


# A fault of a reader shows in a few hundred files; the whole number is for the slow tests.
in_many_cases = pytest.mark.parametrize("cases", [200, pytest.param(2_000, marks=pytest.mark.slow)])
