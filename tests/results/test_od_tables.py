"""Flows for maps: what is shown, parsed back from each format, and places that are refused."""

import csv
import importlib.util
import json
import math

import numpy as np
import pandas as pd
import pytest
from helpers import random_graph
from period_cases import EXACT, MONTHS, cells_of, flows_of
from pyarrow import parquet

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, GroupLocations, ParameterError, QueryError
from graphcuts_dp.results.od_tables import _geometry, on_a_plane

PLACES = {  # label: name, latitude, longitude
    "a": ("Anchorage", 61.2, -149.9),
    "b": ("Boston", 42.4, -71.1),
    "c": ("Chatham", -44.0, -176.5),
    "d": ("Dili, Timor", -8.6, 125.6),
    "e": ('"Eden"', 0.0, 180.0),
}
GROUPS = [label for label in PLACES for _ in range(12)]
HEADS = ["origin", "dest", "count", "estimate", "low", "high"]
HEADS += ["simultaneous_low", "simultaneous_high", "outside"]
KEPLER = ["origin_lat", "origin_lng", "dest_lat", "dest_lng"]


def released(graph=None, *, epsilon=1.0, seed=3, **options):
    graph = random_graph(60, 1) if graph is None else graph
    vertices = graph.vertices
    groups = gc.Groups(vertices, {"half": ["x"] * 24 + ["y"] * 36, "town": GROUPS})
    return gc.release_flows(graph, groups, epsilon=epsilon, seed=seed, **options)


@pytest.fixture(scope="module", params=["whole", "weights", "directed"])
def flows(request):
    """Many edges in three cells, and none in the others."""
    options = {"max_weight": 3.0} if request.param == "weights" else {}
    directed = request.param == "directed"
    few = random_graph(24, 1, largest=3.0 if options else None, directed=directed)
    weights = few.weights if options else None
    return released(type(few)(few.rows, few.columns, weights, vertices=60, **options))


@pytest.fixture
def places(tmp_path):
    path = tmp_path / "places.csv"
    with path.open("w", newline="") as file:
        rows = [(*PLACES[x], x) for x in sorted(PLACES, reverse=True)]
        csv.writer(file).writerows([("Name", "Latitude", "LNG", "id"), *rows])
    return path


def kept(flows, level="town"):
    """By brute force: label pairs of the cells that are above 0 for sure."""
    table = flows.to_frame(level, simultaneous=True, kind="pandas")
    return {(r["from"], r["to"]): r for _, r in table.iterrows() if r["simultaneous_low"] > 0}


def test_the_table_has_what_is_above_zero_for_sure_and_fits_its_intervals(flows):
    sure = kept(flows)
    table = flows.to_od(kind="pandas")
    assert list(table.columns) == HEADS
    assert {(row.origin, row.dest) for row in table.itertuples()} == set(sure)
    assert 0 < len(sure) < len(flows.to_od(all_cells=True, kind="pandas"))
    assert (np.diff(table["count"]) <= 0).all()
    whole = flows.noisy.map.integral
    counts = flows.rounded().values("town")
    places = {label: place for place, label in enumerate(flows.labels("town")[0])}
    for row in table.itertuples():
        true = sure[row.origin, row.dest]
        assert 0 <= row.simultaneous_low <= row.low <= true["low"]
        assert true["high"] <= row.high <= row.simultaneous_high
        assert true["simultaneous_high"] <= row.simultaneous_high
        assert row.count == true["count"] == counts[places[row.origin], places[row.dest]]
        assert abs(row.estimate - true["estimate"]) <= 0.5
        assert row.outside == true["outside"]
        assert (row.count == round(row.count)) or not whole
        assert len(repr(row.count)) <= 8  # as people write numbers
    assert table["count"].dtype.kind == "i"


def test_all_cells_are_never_below_zero(flows):
    table = flows.to_od(all_cells=True, kind="pandas")
    assert len(table) == flows.cells.size(2)
    assert (flows.values() < 0).any()
    assert (table["count"] >= 0).all()
    assert table["count"].sum() == np.triu(flows.rounded().values()).sum() or flows.cells.directed
    assert len(flows.to_od(level="half", all_cells=True, kind="pandas")) == flows.cells.size(1)
    strict = flows.to_od(confidence=1 - 1e-9, kind="pandas")
    assert len(strict) <= len(flows.to_od(kind="pandas"))


@pytest.mark.parametrize("kind", ["path", "pandas", "polars"])
def test_places_come_beside_the_flows(flows, places, kind):
    source = places
    if kind != "path":
        rows = [(label, lat, lon, name) for label, (name, lat, lon) in PLACES.items()]
        source = pd.DataFrame(rows, columns=["group", "lat", "lon", "name"])
        if kind == "polars":
            polars = pytest.importorskip("polars")
            source = polars.from_pandas(source)
    table = flows.to_od(source, kind="pandas")
    assert list(table.columns) == [*HEADS, *KEPLER]
    for row in table.itertuples():
        assert (row.origin_lat, row.origin_lng) == PLACES[row.origin][1:]
        assert (row.dest_lat, row.dest_lng) == PLACES[row.dest][1:]
    sheet = flows.to_locations(source, kind="pandas")
    assert list(sheet.columns) == ["id", "name", "lat", "lon"]
    assert {row.id: (row.name, row.lat, row.lon) for row in sheet.itertuples(index=False)} == PLACES


def typed(row):
    texts = ("origin", "dest", "mark", "id", "name")
    read = {"outside": lambda text: text == "True"} | dict.fromkeys(texts, str)
    return {name: read.get(name, float)(value) for name, value in row.items()}


def test_csv_has_two_sheets_that_name_the_same_places(flows, places, tmp_path):
    path = tmp_path / "od.csv"
    assert flows.write_od(path, places) == (str(path), str(tmp_path / "od.locations.csv"))
    table = flows.to_od(places, kind="pandas").to_dict("records")
    with path.open(newline="") as file:
        rows = [typed(row) for row in csv.DictReader(file)]
    assert all("not private" in row.pop("mark") for row in rows)
    assert rows == table
    with (tmp_path / "od.locations.csv").open(newline="") as file:
        sheet = [typed(row) for row in csv.DictReader(file)]
    assert sheet == flows.to_locations(places, kind="pandas").to_dict("records")
    assert {end for row in rows for end in (row["origin"], row["dest"])} <= {s["id"] for s in sheet}
    with pytest.raises(FileFormatError, match="exists"):
        flows.write_od(path, places)
    flows.write_od(tmp_path / "plain.csv")
    assert not (tmp_path / "plain.locations.csv").exists()


def test_parquet_is_the_same_table(flows, places, tmp_path):
    path = tmp_path / "od.parquet"
    assert flows.write_od(path, places) == (str(path),)
    read = parquet.read_table(path).drop_columns(["mark"])
    assert b"add up the unbiased estimates" in read.schema.metadata[b"note"]
    assert read.to_pylist() == flows.to_od(places, kind="pyarrow").to_pylist()


def positions(geometry):
    kind, found = geometry["type"], geometry["coordinates"]
    if kind == "MultiLineString":
        return [place for part in found for place in part]
    return [found] if kind == "Point" else found


def test_geojson_keeps_the_rules_of_its_standard(flows, places, tmp_path):
    flows.write_od(tmp_path / "od.geojson", places, all_cells=True)
    text = (tmp_path / "od.geojson").read_bytes().decode("utf-8")
    found = json.loads(text)
    assert found["type"] == "FeatureCollection"
    assert "crs" not in found
    assert "add up the unbiased estimates" in found["note"]
    seen = {}
    for feature in found["features"]:
        assert set(feature) == {"type", "geometry", "properties"}
        assert feature["type"] == "Feature"
        told, geometry = feature["properties"], feature["geometry"]
        places_of = positions(geometry)
        for lon, lat in places_of:
            assert -180 <= lon <= 180
            assert -90 <= lat <= 90
        ends = [tuple(PLACES[told[end]][:0:-1]) for end in ("origin", "dest")]  # lon before lat
        assert [tuple(places_of[0]), tuple(places_of[-1])] == ends
        kinds = ["Point" if ends[0] == ends[1] else "LineString", "MultiLineString"]
        assert geometry["type"] == kinds[abs(ends[0][0] - ends[1][0]) > 180]
        if geometry["type"] == "MultiLineString":  # cut where it crosses, and nowhere else
            for part in geometry["coordinates"]:
                assert len(part) == 2
                assert abs(part[0][0] - part[1][0]) <= 180
        seen[told["origin"], told["dest"]] = told
    table = flows.to_od(all_cells=True, kind="pandas")
    assert len(seen) == len(table) == len(found["features"])
    for row in table.itertuples():
        told = seen[row.origin, row.dest]
        assert all(told[name] == getattr(row, name) for name in HEADS[2:])
        assert "not private" in told["mark"]
    counts = [feature["properties"]["count"] for feature in found["features"]]
    assert counts == sorted(counts)  # the largest is drawn last, on top


def test_a_line_is_cut_where_it_crosses_the_last_meridian():
    cut = _geometry((170.0, 10.0), (-170.0, 20.0))["coordinates"]
    assert cut == [[[170.0, 10.0], [180.0, 15.0]], [[-180.0, 15.0], [-170.0, 20.0]]]
    back = _geometry((-150.0, 0.0), (150.0, 30.0))["coordinates"]
    assert back == [[[-150.0, 0.0], [-180.0, 15.0]], [[180.0, 15.0], [150.0, 30.0]]]
    along = _geometry((180.0, 0.0), (-180.0, 30.0))
    assert all(math.isfinite(x) for part in along["coordinates"] for place in part for x in place)


def test_labels_that_are_numbers_are_found_as_text(tmp_path):
    graph = random_graph(60, 1)
    groups = gc.Groups(graph.vertices, {"part": (np.arange(60) // 20).tolist()})
    made = gc.release_flows(graph, groups, epsilon=5.0, seed=0)
    (tmp_path / "p.tsv").write_text("part\tlat\tlon\n2\t1\t2\n0\t3\t4\n1\t5\t6\n7\t8\t9\n")
    sheet = made.to_locations(tmp_path / "p.tsv", kind="pandas")
    assert sheet.to_dict("list") == {
        "id": [0, 1, 2],
        "name": ["0", "1", "2"],
        "lat": [3.0, 5.0, 1.0],
        "lon": [4.0, 6.0, 2.0],
    }


def test_flows_of_periods_have_their_time():
    cells = cells_of("directed")
    made = flows_of(cells, np.arange(cells.size(cells.depth - 1)) * 10, epsilon=EXACT)
    table = made.to_od(all_cells=True, kind="pandas")
    true = made.to_frame(made.levels[-1], kind="pandas").rename(columns={"period": "time"})
    assert set(table["time"]) == set(MONTHS.labels)
    ends = ["time", "origin", "dest"]
    true = true.rename(columns={"from": "origin", "to": "dest"}).set_index(ends)["estimate"]
    assert len(table) == len(true)
    assert table.set_index(ends)["count"].sub(true).abs().max() <= 0.5
    assert table.set_index(ends)["estimate"].sub(true).abs().max() <= 0.5
    one = made.period(MONTHS.labels[0]).to_od(all_cells=True, kind="pandas")
    assert len(one) * len(MONTHS.labels) == len(table)


def test_two_sides_may_have_places_of_their_own():
    graph = random_graph((30, 20), 3, density=0.5)
    left = gc.Groups(graph.left, {"town": ["a"] * 15 + ["b"] * 15})
    right = gc.Groups(graph.right, {"town": ["c"] * 10 + ["a"] * 10})
    made = gc.release_flows(graph, (left, right), epsilon=5.0, seed=0)
    where = pd.DataFrame({"id": ["a", "b", "c"], "lat": [1.0, 2, 3], "lon": [4.0, 5, 6]})
    table = made.to_od(where, kind="pandas")
    assert {(row.origin, row.origin_lat) for row in table.itertuples()} == {("a", 1.0), ("b", 2.0)}
    assert {(row.dest, row.dest_lat) for row in table.itertuples()} == {("c", 3.0), ("a", 1.0)}
    assert sorted(made.to_locations(where, kind="pandas")["id"]) == ["a", "b", "c"]


def located_at(**degrees):
    return pd.DataFrame([(name, *pair) for name, pair in degrees.items()], columns=PLACE)


PLACE = ["id", "lat", "lon"]
TOWNS = {"u": (10.0, 179.0), "v": (10.0, -179.0), "w": (-20.0, 5.0)}


def test_locations_of_vertices_place_a_group_in_their_middle():
    groups = gc.Groups.of({"u": "east", "v": "east", "w": "south"}, gc.VertexSet(["u", "v", "w"]))
    located = GroupLocations.of(located_at(**TOWNS), groups)
    assert located.names == {"east": "east", "south": "south"}
    (east, south) = located.of_labels(["east", "south"])
    assert south.tolist() == [-20, 5]
    assert abs(east[1]) == pytest.approx(180)  # across the date line, not at longitude 0
    assert east[0] == pytest.approx(10, abs=0.01)
    districts = {"east": (1.0, 2.0), "south": (3.0, 4.0)}
    kept = GroupLocations.of(located_at(**districts), groups)
    assert kept.degrees.tolist() == [[1, 2], [3, 4]]
    # Where districts have locations of their own, those of places are not needed.
    both = GroupLocations.of(located_at(**TOWNS, **districts), groups)
    assert both.degrees.tolist() == kept.degrees.tolist()


def test_opposite_places_have_a_middle_all_the_same():
    groups = gc.Groups.of({"u": "a", "v": "a"}, gc.VertexSet(["u", "v"]))
    located = GroupLocations.of(located_at(u=(0.0, 0.0), v=(0.0, 180.0)), groups)
    assert located.degrees.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("names", "counts"),
    [
        (("u", "v", "south"), "name 1 of 2 groups and 2 of 3 vertices"),
        (("u", "v"), "name 0 of 2 groups and 2 of 3 vertices"),
        (("south",), "1 of 2 groups have no location: 'east'"),
    ],
)
def test_locations_of_some_groups_and_some_vertices_are_refused(names, counts):
    groups = gc.Groups.of({"u": "east", "v": "east", "w": "south"}, gc.VertexSet(["u", "v", "w"]))
    given = located_at(**dict.fromkeys(names, (1.0, 2.0)))
    with pytest.raises(QueryError, match=counts):
        GroupLocations.of(given, groups)


def test_both_sides_of_a_graph_may_have_locations_of_vertices():
    left = gc.Groups.of({"a1": "a", "a2": "a"}, gc.VertexSet(["a1", "a2"]))
    right = gc.Groups.of({"b1": "b"}, gc.VertexSet(["b1"]))
    given = located_at(a1=(0.0, 0.0), a2=(0.0, 2.0), b=(5.0, 5.0))
    located = GroupLocations.of(given, (left, right))
    assert np.allclose(located.of_labels(["a", "b"]), [[0, 1], [5, 5]])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("town,x,y\na,1,2\n", "the columns of places are called lat and lon"),
        ("town,lat,lon\na,1,2,3\n", "line 2: expected 3 columns"),
        ("town,lat,lon\na,1,2\na,1,2\n", "line 3: this group has a line already"),
        ("town,lat,lon\na,1,east\n", "line 2: a coordinate is not a number"),
        ("town,lat,lon\na,91,2\n", "line 2: latitudes lie within"),
        ("town,lat,lon\na,40,-190\n", "line 2: latitudes lie within"),
        ("town,lat,lon\na,nan,2\n", "line 2: latitudes lie within"),
        ("", "the file is empty"),
    ],
)
def test_places_that_are_none_are_refused_by_their_line(tmp_path, text, told):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(FileFormatError, match=told):
        GroupLocations.of(tmp_path / "p.csv")


@pytest.mark.parametrize(
    ("ending", "options", "kind", "told"),
    [
        (".xlsx", {}, FileFormatError, "must end in .csv, .parquet, .geojson"),
        (".geojson", {}, FileFormatError, "lines need locations="),
        (".csv", {"level": "county"}, QueryError, "unknown level"),
        (".csv", {"confidence": 2}, QueryError, "confidence"),
        (".csv", {"locations": 5}, ParameterError, "a file or a table with columns id"),
        (".csv", {"locations": "none.csv"}, FileFormatError, "none.csv"),
        (
            ".csv",
            {"locations": pd.DataFrame({"id": ["a"], "lat": [1], "lon": [2]})},
            QueryError,
            "4 of 5 groups have no location: 'b'",
        ),
        (
            ".csv",
            {"locations": pd.DataFrame({"id": ["a"], "lat": [None], "lon": [2]})},
            FileFormatError,
            "locations: row 1: a coordinate is not a number",
        ),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(tmp_path, ending, options, kind, told):
    with pytest.raises(kind, match=told):
        released().write_od(tmp_path / f"od{ending}", **options)
    assert not list(tmp_path.iterdir())


def test_without_pyarrow_one_line_says_what_to_install(tmp_path, monkeypatch):
    made = released()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(FileFormatError, match="pip install pyarrow"):
        made.write_od(tmp_path / "od.parquet")


def test_places_on_a_plane_are_true_along_their_middle():
    plane = on_a_plane(np.array([[50.0, 10.0], [70.0, 12.0]]))
    assert plane.tolist() == [pytest.approx([5, 50]), pytest.approx([6, 70])]  # cos 60 degrees
    assert on_a_plane(np.empty((0, 2))).shape == (0, 2)
    for lons in ([170.0, -170.0, 175.0], [-179.0, 179.0, 100.0], [-120.0, -70.0, 10.0], [7.0] * 3):
        x = on_a_plane(np.array([[0.0, lon] for lon in lons]))[:, 0]
        least = min(max((np.array(lons) - each) % 360) for each in lons)  # tried as the first
        assert np.ptp(x) == pytest.approx(least)
        assert (x - lons) % 360 == pytest.approx(np.zeros(3), abs=1e-9)
