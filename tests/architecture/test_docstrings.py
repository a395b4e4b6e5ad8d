"""The examples in the docstrings of public names run, and each name says what it is."""

import doctest
import inspect
import subprocess
import sys

import pytest

import graphcuts_dp as gc
from tests.audits.public_names import public_names

PUBLIC = {name: value for name, value in public_names().items() if name != "__version__"}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FINDER = doctest.DocTestFinder(recurse=False)


def examples_of(name):
    """The examples of one name, or of a class and its own methods."""
    return [found for found in FINDER.find(PUBLIC[name], name, globs={"gc": gc}) if found.examples]


@pytest.mark.thorough(cases=8)
@pytest.mark.parametrize("name", [name for name in PUBLIC if examples_of(name)])
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_examples_run(name):
    for found in examples_of(name):
        told = []
        doctest.DocTestRunner(optionflags=OPTIONS).run(found, out=told.append)
        assert not told, "".join(told)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_begins_with_a_sentence(name):
    first = (inspect.getdoc(PUBLIC[name]) or "").split("\n\n")[0]
    assert first.endswith((".", "`.")), first


def test_what_people_meet_first_has_an_example():
    first = ("read_graph", "release_graph", "release_flows", "open_session", "plan", "CutQuery")
    assert [name for name in first if not examples_of(name)] == []


def public_modules():
    """The files whose names `gc.__all__` reaches."""
    named = PUBLIC.values()
    modules = {value if inspect.ismodule(value) else inspect.getmodule(value) for value in named}
    return sorted(module.__file__ for module in modules)


def test_docstrings_of_public_modules_are_whole():
    line = [sys.executable, "-m", "ruff", "check", "--select", "D", "--output-format", "concise"]
    # Magic methods explain themselves, and `__init__` is documented on its class.
    line += ["--ignore", "D105,D107", *public_modules()]
    found = subprocess.run(line, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
