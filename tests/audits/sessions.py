"""Audits of sessions: transcripts of those that add noise to every answer, and of those with tests.

The calibrations that users choose from have thresholds far above what a graph of four vertices can
reach; what they guarantee is audited by calculation in `calibrations`. Here the same mechanisms,
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

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.learn.calibration_base import Calibration, Tuning
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.plugins import (
    Cost,
    CutMechanism,
    EntropySource,
    Learner,
    SeededEntropy,
    Universe,
    ValueNoise,
)
from graphcuts_dp.privacy.sparse_vector import (
    GapTest,
    NoisyComparison,
    OneSidedPair,
    Secret,
    SharedThreshold,
)
from graphcuts_dp.session.counts import linear_count
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.plain import BinaryAnswers, PerQueryNoise
from tests.audits.base import Variants, audited_runs
from tests.audits.graphs import one_more, quietly, seed_of

Run = Callable[[gc.Graph], npt.ArrayLike]
EDGE = gc.CutQuery([2], [3])
UNIVERSE = Universe(4)
PAIRS = (one_more("last pair", [0, 0, 1, 2], [1, 2, 2, 3]),)
_MOST = 24  # answers that even an incorrect variant is asked for


def transcript(
    mechanism: CutMechanism[Any], source: EntropySource, query: gc.CutQuery = EDGE
) -> Run:
    """What an analyst sees who asks the same again and again: the total, answers, updates.

    First, last, least, largest and mean answer (of those that were bought, if any); how many
    answers came before the first update, and its sign; the sum of all signs; and what of all
    answers tells one pair's weight, where its Laplace noise is all that they have.
    """
    most = mechanism.grid.cap or 1.0

    def run(graph: gc.Graph) -> FloatVector:
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

_DELTA = 0.02  # so large that runs see what it is for; the usual ones are audited by calculation


def _noisy(
    epsilon: float, queries: int = 2, delta: float = 0.0, grid: Grid | None = None
) -> PerQueryNoise:
    return PerQueryNoise(
        distribution="gaussian" if delta else "laplace",
        universe=UNIVERSE,
        grid=grid or Grid(),
        epsilon=epsilon,
        queries=queries,
        delta=delta,
    )


def _same_noise(epsilon: float, source: EntropySource, delta: float = 0.0) -> Run:
    """The noise of the first answer again for the second, which is about another cut."""
    mechanism = _noisy(epsilon, delta=delta)

    def run(graph: gc.Graph) -> FloatVector:
        seed = seed_of(source)
        state, values = mechanism.start(graph, source), []
        for query in (gc.CutQuery([0], [3]), EDGE):
            truth = mechanism.grid.count(query, graph)
            state, answer = mechanism.step(state, query, truth, SeededEntropy(seed))
            values.append(answer.value)
        return np.array(values)

    return run


@audited_runs(
    "session: laplace",
    pairs=PAIRS,
    incorrect_variants={
        "half the noise": {"factor": 2},
        "continue after the cap": {"factor": 6, "queries": 12},
        "noise reused": _same_noise,
    },
    prepared=True,
)
def _laplace(epsilon: float, source: EntropySource, factor: int = 1, queries: int = 2) -> Run:
    return transcript(_noisy(factor * epsilon, queries), source)


_CAPPED = (one_more("none and the cap", [0, 2], [1, 3], [2.0, 2.0], max_weight=2.0),)


@audited_runs(
    "session: laplace, cap 2",
    pairs=_CAPPED,
    # Twice epsilon with the right grid is the noise of half its sensitivity.
    incorrect_variants={"sensitivity 1 for 2": {"factor": 2}},
    prepared=True,
)
def _weights(epsilon: float, source: EntropySource, factor: int = 1) -> Run:
    """Weights up to 2: a cut moves by 2, and the noise is for that."""
    return transcript(_noisy(factor * epsilon, 1, grid=Grid.of(_CAPPED[0].first)), source)


@audited_runs(
    "session: gaussian",
    pairs=PAIRS,
    incorrect_variants={
        "a third of the noise": {"factor": 4},
        "noise reused": partial(_same_noise, delta=_DELTA),
    },
    claim=lambda epsilon: Claim(epsilon, _DELTA),
    prepared=True,
)
def _gaussian(epsilon: float, source: EntropySource, factor: int = 1) -> Run:
    return transcript(_noisy(factor * epsilon, delta=_DELTA), source)


@audited_runs(
    "session: binary",
    pairs=PAIRS,
    incorrect_variants={"half the noise": {"factor": 2}, "last pair missing": {"shown": True}},
    prepared=True,
)
def _binary(epsilon: float, source: EntropySource, factor: int = 1, shown: bool = False) -> Run:
    """If shown, the noisy matrix has no noise on its last pair: its answer is read there."""
    made = BinaryAnswers(universe=UNIVERSE, grid=Grid(), epsilon=factor * epsilon, queries=2)
    honest = transcript(made, source)

    def run(graph: gc.Graph) -> FloatVector:
        seen = np.asarray(honest(graph))
        if shown:
            seen[1] = graph.dense()[2, 3]
        return seen

    return run


_SIGNED = np.zeros((4, 4))  # 1 for one pair, -3 for the one that is hidden
_SIGNED[0, 1], _SIGNED[2, 3] = 1.0, -3.0


@audited_runs(
    "session: laplace, linear queries",
    pairs=PAIRS,
    incorrect_variants={
        "half the noise": {"factor": 2},
        "coefficients larger than the noise": {"larger": 3},
    },
    prepared=True,
)
def _linear(epsilon: float, source: EntropySource, factor: int = 1, larger: int = 1) -> Run:
    """One linear query, of which the pair that is hidden has the largest coefficient, below 0.

    The answer moves by that, down; by more, as if it were larger than the noise is made for.
    """
    mechanism, query = _noisy(factor * epsilon, 1), gc.Query.matrix(_SIGNED)
    counted = {
        id(graph): larger * linear_count(query, graph, mechanism.grid)
        for graph in (PAIRS[0].first, PAIRS[0].second)
    }

    def run(graph: gc.Graph) -> FloatVector:
        state = mechanism.start(graph, source)
        _, answer = mechanism.step(state, query, counted[id(graph)], source)
        return np.array([answer.value])

    return run


@audited_runs(
    "session: laplace, on its ledger",
    pairs=PAIRS,
    # Each spends epsilon/2 on the first cut, so four of them are twice epsilon.
    incorrect_variants={"continue after the cap": {"factor": 4, "last": "two"}},
    runs=500,
    slow=True,
)
def _on_disk(
    epsilon: float, graph: gc.Graph, source: EntropySource, factor: int = 1, last: str = "one"
) -> FloatVector:
    """Sessions on one ledger, closed and opened again between all answers.

    The first cut is asked again at the end, which is free in the same session. In another session
    it is answered afresh, and has to be paid for.
    """
    rest, seed, values = gc.CutQuery([0], [1, 2, 3]), seed_of(source), []
    terms: dict[str, Any] = {"epsilon": factor * epsilon, "queries": 2, "method": "laplace"}
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        for name, query in (("one", EDGE), ("one", rest), (last, EDGE)):
            opened = quietly(gc.open_session, graph, store=store, name=name, seed=seed, **terms)
            with opened as session:
                values.append(session.ask_all([query])[0].value)
    return np.array([*values, values[0] + values[2]])


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
        factor: of the rates of tests and values; 1 keeps the guarantee.
        raw: whether the total weight has no noise.
        mistake: returns the tuning with one more mistake.
    """

    kind: Kind
    epsilon: Fraction
    factor: int = 1
    raw: bool = False
    mistake: Callable[[Tuning], Tuning] = field(default=lambda tuning: tuning)
    queries: int = 4
    beta: float = 0.05

    name = "by hand"

    @property
    def cost(self) -> Cost:
        """Pure epsilon, whatever happens."""
        return Cost.of_pure(self.epsilon)

    def split_budget(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """See `Calibration.split_budget`."""
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
        return self.mistake(
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


def _by_hand(learner: str, tests: str, epsilon: float, **mistakes: Any) -> OnlineMechanism:
    calibration = ByHand(kind=_TESTS[tests], epsilon=Fraction(epsilon), **mistakes)
    return OnlineMechanism(learner=LEARNERS[learner], calibration=calibration, grid=Grid())


# Incorrect variants. Each is a mistake that somebody could make.


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


def _seed_after_fork(learner: str, tests: str, epsilon: float, source: EntropySource) -> Run:
    """Two processes have inherited one stream, and each answers from its own graph."""
    made = _by_hand(learner, tests, epsilon)

    def run(graph: gc.Graph) -> FloatVector:
        seed, both = seed_of(source), (PAIRS[0].first, graph)
        first, second = (transcript(made, SeededEntropy(seed))(data) for data in both)
        return np.subtract(second, first)

    return run


def _reused_twice(learner: str, tests: str, epsilon: float, source: EntropySource) -> Run:
    """A cut without the last pair, then one with it, and the same noise for both; some times over.

    That the second alone fires, and upwards, tells the pair for certain.
    """
    made = replace(_by_hand(learner, tests, epsilon, mistake=_many_answers), total_weight=3.0)

    def run(graph: gc.Graph) -> FloatVector:
        state, values, signs = made.start(graph, source), [0.0, 0.0], [0, 0]
        while not state.stopped and not any(signs):
            seed = seed_of(source)
            for k, query in enumerate((gc.CutQuery([0], [3]), EDGE)):
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


@audited_runs(
    "tests: one instance",
    pairs=(
        Neighbours("in the first cut", (0, 0), (1, 0)),
        Neighbours("in the second cut", (0, 0), (0, 1)),
    ),
    incorrect_variants={"half the noise": {"factor": 2}, "noise reused": {"reused": True}},
)
def _instance(
    epsilon: float,
    truths: tuple[int, int],
    source: EntropySource,
    factor: int = 1,
    reused: bool = False,
) -> list[float]:
    """At which of two tests an instance fires upwards; both may get the same noise.

    A cut with the edge; and one without it before, which with the same noise tells all.
    """
    rate = factor * Fraction(epsilon) / 6
    test = OneSidedPair(rate, 5 * rate, Fraction(1))
    secret, seed, fires = test.start(source), seed_of(source), [0, 0]
    for number, truth in enumerate(truths):
        noise = SeededEntropy(seed) if reused else source
        if not any(fires):
            fires[number] = test.run(secret, truth, Fraction(0), noise).sign == 1
    return [float(each) for each in fires]


def _variants_of_tests(_: str, tests: str) -> Variants:
    """One firing of the tight tests tells so little that going on shows in no number of runs.

    There the incorrect variants that go on are caught by calculation, in `calibrations`.
    """
    incorrect_variants: dict[str, Any] = {
        "m used raw": {"raw": True},
        "seed reused after fork": _seed_after_fork,
        "noise reused": _reused_twice,
    }
    if tests == "tight":
        incorrect_variants["a sixteenth of the tests' noise"] = {"factor": 16}
    else:
        incorrect_variants["a quarter of the noise"] = {"factor": 4}
        incorrect_variants["continue after the cap"] = {"mistake": _past_the_cap}
    if tests == "dr14":
        incorrect_variants["un-reset threshold"] = {"mistake": _not_reset}
    return incorrect_variants


@audited_runs(
    "tests: {}, {}",
    LEARNERS,
    _TESTS,
    pairs=PAIRS,
    incorrect_variants=_variants_of_tests,
    prepared=True,
    slow=True,
)
def _online(
    learner: str, tests: str, epsilon: float, source: EntropySource, **mistakes: Any
) -> Run:
    return transcript(_by_hand(learner, tests, epsilon, **mistakes), source)
