"""Products of the page: commands, with a form of their options.

The fields of a form follow from the options of the command (`described`). The values that are typed
become the words of the command, which is run in a process of its own. For the preview, the command
is called in this process as a dry run, which reads no private file.
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
    NOT_OFFERED,
    PLAIN,
    plain,
    shown,
    step_of,
)
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.privacy.privacy_unit import PRIVACY_UNITS
from graphcuts_dp.schema.file_bytes import read_unpacked
from graphcuts_dp.schema.text_encoding import NOT_UTF8, as_utf8

Values = Mapping[str, str]  # values that were typed, by the keys of their fields
# Steps of fields without plain words, by the groups of their options.
_STEP_OF = {INPUT: CHECK, PRIVACY: EXACT, METHOD: OUT, OUTPUT: OUT}
_DATA, _RESULT = "GRAPH", "OUT"  # metavars of the arguments that have no field
DRY_RUN, _STORE, _SAME_PEOPLE = "dry_run", "store", "same_people_as"
_HALVINGS = 12  # of the logarithm of epsilon: to less than a percent
_LEAST_EPSILON = 1e-3
_NOT_UTF8 = NOT_UTF8.partition(";")[0]  # begins all messages about an encoding
_one_at_a_time = threading.Lock()  # warnings are caught for the whole process


@final
@dataclass(frozen=True, kw_only=True)
class Product:
    """A command that makes a result of private data, with the form of its options.

    Attributes:
        title: the name of the product on the page.
        command: the words of the command.
        function: the function of the command.
        kind: the kind of its use on a store.
        result: the name of the file with the result; "" if the store or the report has it.
        preset: values that the form begins with, by key.
        truth: the command that compares the result with the private file; None if there is none.
        omitted: names of options without a field.
        unshown_notes: beginnings of notes that the page does not show, because they are about
            measurements that the result does not contain.
        is_result: whether it can be chosen as a result; False for helpers of other steps.
    """

    title: str
    command: str
    function: Callable[..., Any]
    kind: str = ""
    result: str = ""
    preset: Values = dataclasses.field(default_factory=dict)
    truth: "Product | None" = None
    omitted: Container[str] = NOT_OFFERED
    unshown_notes: tuple[str, ...] = ()
    is_result: bool = True

    @cached_property
    def typer_function(self) -> Any:
        """The function that typer calls; its `known` are the options of the command."""
        return options.with_options(self.function)

    @cached_property
    def arguments(self) -> dict[str, ArgumentInfo]:
        """The arguments that are typed by position, in order."""
        parameters = self.typer_function.__signature__.parameters.values()
        return {
            parameter.name: parameter.default
            for parameter in parameters
            if isinstance(parameter.default, ArgumentInfo)
        }

    @cached_property
    def offered(self) -> tuple[Option, ...]:
        """The options with a field; without a result, none that writes a file."""
        return tuple(
            option
            for option in self.typer_function.known
            if option.name not in self.omitted and (self.result or not _writes_file(option))
        )

    @property
    def takes_guess(self) -> bool:
        """True if a dry run takes a public guess of the number of edges."""
        return any(option.name == DRY_RUN and option.kind is not bool for option in self.offered)

    def fields(self) -> Iterator[dict[str, Any]]:
        """Yield the fields of the form, as the page draws them."""
        for name, about in self.arguments.items():
            if about.metavar not in (_DATA, _RESULT):
                field = {"key": name, "label": name, "flag": about.metavar, "help": about.help}
                field |= {"control": "file", "step": CHECK}
                yield _in_plain_words(field | dict.fromkeys(("read", "usual", "required"), True))
        for option in self.offered:
            if option.name == DRY_RUN and not self.takes_guess:
                continue
            step = WHO if option.of is PRIVACY_UNITS else _STEP_OF[option.group]
            yield _in_plain_words(_field(option) | {"step": step})

    @cached_property
    def by_key(self) -> dict[str, dict[str, Any]]:
        """All fields by their keys, those within others included."""
        fields = {}
        for outer_field in self.fields():
            fields[outer_field["key"]] = outer_field
            for inner in outer_field.get("kinds", {}).values():
                fields |= {field["key"]: {"step": outer_field["step"], **field} for field in inner}
        return fields

    def refusal(self, problem: Exception | str) -> dict[str, Any]:
        """Return a refusal in the words of the page, and the step at which to change its cause."""
        text = str(problem)
        reply = {"detail": self.in_words(text), "step": step_of(text, self.by_key)}
        return reply | {"encodings": ENCODINGS if is_of_encoding(text) else {}}

    def in_words(self, text: str) -> str:
        """Return a message of the command in the words of the page."""
        return plain(text, {key: field["label"] for key, field in self.by_key.items()})

    def typed(self, values: Values) -> Iterator[tuple[Option, str]]:
        """Yield the options that have a value, each with its value as one word."""
        for about in self.offered:
            text = typed_value(about, values)
            if text:
                yield about, text

    def words(self, values: Values, source: str, stores: Path) -> list[str]:
        """Return the words of the command, to be run in the folder of the result.

        Args:
            values: values of the form.
            source: the private file.
            stores: folder of stores that are named without one.

        Raises:
            ParameterError: an output file is named with a folder.
        """
        paths = {_DATA: _absolute_path(source), _RESULT: self.result}
        words = self.command.split()
        for name, argument in self.arguments.items():
            word = paths.get(str(argument.metavar)) or values.get(name)
            if word:
                is_path_of_page = argument.metavar in (_DATA, _RESULT)
                words.append(word if is_path_of_page else _absolute_path(word))
        return [*words, *self.option_words(values, stores)]

    def option_words(
        self, values: Values, stores: Path, groups: Container[str] = GROUPS
    ) -> list[str]:
        """Return the words of `words` for the options of some groups.

        Raises:
            ParameterError: an output file is named with a folder.
        """
        words = []
        for about, text in self.typed(values):
            if about.name != DRY_RUN and about.group in groups:
                words.append(about.switch)
                words += [] if _is_flag(about) else [_value_with_paths(about, text, stores)]
        return words

    def store(self, values: Values, stores: Path) -> str:
        """Return the file of the store that is charged, see `with_store`.

        Raises:
            ParameterError: none is named.
        """
        options_by_name = {option.name: option for option in self.offered}
        if values.get(KEYS["same_people"]) and _SAME_PEOPLE not in options_by_name:
            raise ParameterError(
                "this kind of result needs an account of its own: leave out "
                f"\u201c{PLAIN[KEYS['same_people']].label}\u201d in \u201c{STEPS[EXACT][0]}\u201d"
            )
        about = options_by_name[_SAME_PEOPLE if values.get(KEYS["same_people"]) else _STORE]
        text = typed_value(about, values)
        if not text:
            raise ParameterError("name a store: it records what is spent on these data")
        return _value_with_paths(about, text, stores)

    def preview(self, values: Values) -> dict[str, Any]:
        """Return the report of a dry run. Reads nothing private, writes nothing.

        Raises:
            GraphCutsError: a value is missing, or values do not fit together.
        """
        arguments = self.call_arguments(values)
        for name, argument in self.arguments.items():
            if argument.metavar in (_DATA, _RESULT):
                arguments[name] = "data" if argument.metavar == _DATA else self.result or None
            elif arguments[name] is None and self.result:
                raise ParameterError(f"name the file of the {name}")
        if not self.takes_guess:
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

    def call_arguments(self, values: Values) -> dict[str, Any]:
        """Return the arguments of a call of the command in this process, without output files."""
        arguments: dict[str, Any] = {
            option.name: False if _is_flag(option) else None for option in self.typer_function.known
        }
        for about, text in self.typed(values):
            if not _writes_file(about):
                arguments[about.name] = True if _is_flag(about) else text
        return arguments | {name: values.get(name) or None for name in self.arguments}

    def epsilon_for(self, values: Values, error: float, error_index: int) -> float:
        """Return about the least epsilon at which an error of the preview is so small.

        Args:
            values: values of the form.
            error: the largest error that is wanted.
            error_index: index of the error in the preview.

        Raises:
            GraphCutsError: no epsilon gives so small an error, or the preview refuses the largest.
        """

        def is_small_enough(log: float) -> bool:
            try:
                return float(forecast(log)["bound"]) <= error
            except GraphCutsError:  # with much noise some commands refuse
                return False

        def forecast(log: float) -> Any:
            preview = self.preview({**values, "epsilon": f"{math.exp(log):.4g}"})
            return preview["errors"][error_index]

        low, high = math.log(_LEAST_EPSILON), math.log(LARGEST_EPSILON)
        if not is_small_enough(high):
            forecast(high)  # raises the reason, if the command refuses
            raise ParameterError(f"no epsilon up to {LARGEST_EPSILON:g} keeps so small an error")
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if is_small_enough(middle) else (middle, high)
        return min(LARGEST_EPSILON, up_to_digits(math.exp(high), 3))


def report_fields(
    product: Product, arguments: dict[str, Any], messages: list[str] | None = None
) -> Any:
    """Return the fields of the report of a command in this process.

    Args:
        product: the product of the command.
        arguments: from `Product.call_arguments`.
        messages: a list that the printed lines of the command are appended to; None drops them.

    Raises:
        GraphCutsError: as the command.
    """
    with _one_at_a_time, collect_messages() as new_messages:
        fields = dict(product.typer_function.report(**arguments).fields)
    if messages is not None:
        messages += new_messages
    return fields


def is_of_encoding(text: str) -> bool:
    """Return whether a message of a command is about the encoding of a file."""
    return _NOT_UTF8 in text


def completed(values: Values, source: str) -> dict[str, str]:
    """Return the values with a store, and with an encoding of the list of places if it needs one.

    Args:
        values: values of the form.
        source: the private file.

    Raises:
        FileFormatError: the list of places cannot be read.
    """
    return with_store(with_encoding_of_list(values), source)


def with_encoding_of_list(values: Values) -> Values:
    """Return the values with an encoding of the list of places, if the list is not UTF-8.

    The encoding is the one that is typed for the list, else that of the private file, else the one
    of `ENCODINGS`. The list is public, so it may be read for this.

    Raises:
        FileFormatError: the list cannot be read.
    """
    encoding = encoding_of_list(values)
    return {**values, KEYS["text_of_list"]: encoding} if encoding else values


def encoding_of_list(values: Values) -> str:
    """Return the encoding of a list that is not UTF-8, if none is typed for it; else "".

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
    """Return the values with a store: the typed one, or one named after the private file.

    If a store of other data about the same people is chosen, a typed store is left out.
    """
    if values.get(KEYS["same_people"], "").strip():
        return {key: text for key, text in values.items() if key != _STORE}
    name = values.get(_STORE, "").strip() or f"{Path(source).name or 'data'}.db"
    return {**values, _STORE: name}


def _in_plain_words(field: dict[str, Any]) -> dict[str, Any]:
    """Return a field, and those within it, in the words of the page."""
    plain_words = PLAIN.get(field["key"])
    kinds = {
        name: [_in_plain_words({"step": field["step"], **inner_field}) for inner_field in fields]
        for name, fields in field.get("kinds", {}).items()
    }
    field = field | {
        "shown": shown(field["key"]),
        "role": None,
        "needs_date_column": False,
        "words": {},
        "order": 0,
        "empty": "none",
    }
    if kinds:
        field["kinds"] = kinds
    if plain_words is None:
        return field
    return field | {
        "label": plain_words.label,
        "step": plain_words.step,
        "hint": field["help"] if plain_words.hint is None else plain_words.hint,
        "role": plain_words.role,
        "needs_date_column": plain_words.needs_date_column,
        "words": dict(plain_words.choices),
        "empty": plain_words.empty,
        "order": list(PLAIN).index(field["key"]),
    }


def _is_flag(about: Option) -> bool:
    """Return whether an option is typed without a value."""
    return about.kind is bool and not about.optional


def _writes_file(about: Option) -> bool:
    """Return whether the value of an option is an output file."""
    return about.group == OUTPUT and "FILE" in (about.metavar or "")


def _field(about: Option, within: str = "") -> dict[str, Any]:
    """Return the field of an option, with the fields of options within it."""
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
    matches = (controls[name] for name in controls if name in (about.metavar or ""))
    control = next(matches, "text")
    return field | {"control": control, "read": control == "file" and about.group == INPUT}


def typed_value(about: Option, values: Values) -> str:
    """Return the value of an option as one word; empty if none was typed."""
    typed = values.get(about.key, "").strip()
    if about.of is None:
        return typed
    name = typed if isinstance(about.of, Mapping) else ""
    if isinstance(about.of, Mapping) and name not in about.kinds:
        return name  # "", or an unknown name, which the command refuses
    parts = []
    for option in described(about.kinds[name]):
        text = values.get(f"{about.key}.{option.key}", "").strip()
        if text and option.typed:
            parts.append(
                f"{option.key}={text if text == ',' else text.replace(',', chr(92) + ',')}"
            )
    return name + (":" * bool(name and parts)) + ",".join(parts)


def _absolute_path(path: str) -> str:
    """Return a path for a process with another working directory."""
    return str(Path(path).expanduser().resolve())


def _value_with_paths(about: Option, text: str, stores: Path) -> str:
    """Return a value in which paths of input files and stores are absolute.

    Output files have no path: the command runs in the folder of the result.

    Raises:
        ParameterError: an output file is named with a folder.
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
        return _absolute_path(text)
    return ",".join(part if part.isdigit() else _absolute_path(part) for part in text.split(","))
