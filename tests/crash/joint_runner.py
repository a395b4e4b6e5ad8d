"""Inject faults into answers to two analysts in one round, at every system call.

Run with failing_calls.c preloaded. Arguments: a folder, the stride between the calls with a fault.
Prints as JSON how often each fault was injected. `test_server_faults.py` runs it.
"""

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from server_runner import GRAPH, TERMS, desk_of
from store_runner import FAULTS, run_with_fault, targets_and_faults

from graphcuts_dp import GraphCutsError, Store
from graphcuts_dp.ledger.opening import create_ledger
from graphcuts_dp.server.book import verify
from graphcuts_dp.server.desk import Desk
from graphcuts_dp.server.models import Ask, SessionIn
from graphcuts_dp.server.people import Person
from graphcuts_dp.server.queues import _Job, _work_round

ANALYSTS = [Person(name=name, preapproved=True) for name in ("ann", "bob")]
QUESTION = Ask.model_validate({"queries": [{"S": [1]}]})


def ask_together(desk: Desk, pipe: int) -> None:
    """Ask in the sessions of both analysts in one round; write each answer to a pipe."""

    def show(job: _Job) -> None:
        if not isinstance(job.result, Exception):
            ((answer,), _) = job.result
            os.write(pipe, json.dumps([names[job], answer.value]).encode() + b"\n")

    names = {
        _Job(None, desk.ask_in_steps(person, f"{person.name}.a", QUESTION, "key")): person.name
        for person in ANALYSTS
    }
    _work_round(list(names), show)
    desk.close()


def ask_with_fault(
    folder: Path, arming: tuple[int, int, int]
) -> tuple[dict[str, float], bool, int]:
    """Ask in a process with a fault.

    Returns:
        The answers by analyst, whether the fault was injected, and the number of calls.
    """

    def prepare() -> Callable[[int], None]:
        desk = desk_of(folder)
        return lambda pipe: ask_together(desk, pipe)

    answers, was_injected, calls = run_with_fault(prepare, arming, GraphCutsError)
    return dict(answers), was_injected, calls


def check_and_ask_again(folder: Path, shown: dict[str, float]) -> str:
    """Check that each analyst gets the answer shown before, and is charged for interrupted steps.

    Returns:
        The number of interrupted steps and of answers shown.
    """
    desk = desk_of(folder)
    cut_off = 0
    for person in ANALYSTS:
        session = f"{person.name}.a"
        ((answer,), new) = desk.ask(person, session, QUESTION, "key")
        status = desk.status_of(desk.requests.get(session))
        assert status is not None
        assert (status.answers, status.interruptions) in ((1, 0), (1, 1))
        assert status.remaining.queries == TERMS["queries"] - 1 - status.interruptions
        if person.name in shown:
            assert (answer.value, new, status.interruptions) == (shown[person.name], 0, 0)
        cut_off += status.interruptions
    verify(desk.book.log_start, desk.people.log_lines())
    events = Counter(line.what for line, _ in desk.people.log_lines())
    assert events["answered"] == len(ANALYSTS) <= events["ask"]
    desk.close()
    return f"{cut_off} cut off, {len(shown)} shown"


def sweep(folder: Path, stride: int) -> Counter:
    """Ask with a fault at every stride-th call; count faults and states left."""
    template = folder / "template"
    template.mkdir()
    create_ledger(Store(template / "a.db", budget=9.0), GRAPH, privacy_unit="1 edge")
    desk = desk_of(template)
    for person in ANALYSTS:
        desk.people.add(person, by="console")
        desk.request(person, SessionIn(name="a", **TERMS))
    desk.close()
    counts: Counter = Counter()
    shutil.copytree(template, folder / "undisturbed")
    shown, _, last = ask_with_fault(folder / "undisturbed", (10**9, 0, 0))
    assert (len(shown), last > 10) == (2, True)
    for target, fault in targets_and_faults(last, stride):
        work_folder = folder / f"{target} {fault}"
        shutil.copytree(template, work_folder)
        shown, was_injected, _ = ask_with_fault(work_folder, (target, *FAULTS[fault]))
        counts[fault] += was_injected
        counts[f"left: {check_and_ask_again(work_folder, shown)}"] += 1
        shutil.rmtree(work_folder)
    return counts


if __name__ == "__main__":
    print(json.dumps(sweep(Path(sys.argv[1]), int(sys.argv[2]))))  # noqa: T201
