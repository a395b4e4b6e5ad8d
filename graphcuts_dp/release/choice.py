"""How a release spends its budget: what users choose, and what is left to choose for them.

Which part of it noisy degrees deserve is chosen from public numbers and noisy sums alone.

Three ways to err: degrees that are badly known move the worst cut by about n/2 times their mean
error, noise on the entries hides blocks of vertices, and cuts between blocks that are hidden come
out as if the graph had its degrees only. Which of them counts depends on the graph; what is known
of it beforehand is a noisy total, and where that leaves the question open, noisy degrees.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Self, final

import numpy as np
import scipy

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.measurement import Degrees, Measurement
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.options import check, option
from graphcuts_dp.results.storage import ANSWERS, WORKLOADS

AUTO, RESPONSE, SPLIT, SPARSE = "auto", "response", "degrees+response", "sparse"
ALL_MECHANISMS = (AUTO, RESPONSE, SPLIT, SPARSE)
MECHANISMS = ALL_MECHANISMS[:3]  # the last has no noisy matrix: see `release.sparse`
_SPARSE_SHARES = (0.01, 0.95)  # of epsilon, that degrees may have: other parts need some, too

TOTAL_SHARE = Fraction(1, 50)  # of epsilon, for the total
EARLY_SHARE = Fraction(2, 25)  # of the rest, for early degrees where the total leaves it open
MOST_SHARE = Fraction(19, 20)  # of what is then left, for degrees where a graph alone is wanted
MOST_BESIDE_GROUPS = Fraction(9, 10)  # likewise of what public groups leave
# Thresholds tuned on the graphs called "tuning" in scripts/bench/baseline_graphs.py at epsilon
# .5, 1 and 2; the others only decided whether they stay (bench_baselines.py).
_SEEN_BY_ALL = 1.3  # signal over the noise's edge, above which entries may show blocks
_SEEN_WELL = 1.9  # likewise, above which they do unless the blocks are many
_SEEN_BY_REST = 2.2  # likewise with the entries' part of a split budget: they are likely to
_SEEN_BESIDE = 1.75  # likewise, where degrees are so uneven that they are worth a part
# Spread of degrees over the noise of entries' row sums, below which it does not matter: where the
# signal is above _SEEN_WELL, and below it.
_EVEN, _EVEN_BELOW = 1.0, 0.5
_DENSE = 3.0  # missing neighbours count for so much less than neighbours
_LEAST_SPREAD, _MOST_SPREAD, _SPREADS = 0.02, 50.0, 80  # grid of spreads, over the noise's scale
_FINE = 1.5  # entries give degrees well by themselves when their error is below this many times
_FINE_ENTRY = 0.3  # and an entry, in units of the cap, tells an edge from none


@final
@dataclass(frozen=True)
class Response:
    """How a release spends epsilon; a string names it, too, such as "response:degree-share=.5".

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
        workload: what "auto" is to be good at where degrees and entries compete: "answers" (of
            `Release.answer`), or "synthetic graph": its worst cut is nearer to the truth where
            entries show no communities, since nearly all of epsilon then goes to the degrees, and
            answers between groups are several times less precise. Beside public groups that tell
            something, degrees have most of what these leave, whatever entries show: answers about
            unions of groups stay as precise, those that part groups are less so.

    Raises:
        ParameterError: an unknown name, a share out of range or without degrees, or a workload
            beside options that leave it nothing to choose.

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
    workload: str = option(
        ANSWERS, help="What should be accurate with auto.", choices=tuple(WORKLOADS)
    )

    def __post_init__(self) -> None:
        check(self)
        if self.workload != ANSWERS and (self.mechanism, self.degree_share) != (AUTO, None):
            raise ParameterError(
                f"workload={self.workload!r} is for mechanism='auto', without degree_share: these "
                "set themselves how epsilon is spent"
            )
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
    blocks, the synthetic graph's worst cut is least if nearly all goes to the degrees; but then
    `answer` tells sums between groups several times worse, and those are what people ask for:
    the workload "synthetic graph" is for who publishes that graph alone.
    """
    return Fraction(2 / (2 + vertices**0.25)).limit_denominator(1000)


@dataclass(frozen=True)
class Prospect:
    """Public numbers that a choice depends on, and the choice.

    Not final: an audit has one that always looks at early degrees.

    Attributes:
        shape: rows and columns of the matrix.
        weight_cap: public largest weight, as the graph has it.
        noise: name of the entries' distribution.
        share: for degrees, if a user has set it.
        workload: one of `WORKLOADS`.
    """

    shape: tuple[int, int]
    weight_cap: float | None
    noise: str
    share: Fraction | None = None
    workload: str = ANSWERS

    @classmethod
    def of(cls, graph: AnyGraph, noise: str, response: Response) -> Self:
        """Of the schema of a private graph, and what a user chose."""
        return cls(graph.shape, graph.weight_cap, noise, response.share, response.workload)

    @property
    def cap(self) -> float:
        """Largest weight."""
        return self.weight_cap or 1.0

    @property
    def beside(self) -> Fraction:
        """For degrees beside entries that show blocks."""
        return degree_share(max(self.shape)) if self.share is None else self.share

    @property
    def most(self) -> Fraction:
        """For degrees where entries show nothing."""
        if self.workload == ANSWERS or self.share is not None:
            return self.beside
        return max(MOST_SHARE, self.beside)

    def deviation(self, epsilon: Fraction) -> float:
        """Of the noise of an entry that epsilon is spent on."""
        return noise_distribution(
            self.noise, epsilon=epsilon, weight_cap=self.weight_cap
        ).standard_deviation

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
        those below s sqrt(n).

        Args:
            total: noisy sum of the matrix.
            epsilon: that is left.
        """
        if self.entries_are_fine(epsilon):
            return Fraction(0)
        signal = self._signal(total)
        if signal >= _SEEN_BY_REST * self._edge_beside(epsilon):
            return self.beside
        return None if signal >= _SEEN_BY_ALL * self.edge(epsilon) else self.most

    def share_from_degrees(
        self, early: Measurement[Degrees], total: float, epsilon: Fraction
    ) -> Fraction:
        """The part of epsilon for more degrees, from early ones.

        Where degrees are even, entries need all of epsilon and lose nothing by it: the row sums of
        entries err by less than the degrees differ. Uneven degrees need a part themselves; which
        one, the workload tells where entries beside them are not likely to show blocks.

        Args:
            early: noisy.
            total: noisy sum of the matrix.
            epsilon: that is left.
        """
        rows, columns = self.shape
        noise = self.deviation(epsilon)
        sides = ((early.steps[0], columns), (early.steps[-1], rows))
        well = self._signal(total) >= _SEEN_WELL * self.edge(epsilon)
        most = (_EVEN if well else _EVEN_BELOW) * noise
        # Early degrees of few vertices must not hide blocks by their noise: one standard error of
        # the variance that they would have by themselves, and two where blocks are likely to show.
        doubt = math.sqrt((2 if well else 1) * early.law.variance)
        even = all(
            spread(side, early) < max(most * math.sqrt(n), doubt * (5 / len(side)) ** 0.25)
            for side, n in sides
        )
        if even:
            return Fraction(0)
        shown = self._signal(total) >= _SEEN_BESIDE * self._edge_beside(epsilon)
        return self.beside if shown else self.most

    def _signal(self, total: float) -> float:
        full = math.sqrt(math.prod(self.shape))
        degree = total / full
        return min(degree, (self.cap * full - degree) / _DENSE)

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
    deviations = scale * np.geomspace(_LEAST_SPREAD, _MOST_SPREAD, _SPREADS)
    s = deviations[:, None]
    up, down = (
        sign * values / scale + scipy.special.log_ndtr(-sign * values / s - s / scale)
        for sign in (1, -1)
    )
    likelihood = (np.logaddexp(up, down) + s**2 / (2 * scale**2)).sum(axis=1)
    likeliest = float(deviations[int(np.argmax(likelihood))])
    above = float(np.var(values)) - noisy.law.variance * (1 + 2 * math.sqrt(5 / len(values)))
    return max(likeliest, math.sqrt(max(above, 0.0)))
