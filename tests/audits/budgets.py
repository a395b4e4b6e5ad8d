"""Audits of releases that split their budget: noisy total, degrees, sums of groups, all together.

A run gives, among other numbers, the log likelihood ratio of the neighbours for what was released:
the most telling number there is.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.measurement import CellSums, Degrees, Measurement, Measurements
from graphcuts_dp.estimate.noisy_matrix import NOISES, NoisyMatrix
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.measure.cells import measure_groups
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.measure.statistics import measure_degrees, measure_total
from graphcuts_dp.privacy.noise import EntropySource, sample_discrete_laplace
from graphcuts_dp.release.measuring import measure
from graphcuts_dp.release.shares import Prospect
from tests.audits.base import Audit, ByLaw, Sampled, audited, column_of
from tests.audits.graphs import BIPARTITE, DIRECTED, HUB, LAST_PAIR, Side, capped, sides
from tests.audits.losses import laplace_gain

Run = Callable[[Side], list[float]]
Start = Callable[[float, str, EntropySource], Run]
PAIRS = tuple(map(sides, (LAST_PAIR, HUB, BIPARTITE[0])))
_TWINS = (PAIRS[0],)
_WEIGHTS = {
    "binary": (sides(DIRECTED[0]),),
    "discrete-laplace": (sides(capped(2.0)[0]),),
    "laplace": (sides(capped(0.3)[0]),),
}
SHARED = (
    "The budget is shared by several parts, whose losses all add up in few of the runs; the audit "
    "by its law sees what all runs tell."
)


def growths(noisy: Measurement[Degrees], side: Side) -> list[float]:
    """What was released, all of it, above the first neighbour's sums.

    An audit looks at the difference of any two numbers of a run, so that noise which any two of
    them share is seen: between vertices, and between the two sides of a bipartite graph, or the
    out- and in-degrees of a directed one.
    """
    used = zip(noisy.values, side.before, strict=False)
    return [float(x) for sums, before in used for x in sums - before]


def seen_of_degrees(noisy: Measurement[Degrees], side: Side) -> list[float]:
    """Growth of the two sums that the pair changes, and their log likelihood ratio."""
    row, column = side.ends
    ends = np.array([noisy.values[0][row], noisy.values[-1][column]])
    before, after = (np.array([s[0][row], s[1][column]]) for s in (side.before, side.after))
    growth = ends - before
    loss = laplace_gain(ends, before, after, float(noisy.rate) / noisy.unit)
    return [*growth, growth.min(), growth.max(), loss, *(ends % 1)]


def _of_degrees(noisy: Measurement[Degrees], side: Side) -> float:
    return seen_of_degrees(noisy, side)[4]


def _of_entry(noisy: NoisyMatrix, side: Side) -> float:
    """Log likelihood ratio of the largest weight and none at the pair."""
    return float(noisy.distribution.evidence(noisy.steps[side.ends].reshape(1))[0])


def seen_of_all(data: gc.Release, side: Side) -> list[float]:
    """What all parts tell of the pair, the sum of it, and all sums above the first neighbour's."""
    entry = _of_entry(data.noisy, side)
    of_degrees = of_total = above = 0.0
    sums = sum(map(len, side.before[: 1 if data.noisy.symmetric else 2]))
    released = {True: [0.0] * sums, False: [0.0] * sums}  # of early degrees, and of later ones
    for noisy in data.measurements.all_of(Degrees):
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


def _total(epsilon: Fraction, source: EntropySource) -> Run:
    def run(side: Side) -> list[float]:
        distribution = distribution_for(side.graph, "laplace", 1.0)
        return [measure_total(side.graph, distribution, epsilon=epsilon, source=source).total]

    return run


def _raw_total(_source: EntropySource) -> Run:
    return lambda side: [float(side.graph.dense().sum())]


def _degrees(epsilon: Fraction, shared: bool, source: EntropySource) -> Run:
    """If shared, columns get the noise of the rows: each side keeps its promise, both do not."""

    def run(side: Side) -> list[float]:
        distribution = distribution_for(side.graph, "laplace", 1.0)
        noisy = measure_degrees(side.graph, distribution, epsilon=epsilon, source=source)
        if shared and len(noisy.steps) == 2:
            exact = np.rint(side.graph.dense() / noisy.unit).astype(np.int64)
            drawn = noisy.steps[0] - exact.sum(axis=1)
            columns = exact.sum(axis=0) + np.resize(drawn, len(noisy.steps[1]))
            noisy = replace(noisy, steps=(noisy.steps[0], columns))
        return [*seen_of_degrees(noisy, side), *growths(noisy, side)]

    return run


def _noise_reused(epsilon: Fraction, source: EntropySource) -> Run:
    """The total's noise again for the first degree: their difference has none."""

    def run(side: Side) -> list[float]:
        dense = side.graph.dense()
        noise = sample_discrete_laplace(epsilon / 4, len(dense), source)
        return [float(dense.sum() + noise[0]), *(dense.sum(axis=1) + noise)]

    return run


def _not_rounded(epsilon: Fraction, source: EntropySource) -> Run:
    """Whole noise on weights that are not whole."""

    def run(side: Side) -> list[float]:
        sums = side.graph.dense().sum(axis=1)
        noisy = sums + sample_discrete_laplace(epsilon / 4, len(sums), source)
        return [*noisy, *(noisy % 1)]

    return run


_HALVES = sides(
    Neighbours(
        "a weight of a half",
        gc.Graph([0], [1], [2.0], vertices=4, weight_cap=2.0),
        gc.Graph([0, 2], [1, 3], [2.0, 0.5], vertices=4, weight_cap=2.0),
    )
)
_CORNER = sides(
    Neighbours(
        "weights, two sides",
        gc.BipartiteGraph([0], [1], [0.25], left=3, right=2, weight_cap=0.3),
        gc.BipartiteGraph([0, 2], [1, 1], [0.25, 0.3], left=3, right=2, weight_cap=0.3),
    )
)


@audited("noisy total")
def _total_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=(*PAIRS, _CORNER),
        start=partial(_total, exact),
        twins={"half the noise": partial(_total, 2 * exact), "m used raw": _raw_total},
        twin_pairs=_TWINS,
    )


@audited("noisy degrees")
def _degrees_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=(*PAIRS, sides(DIRECTED[0]), _CORNER, _HALVES),
        start=partial(_degrees, exact, False),
        twins={
            "sensitivity 1 for 2": partial(_degrees, 2 * exact, False),
            "noise reused": partial(_noise_reused, exact),
            "same noise on both sides": partial(_degrees, exact, True),
            "weights not rounded": partial(_not_rounded, exact),
        },
        twin_pairs=(PAIRS[0], PAIRS[2], _HALVES),
        runs=10_000,
    )


# All parts of a release without groups.


def _all(mechanism: str, epsilon: float, noise: str, source: EntropySource) -> Run:
    response = gc.Response(mechanism)

    def run(side: Side) -> list[float]:
        bought = measure(side.graph, epsilon=epsilon, noise=noise, source=source, response=response)
        return seen_of_all(gc.Release(measurements=bought), side)

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
    options = {"noise": noise, "choice": _AlwaysLooks, "response": gc.Response("auto")}

    def run(side: Side) -> list[float]:
        bought = measure(side.graph, epsilon=epsilon, source=source, **options)  # type: ignore[arg-type]
        return seen_of_all(gc.Release(measurements=bought), side)

    return run


def _degrees_not_charged(
    factor: int, early: bool, epsilon: float, noise: str, source: EntropySource
) -> Run:
    """They get so many times epsilon, and the entries beside get all of it, too."""

    def run(side: Side) -> list[float]:
        distribution = distribution_for(side.graph, noise, epsilon)
        given = factor * Fraction(epsilon)
        noisy = measure_degrees(side.graph, distribution, epsilon=given, source=source, early=early)
        of_degrees = _of_degrees(noisy, side)
        entry = _of_entry(randomized_response(side.graph, distribution, source), side)
        return [of_degrees, entry, of_degrees + entry]

    return run


def _chosen_by(
    true: Callable[[gc.Graph], float], epsilon: float, noise: str, source: EntropySource
) -> Run:
    """Whether degrees are bought is chosen by a true number of the graph."""
    runs = {
        chosen: _all(chosen, epsilon, noise, source) for chosen in ("response", "degrees+response")
    }
    return lambda side: runs["degrees+response" if true(side.graph) else "response"](side)


def _largest_degree(graph: gc.Graph) -> float:
    return float(graph.dense().sum(axis=1).max())


def _edges(graph: gc.Graph) -> float:
    return len(graph.rows)


def _started(start: Start, twins: dict[str, Start], noise: str, epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=(*PAIRS, *_WEIGHTS[noise]),
        start=partial(start, epsilon, noise),
        twins={name: partial(twin, epsilon, noise) for name, twin in twins.items()},
        twin_pairs=_TWINS,
    )


_SPLIT = ("degrees+response", "auto")
_ALL_OF_EACH: dict[str, Start] = {
    "each part gets all of epsilon": partial(_degrees_not_charged, 2, False)
}
_BY_TOTAL: dict[str, Start] = {"chosen by the true total": partial(_chosen_by, _edges)}


@audited("{}, {}", _SPLIT, NOISES, covers="release: {}, {}", unseen=SHARED)
def _split(mechanism: str, noise: str, epsilon: float) -> Audit:
    twins = _ALL_OF_EACH | (_BY_TOTAL if mechanism == "auto" else {})
    return _started(partial(_all, mechanism), twins, noise, epsilon)


@audited("auto, early degrees, {}", NOISES, slow=True, unseen=SHARED)
def _early(noise: str, epsilon: float) -> Audit:
    twins: dict[str, Start] = {
        "early degrees not charged": partial(_degrees_not_charged, 1, True),
        "chosen by the true degrees": partial(_chosen_by, _largest_degree),
    }
    return _started(_with_early_degrees, twins, noise, epsilon)


@audited(
    "{}, {}, by its law",
    _SPLIT,
    NOISES,
    slow=lambda mechanism, noise: noise == "laplace" or mechanism == "auto",
)
def _split_by_law(mechanism: str, noise: str, epsilon: float) -> Audit:
    """All parts together, of which the fifth number of a run is the log-likelihood ratio."""
    sound, half = (partial(_all, mechanism, factor * epsilon, noise) for factor in (1, 2))
    return ByLaw(
        claim=Claim(epsilon),
        pairs=PAIRS[1:],
        ratio=partial(column_of, sound, 4),
        twins={"half the noise": partial(column_of, half, 4)},
        runs=6000,
    )


# With public groups: both looks at the sums, and all other parts.


def _true_cells(like: Measurement[CellSums], dense: FloatMatrix) -> FloatVector:
    """The weight of each cell, of a matrix."""
    left, right = (
        np.eye(count)[codes] for count, codes in zip(like.map.shape, like.map.members, strict=True)
    )
    sums = (left.T @ dense @ right)[like.map.ends]
    if like.map.tree.symmetric:
        sums[np.equal(*like.map.ends)] /= 2
    return np.asarray(sums)


def seen_of_sums(look: Measurement[CellSums], side: Side) -> tuple[float, FloatVector]:
    """Log likelihood ratio of noisy sums, and all of them above the first neighbour's."""
    before, after = (_true_cells(look, dense) for dense in side.matrices)
    noisy = look.values[0]
    return laplace_gain(noisy, before, after, float(look.rate) / look.unit), noisy - before


def _seen(bought: Measurements, side: Side) -> list[float]:
    """Where there was no second look its numbers are 0: whether there was one is seen, too."""
    looks = [seen_of_sums(look, side) for look in bought.all_of(CellSums)]
    ratios, above = [0.0, 0.0], np.zeros((2, len(looks[0][1])))
    for number, look in enumerate(looks):
        ratios[number], above[number] = look
    others = seen_of_all(gc.Release(measurements=bought), side)
    seen = [*ratios, sum(ratios), float(len(looks)), *above.ravel().tolist()]
    return [sum(ratios) + others[4], *seen, *others]


def _bought(epsilon: float, noise: str, side: Side, source: EntropySource) -> Measurements:
    return measure(
        side.graph,
        epsilon=epsilon,
        noise=noise,
        source=source,
        groups=side.plan,
        response=gc.Response("auto"),
    )


def _grouped(epsilon: float, noise: str, source: EntropySource) -> Run:
    return lambda side: _seen(_bought(epsilon, noise, side, source), side)


def _sums_not_charged(epsilon: float, noise: str, source: EntropySource) -> Run:
    """The sums cost epsilon, and come on top of entries that have all of epsilon, too."""

    def run(side: Side) -> list[float]:
        look = measure_groups(
            side.graph,
            side.plan.sides,  # type: ignore[union-attr]
            epsilon=Fraction(epsilon),
            whole=noise == "discrete-laplace",
            name="groups",
            source=source,
        )
        distribution = distribution_for(side.graph, noise, epsilon)
        entry = _of_entry(randomized_response(side.graph, distribution, source), side)
        ratio, _ = seen_of_sums(look, side)
        return [ratio + entry, ratio, entry]

    return run


def _one_noise_for_all(epsilon: float, noise: str, source: EntropySource) -> Run:
    """All cells share their noise: the difference of two of them has none."""

    def run(side: Side) -> list[float]:
        bought = _bought(epsilon, noise, side, source)
        look = bought.all_of(CellSums)[0]
        true = np.rint(_true_cells(look, side.graph.dense()) / look.unit).astype(np.int64)
        spoilt = replace(look, steps=(true + (look.steps[0] - true)[0],))
        values = tuple(spoilt if each is look else each for each in bought.values)
        return _seen(replace(bought, values=values), side)

    return run


def _looked_again_for_the_true_graph(epsilon: float, noise: str, source: EntropySource) -> Run:
    """Whether there is a second look depends on the edges themselves."""

    def run(side: Side) -> list[float]:
        again, dense = _seen(_bought(epsilon, noise, side, source), side), side.graph.dense()
        again[4] = float(1 + bool(dense[0, -1] or dense[-1, -2]))
        return again

    return run


@audited(
    "groups, {}",
    NOISES,
    covers="release: groups, {}",
    slow=lambda noise: noise != "binary",
    unseen=SHARED,
)
def _groups(noise: str, epsilon: float) -> Audit:
    twins: dict[str, Start] = {
        "sums not charged": _sums_not_charged,
        "one noise for all sums": _one_noise_for_all,
        "a second look for the true graph": _looked_again_for_the_true_graph,
    }
    audit = _started(_grouped, twins, noise, epsilon)
    return replace(audit, twin_pairs=PAIRS[:2], runs=4000)  # type: ignore[call-arg]


@audited("groups, {}, by its law", NOISES, slow=lambda noise: noise != "binary")
def _groups_by_law(noise: str, epsilon: float) -> Audit:
    """All parts together, of which the first number of a run is the log-likelihood ratio."""
    sound, half = (partial(_grouped, factor * epsilon, noise) for factor in (1, 2))
    return ByLaw(
        claim=Claim(epsilon),
        pairs=PAIRS[:1],
        ratio=partial(column_of, sound, 0),
        twins={"half the noise": partial(column_of, half, 0)},
        runs=6000,
    )
