"""`graphcuts-dp release-iteratively`: a graph that learns from noisy answers to queries."""

import math
from dataclasses import dataclass, replace
from typing import Any, final

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, forecast_report, progress_bar
from graphcuts_dp.cli.group_reading import GroupFile
from graphcuts_dp.cli.job_results import written_report
from graphcuts_dp.cli.queries import read_query_file
from graphcuts_dp.cli.reading import ApproximatePrivacyOptions, Reading, Run
from graphcuts_dp.cli.release import TARGET
from graphcuts_dp.cli.resumption import kept_result
from graphcuts_dp.cli.spending import Spending, expected_refusal_of_job
from graphcuts_dp.confidence import DEFAULT_FAILURE, percent
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.rows import bounded_graph, without_rows
from graphcuts_dp.io.files import check_labels
from graphcuts_dp.iterative.accuracy import NetChoice
from graphcuts_dp.iterative.learning import Learning
from graphcuts_dp.iterative.methods import CONSTRUCTION, release_iteratively
from graphcuts_dp.iterative.release import GRAPH, IterativeRelease
from graphcuts_dp.iterative.sensing import Sensing
from graphcuts_dp.iterative.task import Task
from graphcuts_dp.learn.sizes import size_of, usual_edges
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.options import METHOD, Checked, input_option, option, output_option
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.queries.linear import CutQuery, space_of
from graphcuts_dp.queries.query_lines import folder_of, read_lines, read_question
from graphcuts_dp.results.bundle import check_path
from graphcuts_dp.schema.vertices import Space


@final
@dataclass(frozen=True, kw_only=True)
class ErrorOptions(Checked):
    """Options of the error that an iterative release states, or that a dry run forecasts."""

    beta: float = output_option(
        DEFAULT_FAILURE,
        help="Probability that any answer has a larger error than stated.",
        above=0,
        below=1,
    )
    dry_run: bool = options.DRY_RUN


def iteratively(
    *,
    source: str = options.PRIVATE_GRAPH,
    target: str = TARGET,
    privacy: ApproximatePrivacyOptions,
    spending: Spending,
    reading: Reading,
    grouping: GroupFile,
    queries: str | None = input_option(
        None, metavar="FILE", help="Public queries: a .csv or .jsonl file."
    ),
    construction: Any = option(
        Learning(),
        help="How the answers are learned; multiplicative-weights if omitted.",
        of=CONSTRUCTION,
        group=METHOD,
    ),
    error_options: ErrorOptions,
    run: Run,
) -> Report:
    """Learn a graph from noisy answers to queries, which are listed or found privately.

    Example: graphcuts-dp release-iteratively mail.edges.gz out.graphml --epsilon 1 --delta 1e-6
    --queries cuts.jsonl

    Example: graphcuts-dp release-iteratively mail.edges.gz out.npz --epsilon 1 --queries cuts.csv
    --construction answers --groups staff.csv

    Example: graphcuts-dp release-iteratively ratings.csv out.npz --epsilon 1 --delta 1e-6 --queries
    sums.jsonl --construction sensing:rounds=20 --max-weight 5 --vertices users.txt,films.txt

    The command learns a graph from noisy answers to cuts that a private search finds. It writes the
    synthetic graph, a receipt beside it (.json) and the learned weights (.hypothesis.npz). Use it
    for lists of queries, and for proven errors on small graphs; `release` makes better synthetic
    graphs. The list is a .csv table with columns S and T, or has lines as for `session run`; with
    --groups, "@Sales" names a group. Other constructions: net chooses one of all graphs on few
    vertices; answers releases up to 1000 answers at once without delta, and no graph, with the
    better of two noises, which k-norm (up to 6 cuts) and laplace name; sensing answers linear
    queries on ratings (users in the first column, items in the second), and learns a matrix.
    `graphcuts-dp answer OUT --queries cuts.csv` gives answers with intervals.
    """
    privacy_unit = reading.unit_or_default(privacy.privacy_unit)
    store = spending.store_to_charge()
    if isinstance(construction, Sensing):
        if reading.directed:
            raise ParameterError("ratings have two sides; leave out --kind directed")
        reading = replace(reading, kind="bipartite")
    if error_options.dry_run:
        empty, _ = reading.empty_data(privacy_unit, grouping)
        space = space_of(bounded_graph(empty, privacy_unit))
        task = Task(
            empty,
            _read_queries(queries, space, grouping.names(space)),
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            beta=error_options.beta,
            privacy_unit=privacy_unit,
        )
        return _forecast(task, construction, privacy_unit, store)
    check_path(construction.files, target, force=run.force)
    release = kept_result(IterativeRelease)
    if release is None:
        private, _ = reading.read_private(source, privacy_unit, grouping)
        graph = bounded_graph(without_rows(private), privacy_unit)
        spending.check_and_register(private, source)
        if construction.files == GRAPH:
            check_labels(target, graph)
        space = space_of(graph)
        listed_queries = _read_queries(queries, space, grouping.names(space))
        with progress_bar("learning") as progress:
            release = release_iteratively(
                private,
                listed_queries,
                epsilon=privacy.epsilon,
                delta=privacy.delta,
                construction=construction,
                beta=error_options.beta,
                privacy_unit=privacy_unit,
                store=store,
                seed=run.seed,
                progress=progress,
            )
    written = release.save(target, force=run.force)
    return written_report(_facts(release), release.guarantee, written, source)


def _read_queries(path: str | None, space: Space, names: GroupNames | None) -> list[Any] | None:
    """Return the queries of a file, whose cuts may name groups; None if no file is named."""
    if path is None:
        return None
    if path.lower().endswith(".csv"):
        return [text.query for text in read_query_file(path, space, names)]
    folder = folder_of(path)
    queries = [
        read_question(line, number, space, folder=folder) for number, line in read_lines(path)
    ]
    if names is None:
        return queries
    return [names.named(query) if isinstance(query, CutQuery) else query for query in queries]


def _forecast(
    task: Task, construction: Any, privacy_unit: PrivacyUnit, store: Store | None
) -> Report:
    """Forecast the guarantee of a release, and the errors for a usual total weight."""
    job = construction.job(task)
    errors: list[tuple[str, float]] = []
    notes = ["The error depends on noisy answers; the result states it."]
    if isinstance(construction, Learning):
        mechanism = construction.mechanism(task)
        total_weight = usual_edges(size_of(task.universe))
        tuning = mechanism.tuning_at(total_weight)
        notes = mechanism.notes_at(total_weight)
        if tuning.void_reason is not None:
            errors = [("each query, all at once", math.inf)]
            notes.append(f"No bound holds for these values: {tuning.void_reason}.")
        elif tuning.threshold is not None and tuning.error is not None:
            errors = [("each query, all at once", tuning.error * mechanism.unit)]
    notes = [expected_refusal_of_job(store, job), *notes]
    return forecast_report(job.guarantee, privacy_unit, errors, notes, job.warning)


def _facts(release: IterativeRelease) -> dict[str, object]:
    settings, accuracy = release.settings, release.accuracy
    all_facts: dict[str, object] = {
        "guarantee": str(release.guarantee),
        "epsilon_spent_on": dict(release.guarantee.spent),
        "vertices": " x ".join(f"{count:,}" for count in release.universe.shape),
        "construction": settings.construction,
        "distinguisher": settings.distinguisher,
        "rounds": f"{settings.used} of at most {settings.rounds} ({settings.calibration})",
        "queries": None if release.listed is None else len(release.listed),
        "members": release.law.members if isinstance(release.law, NetChoice) else None,
    }
    facts = {name: fact for name, fact in all_facts.items() if fact not in (None, "", {})}
    if settings.void_reason is not None:
        return facts | {"error": f"no bound holds for these values: {settings.void_reason}"}
    if accuracy.error is None:
        return facts | {"error": "nothing is proven for this distinguisher"}
    facts["error_at_most"] = accuracy.error
    if accuracy.graph_error is not None:
        facts["error_of_the_graph_at_most"] = accuracy.graph_error
    answered = "cuts between disjoint sets" if release.listed is None else "the queries given"
    scope = f"for {answered} at once, with probability {percent(accuracy.confidence)}"
    return facts | {"which_holds": scope}
