"""Text files with any rows and options: a row, or a user, changes only what is its own.

Rows are made to look like headers, comments, declarations, numbers, quotes that do not end: all
that a reader could take for more than a row. Vertices are given, and hold every name that is drawn.
"""

import numpy as np
import pytest
from helpers import read_flat, read_owned_flat
from one_row_apart import Case, check_row, check_user, in_many_cases

import graphcuts_dp as gc
from graphcuts_dp import GraphCutsError
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric

NAMES = ["ann", "bob", "from", "to", "source", "target", "weight", "count", "x", "time", "NA"]
NUMBERS = [str(number) for number in range(9)]
ODD_NAMES = ["#t", "%t", "tail", "vertex", "7th", "007", "1e5", "x;y", "ü"]
WEIGHTS = ["1", "2", "0.5", "3e0", "7"]
OTHERS = ["1", "home", "2020-01-01 10:00", "weight", "3.5", ""]
VERTICES = [*NAMES, *NUMBERS, *ODD_NAMES, "x y"]
# Lines that could be taken for more than a row, put before or instead of one.
LINES = (
    *("sep=;", "# note", "% sym weighted", "% bip unweighted", "from,to", "ann;bob", "ann, bob"),
    *('# graphcuts-dp: {"vertices": 3, "weighted": true}', "\ufeffann bob", '"ann,bob', 'ann,"bob'),
    *("", ",,"),
)
ROWS = ("source target weight", "ann\tbob ann", '"ann","bob",1', "ann\rbob")  # of two or three


def chosen(draw, options):
    return options[int(draw.integers(len(options)))]


def a_name(draw, kind):
    if kind == "numbers" or draw.random() < 0.1:
        return chosen(draw, NUMBERS)
    return chosen(draw, ODD_NAMES if draw.random() < 0.1 else NAMES)


def a_row(draw, cells, separator, style):
    """A line of these cells, in quotes or between blanks now and then."""
    if style == "quotes":
        cells = [f'"{cell}"' if draw.random() < 0.5 else cell for cell in cells]
    elif style == "blanks":
        cells = [f" {cell} " if draw.random() < 0.5 else cell for cell in cells]
    return separator.join(cells) + chosen(draw, ["\n", "\n", "\r\n"])


def a_table(draw, ending, *, owned=False):
    """Options, the lines above the rows, the rows, their users and the encoding."""
    width = int(draw.integers(2, 5)) + owned
    listed = ending in (".edges", ".txt", ".konect")
    named = draw.random() < (0.2 if listed else 0.6)
    separator = {".csv": ",", ".tsv": "\t"}.get(ending) or chosen(draw, [" ", ",", "\t"])
    options = {}
    if draw.random() < 0.2:
        options["delimiter"] = separator = chosen(draw, [";", "|", "\t", " "])
    elif ending == ".csv" and named and draw.random() < 0.3:
        separator = ";"
    places = dict(
        zip(("source", "target", "user", "weight"), draw.permutation(width), strict=False)
    )
    places = {what: int(place) for what, place in places.items()}
    if not owned:
        places["weight"] = places.pop("user", None)
    if places.get("weight") is None or draw.random() < 0.5:
        places.pop("weight", None)
        options["weighted"] = False
    options, head = options_and_head(draw, options, places, named, width, separator, listed)
    if ending == ".konect" and not named and draw.random() < 0.5:
        head = chosen(draw, ["% sym weighted\n", "% asym unweighted\n% 3 3\n"])
    elif listed and draw.random() < 0.3:
        head = "# a note\n\n" + head
    mixed = listed and not named and "delimiter" not in options
    rows, users = some_rows(draw, places, width, separator, mixed=mixed, listed=listed)
    if draw.random() < 0.25:
        add_lines(draw, rows, users)
    if draw.random() < 0.4:
        options["on_bad"] = "skip"  # then no row has a say in whether the file is read, either
    return options, head, rows, users, chosen(draw, ["utf-8", "utf-8", "utf-8-sig", "utf-16"])


def options_and_head(draw, options, places, named, width, separator, listed):
    """How the caller says which columns are which, and the header if there is one."""
    if not named:
        if not listed or draw.random() < 0.5:
            options["header"] = False
        if (places["source"], places["target"]) == (0, 1) and draw.random() < 0.5:
            places = {what: p for what, p in places.items() if what in ("weight", "user")}
        return options | places, ""
    names = [f"column{place}" for place in range(width)]
    ends = chosen(draw, [("from", "to"), ("source", "target"), ("p", "q")])
    names[places["source"]], names[places["target"]] = ends
    if "weight" in places:
        names[places["weight"]] = chosen(draw, ["weight", "count", "minutes"])
    by_name = draw.random() < 0.5
    if not by_name or draw.random() < 0.5:
        options["header"] = True
    told = {what: names[place] if by_name else place for what, place in places.items()}
    return options | told, separator.join(names) + "\n"


def some_rows(draw, places, width, separator, *, mixed, listed):
    """Rows of a file, and the user of each."""
    kind = chosen(draw, ["names", "numbers"])
    plain = listed or separator == " "  # without quotes, and blanks in cells
    style = "plain" if plain else chosen(draw, ["plain", "plain", "quotes", "blanks"])
    others = draw.random() < 0.3
    rows, users = [], []
    for _ in range(int(draw.integers(1, 7))):
        cells = [chosen(draw, OTHERS) for _ in range(width)]
        for what, place in places.items():
            cells[place] = chosen(draw, WEIGHTS) if what == "weight" else a_name(draw, kind)
        users.append(cells[places.get("user", 0)])
        if plain:
            cells = [cell.replace(" ", "") or "0" for cell in cells]
        own = chosen(draw, [" ", ",", "\t"]) if mixed and others else separator
        rows.append(a_row(draw, cells, own, style))
    return rows, users


def add_lines(draw, rows, users):
    """Put one or two strange lines in the place of rows; both have one user, if they have any."""
    place = int(draw.integers(len(rows)))
    for each in (place, place - 1)[: int(draw.integers(1, 3))]:
        rows[each] = chosen(draw, LINES) + "\n"
        users[each] = users[place]


def of_file(path, head, encoding, read, **options):
    """Reads a file of rows below a head."""

    def of_rows(rows):
        path.write_bytes((head + "".join(rows)).encode(encoding))
        return read(path, **options)

    return of_rows


def an_edge_list(draw, path):
    """A case of `read_graph`."""
    ending = path.suffix
    options, head, rows, _, encoding = a_table(draw, ending)
    if draw.random() < 0.1:
        rows[int(draw.integers(len(rows)))] = chosen(draw, ROWS) + "\n"
    options["merge"] = chosen(draw, ["max", "min", "sum"])
    options |= chosen(draw, [{}, {}, {"directed": True}, {"bipartite": True}])
    cap = 4.0 if "weight" in options and draw.random() < 0.5 else None
    options["max_weight"] = cap
    vertices = VERTICES if draw.random() < 0.7 else 9
    options["vertices"] = (vertices, vertices) if options.get("bipartite") else vertices
    return Case(
        rows=rows,
        read=of_file(path, head, encoding, read_flat, **options),
        merge=options["merge"],
        cap=cap,
    )


def owned_rows(draw, path):
    """A case of `Rows.read`."""
    options, head, rows, users, encoding = a_table(draw, path.suffix, owned=True)
    options.pop("weighted", None)
    counting = chosen(draw, ["edges", "users", "rows"])
    if "weight" in options:
        counting = "weight"
        options["unit"] = chosen(draw, [1.0, 0.5])
    options |= chosen(draw, [{}, {"directed": True}, {"bipartite": True}])
    options["vertices"] = (VERTICES, VERTICES) if options.get("bipartite") else VERTICES
    read = of_file(path, head, encoding, read_owned_flat, counting=counting, **options)
    return Case(rows=rows, users=users, read=read)


@pytest.mark.thorough(cases=1)
@in_many_cases
@pytest.mark.parametrize("ending", [".edges", ".txt", ".csv", ".tsv", ".konect"])
def test_a_row_of_an_edge_list_changes_its_own_pair_alone(tmp_path, ending, cases):
    draw = np.random.default_rng([1, *ending.encode()])
    read = 0
    for _ in range(cases):
        case = an_edge_list(draw, tmp_path / f"x{ending}")
        read += check_row(case, int(draw.integers(len(case.rows))))
    assert read > cases / 2


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("one_database")
@in_many_cases
@pytest.mark.parametrize("ending", [".edges", ".csv", ".tsv", ".konect"])
def test_a_user_changes_no_row_of_others(tmp_path, ending, cases):
    draw = np.random.default_rng([2, *ending.encode()])
    read = 0
    for number in range(cases):
        case = owned_rows(draw, tmp_path / f"x{ending}")
        user = chosen(draw, case.users)
        bound = int(draw.integers(1, 4))
        read += check_user(case, user, at_most=None if number % 4 else bound)
    assert read > cases / 3  # some files of so few rows are refused


PLACES = Metric(
    range(len(VERTICES) - 1), range(1, len(VERTICES)), [1.0] * (len(VERTICES) - 1),
    vertices=VERTICES,
)  # fmt: skip


def one_line_apart(draw, rows, read):
    """What is read of all rows and without one of them; None if either is refused."""
    taken = int(draw.integers(len(rows)))
    try:
        return [read(each) for each in (rows, [*rows[:taken], *rows[taken + 1 :]])]
    except GraphCutsError:
        return None


def some_people(draw, path):
    """Rows of a file of locations, and how it is read: into a count for each place."""
    head, place, width = "", 0, 1
    if path.suffix == ".csv":
        width, place = chosen(draw, [(1, 0), (2, 0), (2, 1)])
        names = [chosen(draw, ["age", ""]) for _ in range(width)]
        names[place] = chosen(draw, ["vertex", "place"])
        head = ",".join(names) + "\n"
    rows = []
    for _ in range(int(draw.integers(3, 7))):
        cells = [chosen(draw, ["vertex", "place", "1", "people"]) for _ in range(width)]
        cells[place] = a_name(draw, "names")
        rows.append(",".join(cells) + "\n")

    def read(rows):
        path.write_text(head + "".join(rows), newline="")
        return Locations.read(PLACES, path).counts

    return rows, read


def some_groups(draw, path):
    """Rows of a file of groups, and how it is read: into a label for each vertex."""
    separator = "," if path.suffix == ".csv" else chosen(draw, [" ", ",", "\t"])
    named = path.suffix == ".csv" and draw.random() < 0.6
    options = {} if named or path.suffix == ".txt" else {"text": gc.Columns(header=False)}
    head = separator.join(chosen(draw, [("zone", "area"), ("name", "area")])) if named else ""
    members = draw.permutation(VERTICES[:-1])[: int(draw.integers(2, 7))].tolist()
    rows = [
        separator.join((member, chosen(draw, ["zone", "area", "name", "1x"]))) + "\n"
        for member in members
    ]

    def read(rows):
        path.write_text(head + "\n" * bool(head) + "".join(rows), newline="")
        made = gc.Groups.read(path, gc.VertexSet(VERTICES), default_group="rest", **options)
        return np.array(made.labels(), dtype=object)[made.codes()]

    return rows, read


def distance_of(counts):
    return np.abs(counts[0] - counts[1]).sum()


def changed(labels):
    return np.count_nonzero(labels[0] != labels[1])


# (what makes rows, how far two readings are apart, how often a line is a strange one)
OF_VERTICES = {"people": (some_people, distance_of, 0.2), "groups": (some_groups, changed, 0.1)}


@in_many_cases
@pytest.mark.parametrize("ending", [".csv", ".txt"])
@pytest.mark.parametrize("kind", OF_VERTICES)
def test_a_row_changes_the_place_of_one_person_and_the_group_of_one_vertex(
    tmp_path, kind, ending, cases
):
    make, apart, strange = OF_VERTICES[kind]
    draw = np.random.default_rng([3 + (kind == "groups"), *ending.encode()])
    read = 0
    for _ in range(cases):
        rows, reading = make(draw, tmp_path / f"x{ending}")
        if draw.random() < strange:
            rows[int(draw.integers(len(rows)))] = chosen(draw, LINES) + "\n"
        found = one_line_apart(draw, rows, reading)
        if found is not None:
            assert apart(found) <= 1
            read += 1
    assert read > cases / 2
