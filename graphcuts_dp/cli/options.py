"""Make commands from functions: their options, their help, and how errors spell options.

A command is a function that returns a `Report`. Each of its parameters is

- an argument of typer;
- an options object, whose fields all become options of the command; or
- an option, with a default made by `option`.

Its docstring is its help: the first paragraph on top, the others with examples below the options.
`with_options` makes what typer calls.

An `Option` with `of` takes several keys in one text, as in `--columns source=a,target=b`: each key
is an option of the class `of`, and is called an inner option here.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
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
_epsilon = partial(
    option,
    help="Privacy parameter of the guarantee; smaller is more private.",
    group=PRIVACY,
    usual=True,
)
EPSILON, ANY_EPSILON = _epsilon(), _epsilon(None)  # required, and None if left out
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
# Names of the parameters of commands that name files to write.
_OUTPUT_FILES = (
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
NO_FILE = "NAME"  # the metavar by which `with_options` knows an argument that names no file

_METAVARS: Mapping[Any, str] = {int: "COUNT", float: "NUMBER", bool: "yes|no"}
# Phrases about Python in errors, and what the command line says in their place.
_PHRASES = {
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
_TYPED_BOOLS = {"True": "yes", "False": "no"}
_CODE = "in Python: "  # begins code in an error, which stays as it is


class Command(TyperCommand):
    """A command whose help lists its options in groups, and below them the keys of some."""

    @property
    def known(self) -> tuple[Option, ...]:
        """Return the options of the command."""
        known_options: tuple[Option, ...] = getattr(self.callback, "known", ())
        return known_options

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options in the order of `GROUPS`, options of no group, and keys."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx)
            if line is not None:
                no_group = "Arguments" if parameter.param_type_name == "argument" else "Options"
                group = getattr(parameter, "rich_help_panel", None) or no_group
                sections.setdefault(group, []).append(line)
        for group in ("Arguments", *GROUPS, *sections):
            if group in sections:
                with formatter.section(group):
                    formatter.write_dl(sections.pop(group))
        for opt in self.known:
            lines = _key_lines(opt)
            if lines:
                start = "NAME:" if isinstance(opt.of, Mapping) else _required_first_key(opt.of)
                title = f"Keys of {opt.switch} {start}KEY=VALUE,KEY=VALUE"
                with formatter.section(rf"{title} (a comma in a value: \,)"):
                    formatter.write_dl(lines)

    def typed_as(self, flag: str) -> str | None:
        """Return how a key is typed that was mistaken for an option; None if it is no key either.

        Args:
            flag: the mistaken option, such as "--source".
        """
        key = flag.removeprefix("--")
        for opt in self.known:
            for name, kind in opt.kinds.items():
                for inner_option in described(kind):
                    if inner_option.key == key:
                        value = "" if inner_option.kind is bool else "="
                        start = f"{name}:" if name else _required_first_key(kind)
                        return f"{opt.switch} {start}{key}{value}"
        return None


class Commands(typer.Typer):
    """Commands of one group, such as `session`; their docstrings are their help."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            rich_markup_mode=None,
            add_completion=False,
            no_args_is_help=True,
            context_settings=HELP,
            **{"cls": Group, **settings},
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:
        """Return a decorator that adds a command, as typer's."""

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            summary, _, details = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
            usual = {"help": summary, "epilog": details, "cls": Command, "context_settings": HELP}
            super(Commands, self).command(name, **{**usual, **settings})(with_options(function))
            return function

        return add


class Group(TyperGroup):
    """A group of commands, of which one may be left out.

    Attributes:
        first: name of the command that may be left out; None if there is none.
    """

    first: str | None = None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the first command before arguments that begin with no command."""
        first_words = (*self.commands, *HELP["help_option_names"])
        if self.first is not None and args and args[0] not in first_words:
            args = [self.first, *args]
        return super().parse_args(ctx, args)


def command_first(name: str) -> type[Group]:
    """Return the class of a group in which the name of one command may be left out.

    With "graphs", `evaluate TRUE` is `evaluate graphs TRUE`.
    """
    return type("First", (Group,), {"first": name})


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return what typer calls for a command: it reads its options, and shows its report.

    The result has two attributes: `known`, the options, and `report`, which returns the report of
    the command without showing it.
    """
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    single_options = {opt.name: opt for opt in described(command)}
    options_classes: dict[str, Any] = {
        name: kind
        for name, kind in hints.items()
        if dataclasses.is_dataclass(kind) and kind is not Report and name not in single_options
    }
    parameters, known = [], []
    for name, parameter in signature.parameters.items():
        if name in options_classes:
            parameter_options = described(options_classes[name])
        elif name in single_options:
            parameter_options = (single_options[name],)
        else:  # an argument of typer
            parameter_options = ()
            parameters.append(
                parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name])
            )
        for opt in parameter_options:
            if opt.typed:
                parameters.append(_parameter(opt))
                known.append(opt)
    has_report = hints.get("return") is Report
    if has_report:
        parameters.append(_parameter(_JSON))
    # All other parameters may name files: those to read, unless their names are in `output_names`.
    output_names = {opt.name for opt in known if opt.group == OUTPUT} | {*_OUTPUT_FILES}
    word_names = {opt.name for opt in known if "FILE" not in (opt.metavar or "")} - {*_OUTPUT_FILES}
    word_names |= {
        name
        for name, parameter in signature.parameters.items()
        if getattr(parameter.default, "metavar", None) == NO_FILE
    }

    def report(**arguments: Any) -> Report | None:
        """Return what the command reports.

        Args:
            arguments: options as they are typed, and arguments, by name.
        """
        try:
            values = {opt.name: _converted(opt, arguments.pop(opt.name)) for opt in known}
            files = {
                name: value
                for name, value in (arguments | values).items()
                if name not in word_names
            }
            inputs = _input_files({n: file for n, file in files.items() if n not in output_names})
            with kept_files(inputs):  # before options objects are made, which may read files
                _check_output_files(files, values)
            for name, kind in options_classes.items():
                fields = [opt.name for opt in described(kind) if opt.typed]
                arguments[name] = kind(**{field: values[field] for field in fields})
            for name, opt in single_options.items():
                opt.check(values[name])
                arguments[name] = values[name]
            with kept_files(inputs), accuracy_notes():
                result: Report | None = command(**arguments)
        except GraphCutsError as problem:
            raise spelled_as_typed(problem, known, arguments.values()) from None
        return result

    @wraps(command)
    def run(**arguments: Any) -> None:
        as_json = arguments.pop(_JSON.name) if has_report else False
        result = report(**arguments)
        if result is not None:
            show(result, as_json=as_json)

    run.report = report  # type: ignore[attr-defined]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.known = tuple(known)  # type: ignore[attr-defined]
    return run


def _input_files(files: Mapping[str, Any]) -> list[str]:
    """Return the paths of the files that a command reads or keeps: its inputs, and its store.

    Args:
        files: values of the options and arguments that may name such files, by parameter.
    """
    inputs = [
        part
        for path in files.values()
        if isinstance(path, str)
        for part in (path, *path.split(","))  # "left.txt,right.txt" names two files
    ]
    store = files.get("store")
    return inputs if store is None else [*inputs, f"{store}-lock", f"{store}-journal"]


def _check_output_files(files: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Check that the files to write can be written, before anything is read.

    Args:
        files: values of the options and arguments that may name files, by parameter.
        values: values of all options, by parameter.

    Raises:
        FileFormatError: a file is also read, cannot be written, or is to hold a picture and its
            name does not end as a picture's.
    """
    for name in _OUTPUT_FILES:
        path = files.get(name)
        if path is None:
            continue
        check_not_kept(path)
        if name == "plot":
            check_picture(path)
        if name in values:
            check_writable(path, force=values["force"])


def _parameter(opt: Option) -> inspect.Parameter:
    """Return an option as typer has it: a flag, or a word that `_converted` reads."""
    flags = opt.flag.split() if opt.flag else [f"--{opt.key}"]
    kind: Any = str | None
    default: Any = None
    text_metavar = "NAME" if opt.choices else "TEXT"
    metavar: str | None = opt.metavar or _METAVARS.get(opt.kind, text_metavar)
    if opt.of is not None and opt.metavar is None:
        has_names = isinstance(opt.of, Mapping)
        has_keys = any(described(inner_kind) for inner_kind in opt.kinds.values())
        keys = "KEY=..." if has_keys else ""
        if has_names:
            metavar = f"NAME:{keys}" if keys else "NAME"
        else:
            metavar = _required_first_key(opt.of) + keys
    if opt.kind is bool and not opt.optional:
        kind, default, metavar = bool, False, None
    elif isinstance(opt.of, type) or isinstance(opt.default, list | tuple):
        kind = list[str]  # the option may be repeated
    if opt.default is dataclasses.MISSING:
        default = inspect.Parameter.empty
    annotation = typer.Option(
        *flags,
        help=_help_with_default(opt),
        metavar=metavar,
        rich_help_panel=opt.group,
        show_default=False,
    )
    return inspect.Parameter(
        opt.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, annotation],
    )


def _help_with_default(opt: Option) -> str:
    default = opt.default
    if isinstance(default, list | tuple):
        default = ",".join(map(str, default))
    elif default is True:
        default = "yes"
    has_default = opt.of is None and default not in (dataclasses.MISSING, None, False, "")
    names = f" One of: {', '.join(opt.of)}." if isinstance(opt.of, Mapping) else ""
    return opt.text + names + (f" [{default}]" if has_default else "")


def _converted(opt: Option, typed: Any) -> Any:
    """Return the value of an option, or its default if nothing was typed.

    Args:
        opt: the option.
        typed: what typer read: a text, the texts of a repeated option, a truth value of a flag;
            None or an empty list if the option was left out.

    Raises:
        ParameterError: the text is no value of the option.
    """
    if typed is None or typed == []:
        return opt.default
    if isinstance(typed, bool):
        return typed
    try:
        return opt.read(",".join(typed) if isinstance(typed, list) else typed)
    except ParameterError as problem:
        if opt.of is None or f"{opt.name}=" in str(problem):  # the message names the option
            raise
        raise ParameterError(f"{opt.switch}: {problem}") from None


def _required_first_key(kind: Any) -> str:
    """Return the first key of an options class as the help shows it if it is required, else "".

    Such a key is typed without its name: "EPSILON," of a budget.
    """
    first = next(iter(described(kind)), None)
    return f"{first.key.upper()}," if first and first.default is dataclasses.MISSING else ""


def _key_lines(opt: Option) -> list[tuple[str, str]]:
    """Return each key of an option with its help.

    If the option has several kinds, as "NAME:KEY=VALUE", a key that only some of them have is
    followed by their names.
    """
    kinds = opt.kinds
    names_of: dict[tuple[str, str], list[str]] = {}  # names of the kinds, by key and help
    for name, kind in kinds.items():
        for inner_option in described(kind):
            if inner_option.typed:
                can_be_no = inner_option.optional or inner_option.default is True
                choice = "=yes|no" if inner_option.kind is bool and can_be_no else ""
                line = (inner_option.key + choice, _help_with_default(inner_option))
                names_of.setdefault(line, []).append(name)
    return [
        (key, help_text if len(names) == len(kinds) else f"{help_text} ({', '.join(names)})")
        for (key, help_text), names in names_of.items()
    ]


@contextmanager
def spelling_keys(flag: str, kind: type, path: str, **renamed: str) -> Iterator[None]:
    """Spell keys of one option as they are typed, in errors of the `with` block.

    Python's `source=0` becomes `--columns source=1`: columns have numbers from 1 there.

    Args:
        flag: the option, such as "--columns".
        kind: its options class, which has the keys.
        path: the file that is read; its name stays as it is.
        renamed: further keys, by their names in Python.
    """
    keys = {inner_option.name: inner_option.key for inner_option in described(kind)} | renamed

    def spell_key(match: re.Match[str]) -> str:
        name, quoted, truth, index = match.groups()
        number = "" if index is None else str(int(index) + 1)
        return f"{flag} {keys[name]}={quoted or _TYPED_BOOLS.get(truth, '') or number}"

    assignment = re.compile(rf"(?<![-\w])({'|'.join(keys)})=(?:'([^']*)'|(True|False)|(\d+))?")
    try:
        yield
    except GraphCutsError as problem:
        raise _respelled(problem, [path], partial(assignment.sub, spell_key)) from None


def spelled_as_typed(
    problem: GraphCutsError, known: Iterable[Option], arguments: Iterable[Any] = ()
) -> GraphCutsError:
    """Return the same error, with options as they are typed.

    Args:
        problem: the error, with names of Python.
        known: options of the command.
        arguments: arguments of the command; names of files among them stay as they are.
    """
    flags = {opt.name: opt.switch for opt in known}
    keys = {
        inner_option.name: inner_option.key
        for opt in known
        for kind in opt.kinds.values()
        for inner_option in described(kind)
    }
    never = "(?!)"  # an expression that no text matches, since an empty one would match any
    names = "|".join(flags) or never
    # A name with an underscore is no English word, so that it is replaced wherever it stands.
    long_names = "|".join(name for name in keys | flags if "_" in name) or never

    def spell(text: str) -> str:
        # "epsilon must be ..." at the beginning
        text = re.sub(rf"^({names}) must\b", lambda match: f"{flags[match[1]]} must", text)
        # "epsilon=", "kind='directed'" and "epsilon=0.5", which become "--epsilon 0.5"
        text = re.sub(
            rf"(?<![-\w])({names})=(?:'([^']*)'|([\d.]*\d))?",
            lambda match: " ".join(filter(None, (flags[match[1]], match[2], match[3]))),
            text,
        )
        return re.sub(
            rf"(?<![-\w])({long_names})(?![-\w])", lambda match: (keys | flags)[match[1]], text
        )

    return _respelled(problem, [path for path in arguments if isinstance(path, str)], spell)


def _respelled(
    problem: GraphCutsError, paths: Iterable[str], spell: Callable[[str], str]
) -> GraphCutsError:
    """Return the same error in other words; names of files and code stay as they are.

    A name of a file without an ending may be a word of the message: it is kept only at the
    beginning.
    """
    text, code, code_text = str(problem).partition(_CODE)
    names = sorted((path for path in paths if path), key=len, reverse=True)
    kept = [rf"^{re.escape(name)}" for name in names]
    kept += [rf"(?<![-\w]){re.escape(name)}(?![-\w])" for name in names if Path(name).suffix]
    parts = re.split(f"({'|'.join(kept)})", text) if kept else [text]
    for index in range(0, len(parts), 2):  # parts with odd indices are names of files
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
