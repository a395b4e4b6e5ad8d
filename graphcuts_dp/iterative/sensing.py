"""Sensing: linear queries on a private matrix of ratings, and a matrix that is learned from them.

`Sensing` has the options, `SensingPlan` draws all choices and noise, and `SensingLearner` learns by
Schatten mirror descent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import GraphError
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.iterative.accuracy import Accuracy
from graphcuts_dp.iterative.answer_grid import AnswerGrid, QueryBlocks, plain_queries
from graphcuts_dp.iterative.query_digests import Digests
from graphcuts_dp.iterative.release import TABLE, IterativeRelease, MeasuredQuery, Settings
from graphcuts_dp.iterative.task import Task
from graphcuts_dp.learn.base import DenseHypothesis, Sign
from graphcuts_dp.learn.potentials import LpNorm, Potential, SchattenNorm, near_one
from graphcuts_dp.learn.rules import MirrorDescentRule, minimal_start
from graphcuts_dp.options import Checked, option
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.choices import exponential_choice
from graphcuts_dp.privacy.composition import Cost, rounded_up, zcdp_rho
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.queries.coefficients import Extent
from graphcuts_dp.release.job import Job
from graphcuts_dp.resources import Progress, silent

TEST_SHARE = Fraction(1, 2)  # of the budget, for the last round: the stated error rests on it
_DEFAULT_ROUNDS = 10  # if the user sets none
_PASSES = 2  # extra passes over all earlier answers after each round, which cost nothing
_FEW_ANSWERS = 200  # if all queries are measured, extra passes are made over at most so many


@final
@dataclass(frozen=True, kw_only=True)
class Sensing(Checked):
    """Answer a public list of linear queries on a private matrix, and learn a matrix from them.

    In each round:
    1. Choose a query of the list on which the error of the hypothesis is nearly the largest, and
       the sign of the error (`exponential_choice` among all queries with both signs).
    2. Measure it: its whole answer plus discrete Gaussian noise.
    3. Correct the hypothesis by Schatten-p mirror descent, as far as the gap exceeds the noise; let
       earlier measurements correct it again. The last round only tests, with half of the budget,
       since all guarantees about the answers rest on it.
    Or measure every query of the list once, with noise for the change of the whole list by one
    rating; the hypothesis learns from these values, which are the guaranteed answers. That is
    better for few queries, and for any number of sums without a common rating.

    Attributes:
        rounds: number of queries that are chosen and measured, 1 to 10,000. None: every query is
            measured if that guarantees less error than 10 rounds, and 10 are chosen otherwise.
        p: exponent of the Schatten norm, in (1, 2]; 2 is the Frobenius norm, which is better if
            queries are of rank one. None: ln(mn)/(ln(mn) - 1), better for queries whose singular
            values are spread, on matrices of low rank.
        expected_ratings: a public guess of the number of ratings, for the warning only.

    Raises:
        ParameterError: a number out of range, no query, queries that are all constant, or ratings
            without a public bound.
        GraphError: not a bipartite graph, or one of more than 2^25 pairs.

    Warns:
        AccuracyWarning: before anything is spent, if the guaranteed error is no smaller than that
            of answers without data: the middle of the possible answers of each query, or, with
            `expected_ratings`, 0.

    Guarantee: (epsilon, delta)-DP for one rating, by rho-zCDP; only steps 1 and 2 read the ratings.
    Queries are read once, from the public vertices (`plain_query`), so that a query of the user's
    own class cannot change the noise.
    Ratings are rounded down to public units and coefficients to the nearest public unit, so that
    answers are whole. Neighbours differ in one rating by at most `cap` in its units, hence in each
    answer by at most Delta = (largest coefficient) cap units, upwards for some queries and
    downwards for others. Of r rounds that share rho, each choice, of rate eta/(2 Delta), is
    eta^2/8-zCDP, each measurement, of variance Delta^2 r/rho, is rho/(2 r)-zCDP, and
    eta^2/8 <= rho/(2 r). If all queries are measured, one rating changes the vector of all
    answers by a length of at most D = cap sqrt(max over pairs of the sum over queries of squared
    coefficients); independent noise of variance v on each answer is D^2/(2 v)-zCDP.
    Accuracy: `Accuracy.error`: the last gap, plus a bound on what its noise, the choice and
    rounding add; or the noise of the measured values, in a union bound. Mirror descent needs at
    most B(alpha) corrections by queries whose error is alpha (`learn.rules`). It needs fewer for p
    near 1 than for p = 2 if queries are spread and (rank of the matrix) ln(mn) is well below the
    smaller side, which takes large matrices.

    Source: JT12 section 4.2; DR14 Alg. 8 in place of JT12's online test; Hardt, Ligett, McSherry
    2012 (all rounds are used, the last one tests). Correction: the potential's ball is left out,
    since its radius would be private.

    Examples:
        >>> stars = [3.0, 5.0]
        >>> ratings = gc.BipartiteGraph([0, 1], [1, 0], stars, left=2, right=2, max_weight=5.0)
        >>> sums = [gc.Query.rank_one([1, 1], [1, 0])]
        >>> sensing = gc.Sensing()
        >>> release = gc.release_iteratively(
        ...     ratings, sums, epsilon=2.0, delta=1e-6, construction=sensing
        ... )
        >>> release.guarantee.epsilon
        2.0
    """

    rounds: int | None = option(
        None,
        help="Number of queries that sensing chooses and measures; if omitted, either ten or, "
        "without a choice, all: whichever guarantees the smaller error.",
        least=1,
        most=10_000,
    )
    p: float | None = option(
        None, help="Exponent of the Schatten norm of sensing: 2 (Frobenius) or near 1."
    )
    expected_ratings: float | None = option(
        None, help="A public guess of the number of ratings, only for a warning.", above=0.0
    )
    files: ClassVar[str] = TABLE

    def job(self, task: Task) -> Job[IterativeRelease]:
        """Return the job of all choices and measurements.

        Args:
            task: the private data's schema, the queries and the budget.
        """
        ratings = task.graph
        if not isinstance(ratings, BipartiteGraph):
            raise GraphError("ratings are a BipartiteGraph: users on the left, items on the right")
        task.privacy_unit.per_change(task.epsilon)
        rho = (
            Fraction(zcdp_rho(epsilon=task.epsilon, delta=task.delta))
            / task.privacy_unit.group_size**2
        )
        queries = plain_queries(task.public_queries("sensing"), ratings.space)
        grid = AnswerGrid(task.universe, queries, task.grid.cap or 1.0)
        plan = SensingPlan.of(grid, rho, self.rounds, task.beta)
        SensingLearner(grid, self.p)  # refuses here, before anything is spent

        def measure(
            graph: Any, source: EntropySource, progress: Progress
        ) -> tuple[list[MeasuredQuery], DenseHypothesis]:
            learner = SensingLearner(grid, self.p)  # a new one: runs share no state
            measured = plan.run(learner, grid.count(graph), source, progress)
            return measured, learner.hypothesis

        def release(
            result: tuple[list[MeasuredQuery], DenseHypothesis], guarantee: PrivacyGuarantee
        ) -> IterativeRelease:
            measured, hypothesis = result
            measures_all = plan.measures_all
            return IterativeRelease(
                universe=task.universe,
                guarantee=guarantee,
                accuracy=Accuracy(
                    error=plan.fixed_error + (0.0 if measures_all else _gap(measured[-1])),
                    confidence=task.confidence,
                    queries="measured" if measures_all else "listed",
                    deviation=plan.deviation,
                ),
                settings=Settings(
                    construction="sensing",
                    distinguisher="every query" if measures_all else "exponential",
                    rounds=plan.rounds,
                    used=plan.rounds,
                ),
                hypothesis=hypothesis,
                transcript=tuple(measured),
                cap=grid.cap,
                listed=Digests.of(grid.queries, task.universe),
            )

        return task.job(
            kind="sensing",
            parameters={"rounds": plan.rounds},
            plan=BudgetPlan.of_one("rounds", "discrete Gaussian", plan.cost(task.delta)),
            public="the queries" + (", the cap" if ratings.weighted else ""),
            measure=measure,
            release=release,
            warning=plan.warning(self.expected_ratings),
        )


@final
@dataclass(frozen=True, kw_only=True)
class SensingPlan:
    """The choices and measurements of a private matrix, with their noise. All of it is public.

    Attributes:
        grid: the grid of the answers.
        draws: (rate of the choice, noise of the measurement) of each round, the last of which is
            the test; if all queries are measured, one pair with rate 0 and their noise.
        measures_all: whether every query of the list is measured, and none is chosen.
        beta: probability that the guarantee about answers fails.
    """

    grid: AnswerGrid
    draws: tuple[tuple[Fraction, ValueNoise], ...]
    measures_all: bool = False
    beta: float

    @classmethod
    def of(cls, grid: AnswerGrid, rho: Fraction, rounds: int | None, beta: float) -> "SensingPlan":
        """Return the plan for a budget.

        If `rounds` is None, it measures all queries or chooses some: whichever guarantees less
        error.

        Args:
            grid: the grid of the answers.
            rho: zCDP budget of all draws.
            rounds: see `Sensing`.
            beta: see the class.
        """
        if rounds is None:
            chosen, noise = cls.of(grid, rho, _DEFAULT_ROUNDS, beta), grid.noise_for_all(rho)
            if noise is None:
                return chosen
            all_measured = cls(
                grid=grid, draws=((Fraction(0), noise),), measures_all=True, beta=beta
            )
            return all_measured if all_measured.fixed_error <= chosen.fixed_error else chosen
        if rounds == 1:
            return cls(grid=grid, draws=(grid.noise(rho, 1),), beta=beta)
        rho_of_learning = rho * (1 - TEST_SHARE)
        test = grid.noise(rho - rho_of_learning, 1)
        learning = [grid.noise(rho_of_learning, rounds - 1)] * (rounds - 1)
        return cls(grid=grid, draws=(*learning, test), beta=beta)

    @property
    def rounds(self) -> int:
        """The number of queries that are chosen; 0 if all are measured."""
        return 0 if self.measures_all else len(self.draws)

    def cost(self, delta: float) -> Cost:
        """Return the cost of all choices and measurements, from their rates and noise."""
        Delta, rho = self.grid.sensitivity, Fraction(0)
        squared = self.grid.squared_sensitivity if self.measures_all else Delta**2
        for rate, noise in self.draws:
            rho += (2 * Delta * rate) ** 2 / 8 + Fraction(squared) / (2 * noise.parameter)
        return Cost.of_rho(rounded_up(rho), delta=delta)

    @property
    def deviation(self) -> float:
        """The largest standard deviation of the noise on a measurement, in weight."""
        return self.grid.unit * math.sqrt(max(noise.parameter for _, noise in self.draws))

    @property
    def fixed_error(self) -> float:
        """The part of the guaranteed error that is known beforehand: all of it but the last gap."""
        (rate, noise), queries = self.draws[-1], len(self.grid.queries)
        if not self.measures_all:
            return self.grid.error_less_gap(rate, noise, self.beta, queries=queries)
        return self.grid.radius(noise, self.beta / queries)

    def warning(self, expected_ratings: float | None) -> str | None:
        """Return a sentence if no better error is guaranteed than without data, or None."""
        extents = [Extent.of(query, self.grid.universe.space) for query in self.grid.queries]
        cap = self.grid.cap
        error = max(cap * extent.absolute_sum / 2 for extent in extents)
        guess = "the middle of what it can be"
        if expected_ratings is not None:
            largest = max(extent.largest for extent in extents)
            error_of_zero = min(
                cap * largest * float(expected_ratings),
                max(cap * max(extent.negative, extent.positive) for extent in extents),
            )
            if error_of_zero < error:
                error, guess = error_of_zero, "0"
        if self.fixed_error < error:
            return None
        return (
            "worthless at this size: the guaranteed error is"
            f" {up_to_digits(self.fixed_error, 4):,.4g}, but that of answering each query by"
            f" {guess} is at most {error:,.4g}; use more epsilon, larger groups, or fewer queries"
        )

    def run(
        self, learner: "SensingLearner", truth: IntVector, source: EntropySource, progress: Progress
    ) -> list[MeasuredQuery]:
        """Draw all choices and noise, and let the learner learn from them.

        Args:
            learner: it holds public numbers alone.
            truth: true answers in units, see `AnswerGrid.count`. Private.
            source: where the noise comes from.
            progress: called after each round.
        """
        if self.measures_all:
            return self._measure_all(learner, truth, source, progress)
        grid, measured = self.grid, list[MeasuredQuery]()
        for number, (rate, noise) in enumerate(self.draws, 1):
            estimates = learner.estimates()
            gaps = truth - grid.in_units(estimates)
            index = exponential_choice(np.concatenate([gaps, -gaps]), rate, source) % len(truth)
            value = grid.unit * (int(truth[index]) + noise.draw(source))
            learns, estimate = number < self.rounds, float(estimates[index])
            measured.append(
                MeasuredQuery(
                    round=number, query=index, value=value, updated=learns, estimate=estimate
                )
            )
            if learns:
                deviation = grid.unit * math.sqrt(noise.parameter)
                learner.learn([measured[-1], *measured * _PASSES], deviation)
            progress(number / self.rounds, f"round {number}: a gap of {_gap(measured[-1]):.3g}")
        return measured

    def _measure_all(
        self, learner: "SensingLearner", truth: IntVector, source: EntropySource, progress: Progress
    ) -> list[MeasuredQuery]:
        """Measure every query of the list, and learn from all values."""
        _, noise = self.draws[0]
        measured = [
            MeasuredQuery(
                round=1,
                query=index,
                value=self.grid.unit * (count + noise.draw(source)),
                updated=True,
            )
            for index, count in enumerate(truth.tolist())
        ]
        passes = 1 + (_PASSES if len(measured) <= _FEW_ANSWERS else 0)
        learner.learn(measured * passes, self.deviation, progress)
        return measured


@final
class SensingLearner:
    """The hypothesis of sensing and its corrections: everything here is public.

    Args:
        grid: the grid of the answers, with the list of queries.
        p: see `Sensing`.
    """

    def __init__(self, grid: AnswerGrid, p: float | None) -> None:
        universe = grid.universe
        self._blocks = QueryBlocks.of(grid.queries, universe)
        exponent = near_one(universe.size) if p is None else p
        # For p = 2 the same norm, computed without singular values.
        self._psi: Potential = LpNorm(2.0) if exponent == 2 else SchattenNorm(exponent)
        # The Frobenius norm bounds the dual norm; only a check rests on it.
        self._zeta = math.sqrt(max(universe.norm_squared(query) for query in grid.queries))
        self._start = self._hypothesis = minimal_start(self._blocks.universe, self._psi)

    @property
    def hypothesis(self) -> DenseHypothesis:
        """The current hypothesis, on all pairs."""
        return self._blocks.expand(self._hypothesis)

    def estimates(self) -> FloatVector:
        """Return the hypothesis's answer to each query of the list."""
        return self._hypothesis.estimate_all(self._blocks.queries)

    def learn(
        self, order: Sequence[MeasuredQuery], deviation: float, progress: Progress = silent
    ) -> None:
        """Correct the hypothesis by each measurement in turn (step 3 of `Sensing`).

        Args:
            order: the measurements, some of them perhaps several times.
            deviation: of their noise, in weight.
            progress: called after each correction.
        """
        for number, measured in enumerate(order, 1):
            self._correct(measured, deviation)
            progress(number / len(order), "learning")

    def _correct(self, measured: MeasuredQuery, deviation: float) -> None:
        """Correct the hypothesis by a measurement, as far as the gap exceeds the noise."""
        query = self._blocks.queries[measured.query]
        gap = measured.value - self._hypothesis.estimate(query)
        # A step longer than the true gap could lead away from the truth.
        step = abs(gap) - deviation
        if step > deviation / 100:
            rule = MirrorDescentRule(
                start=self._start,
                psi=self._psi,
                alpha=step,
                zeta=self._zeta,
                start_potential=0.0,
            )
            sign: Sign = 1 if gap > 0 else -1
            self._hypothesis = rule.update(self._hypothesis, query, sign)


def _gap(measured: MeasuredQuery) -> float:
    """Return the difference between a noisy answer and the estimate before it, in weight."""
    return abs(measured.value - measured.estimate)
