"""Ctrl-C, streams that are closed, and files that are replaced while they are read."""

import os
import shlex
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from saving_cases import NEWER, OLDER, released

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError

COMMAND = (sys.executable, "-m", "graphcuts_dp")
SLOW_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def allow_interrupts():
    """Where a shell starts the tests in the background, Ctrl-C is ignored, by children too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "number", [signal.SIGHUP, *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW_SIGNALS)]
)
def test_an_interrupted_release_leaves_one_line_and_no_file(tmp_path, number):
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 2500, (2, 60_000))
    gc.Graph(*pairs, vertices=2500).write(tmp_path / "in.npz")
    with subprocess.Popen(
        [*COMMAND, "release", tmp_path / "in.npz", tmp_path / "out.csv", "--epsilon", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=allow_interrupts,
    ) as process:
        # The last note comes when the graph is read: what follows takes seconds.
        while "worst of all cuts" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(number)
        out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == "interrupted: no file is half-written"
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["in.npz"]


LINES = (
    "evaluate in.csv in.csv --json",
    *("datasets", "datasets --json", "--help", "--version", "figures", "plan --n 9 --epsilon 1"),
    "release in.csv out.csv --epsilon 1",
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "line",
    [
        "evaluate in.csv in.csv --plot e.png",
        *(pytest.param(line, marks=pytest.mark.slow) for line in LINES),
    ],
)
def test_a_pipe_that_closes_is_no_error_and_costs_no_file(tmp_path, line):
    gc.Graph([0, 1, 2], [1, 2, 3], vertices=4).write(tmp_path / "in.csv")
    hear, say = os.pipe()
    os.close(hear)
    try:
        ended = subprocess.run(
            [*COMMAND, *line.split()],
            stdout=say,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            text=True,
            check=False,
        )
    finally:
        os.close(say)
    assert ended.returncode in (1, 2)
    assert "Traceback" not in ended.stderr
    assert "Exception" not in ended.stderr
    if "--plot" in line:
        assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
        assert ended.stderr.startswith("figure: e.png")
        assert (tmp_path / "e.png").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("closed", [(0, 1, 2), pytest.param((1,), marks=pytest.mark.slow)])
def test_closed_streams_leave_results_and_stores_as_they_are(tmp_path, closed):
    gc.Graph([0, 1, 2], [1, 2, 3], vertices=4).write(tmp_path / "in.csv")
    line = "release in.csv out.csv --epsilon 4 --allow-useless --store s.db --budget 4"
    redirections = {0: "<&-", 1: ">&-", 2: "2>&-"}
    words = [*COMMAND, *line.split()]
    shell = f"exec {shlex.join(words)} {' '.join(redirections[stream] for stream in closed)}"
    assert subprocess.run(["/bin/sh", "-c", shell], cwd=tmp_path, check=False).returncode == 0
    assert gc.load(tmp_path / "out.csv").guarantee.epsilon == 4
    assert gc.store_status(tmp_path / "s.db").epsilon == 4


def test_a_release_that_is_replaced_while_it_is_read_is_one_of_the_two(tmp_path):
    path = tmp_path / "g.edges.gz"
    wanted = [released(which, "spectral") for which in (OLDER, NEWER)]
    wanted[OLDER].save(path)
    done = threading.Event()

    def replace():
        for turn in range(10):
            wanted[turn % 2].save(path, force=True)
        done.set()

    writer = threading.Thread(target=replace)
    writer.start()
    read = 0
    while not done.is_set() or not read:
        try:
            found = gc.Release.load(path)
        except FileFormatError:  # it was in between: refused, and never mixed
            continue
        which = [each for each in wanted if np.array_equal(found.noisy.steps, each.noisy.steps)]
        assert len(which) == 1
        assert found.graph == which[0].graph
        assert found.certificate.upper == which[0].certificate.upper
        read += 1
    writer.join()
    assert read
