"""`graphcuts-dp audit`: do the mechanisms keep what they guarantee? On simulated data only."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from graphcuts_dp.cli.console import out, progress_bar, show_json, show_table
from graphcuts_dp.evaluation.audit import Claim
from tests.audits.base import AuditOutcome
from tests.audits.registry import ENTRIES, find_audits, run_audits

_LEGEND = (
    "claim: epsilon, delta, or rho of zCDP; found: exactly, or the loss is at least that, but for a"
    " chance of 1e-6 for all lines together; seen: as a share of the claim, and what would be seen"
    " of a mechanism that is exactly at its claim, by as many runs; by its law: from exact"
    " log-likelihood ratios of the outputs; incorrect: how many of the incorrect"
    " variants were caught."
)


def audit(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MECHANISM ...|all]", help="Mechanisms to audit; without any, list them."
        ),
    ] = None,
    epsilon: Annotated[
        float, typer.Option(help="Epsilon that the audited mechanisms claim.")
    ] = 1.0,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Run each mechanism only until the audit is decided."),
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of all noise, for a repeatable run.")
    ] = None,
    processes: Annotated[
        int,
        typer.Option(min=1, max=256, help="Number of processes that run audits at the same time."),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcomes as JSON.")] = False,
) -> None:
    """Audit the mechanisms and their incorrect variants, on simulated graphs.

    Example: graphcuts-dp audit

    Example: graphcuts-dp audit all --quick

    Example: graphcuts-dp audit "degrees+randomized-response, binary" --epsilon 0.5

    The command computes the probabilities of a mechanism's outputs on two generated graphs that
    differ in one pair, or runs it many times on both. From this it proves a lower bound on epsilon.
    It reads no graph of yours. A sound mechanism
    fails the audit with a probability of one in a million.
    """
    if not names:
        _show_list(as_json)
        return
    entries = find_audits(names)
    with progress_bar("audit") as progress:
        outcomes = run_audits(
            entries,
            epsilon=epsilon,
            quick=quick,
            seed=seed,
            processes=processes,
            progress=progress,
        )
    if as_json:
        show_json([_plain(outcome) for outcome in outcomes])
    else:
        show_table(
            "Audits on simulated graphs",
            ("mechanism", "claim", "found", "seen, %", "incorrect", "verdict"),
            [_cells(outcome) for outcome in outcomes],
        )
        out.print(_LEGEND, markup=False)
        for line in (*_half_seen(outcomes), *_failures(outcomes)):
            out.print(line, markup=False)
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)


def _show_list(as_json: bool) -> None:
    if as_json:
        show_json([entry.name for entry in ENTRIES])
        return
    out.print("Audits; name some, or the beginning of a name, or all:", markup=False)
    for entry in ENTRIES:
        out.print(f"  {entry.name}", markup=False)


def _cells(outcome: AuditOutcome) -> tuple[str, ...]:
    caught = sum(variant.caught for variant in outcome.incorrect_variants)
    seen = f"{100 * outcome.detected_share:.0f} of {100 * outcome.detectable_share:.0f}"
    verdict = "ok" if outcome.passed else "missed" if outcome.kept else "REFUTED"
    return (
        outcome.name,
        _claim(outcome.claim),
        f"{'=' if outcome.method == 'exact' else '>='} {max(0.0, outcome.loss):.3g}",
        seen,
        f"{caught}/{len(outcome.incorrect_variants)}",
        verdict,
    )


def _claim(claim: Claim) -> str:
    delta = f", {claim.delta:g}" if claim.delta else ""
    return f"{'rho ' if claim.kind == 'rho' else ''}{claim.value:.3g}{delta}"


def _half_seen(outcomes: list[AuditOutcome]) -> list[str]:
    """Say why audits detect less than half of a claim, one line for each such audit."""
    return [
        f"{outcome.name} shows {100 * outcome.detected_share:.0f} % of its claim: "
        f"{outcome.why_below_half}"
        for outcome in outcomes
        if outcome.why_below_half
    ]


def _failures(outcomes: list[AuditOutcome]) -> list[str]:
    lines = []
    for outcome in outcomes:
        if not outcome.kept:
            lines.append(
                f"REFUTED: {outcome.name}: at least {outcome.loss:.4g} on {outcome.pair!r}"
                f" by {outcome.event}"
            )
        lines += [
            f"MISSED: {outcome.name}: incorrect variant {variant.name!r}, loss {variant.loss:.4g}"
            for variant in outcome.incorrect_variants
            if not variant.caught
        ]
    return lines


def _plain(outcome: AuditOutcome) -> dict[str, Any]:
    shares = {
        "detected_share": outcome.detected_share,
        "detectable_share": outcome.detectable_share,
        "passed": outcome.passed,
    }
    return {**asdict(outcome), **shares, "data": "made graphs"}
