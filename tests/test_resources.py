"""The bar of notebooks: in a kernel, where nobody else listens, and gone at the end."""

import sys
from types import SimpleNamespace

import pytest

import graphcuts_dp as gc
from graphcuts_dp import resources
from graphcuts_dp.resources import progress_function, silent


class Shown:
    """Stands for IPython, and keeps what it is told to show."""

    def __init__(self, monkeypatch, kernel):
        self.pages, self.now = [], 0.0
        shell = SimpleNamespace(kernel=kernel)
        modules = {
            "IPython": SimpleNamespace(get_ipython=lambda: shell),
            "IPython.display": SimpleNamespace(display=self.display),
        }
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(resources, "time", SimpleNamespace(monotonic=lambda: self.now))

    def display(self, page, *, raw, display_id):
        assert display_id
        self.update(page, raw=raw)
        return self

    def update(self, page, *, raw):
        assert raw
        self.pages.append(page)


def test_without_a_kernel_nothing_is_shown(monkeypatch):
    assert progress_function(silent) is silent
    Shown(monkeypatch, kernel=None)
    assert progress_function(silent) is silent


def test_who_listens_alone_hears(monkeypatch):
    Shown(monkeypatch, kernel=object())
    assert progress_function(print) is print


def test_a_bar_comes_after_two_seconds_and_goes_when_all_is_done(monkeypatch):
    screen = Shown(monkeypatch, kernel=object())
    tell = progress_function(silent)
    for screen.now, done in ((1.9, 0.1), (2.1, 0.25), (2.2, 0.3), (2.4, 0.5), (2.41, 1.0)):
        tell(done, "a < b")
    texts = [page["text/html"] for page in screen.pages]
    assert ["25%" in texts[0], "50%" in texts[1], texts[2]] == [True, True, ""]
    assert "a &lt; b" in texts[0]
    assert len(texts) == 3


def test_quick_work_gets_none(monkeypatch):
    screen = Shown(monkeypatch, kernel=object())
    progress_function(silent)(1.0, "done")
    assert screen.pages == []


@pytest.mark.parametrize("steps", [0.0, 100.0])
def test_a_release_has_a_bar_if_it_takes_long(monkeypatch, steps):
    screen = Shown(monkeypatch, kernel=object())

    def monotonic():
        screen.now += steps
        return screen.now

    monkeypatch.setattr(resources, "time", SimpleNamespace(monotonic=monotonic))
    gc.release_graph(gc.datasets.load("karate"), epsilon=1, seed=1)
    assert bool(screen.pages) == bool(steps)
    if steps:
        assert screen.pages[-1]["text/html"] == ""
