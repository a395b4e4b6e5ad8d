"""What is promised to people who are new: five tasks, of two commands each."""

import pytest

from scripts.five_tasks import TASKS, main


@pytest.mark.slow
def test_five_tasks_take_two_commands_each(tmp_path, capfd):
    assert max(len(commands) for _, _, commands, _ in TASKS) <= 2
    main(tmp_path)
    told = capfd.readouterr()
    assert "nothing missing" in told.out
    assert "error:" not in told.err
