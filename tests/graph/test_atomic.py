"""Files that belong together: all of them, or none, whoever else writes at the same time."""

import errno
import itertools
import os
import stat
import threading

import pytest

from graphcuts_dp import files as atomic
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.files import atomic_set, atomic_write, check_writable, check_writable_set

NAMES = ("a.txt", "a.txt.json")
ALONE_OR_NOT = pytest.mark.parametrize("names", [NAMES[:1], NAMES])


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def written(text, names):
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
    with pytest.raises(FileFormatError, match=f"{taken} exists"):
        write(tmp_path, "ours", names=names, last=lambda: (tmp_path / taken).write_text("theirs"))
    assert contents(tmp_path) == {taken: "theirs"}
    with pytest.raises(FileFormatError, match="exists"):
        write(tmp_path, "new", names=names)
    with pytest.raises(FileFormatError, match="exists"):
        check_writable(tmp_path / taken)
    assert contents(tmp_path) == {taken: "theirs"}


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
    files = [tmp_path / name for name in names]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o640}
    for file, mode in zip(files, (0o600, 0o444), strict=False):
        file.chmod(mode)
    write(tmp_path, "new", names=names, force=True)
    modes = [stat.S_IMODE(file.stat().st_mode) for file in files]
    assert modes == [0o600, 0o444][: len(names)]


@ALONE_OR_NOT
def test_links_are_followed_into_other_folders(tmp_path, names):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "real").write_text("old")
    (tmp_path / "here" / "a.txt").symlink_to(tmp_path / "there" / "real")
    write(tmp_path / "here", "new", names=names, force=True)
    assert (tmp_path / "here" / "a.txt").is_symlink()
    assert contents(tmp_path / "there") == {"real": "new a.txt"}
    assert contents(tmp_path / "here") == written("new", names)


def test_one_file_under_two_names_is_refused(tmp_path):
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    for names in (("a.txt", "a.txt"), ("a.txt", "b.txt")):
        with pytest.raises(FileFormatError, match="the same file"):
            check_writable_set([tmp_path / name for name in names])
        with pytest.raises(FileFormatError, match="the same file"):
            write(tmp_path, "new", names=names)
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]


def test_where_nothing_can_be_written(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(0o500)
    cases = [
        (tmp_path / "no" / "a.txt", "does not exist"),
        (tmp_path, "is a folder"),
        ("/dev/null", "not a regular file"),
        ("a\0b", "not a valid file name"),
    ]
    if os.geteuid() != 0:  # root may write everywhere
        cases.append((closed / "a.txt", "no permission"))
    for path, words in cases:
        with pytest.raises(FileFormatError, match=words):
            check_writable(path, force=True)


@ALONE_OR_NOT
def test_a_problem_names_the_file_that_the_user_named(tmp_path, names):
    def full():
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(FileFormatError, match="disk is full") as caught:
        write(tmp_path, "new", names=names, last=full)
    assert f"cannot write {tmp_path / 'a.txt'}" in str(caught.value)
    with (
        pytest.raises(FileFormatError, match="disk is full") as caught,
        atomic_set([tmp_path / name for name in NAMES]) as (_, receipt),
        atomic_write(receipt),
    ):
        full()
    assert f"cannot write {tmp_path / 'a.txt.json'}:" in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def _no_hard_links(monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("_no_hard_links")
def test_without_hard_links_all_is_the_same(tmp_path, monkeypatch):
    write(tmp_path, "old")
    with pytest.raises(FileFormatError, match="exists"):
        write(tmp_path, "new")
    real = atomic._publish

    def fails_at_the_receipt(temporary, target, path, *, force):
        if target.suffix == ".json" and temporary.parent.name == "new":
            raise OSError(errno.EIO, "Input/output error")
        real(temporary, target, path, force=force)

    before = contents(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(atomic, "_publish", fails_at_the_receipt)
        with pytest.raises(FileFormatError, match="Input/output"):
            write(tmp_path, "new", force=True)
    assert contents(tmp_path) == before


@pytest.mark.usefixtures("_no_hard_links")
def test_what_cannot_be_put_back_is_kept_and_named(tmp_path, monkeypatch):
    write(tmp_path, "old")
    real = os.rename

    def never_back(source, target):
        if "/old/" in str(source):
            raise OSError(errno.EIO, "Input/output error")
        real(source, target)

    def dead_disk():
        monkeypatch.setattr(os, "rename", never_back)
        monkeypatch.setattr(atomic, "_publish", lambda *_, **__: never_back("/old/", ""))

    with pytest.raises(FileFormatError, match="the older files and the new") as caught:
        write(tmp_path, "new", force=True, last=dead_disk)
    hidden = next(tmp_path.iterdir())
    assert str(hidden) in str(caught.value)
    assert contents(hidden / "old") == {"a.txt": "old a.txt", "a.txt.json": "old a.txt.json"}
    assert contents(hidden / "new") == {"a.txt": "new a.txt", "a.txt.json": "new a.txt.json"}


def in_threads(count, work):
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_that_replace_one_set_never_mix(tmp_path):
    done = []

    def work(number):
        for _ in range(5):
            write(tmp_path, f"by {number}", force=True)
        done.append(number)

    in_threads(4, work)
    assert sorted(done) == [0, 1, 2, 3]
    found = contents(tmp_path)
    assert set(found) == set(NAMES)
    assert found["a.txt"].split()[1] == found["a.txt.json"].split()[1]


@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_vanishes_while_it_is_looked_at_is_no_problem(tmp_path, monkeypatch, there):
    """Another process that replaces the set has moved the older file away for a moment."""
    write(tmp_path, "old")
    real = os.stat
    turns = itertools.cycle([there, not there])

    def now_and_then(path, *arguments, **options):
        if str(path).endswith("a.txt") and not next(turns):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return real(path, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", now_and_then)
        check_writable_set([tmp_path / name for name in NAMES], force=True)


def test_of_threads_that_make_one_set_one_wins(tmp_path):
    won, refused = [], []

    def work(number):
        try:
            write(tmp_path, f"by {number}")
        except FileFormatError as problem:
            refused.append(str(problem))
        else:
            won.append(number)

    in_threads(6, work)
    assert len(won) == 1
    assert len(refused) == 5
    assert all("exists" in text for text in refused)
    assert contents(tmp_path) == {name: f"by {won[0]} {name}" for name in NAMES}
