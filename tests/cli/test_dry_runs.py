"""A dry run opens no private file, and a store for reading alone, whatever the command."""

import os
import sqlite3

import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli import main

_GROUPS = "vertex,half\n" + "".join(f"{vertex},{'ab'[vertex > 16]}\n" for vertex in range(34))
_USERS = "--columns user=who,source=from,target=to"
LINES = {
    "release": "release here.csv out.csv --epsilon 1 --vertices 34 --dry-run 78",
    "flows": "flows here.csv staff.csv out.csv --epsilon 1 --vertices 34 --dry-run",
    "flows, table of bounds": "flows here.csv --contributions table --epsilon 1 --vertices 34 "
    f"{_USERS} --dry-run",
    "flows, choice of a bound": "flows here.csv --contributions choice:share-above=0.1 "
    f"--epsilon 1 --vertices 34 {_USERS} --dry-run",
    "flows-over-time": "flows-over-time here.csv staff.csv out.csv --epsilon 1 --vertices 34 "
    "--period 2026-01 --periods 2026-01..2026-12 --columns source=from,target=to,period=day "
    "--dry-run",
    "cuts": "cuts here.csv out.csv --from 0 --to 33 --epsilon 1 --vertices 34 --dry-run",
    "release-iteratively": "release-iteratively here.csv out.csv --epsilon 1 --delta 1e-6 "
    "--vertices 34 --queries cuts.jsonl --dry-run",
    "session start": "session start here.csv --epsilon 1 --queries 9 --vertices 34 --dry-run",
}
# It is about a store, which it opens for reading alone, and reads no data.
OF_A_STORE = "store migrate"


def with_dry_run():
    """All commands that have a dry run."""
    for name in main.COMMANDS:
        if main.COMMANDS[name][0].startswith(("tests.", "scripts.")):
            continue
        command = main.loaded_command(name)
        inner = getattr(command, "commands", {"": command})
        for own, each in inner.items():
            if any("--dry-run" in option.opts for option in each.params):
                yield f"{name} {own}".strip()


def test_every_command_that_can_be_tried_is_tried_here():
    tried = {name.partition(",")[0] for name in LINES}
    assert tried | {OF_A_STORE} == set(with_dry_run())


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """A store of the data in a folder, and what would open it, or the private file."""
    (tmp_path / "staff.csv").write_text(_GROUPS)
    (tmp_path / "cuts.jsonl").write_text('{"S": [1, 2]}\n')
    gc.release_graph(
        gc.datasets.load("karate"), epsilon=1.0, fit="none", store=tmp_path / "mail.db"
    )
    opened = []
    connect = sqlite3.connect

    def seen(place, *arguments, **options):
        opened.append(str(place))
        return connect(place, *arguments, **options)

    monkeypatch.setattr(sqlite3, "connect", seen)
    return opened


@pytest.mark.thorough(cases=5)
@pytest.mark.parametrize("kind", ["missing", "unreadable", "a queue that nobody fills"])
@pytest.mark.parametrize("name", LINES)
def test_a_dry_run_opens_no_private_file_and_writes_no_store(told, watched, tmp_path, name, kind):
    here = tmp_path / "here.csv"
    if kind == "unreadable":
        here.write_bytes(b"\0private\xff")
        here.chmod(0)
    elif kind != "missing":
        os.mkfifo(here)  # to open it would wait for ever
    before = sorted(path.name for path in tmp_path.iterdir())
    store = (tmp_path / "mail.db").read_bytes()
    forecast = told(*LINES[name].split(), "--store", "mail.db")
    assert forecast["dry_run"] is True
    assert all(place.endswith("mail.db?mode=ro") for place in watched)
    assert watched  # the store says whether it would refuse the command
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (tmp_path / "mail.db").read_bytes() == store


_OF_KARATE = "--epsilon 1 --vertices 34"
REFUSED = {  # a store of edges, of which epsilon = 1 of 1.5 is spent; and one of users
    "release": f"release here.csv out.csv {_OF_KARATE} --dry-run 78",
    "flows": f"flows here.csv staff.csv out.csv {_OF_KARATE} --dry-run",
    "cuts": f"cuts here.csv out.csv --from 0 --to 33 {_OF_KARATE} --dry-run",
    "release-iteratively": f"release-iteratively here.csv out.csv --delta 1e-6 {_OF_KARATE} "
    "--queries cuts.jsonl --dry-run",
    "session start": f"session start here.csv {_OF_KARATE} --queries 9 --dry-run",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_dry_run_says_that_the_budget_of_the_store_would_not_do(told, tmp_path, name):
    (tmp_path / "staff.csv").write_text(_GROUPS)
    (tmp_path / "cuts.jsonl").write_text('{"S": [1, 2]}\n')
    club, store = gc.datasets.load("karate"), gc.Store(tmp_path / "mail.db", budget=(1.5, 1e-5))
    gc.release_graph(club, epsilon=1.0, fit="none", store=store)
    line = REFUSED[name].split()
    refused = told(*line, "--store", "mail.db")["notes"][0]
    assert "mail.db would refuse this" in refused
    assert "budget" in refused
    smaller = list(line)
    smaller[smaller.index("--epsilon") + 1] = "0.5"
    assert not any("refuse" in note for note in told(*smaller, "--store", "mail.db")["notes"])


@pytest.mark.usefixtures("watched")
def test_a_dry_run_says_that_the_store_has_another_privacy_unit(told):
    for name in ("flows, table of bounds", "flows, choice of a bound"):
        notes = told(*LINES[name].split(), "--store", "mail.db")["notes"]
        assert "privacy unit" in notes[0]
        assert "mail.db would refuse this" in notes[0]


def test_a_dry_run_about_a_store_opens_it_for_reading_alone(told, watched, tmp_path):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    times = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    forecast = told(*OF_A_STORE.split(), "mail.db", "--dry-run")
    assert (forecast["dry_run"], forecast["uses"], forecast["epsilon"]) == (True, 1, 1.0)
    assert watched
    assert all(place.endswith("mail.db?mode=ro") for place in watched)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times
