"""Define what the page can make, and make forms of the options of commands.

A product is a command. Its fields are told by `described`; what is typed into them becomes the
words of the command, and, for the preview, what the same command gets in this process for a dry
run, which reads no private file.
"""

import dataclasses
import math
import threading
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

from typer.models import ArgumentInfo

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import collect_messages
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import GraphCutsError, ParameterError
from graphcuts_dp.options import (
    GROUPS,
    INPUT,
    METHOD,
    OUTPUT,
    PRIVACY,
    Option,
    described,
)
from graphcuts_dp.page.steps import CHECK, EXACT, OUT, STEPS, WHO
from graphcuts_dp.page.words import (
    ENCODINGS,
    KEYS,
    PLAIN,
    SETTLED,
    plain,
    shown,
    step_of,
)
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.privacy.privacy_unit import PRIVACY_UNITS
from graphcuts_dp.schema.file_bytes import read_unpacked
from graphcuts_dp.schema.text_encoding import NOT_UTF8, as_utf8

Values = Mapping[str, str]  # what was typed, by the key of the field
_STEP_OF = {INPUT: CHECK, PRIVACY: EXACT, METHOD: OUT, OUTPUT: OUT}  # of fields without plain words
_DATA, _RESULT = "GRAPH", "OUT"  # metavars of the arguments that the page settles
DRY_RUN, _STORE, _SAME_PEOPLE = "dry_run", "store", "same_people_as"
_HALVINGS = 12  # of the logarithm of epsilon: to less than a percent
_SMALLEST = 1e-3
_NOT_UTF8 = NOT_UTF8.partition(";")[0]  # what messages about an encoding have in common
_one_at_a_time = threading.Lock()  # warnings are caught for the whole process


@final
@dataclass(frozen=True, kw_only=True)
class Product:
    """Describe what a command makes of private data.

    Attributes:
        title: for the page.
        command: as it is typed.
        function: of the command.
        kind: what a store calls its use.
        result: the file that it writes.
        preset: what its form begins with, by key.
        truth: what measures the result against the private file, by its command; or None.
        without: names of options that its form does not have.
        unshown_notes: how notes of its forecast begin that the page does not show, because they are
            about measurements that nobody sees in the result.
        offered_as: "result" if it is one of the things that can come out; "" for a helper.
    """

    title: str
    command: str
    function: Callable[..., Any]
    kind: str = ""
    result: str = ""
    preset: Values = dataclasses.field(default_factory=dict)
    truth: "Product | None" = None
    without: Container[str] = SETTLED
    unshown_notes: tuple[str, ...] = ()
    offered_as: str = "result"

    @cached_property
    def made(self) -> Any:
        """The command as typer calls it: it knows its options, and how they are read."""
        return options.with_options(self.function)

    @cached_property
    def arguments(self) -> dict[str, ArgumentInfo]:
        """Return the arguments that are typed by position, in order."""
        parameters = self.made.__signature__.parameters.values()
        return {
            parameter.name: parameter.default
            for parameter in parameters
            if isinstance(parameter.default, ArgumentInfo)
        }

    @cached_property
    def offered(self) -> tuple[Option, ...]:
        """Return the options that the form has; one that writes no result writes no files."""
        return tuple(
            option
            for option in self.made.known
            if option.name not in self.without and (self.result or not _writes_file(option))
        )

    @property
    def guessed(self) -> bool:
        """Return whether a dry run takes a public guess of how many edges there are."""
        return any(option.name == DRY_RUN and option.kind is not bool for option in self.offered)

    def fields(self) -> Iterator[dict[str, Any]]:
        """Its form, a field after the other."""
        for name, about in self.arguments.items():
            if about.metavar not in (_DATA, _RESULT):
                field = {"key": name, "label": name, "flag": about.metavar, "help": about.help}
                field |= {"control": "file", "step": CHECK}
                yield _in_plain_words(field | dict.fromkeys(("read", "usual", "required"), True))
        for option in self.offered:
            if option.name == DRY_RUN and not self.guessed:
                continue
            step = WHO if option.of is PRIVACY_UNITS else _STEP_OF[option.group]
            yield _in_plain_words(_field(option) | {"step": step})

    @cached_property
    def by_key(self) -> dict[str, dict[str, Any]]:
        """Return all fields by their keys, those within others, too."""
        fields = {}
        for outer_field in self.fields():
            fields[outer_field["key"]] = outer_field
            for inner in outer_field.get("kinds", {}).values():
                fields |= {field["key"]: {"step": outer_field["step"], **field} for field in inner}
        return fields

    def refusal(self, problem: Exception | str) -> dict[str, Any]:
        """Return a message in the words of the page, and the step at which it can be mended."""
        text = str(problem)
        reply = {"detail": self.in_words(text), "step": step_of(text, self.by_key)}
        return reply | {"encodings": ENCODINGS if is_of_encoding(text) else {}}

    def in_words(self, text: str) -> str:
        """Return a message of the command in the words of the page."""
        return plain(text, {key: field["label"] for key, field in self.by_key.items()})

    def typed(self, values: Values) -> Iterator[tuple[Option, str]]:
        """The options that have a value, each as one word."""
        for about in self.offered:
            text = typed_value(about, values)
            if text:
                yield about, text

    def words(self, values: Values, source: str, stores: Path) -> list[str]:
        """The command to type in the folder of the result: what is shown is what runs.

        Args:
            values: what was typed.
            source: the private file.
            stores: where stores go that have no folder.

        Raises:
            ParameterError: a file to write that names a folder.
        """
        paths = {_DATA: _whole(source), _RESULT: self.result}
        words = self.command.split()
        for name, argument in self.arguments.items():
            word = paths.get(str(argument.metavar)) or values.get(name)
            if word:
                is_path_of_page = argument.metavar in (_DATA, _RESULT)
                words.append(word if is_path_of_page else _whole(word))
        return [*words, *self.option_words(values, stores)]

    def option_words(
        self, values: Values, stores: Path, groups: Container[str] = GROUPS
    ) -> list[str]:
        """The options to type, as in `words`, of some groups.

        Raises:
            ParameterError: a file to write that names a folder.
        """
        words = []
        for about, text in self.typed(values):
            if about.name != DRY_RUN and about.group in groups:
                words.append(about.switch)
                words += [] if _is_flag(about) else [_placed(about, text, stores)]
        return words

    def store(self, values: Values, stores: Path) -> str:
        """Return the file of the store that is charged, see `with_store`.

        Raises:
            ParameterError: none is named.
        """
        named = {option.name: option for option in self.offered}
        if values.get(KEYS["same_people"]) and _SAME_PEOPLE not in named:
            raise ParameterError(
                "this kind of result needs an account of its own: leave out "
                f"\u201c{PLAIN[KEYS['same_people']].label}\u201d in \u201c{STEPS[EXACT][0]}\u201d"
            )
        about = named[_SAME_PEOPLE if values.get(KEYS["same_people"]) else _STORE]
        text = typed_value(about, values)
        if not text:
            raise ParameterError("name a store: it records what is spent on these data")
        return _placed(about, text, stores)

    def preview(self, values: Values) -> dict[str, Any]:
        """Return what a dry run says. Nothing private is read, nothing is written.

        Raises:
            GraphCutsError: what is missing, or does not fit.
        """
        arguments = self.given(values)
        for name, argument in self.arguments.items():
            if argument.metavar in (_DATA, _RESULT):
                arguments[name] = "data" if argument.metavar == _DATA else self.result or None
            elif arguments[name] is None and self.result:
                raise ParameterError(f"name the file of the {name}")
        if not self.guessed:
            arguments[DRY_RUN] = True
        elif arguments[DRY_RUN] is None:
            switch = f"--{DRY_RUN.replace('_', '-')}"
            raise ParameterError(f"give {switch}: a public guess of how many edges there are")
        for about in self.offered:
            if about.default is dataclasses.MISSING and arguments[about.name] is None:
                raise ParameterError(f"give {about.switch}: {about.help}")
        messages: list[str] = []
        fields: dict[str, Any] = report_fields(self, arguments, messages)
        warned = [text.partition(": ")[2] for text in messages if text.startswith("warning")]
        errors = [{**error, "of": self.in_words(error["of"])} for error in fields["errors"]]
        return fields | {"errors": errors, "notes": [*warned, *fields["notes"]]}

    def given(self, values: Values) -> dict[str, Any]:
        """Return the arguments of the command in this process, without files to write."""
        arguments: dict[str, Any] = {option.name: None for option in self.made.known}
        arguments |= {option.name: False for option in self.made.known if _is_flag(option)}
        for about, text in self.typed(values):
            if not _writes_file(about):
                arguments[about.name] = True if _is_flag(about) else text
        return arguments | {name: values.get(name) or None for name in self.arguments}

    def epsilon_for(self, values: Values, error: float, place: int) -> float:
        """About the least epsilon at which the error at this place of a preview is so small.

        Raises:
            GraphCutsError: none is, for the reason that the preview has at the largest.
        """

        def enough(log: float) -> bool:
            try:
                return float(forecast(log)["bound"]) <= error
            except GraphCutsError:  # such as one that noise of this size would hide everything
                return False

        def forecast(log: float) -> Any:
            return self.preview({**values, "epsilon": f"{math.exp(log):.4g}"})["errors"][place]

        low, high = math.log(_SMALLEST), math.log(LARGEST_EPSILON)
        if not enough(high):
            forecast(high)  # may say why
            raise ParameterError(f"no epsilon up to {LARGEST_EPSILON:g} keeps so small an error")
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return min(LARGEST_EPSILON, up_to_digits(math.exp(high), 3))


def report_fields(
    product: Product, given: dict[str, Any], messages: list[str] | None = None
) -> Any:
    """Return the fields of the report of a command in this process.

    Args:
        product: whose command is run.
        given: from `Product.given`.
        messages: a list to which the lines that the command prints are added.

    Raises:
        GraphCutsError: as the command.
    """
    with _one_at_a_time, collect_messages() as new_messages:
        fields = dict(product.made.report(**given).fields)
    if messages is not None:
        messages += new_messages
    return fields


def is_of_encoding(text: str) -> bool:
    """Return whether a message of a command is about the encoding of a file."""
    return _NOT_UTF8 in text


def completed(values: Values, source: str) -> dict[str, str]:
    """Return the values with a store, and with an encoding of the list of places if it needs one.

    Args:
        values: what was typed.
        source: the private file.

    Raises:
        FileFormatError: the list of places cannot be read.
    """
    return with_store(with_encoding_of_list(values), source)


def with_encoding_of_list(values: Values) -> Values:
    """Return the values with an encoding of the list of places, if that is not UTF-8.

    It is the one that was typed; else that of the private file; else the one of `ENCODINGS`. The
    list is public, so that a look at it decides.

    Raises:
        FileFormatError: the list cannot be read.
    """
    encoding = encoding_of_list(values)
    return {**values, KEYS["text_of_list"]: encoding} if encoding else values


def encoding_of_list(values: Values) -> str:
    """Return the encoding to add for a list that is not UTF-8 and has none; "" for other lists.

    Raises:
        FileFormatError: the list cannot be read.
    """
    path, encoding = (values.get(KEYS[role], "").strip() for role in ("places", "text_of_file"))
    if not path or values.get(KEYS["text_of_list"], "").strip():
        return ""
    try:
        as_utf8(read_unpacked(Path(path).expanduser())).decode("utf-8")
    except UnicodeDecodeError:
        return encoding or next(iter(ENCODINGS))
    return ""


def with_store(values: Values, source: str) -> dict[str, str]:
    """Return the values with a store: that typed, or one named after the private file.

    If the store of other data about the same people is named, it is the store, and no other one.
    """
    if values.get(KEYS["same_people"], "").strip():
        return {key: text for key, text in values.items() if key != _STORE}
    name = values.get(_STORE, "").strip() or f"{Path(source).name or 'data'}.db"
    return {**values, _STORE: name}


def _in_plain_words(field: dict[str, Any]) -> dict[str, Any]:
    """Return a field, and those within it, in the words of the page."""
    known = PLAIN.get(field["key"])
    kinds = {
        name: [_in_plain_words({"step": field["step"], **inner_field}) for inner_field in fields]
        for name, fields in field.get("kinds", {}).items()
    }
    field = field | {
        "shown": shown(field["key"]),
        "role": None,
        "dated": False,
        "words": {},
        "order": 0,
        "empty": "none",
    }
    if kinds:
        field["kinds"] = kinds
    if known is None:
        return field
    help_of_option = field["help"] if known.hint is None else known.hint
    field |= {"label": known.label, "step": known.step, "hint": help_of_option, "role": known.role}
    field |= {"dated": known.needs_column, "words": dict(known.choices), "empty": known.empty}
    return field | {"order": list(PLAIN).index(field["key"])}


def _is_flag(about: Option) -> bool:
    return about.kind is bool and not about.optional


def _writes_file(about: Option) -> bool:
    return about.group == OUTPUT and "FILE" in (about.metavar or "")


def _field(about: Option, within: str = "") -> dict[str, Any]:
    """Return what the page has to know of an option, and of the options within it."""
    key = f"{within}.{about.key}" if within else about.key
    required = about.default is dataclasses.MISSING
    default = about.default if isinstance(about.default, int | float | str) else None
    field: dict[str, Any] = {
        "key": key,
        "label": about.switch.lstrip("-").replace("-", " "),
        "flag": f"--{within} {about.key}=" if within else about.switch,
        "help": f"{about.help} In {about.unit}." if about.unit else about.help,
        "usual": about.usual or required,
        "required": required and not within,
        "default": None if isinstance(default, bool) else default,
    }
    if about.of is not None and not within:
        kinds = {
            name: [_field(option, key) for option in described(kind) if option.typed]
            for name, kind in about.kinds.items()
        }
        return field | {"control": "object", "kinds": kinds, "named": "" not in kinds}
    if about.kind is bool:
        yes = [] if not within and _is_flag(about) else ["yes", "no"]
        return field | ({"control": "choice", "choices": yes} if yes else {"control": "check"})
    if about.choices:
        return field | {"control": "choice", "choices": list(about.choices)}
    if about.kind in (int, float):
        low = about.least if about.above is None else about.above
        high = about.most if about.below is None else about.below
        return field | {
            "control": "number",
            "least": low,
            "most": high,
            "integer": about.kind is int,
        }
    controls = {"FILE": "file", "COLUMN": "column"}
    control = next((one for name, one in controls.items() if name in (about.metavar or "")), "text")
    return field | {"control": control, "read": control == "file" and about.group == INPUT}


def typed_value(about: Option, values: Values) -> str:
    """Return the value of an option as one word; empty if none was typed."""
    typed = values.get(about.key, "").strip()
    if about.of is None:
        return typed
    name = typed if isinstance(about.of, Mapping) else ""
    if isinstance(about.of, Mapping) and name not in about.kinds:
        return name  # none, or one that is refused where it is read
    parts = []
    for option in described(about.kinds[name]):
        text = values.get(f"{about.key}.{option.key}", "").strip()
        if text and option.typed:
            parts.append(
                f"{option.key}={text if text == ',' else text.replace(',', chr(92) + ',')}"
            )
    return name + (":" * bool(name and parts)) + ",".join(parts)


def _whole(path: str) -> str:
    return str(Path(path).expanduser().resolve())


def _placed(about: Option, text: str, stores: Path) -> str:
    """A value with the whole paths of what is read; results have a folder of their own.

    Raises:
        ParameterError: a file to write that names a folder.
    """
    if "FILE" not in (about.metavar or ""):
        return text
    if about.group == OUTPUT and Path(text).name != text:
        raise ParameterError(f"{about.switch} is the name of a file, without a folder")
    if about.group == OUTPUT:
        return text
    if about.group == PRIVACY:
        return str(stores / Path(text).expanduser())
    if "COUNT" not in (about.metavar or ""):
        return _whole(text)
    return ",".join(part if part.isdigit() else _whole(part) for part in text.split(","))
