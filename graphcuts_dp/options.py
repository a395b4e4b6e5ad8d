"""Describe an option once: its name, default, range, unit and help.

An options object is a frozen dataclass whose fields are made by `option`. It is `Checked` at its
construction. Python, the command line, HTTP, receipts and the tables of the docs all use what
`described` returns, so a new option is one field with its help text. In Python and on the command
line a string may replace an object: "steps=3", or "search:steps=3" where a table has several kinds.

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
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
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
_EXAMPLES: Mapping[type | None, str] = {int: "10", float: "0.05"}  # of required numbers
_YES = {"yes": True, "true": True, "no": False, "false": False}
# A comma within a value is typed \,; one that is all of it may stand alone, as in "decimal=,".
_COMMA = re.compile(r"(?<!\\),(?!(?<==,)(?:,|\Z))")
_FIRST = re.compile(r"([^=,:]+):(.*)", re.DOTALL)  # the first option, before a colon
T = TypeVar("T")


@final
@dataclass(frozen=True, kw_only=True)
class Option:
    """Describe one field of an options object, or one parameter of a command.

    Attributes:
        name: name of the field in Python.
        kind: bool, int, float or str; None for other types, which the class of the options checks.
        optional: whether None is allowed.
        default: default value; `dataclasses.MISSING` if a value is required.
        help: one sentence.
        unit: unit of the number, such as "seconds".
        least: smallest value.
        most: largest value.
        above: exclusive lower bound.
        below: exclusive upper bound.
        choices: the allowed words; empty if every word is allowed. If the kind is None, an object
            is allowed as well.
        group: one of `GROUPS`.
        usual: whether a form shows it at once; others are behind "more".
        flag: flag of the command line; None for "--" and the name with hyphens.
        metavar: placeholder of the value in the help.
        parse: converts a typed word to the value; None if the kind determines how.
        commas: whether values may contain a comma, as in "2,p".
        of: class of the value if the value is an options object itself, or a table of such classes
            by name.
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
        """Return the name as it is typed, with hyphens."""
        return self.name.replace("_", "-")

    @property
    def switch(self) -> str:
        """Return the flag of the command line."""
        return self.flag.split()[-1] if self.flag else f"--{self.key}"

    @property
    def kinds(self) -> Mapping[str, Any]:
        """Return the classes of the value by name; a single class has the name "".

        Plug-ins are left out, since this would import them.
        """
        if isinstance(self.of, PlugInTable):
            return {name: self.of[name] for name in self.of.built_in}
        if isinstance(self.of, Mapping):
            return self.of
        return {} if self.of is None else {"": self.of}

    @property
    def typed(self) -> bool:
        """Return whether the value can be typed."""
        return (self.kind or self.parse or self.of) is not None

    def read(self, text: str) -> Any:
        """Convert a typed word to a value.

        Raises:
            ParameterError: the word is no such value; `check` tests ranges.
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
        """Return the help with the unit and, if they are typed as they are, the choices."""
        choices = self.choices if self.parse is None else ()
        listed = f" One of: {', '.join(choices)}." if choices else ""
        return self.help + listed + (f" In {self.unit}." if self.unit else "")

    @property
    def range(self) -> str:
        """Return the allowed numbers in words: "above 0 and at most 1"."""
        if self.least is not None and (self.most, self.below) == (None, None):
            return f"from {self.least:g} on"
        bounds = (
            ("above {:g}", self.above),
            ("at least {:g}", self.least),
            ("below {:g}", self.below),
            ("at most {:g}", self.most),
        )
        return " and ".join(words.format(bound) for words, bound in bounds if bound is not None)

    def check(self, value: Any) -> None:
        """Check a value.

        Raises:
            ParameterError: the value has another type, is out of range, or is none of the choices.
        """
        if value is None and self.optional:
            return
        if self.choices and (self.kind is not None or isinstance(value, str)):
            if not isinstance(value, Hashable) or value not in self.choices:
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
        except OverflowError:  # an integer beyond the floats
            return False
        return (
            not math.isnan(number)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )


def option(default: Any = dataclasses.MISSING, *, help: str, **known: Any) -> Any:  # noqa: A002
    """Return a field of an options object.

    Args:
        default: default value; if it is missing, a value is required.
        help: one sentence about what the option does.
        known: any of `unit`, `least`, `most`, `above`, `below`, `choices`, `group`, `usual`,
            `flag`, `metavar`, `parse` and `commas`, as in `Option`.
    """
    about = Option(default=default, help=help, **known)
    return dataclasses.field(default=default, metadata={_KEY: about})


input_option: partial[Any] = partial(option, group=INPUT)
privacy_option: partial[Any] = partial(option, group=PRIVACY)
output_option: partial[Any] = partial(option, group=OUTPUT)


def described(options: Any) -> tuple[Option, ...]:
    """Return all options of a class, an object or a function, in their order.

    Options of a function are the parameters whose annotation holds an `Option` or whose default is
    made by `option`, as in commands. Arguments that a `functools.partial` binds are left out.
    """
    bound: set[str] = set()
    while isinstance(options, partial):
        bound |= options.keywords.keys()
        options = options.func
    if dataclasses.is_dataclass(options):
        known = _fields(options if isinstance(options, type) else type(options))
    else:
        known = [
            _typed(dataclasses.replace(about, default=default), name, hint)
            for name, hint, default, about in _annotated(options)
        ]
    return tuple(about for about in known if about.name not in bound)


@lru_cache
def _fields(kind: Any) -> list[Option]:
    """Return the options of the fields of a class; cached, since every construction checks them."""
    hints = get_type_hints(kind)
    return [
        _typed(field.metadata[_KEY], field.name, hints[field.name])
        for field in dataclasses.fields(kind)
        if _KEY in field.metadata
    ]


def _annotated(function: Any) -> Iterator[tuple[str, Any, Any, Option]]:
    """Yield name, type, default and option of each parameter that has an option."""
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
    """Return whether a value is a real number and not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_probability(name: str, value: float, *, zero: bool = False) -> None:
    """Check that a value is a number between 0 and 1.

    Args:
        name: name of the parameter.
        value: value that a user passed.
        zero: whether 0 is allowed.

    Raises:
        ParameterError: the value is not allowed.
    """
    if not (is_number(value) and 0 <= value < 1 and (zero or value > 0)):
        words = "at least 0 and below 1" if zero else "between 0 and 1"
        raise ParameterError(f"{name} must be {words}, not {value!r:.60}")


def check_positive(**numbers: float) -> None:
    """Check that numbers are positive and finite.

    Args:
        numbers: values by the names of their parameters.

    Raises:
        ParameterError: a number is not allowed.
    """
    for name, number in numbers.items():
        if not 0 < number < math.inf:
            raise ParameterError(f"{name} must be positive and finite, not {number!r:.60}")


def check_type(name: str, value: Any, kinds: type | tuple[type, ...], words: str) -> None:
    """Check the type of an object that a user passed, before anything is done with it.

    Args:
        name: name of the parameter.
        value: the object, which may be private data in a wrong place: it is not quoted.
        kinds: the allowed types.
        words: the allowed types in words, such as "a text or None".

    Raises:
        ParameterError: the object has another type.
    """
    if not isinstance(value, kinds):
        raise ParameterError(f"{name} must be {words}, not of type {type(value).__name__:.60}")


def check(options: Any) -> None:
    """Check all options of an object; call it in `__post_init__` of a class that is not `Checked`.

    Raises:
        ParameterError: a value has another type, is out of range, or is none of the choices.
    """
    for about in described(options):
        about.check(getattr(options, about.name))


class Checked:
    """Base of options objects that check themselves at their construction."""

    def __post_init__(self) -> None:
        for about in described(self):
            object.__setattr__(self, about.name, plain_number(getattr(self, about.name)))
        check(self)


def chosen(choice: str | T, kinds: Mapping[str, Callable[..., T]], parameter: str) -> T:
    """Return the options object that a user passed, or that "name:key=value,key=value" describes.

    Args:
        choice: an options object, or a string.
        kinds: constructors by name.
        parameter: name of the parameter, for messages.

    Raises:
        ParameterError: the name is unknown, or as `read_options`.
    """
    if not isinstance(choice, str):
        return choice
    name, colon, arguments = choice.partition(":")
    if name not in kinds:
        raise ParameterError(no_choice(parameter, name, kinds))
    return read_options(arguments if colon else None, kinds[name], name)


def read_options(text: str | None, kind: Callable[..., T], name: str = "") -> T:
    """Construct an options object from one string: "key=value,key=value".

    A key alone means yes. The first option needs no key; a colon may follow it where no name of a
    table precedes it: "exact:steps=3". Keys have hyphens or underscores. A comma within a value is
    typed `\\,`; a comma that is the whole value is typed as it is: "key=,". Values of an option
    with `commas` may contain commas: "norm=2,p".

    Args:
        text: text that a user typed; None for the defaults.
        kind: constructor, whose options `described` returns.
        name: name of the kind, for messages.

    Raises:
        ParameterError: a key is unknown, repeated or missing, or the constructor refuses a value.
    """
    known = {about.key: about for about in described(kind) if about.typed}
    parts = [] if text is None else _COMMA.split(text)
    leading = None if name or text is None else _FIRST.fullmatch(text)
    if leading is not None:
        parts = [leading[1], *_COMMA.split(leading[2])]
    values: dict[str, Any] = {}
    for position, part in enumerate(_with_commas(parts, known)):
        key, equals, value = part.strip().partition("=")
        key = key.strip().replace("_", "-")
        if not equals and key in known and known[key].kind is bool:
            value = "yes"
        elif not equals and position == 0 and known:
            key, value = next(iter(known)), part.strip()
        if key not in known or (not equals and not value):
            raise ParameterError(_no_key(key, known, name))
        about = known[key]
        if about.name in values:
            raise ParameterError(f"{key} is given twice")
        values[about.name] = about.read(value.strip().replace("\\,", ","))
    missing = [
        about.key
        for about in known.values()
        if about.default is dataclasses.MISSING and about.name not in values
    ]
    if missing:
        example = _EXAMPLES.get(known[missing[0]].kind, "...")
        raise ParameterError(f"give {' and '.join(missing)}, for example {missing[0]}={example}")
    return kind(**values)


def _with_commas(parts: Iterable[str], known: Mapping[str, Option]) -> list[str]:
    """Join parts again that belong to one value of an option that allows commas.

    Args:
        parts: texts between commas.
        known: options by key.
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
    """Return the message for a word that is no choice; for a former word with its new name."""
    new_name = VALUES.get(option, {}).get(word) if isinstance(word, str) else None
    if new_name is not None:
        return f"{option}={word!r} is now called {new_name!r}"
    return f"unknown {option}={word!r:.60}; choose one of {', '.join(map(repr, choices))}"


def _no_key(key: str, known: Mapping[str, Option], name: str) -> str:
    of = f" of {name!r}" if name else ""
    if key in known:
        return f"{key}{of} needs a value: {key}=..."
    for former in KEYS.values():
        if former.get(key) in known:
            return f"{key}{of} is now called {former[key]}"
    choices = f"choose one of {', '.join(known)}" if known else "it has no options"
    return f"unknown option {key!r:.60}{of}; {choices}"


def _number(text: str, kind: Any) -> Any:
    """Convert a text to a number; an integer may be written as 1e6."""
    try:
        return kind(text)
    except ValueError:
        number = float(text)
        if kind is int and number.is_integer():
            return int(number)
        raise


def _typed(known: Option, name: str, hint: Any) -> Option:
    """Return an option with the name, the type and the choices of its annotation."""
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
