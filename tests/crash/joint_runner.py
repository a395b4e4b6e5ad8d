"""Strikes questions of two analysts that are answered together, at every system call.

Run with failing_calls.c preloaded. Arguments: a folder, the stride between the calls that are
struck. Prints how often each trouble struck, as JSON. `test_server_faults.py` runs it.
"""

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from server_runner import GRAPH, TERMS, desk_of
from store_runner import TROUBLES, strikes, struck

from graphcuts_dp import GraphCutsError, Store
from graphcuts_dp.ledger.opening import create_ledger
from graphcuts_dp.server.book import verify
from graphcuts_dp.server.desk import Desk
from graphcuts_dp.server.models import Ask, SessionIn
from graphcuts_dp.server.people import Person
from graphcuts_dp.server.queues import _Job, _work_round

ANALYSTS = [Person(name=name, preapproved=True) for name in ("ann", "bob")]
QUESTION = Ask.model_validate({"queries": [{"S": [1]}]})


def ask_together(desk: Desk, say: int) -> None:
    """Ask in the sessions of both analysts in one round; show each answer once it may be shown."""

    def show(job: _Job) -> None:
        if not isinstance(job.result, Exception):
            ((answer,), _) = job.result
            os.write(say, json.dumps([names[job], answer.value]).encode() + b"\n")

    names = {
        _Job(None, desk.ask_in_steps(person, f"{person.name}.a", QUESTION, "key")): person.name
        for person in ANALYSTS
    }
    _work_round(list(names), show)
    desk.close()


def hit(folder: Path, arms: tuple[int, int, int]) -> tuple[dict[str, float], bool, int]:
    """Ask in a process that is struck; what was shown, whether it was, how many calls it made."""

    def prepare() -> Callable[[int], None]:
        desk = desk_of(folder)
        return lambda say: ask_together(desk, say)

    shown, was_struck, calls = struck(prepare, arms, GraphCutsError)
    return dict(shown), was_struck, calls


def look(folder: Path, shown: dict[str, float]) -> str:
    """Ask both again: each has one answer, that which was shown, and paid for what was cut off."""
    desk = desk_of(folder)
    cut_off = 0
    for person in ANALYSTS:
        session = f"{person.name}.a"
        ((answer,), new) = desk.ask(person, session, QUESTION, "key")
        status = desk.on_store(desk.requests.get(session))
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
    """Strike at every stride-th call, by one trouble after the other."""
    made = folder / "made"
    made.mkdir()
    create_ledger(Store(made / "a.db", budget=9.0), GRAPH, privacy_unit="1 edge")
    desk = desk_of(made)
    for person in ANALYSTS:
        desk.people.add(person, by="console")
        desk.request(person, SessionIn(name="a", **TERMS))
    desk.close()
    counts: Counter = Counter()
    shutil.copytree(made, folder / "whole")
    shown, _, last = hit(folder / "whole", (10**9, 0, 0))
    assert (len(shown), last > 10) == (2, True)
    for target, trouble in strikes(last, stride):
        place = folder / f"{target} {trouble}"
        shutil.copytree(made, place)
        shown, was_struck, _ = hit(place, (target, *TROUBLES[trouble]))
        counts[trouble] += was_struck
        counts[f"left: {look(place, shown)}"] += 1
        shutil.rmtree(place)
    return counts


if __name__ == "__main__":
    print(json.dumps(sweep(Path(sys.argv[1]), int(sys.argv[2]))))  # noqa: T201
