"""Labels that a spreadsheet would run as formulas: told of, and quoted on request."""

import csv
from pathlib import Path

import pytest

import graphcuts_dp as gc
from graphcuts_dp.frames import csv_bytes, is_formula

EVIL = ["=1+1", "+b", "-c", "@d", "e"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mail.csv").write_text("source,target\n" + f"{EVIL[0]},{EVIL[1]}\n{EVIL[2]},e\n")
    (tmp_path / "names.txt").write_text("\n".join(EVIL) + "\n")
    groups = "".join(f"{name},{name}\n" for name in EVIL)
    (tmp_path / "groups.csv").write_text(f"vertex,group\n{groups}")
    (tmp_path / "map.csv").write_text("source,target\n=1+1,+b\n+b,e\n")
    (tmp_path / "people.csv").write_text("vertex,people\n+b,20\ne,20\n")
    return tmp_path


LINES = {
    "flows": ("flows", "mail.csv", "groups.csv", "out.csv", "--expected-cell", "0"),
    "cuts": ("cuts", "mail.csv", "out.csv", "--from", "e", "--to", "+b"),
    "distances": ("distances", "map.csv", "people.csv", "--output", "out.csv"),
}
USUAL = ("--epsilon", "9", "--seed", "1", "--uncounted")


def cells():
    with Path("out.csv").open(encoding="utf-8", newline="") as file:
        return [cell for row in csv.reader(file) for cell in row]


@pytest.mark.parametrize("name", LINES)
@pytest.mark.usefixtures("folder")
def test_labels_are_quoted_on_request_and_told_of_otherwise(done, name):
    vertices = () if name == "distances" else ("--vertices", "names.txt")
    _, err = done(*LINES[name], *USUAL, *vertices)
    assert "Some labels begin with =, +, - or @" in err
    assert any(map(is_formula, cells()))
    _, err = done(*LINES[name], *USUAL, *vertices, "--force", "--spreadsheet")
    assert "Some labels" not in err
    assert not any(map(is_formula, cells()))
    assert "'+b" in cells()
    if name != "distances":
        gc.load("out.csv")  # the arrays and the receipt have the labels as they are


def test_numbers_are_no_formulas():
    columns = {"group": ["=a", "-1.5", "b"], "value": [-1.5, 2.0, float("inf")]}
    assert csv_bytes(columns, spreadsheet=True) == b"group,value\n'=a,-1.5\n-1.5,2.0\nb,inf\n"
    assert csv_bytes(columns) == b"group,value\n=a,-1.5\n-1.5,2.0\nb,inf\n"
