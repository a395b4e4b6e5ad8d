"""`graphcuts-dp wizard`: five questions, then the command to type and what to expect of it."""

import math
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import out, say, show_json
from graphcuts_dp.cli.spelling import spelled
from graphcuts_dp.display import short
from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.planning.explanation import explain
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON, SMALLEST_EPSILON
from graphcuts_dp.privacy.protection import Protect
from graphcuts_dp.privacy.value_noise import discrete_laplace_radius, noise_distribution

EXAMPLE = """Example: graphcuts-dp wizard

Example: graphcuts-dp wizard --data mail.edges.gz --groups staff.csv --protect edges --error 20
  --who everybody

The wizard asks for what you do not give as an option. If it does not run in a terminal, it
takes the defaults. It checks only that the data file exists: it reads, spends and writes
nothing."""

EVERYBODY, ANALYSTS, TEAM = "everybody", "analysts", "team"
WHO = (EVERYBODY, ANALYSTS, TEAM)
_FAILURE = 0.05
_LARGE = 3.0  # an epsilon from which a promise is weak
_QUERIES = 50  # that analysts ask


@final
@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What the wizard proposes.

    Attributes:
        command: its words.
        epsilon: the least that keeps the error, up to rounding.
        promise: what the error is of, with its chance.
        hint: what to look at besides.
        protection: whom it is for.
    """

    command: tuple[str, ...]
    epsilon: float
    promise: str
    hint: str
    protection: Protect


def wizard(
    data: Annotated[str | None, typer.Option(help="1. The private graph.")] = None,
    groups: Annotated[
        str | None, typer.Option(help="2. Public table of the groups of vertices, or none.")
    ] = None,
    protect: Annotated[
        str | None, typer.Option(help="3. What to protect: edges, owner or vertex.")
    ] = None,
    at_most: options.AtMost = None,
    owner: Annotated[str | None, typer.Option(help="Column of the owner of each row.")] = None,
    degree_bound: options.DegreeBound = None,
    error: Annotated[
        float | None, typer.Option(help="4. Largest acceptable error of an answer, in edges (95%).")
    ] = None,
    who: Annotated[str | None, typer.Option(help=f"5. Who asks: {', '.join(WHO)}.")] = None,
    vertices: Annotated[
        int | None, typer.Option(help="Number of vertices, if it is public; a release needs it.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Ask five questions, and print the command to type with its forecast."""
    data = _file(_asked("1. Which file holds the private graph?", data, ""), "the private graph")
    groups = _asked(
        "2. Which public table names the groups of vertices? (or: none)", groups, "none"
    )
    if groups != "none":
        _file(groups, "the groups")
    protect = _asked("3. Whom to protect: edges, owner or vertex?", protect, "edges")
    if protect == "owner":
        owner = _asked("   Which column says whose a row is?", owner, "")
    if protect in ("edges", "owner"):
        at_most = _count(
            "   How many edges (or rows of an owner) together?",
            at_most,
            1 if protect == "edges" else 20,
        )
    if protect == "vertex":
        degree_bound = _count("   How many edges of a vertex count?", degree_bound, 50)
    error = _number("4. By how many edges may an answer be off?", error, 20.0)
    who = _asked(f"5. Who asks: {', '.join(WHO)}?", who, EVERYBODY)
    if who == EVERYBODY and groups == "none":
        vertices = _count("   How many vertices are there? (if that is public)", vertices, 0)
    try:
        protection = Protect.of(protect, at_most=at_most, degree_bound=degree_bound)
    except ParameterError as problem:
        raise spelled(problem, "") from None
    if protect == "owner" and not owner:
        raise ParameterError("--protect owner needs --owner COLUMN, which names whose a row is")
    proposal = propose(
        data,
        None if groups == "none" else groups,
        protection,
        error=error,
        who=who,
        owner=owner if protect == "owner" else None,
        vertices=vertices,
    )
    _show(proposal, as_json=as_json)


def propose(
    data: str,
    groups: str | None,
    protection: Protect,
    *,
    error: float,
    who: str,
    owner: str | None,
    vertices: int | None,
) -> Proposal:
    """The command for these answers, from public numbers alone.

    Args:
        data: path of the private graph, which is not read.
        groups: path of the public groups, or None.
        protection: whom to protect.
        error: in edges, that an answer may be off by with probability 95%.
        who: one of `WHO`.
        owner: column of owners.
        vertices: public number of vertices, or None.

    Raises:
        ParameterError: answers that do not fit together, or an error that no epsilon keeps.
    """
    if who not in WHO:
        raise ParameterError(f"unknown --who {who!r:.60}; choose one of {', '.join(WHO)}")
    if not 0 < error < math.inf:
        raise ParameterError("--error is a number of edges above 0, for example 20")
    change = protection.steps if protection.degree_bound is None else protection.degree_bound
    if who == EVERYBODY and groups is not None:
        if protection.kind == "vertex":
            raise ParameterError(
                "what a table costs that hides vertices depends on how many groups there are: "
                "graphcuts-dp flows tells it before it spends; or choose --who analysts"
            )
        epsilon = _least(lambda e: discrete_laplace_radius(e / change, failure=_FAILURE), error)
        words: tuple[str, ...] = ("flows", data, groups, "flows.csv")
        promise = "a sum between two groups of one level, each with probability 95%"
        hint = "If the table of groups has several columns, add --levels NAME."
    elif who == EVERYBODY:
        if protection.kind == "vertex":
            raise ParameterError("a published graph cannot hide a vertex: choose --who analysts")
        if vertices is None or vertices < 2:
            raise ParameterError(
                "what a published graph costs grows with its size: give --vertices, if it is public"
            )
        pairs = vertices * vertices / 4
        epsilon = change * _least(lambda e: _entries_radius(e, pairs), error)
        words = ("release", data, "synthetic.graphml")
        promise = "a cut between halves of all vertices, about, each with probability 95%"
        hint = "Before you spend: add --dry-run --expected-edges M for a forecast in full."
    else:
        epsilon = _least(
            lambda e: discrete_laplace_radius(e / change / _QUERIES, failure=_FAILURE / _QUERIES),
            error,
        )
        words = ("session", "start", data, "--store", f"{data}.db", "--queries", str(_QUERIES))
        if who == TEAM:
            words = ("serve", f"{data}.db", "--graph", data)
        promise = f"each of {_QUERIES} answers, all at once with probability 95%"
        hint = "Other numbers of queries cost otherwise: graphcuts-dp plan compares methods."
    epsilon = _rounded(epsilon)
    return Proposal(
        command=("graphcuts-dp", *words, *_options(protection, owner, vertices, epsilon, who)),
        epsilon=epsilon,
        promise=promise,
        hint=hint,
        protection=protection,
    )


def _options(
    protection: Protect, owner: str | None, vertices: int | None, epsilon: float, who: str
) -> list[str]:
    budget = "--budget-epsilon" if who == TEAM else "--epsilon"
    words = [budget, f"{epsilon:g}"]
    if vertices is not None:
        words += ["--vertices", str(vertices)]
    if protection.kind != "edges":
        words += ["--protect", protection.kind]
    if owner is not None:
        words += ["--owner", owner]
    if protection.degree_bound is not None:
        words += ["--degree-bound", str(protection.degree_bound)]
    elif protection.kind == "owner" or protection.steps > 1:
        words += ["--at-most", str(protection.steps)]
    return words


def _entries_radius(epsilon: float, pairs: float) -> float:
    """How far noise on that many entries moves a cut, 95%, in the normal approximation."""
    noise = noise_distribution("binary", epsilon=epsilon, weight_cap=1.0)
    return 1.96 * noise.standard_deviation * math.sqrt(pairs)


def _least(off_by: Callable[[float], float], error: float) -> float:
    """The least epsilon at which answers are off by no more; infinite if there is none."""
    low, high = SMALLEST_EPSILON, LARGEST_EPSILON
    if off_by(high) > error:
        return math.inf
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if off_by(middle) > error else (low, middle)
    return high


def _rounded(epsilon: float) -> float:
    """Up, to two digits.

    Raises:
        ParameterError: more than any release may cost.
    """
    if not epsilon <= LARGEST_EPSILON / 1.1:
        raise ParameterError(
            "so small an error cannot be had for these answers at any epsilon that hides anything: "
            "allow more, name public groups, or protect fewer edges together"
        )
    scale = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return max(float(f"{math.ceil(epsilon / scale * (1 - 1e-12)) * scale:.2g}"), 1e-3)


def _show(proposal: Proposal, *, as_json: bool) -> None:
    line, whom = shlex.join(proposal.command), proposal.protection
    told = explain(
        epsilon=proposal.epsilon,
        protect=whom.kind,
        at_most=None if whom.kind == "vertex" else whom.steps,
        degree_bound=whom.degree_bound,
    )
    if as_json:
        show_json(
            {
                "command": line,
                "epsilon": proposal.epsilon,
                "error_of": proposal.promise,
                "protects": str(whom),
                "private_file_read": False,
            }
        )
        return
    sentences = dict(told.sentences)
    out.print(f"Type:\n\n  {line}\n", markup=False)
    out.print(
        f"Forecast: epsilon = {short(proposal.epsilon)} keeps that error for {proposal.promise}.",
        markup=False,
    )
    out.print(f"Protected: {sentences['Protected']}", markup=False)
    out.print(f"Strength: {sentences['Strength']}", markup=False)
    if proposal.epsilon >= _LARGE:
        out.print(
            f"That is weak: an epsilon of {short(proposal.epsilon)} hides little. Allow more "
            "error, or protect fewer together.",
            markup=False,
        )
    out.print(proposal.hint, markup=False)
    say("note: Nothing of the private file was read, nothing spent; the forecast is a formula.")


def _file(path: str, what: str) -> str:
    if not path:
        raise ParameterError(f"name {what}: --data FILE")
    if not os.path.isfile(path):  # noqa: PTH113  # false for names too long, too
        raise FileFormatError(f"{path} does not exist; it should be the file of {what}")
    return path


def _asked(question: str, given: str | None, default: str) -> str:
    """What was given as an option; else what is typed, or the default."""
    if given is not None or not sys.stdin.isatty():
        return default if given is None else given
    shown = f" [{default}]" if default else ""
    try:
        return input(f"{question}{shown} ").strip() or default
    except EOFError:
        return default


def _number(question: str, given: float | None, default: float) -> float:
    text = _asked(question, None if given is None else repr(given), f"{default:g}")
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{text!r:.40} is no number such as {default:g}") from None


def _count(question: str, given: int | None, default: int) -> int:
    number = _number(question, given, default)
    if not number.is_integer():
        raise ParameterError(f"{number:g} is no whole number such as {default}")
    return int(number)
