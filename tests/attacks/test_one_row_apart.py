"""Readers of text files read each row independently of the others, whatever the rows look like.

Rows are generated that look like headers, comments, declarations, numbers, or quotes that do not
end: all that a reader could take for more than a row. Vertices are declared, and contain every name
that is generated.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import read_flat, read_owned_flat
from numpy.random import Generator
from one_row_apart import Case, check_row, check_user, in_many_cases

import graphcuts_dp as gc
from graphcuts_dp import GraphCutsError
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric

NAMES = ["ann", "bob", "from", "to", "source", "target", "weight", "count", "x", "time", "NA"]
NUMBERS = [str(number) for number in range(9)]
ODD_NAMES = ["#t", "%t", "tail", "vertex", "7th", "007", "1e5", "x;y", "ü"]
WEIGHTS = ["1", "2", "0.5", "3e0", "7"]
OTHER_CELLS = ["1", "home", "2020-01-01 10:00", "weight", "3.5", ""]
VERTICES = [*NAMES, *NUMBERS, *ODD_NAMES, "x y"]
# Lines that a reader could take for more than a row; they replace rows.
LINES = (
    *("sep=;", "# note", "% sym weighted", "% bip unweighted", "from,to", "ann;bob", "ann, bob"),
    *('# graphcuts-dp: {"vertices": 3, "weighted": true}', "\ufeffann bob", '"ann,bob', 'ann,"bob'),
    *("", ",,"),
)
ODD_ROWS = ("source target weight", "ann\tbob ann", '"ann","bob",1', "ann\rbob")


def choose(rng: Generator, options: Sequence[Any]) -> Any:
    return options[int(rng.integers(len(options)))]


def random_name(rng: Generator, kind: str) -> str:
    """Return the name of a vertex, a number if the kind is "numbers"."""
    if kind == "numbers" or rng.random() < 0.1:
        return choose(rng, NUMBERS)
    return choose(rng, ODD_NAMES if rng.random() < 0.1 else NAMES)


def random_line(rng: Generator, cells: list[str], separator: str, style: str) -> str:
    """Return a line of cells, some of them in quotes or between blanks if the style says so."""
    if style == "quotes":
        cells = [f'"{cell}"' if rng.random() < 0.5 else cell for cell in cells]
    elif style == "blanks":
        cells = [f" {cell} " if rng.random() < 0.5 else cell for cell in cells]
    return separator.join(cells) + choose(rng, ["\n", "\n", "\r\n"])


def random_table(
    rng: Generator, ending: str, *, has_users: bool = False
) -> tuple[dict[str, Any], str, list[str], list[str], str]:
    """Return options of a reader, the head above the rows, the rows, their users, the encoding."""
    width = int(rng.integers(2, 5)) + has_users
    is_edge_list = ending in (".edges", ".txt", ".konect")
    has_header = rng.random() < (0.2 if is_edge_list else 0.6)
    separator = {".csv": ",", ".tsv": "\t"}.get(ending) or choose(rng, [" ", ",", "\t"])
    options = {}
    if rng.random() < 0.2:
        options["delimiter"] = separator = choose(rng, [";", "|", "\t", " "])
    elif ending == ".csv" and has_header and rng.random() < 0.3:
        separator = ";"
    columns = dict(
        zip(("source", "target", "user", "weight"), rng.permutation(width), strict=False)
    )
    columns = {role: int(column) for role, column in columns.items()}
    if not has_users:
        columns["weight"] = columns.pop("user", None)
    if columns.get("weight") is None or rng.random() < 0.5:
        columns.pop("weight", None)
        options["weighted"] = False
    options, head = options_and_header(
        rng, options, columns, has_header, width, separator, is_edge_list
    )
    if ending == ".konect" and not has_header and rng.random() < 0.5:
        head = choose(rng, ["% sym weighted\n", "% asym unweighted\n% 3 3\n"])
    elif is_edge_list and rng.random() < 0.3:
        head = "# a note\n\n" + head
    mixes_separators = is_edge_list and not has_header and "delimiter" not in options
    rows, users = random_rows(
        rng,
        columns,
        width,
        separator,
        mixes_separators=mixes_separators,
        is_edge_list=is_edge_list,
    )
    if rng.random() < 0.25:
        replace_rows(rng, rows, users)
    if rng.random() < 0.4:
        options["on_bad"] = "skip"  # then a bad row does not make the others unreadable
    return options, head, rows, users, choose(rng, ["utf-8", "utf-8", "utf-8-sig", "utf-16"])


def options_and_header(
    rng: Generator,
    options: dict[str, Any],
    columns: dict[str, int],
    has_header: bool,
    width: int,
    separator: str,
    is_edge_list: bool,
) -> tuple[dict[str, Any], str]:
    """Add options that say which columns are which; return them with the header, if any."""
    if not has_header:
        if not is_edge_list or rng.random() < 0.5:
            options["header"] = False
        if (columns["source"], columns["target"]) == (0, 1) and rng.random() < 0.5:
            columns = {role: columns[role] for role in columns if role in ("weight", "user")}
        return options | columns, ""
    names = [f"column{column}" for column in range(width)]
    endpoint_names = choose(rng, [("from", "to"), ("source", "target"), ("p", "q")])
    names[columns["source"]], names[columns["target"]] = endpoint_names
    if "weight" in columns:
        names[columns["weight"]] = choose(rng, ["weight", "count", "minutes"])
    by_name = rng.random() < 0.5
    if not by_name or rng.random() < 0.5:
        options["header"] = True
    column_options = {role: names[i] if by_name else i for role, i in columns.items()}
    return options | column_options, separator.join(names) + "\n"


def random_rows(
    rng: Generator,
    columns: dict[str, int],
    width: int,
    separator: str,
    *,
    mixes_separators: bool,
    is_edge_list: bool,
) -> tuple[list[str], list[str]]:
    """Return one to six rows of a file, and the user of each.

    Args:
        columns: index of each column that is read, by its role.
        width: number of columns.
        mixes_separators: whether rows of one file may have different separators.
    """
    kind = choose(rng, ["names", "numbers"])
    is_plain = is_edge_list or separator == " "  # neither quotes nor blanks within cells
    style = "plain" if is_plain else choose(rng, ["plain", "plain", "quotes", "blanks"])
    mixed = rng.random() < 0.3
    rows, users = [], []
    for _ in range(int(rng.integers(1, 7))):
        cells = [choose(rng, OTHER_CELLS) for _ in range(width)]
        for role, column in columns.items():
            cells[column] = choose(rng, WEIGHTS) if role == "weight" else random_name(rng, kind)
        users.append(cells[columns.get("user", 0)])
        if is_plain:
            cells = [cell.replace(" ", "") or "0" for cell in cells]
        row_separator = choose(rng, [" ", ",", "\t"]) if mixes_separators and mixed else separator
        rows.append(random_line(rng, cells, row_separator, style))
    return rows, users


def replace_rows(rng: Generator, rows: list[str], users: list[str]) -> None:
    """Replace one row, or two of one user, by lines that a reader could take for more than rows."""
    index = int(rng.integers(len(rows)))
    for replaced in (index, index - 1)[: int(rng.integers(1, 3))]:
        rows[replaced] = choose(rng, LINES) + "\n"
        users[replaced] = users[index]


def file_reader(
    path: Path, head: str, encoding: str, read: Callable[..., Any], **options: object
) -> Callable[[Sequence[str]], Any]:
    """Return a function that writes rows below a head to a file and reads it."""

    def write_and_read(rows: Sequence[str]) -> Any:
        path.write_bytes((head + "".join(rows)).encode(encoding))
        return read(path, **options)

    return write_and_read


def case_of_graph(rng: Generator, path: Path) -> Case:
    """Return a random case of `read_graph`."""
    options, head, rows, _, encoding = random_table(rng, path.suffix)
    if rng.random() < 0.1:
        rows[int(rng.integers(len(rows)))] = choose(rng, ODD_ROWS) + "\n"
    options["merge"] = choose(rng, ["max", "min", "sum"])
    options |= choose(rng, [{}, {}, {"directed": True}, {"bipartite": True}])
    options["max_weight"] = 4.0 if "weight" in options and rng.random() < 0.5 else None
    vertices = VERTICES if rng.random() < 0.7 else 9
    options["vertices"] = (vertices, vertices) if options.get("bipartite") else vertices
    return Case(
        rows=rows,
        read=file_reader(path, head, encoding, read_flat, **options),
        merge=options["merge"],
        max_weight=options["max_weight"],
    )


def case_of_rows(rng: Generator, path: Path) -> Case:
    """Return a random case of `Rows.read`."""
    options, head, rows, users, encoding = random_table(rng, path.suffix, has_users=True)
    options.pop("weighted", None)
    counting = choose(rng, ["edges", "users", "rows"])
    if "weight" in options:
        counting = "weight"
        options["unit"] = choose(rng, [1.0, 0.5])
    options |= choose(rng, [{}, {"directed": True}, {"bipartite": True}])
    options["vertices"] = (VERTICES, VERTICES) if options.get("bipartite") else VERTICES
    read = file_reader(path, head, encoding, read_owned_flat, counting=counting, **options)
    return Case(rows=rows, users=users, read=read)


@pytest.mark.thorough(cases=1)
@in_many_cases
@pytest.mark.parametrize("ending", [".edges", ".txt", ".csv", ".tsv", ".konect"])
def test_a_row_of_a_graph_changes_its_own_pair_only(tmp_path, ending, cases):
    rng = np.random.default_rng([1, *ending.encode()])
    checks = 0
    for _ in range(cases):
        case = case_of_graph(rng, tmp_path / f"x{ending}")
        checks += check_row(case, int(rng.integers(len(case.rows))))
    assert checks > cases / 2


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("one_database")
@in_many_cases
@pytest.mark.parametrize("ending", [".edges", ".csv", ".tsv", ".konect"])
def test_a_user_changes_no_row_of_others(tmp_path, ending, cases):
    rng = np.random.default_rng([2, *ending.encode()])
    checks = 0
    for case_index in range(cases):
        case = case_of_rows(rng, tmp_path / f"x{ending}")
        user = choose(rng, case.users)
        bound = int(rng.integers(1, 4))
        checks += check_user(case, user, max_contributions=None if case_index % 4 else bound)
    assert checks > cases / 3  # files of so few rows are often refused


METRIC = Metric(
    range(len(VERTICES) - 1), range(1, len(VERTICES)), [1.0] * (len(VERTICES) - 1),
    vertices=VERTICES,
)  # fmt: skip


Reader = Callable[[Sequence[str]], np.ndarray]  # of the rows of a file


def read_with_and_without_a_row(
    rng: Generator, rows: list[str], read: Reader
) -> tuple[np.ndarray, np.ndarray] | None:
    """Read all rows, and all but a random one; None if either is refused."""
    index = int(rng.integers(len(rows)))
    try:
        return read(rows), read([*rows[:index], *rows[index + 1 :]])
    except GraphCutsError:
        return None


def file_of_locations(rng: Generator, path: Path) -> tuple[list[str], Reader]:
    """Return rows of locations, and a function that reads them as counts of people by vertex."""
    head, vertex_column, width = "", 0, 1
    if path.suffix == ".csv":
        width, vertex_column = choose(rng, [(1, 0), (2, 0), (2, 1)])
        names = [choose(rng, ["age", ""]) for _ in range(width)]
        names[vertex_column] = choose(rng, ["vertex", "place"])
        head = ",".join(names) + "\n"
    rows = []
    for _ in range(int(rng.integers(3, 7))):
        cells = [choose(rng, ["vertex", "place", "1", "people"]) for _ in range(width)]
        cells[vertex_column] = random_name(rng, "names")
        rows.append(",".join(cells) + "\n")

    def read(rows: Sequence[str]) -> np.ndarray:
        path.write_text(head + "".join(rows), newline="")
        return Locations.read(METRIC, path).counts

    return rows, read


def file_of_groups(rng: Generator, path: Path) -> tuple[list[str], Reader]:
    """Return rows of groups, and a function that reads them as the group of each vertex."""
    separator = "," if path.suffix == ".csv" else choose(rng, [" ", ",", "\t"])
    has_header = path.suffix == ".csv" and rng.random() < 0.6
    options = {} if has_header or path.suffix == ".txt" else {"text": gc.Columns(header=False)}
    head = ""
    if has_header:
        head = separator.join(choose(rng, [("zone", "area"), ("name", "area")])) + "\n"
    members = rng.permutation(VERTICES[:-1])[: int(rng.integers(2, 7))].tolist()
    rows = [
        separator.join((member, choose(rng, ["zone", "area", "name", "1x"]))) + "\n"
        for member in members
    ]

    def read(rows: Sequence[str]) -> np.ndarray:
        path.write_text(head + "".join(rows), newline="")
        groups = gc.Groups.read(path, gc.VertexSet(VERTICES), default_group="rest", **options)
        return np.array(groups.labels(), dtype=object)[groups.codes()]

    return rows, read


def check_independent_rows(
    rng: Generator,
    new_file: Callable[[], tuple[list[str], Reader]],
    distance: Callable[[np.ndarray, np.ndarray], int],
    cases: int,
    odd_line_share: float,
) -> None:
    """Check for random files that removing a row changes the result by a distance of at most 1.

    Args:
        new_file: returns the rows of a file and its reader.
        distance: between two results.
        cases: number of files.
        odd_line_share: share of files in which a row is replaced by one of `LINES`.
    """
    checks = 0
    for _ in range(cases):
        rows, read = new_file()
        if rng.random() < odd_line_share:
            rows[int(rng.integers(len(rows)))] = choose(rng, LINES) + "\n"
        results = read_with_and_without_a_row(rng, rows, read)
        if results is not None:
            assert distance(*results) <= 1
            checks += 1
    assert checks > cases / 2


@in_many_cases
@pytest.mark.parametrize("ending", [".csv", ".txt"])
def test_a_row_of_locations_changes_one_count_by_one(tmp_path, ending, cases):
    rng = np.random.default_rng([3, *ending.encode()])
    check_independent_rows(
        rng,
        lambda: file_of_locations(rng, tmp_path / f"x{ending}"),
        lambda before, after: np.abs(before - after).sum(),
        cases,
        odd_line_share=0.2,
    )


@in_many_cases
@pytest.mark.parametrize("ending", [".csv", ".txt"])
def test_a_row_of_groups_changes_the_group_of_one_vertex_only(tmp_path, ending, cases):
    rng = np.random.default_rng([4, *ending.encode()])
    check_independent_rows(
        rng,
        lambda: file_of_groups(rng, tmp_path / f"x{ending}"),
        lambda before, after: np.count_nonzero(before != after),
        cases,
        odd_line_share=0.1,
    )
