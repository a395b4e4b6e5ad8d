"""Types and shapes of the arrays of saved results, as far as their receipts determine them.

The arrays of a result come from a file that anybody may have written. `check_forms` compares the
headers of that file with the receipt before an array is unpacked: each array must have a name and a
type that results of its kind have, and the length that follows from the vertices, pairs and cells
of the receipt. So everything that is computed from the arrays is as large as the receipt says, and
as what was unpacked.

A form is a tuple of lengths. A length is a number, or None where the receipt does not determine it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from graphcuts_dp.array_archive import ArrayForm
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.estimate.kept_edges import KeptEdges
from graphcuts_dp.estimate.measurement import map_kind
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.estimate.time_strategy import TimeStrategy

# Types of entries, as `dtype.str` has them without the byte order.
_BYTE, _INTEGER, _FLOAT = ("u1",), ("i8",), ("f8",)
_ROW = ("i4",)  # row or column number of a vertex
_INTEGER_OR_TEXT = ("i8", "U")  # integers of any size are stored as text
_ANY_INTEGER = ("i1", "i2", "i4", "i8", "u1", "u2", "u4")
_TEXT = ("U",)
# Readers keep these as arrays, and make lists of Python objects of all others.
_KEPT_AS_ARRAYS = (f"{NoisyMatrix.name}/values", "weights", "matrix", "picture")
TABLES_OF_CELLS = ("flows", "flows over time")  # kinds whose table has a row for each cell
_LONGEST_TEXT = 1000  # characters of each text of an array
_LEAST_CELL_BYTES = 8  # of a row of such a table
_JSON_FIELDS = 16  # values beside the labels in the JSON of the vertices of a release
_QUOTED = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')  # a text of JSON


class Expected(NamedTuple):
    """The form that an array must have.

    Attributes:
        types: that its entries may have.
        shape: its lengths; None for a length that the receipt does not determine.
        optional: whether the array may be missing.
    """

    types: tuple[str, ...]
    shape: tuple[int | None, ...]
    optional: bool = False


def check_forms(
    kind: str, fields: Mapping[str, Any], forms: Mapping[str, ArrayForm], *, table_bytes: int
) -> None:
    """Check that the arrays of a result are those that its receipt describes.

    Args:
        kind: of the result.
        fields: of its receipt, checked by `receipts.check_fields`.
        forms: of all arrays of the file.
        table_bytes: size of the table that belongs to the result, if there is one.

    Raises:
        FileFormatError: an array is missing, or has another name, type or shape.
    """
    arrays_of = {
        "release": _release,
        "flows": _flows,
        "flows over time": _flows_over_time,
        "partition": _partition,
    }.get(kind, _iterative)
    expected = arrays_of(fields, forms)
    for name, form in forms.items():
        if name not in expected or not _fits(form, expected[name]):
            raise FileFormatError(f"the array {name!r:.60} is not one that the receipt describes")
    for name, array in expected.items():
        if name not in forms and not array.optional:
            raise FileFormatError(f"the array {name!r} is missing")
    if kind in TABLES_OF_CELLS:
        # "steps 0", "steps 1", ... are the arrays of the levels, see `_counts`.
        cells = sum(form.shape[0] for name, form in forms.items() if name.startswith("steps "))
        if cells * _LEAST_CELL_BYTES > table_bytes:
            raise FileFormatError("there are more cells than the table has rows")


def _release(fields: Mapping[str, Any], forms: Mapping[str, ArrayForm]) -> dict[str, Expected]:
    """Return the arrays of a release."""
    rows, columns = fields["shape"]
    symmetric = not fields["bipartite"] and not fields["directed"]
    if fields["bipartite"] and not fields["directed"]:
        pairs = rows * columns
    else:
        if rows != columns:
            raise FileFormatError("a matrix of one vertex set has as many columns as rows")
        pairs = rows * (rows - 1) // (2 if symmetric else 1)
    expected = {
        "header": Expected(_BYTE, (None,), optional=True),
        "about": Expected(_BYTE, (None,)),
        "weights": Expected(("u2", *_FLOAT), (rows, columns), optional=True),
    }
    side_sizes = (rows,) if symmetric else (rows, columns)
    for name, measurement in fields["measurements"].items():
        if name == NoisyMatrix.name:
            has_bits = measurement["noise"] == "binary"  # 8 in a byte
            length = -(-pairs // 8) if has_bits else pairs
            expected[f"{name}/values"] = Expected(_ANY_INTEGER, (length,))
        elif name == KeptEdges.name:
            kept_count = _length(forms, f"{name}/rows")
            expected[f"{name}/rows"] = expected[f"{name}/columns"] = Expected(_ROW, (kept_count,))
            expected[f"{name}/steps"] = Expected(_INTEGER, (kept_count,))
        else:
            arrays = _counts(map_kind(name, measurement), measurement, side_sizes)
            expected |= {f"{name}/{key}": array for key, array in arrays.items()}
    if fields["model"] is not None:
        expected |= {f"model/{key}": array for key, array in _model(side_sizes, forms).items()}
    return expected


def _length(forms: Mapping[str, ArrayForm], name: str) -> int | None:
    """Return the length of an array, which others must have, too; None if it is missing."""
    form = forms.get(name)
    return form.shape[0] if form is not None and form.shape else None


def _counts(
    kind: str, measurement: Mapping[str, Any], side_sizes: tuple[int, ...] = ()
) -> dict[str, Expected]:
    """Return the arrays of measured counts.

    Args:
        kind: of their map.
        measurement: fields of the measurement.
        side_sizes: number of vertices of each side; empty if the receipt does not have them.
    """
    lengths: list[int | None]
    if kind == "total":
        lengths = [1]
    elif kind == "degrees":
        lengths = [*side_sizes]
    elif kind == "cell sums":
        lengths = [*_cell_counts(measurement)]
    else:
        lengths = [None] * len(measurement["parameters"])
    prefixes = ["steps"]
    if measurement.get("look") is not None:  # of a coarse copy, see `estimate.looks.Look`
        prefixes += ["look", "fresh"]
    expected = {
        f"{prefix} {index}": Expected(_INTEGER_OR_TEXT, (length,))
        for prefix in prefixes
        for index, length in enumerate(lengths)
    }
    if kind == "weight classes":
        expected["lower"] = Expected(_INTEGER, (None,))
    if kind == "cell sums":
        for index, vertices in enumerate(side_sizes):
            expected[f"codes {index}"] = Expected(_INTEGER, (vertices,), optional=True)
    return expected


def _cell_counts(measurement: Mapping[str, Any]) -> list[int]:
    """Return the number of cells of each measured level, and of margins if these were measured.

    The cells are those of `CellTree`, which would take memory for each of them.

    Raises:
        FileFormatError: a measured level does not exist.
    """
    one_set = measurement["columns"] is None
    rows = measurement["rows"]["levels"]
    columns = rows if one_set else measurement["columns"]["levels"]
    periods = measurement["periods"] or {"levels": []}
    period_counts = [len(level["labels"]) for level in periods["levels"]]
    cell_counts = [1]  # of the root, in all periods together
    for row_level, column_level in zip(rows, columns, strict=False):
        row_count, column_count = len(row_level["labels"]), len(column_level["labels"])
        cells = row_count * column_count
        if one_set:
            if not measurement["directed"]:
                cells = row_count * (row_count + 1) // 2
            if not measurement["loops"]:  # a group of one vertex has no pair inside
                cells -= sum(size == 1 for size in row_level["sizes"])
        cell_counts.append(cells * (period_counts[0] if period_counts else 1))
    # Finer periods divide the cells of the finest groups.
    if period_counts:
        cells_of_finest_groups = cell_counts[-1] // period_counts[0]
        cell_counts += [cells_of_finest_groups * count for count in period_counts[1:]]
    measured = measurement["measured_levels"]
    if not measured or measured[-1] != len(cell_counts) - 1 or measured != sorted(set(measured)):
        raise FileFormatError("the measured levels are not levels of its groups")
    measured_counts = [cell_counts[level_index] for level_index in measured]
    if measurement.get("margins"):
        margins = len(rows[-1]["labels"])
        if not one_set or measurement["directed"]:
            margins += len(columns[-1]["labels"])
        measured_counts.append(margins * (period_counts[-1] if period_counts else 1))
    return measured_counts


def _model(side_sizes: tuple[int, ...], forms: Mapping[str, ArrayForm]) -> dict[str, Expected]:
    """Return the arrays of the model of a sparse release."""
    kept_count, points = _length(forms, "model/rows"), _length(forms, "model/left_points")
    expected = {name: Expected(_ROW, (kept_count,)) for name in ("rows", "columns")}
    expected |= {name: Expected(_FLOAT, (kept_count,)) for name in ("weights", "spread", "chances")}
    for side, vertices in zip(("row", "column"), side_sizes, strict=False):
        expected[f"{side}_codes"] = Expected(_INTEGER, (vertices,))
        expected[f"{side}_factors"] = expected[f"{side}_spread"] = Expected(_FLOAT, (vertices,))
    expected["blocks"] = Expected(_FLOAT, (None, None))
    expected["left_points"] = expected["left_shares"] = Expected(_FLOAT, (points,))
    expected["left"] = Expected(_FLOAT, (2,))
    return expected


def _flows(fields: Mapping[str, Any], forms: Mapping[str, ArrayForm]) -> dict[str, Expected]:
    """Return the arrays of flows."""
    del forms
    header = {"header": Expected(_BYTE, (None,), optional=True)}
    return header | _counts("cell sums", fields["sums"])


def _flows_over_time(
    fields: Mapping[str, Any], forms: Mapping[str, ArrayForm]
) -> dict[str, Expected]:
    """Return the arrays of flows over time: a part for each level of the strategy."""
    del forms
    sums = fields["sums"]
    sums_of_period = {**sums, "periods": None, "measured_levels": [len(sums["rows"]["levels"])]}
    (cells,) = _cell_counts(sums_of_period)
    strategy = TimeStrategy(name=sums["strategy"], periods=tuple(sums["horizon"]))
    numbers = (level.count(sums["published"]) for level in strategy.levels)
    return {"header": Expected(_BYTE, (None,), optional=True)} | {
        f"steps {index}": Expected(_INTEGER, (cells * count,))
        for index, count in enumerate(numbers)
    }


def _partition(fields: Mapping[str, Any], forms: Mapping[str, ArrayForm]) -> dict[str, Expected]:
    """Return the arrays of a partition."""
    bins = _length(forms, "picture")
    (vertices,) = _vertex_counts(fields)[:1]
    return {
        "header": Expected(_BYTE, (None,), optional=True),
        "codes": Expected(_INTEGER, (vertices,)),
        "picture": Expected(_FLOAT, (bins, bins), optional=True),
        "bins": Expected(_INTEGER, (None,), optional=True),
        "tree": Expected(_FLOAT, (vertices - 1, 4), optional=True),
    }


def _vertex_counts(fields: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the number of vertices of each side, from the labels or a count.

    Raises:
        FileFormatError: a side is empty, or the number of sides is wrong.
    """
    sizes = tuple(side if isinstance(side, int) else len(side) for side in fields["vertices"])
    if len(sizes) != (2 if fields["bipartite"] else 1) or 0 in sizes:
        raise FileFormatError("a side has no vertices, or the number of sides is wrong")
    return sizes


def _iterative(fields: Mapping[str, Any], forms: Mapping[str, ArrayForm]) -> dict[str, Expected]:
    """Return the arrays of an iterative release."""
    side_sizes = _vertex_counts(fields)
    rows, columns = side_sizes[0], side_sizes[-1]
    pairs = rows * columns
    if len(side_sizes) == 1:
        pairs = rows * (rows - 1) // (1 if fields["directed"] else 2)
    answers, kind = _length(forms, "value"), fields["list"]["kind"]
    expected = {
        "header": Expected(_BYTE, (None,), optional=True),
        # Without any answer, numpy stores floats.
        "round": Expected(("i8", "f8"), (answers,)),
        "value": Expected(_FLOAT, (answers,)),
        "updated": Expected(("b1", "f8"), (answers,)),
        "estimate": Expected(_FLOAT, (answers,)),
        "matrix": Expected(_FLOAT, (rows, columns), optional="graph" not in fields),
        "facets": Expected(_INTEGER, (None, answers), optional=True),
    }
    # The index of each answer's query in the list; stored files have this name.
    expected["places"] = Expected(_INTEGER, (answers,), optional=True)
    if kind == "cuts":  # a bit for each vertex, in words of 64
        queries = _length(forms, "list_S")
        expected["list_S"] = Expected(("u8",), (queries, -(-rows // 64)))
        expected["list_T"] = Expected(("u8",), (queries, -(-columns // 64)))
    elif kind == "digests":
        expected["list_digests"] = Expected(_BYTE, (None, 32))
    elif kind == "questions":
        queries = _length(forms, "list_rows")
        expected["list_rows"] = Expected(_FLOAT, (queries, pairs))
        expected["list_statistics"] = Expected(_TEXT, (queries,))
    return expected


def _fits(form: ArrayForm, expected: Expected) -> bool:
    """Return whether an array has the form that it must have."""
    name = form.dtype.str[1:]  # without the byte order
    if form.dtype.kind == "U":
        fits = "U" in expected.types and form.dtype.itemsize <= 4 * _LONGEST_TEXT
    else:
        fits = name in expected.types
    return (
        fits
        and len(form.shape) == len(expected.shape)
        and all(
            length in (None, actual)
            for length, actual in zip(expected.shape, form.shape, strict=True)
        )
    )


def check_lists(forms: Mapping[str, ArrayForm], *, limit: int) -> None:
    """Check the size of the arrays that become lists of Python objects.

    Such objects take up to thirty times the memory of the array; `_KEPT_AS_ARRAYS` stay arrays.

    Args:
        forms: of all arrays of a file.
        limit: most bytes of all lists together.

    Raises:
        FileFormatError: the lists have more bytes.
    """
    listed = sum(form.nbytes for name, form in forms.items() if name not in _KEPT_AS_ARRAYS)
    if listed > limit:
        raise FileFormatError(
            f"its lists unpack to {listed:,} bytes, as bombs do; at most {limit:,} are allowed for "
            "its size"
        )


def check_label_count(stored: bytes, sides: Iterable[int]) -> None:
    """Check that JSON has no more vertices than the receipt says, before it is parsed.

    Lists of millions of empty lists are short as text, and long in memory.

    Args:
        stored: an object of JSON with the vertices.
        sides: number of vertices of each side.

    Raises:
        FileFormatError: there are more values.
    """
    without_texts = _QUOTED.sub(b"", stored)
    values = sum(without_texts.count(mark) for mark in (b",", b"[", b"{"))
    if values > sum(sides) + _JSON_FIELDS:
        raise FileFormatError("there are more vertices than the receipt says")
