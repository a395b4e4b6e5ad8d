"""Sets of files are expected_contents all or not at all, even if others write at the same time."""

import errno
import itertools
import os
import stat
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

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
ONE_FILE_OR_SET = pytest.mark.parametrize("names", [NAMES[:1], NAMES])


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def expected_contents(text: str, names: Sequence[str] = NAMES) -> dict[str, str]:
    return {name: f"{text} {name}" for name in names}


def write_one(path: Path, text: str) -> None:
    with atomic_write(path) as handle:
        handle.write(f"{text} {path.name}".encode())


def write(
    folder: Path,
    text: str,
    *,
    force: bool = False,
    names: Sequence[str] = NAMES,
    last: Callable[[], object] = lambda: None,
) -> None:
    """Write one file, or a set of files.

    Args:
        folder: of the files.
        text: the word before each file's name in its content.
        force: whether files are replaced.
        names: of the files.
        last: called before the files get their names.
    """
    if len(names) == 1:
        with atomic_write(folder / names[0], force=force) as handle:
            handle.write(f"{text} {names[0]}".encode())
            last()
        return
    with atomic_set([folder / name for name in names], force=force) as paths:
        for path in paths:
            write_one(path, text)
        last()


def fail(number: int) -> NoReturn:
    """Raise the error of a disk that does not work."""
    raise OSError(number, os.strerror(number))


def test_a_file_is_synced_before_and_after_it_gets_its_name(tmp_path, monkeypatch):
    has_name = []
    monkeypatch.setattr(os, "fsync", lambda _: has_name.append((tmp_path / NAMES[0]).exists()))
    write(tmp_path, "new", names=NAMES[:1])
    assert has_name == [False, True]


@ONE_FILE_OR_SET
def test_files_of_a_set_appear_together_and_no_temporary_file_is_left(tmp_path, names):
    files, early = [tmp_path / name for name in names], []
    write(tmp_path, "new", names=names, last=lambda: early.extend(filter(Path.exists, files)))
    assert not early
    assert contents(tmp_path) == expected_contents("new", names)
    write(tmp_path, "newer", names=names, force=True)
    assert contents(tmp_path) == expected_contents("newer", names)


@ONE_FILE_OR_SET
@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError, SystemExit])
def test_an_interrupted_write_changes_nothing(tmp_path, names, problem):
    def interrupt():
        raise problem

    for before in ({}, expected_contents("old", names)):
        with pytest.raises(problem):
            write(tmp_path, "new", names=names, force=True, last=interrupt)
        assert contents(tmp_path) == before
        write(tmp_path, "old", names=names, force=True)


@pytest.mark.parametrize(
    ("names", "existing"), [(NAMES[:1], "a.txt"), *((NAMES, name) for name in NAMES)]
)
def test_an_existing_file_or_one_that_appears_meanwhile_stops_the_whole_set(
    tmp_path, names, existing
):
    for last in (lambda: (tmp_path / existing).write_text("theirs"), lambda: None):
        with pytest.raises(FileFormatError, match=f"{existing} exists"):
            write(tmp_path, "ours", names=names, last=last)
        assert contents(tmp_path) == {existing: "theirs"}
    with pytest.raises(FileFormatError, match="exists"):
        check_writable(tmp_path / existing)


def test_a_file_that_the_new_set_lacks_is_removed(tmp_path):
    write(tmp_path, "old")
    with atomic_set([tmp_path / name for name in NAMES], force=True) as (_, receipt):
        receipt.write_text("alone")
    assert contents(tmp_path) == {"a.txt.json": "alone"}


@ONE_FILE_OR_SET
def test_a_replaced_file_keeps_its_mode_and_a_new_one_has_that_of_the_umask(tmp_path, names):
    umask = os.umask(0o027)
    try:
        write(tmp_path, "old", names=names)
    finally:
        os.umask(umask)
    files, modes = [tmp_path / name for name in names], [0o600, 0o444][: len(names)]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o640}
    for file, mode in zip(files, modes, strict=True):
        file.chmod(mode)
    write(tmp_path, "new", names=names, force=True)
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == modes


@ONE_FILE_OR_SET
def test_links_are_followed_into_other_folders(tmp_path, names):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (there / "real").write_text("old")
    (here / "a.txt").symlink_to(there / "real")
    write(here, "new", names=names, force=True)
    assert (here / "a.txt").is_symlink()
    assert contents(there) == {"real": "new a.txt"}
    assert contents(here) == expected_contents("new", names)


def test_one_file_under_two_names_is_refused(tmp_path):
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    for names in (("a.txt", "a.txt"), ("a.txt", "b.txt")):
        for act in (check_writable_set, lambda paths: atomic_set(paths).__enter__()):
            with pytest.raises(FileFormatError, match="the same file"):
                act([tmp_path / name for name in names])
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]


def test_paths_that_cannot_be_written_are_refused(tmp_path):
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


@ONE_FILE_OR_SET
def test_an_error_of_the_disk_names_the_file_of_the_caller(tmp_path, names):
    with pytest.raises(FileFormatError, match="disk is full") as error:
        write(tmp_path, "new", names=names, last=lambda: fail(errno.ENOSPC))
    assert f"cannot write {tmp_path / 'a.txt'}" in str(error.value)
    with (
        pytest.raises(FileFormatError, match="disk is full") as error,
        atomic_set([tmp_path / name for name in NAMES]) as (_, receipt),
        atomic_write(receipt),
    ):
        fail(errno.ENOSPC)
    assert f"cannot write {tmp_path / 'a.txt.json'}:" in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def _no_hard_links(monkeypatch):
    monkeypatch.setattr(os, "link", lambda *_, **__: fail(errno.EPERM))


@pytest.mark.usefixtures("_no_hard_links")
def test_a_file_system_without_hard_links_behaves_the_same(tmp_path, monkeypatch):
    write(tmp_path, "old")
    with pytest.raises(FileFormatError, match="exists"):
        write(tmp_path, "new")
    publish = atomic._publish

    def fail_at_the_receipt(temporary, target, path, *, force):
        if target.suffix == ".json" and temporary.parent.name == "new":
            fail(errno.EIO)
        publish(temporary, target, path, force=force)

    monkeypatch.setattr(atomic, "_publish", fail_at_the_receipt)
    with pytest.raises(FileFormatError, match="Input/output"):
        write(tmp_path, "new", force=True)
    assert contents(tmp_path) == expected_contents("old")


@pytest.mark.usefixtures("_no_hard_links")
def test_files_that_cannot_be_restored_are_kept_and_their_folder_named(tmp_path, monkeypatch):
    write(tmp_path, "old")
    real = os.rename

    def never_back(source, target):
        return fail(errno.EIO) if "/old/" in str(source) else real(source, target)

    def dead_disk():
        monkeypatch.setattr(os, "rename", never_back)
        monkeypatch.setattr(atomic, "_publish", lambda *_, **__: fail(errno.EIO))

    with pytest.raises(FileFormatError, match="the older files and the new") as error:
        write(tmp_path, "new", force=True, last=dead_disk)
    (hidden,) = tmp_path.iterdir()
    assert str(hidden) in str(error.value)
    assert [contents(hidden / version) for version in ("old", "new")] == [
        expected_contents("old"),
        expected_contents("new"),
    ]


@pytest.mark.parametrize("is_there_first", [True, False])
def test_a_file_that_vanishes_during_the_check_is_no_error(tmp_path, monkeypatch, is_there_first):
    """Another process that replaces the set has moved the older file away for a moment."""
    write(tmp_path, "old")
    real, turns = os.stat, itertools.cycle([is_there_first, not is_there_first])

    def now_and_then(path, *arguments, **options):
        if str(path).endswith("a.txt") and not next(turns):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return real(path, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", now_and_then)
        check_writable_set([tmp_path / name for name in NAMES], force=True)


@pytest.mark.parametrize("force", [True, False])
def test_threads_never_mix_their_sets_and_only_one_succeeds_without_force(tmp_path, force):
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
    assert contents(tmp_path) == expected_contents(f"by {last}")
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
