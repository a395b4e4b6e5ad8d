"""Type hints as a program of somebody else sees them."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import graphcuts_dp as gc

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
IGNORED = "  # type: ignore[assert-type]"
EXAMPLE = HERE / "downstream_example.py"


def programs(folder):
    """Write a program that is right, and one that takes a graph for a release; return both."""
    lines = EXAMPLE.read_text().splitlines(keepends=True)
    (mistake,) = (line for line in lines if IGNORED in line)
    right, wrong = folder / "right.py", folder / "wrong.py"
    right.write_text("".join(line for line in lines if line != mistake))
    wrong.write_text("".join(lines).replace(IGNORED, ""))
    return str(right), str(wrong)


def test_make_check_lets_mypy_check_a_strict_program():
    """Strictly: an error that is not ignored is told, and so is one that is ignored but missing."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["strict"]
    assert f"tests.architecture.{EXAMPLE.stem}" in settings["modules"]
    assert EXAMPLE.read_text().count(IGNORED) == 1


@pytest.mark.slow  # `make check` says the same within its one run
def test_a_strict_program_passes_mypy(tmp_path):
    pytest.importorskip("mypy")
    # In the root, with its settings: what `make test` checked before is remembered.
    line = [sys.executable, "-m", "mypy", "--strict", *programs(tmp_path)]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "wrong.py" in ended.stdout, ended.stdout
    assert "Found 1 error in 1 file (checked 2 source files)" in ended.stdout, ended.stdout


def pyright(*words, folder):
    """Run the second type checker in a folder, where no settings lie; it sees this package."""
    pytest.importorskip("basedpyright", reason="basedpyright is not installed")
    # With --verifytypes it looks for packages by the `python` that it finds, whatever it is told.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "basedpyright", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": path, "VIRTUAL_ENV": sys.prefix},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.thorough
def test_a_strict_program_passes_pyright(tmp_path):
    ended = pyright("--level", "error", *programs(tmp_path), folder=tmp_path)
    assert ended.returncode == 1
    assert "wrong.py:" in ended.stdout, ended.stdout
    assert "1 error," in ended.stdout, ended.stdout


@pytest.mark.slow  # `make test` lets mypy, in strict mode, refuse what has no type
def test_the_types_of_the_package_are_complete(tmp_path):
    """Every name, argument and result has a type that type checkers do not have to guess."""
    ended = pyright("--verifytypes", "graphcuts_dp", "--ignoreexternal", folder=tmp_path)
    assert str(ROOT / "graphcuts_dp" / "py.typed") in ended.stdout, ended.stdout + ended.stderr
    assert "Type completeness score: 100%" in ended.stdout, ended.stdout[-5000:]


def test_the_package_says_that_it_has_types():
    assert (Path(gc.__file__).parent / "py.typed").exists()
