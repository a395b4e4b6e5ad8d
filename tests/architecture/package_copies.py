"""Copies of the package that tests extend by lines of docs/extending.md, and programs in them.

A copy keeps what Python has compiled: a program in it compiles only the modules that were changed.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


def python_blocks(heading: str) -> list[str]:
    """Return the blocks of Python that the guide has below a heading, to the end of the page."""
    _, _, below = GUIDE.partition(heading)
    return [block.split("```")[0] for block in below.split("```python\n")[1:]]


def copied_package(tree: Path, *other_folders: str) -> Path:
    """Copy the package, its bundled data and other folders of the root into a tree.

    Returns:
        The copy of the package.
    """
    for folder in ("graphcuts_dp", "datasets", *other_folders):
        shutil.copytree(ROOT / folder, tree / folder)
    return tree / "graphcuts_dp"


def insert_import(source: str, line: str) -> str:
    """Return the source of a module with another import before its first one of the package."""
    begin = source.index("\nfrom graphcuts_dp") + 1
    return source[:begin] + line + source[begin:]


def output_of(tree: Path, *arguments: str) -> str:
    """Return the standard output of Python with these arguments and the package of a tree.

    It must succeed, and lines of help are wide enough not to be broken.
    """
    completed = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr[-3000:]
    return completed.stdout
