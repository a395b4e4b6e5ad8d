"""`graphcuts-dp release`: a private graph in, a synthetic graph out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import (
    Report,
    forecast_report,
    progress_bar,
    remember_written,
    say,
)
from graphcuts_dp.cli.group_reading import GroupFile
from graphcuts_dp.cli.inspect import NOT_PRIVATE
from graphcuts_dp.cli.reading import STDIN, PrivacyOptions, Reading, Run, directions_note
from graphcuts_dp.cli.resumption import kept_result
from graphcuts_dp.cli.spending import Spending, expected_refusal
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noises import NOISES
from graphcuts_dp.files import check_space, check_writable_set
from graphcuts_dp.graph.rows import bounded_graph, without_rows
from graphcuts_dp.io.files import check_labels, check_writable_graph, graph_files
from graphcuts_dp.learn.sizes import size_of
from graphcuts_dp.ledger.observed import latest_charge
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.options import Checked, option, output_option
from graphcuts_dp.planning.synthetic import response_forecast
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.graph_jobs import communities_note
from graphcuts_dp.release.graphs import graph_job, may_be_sparse
from graphcuts_dp.release.job import Job, execute
from graphcuts_dp.release.sizes import check_size
from graphcuts_dp.release.usefulness import Usefulness, usefulness_of
from graphcuts_dp.results.bundle import KINDS, check_path, sha256_of
from graphcuts_dp.results.release import Release
from graphcuts_dp.synth.mechanisms import MECHANISM_OPTIONS, SPARSE, Mechanism
from graphcuts_dp.synth.methods import FitOptions, fit_options

BLOCKS = 12  # on each side of the picture of a made graph
R = TypeVar("R")
TARGET = typer.Argument(metavar="OUT", help="File for what is released.")


@final
@dataclass(frozen=True, kw_only=True)
class ReleaseMethod(Checked):
    """Options of the mechanism; as `graph_job` takes them."""

    mechanism: Mechanism = option(
        Mechanism(),
        help="What epsilon is spent on: noisy entries (randomized-response), also degrees, or "
        "edges with large noisy weights (sparse); auto, the default, chooses.",
        of=MECHANISM_OPTIONS,
    )
    fit: FitOptions = option(
        FitOptions(), help="How the graph is fitted; auto if omitted.", of=fit_options()
    )
    noise: str | None = option(
        None,
        help="Noise of the entries of the matrix; if omitted, binary without weights, and laplace "
        "or staircase with weights.",
        choices=tuple(NOISES),
    )


@final
@dataclass(frozen=True, kw_only=True)
class Trial(Checked):
    """Options of the forecast of a release, and whether it stops a useless one."""

    dry_run: float | None = option(
        None,
        metavar="EDGES",
        usual=True,
        help="Only forecast, for a public guess of the number of edges; needs --vertices "
        "or --groups, reads no private file.",
    )
    allow_useless: bool = option(
        False,
        help="Release even if the noise hides every graph of this size; without it, such a "
        "release is refused.",
    )


def release(
    *,
    source: str = options.PRIVATE_GRAPH,
    target: str = TARGET,
    privacy: PrivacyOptions,
    spending: Spending,
    reading: Reading,
    grouping: GroupFile,
    method: ReleaseMethod,
    weights: str | None = output_option(
        None, metavar="FILE", help="Also write the weights of the fit, on every pair, as a graph."
    ),
    trial: Trial,
    run: Run,
) -> Report:
    """Release a synthetic graph with differential privacy.

    Example: graphcuts-dp release mail.edges.gz synthetic.graphml --epsilon 1

    Example: graphcuts-dp release mail.csv synthetic.graphml --epsilon 1 --vertices staff.txt
    --columns source=from,target=to --groups staff.csv --store mail.db

    The command writes the synthetic graph, a receipt beside it (.json) and the noisy matrix
    (.noisy.npz), from which you can answer any cut query later. With --groups staff.csv (public: a
    row for each vertex) a part of epsilon is spent on the sums between groups, which makes the
    graph more accurate if the groups describe it. A graph without weights gives a synthetic graph
    without weights, rounded from the weights of the fit; --weights FILE also writes these. With
    --store mail.db, the cost is charged to the budget of the graph, together with all other
    releases and sessions. For a million vertices with few edges each, use --mechanism sparse: its
    time and memory grow with the number of edges, not of pairs. auto takes it if memory is too
    small for the others. --dry-run 50000 forecasts how useful the release would be if the graph had
    50,000 edges: it reads no graph, spends no budget and writes no file.
    """
    privacy_unit, fit, force = reading.unit_or_default(privacy.privacy_unit), method.fit, run.force
    likely = method.noise or "binary"  # before the graph is read
    if trial.dry_run is not None:
        guess = trial.dry_run
        graph = reading.random_graph(guess, grouping.space(bipartite=reading.bipartite))
        epsilon_of_change, groups = (
            float(privacy_unit.per_change(privacy.epsilon)),
            grouping.read(graph.space),
        )
        job = graph_job(
            graph, epsilon=epsilon_of_change, groups=groups, simulated=True, **vars(method)
        )
        simulated = job.run(graph, SeededEntropy(0))
        usefulness = usefulness_of(simulated, edges=guess)
        lost = response_note = None
        dense = simulated.measurements.matrix is not None
        if dense and fit.fit != "none" and not graph.weighted and groups is None:
            lost = communities_note(
                graph,
                epsilon_of_change,
                noise=likely,
                guess=guess,
                group_size=privacy_unit.group_size,
            )
        if simulated.measurements.matrix is not None and not graph.weighted:
            distribution = simulated.measurements.matrix.distribution
            size = size_of(Universe.of(graph))
            response_note = (
                f"The noisy matrix {response_forecast(size, distribution, edges=guess)}."
            )
        step = Cost.of_pure(privacy_unit.per_change(privacy.epsilon))
        cost = privacy_unit.cost(step, epsilon=privacy.epsilon)
        guarantee = privacy_unit.guarantee(job.guarantee, cost)
        refusal = expected_refusal(
            spending.store_to_charge(), guarantee=guarantee, cost=cost, data=graph
        )
        unproven = {"proven": ""}
        errors = [
            (one.text + unproven.get(one.basis, f" ({one.basis}, no proof)"), one.error)
            for one in usefulness.questions
        ]
        report = forecast_report(
            guarantee,
            privacy_unit,
            errors,
            [refusal, lost, response_note, directions_note(graph)],
            job.warning,
            _blocks(usefulness),
        )
        fields = usefulness.to_dict() | report.fields | {"communities": lost}
        return replace(report, fields=fields, blocks=[usefulness])
    store = spending.store_to_charge()
    check_path("release", target, force=force)
    if weights is not None:
        check_writable_graph(weights, force=force)
        files = (*KINDS["release"].files(target), *graph_files(weights))
        check_writable_set(files, force=force)
    shape = reading.matrix_shape
    if shape is not None and not may_be_sparse(method.mechanism, fit):
        check_size(shape, noise=likely, fit=fit.fit != "none")  # before a long reading
    result = kept_result(Release)
    is_new = result is None
    if result is None:
        private, groups = reading.read_private(source, privacy_unit, grouping)
        graph = bounded_graph(without_rows(private), privacy_unit)
        spending.check_and_register(private, source)
        check_labels(target, graph)
        if weights is not None:
            check_labels(weights, graph)
        job = graph_job(
            private,
            epsilon=privacy.epsilon,
            groups=groups,
            privacy_unit=privacy_unit,
            **vars(method),
        )
        if weights is not None and (fit.fit == "none" or job.parameters["mechanism"] == SPARSE):
            raise ParameterError("--weights is for a release with a fit, and not for a sparse one")
        if job.warning is not None and not trial.allow_useless:
            raise ParameterError(f"{job.warning}; --allow-useless releases it all the same")
        result = carry_out(job, private, target, store=store, seed=run.seed)
    written = [*result.save(target, force=force)]
    remember_written(written, f"in Python the weights are gc.load({target!r}).expected")
    if weights is not None:
        result.expected.write(weights, force=force)
        written += map(str, graph_files(weights))
    useful = usefulness_of(result)
    name = "total_weight" if result.has_graph and result.graph.weighted else "edges"
    facts = result.facts() | {name: useful.total}
    report = released(facts, result.guarantee, written, source, useful)
    return replace(
        report,
        fields=report.fields | {"good_for": useful.to_dict()},
        blocks=[_shown_once(facts, files=written, is_new=is_new), useful],
    )


def _shown_once(facts: dict[str, Any], *, files: Sequence[str], is_new: bool) -> dict[str, Any]:
    """Return the facts of a release to print, without what is printed elsewhere.

    The total stands above the questions that the release is good for. That communities are lost was
    a warning of the fit, unless a store has kept the release.
    """
    elsewhere = {"edges", "total_weight", *(["communities"] if is_new else [])}
    shown = {name: fact for name, fact in facts.items() if name not in elsewhere}
    return shown | {"files": "  ".join(files)}


def carry_out(
    job: Job[R], private: Any, target: str, *, store: Store | None, seed: int | None
) -> R:
    """Say what the job has to say, check that its result has room, charge it, and run it.

    Raises:
        BudgetError, LedgerError, ParameterError: as `execute`.
        FileFormatError: the disk of the target or of the store has no room for the result.
    """
    for text in job.notes:
        say(f"note: {text}")
    check_space((target, *([] if store is None else [store.path])), job.result_bytes)
    with progress_bar("releasing") as progress:
        return execute(job, private, store=store, seed=seed, progress=progress)


def _blocks(found: Usefulness) -> dict[str, Any] | None:
    """A simulated matrix in blocks: errors of independent entries grow as a root of the number."""
    halves = [one for one in found.questions if one.text.startswith("two halves")]
    if not halves:
        return None
    across = BLOCKS // 2
    size, error = halves[0].size / across**2, halves[0].error / across
    return {"what": "graph, as a matrix of blocks", "side": BLOCKS, "cell": size, "error": error}


def comment_note(target: str) -> str:
    """Return how programs read a table whose first line is a comment."""
    return (
        f"The first line of {target} says what counts; programs skip it, as pandas does with "
        f"read_csv({target!r}, skiprows=1)."
    )


def released(
    facts: dict[str, Any],
    guarantee: PrivacyGuarantee,
    written: Sequence[str],
    source: str | None,
    *blocks: Any,
) -> Report:
    """Report the result of the private file `source`, its files, and what may be published.

    Of something public `source` is None.
    """
    charge = latest_charge()
    if charge is not None:
        charge.record_files({Path(file).name: sha256_of(Path(file)) for file in written})
    text = f"May be published: {', '.join(Path(file).name for file in written)}."
    private_rows = "the rows" if source == STDIN else source
    text += (
        ""
        if source is None
        else f" Keep to yourself: {private_rows}, its store, errors against it."
    )
    return Report(
        {**facts, "files": list(written)},
        [{**facts, "files": "  ".join(written)}, *blocks],
        [text if guarantee.is_private else NOT_PRIVATE] if written else [],
    )
