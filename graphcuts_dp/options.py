"""Options that belong together, described once: name, default, range, unit and help of each.

An object of options is a frozen dataclass whose fields `option` makes. It checks itself when it is
made, and Python, the command line, HTTP, receipts and the tables of the docs are made from what
`described` tells of it: a new option is one field with its help text.

    >>> from dataclasses import dataclass
    >>> from graphcuts_dp.options import METHOD, check, option
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Search:
    ...     steps: int = option(10, help="Most steps of the search.", least=1, group=METHOD)
    ...     def __post_init__(self) -> None:
    ...         check(self)
    >>> Search(steps=0)
    Traceback (most recent call last):
    graphcuts_dp.errors.ParameterError: steps must be a whole number from 1 on, not 0
"""

import dataclasses
import math
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeVar, Union, final, get_args, get_origin, get_type_hints

from graphcuts_dp.errors import ParameterError

INPUT, PRIVACY, METHOD, OUTPUT = "Input", "Privacy", "Method", "Output"
GROUPS = (INPUT, PRIVACY, METHOD, OUTPUT)  # in which help lists them
_KEY = "option"
_SIMPLE = (bool, int, float, str)
_WORDS = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}
T = TypeVar("T")


@final
@dataclass(frozen=True, kw_only=True)
class Option:
    """What is known of a field.

    Attributes:
        name: of the field, as Python writes it.
        kind: bool, int, float or str; None for what is none of these, which its class checks.
        optional: whether None may stand in place of a value.
        default: `dataclasses.MISSING` where a value has to be given.
        help: one sentence.
        unit: of the number, such as "seconds".
        least: smallest value.
        most: largest value.
        above: all values are larger.
        below: all values are smaller.
        choices: the only words; empty where any will do. An object may stand in their place where
            the kind is None.
        group: one of `GROUPS`.
        flag: what the command line calls it; None for the name with hyphens.
        metavar: what stands for the value in its help.
        parse: makes the value of a typed word; None where the kind tells how.
    """

    name: str = ""
    kind: type | None = None
    optional: bool = False
    default: Any = dataclasses.MISSING
    help: str = ""
    unit: str = ""
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    group: str = METHOD
    flag: str | None = None
    metavar: str | None = None
    parse: Callable[[str], Any] | None = None

    @property
    def text(self) -> str:
        """The help with the choices and the unit."""
        words = f" One of: {', '.join(self.choices)}." if self.choices else ""
        return self.help + words + (f" In {self.unit}." if self.unit else "")

    @property
    def range(self) -> str:
        """The numbers that will do, in words: "above 0 and at most 1"."""
        if self.least is not None and (self.most, self.below) == (None, None):
            return f"from {self.least:g} on"
        named = (
            ("above {:g}", self.above),
            ("at least {:g}", self.least),
            ("below {:g}", self.below),
            ("at most {:g}", self.most),
        )
        return " and ".join(words.format(each) for words, each in named if each is not None)

    def check(self, value: Any) -> None:
        """Check a value.

        Raises:
            ParameterError: it is of another type, out of range, or none of the choices.
        """
        if value is None and self.optional:
            return
        if self.choices and (self.kind is not None or isinstance(value, str)):
            if value not in self.choices:
                names = ", ".join(map(repr, self.choices))
                raise ParameterError(f"unknown {self.name}={value!r:.60}; choose one of {names}")
            return
        if self.kind is None:
            return
        if not self._is_of_kind(value) or not self._in_range(value):
            words = f"{_WORDS[self.kind]} {self.range}".rstrip()
            raise ParameterError(f"{self.name} must be {words}, not {value!r:.60}")

    def _is_of_kind(self, value: Any) -> bool:
        if self.kind is float:
            return isinstance(value, Real) and not isinstance(value, bool)
        return isinstance(value, self.kind or object) and (
            self.kind is bool or not isinstance(value, bool)
        )

    def _in_range(self, value: Any) -> bool:
        if self.kind not in (int, float):
            return True
        return (
            not math.isnan(value)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )


def option(default: Any = dataclasses.MISSING, *, help: str, **known: Any) -> Any:  # noqa: A002
    """A field of an object of options.

    Args:
        default: its value where none is given; without it, one has to be given.
        help: one sentence that says what it does.
        known: any of `unit`, `least`, `most`, `above`, `below`, `choices`, `group`, `flag`,
            `metavar` and `parse`, as in `Option`.
    """
    about = Option(default=default, help=help, **known)
    return dataclasses.field(default=default, metadata={_KEY: about})


def described(options: Any) -> tuple[Option, ...]:
    """All options of a class, or of an object, in the order of its fields."""
    kind = options if isinstance(options, type) else type(options)
    hints = get_type_hints(kind)
    return tuple(
        _typed(field.metadata[_KEY], field.name, hints[field.name])
        for field in dataclasses.fields(kind)
        if _KEY in field.metadata
    )


def check(options: Any) -> None:
    """Check all options of an object: call it in `__post_init__`.

    Raises:
        ParameterError: a value is of another type, out of range, or none of the choices.
    """
    for each in described(options):
        each.check(getattr(options, each.name))


def chosen(given: str | T, kinds: Mapping[str, Callable[[], T]], what: str) -> T:
    """An object of options that a user gave, or that a name selects with its defaults.

    Args:
        given: an object, or a name.
        kinds: what makes an object of a name.
        what: name of the parameter.

    Raises:
        ParameterError: an unknown name.
    """
    if not isinstance(given, str):
        return given
    if given not in kinds:
        names = ", ".join(map(repr, kinds))
        raise ParameterError(f"unknown {what} {given!r:.60}; choose one of {names}")
    return kinds[given]()


def _typed(known: Option, name: str, hint: Any) -> Option:
    """What is known of a field, with what its annotation tells."""
    parts: Iterable[Any] = (hint,)
    if get_origin(hint) in (Union, types.UnionType):
        parts = get_args(hint)
    kinds = [part for part in parts if part is not type(None)]
    kind, choices = kinds[0] if len(kinds) == 1 else None, known.choices
    if get_origin(kind) is Literal:
        kind, choices = str, choices or get_args(kind)
    return dataclasses.replace(
        known,
        name=name,
        kind=kind if kind in _SIMPLE else None,
        optional=type(None) in parts,
        choices=choices,
    )
