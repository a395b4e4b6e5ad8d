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

from graphcuts_dp.cli import cuts, evaluate, flows, options, release, session
from graphcuts_dp.cli.console import heard
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import FileFormatError, GraphCutsError, ParameterError
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
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.privacy.privacy_unit import PRIVACY_UNITS
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.columns import Columns, parse_number
from graphcuts_dp.schema.file_bytes import opened_unpacked
from graphcuts_dp.schema.text_format import TextFormat
from graphcuts_dp.schema.text_rows import begin

Values = Mapping[str, str]  # what was typed, by the key of the field
IS, WHO, OUT, EXACT = "is", "whom", "out", "exact"  # steps of the page
_STEPS = {INPUT: IS, PRIVACY: EXACT, METHOD: OUT, OUTPUT: OUT}
_DATA, _RESULT = "GRAPH", "OUT"  # metavars of the arguments that the page settles
# What the page settles, or leaves to the command line: files are new, noise is never seeded, every
# run has a store, and what users contribute is a question of its own.
SETTLED = ("force", "seed", "uncounted", "expect_head", "contributions", "partition")
DRY_RUN, _STORE = "dry_run", "store"
_ROLES = ("epsilon", _STORE, DRY_RUN)  # what the page has a place of its own for
_TABLES = {".csv": ",", ".tsv": "\t"}
_HALVINGS = 12  # of the logarithm of epsilon: to less than a percent
_SMALLEST = 1e-3
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
    """

    title: str
    command: str
    function: Callable[..., Any]
    kind: str = ""
    result: str = ""
    preset: Values = dataclasses.field(default_factory=dict)
    truth: "Product | None" = None

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
        return tuple(each for each in self.made.known if each.name not in SETTLED)

    @property
    def guessed(self) -> bool:
        """Whether a dry run takes a public guess of how many edges there are."""
        return any(each.name == DRY_RUN and each.kind is not bool for each in self.offered)

    def fields(self) -> Iterator[dict[str, Any]]:
        """Its form, a field after the other."""
        for name, about in self.arguments.items():
            if about.metavar not in (_DATA, _RESULT):
                told = {"key": name, "label": name, "flag": about.metavar, "help": about.help}
                told |= {"control": "file", "step": IS}
                yield told | dict.fromkeys(("read", "usual", "required"), True)
        for each in self.offered:
            if each.name == DRY_RUN and not self.guessed:
                continue
            step = WHO if each.of is PRIVACY_UNITS else _STEPS[each.group]
            role = each.name if each.name in _ROLES else None
            guess = {"label": str(each.metavar).lower()} if role == DRY_RUN else {}
            yield _field(each) | {"step": EXACT if role else step, "role": role} | guess

    def typed(self, values: Values) -> Iterator[tuple[Option, str]]:
        """The options that have a value, each as one word."""
        for about in self.offered:
            text = _typed(about, values)
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
            words.append(places.get(str(argument.metavar)) or _whole(values[name]))
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
        """The file of the store that is charged.

        Raises:
            ParameterError: none is named.
        """
        about = next(each for each in self.offered if each.name == _STORE)
        text = _typed(about, values)
        if not text:
            raise ParameterError("name a store: it records what is spent on these data")
        return _placed(about, text, stores)

    def preview(self, values: Values) -> dict[str, Any]:
        """What a dry run says. Nothing private is read, nothing is written.

        Raises:
            GraphCutsError: what is missing, or does not fit.
        """
        given: dict[str, Any] = {each.name: None for each in self.made.known}
        given |= {each.name: False for each in self.made.known if _is_flag(each)}
        for about, text in self.typed(values):
            if not (about.group == OUTPUT and "FILE" in (about.metavar or "")):
                given[about.name] = True if _is_flag(about) else text
        for name in self.arguments:
            given[name] = values.get(name) or None
        for name, argument in self.arguments.items():
            if argument.metavar in (_DATA, _RESULT):
                given[name] = "data" if argument.metavar == _DATA else self.result
            elif given[name] is None:
                raise ParameterError(f"name the file of the {name}")
        if not self.guessed:
            given[DRY_RUN] = True
        elif given[DRY_RUN] is None:
            raise ParameterError("a preview needs a public guess of how many edges there are")
        for about in self.offered:
            if about.default is dataclasses.MISSING and given[about.name] is None:
                raise ParameterError(f"give {about.switch}: {about.help}")
        with _one_at_a_time, heard() as messages:
            fields: dict[str, Any] = dict(self.made.report(**given).fields)
        warned = [text.partition(": ")[2] for text in messages if text.startswith("warning")]
        return fields | {"notes": [*warned, *fields["notes"]]}

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


def _typed(about: Option, values: Values) -> str:
    """The value of an option as one word; empty where none is given."""
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


def head_of(path: str, values: Values) -> list[str]:
    """The names of the columns of a table, which its first line tells; no row is looked at.

    None where the file's name, or what was typed, does not say that the first line is one of names,
    and where it holds a number: then it may be a row.

    Args:
        path: of the file.
        values: how columns are read, as typed.

    Raises:
        FileFormatError: there is no such file, or it cannot be read.
    """
    about = next(each for each in PRODUCTS["table"].offered if each.of is Columns)
    columns = read_options(_typed(about, values) or None, Columns)
    place = Path(path).expanduser()
    if not place.exists():
        raise FileFormatError(f"{path} does not exist")
    ending = Path(place.name.lower().removesuffix(".gz")).suffix
    named = columns.header is True or (columns.header is None and ending in _TABLES)
    if place.is_dir() or not named:
        return []
    with opened_unpacked(place) as file:
        form = TextFormat(_TABLES.get(ending))
        head = begin(file, form, columns, BadRows())
    if any(parse_number(cell) is not None for cell in head.first_cells):
        return []
    return head.first_cells


PRODUCTS = {
    "table": Product(
        title="A table of how much passes between groups",
        command="flows",
        function=flows.flows,
        kind="flows",
        result="table.csv",
        preset={"plot": "table.png"},
    ),
    "graph": Product(
        title="A synthetic graph",
        command="release",
        function=release.release,
        kind="release",
        result="synthetic.graphml",
        truth=Product(title="", command="evaluate release", function=evaluate.release),
    ),
    "cut": Product(
        title="A least cut between vertices",
        command="cuts",
        function=cuts.cuts,
        kind="cut",
        result="parts.csv",
    ),
    "session": Product(
        title="A session for analysts",
        command="session start",
        function=session.start,
        kind="session",
    ),
}
