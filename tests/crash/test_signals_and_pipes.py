"""Commands with Ctrl-C or closed streams, and files that are replaced while they are read."""

import os
import shlex
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from saving_cases import NEWER, OLDER, release

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError

COMMAND = (sys.executable, "-m", "graphcuts_dp")
SLOW_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def allow_interrupts():
    """Undo that a shell lets background processes and their children ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "signal_number",
    [signal.SIGHUP, *(pytest.param(number, marks=pytest.mark.slow) for number in SLOW_SIGNALS)],
)
def test_an_interrupted_release_reports_it_in_one_line_and_leaves_no_file(tmp_path, signal_number):
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
        # This note is printed once the graph is read; the rest takes seconds.
        while "worst of all cuts" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal_number)
        out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == "interrupted: no file is half-written"
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["in.npz"]


SLOW_LINES = (
    "evaluate in.csv in.csv --json",
    *("datasets", "datasets --json", "--help", "--version", "figures", "plan --n 9 --epsilon 1"),
    "release in.csv out.csv --epsilon 1",
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "line",
    [
        "evaluate in.csv in.csv --plot e.png",
        *(pytest.param(line, marks=pytest.mark.slow) for line in SLOW_LINES),
    ],
)
def test_a_command_whose_output_nobody_reads_prints_no_traceback_and_writes_its_files(
    tmp_path, line
):
    gc.Graph([0, 1, 2], [1, 2, 3], vertices=4).write(tmp_path / "in.csv")
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        process = subprocess.run(
            [*COMMAND, *line.split()],
            stdout=write_end,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            text=True,
            check=False,
        )
    finally:
        os.close(write_end)
    assert process.returncode in (1, 2)
    assert "Traceback" not in process.stderr
    assert "Exception" not in process.stderr
    if "--plot" in line:
        assert (process.returncode, process.stderr.count("\n")) == (1, 1)
        assert process.stderr.startswith("figure: e.png")
        assert (tmp_path / "e.png").exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "closed_streams",
    [
        pytest.param((0, 1, 2), id="input, output and errors"),
        pytest.param((1,), id="output", marks=pytest.mark.slow),
    ],
)
def test_a_release_with_closed_streams_writes_its_result_and_charges_its_store(
    tmp_path, closed_streams
):
    gc.Graph([0, 1, 2], [1, 2, 3], vertices=4).write(tmp_path / "in.csv")
    line = "release in.csv out.csv --epsilon 4 --allow-useless --store s.db --budget 4"
    redirections = {0: "<&-", 1: ">&-", 2: "2>&-"}
    command = shlex.join([*COMMAND, *line.split()])
    closing = " ".join(redirections[stream] for stream in closed_streams)
    script = f"exec {command} {closing}"
    assert subprocess.run(["/bin/sh", "-c", script], cwd=tmp_path, check=False).returncode == 0
    assert gc.load(tmp_path / "out.csv").guarantee.epsilon == 4
    assert gc.store_status(tmp_path / "s.db").epsilon == 4


def test_a_release_read_while_it_is_replaced_is_the_older_or_the_newer_one(tmp_path):
    path = tmp_path / "g.edges.gz"
    releases = [release(version, "spectral") for version in (OLDER, NEWER)]
    releases[OLDER].save(path)
    is_done = threading.Event()

    def replace():
        for turn in range(10):
            releases[turn % 2].save(path, force=True)
        is_done.set()

    writer = threading.Thread(target=replace)
    writer.start()
    loads = 0
    while not is_done.is_set() or not loads:
        try:
            loaded = gc.Release.load(path)
        except FileFormatError:  # files of both versions: refused
            continue
        (original,) = (
            saved for saved in releases if np.array_equal(loaded.noisy.steps, saved.noisy.steps)
        )
        assert loaded.graph == original.graph
        assert loaded.certificate.upper == original.certificate.upper
        loads += 1
    writer.join()
    assert loads
