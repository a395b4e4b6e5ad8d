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


def make_files(folder):
    """Write every file that an example reads."""
    rng = np.random.default_rng(1)
    departments = rng.integers(0, 4, len(STAFF))
    near = departments[:, None] == departments
    joined = np.triu(rng.random(near.shape) < np.where(near, 0.4, 0.1), 1)
    mail = "".join(f"{STAFF[i]} {STAFF[j]}\n" for i, j in np.argwhere(joined))
    (folder / "mail.edges.gz").write_bytes(gzip.compress(mail.encode()))
    (folder / "staff.txt").write_text("".join(f"{name}\n" for name in STAFF))
    (folder / "staff.csv").write_text(
        "person,department\n"
        + "".join(
            f"{name},{DEPARTMENTS[number]}\n"
            for name, number in zip(STAFF, departments, strict=True)
        )
    )
    (folder / "units.csv").write_text(
        "person,division,department\n"
        + "".join(
            f"{name},{'Front' if number in (0, 3) else 'Back'},{DEPARTMENTS[number]}\n"
            for name, number in zip(STAFF, departments, strict=True)
        )
    )
    page = Path(__file__).resolve().parents[1] / "docs" / "enter-your-method.md"
    method = page.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    (folder / "my_method.py").write_text(method)
    _calls(folder, rng)
    _roads(folder, rng)
    _ratings(folder, rng)
    (folder / "export.csv").write_text("from,to,spent\nann,bob,3\nbob,kim,1\n")
    cuts = [{"S": ["ann", "bob"]}, {"S": ["ann"], "T": ["kim", "lee"]}]
    (folder / "cuts.jsonl").write_text("".join(json.dumps(cut) + "\n" for cut in cuts))
    (folder / "queries.jsonl").write_text((folder / "cuts.jsonl").read_text())
    (folder / "cuts.csv").write_text('S,T\n"ann,bob",kim\nann,\n')


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
    (folder / "people.txt").write_text("".join(f"{name}\n" for name in PEOPLE))
    (folder / "regions.csv").write_text(
        "person,region\n" + "".join(f"{p},{REGIONS[i % 3]}\n" for i, p in enumerate(PEOPLE))
    )
    halves = [
        f"{p},{REGIONS[i % 3]},{REGIONS[i % 3]} {'ab'[i // 3 % 2]}" for i, p in enumerate(PEOPLE)
    ]
    (folder / "halves.csv").write_text("\n".join(["person,region,half", *halves, ""]))
    a, b, c = (f"@{name}" for name in REGIONS[:3])
    (folder / "region_cuts.csv").write_text(f'S,T\n{a},{b}\n"{a},{c}",\n')
    (folder / "half_cuts.csv").write_text(f"S,T\n{a} a,{b} b\n{c} a,\n")
    graph = gc.Graph.of(
        table,
        columns=gc.Columns(source="caller", target="called", weight="minutes"),
        vertices=PEOPLE,
        hide_change=1,
        merge="sum",
    )
    graph.write(folder / "calls.npz")
    table.to_parquet(folder / "calls.parquet")


def _roads(folder, rng):
    corners = [f"corner{i}" for i in range(24)]
    (folder / "roads.csv").write_text(
        "source,target,weight\n"
        + "".join(
            f"{corners[i]},{corners[j]},{1 + i % 3}\n"
            for i in range(24)
            for j in (i + 1, i + 5)
            if j < 24
        )
    )
    places = rng.integers(0, 24, 200)
    (folder / "people.csv").write_text("".join(["vertex\n", *(f"{corners[i]}\n" for i in places)]))


def _ratings(folder, rng):
    users, films = [f"user{i}" for i in range(40)], [f"film{i}" for i in range(25)]
    for name, labels in (("users", users), ("films", films)):
        (folder / f"{name}.txt").write_text("".join(f"{label}\n" for label in labels))
    pairs = rng.choice(len(users) * len(films), 300, replace=False)
    rows = [
        f"{users[i // 25]},{films[i % 25]},{stars}"
        for i, stars in zip(pairs, rng.integers(1, 6, 300), strict=True)
    ]
    (folder / "ratings.csv").write_text("\n".join(["source,target,weight", *rows, ""]))
    for name, labels, kinds in (
        ("cities", users, ("Seattle", "Oslo")),
        ("genres", films, ("comedy", "drama", "other")),
    ):
        (folder / f"{name}.csv").write_text(
            "".join(
                ["label,group\n", *(f"{x},{kinds[i % len(kinds)]}\n" for i, x in enumerate(labels))]
            )
        )
    (folder / "sums.csv").write_text("S,T\n@Seattle,@comedy\n@Oslo,@drama\n")


def names(folder):
    """What the Python examples take for granted: a graph, its groups, other people's data."""
    graph = gc.read_graph(folder / "mail.edges.gz", vertices=STAFF)
    connection = sqlite3.connect(":memory:")
    calls = pd.read_csv(folder / "calls.csv").rename(columns={"called": "callee"})
    calls.to_sql("calls", connection, index=False)
    columns = ["division", "department"]
    ratings = gc.BipartiteGraph.read(folder / "ratings.csv", weight_cap=5.0)
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
