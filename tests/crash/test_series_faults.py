"""A table over time survives kill -9 and failing disks between and within its months."""

import random
import signal
import time

import command_cases as cases
import pytest
from series_cases import MONTHS, check_and_repeat, command_of, inputs, published_contents
from test_resumption import start_command


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stride", "minimum"), [(43, 4), pytest.param(1, 500, marks=pytest.mark.slow)]
)
def test_a_month_with_a_fault_at_any_system_call_loses_nothing_and_is_measured_once(
    strike, tmp_path, stride, minimum
):
    counts = strike("series_runner.py", tmp_path, stride)
    assert sum(count for name, count in counts.items() if not name.startswith("left")) >= minimum
    states = {name for name in counts if name.startswith("left")}
    assert stride > 1 or states == {
        "left: a month, measured again",
        "left: a month, shown again",
        "left: a whole result",
    }


@pytest.mark.slow
def test_a_month_killed_at_a_random_time_is_completed_by_the_same_command(tmp_path):
    files, rng = inputs(tmp_path / "inputs"), random.Random(5)
    cases.prepare(tmp_path / "undisturbed", files)
    start_time = time.monotonic()
    undisturbed = start_command(tmp_path / "undisturbed", command_of(MONTHS[0]))
    undisturbed.communicate()
    assert undisturbed.returncode == 0
    usual_duration = time.monotonic() - start_time
    for series in range(25):
        folder = tmp_path / str(series)
        cases.prepare(folder, files)
        for month in MONTHS:
            before = published_contents(folder)
            process = start_command(folder, command_of(month))
            time.sleep(rng.uniform(0.3, 1.1) * usual_duration)
            process.send_signal(signal.SIGKILL)
            _, messages = process.communicate()
            status = None if process.returncode < 0 else process.returncode
            check_and_repeat(folder, month, before, status, messages)
