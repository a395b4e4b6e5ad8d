"""Whatever goes wrong while something is saved: the older files, the newer ones, or none."""

import itertools
import os

import faults
import pytest
from saving_cases import CASES, NEWER, OLDER

from graphcuts_dp.errors import FileFormatError

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


def sweep(case, tmp_path, *, replacing, pick):
    """Strike saving at each call, by the troubles that `pick` tells for it; returns how often."""
    newer = bytes_of(case, NEWER, tmp_path / "newer")
    older = bytes_of(case, OLDER, tmp_path / "older") if replacing else {}

    def fresh(number):
        folder = tmp_path / f"work {number}"
        folder.mkdir()
        for name, content in older.items():
            (folder / name).write_bytes(content)
        return folder

    def save(folder):
        return lambda: case.save(folder, NEWER, force=replacing)

    last = faults.count_calls(save(fresh("count")))
    assert faults.visible(tmp_path / "work count") == newer
    numbers = itertools.count()
    struck = 0
    for target in range(1, last + 1):
        for trouble in pick(target):
            folder = fresh(next(numbers))
            result = faults.strike(trouble, target, save(folder))
            judge(trouble, result, folder, case.vouching, older, newer)
            struck += 1
    return struck


@pytest.mark.parametrize("replacing", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_one_trouble_at_each_call(tmp_path, name, replacing):
    struck = sweep(CASES[name], tmp_path, replacing=replacing, pick=lambda k: [ALL[k % len(ALL)]])
    assert struck >= 6


@pytest.mark.slow
@pytest.mark.parametrize("replacing", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_every_trouble_at_each_call(tmp_path, name, replacing):
    assert sweep(CASES[name], tmp_path, replacing=replacing, pick=lambda _: ALL) >= 6 * len(ALL)


@pytest.mark.parametrize("name", ["release", "iterative release", "distances"])
def test_processes_that_replace_one_set_never_mix(tmp_path, name):
    case = CASES[name]
    sets = [bytes_of(case, which, tmp_path / str(which)) for which in (OLDER, NEWER)]
    shared = tmp_path / "shared"
    shared.mkdir()

    def work(number):
        for turn in range(4):
            case.save(shared, (number + turn) % 2, force=True)

    children = [faults.fork(lambda number=number: work(number)) for number in range(3)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert faults.visible(shared) in sets
    assert not list(shared.glob(".*"))


def test_of_processes_that_make_one_set_one_wins(tmp_path):
    case = CASES["release"]
    sets = [bytes_of(case, which, tmp_path / str(which)) for which in (OLDER, NEWER)]
    shared = tmp_path / "shared"
    shared.mkdir()

    def work(number):
        case.save(shared, number % 2, force=False)

    children = [faults.fork(lambda number=number: work(number)) for number in range(4)]
    ended = [os.waitpid(child, 0)[1] for child in children]
    assert sorted(status == 0 for status in ended) == [False, False, False, True]
    assert faults.visible(shared) == sets[ended.index(0) % 2]
    assert not list(shared.glob(".*"))
