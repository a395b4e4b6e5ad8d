"""No message, note or receipt quotes a cell that may be a row's.

Every file here holds one word in every cell, and nothing that a reader prints may hold it. To put
another format to the test, add lines to `FILES`: a name whose ending tells the format, and what
makes a file of canaries; `OPTIONS` are tried on each, and so are the command lines of `COMMANDS`.
"""

import itertools
import traceback

import pytest
from command_lines import run_line
from helpers import read_flat, read_owned_flat

import graphcuts_dp as gc
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.graph.files import read_vertices

CANARY = "Quetzal"
KNOWN = ["ann", "bob", "eve"]


def table(separator, width, *, head="", mark=CANARY, end="\n", rows=3):
    """A text file whose cells all hold the canary, each with a number so that names differ."""
    lines = [separator.join(f"{mark}{i}{j}" for j in range(width)) for i in range(rows)]
    return (head + end.join([*lines, ""])).encode()


# (name of the file, its content): each row may be short, long, in quotes, or of another encoding.
FILES = [
    *((f"two{ending}", table(",", 2)) for ending in (".csv", ".edges", ".txt")),
    *((f"three{ending}", table(",", 3)) for ending in (".csv", ".edges", ".txt")),
    *((f"four{ending}", table("\t", 4)) for ending in (".tsv", ".csv", ".edgelist", ".konect")),
    ("one.csv", table(",", 1)),
    ("one.txt", table(",", 1)),
    ("blanks.edges", table(" ", 5)),
    ("bars.csv", table("|", 3)),
    ("out.canary", table(" ", 4, head="% sym weighted\n")),
    ("known.csv", table(",", 3, head="from,to,weight\n")),
    ("known.tsv", table("\t", 4, head="source\ttarget\tx\ty\n")),
    ("quotes.csv", table(",", 2, mark=f'"{CANARY}')),
    ("quoted.csv", table('","', 3, mark=CANARY, end='"\n"')),
    ("mixed.edges", table(", \t", 3)),
    ("comment.edges", f"# graphcuts-dp: {CANARY}\n{CANARY} {CANARY}1\n".encode()),
    ("late.edges", f"a b\n# graphcuts-dp: {CANARY}\n".encode()),
    ("comments.csv", table(",", 2, mark=f"#{CANARY}")),
    ("mac.csv", table(",", 3, end="\r")),
    ("wide.csv", table(",", 3).decode().encode("utf-16")),
    ("broken.csv", table(",", 3) + b"\xff\xfe\n"),
    ("ragged.csv", table(",", 3) + table(",", 2) + table(",", 7)),
    ("number.csv", f"1,2,3\n{CANARY},{CANARY}1,4\n".encode()),
    ("other.dat", table(",", 2)),
]
ENDS = [
    {},
    {"source": 0, "target": 1},
    {"source": "from", "target": "to"},
    {"source": 3, "target": 9},
]
OPTIONS = [
    ends | header | more
    for ends, header, more in itertools.product(
        ENDS,
        ({}, {"header": True}, {"header": False}),
        (
            *({}, {"weighted": True}, {"weighted": False}, {"weight": 2}, {"weight": "weight"}),
            *({"delimiter": ";"}, {"one_based": True}, {"directed": True}, {"encoding": "cp1252"}),
            *({"vertices": KNOWN}, {"vertices": 9, "weighted": False}),
            {"bipartite": True, "vertices": (KNOWN, KNOWN)},
        ),
    )
]


def told_by(call, *given, **options):
    """All that a call tells: notes, the error with what led to it, the repr of what it gives."""
    notes = []
    try:
        found = call(*given, **options, **({"tell": notes.append} if call in TELLING else {}))
    except gc.errors.GraphCutsError as problem:
        chain = [problem]
        while chain[-1].__cause__ or (chain[-1].__context__ and not chain[-1].__suppress_context__):
            chain.append(chain[-1].__cause__ or chain[-1].__context__)
        return "".join(traceback.format_exception_only(each)[-1] for each in chain)
    return repr(found) + " ".join(notes)


TELLING = (read_flat, read_owned_flat)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with all files."""
    made = tmp_path_factory.mktemp("cells")
    for name, content in FILES:
        (made / name).write_bytes(content)
    (made / "known.txt").write_text("".join(f"{name}\n" for name in KNOWN))
    return made


@pytest.mark.parametrize("name", [name for name, _ in FILES])
def test_no_reader_quotes_a_cell(folder, name):
    for options in OPTIONS:
        assert CANARY not in told_by(read_flat, folder / name, **options)
    for options in OPTIONS[::5]:
        text = {key: value for key, value in options.items() if key != "weighted"}
        for owner in ("tail", 0, 2, "owner"):
            more = {"vertices": KNOWN} | text
            assert CANARY not in told_by(read_owned_flat, folder / name, owner=owner, **more)
    for header, columns in itertools.product((None, True, False), (None, [1], ["area"], [1, 2])):
        picked = {"header": header, "columns": columns}
        told = told_by(gc.Groups.read, folder / name, gc.VertexSet(KNOWN), **picked)
        assert CANARY not in told
    metric = Metric([0, 1], [1, 2], [1.0, 1.0], vertices=KNOWN)
    assert CANARY not in told_by(Locations.read, metric, folder / name)
    assert CANARY not in told_by(read_vertices, folder / name)
    assert CANARY not in told_by(read_flat, folder / "known.csv", vertices=folder / name)


READ = ["--vertices", "known.txt"]
COMMANDS = {
    "release": ["release", "{}", "new.edges", "--epsilon", "1", "--force"],
    "owners": ["release", "{}", "new.edges", "--epsilon", "1", "--protect", "owner:1"],
    "count": ["flows", "{}", "--contributions", "table", "--epsilon", "1"],
    "groups": ["release", "mail.edges", "new.edges", "--epsilon", "1", "--groups", "{}", *READ],
    "labels": ["release", "mail.edges", "new.edges", "--epsilon", "1", "--vertices", "{}"],
    "session": ["session", "start", "{}", "--store", "new.db", "--epsilon", "1", "--queries", "2"],
    "people": ["distances", "map.csv", "{}", "--epsilon", "1", "--uncounted"],
    "inspect": ["inspect", "{}"],
    "answers": [
        "release-iteratively",
        "mail.edges",
        "new.npz",
        "--construction",
        "answers",
        "--queries",
        "{}",
        "--epsilon",
        "1",
        *READ,
    ],
    "lists": [
        "release-iteratively",
        "mail.edges",
        "new.edges",
        "--queries",
        "{}",
        "--epsilon",
        "1",
    ],
}
TYPED = [
    [],
    READ,
    [*READ, "--columns", "header=yes,source=1,target=2"],
    [*READ, "--columns", "header=no", "--ignore-weights"],
    [*READ, "--columns", "header=no,weight=3", "--weight-cap", "5"],
    ["--columns", "source=from,target=to"],
]
OF_GRAPHS = ("release", "owners", "count", "session")
OWNED = ("owners", "count")


def with_owner(options):
    """The same options with a column of owners among the columns, which are one option."""
    if "--columns" not in options:
        return [*options, "--columns", "owner=1"]
    place = options.index("--columns") + 1
    return [*options[:place], f"{options[place]},owner=1", *options[place + 1 :]]


@pytest.mark.parametrize("name", [name for name, _ in FILES])
def test_no_command_prints_a_cell(folder, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "mail.edges").write_text("ann bob\nbob eve\n")
    (tmp_path / "map.csv").write_text("source,target\nann,bob\nbob,eve\n")
    before = {file.name for file in tmp_path.iterdir()}
    for what, line in COMMANDS.items():
        for typed in TYPED if what in OF_GRAPHS else [[]]:
            options = with_owner(typed) if what in OWNED else typed
            status, out, err = run_line(*(part.format(name) for part in line), *options)
            written = [file for file in tmp_path.iterdir() if file.name not in before]
            # Vertices that nobody gave are taken from the file, and are in what comes out.
            if status != 0 or "--vertices" in [*line, *options]:
                assert CANARY not in out + err, (what, options)
                for file in written:
                    assert CANARY.encode() not in file.read_bytes(), (what, options, file)
            for file in written:
                file.unlink()
