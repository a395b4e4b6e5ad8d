"""Commands that run what lies beside the package in a checkout, and say so where nothing does."""

import subprocess
import sys

import pytest

import graphcuts_dp
from graphcuts_dp.cli import main

_OWN = ("cli.", "page.")  # subpackages
COMMANDS = [name for name, (place, _) in main.COMMANDS.items() if not place.startswith(_OWN)]


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """The package as if it lay in a folder of its own."""
    monkeypatch.setattr(graphcuts_dp, "__file__", str(tmp_path / "graphcuts_dp" / "__init__.py"))
    main.loaded_command.cache_clear()
    yield
    main.loaded_command.cache_clear()


def test_what_needs_a_checkout():
    assert COMMANDS == ["audit", "benchmark", "figures"]


EACH = """
import sys
from graphcuts_dp.cli import main
for name in sys.argv[1:]:
    sys.argv = ["graphcuts-dp", name]
    print(f"== {name} ended with", main.run_command())
"""


@pytest.mark.thorough
def test_a_checkout_is_found_beside_the_package(tmp_path):
    """From any folder."""
    line = [sys.executable, "-c", EACH, *COMMANDS]
    ended = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
    told = ended.stdout
    for name in COMMANDS:
        shown, _, told = told.partition(f"== {name} ended with 0\n")
        assert len(shown.splitlines()) > 5, name


@pytest.mark.parametrize("words", [(), ("--help",), ("some-name", "--quick")])
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("elsewhere")
def test_elsewhere_one_line_says_where_to_get_it(call, name, words):
    status, out, err = call(name, *words)
    assert (status, out) == (2, "")
    assert err.startswith("error: this command runs in a checkout of the source")
    assert "pip install -e ." in err
    assert len(err.splitlines()) == 1


@pytest.mark.usefixtures("elsewhere")
def test_the_list_of_commands_needs_no_checkout(call):
    status, out, _ = call("--help")
    assert status == 0
    assert all(name in out for name in COMMANDS)
