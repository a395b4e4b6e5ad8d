"""A command that is struck leaves no charge, or a charge whose result can be had for nothing."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import command_cases as cases
import pytest
from resumption_cases import LINES, inputs, judge

_PROGRAM = "import sys; from graphcuts_dp.cli.main import run; sys.argv[0] = 'graphcuts-dp'; run()"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stride", "least"), [(29, 9), pytest.param(1, 1000, marks=pytest.mark.slow)]
)
def test_system_calls_of_a_charged_command_fail_or_kill_it(strike, tmp_path, stride, least):
    found = strike("command_runner.py", tmp_path, stride)
    assert sum(count for name, count in found.items() if not name.startswith("left")) >= least
    left = {name for name in found if name.startswith("left")}
    assert stride > 1 or left == {
        "left: no charge",
        "left: a charge, measured again",
        "left: a charge, restored",
        "left: a whole result",
    }


def run(folder, line):
    """Start a command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *line.split()],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GRAPHCUTS_DP_STATE": f"{folder}-state"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


# What the other commands leave is judged above, where system calls kill forks of one process.
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "kills"),
    [("release", 1), *(pytest.param(name, 67, marks=pytest.mark.slow) for name in LINES)],
)
def test_a_command_that_is_killed_at_any_time_can_be_resumed(tmp_path, name, kills):
    files, drawn = inputs(tmp_path / "inputs"), random.Random(name)
    cases.prepare(tmp_path / "whole", files)
    began = time.monotonic()
    whole = run(tmp_path / "whole", LINES[name])
    whole.communicate()
    assert whole.returncode == 0
    usual = time.monotonic() - began
    for turn in range(kills):
        folder = tmp_path / str(turn)
        cases.prepare(folder, files)
        process = run(folder, LINES[name])
        store = folder / "new.db"
        if turn % 3 < 2:  # once it is charged, where most can be lost
            while not store.exists() and process.poll() is None:
                time.sleep(0.001)
            time.sleep(drawn.uniform(0, 0.3) * usual)
        else:
            time.sleep(drawn.uniform(0, 1.1) * usual)
        process.send_signal(signal.SIGKILL)
        _, messages = process.communicate()
        judge(folder, None if process.returncode < 0 else process.returncode, messages)


def test_what_is_resumed_says_so_and_costs_nothing(tmp_path):
    cases.prepare(tmp_path / "work", inputs(tmp_path / "inputs"))
    folder = tmp_path / "work"
    assert cases.call(folder, LINES["flows"]).status == 0
    before = {path.name: path.read_bytes() for path in folder.glob("r.csv*")}
    for path in folder.glob("r.csv*"):
        path.unlink()
    (folder / "in.csv").unlink()  # the private data are not needed
    (folder / "staff.csv").unlink()
    ended = cases.call(folder, "resume new.db")
    assert ended.status == 0, ended.err
    assert "use 1 is written from what the store has kept, free of charge: flows" in ended.err
    assert before == {path.name: path.read_bytes() for path in folder.glob("r.csv*")}
    told = json.loads(cases.call(folder, "store status new.db --json").out)
    assert (told["epsilon"], [use["state"] for use in told["uses"]]) == (5.0, ["finished"])
