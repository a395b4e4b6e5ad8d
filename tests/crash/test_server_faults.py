"""A session is approved in the book and begun on the store, with trouble at any call in between."""

import json
import os
import subprocess
import sys
from pathlib import Path

import faults
import pytest
from test_store_faults import failing_calls  # noqa: F401  # a fixture

HERE = Path(__file__).parent
BETWEEN = "left: approved, not begun"


def strike(library, folder, stride):
    """How often each trouble struck, and what it left; a cap that was passed ends the runner."""
    places = os.pathsep.join(str(path) for path in (HERE.parents[1], HERE.parent, HERE))
    ended = subprocess.run(
        [sys.executable, HERE / "server_runner.py", folder, str(stride)],
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    for kind, count in found.items():
        if not kind.startswith("left"):
            faults.injected[kind] = faults.injected.get(kind, 0) + count
    return found


def test_caps_hold_whatever_call_of_an_approval_fails_or_kills_it(failing_calls, tmp_path):  # noqa: F811
    assert strike(failing_calls, tmp_path, 6)[BETWEEN] > 0


@pytest.mark.slow
def test_caps_hold_at_every_call_of_an_approval(failing_calls, tmp_path):  # noqa: F811
    assert strike(failing_calls, tmp_path, 1)[BETWEEN] > 20
