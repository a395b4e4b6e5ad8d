"""`graphcuts-dp explain`: what a promise of privacy means, for people who decide about it."""

from typing import Annotated

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import numbers, out, show_json, show_table
from graphcuts_dp.cli.spelling import spelled
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.planning.explanation import PRIORS
from graphcuts_dp.planning.explanation import explain as explained

EXAMPLE = """Example: graphcuts-dp explain --protect vertex --degree-bound 50 --epsilon 1

Example: graphcuts-dp explain --at-most 20 --epsilon 1 --delta 1e-6 --priors 0.001,0.5

The command reads no data and spends no budget. A prior is the probability that somebody gives to
a fact before the release: that these two know each other, or that this person is in the file."""


def explain(
    epsilon: Annotated[
        float, typer.Option(help="Epsilon of everything that is released together.")
    ],
    delta: Annotated[
        float, typer.Option(help="Delta of everything together; 0 for pure differential privacy.")
    ] = 0.0,
    protect: options.Protect = "edges",
    at_most: Annotated[
        int | None,
        typer.Option(
            help="Number of edges protected together, or number of rows of an owner that count."
        ),
    ] = None,
    degree_bound: options.DegreeBound = None,
    priors: Annotated[
        str, typer.Option(help="Probabilities before the release, separated by commas.")
    ] = ",".join(map(str, PRIORS)),
    as_json: options.Json = False,
) -> None:
    """Explain in plain words whom a guarantee protects, against what, and how well."""
    believed = numbers(priors, float, "--priors are numbers with commas between: 0.01,0.5")
    try:
        made = explained(
            epsilon=epsilon,
            delta=delta,
            protect=protect,
            at_most=at_most,
            degree_bound=degree_bound,
            priors=believed,
        )
    except ParameterError as problem:
        raise spelled(problem, "") from None
    if as_json:
        show_json(made.to_dict())
        return
    for heading, text in made.sentences:
        out.print(f"{heading}: {text}\n", markup=False)
    title = "What an attacker can come to believe, as a probability"
    if delta:
        title += f" (but for a chance of {delta:g})"
    rows = [
        tuple(f"{number:.3g}" for number in (each.prior, each.lowest, each.highest))
        for each in made.odds
    ]
    show_table(title, ("beforehand", "afterwards at least", "at most"), rows)
