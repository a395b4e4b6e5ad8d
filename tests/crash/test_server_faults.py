"""A server's approval and its joint answers with a fault at any system call.

The scripts that `strike` runs end with an error if the store is left in a wrong state; these tests
check that the states that are hardest to handle were among those left.
"""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stride", "minimum"), [(6, 1), pytest.param(1, 21, marks=pytest.mark.slow)]
)
def test_an_approval_with_a_fault_at_any_call_never_exceeds_the_budget_limit(
    strike: Callable[..., dict[str, int]], tmp_path: Path, stride: int, minimum: int
):
    counts = strike("server_runner.py", tmp_path, stride)
    assert counts["left: approved, not begun"] >= minimum


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stride", "minimum"), [(5, 0), pytest.param(1, 1, marks=pytest.mark.slow)]
)
def test_joint_answers_with_a_fault_at_any_call_are_not_lost_doubled_or_left_uncharged(
    strike: Callable[..., dict[str, int]], tmp_path: Path, stride: int, minimum: int
):
    counts = strike("joint_runner.py", tmp_path, stride)
    assert counts["left: 0 cut off, 2 shown"] >= 1
    assert counts.get("left: 2 cut off, 0 shown", 0) >= minimum
