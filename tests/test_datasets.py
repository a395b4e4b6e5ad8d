import csv
import hashlib
import re
import runpy
from pathlib import Path

import pytest

import graphcuts_dp as gc
from graphcuts_dp import BipartiteGraph, FileFormatError, ParameterError, datasets
from graphcuts_dp.datasets import list_datasets, load

FOLDER = Path(__file__).resolve().parents[1] / "datasets"
SIZES = {
    "air_routes": (3475, 25436),
    "davis_women": (18, 89),
    "karate": (34, 78),
    "lesmis": (77, 254),
    "us_flights_2008": (305, 2834),
}


@pytest.mark.parametrize("name", [dataset.name for dataset in list_datasets()])
def test_sizes(name):
    graph = load(name)
    if isinstance(graph, BipartiteGraph):
        assert graph.shape == (18, 14)
    else:
        assert graph.n == SIZES[name][0]
    assert len(graph.rows) == SIZES[name][1]


def test_every_file_has_its_hash_in_the_readme_and_in_the_list():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    told = {name: digest for digest, name in re.findall(r"^([0-9a-f]{64})  (\S+)$", text, re.M)}
    there = {each.name: each.read_bytes() for each in FOLDER.iterdir() if each.suffix != ".md"}
    assert told == {name: hashlib.sha256(data).hexdigest() for name, data in there.items()}
    for dataset in list_datasets():
        assert told.get(dataset.file) == dataset.sha256
        assert dataset.source


def test_public_names():
    assert gc.datasets.names() == tuple(SIZES)
    for name in ("us-flights", "us_flights", "us-flights-2008"):
        assert len(gc.datasets.load(name).rows) == SIZES["us_flights_2008"][1]
    for name in ("davis-women", "davis"):
        assert len(gc.datasets.load(name).rows) == SIZES["davis_women"][1]


def test_data_sets_are_made_again_from_their_packages(tmp_path):
    build = runpy.run_path(str(FOLDER.parent / "scripts" / "build_datasets.py"))
    assert build["lesmis"](None) == (FOLDER / "lesmis.csv").read_text(encoding="utf-8")
    flights = tmp_path / "flights.csv"
    flights.write_text("origin,destination,count\nB,A,2\nA,B,3\nC,A,1\n")
    assert build["us_flights_2008"](flights) == "source,target,flights\nA,B,5\nA,C,1\n"
    route = '.addE("route").property(id,"{}").from(V("{}")).to(V("{}")).property("dist",8)'
    (tmp_path / "1_edges.txt").write_text(route.format(7, 9, 4) + route.format(8, 2, 9))
    (tmp_path / "2_edges.txt").write_text(route.format(9, 4, 9))
    assert build["air_routes"](tmp_path) == "0 2\n1 2\n"


def test_airports_are_the_vertices_of_the_flights():
    with (FOLDER / "us_airports_2008.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(row["airport"] for row in rows) == load("us_flights_2008").labels


def test_files_that_are_missing_or_changed_are_refused(monkeypatch, tmp_path):
    with pytest.raises(ParameterError, match="karate"):
        load("mail")
    monkeypatch.setattr(datasets, "_FOLDER", tmp_path)
    with pytest.raises(FileFormatError, match="is missing"):
        load("lesmis")
    text = (FOLDER / "lesmis.csv").read_text(encoding="utf-8")
    (tmp_path / "lesmis.csv").write_text(text.replace("Anzelma,Eponine,2", "Anzelma,Eponine,3"))
    with pytest.raises(FileFormatError, match="SHA-256"):
        load("lesmis")
    assert load("karate").n == 34


def test_groups_are_of_the_vertices_of_their_graphs():
    flights, groups = load("us-flights"), datasets.load_groups("us-flights")
    assert groups.vertices == flights.vertices
    assert groups.levels == ("region", "state", "airport")
    assert len(groups.labels("airport")) == flights.n
    assert groups.group_of("ATL", "region") == "South"
    assert groups.group_of("SJU", "region") == "Island Areas"
    assert set(groups.labels("region")) == {
        "Island Areas", "Midwest", "Northeast", "South", "West",
    }  # fmt: skip
    clubs = datasets.load_groups("karate")
    assert clubs.vertices == load("karate").vertices
    assert clubs.sizes("club").tolist() == [17, 17]
    with pytest.raises(ParameterError, match="no groups"):
        datasets.load_groups("lesmis")
