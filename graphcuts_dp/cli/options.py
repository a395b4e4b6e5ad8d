"""Options of the command line: those that several commands have, and objects of options."""

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from graphcuts_dp.cli.console import HELP
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.options import GROUPS, INPUT, METHOD, OUTPUT, PRIVACY, Option, described

_input = functools.partial(typer.Option, rich_help_panel=INPUT)
_privacy = functools.partial(typer.Option, rich_help_panel=PRIVACY)
_method = functools.partial(typer.Option, rich_help_panel=METHOD)
_output = functools.partial(typer.Option, rich_help_panel=OUTPUT)

PrivateGraph = Annotated[str, typer.Argument(metavar="IN", help="The private graph.")]
Epsilon = Annotated[float, _privacy(help="Privacy parameter; smaller is more private.")]
Delta = Annotated[
    float,
    _privacy(help="0 for pure differential privacy; otherwise choose far below 1/n."),
]
Protect = Annotated[str, _privacy(help="What is protected: edges, owner or vertex.")]
AtMost = Annotated[
    int | None,
    _privacy(help="Number of edges protected together, or of rows of an owner that count."),
]
DegreeBound = Annotated[
    int | None,
    _privacy(help="Number of edges of a vertex that count."),
]
Complement = Annotated[
    bool,
    _input("--complement", help="T is all other vertices, as without --to."),
]
Output = Annotated[
    str | None,
    _output("-o", "--output", help="File to write to; standard output if omitted."),
]
Seed = Annotated[
    int | None,
    _output(help="Seed of a repeatable run. NOT PRIVATE: for tests only."),
]
Force = Annotated[bool, _output("--force", help="Replace existing files.")]
ForceOutput = Annotated[bool, _output("--force", help="Replace an existing output file.")]
Json = Annotated[bool, _output("--json", help="Print the result as JSON.")]
BudgetEpsilon = Annotated[
    float | None,
    _privacy(help="Budget of a new store: cap on epsilon of all uses of the data together."),
]
BudgetDelta = Annotated[
    float,
    _privacy(help="Budget of a new store: cap on delta of all uses of the data together."),
]
ExpectHead = Annotated[
    str | None,
    _privacy(
        help="The head that `store status` printed earlier: refuse a store that "
        "lacks later records."
    ),
]
SessionStore = Annotated[
    str, typer.Argument(metavar="STORE", help="The store, made by `session start`.")
]
Name = Annotated[str, _input(help="Name of the session within the store.")]
AnyName = Annotated[
    str | None,
    _input("--name", help="Name of one session; all sessions in the store if omitted."),
]
MovedGraph = Annotated[
    str | None,
    _input(help="The private graph, if its file has moved since the start."),
]
Unguaranteed = Annotated[
    bool,
    _method(
        "--unguaranteed",
        help="When the session has no queries left, answer without guarantee, and mark it.",
    ),
]
SessionEpsilon = Annotated[
    float,
    _privacy(help="Epsilon of the whole session; smaller is more private."),
]
Promised = Annotated[int, _method(help="Number of answers that the session promises.")]


class Command(TyperCommand):
    """A command whose help lists its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, the groups in the order of `GROUPS`, and what has no group."""
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


class Commands(typer.Typer):
    """Commands of one group, such as `session`, each with its example."""

    def __init__(self, **given: Any) -> None:
        super().__init__(
            rich_markup_mode=None,
            add_completion=False,
            no_args_is_help=True,
            context_settings=HELP,
            **given,
        )

    def command(self, name: str | None = None, **given: Any) -> Callable[..., Any]:
        """As typer's."""
        return super().command(name, **{"cls": Command, "context_settings": HELP, **given})


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose parameters that are objects of options become these options."""
    signature = inspect.signature(command)
    parameters: list[inspect.Parameter] = []
    objects: dict[str, tuple[Any, list[str]]] = {}
    for name, given in signature.parameters.items():
        if dataclasses.is_dataclass(given.annotation):
            found = list(_parameters(given.annotation))
            objects[name] = given.annotation, [each.name for each in found]
            parameters += found
        else:
            parameters.append(given.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**given: Any) -> Any:
        for name, (kind, names) in objects.items():
            given[name] = _made(kind, {each: given.pop(each) for each in names})
        return command(**given)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _parameters(kind: Any) -> Iterator[inspect.Parameter]:
    """What a command takes for each field: described by `option`, or by typer's own words."""
    known = {each.name: each for each in described(kind)}
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        annotation, default = hints[field.name], field.default
        if field.name in known:
            about = known[field.name]
            if about.kind is None and about.parse is None:
                continue  # no word stands for it
            annotation = _typed(about)
        if default is dataclasses.MISSING:
            default = inspect.Parameter.empty
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
        )


def _flag(about: Option) -> str:
    return about.flag or f"--{about.name.replace('_', '-')}"


def _typed(about: Option) -> Any:
    flag = _flag(about)
    if about.kind is bool and about.default is not False and "/" not in flag:
        flag = f"{flag}/--no-{flag[2:]}"
    shown = typer.Option(flag, help=about.text, metavar=about.metavar, rich_help_panel=about.group)
    kind: Any = str if about.parse else about.kind
    return Annotated[kind | None if about.optional else kind, shown]


def _made(kind: Any, values: dict[str, Any]) -> Any:
    """The object; its errors name options as they are typed.

    Raises:
        ParameterError: as the class refuses.
    """
    known = described(kind)
    try:
        for each in known:
            if each.parse and values[each.name] != each.default:
                values[each.name] = each.parse(values[each.name])
        return kind(**values)
    except ParameterError as problem:
        if not known:
            raise
        flags = {each.name: _flag(each).split("/")[0] for each in known}
        named = re.compile(rf"(?<![-\w])({'|'.join(flags)})(=|\b(?![-\w]))")
        text = named.sub(lambda m: flags[m[1]] + (" " if m[2] else ""), str(problem))
        raise ParameterError(text) from None
