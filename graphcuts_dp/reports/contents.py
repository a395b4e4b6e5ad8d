"""Describe each kind of saved result for a report: what was published, how exact it is.

Everything is read off released numbers, and nothing is proven anew: errors are those that the
result states itself.
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
_NOISY = "smaller than their ±"  # of numbers, in evidence
_MOST_LISTED, _LONGEST_LISTED = 6, 36  # names in one sentence, and characters of each
_LOOPS = (
    "Edges from a vertex to itself, which cross no cut. Without weights, an edge that is listed "
    "several times counts once."
)


@final
@dataclass(frozen=True, kw_only=True)
class ReleaseContents:
    """Describe a result in words: its content, errors and omissions.

    Attributes:
        title: what it is, in a few words.
        published: sentences on what was published.
        errors: pairs of what is reported and how exact it is, in words.
        left_out: sentences on what the numbers leave out.
        noises: names of the noise distributions that were drawn from.
        unbiased: a sentence if estimates are unbiased, "" if it is not known that they are.
        biased: a sentence on what is biased; "" for nothing that is known.
        small_numbers: a sentence that compares numbers with their own errors; "" if none can.
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
    """Return what a loaded result says of itself.

    Args:
        kind: of `results.bundle.KINDS`.
        result: as `results.bundle.load` returns it; None of distances, whose table alone is kept.
    """
    describe: Mapping[str, Callable[[Any], ReleaseContents]] = {
        "release": _of_release,
        "flows": _of_flows,
        "flows over time": _of_flows_over_time,
        "iterative construction": _of_iterative,
        "answers": _of_iterative,
        "partition": _of_partition,
        "distances": _of_distances,
    }
    return describe[kind](result)


def listed(names: Iterable[object]) -> str:
    """Return names with commas between them; of many the first ones, and how many there are."""
    texts = [short_text(str(name), _LONGEST_LISTED) for name in names]
    more = len(texts) - _MOST_LISTED
    return ", ".join(texts[:_MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def short_text(text: str, most: int = 60) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def _of_release(release: Release) -> ReleaseContents:
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
    drowned = [
        question.text
        for question in usefulness.questions
        if question.verdict not in ("well", "roughly")
    ]
    names = listed(drowned) or "none"
    return ReleaseContents(
        title="Synthetic graph" if release.has_graph else "Noisy measurements of a graph",
        published=tuple(published),
        errors=tuple((question.text, _error_of(question)) for question in usefulness.questions),
        left_out=tuple(left_out),
        noises=_noises(release.measurements.values),
        unbiased="answers are unbiased" if release.measurements.matrix is not None else "",
        biased="cuts counted in the synthetic graph itself are biased" if release.has_graph else "",
        small_numbers=f"{len(drowned)} of {len(usefulness.questions)} kinds of questions are "
        f"{_NOISY}: {names}",
        impossible="a noisy matrix and unbiased answers may be negative or fractional",
        product_type=SYNTHETIC if release.has_graph else SUMMARY,
        vertices=sum(vertices),
    )


def _error_of(question: Question) -> str:
    error, about = short_bound(question.error), short(question.size)
    return f"error at most {error} of about {about} ({question.basis}): {question.verdict}"


def _of_flows(flows: Flows) -> ReleaseContents:
    levels = [
        f"{short_text(name)} ({' x '.join(f'{len(side):,}' for side in flows.labels(name))})"
        for name in flows.levels
    ]
    published = [f"A table of how much passes between groups, by {listed(levels)}."]
    if flows.noise_verdict:
        published.insert(0, f"{flows.noise_verdict}.")
    periods = 0
    if flows.periods is not None:
        labels = flows.periods.labels(flows.periods.levels[-1])
        periods = len(labels)
        published.append(f"For each of {len(labels):,} periods: {listed(labels)}.")
    low, high = flows.total.interval
    in_all = f"{short(flows.total.value)} in {short_interval((low, high))} ({DEFAULT_PERCENT})"
    published.append(f"In all{_of_what_counts(flows.counted_rows)}: {in_all}.")
    errors, estimates, widths = [], np.zeros(0), np.zeros(0)
    for index in range(1, flows.cells.depth):
        name = flows.levels[index - 1]
        widths = flows.half_widths_of(index)
        estimates = np.asarray(flows.estimates[index])
        half, most = (short_bound(float(width)) for width in (np.median(widths), widths.max()))
        middle = short(float(np.median(estimates)))
        error = f"each number ± {most} ({DEFAULT_PERCENT}, each alone)"
        if half != most:
            error = f"half of the numbers ± {half} or less, the others ± {most} or less "
            error += f"({DEFAULT_PERCENT}, each alone)"
        error += f"; about half of the numbers are below {middle}"
        errors.append((f"a cell of level {short_text(name)}", error))
    below, count = flows.noisy_numbers
    negative = int((estimates < 0).sum())
    counted = flows.counted_sentence
    return ReleaseContents(
        title="Table of flows",
        published=tuple(published),
        errors=tuple(errors),
        left_out=(
            *([f"{counted[0].upper()}{counted[1:]}."] if counted else []),
            *_shares_of_rows(flows),
        ),
        noises=_noises([flows.noisy]),
        unbiased="" if counted else "estimates are unbiased",
        biased=counted or "the column count is rounded, so its sums over other cells are biased",
        small_numbers=f"{below:,} of {count:,} numbers of level "
        f"{short_text(flows.levels[-1])} are {_NOISY}",
        impossible=f"{negative:,} of {len(widths):,} estimates are negative; the column count has "
        "whole numbers from 0 on",
        vertices=flows.groups.n + (0 if flows.cells.one_set else flows.right_groups.n),
        periods=periods,
    )


def _of_what_counts(counted_rows: CountedRows | None) -> str:
    """Return of which rows a total is, with the bound; "" if all rows count."""
    if counted_rows is None:
        return ""
    what, per = counted_rows.what, counted_rows.per
    most = f"at most {counted_rows.max_contributions:,} a {per}"
    return f", of the {what} that count ({most})"


def _shares_of_rows(flows: Flows) -> tuple[str, ...]:
    """Return how rows of a person with more than the bound count, if each counts for a share."""
    counted_rows = flows.counted_rows
    if counted_rows is None or float(flows.noisy.unit).is_integer():
        return ()
    bound, what = counted_rows.max_contributions, counted_rows.what
    share = f"each of these {what} counts for a share"
    all_together = f"all of them count for {bound:,} together"
    return (f"If a {counted_rows.per} has more, {share}, so that {all_together}.",)


def _of_flows_over_time(flows: FlowsOverTime) -> ReleaseContents:
    left, right = flows.labels(None)
    size = f"{short_text(flows.levels[-1])} ({len(left):,} x {len(right):,})"
    several = f"{len(flows.periods):,} of {len(flows.horizon):,} periods"
    total, errors = flows.total(), []
    in_all = f"{short(total.value)} in {short_interval(total.interval)} ({DEFAULT_PERCENT})"
    for name in (flows.periods[-1], *list(flows.windows)[len(flows.periods) :]):
        table = flows.columns(name)
        half = short_bound(float((table["high"] - table["estimate"]).max()))
        errors.append((f"a cell, {name}", f"± {half} ({DEFAULT_PERCENT}, each alone)"))
    estimates, counted = table["estimate"], flows.counted_sentence
    return ReleaseContents(
        title="Table of flows over time",
        published=(
            *([f"{flows.noise_verdict}."] if flows.noise_verdict else []),
            f"A table of how much passes between groups, by {size}.",
            f"{several} are published: {listed(flows.periods)}.",
            f"In all{_of_what_counts(flows.counted_rows)}: {in_all}.",
        ),
        errors=tuple(errors),
        left_out=(
            *([f"{counted[0].upper()}{counted[1:]}."] if counted else []),
            "Rows that came after their period was published.",
        ),
        noises=_noises([flows.noisy]),
        unbiased="" if counted else "estimates are unbiased",
        biased=counted,
        small_numbers=f"{int((table['low'] <= 0).sum()):,} of {len(estimates):,} cells of all "
        f"periods together are {_NOISY}",
        impossible=f"{int((estimates < 0).sum()):,} of {len(estimates):,} estimates of all periods "
        "together are negative",
        periods=len(flows.horizon),
        vertices=flows.cells.rows.n + (0 if flows.cells.one_set else flows.cells.columns.n),
    )


def _of_partition(partition: Partition) -> ReleaseContents:
    sizes = listed(f"{name} ({size:,})" for name, size in _parts(partition))
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


def _parts(partition: Partition) -> list[tuple[object, int]]:
    return list(zip(partition.names, partition.sizes, strict=True))


def _of_iterative(release: IterativeRelease) -> ReleaseContents:
    settings, accuracy = release.settings, release.accuracy
    universe = release.universe
    vertices = [len(side) for side in sets_in(universe.space)]
    subject = "A synthetic graph" if release.has_graph else "Answers to a list of queries"
    errors = [("every query", "nothing is proven")]
    if accuracy.error is not None:
        error, sure = short_bound(accuracy.error), percent(accuracy.confidence)
        errors = [(f"all {accuracy.queries} queries at once", f"error at most {error} ({sure})")]
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


def _of_distances(result: None) -> ReleaseContents:
    del result
    return ReleaseContents(
        title="Average distances on a map",
        published=("The average distance of all people from each vertex of a public map.",),
    )


def _noises(measurements: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of the distributions of noise, each once."""
    names = (
        measurement.noise.distribution
        if isinstance(measurement, CountMeasurement)
        else measurement.distribution.name
        for measurement in measurements
    )
    return tuple(dict.fromkeys(names))
