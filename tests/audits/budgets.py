"""Audits of releases that split their budget: noisy total, degrees, sums of groups, all together.

A run gives, among other numbers, the log likelihood ratio of the neighbours for what was released:
the most telling number there is.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp import BudgetPlan
from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement, Degrees, Measurements
from graphcuts_dp.estimate.noises import NOISES
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.evaluation.audit import Neighbours
from graphcuts_dp.measure.cells import measure_refinable_groups
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.measure.statistics import (
    measure_degrees,
    measure_refinable_degrees,
    measure_total,
)
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetStep, Condition
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.release.graph_jobs import MatrixJob, SparseJob
from graphcuts_dp.release.measuring import measure
from graphcuts_dp.synth.budget_plans import GROUPS, GROUPS_INFORMATIVE, SECOND_GROUPS
from graphcuts_dp.synth.decisions import Decisions, DegreeChoice, MatrixDecisions
from tests.audits.base import Variants, audited_runs
from tests.audits.graphs import (
    BIPARTITE,
    DIRECTED,
    HUB,
    LAST_PAIR,
    Side,
    capped,
    job_of,
    one_more,
    sides,
)
from tests.audits.losses import laplace_gain

PAIRS = tuple(map(sides, (LAST_PAIR, HUB, BIPARTITE[0])))
_VARIANTS = (PAIRS[0],)
_WEIGHTS = {
    "binary": (sides(DIRECTED[0]),),
    "discrete-laplace": (sides(capped(2.0)[0]),),
    "laplace": (sides(capped(0.3)[0]),),
    "staircase": (sides(capped(0.3)[0]),),
}
SHARED_BUDGET = (
    "The budget is shared by several parts, whose losses all add up in few of the runs; the audit "
    "by its law sees what all runs tell."
)


def growths(noisy: CountMeasurement[Degrees], side: Side) -> list[float]:
    """What was released, all of it, above the first neighbour's sums.

    An audit looks at the difference of any two numbers of a run, so that noise which any two of
    them share is seen: between vertices, and between the two sides of a bipartite graph, or the
    out- and in-degrees of a directed one.
    """
    used = zip(noisy.values, side.before, strict=False)
    return [float(x) for sums, before in used for x in sums - before]


def degree_observations(noisy: CountMeasurement[Degrees], side: Side) -> list[float]:
    """Return what noisy degrees show of the pair.

    Returns:
        Noisy degrees of both endpoints above those of the first neighbour; the smaller and the
        larger of them; ln(Q/P) of both, P on the first neighbour and Q on the second; and the
        fractional parts of both.
    """
    row, column = side.endpoints
    degrees = np.array([noisy.values[0][row], noisy.values[-1][column]])
    before, after = (
        np.array([sums[0][row], sums[1][column]]) for sums in (side.before, side.after)
    )
    above = degrees - before
    ratio = laplace_gain(degrees, before, after, float(noisy.rate) / noisy.unit)
    return [*above, above.min(), above.max(), ratio, *(degrees % 1)]


def _of_degrees(noisy: CountMeasurement[Degrees], side: Side) -> float:
    return degree_observations(noisy, side)[4]


def _of_entry(noisy: NoisyMatrix, side: Side) -> float:
    """Log likelihood ratio of the largest weight and none at the pair."""
    return float(noisy.distribution.evidence(noisy.steps[side.endpoints].reshape(1))[0])


def observations_of_all(data: gc.Release, side: Side) -> list[float]:
    """What all parts tell of the pair, the sum of it, and all sums above the first neighbour's."""
    entry = _of_entry(data.noisy, side)
    of_degrees = of_total = above = 0.0
    sums = sum(map(len, side.before[: 1 if data.noisy.symmetric else 2]))
    released = {True: [0.0] * sums, False: [0.0] * sums}  # of early degrees, and of later ones
    for noisy in data.measurements.values:
        if isinstance(noisy, CountMeasurement) and isinstance(noisy.map, Degrees):
            of_degrees += _of_degrees(noisy, side)
            released[noisy.name == "early degrees"] = growths(noisy, side)
    if data.total is not None:
        value = data.total.total
        before, after = (sums[0].sum() for sums in (side.before, side.after))
        of_total = laplace_gain(value, before, after, math.sqrt(2 / data.total.law.variance))
        above = float(value - before) / (2 if data.noisy.symmetric else 1)  # edges count twice
    parts = [entry, of_degrees, of_total, float(data.degrees is None)]
    return [*parts, entry + of_degrees + of_total, above, *released[False], *released[True]]


# One part alone.

_HALVES = sides(one_more("a weight of a half", [0, 2], [1, 3], [2.0, 0.5], max_weight=2.0))
_CORNER = sides(
    one_more(
        "weights, two sides",
        [0, 2],
        [1, 1],
        [0.25, 0.3],
        kind=gc.BipartiteGraph,
        left=3,
        right=2,
        max_weight=0.3,
    )
)


def _raw_total(_epsilon: float, side: Side, _source: EntropySource) -> list[float]:
    return [float(side.graph.dense().sum())]


@audited_runs(
    "noisy total",
    pairs=(*PAIRS, _CORNER),
    incorrect_variants={"half the noise": {"factor": 2}, "m used raw": _raw_total},
    variant_pairs=_VARIANTS,
)
def _total(epsilon: float, side: Side, source: EntropySource, factor: int = 1) -> list[float]:
    distribution, exact = distribution_for(side.graph, "laplace", 1.0), factor * Fraction(epsilon)
    return [measure_total(side.graph, distribution, epsilon=exact, source=source).total]


def _noise_reused(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    """The total's noise again for the first degree: their difference has none."""
    dense = side.graph.dense()
    noise = sample_discrete_laplace(Fraction(epsilon) / 4, len(dense), source)
    return [float(dense.sum() + noise[0]), *(dense.sum(axis=1) + noise)]


def _not_rounded(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    """Whole noise on weights that are not whole."""
    sums = side.graph.dense().sum(axis=1)
    noisy = sums + sample_discrete_laplace(Fraction(epsilon) / 4, len(sums), source)
    return [*noisy, *(noisy % 1)]


@audited_runs(
    "noisy degrees",
    pairs=(*PAIRS, sides(DIRECTED[0]), _CORNER, _HALVES),
    incorrect_variants={
        "sensitivity 1 for 2": {"factor": 2},
        "noise reused": _noise_reused,
        "same noise on both sides": {"shared": True},
        "weights not rounded": _not_rounded,
    },
    variant_pairs=(PAIRS[0], PAIRS[2], _HALVES),
    runs=10_000,
)
def _degrees(
    epsilon: float, side: Side, source: EntropySource, factor: int = 1, shared: bool = False
) -> list[float]:
    """If shared, columns get the noise of the rows: each side keeps its guarantee, both do not."""
    distribution, exact = distribution_for(side.graph, "laplace", 1.0), factor * Fraction(epsilon)
    noisy = measure_degrees(side.graph, distribution, epsilon=exact, source=source)
    if shared and len(noisy.steps) == 2:
        exact = np.rint(side.graph.dense() / noisy.unit).astype(np.int64)
        drawn = noisy.steps[0] - exact.sum(axis=1)
        columns = exact.sum(axis=0) + np.resize(drawn, len(noisy.steps[1]))
        noisy = replace(noisy, steps=(noisy.steps[0], columns))
    return [*degree_observations(noisy, side), *growths(noisy, side)]


_FIRST = Fraction(9, 10)  # of epsilon, for degrees that are refined with the rest


def _refined_anew(refinable: Any, finer: Fraction, side: Side, source: EntropySource) -> Any:
    """The finer copy with noise of its own: both together cost the sum."""
    del refinable
    distribution = distribution_for(side.graph, "laplace", 1.0)
    return measure_degrees(side.graph, distribution, epsilon=finer, source=source)


def _refined_twice(refinable: Any, finer: Fraction, side: Side, source: EntropySource) -> Any:
    """The finer rate in place of the difference of both: that is noise of the sum of the rates."""
    del side
    much = refinable.measurement.epsilon + finer
    return refinable.refined(much, source, name="degrees").measurement


@audited_runs(
    "degrees that are refined",
    pairs=(*PAIRS, sides(DIRECTED[0]), _CORNER),
    incorrect_variants={
        "independent noise": {"how": _refined_anew},
        "the coarse rate not taken off": {"how": _refined_twice},
    },
    variant_pairs=_VARIANTS,
    runs=10_000,
)
def _degrees_refined(
    epsilon: float,
    side: Side,
    source: EntropySource,
    how: Callable[..., CountMeasurement[Degrees]] | None = None,
) -> list[float]:
    """Coarse degrees, and a finer copy where that of the pair's first end is not below 0."""
    distribution, exact = distribution_for(side.graph, "laplace", 1.0), Fraction(epsilon)
    first = measure_refinable_degrees(
        side.graph, distribution, epsilon=exact * _FIRST, source=source
    )
    coarse = first.measurement
    if coarse.values[0][side.endpoints[0]] < 0:
        return [*degree_observations(coarse, side), *([0.0] * 6)]
    if how is None:
        fine = first.refined(exact, source, name="degrees").measurement
    else:
        fine = how(first, exact, side, source)
    told = [_of_degrees(each, side) for each in (coarse, fine)]
    growth = [each.values[0][side.endpoints[0]] for each in (coarse, fine)]
    return [*degree_observations(coarse, side), sum(told), *told, *growth, growth[0] - growth[1]]


# All parts of a release without groups.


class _AlwaysLooks(MatrixDecisions):
    """Measures early degrees of every graph, and then what they say of the largest one."""

    def choice_from_total(self, total: float, epsilon: Fraction) -> DegreeChoice:
        del total, epsilon
        return DegreeChoice.UNDECIDED

    def choice_from_degrees(
        self,
        early: CountMeasurement[Degrees],
        total: float,
        epsilon: Fraction,
        *,
        last: bool = False,
    ) -> DegreeChoice:
        del total, epsilon
        largest = early.values[0].max()
        if not last and largest > 4 * self.shares.largest_weight:
            return DegreeChoice.UNDECIDED
        if largest > 2 * self.shares.largest_weight:
            return DegreeChoice.ENTRIES_SHOW_NOTHING
        return DegreeChoice.NONE

    def degrees_are_uncertain(self, noisy: CountMeasurement[Degrees]) -> bool:
        """Degrees are refined once more where the largest one is larger still."""
        return bool(noisy.values[0].max() > 3 * self.shares.largest_weight)


def _as_planned(job: MatrixJob | SparseJob) -> Decisions:
    return job.decisions()


def _always_looking(job: MatrixJob | SparseJob) -> Decisions:
    assert isinstance(job, MatrixJob)
    return _AlwaysLooks(job.shares, job.budget_plan.amount)


def _degrees_not_charged(*terms: Any, factor: int = 1, early: bool = True) -> list[float]:
    """They get so many times epsilon, and the entries beside get all of it, too."""
    noise, epsilon, side, source = terms[-4:]
    distribution = distribution_for(side.graph, noise, epsilon)
    given = factor * Fraction(epsilon)
    noisy = measure_degrees(side.graph, distribution, epsilon=given, source=source)
    noisy = replace(noisy, name="early degrees" if early else "degrees")
    of_degrees = _of_degrees(noisy, side)
    entry = _of_entry(randomized_response(side.graph, distribution, source), side)
    return [of_degrees, entry, of_degrees + entry]


def _chosen_by(true: Callable[[gc.Graph], float], *terms: Any) -> list[float]:
    """Whether degrees are bought is chosen by a true number of the graph."""
    side = terms[-2]
    return _all(
        "degrees+randomized-response" if true(side.graph) else "randomized-response", *terms[-4:]
    )


def _largest_degree(graph: gc.Graph) -> float:
    return float(graph.dense().sum(axis=1).max())


def _edges(graph: gc.Graph) -> float:
    return len(graph.rows)


def _pairs_with_weights(*terms: Any) -> tuple[Neighbours, ...]:
    noise = terms[-2]
    return (*PAIRS, *_WEIGHTS[noise])


def _split_variants(mechanism: str, _noise: str) -> Variants:
    of_all = partial(_degrees_not_charged, factor=2, early=False)
    more = {"chosen by the true total": partial(_chosen_by, _edges)} if mechanism == "auto" else {}
    return {"each part gets all of epsilon": of_all, **more}


_SPLIT = ("degrees+randomized-response", "auto")
# In quick audits each mechanism has the noises that the other has not: the parts and their shares
# are the same for all, and each noise has audits of its own.
_NOISES_OF_AUTO = ("binary", "laplace")


@audited_runs(
    "{}, {}, by its law",
    _SPLIT,
    NOISES,
    pairs=PAIRS[1:],
    incorrect_variants={"half the noise": {"factor": 2}},
    runs=6000,
    column=4,  # the log-likelihood ratio of all parts together
    slow=lambda mechanism, noise: noise == "laplace" or mechanism == "auto",
)
@audited_runs(
    "{}, {}",
    _SPLIT,
    NOISES,
    pairs=_pairs_with_weights,
    incorrect_variants=_split_variants,
    variant_pairs=_VARIANTS,
    covers="release: {}, {}",
    slow=lambda mechanism, noise: (noise in _NOISES_OF_AUTO) is (mechanism != "auto"),
    why_below_half=SHARED_BUDGET,
)
def _all(
    mechanism: str,
    noise: str,
    epsilon: float,
    side: Side,
    source: EntropySource,
    factor: int = 1,
    decided: Callable[[MatrixJob | SparseJob], Decisions] = _as_planned,
) -> list[float]:
    job = job_of(side, mechanism, noise, factor * epsilon)
    measured = job.measure(side.graph, source, decisions=decided(job))
    return observations_of_all(gc.Release(measurements=measured), side)


audited_runs(
    "auto, early degrees, {}",
    NOISES,
    pairs=_pairs_with_weights,
    incorrect_variants={
        "early degrees not charged": _degrees_not_charged,
        "chosen by the true degrees": partial(_chosen_by, _largest_degree),
    },
    variant_pairs=_VARIANTS,
    slow=True,
    why_below_half=SHARED_BUDGET,
)(partial(_all, "auto", decided=_always_looking))


# With public groups: the sums, refined or not, and all other parts.


def _true_cells(like: CountMeasurement[CellSums], dense: FloatMatrix) -> FloatVector:
    """The weight of each cell, of a matrix."""
    left, right = (
        np.eye(count)[codes] for count, codes in zip(like.map.shape, like.map.members, strict=True)
    )
    sums = (left.T @ dense @ right)[like.map.ends]
    if like.map.tree.symmetric:
        sums[np.equal(*like.map.ends)] /= 2
    return np.asarray(sums)


def ratio_of_sums(look: CountMeasurement[CellSums], side: Side) -> tuple[float, FloatVector]:
    """Log likelihood ratio of noisy sums, and all of them above the first neighbour's."""
    before, after = (_true_cells(look, dense) for dense in side.matrices)
    noisy = look.values[0]
    return laplace_gain(noisy, before, after, float(look.rate) / look.unit), noisy - before


def _seen(bought: Measurements, side: Side) -> list[float]:
    """What the sums cost is seen, too: whether they were refined."""
    look = bought.find(CellSums)
    assert look is not None
    ratio, above = ratio_of_sums(look, side)
    others = observations_of_all(gc.Release(measurements=bought), side)
    return [ratio + others[4], ratio, float(look.epsilon), *above.tolist(), *others]


def _bought(noise: str, epsilon: float, side: Side, source: EntropySource) -> Measurements:
    return job_of(side, "auto", noise, epsilon, with_groups=True).measure(side.graph, source)


def _both_sides(side: Side) -> tuple[gc.Groups, gc.Groups]:
    return side.groups if isinstance(side.groups, tuple) else (side.groups, side.groups)


def _sums_not_charged(noise: str, epsilon: float, side: Side, source: EntropySource) -> list[float]:
    """The sums cost epsilon, and come on top of entries that have all of epsilon, too."""
    look = measure_refinable_groups(
        side.graph,
        _both_sides(side),
        epsilon=Fraction(epsilon),
        whole=noise == "discrete-laplace",
        name="groups",
        source=source,
    ).measurement
    distribution = distribution_for(side.graph, noise, epsilon)
    entry = _of_entry(randomized_response(side.graph, distribution, source), side)
    ratio, _ = ratio_of_sums(look, side)
    return [ratio + entry, ratio, entry]


def _one_noise_for_all(
    noise: str, epsilon: float, side: Side, source: EntropySource
) -> list[float]:
    """All cells share their noise: the difference of two of them has none."""
    bought = _bought(noise, epsilon, side, source)
    look = bought.find(CellSums)
    assert look is not None
    true = np.rint(_true_cells(look, side.graph.dense()) / look.unit).astype(np.int64)
    spoilt = replace(look, steps=(true + (look.steps[0] - true)[0],))
    values = tuple(spoilt if each is look else each for each in bought.values)
    return _seen(replace(bought, values=values), side)


def _refined_for_the_true_graph(
    noise: str, epsilon: float, side: Side, source: EntropySource
) -> list[float]:
    """Whether the sums are refined depends on the edges themselves."""
    again, dense = _seen(_bought(noise, epsilon, side, source), side), side.graph.dense()
    again[2] = float(1 + bool(dense[0, -1] or dense[-1, -2]))
    return again


@audited_runs(
    "groups, {}, by its law",
    NOISES,
    pairs=PAIRS[:1],
    incorrect_variants={"half the noise": {"factor": 2}},
    runs=6000,
    column=0,  # likewise
    slow=lambda noise: noise != "binary",
)
@audited_runs(
    "groups, {}",
    NOISES,
    pairs=_pairs_with_weights,
    incorrect_variants={
        "sums not charged": _sums_not_charged,
        "one noise for all sums": _one_noise_for_all,
        "refined for the true graph": _refined_for_the_true_graph,
    },
    variant_pairs=PAIRS[:2],
    runs=4000,
    covers="release: groups, {}",
    slow=lambda noise: noise != "binary",
    why_below_half=SHARED_BUDGET,
)
def _grouped(
    noise: str, epsilon: float, side: Side, source: EntropySource, factor: int = 1
) -> list[float]:
    return _seen(_bought(noise, factor * epsilon, side, source), side)


_LOOK_AND_SECOND = (
    BudgetStep(statistic=GROUPS, share=Fraction(1, 2), noise="discrete Laplace"),
    BudgetStep(
        statistic=SECOND_GROUPS,
        share=ALL_LEFT,
        noise="discrete Laplace",
        conditions=(Condition(GROUPS_INFORMATIVE, holds=False),),
    ),
)


@audited_runs(
    "second sums of groups",
    pairs=PAIRS[:1],
    incorrect_variants={
        "the second sums not charged": {"second": 2},
        "half the noise": {"factor": 2},
    },
    runs=6000,
    column=0,  # the log-likelihood ratio of both together
)
def _second_sums(
    epsilon: float, side: Side, source: EntropySource, factor: int = 1, second: int = 1
) -> list[float]:
    """A look at the sums, and second sums with noise of their own unless it is informative."""
    job = job_of(side, "auto", "binary", epsilon, with_groups=True)
    plan = BudgetPlan(steps=_LOOK_AND_SECOND, amount=Fraction(epsilon) * factor)
    bought = measure(
        side.graph,
        plan,
        job.decisions(),
        noise="binary",
        distribution=distribution_for(side.graph, "binary", epsilon),
        guarantee=job.guarantee,
        source=source,
    )
    looks = [each for each in bought.values if isinstance(each, CountMeasurement)]
    if len(looks) > 1 and second > 1:
        looks[1] = measure_refinable_groups(
            side.graph,
            _both_sides(side),
            epsilon=second * Fraction(epsilon),
            whole=False,
            name=SECOND_GROUPS,
            source=source,
        ).measurement
    ratios = [ratio_of_sums(look, side)[0] for look in looks]
    return [sum(ratios), *ratios, *([0.0] * (2 - len(ratios))), float(len(ratios))]
