"""How a release divides epsilon: what users choose, and what is left to choose for them.

Which part noisy degrees deserve is chosen from public numbers and noisy sums alone.

Three ways to err: degrees that are badly known move the worst cut by about n/2 times their mean
error, noise on the entries hides blocks of vertices, and cuts between blocks that are hidden come
out as if the graph had its degrees only. Which of them counts depends on the graph; what is known
of it beforehand is a noisy total, and where that leaves the question open, noisy degrees.

Public groups get a part first (`GroupPlan`). A sparse release divides what noisy counts of weights
leave (`sparse_shares`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Self, final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.estimate.measurement import (
    Bought,
    CellSums,
    Classes,
    Degrees,
    Measurement,
    measured_by,
)
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.estimate.sparse_model import threshold_for
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.cells import Sides, sides_of_groups
from graphcuts_dp.measure.statistics import check_sums
from graphcuts_dp.options import check, option
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.privacy.distributions import LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.guarantee import SMALLEST_EPSILON
from graphcuts_dp.synth.sparse_fit import WeightPrior
from graphcuts_dp.synth.targets import CellEstimates

AUTO, RESPONSE, SPLIT, SPARSE = "auto", "response", "degrees+response", "sparse"
ALL_MECHANISMS = (AUTO, RESPONSE, SPLIT, SPARSE)
MECHANISMS = ALL_MECHANISMS[:3]  # the last has no noisy matrix: see `release.releases`
_SPARSE_SHARES = (0.01, 0.95)  # of epsilon, that degrees may have: other parts need some, too

TOTAL_SHARE = Fraction(1, 50)  # of epsilon, for the total
EARLY_SHARE = Fraction(2, 25)  # of the rest, for early degrees where the total leaves it open
SURER_SHARE = Fraction(1, 5)  # likewise, where these leave it open whether they are even
HIDDEN_SHARE = Fraction(3, 5)  # likewise, for degrees where entries show nothing
UNSURE_SHARE = Fraction(3, 4)  # likewise, where that leaves degrees unsure
# Thresholds tuned on the graphs called "tuning" in scripts/bench/baseline_graphs.py at epsilon
# .5, 1 and 2; the others only decided whether they stay (bench_baselines.py).
_SEEN_BY_ALL = 1.6  # signal over the noise's edge, above which entries may show blocks
_SEEN_WELL = 1.9  # likewise, above which they do unless the blocks are many
_SEEN_BY_REST = 2.2  # likewise with the entries' part of a split budget: they are likely to
_SEEN_BESIDE = 1.75  # likewise, where degrees are so uneven that they are worth a part
# Spread of degrees over the noise of entries' row sums, below which it does not matter: where the
# signal is above _SEEN_WELL, and below it.
_EVEN, _EVEN_BELOW = 0.75, 0.5
_DENSE = 2.0  # missing neighbours count for so much less than neighbours
_ALIKE = Fraction(1, 20)  # shares that differ by no more are one choice
_SPREADS = np.geomspace(0.02, 50.0, 80)  # that are tried, over the noise's scale
_UNSURE = 1.1  # posterior deviation of a degree, over the root of the mean degree
_FINE = 1.5  # entries give degrees well by themselves when their error is below this many times
_CLOSE = 0.1  # of the noise's edge: how well the mean degree must be known for the choice
_FINE_ENTRY = 0.3  # and an entry, in units of the cap, tells an edge from none


@final
@dataclass(frozen=True)
class Response:
    """How a release spends epsilon; a string names it, too, such as "sparse:degree-share=.3".

    Attributes:
        mechanism: "response" (all of epsilon for noisy entries), "degrees+response" (a part for
            noisy degrees, which are cheap and hold most of a sparse graph's cuts), or "auto": a
            fiftieth of epsilon tells the total weight, which tells the better of the two. For the
            fit "maximum-entropy"; "auto" is "response" with any other. Or "sparse", which costs the
            edges and not the pairs, for large graphs of few edges: edges whose noisy weight reaches
            a threshold, degrees, sums between groups, see `measure_sparse`; "auto" takes it where
            memory is too small for the others, and on 2000 vertices or more with weights without a
            cap (`takes_sparse`). The default noise is then "laplace" with weights.
        degree_share: part of epsilon for the degrees, in (0, 1); None for 2/(2 + n^(1/4)), and for
            7/(7 + n^(1/4)) of what is left beside groups that tell something. With "sparse" in
            [0.01, 0.95], None for what noisy counts of weights suggest.

    Raises:
        ParameterError: an unknown name, a share out of range or without degrees.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> release = gc.release_graph(club, epsilon=4.0, mechanism=gc.Response(degree_share=0.5))
    """

    mechanism: str = option(AUTO, help="How epsilon is spent.", choices=ALL_MECHANISMS)
    degree_share: float | None = option(
        None,
        help="Part of epsilon for noisy degrees, if the mechanism uses them.",
        above=0,
        below=1,
    )

    def __post_init__(self) -> None:
        check(self)
        if self.degree_share is None:
            return
        if self.mechanism == RESPONSE:
            raise ParameterError("degree_share is for mechanism='degrees+response'")
        low, high = _SPARSE_SHARES
        if self.mechanism == SPARSE and not low <= self.degree_share <= high:
            raise ParameterError(
                f"degree_share must lie between {low:g} and {high:g} with mechanism='sparse'"
            )

    @property
    def share(self) -> Fraction | None:
        """For degrees, exactly."""
        if self.degree_share is None:
            return None
        return Fraction(self.degree_share).limit_denominator(10**6)


# What `mechanism=` can name.
RESPONSES: Mapping[str, Callable[..., Response]] = {
    name: partial(Response, mechanism=name) for name in ALL_MECHANISMS
}


@lru_cache(maxsize=64)
def degree_share(vertices: int) -> Fraction:
    """Which part of epsilon noisy degrees deserve beside entries that show blocks: 2/(2 + n^(1/4)).

    With a share t, errors of the degrees move the worst cut by about n/(t epsilon), errors of the
    bits by about a quarter of n^(3/2)/((1-t) epsilon) after the fit; the sum is least at
    t/(1-t) = 2 n^(-1/4). A tenth to a third for 10^2 to 10^6 vertices. Where the entries show no
    blocks, degrees deserve more: see `Prospect.hidden`.
    """
    return Fraction(2 / (2 + vertices**0.25)).limit_denominator(1000)


@lru_cache(maxsize=256)  # a choice asks for a few of them again and again
def _deviation(noise: str, epsilon: Fraction, weight_cap: float | None) -> float:
    return noise_distribution(noise, epsilon=epsilon, weight_cap=weight_cap).standard_deviation


@dataclass(frozen=True)
class Prospect:
    """Public numbers that a choice depends on, and the choice.

    Not final: an audit has one that always looks at early degrees.

    Attributes:
        shape: rows and columns of the matrix.
        weight_cap: public largest weight, as the graph has it.
        noise: name of the entries' distribution.
        share: for degrees, if a user has set it.
    """

    shape: tuple[int, int]
    weight_cap: float | None
    noise: str
    share: Fraction | None = None

    @classmethod
    def of(cls, graph: AnyGraph, noise: str, response: Response) -> Self:
        """Of the schema of a private graph, and what a user chose."""
        return cls(graph.shape, graph.weight_cap, noise, response.share)

    @property
    def cap(self) -> float:
        """Largest weight."""
        return self.weight_cap or 1.0

    @property
    def beside(self) -> Fraction:
        """For degrees beside entries that show blocks."""
        return degree_share(max(self.shape)) if self.share is None else self.share

    @property
    def hidden(self) -> Fraction:
        """For degrees where entries show nothing.

        The worst cut is then that of a graph of noisy degrees, which wants all of epsilon for
        these, and sums between groups want it for the entries.
        """
        return max(HIDDEN_SHARE, self.beside) if self.share is None else self.share

    @property
    def unsure(self) -> Fraction:
        """For degrees where entries show nothing, and the degrees that `hidden` buys are unsure."""
        return max(UNSURE_SHARE, self.beside) if self.share is None else self.share

    def deviation(self, epsilon: Fraction) -> float:
        """Of the noise of an entry that epsilon is spent on."""
        return _deviation(self.noise, epsilon, self.weight_cap)

    def edge(self, epsilon: Fraction) -> float:
        """Half of the largest singular value of the noise: it hides what is smaller."""
        rows, columns = self.shape
        return self.deviation(epsilon) * (math.sqrt(rows) + math.sqrt(columns)) / 2

    def entries_are_fine(self, epsilon: Fraction) -> bool:
        """Whether entries tell edges, and their sums degrees nearly as well as noisy degrees would.

        A question of epsilon and the size alone, so no total needs to be bought for it.
        """
        of_degrees = 2 * self.cap / float(epsilon * self.beside)
        if self.deviation(epsilon) > _FINE_ENTRY * self.cap:
            return False
        return self.edge(epsilon) < _FINE * math.sqrt(2) * of_degrees

    def share_from_total(self, total: float, epsilon: Fraction) -> Fraction | None:
        """The part of epsilon for degrees, or None where it depends on how uneven they are.

        In a graph of average degree d, blocks of alike vertices show as eigenvalues of up to about
        d, and of up to (n - d)/(k - 1) when k blocks are nearly full; noise of deviation s hides
        those below s sqrt(n). Early degrees that would err by more than the mean degree tell
        nothing, and are not asked for.

        Args:
            total: noisy sum of the matrix.
            epsilon: that is left.
        """
        if self.entries_are_fine(epsilon):
            return Fraction(0)
        signal = self._signal(total)
        if signal >= _SEEN_BY_REST * self._edge_beside(epsilon):
            return self.beside
        told = total / math.sqrt(math.prod(self.shape)) >= self._doubt(epsilon)
        if told and signal >= _SEEN_BY_ALL * self.edge(epsilon):
            return None
        return self.hidden

    def share_from_degrees(
        self, early: Measurement[Degrees], total: float, epsilon: Fraction, *, last: bool = False
    ) -> Fraction | None:
        """The part of epsilon for all degrees, from early ones; None where finer ones would tell.

        Where degrees are even, entries need all of epsilon and lose nothing by it: the row sums of
        entries err by less than the degrees differ. Uneven degrees need a part themselves, and more
        where entries beside them are not likely to show blocks.

        Args:
            early: noisy.
            total: noisy sum of the matrix.
            epsilon: that is left.
            last: whether no finer ones can be had: doubtful ones are then taken for even.
        """
        rows, columns = self.shape
        noise = self.deviation(epsilon)
        sides = ((early.steps[0], columns), (early.steps[-1], rows))
        well = self._signal(total) >= _SEEN_WELL * self.edge(epsilon)
        most = (_EVEN if well else _EVEN_BELOW) * noise
        # Early degrees of few vertices must not hide blocks by their noise: one standard error of
        # the variance that they would have by themselves, and two where blocks are likely to show.
        doubt = math.sqrt((2 if well else 1) * early.law.variance)
        excess = [
            (spread(side, early), most * math.sqrt(n), doubt * (5 / len(side)) ** 0.25)
            for side, n in sides
        ]
        if all(found < limit for found, limit, _ in excess):
            return Fraction(0)
        if all(found < max(limit, unsure) for found, limit, unsure in excess):
            return Fraction(0) if last else None
        shown = self._signal(total) >= _SEEN_BESIDE * self._edge_beside(epsilon)
        return self.beside if shown else self.hidden

    def share_of_held(self, noisy: Measurement[Degrees], share: Fraction) -> Fraction:
        """The part of epsilon for degrees once they are held with a part of it; at least that.

        Even degrees are known far better than their noise, since each is like the others; of uneven
        ones nothing but epsilon tells more. Where entries show nothing, the worst cut is that of a
        graph with these degrees, whose own edges scatter a degree of d by sqrt(d): an error below
        that hardly shows, one above it is the worst cut.

        Args:
            noisy: the degrees.
            share: the part that they cost.
        """
        if share != self.hidden:
            return share
        deviation = math.sqrt(noisy.law.variance)
        for sums, values in zip(noisy.steps, noisy.values, strict=True):
            uneven = spread(sums, noisy)
            posterior = uneven * deviation / math.hypot(uneven, deviation)
            if posterior > _UNSURE * math.sqrt(self.cap * max(float(values.mean()), self.cap)):
                return self.unsure
        return share

    def beside_groups(self, groups: "GroupPlan") -> Self:
        """The prospect where groups show the blocks: degrees are worth more then."""
        return self if self.share is not None else replace(self, share=groups.degrees)

    def possible(self, mechanism: str, distribution: NoiseDistribution, epsilon: Fraction) -> str:
        """A mechanism, or "response" for "auto" where the budget cannot or need not be split.

        Raises:
            ParameterError: degrees are asked for, and cannot be had.
        """
        if mechanism == RESPONSE:
            return mechanism
        try:
            check_sums(distribution)
            if epsilon * min(self.parts(mechanism)) < SMALLEST_EPSILON:
                raise ParameterError(
                    f"a part of epsilon would be below {SMALLEST_EPSILON:g}: choose "
                    "mechanism='response', or another degree_share"
                )
        except ParameterError:
            if mechanism == SPLIT:
                raise
            return RESPONSE
        fine = mechanism == AUTO and self.share is None and self.entries_are_fine(epsilon)
        return RESPONSE if fine else mechanism

    def parts(self, mechanism: str) -> tuple[Fraction, ...]:
        """Of epsilon, all that measurements may get, last the least that entries may."""
        if mechanism == RESPONSE:
            return (Fraction(1),)
        if mechanism == SPLIT:
            return self.beside, 1 - self.beside
        rest = 1 - TOTAL_SHARE
        shares = EARLY_SHARE, self.beside, self.hidden, self.unsure
        either = (part * rest for share in shares for part in (share, 1 - share))
        least = min(1 - SURER_SHARE, *(1 - share for share in shares)) * rest
        return TOTAL_SHARE, *either, least

    def total_of_groups(self, bought: Sequence[Bought], epsilon: Fraction) -> float | None:
        """Sum of the whole matrix from sums between groups, where these tell it well enough.

        That is, so well that three standard deviations more or less make the same choice; and where
        that choice is left to early degrees, which look at the total again, the mean degree up to a
        tenth of what the thresholds are multiples of.
        """
        sums = measured_by(CellSums, bought)
        if sums is None:
            return None
        twice = 2 if sums.map.tree.symmetric else 1
        deviation = twice * math.sqrt(len(sums.values[0]) * sums.law.variance)
        total = twice * sums.total
        choices = [self.share_from_total(total + far * deviation, epsilon) for far in range(-3, 4)]
        shares = [each for each in choices if each is not None]
        if not shares:
            close = deviation <= _CLOSE * self.edge(epsilon) * math.sqrt(math.prod(self.shape))
            return total if close else None
        alike = len(shares) == len(choices) and max(shares) - min(shares) <= _ALIKE
        return total if alike else None

    def _signal(self, total: float) -> float:
        full = math.sqrt(math.prod(self.shape))
        degree = total / full
        return min(degree, (self.cap * full - degree) / _DENSE)

    def _doubt(self, epsilon: Fraction) -> float:
        """Deviation of an early degree: graphs of fewer neighbours all look even."""
        return 2 * math.sqrt(2) * self.cap / float(epsilon * EARLY_SHARE)

    def _edge_beside(self, epsilon: Fraction) -> float:
        return self.edge(epsilon * (1 - self.beside))


def spread(sums: IntVector, noisy: Measurement[Degrees]) -> float:
    """Estimated standard deviation of the true sums: most likely one if they are Gaussian.

    Half the error of what the variance has above that of the noise, whose tails are heavy. Where
    few sums stand far out, the latter is larger, and counts less two standard errors, each
    sqrt(5/n) of the variance of the noise of n sums.

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


MOST_GROUPS = 256  # of one level: the fit takes O(n^2 groups) a step
# Tuned with bench_groups.py on its tuning graphs, epsilon = 1, random groups among them.
_FIRST = Fraction(1, 6)  # of what groups are worth, that is spent before it is known
_LEAST_SHARE, _MOST_SHARE = 0.05, 0.25
_OF_ENTRIES = 1 / 50  # their errors move the worst cut by this times n^1.5/epsilon
_OF_CELLS = 0.7  # errors of sums move it by this times groups^1.5/epsilon
_BESIDE_RAW = 6.0  # see `group_share`
_TELLING = 0.1  # of the weight, that groups must place otherwise than degrees do
_DOUBT = 0.01  # chance of no structure at which it is believed
_PART = 0.4  # E|g|/2, g normal: what is missing in one cell is too much in another
_SMALLEST, _LARGEST, _SCALES = 1e-2, 1e2, 40  # of b
_FAR = 20.0
_ROUNDS = 20


@final
@dataclass(frozen=True, eq=False)
class GroupPlan:
    """Public groups of one level, and what is spent on them.

    Attributes:
        sides: of the rows and the columns; one object for a graph with one vertex set.
        first: part of epsilon for a first look at all sums.
        second: part for a second look, if the first shows that the groups tell something.
        degrees: part of what is left then for the degrees.
    """

    sides: Sides
    first: Fraction
    second: Fraction
    degrees: Fraction


def group_plan(graph: AnyGraph, groups: Groups | Sides | None) -> GroupPlan | None:
    """What is bought of groups; None where there are none. Reads public numbers alone.

    Of nested levels the finest one is measured that has at most `MOST_GROUPS` groups: sums of the
    coarser ones are sums of its cells, and the pairs of a cell are known from no other.

    Args:
        graph: the private graph.
        groups: of its vertices; for a bipartite graph of the left ones and the right ones.

    Raises:
        GraphError: groups of other vertices, too many of them, or groups without any pair.
    """
    if groups is None:
        return None
    first, second = sides_of_groups(graph, groups)
    left = _fitting(first)
    sides = (left, left if second is first else _fitting(second))
    counts = [len(side.labels()) for side in sides]
    share = group_share(math.sqrt(math.prod(graph.shape)), math.sqrt(math.prod(counts)))
    return GroupPlan(
        sides, share * _FIRST, share * (1 - _FIRST), degree_share_beside_groups(max(graph.shape))
    )


def group_share(vertices: float, groups: float) -> Fraction:
    """Which part of epsilon all sums between groups deserve, from sizes.

    With a share s, errors of the k(k+1)/2 sums (deviation sqrt(2)/(s epsilon) each) move the worst
    cut of the k x k table, the cut norm of a noisy k x k matrix, by about a/(s epsilon) with
    a = .7 k^1.5. The rest moves it by b/((1-s) epsilon): with the share t of it for degrees (see
    `degree_share_beside_groups`), b = n/t + n^1.5/(50 (1-t)). The sum is least at
    s/(1-s) = sqrt(a/b).

    A group pair of (n/k)^2 pairs has a raw error of about .8 .96 (n/k)/epsilon by entries alone,
    and 1/(s epsilon) by its sum: at most .3 of it for s >= 4.5 k/n. The larger of both is taken,
    between a twentieth and a quarter.

    Args:
        vertices: n; of two sides the geometric mean.
        groups: k, likewise.
    """
    t = float(degree_share_beside_groups(vertices))
    a = _OF_CELLS * groups**1.5
    b = vertices / t + _OF_ENTRIES * vertices**1.5 / (1 - t)
    ratio = math.sqrt(a / b)
    share = max(ratio / (1 + ratio), _BESIDE_RAW * groups / vertices)
    return Fraction(min(max(share, _LEAST_SHARE), _MOST_SHARE)).limit_denominator(1000)


def degree_share_beside_groups(vertices: float) -> Fraction:
    """Which part of what groups leave of epsilon degrees deserve: 7/(7 + n^(1/4)).

    As `degree_share`: errors of degrees move the worst cut by n/(t epsilon). Where sums between
    groups are held besides, entries only have to show what is left, and their errors move it by
    about a fiftieth of n^1.5/((1-t) epsilon): the sum is least at t/(1-t) = 7 n^(-1/4).
    """
    return Fraction(7 / (7 + vertices**0.25)).limit_denominator(1000)


def telling(measured: Measurement[CellSums], cap: float) -> bool:
    """Whether groups tell more of a graph than degrees do: post-processing of noisy sums.

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
        size, nothing = _sizes(difference, expected, rate)
        if nothing < _DOUBT:
            moved.append(_PART * size * expected.sum())
            spread = math.sqrt(len(difference) * measured.law.variance)
            missed = max(0.0, abs(difference.sum()) - 2 * spread) / 2
    if len(moved) == 1:  # what one kind has too much, the other lacks, if it is there
        moved.append(missed if len(cells.kinds) > 1 else 0.0)
    return bool(sum(moved) >= _TELLING * max(alone.sum(), cap))


def _sizes(difference: FloatVector, expected: FloatVector, rate: float) -> tuple[float, float]:
    """Posterior mean of b, and the chance that it is 0, under Laplace noise of a rate."""
    scales = np.geomspace(_SMALLEST, _LARGEST, _SCALES)
    none = float((math.log(rate / 2) - rate * np.abs(difference)).sum())
    some = _log_likelihoods(difference, np.multiply.outer(scales, expected), rate)
    logs = np.array([none, *(some - math.log(_SCALES))])
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
    wide = np.where(low < -_FAR, low**2 + math.log(2), 0.0)
    logs = np.where(low < -_FAR, wide, np.log(scipy.special.erfcx(np.maximum(low, -_FAR))))
    logs = np.logaddexp(logs, np.log(scipy.special.erfcx(high)))
    return np.asarray((math.log(rate / 4) - x**2 / (2 * s**2) + logs).sum(axis=1))


def _independent(pairs: FloatMatrix, volumes: tuple[FloatVector, FloatVector]) -> FloatMatrix:
    """The matrix r_g c_h pairs_gh with given row and column sums, nearly."""
    rows, columns = np.ones(len(pairs)), np.ones(pairs.shape[1])
    goal = volumes[0], volumes[1] * (volumes[0].sum() / volumes[1].sum())
    for _ in range(_ROUNDS):
        rows = goal[0] / np.maximum(pairs @ columns, 1e-12)
        columns = goal[1] / np.maximum(rows @ pairs, 1e-12)
    return np.asarray(pairs * np.outer(rows, columns))


def _fitting(groups: Groups) -> Groups:
    """The levels down to the finest that is not too fine, whose names answers may use."""
    fitting = [name for name in groups.levels if len(groups.labels(name)) <= MOST_GROUPS]
    if not fitting:
        raise GraphError(
            f"a release takes at most {MOST_GROUPS} groups: give a coarser level too, or release "
            "the sums alone with release_flows"
        )
    return groups.down_to(fitting[-1])


COUNTS_SHARE = Fraction(1, 50)  # of epsilon, for how many edges weigh how much
FOUND_SHARE = Fraction(1, 5)  # of what kept edges leave, for groups that are found on them
_GROUPS_ALONE = Fraction(1, 20)  # of the rest beside degrees alone
# Whose errors count, by their logarithms: halves, small sets and the worst cut for kept edges,
# degrees for degrees, and half a column for sums between groups, which err little anyway.
_OF_KEPT, _OF_DEGREES, _OF_GROUPS = 3.0, 1.0, 0.5
_GROUPS_BESIDE = Fraction(1, 3)  # of what kept edges leave: half a column beside a whole one
_LEAST_KEPT = Fraction(1, 10)  # left of epsilon: with less, kept edges spoil the degrees
_GROUPS_AT_MOST = Fraction(1, 20)  # and half of what degrees leave, if their share is fixed
_WORTH = 0.8  # of the variance of cuts: kept edges that leave more are not bought
_STEP = 1 / 40


@final
@dataclass(frozen=True)
class SparseShares:
    """Parts of what is left of epsilon after the counts; they add up to 1.

    Attributes:
        kept: for kept edges; 0 where hardly any would reach the threshold.
        groups: for sums between groups, given or found; 0 where there are none.
        degrees: for degrees.
    """

    kept: Fraction
    groups: Fraction
    degrees: Fraction


def sparse_shares(
    counts: Measurement[Classes],
    distribution: LaplaceNoise,
    *,
    pairs: int,
    groups: str,
    degrees: Fraction | None = None,
) -> SparseShares:
    """The shares with the least predicted errors.

    With a part f of epsilon the filter leaves of the variance of a cut V(f) = sum over edges of
    w^2 where an edge is missed, and of the lesser of w^2 and the noise's variance where it is kept,
    over the sum of w^2: missed edges fall anywhere, as far as the model knows. That shows in cuts
    between halves, small sets, and in the worst cut, whose errors go with sqrt(V). Errors of
    degrees go with 1/d, those of sums between groups with 1/g. The sum of the logarithms of all
    these, with weights 3, 1 and a half, is least at d : g = 2 : 1, and f is tried in steps of a
    fortieth. For weights far above the noise V goes with f^-2, so that f : d : g = 6 : 2 : 1.
    Where the filter leaves more than .8 of the variance, nothing is spent on it: then degrees get
    all but a twentieth for groups.

    Args:
        counts: noisy counts of weights.
        distribution: of the noise of a pair with all that is left of epsilon.
        pairs: how many pairs there are.
        groups: "given", "found" (from kept edges, if there are any) or "none".
        degrees: a share that was fixed beforehand. Of the rest groups have a twentieth of epsilon,
            or half if that is less, and kept edges the others, where these are a tenth at least;
            what neither can use, degrees have too.
    """
    prior = WeightPrior.of(
        counts, pairs=float(pairs), cap=distribution.weight_cap, whole=distribution.unit == 1
    )
    if degrees is not None:
        return _beside(degrees, prior, distribution, pairs=pairs, groups=groups)
    # What is to be beaten: degrees with all but a twentieth for groups.
    best, kept = _value(1.0, Fraction(0), groups == "given"), 0.0
    for step in range(1, round(1 / _STEP)):
        part = step * _STEP
        variance = left_variance(prior, distribution, part, pairs=pairs)
        if variance > _WORTH:
            continue
        value = _value(variance, Fraction(part), groups == "given")
        if value > best:
            best, kept = value, part
    exact = Fraction(kept).limit_denominator(1000)
    if not kept:
        of_groups = _GROUPS_ALONE if groups == "given" else Fraction(0)
        return SparseShares(Fraction(0), of_groups, 1 - of_groups)
    if groups == "given":
        of_groups = (1 - exact) * _GROUPS_BESIDE
    else:
        of_groups = FOUND_SHARE * (1 - exact) if groups == "found" else Fraction(0)
    return SparseShares(exact, of_groups, 1 - exact - of_groups)


def _beside(
    degrees: Fraction, prior: WeightPrior, distribution: LaplaceNoise, *, pairs: int, groups: str
) -> SparseShares:
    """The shares where that of degrees is fixed."""
    left = 1 - degrees
    of_groups = Fraction(0) if groups == "none" else min(_GROUPS_AT_MOST, left / 2)
    kept = left - of_groups
    worth = left >= _LEAST_KEPT and left_variance(
        prior, distribution, float(kept), pairs=pairs
    ) <= _WORTH  # fmt: skip
    if not worth:
        kept, of_groups = Fraction(0), left if groups == "given" else Fraction(0)
    return SparseShares(kept, of_groups, 1 - kept - of_groups)


def _value(variance: float, kept: Fraction, groups: bool) -> float:
    """Minus the sum of the logarithms of predicted errors, up to a constant."""
    of_groups = (_GROUPS_BESIDE * (1 - kept) if kept else _GROUPS_ALONE) if groups else Fraction(0)
    value = -_OF_KEPT / 2 * math.log(variance) + _OF_DEGREES * math.log(1 - kept - of_groups)
    return value + (_OF_GROUPS * math.log(of_groups) if groups else 0.0)


@lru_cache(maxsize=256)  # a choice tries forty
def _part_of(distribution: LaplaceNoise, part: float) -> LaplaceNoise:
    epsilon = distribution.epsilon * Fraction(part).limit_denominator(1000)
    return LaplaceNoise(epsilon, distribution.weight_cap, distribution.log2_step)


def left_variance(
    prior: WeightPrior, distribution: LaplaceNoise, part: float, *, pairs: int
) -> float:
    """Which part of the variance of cuts a filter with a part of epsilon leaves; at most 1."""
    noise = _part_of(distribution, part)
    scale = noise.unit / float(noise.rate)
    threshold = threshold_for(noise, pairs=pairs, edges=prior.edges)
    missed = prior.missed(threshold * noise.unit, scale)
    squares = prior.points**2
    left = missed * squares + (1 - missed) * np.minimum(squares, 2 * scale**2)
    whole = max(float(prior.masses @ squares), 1e-300)
    return min(float(prior.masses @ left) / whole, 1.0)
