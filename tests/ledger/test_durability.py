"""A store moved, cut or put back: every answer that was shown is known, or it is refused."""

import random
import shutil
import time

import numpy as np
import pytest
import session_workers as workers

import graphcuts_dp as gc
from graphcuts_dp.errors import LedgerError, ParameterError
from graphcuts_dp.ledger.ledger import Head, Ledger
from graphcuts_dp.session.session import session_of

_ENDLESS = 5000  # queries that no process gets through before it is killed


def killed_after(answers, delay, *arguments):
    """Answer queries in another process; kill it so many answers and seconds later."""
    log = arguments[1]
    before = _lines(log)
    process = workers.started(workers.ask_and_log, *arguments)
    while process.is_alive() and _lines(log) < before + answers:
        time.sleep(0.001)
    time.sleep(delay)
    return workers.ended(process, kill=True) == -9


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


def known_or_refused(path, log, method, head=None):
    """Whether a store was refused; else all that was shown must be known."""
    if not path.exists():
        assert workers.shown(log) == []
        return False
    try:
        gc.store_status(gc.Store(path, expect_head=head))
        with workers.begin(path, method=method) as session:
            session.status  # noqa: B018
    except LedgerError:
        return True
    workers.check(path, log, method)
    return False


TROUBLES = ("left alone", "moved alone", "journal cut", "older copy")


def disturb(folder, method, trials, seed):
    """Kill, then leave, move, cut or put back, in turn; how often the store was refused then.

    What is checked after each kill grows with the store, so it is a new one now and then.
    """
    rng = random.Random(seed)
    refused = dict.fromkeys(TROUBLES, 0)
    fresh, killed = True, 0
    for trial in range(trials):
        if fresh:
            path, log = folder / f"{trial}.db", folder / f"{trial}.log"
            older = head = None
            records = 0
        answers, delay = rng.choice(((0, 0.2), (1, 0.02), (3, 0.02), (6, 0.02)))
        asked = path, log, trial * _ENDLESS, _ENDLESS, method, rng.choice((1, 1, 4))
        killed += killed_after(answers, rng.uniform(0, delay), *asked)
        trouble, place = TROUBLES[trial % 4], folder / f"{trial}" / "a.db"
        if trouble == "older copy" and older is not None:
            copied(older, place, journal=rng.choice((None, 1.0)))
        elif path.exists():
            cut = {"moved alone": None, "journal cut": rng.random()}.get(trouble, 1.0)
            copied(path, place, journal=cut)
        no = known_or_refused(place, log, method, head if trouble == "older copy" else None)
        refused[trouble] += no
        fresh = no or trial % 25 == 24
        if not fresh and path.exists():
            records = workers.check(path, log, method, records)
            fresh = not records  # it was killed while it started, and stays spent
            older = folder / f"older{trial}.db"
            shutil.copyfile(path, older)
            older.chmod(0o600)
            if workers.shown(log):  # whoever keeps the head, after more was answered
                with workers.begin(path, method=method) as session:
                    session.ask([trial % workers.N])
                head = gc.store_status(path).head
        shutil.rmtree(place.parent, ignore_errors=True)
    assert killed >= 0.9 * trials
    assert refused["left alone"] == 0
    return refused


@pytest.mark.parametrize(("method", "trials"), [("gaussian", 12), ("multiplicative-weights", 8)])
def test_kills_with_the_file_left_moved_the_journal_cut_or_older_copies_put_back(
    tmp_path, method, trials
):
    disturb(tmp_path, method, trials, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["gaussian", "multiplicative-weights"])
def test_a_thousand_kills_with_the_file_left_moved_cut_or_put_back(tmp_path, method):
    assert disturb(tmp_path, method, 800, seed=2)["older copy"] > 50


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


def test_a_process_killed_while_it_makes_a_store_leaves_nothing_for_good(tmp_path):
    path, log = tmp_path / "a.db", tmp_path / "a.log"
    for target in (6, 13):
        how = {"after": True, "method": "gaussian"}
        assert workers.ended(workers.started(workers.ask_and_die, path, log, target, **how)) == -9
    assert not path.exists()
    assert (tmp_path / ".a.db.part").exists()
    (tmp_path / ".a.db.part-journal").write_bytes(b"half of one")
    workers.begin(path).close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.db", "a.log"]


def grown_by(path, queries, n):
    """How many bytes the store grows by for each query, all of which come back."""
    graph = gc.Graph([0], [1], vertices=n)
    terms = {"epsilon": 1.0, "delta": 1e-6, "queries": 10**5, "method": "gaussian"}
    with session_of(graph, store=path, **terms) as session:
        first = path.stat().st_size
        answers = session.ask_all(queries)
        grown = path.stat().st_size - first
        known = [{*map(bytes, entry.query.masks(graph))} for entry in session.history]
    assert known == [{*map(bytes, query.masks(graph))} for query in queries]
    with gc.open_session(graph, store=path) as session:
        assert session.ask_all(queries) == answers
        assert session.remaining.queries == 10**5 - len(queries)
    return grown / len(queries)


def test_long_sets_are_kept_once_each_and_compressed(tmp_path):
    """Half-sets of 20,000 vertices take 2.5 kB each as bits, two of them 5 kB."""
    n, rng = 20_000, np.random.default_rng(1)
    groups = [rng.random(n) < 0.5 for _ in range(12)]
    pairs = [gc.CutQuery(S, T) for S in groups[:6] for T in groups[6:]]
    assert grown_by(tmp_path / "named.db", pairs, n) < 2500
    ranges = [gc.CutQuery(np.arange(n) < 10_000 + 5 * k) for k in range(40)]
    assert grown_by(tmp_path / "compressed.db", ranges, n) < 900
