"""Decisions of a release: what public results of earlier steps say about later steps of its plan.

A budget plan (`synth.budget_plans`) states conditions by name, such as "entries show communities".
A `Decisions` object records each measurement as it is made, and answers the conditions from them,
each once. Nothing here reads private data. Answers may depend on any earlier result: sequential
composition holds for adaptive choices.

`MatrixDecisions`, for releases with a noisy matrix, mostly decides on the share of the degrees.
Three facts matter:

- the signal: the largest eigenvalue that communities of a graph with this total weight can have.
  Communities are detectable in the entries if it exceeds the detection threshold of the noise
  (`MatrixShares.detection_threshold`), by a factor that is tuned below;
- whether degrees are even: if they differ less than their noise, measuring them is a waste;
- whether public groups are informative: whether sums between them differ from what their volumes
  (sums of degrees) alone lead to expect.

A look at degrees is an early measurement of them with a small share. It shows whether they are
even; a second look refines it, and both together cost the share of the second. No interval is made
of numbers that a decision has looked at: `Decisions` knows which these are (`has_seen`), and
`estimate.usable_sums` what answers use instead. `SparseDecisions`
(`synth.sparse_decisions`) is for sparse releases.

A `CountMeasurement` holds noisy sums. Its `map` says what is summed: the whole matrix (`Total`),
degrees (`Degrees`), or cells between groups (`CellSums`). `steps` is a tuple of arrays of released
integers, in grid units: a single array, or for degrees of directed and bipartite graphs one for the
rows and one for the columns. `values` are the steps times `unit`, the weight of a grid unit. `law`
is the law of the noise of a value. The noise is Laplace noise; a noise of k grid units has a
probability proportional to e^(-rate |k|).

In a graph without directions the total and the volumes count each edge twice, as sums over the
whole matrix do; a cell sum counts each pair once.

`MatrixShares` (`synth.budget_plans`) has what is known from public facts alone:

- `shape` of the matrix, and the public `largest_weight` of a pair;
- shares that the plan offers: of the `total`, and of degrees `beside_entries` that are likely to
  show communities, or if communities are `undetectable`;
- for an epsilon of the entries: the `deviation` of the noise of one, the `detection_threshold`, and
  whether `entries_are_fine`, so that no degrees are needed beside them.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.base import Measurement
from graphcuts_dp.estimate.measurement import (
    CellSums,
    CountMeasurement,
    Degrees,
    MeasurementMap,
    NonlinearCounts,
    Total,
)
from graphcuts_dp.privacy.budget_plan import BudgetStep
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.schema.groups import Sides
from graphcuts_dp.synth import budget_plans
from graphcuts_dp.synth.budget_plans import (
    DEGREES,
    GROUPS,
    STRUCTURE,
    TOTAL,
    UNEVENNESS,
    MatrixShares,
)
from graphcuts_dp.synth.detected_structure import StructureSetting, chosen_share
from graphcuts_dp.synth.group_sums import CellEstimates

# Thresholds of `MatrixDecisions` were tuned on the graphs called "tuning" in
# scripts/bench/baseline_graphs.py at epsilon .5, 1 and 2, and then checked on the other graphs
# there (bench_baselines.py).
# Factors of the detection threshold that the signal must reach:
_SIGNAL_ALONE = 1.6  # entries with all of epsilon may show communities
_CLEAR_SIGNAL = 1.9  # they do, unless the communities are many
_SIGNAL_BESIDE_DEGREES = 2.2  # entries are likely to show them with their share beside degrees
_SIGNAL_BESIDE_UNEVEN = 1.75  # the same, if degrees are so uneven that they are worth a share
# Degrees are even if their spread is below this factor of the noise of row sums of entries.
_EVEN_IF_CLEAR = 0.75  # if the signal is clear
_EVEN_IF_UNCLEAR = 0.5  # otherwise
# In dense graphs the signal is the number of missing neighbours of a vertex over this factor. For
# the mean degree d, k communities that are nearly full have eigenvalues of up to (n - d)/(k - 1);
# the factor 2 stands for k = 3.
_MISSING_NEIGHBOURS = 2.0
_SAME_SHARE = Fraction(1, 20)  # shares of degrees that differ by no more count as the same
# Spreads of true degrees that `spread` tries, over the scale of their noise.
_SPREADS = np.geomspace(0.02, 50.0, 80)
# A degree is uncertain if, given its noisy value, it deviates by more than this times the root of
# the mean degree.
_UNCERTAIN = 1.1
# Sums between groups may replace a measured total if the mean degree that they tell errs by at most
# this part of the detection threshold, and looks at degrees will decide anyway.
_CLOSE = 0.1

# Of `informative_groups`:
_INFORMATIVE = 0.1  # share of all weight that lies elsewhere than volumes lead to expect
_DOUBT = 0.01  # posterior probability of no structure below which structure is believed
# E|g|/2 = .4 for a normal g. Half, because the weight that one cell has too much is the same weight
# that another one lacks.
_DISPLACED = 0.4
_LEAST_STRENGTH, _LARGEST_STRENGTH, _STRENGTHS = 1e-2, 1e2, 40  # grid of the strength b
_LEAST_EXPECTED = 0.25  # of the largest weight: least expected weight of a cell
_ERFCX_OVERFLOW = 20.0  # for y below minus this, erfcx(y) is 2 e^(y^2) to all digits
_BALANCING_ROUNDS = 20  # of scaling rows and columns to their sums


class DegreeChoice(Enum):
    """The choice of the share of degrees beside the entries.

    The conditions `BESIDE_ENTRIES` and `ENTRIES_SHOW_NOTHING` of a plan are met if the final choice
    is the one of the same name. Where a plan has a fixed share of degrees, both stand for this one.
    """

    NONE = "no degrees beyond a look"
    BESIDE_ENTRIES = "the share beside entries that are likely to show communities"
    ENTRIES_SHOW_NOTHING = "the share if communities are undetectable in the entries"
    UNDECIDED = "a look at degrees, or a finer one, decides"


class Decisions(ABC):
    """The public results of a release so far, and the answers to the conditions of its plan.

    Args:
        groups: public groups whose sums are measured, those of the rows and those of the columns
            (one object twice if these are the same vertices); None if absent.

    Attributes:
        measured: latest measurement of each statistic, by the statistic's name, in the order of
            measuring.

    Privacy: reads recorded measurements alone, which are public once they are made. Sequential
        composition holds for adaptive choices: whatever the answers, a release costs what the steps
        that run cost together, at most the amount of its plan.
    """

    def __init__(self, groups: Sides | None) -> None:
        self.measured: dict[str, Measurement] = {}
        self._groups = groups
        self._answers: dict[str, bool] = {}  # by the name of the condition
        self._first_looks: dict[str, Measurement] = {}  # the first measurement of each statistic
        self._seen: dict[str, Measurement] = {}  # the last one that a decision has looked at

    @property
    def sides(self) -> Sides | None:
        """The groups whose sums are measured; None if absent."""
        return self._groups

    def threshold(self, distribution: LaplaceNoise) -> int:
        """Return the threshold of kept edges, in grid units of the distribution of their noise.

        Raises:
            LookupError: the release keeps no edges.
        """
        raise LookupError(f"no edges are kept with noise {distribution.name}")

    def test_setting(self) -> StructureSetting:
        """Return the public setting of the structure test, from what is measured before it.

        Raises:
            LookupError: the release makes no such test.
        """
        raise LookupError("no structure is tested")

    def record(self, statistic: str, measurement: Measurement) -> None:
        """Record a measurement. It replaces earlier ones of the same statistic."""
        self._first_looks.setdefault(statistic, measurement)
        self.measured[statistic] = measurement

    def has_seen(self, statistic: str) -> bool:
        """Return whether a decision has looked at the latest measurement of a statistic."""
        return self._seen.get(statistic) is self.measured[statistic]

    def are_met(self, step: BudgetStep) -> bool:
        """Return whether all conditions of a step are met.

        A condition has a name, and states that its answer is True or False (`holds`). It is
        answered when a step first asks for it, from what is recorded then; the answer stays.
        """
        return all(self._holds(condition.name) == condition.holds for condition in step.conditions)

    def may_be_met(self, step: BudgetStep) -> bool:
        """Return whether no answer so far excludes a step."""
        return all(
            self._answers[condition.name] == condition.holds
            for condition in step.conditions
            if condition.name in self._answers
        )

    def share(self, step: BudgetStep) -> Fraction:
        """Return the share that a step gets; the only one, unless a subclass chooses."""
        (share,) = step.shares
        return share

    def _holds(self, condition: str) -> bool:
        if condition not in self._answers:
            self._answers[condition] = self._answer(condition)
        return self._answers[condition]

    @abstractmethod
    def _answer(self, condition: str) -> bool:
        """Return whether earlier results show what a condition states.

        Raises:
            LookupError: the condition is unknown.
        """

    def _counts(
        self, statistic: str, map_kind: type[MeasurementMap], *, first: bool = False
    ) -> CountMeasurement[Any]:
        """Return the recorded measurement of a statistic that counts something, for a decision.

        All decisions read counts here, so that it is known what they have looked at.

        Args:
            statistic: name of the statistic.
            map_kind: class of the measurement's map: `Total`, `Degrees`, ...
            first: whether to return the first measurement of the statistic, before refinements.

        Raises:
            KeyError: the statistic is not recorded.
            TypeError: its measurement has no map of this class.
        """
        measurement = (self._first_looks if first else self.measured)[statistic]
        if isinstance(measurement, CountMeasurement) and isinstance(measurement.map, map_kind):
            self._seen[statistic] = measurement
            return measurement
        raise TypeError(f"{statistic} were measured as something else")


class MatrixDecisions(Decisions):
    """The decisions of a release with a noisy matrix.

    Not final: an audit has a subclass that always looks at degrees.

    Args:
        shares: of degrees and total.
        epsilon: privacy parameter of the whole release.
        groups: public groups whose sums are measured; None if absent.
    """

    def __init__(
        self, shares: MatrixShares, epsilon: Fraction, groups: Sides | None = None
    ) -> None:
        super().__init__(groups)
        self.shares = shares
        # What the total leaves of epsilon. What a first look at groups has cost is ignored, so
        # that groups that turn out uninformative change no decision.
        self._left_by_total = epsilon * (1 - shares.total)

    def _answer(self, condition: str) -> bool:
        # The plan asks in an order in which each case finds the measurements that it reads.
        match condition:
            case budget_plans.GROUPS_INFORMATIVE:
                sums = self._counts(GROUPS, CellSums)
                return informative_groups(sums, self.shares.largest_weight)
            case budget_plans.TOTAL_UNKNOWN:
                return self._total_of_groups is None
            case budget_plans.UNDECIDED_BY_TOTAL:
                return self._choice_from_total is DegreeChoice.UNDECIDED
            case budget_plans.UNDECIDED_BY_LOOK:
                return self._choice_from_first_look is DegreeChoice.UNDECIDED
            case budget_plans.BESIDE_ENTRIES:
                return self._final_choice is DegreeChoice.BESIDE_ENTRIES
            case budget_plans.ENTRIES_SHOW_NOTHING:
                return self._final_choice is DegreeChoice.ENTRIES_SHOW_NOTHING
            case budget_plans.DEGREES_HELP:
                return self._tested_share > 0
            case budget_plans.DEGREES_UNCERTAIN:
                return self.degrees_are_uncertain(self._counts(DEGREES, Degrees))
        raise LookupError(f"no decision is called {condition!r}")

    def share(self, step: BudgetStep) -> Fraction:
        """See `Decisions.share`: that of the degrees follows from the tests if it is open."""
        return self._tested_share if step.shares[1:] else super().share(step)

    def test_setting(self) -> StructureSetting:
        """See `Decisions.test_setting`."""
        if self.shares.tested is None:
            return super().test_setting()
        return StructureSetting.of(self.shares.tested, self._total / self.shares.largest_weight)

    @cached_property
    def _tested_share(self) -> Fraction:
        """The share of the degrees that the structure test and their unevenness choose."""
        left = self._left_by_total / (1 - self.shares.total) * self.shares.left_by_tests
        largest = self.shares.largest_weight
        structure, unevenness = (
            float(self._counts(statistic, NonlinearCounts).values[0][0])
            for statistic in (STRUCTURE, UNEVENNESS)
        )
        return chosen_share(
            self.test_setting(),
            structure=structure,
            unevenness=unevenness,
            deviation=lambda part: self.shares.deviation(left * part) / largest,
        )

    @cached_property
    def _total_of_groups(self) -> float | None:
        """The sum of the matrix from sums between groups; None if it is to be measured."""
        if GROUPS not in self.measured:
            return None
        return self.total_of_groups(self._counts(GROUPS, CellSums), self._left_by_total)

    @property
    def _total(self) -> float:
        """The sum of the matrix: from groups if they tell it, else as measured."""
        if self._total_of_groups is not None:
            return self._total_of_groups
        total: float = self._counts(TOTAL, Total, first=True).total
        return total

    @cached_property
    def _choice_from_total(self) -> DegreeChoice:
        """The choice before any look at degrees."""
        return self.choice_from_total(self._total, self._left_by_total)

    @cached_property
    def _choice_from_first_look(self) -> DegreeChoice:
        """The choice after the first look.

        The recorded degrees are those of the first look only as long as there is no second one. The
        plan asks for this property before the second look, and the answer is cached.
        """
        epsilon = self._left_by_total * (1 - budget_plans.EARLY_SHARE)
        return self.choice_from_degrees(self._counts(DEGREES, Degrees), self._total, epsilon)

    @cached_property
    def _final_choice(self) -> DegreeChoice:
        """The choice after the total and the looks at degrees that the plan has taken.

        After a second look, the recorded degrees include the first one, and both together have cost
        `SECOND_LOOK_SHARE`.
        """
        if not self._holds(budget_plans.UNDECIDED_BY_TOTAL):
            return self._choice_from_total
        if not self._holds(budget_plans.UNDECIDED_BY_LOOK):
            return self._choice_from_first_look
        epsilon = self._left_by_total * (1 - budget_plans.SECOND_LOOK_SHARE)
        second_look = self._counts(DEGREES, Degrees)
        return self.choice_from_degrees(second_look, self._total, epsilon, last=True)

    def choice_from_total(self, total: float, epsilon: Fraction) -> DegreeChoice:
        """Return the choice that the total implies; undecided if it depends on the degrees.

        In a graph of n vertices and mean degree d, communities have eigenvalues of up to about d,
        and of up to (n - d)/(k - 1) if there are k nearly full communities. Noise of deviation s
        hides those below s sqrt(n). For a matrix that is not square, n is the geometric mean of the
        numbers of rows and columns. A first look at degrees is of no use if it would err by more
        than the mean degree; then the choice is the one for undetectable communities.

        Args:
            total: noisy sum of the matrix.
            epsilon: what the total leaves of the release's epsilon.
        """
        shares = self.shares
        if shares.entries_are_fine(epsilon):
            return DegreeChoice.NONE
        signal = self._signal(total)
        if signal >= _SIGNAL_BESIDE_DEGREES * self._threshold_beside_degrees(epsilon):
            return DegreeChoice.BESIDE_ENTRIES
        mean_degree = total / math.sqrt(math.prod(shares.shape))
        look_is_useful = mean_degree >= self._early_deviation(epsilon)
        if look_is_useful and signal >= _SIGNAL_ALONE * shares.detection_threshold(epsilon):
            return DegreeChoice.UNDECIDED
        return DegreeChoice.ENTRIES_SHOW_NOTHING

    def choice_from_degrees(
        self,
        early: CountMeasurement[Degrees],
        total: float,
        epsilon: Fraction,
        *,
        last: bool = False,
    ) -> DegreeChoice:
        """Return the choice that a look at degrees implies; undecided if a finer look is needed.

        Even degrees differ by less than row sums of entries err. To measure them would tell little,
        so entries get all of epsilon. Uneven degrees need a share themselves, and a larger one if
        entries beside them are unlikely to show communities.

        Degrees of few vertices may seem uneven by chance. `spread` estimates the variance of true
        degrees as the excess over the variance v of their noise. The sample variance of n Laplace
        noises has a standard error of v sqrt(5/n). So even degrees have an excess below
        z v sqrt(5/n), up to z standard errors, and a spread below its root
        sqrt(z v) (5/n)^(1/4). z is 2 if the signal is clear, so that noise of degrees does not cost
        entries that show communities, and else 1.

        Args:
            early: noisy degrees of this look.
            total: noisy sum of the matrix.
            epsilon: what the total and this look leave, for the entries.
            last: whether this is the last look: degrees that may be even then count as even.
        """
        shares = self.shares
        rows, columns = shares.shape
        signal = self._signal(total)
        clear = signal >= _CLEAR_SIGNAL * shares.detection_threshold(epsilon)
        even_factor = _EVEN_IF_CLEAR if clear else _EVEN_IF_UNCLEAR
        standard_errors = 2 if clear else 1
        even = maybe_even = True
        # The degrees of each side in grid units, and how many entries each of them sums. Of a graph
        # without directions there is one array: the loop then does the same twice.
        for degrees, entries in ((early.steps[0], columns), (early.steps[-1], rows)):
            degree_spread = spread(degrees, early)
            # Times the deviation of the noise of row sums of entries.
            even_limit = even_factor * shares.deviation(epsilon) * math.sqrt(entries)
            chance_limit = math.sqrt(standard_errors * early.law.variance)
            chance_limit *= (5 / len(degrees)) ** 0.25
            even = even and degree_spread < even_limit
            maybe_even = maybe_even and degree_spread < max(even_limit, chance_limit)
        if even or (maybe_even and last):
            return DegreeChoice.NONE
        if maybe_even:
            return DegreeChoice.UNDECIDED
        if signal >= _SIGNAL_BESIDE_UNEVEN * self._threshold_beside_degrees(epsilon):
            return DegreeChoice.BESIDE_ENTRIES
        return DegreeChoice.ENTRIES_SHOW_NOTHING

    def degrees_are_uncertain(self, noisy: CountMeasurement[Degrees]) -> bool:
        """Return whether degrees deserve a larger share, if communities are undetectable.

        Even degrees are known better than their noise suggests, since each is like the others;
        uneven ones are not. If communities are undetectable, the worst cut is that of a graph with
        these degrees. Its edges scatter a degree of d by sqrt(d): an error of degrees below that
        hardly shows, one above it makes the worst cut. What counts is the error with the share
        `MatrixShares.undetectable`; the decision is made from an early look, so that intervals can
        be made of what refines it. A spread that may be chance (see `choice_from_degrees`, with
        two standard errors) counts as none.

        Args:
            noisy: the degrees of an early look.
        """
        largest_weight = self.shares.largest_weight
        # How much larger the rate of the noise will be.
        gain = self._left_by_total * self.shares.undetectable / noisy.epsilon
        rate = float(max(gain, Fraction(1)) * noisy.rate)
        deviation = math.sqrt(replace(noisy.law, rate=rate).variance)
        # In turn for rows and columns; once for a graph without directions.
        for degrees, values in zip(noisy.steps, noisy.values, strict=True):
            degree_spread = spread(degrees, noisy)
            chance_limit = math.sqrt(2 * noisy.law.variance) * (5 / len(degrees)) ** 0.25
            if degree_spread < chance_limit:
                continue
            # Deviation of a degree given its noisy value, if both laws are normal.
            posterior = degree_spread * deviation / math.hypot(degree_spread, deviation)
            mean_degree = max(float(values.mean()), largest_weight)
            # Edges of the weight w scatter a degree d by sqrt(w d).
            if posterior > _UNCERTAIN * math.sqrt(largest_weight * mean_degree):
                return True
        return False

    def total_of_groups(self, sums: CountMeasurement[CellSums], epsilon: Fraction) -> float | None:
        """Return the sum of the matrix from sums between groups, if it is known well enough.

        Seven totals within three standard deviations of the estimate are tried. The sum is known
        well enough in two cases:

        1. All seven decide on a share of the degrees, and these shares differ by at most 1/20.
        2. None of them decides, so that looks at degrees will; and the mean degree errs by at most
           a tenth of the detection threshold.

        Args:
            sums: noisy sums between groups.
            epsilon: what a total would leave if there were no groups.

        Returns:
            The sum; None if the total is to be measured.
        """
        # If rows and columns are the same vertices in a symmetric matrix, a pair is two entries.
        doubled = 2 if sums.map.tree.symmetric else 1
        deviation = doubled * math.sqrt(len(sums.values[0]) * sums.law.variance)
        total = doubled * sums.total
        choices = [
            self.choice_from_total(total + distance * deviation, epsilon)
            for distance in range(-3, 4)
        ]
        decided = [choice for choice in choices if choice is not DegreeChoice.UNDECIDED]
        if not decided:
            side = math.sqrt(math.prod(self.shares.shape))  # of a square matrix of this size
            # The total is the mean degree times `side`, and so are their errors.
            limit = _CLOSE * self.shares.detection_threshold(epsilon) * side
            return total if deviation <= limit else None
        shares = [self._share_of(choice) for choice in decided]
        same_share = max(shares) - min(shares) <= _SAME_SHARE
        return total if same_share and len(decided) == len(choices) else None

    def _share_of(self, choice: DegreeChoice) -> Fraction:
        """Return the share of the degrees after a final choice."""
        return {
            DegreeChoice.NONE: Fraction(0),
            DegreeChoice.BESIDE_ENTRIES: self.shares.beside_entries,
            DegreeChoice.ENTRIES_SHOW_NOTHING: self.shares.undetectable,
        }[choice]

    def _signal(self, total: float) -> float:
        """Return the largest eigenvalue that communities can have, for a sum of the matrix."""
        side = math.sqrt(math.prod(self.shares.shape))  # of a square matrix of this size
        mean_degree = total / side
        missing = self.shares.largest_weight * side - mean_degree
        return min(mean_degree, missing / _MISSING_NEIGHBOURS)

    def _early_deviation(self, epsilon: Fraction) -> float:
        """Return the standard deviation of the noise of a degree in a first look.

        The weight of one pair changes two degrees, so all degrees together have the L1 sensitivity
        2 * (largest weight). Laplace noise of this scale over epsilon deviates by sqrt(2) scales.
        """
        early_epsilon = float(epsilon * budget_plans.EARLY_SHARE)
        return 2 * math.sqrt(2) * self.shares.largest_weight / early_epsilon

    def _threshold_beside_degrees(self, epsilon: Fraction) -> float:
        """Return the detection threshold of entries with their share beside degrees."""
        return self.shares.detection_threshold(epsilon * (1 - self.shares.beside_entries))


def spread(sums: IntVector, noisy: CountMeasurement[Degrees]) -> float:
    """Return an estimate of the standard deviation of the true sums behind noisy ones.

    It is the larger of two estimates.

    1. The likeliest deviation on a grid, if the true sums are Gaussian.
    2. The root of what the sample variance of the noisy sums has above (1 + 2 sqrt(5/n)) v, where v
       is the variance of the noise. The sample variance of n Laplace noises has mean v and standard
       error v sqrt(5/n), so even sums exceed this by chance only, beyond two standard errors.

    The first has half the error of the second. The second detects a few sums that stand far out.

    The sum x of a Gaussian of variance v = s^2 and Laplace noise of scale b has the density
    e^(v/2b^2)/2b (e^(-x/b) Phi(x/s - s/b) + e^(x/b) Phi(-x/s - s/b)).

    Args:
        sums: noisy sums of rows or columns, in grid units, shape (n,).
        noisy: the measurement that they are from; its unit and its law of noise are used.
    """
    values = sums * noisy.unit
    values = values - np.median(values)  # x in the formula
    b = math.sqrt(noisy.law.variance / 2)
    deviations = b * _SPREADS
    s = deviations[:, None]  # (spreads, 1)
    # Logarithms of the two terms in brackets, shape (spreads, n); the order does not matter.
    up, down = (
        sign * values / b + scipy.special.log_ndtr(-sign * values / s - s / b) for sign in (1, -1)
    )
    log_likelihoods = (np.logaddexp(up, down) + s**2 / (2 * b**2)).sum(axis=1)  # (spreads,)
    likeliest = float(deviations[int(np.argmax(log_likelihoods))])
    noise_limit = noisy.law.variance * (1 + 2 * math.sqrt(5 / len(values)))
    excess = float(np.var(values)) - noise_limit
    return max(likeliest, math.sqrt(max(excess, 0.0)))


def informative_groups(measured: CountMeasurement[CellSums], cap: float) -> bool:
    """Return whether public groups say more about a graph than its degrees do.

    A cell is a pair of groups; its sum is the weight of all pairs of vertices with one endpoint in
    either group. Sums are compared with those of a graph that has the same volumes of groups (sums
    of their degrees) and no other structure. There are two kinds of cells, within groups and
    between groups.

    1. A cell is modelled to hold (1 + g b) times as much as without structure, with g normal. The
       strength b is common to all cells of a kind. It is 0 with prior probability 1/2, else
       between 1/100 and 100, evenly in its logarithm.
    2. A kind has structure if the posterior probability of b = 0 is below 1/100. Then the share
       .4 E[b] of the weight of its cells is displaced: it lies elsewhere than expected.
    3. If only one of the two kinds has structure, weight is displaced between the kinds, too: half
       of what the cells of that kind have too much, or too little, together, beyond two standard
       deviations of its noise.
    4. Groups are informative if a tenth of all weight is displaced: less stays below the error of a
       release anyway. Random groups seldom pass.

    Args:
        measured: noisy sums between groups.
        cap: largest weight of a pair.

    Privacy: reads noisy sums alone.
    """
    # `CellEstimates` has the `values` of the cells as one vector, shape (cells,). `matrix` arranges
    # such a vector by groups of rows and columns, and `cells` does the reverse. In a symmetric
    # matrix `matrix` doubles cells within groups, so that row sums are volumes.
    estimates = CellEstimates.of(measured)
    sums = estimates.matrix(estimates.values)
    volumes = np.maximum(sums.sum(axis=1), cap), np.maximum(sums.sum(axis=0), cap)
    pairs = estimates.matrix(measured.map.pairs.astype(np.float64))  # number of pairs of each cell
    independent = estimates.cells(_with_volumes(pairs, volumes))  # sums without structure, (cells,)
    rate = float(measured.rate) / measured.unit  # of the noise, in weights
    displaced: list[float] = []  # weight of each kind of cells with structure
    imbalance = 0.0  # weight displaced between the kinds; used if one kind alone has structure
    # `kinds` are one or two masks of cells: those within groups, and those between groups.
    for kind in estimates.kinds:
        expected = np.maximum(independent[kind], _LEAST_EXPECTED * cap)
        difference = estimates.values[kind] - expected
        strength, no_structure = _strength_posterior(difference, expected, rate)
        if no_structure < _DOUBT:
            displaced.append(_DISPLACED * strength * expected.sum())
            noise_deviation = math.sqrt(len(difference) * measured.law.variance)
            imbalance = max(0.0, abs(difference.sum()) - 2 * noise_deviation) / 2
    if len(displaced) == 1 and len(estimates.kinds) > 1:
        displaced.append(imbalance)
    return bool(sum(displaced) >= _INFORMATIVE * max(independent.sum(), cap))


def _strength_posterior(
    difference: FloatVector, expected: FloatVector, rate: float
) -> tuple[float, float]:
    """Return the posterior mean of the strength b, and the probability that b is 0.

    See `informative_groups` for b. The mean counts b = 0, too.

    Args:
        difference: noisy sums less expected ones, shape (cells,).
        expected: expected sums, shape (cells,).
        rate: of the Laplace noise, in weights.
    """
    strengths = np.geomspace(_LEAST_STRENGTH, _LARGEST_STRENGTH, _STRENGTHS)
    # Log likelihoods of all cells together, for b = 0 and for each strength.
    log_without = float((math.log(rate / 2) - rate * np.abs(difference)).sum())
    log_with = _log_likelihoods(difference, np.multiply.outer(strengths, expected), rate)
    # The prior gives b = 0 as much as all strengths together.
    logs = np.array([log_without, *(log_with - math.log(_STRENGTHS))])
    probabilities = np.exp(logs - logs.max())
    probabilities /= probabilities.sum()
    return float(probabilities[1:] @ strengths), float(probabilities[0])


def _log_likelihoods(x: FloatVector, deviations: FloatMatrix, rate: float) -> FloatVector:
    """Return log likelihoods of sums of a normal number and Laplace noise of density r e^(-r|x|)/2.

    With s the deviation, the density of the sum at x is
    (r/4) e^(-x^2/(2 s^2)) (w((r s - x/s)/sqrt(2)) + w((r s + x/s)/sqrt(2))), where
    w(y) = e^(y^2) erfc(y).

    Args:
        x: the sums, shape (cells,).
        deviations: of the normal numbers, shape (scales, cells), each above 0.
        rate: r, in the reciprocal unit of the sums.

    Returns:
        The log likelihood of all cells for each scale, shape (scales,).
    """
    s, x = np.maximum(deviations, 1e-6 / rate), np.abs(x)
    low, high = (rate * s - x / s) / math.sqrt(2), (rate * s + x / s) / math.sqrt(2)
    # w overflows for y far below 0, where erfc is 2: there its logarithm is y^2 + ln 2. Both
    # branches are computed everywhere, so `maximum` keeps the other branch from overflowing.
    overflows = low < -_ERFCX_OVERFLOW
    log_w_far = low**2 + math.log(2)
    log_w_near = np.log(scipy.special.erfcx(np.maximum(low, -_ERFCX_OVERFLOW)))
    log_w_low = np.where(overflows, log_w_far, log_w_near)
    log_w_sum = np.logaddexp(log_w_low, np.log(scipy.special.erfcx(high)))
    log_densities = math.log(rate / 4) - x**2 / (2 * s**2) + log_w_sum
    return np.asarray(log_densities.sum(axis=1))


def _with_volumes(pairs: FloatMatrix, volumes: tuple[FloatVector, FloatVector]) -> FloatMatrix:
    """Return the matrix r_g c_h pairs_gh whose row and column sums are nearly the volumes.

    Rows and columns are scaled to their sums in turn (Sinkhorn's algorithm), a fixed number of
    times.

    Args:
        pairs: number of pairs between groups, shape (groups of rows, groups of columns).
        volumes: sums of the rows and of the columns; those of the columns are scaled to the same
            total.
    """
    row_factors, column_factors = np.ones(len(pairs)), np.ones(pairs.shape[1])
    row_sums = volumes[0]
    column_sums = volumes[1] * (volumes[0].sum() / volumes[1].sum())
    for _ in range(_BALANCING_ROUNDS):
        row_factors = row_sums / np.maximum(pairs @ column_factors, 1e-12)
        column_factors = column_sums / np.maximum(row_factors @ pairs, 1e-12)
    return np.asarray(pairs * np.outer(row_factors, column_factors))
