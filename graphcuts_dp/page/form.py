"""What the page can make, and its form: every option of a command, from its description alone.

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

from graphcuts_dp.cli import cuts, evaluate, flows, inspect, options, release, session
from graphcuts_dp.cli.console import heard
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import GraphCutsError, ParameterError
from graphcuts_dp.ledger.opening import Budget
from graphcuts_dp.options import (
    GROUPS,
    INPUT,
    METHOD,
    OUTPUT,
    PRIVACY,
    Option,
    described,
    read_options,
)
from graphcuts_dp.page.words import (
    BOUND_PRESET,
    CHECK,
    ENCODINGS,
    EXACT,
    KEYS,
    NOT_OF_BOUND,
    OUT,
    PLAIN,
    SETTLED,
    WHO,
    plain,
    shown,
    step_of,
)
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.privacy.privacy_unit import PRIVACY_UNITS
from graphcuts_dp.schema.file_bytes import read_unpacked
from graphcuts_dp.schema.text_encoding import NOT_UTF8, as_utf8

Values = Mapping[str, str]  # what was typed, by the key of the field
_STEPS = {INPUT: CHECK, PRIVACY: EXACT, METHOD: OUT, OUTPUT: OUT}  # of fields without plain words
_DATA, _RESULT = "GRAPH", "OUT"  # metavars of the arguments that the page settles
DRY_RUN, _STORE = "dry_run", "store"
_HALVINGS = 12  # of the logarithm of epsilon: to less than a percent
_SMALLEST = 1e-3
_NOT_UTF8 = NOT_UTF8.partition(";")[0]  # what messages about an encoding have in common
_one_at_a_time = threading.Lock()  # warnings are caught for the whole process


@final
@dataclass(frozen=True, kw_only=True)
class Product:
    """What a command makes of private data.

    Attributes:
        title: for the page.
        command: as it is typed.
        function: of the command.
        kind: what a store calls its use.
        result: the file that it writes.
        preset: what its form begins with, by key.
        truth: what measures the result against the private file, by its command; or None.
        without: names of options that its form does not have.
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
    offered_as: str = "result"

    @cached_property
    def made(self) -> Any:
        """The command as typer calls it: it knows its options, and how they are read."""
        return options.with_options(self.function)

    @cached_property
    def arguments(self) -> dict[str, ArgumentInfo]:
        """What it is given by its place, in order."""
        parameters = self.made.__signature__.parameters.values()
        return {
            each.name: each.default for each in parameters if isinstance(each.default, ArgumentInfo)
        }

    @cached_property
    def offered(self) -> tuple[Option, ...]:
        """The options that the form has."""
        return tuple(each for each in self.made.known if each.name not in self.without)

    @property
    def guessed(self) -> bool:
        """Whether a dry run takes a public guess of how many edges there are."""
        return any(each.name == DRY_RUN and each.kind is not bool for each in self.offered)

    def fields(self) -> Iterator[dict[str, Any]]:
        """Its form, a field after the other."""
        for name, about in self.arguments.items():
            if about.metavar not in (_DATA, _RESULT):
                told = {"key": name, "label": name, "flag": about.metavar, "help": about.help}
                told |= {"control": "file", "step": CHECK}
                yield _in_plain_words(told | dict.fromkeys(("read", "usual", "required"), True))
        for each in self.offered:
            if each.name == DRY_RUN and not self.guessed:
                continue
            step = WHO if each.of is PRIVACY_UNITS else _STEPS[each.group]
            yield _in_plain_words(_field(each) | {"step": step})

    @cached_property
    def by_key(self) -> dict[str, dict[str, Any]]:
        """Return all fields by their keys, those within others, too."""
        found = {}
        for each in self.fields():
            found[each["key"]] = each
            for inner in each.get("kinds", {}).values():
                found |= {field["key"]: {"step": each["step"], **field} for field in inner}
        return found

    def refusal(self, problem: Exception | str) -> dict[str, Any]:
        """Return a message in the words of the page, and the step at which it can be mended."""
        text = str(problem)
        told = {"detail": self.in_words(text), "step": step_of(text, self.by_key)}
        return told | {"encodings": ENCODINGS if is_of_encoding(text) else {}}

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
        places = {_DATA: _whole(source), _RESULT: self.result}
        words = self.command.split()
        for name, argument in self.arguments.items():
            word = places.get(str(argument.metavar)) or values.get(name)
            if word:
                own = argument.metavar in (_DATA, _RESULT)
                words.append(word if own else _whole(word))
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
        about = next(each for each in self.offered if each.name == _STORE)
        text = typed_value(about, values)
        if not text:
            raise ParameterError("name a store: it records what is spent on these data")
        return _placed(about, text, stores)

    def preview(self, values: Values) -> dict[str, Any]:
        """What a dry run says. Nothing private is read, nothing is written.

        Raises:
            GraphCutsError: what is missing, or does not fit.
        """
        given = self.given(values)
        for name, argument in self.arguments.items():
            if argument.metavar in (_DATA, _RESULT):
                given[name] = "data" if argument.metavar == _DATA else self.result or None
            elif given[name] is None and self.result:
                raise ParameterError(f"name the file of the {name}")
        if not self.guessed:
            given[DRY_RUN] = True
        elif given[DRY_RUN] is None:
            switch = f"--{DRY_RUN.replace('_', '-')}"
            raise ParameterError(f"give {switch}: a public guess of how many edges there are")
        for about in self.offered:
            if about.default is dataclasses.MISSING and given[about.name] is None:
                raise ParameterError(f"give {about.switch}: {about.help}")
        messages: list[str] = []
        fields: dict[str, Any] = report_fields(self, given, messages)
        warned = [text.partition(": ")[2] for text in messages if text.startswith("warning")]
        errors = [{**each, "of": self.in_words(each["of"])} for each in fields["errors"]]
        return fields | {"errors": errors, "notes": [*warned, *fields["notes"]]}

    def given(self, values: Values) -> dict[str, Any]:
        """Return the arguments of the command in this process, without files to write."""
        given: dict[str, Any] = {each.name: None for each in self.made.known}
        given |= {each.name: False for each in self.made.known if _is_flag(each)}
        for about, text in self.typed(values):
            if not (about.group == OUTPUT and "FILE" in (about.metavar or "")):
                given[about.name] = True if _is_flag(about) else text
        return given | {name: values.get(name) or None for name in self.arguments}

    def epsilon_for(self, values: Values, error: float, place: int) -> float:
        """About the least epsilon at which the error at this place of a preview is so small.

        Raises:
            GraphCutsError: none is, for the reason that the preview has at the largest.
        """

        def enough(log: float) -> bool:
            try:
                return float(told(log)["bound"]) <= error
            except GraphCutsError:  # such as one that noise of this size would hide everything
                return False

        def told(log: float) -> Any:
            return self.preview({**values, "epsilon": f"{math.exp(log):.4g}"})["errors"][place]

        low, high = math.log(_SMALLEST), math.log(LARGEST_EPSILON)
        if not enough(high):
            told(high)  # may say why
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
    with _one_at_a_time, heard() as heard_messages:
        fields = dict(product.made.report(**given).fields)
    if messages is not None:
        messages += heard_messages
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
    """Return the values with the encoding of the private file for the list of places, too.

    That is done where the public list is not UTF-8 and nothing is said about its encoding.

    Raises:
        FileFormatError: the list cannot be read.
    """
    path, encoding = (values.get(KEYS[role], "").strip() for role in ("places", "text_of_file"))
    if not path or not encoding or values.get(KEYS["text_of_list"], "").strip():
        return values
    try:
        as_utf8(read_unpacked(Path(path).expanduser())).decode("utf-8")
    except UnicodeDecodeError:
        return {**values, KEYS["text_of_list"]: encoding}
    return values


def with_store(values: Values, source: str) -> dict[str, str]:
    """Return the values with a store: that typed, or one named after the private file."""
    name = values.get(_STORE, "").strip() or f"{Path(source).name or 'data'}.db"
    return {**values, _STORE: name}


def typed_budget(values: Values) -> float | None:
    """Return the budget that was typed for a new store; None without one.

    Raises:
        ParameterError: no budget.
    """
    about = next(each for each in PRODUCTS["table"].offered if each.of is Budget)
    text = typed_value(about, values)
    return float(read_options(text, Budget).epsilon) if text else None


def _in_plain_words(told: dict[str, Any]) -> dict[str, Any]:
    """Return a field, and those within it, in the words of the page."""
    known = PLAIN.get(told["key"])
    kinds = {
        name: [_in_plain_words({"step": told["step"], **each}) for each in fields]
        for name, fields in told.get("kinds", {}).items()
    }
    told = told | {
        "shown": shown(told["key"]),
        "role": None,
        "dated": False,
        "words": {},
        "order": 0,
        "empty": "none",
    }
    if kinds:
        told["kinds"] = kinds
    if known is None:
        return told
    help_of_option = told["help"] if known.hint is None else known.hint
    told |= {"label": known.label, "step": known.step, "hint": help_of_option, "role": known.role}
    told |= {"dated": known.needs_column, "words": dict(known.choices), "empty": known.empty}
    return told | {"order": list(PLAIN).index(told["key"])}


def _is_flag(about: Option) -> bool:
    return about.kind is bool and not about.optional


def _field(about: Option, within: str = "") -> dict[str, Any]:
    """What the page has to know of an option; of one that is an object, its own options, too."""
    key = f"{within}.{about.key}" if within else about.key
    required = about.default is dataclasses.MISSING
    default = about.default if isinstance(about.default, int | float | str) else None
    told: dict[str, Any] = {
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
            name: [_field(each, key) for each in described(kind) if each.typed]
            for name, kind in about.kinds.items()
        }
        return told | {"control": "object", "kinds": kinds, "named": "" not in kinds}
    if about.kind is bool:
        yes = [] if not within and _is_flag(about) else ["yes", "no"]
        return told | ({"control": "choice", "choices": yes} if yes else {"control": "check"})
    if about.choices:
        return told | {"control": "choice", "choices": list(about.choices)}
    if about.kind in (int, float):
        low = about.least if about.above is None else about.above
        high = about.most if about.below is None else about.below
        return told | {
            "control": "number",
            "least": low,
            "most": high,
            "integer": about.kind is int,
        }
    places = {"FILE": "file", "COLUMN": "column"}
    control = next((one for name, one in places.items() if name in (about.metavar or "")), "text")
    return told | {"control": control, "read": control == "file" and about.group == INPUT}


def typed_value(about: Option, values: Values) -> str:
    """Return the value of an option as one word; empty if none was typed."""
    given = values.get(about.key, "").strip()
    if about.of is None:
        return given
    name = given if isinstance(about.of, Mapping) else ""
    if isinstance(about.of, Mapping) and name not in about.kinds:
        return name  # none, or one that is refused where it is read
    parts = []
    for each in described(about.kinds[name]):
        text = values.get(f"{about.key}.{each.key}", "").strip()
        if text and each.typed:
            parts.append(f"{each.key}={text if text == ',' else text.replace(',', chr(92) + ',')}")
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


PRODUCTS = {
    "table": Product(
        title="A table of how much passes between places",
        command="flows",
        function=flows.flows,
        kind="flows",
        result="table.csv",
        preset={"plot": "table.png", "html": "table.html"},
    ),
    "graph": Product(
        title="A simulated network that resembles yours",
        command="release",
        function=release.release,
        kind="release",
        result="synthetic.graphml",
        truth=Product(title="", command="evaluate release", function=evaluate.release),
    ),
    "cut": Product(
        title="A split of the places where the least passes",
        command="cuts",
        function=cuts.cuts,
        kind="cut",
        result="parts.csv",
    ),
    "session": Product(
        title="Questions of analysts, answered one by one",
        command="session start",
        function=session.start,
        kind="session",
    ),
    "bound": Product(
        title="How many rows people have",
        command="flows",
        function=flows.flows,
        kind="bound",
        preset=BOUND_PRESET,
        without=(*(name for name in SETTLED if name not in BOUND_PRESET), *NOT_OF_BOUND),
        offered_as="",
    ),
}
# The command that reports how a private file would be read; it is not offered.
LOOK = Product(title="", command="inspect", function=inspect.inspect)
