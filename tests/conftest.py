"""How every test runs: on several processes, the same way each time."""

import atexit
import gc
import itertools
import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from selected_tests import leave_out_cases, shuffle

_STATES = itertools.count()  # for each test a state folder of its own
_MEMORY_EACH = 1 << 30  # bytes that the largest test of a process may need
_OF_A_PERSON = (
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "PYTHONWARNINGS",
    "PYTEST_ADDOPTS",  # some tests run pytest
)

# A process for each processor, so one BLAS thread in each: more of them wait for each other in busy
# loops. Read when numpy is imported, so nothing here may import it; commands of tests inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What fixtures of several tests release is noted nowhere near what a person has released.
os.environ["GRAPHCUTS_DP_STATE"] = tempfile.mkdtemp(prefix="graphcuts-dp-tests-")
atexit.register(shutil.rmtree, os.environ["GRAPHCUTS_DP_STATE"], ignore_errors=True)

# Each store of rows looks through the temporary folder for what killed processes have left, which
# takes tens of milliseconds among thousands of files. Pytest keeps its own folders where it would.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
# Beside, and not within, that of a process above this one: names of sockets have 107 characters.
os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(
    prefix="graphcuts-dp-tests-", dir=os.environ["PYTEST_DEBUG_TEMPROOT"]
)
Path(os.environ["TMPDIR"]).chmod(0o711)  # tests that run as nobody pass through it
atexit.register(shutil.rmtree, os.environ["TMPDIR"], ignore_errors=True)

# A test that finds a counterexample on one day in ten is a chance failure for whoever runs it then.
# `pytest --hypothesis-profile exploring` looks for new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.register_profile("exploring", deadline=None, print_blob=True)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options: how many cases of a test run, and in which order."""
    parser.addoption(
        "--thorough",
        action="store_true",
        help="run all cases of the tests that are marked as thorough, as .ci/run does",
    )
    parser.addoption(
        "--random-order",
        metavar="SEED",
        nargs="?",
        type=int,
        const=-1,
        help="run files, and the tests of each, in a random order; without a seed, in a new one",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Draws the seed of a new random order; the processes of a run take that of the first."""
    if config.option.random_order == -1:
        of_the_run = getattr(config, "workerinput", {})
        drawn = random.SystemRandom().randrange(10**6)
        config.option.random_order = of_the_run.get("random_order", drawn)


def pytest_configure_node(node: Any) -> None:
    """Hands the seed to a process of the run."""
    node.workerinput["random_order"] = node.config.option.random_order


def pytest_report_header(config: pytest.Config) -> str | None:
    """Returns how to run the tests in the same order again."""
    seed = config.option.random_order
    return None if seed is None else f"the same order again: --random-order {seed}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what `make test` does not run, and shuffles the rest if this is wanted."""
    leave_out_cases(config, items)
    if config.option.random_order is not None:
        shuffle(items, config.option.random_order)


def pytest_xdist_auto_num_workers() -> int:
    """A process for each processor that this one may use, as far as the memory reaches."""
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count() or 1
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):
        memory = _MEMORY_EACH * 4
    return max(1, min(processors, memory // _MEMORY_EACH))


def pytest_xdist_setupnodes() -> None:
    """The processes that run the tests, and those that they start, keep what they have compiled.

    Where a person has set that nothing is kept, each of hundreds of processes would compile the
    package and its libraries again, and each that runs tests all of the tests. A run in this
    process (`-n 0`) does as it was told: scripts/mutate.py changes the code between runs.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """No garbage is looked for while tests are collected, and later not among what is there then.

    Modules and lists of tests are added all the time, and none goes.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def quick_table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Gives the quick table of a figure's name; all processes of a run share them."""
    from quick_tables import measured_in

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "quick_tables"
    folder.mkdir(exist_ok=True)
    return measured_in(folder)


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Writes a file of this name, text or bytes, and gives its path."""

    def put(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


@pytest.fixture(autouse=True)
def _nothing_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What a person has set in the shell or has released changes no output that a test reads."""
    for name in _OF_A_PERSON:
        monkeypatch.delenv(name, raising=False)
    state = tmp_path_factory.getbasetemp() / f"state-{next(_STATES)}"  # made where it is needed
    monkeypatch.setenv("GRAPHCUTS_DP_STATE", str(state))


@pytest.fixture(scope="session")
def _database() -> Any:
    """A database of duckdb as engines of rows make one."""
    import duckdb

    config = {"preserve_insertion_order": False, "autoinstall_known_extensions": False}
    return duckdb.connect(":memory:", config=config)


@pytest.fixture
def one_database(monkeypatch: pytest.MonkeyPatch, _database: Any) -> None:
    """All engines of a test are connections to one database: to make one takes 17 ms.

    For tests of very many small tables, of which nothing is kept in the database.
    """
    import duckdb

    monkeypatch.setattr(duckdb, "connect", lambda *_, **__: _database.cursor())


class _Unforced(sqlite3.Connection):
    """A store that would be lost with the machine, which no test outlives."""

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """All statements but the one that waits for the disk."""
        return super().execute(
            statement.replace("synchronous = FULL", "synchronous = OFF"), *values
        )


@pytest.fixture(autouse=True)
def _nothing_waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests of `crash` and of `ledger`, which are about that, undo this."""
    connect = partial(sqlite3.connect, factory=_Unforced)
    monkeypatch.setattr(sqlite3, "connect", connect)
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def no_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many sessions of tests are worthless, and to look for better ones takes longer than they."""
    from graphcuts_dp.session.terms import SessionTerms

    monkeypatch.setattr(SessionTerms, "warning", lambda *_: None)
