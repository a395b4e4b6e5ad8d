"""`graphcuts-dp owners`: how much owners of rows have, privately, and which bound to take."""

from math import isfinite
from typing import Annotated, Any

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import say, show_facts, show_json, show_table
from graphcuts_dp.cli.options import with_options
from graphcuts_dp.cli.reading import Reading, note_reading
from graphcuts_dp.cli.store_options import Spending
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noisy_contributions import check_bounds
from graphcuts_dp.planning.bounds import BoundPlan, plan_bounds
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.release.contributions import choose_bound, release_contributions

EXAMPLE = """Example: graphcuts-dp owners visits.csv --owner patient --vertices wards.txt
  --epsilon 0.5 --for-epsilon 1 --store visits.db

Example: graphcuts-dp owners visits.csv --owner patient --vertices wards.txt --epsilon 0.1
  --share-above 0.05 --store visits.db

The first command shows, with noise, how many owners have more than each bound and what the
bound would leave out, beside the noise that it needs. The second chooses one bound that about
the given share of the owners exceeds, which needs less epsilon. Both spend a part of the budget
of the rows.

Noise hides a few owners, and each of them may have most of the rows: no private table can rule
that out. If no owner can have more than a known number, say it with --most."""


@with_options
def owners(
    source: Annotated[str, typer.Argument(metavar="ROWS", help="The private rows.")],
    epsilon: Annotated[float, typer.Option(help="Epsilon of one owner; smaller is more private.")],
    spending: Spending,
    for_epsilon: Annotated[
        float, typer.Option(help="Epsilon of the release that the bound is for.")
    ] = 1.0,
    cells: Annotated[
        int,
        typer.Option(help="Number of cells of that release over which the left-out rows spread."),
    ] = 1,
    share_above: Annotated[
        float | None,
        typer.Option(help="Choose a bound that about this share of the owners exceeds."),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            min=1, help="Publicly known: no owner has more than this; for what is left out at most."
        ),
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option(
            help="Public candidate bounds, such as 1,5,10,20; if omitted, from 1 to 100,000."
        ),
    ] = None,
    *,
    reading: Reading,
    seed: options.Seed = None,
    as_json: options.Json = False,
) -> None:
    """Estimate privately how much owners of rows have, and which bound on it to use."""
    for given in (epsilon, for_epsilon):
        exact_epsilon(given)
    candidates = check_bounds(None if bounds is None else _numbers(bounds))
    if cells < 1:
        raise ParameterError("--cells must be 1 or more")
    if reading.owner is None:
        raise ParameterError("--owner COLUMN names whose each row is; it is needed")
    if most is not None and share_above is not None:
        raise ParameterError("--most is not for --share-above, which says nothing of left-out rows")
    store = spending.check()
    rows = reading.read_rows(source, tell=note_reading)
    spending.remind(rows, source)
    asked: dict[str, Any] = {
        "epsilon": epsilon,
        "bounds": candidates,
        "store": store,
        "seed": seed,
    }
    if share_above is not None:
        chosen = choose_bound(rows, share_above=share_above, **asked)
        facts = {"guarantee": str(chosen.guarantee), "at_most": chosen.at_most}
        if as_json:
            show_json(facts)
        else:
            show_facts({"guarantee": str(chosen.guarantee), "at most": f"{chosen.at_most:,}"})
        say("note: The owners above the bound, however few, may have most of the rows.")
        return
    table = release_contributions(rows, **asked)
    plan = plan_bounds(table, epsilon=for_epsilon, cells=cells, most=most)
    if as_json:
        show_json({"guarantee": str(table.guarantee), **_plain(plan)})
        return
    show_facts({"guarantee": str(table.guarantee), "at most": f"{plan.best.at_most:,}"})
    show_table(
        f"Noise of a sum at epsilon = {for_epsilon:g}, and {plan.what} left out, with confidence"
        f" {plan.confidence:.0%}",
        ("at most", "noise", "owners above", "left out, from", "of owners that show, to", "to"),
        [
            (
                f"{row.at_most:,}",
                f"{row.noise:,.4g}",
                f"{max(0, row.owners_above):,}",
                f"{row.left_out[0]:,.4g}",
                f"{row.left_out_by_seen:,.4g}",
                f"{row.left_out[1]:,.4g}" if isfinite(row.left_out[1]) else "unknown",
            )
            for row in plan.rows
        ],
    )
    if plan.warning:
        say(f"note: {plan.warning[0].upper()}{plan.warning[1:]}.")
    if plan.rows[-1].owners_above > table.owners_above(plan.rows[-1].at_most)[1]:
        say("note: Some owners have more than the last bound; give larger ones with --bounds.")


def _plain(plan: BoundPlan) -> dict[str, Any]:
    rows = [
        {
            "at_most": row.at_most,
            "noise": row.noise,
            "owners_above": row.owners_above,
            "left_out_from": row.left_out[0],
            "left_out_by_seen_to": row.left_out_by_seen,
            "left_out_to": row.left_out[1] if isfinite(row.left_out[1]) else None,
        }
        for row in plan.rows
    ]
    return {
        "what": plan.what,
        "best": plan.best.at_most,
        "confidence": plan.confidence,
        "hidden_in_each_class": plan.hidden,
        "warning": plan.warning,
        "bounds": rows,
    }


def _numbers(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.strip().isascii() and word.strip().isdigit() for word in words):
        raise ParameterError("--bounds are whole numbers with commas between, as 1,5,10,20")
    if max(map(len, words)) > 12:
        raise ParameterError("--bounds must be below 10^12")
    return [int(word) for word in words]
