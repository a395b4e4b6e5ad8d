"""A table over time, a command a month, and what must be left of it after whatever has struck."""

from contextlib import closing
from pathlib import Path

import command_cases as cases

import graphcuts_dp as gc
from graphcuts_dp.ledger.opening import open_ledger
from graphcuts_dp.results.bundle import sha256_of

MONTHS = ("2026-01", "2026-02", "2026-03")
_TERMS = "--periods 2026-01..2026-03 --epsilon 5 --delta 1e-6 --vertices zones.txt --store new.db"
_COLUMNS = "source=origin,target=goal,user=user,period=date"
_USERS = "--privacy-unit user:max-contributions=3 --force"


def line(month: str) -> str:
    """The command of a month: Gaussian noise, and a bound for all months, which need a state."""
    about = f"flows-over-time trips.csv zones.csv r.csv --period {month}"
    return f"{about} {_TERMS} --columns {_COLUMNS} {_USERS}"


def inputs(folder: Path) -> dict[str, bytes]:
    """The files that the commands read."""
    folder.mkdir()
    (folder / "zones.csv").write_text("zone,half\na,x\nb,y\n")
    (folder / "zones.txt").write_text("a\nb\n")
    trips = (f"u{i % 4},{'ab'[i % 2]},b,{month}-05" for month in MONTHS for i in range(9))
    (folder / "trips.csv").write_text("\n".join(["user,origin,goal,date", *trips]) + "\n")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def published(folder: Path) -> tuple[bytes, ...]:
    """What the store has of each month; nothing where it charged nothing."""
    store = folder / "new.db"
    if not store.exists():
        return ()
    with closing(open_ledger(store)) as ledger, ledger.locked():
        found = []
        for totals in ledger.uses.values():
            for record in totals.published:
                digest = ledger.record(record)[1]["measured"]
                found.append(ledger.content(bytes.fromhex(digest)))
        return tuple(found)


def judge(
    folder: Path, month: str, before: tuple[bytes, ...], status: int | None, messages: str
) -> str:
    """Check what the command of a month has left, and that the same command goes on.

    Args:
        folder: in which the command ran.
        month: that it published.
        before: contents of the store before it ran.
        status: that it ended with; None if it was killed.
        messages: on its standard error.

    Returns:
        In two words what was left.
    """
    assert "Traceback" not in messages
    index = MONTHS.index(month)
    left = published(folder)
    assert left[:index] == before  # months that were published stay as they are
    assert len(left) in (index, index + 1)
    assert status != 0 or len(left) == index + 1
    whole = (folder / "r.csv.json").exists() and gc.load(folder / "r.csv").periods[-1] == month
    assert not whole or len(left) == index + 1  # nothing is shown that is not on the record
    shown = {path.name: sha256_of(path) for path in folder.glob("r.csv*")} if whole else {}
    ended = cases.call(folder, line(month))
    assert ended.status == 0, ended.err
    after = published(folder)
    assert after[: len(left)] == left  # and what is on the record is not measured again
    assert len(after) == index + 1
    if shown:
        assert shown == {path.name: sha256_of(path) for path in folder.glob("r.csv*")}
    found = gc.store_status(folder / "new.db")
    assert (found.epsilon, len(found.uses)) == (5.0, 1)
    assert gc.load(folder / "r.csv").periods == MONTHS[: index + 1]
    if whole:
        return "a whole result"
    return "a month, shown again" if len(left) > index else "a month, measured again"
