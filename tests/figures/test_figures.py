"""All registered figures, quickly, and what holds for each of them."""

import csv
import io
import json
import runpy
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from graphcuts_dp import AccuracyWarning, FileFormatError, ParameterError
from scripts.figures import cut_norm_certificates, demos, guides
from scripts.figures import registry as figures
from scripts.figures.base import Finding, Table, exponent, fitted_exponent
from scripts.figures.registry import (
    FIGURES,
    FigureSpec,
    figure_names,
    find_figure,
    make_figure,
    write_index,
)
from scripts.figures.style import save_figure

FOLDER = Path(__file__).resolve().parents[2] / "figures"
README = "Before\n<!-- figures: begin -->\nold\n<!-- figures: end -->\nafter\n"


def measure(*, quick, seed, progress):
    progress(0.5, "half")
    warnings.warn("as where accuracy ends", AccuracyWarning, stacklevel=1)  # which is no error
    rng = np.random.default_rng(seed)
    found = Finding(statement="A |S||T|", claimed=0.5, measured=0.49, tolerance=0.1, agrees=True)
    rows = [[i, float(rng.random())] for i in range(2 if quick else 4)]
    return Table(columns=["i", "x"], rows=rows, parameters={"seed": seed}, findings=[found])


@pytest.fixture
def _toy(monkeypatch):
    """A registry of one figure."""
    spec = FigureSpec(
        name="a-toy",
        shows="x | y",
        tests="nothing",
        measure=measure,
        draw=lambda table: Figure(figsize=(len(table.rows), 1)),
    )
    monkeypatch.setattr(figures, "FIGURES", (spec,))


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def measured_before(quick_table, drawn, monkeypatch):
    """A figure whose experiment gives what it gave when it was run as `make_figure` would, and
    which is drawn once."""

    def prepare(name):
        def again(*, quick, seed, progress):
            assert (quick, seed) == (True, 0)
            for done in measured.progress:
                progress(done, "again")
            return measured.table

        def drawn_of(table):
            assert table == known
            return picture

        measured = quick_table(name)
        known, picture = drawn(name)  # before the table of figures is another one
        spec = replace(find_figure(name), measure=again, draw=drawn_of)
        monkeypatch.setattr(figures, "FIGURES", (spec,))
        return measured

    return prepare


ENDINGS = (".png", ".pdf", ".csv", ".json")
SAVED = "nikiforov"  # the picture that is saved in the quick tests; the others are only laid out


def write_without_picture(_, base, *, columns, rows, parameters):
    """Take the place of `save_figure`; test_drawn_figures.py lays out each picture."""
    save_figure(Figure(figsize=(1, 1)), base, columns=columns, rows=rows, parameters=parameters)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "painted"),
    [
        *((name, name == SAVED) for name in figure_names()),
        *(
            pytest.param(name, True, marks=pytest.mark.slow)
            for name in figure_names()
            if name != SAVED
        ),
    ],
)
def test_each_figure_is_measured_drawn_and_saved(
    name, painted, tmp_path, measured_before, monkeypatch
):
    measured = measured_before(name)
    if not painted:
        monkeypatch.setattr(figures, "save_figure", write_without_picture)
    said = []
    table = make_figure(name, tmp_path, quick=True, progress=lambda done, _: said.append(done))
    stem = name.replace("-", "_")
    assert {path.name for path in tmp_path.iterdir()} == {stem + ending for ending in ENDINGS}
    assert (tmp_path / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / f"{stem}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == list(table.columns)
    assert len(rows) == 1 + len(table.rows) > 1
    assert not any(cell.startswith("np.") for row in rows for cell in row)
    about = json.loads((tmp_path / f"{stem}.json").read_text(encoding="utf-8"))
    assert about["quick"]
    assert about["parameters"] == json.loads(json.dumps(dict(table.parameters)))
    assert len(about["findings"]) == len(table.findings) > 0
    assert said == sorted(said) == list(measured.progress)
    assert all(0 <= done <= 1 for done in said)


def test_all_are_redrawn_and_indexed_by_one_command(monkeypatch):
    said = []
    monkeypatch.setattr(cut_norm_certificates, "main", lambda: said.append("cut_norm_certificates"))
    others = 0
    for place, prefix in ((demos, "demo"), (guides, "measured")):
        draw = {name: partial(said.append, f"{prefix}_{name}") for name in place.DRAWN}
        monkeypatch.setattr(place, "DRAWN", draw)
        others += len(draw)
    monkeypatch.setattr(figures, "make_figure", lambda name, folder: said.append((name, folder)))
    monkeypatch.setattr(figures, "write_index", said.append)
    runpy.run_module("scripts.figures", run_name="__main__")
    assert said[0] == "cut_norm_certificates"
    assert said[1 + others :] == [*((name, FOLDER) for name in figure_names()), FOLDER]
    drawn = set(said[: 1 + others])
    drawn |= {name.replace("-", "_") for name in figure_names()}
    assert {path.stem for path in FOLDER.glob("*.pdf")} == drawn
    assert "-m scripts.figures\n" in (FOLDER.parent / "Makefile").read_text()


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", guides.DRAWN)
def test_a_guide_shows_what_its_benchmark_printed_last(name, tmp_path, monkeypatch):
    monkeypatch.setattr(guides, "FIGURES", tmp_path)
    guides.DRAWN[name]()
    for ending in (".csv", ".json"):
        drawn = tmp_path / f"measured_{name}{ending}"
        assert drawn.read_text() == (FOLDER / drawn.name).read_text(), "run scripts.figures.guides"
    assert len((tmp_path / f"measured_{name}.csv").read_text().splitlines()) > 6


@pytest.mark.usefixtures("_toy")
def test_the_same_seed_gives_the_same_bytes_and_another_one_others(tmp_path):
    made = []
    for i, seed in enumerate((3, 3, 4)):
        folder = tmp_path / str(i)
        folder.mkdir()
        make_figure("a_toy", folder, seed=seed)
        made.append(files(folder))
    assert made[0] == made[1]
    assert made[0]["a_toy.csv"] != made[2]["a_toy.csv"]


@pytest.mark.thorough
def test_a_figure_with_bands_is_drawn_the_same_to_the_byte(quick_table):
    pictures = [io.BytesIO(), io.BytesIO()]
    for picture in pictures:
        figure = find_figure("laplace-tail").draw(quick_table("laplace-tail").table)
        figure.savefig(picture, format="png", dpi=80)
    assert pictures[0].getvalue() == pictures[1].getvalue()


@pytest.mark.usefixtures("_toy")
def test_the_index_is_what_lies_there(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(README)
    write_index(tmp_path)
    assert "a_toy" not in readme.read_text()
    make_figure("a-toy", tmp_path)
    write_index(tmp_path)
    text = readme.read_text()
    assert "### a_toy\n\nX | y. Tests nothing." in text
    assert "<summary>1 of 1 statements agree</summary>" in text
    assert r"| A \|S\|\|T\| | 0.5 | 0.49 | yes |" in text.splitlines()
    assert "](a_toy.png)" in text
    assert text.startswith("Before\n")
    assert text.endswith("-->\nafter\n")
    assert "old" not in text
    make_figure("a-toy", tmp_path, quick=True)
    write_index(tmp_path)
    assert "1 of 1 statements agree (quick run)" in readme.read_text()


@pytest.mark.usefixtures("_toy")
@pytest.mark.parametrize(
    ("name", "options", "folder", "words"),
    [
        ("other", {}, "", "a-toy"),
        ("a-toy", {"seed": -1}, "", "seed"),
        ("a-toy", {}, "none", "create it first"),
    ],
)
def test_errors(name, options, folder, words, tmp_path):
    with pytest.raises((ParameterError, FileFormatError), match=words):
        make_figure(name, tmp_path / folder, **options)
    with pytest.raises(FileFormatError, match="no lines"):
        write_index(tmp_path)


def test_exponents_and_names():
    x = np.array([1.0, 2.0, 5.0])
    assert fitted_exponent(x, 3 * x**0.7) == pytest.approx(0.7)
    assert exponent("s", (x, x), 1.05, 0.1).agrees
    assert not exponent("s", (x, x), 1.2, 0.1).agrees
    assert len(set(figure_names())) == len(FIGURES)
