"""Audits of flows: everything that is published of small graphs on two levels of groups, jointly.

A run gives all noisy sums above those of the first neighbour, all published estimates, and the log
likelihood ratio of the neighbours for what was released, the most telling number there is. An audit
also looks at the difference of any two numbers, so that noise which two levels share is seen.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.arrays import IntVector
from graphcuts_dp.estimate.consistency import LeastSquares
from graphcuts_dp.estimate.margin_fit import MarginFit, fit_of
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement
from graphcuts_dp.estimate.strategy import MARGIN_SHARE, FlowStrategy, choose_strategy
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure.cells import (
    cell_tree,
    changes_on,
    grid_of_cells,
    margin_change_on,
    margin_digits,
    measure_cells,
    sums_of_cells,
)
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.groups import Sides
from tests.audits.base import Audit, Enumerated, Sampled, audited
from tests.audits.graphs import BIPARTITE, LAST_PAIR, UNCAPPED, capped
from tests.audits.losses import DistributionPair, laplace_gain, normal_pair, side_by_side

_LEVELS = {
    2: {"half": [0, 1], "part": [0, 1]},
    3: {"half": [0, 0, 1], "part": [0, 1, 2]},
    4: {"half": [0, 0, 1, 1], "part": [0, 1, 2, 2]},
}
_DELTA = 1e-6  # for which Gaussian noise is calibrated


@dataclass(frozen=True, eq=False)
class Tabled:
    """One of two neighbours with its public groups, and what is known of both.

    Attributes:
        graph: this one.
        sides: groups of its rows and columns.
        cells: of its table.
        grid: of its weights.
        strategy: of the honest release.
        fit: by which it makes levels consistent.
        before: true sums of the first neighbour, for each place, and then of the margins.
        after: likewise of the second.
        is_first: whether this is the first neighbour.
        privacy_unit: whom the release is for.
    """

    graph: AnyGraph = field(repr=False)
    sides: Sides
    cells: CellTree
    grid: Grid
    strategy: FlowStrategy
    fit: LeastSquares | MarginFit
    before: list[IntVector]
    after: list[IntVector]
    is_first: bool
    privacy_unit: gc.PrivacyUnit = EDGE

    @property
    def true(self) -> list[IntVector]:
        """True sums of this one."""
        return self.before if self.is_first else self.after

    @property
    def changes(self) -> list[IntVector]:
        """What the neighbours differ by, in steps, for each place."""
        return [b - a for a, b in zip(self.before, self.after, strict=True)]


NoisyTable = CountMeasurement[CellSums]
Run = Callable[[Tabled], list[float]]
# Changes noisy sums of one neighbour, in a way that is not allowed.
Break = Callable[[Tabled, NoisyTable, EntropySource], NoisyTable]


def small_groups(vertices: gc.VertexSet) -> gc.Groups:
    """Two levels of groups of two to four vertices."""
    return gc.Groups(vertices, _LEVELS[len(vertices)])


def tabled(
    pair: Neighbours,
    epsilon: float,
    noise: str,
    *,
    privacy_unit: gc.PrivacyUnit = EDGE,
    levels: Mapping[str, list[int]] | None = None,
    margins: bool = False,
) -> Neighbours:
    """Neighbours with groups, and the strategy that a release of them has.

    Args:
        pair: the neighbours.
        epsilon: of the release.
        noise: its name.
        privacy_unit: whom it is for.
        levels: the groups; None for `small_groups`.
        margins: whether margins are measured.
    """
    graph = pair.first
    sets = (graph.vertices,) * 2 if isinstance(graph, gc.Graph) else (graph.left, graph.right)
    groups = [small_groups(each) if levels is None else gc.Groups(each, levels) for each in sets]
    sides = (groups[0], groups[0] if isinstance(graph, gc.Graph) else groups[1])
    cells = cell_tree(graph, sides)
    grid = grid_of_cells(graph, epsilon=epsilon, privacy_unit=privacy_unit)
    # For this workload both levels are measured, also of graphs as small as these.
    strategy = choose_strategy(
        cells,
        epsilon=epsilon,
        delta=_DELTA,
        changes=changes_on(grid, cells, privacy_unit),
        workload=cells.levels[0],
        noise=noise,
        margin_change=margin_change_on(grid, cells, privacy_unit) if margins else None,
    )
    fit = fit_of(cells, strategy)
    sums = [sums_of_cells(each, sides, cells, grid) for each in (pair.first, pair.second)]
    for table in sums:
        table += margin_digits(cells, [table[-1]])
    known = sides, cells, grid, strategy, fit, sums[0], sums[1]
    first, second = (
        Tabled(each, *known, is_first=each is pair.first, privacy_unit=privacy_unit)
        for each in (pair.first, pair.second)
    )
    return Neighbours(pair.name, first, second)


def _neighbours(epsilon: float, noise: str) -> tuple[Neighbours, ...]:
    pairs = (LAST_PAIR, BIPARTITE[0], capped(2.0)[0], UNCAPPED[0])
    return tuple(tabled(pair, epsilon, noise) for pair in pairs)


def measured(where: Tabled, noise: LevelNoise, source: EntropySource) -> NoisyTable:
    """What a release with this noise measures."""
    return measure_cells(
        where.graph,
        where.sides,
        where.cells,
        measured_levels=where.strategy.measured_levels,
        noise=noise,
        grid=where.grid,
        privacy_unit=where.privacy_unit,
        margins=where.strategy.margin_noise is not None,
        source=source,
    )


def seen_of_flows(where: Tabled, noisy: NoisyTable) -> list[float]:
    """All sums above the first neighbour's, all estimates, and the log likelihood ratio."""
    scale = where.grid.sensitivity
    loss, above = 0.0, []
    rates = where.strategy.all_noise.parameters
    for sums, place, exact in zip(noisy.steps, noisy.map.noise_indices, rates, strict=True):
        rate = float(exact)
        before, after = where.before[place], where.after[place]
        loss += laplace_gain(sums, before, after, rate)
        above += [float(x) / scale for x in sums - before]
    indices = noisy.map.noise_indices
    kept = {p: v.astype(np.float64) for p, v in zip(indices, noisy.steps, strict=True)}
    published = [
        float(x) / scale
        for values, before in zip(where.fit.estimates(kept), where.before, strict=False)
        for x in values - before
    ]
    return [loss, *above, *published]


def all_seen(noise: Callable[[Tabled], LevelNoise], spoil: Break, source: EntropySource) -> Run:
    """Runs of a release with a noise, spoilt in a way."""

    def run(where: Tabled) -> list[float]:
        return seen_of_flows(where, spoil(where, measured(where, noise(where), source), source))

    return run


def honest(where: Tabled) -> LevelNoise:
    """The noise of the strategy."""
    return where.strategy.all_noise


def untouched(_where: Tabled, noisy: NoisyTable, _source: EntropySource) -> NoisyTable:
    """Nothing is spoilt."""
    return noisy


# Broken on purpose.


def _louder(where: Tabled) -> LevelNoise:
    """Half the noise."""
    noise = where.strategy.all_noise
    factor = 2 if noise.distribution == "laplace" else 1 / 4
    return scaled_noise(noise, [factor] * len(noise.parameters))


def _forgotten(where: Tabled) -> LevelNoise:
    """Every level has the noise of one that got all of the budget."""
    noise, shares = where.strategy.noise, where.strategy.shares
    laplace = noise.distribution == "laplace"
    return scaled_noise(noise, [1 / float(share) if laplace else float(share) for share in shares])


def scaled_noise(noise: LevelNoise, factors: list[float]) -> LevelNoise:
    """A noise whose parameters are multiplied."""
    parameters = zip(noise.parameters, factors, strict=True)
    return LevelNoise(
        noise.distribution,
        tuple((p * int(1024 * f)) / 1024 for p, f in parameters),
    )


def _reused(where: Tabled, noisy: NoisyTable, source: EntropySource) -> NoisyTable:
    """The noise of the last level is taken for the others, too."""
    true = where.true
    drawn = where.strategy.noise.draw(
        len(noisy.map.measured_levels) - 1, len(noisy.steps[-1]), source
    )
    return replace(
        noisy, steps=tuple(true[p] + drawn[: len(true[p])] for p in noisy.map.measured_levels)
    )


def _told_total(where: Tabled, noisy: NoisyTable, _source: EntropySource) -> NoisyTable:
    """Consistency that reads the truth: the levels are made to add up to the true total."""
    true = where.true
    sums = []
    for values in noisy.steps:
        shifted = values.copy()
        shifted[-1] += true[0][0] - values.sum()
        sums.append(shifted)
    return replace(noisy, steps=tuple(sums))


def _empty_left_out(where: Tabled, noisy: NoisyTable, _source: EntropySource) -> NoisyTable:
    """Cells without an edge stay without noise."""
    true = where.true
    kept = zip(noisy.steps, noisy.map.measured_levels, strict=True)
    return replace(noisy, steps=tuple(sums * (true[p] != 0) for sums, p in kept))


@audited("flows: laplace")
def _laplace_audit(epsilon: float) -> Audit:
    pairs = _neighbours(epsilon, "laplace")
    return Sampled(
        claim=Claim(epsilon),
        pairs=pairs,
        start=partial(all_seen, honest, untouched),
        incorrect_variants={
            "half the noise": partial(all_seen, _louder, untouched),
            "levels forgotten in the budget": partial(all_seen, _forgotten, untouched),
            "noise reused": partial(all_seen, honest, _reused),
            "consistency that reads the truth": partial(all_seen, honest, _told_total),
            "empty cells left out": partial(all_seen, honest, _empty_left_out),
        },
        variant_pairs=pairs[:1],
        runs=4000,
    )


def exact_changes(
    noise: Callable[[Tabled], LevelNoise], pairs: tuple[Neighbours, ...]
) -> Iterator[DistributionPair]:
    """Exact losses of all sums that change, on every pair of neighbours."""
    for pair in pairs:
        where: Tabled = pair.first
        variances = [float(v) for v in noise(where).parameters]
        # On a fine grid the discrete Gaussian is as good as the normal distribution: the loss
        # depends on change/deviation alone, and a coarser grid shows it.
        unit = max(1.0, where.grid.sensitivity / 2**10)
        parts = [
            normal_pair(variance / unit**2, round(int(change) / unit))
            for variance, place in zip(variances, where.strategy.noise_indices, strict=True)
            for change in where.changes[place]
            if change
        ]
        yield side_by_side(pair.name, parts)


def gaussian_audit(pairs: tuple[Neighbours, ...], incorrect_variants: dict[str, Any]) -> Audit:
    """Audit tables with Gaussian noise.

    The incorrect variants are noises; the first pairs of neighbours show their loss.
    """
    where: Tabled = pairs[0].first
    of_places = changes_on(where.grid, where.cells, where.privacy_unit)
    changes = [of_places[place] for place in where.strategy.measured_levels]
    if where.strategy.margin_noise is not None:
        changes.append(margin_change_on(where.grid, where.cells, where.privacy_unit))
    rho = where.strategy.all_noise.cost(delta=_DELTA, changes=changes).rho
    return Enumerated(
        claim=Claim(rho or 0.0, kind="rho"),
        distributions=partial(exact_changes, honest, pairs),
        incorrect_variants={
            name: partial(exact_changes, noise, pairs) for name, noise in incorrect_variants.items()
        },
    )


@audited("flows: gaussian")
def _gaussian_audit(epsilon: float) -> Audit:
    incorrect_variants = {"half the noise": _louder, "levels forgotten in the budget": _forgotten}
    return gaussian_audit(_neighbours(epsilon, "gaussian"), incorrect_variants)


# Margins of the finest level, measured beside the levels.


def _margin_pairs(epsilon: float, noise: str) -> tuple[Neighbours, ...]:
    pairs = (BIPARTITE[0], LAST_PAIR, capped(2.0)[0])
    return tuple(tabled(pair, epsilon, noise, margins=True) for pair in pairs)


def _margins_with(factor: float, where: Tabled) -> LevelNoise:
    """Another parameter for margins alone."""
    noise = where.strategy.all_noise
    return scaled_noise(noise, [1.0] * (len(noise.parameters) - 1) + [factor])


def _margins_beside_the_budget(where: Tabled) -> LevelNoise:
    """The levels have all of the budget, and margins their share of it besides."""
    noise, count = where.strategy.all_noise, len(where.strategy.measured_levels)
    left = 1 - float(MARGIN_SHARE)
    factor = 1 / left if noise.distribution == "laplace" else left
    return scaled_noise(noise, [factor] * count + [1.0])


def _margins_of_the_truth(where: Tabled, noisy: NoisyTable, _source: EntropySource) -> NoisyTable:
    """Margins without noise: the cells have enough."""
    return replace(noisy, steps=(*noisy.steps[:-1], where.true[where.cells.depth]))


@audited("flows: measured margins, laplace")
def _margins_audit(epsilon: float) -> Audit:
    pairs = _margin_pairs(epsilon, "laplace")
    return Sampled(
        claim=Claim(epsilon),
        pairs=pairs,
        start=partial(all_seen, honest, untouched),
        incorrect_variants={
            "sensitivity of a quarter of a margin": partial(
                all_seen, partial(_margins_with, 8.0), untouched
            ),
            "half the noise": partial(all_seen, _louder, untouched),
            "margins without noise": partial(all_seen, honest, _margins_of_the_truth),
        },
        variant_pairs=pairs[:1],
        runs=4000,
    )


@audited("flows: measured margins, gaussian")
def _gaussian_margins_audit(epsilon: float) -> Audit:
    incorrect_variants = {
        "sensitivity of one margin": partial(_margins_with, 1 / 2),
        "margins beside the budget": _margins_beside_the_budget,
    }
    return gaussian_audit(_margin_pairs(epsilon, "gaussian"), incorrect_variants)
