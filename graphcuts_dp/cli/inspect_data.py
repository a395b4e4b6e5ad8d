"""`graphcuts-dp inspect` of a private file: how it would be read, and the command to type next.

What is printed follows from the options, the file's name and its head. Files that differ in rows
alone give the same output, so it may be shown to anybody. With `--nonprivate` the rows are read and
counted, and the output says that these numbers must not be published.

`inspect_data` is the command. `plan --ask` uses `inspect_head` and the predicates below it.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, final

from graphcuts_dp.cli.console import Report
from graphcuts_dp.cli.options import spelled_as_typed, spelling_keys
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.display import Card
from graphcuts_dp.errors import FileFormatError, GraphCutsError
from graphcuts_dp.graph.rows import Rows
from graphcuts_dp.io.edge_store import Merge
from graphcuts_dp.io.files import FORMATS, ending_of
from graphcuts_dp.io.heads import BadRowCounts, FileHead, count_bad_rows, read_head
from graphcuts_dp.io.raw_edges import Options
from graphcuts_dp.options import described
from graphcuts_dp.schema.columns import TAIL, Column, Columns
from graphcuts_dp.schema.counting import Counting
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.table_headers import suggested_columns
from graphcuts_dp.schema.vertices import VertexSet

_MARK = "not private: counted from rows"
_NOT_PRIVATE = (
    "NOT PRIVATE: the numbers of rows below are counted from private rows, and no noise hides "
    "them: do not publish them."
)
# Examples in the printed command, which the caller replaces.
_TABLES = "groups.csv", "out.csv"
_PERIODS = "2026-01..2026-12"
_COLUMN = "COLUMN"
_MAX_WEIGHT = 1.0  # with --max-weight, neighbouring graphs differ in a whole edge
_COLUMN_KEYS = ("source", "target", "weight", "user", "period")  # keys of --columns with a column
_CHARACTER_KEYS = ("delimiter", "decimal")  # keys of --columns with a character
_TYPED_CHARACTERS = {"\t": "tab", " ": "blank", ",": "comma"}
_WORD = re.compile(r"[\w-]+")  # a name that needs no quotation marks in a sentence
_MOST_SHOWN = 40  # columns in the table


@final
@dataclass(frozen=True, kw_only=True)
class HeadInspection:
    """The head of a private file, and whether the options fit it.

    Attributes:
        head: the head.
        options: options of the reader, from those of the command line.
        problems: errors that the caller must resolve, of the options and of the head.
    """

    head: FileHead
    options: Options
    problems: list[GraphCutsError]


def inspect_data(path: str, reading: Reading, *, nonprivate: bool) -> Report:
    """Report how a private file would be read, and what to type.

    Args:
        path: file, or folder of Parquet files.
        reading: options by which it would be read.
        nonprivate: whether bad rows are counted, too.

    Raises:
        GraphCutsError: the file does not exist, is no table and no graph, or is damaged; or an
            option has no meaning.
    """
    reading = _with_implied_counting(path, reading)
    inspection = inspect_head(path, reading)
    head, options = inspection.head, inspection.options
    needed = [advice(problem, path) for problem in inspection.problems]
    needed += _still_needed(head, reading)
    facts = {"format": f"{head.format_words}{', packed' if path.lower().endswith('.gz') else ''}"}
    facts |= _facts_in_words(head, reading)
    command, replacements = _command(path, head, reading)
    data: dict[str, Any] = {
        **facts,
        "columns": [
            {
                "name": column.name or None,
                "column": number,
                "type": column.type,
                "role": column.role,
            }
            for number, column in enumerate(head.columns, 1)
        ],
        "needed": needed,
        "command": command,
    }
    parts: list[Any] = [facts, *_column_lines(head)]
    if nonprivate:
        weighted = False if ignores_weights(head, reading) else options.weighted
        counts, shown = _bad_row_counts(path, head, replace(options, weighted=weighted))
        data, parts = {"mark": _MARK, **data, **counts}, [_NOT_PRIVATE, *parts, *shown]
    parts += [f"Needed: {text}" for text in needed]
    unused = _unused_columns(head, reading)
    if unused:
        data["ask"] = shlex.join(["graphcuts-dp", "plan", "--ask", path])
        parts += [f"{unused} Questions lead to a command that does:", data["ask"]]
    parts += [f"{'Or' if unused else 'Next'}, with {replacements}:", command]
    return Report(data, parts)


def inspect_head(path: str, reading: Reading) -> HeadInspection:
    """Read the head of a private file, and compare the options with it.

    Raises:
        GraphCutsError: the file does not exist, is no table and no graph, or is damaged; or an
            option has no meaning.
    """
    if not is_there(path):
        raise FileFormatError(f"{path} does not exist; check the name")
    options = _reader_options(reading)
    problems = _problems_of_rows(path, reading, options.periods) if reading.reads_rows else []
    with spelling_keys("--columns", Columns, path):
        head = read_head(path, options)
    return HeadInspection(head=head, options=options, problems=[*problems, *head.problems])


def is_there(path: str | Path) -> bool:
    """Return whether there is a file or folder; False for texts that no file can have as name."""
    return os.path.exists(path)  # noqa: PTH110  # Path.exists raises for long names


def advice(problem: GraphCutsError, path: str) -> str:
    """Return the text of an error, with its options as they are typed.

    Args:
        problem: an error about a private file.
        path: the file, which the text does not repeat at its beginning.
    """
    try:
        with spelling_keys("--columns", Columns, path):  # changes errors that are raised in it
            raise problem
    except GraphCutsError as spelled_problem:
        text = str(spelled_as_typed(spelled_problem, described(Reading), [path]))
    return text.removeprefix(f"{path}: ")


def declares_vertices(head: FileHead) -> bool:
    """Return whether the file lists its vertices, or declares them."""
    declared = head.declared.vertices is not None or head.declared.sides is not None
    return head.lists_vertices or declared


def needs_bound(head: FileHead, reading: Reading) -> bool:
    """Return whether a graph with weights would be read, and nobody has given a bound on them."""
    bounds = (reading.max_weight, reading.max_weight_change, head.declared.max_weight)
    ignored = reading.reads_rows or reading.ignore_weights or head.without_weights
    return bool(head.has_weights) and not ignored and bounds == (None, None, None)


def ignores_weights(head: FileHead, reading: Reading) -> bool:
    """Return whether the command to type needs --ignore-weights, to be sure that none are read.

    That is so if a graph is read that has weights, or may have some, and no bound on them is typed.
    """
    unknown = head.lists_vertices and head.has_weights is None
    may_have_weights = head.without_weights or unknown or _may_have_third_column(head, reading)
    bounded = reading.max_weight is not None or reading.max_weight_change is not None
    return may_have_weights and not reading.reads_rows and not bounded


def _may_have_third_column(head: FileHead, reading: Reading) -> bool:
    """Return whether edges may have a third column, and nobody has said whether it is a weight."""
    is_stated = (
        reading.columns.source is not None
        or bool(head.has_weights)
        or reading.ignore_weights
        or head.declared.weighted is not None
    )
    return head.open_ended and not reading.reads_rows and not is_stated


def _with_implied_counting(path: str, reading: Reading) -> Reading:
    """Return the options, with `counting` "rows" if it is left out and rows are read.

    Rows are read if an option is for rows alone, or if the path is that of a folder.
    """
    is_folder = is_there(path) and Path(path).is_dir()
    if reading.counting is None and (is_folder or reading.data_name or reading.reads_rows):
        return replace(reading, counting="rows")
    return reading


def _reader_options(reading: Reading) -> Options:
    is_weight_read = (
        reading.counting == "weight" if reading.reads_rows else not reading.ignore_weights
    )
    return Options(
        columns=reading.columns,
        vertices=reading.named_vertices,
        weighted=None if is_weight_read else False,
        max_weight=reading.max_weight,
        max_weight_change=reading.max_weight_change,
        public_vertices=reading.public_vertices_from_file,
        bipartite=reading.bipartite,
        directed=reading.directed,
        merge=cast(Merge | None, reading.merge),
        periods=None if reading.periods is None else Periods.of(reading.periods),
        counting=cast(Counting, reading.counting or "rows"),
        weight_unit=reading.weight_unit,
    )


def _problems_of_rows(path: str, reading: Reading, periods: Periods | None) -> list[GraphCutsError]:
    """Return the first error of options that do not fit together if rows are read."""
    vertices = VertexSet(1)  # any vertices do: only the other options are checked
    try:
        reading.check_rows()
        if not Path(path).is_dir() and not FORMATS[ending_of(path)].columns:
            raise FileFormatError(f"{path}: rows stand in an edge list or a table")
        Rows.empty(
            columns=reading.columns,
            counting=cast(Counting, reading.counting),
            weight_unit=reading.weight_unit,
            vertices=(vertices, vertices) if reading.bipartite else vertices,
            periods=periods,
            kind=reading.kind,
        )
    except GraphCutsError as problem:
        return [problem]
    return []


def _still_needed(head: FileHead, reading: Reading) -> list[str]:
    """Return the options that the caller must add, each with what it is for."""
    needed = []
    if not declares_vertices(head) and not _names_vertices(reading):
        without = (
            "flows of rows take those of the groups"
            if reading.reads_rows
            else "they are taken from the edges, which is not private"
        )
        needed.append(f"--vertices, the public vertex set; without it {without}.")
    elif reading.reads_rows and not _names_vertices(reading):
        needed.append("--vertices, the public vertex set; of rows the file does not tell it.")
    lacks_weights = head.positions is not None and not head.has_weights and not head.problems
    if reading.counting == "weight" and lacks_weights:
        needed.append("--columns weight=, the column of the weights, or another --counting.")
    if reading.columns.user is not None:
        needed.append("--privacy-unit user:max-contributions=, how much of each user counts.")
    elif reading.counting == "weight":
        needed.append("--privacy-unit row:max-units=, how many units of the weight of a row count.")
    if needs_bound(head, reading):
        needed.append(
            "a public bound on weights: --max-weight or --max-weight-change 1; or --ignore-weights."
        )
    if _may_have_third_column(head, reading):
        needed.append(
            "--columns weight=3 if there is a third column and it holds weights, else "
            "--ignore-weights; and --columns header=yes if the first line names the columns."
        )
    return needed


def _names_vertices(reading: Reading) -> bool:
    return reading.vertices is not None or reading.public_vertices_from_file


def _facts_in_words(head: FileHead, reading: Reading) -> dict[str, str]:
    """Return direction, time zone, vertices and ignored columns, in words."""
    facts = {}
    positions = head.positions
    if positions is not None:
        if reading.bipartite:
            left, right = (
                _name_in_sentence(head, position)
                for position in (positions.source, positions.target)
            )
            direction = f"{left} has the vertices of the left side, {right} those of the right"
        else:
            direction = positions.direction() + _both_ways(reading)
        facts["direction"] = direction
    elif head.is_directed is not None:
        directed = f"edges go from their source to their target{_both_ways(reading)}"
        facts["direction"] = directed if head.is_directed else "edges have none"
    if reading.columns.period is not None:
        zone = head.time_zone or reading.columns.time_zone
        facts["time_zone"] = (
            "none: dates and times are used as they are written"
            if zone is None
            else f"times fall into the periods of {zone}"
        )
    if head.declared.vertices is not None or head.declared.sides is not None:
        facts["vertices"] = "declared by the file; --vertices names others"
    elif head.lists_vertices:
        facts["vertices"] = "those that the file lists, taken as public; --vertices names others"
    if positions is not None or head.lists_vertices:
        ignored = [
            _name_in_sentence(head, position)
            for position, column in enumerate(head.columns)
            if not column.role
        ]
        if head.open_ended:
            ignored.append("further columns, if there are any")
        more = ", ..." if len(ignored) > _MOST_SHOWN else ""
        facts["ignored"] = (", ".join(ignored[:_MOST_SHOWN]) or "nothing") + more
    return facts


def _both_ways(reading: Reading) -> str:
    """Return the clause that follows the direction in a graph without directions; else ""."""
    if reading.kind != "undirected":
        return ""
    return "; both directions of a pair count together, unless you add --kind directed"


def _name_in_sentence(head: FileHead, position: int) -> str:
    """Return the name of a column, or its number if it may not be quoted."""
    name = head.columns[position].name if position < len(head.columns) else ""
    if not name:
        return f"column {position + 1}"
    return name if _WORD.fullmatch(name) else f"{name!r:.60}"


def _column_lines(head: FileHead) -> list[str]:
    """Return a line for each column, aligned; no line if there are none."""
    if not head.columns:
        return []
    has_roles = head.positions is not None or head.lists_vertices
    no_role = "ignored" if has_roles else ""
    rows = [
        (
            f"  {number}",
            f"{column.name!r:.60}" if column.name else "(name not shown)",
            column.type,
            f"read as {column.role}" if column.role else no_role,
        )
        for number, column in enumerate(head.columns[:_MOST_SHOWN], 1)
    ]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    title = "edge attributes" if head.lists_vertices else "columns"
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    more = ["  ..."] if len(head.columns) > _MOST_SHOWN else []
    return [title, *lines, *more]


def _bad_row_counts(
    path: str, head: FileHead, options: Options
) -> tuple[dict[str, Any], list[str | Card]]:
    """Return the counts of bad rows as data and as parts of a report. NOT PRIVATE."""
    if head.problems:
        text = "Rows were not counted: say first what is needed."
        return {"rows": None, "not_counted": text}, [text]
    try:
        with spelling_keys("--columns", Columns, path):
            counts = count_bad_rows(path, options)
    except GraphCutsError as problem:
        text = f"Rows were not counted: {advice(problem, path)}"
        return {"rows": None, "not_counted": text}, [text]
    faults = {advice(FileFormatError(fault), path): count for fault, count in counts.faults.items()}
    positions = {
        advice(FileFormatError(fault), path): list(first_positions)
        for fault, first_positions in counts.positions.items()
    }
    data = {
        "rows": counts.rows,
        "skipped": counts.skipped,
        "share_skipped": counts.share,
        "outside_periods": counts.outside_periods,
        "faults": faults,
        "positions": positions,
    }
    return data, [_counts_card(counts, faults, has_vertices=options.vertices is not None)]


def _counts_card(counts: BadRowCounts, faults: Mapping[str, int], *, has_vertices: bool) -> Card:
    """Return a table of counts.

    Args:
        counts: all counts.
        faults: number of rows by fault, with options as they are typed.
        has_vertices: whether endpoints were compared with a vertex set.
    """
    rows = [(fault, f"{count:,}") for fault, count in faults.items()]
    rows.append(("all rows", f"{counts.rows:,}"))
    rows.append(("left out with --columns on-bad=skip", f"{counts.skipped:,} ({counts.share:.3%})"))
    if counts.outside_periods is not None:
        text = "outside of --periods, so that they do not count"
        rows.append((text, f"{counts.outside_periods:,}"))
    notes = ["A row may have several faults, or one at both endpoints."]
    if not has_vertices:
        notes.append("Endpoints outside the vertex set are counted with --vertices.")
    return Card(title=f"rows ({_MARK})", columns=("fault", "rows"), rows=rows, notes=notes)


def _unused_columns(head: FileHead, reading: Reading) -> str:
    """Return a sentence on columns of users and dates that the command leaves out; else ""."""
    if reading.reads_rows or not head.columns or head.lists_vertices:
        return ""
    consequences = {"user": "its privacy unit is no person", "period": "it has no months"}
    suggested = suggested_columns([column.name for column in head.columns])
    missing = [f"{consequences[role]} (column {name!r:.60})" for role, name in suggested.items()]
    if not missing:
        return ""
    return f"The command below counts each pair once; {', and '.join(missing)}."


def _command(path: str, head: FileHead, reading: Reading) -> tuple[str, str]:
    """Return a line that releases flows of the file, and what to replace in it, in words."""
    words = ["graphcuts-dp", "flows", path, *_TABLES, "--epsilon", "1"]
    replacements = ["your groups and epsilon"]
    completed = reading
    if not _names_vertices(reading) and (reading.reads_rows or not declares_vertices(head)):
        vertices = "left.txt,right.txt" if reading.bipartite else "vertices.txt"
        completed = replace(completed, vertices=vertices)
        replacements.append("vertex set")
    if reading.bipartite:
        words += ["--right-groups", "right-groups.csv"]
    if reading.columns.period is not None and reading.periods is None:
        completed = replace(completed, periods=_PERIODS)
        replacements.append("periods")
    if reading.columns.user is not None:
        words += ["--privacy-unit", "user:max-contributions=1"]
        replacements.append("bound on what counts of a user")
    elif reading.counting == "weight":
        words += ["--privacy-unit", "row:max-units=1"]
        replacements.append("bound on the weight of a row")
    if needs_bound(head, reading):
        completed = replace(completed, max_weight=_MAX_WEIGHT)
        replacements.append("bound on weights")
    if ignores_weights(head, reading):
        completed = replace(completed, ignore_weights=True)
    undecided = _undecided_columns(head, reading)
    if undecided:
        replacements.append(f"columns in place of {_COLUMN}")
    words += _typed_options(completed)
    columns = _columns_to_type(head, reading.columns, undecided)
    if columns:
        typed = (
            f"{key.replace('_', '-')}={_typed_value(key, value)}" for key, value in columns.items()
        )
        words += ["--columns", ",".join(typed)]
    last = f" and {replacements.pop()}" if len(replacements) > 1 else ""
    return shlex.join(words), ", ".join(replacements) + last


def _typed_options(reading: Reading) -> Iterator[str]:
    """Generate all options but --columns that differ from their defaults, as they are typed."""
    for opt in described(Reading):
        value = getattr(reading, opt.name)
        if opt.name == "columns" or value == opt.default:
            continue
        yield opt.switch
        if value is not True:
            yield f"{value:g}" if isinstance(value, float) else str(value)


def _undecided_columns(head: FileHead, reading: Reading) -> list[str]:
    """Return the keys of the columns that the caller must name."""
    undecided = []
    if head.positions is None and not head.lists_vertices and head.has_header is not False:
        undecided += ["source", "target"]
    if reading.counting == "weight" and not head.has_weights:
        undecided.append("weight")
    return undecided


def _columns_to_type(
    head: FileHead, columns: Columns, undecided: Sequence[str]
) -> dict[str, Column | bool]:
    """Return the keys of --columns with their values, as in `Columns`.

    The head has the columns of endpoints and weights, if they could be recognised. All else is
    what the caller said.
    """
    values: dict[str, Column | bool] = {}
    if head.positions is not None and head.columns and not head.open_ended:
        for key in ("source", "target", "weight"):
            position = getattr(head.positions, key)
            if position is not None:
                values[key] = head.columns[position].option_value
    values |= dict.fromkeys(undecided, _COLUMN)
    for opt in described(Columns):
        value = getattr(columns, opt.name)
        if value != opt.default and opt.name not in values:
            values[opt.name] = value
    picks = [values[key] for key in _COLUMN_KEYS if key in values]
    is_named = any(isinstance(column, str) and column != TAIL for column in picks)
    if head.has_header and not is_named and "header" not in values:
        values["header"] = True
    return values


def _typed_value(key: str, value: Column | bool) -> str:
    """Return the value of a key of --columns as it is typed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value + 1)  # columns have numbers from 1 on the command line
    if key in _CHARACTER_KEYS:
        return _TYPED_CHARACTERS.get(value, value)
    return value.replace(",", "\\,")
