"""The tasks of new users take two commands each, and these run."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
tasks = importlib.import_module("first_tasks")


def test_no_task_takes_more_than_two_commands() -> None:
    assert len(tasks.TASKS) == 5
    assert all(1 <= len(commands) <= 2 for commands in tasks.TASKS.values())


@pytest.mark.thorough
def test_a_command_that_fails_is_told(monkeypatch, capsys) -> None:
    monkeypatch.setattr(tasks, "TASKS", {"nobody asks nothing": ("answer nowhere.graphml",)})
    assert tasks.main() == 1
    assert "nowhere.graphml" in capsys.readouterr().out


@pytest.mark.slow
def test_all_tasks_run() -> None:
    assert tasks.main() == 0
