import csv
import hashlib
import re
from pathlib import Path

import pytest

from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.graph import datasets
from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.graph.datasets import list_datasets, load_dataset

FOLDER = Path(__file__).resolve().parents[2] / "datasets"
SIZES = {
    "air_routes": (3475, 25436),
    "davis_women": (18, 89),
    "karate": (34, 78),
    "lesmis": (77, 254),
    "us_flights_2008": (305, 2834),
}


@pytest.mark.parametrize("name", [dataset.name for dataset in list_datasets()])
def test_sizes(name):
    graph = load_dataset(name)
    if isinstance(graph, BipartiteGraph):
        assert graph.shape == (18, 14)
    else:
        assert graph.n == SIZES[name][0]
    assert len(graph.rows) == SIZES[name][1]


def test_every_file_has_its_hash_in_the_readme():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    told = {name: digest for digest, name in re.findall(r"^([0-9a-f]{64})  (\S+)$", text, re.M)}
    there = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in FOLDER.iterdir()
        if path.suffix != ".md"
    }
    assert told == there


def test_airports_are_the_vertices_of_the_flights():
    with (FOLDER / "us_airports_2008.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(row["airport"] for row in rows) == load_dataset("us_flights_2008").labels
    assert all(re.fullmatch("[A-Z]{2}", row["state"]) for row in rows)
    assert all(-180 <= float(row["longitude"]) <= 180 for row in rows)


def test_errors(monkeypatch, tmp_path):
    with pytest.raises(ParameterError, match="karate"):
        load_dataset("mail")
    monkeypatch.setattr(datasets, "_FOLDER", tmp_path / "datasets")
    with pytest.raises(FileFormatError, match="checkout"):
        load_dataset("lesmis")
    assert load_dataset("karate").n == 34
