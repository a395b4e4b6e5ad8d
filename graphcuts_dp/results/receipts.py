"""Check the fields of receipts: the JSON files beside saved results.

A receipt may come from anybody: its digest shows damage, but anybody can compute one. So
`check_fields` compares all fields that a reader of results uses with the classes of
`receipt_fields`, before any of them is used: their types, their ranges, and that numbers are
finite.

A reader still has to check that fields fit together: for example, that the sizes of groups add up
to the number of vertices, or shares to a budget.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.estimate.kept_edges import KeptEdges
from graphcuts_dp.estimate.mean_square import SquaredDistance
from graphcuts_dp.estimate.measurement import map_kind
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.results.receipt_fields import (
    AnswersReceipt,
    CellsFields,
    CertificateFields,
    CountsFields,
    EntriesFields,
    FitFields,
    FlowsOverTimeReceipt,
    FlowsReceipt,
    GridFields,
    IterativeAccuracyFields,
    IterativeReceipt,
    IterativeSettingsFields,
    KeptEdgesFields,
    NetLawFields,
    NonlinearFields,
    OverTimeFields,
    PartitionFields,
    PartitionOptionsFields,
    PartitionReceipt,
    Pattern,
    RandomHalvesFields,
    Range,
    Receipt,
    ReleaseReceipt,
    SquaredDistanceFields,
    WeightClassesFields,
)

_LONGEST_TEXT = 1_000_000  # characters
_MOST_QUOTED = 60  # characters of a name of a field, in messages
Model = TypeVar("Model")
_TYPE_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
# By the kind of a result, as `bundle.KINDS` has them.
RECEIPTS: Mapping[str, type[Receipt]] = {
    "release": ReleaseReceipt,
    "flows": FlowsReceipt,
    "flows over time": FlowsOverTimeReceipt,
    "iterative construction": IterativeReceipt,
    "answers": AnswersReceipt,
    "partition": PartitionReceipt,
    "distances": Receipt,
}
# Models of measured counts, by the kind of their map; `CountsFields` of others.
_COUNTS: Mapping[str, type[CountsFields]] = {
    "weight classes": WeightClassesFields,
    "nonlinear counts": NonlinearFields,
    "cell sums": CellsFields,
    "sums over time": OverTimeFields,
    SquaredDistance.kind: SquaredDistanceFields,
}
# Models of objects without further fields: readers pass all fields of these to a class.
_CLOSED = frozenset(
    {
        CertificateFields,
        FitFields,
        IterativeAccuracyFields,
        IterativeSettingsFields,
        NetLawFields,
        PartitionFields,
        PartitionOptionsFields,
        RandomHalvesFields,
        GridFields,
    }
)


class _WrongFieldError(ValueError):
    """The error that a value does not fit its model; it says where, and what is expected."""


def check_fields(kind: str, stored: Mapping[str, Any]) -> Receipt:
    """Check all fields of a receipt that a reader uses.

    Args:
        kind: of the result, one of `RECEIPTS`.
        stored: the fields of the receipt.

    Returns:
        The fields as objects of the classes of `receipt_fields`.

    Raises:
        FileFormatError: a field is missing, of another type, out of its range, or not finite; the
            message names the field.
    """
    try:
        receipt: Receipt = _checked(RECEIPTS[kind], stored, "")
        if isinstance(receipt, ReleaseReceipt):
            for name, measurement in receipt.measurements.items():
                where = f"measurements.{name}"
                if not isinstance(measurement, dict):
                    raise _WrongFieldError(f"{where:.{_MOST_QUOTED}} must be an object")
                _checked(measurement_model(name, measurement), measurement, where)
    except LookupError:
        raise FileFormatError("its field measurements has an unknown measurement") from None
    except _WrongFieldError as problem:
        raise FileFormatError(f"its field {problem}") from None
    return receipt


def _checked(hint: Any, value: Any, where: str) -> Any:
    """Return a value of JSON as a value of a type, checked.

    Args:
        hint: a type of Python, one with a range or a pattern, or a class of `receipt_fields`.
        value: of JSON.
        where: the names of the fields that lead to the value, with dots between them.

    Raises:
        _WrongFieldError: the value is not of this type.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind, rule = arguments
        return _checked_number_or_text(kind, rule, value, where)
    if hint in _TYPE_NAMES:
        return _checked_plain(hint, value, where)
    if hint is Any:
        return value
    if origin is Literal:
        if not any(type(value) is type(choice) and value == choice for choice in arguments):
            choices = " or ".join(map(str, arguments))
            raise _WrongFieldError(f"{where:.{_MOST_QUOTED}} must be {choices}")
        return value
    if origin is list:
        return _checked_list(arguments[0], value, where)
    if origin is tuple:
        if not isinstance(value, list) or len(value) != len(arguments):
            raise _WrongFieldError(f"{where:.{_MOST_QUOTED}} must be a list of {len(arguments)}")
        pairs = zip(arguments, value, strict=True)
        return tuple(_checked(item_hint, item, f"{where}[]") for item_hint, item in pairs)
    if origin is dict:
        if not isinstance(value, dict):
            raise _WrongFieldError(f"{where:.{_MOST_QUOTED}} must be an object")
        return {
            _checked_plain(str, name, where): _checked(arguments[1], item, f"{where}.{name}")
            for name, item in value.items()
        }
    if hint in (None, type(None)):
        if value is not None:
            raise _WrongFieldError(f"{where:.{_MOST_QUOTED}} must be null")
        return None
    if isinstance(hint, type):
        return _checked_object(hint, value, where)
    return _checked_union(arguments, value, where)


def _checked_number_or_text(hint: type, rule: Range | Pattern, value: Any, where: str) -> Any:
    """Return a number in a range, or a text of a form; see `_checked`."""
    _checked_plain(hint, value, where)
    if isinstance(rule, Pattern):
        if not rule.expression.fullmatch(value):
            raise _WrongFieldError(f"{where:.{_MOST_QUOTED}} must be {rule.name}")
    elif not rule.holds(value):
        raise _WrongFieldError(f"{where:.{_MOST_QUOTED}} must be {_TYPE_NAMES[hint]} {rule}")
    return value


def _checked_plain(hint: type, value: Any, where: str) -> Any:
    """Return a truth value, a number or a text, checked; see `_checked`."""
    types = (int, float) if hint is float else (hint,)
    if type(value) not in types:
        raise _WrongFieldError(f"{where:.{_MOST_QUOTED}} must be {_TYPE_NAMES[hint]}")
    if hint is str and not _is_writable(value):
        raise _WrongFieldError(f"{where:.{_MOST_QUOTED}} is too long, or no text of Unicode")
    return value


def _is_writable(text: str) -> bool:
    """Return whether a text can be written as UTF-8, and is not too long."""
    try:
        text.encode()
    except UnicodeEncodeError:  # one half of a pair of surrogates
        return False
    return len(text) <= _LONGEST_TEXT


def _checked_list(hint: Any, value: Any, where: str) -> list[Any]:
    """Return a list, checked; see `_checked`. Long lists of whole numbers are checked quickly."""
    if not isinstance(value, list):
        raise _WrongFieldError(f"{where:.{_MOST_QUOTED}} must be a list")
    if get_origin(hint) is Annotated and set(map(type, value)) == {int}:
        _, rule = get_args(hint)
        if isinstance(rule, Range) and rule.holds(min(value)) and rule.holds(max(value)):
            return value
    return [_checked(hint, item, f"{where}[]") for item in value]


def _checked_object(model: type[Model], value: Any, where: str) -> Model:
    """Return an object of a class of `receipt_fields`, checked; see `_checked`."""
    if not isinstance(value, dict):
        raise _WrongFieldError(f"{where:.{_MOST_QUOTED}} must be an object")
    values: dict[str, Any] = {}
    hints = _hints(cast(Any, model))
    prefix = f"{where}." if where else ""
    for field in fields(model):  # type: ignore[arg-type]
        if field.name in value:
            values[field.name] = _checked(
                hints[field.name], value[field.name], f"{prefix}{field.name}"
            )
        elif field.default is MISSING:
            raise _WrongFieldError(f"{prefix:.{_MOST_QUOTED}}{field.name} is missing")
    if model in _CLOSED and len(values) < len(value):
        raise _WrongFieldError(f"{where:.{_MOST_QUOTED}} has fields that are unknown")
    return model(**values)


@cache
def _hints(model: Any) -> dict[str, Any]:
    """Return the types of the fields of a class of `receipt_fields`."""
    return get_type_hints(model, include_extras=True)


def _checked_union(hints: tuple[Any, ...], value: Any, where: str) -> Any:
    """Return a value of one of several types, checked; errors are those of the last type."""
    if value is None and type(None) in hints:
        return None
    value_hints = [hint for hint in hints if hint is not type(None)]
    for hint in value_hints[:-1]:
        try:
            return _checked(hint, value, where)
        except _WrongFieldError:
            continue
    return _checked(value_hints[-1], value, where)


def measurement_model(name: str, stored: Mapping[str, Any]) -> type[Any]:
    """Return the class that models the fields of a measurement.

    Args:
        name: of the measurement.
        stored: its fields.

    Raises:
        LookupError: counts of an unknown kind.
    """
    if name == NoisyMatrix.name:
        return EntriesFields
    if name == KeptEdges.name:
        return KeptEdgesFields
    return _COUNTS.get(map_kind(name, stored), CountsFields)
