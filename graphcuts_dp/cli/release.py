"""`graphcuts-dp release`: a private graph in, a synthetic graph out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, forecast_report, remember_written
from graphcuts_dp.cli.group_reading import GroupFile
from graphcuts_dp.cli.job_results import carry_out, written_report
from graphcuts_dp.cli.reading import PrivacyOptions, Reading, Run, directions_note
from graphcuts_dp.cli.resumption import kept_result
from graphcuts_dp.cli.spending import Spending, expected_refusal
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noises import NOISES
from graphcuts_dp.files import check_writable_set
from graphcuts_dp.graph.rows import bounded_graph, without_rows
from graphcuts_dp.io.files import check_labels, check_writable_graph, graph_files
from graphcuts_dp.learn.sizes import size_of
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.options import Checked, option, output_option
from graphcuts_dp.planning.synthetic import response_forecast
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.graph_jobs import communities_note
from graphcuts_dp.release.graphs import graph_job, may_be_sparse
from graphcuts_dp.release.sizes import check_size
from graphcuts_dp.release.usefulness import Question, Usefulness, usefulness_of
from graphcuts_dp.results.bundle import KINDS, check_path
from graphcuts_dp.results.release import Release
from graphcuts_dp.synth.mechanisms import MECHANISM_OPTIONS, SPARSE, Mechanism
from graphcuts_dp.synth.methods import FitOptions, fit_options

TARGET = typer.Argument(metavar="OUT", help="File for what is released.")
_BLOCKS = 12  # on each side of the picture of a simulated graph
_USUAL_NOISE = "binary"  # of graphs without weights; sizes are checked before the graph is read


@final
@dataclass(frozen=True, kw_only=True)
class ReleaseMethod(Checked):
    """Options of the mechanism, which `graph_job` takes by these names."""

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
    """Options of the forecast of a release, and of what it says about a useless one."""

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
    privacy_unit, store = reading.unit_or_default(privacy.privacy_unit), spending.store_to_charge()
    if trial.dry_run is not None:
        return _forecast(
            privacy.epsilon, privacy_unit, store, reading, grouping, method, edges=trial.dry_run
        )
    fit, force = method.fit, run.force
    check_path("release", target, force=force)
    if weights is not None:
        check_writable_graph(weights, force=force)
        files = (*KINDS["release"].files(target), *graph_files(weights))
        check_writable_set(files, force=force)
    if reading.matrix_shape is not None and not may_be_sparse(method.mechanism, fit):
        # Before the graph is read, which may take long.
        check_size(reading.matrix_shape, noise=method.noise or _USUAL_NOISE, fit=fit.fit != "none")
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
    usefulness = usefulness_of(result)
    total_name = "total_weight" if result.has_graph and result.graph.weighted else "edges"
    facts = result.facts() | {total_name: usefulness.total}
    report = written_report(facts, result.guarantee, written, source)
    return replace(
        report,
        fields=report.fields | {"good_for": usefulness.to_dict()},
        blocks=[_facts_shown_once(facts, files=written, is_new=is_new), usefulness],
    )


def _forecast(
    epsilon: float,
    privacy_unit: PrivacyUnit,
    store: Store | None,
    reading: Reading,
    grouping: GroupFile,
    method: ReleaseMethod,
    *,
    edges: float,
) -> Report:
    """Forecast a release by the release of a random graph with so many edges.

    The graph has the public schema of the private one; nothing private is read.
    """
    graph = reading.random_graph(edges, grouping.space(bipartite=reading.bipartite))
    groups = grouping.read(graph.space)
    epsilon_of_change = privacy_unit.per_change(epsilon)
    job = graph_job(
        graph, epsilon=float(epsilon_of_change), groups=groups, simulated=True, **vars(method)
    )
    simulated = job.run(graph, SeededEntropy(0))
    usefulness = usefulness_of(simulated, edges=edges)
    cost = privacy_unit.cost(Cost.of_pure(epsilon_of_change), epsilon=epsilon)
    guarantee = privacy_unit.guarantee(job.guarantee, cost)

    noisy_matrix = simulated.measurements.matrix
    lost_communities = response_note = None
    if noisy_matrix is not None and not graph.weighted:
        if method.fit.fit != "none" and groups is None:
            lost_communities = communities_note(
                graph,
                float(epsilon_of_change),
                noise=method.noise or _USUAL_NOISE,
                guess=edges,
                group_size=privacy_unit.group_size,
            )
        size = size_of(Universe.of(graph))
        forecast = response_forecast(size, noisy_matrix.distribution, edges=edges)
        response_note = f"The noisy matrix {forecast}."
    report = forecast_report(
        guarantee,
        privacy_unit,
        [
            (question.text + _proof_remark(question), question.error)
            for question in usefulness.questions
        ],
        [
            expected_refusal(store, guarantee=guarantee, cost=cost, data=graph),
            lost_communities,
            response_note,
            directions_note(graph),
        ],
        job.warning,
        _block_picture(usefulness),
    )
    fields = usefulness.to_dict() | report.fields | {"communities": lost_communities}
    return replace(report, fields=fields, blocks=[usefulness])


def _proof_remark(question: Question) -> str:
    return "" if question.basis == "proven" else f" ({question.basis}, no proof)"


def _block_picture(usefulness: Usefulness) -> dict[str, Any] | None:
    """Return what a form draws a simulated matrix from, in blocks; None if no error is known.

    The sum over two halves has the sums of (_BLOCKS / 2)^2 blocks. Its error is the root of this
    number times that of a block, since the errors of entries are independent.
    """
    halves = [
        question for question in usefulness.questions if question.text.startswith("two halves")
    ]
    if not halves:
        return None
    across = _BLOCKS // 2
    size, error = halves[0].size / across**2, halves[0].error / across
    return {"what": "graph, as a matrix of blocks", "side": _BLOCKS, "cell": size, "error": error}


def _facts_shown_once(
    facts: dict[str, Any], *, files: Sequence[str], is_new: bool
) -> dict[str, Any]:
    """Return the facts of a release to print, without those that are printed elsewhere.

    The total stands above the questions that the release is good for. A new release has warned of
    lost communities when it was fitted.
    """
    elsewhere = {"edges", "total_weight", *(["communities"] if is_new else [])}
    facts_here = {name: fact for name, fact in facts.items() if name not in elsewhere}
    return facts_here | {"files": "  ".join(files)}
