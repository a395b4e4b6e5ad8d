"""Docstrings of public names: they begin with a sentence, and their examples run."""

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


def doctests_of(name: str) -> list[doctest.DocTest]:
    """Return the docstrings with examples of a name; of a class, also of its methods."""
    docstrings = FINDER.find(PUBLIC[name], name, globs={"gc": gc})
    return [docstring for docstring in docstrings if docstring.examples]


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("name", [name for name in PUBLIC if doctests_of(name)])
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_examples_print_what_the_docstring_says(name):
    for docstring in doctests_of(name):
        failures = []
        doctest.DocTestRunner(optionflags=OPTIONS).run(docstring, out=failures.append)
        assert not failures, "".join(failures)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_begins_with_a_sentence(name):
    first = (inspect.getdoc(PUBLIC[name]) or "").split("\n\n")[0]
    assert first.endswith((".", "`.")), first


def test_the_functions_of_the_first_pages_have_an_example():
    first = ("read_graph", "release_graph", "release_flows", "open_session", "plan", "CutQuery")
    assert [name for name in first if not doctests_of(name)] == []


def public_modules():
    """Return the files of the modules that define public names."""
    modules = {
        value if inspect.ismodule(value) else inspect.getmodule(value) for value in PUBLIC.values()
    }
    return sorted(module.__file__ for module in modules)


def test_every_public_function_and_method_of_these_modules_has_a_docstring():
    command = [sys.executable, "-m", "ruff", "check", "--select", "D", "--output-format", "concise"]
    # Magic methods explain themselves, and `__init__` is documented on its class.
    command += ["--ignore", "D105,D107", *public_modules()]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout + completed.stderr
