"""`graphcuts-dp plan --ask`: five questions, then the command to type and what to expect of it."""

import math
import os
import shlex
import sys
from dataclasses import dataclass
from typing import final

from graphcuts_dp.cli.console import out, say, show_json
from graphcuts_dp.cli.protect_options import Protecting
from graphcuts_dp.display import short
from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.estimate.noisy_matrix import expected_worst_cut, largest_cut, noise_distribution
from graphcuts_dp.options import INPUT, option
from graphcuts_dp.planning.planner import least_epsilon
from graphcuts_dp.privacy.distributions import discrete_laplace_radius
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON, Protect

EVERYBODY, ANALYSTS, TEAM = WHO = ("everybody", "analysts", "team")
_FAILURE = 0.05
_LARGE = 3.0  # an epsilon from which a promise is weak
_QUERIES = 50  # that analysts ask


@final
@dataclass(frozen=True, kw_only=True)
class Questions:
    """What `--ask` asks for besides what a plan knows, and does not ask where it is given."""

    data: str | None = option(None, help="With --ask: file of the private graph.", group=INPUT)
    owner: str | None = option(
        None, help="With --ask and --protect owner: column of the owner of each row.", group=INPUT
    )
    who: str | None = option(None, help="With --ask: who asks.", choices=WHO, group=INPUT)


def ask(
    given: Questions,
    protecting: Protecting,
    *,
    groups: str | None,
    error: float | None,
    n: str | None,
    as_json: bool,
) -> None:
    """Ask what is not given, and print the command to type with its forecast."""
    data = _file(_asked("1. Which file holds the private graph?", given.data, ""), "--data FILE")
    groups = _asked(
        "2. Which public table names the groups of vertices? (or: none)", groups, "none"
    )
    if groups != "none":
        _file(groups, "--groups FILE")
    protection, owner = _whom(given, protecting)
    error = _number("4. By how many edges may an answer be off?", error, 20.0)
    if not 0 < error < math.inf:
        raise ParameterError("--target-error is a number of edges above 0, for example 20")
    who = _asked(f"5. Who asks: {', '.join(WHO)}?", given.who, EVERYBODY)
    if who not in WHO:
        raise ParameterError(f"unknown --who {who!r:.60}; choose one of {', '.join(WHO)}")
    vertices = None if n is None else _count("", n, 0)
    if who == EVERYBODY and groups == "none":
        vertices = _count("   How many vertices are there? (if that is public)", vertices, 0)
    words, epsilon, promise, hint = _proposal(
        data, None if groups == "none" else groups, protection, error, who, vertices
    )
    words += ["--budget-epsilon" if who == TEAM else "--epsilon", f"{epsilon:g}"]
    words += ["--vertices", str(vertices)] if vertices else []
    words += ["--owner", owner] if owner else []
    for name, value in protection.keywords.items():
        if value is not None and value != "edges":
            words += [f"--{name.replace('_', '-')}", str(value)]
    line = shlex.join(["graphcuts-dp", *words])
    if as_json:
        show_json(
            {
                "command": line,
                "epsilon": epsilon,
                "error_of": promise,
                "protects": str(protection),
                "private_file_read": False,
            }
        )
        return
    told = protection.explain(epsilon=epsilon).sentences
    lines = [
        f"Type:\n\n  {line}\n",
        f"Forecast: epsilon = {short(epsilon)} keeps that error for {promise}.",
        f"Protected: {told['Protected']}",
        f"Strength: {told['Strength']}",
    ]
    if epsilon >= _LARGE:
        lines.append(
            f"That is weak: an epsilon of {short(epsilon)} hides little. Allow more error, or "
            "protect fewer together."
        )
    out.print("\n".join([*lines, hint]), markup=False)
    say("note: Nothing of the private file was read, nothing spent; the forecast is a formula.")


def _whom(given: Questions, protecting: Protecting) -> tuple[Protect, str | None]:
    """Whom to protect, and the column of owners, where it is an owner."""
    kind, bounds = protecting.protect, (protecting.at_most, protecting.degree_bound)
    if kind == "edges" and bounds == (None, None):
        kind = _asked("3. Whom to protect: edges, owner or vertex?", None, kind)
    owner, (at_most, bound) = None, bounds
    if kind == "owner":
        owner = _asked("   Which column says whose a row is?", given.owner, "")
        if not owner:
            raise ParameterError("--protect owner needs --owner COLUMN, which names whose a row is")
        at_most = _count("   How many rows of an owner count?", at_most, 20)
    if kind == "edges":
        at_most = _count("   How many edges together?", at_most, 1)
    if kind == "vertex":
        bound = _count("   How many edges of a vertex count?", bound, 50)
    return Protecting(protect=kind, at_most=at_most, degree_bound=bound).of, owner


def _proposal(
    data: str, groups: str | None, protection: Protect, error: float, who: str, vertices: int | None
) -> tuple[list[str], float, str, str]:
    """The command, the least epsilon that keeps the error, what the error is of, and a hint.

    Args:
        data: path of the private graph, which is not read.
        groups: path of the public groups, or None.
        protection: whom to protect.
        error: in edges, that an answer may be off by with probability 95%.
        who: one of `WHO`.
        vertices: public number of vertices, or None.

    Raises:
        ParameterError: answers that do not fit together, or an error that no epsilon keeps.
    """
    change = protection.degree_bound or protection.steps
    if who == EVERYBODY and groups is not None:
        if protection.kind == "vertex":
            raise ParameterError(
                "what a table costs that hides vertices depends on how many groups there are: "
                "graphcuts-dp flows tells it before it spends; or choose --who analysts"
            )
        return (
            ["flows", data, groups, "flows.csv"],
            _rounded(
                least_epsilon(
                    lambda e: discrete_laplace_radius(e / change, failure=_FAILURE) <= error
                )
            ),
            "a sum between two groups of one level, each with probability 95%",
            "If the table of groups has several columns, add --levels NAME.",
        )
    if who == EVERYBODY:
        if protection.kind == "vertex":
            raise ParameterError("a published graph cannot hide a vertex: choose --who analysts")
        if vertices is None or vertices < 2:
            raise ParameterError(
                "what a published graph costs grows with its size: give --n, if it is public"
            )
        shape = vertices, vertices

        def enough(epsilon: float) -> bool:
            """In the normal approximation; and a release is not refused as worthless."""
            noise = noise_distribution("binary", epsilon=epsilon, weight_cap=1.0)
            between_halves = 1.96 * noise.standard_deviation * vertices / 2
            holds = largest_cut(shape, symmetric=True, cap=1.0)
            return between_halves <= error and expected_worst_cut(noise, shape) <= holds

        return (
            ["release", data, "synthetic.graphml"],
            _rounded(change * least_epsilon(enough)),
            "a cut between halves of all vertices, about, each with probability 95%",
            "Before you spend: add --dry-run EDGES for a forecast in full.",
        )
    if who == TEAM and protection.kind == "owner":
        raise ParameterError("the server reads graphs, not rows with owners: choose --who analysts")
    words = ["session", "start", data, "--store", f"{data}.db", "--queries", str(_QUERIES)]
    if who == TEAM:
        words = ["serve", f"{data}.db", "--graph", data]
    each = change * _QUERIES
    return (
        words,
        _rounded(
            least_epsilon(
                lambda e: discrete_laplace_radius(e / each, failure=_FAILURE / _QUERIES) <= error
            )
        ),
        f"each of {_QUERIES} answers, all at once with probability 95%",
        "Other numbers of queries cost otherwise: graphcuts-dp plan compares methods.",
    )


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


def _file(path: str, option_of: str) -> str:
    if not path:
        raise ParameterError(f"name the file: {option_of}")
    if not os.path.isfile(path):  # noqa: PTH113  # false for names too long, too
        raise FileFormatError(f"{path} does not exist; it should be the file of {option_of}")
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


def _number(question: str, given: object, default: float) -> float:
    text = _asked(question, None if given is None else str(given), f"{default:g}")
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{text!r:.40} is no number such as {default:g}") from None


def _count(question: str, given: object, default: int) -> int:
    number = _number(question, given, default)
    if not number.is_integer():
        raise ParameterError(f"{number:g} is no whole number such as {default}")
    return int(number)
