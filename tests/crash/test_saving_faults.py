"""Whatever goes wrong while something is saved: the older files, the newer ones, or none."""

import os

import faults
import pytest
from saving_cases import CASES, NEWER, OLDER

from graphcuts_dp import FileFormatError, files

ALL = (*faults.ERRORS, faults.READ_ONLY, *faults.INTERRUPTIONS, *faults.DEATHS)


def bytes_of(case, which, folder):
    folder.mkdir()
    case.save(folder, which, force=False)
    return faults.visible(folder)


def is_kept(wanted, folder):
    """Whether every file of a set is somewhere, in its place or in a hidden one."""
    kept = {(path.name, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
    return kept >= set(wanted.items())


def judge(trouble, result, folder, vouching, older, newer):
    """What must hold after a fault."""
    found = faults.visible(folder)
    if trouble in faults.DEATHS or trouble is faults.READ_ONLY:
        if trouble is faults.READ_ONLY and result is not None:
            assert isinstance(result, FileFormatError)
        if found in (older, newer):
            return
        # Between two moves: what vouches for the others is gone, and nothing is lost.
        assert vouching not in found
        assert is_kept(older, folder)
        assert is_kept(newer, folder)
        return
    assert not list(folder.glob(".*"))
    if result is None:
        assert found == newer
    elif trouble in faults.INTERRUPTIONS:
        assert isinstance(result, KeyboardInterrupt)
        assert found in (older, newer)
    else:
        assert isinstance(result, FileFormatError), repr(result)
        assert "\n" not in str(result)
        assert ".part" not in str(result)
        assert found == older


def sweep(case, tmp_path, pick, *, replacing):
    """Strike saving at each call, and judge what is left; returns how often."""
    newer = bytes_of(case, NEWER, tmp_path / "newer")
    older = bytes_of(case, OLDER, tmp_path / "older") if replacing else {}
    places = faults.folders(tmp_path)

    def fresh():
        folder = next(places)
        folder.mkdir()
        for name, content in older.items():
            (folder / name).write_bytes(content)
        return folder, lambda: case.save(folder, NEWER, force=replacing)

    folder, save = fresh()
    save()
    assert faults.visible(folder) == newer
    struck = 0
    for trouble, folder, result in faults.sweep(fresh, pick):
        judge(trouble, result, folder, case.vouching, older, newer)
        struck += 1
    return struck


@pytest.mark.thorough
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("replacing", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_one_trouble_at_every_other_call_or_every_trouble_at_each(tmp_path, name, replacing, every):
    pick, least = (lambda _: ALL, 6 * len(ALL)) if every else (faults.one_of(ALL, every=2), 3)
    assert sweep(CASES[name], tmp_path, pick, replacing=replacing) >= least


def in_processes(tmp_path, count, work):
    """The two sets that processes save into one folder, what they leave, and how each ended."""
    sets = [bytes_of(CASES["release"], each, tmp_path / str(each)) for each in (OLDER, NEWER)]
    shared = tmp_path / "shared"
    shared.mkdir()
    children = [faults.fork(lambda number=number: work(shared, number)) for number in range(count)]
    ended = [os.waitpid(child, 0)[1] for child in children]
    assert not list(shared.glob(".*"))
    return sets, faults.visible(shared), ended


def test_processes_that_replace_one_set_never_mix(tmp_path):
    def work(shared, number):
        for turn in range(4):
            CASES["release"].save(shared, (number + turn) % 2, force=True)

    sets, left, ended = in_processes(tmp_path, 3, work)
    assert ended == [0, 0, 0]
    assert left in sets


def test_of_processes_that_make_one_set_one_wins(tmp_path):
    def work(shared, number):
        CASES["release"].save(shared, number % 2, force=False)

    sets, left, ended = in_processes(tmp_path, 4, work)
    assert sorted(status == 0 for status in ended) == [False, False, False, True]
    assert left == sets[ended.index(0) % 2]


def test_a_file_that_goes_away_while_it_is_looked_at_is_no_obstacle(tmp_path, monkeypatch):
    """Another process may replace a set at any moment."""
    target = tmp_path / "out.csv"
    target.write_text("older")
    looked_at = files._mode

    def gone_then(file):
        mode = looked_at(file)
        file.unlink(missing_ok=True)
        return mode

    monkeypatch.setattr(files, "_mode", gone_then)
    assert files.check_writable(target, force=True) == target.resolve()
