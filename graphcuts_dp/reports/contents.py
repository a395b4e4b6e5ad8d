"""Describe each kind of saved result for a report: what was published, how exact it is.

Everything is computed from released numbers; errors are those that the result itself states.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from graphcuts_dp.confidence import DEFAULT_PERCENT, percent
from graphcuts_dp.display import short, short_bound, short_interval
from graphcuts_dp.estimate.counted_rows import CountedRows
from graphcuts_dp.estimate.measurement import CountMeasurement
from graphcuts_dp.iterative.release import IterativeRelease
from graphcuts_dp.release.usefulness import Question, usefulness_of
from graphcuts_dp.results.flows import Flows
from graphcuts_dp.results.flows_over_time import FlowsOverTime
from graphcuts_dp.results.partition import Partition
from graphcuts_dp.results.release import Release
from graphcuts_dp.schema.vertices import sets_in

SUMMARY, SYNTHETIC, INTERACTIVE = "Summary statistics", "Synthetic data", "Interactive API"
_NOISY = "smaller than their ±"  # said of numbers that are mostly noise
_MOST_LISTED = 6  # names in a sentence
_LONGEST_LISTED = 36  # characters of a name in a sentence
_LOOPS = (
    "Edges from a vertex to itself, which cross no cut. Without weights, an edge that is listed "
    "several times counts once."
)


@final
@dataclass(frozen=True, kw_only=True)
class ReleaseContents:
    """A result in words: what was published, how exact it is, and what it leaves out.

    Attributes:
        title: of the report, in a few words.
        published: sentences on what was published.
        errors: pairs of what is reported and how exact it is, in words.
        left_out: sentences on what the numbers leave out.
        noises: names of the noise distributions that were drawn from.
        unbiased: a sentence if estimates are unbiased; "" if that is not known.
        biased: a sentence on what is biased; "" if nothing is known to be.
        small_numbers: a sentence that compares numbers with their own errors; "" if they have none.
        impossible: a sentence on negative or fractional numbers; "" if there can be none.
        product_type: one of the types of the registry, see `reports.registry`.
        vertices: public number of vertices; None if the result does not say.
        periods: how many periods are published; 0 if there are none.
    """

    title: str
    published: tuple[str, ...]
    errors: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()
    noises: tuple[str, ...] = ()
    unbiased: str = ""
    biased: str = ""
    small_numbers: str = ""
    impossible: str = ""
    product_type: str = SUMMARY
    vertices: int | None = None
    periods: int = 0


def contents_of(kind: str, result: Any) -> ReleaseContents:
    """Describe a loaded result.

    Args:
        kind: of `results.bundle.KINDS`.
        result: as `results.bundle.load` returns it; None for distances, which are only a table.
    """
    describe: Mapping[str, Callable[[Any], ReleaseContents]] = {
        "release": _contents_of_release,
        "flows": _contents_of_flows,
        "flows over time": _contents_of_flows_over_time,
        "iterative construction": _contents_of_iterative,
        "answers": _contents_of_iterative,
        "partition": _contents_of_partition,
        "distances": _contents_of_distances,
    }
    return describe[kind](result)


def _contents_of_release(release: Release) -> ReleaseContents:
    """Describe a release of a graph."""
    usefulness = usefulness_of(release)
    vertices = [len(side) for side in sets_in(release.space)]
    size = f"{' and '.join(f'{n:,}' for n in vertices)} vertices"
    published = [f"Noisy measurements of a graph with {size}, from which cuts can be answered."]
    if release.has_graph:
        edges = f"{len(release.graph.rows):,} edges"
        published = [f"A synthetic graph with {size} and {edges}, beside the noisy measurements."]
    measured = listed(measurement.name for measurement in release.measurements.values)
    published += [
        f"Measured were: {measured}.",
        f"Edges, or their weight, in all: {usefulness.total}.",
    ]
    kept_edges, left_out = release.measurements.kept, [_LOOPS]
    if kept_edges is not None:
        least = kept_edges.threshold * kept_edges.distribution.unit
        left_out.append(f"Single edges whose noisy weight is below {short(least)}.")
    noisy_questions = [
        question.text
        for question in usefulness.questions
        if question.verdict not in ("well", "roughly")
    ]
    noisy_texts = listed(noisy_questions) or "none"
    return ReleaseContents(
        title="Synthetic graph" if release.has_graph else "Noisy measurements of a graph",
        published=tuple(published),
        errors=tuple((question.text, _error_of(question)) for question in usefulness.questions),
        left_out=tuple(left_out),
        noises=_noises(release.measurements.values),
        unbiased="answers are unbiased" if release.measurements.matrix is not None else "",
        biased="cuts counted in the synthetic graph itself are biased" if release.has_graph else "",
        small_numbers=f"{len(noisy_questions)} of {len(usefulness.questions)} kinds of questions "
        f"are {_NOISY}: {noisy_texts}",
        impossible="a noisy matrix and unbiased answers may be negative or fractional",
        product_type=SYNTHETIC if release.has_graph else SUMMARY,
        vertices=sum(vertices),
    )


def _error_of(question: Question) -> str:
    """Return the error of a kind of questions beside the usual size of an answer."""
    error, size = short_bound(question.error), short(question.size)
    return f"error at most {error} of about {size} ({question.basis}): {question.verdict}"


def _noises(measurements: Iterable[Any]) -> tuple[str, ...]:
    """Return the different names of the noise distributions of measurements."""
    names = (
        measurement.noise.distribution
        if isinstance(measurement, CountMeasurement)
        else measurement.distribution.name
        for measurement in measurements
    )
    return tuple(dict.fromkeys(names))


def _contents_of_flows(flows: Flows) -> ReleaseContents:
    """Describe a table of flows."""
    levels = [
        f"{short_text(name)} ({' x '.join(f'{len(side):,}' for side in flows.labels(name))})"
        for name in flows.levels
    ]
    published = [f"A table of how much passes between groups, by {listed(levels)}."]
    if flows.noise_verdict:
        published.insert(0, f"{flows.noise_verdict}.")
    period_count = 0
    if flows.periods is not None:
        period_labels = flows.periods.labels(flows.periods.levels[-1])
        period_count = len(period_labels)
        published.append(f"For each of {period_count:,} periods: {listed(period_labels)}.")
    low, high = flows.total.interval
    in_all = f"{short(flows.total.value)} in {short_interval((low, high))} ({DEFAULT_PERCENT})"
    published.append(f"In all{_scope_of_total(flows.counted_rows)}: {in_all}.")
    errors = [
        (f"a cell of level {short_text(name)}", _error_of_level(flows, index))
        for index, name in enumerate(flows.levels, 1)
    ]
    noisy_count, count = flows.noisy_numbers
    negative_count = int((np.asarray(flows.estimates[flows.cells.depth - 1]) < 0).sum())
    counted_rows = flows.counted_sentence
    return ReleaseContents(
        title="Table of flows",
        published=tuple(published),
        errors=tuple(errors),
        left_out=(
            *([_sentence(counted_rows)] if counted_rows else []),
            *_shares_of_rows(flows),
        ),
        noises=_noises([flows.noisy]),
        unbiased="" if counted_rows else "estimates are unbiased",
        biased=counted_rows
        or "the column count is rounded, so its sums over other cells are biased",
        small_numbers=f"{noisy_count:,} of {count:,} numbers of level "
        f"{short_text(flows.levels[-1])} are {_NOISY}",
        impossible=f"{negative_count:,} of {count:,} estimates are negative; the column count has "
        "whole numbers from 0 on",
        vertices=flows.groups.n + (0 if flows.cells.one_set else flows.right_groups.n),
        periods=period_count,
    )


def _scope_of_total(counted_rows: CountedRows | None) -> str:
    """Return which rows a total adds up, with the bound, in words; "" if all rows count."""
    if counted_rows is None:
        return ""
    what, per = counted_rows.what, counted_rows.per
    most = f"at most {counted_rows.max_contributions:,} a {per}"
    return f", of the {what} that count ({most})"


def _error_of_level(flows: Flows, level_index: int) -> str:
    """Return the errors of the cells of a level beside the median of their estimates."""
    widths = flows.half_widths_of(level_index)
    median, largest = (short_bound(float(width)) for width in (np.median(widths), widths.max()))
    error = f"each number ± {largest} ({DEFAULT_PERCENT}, each alone)"
    if median != largest:
        error = f"half of the numbers ± {median} or less, the others ± {largest} or less "
        error += f"({DEFAULT_PERCENT}, each alone)"
    estimate = short(float(np.median(np.asarray(flows.estimates[level_index]))))
    return f"{error}; about half of the numbers are below {estimate}"


def _sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def _shares_of_rows(flows: Flows) -> tuple[str, ...]:
    """Return a sentence on rows that count for a share each; () if every row counts fully."""
    counted_rows = flows.counted_rows
    if counted_rows is None or float(flows.noisy.unit).is_integer():
        return ()
    bound, what = counted_rows.max_contributions, counted_rows.what
    share = f"each of these {what} counts for a share"
    return (f"If a {counted_rows.per} has more, {share}, {bound:,} together.",)


def _contents_of_flows_over_time(flows: FlowsOverTime) -> ReleaseContents:
    """Describe flows over time."""
    left, right = flows.labels(None)
    size = f"{short_text(flows.levels[-1])} ({len(left):,} x {len(right):,})"
    periods = f"{len(flows.periods):,} of {len(flows.horizon):,} periods"
    total = flows.total()
    in_all = f"{short(total.value)} in {short_interval(total.interval)} ({DEFAULT_PERCENT})"
    # The latest period and the longer windows, of which the last one is all periods.
    windows = (flows.periods[-1], *list(flows.windows)[len(flows.periods) :])
    tables = {window: flows.columns(window) for window in windows}
    errors = []
    for window, table in tables.items():
        half_width = short_bound(float((table["high"] - table["estimate"]).max()))
        errors.append((f"a cell, {window}", f"± {half_width} ({DEFAULT_PERCENT}, each alone)"))
    table_of_all = tables[windows[-1]]
    estimates, counted_rows = table_of_all["estimate"], flows.counted_sentence
    noisy_count = int((table_of_all["low"] <= 0).sum())
    return ReleaseContents(
        title="Table of flows over time",
        published=(
            *([f"{flows.noise_verdict}."] if flows.noise_verdict else []),
            f"A table of how much passes between groups, by {size}.",
            f"{periods} are published: {listed(flows.periods)}.",
            f"In all{_scope_of_total(flows.counted_rows)}: {in_all}.",
        ),
        errors=tuple(errors),
        left_out=(
            *([_sentence(counted_rows)] if counted_rows else []),
            "Rows that came after their period was published.",
        ),
        noises=_noises([flows.noisy]),
        unbiased="" if counted_rows else "estimates are unbiased",
        biased=counted_rows,
        small_numbers=f"{noisy_count:,} of {len(estimates):,} cells of all periods together are "
        f"{_NOISY}",
        impossible=f"{int((estimates < 0).sum()):,} of {len(estimates):,} estimates of all periods "
        "together are negative",
        periods=len(flows.horizon),
        vertices=flows.cells.rows.n + (0 if flows.cells.one_set else flows.cells.columns.n),
    )


def _contents_of_iterative(release: IterativeRelease) -> ReleaseContents:
    """Describe an iterative release."""
    settings, accuracy = release.settings, release.accuracy
    universe = release.universe
    vertices = [len(side) for side in sets_in(universe.space)]
    subject = "A synthetic graph" if release.has_graph else "Answers to a list of queries"
    errors = [("every query", "nothing is proven")]
    if accuracy.error is not None:
        error, confidence = short_bound(accuracy.error), percent(accuracy.confidence)
        errors = [
            (f"all {accuracy.queries} queries at once", f"error at most {error} ({confidence})")
        ]
    return ReleaseContents(
        title="Graph learnt from noisy answers" if release.has_graph else "Answers to a list",
        published=(
            f"{subject} on {' and '.join(f'{n:,}' for n in vertices)} vertices.",
            f"Learnt by {settings.construction}; rounds: {settings.used:,} of {settings.rounds:,}.",
        ),
        errors=tuple(errors),
        left_out=(_LOOPS,),
        biased="answers are those of a model, which is drawn towards what it began with",
        impossible="noisy answers may be negative or fractional",
        product_type=SYNTHETIC if release.has_graph else SUMMARY,
        vertices=sum(vertices),
    )


def _contents_of_partition(partition: Partition) -> ReleaseContents:
    """Describe a partition or a least cut."""
    parts = zip(partition.names, partition.sizes, strict=True)
    sizes = listed(f"{name} ({size:,})" for name, size in parts)
    errors = []
    if partition.interval is not None:
        errors.append((partition.measure, f"in {short_interval(partition.interval)}"))
    if partition.optimum is not None:
        errors.append(("the best that there is", f"in {short_interval(partition.optimum)}"))
    errors.append(("worse than the best", f"by at most {short_bound(partition.shortfall)}"))
    return ReleaseContents(
        title="Least cut" if partition.options is None else f"Partition: {partition.kind}",
        published=(
            f"The part of each of {len(partition.codes):,} vertices.",
            f"Parts, with their vertices: {sizes}.",
        ),
        errors=tuple(
            (quantity, f"{text} ({percent(partition.confidence)})") for quantity, text in errors
        ),
        biased="the partition was chosen for its noisy value, which is too good on average",
        small_numbers="noise hides what it is worth" if partition.is_uninformative else "",
        vertices=len(partition.codes),
    )


def _contents_of_distances(result: None) -> ReleaseContents:
    """Describe average distances, whose receipt has no more than the guarantee."""
    del result
    return ReleaseContents(
        title="Average distances on a map",
        published=("The average distance of all people from each vertex of a public map.",),
    )


def listed(names: Iterable[object]) -> str:
    """Return names with commas between them: the first six, and the number of the others."""
    texts = [short_text(str(name), _LONGEST_LISTED) for name in names]
    more = len(texts) - _MOST_LISTED
    return ", ".join(texts[:_MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def short_text(text: str, most: int = 60) -> str:
    """Return a text, shortened to a number of characters.

    Args:
        text: to be shortened.
        most: characters of the result.
    """
    return text if len(text) <= most else f"{text[: most - 4]} ..."
