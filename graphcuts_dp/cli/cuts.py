"""`graphcuts-dp cuts`: a private cut of little weight that keeps vertices apart."""

from dataclasses import replace
from typing import Any

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report
from graphcuts_dp.cli.queries import read_set
from graphcuts_dp.cli.reading import WHOM, Reading, Spending
from graphcuts_dp.cli.release import carry_out, made_up, released
from graphcuts_dp.cuts.least import cut_job
from graphcuts_dp.cuts.partition import KIND
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.rows import PrivateData, bounded_graph, without_rows
from graphcuts_dp.options import INPUT, OUTPUT, option
from graphcuts_dp.pairs.queries import sides_of
from graphcuts_dp.pairs.vertices import Label, VertexSet
from graphcuts_dp.privacy.guarantee import Protect
from graphcuts_dp.results.bundle import check_path

_BETWEEN = "/"  # two terminals


def cuts(
    *,
    source: str = options.PRIVATE_GRAPH,
    target: str = typer.Argument(metavar="OUT", help="The .csv file to write the parts to."),
    epsilon: float = options.EPSILON,
    spending: Spending,
    reading: Reading,
    protect: Protect = WHOM,
    first: str = option(
        help="A vertex, or several that stay together: ann,bob or @FILE.",
        flag="--from",
        metavar="SET",
        group=INPUT,
    ),
    second: str = option(
        help="What is kept apart from it: likewise; several of these with a slash between.",
        flag="--to",
        metavar="SET[/SET]",
        group=INPUT,
    ),
    dry_run: bool = option(
        False, help="Only say what it would promise, from --vertices: reads no graph.", group=OUTPUT
    ),
    seed: int | None = options.SEED,
    force: bool = options.FORCE,
) -> Report:
    """Find privately a cut of little weight that keeps vertices apart.

    Example: graphcuts-dp cuts mail.edges.gz parts.csv --from ann --to bob --epsilon 1
    --vertices staff.txt

    Example: graphcuts-dp cuts roads.csv parts.csv --from depot --to north,harbour/south --epsilon 2
    --vertices places.txt --weight-cap 100 --store roads.db

    The command writes a table with the columns vertex and part, and a receipt beside it (.json).
    The part is named by its first vertex of --from or --to. Weights at random between the vertices
    and --from and --to hide every edge; nothing else is put out. What the cut weighs is asked for
    by itself: graphcuts-dp flows mail.edges.gz parts.csv flows.csv --epsilon 0.5 tells it with an
    interval. Of a directed graph, the arcs that leave the part of --from count.
    """
    store = spending.check()
    if not dry_run:
        check_path(KIND, target, force=force)
    private: PrivateData
    if dry_run:
        private = made_up(reading, 1)  # with an edge at random
    else:
        private, _ = reading.read_private(source, protect)
        spending.remind(private, source)
    vertices = sides_of(bounded_graph(without_rows(private), protect))[0]
    job = cut_job(
        private,
        *(_terminal(text, vertices) for text in (first, *second.split(_BETWEEN))),
        epsilon=epsilon,
        protect=protect,
    )
    if dry_run:
        promised = {"guarantee": str(job.guarantee), "notes": " ".join(job.notes)}
        told = "A dry run: no graph was read, nothing was spent, and nothing was written."
        return Report(promised | {"dry_run": True}, [promised], [told])
    made = carry_out(job, private, store=store, seed=seed)
    sizes = {str(name): size for name, size in zip(made.names, made.sizes, strict=True)}
    facts: dict[str, Any] = {
        "guarantee": str(made.guarantee),
        "vertices": sizes,
        "above_the_least": made.excess,
        "notes": list(made.notes),
    }
    written = made.save(target, force=force)
    report = released(facts, made.guarantee, written, source)
    return replace(report, parts=[made, {"files": "  ".join(written)}])


def _terminal(text: str, vertices: VertexSet) -> list[Label]:
    named = read_set(text, vertices)
    if isinstance(named, str):
        raise ParameterError("a star is all vertices, and leaves none on the other side")
    return named
