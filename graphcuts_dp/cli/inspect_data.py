"""`graphcuts-dp inspect` of a private file: how it would be read, and the command to type next.

What is printed follows from the options, the file's name and its head. Files that differ in rows
alone give the same output, so it may be shown to anybody. With `--nonprivate` the rows are read and
counted, and the output says that these numbers must not be published.
"""

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from graphcuts_dp.cli.console import Report
from graphcuts_dp.cli.options import naming, spelled
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.display import Card
from graphcuts_dp.errors import FileFormatError, GraphCutsError
from graphcuts_dp.graph.rows import Rows
from graphcuts_dp.io.edge_store import Merge
from graphcuts_dp.io.files import FORMATS, ending_of
from graphcuts_dp.io.heads import BadRowCounts, FileHead, count_bad_rows, read_head
from graphcuts_dp.io.raw_edges import Options
from graphcuts_dp.options import described
from graphcuts_dp.schema.columns import TAIL, Columns
from graphcuts_dp.schema.counting import Counting
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.table_headers import suggested_columns
from graphcuts_dp.schema.vertices import VertexSet

MARK = "not private: counted from rows"
COUNTED = (
    "NOT PRIVATE: the numbers of rows below are counted from private rows, and no noise hides "
    "them: do not publish them."
)
_GROUPS = "groups.csv", "out.csv"
_MAX_WEIGHT = 1.0  # of the command: hides whole edges, whatever they weigh
_PERIODS = "2026-01..2026-12"
_TYPED = {"\t": "tab", " ": "blank", ",": "comma", True: "yes", False: "no"}
_ROLES = ("source", "target", "weight", "user", "period")
_COLUMN = "COLUMN"  # in the command, where the caller must say which one
_WORD = re.compile(r"[\w-]+")  # needs no quotation marks in a sentence
_MOST_SHOWN = 40  # columns in the table


def inspect_data(path: str, reading: Reading, *, nonprivate: bool) -> Report:
    """Report how a private file would be read, and what to type.

    Raises:
        GraphCutsError: the file does not exist, is no table and no graph, or is damaged; or an
            option has no meaning.
    """
    reading = _of_rows(path, reading)
    head, options, problems = head_of(path, reading)
    needed = [advice(problem, path) for problem in problems] + _still_needed(head, reading)
    facts = {"format": f"{head.form}{', packed' if path.lower().endswith('.gz') else ''}"}
    facts |= _sentences(head, reading)
    command, replaced = _command(path, head, reading)
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
        counted, shown = _counted(path, head, replace(options, weighted=weighted))
        data, parts = {"mark": MARK, **data, **counted}, [COUNTED, *parts, *shown]
    parts += [f"Needed: {text}" for text in needed]
    rows = _suggested_rows(head, reading)
    if rows:
        data["ask"] = shlex.join(["graphcuts-dp", "plan", "--ask", path])
        parts += [f"{rows} Questions lead to a command that does:", data["ask"]]
    parts += [f"{'Or' if rows else 'Next'}, with {replaced}:", command]
    return Report(data, parts)


def _suggested_rows(head: FileHead, reading: Reading) -> str:
    """Return in a sentence what the command leaves out that names of columns suggest; else ""."""
    if reading.rows or not head.columns or head.lists_vertices:
        return ""
    suggested = suggested_columns([column.name for column in head.columns])
    uses = {"user": "its privacy unit is no person", "period": "it has no months"}
    missing = [f"{uses[role]} (column {name!r:.60})" for role, name in suggested.items()]
    if not missing:
        return ""
    return f"The command below counts each pair once; {', and '.join(missing)}."


def head_of(path: str, reading: Reading) -> tuple[FileHead, Options, list[GraphCutsError]]:
    """Return the head of a private file, the options of its reader, and what does not fit in them.

    Raises:
        GraphCutsError: the file does not exist, is no table and no graph, or is damaged; or an
            option has no meaning.
    """
    if not is_there(path):
        raise FileFormatError(f"{path} does not exist; check the name")
    options, problems = _options(path, reading)
    with naming("--columns", Columns, path):
        head = read_head(path, options)
    return head, options, [*problems, *head.problems]


def is_there(path: str | Path) -> bool:
    """Return whether there is such a file or folder; of no text does it raise."""
    return os.path.exists(path)  # noqa: PTH110  # Path.exists raises for long names


def _of_rows(path: str, reading: Reading) -> Reading:
    """Return the options with what a folder, and rows in general, imply."""
    if reading.counting is None and (
        (is_there(path) and Path(path).is_dir()) or reading.data_name or reading.rows
    ):
        return replace(reading, counting="rows")
    return reading


def _options(path: str, reading: Reading) -> tuple[Options, list[GraphCutsError]]:
    """Return the options of the reader, and what does not fit together in them."""
    problems: list[GraphCutsError] = []
    periods = None
    if reading.periods is not None:
        periods = Periods.of(reading.periods)
    if reading.rows:
        one = VertexSet(1)
        try:
            reading.check_rows()
            if not Path(path).is_dir() and not FORMATS[ending_of(path)].columns:
                raise FileFormatError(f"{path}: rows stand in an edge list or a table")
            Rows.empty(
                columns=reading.columns,
                counting=cast(Counting, reading.counting),
                weight_unit=reading.weight_unit,
                vertices=(one, one) if reading.bipartite else one,
                periods=periods,
                kind=reading.kind,
            )
        except GraphCutsError as problem:
            problems.append(problem)
    reads_weights = reading.counting == "weight" if reading.rows else not reading.ignore_weights
    return (
        Options(
            columns=reading.columns,
            vertices=reading.public_sets,
            weighted=None if reads_weights else False,
            max_weight=reading.max_weight,
            max_weight_change=reading.max_weight_change,
            public_vertices=reading.public_vertices_from_file,
            bipartite=reading.bipartite,
            directed=reading.directed,
            merge=cast(Merge | None, reading.merge),
            periods=periods,
            counting=cast(Counting, reading.counting or "rows"),
            weight_unit=reading.weight_unit,
        ),
        problems,
    )


def advice(problem: GraphCutsError, path: str) -> str:
    """Return a refusal with its options as they are typed."""
    try:
        with naming("--columns", Columns, path):
            raise problem
    except GraphCutsError as named:
        text = str(spelled(named, described(Reading), [path]))
    return text.removeprefix(f"{path}: ")


def _still_needed(head: FileHead, reading: Reading) -> list[str]:
    """Return what the caller must know, beyond the options that do not fit."""
    needed = []
    if not _lists_vertices(head) and not _names_vertices(reading):
        without = (
            "flows of rows take those of the groups"
            if reading.rows
            else "they are taken from the edges, which is not private"
        )
        needed.append(f"--vertices, the public vertex set; without it {without}.")
    elif reading.rows and not _names_vertices(reading):
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
    if head.open_ended and _weight_is_open(head, reading):
        needed.append(
            "--columns weight=3 if there is a third column and it holds weights, else "
            "--ignore-weights; and --columns header=yes if the first line names the columns."
        )
    return needed


def needs_bound(head: FileHead, reading: Reading) -> bool:
    """Return whether a graph has weights, of which nobody has given a bound."""
    bounds = (reading.max_weight, reading.max_weight_change, head.declared.max_weight)
    ignored = reading.rows or reading.ignore_weights or head.without_weights
    return bool(head.has_weights) and not ignored and bounds == (None, None, None)


def _weight_is_open(head: FileHead, reading: Reading) -> bool:
    """Return whether rows without a header may have a third column that nobody spoke about."""
    columns = reading.columns
    is_stated = columns.source is not None or bool(head.has_weights) or reading.ignore_weights
    return not (reading.rows or is_stated or head.declared.weighted is not None)


def ignores_weights(head: FileHead, reading: Reading) -> bool:
    """Return whether the reported command drops weights that nobody spoke about."""
    unknown = head.lists_vertices and head.has_weights is None
    is_open = (
        head.without_weights or unknown or (head.open_ended and _weight_is_open(head, reading))
    )
    bounded = reading.max_weight is not None or reading.max_weight_change is not None
    return is_open and not reading.rows and not bounded


def _sentences(head: FileHead, reading: Reading) -> dict[str, str]:
    """Return direction, time zone, vertices and what is ignored, in words."""
    sentences = {}
    positions = head.positions
    if positions is not None:
        sentences["direction"] = _direction(head, reading)
    elif head.is_directed is not None:
        goes = "edges go from their source to their target" + _both_ways(reading)
        sentences["direction"] = goes if head.is_directed else "edges have none"
    if reading.columns.period is not None:
        zone = head.time_zone or reading.columns.time_zone
        sentences["time_zone"] = (
            "none: dates and times are used as they are written"
            if zone is None
            else f"times fall into the periods of {zone}"
        )
    if head.declared.vertices is not None or head.declared.sides is not None:
        sentences["vertices"] = "declared by the file; --vertices names others"
    elif head.lists_vertices:
        sentences["vertices"] = (
            "those that the file lists, taken as public; --vertices names others"
        )
    ignored = [
        _shown(head, position) for position, column in enumerate(head.columns) if not column.role
    ]
    if positions is not None or head.lists_vertices:
        ignored += ["further columns, if there are any"] * head.open_ended
        sentences["ignored"] = _listed(ignored)
    return sentences


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_SHOWN]) or "nothing"
    return shown + (", ..." if len(names) > _MOST_SHOWN else "")


def _direction(head: FileHead, reading: Reading) -> str:
    """Return in which direction edges go, as a sentence."""
    assert head.positions is not None  # noqa: S101  # the caller has looked
    if reading.bipartite:
        left, right = (
            _shown(head, position) for position in (head.positions.source, head.positions.target)
        )
        return f"{left} has the vertices of the left side, {right} those of the right"
    return head.positions.direction() + _both_ways(reading)


def _both_ways(reading: Reading) -> str:
    both = "; both directions of a pair count together, unless you add --kind directed"
    return "" if reading.kind != "undirected" else both


def _shown(head: FileHead, place: int) -> str:
    name = head.columns[place].name if place < len(head.columns) else ""
    if not name:
        return f"column {place + 1}"
    return name if _WORD.fullmatch(name) else f"{name!r:.60}"


def _column_lines(head: FileHead) -> list[str]:
    """Return a line for each column, aligned; no line if there are none."""
    if not head.columns:
        return []
    known = head.positions is not None or head.lists_vertices
    rows = [
        (
            f"  {number}",
            f"{column.name!r:.60}" if column.name else "(name not shown)",
            column.type,
            f"read as {column.role}" if column.role else "ignored" * known,
        )
        for number, column in enumerate(head.columns[:_MOST_SHOWN], 1)
    ]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    title = "edge attributes" if head.lists_vertices else "columns"
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    more = ["  ..."] * (len(head.columns) > _MOST_SHOWN)
    return [title, *lines, *more]


def _counted(path: str, head: FileHead, options: Options) -> tuple[dict[str, Any], list[Any]]:
    """Return the counts of bad rows as data and as parts of a report. NOT PRIVATE."""
    if head.problems:
        text = "Rows were not counted: say first what is needed."
        return {"rows": None, "not_counted": text}, [text]
    try:
        with naming("--columns", Columns, path):
            counts = count_bad_rows(path, options)
    except GraphCutsError as problem:
        text = f"Rows were not counted: {advice(problem, path)}"
        return {"rows": None, "not_counted": text}, [text]
    faults = {advice(FileFormatError(text), path): n for text, n in counts.faults.items()}
    data = {
        "rows": counts.rows,
        "skipped": counts.skipped,
        "share_skipped": counts.share,
        "outside_periods": counts.outside_periods,
        "faults": faults,
        "positions": {
            advice(FileFormatError(text), path): list(where)
            for text, where in counts.positions.items()
        },
    }
    return data, [_counts_card(counts, faults, outside=options.vertices is not None)]


def _counts_card(counts: BadRowCounts, faults: Mapping[str, int], *, outside: bool) -> Card:
    notes = ["A row may have several faults, or one at both endpoints."]
    if not outside:
        notes.append("Endpoints outside the vertex set are counted with --vertices.")
    return Card(
        title=f"rows ({MARK})",
        columns=("fault", "rows"),
        rows=[
            *((text, f"{count:,}") for text, count in faults.items()),
            ("all rows", f"{counts.rows:,}"),
            (
                "left out with --columns on-bad=skip",
                f"{counts.skipped:,} ({counts.share:.3%})",
            ),
            *_outside_periods(counts),
        ],
        notes=notes,
    )


def _outside_periods(counts: BadRowCounts) -> list[tuple[str, str]]:
    """Return how many rows no table counts, because their period is not one of --periods."""
    if counts.outside_periods is None:
        return []
    return [("outside of --periods, so that they do not count", f"{counts.outside_periods:,}")]


def _command(path: str, head: FileHead, reading: Reading) -> tuple[str, str]:
    """Return a line that releases flows of the file, and what to replace in it, in words."""
    words = ["graphcuts-dp", "flows", path, *_GROUPS, "--epsilon", "1"]
    replaced = ["your groups and epsilon"]
    typed = reading
    if not _names_vertices(reading) and (reading.rows or not _lists_vertices(head)):
        vertices = "left.txt,right.txt" if reading.bipartite else "vertices.txt"
        typed = replace(typed, vertices=vertices)
        replaced.append("vertex set")
    if reading.bipartite:
        words += ["--right-groups", "right-groups.csv"]
    if reading.columns.period is not None and reading.periods is None:
        typed = replace(typed, periods=_PERIODS)
        replaced.append("periods")
    if reading.columns.user is not None:
        words += ["--privacy-unit", "user:max-contributions=1"]
        replaced.append("bound on what counts of a user")
    elif reading.counting == "weight":
        words += ["--privacy-unit", "row:max-units=1"]
        replaced.append("bound on the weight of a row")
    if needs_bound(head, reading):
        typed = replace(typed, max_weight=_MAX_WEIGHT)
        replaced.append("bound on weights")
    if ignores_weights(head, reading):
        typed = replace(typed, ignore_weights=True)
    typed_columns = list(_typed_columns(head, reading))
    columns = ",".join(typed_columns)
    if any(column.endswith(f"={_COLUMN}") for column in typed_columns):
        replaced.append(f"columns in place of {_COLUMN}")
    words += _typed_options(typed)
    words += ["--columns", columns] if columns else []
    last = f" and {replaced.pop()}" if len(replaced) > 1 else ""
    return shlex.join(words), ", ".join(replaced) + last


def _lists_vertices(head: FileHead) -> bool:
    declared = head.declared.vertices is not None or head.declared.sides is not None
    return head.lists_vertices or declared


def _names_vertices(reading: Reading) -> bool:
    return reading.vertices is not None or reading.public_vertices_from_file


def _typed_options(reading: Reading) -> Iterable[str]:
    """Generate all options but --columns that differ from their defaults, as they are typed."""
    for about in described(Reading):
        value = getattr(reading, about.name)
        if about.name == "columns" or value == about.default:
            continue
        yield about.switch
        if value is not True:
            yield f"{value:g}" if isinstance(value, float) else str(value)


def _typed_columns(head: FileHead, reading: Reading) -> Iterable[str]:
    """Generate the keys of --columns: the columns that were found, and what the caller said."""
    typed_columns, positions = reading.columns, head.positions
    columns: dict[str, Any] = {}
    if positions is not None and head.columns and not head.open_ended:
        endpoint_positions = {
            "source": positions.source,
            "target": positions.target,
            "weight": positions.weight,
        }
        columns = {
            role: head.columns[position].typed_as
            for role, position in endpoint_positions.items()
            if position is not None
        }
    elif positions is None and not head.lists_vertices and head.named is not False:
        columns = {"source": _COLUMN, "target": _COLUMN}
    if reading.counting == "weight" and not head.has_weights:
        columns["weight"] = _COLUMN
    for about in described(Columns):
        value = getattr(typed_columns, about.name)
        if value != about.default and about.name not in columns:
            columns[about.name] = value
    named = any(isinstance(columns.get(name), str) for name in _ROLES if columns.get(name) != TAIL)
    if head.named and not named and "header" not in columns:
        columns["header"] = True
    for name, value in columns.items():
        key = name.replace("_", "-")
        if name in _ROLES and isinstance(value, int):
            text = str(value + 1)
        else:
            text = _TYPED.get(value, str(value).replace(",", "\\,"))
        yield f"{key}={text}"
