"""Audits of the iterative construction: its calibrations term by term, and whole runs."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, cast, final

import numpy as np
import scipy

from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.learn.learners import (
    CONSTRUCTIONS,
    FriezeKannanLearner,
    Learner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.offline.construction import IterativeConstruction
from graphcuts_dp.offline.distinguisher import Distinguisher, Exponential
from graphcuts_dp.offline.methods import Learning
from graphcuts_dp.offline.query_lists import CutList
from graphcuts_dp.offline.rank_one import ResponseRankOne
from graphcuts_dp.offline.release import Task
from graphcuts_dp.offline.tuning import CALIBRATIONS, OfflineTuning, PureOffline
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import ValueNoise
from graphcuts_dp.privacy.guarantee import Protect
from graphcuts_dp.privacy.noise import EntropySource
from tests.audits.base import Audit, Entry, Enumerated, Sampled
from tests.audits.distances import normal_distribution
from tests.audits.losses import DistributionPair
from tests.audits.selection import softmax

Run = Callable[[Graph], list[float]]
UNIVERSE = Universe(4)
EDGE = CutQuery([0], [1])
QUERIES = CutList(UNIVERSE, [EDGE, CutQuery([2], [3])])  # one has the edge, the other has not
PAIRS = (
    Neighbours("an edge", Graph([], [], vertices=4), Graph([0], [1], vertices=4)),
    Neighbours(
        "among others",
        Graph([1, 2], [2, 3], vertices=4),
        Graph([0, 1, 2], [1, 2, 3], vertices=4),
    ),
)
LEARNERS: dict[str, Learner] = {
    "multiplicative-weights": MultiplicativeWeightsLearner(UNIVERSE),
    "frieze-kannan": FriezeKannanLearner(UNIVERSE),
    "mirror-descent": MirrorDescentLearner(UNIVERSE),
}


@final
@dataclass(frozen=True, kw_only=True)
class TwoRounds:
    """A tuning of two rounds, and its price: a third of epsilon for the total, the rest for them.

    Attributes:
        epsilon: of everything.
        total: factor of the rate of the total's noise; 1 keeps the promise.
        factor: likewise of all others.
        rounds: that are made and paid for.
    """

    epsilon: Fraction
    total: int = 1
    factor: int = 1
    rounds: int = 2

    @property
    def cost(self) -> Cost:
        """Pure epsilon, whatever happens."""
        return Cost.of_pure(self.epsilon)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, "TwoRounds"]:
        """See `OfflineCalibration.with_total`."""
        noise = ValueNoise("laplace", self.total * self.epsilon / 3 / sensitivity)
        return noise, 1, Cost.of_pure(self.epsilon / 3), self

    def tune(
        self,
        update_bound: UpdateBound,  # noqa: ARG002
        distinguisher: Distinguisher,
        *,
        one: float,  # noqa: ARG002
        steps: int,
    ) -> OfflineTuning:
        """See `OfflineCalibration.tune`."""
        each = self.factor * self.epsilon / 6
        return OfflineTuning(
            rounds=self.rounds,
            alpha=4.0,
            threshold=None,
            distinguisher=distinguisher.with_epsilon(each * self.rounds, rounds=self.rounds),
            noise=ValueNoise("laplace", each / steps),
            value_error=0.1,
            error=None,
        )


def _run(construction: str, calibration: TwoRounds, source: EntropySource) -> Run:
    """The total, and what was found and measured."""
    made = IterativeConstruction(
        learner=LEARNERS[construction],
        distinguisher=Exponential(queries=QUERIES, epsilon=Fraction(1)),
        calibration=calibration,
        grid=Grid(),
    )

    def run(graph: Graph) -> list[float]:
        outcome = made.run(graph, source)
        cuts = [(m, cast(CutQuery, m.query)) for m in outcome.transcript]
        edge = [m.value for m, query in cuts if UNIVERSE.masks(query)[0][0]]
        return [
            outcome.total_weight,
            sum(edge) + outcome.total_weight,
            float(len(edge)),
            max(edge, default=-50),
        ]

    return run


def _run_audit(construction: str, epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    twins = {
        "an eighth of the noise": TwoRounds(epsilon=exact, factor=8, total=8),
        "m used raw": TwoRounds(epsilon=exact, total=150),
    }
    return Sampled(
        claim=Claim(epsilon),
        pairs=PAIRS,
        start=partial(_run, construction, TwoRounds(epsilon=exact)),
        twins={name: partial(_run, construction, twin) for name, twin in twins.items()},
        runs=3000,
    )


def _paid_once(epsilon: float, source: EntropySource) -> Run:
    """With a distinguisher that buys a noisy matrix at the start; see `_run`."""
    made = IterativeConstruction(
        learner=LEARNERS["frieze-kannan"],
        distinguisher=ResponseRankOne(
            universe=UNIVERSE, distribution=noise_distribution("binary", epsilon=1.0)
        ),
        calibration=PureOffline(universe=UNIVERSE, epsilon=epsilon, rounds=2),
        grid=Grid(),
        refits=4,
    )

    def run(graph: Graph) -> list[float]:
        outcome = made.run(graph, source)
        masks = [UNIVERSE.masks(cast(CutQuery, m.query)) for m in outcome.transcript]
        values = np.array([m.value for m in outcome.transcript])
        edge = np.array([bool(S[0] & T[1] | S[1] & T[0]) for S, T in masks])
        return [
            outcome.total_weight,
            float(values @ edge),
            float(values @ edge) + outcome.total_weight,
            float(edge.sum()),
            outcome.hypothesis.dense()[0, 1],
        ]

    return run


def _paid_once_audit(epsilon: float) -> Audit:
    """That the parts add up to epsilon exactly is in tests/privacy."""
    return Sampled(
        claim=Claim(epsilon),
        pairs=PAIRS[:1],
        start=partial(_paid_once, epsilon),
        twins={"a twelfth of the noise": partial(_paid_once, 12 * epsilon)},
    )


# The calibrations that users choose from.

_VERTICES = 1024  # enough weight that even the papers' tolerances leave rounds
_DELTA = 1e-6
_ONE = Protect()


@lru_cache(maxsize=16)  # a search of some tenths of a second
def tuned(
    construction: str, calibration: str, epsilon: float, protection: Protect = _ONE
) -> tuple[OfflineTuning, Claim]:
    """The tuning of a release as users make it, and what is promised for all changes together."""
    pure = calibration == "dr14"
    delta = 0.0 if pure else _DELTA
    graph = Graph([], [], vertices=_VERTICES)
    total_weight = _VERTICES * (_VERTICES - 1) / 4
    cuts = [CutQuery([k]) for k in range(8)]
    task = Task.of(graph, cuts, epsilon=epsilon, delta=delta, protect=protection)
    made = Learning(rule=construction, calibration=calibration).mechanism(task)
    bound = made._update_bound(total_weight, 0.0, made.learner)
    tuning = made.calibration.tune(bound, made.distinguisher, one=1.0, steps=1)
    if calibration in ("practical", "tight"):
        cost = protection.cost(made.cost, epsilon=epsilon, delta=delta)
        return tuning, Claim(cost.rho or 0.0, kind="rho")
    return tuning, Claim(epsilon, delta)


def rounds_of(
    tuning: OfflineTuning, claim: Claim, *, factor: float = 1, more: int = 1, steps: int = 1
) -> Iterator[DistributionPair]:
    """All choices and all answers of queries that what changes is in.

    Args:
        tuning: of a release.
        claim: what is promised.
        factor: of the rates of all noise; 1 keeps the promise.
        more: rounds that are made, for one that is paid for.
        steps: how many pairs change, all of them in every cut.
    """
    of, noise, copies = tuning.distinguisher, tuning.noise, tuning.rounds * tuning.calls * more
    if not isinstance(of, Exponential) or noise is None:
        raise TypeError("the distribution of another distinguisher is not known here")
    rate = float(of.scoring.rate(of.epsilon)) * of.scoring.sensitivity * factor
    # A cut far below in one direction, or two directions half way: the extremes of a choice.
    for lead, weight in itertools.product((0.0, 3.0), (0.5, 0.0)):
        change = steps * (np.array([1, -1]) if weight else np.array([1, 0]))
        start = np.array([0.0, lead / rate]) - weight * change
        choice = softmax(start, rate), softmax(start + change, rate)
        if noise.distribution == "gaussian":
            value = normal_distribution(float(noise.parameter) / factor**2, steps)
            parts = DistributionPair("", value.first, value.second, copies)
            yield DistributionPair(f"lead {lead}", choice[0], choice[1], copies, (parts,))
            continue
        r = float(noise.parameter) * factor
        low, high = math.exp(-r * steps) / (1 + math.exp(-r)), 1 / (1 + math.exp(-r))
        above = low, high  # P(noise >= steps) and P(noise >= 0)
        if claim.delta == 0:
            bits = [np.array([p, 1 - p]) for p in above]
            parts = DistributionPair("", bits[0], bits[1], copies)
            yield DistributionPair(f"lead {lead}", choice[0], choice[1], copies, (parts,))
        else:
            counts = np.arange(copies + 1)
            distributions = [scipy.stats.binom.pmf(counts, copies, p) for p in above]
            yield DistributionPair(f"{copies} answers", distributions[0], distributions[1])


def _calibration_audit(calibration: str, epsilon: float) -> Audit:
    tuning, claim = tuned("multiplicative-weights", calibration, epsilon)
    far = 2 if claim.delta == 0 else 12  # half the noise shows only where composition is sharp
    twins: dict[str, Any] = {
        "half the noise" if far == 2 else "a twelfth of the noise": partial(
            rounds_of, tuning, claim, factor=far
        ),
        "continue after the cap": partial(rounds_of, tuning, claim, more=far**2),
    }
    return Enumerated(claim=claim, distributions=partial(rounds_of, tuning, claim), twins=twins)


LOOSE = (
    "The paper's composition claims more than the exact loss of all its answers together, which is "
    "what the audit computes."
)
ENTRIES = (
    *(
        Entry(
            f"iterative: {calibration} calibration",
            partial(_calibration_audit, calibration),
            (f"iterative: {calibration} calibration",),
            unseen=LOOSE if calibration in ("gru12", "nik17") else "",
        )
        for calibration in CALIBRATIONS
    ),
    *(
        Entry(
            f"iterative: {construction}",
            partial(_run_audit, construction),
            (f"iterative: {construction}",),
            slow=True,
        )
        for construction in CONSTRUCTIONS
    ),
    Entry("iterative: paid once", _paid_once_audit),
)
