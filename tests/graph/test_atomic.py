import errno
import os
import stat

import pytest

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.files import atomic_write, check_writable


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_writes_a_whole_file_and_leaves_no_other(tmp_path):
    with atomic_write(tmp_path / "a.txt") as handle:
        assert not (tmp_path / "a.txt").exists()
        handle.write(b"hello")
    assert (tmp_path / "a.txt").read_bytes() == b"hello"
    assert names(tmp_path) == ["a.txt"]


def write_half(path, problem):
    with atomic_write(path, force=True) as handle:
        handle.write(b"half")
        raise problem


@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError, SystemExit])
def test_an_interrupted_write_changes_nothing(tmp_path, problem):
    (tmp_path / "old.txt").write_bytes(b"old")
    for name in ("new.txt", "old.txt"):
        with pytest.raises(problem):
            write_half(tmp_path / name, problem)
    assert names(tmp_path) == ["old.txt"]
    assert (tmp_path / "old.txt").read_bytes() == b"old"


def test_full_disk_is_one_line(tmp_path):
    with pytest.raises(FileFormatError, match="disk is full"), atomic_write(tmp_path / "a"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert names(tmp_path) == []


def test_existing_file_needs_force(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with pytest.raises(FileFormatError, match="exists"):
        check_writable(path)
    with pytest.raises(FileFormatError, match="exists"), atomic_write(path):
        pass
    with atomic_write(path, force=True) as handle:
        handle.write(b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_appears_meanwhile_is_kept(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(FileFormatError, match="exists"), atomic_write(path):
        path.write_bytes(b"theirs")
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["a.txt"]


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(FileFormatError, match="does not exist"):
        check_writable(tmp_path / "no" / "a.txt")
    with pytest.raises(FileFormatError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(FileFormatError, match="not a regular file"):
        check_writable("/dev/null", force=True)
    with pytest.raises(FileFormatError, match="not a valid file name"):
        check_writable("a\0b")


def test_links_are_followed(tmp_path):
    (tmp_path / "real.txt").write_bytes(b"old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with atomic_write(tmp_path / "link.txt", force=True) as handle:
        handle.write(b"new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_bytes() == b"new"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileFormatError, match="no permission"):
        check_writable(tmp_path / "a.txt")
