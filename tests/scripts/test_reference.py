"""The API reference lacks nothing, and what looks for it sees what is missing."""

from pathlib import Path

import pytest

import graphcuts_dp as gc
from scripts.reference import members_of, missing, sections_of, see_also
from tests.audits.public_names import public_names

API = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
NAMES = {name: value for name, value in public_names().items() if name != "__version__"}


def test_the_reference_lacks_nothing():
    assert missing(NAMES, API) == []


def test_members_are_methods_and_properties_inherited_ones_among_them():
    names = dict(members_of(gc.Graph))
    assert {"read", "of", "to_networkx", "adjacency"} <= set(names)
    assert not [name for name in names if name.startswith("_")]
    assert {"answer", "plot", "save"} <= set(dict(members_of(gc.Release)))


def test_each_name_has_others_to_see():
    sections = sections_of(API)
    assert see_also("least_cut", sections, "Like `release_graph`.")[0] == "release_graph"
    assert "Release" in see_also("release_graph", sections, "")
    assert "release_graph" not in see_also("release_graph", sections, "")


class Documented:
    """Hold a number.

    Args:
        number: any.

    Examples:
        >>> Documented(1).doubled(times=1)
        2
    """

    def __init__(self, number):
        self.number = number

    def doubled(self, times):
        """Return the number, doubled so many `times`."""
        return self.number * 2**times


Documented.__module__ = "graphcuts_dp.example"
SECTION = "\n## One\n\nGuide: [Start](start.md).\n\n   Documented\n   Other\n"


def changed(old, new):
    """`Documented` with another docstring."""
    kind = type("Documented", (Documented,), {"__module__": "graphcuts_dp.example"})
    kind.__doc__ = Documented.__doc__.replace(old, new)
    return kind


def test_what_is_documented_lacks_nothing():
    assert missing({"Documented": Documented}, SECTION) == []


@pytest.mark.parametrize(
    ("old", "new", "lack"),
    [
        ("number: any", "something: any", "Documented: number is not described"),
        (">>> ", "", "Documented: has no example"),
        ("Hold a number.", "A number", "Documented: does not begin with a sentence"),
    ],
)
def test_a_docstring_that_lacks_something_is_reported(old, new, lack, monkeypatch):
    monkeypatch.setattr(Documented, "__doc__", changed(old, new).__doc__)
    assert lack in missing({"Documented": Documented}, SECTION)


def test_a_method_that_lacks_something_is_reported(monkeypatch):
    monkeypatch.setattr(Documented.doubled, "__doc__", "Return it, doubled.")
    (line,) = missing({"Documented": Documented}, SECTION)
    assert line == "Documented.doubled: times is not described"
    monkeypatch.setattr(Documented.doubled, "__doc__", None)
    (line,) = missing({"Documented": Documented}, SECTION)
    assert line == "Documented.doubled: does not begin with a sentence"


def test_a_name_without_a_section_and_a_section_without_a_guide_are_reported():
    assert missing({"Documented": Documented}, "") == ["Documented: is in no section"]
    lines = missing({"Documented": Documented}, SECTION.replace("(start.md)", ""))
    assert lines == ["section 'One': points at no page of the guide"]
