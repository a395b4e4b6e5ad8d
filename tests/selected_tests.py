"""Which tests a run of pytest takes, and in which order: what the hooks of `conftest.py` call."""

import random
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

MISTAKES = Path(__file__).parents[1] / "scripts" / "mutants_by_hand.toml"


def leave_out_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove from `items` the cases that only `--thorough` runs, unless a test is named."""
    if config.option.thorough or any("::" in argument for argument in config.args):
        return
    left_out = thorough_cases(items)
    config.hook.pytest_deselected(items=[test for test in items if test in left_out])
    items[:] = [test for test in items if test not in left_out]


def thorough_cases(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the cases of thorough tests beyond those that `make test` runs.

    Of a test with the marker `thorough(cases=3)` it runs three, the first, the last and one halfway
    between these, in the order in which they are parametrised. Without a number it runs none.
    Besides, it runs all cases that the list of mistakes by hand names: each of them notices one.
    Slow cases are none of these: `-m slow` chooses them.
    """
    noticing = {mistake.get("killed_by") for mistake in _mistakes()}
    cases_of: dict[str, list[pytest.Item]] = defaultdict(list)
    for test in items:
        if test.get_closest_marker("thorough") and not test.get_closest_marker("slow"):
            cases_of[test.nodeid.partition("[")[0]].append(test)
    left_out: set[pytest.Item] = set()
    for cases in cases_of.values():
        marker = cases[0].get_closest_marker("thorough")
        kept = marker.kwargs.get("cases", 0) if marker else 0
        between = (len(cases) - 1) / max(1, kept - 1)
        left_out.update(cases)
        left_out.difference_update(cases[round(between * index)] for index in range(kept))
    return {
        test for test in left_out if not noticing & {test.nodeid, test.nodeid.partition("[")[0]}
    }


def _mistakes() -> list[dict[str, str]]:
    """Return the entries of `scripts/mutants_by_hand.toml`."""
    entries: list[dict[str, str]] = tomllib.loads(MISTAKES.read_text(encoding="utf-8"))["edit"]
    return entries


def shuffle(items: list[pytest.Item], seed: int) -> None:
    """Shuffle files, and the tests of each file, which stay together: they share fixtures.

    The place of a file and of a test follows from the seed and its name, so that a failing order
    stays what it was where only some files are run again.
    """

    def place(name: str) -> float:
        return random.Random(f"{seed} {name}").random()

    items.sort(key=lambda test: (place(str(test.path)), place(test.nodeid)))
