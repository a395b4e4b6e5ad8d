"""Files as people have them: read as a person would read them, or refused with what to type.

Each case has a file and the edges that a person sees in it. A refused one also has the option that
its error names; with it, the same edges are read.
"""

from dataclasses import dataclass, field, fields

import pytest

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, read_graph
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.options import read_options

PLAIN = {("a", "b"): 1.0, ("b", "c"): 1.0}
HEAVY = {("a", "b"): 3.0, ("b", "c"): 2.5}
ROWS = "a,b,3\nb,c,2.5\n"
TIMES = {(1, 2): 1.0, (2, 3): 1.0}


def reading(**options):
    """How a file is read: options of its columns, and others."""
    names = [each.name for each in fields(gc.Columns) if each.name in options]
    typed = ",".join(f"{name}={options.pop(name)}" for name in names)
    return Reading(columns=read_options(typed, gc.Columns) if typed else gc.Columns(), **options)


@dataclass(frozen=True)
class Case:
    """A file, what a person reads in it, and where it is refused: why, and what to type."""

    name: str
    content: str | bytes
    edges: dict
    refused: str = ""
    options: dict = field(default_factory=dict)


CASES = {
    # Spreadsheets.
    "excel, comma": Case("x.csv", "\ufeffSource,Target\r\na,b\r\nb,c\r\n", PLAIN),
    "excel in Europe": Case("x.csv", "Source;Target;Weight\r\na;b;3\r\nb;c;2.5\r\n", HEAVY),
    "excel, sep line": Case("x.csv", "sep=;\r\nSource;Target\r\na;b\r\nb;c\r\n", PLAIN),
    "excel, quoted sep line": Case("x.csv", '"sep=|"\r\nFrom|To\r\na|b\r\nb|c\r\n', PLAIN),
    "excel, unicode text": Case(
        "x.txt",
        "Source\tTarget\r\na\tb\r\nb\tc\r\n".encode("utf-16"),
        PLAIN,
        "--columns header=yes",
        {"header": True},
    ),
    "UTF-16, the other way round": Case(
        "x.csv", b"\xfe\xff" + "Source,Target\na,b\nb,c\n".encode("utf-16-be"), PLAIN
    ),
    "UTF-16 without a mark": Case(
        "x.csv",
        "Source,Target\na,b\nb,c\n".encode("utf-16-le"),
        PLAIN,
        "--columns encoding=utf-16-le",
        {"encoding": "utf-16-le"},
    ),
    "excel, old encoding": Case(
        "x.csv",
        "Source,Target\nZoë,Jürgen\n".encode("cp1252"),
        {("Jürgen", "Zoë"): 1.0},
        "--columns encoding=cp1252",
        {"encoding": "cp1252"},
    ),
    "excel for the old Macintosh": Case("x.csv", "Source,Target\ra,b\rb,c\r", PLAIN),
    "excel, empty rows and columns": Case("x.csv", "Source,Target,,\na,b,,\n,,,\nb,c,,\n", PLAIN),
    "tabs in a .csv": Case("x.csv", "Source\tTarget\na\tb\nb\tc\n", PLAIN),
    "commas in a .tsv": Case("x.tsv", "Source,Target\na,b\nb,c\n", PLAIN),
    "two separators": Case(
        "x.csv",
        "Source;Target;Note, if any\na;b;\nb;c;\n",
        PLAIN,
        "delimiter=",
        {"delimiter": ";", "ignore_weights": True},
    ),
    "blanks in a .csv": Case(
        "x.csv", "a b\nb c\n", PLAIN, "delimiter=", {"delimiter": "blank", "header": False}
    ),
    "names with blanks between tabs": Case(
        "x.txt",
        "New York\tBoston\n",
        {("Boston", "New York"): 1.0},
        "delimiter=",
        {"delimiter": "tab", "header": False},
    ),
    "decimal commas": Case(
        "x.csv",
        "Source;Target;Weight\na;b;3,5\n",
        {("a", "b"): 3.5},
        "--columns decimal=comma for decimal commas, or --ignore-weights",
        {"decimal": "comma"},
    ),
    # Times and other columns that are no weights.
    "tracing app": Case(
        "x.csv", "Patient ID,Contacted Person,Time Stamp\n1,2,1597427261\n2,3,1597427999\n", TIMES
    ),
    "tracing app, time first": Case(
        "x.csv", "timestamp,person,contact\n1597427261,1,2\n1597427999,2,3\n", TIMES
    ),
    "tracing app, dates": Case(
        "x.csv", "person,contact,date\n1,2,2020-08-14 17:47\n2,3,2020-08-15 09:00\n", TIMES
    ),
    "SNAP, times": Case(
        "x.txt",
        "1 2 1082040961\n2 3 1082155839\n",
        TIMES,
        "--ignore-weights",
        {"ignore_weights": True},
    ),
    "times in a .csv without names": Case(
        "x.csv",
        "1,2,1082040961\n2,3,1082155839\n",
        TIMES,
        "--columns header=no if the file has no header",
        {"header": False, "ignore_weights": True},
    ),
    "an odd name": Case(
        "x.csv",
        "source,target,minutes\na,b,3\nb,c,2.5\n",
        HEAVY,
        "column 3 is a weight; pass --columns weight=",
        {"weight": "minutes"},
    ),
    "three columns of names": Case(
        "x.csv",
        "who,whom,where,count\na,b,home,3\nb,c,work,2.5\n",
        HEAVY,
        "the endpoints of an edge; pass --columns source= and --columns target=",
        {"source": "who", "target": "whom"},
    ),
    "numbered columns": Case("x.edges", "a b 3\nb c 2.5\n", HEAVY, "weight=", {"weight": "3"}),
    # Other programs.
    "pandas with its index": Case("x.csv", ",source,target,weight\n0,a,b,3\n1,b,c,2.5\n", HEAVY),
    "R data frame": Case("x.csv", '"","from","to"\n"1","a","b"\n"2","b","c"\n', PLAIN),
    "Gephi": Case(
        "x.csv",
        "Source,Target,Type,Id,Label,timeset,Weight\n"
        "a,b,Undirected,0,,,3.0\nb,c,Undirected,1,,,2.5\n",
        HEAVY,
    ),
    "Gephi without weights": Case(
        "x.csv", "Source;Target;Type;Id\na;b;Directed;0\nb;c;Directed;1\n", PLAIN
    ),
    "Neo4j import": Case(
        "x.csv", ":START_ID(Person),:END_ID(Person),:TYPE\na,b,KNOWS\nb,c,KNOWS\n", PLAIN
    ),
    "Neo4j import, ids with names and types": Case(
        "x.csv",
        "person:START_ID(Person),since:date,weight:float,friend:END_ID(Person),:TYPE\n"
        "a,2020-01-01,3,b,KNOWS\nb,2020-01-02,2.5,c,KNOWS\n",
        HEAVY,
    ),
    "Neo4j import, weights": Case(
        "x.csv", ":START_ID;:END_ID;:TYPE;weight:double\na;b;KNOWS;3\nb;c;KNOWS;2.5\n", HEAVY
    ),
    "Neo4j, calls that repeat": Case(
        "x.csv",
        ":START_ID,:END_ID,:TYPE,minutes:int\na,b,CALLS,1\na,b,CALLS,2\nb,c,CALLS,2.5\n",
        HEAVY,
        "column 4 is a weight; pass --columns weight=",
        {"weight": "minutes:int", "merge": "sum"},
    ),
    "phone calls": Case(
        "x.csv",
        '\ufefffrom;to;minutes;when\r\n"a";b;1;2020-01-01 10:00\r\na;"b";2;2020-01-02 10:00\r\n'
        "b;c;2.5;2020-01-02 11:00\r\n",
        HEAVY,
        "column 3 is a weight; pass --columns weight=",
        {"source": "from", "target": "to", "weight": "minutes", "merge": "sum"},
    ),
    "Neo4j shell": Case(
        "x.csv",
        '"p.name", "q.name"\n"a", "b"\n"b", "c"\n',
        PLAIN,
        "--columns header=no if the file has no header; else --columns header=yes, or name",
        {"header": True},
    ),
    "SNAP": Case(
        "x.txt",
        "# Undirected graph\n# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n1\t2\n2\t3\n",
        TIMES,
    ),
    "networkx, data": Case(
        "x.edgelist",
        "a b {'weight': 3}\nb c {'weight': 2.5}\n",
        PLAIN,
        "--ignore-weights",
        {"ignore_weights": True},
    ),
    "networkx, weighted": Case(
        "x.edgelist", "a b 3.0\nb c 2.5\n", HEAVY, "weight=", {"weight": "3"}
    ),
    "KONECT, weighted": Case(
        "out.x", "% sym weighted\n% 2 3 3\n1 2 3 99\n2 3 2.5 99\n", {(1, 2): 3.0, (2, 3): 2.5}
    ),
    "KONECT, unweighted with times": Case("out.x", "% sym unweighted\n1 2 1 99\n2 3 1 99\n", TIMES),
    "igraph, ncol": Case("x.txt", "a b\nb c\n", PLAIN),
    "Pajek, old encoding": Case(
        "x.net",
        '*Vertices 2\n1 "Zoë"\n2 "b"\n*Edges\n1 2\n'.encode("cp1252"),
        {("b", "Zoë"): 1.0},
        "--columns encoding=cp1252",
        {"encoding": "cp1252"},
    ),
    "Pajek, tied weights": Case(
        "x.net", '*Vertices 3\r\n1 "a"\r\n2 "b"\r\n3 "c"\r\n*Edges\r\n1 2 3\r\n2 3 2.5\r\n', HEAVY
    ),
    "GML of Gephi": Case(
        "x.gml",
        'Creator "Gephi"\ngraph [ node [ id 0 label "a" ] node [ id 1 label "b" ]\n'
        'node [ id 2 label "c" ]\nedge [ source 0 target 1 value 3.0 ]\n'
        "edge [ source 1 target 2 value 2.5 ] ]\n",
        HEAVY,
    ),
    # Rows that say the same, or nothing.
    "duplicates, both directions, loops": Case(
        "x.csv", "from,to\na,b\nb,a\na,b\nc,c\nb,c\n", PLAIN
    ),
    "names of columns in a .txt": Case(
        "x.txt", "source target\na b\nb c\n", PLAIN, "--columns header=yes", {"header": True}
    ),
    "semicolons in a .txt": Case(
        "x.txt", "From;To\na;b\nb;c\n", PLAIN, "delimiter=", {"delimiter": ";", "header": True}
    ),
    "quotes and separators in names": Case(
        "x.csv", 'Source;Target\n"Doe; Jane";"O""Neil"\n', {("Doe; Jane", 'O"Neil'): 1.0}
    ),
    "names that nobody knows": Case(
        "x.csv", "Wer,Wen\na,b\nb,c\n", PLAIN, "header", {"source": "Wer", "target": "Wen"}
    ),
    "no separator known": Case(
        "x.csv", "a:b\nb:c\n", PLAIN, "delimiter=", {"delimiter": ":", "header": False}
    ),
}


def edges_of(graph):
    """Each edge once, its ends sorted, with its weight."""
    labels = graph.labels
    ends = zip(graph.rows.tolist(), graph.columns.tolist(), strict=True)
    pairs = [tuple(sorted((labels[row], labels[column]))) for row, column in ends]
    return dict(zip(pairs, graph.weights.tolist(), strict=True))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_messy_file_is_read_as_a_person_would_or_refused_with_what_to_type(tmp_path, case):
    path = tmp_path / case.name
    content = case.content
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if case.refused:
        with pytest.raises(FileFormatError, match=case.refused):
            Reading().read(str(path))
    graph = reading(**case.options).read(str(path))
    expected = {tuple(sorted(ends)): weight for ends, weight in case.edges.items()}
    assert edges_of(graph) == expected


def test_rows_of_vertices_among_edges_are_refused_with_what_to_do(tmp_path):
    """As Neo4j's `apoc.export.csv` writes them."""
    path = tmp_path / "all.csv"
    path.write_text(
        '"_id","_labels","name","_start","_end","_type","weight"\n'
        '"0",":P","a",,,,\n"1",":P","b",,,,\n,,,"0","1","KNOWS","3"\n'
    )
    with pytest.raises(FileFormatError, match=r"line 2: an endpoint is missing, as in exports"):
        reading(source="_start", target="_end", ignore_weights=True).read(str(path))


@pytest.mark.parametrize(
    ("name", "message"),
    [("x.xlsx", "save it as CSV"), ("x.ods", "read_excel"), ("x.sqlite", "read_sql")],
)
def test_what_is_no_graph_file_is_refused_with_what_to_do(tmp_path, name, message):
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(FileFormatError, match=message):
        read_graph(tmp_path / name)
