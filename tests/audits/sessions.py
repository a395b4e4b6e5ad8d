"""Audits of sessions: transcripts of those that add noise to every answer, and of those with tests.

The calibrations that users choose from have thresholds far above what a graph of four vertices can
reach; what they promise is audited by calculation in `calibrations`. Here the same mechanisms,
update rules and tests run with rates chosen by hand, so that every branch of a step is taken.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
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
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import ValueNoise
from graphcuts_dp.privacy.noise import EntropySource, SeededEntropy
from graphcuts_dp.privacy.sparse_vector import (
    GapTest,
    NoisyComparison,
    OneSidedPair,
    Secret,
    SharedThreshold,
)
from graphcuts_dp.session.base import CutMechanism
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.plain import BinaryAnswers, PerQueryNoise
from graphcuts_dp.session.queries import linear_count
from graphcuts_dp.session.session import open_session
from tests.audits.base import Audit, Sampled, audited
from tests.audits.graphs import seed_of

Run = Callable[[Graph], npt.ArrayLike]
EDGE = CutQuery([2], [3])
UNIVERSE = Universe(4)
_FIRST = Graph([0, 0, 1], [1, 2, 2], vertices=4)
PAIRS = (Neighbours("last pair", _FIRST, Graph([0, 0, 1, 2], [1, 2, 2, 3], vertices=4)),)
_MOST = 24  # answers that even a broken twin is asked for


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


# Noise for every answer.

Make = Callable[[], CutMechanism[Any]]
_DELTA = 0.02  # so large that runs see what it is for; the usual ones are audited by calculation


def _plain(make: Make, source: EntropySource) -> Run:
    return transcript(make(), source)


def _noisy(epsilon: float, queries: int = 2, delta: float = 0.0, grid: Grid | None = None) -> Make:
    return partial(
        PerQueryNoise,
        distribution="gaussian" if delta else "laplace",
        universe=UNIVERSE,
        grid=grid or Grid(),
        epsilon=epsilon,
        queries=queries,
        delta=delta,
    )


def _binary(epsilon: float) -> Make:
    return partial(BinaryAnswers, universe=UNIVERSE, grid=Grid(), epsilon=epsilon, queries=2)


def _same_noise(make: Make, source: EntropySource) -> Run:
    """The noise of the first answer again for the second, which is about another cut."""
    mechanism = make()

    def run(graph: Graph) -> FloatVector:
        seed = seed_of(source)
        state, values = mechanism.start(graph, source), []
        for query in (CutQuery([0], [3]), EDGE):
            truth = mechanism.grid.count(query, graph)
            state, answer = mechanism.step(state, query, truth, SeededEntropy(seed))
            values.append(answer.value)
        return np.array(values)

    return run


def _without_the_last_pair(make: Make, source: EntropySource) -> Run:
    """The noisy matrix has no noise on its last pair: its answer is read there."""
    honest = _plain(make, source)

    def run(graph: Graph) -> FloatVector:
        seen = np.asarray(honest(graph))
        seen[1] = graph.dense()[2, 3]
        return seen

    return run


@audited("session: laplace")
def _laplace_audit(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=PAIRS,
        start=partial(_plain, _noisy(epsilon)),
        twins={
            "half the noise": partial(_plain, _noisy(2 * epsilon)),
            "continue after the cap": partial(_plain, _noisy(6 * epsilon, 12)),
            "noise reused": partial(_same_noise, _noisy(epsilon)),
        },
    )


_CAPPED = (
    Neighbours(
        "none and the cap",
        Graph([0], [1], [2.0], vertices=4, weight_cap=2.0),
        Graph([0, 2], [1, 3], [2.0, 2.0], vertices=4, weight_cap=2.0),
    ),
)


@audited("session: laplace, cap 2")
def _weights_audit(epsilon: float) -> Audit:
    """Weights up to 2: a cut moves by 2, and the noise is for that."""
    sound, half = (_noisy(factor * epsilon, grid=Grid.of(_CAPPED[0].first)) for factor in (1, 2))
    return Sampled(
        claim=Claim(epsilon),
        pairs=_CAPPED,
        start=partial(_plain, sound),
        # Twice epsilon with the right grid is the noise of half its sensitivity.
        twins={"sensitivity 1 for 2": partial(_plain, half)},
    )


@audited("session: gaussian")
def _gaussian_audit(epsilon: float) -> Audit:
    sound, loud = (_noisy(factor * epsilon, delta=_DELTA) for factor in (1, 4))
    return Sampled(
        claim=Claim(epsilon, _DELTA),
        pairs=PAIRS,
        start=partial(_plain, sound),
        twins={
            "a third of the noise": partial(_plain, loud),
            "noise reused": partial(_same_noise, sound),
        },
    )


@audited("session: binary")
def _binary_audit(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=PAIRS,
        start=partial(_plain, _binary(epsilon)),
        twins={
            "half the noise": partial(_plain, _binary(2 * epsilon)),
            "last pair missing": partial(_without_the_last_pair, _binary(epsilon)),
        },
    )


_SIGNED = np.zeros((4, 4))  # 1 for one pair, -3 for the one that is hidden
_SIGNED[0, 1], _SIGNED[2, 3] = 1.0, -3.0


def _linear(make: Callable[[], Any], factor: int, source: EntropySource) -> Run:
    """One linear query, of which the pair that is hidden has the largest coefficient, below 0.

    Args:
        make: the mechanism.
        factor: of the counts: above 1 as if a coefficient were larger than the noise is made for.
        source: of the noise.
    """
    mechanism, query = make(), MatrixQuery(_SIGNED)
    counted = {
        id(graph): factor * linear_count(query, graph, mechanism.grid)
        for graph in (PAIRS[0].first, PAIRS[0].second)
    }

    def run(graph: Graph) -> FloatVector:
        state = mechanism.start(graph, source)
        _, answer = mechanism.step(state, query, counted[id(graph)], source)
        return np.array([answer.value])

    return run


@audited("session: laplace, linear queries")
def _linear_audit(epsilon: float) -> Audit:
    """The answer moves by its largest coefficient, down."""
    return Sampled(
        claim=Claim(epsilon),
        pairs=PAIRS,
        start=partial(_linear, _noisy(epsilon, 1), 1),
        twins={
            "half the noise": partial(_linear, _noisy(2 * epsilon, 1), 1),
            "coefficients larger than the noise": partial(_linear, _noisy(epsilon, 1), 3),
        },
    )


def _on_disk(names: tuple[str, str], epsilon: float, source: EntropySource) -> Run:
    """Sessions on one ledger, closed and opened again between all answers.

    The first cut is asked again at the end, which is free in the same session. In another session
    it is answered afresh, and has to be paid for.
    """
    rest = CutQuery([0], [1, 2, 3])
    terms: dict[str, Any] = {"epsilon": epsilon, "queries": 2, "method": "laplace"}

    def run(graph: Graph) -> FloatVector:
        seed, values = seed_of(source), []
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "store.db"
            for name, query in ((names[0], EDGE), (names[0], rest), (names[1], EDGE)):
                with open_session(graph, store=store, name=name, seed=seed, **terms) as session:
                    values.append(session.ask_all([query])[0].value)
        return np.array([*values, values[0] + values[2]])

    return run


@audited("session: laplace, on its ledger", slow=True)
def _on_disk_audit(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=PAIRS,
        start=partial(_on_disk, ("one", "one"), epsilon),
        # Each spends epsilon/2 on the first cut, so four of them are twice epsilon.
        twins={"continue after the cap": partial(_on_disk, ("one", "two"), 4 * epsilon)},
        runs=500,
    )


# Tests that fire often.

Kind = Literal["one-sided", "shared", "comparison"]
_NO_NOISE = 50  # a rate: noise but for a chance of e^-50
_TOTAL = Fraction(1, 4)  # of epsilon, for the noisy total weight
LEARNERS: dict[str, Learner] = {
    "multiplicative-weights": MultiplicativeWeightsLearner(UNIVERSE),
    "frieze-kannan": FriezeKannanLearner(UNIVERSE),
    "mirror-descent": MirrorDescentLearner(UNIVERSE, norm="entropy"),
}
# By a calibration that has such tests; jt12 has those of gru12.
_TESTS: dict[str, Kind] = {"tight": "one-sided", "dr14": "shared", "gru12": "comparison"}


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
        return self.broken(
            Tuning(
                alpha=4.0,
                updates=1,
                queries=1 if self.kind == "comparison" else self.queries,
                test=test,
                value_noise=value,
                error=3,
                value_error=3,
                halts=self.kind != "one-sided",
            )
        )


def _online(learner: str, calibration: ByHand, source: EntropySource) -> Run:
    made = OnlineMechanism(learner=LEARNERS[learner], calibration=calibration, grid=Grid())
    return transcript(made, source)


# Broken twins. Each is a mistake that somebody could make.


def _past_the_cap(tuning: Tuning) -> Tuning:
    """The mechanism goes on when the updates that were paid for are used up."""
    return replace(tuning, updates=_MOST, queries=_MOST, halts=False)


class _NotReset(SharedThreshold):  # type: ignore[misc]  # which is final for users
    """Instances go on after they have fired, with the noise of their threshold, uncharged.

    That noise alone could be kept: with one R for c firings the proof in `OneSidedPair` shifts R
    once, and the loss is at most r1 + c r2. What is lost is the count of what was told.
    """

    def restart(self, secret: Secret, sign: int, source: EntropySource) -> Secret:  # noqa: ARG002
        return secret


def _not_reset(tuning: Tuning) -> Tuning:
    test = tuning.test
    if not isinstance(test, SharedThreshold):
        raise TypeError("there is no threshold that is shared")
    kept = _NotReset(test.threshold_rate, test.query_rate, test.threshold)
    return replace(_past_the_cap(tuning), test=kept)


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


def _instance(rates: tuple[Fraction, Fraction], reused: bool, source: EntropySource) -> Run:
    """At which of two tests an instance fires upwards; both may get the same noise."""
    test = OneSidedPair(*rates, Fraction(1))

    def run(truths: tuple[int, int]) -> list[float]:
        secret, seed, fires = test.start(source), seed_of(source), [0, 0]
        for number, truth in enumerate(truths):
            noise = SeededEntropy(seed) if reused else source
            if not any(fires):
                fires[number] = test.run(secret, truth, Fraction(0), noise).sign == 1
        return [float(each) for each in fires]

    return run  # type: ignore[return-value]


@audited("tests: one instance")
def _instance_audit(epsilon: float) -> Audit:
    """A cut with the edge; and one without it before, which with the same noise tells all."""
    r1, r2 = Fraction(epsilon) / 6, 5 * Fraction(epsilon) / 6
    return Sampled(
        claim=Claim(epsilon),
        pairs=(
            Neighbours("in the first cut", (0, 0), (1, 0)),
            Neighbours("in the second cut", (0, 0), (0, 1)),
        ),
        start=partial(_instance, (r1, r2), False),
        twins={
            "half the noise": partial(_instance, (2 * r1, 2 * r2), False),
            "noise reused": partial(_instance, (r1, r2), True),
        },
    )


@audited("tests: {}, {}", LEARNERS, _TESTS, slow=True)
def _online_audit(learner: str, calibration: str, epsilon: float) -> Audit:
    """One firing of the tight tests tells so little that going on shows in no number of runs.

    There the twins that go on are caught by calculation, in `calibrations`.
    """
    kind = _TESTS[calibration]
    sound = ByHand(kind=kind, epsilon=Fraction(epsilon))
    changed = {"m used raw": replace(sound, raw=True)}
    if kind == "one-sided":
        changed["a sixteenth of the tests' noise"] = replace(sound, factor=16)
    else:
        changed["a quarter of the noise"] = replace(sound, factor=4)
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
