"""Reading rows with owners: which column it is, and what must be said."""

import gzip

import numpy as np
import pandas as pd
import pytest
from helpers import owned_flat, read_owned_flat

import graphcuts_dp as gc
from graphcuts_dp.errors import FileFormatError, GraphError, ParameterError
from graphcuts_dp.graph.owned_rows import COUNTINGS

VISITS = "patient,hospital,referred,cost\nann,A,B,2.5\nann,B,A,1\nbob,A,C,7\nbob,A,C,0.2\n"
PLACES = ["A", "B", "C"]
ENDS = {"source": "hospital", "target": "referred"}


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text(VISITS)
    return path


def upper(rows, at_most):
    return np.triu(rows.bounded(at_most=at_most).dense())[np.triu_indices(3, 1)].tolist()


def test_owners_in_a_column_of_their_own(visits):
    told = []
    rows = read_owned_flat(visits, owner="patient", vertices=PLACES, **ENDS, tell=told.append)
    (sentence,) = told
    assert sentence.endswith("'hospital', 'referred'; as its owner: 'patient'; ignored: column 4.")
    assert upper(rows, 5) == [1, 1, 0]
    assert not rows.owner_is_tail
    assert sorted(rows.contributions().tolist()) == [1, 1]
    counted = read_owned_flat(visits, owner=0, counting="rows", vertices=PLACES, **ENDS)
    assert upper(counted, 5) == [2, 2, 0]
    assert upper(counted, 1) == [1, 1, 0]
    both = read_owned_flat(visits, owner="patient", counting="owners", vertices=PLACES, **ENDS)
    assert upper(both, 5) == [1, 1, 0]
    weighed = {"counting": "weight", "weight": "cost", "unit": 0.5}
    costs = read_owned_flat(visits, owner="patient", vertices=PLACES, **ENDS, **weighed)
    assert upper(costs, 100) == [7, 14, 0]
    assert upper(costs, 5) == [5, 5, 0]


def test_directed_and_two_sided(visits):
    arcs = read_owned_flat(visits, owner="patient", vertices=PLACES, directed=True, **ENDS)
    assert arcs.bounded(at_most=9).dense().tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0]]
    sides = {"bipartite": True, "vertices": (["ann", "bob", "eve"], PLACES)}
    rated = read_owned_flat(visits, owner="tail", source="patient", target="hospital", **sides)
    assert rated.owner_is_tail
    assert rated.bounded(at_most=9).dense().tolist() == [[1, 1, 0], [1, 0, 0], [0, 0, 0]]
    same = read_owned_flat(visits, owner="patient", source="patient", target="hospital", **sides)
    assert same.owner_is_tail
    assert same.bounded(at_most=1) == rated.bounded(at_most=1)
    ends = {"owner": "patient", "source": "patient", "target": "hospital"}
    weighed = {"counting": "weight", "weight": "cost"}
    paid = owned_flat(pd.read_csv(visits), **ends, **sides, **weighed)
    assert paid.owner_is_tail
    assert paid.bounded(at_most=100).dense().tolist() == [[2, 1, 0], [7, 0, 0], [0, 0, 0]]


def test_known_names_and_no_names(tmp_path):
    calls = tmp_path / "calls.csv"
    calls.write_text("caller,callee,phone\n1,2,x\n2,3,x\n3,1,y\n")
    rows = gc.OwnedRows.read(calls, columns=gc.Columns(owner="phone"), vertices=range(1, 4))
    assert upper(rows, 1) in ([1, 1, 0], [0, 1, 1])
    assert upper(
        gc.OwnedRows.read(calls, columns=gc.Columns(owner="caller"), vertices=range(1, 4)), 1
    ) == [1, 1, 1]
    assert upper(
        gc.OwnedRows.read(calls, columns=gc.Columns(owner="tail"), vertices=range(1, 4)), 1
    ) == [1, 1, 1]
    heads = gc.OwnedRows.read(calls, columns=gc.Columns(owner="callee"), vertices=range(1, 4))
    assert not heads.owner_is_tail
    plain = tmp_path / "calls.edges"
    plain.write_text("0 1 7\n1 2 7\n0 2 8\n")
    rows = gc.OwnedRows.read(plain, columns=gc.Columns(owner=2), vertices=3)
    assert upper(rows, 2) == [1, 1, 1]
    assert sum(upper(rows, 1)) == 2
    with pytest.raises(FileFormatError, match="pass source= and target=, too"):
        gc.OwnedRows.read(plain, columns=gc.Columns(owner=0), vertices=3)


def test_what_others_are_called_does_not_matter(tmp_path):
    """All owners are integers, or one is not: the others keep the same rows."""
    lines = [f"{o},{u},{v}" for o in range(5) for u in range(9) for v in range(u)]
    graphs = []
    for number, more in enumerate((["7,0,0"], ["eve,0,0"], ["-1,0,0", "007,0,0"])):
        path = tmp_path / f"{number}.csv"
        path.write_text("\n".join(["o,u,v", *more, *lines]) + "\n")
        rows = gc.OwnedRows.read(
            path,
            columns=gc.Columns(owner="o", source="u", target="v"),
            vertices=9,
            counting="owners",
        )
        graphs.append(rows.bounded(at_most=4))
    assert graphs[0] == graphs[1] == graphs[2]


def test_tables_and_packed_files(visits, tmp_path):
    expected = read_owned_flat(visits, owner="patient", counting="rows", vertices=PLACES, **ENDS)
    packed = tmp_path / "visits.csv.gz"
    packed.write_bytes(gzip.compress(VISITS.encode()))
    made = [read_owned_flat(packed, owner="patient", counting="rows", vertices=PLACES, **ENDS)]
    frame = pd.read_csv(visits)
    made.append(owned_flat(frame, owner="patient", counting="rows", vertices=PLACES, **ENDS))
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = tmp_path / "visits.parquet"
    parquet.write_table(arrow.Table.from_pandas(frame), table)
    made.append(read_owned_flat(table, owner="patient", counting="rows", vertices=PLACES, **ENDS))
    for rows in made:
        assert rows.bounded(at_most=1) == expected.bounded(at_most=1)


FRAME = pd.DataFrame(
    [row.split(",") for row in VISITS.split()[1:]], columns=VISITS.split()[0].split(",")
)
GAPS = FRAME.assign(patient=["ann", "ann", None, "bob"])
HEAD = "patient,hospital,referred\n"
PATIENT = {"owner": "patient", "vertices": PLACES, **ENDS}
# A file or a table, options, and words of the error.
REFUSED = [
    (HEAD + "ann,A,B\n,A,C\n", {}, "the column of owners: line 3: .*empty"),
    (HEAD + "ann,A,X\n", {}, "line 2: a vertex is not in the public"),
    ("who,hospital,referred\nann,A,B\n", {}, "does not have exactly one column 'patient'"),
    (VISITS, {"owner": "cost "}, "exactly one column"),
    (VISITS, {"vertices": None}, "need the public vertex set"),
    (VISITS, {"weight": "cost"}, "weight= is for"),
    (VISITS, {"counting": "all"}, "unknown counting"),
    (VISITS, {"owner": "cost", "counting": "weight"}, "no column of weights"),
    (VISITS, {"owner": None}, "owner= names the column"),
    (FRAME, {"vertices": None}, "need the public vertex set"),
    (FRAME, {"owner": "who"}, "exactly one column 'who'"),
    (GAPS, {}, "the column of owners: row 2"),
    ([("ann", "A", "B")], {}, "come from a table"),
]


@pytest.mark.parametrize(("source", "options", "words"), REFUSED)
def test_what_is_refused_in_one_line(tmp_path, source, options, words):
    read = owned_flat
    if isinstance(source, str):
        (tmp_path / "visits.csv").write_text(source)
        source, read = tmp_path / "visits.csv", read_owned_flat
    with pytest.raises((FileFormatError, GraphError, ParameterError), match=words) as caught:
        read(source, **PATIENT | options)
    assert "\n" not in str(caught.value)


def test_owners_stand_in_columns_and_vertices_may_be_said_to_be_public(visits, tmp_path):
    matrix = tmp_path / "some.mtx"
    matrix.write_text("")
    with pytest.raises(FileFormatError, match="owners stand in a column"):
        gc.OwnedRows.read(matrix, columns=gc.Columns(owner=0), vertices=3)
    public = read_owned_flat(visits, owner="patient", public_vertices_from_file=True, **ENDS)
    assert not public.space.inferred


@pytest.mark.parametrize("counting", COUNTINGS)
@pytest.mark.parametrize("owner", ["tail", 2])
def test_files_without_rows_are_read_as_others(tmp_path, counting, owner):
    path = tmp_path / "visits.edges"
    path.write_text("")
    weight = {"weight": 3} if counting == "weight" else {}
    rows = read_owned_flat(path, owner=owner, vertices=3, counting=counting, **weight)
    assert rows.owner_is_tail == (owner == "tail")
    assert len(rows.bounded(at_most=1).rows) == 0
    assert rows.bounded(at_most=1).weighted == (counting != "edges")
