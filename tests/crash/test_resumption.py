"""A command with a fault leaves no charge, or a charge whose result `resume` restores for free."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import command_cases as cases
import pytest
from resumption_cases import LINES, check_and_resume, inputs

_PROGRAM = "import sys; from graphcuts_dp.cli.main import run; sys.argv[0] = 'graphcuts-dp'; run()"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stride", "minimum"), [(29, 9), pytest.param(1, 1000, marks=pytest.mark.slow)]
)
def test_a_charged_command_with_a_fault_at_any_system_call_can_be_resumed(
    strike, tmp_path, stride, minimum
):
    counts = strike("command_runner.py", tmp_path, stride)
    assert sum(count for name, count in counts.items() if not name.startswith("left")) >= minimum
    states = {name for name in counts if name.startswith("left")}
    assert stride > 1 or states == {
        "left: no charge",
        "left: a charge, measured again",
        "left: a charge, restored",
        "left: a whole result",
    }


def start_command(folder: Path, line: str) -> subprocess.Popen[str]:
    """Start a command line in a child process with a folder as its working directory."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *line.split()],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GRAPHCUTS_DP_STATE": f"{folder}-state"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


# Quick tests kill one command here: the test above covers the others at chosen system calls.
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "kills"),
    [("release", 1), *(pytest.param(name, 67, marks=pytest.mark.slow) for name in LINES)],
)
def test_a_command_killed_at_a_random_time_can_be_resumed(tmp_path, name, kills):
    files, rng = inputs(tmp_path / "inputs"), random.Random(name)
    cases.prepare(tmp_path / "undisturbed", files)
    start_time = time.monotonic()
    undisturbed = start_command(tmp_path / "undisturbed", LINES[name])
    undisturbed.communicate()
    assert undisturbed.returncode == 0
    usual_duration = time.monotonic() - start_time
    for run_index in range(kills):
        folder = tmp_path / str(run_index)
        cases.prepare(folder, files)
        process = start_command(folder, LINES[name])
        store = folder / "new.db"
        if run_index % 3 < 2:  # most are killed after the charge, where a result can be lost
            while not store.exists() and process.poll() is None:
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.3) * usual_duration)
        else:
            time.sleep(rng.uniform(0, 1.1) * usual_duration)
        process.send_signal(signal.SIGKILL)
        _, messages = process.communicate()
        status = None if process.returncode < 0 else process.returncode
        check_and_resume(folder, status, messages)


def test_resume_restores_lost_files_from_the_store_without_data_or_charge(tmp_path):
    folder = tmp_path / "work"
    cases.prepare(folder, inputs(tmp_path / "inputs"))
    assert cases.call(folder, LINES["flows"]).status == 0
    before = {path.name: path.read_bytes() for path in folder.glob("r.csv*")}
    for path in folder.glob("r.csv*"):
        path.unlink()
    (folder / "in.csv").unlink()
    (folder / "staff.csv").unlink()
    resumed = cases.call(folder, "resume new.db")
    assert resumed.status == 0, resumed.err
    assert "use 1 is written from what the store has kept, free of charge: flows" in resumed.err
    assert before == {path.name: path.read_bytes() for path in folder.glob("r.csv*")}
    status = json.loads(cases.call(folder, "store status new.db --json").out)
    assert (status["epsilon"], [use["state"] for use in status["uses"]]) == (5.0, ["finished"])
