"""`graphcuts-dp release`: a private graph in, a synthetic graph out.

Is it good for my questions? The last table of `release`, and all of `release --dry-run`.
"""

from typing import Annotated, Any

import numpy as np
import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import (
    accuracy_notes,
    out,
    progress_bar,
    say,
    show_facts,
    show_json,
    show_made,
    show_table,
)
from graphcuts_dp.cli.group_options import GroupReading
from graphcuts_dp.cli.options import with_options
from graphcuts_dp.cli.protect_options import Protecting
from graphcuts_dp.cli.publishing import tell_publishing
from graphcuts_dp.cli.reading import Reading, check_apart
from graphcuts_dp.cli.store_options import Spending
from graphcuts_dp.display import short
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, on_space
from graphcuts_dp.graph.files import check_labels
from graphcuts_dp.pairs.vertices import Arcs, Space, VertexSet
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.value_noise import NOISES
from graphcuts_dp.release.allocation import (
    ALL_MECHANISMS,
)
from graphcuts_dp.release.job import execute
from graphcuts_dp.release.sparse import (
    SPARSE,
    check_counts,
)
from graphcuts_dp.release.synthesis import graph_job
from graphcuts_dp.release.usefulness import Usefulness, usefulness_of
from graphcuts_dp.results.bundle import check_path
from graphcuts_dp.results.release import Release
from graphcuts_dp.results.storage import ANSWERS, WORKLOADS
from graphcuts_dp.synth.methods import FIT_NAMES, ORACLES

_MOST_EDGES = 2e7  # of the graph that a forecast makes up
TITLE = "Is it good for my questions? (95%, each question by itself)"


def show_useful(found: Usefulness) -> None:
    """The table with its advice, on standard output."""
    show_table(TITLE, found.columns, found.cells())
    out.print(f"Advice: {found.advice}", markup=False)


def edges_fact(found: Usefulness) -> str:
    """The noisy total with its interval."""
    if found.interval is None:
        return f"{short(found.edges)} (a public guess)"
    low, high = found.interval
    return f"{short(found.edges)} in [{short(low)}, {short(high)}] (95%)"


def forecast(
    reading: Reading, grouping: GroupReading, *, edges: float | None, **chosen: Any
) -> Usefulness:
    """What a release would be good for, from public numbers alone: it is tried on a made-up graph.

    The private graph is not read: the one that is released here has as many edges as was guessed,
    at random, on the public vertex sets. Nothing is spent.

    Args:
        reading: vertex sets and schema, by options.
        grouping: public groups.
        edges: a public guess of how many.
        chosen: options of `graph_job`.

    Raises:
        ParameterError: no vertex sets, no guess, or one that does not fit them.
    """
    graph = _made_up(reading, edges)
    job = graph_job(graph, groups=grouping.read(graph.space), fitted=False, **chosen)
    return usefulness_of(job.run(graph, SeededEntropy(0)), edges=edges)


def show_forecast(found: Usefulness, *, as_json: bool) -> None:
    """All that `--dry-run` prints."""
    if as_json:
        show_json(found.to_dict() | {"dry_run": True})
        return
    show_facts({"edges": edges_fact(found)})
    show_useful(found)
    say("note: A dry run: no graph was read, nothing was spent, and nothing was written.")


def _made_up(reading: Reading, edges: float | None) -> AnyGraph:
    given = reading.public_sets
    if given is None:
        raise ParameterError("--dry-run reads no graph: name its vertices by --vertices")
    if edges is None:
        raise ParameterError(
            "--dry-run reads no graph: guess from public sources how many edges there are, with "
            "--expected-edges"
        )
    if reading.owner is not None and reading.counting != "edges":
        raise ParameterError("--dry-run with owners is for --counting edges")
    space: Space = given
    if reading.directed and isinstance(given, VertexSet):
        space = Arcs(given)
    rows, columns = _pairs(space, edges)
    cap, change = reading.weight_cap, reading.hide_change
    weighted = (cap, change) != (None, None) and not reading.ignore_weights
    weights = np.full(len(rows), 1.0 if cap is None else min(1.0, cap)) if weighted else None
    schema = {"weight_cap": cap, "hide_change": change} if weighted else {}
    return on_space(space, rows, columns, weights, **schema)


def _pairs(space: Space, edges: float) -> tuple[np.ndarray, np.ndarray]:
    """So many pairs of a space at random, some of them perhaps twice."""
    sets = (space, space) if isinstance(space, VertexSet) else tuple(space)
    sizes = len(sets[0]), len(sets[1])
    pairs = sizes[0] * sizes[1]
    if isinstance(space, VertexSet | Arcs):
        pairs = sizes[0] * (sizes[0] - 1) // (1 if isinstance(space, Arcs) else 2)
    if not 0 < edges <= min(pairs, _MOST_EDGES):
        raise ParameterError(
            f"--expected-edges must be above 0 and at most {min(pairs, int(_MOST_EDGES)):,}: the "
            f"pairs of these vertices are {pairs:,}"
        )
    generator = np.random.default_rng(0)  # the graph is made up, and no noise comes from here
    count = int(edges)
    rows, columns = (generator.integers(0, size, 3 * count + 20) for size in sizes)
    apart = np.ones(len(rows), dtype=np.bool_)
    if isinstance(space, VertexSet | Arcs):
        apart = rows != columns
    if isinstance(space, VertexSet):
        rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
    keys = np.unique(rows[apart] * sizes[1] + columns[apart])
    keys = generator.permutation(keys)[:count]
    return keys // sizes[1], keys % sizes[1]


EXAMPLE = """Example: graphcuts-dp release mail.edges.gz synthetic.graphml --epsilon 1

The command writes the synthetic graph, a receipt beside it (.json) and the noisy matrix
(.noisy.npz), from which you can answer any cut query later. With --groups staff.csv (public: a row
for each vertex) a part of epsilon is spent on the sums between groups, which makes the graph more
accurate where groups matter. With --store mail.db, the cost is charged to the budget of the graph,
together with all other releases and sessions. For a million vertices with few edges each, use
--mechanism sparse: its time and memory grow with the edges, not with the pairs. auto takes it where
memory is too small for the others."""


@with_options
def release(
    source: options.PrivateGraph,
    target: Annotated[str, typer.Argument(metavar="OUT", help="File for the synthetic graph.")],
    epsilon: options.Epsilon,
    spending: Spending,
    protecting: Protecting,
    noise: Annotated[
        str, typer.Option(help=f"Noise of entries, one of: {', '.join(NOISES)}.")
    ] = "binary",
    mechanism: Annotated[
        str,
        typer.Option(help=f"How epsilon is spent, one of: {', '.join(ALL_MECHANISMS)}."),
    ] = "auto",
    degree_share: Annotated[
        float | None,
        typer.Option(help="Part of epsilon for noisy degrees, if the mechanism uses them."),
    ] = None,
    workload: Annotated[
        str,
        typer.Option(help=f"What should be accurate with auto, one of: {', '.join(WORKLOADS)}."),
    ] = ANSWERS,
    fit: Annotated[
        str, typer.Option(help=f"How the graph is fitted, one of: {', '.join(FIT_NAMES)}.")
    ] = "auto",
    oracle: Annotated[
        str, typer.Option(help=f"Oracle of the cutting-plane fit, one of: {', '.join(ORACLES)}.")
    ] = "cut-norm",
    *,
    reading: Reading,
    grouping: GroupReading,
    unweighted: Annotated[
        bool, typer.Option("--unweighted", help="Round the synthetic weights to 0 and 1.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Forecast from --vertices and --expected-edges what the release "
            "would be good for. This reads no graph, spends no budget and "
            "writes no file.",
        ),
    ] = False,
    expected_edges: Annotated[
        float | None, typer.Option(help="A public guess of the number of edges, for --dry-run.")
    ] = None,
    seed: options.Seed = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for the fit and certificates, beyond the shortest of both."),
    ] = None,
    force_hopeless: Annotated[
        bool,
        typer.Option(
            "--force-hopeless", help="Release even where the noise hides every graph of this size."
        ),
    ] = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Release a synthetic graph with differential privacy."""
    each = protecting.of.per_step(epsilon)
    if expected_edges is not None and not dry_run:
        raise ParameterError("--expected-edges is for --dry-run: a release finds out, with noise")
    chosen: dict[str, Any] = {
        "noise": noise,
        "mechanism": mechanism,
        "degree_share": degree_share,
        "workload": workload,
        "fit": fit,
        "oracle": oracle,
        "unweighted": unweighted,
    }
    if dry_run:
        found = forecast(reading, grouping, edges=expected_edges, epsilon=float(each), **chosen)
        show_forecast(found, as_json=as_json)
        return
    store = spending.check()
    check_apart([target], source, reading.vertices, spending.store, *grouping.files)
    check_path("release", target, force=force)
    if reading.counts is not None:
        check_counts(reading.counts, mechanism=mechanism, noise=noise, fit=fit)
    private, graph = protecting.read(reading, source)
    spending.remind(private, source)
    check_labels(target, graph)
    job = graph_job(
        private,
        epsilon=epsilon,
        groups=grouping.read(graph.space),
        protect=protecting.of,
        time_limit=time_limit,
        **chosen,
    )
    sparse = job.parameters["mechanism"] == SPARSE
    if sparse:
        check_path("sparse", target, force=force)
    for note in job.notes:
        say(f"note: {note}")
    if job.warning is not None and not force_hopeless:
        raise ParameterError(f"{job.warning}; --force-hopeless releases it all the same")
    with accuracy_notes(), progress_bar("releasing" if sparse else "fitting") as progress:
        made = execute(job, private, store=store, seed=seed, progress=progress)
    written = made.save(target, force=force)
    useful = usefulness_of(made)
    facts = _facts(made) | {"edges": edges_fact(useful)}
    if as_json:
        show_made(facts | {"good_for": useful.to_dict()}, written, as_json)
        return
    show_made(facts, written, as_json)
    show_useful(useful)
    tell_publishing(made.guarantee, written, source)


def _facts(made: Release) -> dict[str, object]:
    if made.is_sparse:
        return {
            "guarantee": str(made.guarantee),
            "epsilon_spent_on": dict(made.guarantee.parts),
            "vertices": " x ".join(str(n) for n in made.shape),
            "worst_cut_error_at_most": made.worst_cut_error_bound() if made.has_graph else None,
        }
    facts: dict[str, object] = {
        "guarantee": str(made.guarantee),
        "epsilon_spent_on": dict(made.guarantee.parts) or {"entries": made.guarantee.epsilon},
        "workload": f"{made.workload}; {WORKLOADS[made.workload]}",
        "noise": made.noisy.distribution.name,
        "vertices": " x ".join(str(n) for n in made.noisy.shape),
        "expected_worst_cut_error": made.expected_worst_cut_error,
    }
    if made.fit is not None and made.certificate is not None:
        facts |= {
            "fit": f"{made.fit.method} ({made.fit.objective}), stopped by {made.fit.stopped}",
            "distance_from_noisy_matrix_at_least": made.certificate.lower,
            "distance_from_noisy_matrix_at_most": made.certificate.upper,
            "worst_cut_error_at_most": made.worst_cut_error_bound(),
        }
        if made.fit.warning is not None:
            facts["communities"] = made.fit.warning
        if made.fit.gap is not None:
            facts["fit_gap"] = made.fit.gap
    return facts
