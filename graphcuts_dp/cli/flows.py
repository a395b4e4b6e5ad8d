"""`graphcuts-dp flows`: a private graph and public groups in, what passes between them out."""

from typing import Annotated, Any

import numpy as np
import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import show_facts, show_json, show_table
from graphcuts_dp.cli.group_options import GroupColumns
from graphcuts_dp.cli.options import with_options
from graphcuts_dp.cli.protect_options import Protecting
from graphcuts_dp.cli.publishing import carry_out, tell_publishing
from graphcuts_dp.cli.reading import Reading, check_apart
from graphcuts_dp.cli.store_options import Spending
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.strategy import ALL_LEVELS, NOISES
from graphcuts_dp.release.releases import flows_job
from graphcuts_dp.results.bundle import check_path
from graphcuts_dp.results.flows import Flows

EXAMPLE = """Example: graphcuts-dp flows mail.edges.gz staff.csv flows.csv --epsilon 1
  --vertices staff.txt --levels division,department

GROUPS is public: a table (.csv, .tsv, .txt) with a row for each vertex and a column for each level,
or a GraphML file with vertex attributes. The command writes the table (level, from, to, value, low,
high), a receipt beside it (.json) and the measured sums (.noisy.npz). For a bipartite graph, give
the groups of the left side as GROUPS, and those of the right side with --right-groups."""


@with_options
def flows(
    source: Annotated[str, typer.Argument(metavar="GRAPH", help="The private graph.")],
    groups: Annotated[str, typer.Argument(metavar="GROUPS", help="Public groups of vertices.")],
    target: Annotated[
        str, typer.Argument(metavar="OUT", help="The .csv file to write the table to.")
    ],
    epsilon: options.Epsilon,
    spending: Spending,
    protecting: Protecting,
    delta: options.Delta = 0.0,
    workload: Annotated[
        str,
        typer.Option(help="What should be accurate: all levels, all cells, totals, or one level."),
    ] = ALL_LEVELS,
    noise: Annotated[str, typer.Option(help=f"Noise, one of: {', '.join(NOISES)}.")] = "auto",
    whole: Annotated[
        bool, typer.Option("--whole", help="Round weights down to whole numbers.")
    ] = False,
    top: Annotated[
        int, typer.Option(help="Number of the largest cells of the finest level to show.")
    ] = 10,
    *,
    columns: GroupColumns,
    reading: Reading,
    seed: options.Seed = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Release privately how much weight passes between public groups of vertices."""
    protecting.of.per_step(epsilon)
    if top < 0:
        raise ParameterError("--top must be 0 or more")
    store = spending.check()
    check_apart([target], source, groups, columns.right_groups, reading.vertices, spending.store)
    check_path("flows", target, force=force)
    private, graph = protecting.read(reading, source)
    spending.remind(private, source)
    job = flows_job(
        private,
        columns.read_from(groups, graph.space),
        epsilon=epsilon,
        delta=delta,
        workload=workload,
        noise=noise,
        whole=whole,
        protect=protecting.of,
    )
    made = carry_out(job, private, store=store, seed=seed)
    written = made.save(target, force=force)
    if as_json:
        show_json({**_facts(made), "files": list(written)})
        return
    facts = {name.replace("_", " "): str(value) for name, value in _facts(made).items()}
    show_facts(facts | {"files": "  ".join(written)})
    if top:
        _show(made, top)
    tell_publishing(made.guarantee, written, source)


def _facts(made: Flows) -> dict[str, Any]:
    shares = zip(made.strategy.places, made.strategy.shares, strict=True)
    names = ("total", *made.levels)
    return {
        "guarantee": str(made.guarantee),
        "noise": made.strategy.noise.distribution,
        "shares": {names[place]: float(share) for place, share in shares},
        "levels": {
            name: f"{len(made.groups.labels(level))} x {len(made.right_groups.labels(right))}"
            for name, level, right in zip(
                made.levels, made.groups.levels, made.right_groups.levels, strict=True
            )
        },
        "total": str(made.total),
    }


def _show(made: Flows, top: int) -> None:
    table = made.columns(made.levels[-1], simultaneous=True)
    shown = np.argsort(-table["value"], kind="stable")[:top].tolist()
    show_table(
        f"Largest {len(shown)} of {len(table['value'])} cells of level {made.levels[-1]!r}; "
        "intervals of all cells hold at once, 95%",
        ("from", "to", "value", "low", "high"),
        [
            (
                str(table["from"][row]),
                str(table["to"][row]),
                *(f"{table[name][row]:,.4g}" for name in ("value", "low", "high")),
            )
            for row in shown
        ],
    )
