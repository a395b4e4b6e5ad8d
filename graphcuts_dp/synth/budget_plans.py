"""The budget plans of releases of graphs: each share of a budget is written here, once.

Three kinds of error decide about the shares of a noisy matrix. Errors of degrees move the worst cut
by about n/2 times their mean; noise on entries hides communities; and cuts between communities that
are hidden come out as if the graph had its degrees only. Which of them counts depends on the graph,
so a plan begins with statistics that tell (sums between public groups, the total weight, a first
look at degrees), and later steps depend on what these show: see `synth.decisions`.

A sparse release spends nothing on pairs without edges: edges whose noisy weight is large, degrees,
and sums between groups.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Self, final

from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.estimate.noisy_matrix import noise_distribution, sums_grid
from graphcuts_dp.privacy.budget_plan import (
    ALL_LEFT,
    BudgetPlan,
    BudgetStep,
    Condition,
    PlanExecution,
)
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.guarantee import SMALLEST_EPSILON
from graphcuts_dp.schema.groups import Groups, Sides
from graphcuts_dp.synth.mechanisms import AUTO, RESPONSE, SPLIT, Mechanism

# Statistics, as steps name them, and receipts where a step has no name of its own.
GROUPS, TOTAL, DEGREES, ENTRIES = "groups", "total", "degrees", "entries"
WEIGHTS, KEPT_EDGES = "weights", "kept edges"
EARLY_DEGREES, FOUND_GROUPS = "early degrees", "found groups"  # names of steps

# What earlier results may show.
GROUPS_INFORMATIVE = "the groups are informative"
TOTAL_UNKNOWN = "group sums do not tell the total"
UNDECIDED_BY_TOTAL = "degrees may be even"
UNDECIDED_BY_LOOK = "a first look does not tell"
BESIDE_ENTRIES = "entries show communities"
ENTRIES_SHOW_NOTHING = "entries show nothing"
DEGREES_UNCERTAIN = "degrees stay uncertain"
EDGES_WORTH_KEEPING = "edges are worth keeping"
COMMUNITIES_FOUND = "kept edges show communities"

TOTAL_SHARE = Fraction(1, 50)  # of what groups leave, for the total
# Shares of what groups and total leave, for degrees:
EARLY_SHARE = Fraction(2, 25)  # a first look
SECOND_LOOK_SHARE = Fraction(1, 5)  # a second look, where the first leaves open if they are even
HIDDEN_SHARE = Fraction(3, 5)  # where entries show nothing
UNCERTAIN_SHARE = Fraction(3, 4)  # where that leaves degrees uncertain

MOST_GROUPS = 256  # of one level: the fit takes O(n^2 groups) a step
# Tuned with bench_groups.py on its tuning graphs, epsilon = 1, random groups among them.
_FIRST_LOOK_AT_GROUPS = Fraction(1, 6)  # of what groups are worth, before that is known
_LEAST_MATRIX_GROUP_SHARE, _LARGEST_MATRIX_GROUP_SHARE = 0.05, 0.25
_ENTRY_ERRORS = 1 / 50  # errors of entries move the worst cut by this times n^1.5/epsilon
_CELL_ERRORS = 0.7  # errors of sums move it by this times groups^1.5/epsilon
_BESIDE_ENTRY_SUMS = 6.0  # see `group_share`

COUNTS_SHARE = Fraction(1, 50)  # of a sparse release, for how many edges weigh how much
KEPT_SHARES = tuple(Fraction(step, 40) for step in range(1, 40))  # of the rest, for kept edges
TYPICAL_KEPT_SHARE = Fraction(27, 40)  # for weights far above the noise: see `synth.decisions`
GROUPS_BESIDE_EDGES = Fraction(1, 3)  # of what kept edges leave, for sums between public groups
GROUPS_BESIDE_DEGREES = Fraction(1, 20)  # of the rest, for these where no edges are kept
FOUND_GROUPS_SHARE = Fraction(1, 5)  # of what kept edges leave, for groups that they show
_LARGEST_SPARSE_GROUP_SHARE = Fraction(
    1, 20
)  # at most, of the budget after the counts, if the degree share is given
LEAST_KEPT_SHARE = Fraction(1, 10)  # left by a given share of degrees, so that edges are kept

_FINE_DEGREES = 1.5  # entries give degrees well where their sums err less than so many times
_FINE_ENTRY = 0.3  # and an entry, in units of the cap, tells an edge from none


@lru_cache(maxsize=64)
def degree_share(vertices: int) -> Fraction:
    """Return the share of degrees beside entries that show communities: 2/(2 + n^(1/4)).

    With a share t, errors of the degrees move the worst cut by about n/(t epsilon), errors of the
    bits by about a quarter of n^(3/2)/((1-t) epsilon) after the fit; the sum is least at
    t/(1-t) = 2 n^(-1/4). From .39 for 100 vertices through .17 for 10^4 to .06 for 10^6.
    """
    return Fraction(2 / (2 + vertices**0.25)).limit_denominator(1000)


def degree_share_beside_groups(vertices: float) -> Fraction:
    """Return the share of degrees in what informative groups leave: 7/(7 + n^(1/4)).

    As `degree_share`: errors of degrees move the worst cut by n/(t epsilon). Where sums between
    groups are held besides, entries only have to show what is left, and their errors move it by
    about a fiftieth of n^1.5/((1-t) epsilon): the sum is least at t/(1-t) = 7 n^(-1/4).
    """
    return Fraction(7 / (7 + vertices**0.25)).limit_denominator(1000)


def group_share(vertices: float, groups: float) -> Fraction:
    """Return the share of sums between public groups, from sizes.

    With a share s, errors of the k(k+1)/2 sums (deviation sqrt(2)/(s epsilon) each) move the worst
    cut of the k x k table, the cut norm of a noisy k x k matrix, by about a/(s epsilon) with
    a = .7 k^1.5. The rest moves it by b/((1-s) epsilon): with the share t of it for degrees (see
    `degree_share_beside_groups`), b = n/t + n^1.5/(50 (1-t)). The sum is least at
    s/(1-s) = sqrt(a/b).

    A group pair of (n/k)^2 pairs has an error of about .77 (n/k)/epsilon by entries alone, and a
    deviation of sqrt(2)/(s epsilon) by its sum: at most .3 of that for s >= 6 k/n. The larger of
    both shares is taken, between a twentieth and a quarter.

    Args:
        vertices: n; of two sides the geometric mean.
        groups: k, likewise.
    """
    t = float(degree_share_beside_groups(vertices))
    a = _CELL_ERRORS * groups**1.5
    b = vertices / t + _ENTRY_ERRORS * vertices**1.5 / (1 - t)
    ratio = math.sqrt(a / b)
    share = max(ratio / (1 + ratio), _BESIDE_ENTRY_SUMS * groups / vertices)
    clipped = min(max(share, _LEAST_MATRIX_GROUP_SHARE), _LARGEST_MATRIX_GROUP_SHARE)
    return Fraction(clipped).limit_denominator(1000)


@final
@dataclass(frozen=True, eq=False)
class MeasuredGroups:
    """Public groups of one level whose sums are measured, and the shares that this takes.

    Attributes:
        sides: groups of the rows and the columns; one object for a graph with one vertex set.
        first: share of a first look at all sums.
        whole: share of all sums if the first look shows that the groups are informative.
        degrees: share of the degrees in what informative groups leave.
    """

    sides: Sides
    first: Fraction
    whole: Fraction
    degrees: Fraction

    @classmethod
    def of(cls, sides: Sides, shape: tuple[int, int]) -> Self:
        """Return the groups that are measured, and their shares.

        Of nested levels the finest one is measured that has at most `MOST_GROUPS` groups: sums of
        the coarser ones are sums of its cells, and the pairs of a cell are known from no other.

        Args:
            sides: groups of the rows and the columns; one object for one vertex set.
            shape: rows and columns of the matrix.

        Raises:
            GraphError: too many groups.
        """
        first, second = sides
        left = _finest_measured(first)
        sides = (left, left if second is first else _finest_measured(second))
        counts = [len(side.labels()) for side in sides]
        share = group_share(math.sqrt(math.prod(shape)), math.sqrt(math.prod(counts)))
        return cls(
            sides=sides,
            first=share * _FIRST_LOOK_AT_GROUPS,
            whole=share,
            degrees=degree_share_beside_groups(max(shape)),
        )


def _finest_measured(groups: Groups) -> Groups:
    """Return the levels down to the finest that is not too fine, whose names answers may use."""
    fitting = [name for name in groups.levels if len(groups.labels(name)) <= MOST_GROUPS]
    if not fitting:
        raise GraphError(
            f"a release takes at most {MOST_GROUPS} groups: give a coarser level too, or release "
            "the sums alone with release_flows"
        )
    return groups.down_to(fitting[-1])


@lru_cache(maxsize=256)  # decisions ask for a few of them again and again
def _deviation(noise: str, epsilon: Fraction, max_weight: float | None) -> float:
    return noise_distribution(noise, epsilon=epsilon, max_weight=max_weight).standard_deviation


@final
@dataclass(frozen=True)
class MatrixShares:
    """The shares of degrees and total beside a noisy matrix, and what they depend on: no data.

    Attributes:
        shape: rows and columns of the matrix.
        max_weight: public largest weight, as the graph has it.
        noise: name of the distribution of the entries.
        response: the mechanism, and the shares that were asked for.
        groups: informative groups whose sums are measured besides, or None.
    """

    shape: tuple[int, int]
    max_weight: float | None
    noise: str
    response: Mechanism = field(default_factory=Mechanism)
    groups: MeasuredGroups | None = None

    @property
    def mechanism(self) -> str:
        """ "auto", "randomized-response" or "degrees+randomized-response"."""
        return self.response.mechanism

    @property
    def cap(self) -> float:
        """The public largest weight; 1 without one, as for graphs without weights."""
        return self.max_weight or 1.0

    @property
    def total(self) -> Fraction:
        """Share of the total, of what groups leave."""
        return TOTAL_SHARE

    @property
    def given(self) -> Fraction | None:
        """Share of degrees that takes the place of all others: the user's, or beside groups."""
        if self.response.share is None and self.groups is not None:
            return self.groups.degrees
        return self.response.share

    @property
    def beside_entries(self) -> Fraction:
        """Share of degrees if entries are likely to show communities."""
        return degree_share(max(self.shape)) if self.given is None else self.given

    @property
    def hidden(self) -> Fraction:
        """Share of degrees if entries show nothing.

        The worst cut is then that of a graph of noisy degrees, which wants all of epsilon for
        these, and sums between groups want it for the entries.
        """
        return max(HIDDEN_SHARE, self.beside_entries) if self.given is None else self.given

    @property
    def uncertain(self) -> Fraction:
        """Share of degrees if entries show nothing, and `hidden` leaves degrees uncertain."""
        return max(UNCERTAIN_SHARE, self.beside_entries) if self.given is None else self.given

    def beside_groups(self, groups: MeasuredGroups) -> Self:
        """Return the shares where groups show the communities: degrees are worth more then."""
        return replace(self, groups=groups)

    def deviation(self, epsilon: Fraction) -> float:
        """Return the standard deviation of the noise of an entry that epsilon is spent on."""
        return _deviation(self.noise, epsilon, self.max_weight)

    def detection_threshold(self, epsilon: Fraction) -> float:
        """Return half the largest singular value of noise: deviation (sqrt(n) + sqrt(m))/2.

        Eigenvalues of the graph below it cannot be told from the noise of the entries.
        """
        rows, columns = self.shape
        return self.deviation(epsilon) * (math.sqrt(rows) + math.sqrt(columns)) / 2

    def entries_are_fine(self, epsilon: Fraction) -> bool:
        """Return whether entries tell edges, and their sums degrees about as well as degrees would.

        A question of epsilon and the size alone, so no total needs to be measured for it.
        """
        degree_error = 2 * self.cap / float(epsilon * self.beside_entries)
        if self.deviation(epsilon) > _FINE_ENTRY * self.cap:
            return False
        return self.detection_threshold(epsilon) < _FINE_DEGREES * math.sqrt(2) * degree_error


def matrix_plan(
    shares: MatrixShares,
    distribution: NoiseDistribution,
    *,
    epsilon: Fraction,
    groups: MeasuredGroups | None = None,
) -> BudgetPlan:
    """Return the plan of a release with a noisy matrix. Reads public numbers alone.

    1. Sums between public groups, if there are any: a first look, and a second one if the groups
       are informative. Then degrees get their share, and the entries all that is left.
    2. Else, with "auto", the total, unless the groups tell it; and degrees as far as the total,
       and a first and second look at degrees, make them worth it.
    3. Entries, with all that is left.

    Args:
        shares: of degrees and total, with the mechanism.
        distribution: of the entries with all of epsilon.
        epsilon: privacy parameter for everything together.
        groups: whose sums are measured, or None.

    Raises:
        ParameterError: degrees are asked for, and cannot be had; or a part of epsilon would be
            below the smallest.
    """
    steps: list[BudgetStep] = []
    uninformative: tuple[Condition, ...] = ()
    left = epsilon
    if groups is not None:
        if epsilon * groups.first < SMALLEST_EPSILON:
            raise ParameterError(
                f"a part of epsilon would be below {SMALLEST_EPSILON:g}: leave the groups out"
            )
        informative = (Condition(GROUPS_INFORMATIVE),)
        uninformative = (Condition(GROUPS_INFORMATIVE, holds=False),)
        laplace = "discrete Laplace"
        steps.append(BudgetStep(statistic=GROUPS, share=groups.first, noise=laplace))
        steps.append(
            BudgetStep(statistic=GROUPS, share=groups.whole, noise=laplace, conditions=informative)
        )
        beside = shares.beside_groups(groups)
        rest = epsilon * (1 - groups.whole)
        if _possible_mechanism(beside, distribution, rest) != RESPONSE and not (
            shares.mechanism == AUTO and beside.entries_are_fine(rest)
        ):
            steps.append(_degrees_step(beside.beside_entries, *informative))
        left = epsilon * (1 - groups.first)
    possible = _possible_mechanism(shares, distribution, left)
    if possible == SPLIT:
        steps.append(_degrees_step(shares.beside_entries, *uninformative))
    elif possible == AUTO:
        steps += _steps_by_total(shares, uninformative, groups is not None)
    steps.append(BudgetStep(statistic=ENTRIES, share=ALL_LEFT, noise=shares.noise))
    return BudgetPlan(steps=tuple(steps), amount=epsilon)


def _degrees_step(share: Fraction, *conditions: Condition, name: str = "") -> BudgetStep:
    return BudgetStep(
        statistic=DEGREES, share=share, noise="discrete Laplace", conditions=conditions, name=name
    )


def _steps_by_total(
    shares: MatrixShares, conditions: tuple[Condition, ...], with_groups: bool
) -> Iterator[BudgetStep]:
    """Yield the total, and degrees with the share that the total and looks at degrees suggest."""
    of_total = (*conditions, Condition(TOTAL_UNKNOWN)) if with_groups else conditions
    yield BudgetStep(
        statistic=TOTAL, share=shares.total, noise="discrete Laplace", conditions=of_total
    )
    undecided = (*conditions, Condition(UNDECIDED_BY_TOTAL))
    yield _degrees_step(EARLY_SHARE, *undecided, name=EARLY_DEGREES)
    again = (*undecided, Condition(UNDECIDED_BY_LOOK))
    yield _degrees_step(SECOND_LOOK_SHARE, *again, name=EARLY_DEGREES)
    yield _degrees_step(shares.beside_entries, *conditions, Condition(BESIDE_ENTRIES))
    hidden = (*conditions, Condition(ENTRIES_SHOW_NOTHING))
    yield _degrees_step(shares.hidden, *hidden)
    yield _degrees_step(shares.uncertain, *hidden, Condition(DEGREES_UNCERTAIN))


def _possible_mechanism(
    shares: MatrixShares, distribution: NoiseDistribution, epsilon: Fraction
) -> str:
    """Return the mechanism that is left to decide on.

    It is "randomized-response" for "auto" if the budget cannot or need not be split.

    Raises:
        ParameterError: degrees are asked for, and cannot be had.
    """
    mechanism = shares.mechanism
    if mechanism == RESPONSE:
        return mechanism
    try:
        sums_grid(distribution)
        if epsilon * _smallest_share(shares) < SMALLEST_EPSILON:
            raise ParameterError(
                f"a part of epsilon would be below {SMALLEST_EPSILON:g}: choose "
                "mechanism='randomized-response', or another degree_share"
            )
    except ParameterError:
        if mechanism == SPLIT:
            raise
        return RESPONSE
    fine = mechanism == AUTO and shares.given is None and shares.entries_are_fine(epsilon)
    return RESPONSE if fine else mechanism


def _smallest_share(shares: MatrixShares) -> Fraction:
    """Return the smallest part of epsilon that a step of the mechanism can have."""
    if not 0 < shares.beside_entries < 1:  # a user's share, which rounding has made 0 or 1
        return Fraction(0)
    steps = [BudgetStep(statistic=ENTRIES, share=ALL_LEFT, noise=shares.noise)]
    if shares.mechanism == SPLIT:
        steps.insert(0, _degrees_step(shares.beside_entries))
    else:
        steps[:0] = _steps_by_total(shares, (), with_groups=False)
    return BudgetPlan(steps=tuple(steps), amount=Fraction(1)).smallest


def sparse_plan(
    *,
    epsilon: Fraction,
    noise: str,
    groups: bool,
    bipartite: bool = False,
    degrees: Fraction | None = None,
) -> BudgetPlan:
    """Return the plan of a sparse release. Reads public numbers alone.

    1. How many edges weigh how much: from these counts follow the share of the kept edges, and
       whether any are kept.
    2. Kept edges: those whose noisy weight reaches a threshold.
    3. Sums between public groups; else, if kept edges show communities, between these.
    4. Degrees, with all that is left.

    Args:
        epsilon: privacy parameter for everything together.
        noise: name of the distribution of the noise of a pair.
        groups: whether there are public groups.
        bipartite: whether the graph has two sides; in others kept edges may show groups.
        degrees: part of epsilon for the degrees, if one was asked for. With r what these leave of
            the budget after the counts, groups then get min(1/20, r/2), and kept edges the rest
            of r. If no edges are kept, public groups get all of r, and without them degrees do.
    """
    pays = Condition(EDGES_WORTH_KEEPING)
    kept: Fraction | tuple[Fraction, ...] = KEPT_SHARES
    beside_edges = GROUPS_BESIDE_EDGES if groups else FOUND_GROUPS_SHARE
    without_edges = GROUPS_BESIDE_DEGREES
    may_have_groups = groups or not bipartite
    if degrees is not None:
        fixed = degrees / (1 - COUNTS_SHARE)
        left = 1 - fixed
        of_groups = min(_LARGEST_SPARSE_GROUP_SHARE, left / 2) if may_have_groups else Fraction(0)
        kept = left - of_groups
        beside_edges, without_edges = of_groups / (1 - kept), left
    steps = [BudgetStep(statistic=WEIGHTS, share=COUNTS_SHARE, noise="discrete Laplace")]
    if degrees is None or left >= LEAST_KEPT_SHARE:
        steps.append(BudgetStep(statistic=KEPT_EDGES, share=kept, noise=noise, conditions=(pays,)))
    if groups:
        for condition, share in (
            (pays, beside_edges),
            (replace(pays, holds=False), without_edges),
        ):
            steps.append(
                BudgetStep(
                    statistic=GROUPS, share=share, noise="discrete Laplace", conditions=(condition,)
                )
            )
    elif may_have_groups and steps[1:]:
        steps.append(
            BudgetStep(
                statistic=GROUPS,
                share=beside_edges,
                noise="discrete Laplace",
                conditions=(pays, Condition(COMMUNITIES_FOUND)),
                name=FOUND_GROUPS,
            )
        )
    steps.append(BudgetStep(statistic=DEGREES, share=ALL_LEFT, noise="discrete Laplace"))
    return BudgetPlan(steps=tuple(steps), amount=epsilon)


def typical_runs(epsilon: Fraction) -> tuple[BudgetPlan, BudgetPlan]:
    """Return the plan of a sparse release with public groups, as it runs on two kinds of graphs.

    Args:
        epsilon: privacy parameter for everything together.

    Returns:
        The run on weights far above the noise, whose heavy edges are kept; and the run where no
        edges are kept.
    """
    plan = sparse_plan(epsilon=epsilon, noise="laplace", groups=True)
    runs = []
    for pays in (True, False):
        execution = PlanExecution(plan)
        for step in plan.steps:
            if all(pays is condition.holds for condition in step.conditions):
                execution.take(step, TYPICAL_KEPT_SHARE if step.shares[1:] else None)
        runs.append(execution.plan)
    return runs[0], runs[1]
