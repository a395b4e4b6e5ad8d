"""Commands of a table over time, one for each month, and checks of what a fault has left."""

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


def command_of(month: str) -> str:
    """Return the command line of a month.

    Gaussian noise and a bound for all months need a state of the earlier ones.
    """
    command = f"flows-over-time trips.csv zones.csv r.csv --period {month}"
    return f"{command} {_TERMS} --columns {_COLUMNS} {_USERS}"


def inputs(folder: Path) -> dict[str, bytes]:
    """Write the files that the commands read; return their contents by name."""
    folder.mkdir()
    (folder / "zones.csv").write_text("zone,half\na,x\nb,y\n")
    (folder / "zones.txt").write_text("a\nb\n")
    trips = (f"u{i % 4},{'ab'[i % 2]},b,{month}-05" for month in MONTHS for i in range(9))
    (folder / "trips.csv").write_text("\n".join(["user,origin,goal,date", *trips]) + "\n")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def published_contents(folder: Path) -> tuple[bytes, ...]:
    """Return the contents that the store has of each published month; empty without a charge."""
    store = folder / "new.db"
    if not store.exists():
        return ()
    with closing(open_ledger(store)) as ledger, ledger.locked():
        digests = [
            ledger.record(record)[1]["measured"]
            for totals in ledger.uses.values()
            for record in totals.published
        ]
        return tuple(ledger.content(bytes.fromhex(digest)) for digest in digests)


def check_and_repeat(
    folder: Path, month: str, before: tuple[bytes, ...], status: int | None, messages: str
) -> str:
    """Check what the command of a month has left, and that the same command completes it.

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
    recorded = published_contents(folder)
    assert recorded[:index] == before  # earlier months stay as they are
    assert len(recorded) in (index, index + 1)
    assert status != 0 or len(recorded) == index + 1
    is_complete = (folder / "r.csv.json").exists() and gc.load(folder / "r.csv").periods[
        -1
    ] == month
    assert not is_complete or len(recorded) == index + 1  # no result without a record
    digests = {path.name: sha256_of(path) for path in folder.glob("r.csv*")} if is_complete else {}
    result = cases.call(folder, command_of(month))
    assert result.status == 0, result.err
    after = published_contents(folder)
    assert after[: len(recorded)] == recorded  # recorded months are not measured again
    assert len(after) == index + 1
    if is_complete:
        assert digests == {path.name: sha256_of(path) for path in folder.glob("r.csv*")}
    status_after = gc.store_status(folder / "new.db")
    assert (status_after.epsilon, len(status_after.uses)) == (5.0, 1)
    assert gc.load(folder / "r.csv").periods == MONTHS[: index + 1]
    if is_complete:
        return "a whole result"
    return "a month, shown again" if len(recorded) > index else "a month, measured again"
