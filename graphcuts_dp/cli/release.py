"""`graphcuts-dp release`: a private graph in, a synthetic graph out."""

from contextlib import nullcontext
from typing import Annotated

import typer

from graphcuts_dp.cli.console import accuracy_notes, progress_bar, say, show_made
from graphcuts_dp.cli.group_options import GroupReading
from graphcuts_dp.cli.protect_options import Protecting
from graphcuts_dp.cli.publishing import tell_publishing
from graphcuts_dp.cli.reading import Reading, check_apart, with_options
from graphcuts_dp.cli.store_options import Spending
from graphcuts_dp.cli.useful import edges_fact, forecast, show_forecast, show_useful
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.fits.methods import FIT_NAMES, ORACLES, fit_method
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.files import check_labels
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.update_bounds import size_of
from graphcuts_dp.measurements.dask_blocks import dask_cluster
from graphcuts_dp.measurements.entries import distribution_for
from graphcuts_dp.measurements.worst_case import accuracy_warning, expected_error_note
from graphcuts_dp.planning.synthetic import degrees_needed
from graphcuts_dp.privacy.noises import NOISES
from graphcuts_dp.privacy.protection import Protection
from graphcuts_dp.release.allocation import ALL_MECHANISMS, least_distribution, mechanism_for
from graphcuts_dp.release.choice import ANSWERS, WORKLOADS
from graphcuts_dp.release.group_shares import group_plan
from graphcuts_dp.release.release import Release
from graphcuts_dp.release.size import check_size, size_note
from graphcuts_dp.release.sparse import SPARSE, check_options, sparse_notes, takes_sparse
from graphcuts_dp.release.sparse_storage import check_sparse_path
from graphcuts_dp.release.storage import check_release_path
from graphcuts_dp.release.synthesis import PLACES, release_graph, sides_of
from graphcuts_dp.release.usefulness import usefulness_of

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
    source: Annotated[str, typer.Argument(metavar="IN", help="The private graph.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="File for the synthetic graph.")],
    epsilon: Annotated[float, typer.Option(help="Privacy parameter; smaller is more private.")],
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
    seed: Annotated[
        int | None, typer.Option(help="Seed of a repeatable run. NOT PRIVATE: for tests only.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for the fit and certificates, beyond the shortest of both."),
    ] = None,
    blocks: Annotated[
        str, typer.Option(help=f"Where the noisy matrix is kept, one of: {', '.join(PLACES)}.")
    ] = "local",
    scheduler: Annotated[
        str | None,
        typer.Option(
            envvar="DASK_SCHEDULER_ADDRESS",
            help="Address of a running cluster for --blocks dask, trusted as much as this machine.",
        ),
    ] = None,
    force_hopeless: Annotated[
        bool,
        typer.Option(
            "--force-hopeless", help="Release even where the noise hides every graph of this size."
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Release a synthetic graph with differential privacy."""
    each = protecting.of.per_step(epsilon)
    if expected_edges is not None and not dry_run:
        raise ParameterError("--expected-edges is for --dry-run: a release finds out, with noise")
    if dry_run:
        found = forecast(
            reading,
            grouping,
            each=each,
            edges=expected_edges,
            noise=noise,
            mechanism=mechanism,
            share=degree_share,
            workload=workload,
            fit=fit,
        )
        show_forecast(found, as_json=as_json)
        return
    store = spending.check()
    check_apart([target], source, reading.vertices, spending.store, *grouping.files)
    check_release_path(target, force=force)
    may_be_sparse = mechanism == SPARSE or (mechanism, fit, blocks) == ("auto", "auto", "local")
    if reading.counts is not None and not may_be_sparse:
        check_size(reading.counts, noise=noise, fit=fit, blocks=blocks)
    private, graph = protecting.read(reading, source)
    Protection.of_pairs(
        protecting.protect,
        at_most=protecting.at_most,
        others=max(graph.shape) - 1,
        epsilon=epsilon,
    )
    if takes_sparse(
        graph.shape,
        mechanism=mechanism,
        noise=noise,
        fit=fit,
        blocks=blocks,
        weight_cap=graph.weight_cap,
    ):
        check_options(
            fit=fit, oracle=oracle, unweighted=unweighted, share=degree_share, blocks=blocks
        )
        check_sparse_path(target, force=force)
        spending.remind(private, source)
        check_labels(target, graph)
        groups = grouping.read(graph.space)
        for note in sparse_notes(graph.shape, asked=mechanism == SPARSE):
            say(f"note: {note}")
        with progress_bar("releasing") as progress:
            made = release_graph(
                private,
                epsilon=epsilon,
                store=store,
                noise=noise,
                mechanism=SPARSE,
                degree_share=degree_share,
                groups=groups,
                fit=fit,
                **protecting.options(),
                seed=seed,
                progress=progress,
            )
        _tell(made, _sparse_facts(made), (target, source), force=force, as_json=as_json)
        return
    check_size(graph.shape, noise=noise, fit=fit, blocks=blocks)
    spending.remind(private, source)
    check_labels(target, graph)
    groups = grouping.read(graph.space)
    if noise == "discrete-laplace" and graph.weighted:
        say("note: Weights are rounded down to whole numbers.")
    method = fit_method(fit, weight_cap=graph.weight_cap, oracle=oracle, time_limit=time_limit)
    mechanism = mechanism_for(method, mechanism, degree_share, workload)
    plan = group_plan(graph, groups)
    distribution = least_distribution(graph, noise, each, mechanism, degree_share, plan, workload)
    notes = (
        expected_error_note(distribution, graph.shape),
        None if graph.weighted or fit == "none" else _synthetic_note(graph, float(each)),
        size_note(graph.shape, noise=noise, fit=fit),
    )
    for note in filter(None, notes):
        say(f"note: {note}")
    warning = accuracy_warning(
        distribution_for(graph, noise, each), *sides_of(graph), steps=protecting.of.steps
    )
    if warning is not None and not force_hopeless:
        raise ParameterError(f"{warning}; --force-hopeless releases it all the same")
    cluster = dask_cluster(scheduler) if blocks == "dask" else nullcontext()
    with cluster, accuracy_notes(), progress_bar("fitting") as progress:
        made = release_graph(
            private,
            epsilon=epsilon,
            store=store,
            noise=noise,
            mechanism=mechanism,
            degree_share=degree_share,
            workload=workload,
            groups=groups,
            fit=fit,
            oracle=oracle,
            unweighted=unweighted,
            **protecting.options(),
            seed=seed,
            time_limit=time_limit,
            blocks=blocks,
            progress=progress,
        )
    _tell(made, _facts(made), (target, source), force=force, as_json=as_json)


def _tell(
    made: Release, facts: dict[str, object], paths: tuple[str, str], *, force: bool, as_json: bool
) -> None:
    """Save it at the first path, and say what was made of the second, and what may be published."""
    target, source = paths
    written = made.save(target, force=force)
    useful = usefulness_of(made)
    facts |= {"edges": edges_fact(useful)}
    if as_json:
        facts |= {"good_for": useful.to_dict()}
    show_made(facts, written, as_json)
    if not as_json:
        show_useful(useful)
        tell_publishing(made.guarantee, written, source)


def _synthetic_note(graph: AnyGraph, epsilon: float) -> str:
    """Which degrees it takes, from the vertex sets and epsilon alone: m is private."""
    communities, edges = degrees_needed(size_of(Universe.of(graph)), epsilon=epsilon)
    return (
        "Communities show in the synthetic graph from an average degree of about "
        f"{communities:,.3g} on, single edges from {edges:,.3g} on; graphcuts-dp plan tells more."
    )


def _sparse_facts(made: Release) -> dict[str, object]:
    return {
        "guarantee": str(made.guarantee),
        "epsilon_spent_on": dict(made.guarantee.parts),
        "vertices": " x ".join(str(n) for n in made.shape),
        "worst_cut_error_at_most": made.worst_cut_error_bound() if made.has_graph else None,
    }


def _facts(made: Release) -> dict[str, object]:
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
