"""A store moved, cut or put back: every answer that was shown is known, or it is refused."""

import multiprocessing
import random
import shutil
import time

import numpy as np
import pytest
import session_workers as workers

import graphcuts_dp as gc
from graphcuts_dp.errors import LedgerError, ParameterError
from graphcuts_dp.ledger import file as store_module
from graphcuts_dp.ledger.ledger import Head, Ledger
from graphcuts_dp.session.session import session_of

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["graphcuts_dp.session.session"])

_ENDLESS = 5000


def killed_after(answers, delay, *arguments):
    """Answer queries in another process; kill it so many answers and seconds later."""
    log = arguments[1]
    before = _lines(log)
    process = PROCESSES.Process(target=workers.ask_and_log, args=arguments)
    process.start()
    while process.is_alive() and _lines(log) < before + answers:
        time.sleep(0.001)
    time.sleep(delay)
    process.kill()
    process.join(30)
    process.close()


def _lines(log):
    return log.read_bytes().count(b"\n") if log.exists() else 0


def copied(path, target, *, journal=None):
    """The store alone, or with so much of its journal, as a copy or a move would have it."""
    target.parent.mkdir(exist_ok=True)
    for suffix, share in (("", 1.0), ("-journal", journal)):
        source = path.with_name(path.name + suffix)
        if share is not None and source.exists():
            content = source.read_bytes()
            copy = target.with_name(target.name + suffix)
            copy.touch(0o600)
            copy.write_bytes(content[: round(share * len(content))])


def known_or_refused(path, log, head=None):
    """Whether a store was refused; else all that was shown must be known."""
    if not path.exists():
        assert workers.shown(log) == []
        return False
    try:
        gc.store_status(gc.Store(path, expect_head=head))
        with workers.begin(path) as session:
            session.status  # noqa: B018
    except LedgerError:
        return True
    workers.check(path, log, "gaussian")
    return False


def test_a_store_moved_after_a_crash_without_its_companions_knows_what_was_shown(tmp_path):
    path, log = tmp_path / "a.db", tmp_path / "a.log"
    killed_after(5, 0.0, path, log, 0, _ENDLESS, "gaussian", 1)
    assert workers.shown(log)
    moved = tmp_path / "elsewhere" / "a.db"
    copied(path, moved)
    assert not known_or_refused(moved, log)


def disturb(tmp_path, trials, seed):
    """Kill, then move, cut or put back; returns how often the store was refused, by trouble."""
    rng = random.Random(seed)
    refused = {"moved alone": 0, "journal cut": 0, "older copy": 0, "left alone": 0}
    tried = dict.fromkeys(refused, 0)
    path, log, older, head = tmp_path / "0.db", tmp_path / "0.log", None, None
    for trial in range(trials):
        answers, delay = rng.choice(((0, 0.2), (1, 0.02), (3, 0.02), (6, 0.02)))
        first = trial * _ENDLESS
        killed_after(answers, rng.uniform(0, delay), path, log, first, _ENDLESS, "gaussian", 1)
        trouble = rng.choice(list(refused))
        tried[trouble] += 1
        place = tmp_path / f"{trial}" / "a.db"
        if trouble == "older copy" and older is not None:
            copied(older, place, journal=rng.choice((None, 1.0)))
        elif path.exists():
            cut = {"moved alone": None, "journal cut": rng.random()}.get(trouble, 1.0)
            copied(path, place, journal=cut)
        no = known_or_refused(place, log, head if trouble == "older copy" else None)
        refused[trouble] += no
        if trial % 25 == 24 or no:
            path, log, older, head = (
                tmp_path / f"{trial + 1}.db",
                tmp_path / f"{trial + 1}.log",
                None,
                None,
            )
        elif path.exists():
            workers.check(path, log, "gaussian")
            older = tmp_path / f"older{trial}.db"
            shutil.copyfile(path, older)
            older.chmod(0o600)
            if workers.shown(log):  # whoever keeps the head, after more was answered
                with workers.begin(path) as session:
                    session.ask([trial % workers.N])
                head = gc.store_status(path).head
        shutil.rmtree(place.parent, ignore_errors=True)
    return tried, refused


def test_kills_with_the_file_moved_the_journal_cut_or_older_copies_put_back(tmp_path):
    tried, refused = disturb(tmp_path, 12, seed=1)
    assert min(tried.values()) >= 1
    assert refused["left alone"] == 0


@pytest.mark.slow
def test_a_thousand_kills_with_the_file_moved_cut_or_put_back(tmp_path):
    tried, refused = disturb(tmp_path, 1000, seed=2)
    print(tried, refused)  # noqa: T201
    assert min(tried.values()) > 200
    assert refused["left alone"] == 0
    assert refused["older copy"] > 100


def test_whoever_keeps_the_head_notices_an_older_copy(tmp_path):
    path, older = tmp_path / "a.db", tmp_path / "older.db"
    with workers.begin(path) as session:
        session.ask([1])
    shutil.copy(path, older)
    early = gc.store_status(path).head
    with workers.begin(path) as session:
        session.ask([2])
    late = gc.store_status(path).head
    for head in (early, late):  # a store that has grown since is as good as the same
        gc.store_status(gc.Store(path, expect_head=head))
        workers.begin(gc.Store(path, expect_head=head)).close()
    gc.store_status(gc.Store(older, expect_head=early))
    with pytest.raises(LedgerError, match="an older copy"):
        gc.store_status(gc.Store(older, expect_head=late))
    with pytest.raises(LedgerError, match="an older copy"):
        workers.begin(gc.Store(older, expect_head=late))
    with workers.begin(older) as session:  # another past, as long
        session.ask([3])
    with pytest.raises(LedgerError, match="is not the store"):
        gc.store_status(gc.Store(older, expect_head=late))


def test_the_head_of_a_store_without_records_is_checked_too(tmp_path):
    for name in ("a.db", "b.db"):
        Ledger.create(tmp_path / name, {"format": 1, "name": name})
    ledger = Ledger(tmp_path / "a.db")
    head = ledger.head
    ledger.close()
    Ledger(tmp_path / "a.db", expected=head).close()
    with pytest.raises(LedgerError, match="is not the store"):
        Ledger(tmp_path / "b.db", expected=head)
    assert Head.parse(str(head)) == head


@pytest.mark.parametrize("text", ["", "5", "x:00", "5:00", "05:" + "0" * 64, "-1:" + "0" * 64])
def test_what_is_no_head_is_refused(tmp_path, text):
    workers.begin(tmp_path / "a.db").close()
    with pytest.raises(ParameterError, match="a head is what"):
        gc.store_status(gc.Store(tmp_path / "a.db", expect_head=text))


def test_parts_of_a_store_that_a_killed_process_left_are_removed(tmp_path, monkeypatch):
    path = tmp_path / "a.db"
    for name in (".a.db.part", ".a.db.part-journal"):
        (tmp_path / name).write_bytes(b"half a store")

    class Killed(BaseException):
        pass

    def dies(*_):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(store_module, "_flush", dies)
        patched.setattr(store_module, "_remove", lambda _: None)
        (tmp_path / ".a.db.part").unlink()
        with pytest.raises(Killed):
            workers.begin(path)
    assert (tmp_path / ".a.db.part").exists()
    workers.begin(path).close()
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]


def test_a_process_killed_while_it_makes_a_store_leaves_nothing_for_good(tmp_path):
    path, log = tmp_path / "a.db", tmp_path / "a.log"
    for target in (6, 13):
        process = PROCESSES.Process(
            target=workers.ask_and_die,
            args=(path, log, target),
            kwargs={"after": True, "method": "gaussian"},
        )
        process.start()
        process.join(30)
        assert process.exitcode == -9
        process.close()
    assert not path.exists()
    assert (tmp_path / ".a.db.part").exists()
    workers.begin(path).close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.db", "a.log"]


def sizes(path, queries, n):
    graph = gc.Graph([0], [1], vertices=n)
    terms = {"epsilon": 1.0, "delta": 1e-6, "queries": 10**5, "method": "gaussian"}
    with session_of(graph, store=path, **terms) as session:
        first = path.stat().st_size
        answers = session.ask_all(queries)
        grown = path.stat().st_size - first
        known = [entry.query for entry in session.history]
    with gc.open_session(graph, store=path) as session:
        assert session.ask_all(queries) == answers
        assert session.remaining.queries == 10**5 - len(queries)
    for asked, found in zip(queries, known, strict=True):
        assert set(map(tuple, map(np.flatnonzero, found.masks(graph)))) == set(
            map(tuple, map(np.flatnonzero, asked.masks(graph)))
        )
    return grown / len(queries)


def test_long_sets_are_kept_once_each_and_compressed(tmp_path):
    """Half-sets of 20,000 vertices take 2.5 kB each as bits, two of them 5 kB."""
    n, rng = 20_000, np.random.default_rng(1)
    groups = [rng.random(n) < 0.5 for _ in range(12)]
    pairs = [gc.CutQuery(S, T) for S in groups[:6] for T in groups[6:]]
    assert sizes(tmp_path / "named.db", pairs, n) < 2500
    ranges = [gc.CutQuery(np.arange(n) < 10_000 + 5 * k) for k in range(40)]
    assert sizes(tmp_path / "compressed.db", ranges, n) < 900
