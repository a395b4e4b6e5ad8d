"""What a release with public groups buys of them, and how much it pays: from public numbers."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.estimate.measurement import CellSums, Measurement
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.cells import Sides, sides_of_groups
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.synth.targets import CellEstimates

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
    cells = CellEstimates.of([measured])
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
    found: FloatVector = (math.log(rate / 4) - x**2 / (2 * s**2) + logs).sum(axis=1)
    return found


def _independent(pairs: FloatMatrix, volumes: tuple[FloatVector, FloatVector]) -> FloatMatrix:
    """The matrix r_g c_h pairs_gh with given row and column sums, nearly."""
    rows, columns = np.ones(len(pairs)), np.ones(pairs.shape[1])
    goal = volumes[0], volumes[1] * (volumes[0].sum() / volumes[1].sum())
    for _ in range(_ROUNDS):
        rows = goal[0] / np.maximum(pairs @ columns, 1e-12)
        columns = goal[1] / np.maximum(rows @ pairs, 1e-12)
    found: FloatMatrix = pairs * np.outer(rows, columns)
    return found


def _fitting(groups: Groups) -> Groups:
    """The levels down to the finest that is not too fine, whose names answers may use."""
    fitting = [name for name in groups.levels if len(groups.labels(name)) <= MOST_GROUPS]
    if not fitting:
        raise GraphError(
            f"a release takes at most {MOST_GROUPS} groups: give a coarser level too, or release "
            "the sums alone with release_flows"
        )
    return groups.down_to(fitting[-1])
