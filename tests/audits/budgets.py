"""Audits of releases that split their budget: noisy total, noisy degrees, and all parts together.

A run gives, among other numbers, the log likelihood ratio of the neighbours for what was released:
the most telling number there is.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from graphcuts_dp.estimate.measurement import Degrees, Measurement
from graphcuts_dp.estimate.noisy_matrix import NOISES, NoisyMatrix
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.measure.statistics import measure_degrees, measure_total
from graphcuts_dp.privacy.noise import EntropySource, sample_discrete_laplace
from graphcuts_dp.release.measuring import measure
from graphcuts_dp.release.shares import Prospect, Response
from graphcuts_dp.results.release import Release
from tests.audits.base import Audit, ByLaw, Entry, Sampled, column_of
from tests.audits.graphs import BIPARTITE, DIRECTED, HUB, LAST_PAIR, capped

Sums = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Placed:
    """One of two neighbours, and where they differ.

    Attributes:
        graph: this one.
        ends: row and column of the pair in which they differ.
        before: row and column sums of the first neighbour.
        after: likewise of the second.
    """

    graph: AnyGraph = field(repr=False)
    ends: tuple[int, int]
    before: Sums
    after: Sums


def placed(pair: Neighbours) -> Neighbours:
    """Neighbours that know where they differ."""
    row, column = (int(end[0]) for end in np.nonzero(pair.second.dense() - pair.first.dense()))
    if isinstance(pair.first, Graph):
        row, column = min(row, column), max(row, column)
    sums = _sums(pair.first), _sums(pair.second)
    first, second = (Placed(graph, (row, column), *sums) for graph in (pair.first, pair.second))
    return Neighbours(pair.name, first, second)


def _sums(graph: AnyGraph) -> Sums:
    dense = graph.dense()
    return dense.sum(axis=1), dense.sum(axis=0)


PAIRS = tuple(placed(pair) for pair in (LAST_PAIR, HUB, BIPARTITE[0]))
_TWINS = (PAIRS[0],)
WEIGHTS = {
    "binary": (placed(DIRECTED[0]),),
    "discrete-laplace": (placed(capped(2.0)[0]),),
    "laplace": (placed(capped(0.3)[0]),),
}
Run = Callable[[Placed], list[float]]


def growths(noisy: Measurement[Degrees], where: Placed) -> list[float]:
    """What was released, all of it, above the first neighbour's sums.

    An audit looks at the difference of any two numbers of a run, so that noise which any two of
    them share is seen: between vertices, and between the two sides of a bipartite graph, or the
    out- and in-degrees of a directed one.
    """
    used = zip(noisy.values, where.before, strict=False)
    return [float(x) for sums, before in used for x in sums - before]


def seen_of_degrees(noisy: Measurement[Degrees], where: Placed) -> list[float]:
    """Growth of the two sums that the pair changes, and their log likelihood ratio."""
    row, column = where.ends
    ends = np.array([noisy.values[0][row], noisy.values[-1][column]])
    before, after = (np.array([s[0][row], s[1][column]]) for s in (where.before, where.after))
    growth = ends - before
    rate = float(noisy.rate) / noisy.unit
    loss = rate * (np.abs(ends - before) - np.abs(ends - after)).sum()
    return [*growth, growth.min(), growth.max(), float(loss), *(ends % 1)]


def seen_of_entry(noisy: NoisyMatrix, where: Placed) -> float:
    """Log likelihood ratio of the largest weight and none at the pair."""
    return float(noisy.distribution.evidence(noisy.steps[where.ends].reshape(1))[0])


def seen_of_all(data: Release, where: Placed) -> list[float]:
    """What all parts tell of the pair, the sum of it, and all sums above the first neighbour's."""
    entry = seen_of_entry(data.noisy, where)
    of_degrees = of_total = above = 0.0
    sides = sum(map(len, where.before[: 1 if data.noisy.symmetric else 2]))
    released = {True: [0.0] * sides, False: [0.0] * sides}  # of early degrees, and of later ones
    for noisy in data.measurements.all_of(Degrees):
        of_degrees += seen_of_degrees(noisy, where)[4]
        released[noisy.name == "early degrees"] = growths(noisy, where)
    if data.total is not None:
        value = data.total.total
        before, after = (sums[0].sum() for sums in (where.before, where.after))
        rate = math.sqrt(2 / data.total.law.variance)
        of_total = float(rate * (abs(value - before) - abs(value - after)))
        above = float(value - before) / (2 if data.noisy.symmetric else 1)  # edges count twice
    parts = [entry, of_degrees, of_total, float(data.degrees is None)]
    return [*parts, entry + of_degrees + of_total, above, *released[False], *released[True]]


def _degrees(epsilon: Fraction, noise: str, source: EntropySource) -> Run:
    def run(where: Placed) -> list[float]:
        distribution = distribution_for(where.graph, noise, 1.0)
        noisy = measure_degrees(where.graph, distribution, epsilon=epsilon, source=source)
        return [*seen_of_degrees(noisy, where), *growths(noisy, where)]

    return run


def _total(epsilon: Fraction, noise: str, source: EntropySource) -> Run:
    def run(where: Placed) -> list[float]:
        distribution = distribution_for(where.graph, noise, 1.0)
        return [measure_total(where.graph, distribution, epsilon=epsilon, source=source).total]

    return run


def _all(epsilon: float, noise: str, mechanism: str, source: EntropySource) -> Run:
    def run(where: Placed) -> list[float]:
        bought = measure(
            where.graph,
            epsilon=epsilon,
            noise=noise,
            source=source,
            response=Response(mechanism),
        )
        return seen_of_all(Release(measurements=bought), where)

    return run


class _AlwaysLooks(Prospect):
    """Buys early degrees of every graph, and then what they say of the largest one."""

    def share_from_total(self, total: float, epsilon: Fraction) -> Fraction | None:
        del total, epsilon
        return None

    def share_from_degrees(
        self, early: Measurement[Degrees], total: float, epsilon: Fraction
    ) -> Fraction:
        del total, epsilon
        return self.beside if early.values[0].max() > 2 * self.cap else Fraction(0)


def _with_early_degrees(epsilon: float, noise: str, source: EntropySource) -> Run:
    def run(where: Placed) -> list[float]:
        bought = measure(
            where.graph,
            epsilon=epsilon,
            noise=noise,
            source=source,
            choice=_AlwaysLooks,
            response=Response("auto"),
        )
        return seen_of_all(Release(measurements=bought), where)

    return run


# Broken twins.


def _early_degrees_not_charged(epsilon: float, noise: str, source: EntropySource) -> Run:
    """They get all of epsilon, and so do the entries that are chosen by them."""

    def run(where: Placed) -> list[float]:
        distribution = distribution_for(where.graph, noise, epsilon)
        early = measure_degrees(
            where.graph, distribution, epsilon=Fraction(epsilon), source=source, early=True
        )
        of_degrees = seen_of_degrees(early, where)[4]
        of_entry = seen_of_entry(randomized_response(where.graph, distribution, source), where)
        return [of_degrees, of_entry, of_degrees + of_entry]

    return run


def _chosen_by_true_degrees(epsilon: float, noise: str, source: EntropySource) -> Run:
    def run(where: Placed) -> list[float]:
        largest = where.graph.dense().sum(axis=1).max()
        chosen = "degrees+response" if largest > 0 else "response"
        return _all(epsilon, noise, chosen, source)(where)

    return run


def _parts_that_get_all(epsilon: float, noise: str, source: EntropySource) -> Run:
    def run(where: Placed) -> list[float]:
        distribution = distribution_for(where.graph, noise, epsilon)
        exact = Fraction(epsilon)
        noisy = measure_degrees(where.graph, distribution, epsilon=2 * exact, source=source)
        of_degrees = seen_of_degrees(noisy, where)[4]
        of_entry = seen_of_entry(randomized_response(where.graph, distribution, source), where)
        return [of_degrees, of_entry, of_degrees + of_entry]

    return run


def _noise_reused(epsilon: Fraction, source: EntropySource) -> Run:
    """The total's noise again for the first degree: their difference has none."""

    def run(where: Placed) -> list[float]:
        noise = sample_discrete_laplace(epsilon / 4, where.graph.dense().shape[0], source)
        degrees = where.graph.dense().sum(axis=1) + noise
        return [float(where.graph.dense().sum() + noise[0]), *degrees]

    return run


def _same_noise_on_both_sides(epsilon: Fraction, noise: str, source: EntropySource) -> Run:
    """Columns get the noise of the rows: each side alone keeps its promise, both do not."""

    def run(where: Placed) -> list[float]:
        distribution = distribution_for(where.graph, noise, 1.0)
        noisy = measure_degrees(where.graph, distribution, epsilon=epsilon, source=source)
        if len(noisy.steps) == 2:
            exact = np.rint(where.graph.dense() / noisy.unit).astype(np.int64)
            drawn = noisy.steps[0] - exact.sum(axis=1)
            columns = exact.sum(axis=0) + np.resize(drawn, len(noisy.steps[1]))
            noisy = replace(noisy, steps=(noisy.steps[0], columns))
        return [*seen_of_degrees(noisy, where), *growths(noisy, where)]

    return run


def _not_rounded(epsilon: Fraction, source: EntropySource) -> Run:
    """Whole noise on weights that are not whole."""

    def run(where: Placed) -> list[float]:
        sums = where.graph.dense().sum(axis=1)
        noisy = sums + sample_discrete_laplace(epsilon / 4, len(sums), source)
        return [*noisy, *(noisy % 1)]

    return run


def _raw_total(source: EntropySource) -> Run:
    del source
    return lambda where: [float(where.graph.dense().sum())]


def _chosen_by_the_true_total(epsilon: float, noise: str, source: EntropySource) -> Run:
    def run(where: Placed) -> list[float]:
        chosen = "degrees+response" if len(where.graph.rows) else "response"
        return _all(epsilon, noise, chosen, source)(where)

    return run


_HALVES = placed(
    Neighbours(
        "a weight of a half",
        Graph([0], [1], [2.0], vertices=4, weight_cap=2.0),
        Graph([0, 2], [1, 3], [2.0, 0.5], vertices=4, weight_cap=2.0),
    )
)
_CORNER = placed(
    Neighbours(
        "weights, two sides",
        BipartiteGraph([0], [1], [0.25], left=3, right=2, weight_cap=0.3),
        BipartiteGraph([0, 2], [1, 1], [0.25, 0.3], left=3, right=2, weight_cap=0.3),
    )
)


def _degrees_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=(*PAIRS, placed(DIRECTED[0]), _CORNER, _HALVES),
        start=partial(_degrees, exact, "laplace"),
        twins={
            "sensitivity 1 for 2": partial(_degrees, 2 * exact, "laplace"),
            "noise reused": partial(_noise_reused, exact),
            "same noise on both sides": partial(_same_noise_on_both_sides, exact, "laplace"),
            "weights not rounded": partial(_not_rounded, exact),
        },
        twin_pairs=(PAIRS[0], PAIRS[2], _HALVES),
        runs=10_000,
    )


def _total_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=(*PAIRS, _CORNER),
        start=partial(_total, exact, "laplace"),
        twins={"half the noise": partial(_total, 2 * exact, "laplace"), "m used raw": _raw_total},
        twin_pairs=_TWINS,
    )


def _split_audit(noise: str, mechanism: str, epsilon: float) -> Audit:
    twins = {"each part gets all of epsilon": partial(_parts_that_get_all, epsilon, noise)}
    if mechanism == "auto":
        chosen = partial(_chosen_by_the_true_total, epsilon, noise)
        twins["chosen by the true total"] = chosen
    return Sampled(
        claim=Claim(epsilon),
        pairs=(*PAIRS, *WEIGHTS[noise]),
        start=partial(_all, epsilon, noise, mechanism),
        twins=twins,
        twin_pairs=_TWINS,
    )


def _law_audit(noise: str, mechanism: str, epsilon: float) -> Audit:
    """All parts together, of which the fifth number of a run is the log-likelihood ratio."""
    return ByLaw(
        claim=Claim(epsilon),
        pairs=PAIRS[1:],
        ratio=partial(column_of, partial(_all, epsilon, noise, mechanism), 4),
        twins={
            "half the noise": partial(column_of, partial(_all, 2 * epsilon, noise, mechanism), 4)
        },
        runs=6000,
    )


def _early_audit(noise: str, epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=(*PAIRS, *WEIGHTS[noise]),
        start=partial(_with_early_degrees, epsilon, noise),
        twins={
            "early degrees not charged": partial(_early_degrees_not_charged, epsilon, noise),
            "chosen by the true degrees": partial(_chosen_by_true_degrees, epsilon, noise),
        },
        twin_pairs=_TWINS,
    )


SHARED = (
    "The budget is shared by several parts, whose losses all add up in few of the runs; the audit "
    "by its law sees what all runs tell."
)

ENTRIES = (
    Entry("noisy total", _total_audit),
    Entry("noisy degrees", _degrees_audit),
    *(
        Entry(
            f"{mechanism}, {noise}",
            partial(_split_audit, noise, mechanism),
            (f"release: {mechanism}, {noise}",),
            unseen=SHARED,
        )
        for mechanism in ("degrees+response", "auto")
        for noise in NOISES
    ),
    *(
        Entry(
            f"{mechanism}, {noise}, by its law",
            partial(_law_audit, noise, mechanism),
            slow=noise == "laplace" or mechanism == "auto",
        )
        for mechanism in ("degrees+response", "auto")
        for noise in NOISES
    ),
    *(
        Entry(
            f"auto, early degrees, {noise}", partial(_early_audit, noise), slow=True, unseen=SHARED
        )
        for noise in NOISES
    ),
)
