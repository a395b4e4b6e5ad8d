"""Files that belong together: all of them, or none, whoever else writes at the same time."""

import errno
import itertools
import os
import stat
import threading

import pytest

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError
from graphcuts_dp import files as atomic
from graphcuts_dp.files import (
    atomic_set,
    atomic_write,
    check_writable,
    check_writable_set,
    kept_files,
)

NAMES = ("a.txt", "a.txt.json")
ALONE_OR_NOT = pytest.mark.parametrize("names", [NAMES[:1], NAMES])


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def written(text, names=NAMES):
    return {name: f"{text} {name}" for name in names}


def put(place, text):
    with atomic_write(place) as handle:
        handle.write(f"{text} {place.name}".encode())


def write(folder, text, *, force=False, names=NAMES, last=lambda: None):
    """One file, or several that belong together; `last` happens before they appear."""
    if len(names) == 1:
        with atomic_write(folder / names[0], force=force) as handle:
            handle.write(f"{text} {names[0]}".encode())
            last()
        return
    with atomic_set([folder / name for name in names], force=force) as places:
        for place in places:
            put(place, text)
        last()


def failing(number):
    """What a disk tells that does not work."""
    raise OSError(number, os.strerror(number))


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """And its name is there when all is done."""
    named = []
    monkeypatch.setattr(os, "fsync", lambda _: named.append((tmp_path / NAMES[0]).exists()))
    write(tmp_path, "new", names=NAMES[:1])
    assert named == [False, True]


@ALONE_OR_NOT
def test_files_appear_together_and_nothing_else_stays(tmp_path, names):
    files, early = [tmp_path / name for name in names], []
    write(tmp_path, "new", names=names, last=lambda: early.extend(f for f in files if f.exists()))
    assert not early
    assert contents(tmp_path) == written("new", names)
    write(tmp_path, "newer", names=names, force=True)
    assert contents(tmp_path) == written("newer", names)


@ALONE_OR_NOT
@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError, SystemExit])
def test_an_interrupted_write_changes_nothing(tmp_path, names, problem):
    def interrupt():
        raise problem

    for before in ({}, written("old", names)):
        with pytest.raises(problem):
            write(tmp_path, "new", names=names, force=True, last=interrupt)
        assert contents(tmp_path) == before
        write(tmp_path, "old", names=names, force=True)


@pytest.mark.parametrize(("names", "taken"), [(NAMES[:1], "a.txt"), *((NAMES, n) for n in NAMES)])
def test_a_file_that_is_there_or_appears_meanwhile_keeps_all_away(tmp_path, names, taken):
    for last in (lambda: (tmp_path / taken).write_text("theirs"), lambda: None):
        with pytest.raises(FileFormatError, match=f"{taken} exists"):
            write(tmp_path, "ours", names=names, last=last)
        assert contents(tmp_path) == {taken: "theirs"}
    with pytest.raises(FileFormatError, match="exists"):
        check_writable(tmp_path / taken)


def test_a_file_that_is_left_out_goes_with_the_older_set(tmp_path):
    write(tmp_path, "old")
    with atomic_set([tmp_path / name for name in NAMES], force=True) as (_, receipt):
        receipt.write_text("alone")
    assert contents(tmp_path) == {"a.txt.json": "alone"}


@ALONE_OR_NOT
def test_modes_are_those_of_replaced_files_or_the_usual_one(tmp_path, names):
    before = os.umask(0o027)
    try:
        write(tmp_path, "old", names=names)
    finally:
        os.umask(before)
    files, kept = [tmp_path / name for name in names], [0o600, 0o444][: len(names)]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o640}
    for file, mode in zip(files, kept, strict=True):
        file.chmod(mode)
    write(tmp_path, "new", names=names, force=True)
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == kept


@ALONE_OR_NOT
def test_links_are_followed_into_other_folders(tmp_path, names):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (there / "real").write_text("old")
    (here / "a.txt").symlink_to(there / "real")
    write(here, "new", names=names, force=True)
    assert (here / "a.txt").is_symlink()
    assert contents(there) == {"real": "new a.txt"}
    assert contents(here) == written("new", names)


def test_one_file_under_two_names_is_refused(tmp_path):
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    for names in (("a.txt", "a.txt"), ("a.txt", "b.txt")):
        for act in (check_writable_set, lambda paths: atomic_set(paths).__enter__()):
            with pytest.raises(FileFormatError, match="the same file"):
                act([tmp_path / name for name in names])
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]


def test_where_nothing_can_be_written(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(0o500)
    for path, message in (
        (tmp_path / "no" / "a.txt", "does not exist"),
        (tmp_path, "is a folder"),
        ("/dev/null", "not a regular file"),
        ("a\0b", "not a valid file name"),
        *([(closed / "a.txt", "no permission")] if os.geteuid() else []),
    ):
        with pytest.raises(FileFormatError, match=message):
            check_writable(path, force=True)


@ALONE_OR_NOT
def test_a_problem_names_the_file_that_the_user_named(tmp_path, names):
    with pytest.raises(FileFormatError, match="disk is full") as error:
        write(tmp_path, "new", names=names, last=lambda: failing(errno.ENOSPC))
    assert f"cannot write {tmp_path / 'a.txt'}" in str(error.value)
    with (
        pytest.raises(FileFormatError, match="disk is full") as error,
        atomic_set([tmp_path / name for name in NAMES]) as (_, receipt),
        atomic_write(receipt),
    ):
        failing(errno.ENOSPC)
    assert f"cannot write {tmp_path / 'a.txt.json'}:" in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def _no_hard_links(monkeypatch):
    monkeypatch.setattr(os, "link", lambda *_, **__: failing(errno.EPERM))


@pytest.mark.usefixtures("_no_hard_links")
def test_without_hard_links_all_is_the_same(tmp_path, monkeypatch):
    write(tmp_path, "old")
    with pytest.raises(FileFormatError, match="exists"):
        write(tmp_path, "new")
    real = atomic._publish

    def fails_at_the_receipt(temporary, target, path, *, force):
        if target.suffix == ".json" and temporary.parent.name == "new":
            failing(errno.EIO)
        real(temporary, target, path, force=force)

    monkeypatch.setattr(atomic, "_publish", fails_at_the_receipt)
    with pytest.raises(FileFormatError, match="Input/output"):
        write(tmp_path, "new", force=True)
    assert contents(tmp_path) == written("old")


@pytest.mark.usefixtures("_no_hard_links")
def test_what_cannot_be_put_back_is_kept_and_named(tmp_path, monkeypatch):
    write(tmp_path, "old")
    real = os.rename

    def never_back(source, target):
        return failing(errno.EIO) if "/old/" in str(source) else real(source, target)

    def dead_disk():
        monkeypatch.setattr(os, "rename", never_back)
        monkeypatch.setattr(atomic, "_publish", lambda *_, **__: failing(errno.EIO))

    with pytest.raises(FileFormatError, match="the older files and the new") as error:
        write(tmp_path, "new", force=True, last=dead_disk)
    (hidden,) = tmp_path.iterdir()
    assert str(hidden) in str(error.value)
    assert [contents(hidden / each) for each in ("old", "new")] == [written("old"), written("new")]


@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_vanishes_while_it_is_looked_at_is_no_problem(tmp_path, monkeypatch, there):
    """Another process that replaces the set has moved the older file away for a moment."""
    write(tmp_path, "old")
    real, turns = os.stat, itertools.cycle([there, not there])

    def now_and_then(path, *arguments, **options):
        if str(path).endswith("a.txt") and not next(turns):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return real(path, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", now_and_then)
        check_writable_set([tmp_path / name for name in NAMES], force=True)


@pytest.mark.parametrize("force", [True, False])
def test_threads_that_write_one_set_never_mix_and_one_wins_where_none_may_replace(tmp_path, force):
    refused, done = [], []

    def work(number):
        try:
            for _ in range(5 if force else 1):
                write(tmp_path, f"by {number}", force=force)
            done.append(number)
        except FileFormatError as problem:
            refused.append(str(problem))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == (5 if force else 1)
    assert len(done) + len(refused) == 5
    assert all("exists" in text for text in refused)
    last = contents(tmp_path)["a.txt"].split()[1]
    assert contents(tmp_path) == written(f"by {last}")
    assert force or int(last) == done[0]


def test_a_database_is_never_replaced(tmp_path):
    graph, store = gc.datasets.load("karate"), gc.Store(tmp_path / "a.csv.json")
    release = gc.release_graph(graph, epsilon=1.0, fit="none", store=store)
    before = (tmp_path / "a.csv.json").read_bytes()
    with pytest.raises(FileFormatError, match="is a database, perhaps a store"):
        release.save(tmp_path / "a.csv", force=True)
    assert (tmp_path / "a.csv.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv.json"]


def test_kept_files_are_not_written_until_the_block_ends(tmp_path):
    with kept_files([tmp_path / "here", tmp_path / "later"]):
        for name in ("here", "later"):
            with pytest.raises(FileFormatError, match="is read or kept by this command"):
                check_writable(tmp_path / name, force=True)
        check_writable(tmp_path / "other")
    check_writable(tmp_path / "here")
