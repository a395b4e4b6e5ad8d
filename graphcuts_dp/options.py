"""Options that belong together, described once: name, default, range, unit and help of each.

An object of options is a frozen dataclass whose fields `option` makes. It is `Checked` when it is
made, and Python, the command line, HTTP, receipts and the tables of the docs are made from what
`described` tells of it: a new option is one field with its help text. A string may stand for an
object, in Python as on the command line: "steps=3", or "search:steps=3" where a table of several
kinds names them.

    >>> from dataclasses import dataclass
    >>> from graphcuts_dp.options import METHOD, Checked, option
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Search(Checked):
    ...     steps: int = option(10, help="Most steps of the search.", least=1, group=METHOD)
    >>> Search(steps=0)
    Traceback (most recent call last):
    graphcuts_dp.errors.ParameterError: steps must be a whole number from 1 on, not 0
    >>> from graphcuts_dp.options import read_options
    >>> read_options("steps=3", Search)
    Search(steps=3)
"""

import dataclasses
import inspect
import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from numbers import Real
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    final,
    get_args,
    get_origin,
    get_type_hints,
)

from graphcuts_dp.arrays import plain_number
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.former_names import KEYS, VALUES
from graphcuts_dp.plug_ins import PlugInTable

INPUT, PRIVACY, METHOD, OUTPUT = "Input", "Privacy", "Method", "Output"
GROUPS = (INPUT, PRIVACY, METHOD, OUTPUT)  # in which help lists them
_KEY = "option"
_SIMPLE = (bool, int, float, str)
_WORDS = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}
_YES = {"yes": True, "true": True, "no": False, "false": False}
# A comma within a value is typed \,; one that is all of it may stand alone, as in "decimal=,".
_COMMA = re.compile(r"(?<!\\),(?!(?<==,)(?:,|\Z))")
_FIRST = re.compile(r"([^=,:]+):(.*)", re.DOTALL)  # the first option, before a colon
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
        usual: whether a form asks for it at once; others stand behind "more".
        flag: what the command line calls it; None for the name with hyphens.
        metavar: what stands for the value in its help.
        parse: makes the value of a typed word; None where the kind tells how.
        commas: whether values may contain a comma, as in "2,p".
        of: of which objects the value is one, where it is an object of options itself: their class,
            or a table that names several.
    """

    name: str = ""
    kind: type | None = None
    optional: bool = False
    default: Any = None
    help: str = ""
    unit: str = ""
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    group: str = METHOD
    usual: bool = False
    flag: str | None = None
    metavar: str | None = None
    parse: Callable[[str], Any] | None = None
    commas: bool = False
    of: Any = None

    @property
    def key(self) -> str:
        """What it is called where it is typed."""
        return self.name.replace("_", "-")

    @property
    def switch(self) -> str:
        """What the command line calls it."""
        return self.flag.split()[-1] if self.flag else f"--{self.key}"

    @property
    def kinds(self) -> Mapping[str, Any]:
        """What makes its objects, by name; one without a name for a class alone.

        Those of plug-ins are left out, since they would be imported.
        """
        if isinstance(self.of, PlugInTable):
            return {name: self.of[name] for name in self.of.built_in}
        if isinstance(self.of, Mapping):
            return self.of
        return {} if self.of is None else {"": self.of}

    @property
    def typed(self) -> bool:
        """Whether a word can stand for its value."""
        return (self.kind or self.parse or self.of) is not None

    def read(self, text: str) -> Any:
        """The value of a word that was typed.

        Raises:
            ParameterError: it is no such value; ranges are for `check`.
        """
        if isinstance(self.of, Mapping):
            return chosen(text, self.of, self.name)
        if self.of is not None or self.parse is not None:
            return self.parse(text) if self.parse else read_options(text, self.of)
        if self.kind not in (bool, int, float):
            words = text.replace("-", " ")  # of a choice that has blanks
            return words if words in self.choices and text not in self.choices else text
        try:
            return _YES[text.lower()] if self.kind is bool else _number(text, self.kind)
        except (LookupError, ValueError):
            self.check(text)
            raise

    @property
    def text(self) -> str:
        """The help with the choices, unless they are typed in other words, and the unit."""
        named = self.choices if self.parse is None else ()
        words = f" One of: {', '.join(named)}." if named else ""
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
                raise ParameterError(no_choice(self.name, value, self.choices))
            return
        if self.kind is None:
            return
        if not self._is_of_kind(value) or not self._in_range(value):
            words = f"{_WORDS[self.kind]} {self.range}".rstrip()
            raise ParameterError(f"{self.name} must be {words}, not {value!r:.60}")

    def _is_of_kind(self, value: Any) -> bool:
        if self.kind is float:
            return is_number(value)
        return isinstance(value, self.kind or object) and (
            self.kind is bool or not isinstance(value, bool)
        )

    def _in_range(self, value: Any) -> bool:
        if self.kind not in (int, float):
            return True
        try:
            number = float(value)
        except OverflowError:  # a whole number that nothing could be made of
            return False
        return (
            not math.isnan(number)
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
        known: any of `unit`, `least`, `most`, `above`, `below`, `choices`, `group`, `usual`,
            `flag`, `metavar`, `parse` and `commas`, as in `Option`.
    """
    about = Option(default=default, help=help, **known)
    return dataclasses.field(default=default, metadata={_KEY: about})


input_option: partial[Any] = partial(option, group=INPUT)
privacy_option: partial[Any] = partial(option, group=PRIVACY)
output_option: partial[Any] = partial(option, group=OUTPUT)


def described(options: Any) -> tuple[Option, ...]:
    """All options of a class, of an object, or of a function, in their order.

    Those of a function are the parameters whose annotation holds an `Option`, or whose default
    `option` makes, as in commands; a partial one has those that are left.
    """
    given: set[str] = set()
    while isinstance(options, partial):
        given |= options.keywords.keys()
        options = options.func
    if dataclasses.is_dataclass(options):
        found = _fields(options if isinstance(options, type) else type(options))
    else:
        found = [
            _typed(dataclasses.replace(about, default=default), name, hint)
            for name, hint, default, about in _annotated(options)
        ]
    return tuple(each for each in found if each.name not in given)


@lru_cache
def _fields(kind: Any) -> list[Option]:
    """Of each field of a class that has one; kept, since every object of options is checked."""
    hints = get_type_hints(kind)
    return [
        _typed(field.metadata[_KEY], field.name, hints[field.name])
        for field in dataclasses.fields(kind)
        if _KEY in field.metadata
    ]


def _annotated(function: Any) -> Iterator[tuple[str, Any, Any, Option]]:
    """Of each parameter that has one: its name, type, default and option."""
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        hint, known = hints.get(name), []
        default: Any = parameter.default
        if isinstance(default, dataclasses.Field):
            default, known = default.default, [default.metadata[_KEY]]
        elif get_origin(hint) is Annotated:
            hint, *known = get_args(hint)
        for about in known:
            if isinstance(about, Option):
                missing = default is inspect.Parameter.empty
                yield name, hint, dataclasses.MISSING if missing else default, about


def is_number(value: Any) -> bool:
    """Whether something is a real number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_probability(name: str, value: float, *, zero: bool = False) -> None:
    """Refuse what does not lie between 0 and 1, or is no number.

    Args:
        name: of the parameter.
        value: that a user gave.
        zero: whether 0 will do.

    Raises:
        ParameterError: it will not do.
    """
    if not (is_number(value) and 0 <= value < 1 and (zero or value > 0)):
        words = "at least 0 and below 1" if zero else "between 0 and 1"
        raise ParameterError(f"{name} must be {words}, not {value!r:.60}")


def check_positive(**numbers: float) -> None:
    """Refuse what is not above 0, or not finite.

    Args:
        numbers: by the names of the parameters.

    Raises:
        ParameterError: one will not do.
    """
    for name, number in numbers.items():
        if not 0 < number < math.inf:
            raise ParameterError(f"{name} must be positive and finite, not {number!r:.60}")


def check(options: Any) -> None:
    """Check all options of an object: `Checked` does, or call it in `__post_init__`.

    Raises:
        ParameterError: a value is of another type, out of range, or none of the choices.
    """
    for each in described(options):
        each.check(getattr(options, each.name))


class Checked:
    """An object of options that checks itself when it is made."""

    def __post_init__(self) -> None:
        for about in described(self):
            object.__setattr__(self, about.name, plain_number(getattr(self, about.name)))
        check(self)


def chosen(given: str | T, kinds: Mapping[str, Callable[..., T]], what: str) -> T:
    """An object of options that a user gave, or that a string names: "name:key=value,key=value".

    Args:
        given: an object, or a string.
        kinds: what makes an object of a name.
        what: name of the parameter.

    Raises:
        ParameterError: an unknown name, or as `read_options`.
    """
    if not isinstance(given, str):
        return given
    name, colon, rest = given.partition(":")
    if name not in kinds:
        raise ParameterError(no_choice(what, name, kinds))
    return read_options(rest if colon else None, kinds[name], name)


def read_options(text: str | None, kind: Callable[..., T], name: str = "") -> T:
    """An object of options from one string: "key=value,key=value".

    A key alone says yes. The first option may be given without its key, with a colon after it
    where no name of a table stands there: "exact:steps=3". Keys have hyphens or underscores; a
    comma within a value is typed `\\,`; one that is the whole value may stand alone: "key=,".
    Values of an option with `commas` may contain plain ones: "norm=2,p".

    Args:
        text: what was typed; None for the defaults.
        kind: what makes the object; it is `described`.
        name: of the kind, for messages.

    Raises:
        ParameterError: an unknown key, one that is given twice or missing, or as the kind refuses.
    """
    known = {each.key: each for each in described(kind) if each.typed}
    parts = [] if text is None else _COMMA.split(text)
    leading = None if name or text is None else _FIRST.fullmatch(text)
    if leading is not None:
        parts = [leading[1], *_COMMA.split(leading[2])]
    values: dict[str, Any] = {}
    for place, part in enumerate(_with_commas(parts, known)):
        key, equals, value = part.strip().partition("=")
        key = key.strip().replace("_", "-")
        if not equals and key in known and known[key].kind is bool:
            value = "yes"
        elif not equals and place == 0 and known:
            key, value = next(iter(known)), part.strip()
        if key not in known or (not equals and not value):
            raise ParameterError(_no_key(key, known, name))
        about = known[key]
        if about.name in values:
            raise ParameterError(f"{key} is given twice")
        values[about.name] = about.read(value.strip().replace("\\,", ","))
    missing = [
        each.key
        for each in known.values()
        if each.default is dataclasses.MISSING and each.name not in values
    ]
    if missing:
        raise ParameterError(f"give {' and '.join(missing)}, for example {missing[0]}=...")
    return kind(**values)


def _with_commas(parts: Iterable[str], known: Mapping[str, Option]) -> list[str]:
    """Join what a comma inside a value has parted, where the option allows commas.

    Args:
        parts: what stood between commas.
        known: the options, by key.
    """
    joined: list[str] = []
    for part in parts:
        previous = joined[-1].partition("=")[0].strip().replace("_", "-") if joined else ""
        is_option = "=" in part or part.strip().replace("_", "-") in known
        if previous in known and known[previous].commas and not is_option:
            joined[-1] += f",{part}"
        else:
            joined.append(part)
    return joined


def no_choice(option: str, word: Any, choices: Iterable[str]) -> str:
    """Say that a word is none of the choices; of a former one, what it is called now."""
    now = VALUES.get(option, {}).get(word) if isinstance(word, str) else None
    if now is not None:
        return f"{option}={word!r} is now called {now!r}"
    return f"unknown {option}={word!r:.60}; choose one of {', '.join(map(repr, choices))}"


def _no_key(key: str, known: Mapping[str, Option], name: str) -> str:
    of = f" of {name!r}" if name else ""
    if key in known:
        return f"{key}{of} needs a value: {key}=..."
    for former in KEYS.values():
        if former.get(key) in known:
            return f"{key}{of} is now called {former[key]}"
    there = f"there is: {', '.join(known)}" if known else "there is none"
    return f"unknown option {key!r:.60}{of}; {there}"


def _number(text: str, kind: Any) -> Any:
    """A number; a whole one may be written as 1e6."""
    try:
        return kind(text)
    except ValueError:
        number = float(text)
        if kind is int and number.is_integer():
            return int(number)
        raise


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
