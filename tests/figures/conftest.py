"""Pictures of the registered figures, for all tests of figures."""

import functools

import pytest

from scripts.figures.registry import find_figure


@pytest.fixture(scope="session")
def drawn(quick_table):
    """A figure's quick table and its picture, which no test changes; to lay one out takes long."""

    @functools.cache
    def draw(name):
        table = quick_table(name).table
        return table, find_figure(name).draw(table)

    return draw
