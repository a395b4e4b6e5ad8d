"""`graphcuts-dp flows`: tables, their privacy units, and how much users contribute."""

import csv
import io
import json
import math
import random
import re

import pytest

import graphcuts_dp as gc
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE


@pytest.fixture(autouse=True)
def files(tmp_path):
    """A graph that joins v_i and v_(3i+1), groups of its vertices, and rows with users."""
    edges = [(f"v{i}", f"v{(3 * i + 1) % 12}") for i in range(12)]
    gc.Graph.of(edges).write(tmp_path / "mail.edges")
    rng = random.Random(1)
    visits = [
        f"p{user},v{rng.randrange(12)},v{rng.randrange(12)},{rng.random():.3f}"
        for user in range(80)
        for _ in range(rng.randint(1, 8))
    ]
    pairs = [f"hub,v{a},v{b}" for a in range(12) for b in range(a)]
    usual = [f"p{user},v{user % 11},v11" for user in range(100)]
    for name, rows in {
        "staff.csv": ["person;site;unit", *(f"v{i};{'AB'[i // 6]};u{i // 3}" for i in range(12))],
        "plain.csv": [f"v{i},u{i // 3}" for i in range(12)],
        "some.csv": ["who,unit", "v1,a", "v2,b", "zoe,b"],
        "labels.txt": [f"v{i}" for i in range(12)],
        "places.csv": ["unit,lat,lon", *(f"u{i},{40 + i},{10 * i}" for i in range(4))],
        "films.csv": ["user,film", "a,x", "b,y", "c,x"],
        "users.csv": ["user,region", "a,N", "b,N", "c,S"],
        "genres.csv": ["film,kind", "x,drama", "y,comedy"],
        "visits.csv": ["patient,a,b,cost", *visits],
        "heavy.csv": ["patient,a,b", *usual, *pairs],
        "nobody.csv": ["patient,a,b", "p1,v1,v2", ",v3,v4"],
    }.items():
        (tmp_path / name).write_text("\n".join(rows) + "\n")


USUAL = ("--epsilon", "1", "--vertices", "labels.txt")
BASE = ("flows", "mail.edges", "staff.csv", "flows.csv", *USUAL)
COLUMNS = ("--groups-columns", "levels=site/unit")
UNITS = (*BASE, "--groups-columns", "levels=unit")
OWNED = (
    "--columns",
    "user=patient,source=a,target=b",
    "--privacy-unit",
    "user:max-contributions=4",
)
USERS = ("flows", "visits.csv", "staff.csv", "flows.csv", *USUAL, *COLUMNS)
TABLE = (
    "flows",
    "visits.csv",
    *USUAL,
    *OWNED[:2],
    "--counting",
    "edges",
    "--contributions",
    "table",
)


def test_table_and_receipt(done, refused, tmp_path):
    out, err = done(*BASE, *COLUMNS, "--seed", "1")
    for words in ("neighbours    whether any one pair", "the vertex set and the groups",
                  "seeded: not private", "Largest of 10 cells of level 'unit'"):  # fmt: skip
        assert words in out
    assert "note: Expected error of a cell of level 'site'" in err
    with (tmp_path / "flows.csv").open(newline="") as file:
        assert next(file).startswith("# Counts are rounded so that they add up over the levels")
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 + 10
    made = gc.load("flows.csv")
    assert made.levels == ("site", "unit")
    assert float(rows[0]["estimate"]) == pytest.approx(made.values("site")[0, 0])
    assert "exists" in refused(*BASE, *COLUMNS)
    # All that is missing stands in one line.
    (tmp_path / "mail.edges").write_text("v0 v1 7\n")
    said = refused(*BASE, "--columns", "weight=3", "--force")
    assert "pass --max-weight" in said
    assert "; and staff.csv: pass --groups-columns levels=" in said
    (tmp_path / "mail.edges").write_text("v0 v1\n")
    done(*BASE, *COLUMNS, "--force")


@pytest.mark.thorough
def test_pictures_and_files_for_maps(done, told, tmp_path):
    out, _ = done(*UNITS, "--plot", "flows.png", "--od", "od.csv")
    assert "flows.png" in out
    assert (tmp_path / "flows.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "od.csv").open(newline="") as file:
        assert csv.DictReader(file).fieldnames[:3] == ["origin", "dest", "count"]
    done(*UNITS, "--locations", "places.csv", "--plot", "map.pdf", "--od", "od.csv", "--force")
    assert (tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")
    with (tmp_path / "od.locations.csv").open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["u0", "u1", "u2", "u3"]
    places = ("--locations", "places.csv", "--od")
    facts = told(*UNITS, "--force", *places, "od.geojson")
    assert facts["files"] == ["flows.csv", "flows.csv.noisy.npz", "flows.csv.json", "od.geojson"]
    assert json.loads((tmp_path / "od.geojson").read_text())["type"] == "FeatureCollection"
    assert told(*UNITS, "--force", "--od", "od.parquet")["files"][-1] == "od.parquet"
    for places in ((), ("--locations", "places.csv")):
        facts = told(*UNITS, "--force", "--html", "page.html", *places)
        assert facts["files"][-1] == "page.html"
        page = (tmp_path / "page.html").read_text()
        assert page.startswith("<!doctype html>")
        assert ('"positions":null' in page) == (not places)


def test_what_counts_of_a_weight_is_said(done):
    costs = ("--columns", "source=a,target=b,weight=cost", "--counting", "weight")
    _, told = done(*USERS, *costs, "--privacy-unit", "row:max-units=50", "--force")
    assert "note: Of each row at most 50 units of weight count.\n" in told


@pytest.mark.thorough
def test_public_groups_name_the_vertices_of_rows(done, refused, tmp_path):
    rest = (*OWNED, "--counting", "edges", "--epsilon", "1", "--seed", "1")
    done(*USERS, *rest[:-4], "--seed", "1")
    _, err = done("flows", "visits.csv", "staff.csv", "same.csv", *COLUMNS, *rest)
    assert "The public vertices are those of the groups" in err
    assert (tmp_path / "same.csv").read_text() == (tmp_path / "flows.csv").read_text()
    few = (tmp_path / "staff.csv").read_text().splitlines()
    (tmp_path / "few.csv").write_text("\n".join(few[:-1]) + "\n")
    said = refused("flows", "visits.csv", "few.csv", "new.csv", *COLUMNS, *rest)
    assert "not in the public vertex set" in said
    (tmp_path / "twice.csv").write_text("\n".join([*few, few[-1]]) + "\n")
    assert "twice" in refused("flows", "visits.csv", "twice.csv", "new.csv", *COLUMNS, *rest)
    (tmp_path / "wide.csv").write_text("\n".join([*few, few[-1] + ";x"]) + "\n")
    said = refused("flows", "visits.csv", "wide.csv", "new.csv", *COLUMNS, *rest)
    assert "wide.csv: rows have different numbers of columns" in said
    # The bound of the same rows, in the same store.
    user = ("--columns", OWNED[1], "--store", "visits.db", "--counting", "edges")
    table = ("--contributions", "table", "--epsilon", "0.5")
    _, err = done("flows", "visits.csv", "staff.csv", *COLUMNS, *user, *table)
    assert "give the table the same --kind" in err
    more = ("--privacy-unit", "user:max-contributions=4", "--epsilon", "1")
    done("flows", "visits.csv", "staff.csv", "paid.csv", *COLUMNS, *user, *more)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("unit", "noise"), [("1", 8.0), ("0.25", 2.0)])
def test_what_a_cell_of_amounts_has_to_hold_is_said(done, refused, unit, noise):
    """From epsilon, the bound and the cells alone; a smaller guess is refused."""
    line = (*USERS[:6], *COLUMNS[:1], "levels=site", "--counting", "weight", "--weight-unit", unit)
    line = (*line, "--vertices", "labels.txt", "--columns", f"{OWNED[1]},weight=cost", *OWNED[2:])
    _, err = done(*line)
    least = 2 * noise * math.sqrt(0.5)
    told = f"from about {least:.3g} on, and all 3 cells together from a total of {3 * least:.3g}"
    assert f"{told} (amount)" in err
    said = refused(*line, "--force", "--expected-cell", str(least / 3))
    assert f"above the {least / 3:,.6g} that you expect" in said
    assert "together from a total" not in done(*line, "--force", "--expected-cell", "99")[1]


def assert_is_stated(text, answer):
    """The first line has the value to three digits, and an interval that holds the answer's."""
    stated = re.search(r"([\d,.-]+) (edges|rows), between ([\d,.-]+) and ([\d,.]+) \(95%\)", text)
    value, _, low, high = (part.replace(",", "") for part in stated.groups())
    assert float(value) == pytest.approx(answer.value, rel=5e-3)
    assert answer.interval[0] - 1 < float(low) <= answer.interval[0]
    assert answer.interval[1] <= float(high) < answer.interval[1] + 1


def test_a_table_of_flows_is_asked_for_sums_of_cells(done, told, refused):
    done(*BASE, *COLUMNS)
    flows = gc.load("flows.csv")
    for first, second, level in (("A", "B", "site"), ("u0,u1", "u3", "unit")):
        asked = ("answer", "flows.csv", "--from", first, "--to", second)
        found = flows.between(first.split(","), second.split(","), level)
        assert_is_stated(done(*asked)[0], found)
        assert told(*asked)["value"] == found.value
        sure = flows.between(first.split(","), second.split(","), level, simultaneous=True)
        assert tuple(told(*asked, "--simultaneous")["interval"]) == sure.interval
    assert "the levels are" in refused("answer", "flows.csv", "--from", "A", "--to", "u1")
    assert "--from GROUP --to GROUP" in refused("answer", "flows.csv")
    for typed, advice in (
        ("U3", "did you mean u3?"),
        ("@@u3", "typed without @@: did you mean u3?"),
        ("@@nobody", "typed without @@: of level unit there are 'u0', 'u1'"),
        ("nobody", "of level unit there are 'u0', 'u1'"),
    ):
        assert advice in refused("answer", "flows.csv", "--from", typed)
    for words in (("--query", "{}"), ("--queries", "x.csv"), ("--groups", "staff.csv")):
        assert "answers --from GROUP, with" in refused("answer", "flows.csv", *words)


def test_a_table_of_noise_says_so_first(done, told):
    words = ("answer", "flows.csv", "--from", "u0", "--to", "u1")
    epsilon = ("--epsilon", "0.02", "--expected-cell", "0", "--seed", "1")
    out, _ = done(*BASE, *COLUMNS, *epsilon)
    flows = gc.load("flows.csv")
    table = flows.to_frame("unit")
    noisy = int((table["estimate"].abs() <= flows.half_widths_of(2)).sum())
    assert noisy > 5
    verdict = f"{noisy} of 10 numbers are smaller than their ± (95%): most of this table is noise"
    assert verdict in out.splitlines()[0]
    assert done(*words)[0].startswith(f"{verdict}; the answer below is, too.")
    assert told(*words)["verdict"].startswith(verdict)
    report = done("report", "flows.csv")[0]
    assert report.index(verdict) < report.index("A table of how much")


def test_an_exact_table_has_no_verdict(done, told):
    out, _ = done(*BASE, *COLUMNS, "--epsilon", "50", "--seed", "1")
    assert "is noise" not in out
    assert gc.load("flows.csv").noise_verdict == ""
    assert "is noise" not in done("report", "flows.csv")[0]
    assert told("answer", "flows.csv", "--from", "*", "--to", "*")["verdict"] == ""


def test_margins_are_asked_for_by_one_side_or_a_star(done, told, refused, tmp_path):
    """Of a table with directions: what leaves a group, and what enters it."""
    head = "vertex,town\n"
    towns = ["Halle, Saale", 'the "Ring"', "Ulm"]
    rows = [f'v{i},"{towns[i // 4].replace(chr(34), 2 * chr(34))}"\n' for i in range(12)]
    (tmp_path / "towns.csv").write_text(head + "".join(rows))
    exact = ("--epsilon", "40", "--seed", "1", "--expected-cell", "0", "--uncounted")
    arcs = [f"v{i},v{(3 * i + 1) % 12}\n" for i in range(12)]
    (tmp_path / "arcs.csv").write_text("source,target\n" + "".join(arcs))
    line = ("flows", "arcs.csv", "towns.csv", "towns-flows.csv", "--vertices", "labels.txt")
    done(*line, *exact, "--kind", "directed")
    flows = gc.load("towns-flows.csv")
    everywhere = flows.labels("town")[0]
    ask = ("answer", "towns-flows.csv", "--from")
    for typed, names in (
        ("Ulm", ["Ulm"]),
        ('"Halle, Saale"', ["Halle, Saale"]),
        ('"Halle, Saale",Ulm', ["Halle, Saale", "Ulm"]),
        ('"the ""Ring"""', ['the "Ring"']),
        ("*", everywhere),
    ):
        out = flows.between(names, everywhere)
        assert told(*ask, typed)["value"] == told(*ask, typed, "--to", "*")["value"] == out.value
        assert told(*ask, "*", "--to", typed)["value"] == flows.between(everywhere, names).value
    assert "check the quotes" in refused(*ask, '"Halle, Saale')
    assert "'*' stands alone" in refused(*ask, "*,Ulm")
    assert "in double quotes: '\"Halle, Saale\"'" in refused(*ask, "Halle, Saale")
    line = refused(*ask, "Halle")
    assert "the table has no group" in line
    assert "flows --groups-columns levels=town/COLUMN" in line


def test_rows_come_in_from_a_program(done, refused, monkeypatch, tmp_path):
    def piped(run, *words):
        text = io.TextIOWrapper(io.BytesIO((tmp_path / "visits.csv").read_bytes()))
        monkeypatch.setattr("sys.stdin", text)
        return run(*words)

    words = (*OWNED, "--counting", "edges", "--seed", "1")
    done(*USERS, *words)
    piped(done, "flows", "-", "staff.csv", "piped.csv", *USERS[4:], *words)
    assert (tmp_path / "piped.csv").read_text() == (tmp_path / "flows.csv").read_text()
    _, said = piped(done, "flows", "-", "staff.csv", "x.csv", *USERS[4:], *words[:-2])
    assert "Keep to yourself: the rows, " in said
    assert "leaves out at least" in piped(done, "flows", "-", *TABLE[2:])[0]
    for command, message in (
        (("flows", "-", *BASE[2:3], "new.csv", *USUAL), "- is standard input, for rows"),
        (
            ("session", "start", "-", "--queries", "9", "--store", "x.db", *USUAL, *OWNED),
            "name a file in place",
        ),
        (
            ("flows", "-", "staff.csv", "new.csv", *USUAL, *OWNED, "--data-name", "x"),
            "read once",
        ),
    ):
        assert message in piped(refused, *command)


@pytest.mark.thorough
def test_a_table_by_month_is_drawn_over_time_and_asked(done, refused, monkeypatch, tmp_path):
    dates = [f"v{i % 12},v{i % 5},2026-0{1 + i % 3}-07" for i in range(300)]
    (tmp_path / "trips.csv").write_text("\n".join(["a,b,date", *dates]) + "\n")
    asked, plot = [], gc.Flows.plot
    monkeypatch.setattr(
        gc.Flows, "plot", lambda self, **given: asked.append(given) or plot(self, **given)
    )
    rows = ("--columns", "source=a,target=b,period=date", "--periods", "2026-01..2026-03")
    for by, drawn in (("month", "month"), ("year,month", "month")):
        words = ("flows", "trips.csv", *UNITS[2:], *rows, "--by", by, "--plot", "flows.png")
        _, told = done(*words, "--force")
        assert "--kind directed keeps them apart" in told
        assert asked[-1]["by"] == drawn
        assert (tmp_path / "flows.png").read_bytes().startswith(b"\x89PNG")
    flows = gc.load("flows.csv")
    (unit, *_), level = flows.labels(flows.levels[-1])[0], flows.levels[-1]
    ask = ("answer", "flows.csv", "--from", unit, "--to", unit)
    for period in (["2026-02"], ["2026-01", "2026-03"]):
        found = flows.between(unit, unit, level, period=period)
        assert_is_stated(done(*ask, "--period", ",".join(period))[0], found)
    assert "unknown period '2027-01'" in refused(*ask, "--period", "2027-01")
    _, told = done(*words, "--force", "--kind", "directed", "--locations", "places.csv")
    assert "directions" not in told
    assert asked[-1]["by"] == "month"  # a map of each month
    assert asked[-1]["locations"] is not None
    done(*words[:-2], "--force", "--locations", "places.csv", "--html", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert '"January 2026 to March 2026 (3 periods)","January 2026"' in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--plot", "flows.gif"), "a plot ends in .png, .pdf or .svg"),
        (("--plot", "places.csv"), "a plot ends in .png, .pdf or .svg"),
        (("--html", "flows.htm"), "flows.htm must end in .html: a page for a browser"),
        (("--html", "none/flows.html"), "does not exist; create it first"),
        (("--html", "there.html"), "there.html exists"),
        (("--html", "map.html", "--locations", "few.csv"), "1 of 4 groups have no location: 'u3'"),
        (("--od", "od.xlsx"), "od.xlsx must end in .csv, .parquet, .geojson"),
        (("--od", "flows.csv"), "are the same file"),
        (("--od", "flows.csv.json"), "must end in .csv"),
        (("--od", "none/od.csv"), "does not exist; create it first"),
        (("--od", "mail.edges"), "is read or kept by this command; write to another file"),
        (("--od", "od.geojson"), "lines need --locations, where the groups are"),
        (("--locations", "places.csv"), "--locations is for --plot, --html or --od"),
        (("--locations", "none.csv", "--od", "od.csv"), "none.csv"),
        (("--locations", "few.csv", "--plot", "map.png"), "1 of 4 groups have no location: 'u3'"),
        (("--locations", "far.csv", "--plot", "map.png"), "far.csv: line 2: latitudes lie within"),
        (("--locations", "places.csv", "--od", "places.csv"), "is read or kept by this command"),
        (("--locations", "places.csv", "--od", "other.csv"), "other.locations.csv exists"),
    ],
)
def test_maps_that_cannot_be_are_refused_before_anything_is_paid(refused, tmp_path, words, message):
    (tmp_path / "few.csv").write_text("unit,lat,lon\nu0,1,2\nu1,1,2\nu2,1,2\n")
    (tmp_path / "far.csv").write_text("unit,lat,lon\nu0,100,2\n")
    (tmp_path / "other.locations.csv").write_text("")
    (tmp_path / "there.html").write_text("")
    assert message in refused(*UNITS, "--store", "mail.db", *words)
    assert not (tmp_path / "mail.db").exists()
    assert not (tmp_path / "flows.csv").exists()


@pytest.mark.parametrize("option", ["--plot", "--html", "--od", "--margins"])
def test_files_that_cannot_be_written_are_refused_in_a_dry_run_as_well(option, refused):
    ending = {"--plot": "png", "--html": "html"}.get(option, "csv")
    words = ("--dry-run", option, f"missing/out.{ending}")
    assert "does not exist; create it first" in refused(*UNITS, *words)


def test_json(told):
    facts = told(*BASE, "--groups-columns", "levels=3,header=yes", "--delta", "1e-6")
    assert (facts["levels"], facts["shares"]) == ({"unit": "4 x 4"}, {"unit": 1.0})
    assert facts["files"] == ["flows.csv", "flows.csv.noisy.npz", "flows.csv.json"]
    assert facts["noise"] == "laplace"


def test_other_tables_of_groups(done, refused):
    plain = ("flows", "mail.edges", "plain.csv", *BASE[3:])
    assert "pass --groups-columns header=no if the file has no header" in refused(*plain)
    done(*plain, "--groups-columns", "header=no")
    some = ("flows", "mail.edges", "some.csv", "out.csv", *USUAL, "--groups-columns")
    assert (
        "some.csv: line 4: not a vertex of the graph; correct it, or pass --groups-columns "
        "unknown=ignore" in refused(*some, "vertex=who")
    )
    assert "pass --groups-columns default-group=other" in refused(
        *some, "vertex=who,unknown=ignore"
    )
    done(*some, "vertex=who,unknown=ignore,default-group=others")
    assert gc.load("out.csv").groups.labels() == ("a", "b", "others")
    sides = ("flows", "films.csv", "users.csv", "sides.csv", "--epsilon", "5", "--kind")
    sides = (*sides, "bipartite", "--columns", "header=yes")
    assert "needs --right-groups" in refused(*sides)
    done(*sides, "--right-groups", "genres.csv")
    assert gc.load("sides.csv").values().shape == (2, 2)
    assert "there are 'comedy', 'drama'" in refused(
        "answer", "sides.csv", "--from", "*", "--to", "nobody"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (BASE[:2] + BASE[4:], "GRAPH GROUPS OUT"),
        ((*BASE[:3], "staff.csv", *USUAL), "write to another file"),
        (BASE, "pass --groups-columns levels=, the columns of the groups"),
        ((*BASE, "--groups-columns", "levels=site//unit"), "an empty name"),
        ((*BASE, "--groups-columns", "levels=9"), "pass --groups-columns header=yes if the first"),
        ((*UNITS, "--right-groups", "staff.csv"), "--right-groups is for --kind bipartite"),
        ((*UNITS, "--groups-columns", "encoding=utf-99"), "unknown encoding"),
        ((*UNITS, "--groups-columns", "header=no"), "pass --groups-columns header=yes"),
        ((*UNITS, "--privacy-unit", "vertex"), "degree"),
        ((*UNITS, "--expected-cell", "1"), "above the 1 that you expect in one; raise epsilon to"),
        ((*UNITS, "--expected-cell", "-1"), "--expected-cell must be a number from 0 on"),
        ((*UNITS, "--max-degree", "3"), "--privacy-unit vertex:max-degree="),
        ((*USERS, *OWNED[2:]), "needs --columns user=COLUMN"),
        ((*USERS, *OWNED[:2]), "needs --privacy-unit user"),
        ((*TABLE[:4], *OWNED[:2], "--contributions", "table"), "a table of groups behind GRAPH"),
        (
            (*TABLE[:4], *OWNED[:2], "--contributions", "table", "--vertices", "staff.csv"),
            "name a table as the public groups: behind GRAPH for flows",
        ),
        ((*USERS, *OWNED[:2], "--privacy-unit", "user"), "needs max-contributions"),
        ((*USERS, *OWNED, "--columns", "user=who"), "user is given twice"),
        ((*USERS, *OWNED, "--columns", "weight=cost"), "weight= is for --counting weight"),
        ((*USERS, *OWNED, "--max-weight", "2"), "are for graphs, not for rows"),
        (
            (*USERS, "--columns", "source=a,target=b,weight=cost", "--counting", "weight"),
            "say how many units of the weight of a row count",
        ),
        ((*USERS[:1], "nobody.csv", *USERS[2:], *OWNED), "line 3: the user is missing"),
        ((*TABLE[:6], *TABLE[-2:]), "user=COLUMN"),
        ((*TABLE, "--plot", "x.png"), "no OUT, maps or margins"),
        ((*TABLE, "--measure-margins"), "no OUT, maps or margins"),
        ((*TABLE[:-1], "table:bounds=5/x"), "whole numbers"),
        ((*TABLE[:-1], "choice"), "share-above"),
        (("evaluate", "visits.csv", "visits.csv", *OWNED[:2]), "this command reads graphs"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(refused, line, message):
    assert message in refused(*line)


def test_a_vertex_or_a_user_is_protected(done, refused, tmp_path):
    vertex = (*UNITS, "--privacy-unit", "vertex:max-degree=2", "--store", "mail.db")
    said = refused(*vertex)
    for words in (
        "noise of 11.3 is expected on a cell of level 'unit', and half of these cells can hold 9",
        "raise epsilon to 1.3, or pass --expected-cell 0 to release it all the same",
    ):
        assert words in said
    assert not (tmp_path / "mail.db").exists()
    out, err = done(*vertex, "--expected-cell", "0")
    assert "what is shown of this level is noise" in err
    assert "privacy unit  1 vertex" in out
    assert "counts for at most 2" in out
    # 4 cells of a group, 2 in each: the deviation of discrete Laplace noise of scale 8.
    assert "Expected error of a cell of level 'unit': 11" in err
    other_unit = refused(*UNITS, "--store", "mail.db", "--force")
    assert "is 1 vertex, that of this use" in other_unit
    fitting = "by --privacy-unit vertex:max-degree=K, or name a new store with --separate-budget"
    assert fitting in other_unit
    no_session = refused("session", "ask", "mail.db", "--from", "v1")
    assert "start one: graphcuts-dp session start GRAPH --store" in no_session
    unit = ("--counting", "weight", "--columns", "weight=cost", "--weight-unit", "0.25", "--force")
    _, err = done(*USERS, *OWNED, *unit)
    assert "Of each user at most 4 units of weight of 0.25 (1) count" in err
    assert "Amounts come out as they are typed" in err
    receipt = json.loads((tmp_path / "flows.csv.json").read_text())
    assert receipt["guarantee"]["privacy_unit"] == "1 user"


def test_one_store_for_bounds_tables_and_sessions(
    done, told, refused, tmp_path_factory, tmp_path, monkeypatch
):
    keep = ("--store", "visits.db", "--epsilon")
    assert told(*TABLE, *keep, "2", "--budget", "14")["what"] == "pairs"
    start = ("session", "start", "visits.csv", *USUAL, "--queries", "3", *OWNED)
    done(*start, *keep, "9")
    # The session knows how its rows are read, from any folder.
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir(tmp_path_factory.mktemp("elsewhere"))
        done("session", "ask", tmp_path / "visits.db", "--from", "v1", "--to", "v3")
    status = gc.store_status("visits.db")
    assert [each.use.kind for each in status.uses] == ["contributions", "session"]
    assert {each.use.guarantee.privacy_unit for each in status.uses} == {"1 user"}
    assert "does not allow" in refused(*TABLE, *keep, "8")
    assert "visits.db" in refused(*TABLE)
    assert "visits.db" in refused(*USERS, *OWNED)


def test_a_bound_by_its_share(told, done):
    line = (*TABLE[:-1], "choice:share-above=0.5,bounds=1/3/1000", "--epsilon", "30")
    # Half of the users have more than 4 rows, none more than 8: any other has a chance < 1e-100.
    assert told(*line)["max_contributions"] == 3
    assert "may have most of the rows" in done(*line)[1]


def test_what_nobody_can_tell_is_said(told, done):
    """One user with most of the rows, whom noise hides: the upper end is unknown, not small."""
    line = (TABLE[0], "heavy.csv", *TABLE[2:-1])
    seen = told(*line, "table:bounds=1/5/20", "--seed", "2")
    assert (seen["max_contributions"], seen["confidence"], seen["undetectable"]) == (
        1,
        DEFAULT_CONFIDENCE,
        4,
    )
    assert [row["left_out"][1] for row in seen["bounds"]] == [None] * 3
    assert "one user may have any number of pairs" in seen["warning"]
    out, err = done(*line, "table:bounds=1/5/20", "--seed", "2")
    assert "unknown" in out
    # What shows is no bound of what is left out: the rows that noise hides are most.
    assert "visible" not in out.replace("invisible", "")
    assert "for users whom noise does not hide, the best is 1" in out
    assert "hidden by noise  up to 4 users of each size can be invisible" in out
    assert out.index("hidden by noise") < out.index("users above")
    assert "A bound of 1 leaves out at least 0 pairs for sure" in out
    assert (out + err).count("--contributions table:known-max=") == 1
    known = told(*line, "table:bounds=1/5/20,known-max=66", "--seed", "2")
    assert known["warning"] == ""
    assert all(row["left_out"][1] is not None for row in known["bounds"])
    assert "further pairs are left out" in known["coverage"]
    chosen = told(*line, "table:bounds=1/5/20,known-max=66,max-contributions=5", "--seed", "2")
    assert chosen["chosen"] == 5
    assert chosen["left_out_of_chosen"][1] is not None
    assert chosen["max_contributions"] == known["max_contributions"]
    assert "With a bound of 5, counts are of at most 5 pairs a person" in chosen["coverage"]


def test_a_bound_that_the_table_lacks_cannot_be_judged(refused):
    line = refused(*TABLE[:-1], "table:bounds=1/5/20,max-contributions=7")
    assert "none of the bounds" in line


@pytest.mark.thorough
def test_months_are_paid_one_by_one_and_the_bound_of_each_beside_its_table(
    done, told, refused, tmp_path
):
    rng = random.Random(2)
    rows = [
        f"p{rng.randrange(40)},v{rng.randrange(12)},v{rng.randrange(12)},2026-0{month}-09"
        for month in (1, 2, 3)
        for _ in range(400)
    ]
    (tmp_path / "dated.csv").write_text("\n".join(["patient,a,b,day", *rows]) + "\n")
    read = ("--columns", "user=patient,source=a,target=b,period=day", "--vertices", "labels.txt")
    keep = ("--store", "dated.db", "--epsilon")

    def line(month, *more):
        unit = ("--privacy-unit", "user:max-contributions=9,per-period", "--by", "month")
        files = ("flows", "dated.csv", "staff.csv", f"{month}.csv")
        read_now = (*read, "--periods", f"2026-0{month}")
        return (*files, *read_now, *unit, *COLUMNS, *keep, *more)

    bound = ("flows", "dated.csv", *read, "--periods", "2026-01..2026-03", "--contributions")
    done(*bound, "table:per-period", *keep, "1", "--budget", "3")
    assert "is 1 user in one month" in refused(*bound, "table", *keep, "1")
    for month in (1, 2):
        done(*line(month, "2"))
    assert "reads 2026-01, on which epsilon = 3 was spent" in refused(*line(1, "2", "--force"))
    found = told("session", "status", "dated.db")
    spent = {period: cost["epsilon"] for period, cost in found["periods"].items()}
    assert spent == {"2026-01": 3.0, "2026-02": 3.0, "2026-03": 1.0}
    assert (found["epsilon"], found["all_periods"]["epsilon"]) == (3.0, 7.0)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--kind", "directed"),
        ("--delta", "1e-6", "--noise", "gaussian"),
        ("--privacy-unit", "vertex:max-degree=3"),
        ("--max-weight", "2"),
        OWNED,
        (*OWNED, "--counting", "edges"),
        (*OWNED[:1], "user=b,source=a,target=b", *OWNED[2:]),
        (*OWNED[:1], "user=tail,source=a,target=b", *OWNED[2:], "--kind", "directed"),
        (*OWNED[:1], f"{OWNED[1]},weight=cost", *OWNED[2:], "--counting", "weight"),
        ("--columns", "source=a,target=b,period=month", "--periods", "2026-01..2026-03"),
    ],
)
def test_a_dry_run_says_what_the_run_says_and_reads_no_private_file(done, options, tmp_path):
    visits = (tmp_path / "visits.csv").read_text().splitlines()
    months = [f"{line},2026-0{1 + i % 3}" for i, line in enumerate(visits[1:])]
    weighted = "--max-weight" in options
    rows = ["a,b,weight", "v1,v2,1"] if weighted else [f"{visits[0]},month", *months]
    if not weighted and "--columns" not in options:
        rows = ["a,b", "v1,v2"]
        options += ("--columns", "source=a,target=b")
    source = tmp_path / "here.csv"
    line = ("flows", "here.csv", "staff.csv", "out.csv", *USUAL, *COLUMNS, *options)
    line += ("--expected-cell", "0")
    out, _ = done(*line, "--dry-run", "--json")
    forecast = json.loads(out)
    assert not (tmp_path / "out.csv").exists()
    source.write_text("\n".join(rows) + "\n")
    out, err = done(*line, "--json")
    assert json.loads(out)["guarantee"] == forecast["guarantee"]
    notes = [text for text in forecast["notes"] if text.startswith("Expected error")]
    assert len(notes) == 2
    assert all(f"note: {text}" in err for text in notes)
    assert [each["of"] for each in forecast["errors"]] == [
        f"a cell of level {level!r}" for level in gc.load("out.csv").levels[::-1]
    ]
    assert f"±{forecast['errors'][0]['bound']:.3g}" in notes[-1]


@pytest.mark.parametrize(
    "options",
    [
        ("table:bounds=1/2/4",),
        ("table:for-epsilon=2,bounds=1/2/4,per-period", "--periods", "2026-01..2026-03"),
        ("choice:share-above=0.25,bounds=1/2/4",),
    ],
)
def test_a_dry_run_of_contributions_reads_nothing_and_spends_nothing(told, options, tmp_path):
    dated = ",period=month" if "--periods" in options else ""
    columns = ("--columns", f"user=patient,source=a,target=b{dated}")
    line = ("flows", "here.csv", *USUAL, *columns, "--store", "here.db")
    line += ("--budget", "5", "--contributions", *options)
    forecast = told(*line, "--dry-run")
    assert not (tmp_path / "here.db").exists()
    assert all(error["bound"] > 0 for error in forecast["errors"])
    assert len(forecast["errors"]) == (3 if options[0].startswith("table") else 1)
    head, *visits = (tmp_path / "visits.csv").read_text().splitlines()
    rows = [f"{head},month", *(f"{row},2026-0{1 + k % 3}" for k, row in enumerate(visits))]
    (tmp_path / "here.csv").write_text("\n".join(rows) + "\n")
    assert told(*line)["guarantee"] == forecast["guarantee"]
    assert told("session", "status", "here.db")["epsilon"] == 1


def test_a_dry_run_refuses_what_the_run_refuses(refused):
    line = (*BASE, *COLUMNS, "--dry-run")
    assert "--privacy-unit user:max-contributions" in refused(*line, "--columns", "user=patient")
    assert "user=COLUMN" in refused(*line, "--privacy-unit", "user:max-contributions=3")
    assert "both, or neither" in refused(*line, "--columns", "period=month,source=a,target=b")
    assert "levels=, the columns of the groups" in refused(*BASE, "--dry-run")


# ------------------------------------------------------------------ directions and names of periods

QUIET = (
    *("--epsilon", "40", "--uncounted", "--expected-cell", "0"),
    *("--kind", "directed", "--seed", "1"),
)


def cells(path, *names):
    """The values of a table of flows by the named columns."""
    rows = csv.DictReader(path.read_text().splitlines()[1:])
    return {tuple(row[name] for name in names): round(float(row["estimate"])) for row in rows}


def test_the_header_tells_the_direction_and_the_tail(done, tmp_path):
    (tmp_path / "trips.csv").write_text("DEST,ORIGIN,date\n" + "JFK,LAX,2024-01-02\n" * 500)
    (tmp_path / "cities.csv").write_text("airport,city\nJFK,NYC\nLAX,LA\n")
    note = done("flows", "trips.csv", "cities.csv", "f.csv", *QUIET, "--counting", "rows")[1]
    assert "Read as the endpoints of an edge: 'ORIGIN', 'DEST'; ignored: 'date'." in note
    found = cells(tmp_path / "f.csv", "from", "to")
    assert found["LA", "NYC"] > 480
    assert found["NYC", "LA"] < 20
    # Of one sender of 500 rows, one counts, and not one of each recipient.
    (tmp_path / "mail.csv").write_text(
        "Recipient,From\n" + "".join(f"r{number},ann\n" for number in range(500))
    )
    (tmp_path / "sides.csv").write_text(
        "v,g\nann,S\n" + "".join(f"r{number},R\n" for number in range(500))
    )
    bounded = ("--columns", "user=tail", "--privacy-unit", "user:max-contributions=1")
    note = done("flows", "mail.csv", "sides.csv", "g.csv", *QUIET, *bounded)[1]
    assert "'From', 'Recipient'; as its user: 'From'." in note
    assert all(value < 20 for value in cells(tmp_path / "g.csv", "from", "to").values())


@pytest.mark.parametrize(
    ("periods", "expected"),
    [
        ("spring,autumn", {"spring": 30, "autumn": 60}),
        ("autumn, winter", {"autumn": 60, "winter": 0}),
    ],
)
def test_names_of_periods_stand_between_commas(done, tmp_path, periods, expected):
    (tmp_path / "terms.csv").write_text("o,d,term\n" + "a,b,spring\n" * 30 + "a,b,autumn\n" * 60)
    (tmp_path / "zones.csv").write_text("zone,area\na,A\nb,B\n")
    (tmp_path / "zones.txt").write_text("a\nb\n")
    columns = ("--vertices", "zones.txt", "--columns", "source=o,target=d,period=term")
    done("flows", "terms.csv", "zones.csv", "f.csv", *QUIET, *columns, "--periods", periods)
    found = cells(tmp_path / "f.csv", "period", "from", "to")
    for period, count in expected.items():
        assert found[period, "A", "B"] == pytest.approx(count, abs=6)
