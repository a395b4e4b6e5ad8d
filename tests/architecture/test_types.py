"""Type hints as a program of somebody else sees them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import graphcuts_dp as gc

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLE = HERE / "downstream_example.py"


def mypy(file):
    # In the root, with its settings: what `make test` checked before is remembered.
    line = [sys.executable, "-m", "mypy", "--strict", str(file)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_strict_program_passes_mypy(tmp_path):
    pytest.importorskip("mypy")
    ended = mypy(EXAMPLE)
    assert ended.returncode == 0, ended.stdout
    wrong = tmp_path / "wrong.py"
    text = EXAMPLE.read_text()
    assert "assert_type(plain, gc.Graph)" in text
    wrong.write_text(text.replace("assert_type(plain, gc.Graph)", "assert_type(plain, gc.Release)"))
    ended = mypy(wrong)
    assert ended.returncode == 1
    assert "Found 1 error" in ended.stdout, ended.stdout


def test_a_strict_program_passes_pyright():
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not on this machine")
    ended = subprocess.run([pyright, str(EXAMPLE)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_the_package_says_that_it_has_types():
    assert (Path(gc.__file__).parent / "py.typed").exists()
