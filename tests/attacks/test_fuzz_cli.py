"""Any command line gives an answer or a one-line error: no traceback, no hang, status 0 or 2.

Arguments of every command are put together from good and hostile values: nan, 1e309, numbers of
thousands of digits, empty and unprintable text, names that are no text, folders, binary files and
deeply nested JSON. Most are run within this process, where one costs milliseconds; a few as a
program of its own.
"""

import contextlib
import os
import shutil
import subprocess
import sys

import pytest
from command_lines import COMMANDS, KINDS, command_lines, prepare, wrong_with
from command_runs import LONGEST, run_line
from helpers import LARGE_DELTA
from hypothesis import HealthCheck, Phase, given, settings

from graphcuts_dp.cli import main

pytestmark = LARGE_DELTA


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    made = tmp_path_factory.mktemp("prepared")
    with contextlib.chdir(made):
        prepare(made)
    return made


@pytest.fixture
def folder(prepared, tmp_path, monkeypatch):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fuzz(examples):
    ended = {0: 0, 2: 0}

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(command_lines())
    def one(line):
        status, out, err = run_line(*line)
        assert not wrong_with(status, out, err), (line, err)
        ended[status] += 1

    one()
    assert sum(ended.values()) >= 0.9 * examples
    assert min(ended.values()) >= 0.1 * examples  # neither all wrong nor all right


@pytest.mark.thorough
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("examples", [60, pytest.param(5_000, marks=pytest.mark.slow)])
def test_command_lines(examples):
    fuzz(examples)


def test_every_command_is_fuzzed_with_all_that_it_takes():
    assert {names[0] for names in COMMANDS if names} | {"serve", "page"} == set(main.COMMANDS)
    kinds = [kind for given, _ in COMMANDS.values() for kind in given]
    kinds += [kind for _, each in COMMANDS.values() for kinds in each.values() for kind in kinds]
    assert {kind for kind in kinds if isinstance(kind, str)} == KINDS.keys()
    objects = {kind.name for kind in kinds if not isinstance(kind, str) and kind.of}
    assert objects >= {"columns", "privacy_unit", "construction", "method", "fit", "queries"}


# Each was a traceback, an error of several lines, or one that told nothing.
KNOWN = [
    (),
    ("session",),
    ("evaluate", "bad\udcff.edges", "bad\udcff.edges", "--vertices", "6"),
    ("evaluate", "new\nline.edges", "missing\n.edges"),
    ("evaluate", *["bad\udcff.edges"] * 2, "--vertices", "6", "--plot", "new.png"),
    ("session", "status", "bad\udcff.db"),
    ("session", "run", "store.db", "deep.jsonl"),
    ("session", "run", "store.db", "queries.jsonl", "-o", "new\n.jsonl"),
    ("session", "repl", "store.db"),
    ("answer", "deep.edges", "--from", "0"),
    ("answer", "x" * 300 + ".edges", "--from", "0"),
    ("serve", "access", "limits", "x" * 300 + ".edges", "ann"),
    ("store", "status", "x" * 300 + ".db"),
    ("release", "plain.edges", "new.csv", "--epsilon", "1", "--vertices", "9" * 5000),
    ("distances", "plain.edges", "long.csv", "--epsilon", "1"),
]


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("line", KNOWN, ids=range(len(KNOWN)))
def test_what_was_once_wrong(folder, line):
    (folder / "long.csv").write_text("vertex\n" + "9" * 5000 + "\n")
    status, out, err = run_line(*line)
    assert not wrong_with(status, out, err), err
    if not line or line == ("session",):
        assert (status, err) == (0, "")
        assert out.startswith("Usage: graphcuts-dp")


PROGRAMS = [
    (("release", "bad\udcff.edges", "new\udcff.csv", "--epsilon", "9", "--uncounted"), 0),
    (("session", "ask", "store.db", "--from", "\udcff"), 2),
    (("evaluate", "bad\udcff.edges", "plain.edges", "--vertices", "6"), 0),
    (("session", "status", "store.db"), 0),
    (("answer", "binary.npz", "--from", "1"), 2),
    (("release", "binary.edges", "new.edges", "--epsilon", "nan"), 2),
    (("plan", "--n", "nan", "--epsilon", "1"), 2),
]


@pytest.mark.thorough
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("encoding", "programs"),
    [
        ("ascii", PROGRAMS[:1]),
        *(
            pytest.param(encoding, PROGRAMS, marks=pytest.mark.slow)
            for encoding in ("utf-8", "ascii", "latin-1")
        ),
    ],
)
def test_programs_of_their_own(encoding, programs):
    """With the real encodings of arguments and streams."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONWARNINGS": "ignore"}
    for line, expected in programs:
        ended = subprocess.run(
            [sys.executable, "-m", "graphcuts_dp", *map(os.fsencode, line)],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2 * LONGEST,
            check=False,
        )
        out, err = ended.stdout.decode(), ended.stderr.decode()
        assert ended.returncode == expected, (line, err)
        assert not wrong_with(ended.returncode, out, err), (line, err)


def test_what_is_wrong_is_seen():
    fine = (2, "", "error: no\n")
    assert not wrong_with(*fine)
    assert wrong_with(3, "", "")
    assert wrong_with(2, "", "")
    assert wrong_with(2, "", "Traceback (most recent call last):\nerror: no\n")
    assert wrong_with(2, "", "error: no\nerror: yes\n")
    assert wrong_with(2, "", "error: no\nreally\n")
    assert wrong_with(2, "", "error: a file, reason: None\n")
