"""Kill -9 and failing disks between and within the months of a table over time lose nothing."""

import random
import signal
import time

import command_cases as cases
import pytest
from series_cases import MONTHS, inputs, judge, line, published
from test_resumption import run


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stride", "least"), [(43, 4), pytest.param(1, 500, marks=pytest.mark.slow)]
)
def test_system_calls_of_a_month_fail_or_kill_it(strike, tmp_path, stride, least):
    found = strike("series_runner.py", tmp_path, stride)
    assert sum(count for name, count in found.items() if not name.startswith("left")) >= least
    left = {name for name in found if name.startswith("left")}
    assert stride > 1 or left == {
        "left: a month, measured again",
        "left: a month, shown again",
        "left: a whole result",
    }


@pytest.mark.slow
@pytest.mark.parametrize("kills", [25])
def test_months_that_are_killed_at_any_time_go_on(tmp_path, kills):
    files, drawn = inputs(tmp_path / "inputs"), random.Random(5)
    cases.prepare(tmp_path / "whole", files)
    began = time.monotonic()
    whole = run(tmp_path / "whole", line(MONTHS[0]))
    whole.communicate()
    assert whole.returncode == 0
    usual = time.monotonic() - began
    for turn in range(kills):
        folder = tmp_path / str(turn)
        cases.prepare(folder, files)
        for month in MONTHS:
            before = published(folder)
            process = run(folder, line(month))
            time.sleep(drawn.uniform(0.3, 1.1) * usual)
            process.send_signal(signal.SIGKILL)
            _, messages = process.communicate()
            status = None if process.returncode < 0 else process.returncode
            judge(folder, month, before, status, messages)
