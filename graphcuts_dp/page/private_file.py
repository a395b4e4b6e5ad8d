"""Read the head of a private file for the page, and count rows for its marked panel.

`head_of` and `look` read the head of the file alone, and return what anybody may see.
`counts_for_your_eyes` counts the rows that cannot be used. Its command runs in a process of its
own, and its result is NOT PRIVATE: the page shows it in a marked panel, and stores it nowhere.
"""

import json
import random
import re
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphcuts_dp.cli.group_reading import GroupColumns, GroupFile
from graphcuts_dp.errors import FileFormatError, GraphCutsError, ParameterError
from graphcuts_dp.options import INPUT, read_options
from graphcuts_dp.page.form import (
    Values,
    encoding_of_list,
    is_of_encoding,
    report_fields,
    typed_value,
    with_encoding_of_list,
)
from graphcuts_dp.page.products import LOOK, PRODUCTS
from graphcuts_dp.page.steps import DATA, STEPS
from graphcuts_dp.page.words import ENCODINGS
from graphcuts_dp.page.words import KEYS as _KEYS
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.dates import DATE_EXAMPLES
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.table_headers import (
    asks_for_header,
    cells_of_first_line,
    names_in_header,
    separator_of_first_line,
    suggested_columns,
)
from graphcuts_dp.schema.vertices import VertexSet

_SECONDS = 600  # of counting rows
_MOST_CELLS, _LONGEST_CELL = 12, 60  # of a first line in the marked panel
HEADER_UNANSWERED = (
    f"say in \u201c{STEPS[DATA][0]}\u201d whether the first line of the private file names its "
    "columns"
)
# The reply of `look` until that is answered: it contains no word of the first line.
_UNREAD_REPLY: Mapping[str, Any] = {
    **dict.fromkeys(("public_list", "months", "direction", "time_zone", "ignored", "format"), ""),
    "sample": {"names": [], "means": [], "rows": []},
}
_ENDINGS_OF_TEXT = (".csv", ".tsv", ".txt")
# The first bytes of documents that are no tables, even if their names end like those of tables.
_DOCUMENTS = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a workbook of Excel or another packed file",
    b"\xd0\xcf\x11\xe0": "a document of an older Excel or Word",
}
_SAMPLE = 3  # simulated rows
_MOST_LABELS = 50  # of the public list, for simulated rows
_MOST_OF_FAULTS = 0.5  # a larger share counts as most: of all rows, or of those left out
_PARTS_OF_DATES = {"d": "day", "m": "month", "Y": "year", "y": "year", "H": "hour", "M": "minute"}
# Roles of fields by the roles of columns that the command reports.
_ROLE_KEYS = {"source": "from", "target": "to", "user": "person", "period": "date"}


def head_of(path: str, values: Values) -> list[str]:
    """Return the names of the columns in the first line of a table; no row is read.

    The list is empty if the first line may be a row, see `names_in_header`.

    Args:
        path: of the file.
        values: values of the form.

    Raises:
        FileFormatError: there is no such file, or it cannot be read.
    """
    file = Path(path).expanduser()
    _check_no_document(file)
    return names_in_header(file, _typed_columns(values))


def _check_no_document(file: Path) -> None:
    """Refuse a document that has the name of a table.

    Raises:
        FileFormatError: it begins with bytes of `_DOCUMENTS`.
    """
    if not file.is_file() or not file.name.lower().endswith(_ENDINGS_OF_TEXT):
        return
    with file.open("rb") as stream:
        first_bytes = stream.read(max(map(len, _DOCUMENTS)))
    for beginning, document in _DOCUMENTS.items():
        if first_bytes.startswith(beginning):
            raise FileFormatError(
                f"this is {document}, not a table in text: export the table as CSV"
            )


def must_say_header(path: str, values: Values) -> bool:
    """Return whether the curator must say first whether the first line of a file names its columns.

    Raises:
        FileFormatError: there is no such file, or it cannot be read.
    """
    return asks_for_header(Path(path).expanduser(), _typed_columns(values))


def first_line_for_your_eyes(path: str, values: Values) -> dict[str, Any]:
    """Return the first cells of a table, and their separator. NOT PRIVATE; stored nowhere.

    Raises:
        FileFormatError: there is no such file, or it cannot be read.
    """
    file, columns = Path(path).expanduser(), _typed_columns(values)
    cells = [cell[:_LONGEST_CELL] for cell in cells_of_first_line(file, columns)[:_MOST_CELLS]]
    separator = separator_of_first_line(file, columns)
    return {"cells": cells, "separator": "tab" if separator == "\t" else separator}


def _typed_columns(values: Values) -> Columns:
    """Return the options for reading columns that are typed."""
    about = next(option for option in PRODUCTS["table"].offered if option.of is Columns)
    return read_options(typed_value(about, values) or None, Columns)


def suggested_values(names: list[str]) -> dict[str, str]:
    """Return the values that names of columns suggest, such as the column of the date.

    Args:
        names: of the columns, from `head_of`.
    """
    values = {_KEYS[_ROLE_KEYS[role]]: name for role, name in suggested_columns(names).items()}
    if values:  # a table of rows, such as trips, rather than a network
        values[_KEYS["direction"]] = "directed"
    return values


def look(path: str, values: Values) -> dict[str, Any]:
    """Return sentences on how a file would be read, and problems to solve before the next step.

    Only the head of the private file is read; the list of places is public.

    Raises:
        GraphCutsError: the file is missing or no table, or options do not fit together.
    """
    if must_say_header(path, values):
        return {"problems": [_problem("header", HEADER_UNANSWERED)], **_UNREAD_REPLY}
    sentence_on_places, problems = _places(path, values)
    values_for_names = {} if problems else values  # a wrong list may contain names of people
    month_problems = _problems_of_months(values)
    if month_problems:  # reported below their field; the rest is checked without them
        values = {key: text for key, text in values.items() if key != _KEYS["months"]}
    arguments: dict[str, Any] = LOOK.call_arguments(values) | {"file": path}
    report = report_fields(LOOK, arguments)
    names = {column["role"]: column["name"] for column in report["columns"] if column["role"]}
    direction = LOOK.in_words(report.get("direction", ""))
    if names.get("source") and names.get("target"):
        _, semicolon, both_ways = direction.partition(";")
        direction = (
            f"each row goes from the place in \u201c{names['source']}\u201d to the place in "
            f"\u201c{names['target']}\u201d{semicolon}{both_ways}"
        )
    return {
        "public_list": sentence_on_places,
        "problems": [*problems, *month_problems],
        "direction": direction,
        "months": "" if month_problems else _months_in_words(values),
        "time_zone": _dates_in_words(values) or LOOK.in_words(report.get("time_zone", "")),
        "ignored": LOOK.in_words(report.get("ignored", "")),
        "format": report["format"],
        "sample": _sample(values, names, _simulated_places(values_for_names)),
    }


def _dates_in_words(values: Values) -> str:
    """Return a sentence on how dates are read if their form was chosen, else ""."""
    form = values.get(_KEYS["date_format"], "").strip()
    if not form or not values.get(_KEYS["date"], "").strip():
        return ""
    words = re.sub(r"%([A-Za-z])", lambda part: _PARTS_OF_DATES.get(part[1], part[0]), form)
    return f"dates are read as {words}"


def _problem(role: str, problem: Exception | str) -> dict[str, Any]:
    """Return a message below a field, with encodings that may solve the problem."""
    refusal = PRODUCTS["table"].refusal(problem)
    return {"key": _KEYS[role], "text": refusal["detail"], "encodings": refusal["encodings"]}


def _places(path: str, values: Values) -> tuple[str, list[dict[str, Any]]]:
    """Return a sentence on the public list of places, and its problems."""
    list_path = values.get(_KEYS["places"], "").strip()
    if not list_path:
        if values.get(_KEYS["names"]) or values.get(_KEYS["places_of_file"]):
            return "", []
        return "", [_problem("places", "name this list: it says which places there are")]
    if Path(list_path).expanduser().resolve() == Path(path).expanduser().resolve():
        return "", [_problem("places", "this is the private file: name a list that is public")]
    if values.get(_KEYS["names"]) or values.get(_KEYS["direction"]) == "bipartite":
        return "", []
    try:
        encoding = encoding_of_list(values)
        values = with_encoding_of_list(values)
        public = _public_places(values)
        areas = None if public is None else _list_of_places(values).read(public)
    except GraphCutsError as problem:
        return "", [_problem("places", problem)]
    if public is None or not isinstance(areas, Groups):
        return "", []
    count = len(areas.sizes(areas.levels[-1]))
    number_of_places = f"{len(public):,} places" if len(public) > 1 else "1 place"
    program = ENCODINGS.get(encoding)
    read_as = f"; it is read as text of {program} ({encoding})" if program else ""
    if count == len(public):
        return f"The list names {number_of_places}; each is an area of its own{read_as}", []
    return f"The list names {number_of_places} in {count:,} areas{read_as}", []


def _problems_of_months(values: Values) -> list[dict[str, Any]]:
    """Return the problems of the months to report, if rows have dates."""
    if not values.get(_KEYS["date"], "").strip():
        return []
    months = values.get(_KEYS["months"], "").strip()
    if not months:
        return [_problem("months", "type the first and the last month, as 2026-01..2026-12")]
    try:
        Periods.of(months)
    except GraphCutsError as problem:
        return [_problem("months", problem)]
    return []


def _simulated_places(values: Values) -> list[Any]:
    """Return names of places for simulated rows: of the public list, or invented ones."""
    with suppress(GraphCutsError):
        public = _public_places(with_encoding_of_list(values))
        if public is not None:
            return list(public.labels[:_MOST_LABELS])
    return ["Northfield", "Eastbrook", "Oldtown"]


def _months_in_words(values: Values) -> str:
    """Return the months to report in words, such as "12 months: 2026-01 to 2026-12"; else ""."""
    months = values.get(_KEYS["months"], "").strip()
    if not months or not values.get(_KEYS["date"], "").strip():
        return ""
    periods = Periods.of(months)
    labels = periods.labels
    if len(labels) == 1:
        return f"1 {periods.by}: {labels[0]}"
    return f"{len(labels):,} {periods.by}s: {labels[0]} to {labels[-1]}"


def _sample(values: Values, names: Mapping[str, str | None], labels: list[Any]) -> dict[str, Any]:
    """Return simulated rows with public names, which show the meaning of the columns."""
    generator = random.Random(1)  # noqa: S311  # of an illustration
    roles = [role for role in _ROLE_KEYS if role in names]
    rows = []
    for number in range(1, _SAMPLE + 1):
        cells = {"source": generator.choice(labels), "target": generator.choice(labels)}
        cells |= {"user": f"person {generator.randint(1, 9)}", "period": _a_date(values, number)}
        rows.append([str(cells[role]) for role in roles])
    heads = [names[role] or _ROLE_KEYS[role] for role in roles]
    return {"names": heads, "means": [_ROLE_KEYS[role] for role in roles], "rows": rows}


def _a_date(values: Values, number: int) -> str:
    """Return a date for a simulated row, in the form and the months that are typed."""
    example = DATE_EXAMPLES.get(values.get(_KEYS["date_format"], ""))
    if example is not None:
        return example
    with suppress(GraphCutsError):
        labels = Periods.of(values.get(_KEYS["months"], "")).labels
        return labels[number % len(labels)]
    return f"2026-01-{number:02}"


def _public_places(values: Values) -> VertexSet | None:
    """Return the places that the public list names; None without a list.

    Raises:
        GraphCutsError: no such list.
    """
    path = values.get(_KEYS["places"], "").strip()
    if not path:
        return None
    vertices = _list_of_places(values).space(bipartite=False)
    return vertices if isinstance(vertices, VertexSet) else None


def _list_of_places(values: Values) -> GroupFile:
    """Return the public list of places that is named, with the options for reading it."""
    about = next(option for option in PRODUCTS["table"].offered if option.of is GroupColumns)
    columns = read_options(typed_value(about, values) or None, GroupColumns)
    path = Path(values[_KEYS["places"]].strip()).expanduser()
    return GroupFile(groups=str(path), groups_columns=columns)


def counts_for_your_eyes(path: str, values: Values, program: tuple[str, ...]) -> dict[str, Any]:
    """Return how many rows cannot be used, and why. NOT PRIVATE; stored nowhere.

    Args:
        path: of the private file.
        values: values of the form.
        program: the words that start this program.

    Raises:
        GraphCutsError: the file, or the public list, cannot be read.
    """
    names = _KEYS["names"]
    with tempfile.TemporaryDirectory() as folder:
        values = with_encoding_of_list(values)
        public = None if values.get(names) else _public_places(values)
        if public is not None:
            file = Path(folder) / "places.txt"
            file.write_text("".join(f"{label}\n" for label in public.labels), encoding="utf-8")
            values = {**values, names: str(file)}
        source = str(Path(path).expanduser().resolve())
        options = LOOK.option_words(values, Path(folder), (INPUT,))
        line = [*program, LOOK.command, source, *options, "--nonprivate", "--json"]
        try:
            process = subprocess.run(  # noqa: S603  # our own program
                line, capture_output=True, text=True, check=False, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ParameterError(
                "the file is large, and its rows were not counted in time: go on without the count"
            ) from None
    if process.returncode:
        raise ParameterError(process.stderr.strip().rpartition("error: ")[2])
    counts = json.loads(process.stdout)
    faults = counts.get("faults") or {}
    # With the right form of dates, a few bad dates are damaged rows.
    has_date_format = bool(values.get(_KEYS["date_format"], "").strip())
    date_faults = [
        fault
        for fault, count in faults.items()
        if _is_date_fault(fault)
        and not (has_date_format and count <= _MOST_OF_FAULTS * counts["rows"])
    ]
    format_faults = [*date_faults, *filter(is_of_encoding, faults)]
    most_misread = max((faults[fault] for fault in format_faults), default=0)
    return {
        "rows": counts["rows"],
        "skipped": counts.get("skipped"),
        "share": counts.get("share_skipped"),
        "faults": [
            {"text": fault, "rows": count, "where": counts["positions"].get(fault, [])}
            for fault, count in faults.items()
        ],
        "not_counted": counts.get("not_counted"),
        "outside": counts.get("outside_periods"),
        "date_formats": DATE_EXAMPLES if date_faults else {},
        "encodings": ENCODINGS if any(map(is_of_encoding, faults)) else {},
        # Rows that could be read with another form of dates or text should not be left out.
        "mend_first": most_misread > _MOST_OF_FAULTS * (counts.get("skipped") or 0),
    }


def not_counted(reason: str) -> dict[str, Any]:
    """Return the counts of a file whose rows were not counted, with the reason. NOT PRIVATE."""
    reply: dict[str, Any] = dict.fromkeys(("rows", "skipped", "share", "outside"))
    reply |= {"faults": [], "date_formats": {}, "encodings": {}, "mend_first": False}
    return reply | {"not_counted": reason}


def _is_date_fault(fault: str) -> bool:
    """Return whether a fault is about the form of dates."""
    return f"{_KEYS['date_format'].rpartition('.')[2]}=" in fault
