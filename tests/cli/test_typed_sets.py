"""Sets of vertices and lines of queries as people type them, and as other programs write them."""

import pytest

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, QueryError, VertexSet
from graphcuts_dp.cli.queries import read_query_file, read_set
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.queries.query_lines import read_cut, read_lines


@pytest.mark.parametrize("word", ["1_0", "+1", "01", "\u0661", "1.0", "1e1", "-0", "9" * 5000])
def test_only_plain_integers_are_numbers(word):
    with pytest.raises(QueryError):
        VertexSet(12).mask(read_set(word, VertexSet(12)))


def test_plain_integers_are_numbers_where_labels_are():
    assert read_set("0, 7,-3", VertexSet(12)) == [0, 7, -3]
    assert read_set("01", VertexSet(["01", "b"])) == ["01"]


LABELS = ["Lee, Ann", 'O"Neil', '"x"', "Bob", "a b"]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ('"Lee, Ann",Bob', ["Lee, Ann", "Bob"]),
        ('Bob, "Lee, Ann"', ["Bob", "Lee, Ann"]),
        ('O"Neil,a b', ['O"Neil', "a b"]),
        ('"O""Neil"', ['O"Neil']),
        ('"""x"""', ['"x"']),
        ("Bob,a b", ["Bob", "a b"]),
    ],
)
def test_labels_with_commas_and_quotes_are_typed_as_in_csv(text, labels):
    assert read_set(text, VertexSet(LABELS)) == labels


def test_a_label_with_a_comma_and_no_quotes_is_refused_with_how_to_type_it():
    with pytest.raises(QueryError, match="'Lee, Ann' holds a comma: type it in double"):
        read_set("Lee, Ann", VertexSet(LABELS))
    assert read_set("a, b", VertexSet(["a", "b", "a, b"])) == ["a", "b"]


def test_a_file_of_queries_quotes_labels_and_groups_as_csv_does(tmp_path):
    units = {"Lee, Ann": "Sales, north", "Bob": "IT", "Eve": "IT"}
    vertices = VertexSet(list(units))
    groups = gc.Groups.of(units, vertices)
    names = GroupNames(groups, groups)
    path = tmp_path / "cuts.csv"
    path.write_text('S,T\n"""Lee, Ann"",Bob",Eve\n"""@Sales, north""",@IT\n')
    labels, named = read_query_file(str(path), vertices, names)
    assert labels.query == gc.CutQuery(["Lee, Ann", "Bob"], ["Eve"])
    S, T = named.query.masks(vertices)
    assert (S.tolist(), T.tolist()) == ([True, False, False], [False, True, True])


@pytest.mark.parametrize("text", ['"Lee, Ann', '"Lee, Ann"x', '"Bob",', ',"Bob"', '"', '"a"\n"b"'])
def test_quotes_that_do_not_match_are_refused_with_the_rule(text):
    with pytest.raises(QueryError, match=r"quote|empty label"):
        read_set(text, VertexSet(LABELS))


def queries(path, data):
    path.write_bytes(data)
    return [read_cut(line, number) for number, line in read_lines(str(path))]


def test_lines_of_queries_that_other_programs_write(tmp_path):
    path = tmp_path / "queries.jsonl"
    plain = queries(path, b'{"S": ["a"]}\n{"S": ["b"], "T": ["c"]}\n')
    marked = queries(path, b'\xef\xbb\xbf{"S": ["a"]}\r\n\r\n{"S": ["b"], "T": ["c"]}')
    assert plain == marked == [gc.CutQuery(["a"]), gc.CutQuery(["b"], ["c"])]
    # U+2028 ends a line for some, and may stand in a string of JSON.
    (query,) = queries(path, '{"S": ["a\u2028b"]}\n'.encode())
    assert query == gc.CutQuery(["a\u2028b"])


@pytest.mark.parametrize(
    "line", [b'{"S": ["a"], "S": ["b"]}', b'{"S": ["a"], "T": [], "T": ["b"]}']
)
def test_a_key_twice_is_refused(tmp_path, line):
    with pytest.raises(QueryError, match="line 1 of the queries"):
        queries(tmp_path / "queries.jsonl", line)


def test_what_is_no_text_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match="is not text"):
        queries(tmp_path / "queries.jsonl", b"\xff\xfe\x00")
