"""Private norms that mirror descent may want to know, and how a session buys them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.learners import Learner
from graphcuts_dp.learn.norm_learner import MirrorDescentLearner
from graphcuts_dp.measure.statistics import (
    NUCLEAR_STEPS,
    ROOT_STEPS,
    buy_nuclear_norm,
    buy_root_degrees,
)
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.value_noise import ValueNoise


@final
@dataclass(frozen=True)
class BoughtNorm:
    """A private norm that has a price.

    Attributes:
        name: for people.
        steps: sensitivity of its count.
        buy: draws the noise and gives an upper bound: from the graph, its grid, the noise, how far
            the noise can be off, and a source.
    """

    name: str
    steps: int
    buy: Callable[[AnyGraph, Grid, ValueNoise, int, EntropySource], float]


ROOTS = BoughtNorm("root degrees", ROOT_STEPS, buy_root_degrees)
NUCLEAR = BoughtNorm("nuclear norm", NUCLEAR_STEPS, buy_nuclear_norm)


def wanted_norm(learner: Learner) -> BoughtNorm | None:
    """What a learner wants to have bought; None if it needs nothing."""
    if not isinstance(learner, MirrorDescentLearner):
        return None
    return NUCLEAR if learner.buys_nuclear else ROOTS if learner.buys_roots else None


def knowing(learner: Learner, bound: float | None) -> Learner:
    """The learner that knows the bound that was bought for it; None if there is none."""
    if bound is None or not isinstance(learner, MirrorDescentLearner):
        return learner
    return learner.with_nuclear(bound) if learner.buys_nuclear else learner.with_roots(bound)
