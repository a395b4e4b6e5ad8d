"""Audits of online mechanisms: transcripts of sessions with tests that fire often.

The calibrations that users choose from have thresholds far above what a graph of four vertices can
reach; what they promise is audited by calculation in `calibrations`. Here the same mechanisms,
update rules and tests run with rates chosen by hand, so that every branch of a step is taken.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.learn.calibrations import Calibration, Tuning
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    Learner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import ValueNoise
from graphcuts_dp.privacy.noise import EntropySource, SeededEntropy
from graphcuts_dp.privacy.sparse_vector import (
    GapFinding,
    GapTest,
    NoisyComparison,
    OneSidedPair,
    Secret,
    SharedThreshold,
)
from graphcuts_dp.session.base import CutMechanism
from graphcuts_dp.session.online import OnlineMechanism
from tests.audits.base import Audit, Entry, Sampled
from tests.audits.graphs import seed_of

Kind = Literal["one-sided", "shared", "comparison"]
Run = Callable[[Graph], npt.ArrayLike]
EDGE = CutQuery([2], [3])
UNIVERSE = Universe(4)
_FIRST = Graph([0, 0, 1], [1, 2, 2], vertices=4)
PAIRS = (Neighbours("last pair", _FIRST, Graph([0, 0, 1, 2], [1, 2, 2, 3], vertices=4)),)
_NO_NOISE = 50  # a rate: noise but for a chance of e^-50
_TOTAL = Fraction(1, 4)  # of epsilon, for the noisy total weight
LEARNERS: dict[str, Learner] = {
    "multiplicative-weights": MultiplicativeWeightsLearner(UNIVERSE),
    "frieze-kannan": FriezeKannanLearner(UNIVERSE),
    "mirror-descent": MirrorDescentLearner(UNIVERSE, norm="entropy"),
}
# By a calibration that has such tests; jt12 has those of gru12.
TESTS: dict[str, Kind] = {"tight": "one-sided", "dr14": "shared", "gru12": "comparison"}


@final
@dataclass(frozen=True, kw_only=True)
class ByHand(Calibration):
    """A calibration with few updates and little noise, for a pure epsilon.

    A quarter of epsilon buys the total weight. "one-sided": one update, hence three instances of
    (r1 + r2)-DP. "shared": one update, of two rates r of the threshold's noise and one of the
    value's. "comparison": one answer.

    Attributes:
        kind: of the tests.
        epsilon: of everything.
        factor: of the rates of tests and values; 1 keeps the promise.
        raw: whether the total weight has no noise.
        broken: what else is wrong with the tuning.
    """

    kind: Kind
    epsilon: Fraction
    factor: int = 1
    raw: bool = False
    broken: Callable[[Tuning], Tuning] = field(default=lambda tuning: tuning)
    queries: int = 4
    beta: float = 0.05

    name = "by hand"

    @property
    def cost(self) -> Cost:
        """Pure epsilon, whatever happens."""
        return Cost.of_pure(self.epsilon)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """See `Calibration.with_total`."""
        spent = self.epsilon * _TOTAL
        rate = _NO_NOISE if self.raw else spent
        return ValueNoise("laplace", Fraction(rate) / sensitivity), 1, Cost.of_pure(spent), self

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:  # noqa: ARG002
        """See `Calibration.tune`."""
        left = self.factor * self.epsilon * (1 - _TOTAL) / sensitivity
        test: GapTest
        value = None
        if self.kind == "one-sided":
            test = OneSidedPair(left / 9, 2 * left / 9, Fraction(-sensitivity, 2))
        elif self.kind == "shared":
            test = SharedThreshold(left / 16, left / 32, Fraction(0))
            value = ValueNoise("laplace", 7 * left / 8)
        else:
            test = NoisyComparison(left, Fraction(0))
        comparison = self.kind == "comparison"
        return self.broken(
            Tuning(
                alpha=4.0,
                updates=1,
                queries=1 if comparison else self.queries,
                test=test,
                value_noise=value,
                error=3,
                value_error=3,
                halts=self.kind != "one-sided",
            )
        )


def transcript(mechanism: CutMechanism[Any], source: EntropySource, query: CutQuery = EDGE) -> Run:
    """What an analyst sees who asks the same again and again: the total, answers, updates.

    First, last, least, largest and mean answer (of those that were bought, if any); how many
    answers came before the first update, and its sign; the sum of all signs; and what of all
    answers tells one pair's weight, where its Laplace noise is all that they have.
    """
    most = mechanism.grid.cap or 1.0

    def run(graph: Graph) -> FloatVector:
        state, truth = mechanism.start(graph, source), mechanism.grid.count(query, graph)
        values: list[float] = []
        bought: list[float] = []
        signs: list[int] = []
        silent = 0
        while not state.stopped and len(values) < _MOST:
            state, answer = mechanism.step(state, query, truth, source)
            values.append(answer.value)
            if answer.updates:
                bought.append(answer.value)
            signs += [update.sign for update in answer.updates]
            silent += not signs
        total, moved = float(getattr(state, "total_weight", 0.0)), sum(signs)
        ends = values[0], values[-1], min(values), max(values)
        soon = signs[0] / (1 + silent) if signs else 0  # from -1, down at once, to 1, up at once
        tests = [silent, soon, moved, 10 * state.stopped + len(signs)]
        mean = sum(bought or values) / len(bought or values)
        sums = [total + sum(values), total + 4 * moved, np.clip(values, 0, most).sum()]
        return np.array([total, *ends, mean, *tests, *sums])

    return run


_MOST = 24  # answers that even a broken twin is asked for


def _online(learner: str, calibration: ByHand, source: EntropySource) -> Run:
    made = OnlineMechanism(learner=LEARNERS[learner], calibration=calibration, grid=Grid())
    return transcript(made, source)


# Broken twins. Each is a mistake that somebody could make.


def _past_the_cap(tuning: Tuning) -> Tuning:
    """The mechanism goes on when the updates that were paid for are used up."""
    return replace(tuning, updates=_MOST, queries=_MOST, halts=False)


@dataclass(frozen=True)
class NotReset:
    """Instances go on after they have fired, with the noise of their threshold, uncharged.

    That noise alone could be kept: with one R for c firings the proof in `OneSidedPair` shifts R
    once, and the loss is at most r1 + c r2. What is lost is the count of what was told.
    """

    test: GapTest

    @property
    def sides(self) -> int:
        """As many as the test has."""
        return self.test.sides

    def start(self, source: EntropySource) -> Secret:
        """Start the test."""
        return self.test.start(source)

    def run(
        self, secret: Secret, truth: int, estimate: Fraction, source: EntropySource
    ) -> GapFinding:
        """Run the test."""
        return self.test.run(secret, truth, estimate, source)

    def restart(self, secret: Secret, sign: int, source: EntropySource) -> Secret:
        """Keep the old noise."""
        del sign, source
        return secret

    def cost(self, sensitivity: int, *, updates: int, delta: float) -> Cost:
        """What it would cost if the noise were new."""
        return self.test.cost(sensitivity, updates=updates, delta=delta)


def _not_reset(tuning: Tuning) -> Tuning:
    broken: Any = NotReset(tuning.test)
    return replace(_past_the_cap(tuning), test=broken)


def _seed_after_fork(learner: str, calibration: ByHand, source: EntropySource) -> Run:
    """Two processes have inherited one stream, and each answers from its own graph."""

    def run(graph: Graph) -> FloatVector:
        seed = seed_of(source)
        made = [
            np.asarray(_online(learner, calibration, SeededEntropy(seed))(data))
            for data in (_FIRST, graph)
        ]
        return np.asarray(made[1] - made[0])

    return run


def _reused_twice(learner: str, calibration: ByHand, source: EntropySource) -> Run:
    """A cut without the last pair, then one with it, and the same noise for both; some times over.

    That the second alone fires, and upwards, tells the pair for certain.
    """
    made = OnlineMechanism(
        learner=LEARNERS[learner],
        calibration=replace(calibration, broken=_many_answers),
        grid=Grid(),
        total_weight=3.0,
    )

    def run(graph: Graph) -> FloatVector:
        state, values, signs = made.start(graph, source), [0.0, 0.0], [0, 0]
        while not state.stopped and not any(signs):
            seed = seed_of(source)
            for k, query in enumerate((CutQuery([0], [3]), EDGE)):
                signs[k] = 0
                if not state.stopped:
                    truth = made.grid.count(query, graph)
                    state, answer = made.step(state, query, truth, SeededEntropy(seed))
                    signs[k] = sum(update.sign for update in answer.updates)
                    values[k] = answer.value
        return np.array([*values, signs == [0, 1]])

    return run


def _many_answers(tuning: Tuning) -> Tuning:
    """Two where answers are bought; else a threshold that is not met at once."""
    test = tuning.test
    if isinstance(test, OneSidedPair):
        return replace(tuning, queries=_MOST, test=replace(test, threshold=Fraction(3)))
    return replace(tuning, queries=2, updates=2)


_LESS: dict[Kind, tuple[str, int]] = {
    "one-sided": ("a sixteenth of the tests' noise", 16),
    "shared": ("a quarter of the noise", 4),
    "comparison": ("a quarter of the noise", 4),
}


def _online_audit(learner: str, kind: Kind, epsilon: float) -> Audit:
    """One firing of the tight tests tells so little that going on shows in no number of runs.

    There the twins that go on are caught by calculation, in `calibrations`.
    """
    sound = ByHand(kind=kind, epsilon=Fraction(epsilon))
    name, factor = _LESS[kind]
    changed: dict[str, ByHand] = {
        name: replace(sound, factor=factor),
        "m used raw": replace(sound, raw=True),
    }
    if kind != "one-sided":
        changed["continue after the cap"] = replace(sound, broken=_past_the_cap)
    if kind == "shared":
        changed["un-reset threshold"] = replace(sound, broken=_not_reset)
    return Sampled(
        claim=Claim(epsilon),
        pairs=PAIRS,
        start=partial(_online, learner, sound),
        twins={
            **{name: partial(_online, learner, twin) for name, twin in changed.items()},
            "seed reused after fork": partial(_seed_after_fork, learner, sound),
            "noise reused": partial(_reused_twice, learner, sound),
        },
    )


ENTRIES = tuple(
    Entry(
        f"tests: {learner}, {calibration}",
        partial(_online_audit, learner, kind),
        slow=True,
    )
    for learner in LEARNERS
    for calibration, kind in TESTS.items()
)
