"""`graphcuts-dp cuts`: a private cut that keeps vertices apart, or a partition of a release."""

from dataclasses import replace

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, forecast_report, note_formulas
from graphcuts_dp.cli.job_results import carry_out, written_report
from graphcuts_dp.cli.queries import read_set
from graphcuts_dp.cli.reading import PRIVACY_UNIT, Reading, TableRun
from graphcuts_dp.cli.resumption import kept_result
from graphcuts_dp.cli.spending import Spending, expected_refusal_of_job
from graphcuts_dp.cuts.least import cut_job
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.rows import bounded_graph, without_rows
from graphcuts_dp.options import INPUT, METHOD, option, read_options
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.linear import sides_of
from graphcuts_dp.results.bundle import check_path
from graphcuts_dp.results.partition import KIND, Partition
from graphcuts_dp.results.release import Release
from graphcuts_dp.schema.typed_names import split_lists
from graphcuts_dp.schema.vertices import Label, VertexSet
from graphcuts_dp.synth.partitions import KINDS as PARTITION_KINDS
from graphcuts_dp.synth.partitions import Partitioning, check_kind


def cuts(
    *,
    source: str = typer.Argument(
        metavar="GRAPH", help="The private graph; with --partition, a saved release."
    ),
    target: str = typer.Argument(metavar="OUT", help="The .csv file to write the parts to."),
    epsilon: float | None = options.ANY_EPSILON,
    spending: Spending,
    reading: Reading,
    privacy_unit: PrivacyUnit | None = PRIVACY_UNIT,
    first: str | None = option(
        None,
        usual=True,
        help="A vertex, or several that stay together: ann,bob or @FILE.",
        flag="--from",
        metavar="SET",
        group=INPUT,
    ),
    second: str | None = option(
        None,
        usual=True,
        help="What is separated from it: a vertex, or several that stay together; write several "
        "such terminals with slashes between them.",
        flag="--to",
        metavar="SET[/SET]",
        group=INPUT,
    ),
    partition: str | None = option(
        None,
        help="Partition a release, at no cost: "
        + ", ".join(PARTITION_KINDS)
        + "; options as balanced:parts=4.",
        metavar="KIND[:OPTION=...]",
        group=METHOD,
    ),
    run: TableRun,
) -> Report:
    """Find privately a least cut between vertices, or partition a release.

    Example: graphcuts-dp cuts mail.edges.gz parts.csv --from ann --to bob --epsilon 1
    --vertices staff.txt

    Example: graphcuts-dp cuts roads.csv parts.csv --from depot --to north,harbour/south --epsilon 2
    --vertices places.txt --max-weight 100 --store roads.db

    Example: graphcuts-dp cuts synthetic.graphml parts.csv --partition balanced:parts=4

    Example: graphcuts-dp cuts synthetic.graphml parts.csv --partition max-cut

    The command writes a table with the columns vertex and part, and a receipt beside it (.json).
    Each part is named after its first vertex of --from or --to. Each vertex gets a random pull
    towards --from or --to, which hides every edge. An eighth of epsilon compares the weight of this
    cut with those that cut off --from or --to alone; the lightest is written, and its noisy weight
    printed with an interval. For a narrower interval use another release: graphcuts-dp flows
    mail.edges.gz parts.csv flows.csv --epsilon 0.5. In a directed graph, the arcs that leave the
    part of --from count.

    With --partition the graph is what `release` wrote; nothing private is read, and nothing is
    spent. The command prints the value of the partition in the release; an interval for its value
    in the true graph, which holds although the partition was chosen after looking; and what is
    proven about the best partition. "max-cut" has much weight between two parts;
    "sparsest:smallest=N" has little weight for each pair of vertices across; "balanced:parts=K" has
    little weight between parts of equal size; "clusters:resolution=W" has much weight within parts,
    less W for each pair within; "hierarchy:parts=K" is a tree, cut into K parts.
    """
    if partition is not None:
        private_options = (epsilon, first, second, spending, reading, privacy_unit)
        omitted = (None, None, None, Spending(), Reading(), None)
        allowed_run = TableRun(force=run.force, spreadsheet=run.spreadsheet)
        if private_options != omitted or run != allowed_run:
            raise ParameterError(
                "--partition is of a release, and goes with --force and --spreadsheet alone"
            )
        return _write(_partition(source, target, partition, force=run.force), target, None, run)
    if epsilon is None or first is None or second is None:
        raise ParameterError("give --epsilon, --from and --to; or --partition of a saved release")
    store = spending.store_to_charge()
    privacy_unit = reading.unit_or_default(privacy_unit)
    if run.dry_run:
        data, _ = reading.empty_data(privacy_unit)
    else:
        check_path(KIND, target, force=run.force)
        kept_partition = kept_result(Partition)
        if kept_partition is not None:
            return _write(kept_partition, target, source, run)
        data, _ = reading.read_private(source, privacy_unit)
        spending.check_and_register(data, source)
    vertices = sides_of(bounded_graph(without_rows(data), privacy_unit))[0]
    terminals = [_terminal(text, vertices) for text in (first, *split_lists(second))]
    job = cut_job(data, *terminals, epsilon=epsilon, privacy_unit=privacy_unit)
    if run.dry_run:
        notes = [expected_refusal_of_job(store, job), *job.notes]
        return forecast_report(job.guarantee, privacy_unit, job.errors(), notes, job.warning)
    return _write(carry_out(job, data, target, store=store, seed=run.seed), target, source, run)


def _partition(source: str, target: str, typed: str, *, force: bool) -> Partition:
    """Return a partition of a release; its kind and options are typed, as "balanced:parts=4"."""
    kind, colon, option_text = typed.partition(":")
    check_kind(kind, Partitioning())  # before the options, whose errors would hide an unknown kind
    partitioning = read_options(option_text if colon else None, Partitioning, kind)
    check_path(KIND, target, force=force)
    return Release.load(source).partition(kind, **vars(partitioning))


def _terminal(text: str, vertices: VertexSet) -> list[Label]:
    """Return the vertices of a terminal: they stay together, on one side of the cut."""
    labels = read_set(text, vertices)
    if isinstance(labels, str):  # "*"
        raise ParameterError("a star is all vertices, and leaves none on the other side")
    return labels


def _write(partition: Partition, target: str, private_file: str | None, run: TableRun) -> Report:
    """Write a partition, and report it; the private file is None if it is of a release."""
    note_formulas(partition.vertices.labels, spreadsheet=run.spreadsheet)
    written = partition.save(target, force=run.force, spreadsheet=run.spreadsheet)
    facts = partition.to_dict() | {
        "sizes": partition.sizes,
        "guarantee": str(partition.guarantee),
    }
    report = written_report(facts, partition.guarantee, written, private_file)
    return replace(report, blocks=[partition, {"files": "  ".join(written)}])
