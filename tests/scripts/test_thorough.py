"""`make test` runs the stated number of cases of each thorough test, and `make test ALL=1` all."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from selected_tests import leave_out_cases, thorough_cases

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Case:
    """A collected case of a test, as far as `thorough_cases` looks at one."""

    nodeid: str
    markers: dict[str, pytest.Mark] = field(default_factory=dict, hash=False)

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        """Return the marker of this name, or None if there is none."""
        return self.markers.get(name)


def cases_of(name: str, count: int, marker: pytest.MarkDecorator | None) -> list[Case]:
    """Return the cases 0, 1, ... of a parametrised test."""
    return [
        Case(f"tests/test_sums.py::{name}[{index}]", {"thorough": marker.mark} if marker else {})
        for index in range(count)
    ]


@pytest.mark.parametrize(
    ("marker", "run"),
    [
        (None, "0123456"),
        (pytest.mark.thorough, ""),
        (pytest.mark.thorough(cases=1), "0"),
        (pytest.mark.thorough(cases=2), "06"),
        (pytest.mark.thorough(cases=3), "036"),
        (pytest.mark.thorough(cases=7), "0123456"),
        (pytest.mark.thorough(cases=9), "0123456"),
    ],
)
def test_the_stated_number_of_cases_runs(marker, run):
    cases = cases_of("test_add", 7, marker)
    left_out = thorough_cases(cases)
    assert [case.nodeid[-2] for case in cases if case not in left_out] == list(run)


def test_slow_cases_are_left_to_their_own_option():
    cases = cases_of("test_add", 4, pytest.mark.thorough(cases=1))
    for case in cases[2:]:
        case.markers["slow"] = pytest.mark.slow.mark
    assert thorough_cases(cases) == {cases[1]}


def test_each_test_keeps_its_own_cases():
    sums, products = (
        cases_of(name, 3, pytest.mark.thorough(cases=1)) for name in ("test_add", "test_multiply")
    )
    assert thorough_cases([*sums, *products]) == {*sums[1:], *products[1:]}


@pytest.mark.parametrize(
    ("thorough", "argument", "run"),
    [
        (False, "tests", 2),
        (True, "tests", 4),
        (False, "tests/test_sums.py::test_add[3]", 4),  # a test that is named runs
    ],
    ids=["alone", "thorough", "named"],
)
def test_the_option_or_a_name_runs_all_cases(thorough, argument, run):
    cases = cases_of("test_add", 4, pytest.mark.thorough(cases=2))
    left_out: list[Case] = []
    config = SimpleNamespace(
        option=SimpleNamespace(thorough=thorough),
        args=[argument],
        hook=SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items)),
    )
    leave_out_cases(config, cases)
    assert (len(cases), len(left_out)) == (run, 4 - run)


def test_ci_runs_all_cases():
    commands = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test ALL=1" in commands
    rule = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "$(BIN)/pytest $(if $(ALL),--thorough)" in rule
