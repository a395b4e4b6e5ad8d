"""Commands made from functions: their options, their help, and how errors spell options.

A command is a function that returns a `Report`. Its parameters are arguments of typer, objects of
options (each of their options is one of the command), or have a default that `option` makes. Its
docstring is its help: the first paragraph on top, the others with examples below the options.
"""

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from graphcuts_dp.cli.console import HELP, Report, accuracy_notes, show
from graphcuts_dp.errors import GraphCutsError, ParameterError
from graphcuts_dp.files import check_not_kept, check_picture, check_writable, kept_files
from graphcuts_dp.options import (
    GROUPS,
    METHOD,
    OUTPUT,
    PRIVACY,
    Option,
    described,
    input_option,
    option,
    output_option,
    privacy_option,
)

PRIVATE_GRAPH = typer.Argument(metavar="GRAPH", help="The private graph.")
SESSION_STORE = typer.Argument(metavar="STORE", help="The store, made by `session start`.")
_epsilon = functools.partial(
    option,
    help="Privacy parameter of the guarantee; smaller is more private.",
    group=PRIVACY,
    usual=True,
)
EPSILON, ANY_EPSILON = _epsilon(), _epsilon(None)
DELTA = privacy_option(
    0.0,
    help="Delta of the guarantee: 0, if omitted, is pure differential privacy; else far below 1/n, "
    "n the number of vertices.",
    least=0,
    below=1,
)
EXPECT_HEAD = privacy_option(
    None,
    help="The head that `store status` printed earlier: refuse a store that lacks later records.",
)
NAME = input_option("default", help="Name of the session within the store.")
ANY_NAME = input_option(None, help="Name of one session; all in the store if omitted.")
UNGUARANTEED = option(
    False,
    help="When the session has no queries left, answer without guarantee, and mark it.",
    group=METHOD,
)
OUT = output_option(
    None, help="File to write to; standard output if omitted.", flag="-o --output", metavar="FILE"
)
PLOT = output_option(
    None, help="Also draw the result to this .png, .pdf or .svg file.", metavar="FILE"
)
SEED = output_option(None, help="Seed of a repeatable run. NOT PRIVATE: for tests only.")
DRY_RUN = output_option(
    False,
    help="Forecast the guarantee and the errors from --vertices and groups; read no private file.",
)
SPREADSHEET = output_option(
    False,
    help="Put an apostrophe before labels in the table that a spreadsheet would run as formulas.",
)
FORCE = output_option(False, help="Replace existing files.")
_JSON = Option(
    name="as_json",
    kind=bool,
    default=False,
    help="Print the result as JSON.",
    flag="--json",
    group=OUTPUT,
)
# Parameters that name files to write.
_WRITTEN = (
    "target",
    "output",
    "plot",
    "html",
    "weights",
    "od",
    "margins",
    "out",
    "table",
    "registry",
)
NO_FILE = "NAME"  # stands in the help for an argument that names no file

_METAVARS: Mapping[Any, str] = {int: "COUNT", float: "NUMBER", bool: "yes|no"}
_PHRASES = {  # of Python, in errors
    "if so, else weighted=False": (
        "if so, else --ignore-weights, or --counting rows to count every line"
    ),
    "weighted=False": "--ignore-weights",
    "make it a BipartiteGraph": "pass --kind bipartite",
    "it is no BipartiteGraph": "leave out --kind bipartite",
    "weight= if so": "weight=COLUMN if so",
    "decimal=','": "decimal=comma",
    "decimal='.'": "decimal=point",
    "allow replacing (force)": "replace it with --force",
    "a BipartiteGraph needs": "--kind bipartite needs",
    "a biadjacency matrix makes a BipartiteGraph": "a biadjacency matrix needs --kind bipartite",
    "make it a DirectedGraph": "pass --kind directed",
    "it is no DirectedGraph": "leave out --kind directed",
    "this is a table; vertices stand in a file with one label on each line, and nothing else": (
        "this is a table, and --vertices takes a file with one label on each line and nothing "
        "else; name a table as the public groups: behind GRAPH for flows, else by --groups"
    ),
}
_YES = {"True": "yes", "False": "no"}
_CODE = "in Python: "  # what stands after it stays


class Command(TyperCommand):
    """A command whose help lists its options in groups, and below them the keys of some."""

    @property
    def known(self) -> tuple[Option, ...]:
        """Its options."""
        known_options: tuple[Option, ...] = getattr(self.callback, "known", ())
        return known_options

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, the groups in the order of `GROUPS`, what has no group, and the keys."""
        lines: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx)
            if line is not None:
                other = "Arguments" if parameter.param_type_name == "argument" else "Options"
                group = getattr(parameter, "rich_help_panel", None) or other
                lines.setdefault(group, []).append(line)
        for group in ("Arguments", *GROUPS, *lines):
            if group in lines:
                with formatter.section(group):
                    formatter.write_dl(lines.pop(group))
        for about in self.known:
            keys = _keys(about)
            if keys:
                first = "NAME:" if isinstance(about.of, Mapping) else _first(about.of)
                title = f"Keys of {about.switch} {first}KEY=VALUE,KEY=VALUE"
                with formatter.section(rf"{title} (a comma in a value: \,)"):
                    formatter.write_dl(keys)

    def typed_as(self, flag: str) -> str | None:
        """Return how a key is typed that was taken for an option; None if it is no key either."""
        key = flag.removeprefix("--")
        for about in self.known:
            for name, kind in about.kinds.items():
                for inner_option in described(kind):
                    if inner_option.key == key:
                        value = "" if inner_option.kind is bool else "="
                        first = f"{name}:" if name else _first(kind)
                        return f"{about.switch} {first}{key}{value}"
        return None


class Commands(typer.Typer):
    """Commands of one group, such as `session`; their docstrings are their help."""

    def __init__(self, **given: Any) -> None:
        super().__init__(
            rich_markup_mode=None,
            add_completion=False,
            no_args_is_help=True,
            context_settings=HELP,
            **{"cls": Group, **given},
        )

    def command(self, name: str | None = None, **given: Any) -> Callable[..., Any]:
        """As typer's."""

        def added(function: Callable[..., Any]) -> Callable[..., Any]:
            first, _, details = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
            settings = {"help": first, "epilog": details, "cls": Command, "context_settings": HELP}
            super(Commands, self).command(name, **{**settings, **given})(with_options(function))
            return function

        return added


class Group(TyperGroup):
    """A group of commands, of which one may be left out."""

    first: str | None = None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the first command's name before arguments that begin with no command."""
        known = (*self.commands, *HELP["help_option_names"])
        if self.first is not None and args and args[0] not in known:
            args = [self.first, *args]
        return super().parse_args(ctx, args)


def command_first(name: str) -> type[Group]:
    """Groups in which one command may be left out: `evaluate TRUE` is `evaluate graphs TRUE`."""
    return type("First", (Group,), {"first": name})


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return what typer calls for a command: it reads its options, and shows its report."""
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    own_options = {about.name: about for about in described(command)}
    objects: dict[str, Any] = {
        name: kind
        for name, kind in hints.items()
        if dataclasses.is_dataclass(kind) and kind is not Report and name not in own_options
    }
    parameters, known = [], []
    for name, parameter in signature.parameters.items():
        options = described(objects[name]) if name in objects else (own_options.get(name),)
        for about in options:
            if about is None:
                parameters.append(
                    parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name])
                )
            elif about.typed:
                parameters.append(_parameter(about))
                known.append(about)
    shows = hints.get("return") is Report
    if shows:
        parameters.append(_parameter(_JSON))
    words = {about.name for about in known if "FILE" not in (about.metavar or "")} - {*_WRITTEN}
    written = {about.name for about in known if about.group == OUTPUT} | {*_WRITTEN}
    words |= {
        name
        for name, parameter in signature.parameters.items()
        if getattr(parameter.default, "metavar", None) == NO_FILE
    }

    def report(**arguments: Any) -> Report | None:
        """Return what the command reports, from options as they are typed and its arguments."""
        try:
            values = {about.name: _value(about, arguments.pop(about.name)) for about in known}
            files = {n: v for n, v in (arguments | values).items() if n not in words}
            read = _files_read({n: v for n, v in files.items() if n not in written})
            with kept_files(read):
                _check_files(files, values)
            for name, kind in objects.items():
                names = [about.name for about in described(kind) if about.typed]
                arguments[name] = kind(**{field_name: values[field_name] for field_name in names})
            for name, about in own_options.items():
                about.check(values[name])
                arguments[name] = values[name]
            with kept_files(read), accuracy_notes():
                result: Report | None = command(**arguments)
        except GraphCutsError as problem:
            raise spelled(problem, known, arguments.values()) from None
        return result

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        as_json = arguments.pop(_JSON.name) if shows else False
        result = report(**arguments)
        if result is not None:
            show(result, as_json=as_json)

    run.report = report  # type: ignore[attr-defined]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.known = tuple(known)  # type: ignore[attr-defined]
    return run


def _files_read(files: Mapping[str, Any]) -> list[str]:
    """Return the paths of the files that a command reads or keeps: its inputs, and its store.

    Args:
        files: values of the options and arguments that may name such files, by their names.
    """
    read = [
        part
        for path in files.values()
        if isinstance(path, str)
        for part in (path, *path.split(","))
    ]
    store = files.get("store")
    return read if store is None else [*read, f"{store}-lock", f"{store}-journal"]


def _check_files(files: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Check that the files that options name can be written, before anything is read.

    Raises:
        FileFormatError: one is read, or cannot be written, or is no picture where one is drawn.
    """
    for name in _WRITTEN:
        path = files.get(name)
        if path is not None:
            check_not_kept(path)
        if path is not None and name == "plot":
            check_picture(path)
        if path is not None and name in values:
            check_writable(path, force=values["force"])


def _parameter(about: Option) -> inspect.Parameter:
    """Return an option as typer has it: a flag, or a word that `_value` reads."""
    flags = about.flag.split() if about.flag else [f"--{about.key}"]
    kind: Any = str | None
    default: Any = None
    other = "NAME" if about.choices else "TEXT"
    metavar: str | None = about.metavar or _METAVARS.get(about.kind, other)
    if about.of is not None and about.metavar is None:
        named = isinstance(about.of, Mapping)
        keyed = any(described(inner_kind) for inner_kind in about.kinds.values())
        first = "" if named else _first(about.of)
        metavar = "NAME" * named + ":" * (named and keyed) + first + "KEY=..." * keyed
    if about.kind is bool and not about.optional:
        kind, default, metavar = bool, False, None
    elif isinstance(about.of, type) or isinstance(about.default, list | tuple):
        kind = list[str]  # which may also be given one after the other
    if about.default is dataclasses.MISSING:
        default = inspect.Parameter.empty
    shown = typer.Option(
        *flags, help=_told(about), metavar=metavar, rich_help_panel=about.group, show_default=False
    )
    return inspect.Parameter(
        about.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, shown],
    )


def _told(about: Option) -> str:
    """Its help with its default."""
    default = about.default
    if isinstance(default, list | tuple):
        default = ",".join(map(str, default))
    elif default is True:
        default = "yes"
    plain = about.of is None and default not in (dataclasses.MISSING, None, False, "")
    names = f" One of: {', '.join(about.of)}." if isinstance(about.of, Mapping) else ""
    return about.text + names + (f" [{default}]" if plain else "")


def _value(about: Option, given: Any) -> Any:
    """The value of what was typed; the default of what was not."""
    if given is None or given == []:
        return about.default
    if isinstance(given, bool):
        return given
    try:
        return about.read(",".join(given) if isinstance(given, list) else given)
    except ParameterError as problem:
        if about.of is None or f"{about.name}=" in str(problem):
            raise
        raise ParameterError(f"{about.switch}: {problem}") from None


def _first(kind: Any) -> str:
    """Return how a value begins whose first key is required and needs no name: "EPSILON,"."""
    first = next(iter(described(kind)), None)
    return f"{first.key.upper()}," if first and first.default is dataclasses.MISSING else ""


def _keys(about: Option) -> list[tuple[str, str]]:
    """Each key of a value that is an object, with its help, and the names that have it."""
    kinds = about.kinds
    having: dict[tuple[str, str], list[str]] = {}
    for name, kind in kinds.items():
        for inner_option in described(kind):
            if inner_option.typed:
                has_no = inner_option.optional or inner_option.default is True
                choice = "=yes|no" if inner_option.kind is bool and has_no else ""
                having.setdefault((inner_option.key + choice, _told(inner_option)), []).append(name)
    lines = []
    for (key, help_text), names in having.items():
        lines.append(
            (key, help_text if len(names) == len(kinds) else f"{help_text} ({', '.join(names)})")
        )
    return lines


@contextmanager
def naming(flag: str, kind: type, path: str, **renamed: str) -> Iterator[None]:
    """Spell keys of an option as they are typed in errors within, and places of columns from 1.

    Args:
        flag: the option.
        kind: of its objects.
        path: of the file that is read.
        renamed: keys by the names that Python has for them.
    """
    keys = {about.name: about.key for about in described(kind)} | renamed
    try:
        yield
    except GraphCutsError as problem:
        raise _respelled(
            problem,
            [path],
            lambda words: re.sub(
                rf"(?<![-\w])({'|'.join(keys)})=(?:'([^']*)'|(True|False)|(\d+))?",
                lambda m: f"{flag} {keys[m[1]]}={m[2] or _YES.get(m[3], '') or _number_of(m[4])}",
                words,
            ),
        ) from None


def _number_of(place: str | None) -> str:
    """Return the number from 1 of a column at a place from 0; empty if absent."""
    return "" if place is None else str(int(place) + 1)


def spelled(problem: GraphCutsError, known: Any, given: Any = ()) -> GraphCutsError:
    """The same error, which names options as they are typed."""
    flags = {about.name: about.switch for about in known}
    inner = {
        inner_option.name: inner_option.key
        for about in known
        for kind in about.kinds.values()
        for inner_option in described(kind)
    }
    long = "|".join(name for name in inner | flags if "_" in name) or "(?!)"
    names = "|".join(flags) or "(?!)"

    def spell(words: str) -> str:
        words = re.sub(rf"^({names}) must\b", lambda m: f"{flags[m[1]]} must", words)
        words = re.sub(
            rf"(?<![-\w])({names})=(?:'([^']*)'|([\d.]*\d))?",
            lambda m: " ".join(filter(None, (flags[m[1]], m[2], m[3]))),
            words,
        )
        return re.sub(rf"(?<![-\w])({long})(?![-\w])", lambda m: (inner | flags)[m[1]], words)

    return _respelled(problem, [path for path in given if isinstance(path, str)], spell)


def _respelled(
    problem: GraphCutsError, paths: Iterable[str], spell: Callable[[str], str]
) -> GraphCutsError:
    """Return the same error in other words; names of files stay as they are, and code.

    A word of a message may be the name of a file without an ending, which is kept at the beginning.
    """
    text, code, code_text = str(problem).partition(_CODE)
    names = sorted((path for path in paths if path), key=len, reverse=True)
    kept = [rf"^{re.escape(name)}" for name in names]
    kept += [rf"(?<![-\w]){re.escape(name)}(?![-\w])" for name in names if Path(name).suffix]
    parts = re.split(f"({'|'.join(kept)})", text) if kept else [text]
    for index in range(0, len(parts), 2):  # the others are names of files
        for phrase, typed in _PHRASES.items():
            parts[index] = parts[index].replace(phrase, typed)
        parts[index] = spell(parts[index])
    return type(problem)("".join(parts) + code + code_text)


def typed_bounds(text: str) -> list[int]:
    """Return the whole numbers of a text such as "1/5/10".

    Raises:
        ParameterError: a part is no such number.
    """
    words = text.split("/")
    if not all(word.isascii() and word.isdigit() and len(word) <= 12 for word in words):
        raise ParameterError("bounds are whole numbers below 10^12, as 1/5/10/20")
    return [int(word) for word in words]
