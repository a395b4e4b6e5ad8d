"""Audits of the Johnson-Lindenstrauss transform: of its law, and of what is drawn."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy

from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.privacy.noise import EntropySource
from scripts.benchmark.contenders import johnson_lindenstrauss as transform
from scripts.benchmark.contenders.johnson_lindenstrauss import ProjectionNoise
from tests.audits.base import Audit, Entry, Enumerated, Sampled
from tests.audits.graphs import HUB, LAST_PAIR
from tests.audits.losses import DistributionPair

_DELTA = 1e-3
_ROWS = 64
_FEW_ROWS = 8
_CELLS = 12_000


def _laws(noise: ProjectionNoise, rows: int) -> Iterator[DistributionPair]:
    """Chances of what tells neighbours apart, in cells.

    With u and v the ends of the edge that differs, and all else fixed, likelihoods depend on
    squares of what comes out at u less what comes out at v, summed over the rows. Over twice the
    variance it is chi-square, times 1 + t with the edge, up to sums over the grid that are
    integrals to within e^-20 (`log_delta`). Cells hide the differences within them.
    """
    law = scipy.stats.chi2(rows)
    grown = 1 + noise.change
    ends = np.unique(
        np.concatenate(
            [law.isf(np.geomspace(1e-12, 0.5, _CELLS // 2)) * factor for factor in (1.0, grown)]
            + [law.ppf(np.geomspace(1e-12, 0.5, _CELLS // 4)) * factor for factor in (1.0, grown)]
        )
    )
    chances = [
        np.diff(np.concatenate([[0.0], law.cdf(ends / factor), [1.0]])) for factor in (1.0, grown)
    ]
    yield DistributionPair("an edge more", chances[0], chances[1])


def _enumerated(epsilon: float) -> Audit:
    noise, one_row, even = (
        transform.projection_noise(epsilon=scale * epsilon, delta=_DELTA, rows=rows)
        for scale, rows in ((1.0, _ROWS), (1.0, 1), (2.0, _ROWS))
    )
    shorter = replace(noise, vertex_variance=noise.vertex_variance // 2)
    return Enumerated(
        claim=Claim(epsilon, _DELTA),
        distributions=partial(_laws, noise, _ROWS),
        twins={
            "public code: epsilon is spent on each row": partial(_laws, one_row, _ROWS),
            "half the noise": partial(_laws, even, _ROWS),
            "an edge as long as its change at one end": partial(_laws, shorter, _ROWS),
        },
    )


# What is drawn.


@dataclass(frozen=True, eq=False)
class _ProjectedSide:
    """One of two neighbours, with the ends of the edge that one of them has in addition."""

    graph: Graph
    ends: tuple[int, int]


Run = Callable[[_ProjectedSide], list[float]]


def _sides(pair: Neighbours) -> Neighbours:
    edges = [
        set(zip(g.rows.tolist(), g.columns.tolist(), strict=True))
        for g in (pair.first, pair.second)
    ]
    ((row, column),) = edges[0] ^ edges[1]
    sides = [_ProjectedSide(graph, (row, column)) for graph in (pair.first, pair.second)]
    return Neighbours(pair.name, sides[0], sides[1])


def _drawn(noise: ProjectionNoise, source: EntropySource, *, spanned: bool = False) -> Run:
    """Squares of the difference at the ends of the edge; and of what is at each of them.

    Args:
        noise: of the projection.
        source: of its draws.
        spanned: whether vertices without edges get no noise.
    """

    def run(side: _ProjectedSide) -> list[float]:
        found = transform.projected(side.graph, noise, source).astype(np.float64)
        if spanned:
            lonely = np.bincount(
                np.concatenate([side.graph.rows, side.graph.columns]), minlength=side.graph.n
            )
            found[lonely == 0] = 0.0
        found /= math.sqrt(noise.vertex_variance)
        u, v = (found[end] for end in side.ends)
        return [float(((u - v) ** 2).sum()), float((u**2).sum()), float(u @ v), float(u[0])]

    return run


def _sampled(epsilon: float) -> Audit:
    noise = transform.projection_noise(epsilon=epsilon, delta=_DELTA, rows=_FEW_ROWS)
    far = replace(noise, vertex_variance=max(1, noise.vertex_variance // 64))
    return Sampled(
        claim=Claim(epsilon, _DELTA),
        pairs=tuple(map(_sides, (LAST_PAIR, HUB))),
        start=partial(_drawn, noise),
        twins={
            "an eighth of the noise of vertices": partial(_drawn, far),
            "public code: no noise where no edge is": partial(_drawn, noise, spanned=True),
        },
        twin_pairs=(_sides(LAST_PAIR),),
        runs=4000,
    )


ENTRIES = (
    Entry("benchmark: johnson-lindenstrauss", _enumerated),
    Entry("benchmark: johnson-lindenstrauss, draws", _sampled),
)
