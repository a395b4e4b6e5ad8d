"""`graphcuts-dp plan`: which mechanism to run, before any data is touched."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.ask import Questions, ask
from graphcuts_dp.cli.console import numbers, out, show_card, show_json, show_table
from graphcuts_dp.cli.options import with_options
from graphcuts_dp.cli.protect_options import Protecting
from graphcuts_dp.display import short
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.strategy import equal_groups
from graphcuts_dp.learn.bounds import SessionWorkload
from graphcuts_dp.options import INPUT, OUTPUT, PRIVACY, check, option
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.planning import planner
from graphcuts_dp.planning.planner import Plan
from graphcuts_dp.privacy.guarantee import PRIORS

EXAMPLE = """\
Example: graphcuts-dp plan --n 5000 --edges 5e4 --queries 1e6 --epsilon 1 --delta 1e-6

Example: graphcuts-dp plan --n 5000 --epsilon 0.5,1,2 --set-sizes 50,100

Example: graphcuts-dp plan --explain --epsilon 1 --protect vertex --degree-bound 50

Example: graphcuts-dp plan --ask

The command uses formulas only. It reads no data and spends no budget. --edges is a guess that
may be public, such as the number of edges of a similar graph; never count the edges of the
private graph. --explain says in plain words what a promise means. --ask asks five questions and
prints the command to type; it takes the defaults where nobody sits at a terminal."""
_input = partial(typer.Option, rich_help_panel=INPUT)
_privacy = partial(typer.Option, rich_help_panel=PRIVACY)
_output = partial(typer.Option, rich_help_panel=OUTPUT)
_ANNOUNCED = SessionWorkload.__dataclass_fields__
_N = "--n is a whole number, or LEFT,RIGHT of a graph with two sides"


def _announced(name: str) -> Any:
    """An option of a session's workload."""
    return field(default=_ANNOUNCED[name].default, metadata=_ANNOUNCED[name].metadata)


def _whole_number(text: str) -> int:
    """A whole number as people type it: 1000, or 1e6."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise ParameterError(f"{text!r:.40} is no whole number such as 1000 or 1e6")
    return int(number)


@final
@dataclass(frozen=True, kw_only=True)
class Asked:
    """What will be asked, of which a plan makes a `SessionWorkload`."""

    queries: int = option(
        1000, help="Number of cuts that will be asked.", least=1, parse=_whole_number
    )
    beta: float = _announced("beta")
    linear: bool = _announced("linear")
    most_right: int | None = _announced("most_right")
    most_spectral: float | None = _announced("most_spectral")

    def __post_init__(self) -> None:
        check(self)


@with_options
def plan(
    n: Annotated[
        str | None,
        _input("--n", help="Number of vertices; LEFT,RIGHT of a graph with two sides."),
    ] = None,
    epsilon: Annotated[
        str | None,
        _privacy(help="Privacy parameter; smaller is more private. Several values: 0.5,1,2."),
    ] = None,
    edges: Annotated[
        float | None,
        _input(help="A public guess of the number of edges; 10 a vertex if omitted."),
    ] = None,
    *,
    asked: Asked,
    rank: Annotated[
        int | None,
        _input(help="With --linear: a public guess of the rank of the matrix of ratings."),
    ] = None,
    delta: options.Delta = 0.0,
    directed: Annotated[
        bool, _input("--directed", help="Plan for a graph whose edges have a direction.")
    ] = False,
    protecting: Protecting,
    groups: Annotated[
        str | None,
        _input(
            help="Also plan flows: the number of public groups of equal sizes on each level, "
            "coarsest first, such as 5,50; of two sides LEFT:RIGHT, such as 5,50:4,20. With --ask "
            "the public table of the groups, or none."
        ),
    ] = None,
    target_error: Annotated[
        float | None, _output(help="Also show the epsilon that guarantees this error.")
    ] = None,
    set_sizes: Annotated[
        str | None,
        _output(
            help="Also show the expected error of a cut between two sets of these "
            "sizes, such as 50,100."
        ),
    ] = None,
    explained: Annotated[
        bool, _output("--explain", help="Explain in plain words what the promise means.")
    ] = False,
    priors: Annotated[
        str, _output(help="With --explain: what an attacker may believe before the release.")
    ] = ",".join(map(str, PRIORS)),
    asking: Annotated[
        bool, _output("--ask", help="Ask five questions, and print the command to type.")
    ] = False,
    questions: Questions,
    as_json: options.Json = False,
) -> None:
    """Compare what all mechanisms would guarantee, best first. Reads no data."""
    if asking:
        ask(questions, protecting, groups=groups, error=target_error, n=n, as_json=as_json)
        return
    missing = [
        f"--{name} {example}"
        for name, value, example in (("n", n, "5000"), ("epsilon", epsilon, "1"))
        if value is None and not (explained and name == "n")
    ]
    if missing:
        raise ParameterError(f"a plan needs {' and '.join(missing)}, for example; or --ask")
    epsilons = numbers(epsilon or "", float, "--epsilon is a number, or several: 0.5,1,2")
    if explained:
        _explain(protecting, epsilons, delta, priors, as_json=as_json)
        return
    sides = numbers(n or "", int, _N)
    if len(sides) > 2:
        raise ParameterError(_N)
    wrong = "--set-sizes are whole numbers with commas between: 50,100"
    sizes = [] if set_sizes is None else numbers(set_sizes, int, wrong)
    plans = [
        planner.plan(
            (sides[0], sides[1]) if len(sides) == 2 else sides[0],
            epsilon=each,
            edges=edges,
            queries=SessionWorkload(**vars(asked)),
            delta=delta,
            directed=directed,
            protect=protecting.of,
            rank=rank,
            groups=None if groups is None else _groups(groups, sides),
            target_error=target_error,
        )
        for each in epsilons
    ]
    small = [made.small_sets(*sizes) if sizes else {} for made in plans]
    if as_json:
        told = [made.to_dict() for made in plans]
        for each, errors in zip(told, small, strict=True):
            each |= {"set_sizes": sizes, "expected_errors": errors} if sizes else {}
        show_json(told[0] if len(told) == 1 else {"plans": told})
        return
    if len(plans) > 1:
        _show_beside(plans)
    for made, errors in zip(plans, small, strict=True):
        if len(plans) == 1:
            show_card(made)
        else:
            out.print(f"epsilon = {made.setting.epsilon:g}. Advice: {made.advice}", markup=False)
        if sizes:
            show_table(
                f"Expected error of a cut between two sets of so many vertices, "
                f"epsilon = {made.setting.epsilon:g}",
                ("mechanism", *(f"{size:,}" for size in sizes)),
                [(name, *map(short, found)) for name, found in errors.items()],
            )


def _explain(
    protecting: Protecting, epsilons: Sequence[float], delta: float, priors: str, *, as_json: bool
) -> None:
    if len(epsilons) > 1:
        raise ParameterError("--explain takes one --epsilon")
    believed = numbers(priors, float, "--priors are numbers with commas between: 0.01,0.5")
    made = protecting.of.explain(epsilon=epsilons[0], delta=delta, priors=believed)
    if as_json:
        show_json(made.to_dict())
    else:
        show_card(made)


def _show_beside(plans: Sequence[Plan]) -> None:
    """Guaranteed errors at each epsilon, in the order of the first plan."""
    shown = {(row.name, row.cuts) for made in plans for row in made.shown}
    errors: list[dict[tuple[str, str], Any]] = [
        {(row.name, row.cuts): row.guaranteed for row in made.rows} for made in plans
    ]
    show_table(
        plans[0].title.replace(f"epsilon = {plans[0].setting.epsilon:g}", "errors by epsilon"),
        ("mechanism", "cuts", *(f"epsilon = {made.setting.epsilon:g}" for made in plans)),
        [
            (
                *row,
                *(
                    short(found[row]) if math.isfinite(found[row]) else "needs delta"
                    for found in errors
                ),
            )
            for row in errors[0]
            if row in shown
        ],
    )


def _groups(text: str, sides: Sequence[int]) -> GroupTree | tuple[GroupTree, GroupTree]:
    """Groups of nearly equal sizes on each level."""
    texts = text.split(":")
    if len(texts) != len(sides):
        raise ParameterError("--groups is LEFT:RIGHT for two sides, and has no colon for one")
    wrong = "--groups are whole numbers, for example 5,50"
    made = [
        equal_groups(n, numbers(each, int, wrong)) for n, each in zip(sides, texts, strict=True)
    ]
    return (made[0], made[1]) if len(made) == 2 else made[0]
