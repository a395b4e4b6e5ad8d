"""The files that the pages speak of: a small company's mail, calls between people, a road map."""

import gzip
import json
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd

import graphcuts_dp as gc

STAFF = ["ann", "bob", "eve", "kim", "lee", *(f"staff{i}" for i in range(115))]
DEPARTMENTS = ["Sales", "IT", "Law", "Board"]
PEOPLE = [f"p{i}" for i in range(60)]
REGIONS = ["north", "south", "west"]


def _write(file, *rows):
    file.write_text("".join(f"{row}\n" for row in rows))


def make_files(folder):
    """Write every file that an example reads."""
    rng = np.random.default_rng(1)
    departments = rng.integers(0, 4, len(STAFF))
    near = departments[:, None] == departments
    joined = np.triu(rng.random(near.shape) < np.where(near, 0.4, 0.1), 1)
    mail = "".join(f"{STAFF[i]} {STAFF[j]}\n" for i, j in np.argwhere(joined))
    (folder / "mail.edges.gz").write_bytes(gzip.compress(mail.encode()))
    _write(
        folder / "mail.csv", "from,to", *(line.replace(" ", ",") for line in mail.split("\n")[:-1])
    )
    _write(folder / "staff.txt", *STAFF)
    units = [(DEPARTMENTS[number], "Front" if number in (0, 3) else "Back")
             for number in departments]  # fmt: skip
    people = list(zip(STAFF, units, strict=True))
    _write(folder / "staff.csv", "person,department", *(f"{x},{own}" for x, (own, _) in people))
    rows = (f"{x},{division},{own}" for x, (own, division) in people)
    _write(folder / "units.csv", "person,division,department", *rows)
    groups = [*DEPARTMENTS, "Front", "Back"]
    places = (f"{name},{50 + i},{5 * i}" for i, name in enumerate(groups))
    _write(folder / "places.csv", "id,lat,lon", *places)
    page = Path(__file__).resolve().parents[1] / "docs" / "enter-your-method.md"
    method = page.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    (folder / "my_method.py").write_text(method)
    _calls(folder, rng)
    _roads(folder, rng)
    _ratings(folder, rng)
    _trips(folder, rng)
    _school(folder)
    _write(folder / "export.csv", "from,to,spent", "ann,bob,3", "bob,kim,1")
    cuts = [{"S": ["ann", "bob"]}, {"S": ["ann"], "T": ["kim", "lee"]}]
    for name in ("cuts.jsonl", "queries.jsonl"):
        _write(folder / name, *map(json.dumps, cuts))
    _write(folder / "cuts.csv", "S,T", '"ann,bob",kim', "ann,")
    _write(folder / "questions.csv", "S,T", '"ann,bob",kim', "ann,", "@Sales,@IT")


def _calls(folder, rng):
    rows = rng.integers(0, len(PEOPLE), (400, 2))
    rows = rows[rows[:, 0] != rows[:, 1]]
    table = pd.DataFrame(
        {
            "caller": [PEOPLE[i] for i, _ in rows],
            "called": [PEOPLE[j] for _, j in rows],
            "minutes": rng.integers(1, 60, len(rows)),
        }
    )
    table.to_csv(folder / "calls.csv", index=False)
    _write(folder / "people.txt", *PEOPLE)
    own = [(p, REGIONS[i % 3], "ab"[i // 3 % 2]) for i, p in enumerate(PEOPLE)]
    _write(folder / "regions.csv", "person,region", *(f"{p},{region}" for p, region, _ in own))
    rows = (f"{p},{region},{region} {half}" for p, region, half in own)
    _write(folder / "halves.csv", "person,region,half", *rows)
    a, b, c = (f"@{name}" for name in REGIONS)
    _write(folder / "region_cuts.csv", "S,T", f"{a},{b}", f'"{a},{c}",')
    _write(folder / "half_cuts.csv", "S,T", f"{a} a,{b} b", f"{c} a,")
    graph = gc.Graph.of(
        table,
        columns=gc.Columns(source="caller", target="called", weight="minutes"),
        vertices=PEOPLE,
        max_weight_change=1,
        merge="sum",
    )
    graph.write(folder / "calls.npz")
    table.to_parquet(folder / "calls.parquet")


def _roads(folder, rng):
    ends = [(i, j) for i in range(24) for j in (i + 1, i + 5) if j < 24]
    rows = (f"corner{i},corner{j},{1 + i % 3}" for i, j in ends)
    _write(folder / "roads.csv", "source,target,weight", *rows)
    places = rng.integers(0, 24, 200)
    _write(folder / "people.csv", "vertex", *(f"corner{i}" for i in places))


def _ratings(folder, rng):
    users, films = [f"user{i}" for i in range(40)], [f"film{i}" for i in range(25)]
    pairs = rng.choice(len(users) * len(films), 300, replace=False)
    stars = rng.integers(1, 6, 300)
    rows = (f"{users[i // 25]},{films[i % 25]},{own}" for i, own in zip(pairs, stars, strict=True))
    _write(folder / "ratings.csv", "source,target,weight", *rows)
    for name, groups, labels, kinds in (
        ("users", "cities", users, ("Seattle", "Oslo")),
        ("films", "genres", films, ("comedy", "drama", "other")),
    ):
        _write(folder / f"{name}.txt", *labels)
        rows = (f"{label},{kinds[i % len(kinds)]}" for i, label in enumerate(labels))
        _write(folder / f"{groups}.csv", "label,group", *rows)
    _write(folder / "sums.csv", "S,T", "@Seattle,@comedy", "@Oslo,@drama")


def _trips(folder, rng):
    """Trips as a database exports them, with rows that cannot be used; and these left out."""
    zones = ["Airport", "Harbour", "Old town", "Hills", "Mills", "Park"]
    _write(folder / "zones.txt", *zones)
    districts = (f"{zone},{'north' if i < 3 else 'south'}" for i, zone in enumerate(zones))
    _write(folder / "zones.csv", "zone,district", *districts)
    areas = (f"{zone},{'coast' if i < 2 else 'inland'},{zone}" for i, zone in enumerate(zones))
    _write(folder / "areas.csv", "zone,region,area", *areas)
    _write(folder / "districts.csv", "id,lat,lon", "north,50.2,8.6", "south,50.0,8.7")
    ends = rng.choice(zones, (6000, 2))
    table = pd.DataFrame(
        {
            "user": [f"u{i}" for i in rng.integers(0, 500, len(ends))],
            "origin": ends[:, 0],
            "destination": ends[:, 1],
            "date": [f"2026-0{1 + i % 6}-{1 + i % 28:02d}" for i in range(len(ends))],
            "amount": rng.gamma(2.0, 4.0, len(ends)).round(2),
        }
    )
    (folder / "trips").mkdir()
    for part in range(2):
        table[part::2].to_parquet(folder / "trips" / f"part-{part}.parquet")
    table.to_parquet(folder / "trips.parquet")
    table.to_csv(folder / "trips.csv", sep=";", decimal=",", index=False)
    days = pd.to_datetime(table["date"])
    taxi = table.drop(columns=["date", "amount"]).assign(time=days.dt.strftime("%d.%m.%Y 23:30"))
    taxi.to_csv(folder / "taxi.csv", index=False)
    with (folder / "trips.csv").open("a") as file:
        file.write("u12;;Harbour;2026-01-18;3,50\nu31;Old town;Old town;unknown;n/a\n")


def _school(folder):
    """Write the friendships of 200 pupils of two schools, at most six for each pupil."""
    rng = np.random.default_rng(2)
    pupils = [f"pupil{i}" for i in range(200)]
    orders = (rng.permutation(200) for _ in range(3))
    rings = (np.sort([order, np.roll(order, 1)], axis=0).T for order in orders)
    pairs = np.unique(np.concatenate(list(rings)), axis=0)
    friends = (f"{pupils[first]},{pupils[second]}" for first, second in pairs)
    _write(folder / "friends.csv", "from,to", *friends)
    _write(folder / "pupils.txt", *pupils)
    schools = (f"{pupil},{'lower' if i < 100 else 'upper'}" for i, pupil in enumerate(pupils))
    _write(folder / "schools.csv", "pupil,school", *schools)


def names(folder):
    """What the Python examples take for granted: a graph, its groups, other people's data."""
    graph = gc.read_graph(folder / "mail.edges.gz", vertices=STAFF)
    connection = sqlite3.connect(":memory:")
    calls = pd.read_csv(folder / "calls.csv").rename(columns={"called": "callee"})
    calls.to_sql("calls", connection, index=False)
    columns = ["division", "department"]
    ratings = gc.BipartiteGraph.read(folder / "ratings.csv", max_weight=5.0)
    return {
        "ratings": ratings,
        "cities": gc.Groups.read(folder / "cities.csv", ratings.left),
        "genres": gc.Groups.read(folder / "genres.csv", ratings.right),
        "activity": np.linspace(0, 1, 40),
        "popularity": np.linspace(0, 1, 25),
        "gc": gc,
        "np": np,
        "pd": pd,
        "graph": graph,
        "groups": gc.Groups.read(folder / "units.csv", graph, columns=columns),
        "regions": gc.Groups.read(folder / "regions.csv", gc.read_graph(folder / "calls.npz")),
        "half": PEOPLE[:30],
        "people": PEOPLE,
        "connection": connection,
        "matrix": np.eye(8) - 0.1,
        "coefficients": np.eye(len(DEPARTMENTS)),
        "cuts": [gc.CutQuery(["ann", "bob"]), gc.CutQuery(["eve"], ["kim"])],
    }
