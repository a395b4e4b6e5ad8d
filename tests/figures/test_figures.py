"""All registered figures in their quick form: what is measured, drawn, saved and indexed."""

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
    """Return a table of random numbers, and warn as an experiment on a small graph does."""
    progress(0.5, "half")
    warnings.warn("mostly noise", AccuracyWarning, stacklevel=1)
    rng = np.random.default_rng(seed)
    finding = Finding(statement="A |S||T|", claimed=0.5, measured=0.49, tolerance=0.1, agrees=True)
    rows = [[i, float(rng.random())] for i in range(2 if quick else 4)]
    return Table(columns=["i", "x"], rows=rows, parameters={"seed": seed}, findings=[finding])


@pytest.fixture
def _toy(monkeypatch):
    """Register one figure alone."""
    spec = FigureSpec(
        name="a-toy",
        shows="x | y",
        tests="nothing",
        measure=measure,
        draw=lambda table: Figure(figsize=(len(table.rows), 1)),
    )
    monkeypatch.setattr(figures, "FIGURES", (spec,))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def measured_before(quick_table, drawn, monkeypatch):
    """Return a function that registers a figure with the table and picture of an earlier run.

    So that no test of this session measures or draws a figure twice.
    """

    def register(name):
        def measure_again(*, quick, seed, progress):
            assert (quick, seed) == (True, 0)
            for done in measured.progress:
                progress(done, "again")
            return measured.table

        def draw_again(table):
            assert table == drawn_table
            return picture

        measured = quick_table(name)
        drawn_table, picture = drawn(name)  # before other figures are registered
        spec = replace(find_figure(name), measure=measure_again, draw=draw_again)
        monkeypatch.setattr(figures, "FIGURES", (spec,))
        return measured

    return register


SUFFIXES = (".png", ".pdf", ".csv", ".json")
SAVED = "nikiforov"  # the picture that is saved in the quick tests; the others are only laid out


def write_without_picture(_, base, *, columns, rows, parameters):
    """Take the place of `save_figure`; test_drawn_figures.py lays out each picture."""
    save_figure(Figure(figsize=(1, 1)), base, columns=columns, rows=rows, parameters=parameters)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "is_drawn"),
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
    name, is_drawn, tmp_path, measured_before, monkeypatch
):
    measured = measured_before(name)
    if not is_drawn:
        monkeypatch.setattr(figures, "save_figure", write_without_picture)
    reported = []
    table = make_figure(name, tmp_path, quick=True, progress=lambda done, _: reported.append(done))
    stem = name.replace("-", "_")
    assert {path.name for path in tmp_path.iterdir()} == {stem + suffix for suffix in SUFFIXES}
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
    assert reported == sorted(reported) == list(measured.progress)
    assert all(0 <= done <= 1 for done in reported)


def test_one_command_draws_all_figures_and_writes_the_index(monkeypatch):
    calls = []
    monkeypatch.setattr(
        cut_norm_certificates, "main", lambda: calls.append("cut_norm_certificates")
    )
    other_figures = 0
    for module, prefix in ((demos, "demo"), (guides, "measured")):
        draw = {name: partial(calls.append, f"{prefix}_{name}") for name in module.DRAWN}
        monkeypatch.setattr(module, "DRAWN", draw)
        other_figures += len(draw)
    monkeypatch.setattr(figures, "make_figure", lambda name, folder: calls.append((name, folder)))
    monkeypatch.setattr(figures, "write_index", calls.append)
    runpy.run_module("scripts.figures", run_name="__main__")
    assert calls[0] == "cut_norm_certificates"
    assert calls[1 + other_figures :] == [*((name, FOLDER) for name in figure_names()), FOLDER]
    names = set(calls[: 1 + other_figures])
    names |= {name.replace("-", "_") for name in figure_names()}
    assert {path.stem for path in FOLDER.glob("*.pdf")} == names
    assert "-m scripts.figures\n" in (FOLDER.parent / "Makefile").read_text()


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", guides.DRAWN)
def test_a_figure_of_a_guide_shows_the_last_results_of_its_benchmark(name, tmp_path, monkeypatch):
    monkeypatch.setattr(guides, "FIGURES", tmp_path)
    guides.DRAWN[name]()
    for suffix in (".csv", ".json"):
        saved = tmp_path / f"measured_{name}{suffix}"
        assert saved.read_text() == (FOLDER / saved.name).read_text(), "run scripts.figures.guides"
    assert len((tmp_path / f"measured_{name}.csv").read_text().splitlines()) > 6


@pytest.mark.usefixtures("_toy")
def test_equal_seeds_give_equal_bytes_and_another_seed_gives_others(tmp_path):
    contents_by_seed = []
    for i, seed in enumerate((3, 3, 4)):
        folder = tmp_path / str(i)
        folder.mkdir()
        make_figure("a_toy", folder, seed=seed)
        contents_by_seed.append(contents(folder))
    assert contents_by_seed[0] == contents_by_seed[1]
    assert contents_by_seed[0]["a_toy.csv"] != contents_by_seed[2]["a_toy.csv"]


@pytest.mark.thorough
def test_a_figure_with_bands_is_drawn_the_same_to_the_byte(quick_table):
    pictures = [io.BytesIO(), io.BytesIO()]
    for picture in pictures:
        figure = find_figure("laplace-tail").draw(quick_table("laplace-tail").table)
        figure.savefig(picture, format="png", dpi=80)
    assert pictures[0].getvalue() == pictures[1].getvalue()


@pytest.mark.usefixtures("_toy")
def test_the_index_lists_the_figures_of_the_folder_and_keeps_the_text_around(tmp_path):
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
    ("name", "options", "folder", "message"),
    [
        ("other", {}, "", "a-toy"),
        ("a-toy", {"seed": -1}, "", "seed"),
        ("a-toy", {}, "none", "create it first"),
    ],
)
def test_unknown_names_negative_seeds_and_missing_folders_are_refused(
    name, options, folder, message, tmp_path
):
    with pytest.raises((ParameterError, FileFormatError), match=message):
        make_figure(name, tmp_path / folder, **options)
    with pytest.raises(FileFormatError, match="no lines"):
        write_index(tmp_path)


def test_names_of_figures_are_unique():
    assert len(set(figure_names())) == len(FIGURES)


def test_an_exponent_agrees_if_it_is_within_its_tolerance():
    x = np.array([1.0, 2.0, 5.0])
    assert fitted_exponent(x, 3 * x**0.7) == pytest.approx(0.7)
    assert exponent("s", (x, x), 1.05, 0.1).agrees
    assert not exponent("s", (x, x), 1.2, 0.1).agrees
