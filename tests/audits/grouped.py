"""Audits of releases with public groups: both looks at the sums, and all other parts, jointly."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.measurement import CellSums, Measurement, Measurements
from graphcuts_dp.estimate.noisy_matrix import NOISES
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph
from graphcuts_dp.measure.cells import measure_groups
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.release.measuring import measure
from graphcuts_dp.release.shares import GroupPlan, Response, group_plan
from graphcuts_dp.results.release import Release
from tests.audits.base import Audit, ByLaw, Entry, Sampled, column_of
from tests.audits.budgets import (
    PAIRS,
    SHARED,
    WEIGHTS,
    Placed,
    seen_of_all,
    seen_of_entry,
)

_LABELS = {2: [0, 1], 3: [0, 1, 1], 4: [0, 0, 1, 1]}
Run = Callable[["Beside"], list[float]]


def plan_for(graph: AnyGraph) -> GroupPlan:
    """The public groups of a small graph, and what is bought of them."""
    if not isinstance(graph, BipartiteGraph):
        own = Groups(graph.vertices, {"half": _LABELS[graph.n]})
        found = group_plan(graph, own)
    else:
        sides = [Groups(each, {"half": _LABELS[len(each)]}) for each in (graph.left, graph.right)]
        found = group_plan(graph, (sides[0], sides[1]))
    if found is None:
        raise ValueError("there are groups")
    return found


def true_cells(like: Measurement[CellSums], dense: FloatMatrix) -> FloatVector:
    """The weight of each cell, of a matrix."""
    left, right = (
        np.eye(count)[codes] for count, codes in zip(like.map.shape, like.map.members, strict=True)
    )
    sums = (left.T @ dense @ right)[like.map.ends]
    if like.map.tree.symmetric:
        sums[np.equal(*like.map.ends)] /= 2
    return np.asarray(sums)


@dataclass(frozen=True, eq=False)
class Beside:
    """One of two neighbours, with both of their matrices.

    Attributes:
        where: this one.
        before: the matrix of the first neighbour.
        after: of the second.
        plan: what is bought of the groups.
    """

    where: Placed
    before: FloatMatrix
    after: FloatMatrix
    plan: GroupPlan


def _beside(pair: Neighbours) -> Neighbours:
    """Neighbours that were `placed`, with both matrices."""
    dense = pair.first.graph.dense(), pair.second.graph.dense()
    plan = plan_for(pair.first.graph)
    first, second = (Beside(each, *dense, plan) for each in (pair.first, pair.second))
    return Neighbours(pair.name, first, second)


def seen_of_groups(looks: tuple[Measurement[CellSums], ...], of: Beside) -> list[float]:
    """Log likelihood ratio of each look, and all sums above the first neighbour's.

    Where there was no second look, its numbers are 0: whether there was one is seen, too.
    """
    ratios, above = [0.0, 0.0], np.zeros((2, len(looks[0].values[0])))
    for number, look in enumerate(looks):
        before, after = true_cells(look, of.before), true_cells(look, of.after)
        rate = float(look.rate) / look.unit
        distances = np.abs(look.values[0] - before) - np.abs(look.values[0] - after)
        ratios[number] = rate * float(distances.sum())
        above[number] = look.values[0] - before
    return [*ratios, sum(ratios), float(len(looks)), *above.ravel().tolist()]


def _seen(bought: Measurements, of: Beside) -> list[float]:
    looks = seen_of_groups(bought.all_of(CellSums), of)
    others = seen_of_all(Release(measurements=bought), of.where)
    return [looks[2] + others[4], *looks, *others]


def _bought(
    of: Beside, epsilon: float, noise: str, plan: GroupPlan | None, source: EntropySource
) -> Measurements:
    return measure(
        of.where.graph,
        epsilon=epsilon,
        noise=noise,
        source=source,
        groups=plan,
        response=Response("auto"),
    )


def _honest(epsilon: float, noise: str, source: EntropySource) -> Run:
    def run(of: Beside) -> list[float]:
        return _seen(_bought(of, epsilon, noise, of.plan, source), of)

    return run


# Broken twins.


def _not_charged(epsilon: float, noise: str, source: EntropySource) -> Run:
    """The sums cost epsilon, and come on top of entries that have all of epsilon, too."""

    def run(of: Beside) -> list[float]:
        look = measure_groups(
            of.where.graph,
            of.plan.sides,
            epsilon=Fraction(epsilon),
            whole=noise == "discrete-laplace",
            name="groups",
            source=source,
        )
        distribution = distribution_for(of.where.graph, noise, epsilon)
        entry = seen_of_entry(randomized_response(of.where.graph, distribution, source), of.where)
        ratio = seen_of_groups((look,), of)[2]
        return [ratio + entry, ratio, entry]

    return run


def _one_noise_for_all(epsilon: float, noise: str, source: EntropySource) -> Run:
    """All cells share their noise: the difference of two of them has none."""

    def run(of: Beside) -> list[float]:
        bought = _bought(of, epsilon, noise, of.plan, source)
        look = bought.all_of(CellSums)[0]
        true = np.rint(true_cells(look, of.where.graph.dense()) / look.unit).astype(np.int64)
        spoilt = replace(look, steps=(true + (look.steps[0] - true)[0],))
        values = tuple(spoilt if each is look else each for each in bought.values)
        return _seen(replace(bought, values=values), of)

    return run


def _looked_again_for_the_true_graph(epsilon: float, noise: str, source: EntropySource) -> Run:
    """Whether there is a second look depends on the edges themselves."""

    def run(of: Beside) -> list[float]:
        again = _seen(_bought(of, epsilon, noise, of.plan, source), of)
        again[4] = float(1 + bool(of.where.graph.dense()[0, -1] or of.where.graph.dense()[-1, -2]))
        return again

    return run


def _audit(noise: str, epsilon: float) -> Audit:
    twins: dict[str, Callable[[EntropySource], Run]] = {
        "sums not charged": partial(_not_charged, epsilon, noise),
        "one noise for all sums": partial(_one_noise_for_all, epsilon, noise),
        "a second look for the true graph": partial(
            _looked_again_for_the_true_graph, epsilon, noise
        ),
    }
    return Sampled(
        claim=Claim(epsilon),
        pairs=tuple(map(_beside, (*PAIRS, *WEIGHTS[noise]))),
        start=partial(_honest, epsilon, noise),
        twins=twins,
        twin_pairs=tuple(map(_beside, PAIRS[:2])),
        runs=4000,
    )


def _law_audit(noise: str, epsilon: float) -> Audit:
    """All parts together, of which the first number of a run is the log-likelihood ratio."""
    return ByLaw(
        claim=Claim(epsilon),
        pairs=(_beside(PAIRS[0]),),
        ratio=partial(column_of, partial(_honest, epsilon, noise), 0),
        twins={"half the noise": partial(column_of, partial(_honest, 2 * epsilon, noise), 0)},
        runs=6000,
    )


_LAWS = tuple(
    Entry(f"groups, {noise}, by its law", partial(_law_audit, noise), slow=noise != "binary")
    for noise in NOISES
)
ENTRIES = _LAWS + tuple(
    Entry(
        f"groups, {noise}",
        partial(_audit, noise),
        (f"release: groups, {noise}",),
        slow=noise != "binary",
        unseen=SHARED,
    )
    for noise in NOISES
)
