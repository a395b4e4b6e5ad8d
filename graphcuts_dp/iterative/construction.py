"""The iterative construction mechanism: find a query with a large error, measure it, learn from it.

`IterativeConstruction.run` is the algorithm. What it shares with the query release game is in
`rounds`, the numbers of rounds and the scales of noise are in `tuning`, and the ways to find a
query in `distinguisher` and `rank_one`.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from graphcuts_dp.errors import HypothesisError, ParameterError, QueryError
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.iterative.distinguisher import Distinguisher, Search, checked_graph
from graphcuts_dp.iterative.paper_tuning import PaperIterative
from graphcuts_dp.iterative.query_lists import CutList, QuestionList
from graphcuts_dp.iterative.release import MeasuredQuery
from graphcuts_dp.iterative.rounds import Outcome, RoundsMechanism
from graphcuts_dp.iterative.tuning import IterativeCalibration, IterativeTuning, measure_total
from graphcuts_dp.learn.base import DenseHypothesis, Hypothesis, Sign
from graphcuts_dp.learn.constructions import bound_of
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    Learner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.measure.statistics import PRIVATE_NORMS
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.resources import Progress, silent

_BISECTION_STEPS = 12  # on a total weight
# The first hypotheses of these learners weigh no more than the total weight.
_LEARNERS_OF_THE_TOTAL = (MultiplicativeWeightsLearner, FriezeKannanLearner, MirrorDescentLearner)


@final
@dataclass(frozen=True, kw_only=True)
class IterativeConstruction(RoundsMechanism):
    """DR14 Alg. 8 (GRU12 Alg. 3, Nik17 Alg. 1) with any distinguisher and any construction.

    1. Measure a noisy total weight, if it is private, and the noisy sum of root degrees, if the
       construction asks for it (`MirrorDescentLearner.measured_norm`); tune with them.
    2. In each of at most T rounds:
       a. the distinguisher finds a cut;
       b. it is counted, and discrete noise is added to its integer count;
       c. if the noisy gap is below the threshold, stop: the hypothesis is accurate;
       d. else the construction is corrected by the cut.
       Tunings without a threshold correct by every gap above the noise; if they state an error,
       the last round only measures the error of the result.
    3. After a round, earlier answers are used again, `refits` times: the one with the largest error
       corrects by the rule of 2d, which costs nothing. Without a threshold the total weight is one
       of these answers, if the construction accepts the cut of all pairs.
    4. A distinguisher that has kept a part of its budget for it certifies the result, once.

    Args:
        learner: the construction before it is tuned.
        distinguisher: with any budget; the calibration tunes it.
        total_weight: None measures a noisy total weight. A number, for audits and theorems, is used
            as it is: it must be fixed without reading the graph, since the guarantee does not cover
            a number that was computed from it. If the total is public, neighbours have one
            edge moved, which changes two pairs: by group privacy, the whole release then costs 2
            epsilon, 4 rho, or (2 epsilon, (1 + e^epsilon) delta).
        refits: corrections by earlier answers after a round, in 0..1000.

    Guarantee: the cost that `cost` states. Only steps 1, 2a, 2b and 4 (a part of the
        distinguisher's setup) read the graph: one count of sensitivity s grid units (and
        `PRIVATE_NORMS`) with noise of s^2/(2 v)-zCDP or (s r)-DP, at most T calls and as many such
        counts; everything else is computed from their results. They are chosen one after the
        other, and T is fixed after step 1: composition for adaptive choices. Whether a round stops
        is decided by noisy answers. The guarantee does not rest on B(alpha).
        Side channel: counting takes time proportional to the number of edges.

    Raises:
        ParameterError: a learner and a distinguisher over different vertices.
    """

    learner: Learner
    distinguisher: Distinguisher
    total_weight: float | None = None
    refits: int = 0

    def __post_init__(self) -> None:
        if self.learner.universe != self.distinguisher.universe:
            raise ParameterError("the construction and the distinguisher have other vertices")
        self._rounds_calibration.check_parameters()

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return self.learner.universe

    @property
    def name(self) -> str:
        """The name of the construction, with its norm unless that is l2."""
        norm = self.learner.norm if isinstance(self.learner, MirrorDescentLearner) else "l2"
        return self.learner.name if norm == "l2" else f"{self.learner.name}, norm {norm}"

    @property
    def distinguisher_name(self) -> str:
        """The name of the distinguisher."""
        return self.distinguisher.name

    @property
    def listed(self) -> CutList | QuestionList | None:
        """The public list in which queries are found; None if there is none."""
        listed: CutList | QuestionList | None = getattr(self.distinguisher, "queries", None)
        return listed

    @property
    def first_measurements(self) -> dict[str, int]:
        """See `RoundsMechanism.first_measurements`."""
        norm = getattr(self.learner, "measured_norm", None)
        return super().first_measurements | ({} if norm is None else {norm: PRIVATE_NORMS[norm][0]})

    def run(
        self, graph: AnyGraph, source: EntropySource, *, progress: Progress = silent
    ) -> Outcome:
        """See `RoundsMechanism.run`; the steps are those of the class."""
        checked_graph(graph, self.universe, self.grid)
        rounding = self.grid.rounding(self.universe.size) / self.unit
        if self.total_weight is None:
            total_weight, noise_error, remaining = measure_total(
                self.calibration, graph, self.grid, source
            )
            total_error = noise_error + rounding
        else:
            total_weight, total_error = self.total_weight / self.unit, rounding
            remaining = self.calibration
        learner: Any = self.learner
        norm = getattr(learner, "measured_norm", None)
        if norm is not None:
            sensitivity, measure = PRIVATE_NORMS[norm]
            noise, radius, _, remaining = remaining.split_budget(sensitivity)
            learner = learner.with_norm_bound(measure(graph, self.grid, noise, radius, source))
        tuning = self._tune(remaining, learner, total_weight, total_error)
        if isinstance(learner, MirrorDescentLearner):
            learner = learner.with_chosen_norm(
                alpha=tuning.alpha, total_weight=total_weight, total_error=total_error
            )
        construction = learner.construction(
            **_construction_terms(tuning, total_weight, total_error)
        )
        outcome = Outcome(
            hypothesis=construction.initial(),
            tuning=tuning,
            total_weight=total_weight,
            total_error=total_error,
            error=tuning.error,
        )
        search = tuning.distinguisher.begin(graph, source) if tuning.rounds else None
        mechanism = replace(self, learner=learner)
        while search is not None and outcome.used < tuning.rounds and outcome.stopped == "rounds":
            mechanism._round(outcome, search, graph, source)
            progress(outcome.used / tuning.rounds, f"round {outcome.used} of {tuning.rounds}")
        prove = getattr(search, "prove", None)
        if outcome.error is None and prove is not None:
            outcome.error = prove(self._in_weight(outcome), source) / self.unit
        elif outcome.error is not None and tuning.threshold is None:
            outcome.error += outcome.gap
        if self.listed is not None:
            for index, measured in enumerate(outcome.transcript):
                query, factor = self.listed.public_query(measured.query)
                outcome.transcript[index] = replace(
                    measured, query=query, value=measured.value * factor
                )
        return outcome

    def check_rounds(self) -> None:
        """Refuse a release that would run no round on any graph of this size.

        Computed from public numbers, before anything is spent.

        Raises:
            ParameterError: its first tolerance is above every possible error.
        """
        if not self._runs_a_round(float(self.universe.size)):
            raise ParameterError(
                "this calibration would run no round on any graph of this size, since its tolerance"
                " is above every possible error; use 'practical' or 'tight', set rounds, or take"
                " more epsilon"
            )

    def rounds_warning(self) -> str | None:
        """Return a warning if only graphs of many edges have a round, or no bound holds; or None.

        "Many" means more than half of the largest total weight. The printed bounds on updates grow
        with the total weight, so rounds are run from some total weight on, which is found by
        bisection. Computed from public numbers.
        """
        size = float(self.universe.size)
        void = self.tuning_at(size / 2).void_reason if self.calibration.parameters.chosen else None
        if void is not None:
            return f"no bound holds for these values if the total weight is half of all: {void}"
        if not isinstance(self._rounds_calibration, PaperIterative) or self._runs_a_round(size / 2):
            return None
        low, high = size / 2, size
        for _ in range(_BISECTION_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._runs_a_round(middle) else (middle, high)
        return (
            "this calibration runs a round only if the total weight is above"
            f" {low * self.unit:,.4g} of {size * self.unit:,.4g}; else all pairs get the same"
            " weight, for the whole budget"
        )

    def tuning_at(self, total_weight: float) -> IterativeTuning:
        """Return the tuning for a graph of this total weight, from public numbers alone.

        Args:
            total_weight: in units; a run uses a noisy one.

        Raises:
            ParameterError: no tuning is possible.
        """
        error = 0.0
        if self.total_weight is None:
            error = self.calibration.split_budget(self.grid.sensitivity)[1] / self.grid.sensitivity
        return self._tune(self._rounds_calibration, self.learner, total_weight, error)

    def notes_at(self, total_weight: float) -> list[str]:
        """Return sentences on the numbers of a run on a graph of this total weight, in units."""
        tuning = self.tuning_at(total_weight)
        about = f"for a total weight of {total_weight * self.unit:,.6g}"
        if not tuning.rounds or tuning.noise is None:
            return [f"No round would run {about}: the start is within the tolerance."]
        values = {"rounds": tuning.rounds, "sigma": self._noise_scale(tuning)}
        if tuning.threshold is not None:
            values |= {"alpha": tuning.alpha, "threshold": tuning.threshold}
        text = ",".join(f"{name}={value!r}" for name, value in values.items())
        return [f"Its parameters, {about}: {text}."]

    def _round(
        self, outcome: Outcome, search: Search, graph: AnyGraph, source: EntropySource
    ) -> None:
        """Run steps 2 and 3 once."""
        tuning = outcome.tuning
        outcome.used += 1
        query: Any = search.find(self._in_weight(outcome), source).query
        value = self._measure(tuning, query, graph, source)
        outcome.gap = abs(value - outcome.hypothesis.estimate(query))
        if tuning.threshold is not None:
            learns = outcome.gap >= tuning.threshold
            outcome.stopped = "rounds" if learns else "accurate"
        else:
            learns = tuning.error is None or outcome.used < tuning.rounds
        updated = learns and self._correct(outcome, query, value)
        outcome.transcript.append(
            MeasuredQuery(round=outcome.used, query=query, value=value * self.unit, updated=updated)
        )
        if learns:
            self._refit(outcome)

    def _measure(
        self, tuning: IterativeTuning, query: Any, graph: AnyGraph, source: EntropySource
    ) -> float:
        """Return the noisy answer of step 2b, in units."""
        if self.listed is not None:
            count = self.listed.true_count(query, graph, self.grid)
        elif isinstance(query, CutQuery):
            count = self.grid.count(query, graph)
        else:
            raise QueryError("the distinguisher found another query than a cut; let it find cuts")
        noise = cast(ValueNoise, tuning.noise)  # a tuning with rounds has one
        return float(Fraction(count + noise.draw(source), self.grid.sensitivity))

    def _correct(self, outcome: Outcome, query: Any, value: float) -> bool:
        """Run step 2d if the gap is large enough; return whether the hypothesis was corrected."""
        tuning, gap = outcome.tuning, value - outcome.hypothesis.estimate(query)
        sign: Sign = 1 if gap > 0 else -1
        terms = _construction_terms(tuning, outcome.total_weight, outcome.total_error)
        measured_value: float | None = value
        if tuning.threshold is None:
            step = abs(gap) - tuning.value_error
            if step <= tuning.value_error / 100:
                return False
            # Nothing proven rests on the step, so the total weight is taken at its value.
            terms = {"alpha": step, "total_weight": outcome.total_weight, "total_error": 0.0}
            measured_value = None
        elif abs(gap) < tuning.threshold:
            return False
        try:
            rule = self.learner.construction(**terms)
            outcome.hypothesis = rule.update(outcome.hypothesis, query, sign, measured_value)
        except HypothesisError:
            return False  # a cut without pairs, whose answer was all noise
        return True

    def _refit(self, outcome: Outcome) -> None:
        """Run step 3: correct by earlier answers, the one with the largest error first."""
        queries = [measured.query for measured in outcome.transcript]
        values = np.array([measured.value for measured in outcome.transcript]) / self.unit
        all_pairs = CutQuery(*(np.ones(side, dtype=np.bool_) for side in self.universe.shape))
        check = getattr(self.learner, "check", None)
        with suppress(QueryError):  # the learner does not accept the cut of all pairs
            if outcome.tuning.threshold is None:
                if check is not None:
                    check(all_pairs)
                queries, values = [*queries, all_pairs], np.append(values, outcome.total_weight)
        for _ in range(self.refits):
            errors = np.abs(values - outcome.hypothesis.estimate_all(queries))
            worst = int(np.argmax(errors))
            if not self._correct(outcome, queries[worst], float(values[worst])):
                break

    def _in_weight(self, outcome: Outcome) -> Hypothesis:
        """Return the current hypothesis in weight; that of a run is in units."""
        if self.unit == 1:
            return cast(Hypothesis, outcome.hypothesis)
        return DenseHypothesis(self.universe, outcome.hypothesis.dense() * self.unit)

    def _tune(
        self,
        calibration: IterativeCalibration,
        learner: Learner,
        total_weight: float,
        total_error: float,
    ) -> IterativeTuning:
        """Return the tuning of the rounds, from public numbers in units."""
        return calibration.tune(
            self._update_bound(total_weight, total_error, learner),
            self.distinguisher,
            unit_weight=self.unit,
            sensitivity=self.grid.sensitivity,
        )

    def _update_bound(
        self, total_weight: float, total_error: float, learner: Learner
    ) -> Callable[[float], float]:
        """Return B of a tolerance in units: 0 if no error can be so large, infinite if unproven."""
        # The largest difference between the answers of the start and of the truth, in units.
        largest_error = float(self.universe.size)  # both weigh at most 1 on each pair
        if isinstance(learner, _LEARNERS_OF_THE_TOTAL):
            signed = self.listed is not None and self.listed.signed
            largest_error = (total_weight + total_error) * (2 if signed else 1)
        update_bound = bound_of(
            learner, alpha=largest_error + 1, total_weight=total_weight, total_error=total_error
        )

        def bound(alpha: float) -> float:
            if alpha > largest_error:
                return 0.0
            try:
                return update_bound(alpha)
            except ParameterError:
                return math.inf  # the error of the total weight allows no tolerance so fine

        return bound

    @property
    def _rounds_calibration(self) -> IterativeCalibration:
        """The calibration with the budget that the first measurements leave for the rounds."""
        remaining = self.calibration
        if self.total_weight is None:
            for sensitivity in self.first_measurements.values():
                remaining = remaining.split_budget(sensitivity)[3]
        return remaining

    def _runs_a_round(self, total_weight: float) -> bool:
        """Return whether a graph of this total weight, in units, gets a round."""
        if not isinstance(self._rounds_calibration, PaperIterative):
            return True  # other calibrations have at least one
        return self.tuning_at(total_weight).rounds > 0

    def _noise_scale(self, tuning: IterativeTuning) -> float:
        """Return sigma in units: a Gaussian deviation, or the scale of Laplace noise."""
        noise = cast(ValueNoise, tuning.noise)
        scale = float(noise.parameter)
        scale = math.sqrt(scale) if noise.distribution == "gaussian" else 1 / scale
        return scale / self.grid.sensitivity


def _construction_terms(
    tuning: IterativeTuning, total_weight: float, total_error: float
) -> dict[str, Any]:
    """Return the arguments of `Learner.construction`."""
    return {
        "alpha": tuning.alpha,
        "total_weight": total_weight,
        "total_error": total_error,
        "value_error": tuning.value_error,
    }
