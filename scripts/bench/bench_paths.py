"""Count the files and functions of the package through which a use passes.

Each use runs once under `sys.setprofile` on the karate club. Imports, and what the use only
prepares (the graph, the folder), do not count. A release that is saved, loaded and asked shall pass
through at most `MOST_FILES` files and `MOST_FUNCTIONS` functions.

A second table counts the lines of the package that a use has loaded, each in a fresh process.

    python -m scripts.bench.bench_paths
"""

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import graphcuts_dp as gc
from graphcuts_dp.session.session import session_of
from scripts.bench.harness import Table, run

PACKAGE = str(Path(gc.__file__).parent)
CUT = gc.CutQuery([0, 1, 2], [30, 31, 33])
MOST_FILES, MOST_FUNCTIONS = 40, 450  # aims for the first use
# Uses whose closures are counted, each with the most lines that it shall load: what a reader of
# one call may have to know.
CLOSURES = {
    "Graph.of": ("gc.Graph.of([(0, 1), (1, 2)])", 5_500),
    "cut_norm": ("gc.cut_norm(np.eye(4))", 2_900),
    "read, release, answer": (
        "gc.release_graph(gc.read_graph('club.edges'), epsilon=4.0).answer([0, 1])",
        22_000,
    ),
    "release_flows": (
        (
            "gc.release_flows(gc.datasets.load('karate'), gc.datasets.load_groups('karate'), "
            "epsilon=1.0)"
        ),
        20_000,
    ),
    "open_session, ask": (
        (
            "gc.open_session(gc.datasets.load('karate'), store='club.db', epsilon=2.0, delta=1e-6, "
            "queries=100, method='multiplicative-weights').ask([0], [1, 2])"
        ),
        19_000,
    ),
}
_COUNTED = """
import sys, warnings
import numpy as np
import graphcuts_dp as gc
warnings.simplefilter("ignore")
{use}
files = {{
    module.__file__
    for name, module in sys.modules.items()
    if name.partition(".")[0] == "graphcuts_dp" and (module.__file__ or "").endswith(".py")
}}
lines = [line.strip() for file in files for line in open(file, encoding="utf-8")]
print(len(files), sum(bool(line) and not line.startswith("#") for line in lines))
"""


def followed(use: Callable[[], object]) -> tuple[int, int, int]:
    """Run a use twice, first to import what it needs, and follow it the second time.

    Returns:
        Files of the package, functions (by file, name and first line), and calls from one file to
        another that it passes through.
    """
    use()
    functions_called: set[tuple[str, str, int]] = set()
    crossings = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal crossings
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        functions_called.add((code.co_filename, code.co_qualname, code.co_firstlineno))
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(PACKAGE):
            caller = caller.f_back
        crossings += caller is not None and caller.f_code.co_filename != code.co_filename

    sys.setprofile(note)
    try:
        use()
    finally:
        sys.setprofile(None)
    functions = [
        function
        for function in functions_called
        if not function[1].endswith(("<genexpr>", "<listcomp>"))
    ]
    return len({file for file, *_ in functions_called}), len(functions), crossings


def loaded(use: str, folder: Path) -> tuple[int, int]:
    """Run a use in a fresh process, whose folder has a file of edges.

    Returns:
        Modules of the package that are loaded then, and their lines, docstrings included; blank
        lines and comments do not count.
    """
    code = _COUNTED.format(use=use)
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(PACKAGE).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    modules, lines = map(int, ended.stdout.split()[-2:])
    return modules, lines


def uses(folder: Path) -> dict[str, Callable[[], object]]:
    """Return the uses that are counted."""
    graph = gc.datasets.load("karate")
    clubs = gc.datasets.load_groups("karate")
    release = gc.release_graph(graph, epsilon=1.0)
    numbers = iter(range(1000))

    def whole() -> None:
        path = folder / f"{next(numbers)}.graphml"
        gc.release_graph(graph, epsilon=1.0).save(path)
        gc.Release.load(path).answer(CUT)

    def opened() -> gc.Session:
        store = folder / f"{next(numbers)}.db"
        terms = {"epsilon": 50.0, "delta": 1e-6, "method": "multiplicative-weights"}
        return session_of(graph, store=store, queries=20, **terms)

    session = opened()
    sets = iter(range(34))
    return {
        "release, save, load, answer": whole,
        "release": lambda: gc.release_graph(graph, epsilon=1.0),
        "save": lambda: release.save(folder / f"{next(numbers)}.graphml"),
        "one answer": lambda: release.answer(CUT),
        "flows": lambda: gc.release_flows(graph, clubs, epsilon=1.0),
        "open a session": lambda: opened().close(),
        "ask": lambda: session.ask([next(sets)]),
        "plan": lambda: gc.plan(n=1000, edges=10_000, queries=1000, epsilon=1.0, delta=1e-6),
    }


def main(quick: bool) -> None:  # noqa: ARG001
    """Print both tables."""
    warnings.simplefilter("ignore")
    table = Table("use:<30 files:>8 functions:>11, calls_between_files:>21,")
    with tempfile.TemporaryDirectory() as folder:
        for name, use in uses(Path(folder)).items():
            table.row(name, *followed(use))
    print(f"aims for the first: {MOST_FILES} files, {MOST_FUNCTIONS} functions\n")
    table = Table("use:<30 modules_loaded:>16 lines:>9, aim:>9,")
    for name, (code, most) in CLOSURES.items():
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "club.edges").write_text("0 1\n1 2\n2 0\n2 3\n3 4\n")
            table.row(name, *loaded(code, Path(folder)), most)


if __name__ == "__main__":
    run(main, __doc__)
