"""Private sensing: linear queries on a matrix of ratings, learnt by Schatten mirror descent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.display import Card, Displayed, size_text
from graphcuts_dp.distinguishers.scoring import root_at_most
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.graph.atomic import PathLike
from graphcuts_dp.graph.linear_query import LinearQuery
from graphcuts_dp.graph.owned_rows import OwnedRows
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.base import Sign
from graphcuts_dp.idc.dense import DenseHypothesis
from graphcuts_dp.idc.mirror_descent import MirrorDescent, minimal_start
from graphcuts_dp.idc.potentials import LpNorm, Potential, SchattenNorm, near_one
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.measurements.bounding import paired_graph
from graphcuts_dp.privacy.composition import Cost, rounded_up, zcdp_rho
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, EntropySource, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, hidden_change
from graphcuts_dp.privacy.selection import exponential_choice
from graphcuts_dp.privacy.value_noise import ValueNoise
from graphcuts_dp.progress import Progress, silent

_SUM_BITS = 61  # of answers in steps: differences of two fit into 64 bits
_MOST_BITS = 20  # the largest coefficient and the largest rating have 2^20 to 2^21 steps, or fewer
_MOST_PAIRS = 1 << 25  # 256 MiB for a hypothesis
_LARGEST_DEVIATION = 2**55  # of noise, in steps: 64-bit integers hold every sample
_MOST_ROUNDS = 10_000
_PASSES = 2  # over the answers bought so far, after each round: free


@final
@dataclass(frozen=True, kw_only=True)
class SensingMeasurement:
    """A query with its noisy answer. Public.

    Attributes:
        index: of the query in the list.
        value: noisy answer.
        estimate: of the hypothesis before it was corrected.
    """

    index: int
    value: float
    estimate: float


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SensingRelease(Displayed):
    """What was learnt about a matrix. All of it may be published.

    Attributes:
        hypothesis: answers any linear query; for the queries of the list, `error` holds.
        measurements: what was bought, in order; the last one only tested the result.
        guarantee: the promise of differential privacy.
        cost: the same, for composition.
        deviation: standard deviation of the noise on each answer, at most.
        error: with probability 1 - beta no answer of the list is farther off.
        beta: see `error`.
    """

    hypothesis: DenseHypothesis
    measurements: tuple[SensingMeasurement, ...]
    guarantee: PrivacyGuarantee
    cost: Cost
    deviation: float
    error: float
    beta: float

    def answer(self, query: LinearQuery) -> float:
        """The estimate of an answer; free, as often as you like.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        return self.hypothesis.estimate(query)

    def _card(self) -> Card:
        return Card(
            title="Release by private matrix sensing",
            facts=(
                ("vertices", size_text(self.hypothesis.universe.shape)),
                ("error at most", f"{self.error:,.5g}, with probability {1 - self.beta:.0%}"),
                *self.guarantee.facts,
            ),
            columns=("query", "noisy answer", "estimate before"),
            rows=[(each.index, each.value, each.estimate) for each in self.measurements],
            warning=self.guarantee.warning,
        )

    def __repr__(self) -> str:
        rows, columns = self.hypothesis.universe.shape
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return (
            f"SensingRelease({rows} x {columns}, {len(self.measurements)} measurements, "
            f"epsilon={self.guarantee.epsilon:g}, delta={self.guarantee.delta:g}{mark})"
        )


def release_sensing(
    ratings: BipartiteGraph | OwnedRows,
    queries: Sequence[LinearQuery],
    *,
    epsilon: float,
    delta: float,
    protect: str = "edges",
    at_most: int | None = None,
    store: PathLike | Store | None = None,
    rounds: int = 10,
    p: float | None = None,
    beta: float = 0.05,
    seed: int | None = None,
    progress: Progress = silent,
) -> SensingRelease:
    """Answer a public list of linear queries on a private matrix, learning a matrix of low rank.

    Each of the rounds:
    1. Choose a query of the list on which the hypothesis is off by nearly the most, and the
       direction (`exponential_choice` among all queries in both directions).
    2. Measure it: its whole answer plus discrete Gaussian noise.
    3. Correct the hypothesis by Schatten-p mirror descent, as far as the measurement goes beyond
       its noise; let older measurements correct it again. The last round only tests.

    Args:
        ratings: users on the left, items on the right, with a public weight_cap (1 if there are no
            weights). What is not rated is 0.
        queries: the public list: sums over groups of users and items, random matrices, ...
        epsilon: privacy parameter, for whom `protect` names, in [1e-6, 50]; all of it is spent.
        delta: in (0, 1).
        protect: whom the promise is for: "edges" (ratings), see `Protection.of`.
        at_most: how many ratings may change together, 1 if omitted.
        store: see `release_graph`.
        rounds: how many queries are measured, 1 to 10,000.
        p: of the Schatten norm, in (1, 2]; 2 is the Frobenius norm, which is better when queries
            are of rank one. None: ln(mn)/(ln(mn) - 1), better for queries whose singular values
            are spread on matrices of low rank.
        beta: in (0, 1); see `SensingRelease.error`.
        seed: makes the run repeatable and voids the promise; None for the system's entropy.
        progress: called with the fraction done and a message.

    Raises:
        ParameterError: a number out of range, no query, queries that are all constant, or ratings
            without a public cap.
        GraphError: not a bipartite graph, or one of more than 2^25 pairs.
        QueryError: a query that does not fit the vertex sets.

    Guarantee: (epsilon, delta)-DP for one rating, by rho-zCDP, and nothing but 1 and 2 reads it.
    Ratings are rounded down to public steps and coefficients to the nearest public step, so that
    answers are whole. Neighbours differ in one rating by at most `cap` of its steps, hence in each
    answer by at most Delta = (largest coefficient) cap steps, upwards for some queries and
    downwards for others. Each choice, of rate eta/(2 Delta), is eta^2/8-zCDP, each measurement, of
    variance Delta^2 rounds/rho, is rho/(2 rounds)-zCDP, and eta^2/8 <= rho/(2 rounds).
    Accuracy: `SensingRelease.error`: the last gap, plus what its noise, the choice and rounding
    may hide. Mirror descent needs at most B(alpha) corrections by queries that are off by alpha
    (`idc.mirror_descent`), fewer for p near 1 than for p = 2 as soon as r ln(mn) is well below the
    smaller side and queries are spread; with one rating of sensitivity Delta that takes large
    matrices.

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
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= _MOST_ROUNDS:
        raise ParameterError(f"rounds must be a whole number from 1 to {_MOST_ROUNDS}")
    if not 0 < beta < 1:
        raise ParameterError(f"beta must be between 0 and 1, not {beta}")
    rho = Fraction(zcdp_rho(epsilon=epsilon, delta=delta)) / protection.steps**2
    steps = Steps(Universe(ratings.left, ratings.right), queries, ratings.weight_cap)
    rate, noise = steps.noise(rho, rounds)
    step = steps.cost(rate, noise, rounds, delta)
    cost = protection.cost(step, epsilon=epsilon, delta=delta)
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

    measurements: list[SensingMeasurement] = []
    with charged(
        store,
        private,
        kind="sensing",
        parameters={"rounds": rounds},
        cost=cost,
        guarantee=guarantee,
    ):
        truth = steps.count(ratings)  # private
        for number in range(1, rounds + 1):
            made = _measure(steps, learner.hypothesis, truth, rate, noise, source)
            measurements.append(made)
            if number < rounds:
                learner.learn(measurements, steps.unit * math.sqrt(noise.parameter))
            progress(number / rounds, f"round {number}: off by about {_gap(made):.3g}")

    return SensingRelease(
        hypothesis=learner.hypothesis,
        measurements=tuple(measurements),
        guarantee=guarantee,
        cost=cost,
        deviation=steps.unit * math.sqrt(noise.parameter),
        error=_gap(measurements[-1]) + steps.slack(rate, noise, beta),
        beta=beta,
    )


def _measure(
    steps: "Steps",
    hypothesis: DenseHypothesis,
    truth: IntVector,
    rate: Fraction,
    noise: ValueNoise,
    source: EntropySource,
) -> SensingMeasurement:
    """Steps 1 and 2 of a round."""
    estimates = hypothesis.estimate_all(steps.queries)
    limit = 2.0**_SUM_BITS
    public = np.rint(np.clip(estimates / steps.unit, -limit, limit)).astype(np.int64)
    gaps = truth - public
    index = exponential_choice(np.concatenate([gaps, -gaps]), rate, source) % len(truth)
    value = steps.unit * (int(truth[index]) + noise.draw(source))
    return SensingMeasurement(index=index, value=value, estimate=float(estimates[index]))


def _gap(measurement: SensingMeasurement) -> float:
    return abs(measurement.value - measurement.estimate)


@final
class Steps:
    """How answers are counted in whole public steps.

    Args:
        universe: users and items.
        queries: the list.
        cap: public largest rating.

    Attributes:
        queries: as given.
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
        if universe.size > _MOST_PAIRS:
            raise GraphError(f"sensing holds all pairs, up to {_MOST_PAIRS}: use fewer items")
        self.queries = tuple(queries)
        self.universe = universe
        largest = max(query.sensitivity(universe.space) for query in queries)
        if largest == 0:
            raise ParameterError("all queries are constant: there is nothing to measure")
        # A coefficient and a rating have fewer than 2^(bits + 1) steps each.
        bits = min(_MOST_BITS, (_SUM_BITS - universe.size.bit_length()) // 2 - 1)
        self._of_ratings = 2.0 ** (math.floor(math.log2(cap)) - bits)
        self._of_coefficients = 2.0 ** (math.floor(math.log2(largest)) - bits)
        self.unit = self._of_ratings * self._of_coefficients
        if not 0 < self.unit < math.inf:
            raise ParameterError("coefficients times weight_cap must be numbers of usual size")
        # Rounding is monotone: the largest coefficient has the most steps.
        most = math.floor(cap / self._of_ratings)
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

    def cost(self, rate: Fraction, noise: ValueNoise, rounds: int, delta: float) -> Cost:
        """Of so many choices of this rate and measurements with this noise."""
        choice = (2 * self.sensitivity * rate) ** 2 / 8
        measured = Fraction(self.sensitivity) ** 2 / (2 * noise.parameter)
        return Cost.of_rho(rounded_up(rounds * (choice + measured)), delta=delta)

    def slack(self, rate: Fraction, noise: ValueNoise, beta: float) -> float:
        """How far above the last gap an error may be, but for probability beta."""
        choices = 2 * len(self.queries)
        short = math.log(2 * choices / beta) / float(rate) + 1  # and the estimates' rounding
        return (self.unit * (noise.radius(beta / 2) + short) + self.rounding) * (1 + 1e-9)

    def _coefficients(
        self, query: LinearQuery, rows: npt.NDArray[np.int32], columns: npt.NDArray[np.int32]
    ) -> IntVector:
        """Of the pairs asked for, in steps."""
        found = query.coefficients_at(rows, columns, self.universe.space)
        return np.rint(found / self._of_coefficients).astype(np.int64)


@final
class _Learner:
    """The hypothesis and its corrections: everything here is public."""

    def __init__(self, steps: Steps, p: float | None) -> None:
        universe = steps.universe
        self._queries = steps.queries
        exponent = near_one(universe.size) if p is None else p
        # The same norm for p = 2, without singular values.
        self._psi: Potential = LpNorm(2.0) if exponent == 2 else SchattenNorm(exponent)
        # The Frobenius norm bounds the dual norm; only a check rests on it.
        self._zeta = math.sqrt(max(universe.norm_squared(query) for query in steps.queries))
        self._start = self.hypothesis = minimal_start(universe, self._psi)

    def learn(self, measurements: Sequence[SensingMeasurement], deviation: float) -> None:
        """Step 3: the newest measurement corrects, then all of them do a few times."""
        for made in [measurements[-1], *list(measurements) * _PASSES]:
            query = self._queries[made.index]
            gap = made.value - self.hypothesis.estimate(query)
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
                self.hypothesis = rule.update(self.hypothesis, query, sign)
