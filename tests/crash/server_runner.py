"""Inject faults into a server's approval and begin of a session, at every system call.

Run with failing_calls.c preloaded. Arguments: a folder, the stride between the calls with a fault.
Prints as JSON how often each fault was injected. `test_server_faults.py` runs it.
"""

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from store_runner import FAULTS, run_with_fault, targets_and_faults

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
    """Return a session service on the store in a folder."""
    store = Store(folder / "a.db")
    return Desk(GRAPH, store, Book(book_of(store.file)))


def begin(desk: Desk, name: str) -> None:
    """Request a session that uses the analyst's whole limit."""
    desk.request(ANN, SessionIn(name=name, **TERMS))


def request_with_fault(folder: Path, arming: tuple[int, int, int]) -> tuple[bool, int]:
    """Request a session in a process with a fault.

    Returns:
        Whether the fault was injected, and the number of calls.
    """

    def prepare() -> Callable[[int], None]:
        desk = desk_of(folder)
        return lambda _: begin(desk, "a")

    return run_with_fault(prepare, arming, GraphCutsError)[1:]


def check_and_request_again(folder: Path) -> str:
    """Check that reading begins no session, that the limit holds, and that a new request begins it.

    Returns:
        The state of the request before that.
    """
    desk = desk_of(folder)
    before = desk.status.head
    requests = list(desk.requests.visible_to(ANN))
    state = requests[0].state if requests else "none"
    for request in requests:
        desk.error_bound(desk.status_of(request))
        desk.history(ANN, request.id, 0, 10)
    assert desk.status.head == before
    if not desk.status.uses:
        state += ", not begun"
    if requests:
        for _ in range(2):
            try:
                begin(desk, "b")
            except BudgetError:
                continue
            raise AssertionError("the limit was exceeded")
    try:
        begin(desk, "a")
    except BudgetError:
        assert desk.status.uses  # a session interrupted while it began counts as spent
    assert desk.status.epsilon == 1.0
    desk.close()
    return state


def sweep(folder: Path, stride: int) -> Counter:
    """Request with a fault at every stride-th call; count faults and states left."""
    template = folder / "template"
    template.mkdir()
    create_ledger(Store(template / "a.db", budget=9.0), GRAPH, privacy_unit="1 edge")
    desk = desk_of(template)
    desk.people.add(ANN, by="console")
    desk.close()
    counts: Counter = Counter()
    shutil.copytree(template, folder / "undisturbed")
    _, last = request_with_fault(folder / "undisturbed", (10**9, 0, 0))
    assert last > 10
    for target, fault in targets_and_faults(last, stride):
        work_folder = folder / f"{target} {fault}"
        shutil.copytree(template, work_folder)
        counts[fault] += request_with_fault(work_folder, (target, *FAULTS[fault]))[0]
        counts[f"left: {check_and_request_again(work_folder)}"] += 1
        shutil.rmtree(work_folder)
    return counts


if __name__ == "__main__":
    print(json.dumps(sweep(Path(sys.argv[1]), int(sys.argv[2]))))  # noqa: T201
