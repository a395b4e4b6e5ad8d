"""Saving with a fault at any call leaves the older files, the newer ones, or none: never a mix."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import faults
import pytest
from saving_cases import CASES, NEWER, OLDER, Case

from graphcuts_dp import FileFormatError, files

EVERY_FAULT = (*faults.ERRORS, faults.READ_ONLY, *faults.INTERRUPTIONS, *faults.DEATHS)


def saved_files(case: Case, version: int, folder: Path) -> dict[str, bytes]:
    """Save one version of a case into a new folder; return its files by name."""
    folder.mkdir()
    case.save(folder, version, force=False)
    return faults.visible(folder)


def contains_all(folder: Path, files_by_name: dict[str, bytes]) -> bool:
    """Return whether all files exist in a folder or in its hidden subfolders."""
    contents = {(path.name, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
    return contents >= set(files_by_name.items())


def check_after_fault(
    fault: faults.Fault,
    result: object,
    folder: Path,
    receipt: str,
    older: dict[str, bytes],
    newer: dict[str, bytes],
) -> None:
    """Check what saving has left in a folder after a fault.

    Args:
        fault: that was injected.
        result: of `faults.strike`.
        folder: saved into.
        receipt: name of the file that is in the folder only if all others are.
        older: files before saving.
        newer: files after saving without a fault.
    """
    present = faults.visible(folder)
    if fault in faults.DEATHS or fault is faults.READ_ONLY:
        if fault is faults.READ_ONLY and result is not None:
            assert isinstance(result, FileFormatError)
        if present in (older, newer):
            return
        # Killed between two moves: the receipt is absent, and no file is lost.
        assert receipt not in present
        assert contains_all(folder, older)
        assert contains_all(folder, newer)
        return
    assert not list(folder.glob(".*"))
    if result is None:
        assert present == newer
    elif fault in faults.INTERRUPTIONS:
        assert isinstance(result, KeyboardInterrupt)
        assert present in (older, newer)
    else:
        assert isinstance(result, FileFormatError), repr(result)
        assert "\n" not in str(result)
        assert ".part" not in str(result)
        assert present == older


def sweep(
    case: Case,
    tmp_path: Path,
    faults_at: Callable[[int], Sequence[faults.Fault]],
    *,
    replacing: bool,
) -> int:
    """Save with a fault at each call and check what is left; return the number of runs."""
    newer = saved_files(case, NEWER, tmp_path / "newer")
    older = saved_files(case, OLDER, tmp_path / "older") if replacing else {}
    work_folders = faults.folders(tmp_path)

    def prepare() -> tuple[Path, Callable[[], object]]:
        folder = next(work_folders)
        folder.mkdir()
        for name, content in older.items():
            (folder / name).write_bytes(content)
        return folder, lambda: case.save(folder, NEWER, force=replacing)

    folder, save = prepare()
    save()
    assert faults.visible(folder) == newer
    runs = 0
    for fault, folder, result in faults.sweep(prepare, faults_at):
        check_after_fault(fault, result, folder, case.receipt, older, newer)
        runs += 1
    return runs


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("faults_at", "minimum"),
    [
        pytest.param(faults.in_turn(EVERY_FAULT, every=2), 3, id="one at every second call"),
        pytest.param(
            lambda _: EVERY_FAULT, 6 * len(EVERY_FAULT), id="all at each", marks=pytest.mark.slow
        ),
    ],
)
@pytest.mark.parametrize("replacing", [False, True], ids=["new files", "replaced files"])
@pytest.mark.parametrize("name", CASES)
def test_saving_with_a_fault_leaves_the_older_files_or_the_newer_ones(
    tmp_path, name, replacing, faults_at, minimum
):
    assert sweep(CASES[name], tmp_path, faults_at, replacing=replacing) >= minimum


def save_concurrently(
    tmp_path: Path, processes: int, save: Callable[[Path, int], None]
) -> tuple[list[dict[str, bytes]], dict[str, bytes], list[int]]:
    """Save releases into one folder from several processes.

    Args:
        processes: how many.
        save: takes the shared folder and the number of the process.

    Returns:
        The files of both versions, those in the shared folder, and the status of each process.
    """
    versions = [
        saved_files(CASES["release"], version, tmp_path / str(version))
        for version in (OLDER, NEWER)
    ]
    shared = tmp_path / "shared"
    shared.mkdir()
    children = [
        faults.fork(lambda process=process: save(shared, process)) for process in range(processes)
    ]
    statuses = [os.waitpid(child, 0)[1] for child in children]
    assert not list(shared.glob(".*"))
    return versions, faults.visible(shared), statuses


def test_files_that_processes_replace_at_once_are_all_of_one_version(tmp_path):
    def save(shared, process):
        for turn in range(4):
            CASES["release"].save(shared, (process + turn) % 2, force=True)

    versions, present, statuses = save_concurrently(tmp_path, 3, save)
    assert statuses == [0, 0, 0]
    assert present in versions


def test_only_one_of_the_processes_that_save_at_once_without_force_succeeds(tmp_path):
    def save(shared, process):
        CASES["release"].save(shared, process % 2, force=False)

    versions, present, statuses = save_concurrently(tmp_path, 4, save)
    assert sorted(status == 0 for status in statuses) == [False, False, False, True]
    assert present == versions[statuses.index(0) % 2]


def test_a_file_that_another_process_removes_during_the_check_can_be_written(tmp_path, monkeypatch):
    target = tmp_path / "out.csv"
    target.write_text("older")
    mode_of = files._mode

    def mode_then_removed(file):
        mode = mode_of(file)
        file.unlink(missing_ok=True)
        return mode

    monkeypatch.setattr(files, "_mode", mode_then_removed)
    assert files.check_writable(target, force=True) == target.resolve()
