"""How the page understands a private file, and the panel that only the curator may see.

`head_of` and `look` read the head of the file alone, and return what anybody may see.
`counts_for_your_eyes` counts the rows that cannot be used. Its command runs in a process of its
own, and what it returns is NOT PRIVATE: the page shows it in a marked panel, and keeps it nowhere.
"""

import json
import random
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphcuts_dp.cli.reading import GroupColumns, GroupFile
from graphcuts_dp.errors import GraphCutsError, ParameterError
from graphcuts_dp.options import INPUT, read_options
from graphcuts_dp.page.form import LOOK, PRODUCTS, Values, report_fields, typed_value
from graphcuts_dp.page.words import PLAIN
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.dates import DATE_EXAMPLES
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.table_headers import names_in_header, suggested_columns
from graphcuts_dp.schema.vertices import VertexSet

_SECONDS = 600  # of counting rows
_SAMPLE = 3  # simulated rows
# Keys of fields by their roles on the page.
_KEYS = {words.role: key for key, words in PLAIN.items() if words.role}
# Roles of fields by the roles of columns that the command reports.
_ROLE_KEYS = {"source": "from", "target": "to", "user": "person", "period": "date"}


def head_of(path: str, values: Values) -> list[str]:
    """Return the names of the columns in the first line of a table; no row is looked at.

    The list is empty if the first line may be a row, see `names_in_header`.

    Args:
        path: of the file.
        values: how columns are read, as typed.

    Raises:
        FileFormatError: there is no such file, or it cannot be read.
    """
    about = next(each for each in PRODUCTS["table"].offered if each.of is Columns)
    columns = read_options(typed_value(about, values) or None, Columns)
    return names_in_header(Path(path).expanduser(), columns)


def proposed(names: list[str]) -> dict[str, str]:
    """Return values that names of columns suggest: which column names people, which dates.

    Args:
        names: of the columns, from `head_of`.
    """
    found = {_KEYS[_ROLE_KEYS[role]]: name for role, name in suggested_columns(names).items()}
    if found:  # a table of rows, such as trips, rather than a network
        found[_KEYS["direction"]] = "directed"
    return found


def look(path: str, values: Values) -> dict[str, Any]:
    """Return how a file would be read, in words; its head alone is looked at.

    Raises:
        GraphCutsError: the file is missing or no table, or options do not fit together.
    """
    given: dict[str, Any] = LOOK.given(values) | {"file": path}
    report = report_fields(LOOK, given)
    names = {column["role"]: column["name"] for column in report["columns"] if column["role"]}
    direction = LOOK.in_words(report.get("direction", ""))
    if names.get("source") and names.get("target"):
        _, semicolon, both_ways = direction.partition(";")
        direction = (
            f"each row goes from the place in \u201c{names['source']}\u201d to the place in "
            f"\u201c{names['target']}\u201d{semicolon}{both_ways}"
        )
    return {
        "direction": direction,
        "time_zone": LOOK.in_words(report.get("time_zone", "")),
        "ignored": LOOK.in_words(report.get("ignored", "")),
        "format": report["format"],
        "sample": _sample(values, names),
    }


def _sample(values: Values, names: Mapping[str, str | None]) -> dict[str, Any]:
    """Return simulated rows of public names, to show what a row means; none is of the file."""
    drawn = random.Random(1)  # noqa: S311  # of an illustration
    labels: list[Any] = ["Northfield", "Eastbrook", "Oldtown"]
    with suppress(GraphCutsError):
        public = _public_places(values)
        labels = list(public.labels[:50]) if public is not None else labels
    roles = [role for role in _ROLE_KEYS if role in names]
    rows = []
    for number in range(1, _SAMPLE + 1):
        cells = {"source": drawn.choice(labels), "target": drawn.choice(labels)}
        cells |= {"user": f"person {drawn.randint(1, 9)}", "period": _a_date(values, number)}
        rows.append([str(cells[role]) for role in roles])
    heads = [names[role] or _ROLE_KEYS[role] for role in roles]
    return {"names": heads, "means": [_ROLE_KEYS[role] for role in roles], "rows": rows}


def _a_date(values: Values, number: int) -> str:
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
    about = next(each for each in PRODUCTS["table"].offered if each.of is GroupColumns)
    columns = read_options(typed_value(about, values) or None, GroupColumns)
    found = GroupFile(groups=str(Path(path).expanduser()), groups_columns=columns).space(
        bipartite=False
    )
    return found if isinstance(found, VertexSet) else None


def counts_for_your_eyes(path: str, values: Values, program: tuple[str, ...]) -> dict[str, Any]:
    """Return how many rows would be left out, and why. NOT PRIVATE; it is kept nowhere.

    Args:
        path: of the private file.
        values: what was typed.
        program: the words that start this program.

    Raises:
        GraphCutsError: the file, or the public list, cannot be read.
    """
    names = _KEYS["names"]
    with tempfile.TemporaryDirectory() as folder:
        public = None if values.get(names) else _public_places(values)
        if public is not None:
            file = Path(folder) / "places.txt"
            file.write_text("".join(f"{label}\n" for label in public.labels), encoding="utf-8")
            values = {**values, names: str(file)}
        source = str(Path(path).expanduser().resolve())
        options = LOOK.option_words(values, Path(folder), (INPUT,))
        line = [*program, LOOK.command, source, *options, "--nonprivate", "--json"]
        try:
            ended = subprocess.run(  # noqa: S603  # our own program
                line, capture_output=True, text=True, check=False, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ParameterError(
                "the file is large, and its rows were not counted in time: go on without the count"
            ) from None
    if ended.returncode:
        raise ParameterError(ended.stderr.strip().rpartition("error: ")[2])
    told = json.loads(ended.stdout)
    faults = told.get("faults") or {}
    dated = any(_is_date_fault(fault) for fault in faults)
    return {
        "rows": told["rows"],
        "skipped": told.get("skipped"),
        "share": told.get("share_skipped"),
        "faults": [{"text": fault, "rows": count} for fault, count in faults.items()],
        "not_counted": told.get("not_counted"),
        "date_formats": DATE_EXAMPLES if dated else {},
    }


def _is_date_fault(fault: str) -> bool:
    """Return whether rows cannot be used because of how their dates are written."""
    return f"{_KEYS['date_format'].rpartition('.')[2]}=" in fault
