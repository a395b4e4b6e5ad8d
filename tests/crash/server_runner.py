"""Strikes a server's approval of a session, and its beginning, at every system call.

Run with failing_calls.c preloaded. Arguments: a folder, the stride between the calls that are
struck. Prints how often each trouble struck, as JSON. `test_server_faults.py` runs it.
"""

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from store_runner import TROUBLES, strikes, struck

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, GraphCutsError, Store
from graphcuts_dp.ledger.opening import create_ledger
from graphcuts_dp.server.book import Book, book_of
from graphcuts_dp.server.desk import Desk
from graphcuts_dp.server.models import SessionIn
from graphcuts_dp.server.people import Person

GRAPH = gc.Graph([0, 1, 2], [1, 2, 3], vertices=6)
TERMS = {"epsilon": 1.0, "queries": 5, "method": "laplace"}
ANN, CURATOR = Person(name="ann", preapproved=True, epsilon=1.0), Person(name="c", role="curator")


def desk_of(folder: Path) -> Desk:
    """A desk on the store in a folder."""
    store = Store(folder / "a.db")
    return Desk(GRAPH, store, Book(book_of(store.file)))


def begin(desk: Desk, name: str) -> None:
    """Ask for a session that uses the whole cap."""
    desk.request(ANN, SessionIn(name=name, **TERMS))


def hit(folder: Path, arms: tuple[int, int, int]) -> tuple[bool, int]:
    """Ask for a session in a process that is struck; whether it was, and how many calls it made."""

    def prepare() -> Callable[[int], None]:
        desk = desk_of(folder)
        return lambda _: begin(desk, "a")

    return struck(prepare, arms, GraphCutsError)[1:]


def look(folder: Path) -> str:
    """The state that is left: reading begins nothing, the cap holds, and asking again begins it."""
    desk = desk_of(folder)
    before = desk.status.head
    found = list(desk.requests.visible(ANN))
    state = found[0].state if found else "none"
    for request in found:
        desk.error_bound(desk.on_store(request))
        desk.history(ANN, request.id, 0, 10)
    assert desk.status.head == before
    if not desk.status.uses:
        state += ", not begun"
    if found:
        for _ in range(2):
            try:
                begin(desk, "b")
            except BudgetError:
                continue
            raise AssertionError("the cap was passed")
    try:
        begin(desk, "a")
    except BudgetError:
        assert desk.status.uses  # it was cut off while it began, which counts as spent
    assert desk.status.epsilon == 1.0
    desk.close()
    return state


def sweep(folder: Path, stride: int) -> Counter:
    """Strike at every stride-th call, by one trouble after the other."""
    made = folder / "made"
    made.mkdir()
    create_ledger(Store(made / "a.db", budget=9.0), GRAPH, privacy_unit="1 edge")
    desk = desk_of(made)
    desk.people.add(ANN, by="console")
    desk.close()
    counts: Counter = Counter()
    shutil.copytree(made, folder / "whole")
    _, last = hit(folder / "whole", (10**9, 0, 0))
    assert last > 10
    for target, trouble in strikes(last, stride):
        place = folder / f"{target} {trouble}"
        shutil.copytree(made, place)
        counts[trouble] += hit(place, (target, *TROUBLES[trouble]))[0]
        counts[f"left: {look(place)}"] += 1
        shutil.rmtree(place)
    return counts


if __name__ == "__main__":
    print(json.dumps(sweep(Path(sys.argv[1]), int(sys.argv[2]))))  # noqa: T201
