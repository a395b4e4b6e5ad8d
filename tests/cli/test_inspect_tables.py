"""`graphcuts-dp inspect` of private files: what it tells from their heads, and what it counts."""

import gzip
import shlex
from datetime import datetime

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

VERTICES = ("ann", "bob", "eve", *(f"{half}{i}" for half in "abe" for i in range(20)))
SIZE = len(VERTICES)
ROWS = [("ann", "bob", "3"), ("bob", "eve", "1"), ("ann", "bob", "2")]
SENTINEL = "secret_vertex_7"
HEADER = "--columns header=yes"


@pytest.fixture(autouse=True)
def folder(tmp_path):
    """A folder with public vertices and groups, under the names that commands are printed with."""
    (tmp_path / "vertices.txt").write_text("".join(f"{name}\n" for name in VERTICES))
    groups = "vertex,half\n" + "".join(f"{name},{name[0]}\n" for name in VERTICES)
    for name in ("groups.csv", "right-groups.csv"):
        (tmp_path / name).write_text(groups)
    for name in ("left.txt", "right.txt"):
        (tmp_path / name).write_text("".join(f"{name}\n" for name in VERTICES))
    return tmp_path


def text_of(rows, separator=",", header=None):
    lines = [] if header is None else [separator.join(header)]
    return "".join(line + "\n" for line in [*lines, *(separator.join(row) for row in rows)])


def write_parquet(path, rows, zone="Europe/Berlin"):
    times = [datetime(2026, 1, 31, 23, 30)] * len(rows)
    table = pa.table(
        {
            "Person": pa.array([row[0] for row in rows], pa.string()),
            "From Stop": pa.array([row[0] for row in rows], pa.string()),
            "To Stop": pa.array([row[1] for row in rows], pa.string()),
            "started": pa.array(times, pa.timestamp("us", zone)),
            "fare": pa.array([float(row[2]) for row in rows]),
        }
    )
    if path.suffix == ".arrow":
        feather.write_feather(table, path)
    else:
        parquet.write_table(table, path)


def write_folder(path, rows):
    path.mkdir(exist_ok=True)
    for number in (1, 2):
        write_parquet(path / f"{number}.parquet", rows[:number])


def write_graphml(path, rows, direction="directed"):
    nodes = "".join(f'<node id="{name}"/>' for name in VERTICES)
    edges = "".join(
        f'<edge source="{s}" target="{t}"><data key="w">{w}</data></edge>' for s, t, w in rows[:2]
    )
    path.write_text(
        '<graphml><key id="w" for="edge" attr.name="count" attr.type="int"/>'
        '<key id="c" for="edge" attr.name="colour" attr.type="string"/>'
        f'<graph edgedefault="{direction}">{nodes}{edges}</graph></graphml>'
    )


def writer(separator=",", header=None, before=""):
    return lambda path, rows: path.write_text(before + text_of(rows, separator, header))


FLOWS = "graphcuts-dp flows"
# A file, how it is written, the options, and what is reported of it.
FILES = {
    "a CSV file with a header": (
        "x.csv", writer(header=("from", "to", "weight")), "",
        ["text with a header, commas", "1  'from'    text  read as source", "read as weight",
         "trips go from from to to; both directions", "ignored    nothing",
         "public bound on weights", "source=from,target=to,weight=weight"],
    ),
    "one whose weights are ignored": (
        "x.csv", writer(";", header=("origin", "destination", "weight")), "--ignore-weights",
        ["semicolons", "ignored    weight", "--ignore-weights --columns source=origin"],
    ),
    "a CSV file without a header": (
        "x.csv", writer(), "--columns header=no",
        ["without a header, commas", "from column 1 to column 2",
         "ignored    further columns, if there are any", "--columns weight=3",
         "--ignore-weights --columns header=no"],
    ),
    "a packed TSV file of rows with users": (
        "x.tsv.gz",
        lambda path, rows: path.write_bytes(
            gzip.compress(text_of(rows, "\t", ("caller", "callee", "minutes of call")).encode())
        ),
        "--columns user=caller --kind directed",
        ["tabs", "packed", "trips go from caller to callee\n", "ignored    'minutes of call'",
         "read as source and user", "--privacy-unit user:max-contributions=1", "--counting rows"],
    ),
    "blanks": (
        "x.edges", writer(" ", before="# a comment\n"), "",
        ["commas or blanks", "without a header", "(name not shown)  text  read as source",
         "--vertices vertices.txt --ignore-weights\n"],
    ),
    "KONECT": (
        "out.mail", writer(" ", before="% asym weighted\n"), "",
        ["first comment declares a third column with weights", "3  (name not shown)  text  read as",
         "--max-weight 1\n"],
    ),
    "a header in words that are not known": (
        "x.csv", writer(header=("Patient ID", '"Contact, Person"', "Score")),
        "--columns header=yes,source=1,target=2,weight=3 --counting weight",
        ["'Patient ID'  ", "trips go from 'Patient ID' to 'Contact, Person'",
         "--columns 'source=Patient ID,target=Contact\\, Person,weight=Score,header=yes'"],
    ),
    "two sides": (
        "x.csv", writer(header=("user", "item", "weight")), "--kind bipartite --ignore-weights",
        ["user has the vertices of the left side", "--right-groups right-groups.csv"],
    ),
    "Parquet": (
        "x.parquet", write_parquet,
        "--columns source=2,target=3,period=started,user=Person --kind directed",
        ["a Parquet file", "'Person'     text, stored as string",
         "timestamp, stored as timestamp[us, tz=Europe/Berlin]  read as period",
         "times fall into the periods of Europe/Berlin", "'fare'       stored as double",
         "ignored    fare", "--periods 2026-01..2026-12", "trips go from 'From Stop' to 'To Stop'",
         "'source=From Stop,target=To Stop,user=Person,period=started'"],
    ),
    "Parquet in another zone": (
        "x.parquet", write_parquet,
        "--columns source=2,target=3,period=started,time-zone=Asia/Tokyo --periods 2026-02",
        ["periods of Asia/Tokyo", "--periods 2026-02", "time-zone=Asia/Tokyo"],
    ),
    "times without a zone": (
        "x.arrow", lambda path, rows: write_parquet(path, rows, zone=None),
        "--columns source=2,target=3,period=started",
        ["an Arrow file", "time zone  none: dates and times are used as they are written"],
    ),
    "a folder": (
        "days", write_folder, "--columns source=2,target=3,weight=fare --counting weight",
        ["a folder of Parquet files", "number, stored as double", "--counting weight",
         "--privacy-unit row:max-units=1 "],
    ),
    "GraphML": (
        "x.graphml", write_graphml, "--kind directed",
        ["a graph in GraphML, directed", "edge attributes", "'count'   number", "ignored    colour",
         "edges go from their source to their target\n", "x.graphml groups.csv",
         "those that the file lists, taken as public", "--kind directed --max-weight 1\n"],
    ),
    "Pajek": (
        "x.net",
        lambda path, rows: path.write_text(
            f"*Vertices {len(VERTICES)}\n"
            + "".join(f'{row} "{label}"\n' for row, label in enumerate(VERTICES, 1))
            + "*Edges\n"
            + "1 2\n" * len(rows)
        ),
        "", ["a graph in Pajek's format", "--ignore-weights\n"],
    ),
    "MatrixMarket": (
        "x.mtx",
        lambda path, rows: path.write_text(
            f"%%MatrixMarket matrix coordinate integer general\n{SIZE} {SIZE} {len(rows)}\n"
            + "".join(f"{i % 3 + 1} {(i + 1) % 3 + 1} 5\n" for i in range(len(rows)))
        ),
        "--vertices vertices.txt",
        ["a MatrixMarket file: coordinate, integer, general", "--max-weight 1"],
    ),
}  # fmt: skip


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("name", FILES)
def test_the_head_tells_how_a_file_is_read_and_the_command_runs_as_printed(
    name, done, told, folder
):
    file, write, options, words = FILES[name]
    write(folder / file, ROWS)
    line = ("inspect", file, *options.split())
    text, err = done(*line)
    for part in words:
        assert part in text
    assert "NOT PRIVATE" not in text
    assert err == ""
    command = text.splitlines()[-1]
    data = told(*line)
    assert data["command"] == command
    assert command.startswith(f"graphcuts-dp flows {file} groups.csv out.csv --epsilon 1")
    done(*shlex.split(command)[1:])
    assert (folder / "out.csv").exists()


@pytest.mark.parametrize("name", FILES)
def test_files_that_differ_in_rows_alone_give_the_same_output(name, call, folder):
    file, write, options, _ = FILES[name]
    outputs = set()
    for rows in (ROWS, ROWS[:1], [(SENTINEL, "eve", "9"), *ROWS, ("bob", "", "-1")]):
        if "-1" in rows[-1] and file.endswith((".graphml", ".net", ".mtx")):
            rows = [("eve", "ann", "7"), *ROWS]
        write(folder / file, rows)
        outputs.add(call("inspect", file, *options.split()))
    assert len(outputs) == 1
    assert outputs.pop()[0] == 0


@pytest.mark.parametrize("row", ["from,to,7", "\xe9,\xe9,\xe9", "a", '"open,b,c', "1,2,3,4,5", ""])
@pytest.mark.parametrize(
    ("file", "options"),
    [("x.csv", ""), ("x.csv", "--columns header=no"), ("x.edges", ""), ("x.edges", "on_bad")],
)
def test_no_odd_first_row_changes_what_is_told(row, file, options, done, folder):
    header = "" if options or file == "x.edges" else "from,to,weight\n"
    typed = ["--columns", "on-bad=skip,weight=3"] if options == "on_bad" else options.split()
    found = set()
    for first in ("ann,bob,3", row):
        (folder / file).write_bytes(f"{header}{first}\nann,bob,1\n".encode("latin-1"))
        found.add(done("inspect", file, *typed))
    assert len(found) == 1


def test_a_header_that_is_turned_around_is_told(done, folder):
    (folder / "x.csv").write_text(text_of(ROWS, header=("destination", "origin", "weight")))
    text, _ = done("inspect", "x.csv", "--kind", "directed")
    assert "trips go from origin to destination\n" in text
    assert "1  'destination'  text  read as target" in text
    assert "source=origin,target=destination" in text


def test_names_that_may_be_a_row_are_not_shown(done, told, folder):
    (folder / "x.csv").write_text(f"{SENTINEL},bob,weight\nann,bob,3\n")
    text, _ = done("inspect", "x.csv")
    assert SENTINEL not in text
    assert "1  (name not shown)" in text
    assert "source=1,target=2,weight=weight" in text
    (folder / "x.csv").write_text(f"{SENTINEL},bob,3\nann,bob,3\n")
    text, _ = done("inspect", "x.csv")
    assert SENTINEL not in text
    assert "Needed: the first line does not name the columns in known words: pass --columns" in text
    assert "source=COLUMN,target=COLUMN" in text
    assert "columns in place of COLUMN:" in text
    assert [column["name"] for column in told("inspect", "x.csv")["columns"]] == [None] * 3
    assert SENTINEL in done("inspect", "x.csv", *HEADER.split())[0]  # the caller says it is public


def test_columns_that_are_not_clear_are_told_with_the_options_to_type(done, folder):
    (folder / "x.csv").write_text(text_of(ROWS, header=("from", "to", "fare")))
    text, _ = done("inspect", "x.csv")
    assert "Needed: cannot tell whether column 3 is a weight; pass --columns weight=COLUMN" in text
    assert "--ignore-weights" in text.splitlines()[-1]
    done(*shlex.split(text.splitlines()[-1])[1:])
    text, _ = done("inspect", "x.csv", "--columns", "source=1,target=2")
    assert "Needed: columns by number: pass --columns header=yes" in text
    text, _ = done("inspect", "x.csv", "--counting", "weight", "--columns", "source=from,target=to")
    assert "Needed: --columns weight=, the column of the weights" in text
    text, _ = done("inspect", "x.csv", "--counting", "users", "--max-weight", "3")
    assert "Needed: --max-weight, --max-weight-change, --ignore-weights and --merge are for" in text


def test_columns_whose_names_mean_something_else_are_typed_as_they_are(done, folder):
    (folder / "x.csv").write_text("COLUMN,y\nann,bob\n")
    text, _ = done("inspect", "x.csv", "--columns", "source=COLUMN,target=y")
    assert "source=COLUMN,target=y" in text
    assert "in place of COLUMN" not in text  # there is nothing to choose
    (folder / "x.csv").write_text('from,to,","\nann,bob,eve\n')
    text, _ = done("inspect", "x.csv", "--columns", "user=,")
    command = text.splitlines()[-1]
    assert r"user=\," in command
    assert "read as user" in text
    done(*shlex.split(command)[1:])


def test_types_that_make_a_column_unusable_are_told(done, folder):
    table = pa.table({"from": [1.0, 2.0], "to": [1, 2], "weight": ["a", "b"]})
    parquet.write_table(table, folder / "x.parquet")
    text, _ = done("inspect", "x.parquet", "--ignore-weights")
    assert "the column of the source holds floating-point numbers" in text
    assert "1  'from'    stored as double" in text
    text, _ = done("inspect", "x.parquet", "--columns", "source=to,target=to")
    assert "Needed: --columns source=, --columns target=," in text


def test_kinds_that_do_not_fit_are_told(done, folder):
    write_graphml(folder / "x.graphml", ROWS, "undirected")
    text, _ = done("inspect", "x.graphml", "--kind", "directed")
    assert "Needed: the source holds undirected edges" in text
    assert "edges have none" in text
    (folder / "x.edges").write_text('# graphcuts-dp: {"vertices": 3, "directed": true}\n0 1\n')
    text, _ = done("inspect", "x.edges")
    assert "Needed: the source holds a directed graph; pass --kind directed" in text
    assert "vertices   declared by the file" in text
    text, _ = done("inspect", "x.graphml", "--counting", "rows")
    assert "Needed: rows stand in an edge list or a table" in text


def test_bad_rows_are_counted_by_kind(done, told, folder):
    rows = ["ann,bob,3", ",bob,1", "ann,,1", ",,x", "bob,eve,x", "bob,eve,-1", "kim,bob,1",
            'ann,"bob,1', "ann,bob,1,4", "kim,lea,2", "", ",,"]  # fmt: skip
    data = "from,to,weight\n" + "".join(f"{row}\n" for row in rows) + "\xe9,bob,1\n"
    (folder / "x.csv").write_bytes(data.encode("latin-1"))
    line = ("inspect", "--nonprivate", "x.csv", "--vertices", "vertices.txt")
    found = told(*line)
    assert found["mark"] == "not private: counted from rows"
    faults = {text.split(";")[0][:32]: count for text, count in found["faults"].items()}
    assert faults == {
        "an endpoint is missing, as in ex": 4,
        "the weight is not a number": 2,
        "malformed row: check its quotes,": 1,
        "expected 3 columns, as in the fi": 1,
        "not UTF-8 text": 1,
        "a weight is negative or not fini": 1,
        "a vertex is not in the public ve": 3,
    }
    assert (found["rows"], found["skipped"]) == (11, 10)
    assert found["share_skipped"] == pytest.approx(10 / 11)
    text, _ = done(*line)
    assert text.startswith("NOT PRIVATE: the numbers of rows below are counted from private rows")
    assert "do not publish them" in text
    assert "10 (90.909%)" in text
    assert all(name not in text for name in ("kim", "lea"))
    without = told(*line[:3])
    assert "a vertex is not" not in "".join(without["faults"])
    assert (without["rows"], without["skipped"]) == (11, 8)
    assert without["command"] == found["command"]


@pytest.mark.parametrize("place", ["x.parquet", "days"])
def test_bad_rows_of_stored_tables_are_counted(place, told, folder):
    rows = [("ann", "bob", "1"), (None, "bob", "nan"), ("bob", "kim", "2"), ("eve", "ann", "-3")]
    file = folder / place
    if place == "days":
        file.mkdir()
        write_parquet(file / "1.parquet", rows[:2])
        write_parquet(file / "2.parquet", rows[2:])
    else:
        write_parquet(file, rows)
    found = told(
        *("inspect", place, "--nonprivate", "--counting", "weight", "--vertices", "vertices.txt"),
        *("--columns", "source=2,target=3,weight=fare,user=Person"),
    )
    assert (found["rows"], found["skipped"]) == (4, 3)
    assert list(found["faults"].values()) == [1, 1, 1, 1]


def test_a_table_without_a_sound_row_is_counted(told, folder):
    (folder / "x.csv").write_text("from,to,weight\nann,bob,-1\nann,bob,inf\n")
    found = told("inspect", "--nonprivate", "x.csv")
    assert (found["rows"], found["skipped"], found["share_skipped"]) == (2, 2, 1.0)
    (folder / "x.csv").write_text("from,to,weight\n")
    found = told("inspect", "--nonprivate", "x.csv")
    assert (found["rows"], found["skipped"], found["share_skipped"]) == (0, 0, 0.0)


def test_periods_are_counted_where_they_are_declared(told, folder):
    (folder / "x.csv").write_text("from,to,day\nann,bob,2026-01-02\nann,bob,soon\nann,bob,2025\n")
    line = ("inspect", "--nonprivate", "x.csv", "--columns", "period=day")
    assert told(*line)["skipped"] == 0
    assert told(*line, "--periods", "2026-01..2026-12")["skipped"] == 2


def test_rows_of_other_periods_are_counted_apart_from_bad_ones(done, told, folder):
    """A row of an unknown place, or without a date, is a bad one, whatever its date is."""
    days = ["2026-01-02", "2025-12-31", "2024-05-05", "soon"]
    lines = [f"ann,bob,{day}" for day in days] + ["ann,nobody,2024-01-01"]
    (folder / "x.csv").write_text("".join(f"{line}\n" for line in ["from,to,day", *lines]))
    line = ("inspect", "--nonprivate", "x.csv", "--columns", "period=day")
    line = (*line, "--vertices", "vertices.txt")
    assert told(*line)["outside_periods"] is None
    found = told(*line, "--periods", "2026-01..2026-12")
    assert (found["rows"], found["skipped"], found["outside_periods"]) == (5, 2, 2)
    text, _ = done(*line, "--periods", "2026-01..2026-12")
    assert "outside of --periods, so that they do not count" in text
    write_parquet(folder / "x.parquet", ROWS)
    stored = ("inspect", "--nonprivate", "x.parquet", "--vertices", "vertices.txt")
    stored = (*stored, "--columns", "source=2,target=3,user=Person,period=started")
    for year, outside in ((2026, 0), (2024, 3)):
        found = told(*stored, "--periods", f"{year}-01..{year}-06")
        assert (found["rows"], found["outside_periods"]) == (3, outside)


def test_what_cannot_be_counted_is_told_in_a_line(done, told, folder):
    (folder / "x.csv").write_text(f"{SENTINEL},eve\n")
    assert told("inspect", "--nonprivate", "x.csv")["rows"] is None
    write_graphml(folder / "x.graphml", [("ann", SENTINEL, "3")])
    text, _ = done("inspect", "--nonprivate", "x.graphml")
    assert "Rows were not counted: line 1: an edge ends at a vertex that is not declared" in text
    assert SENTINEL not in text
    write_graphml(folder / "x.graphml", ROWS)
    assert told("inspect", "--nonprivate", "x.graphml")["rows"] == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.csv", None, "missing.csv does not exist; check the name"),
        ("x" * 300 + ".csv", None, "does not exist; check the name"),
        ("x.csv", b"", "the file is empty: its first line would name the columns"),
        ("x.graphml", b" ", "the file is empty"),
        ("x.gml", b"", "the file is empty"),
        ("x.parquet", b"", "not a whole Parquet file, or damaged"),
        ("x.parquet", f"PAR1{SENTINEL}".encode(), "not a whole Parquet file, or damaged"),
        ("x.arrow", SENTINEL.encode(), "not a whole Arrow file, or damaged"),
        ("x.npz", SENTINEL.encode(), "not a sparse matrix made by scipy"),
        ("x.mtx", SENTINEL.encode(), "not a MatrixMarket banner"),
        ("x.graphml", SENTINEL.encode(), "line 1: not well-formed XML"),
        ("x.graphml", b"<x/>", "no <graph> element"),
        ("x.csv", b"fr\xf6m,to\na,b\n", "--columns encoding=cp1252"),
        ("x.csv", SENTINEL.encode(), "fewer than two columns; pass --columns delimiter="),
        ("x.csv.gz", SENTINEL.encode(), "not a whole gzip file"),
        ("x.csv", b'from,"to\na,b\n', "line 1: malformed row"),
        ("x.docx", b"PK", "x.docx: unknown ending"),
        ("x.xlsx", b"PK", "a spreadsheet; save it as CSV"),
    ],
)
@pytest.mark.parametrize("option", [(), ("--nonprivate",)])
def test_what_is_no_table_is_refused_in_a_line(name, content, message, option, refused, folder):
    if content is not None:
        (folder / name).write_bytes(content)
    said = refused("inspect", name, *option)
    assert message in said
    assert SENTINEL not in said


def test_an_empty_folder_and_options_for_other_formats(refused, folder):
    (folder / "days").mkdir()
    assert "there is no Parquet file" in refused("inspect", "days")
    write_graphml(folder / "x.graphml", ROWS)
    said = refused("inspect", "x.graphml", "--columns", "source=a,target=b")
    assert "--columns= are for edge lists" in said or "are for edge lists and tables" in said
    write_parquet(folder / "x.parquet", ROWS)
    text = refused("inspect", "x.parquet", "--columns", "encoding=cp1252")
    assert "is for edge lists, .gml and .net, not .parquet" in text


def test_a_receipt_decides_what_a_file_is(done, folder):
    (folder / "in.csv").write_text(text_of(ROWS, header=("from", "to", "weight")))
    line = "flows in.csv groups.csv out.csv --epsilon 1 --vertices vertices.txt --ignore-weights"
    done(*line.split())
    assert "whole, as the receipt says" in done("inspect", "out.csv")[0]
    assert "Next, with" in done("inspect", "in.csv")[0]
    assert "Next, with" in done("inspect", "out.csv", "--columns", "source=from,target=to")[0]
