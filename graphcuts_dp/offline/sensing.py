"""Private sensing: linear queries on a matrix of ratings, learnt by Schatten mirror descent.

Answers are counted in public steps; rows and columns that no query of a list tells apart are taken
together.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.errors import AccuracyWarning, GraphError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.graph.owned_rows import OwnedRows, paired_graph
from graphcuts_dp.learn.base import Sign
from graphcuts_dp.learn.bit_sets import DenseHypothesis
from graphcuts_dp.learn.mirror_descent import MirrorDescent, minimal_start
from graphcuts_dp.learn.potentials import LpNorm, Potential, SchattenNorm, near_one
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.offline.distinguisher import root_at_most
from graphcuts_dp.offline.sensing_release import (
    SensingMeasurement,
    SensingRelease,
    query_digest,
)
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.linear_steps import Extent
from graphcuts_dp.pairs.mixed_cuts import understood
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost, rounded_up, zcdp_rho
from graphcuts_dp.privacy.entropy import EntropySource, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, hidden_change
from graphcuts_dp.privacy.noise import exponential_choice
from graphcuts_dp.privacy.value_noise import ValueNoise
from graphcuts_dp.progress import Progress, silent

SUM_BITS = 61  # of answers in steps: differences of two fit into 64 bits
_MOST_BITS = 20  # the largest coefficient and the largest rating have 2^20 to 2^21 steps, or fewer
MOST_SENSED_PAIRS = 1 << 25  # 256 MiB for a hypothesis
_LARGEST_DEVIATION = 2**55  # of noise, in steps: 64-bit integers hold every sample


@final
class Steps:
    """How answers are counted in whole public steps.

    Args:
        universe: users and items.
        queries: the list.
        cap: public largest rating.

    Attributes:
        queries: as given.
        cap: as given.
        sensitivity: Delta: by how many steps one rating can change an answer, at most.
        unit: of the answers, a power of two.
        rounding: how far an answer in steps may be from the true one, in units of ratings.

    Raises:
        ParameterError: no cap, no query, or queries that are all constant.
        GraphError: too many pairs.
        QueryError: a query that does not fit the vertex sets.
    """

    def __init__(
        self, universe: Universe, queries: Sequence[LinearQuery], cap: float | None
    ) -> None:
        if cap is None:
            raise ParameterError("sensing needs a public largest rating: give weight_cap")
        if not queries:
            raise ParameterError("sensing needs at least one query")
        if universe.size > MOST_SENSED_PAIRS:
            raise GraphError(f"sensing holds all pairs, up to {MOST_SENSED_PAIRS}: use fewer items")
        self.queries = tuple(queries)
        self.universe = universe
        self.cap = float(cap)
        largest = max(query.sensitivity(universe.space) for query in queries)
        if largest == 0:
            raise ParameterError("all queries are constant: there is nothing to measure")
        # A coefficient and a rating have fewer than 2^(bits + 1) steps each.
        bits = min(_MOST_BITS, (SUM_BITS - universe.size.bit_length()) // 2 - 1)
        self._of_ratings = 2.0 ** (math.floor(math.log2(cap)) - bits)
        self._of_coefficients = 2.0 ** (math.floor(math.log2(largest)) - bits)
        self.unit = self._of_ratings * self._of_coefficients
        if not 0 < self.unit < math.inf:
            raise ParameterError("coefficients times weight_cap must be numbers of usual size")
        # Rounding is monotone: the largest coefficient has the most steps.
        most = self._rating_steps = math.floor(cap / self._of_ratings)
        self.sensitivity = round(largest / self._of_coefficients) * most
        of_entry = cap * self._of_coefficients / 2 + self._of_ratings * largest
        self.rounding = universe.size * of_entry

    def count(self, ratings: BipartiteGraph) -> IntVector:
        """All true answers, shape (len(queries),), exactly in steps. Private."""
        weights = np.floor(ratings.weights / self._of_ratings).astype(np.int64)
        ends = ratings.rows, ratings.columns
        return np.array(
            [int(self._coefficients(query, *ends) @ weights) for query in self.queries],
            dtype=np.int64,
        )

    def noise(self, rho: Fraction, rounds: int) -> tuple[Fraction, ValueNoise]:
        """Rate of each choice and noise of each measurement, rho-zCDP in so many rounds.

        Raises:
            ParameterError: noise that does not fit into 64 bits.
        """
        of_values = ValueNoise("gaussian", self.sensitivity**2 * rounds / rho)
        if of_values.parameter > _LARGEST_DEVIATION**2:
            raise ParameterError("the noise does not fit into 64 bits: use more epsilon")
        return root_at_most(4 * rho / rounds) / (2 * self.sensitivity), of_values

    def rho(self, rate: Fraction, noise: ValueNoise, rounds: int) -> Fraction:
        """Of so many choices of this rate and measurements with this noise."""
        choice = (2 * self.sensitivity * rate) ** 2 / 8
        measured = Fraction(self.sensitivity) ** 2 / (2 * noise.parameter)
        return rounds * (choice + measured)

    @cached_property
    def square(self) -> int:
        """Square of the length of the vector by which one rating can move all answers, in steps.

        The largest over pairs of the sum over queries of squared steps of coefficients, with a
        margin for the rounding of floats, times the square of a rating's steps.
        """
        total = np.zeros(self.universe.shape)
        for query in self.queries:
            found = np.rint(self.universe.coefficients(query) / self._of_coefficients)
            total += found * found
        return math.ceil(float(total.max()) * (1 + 1e-9)) * self._rating_steps**2

    def noise_for_all(self, rho: Fraction) -> ValueNoise | None:
        """Noise of measurements of all queries; None if it does not fit into 64 bits."""
        of_values = ValueNoise("gaussian", self.square / (2 * rho))
        return of_values if of_values.parameter <= _LARGEST_DEVIATION**2 else None

    def cost_of_all(self, noise: ValueNoise, delta: float) -> Cost:
        """Of one measurement of each query."""
        return Cost.of_rho(rounded_up(self.square / (2 * noise.parameter)), delta=delta)

    def radius(self, noise: ValueNoise, failure: float) -> float:
        """How far a measured value may be off, but for that probability."""
        return (self.unit * noise.radius(failure) + self.rounding) * (1 + 1e-9)

    def slack(self, rate: Fraction, noise: ValueNoise, beta: float, *, queries: int) -> float:
        """How far above the last gap the error on so many queries may be, but for beta."""
        choices = 2 * queries
        short = math.log(2 * choices / beta) / float(rate) + 1  # and the estimates' rounding
        return (self.unit * (noise.radius(beta / 2) + short) + self.rounding) * (1 + 1e-9)

    def _coefficients(
        self, query: LinearQuery, rows: npt.NDArray[np.int32], columns: npt.NDArray[np.int32]
    ) -> IntVector:
        """Of the pairs asked for, in steps."""
        found = query.coefficients_at(rows, columns, self.universe.space)
        return np.rint(found / self._of_coefficients).astype(np.int64)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class QueryBlocks:
    """A list of queries on a matrix, and the same on a smaller one.

    All cuts of the list are sums of whole blocks. Taking x to sqrt(rows columns) x, for a block of
    that many rows and columns, maps matrices that are constant on blocks to one entry for each
    block, and keeps inner products and singular values. Mirror descent that starts at 0, with a
    potential of singular values or of the sum of squares, never leaves such matrices: it is the
    same in both, and takes less in the smaller.

    Attributes:
        whole: the universe that was given.
        universe: one row for each class of rows, one column for each class of columns.
        queries: the given ones, on `universe`, in their order.
        rows: class of each row.
        columns: class of each column.
    """

    whole: Universe
    universe: Universe
    queries: tuple[LinearQuery, ...]
    rows: IntVector
    columns: IntVector

    @classmethod
    def of(cls, queries: Sequence[LinearQuery], universe: Universe) -> Self:
        """The blocks of a list; each entry is one if a query of it is no cut.

        Args:
            queries: on a bipartite universe.
            universe: the public vertex pairs.
        """
        cuts = [query for query in queries if isinstance(query, CutQuery)]
        if len(cuts) < len(queries):
            rows, columns = (np.arange(side) for side in universe.shape)
            return cls(
                whole=universe, universe=universe, queries=(*queries,), rows=rows, columns=columns
            )
        masks = [query.masks(universe.space) for query in cuts]
        rows = _classes([S for S, _ in masks], universe.shape[0])
        columns = _classes([T for _, T in masks], universe.shape[1])
        left, right = _roots(rows), _roots(columns)
        return cls(
            whole=universe,
            universe=Universe(len(left), len(right)),
            queries=tuple(
                MatrixQuery(np.outer(left * _of_class(S, rows), right * _of_class(T, columns)))
                for S, T in masks
            ),
            rows=rows,
            columns=columns,
        )

    def expand(self, hypothesis: DenseHypothesis) -> DenseHypothesis:
        """The hypothesis on the whole universe that one on the blocks stands for."""
        if self.universe is self.whole:
            return hypothesis
        entries = hypothesis.matrix / np.outer(_roots(self.rows), _roots(self.columns))
        return DenseHypothesis(self.whole, entries[np.ix_(self.rows, self.columns)])


def _classes(masks: Sequence[BoolVector], size: int) -> IntVector:
    """Numbers from 0 on, the same for places that are in the same sets."""
    codes = np.zeros(size, dtype=np.int64)
    for mask in masks:
        codes = np.unique(2 * codes + mask, return_inverse=True)[1]
    return codes


def _roots(codes: IntVector) -> FloatVector:
    """Square root of the size of each class."""
    return np.sqrt(np.bincount(codes))


def _of_class(mask: BoolVector, codes: IntVector) -> BoolVector:
    """Which classes a set is made of."""
    held = np.zeros(int(codes.max()) + 1, dtype=bool)
    held[codes[mask]] = True
    return held


_MOST_ROUNDS = 10_000
_PASSES = 2  # over the answers bought so far, after each round: free
_FEW = 200  # measurements that are gone over so often where all queries were measured
_ROUNDS = 10  # where nobody says how many
FOR_TEST = Fraction(1, 2)  # of the budget: for the last round, which all promises rest on


def release_sensing(  # noqa: PLR0913  # one more than twelve: the guess that a warning needs
    ratings: BipartiteGraph | OwnedRows,
    queries: Sequence[LinearQuery],
    *,
    epsilon: float,
    delta: float,
    protect: str = "edges",
    at_most: int | None = None,
    store: PathLike | Store | None = None,
    rounds: int | None = None,
    p: float | None = None,
    beta: float = 0.05,
    expected_ratings: float | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> SensingRelease:
    """Answer a public list of linear queries on a private matrix, and learn a matrix from them.

    Each of the rounds:
    1. Choose a query of the list on which the hypothesis is off by nearly the most, and the
       direction (`exponential_choice` among all queries in both directions).
    2. Measure it: its whole answer plus discrete Gaussian noise.
    3. Correct the hypothesis by Schatten-p mirror descent, as far as the measurement goes beyond
       its noise; let older measurements correct it again. The last round only tests, with half of
       the budget, since all that is promised of the answers rests on it.
    Or every query of the list is measured once, all of them with the noise that the ratings' whole
    effect on the list needs; the hypothesis learns from that, and what is promised are the measured
    values. For few queries, and for any number of sums that share no rating, that is better.

    Args:
        ratings: users on the left, items on the right, with a public weight_cap (1 if there are no
            weights). What is not rated is 0.
        queries: the public list: sums over groups of users and items, random matrices, ...
        epsilon: privacy parameter, for whom `protect` names, in [1e-6, 50]; all of it is spent.
        delta: in (0, 1).
        protect: whom the promise is for: "edges" (ratings), see `Protect.of`.
        at_most: how many ratings may change together, 1 if omitted.
        store: see `release_graph`.
        rounds: how many queries are chosen and measured, 1 to 10,000. None: every query is measured
            if that promises less error than 10 rounds can, and 10 else.
        p: of the Schatten norm, in (1, 2]; 2 is the Frobenius norm, which is better when queries
            are of rank one. None: ln(mn)/(ln(mn) - 1), better for queries whose singular values
            are spread on matrices of low rank.
        beta: in (0, 1); see `SensingRelease.error`.
        expected_ratings: a public guess of the number of ratings, for the warning only.
        seed: makes the run repeatable and voids the promise; None for the system's entropy.
        progress: called with the fraction done and a message.

    Raises:
        ParameterError: a number out of range, no query, queries that are all constant, or ratings
            without a public cap.
        GraphError: not a bipartite graph, or one of more than 2^25 pairs.
        QueryError: a query that does not fit the vertex sets.

    Warns:
        AccuracyWarning: before anything is spent, when answers are promised no better than those of
            somebody who knows nothing and takes for each query the middle of what it can be, or,
            with `expected_ratings`, answers 0.

    Guarantee: (epsilon, delta)-DP for one rating, by rho-zCDP, and nothing but 1 and 2 reads it.
    Ratings are rounded down to public steps and coefficients to the nearest public step, so that
    answers are whole. Neighbours differ in one rating by at most `cap` of its steps, hence in each
    answer by at most Delta = (largest coefficient) cap steps, upwards for some queries and
    downwards for others. Of r rounds that share rho, each choice, of rate eta/(2 Delta), is
    eta^2/8-zCDP, each measurement, of variance Delta^2 r/rho, is rho/(2 r)-zCDP, and
    eta^2/8 <= rho/(2 r). Where all queries are measured: a rating moves the whole list by a vector
    of length D at most, the root of the largest sum over queries of squared coefficients, times the
    cap; independent noise of variance v on each is D^2/(2 v)-zCDP.
    Accuracy: `SensingRelease.error`: the last gap, plus what its noise, the choice and rounding
    may hide; or the noise of the measured values, times a union bound. Mirror descent needs at most
    B(alpha) corrections by queries that are off by alpha (`learn.mirror_descent`), fewer for p near
    1 than for p = 2 as soon as r ln(mn) is well below the smaller side and queries are spread; with
    one rating of sensitivity Delta that takes large matrices.

    Source: JT12 section 4.2; DR14 Alg. 8 in place of JT12's online test; Hardt, Ligett, McSherry
    2012 (all rounds are used, the last one tests). Corrected: the potential's ball is dropped, as
    its radius would be private.
    """
    private = ratings
    bounded, protection = paired_graph(private, protect, at_most=at_most, epsilon=epsilon)
    if not isinstance(bounded, BipartiteGraph):
        raise GraphError("ratings are a BipartiteGraph: users on the left, items on the right")
    ratings = bounded
    protection.per_step(epsilon)
    _check_rounds(rounds)
    if not 0 < beta < 1:
        raise ParameterError(f"beta must be between 0 and 1, not {beta}")
    rho = Fraction(zcdp_rho(epsilon=epsilon, delta=delta)) / protection.steps**2
    space = ratings.space
    steps = Steps(
        Universe(ratings.left, ratings.right),
        [understood(query, space) for query in queries],
        ratings.weight_cap,
    )
    plan = SensingPlan.of(steps, rho, rounds, beta)
    cost = protection.cost(plan.cost(delta), epsilon=epsilon, delta=delta)
    learner = _Learner(steps, p)
    source = entropy_source(seed)

    guarantee = PrivacyGuarantee(
        epsilon=cost.epsilon,
        delta=cost.delta,
        neighbours=hidden_change(
            weighted=ratings.weighted, weight_cap=ratings.weight_cap, directed=False
        ),
        public=f"{steps.universe.public}, the queries" + (", the cap" if ratings.weighted else ""),
        seed=seed,
    )
    guarantee = protection.promise(guarantee, cost)
    warning = plan.warning(expected_ratings)
    if warning is not None:
        warnings.warn(warning, AccuracyWarning, stacklevel=2)

    with charged(
        store,
        private,
        kind="sensing",
        parameters={"rounds": plan.rounds},
        cost=cost,
        guarantee=guarantee,
    ):
        truth = steps.count(ratings)  # private
        measurements = plan.run(learner, truth, source, progress)

    bound = plan.promised
    if not plan.measures_all:
        bound += _gap(measurements[-1])
    return SensingRelease(
        hypothesis=learner.hypothesis,
        measurements=tuple(measurements),
        guarantee=guarantee,
        cost=cost,
        deviation=plan.deviation,
        error=bound,
        beta=beta,
        radius=bound if plan.measures_all else None,
        cap=steps.cap,
        listed=tuple(query_digest(query, space) for query in steps.queries),
    )


def _check_rounds(rounds: int | None) -> None:
    if rounds is None:
        return
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= _MOST_ROUNDS:
        raise ParameterError(f"rounds must be a whole number from 1 to {_MOST_ROUNDS}")


@final
@dataclass(frozen=True, kw_only=True)
class SensingPlan:
    """What is bought of a private matrix. All of it is public.

    Attributes:
        steps: how answers are counted.
        rounds: of choices and measurements, the last one the test; 0 if all queries are measured.
        learning: rate of a choice and noise of a measurement, before the last round; None if there
            is none before it.
        test: those of the last round; of measurements of all queries their noise, and rate 0.
        beta: probability that the promise about answers fails.
    """

    steps: Steps
    rounds: int
    learning: tuple[Fraction, ValueNoise] | None
    test: tuple[Fraction, ValueNoise]
    beta: float

    @classmethod
    def of(cls, steps: Steps, rho: Fraction, rounds: int | None, beta: float) -> "SensingPlan":
        """The plan that a budget pays for; of least promised error where `rounds` is None."""
        if rounds is None:
            chosen = cls.of(steps, rho, _ROUNDS, beta)
            noise = steps.noise_for_all(rho)
            if noise is None:
                return chosen
            every = cls(steps=steps, rounds=0, learning=None, test=(Fraction(0), noise), beta=beta)
            return every if every.promised <= chosen.promised else chosen
        if rounds == 1:
            return cls(steps=steps, rounds=1, learning=None, test=steps.noise(rho, 1), beta=beta)
        return cls(
            steps=steps,
            rounds=rounds,
            learning=steps.noise(rho * (1 - FOR_TEST), rounds - 1),
            test=steps.noise(rho * FOR_TEST, 1),
            beta=beta,
        )

    @property
    def measures_all(self) -> bool:
        """Whether every query of the list is measured, and none is chosen."""
        return self.rounds == 0

    def cost(self, delta: float) -> Cost:
        """Of all choices and measurements."""
        if self.measures_all:
            return self.steps.cost_of_all(self.test[1], delta)
        bought = [(self.test, 1)]
        if self.learning is not None:
            bought.append((self.learning, self.rounds - 1))
        rho = sum((self.steps.rho(*each, number) for each, number in bought), Fraction(0))
        return Cost.of_rho(rounded_up(rho), delta=delta)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on a measurement, at most."""
        noises = [self.test[1]] + ([] if self.learning is None else [self.learning[1]])
        return self.steps.unit * math.sqrt(max(noise.parameter for noise in noises))

    @property
    def promised(self) -> float:
        """Where all queries are measured the error of each; else what is added to the last gap."""
        (rate, noise), queries = self.test, len(self.steps.queries)
        if not self.measures_all:
            return self.steps.slack(rate, noise, self.beta, queries=queries)
        return self.steps.radius(noise, self.beta / queries)

    def warning(self, expected_ratings: float | None) -> str | None:
        """A sentence if nothing better is promised than somebody who knows nothing can promise."""
        extents = [Extent.of(query, self.steps.universe.space) for query in self.steps.queries]
        cap = self.steps.cap
        error, how = max(cap * each.modulus / 2 for each in extents), "the middle of what it can be"
        if expected_ratings is not None:
            if not isinstance(expected_ratings, int | float) or not expected_ratings > 0:
                raise ParameterError("expected_ratings is a number of ratings, for example 10_000")
            largest = max(each.largest for each in extents)
            nothing = min(
                cap * largest * float(expected_ratings),
                max(cap * max(each.negative, each.positive) for each in extents),
            )
            if nothing < error:
                error, how = nothing, "0"
        if self.promised < error:
            return None
        return (
            f"worthless at this size: no answer is promised within less than {self.promised:,.4g},"
            f" but to answer each query by {how} is never farther off than {error:,.4g}; use more"
            " epsilon, larger groups, or fewer queries"
        )

    def run(
        self, learner: "_Learner", truth: IntVector, source: EntropySource, progress: Progress
    ) -> list[SensingMeasurement]:
        """Draw all noise, and learn."""
        steps, measurements = self.steps, list[SensingMeasurement]()
        if self.measures_all:
            noise = self.test[1]
            for index, count in enumerate(truth.tolist()):
                value = steps.unit * (count + noise.draw(source))
                made = SensingMeasurement(index=index, value=value, estimate=0.0)
                measurements.append(made)
            learner.fit(measurements, self.deviation, progress)
            return measurements
        for number in range(1, self.rounds + 1):
            bought = self.learning if number < self.rounds else None
            rate, noise = bought or self.test
            made = _measure(steps, learner.estimates(), truth, rate, noise, source)
            measurements.append(made)
            if number < self.rounds:
                learner.learn(measurements, steps.unit * math.sqrt(noise.parameter))
            progress(number / self.rounds, f"round {number}: off by about {_gap(made):.3g}")
        return measurements


def _measure(
    steps: Steps,
    estimates: FloatVector,
    truth: IntVector,
    rate: Fraction,
    noise: ValueNoise,
    source: EntropySource,
) -> SensingMeasurement:
    """Steps 1 and 2 of a round."""
    limit = 2.0**SUM_BITS
    public = np.rint(np.clip(estimates / steps.unit, -limit, limit)).astype(np.int64)
    gaps = truth - public
    index = exponential_choice(np.concatenate([gaps, -gaps]), rate, source) % len(truth)
    value = steps.unit * (int(truth[index]) + noise.draw(source))
    return SensingMeasurement(index=index, value=value, estimate=float(estimates[index]))


def _gap(measurement: SensingMeasurement) -> float:
    return abs(measurement.value - measurement.estimate)


@final
class _Learner:
    """The hypothesis and its corrections: everything here is public."""

    def __init__(self, steps: Steps, p: float | None) -> None:
        universe = steps.universe
        self._blocks = QueryBlocks.of(steps.queries, universe)
        exponent = near_one(universe.size) if p is None else p
        # The same norm for p = 2, without singular values.
        self._psi: Potential = LpNorm(2.0) if exponent == 2 else SchattenNorm(exponent)
        # The Frobenius norm bounds the dual norm; only a check rests on it.
        self._zeta = math.sqrt(max(universe.norm_squared(query) for query in steps.queries))
        self._start = self._learnt = minimal_start(self._blocks.universe, self._psi)

    @property
    def hypothesis(self) -> DenseHypothesis:
        """What was learnt, on all pairs."""
        return self._blocks.expand(self._learnt)

    def estimates(self) -> FloatVector:
        """What it answers to each query of the list."""
        return self._learnt.estimate_all(self._blocks.queries)

    def learn(self, measurements: Sequence[SensingMeasurement], deviation: float) -> None:
        """Step 3: the newest measurement corrects, then all of them do a few times."""
        for made in [measurements[-1], *list(measurements) * _PASSES]:
            self._correct(made, deviation)

    def _correct(self, made: SensingMeasurement, deviation: float) -> None:
        query = self._blocks.queries[made.index]
        gap = made.value - self._learnt.estimate(query)
        # A step longer than the true gap could lead away from the truth.
        length = abs(gap) - deviation
        if length > deviation / 100:
            rule = MirrorDescent(
                start=self._start,
                psi=self._psi,
                alpha=length,
                zeta=self._zeta,
                start_potential=0.0,
            )
            sign: Sign = 1 if gap > 0 else -1
            self._learnt = rule.update(self._learnt, query, sign)

    def fit(
        self, measurements: Sequence[SensingMeasurement], deviation: float, progress: Progress
    ) -> None:
        """Step 3 where all queries were measured: each corrects in turn, a few times over."""
        passes = 1 + (_PASSES if len(measurements) <= _FEW else 0)
        for number in range(passes):
            for place, made in enumerate(measurements):
                self._correct(made, deviation)
                done = (number + (place + 1) / len(measurements)) / passes
                progress(done, "learning")
