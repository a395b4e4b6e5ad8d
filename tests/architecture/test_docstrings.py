"""The examples in the docstrings of public names run, and each name says what it is."""

import doctest
import inspect

import pytest

import graphcuts_dp as gc

PUBLIC = [name for name in gc.__all__ if name != "__version__"]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FINDER = doctest.DocTestFinder(recurse=False)


def examples_of(name):
    """The examples of one name, or of a class and its own methods."""
    return [
        found for found in FINDER.find(getattr(gc, name), name, globs={"gc": gc}) if found.examples
    ]


@pytest.mark.parametrize("name", [name for name in PUBLIC if examples_of(name)])
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_examples_run(name):
    for found in examples_of(name):
        told = []
        doctest.DocTestRunner(optionflags=OPTIONS).run(found, out=told.append)
        assert not told, "".join(told)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_begins_with_a_sentence(name):
    first = (inspect.getdoc(getattr(gc, name)) or "").split("\n\n")[0]
    assert first.endswith((".", "`.")), first


def test_what_people_meet_first_has_an_example():
    first = ("read_graph", "release_graph", "release_flows", "open_session", "plan", "CutQuery")
    assert [name for name in first if not examples_of(name)] == []
