"""Copies of the package that tests change, and programs that run in them.

A copy keeps what Python has compiled: a program in it compiles only the modules that were changed.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def copied_package(tree: Path, *others: str) -> Path:
    """Copy the package, its bundled data and other folders of the root into a tree.

    Returns:
        The copy of the package.
    """
    for part in ("graphcuts_dp", "datasets", *others):
        shutil.copytree(ROOT / part, tree / part)
    return tree / "graphcuts_dp"


def printed_by(tree: Path, *words: str) -> str:
    """Return what a Python program prints that runs with the package of a tree."""
    ended = subprocess.run(
        [sys.executable, *words],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout
