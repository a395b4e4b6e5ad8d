"""What earlier results of a release decide about its later steps: public numbers in, answers out.

A budget plan (`synth.budget_plans`) states its conditions by name. `MatrixDecisions` and
`SparseDecisions` answer them, each once, from what was measured so far; nothing here reads private
data. An answer may depend on any earlier result: sequential composition holds for adaptive choices.
"""

import math
from abc import ABC, abstractmethod
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
    Total,
)
from graphcuts_dp.privacy.budget_plan import BudgetStep
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.schema.groups import Sides
from graphcuts_dp.synth import budget_plans
from graphcuts_dp.synth.budget_plans import (
    DEGREES,
    GROUPS,
    TOTAL,
    MatrixShares,
)
from graphcuts_dp.synth.targets import CellEstimates

# Thresholds were tuned on the graphs called "tuning" in scripts/bench/baseline_graphs.py at epsilon
# .5, 1 and 2; the others only decided whether they stay (bench_baselines.py). A signal is the
# largest eigenvalue that communities can have, over the detection threshold of the noise:
_SIGNAL_ALONE = 1.6  # above it entries with all of epsilon may show communities
_CLEAR_SIGNAL = 1.9  # above it they do, unless the communities are many
_SIGNAL_BESIDE_DEGREES = 2.2  # above it entries with their part of a split budget are likely to
_SIGNAL_BESIDE_UNEVEN = 1.75  # the same, where degrees are so uneven that they are worth a part
# Degrees are even if their spread over the noise of entries' row sums is below:
_EVEN_IF_CLEAR, _EVEN_IF_UNCLEAR = 0.75, 0.5  # where the signal is clear, and where it is not
_DENSE = 2.0  # missing neighbours count for so much less than neighbours
_ALIKE = Fraction(1, 20)  # shares that differ by no more are one choice
_SPREADS = np.geomspace(0.02, 50.0, 80)  # spreads of degrees that are tried, over the noise's scale
_UNCERTAIN = 1.1  # posterior deviation of a degree, over the root of the mean degree
_CLOSE = 0.1  # of the detection threshold: how well the mean degree must be known for the choice

_INFORMATIVE = 0.1  # of the weight, that groups must place otherwise than degrees do
_DOUBT = 0.01  # probability of no structure below which structure is believed
_PART = 0.4  # E|g|/2, g normal: what is missing in one cell is too much in another
_LEAST_STRENGTH, _LARGEST_STRENGTH, _STRENGTHS = 1e-2, 1e2, 40  # grid of b in `informative_groups`
_ERFCX_OVERFLOW = 20.0  # below minus this, erfcx(y) is 2 e^(y^2) to all digits
_BALANCING_ROUNDS = 20  # of row and column sums


class DegreeChoice(Enum):
    """What is to be measured of degrees beside the entries."""

    NONE = "no degrees, or no more than a look at them"
    BESIDE_ENTRIES = "the share beside entries that are likely to show communities"
    ENTRIES_SHOW_NOTHING = "the share where entries show nothing"
    UNDECIDED = "a look at degrees is needed"


class Decisions(ABC):
    """What was measured so far, and the answers to the conditions of a plan. All of it is public.

    Args:
        groups: the public groups whose sums are measured, or None.

    Attributes:
        measured: the latest measurement of each statistic, in the order of measuring; see `record`.
    """

    def __init__(self, groups: Sides | None) -> None:
        self.measured: dict[str, Measurement] = {}
        self._groups = groups
        self._answers: dict[str, bool] = {}

    @property
    def sides(self) -> Sides | None:
        """The groups whose sums are measured, or None."""
        return self._groups

    def threshold(self, distribution: LaplaceNoise) -> int:
        """Return the threshold of kept edges, in steps of the distribution of their noise.

        Raises:
            LookupError: the release keeps no edges.
        """
        raise LookupError(f"no edges are kept with noise {distribution.name}")

    def record(self, statistic: str, measurement: Measurement) -> None:
        """Take in a measurement. An answer is computed once, from what was recorded until then."""
        self.measured[statistic] = measurement

    def are_met(self, step: BudgetStep) -> bool:
        """Return whether all conditions of a step are met; each is asked once."""
        return all(self._holds(each.name) is each.holds for each in step.conditions)

    def may_be_met(self, step: BudgetStep) -> bool:
        """Return whether no answer so far excludes a step."""
        return all(
            self._answers.get(each.name, each.holds) is each.holds for each in step.conditions
        )

    def share(self, step: BudgetStep) -> Fraction:
        """Return the share that a step gets."""
        (only,) = step.shares
        return only

    def _holds(self, condition: str) -> bool:
        if condition not in self._answers:
            self._answers[condition] = self._answer(condition)
        return self._answers[condition]

    @abstractmethod
    def _answer(self, condition: str) -> bool:
        """Return whether earlier results show what a condition names."""


class MatrixDecisions(Decisions):
    """The decisions of a release with a noisy matrix.

    Not final: an audit has one that always looks at degrees.

    Args:
        shares: of degrees and total.
        epsilon: privacy parameter of everything together.
        groups: the public groups whose sums are measured, or None.
    """

    def __init__(
        self, shares: MatrixShares, epsilon: Fraction, groups: Sides | None = None
    ) -> None:
        super().__init__(groups)
        self.shares = shares
        # Chosen as if there were no groups, so that groups that tell nothing change nothing.
        self._left = epsilon * (1 - shares.total)

    def _answer(self, condition: str) -> bool:
        match condition:
            case budget_plans.GROUPS_INFORMATIVE:
                return informative_groups(self._of(GROUPS, CellSums), self.shares.cap)
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
            case budget_plans.DEGREES_UNCERTAIN:
                return self.degrees_are_uncertain(self._of(DEGREES, Degrees))
        raise LookupError(f"no decision is called {condition!r}")

    def _of(self, statistic: str, kind: type[Any]) -> Any:
        found = self.measured[statistic]
        if not isinstance(found, CountMeasurement) or not isinstance(found.map, kind):
            raise TypeError(f"{statistic} were measured as something else")
        return found

    @cached_property
    def _total_of_groups(self) -> float | None:
        if GROUPS not in self.measured:
            return None
        return self.total_of_groups(self._of(GROUPS, CellSums), self._left)

    @property
    def _total(self) -> float:
        known = self._total_of_groups
        if known is not None:
            return known
        total: float = self._of(TOTAL, Total).total
        return total

    @cached_property
    def _choice_from_total(self) -> DegreeChoice:
        return self.choice_from_total(self._total, self._left)

    @cached_property
    def _choice_from_first_look(self) -> DegreeChoice:
        left = self._left * (1 - budget_plans.EARLY_SHARE)
        return self.choice_from_degrees(self._of(DEGREES, Degrees), self._total, left)

    @cached_property
    def _final_choice(self) -> DegreeChoice:
        """The choice after the total, and after the looks at degrees that were taken."""
        if not self._holds(budget_plans.UNDECIDED_BY_TOTAL):
            return self._choice_from_total
        if not self._holds(budget_plans.UNDECIDED_BY_LOOK):
            return self._choice_from_first_look
        left = self._left * (1 - budget_plans.SECOND_LOOK_SHARE)
        looks = self._of(DEGREES, Degrees)
        return self.choice_from_degrees(looks, self._total, left, last=True)

    def choice_from_total(self, total: float, epsilon: Fraction) -> DegreeChoice:
        """Return what the total says of degrees; undecided if it depends on how uneven they are.

        In a graph of average degree d, communities show as eigenvalues of up to about d, and of up
        to (n - d)/(k - 1) when k communities are nearly full; noise of deviation s hides those
        below s sqrt(n). A first look that would err by more than the mean degree tells nothing, and
        is not taken.

        Args:
            total: noisy sum of the matrix.
            epsilon: that is left.
        """
        shares = self.shares
        if shares.entries_are_fine(epsilon):
            return DegreeChoice.NONE
        signal = self._signal(total)
        if signal >= _SIGNAL_BESIDE_DEGREES * self._threshold_beside_degrees(epsilon):
            return DegreeChoice.BESIDE_ENTRIES
        above_noise = total / math.sqrt(math.prod(shares.shape)) >= self._early_error(epsilon)
        if above_noise and signal >= _SIGNAL_ALONE * shares.detection_threshold(epsilon):
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
        """Return what a look at degrees says of them; undecided if a finer look would tell.

        Where degrees are even, entries need all of epsilon and lose nothing by it: the row sums of
        entries err by less than the degrees differ. Uneven degrees need a part themselves, and more
        where entries beside them are not likely to show communities.

        Args:
            early: noisy degrees.
            total: noisy sum of the matrix.
            epsilon: that is left.
            last: whether no finer look can be had: doubtful degrees are then taken for even.
        """
        shares = self.shares
        rows, columns = shares.shape
        noise = shares.deviation(epsilon)
        sides = ((early.steps[0], columns), (early.steps[-1], rows))
        signal = self._signal(total)
        clear = signal >= _CLEAR_SIGNAL * shares.detection_threshold(epsilon)
        even = (_EVEN_IF_CLEAR if clear else _EVEN_IF_UNCLEAR) * noise
        # Early degrees of few vertices must not hide communities by their noise: one standard error
        # of the variance that they would have by themselves, and two where they are likely to show.
        doubt = math.sqrt((2 if clear else 1) * early.law.variance)
        spreads = [
            (spread(side, early), even * math.sqrt(n), doubt * (5 / len(side)) ** 0.25)
            for side, n in sides
        ]
        if all(uneven < limit for uneven, limit, _ in spreads):
            return DegreeChoice.NONE
        if all(uneven < max(limit, unsure) for uneven, limit, unsure in spreads):
            return DegreeChoice.NONE if last else DegreeChoice.UNDECIDED
        if signal >= _SIGNAL_BESIDE_UNEVEN * self._threshold_beside_degrees(epsilon):
            return DegreeChoice.BESIDE_ENTRIES
        return DegreeChoice.ENTRIES_SHOW_NOTHING

    def degrees_are_uncertain(self, noisy: CountMeasurement[Degrees]) -> bool:
        """Return whether degrees deserve a larger share than they have, where entries show nothing.

        Even degrees are known far better than their noise, since each is like the others; of uneven
        ones nothing but epsilon tells more. Where entries show nothing, the worst cut is that of a
        graph with these degrees, whose own edges scatter a degree of d by sqrt(d): an error below
        that hardly shows, one above it is the worst cut.

        Args:
            noisy: the degrees.
        """
        deviation, cap = math.sqrt(noisy.law.variance), self.shares.cap
        for sums, values in zip(noisy.steps, noisy.values, strict=True):
            uneven = spread(sums, noisy)
            posterior = uneven * deviation / math.hypot(uneven, deviation)
            if posterior > _UNCERTAIN * math.sqrt(cap * max(float(values.mean()), cap)):
                return True
        return False

    def total_of_groups(self, sums: CountMeasurement[CellSums], epsilon: Fraction) -> float | None:
        """Return the sum of the matrix from sums between groups, if these tell it well enough.

        They do if the totals within three standard deviations all lead to the same share of the
        degrees, up to 1/20; or if all of these leave the choice to looks at degrees, and the mean
        degree is known up to a tenth of the detection threshold.

        Args:
            sums: noisy.
            epsilon: that would be left if there were no groups.
        """
        twice = 2 if sums.map.tree.symmetric else 1
        deviation = twice * math.sqrt(len(sums.values[0]) * sums.law.variance)
        total = twice * sums.total
        choices = [self.choice_from_total(total + far * deviation, epsilon) for far in range(-3, 4)]
        decided = [choice for choice in choices if choice is not DegreeChoice.UNDECIDED]
        if not decided:
            full = math.sqrt(math.prod(self.shares.shape))
            close = deviation <= _CLOSE * self.shares.detection_threshold(epsilon) * full
            return total if close else None
        shares = [self._share_of(choice) for choice in decided]
        alike = len(decided) == len(choices) and max(shares) - min(shares) <= _ALIKE
        return total if alike else None

    def _share_of(self, choice: DegreeChoice) -> Fraction:
        return {
            DegreeChoice.NONE: Fraction(0),
            DegreeChoice.BESIDE_ENTRIES: self.shares.beside_entries,
            DegreeChoice.ENTRIES_SHOW_NOTHING: self.shares.hidden,
        }[choice]

    def _signal(self, total: float) -> float:
        full = math.sqrt(math.prod(self.shares.shape))
        degree = total / full
        return min(degree, (self.shares.cap * full - degree) / _DENSE)

    def _early_error(self, epsilon: Fraction) -> float:
        """Deviation of an early degree: graphs of fewer neighbours all look even."""
        return 2 * math.sqrt(2) * self.shares.cap / float(epsilon * budget_plans.EARLY_SHARE)

    def _threshold_beside_degrees(self, epsilon: Fraction) -> float:
        return self.shares.detection_threshold(epsilon * (1 - self.shares.beside_entries))


def spread(sums: IntVector, noisy: CountMeasurement[Degrees]) -> float:
    """Return the likeliest standard deviation of the true sums if they are Gaussian.

    It is the larger of two estimates: the likeliest deviation of Gaussian sums; and the root of the
    sample variance above (1 + 2 sqrt(5/n)) times the variance of the noise of n sums, that is, less
    two standard errors. The first has half the error of the second, which sees a few sums that
    stand far out.

    For the sum of a Gaussian of variance v and Laplace noise of scale b the density at x is
    e^(v/2b^2)/2b (e^(-x/b) Phi(x/s - s/b) + e^(x/b) Phi(-x/s - s/b)), s^2 = v.

    Args:
        sums: of rows or columns, in steps.
        noisy: where they come from.
    """
    values = sums * noisy.unit
    values = values - np.median(values)
    scale = math.sqrt(noisy.law.variance / 2)
    deviations = scale * _SPREADS
    s = deviations[:, None]
    up, down = (
        sign * values / scale + scipy.special.log_ndtr(-sign * values / s - s / scale)
        for sign in (1, -1)
    )
    likelihood = (np.logaddexp(up, down) + s**2 / (2 * scale**2)).sum(axis=1)
    likeliest = float(deviations[int(np.argmax(likelihood))])
    above = float(np.var(values)) - noisy.law.variance * (1 + 2 * math.sqrt(5 / len(values)))
    return max(likeliest, math.sqrt(max(above, 0.0)))


def informative_groups(measured: CountMeasurement[CellSums], cap: float) -> bool:
    """Return whether groups tell more of a graph than degrees do: from noisy sums alone.

    The sums are compared with those of a graph with the same volumes of groups and no other
    structure. A cell holds (1 + g b) times as much, g normal; b is common to all cells between
    groups, another to all within: 0 with a prior chance of a half, else anything. Where the chance
    of 0 is below a hundredth after the sums were seen, the part .4 E[b] of their weight lies
    elsewhere; if that is so for one of the two kinds only, the other kind has too little, by what
    that one has too much. Groups tell something if all this is a tenth of all weight: less stays
    below the error of a release anyway. Groups made by chance seldom pass.
    """
    cells = CellEstimates.of(measured)
    found = cells.matrix(cells.values)
    volumes = np.maximum(found.sum(axis=1), cap), np.maximum(found.sum(axis=0), cap)
    alone = cells.cells(_independent(cells.matrix(measured.map.pairs.astype(np.float64)), volumes))
    rate = float(measured.rate) / measured.unit
    moved, missed = [], 0.0
    for kind in cells.kinds:
        expected = np.maximum(alone[kind], cap / 4)
        difference = cells.values[kind] - expected
        strength, no_strength = _strength_posterior(difference, expected, rate)
        if no_strength < _DOUBT:
            moved.append(_PART * strength * expected.sum())
            deviation = math.sqrt(len(difference) * measured.law.variance)
            missed = max(0.0, abs(difference.sum()) - 2 * deviation) / 2
    if len(moved) == 1:  # what one kind has too much, the other lacks, if it is there
        moved.append(missed if len(cells.kinds) > 1 else 0.0)
    return bool(sum(moved) >= _INFORMATIVE * max(alone.sum(), cap))


def _strength_posterior(
    difference: FloatVector, expected: FloatVector, rate: float
) -> tuple[float, float]:
    """Return the posterior mean of b and the probability that it is 0, under Laplace noise."""
    scales = np.geomspace(_LEAST_STRENGTH, _LARGEST_STRENGTH, _STRENGTHS)
    none = float((math.log(rate / 2) - rate * np.abs(difference)).sum())
    some = _log_likelihoods(difference, np.multiply.outer(scales, expected), rate)
    logs = np.array([none, *(some - math.log(_STRENGTHS))])
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    return float(chances[1:] @ scales), float(chances[0])


def _log_likelihoods(x: FloatVector, deviations: FloatMatrix, rate: float) -> FloatVector:
    """Of sums of a normal number and Laplace noise with density r e^(-r|x|)/2, shape (scales,).

    With s the deviation the density is (r/4) e^(-x^2/(2 s^2)) (w((r s - x/s)/sqrt(2)) + w((r s +
    x/s)/sqrt(2))), w(y) = e^(y^2) erfc(y).

    Args:
        x: what was seen, shape (cells,).
        deviations: of the normal numbers, shape (scales, cells), each above 0.
        rate: r.
    """
    s, x = np.maximum(deviations, 1e-6 / rate), np.abs(x)
    low, high = (rate * s - x / s) / math.sqrt(2), (rate * s + x / s) / math.sqrt(2)
    # w overflows for y far below 0, where erfc is 2: there its logarithm is y^2 + ln 2.
    wide = np.where(low < -_ERFCX_OVERFLOW, low**2 + math.log(2), 0.0)
    logs = np.where(
        low < -_ERFCX_OVERFLOW, wide, np.log(scipy.special.erfcx(np.maximum(low, -_ERFCX_OVERFLOW)))
    )
    logs = np.logaddexp(logs, np.log(scipy.special.erfcx(high)))
    return np.asarray((math.log(rate / 4) - x**2 / (2 * s**2) + logs).sum(axis=1))


def _independent(pairs: FloatMatrix, volumes: tuple[FloatVector, FloatVector]) -> FloatMatrix:
    """The matrix r_g c_h pairs_gh with given row and column sums, nearly."""
    rows, columns = np.ones(len(pairs)), np.ones(pairs.shape[1])
    goal = volumes[0], volumes[1] * (volumes[0].sum() / volumes[1].sum())
    for _ in range(_BALANCING_ROUNDS):
        rows = goal[0] / np.maximum(pairs @ columns, 1e-12)
        columns = goal[1] / np.maximum(rows @ pairs, 1e-12)
    return np.asarray(pairs * np.outer(rows, columns))
