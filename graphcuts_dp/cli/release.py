"""`graphcuts-dp release`: a private graph in, a synthetic graph and its receipt out."""

from typing import Annotated

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import out, say, show_facts, show_json, show_made, show_table
from graphcuts_dp.cli.group_options import GroupReading
from graphcuts_dp.cli.options import with_options
from graphcuts_dp.cli.protect_options import Protecting
from graphcuts_dp.cli.publishing import carry_out, tell_publishing
from graphcuts_dp.cli.reading import Reading, check_apart
from graphcuts_dp.cli.store_options import Spending
from graphcuts_dp.display import short
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noisy_matrix import NOISES
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.files import check_labels
from graphcuts_dp.options import METHOD
from graphcuts_dp.pairs.vertices import Arcs, VertexSet
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.release.releases import check_size, graph_job, may_be_sparse
from graphcuts_dp.release.shares import SPARSE, Response
from graphcuts_dp.release.usefulness import Usefulness, made_up_graph, usefulness_of
from graphcuts_dp.results.bundle import check_path
from graphcuts_dp.synth.methods import Fitting

TITLE = "Is it good for my questions? (95%, each question by itself)"
EXAMPLE = """Example: graphcuts-dp release mail.edges.gz synthetic.graphml --epsilon 1

The command writes the synthetic graph, a receipt beside it (.json) and the noisy matrix
(.noisy.npz), from which you can answer any cut query later. With --groups staff.csv (public: a row
for each vertex) a part of epsilon is spent on the sums between groups, which makes the graph more
accurate where groups matter. With --store mail.db, the cost is charged to the budget of the graph,
together with all other releases and sessions. For a million vertices with few edges each, use
--mechanism sparse: its time and memory grow with the edges, not with the pairs. auto takes it where
memory is too small for the others. --dry-run 50000 forecasts what the release would be good for if
the graph had so many edges: it reads no graph, spends no budget and writes no file."""


@with_options
def release(
    source: options.PrivateGraph,
    target: Annotated[str, typer.Argument(metavar="OUT", help="File for the synthetic graph.")],
    epsilon: options.Epsilon,
    spending: Spending,
    protecting: Protecting,
    response: Response,
    fitting: Fitting,
    reading: Reading,
    grouping: GroupReading,
    noise: Annotated[
        str,
        typer.Option(
            help=f"Noise of entries, one of: {', '.join(NOISES)}.", rich_help_panel=METHOD
        ),
    ] = "binary",
    dry_run: Annotated[
        float | None,
        typer.Option(
            metavar="EDGES",
            help="Forecast from --vertices and this public guess of the number of edges.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    force_hopeless: Annotated[
        bool,
        typer.Option(
            "--force-hopeless",
            help="Release even where the noise hides every graph of this size.",
            rich_help_panel=METHOD,
        ),
    ] = False,
    seed: options.Seed = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Release a synthetic graph with differential privacy."""
    if dry_run is not None:
        each = float(protecting.of.per_step(epsilon))
        graph = _made_up(reading, dry_run)
        job = graph_job(
            graph,
            epsilon=each,
            noise=noise,
            mechanism=response,
            groups=grouping.read(graph.space),
            fit=fitting,
            fitted=False,
        )
        found = usefulness_of(job.run(graph, SeededEntropy(0)), edges=dry_run)
        show_useful(found, as_json=as_json)
        return
    store = spending.check()
    check_apart([target], source, reading.vertices, spending.store, *grouping.files)
    check_path("release", target, force=force)
    if reading.counts is not None and not may_be_sparse(response, fitting):
        check_size(reading.counts, noise=noise, fit=fitting.fit != "none")  # before a long reading
    private, graph = protecting.read(reading, source)
    spending.remind(private, source)
    check_labels(target, graph)
    job = graph_job(
        private,
        epsilon=epsilon,
        noise=noise,
        mechanism=response,
        groups=grouping.read(graph.space),
        fit=fitting,
        protect=protecting.of,
    )
    if job.parameters["mechanism"] == SPARSE:
        check_path("sparse", target, force=force)
    if job.warning is not None and not force_hopeless:
        raise ParameterError(f"{job.warning}; --force-hopeless releases it all the same")
    made = carry_out(job, private, store=store, seed=seed)
    written = made.save(target, force=force)
    useful = usefulness_of(made)
    facts = made.facts() | {"edges": _edges(useful)}
    if as_json:
        show_made(facts | {"good_for": useful.to_dict()}, written, as_json)
        return
    show_made(facts, written, as_json)
    show_useful(useful)
    tell_publishing(made.guarantee, written, source)


def _made_up(reading: Reading, edges: float) -> AnyGraph:
    """A graph of so many edges at random, on the public vertex sets and of the schema given."""
    space = reading.public_sets
    if space is None:
        raise ParameterError("--dry-run reads no graph: name its vertices by --vertices")
    if reading.owner is not None and reading.counting != "edges":
        raise ParameterError("--dry-run with owners is for --counting edges")
    if reading.directed and isinstance(space, VertexSet):
        space = Arcs(space)
    cap, change = reading.weight_cap, reading.hide_change
    weighted = (cap, change) != (None, None) and not reading.ignore_weights
    schema = {"weight_cap": cap, "hide_change": change} if weighted else {}
    return made_up_graph(space, edges, weighted=weighted, **schema)


def _edges(found: Usefulness) -> str:
    """The noisy total with its interval."""
    if found.interval is None:
        return f"{short(found.edges)} (a public guess)"
    low, high = found.interval
    return f"{short(found.edges)} in [{short(low)}, {short(high)}] (95%)"


def show_useful(found: Usefulness, *, as_json: bool = False) -> None:
    """The table with its advice; of a forecast, that nothing was done."""
    if as_json:
        show_json(found.to_dict() | {"dry_run": True})
        return
    if found.interval is None:
        show_facts({"edges": _edges(found)})
    show_table(TITLE, found.columns, found.cells())
    out.print(f"Advice: {found.advice}", markup=False)
    if found.interval is None:
        say("note: A dry run: no graph was read, nothing was spent, and nothing was written.")
