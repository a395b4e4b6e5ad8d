"""Budget plans of releases of graphs: their steps, and the share of the budget of each step.

A plan (`BudgetPlan`) is a list of steps. A step measures one statistic with a share of epsilon. The
base of the share is what the statistics measured before it have left (`ALL_LEFT` is all of that). A
later step for the same statistic refines its measurement. Its share has the same base and includes
what the earlier step has spent: after a first look with a share of 2/25 and a second with 1/5,
degrees have cost 1/5 of the base, not 7/25. A step runs if its conditions are met by earlier public
results; the answers come from `synth.decisions` and `synth.sparse_decisions`. All shares and all
plans are in this one file, since the shares of a plan are chosen together.

A release with a noisy matrix (`matrix_plan`) can err in three ways. The worst cut is the cut with
the largest error, and "to move the worst cut" is to add to this error. Errors of degrees move it by
about n/2 times their mean. Noise on entries hides communities. And if communities are
hidden, cuts between them come out as if the graph had its degrees only. Which one counts most
depends on the graph, so the plan begins with cheap statistics that show it: sums between public
groups, the total weight, and a first look at degrees.

A sparse release (`sparse_plan`) has no noisy value for most pairs. It measures the edges whose
noisy weight is large (kept edges), degrees, and sums between groups.

Terms used here: groups are informative if sums between them differ from what degrees lead to
expect. Degrees are even if they differ by less than their noise. A look at degrees, or groups, is
an early measurement of them with a small share. Entries are the entries of the noisy matrix. Kept
edges are the pairs of vertices whose noisy weight reaches a public threshold.

Everything here depends on public facts alone: sizes, epsilon and options. The order of the steps
matters: conditions of a step are answered from what earlier steps have measured.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Self, final

from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.estimate.noises import noise_distribution, sums_grid
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
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.synth.detected_structure import (
    DEGREE_SHARES,
    MOST_TESTED,
    tested_vertices,
)
from graphcuts_dp.synth.mechanisms import AUTO, RESPONSE, SPLIT, Mechanism

# Names of statistics, in steps and in receipts.
GROUPS, TOTAL, DEGREES, ENTRIES = "groups", "total", "degrees", "entries"
WEIGHTS, KEPT_EDGES = "weights", "kept edges"
EDGES = "edges"  # how many there are, and how many are fractional
# As "weights", in public classes of weight that do not depend on epsilon.
FINE_WEIGHTS = "fine weights"
UNEVENNESS, STRUCTURE = "unevenness", "structure"  # see `synth.detected_structure`
SECOND_GROUPS = "second group sums"  # of groups at whose first sums a decision has looked
SQUARED_DISTANCE = "squared distance"  # of the fit, which is asked for after the fit
# Names of measurements in receipts that differ from the statistic: degrees that were measured only
# to choose how to spend the rest, and groups that kept edges show.
EARLY_DEGREES, COMMUNITY_GROUPS = "early degrees", "found groups"
_COUNT_NOISE = "discrete Laplace"  # name of the noise of all statistics but entries and kept edges

# Conditions on earlier results. They are printed with a plan, after "if" or "unless".
GROUPS_INFORMATIVE = "the groups are informative"
TOTAL_UNKNOWN = "group sums do not tell the total"
UNDECIDED_BY_TOTAL = "degrees may be even"
UNDECIDED_BY_LOOK = "a first look does not tell"
BESIDE_ENTRIES = "entries show communities"
ENTRIES_SHOW_NOTHING = "entries show nothing"
DEGREES_UNCERTAIN = "degrees stay uncertain"
EDGES_WORTH_KEEPING = "edges are worth keeping"
COMMUNITIES_FOUND = "kept edges show communities"
DEGREES_HELP = "degrees help beside what is detected"

# Of the whole epsilon, for the squared distance of the fit: the mean-square certificate.
CERTIFICATE_SHARE = Fraction(1, 100)
# For a sparse synthetic graph with weights, before all other steps: a share of epsilon for the
# number of edges, and a share of the rest for how many weigh how much.
EDGES_SHARE, WEIGHTS_SHARE = Fraction(3, 100), Fraction(1, 50)

TOTAL_SHARE = Fraction(1, 50)  # of what groups leave, for the total
# Intervals cannot use a total at which a decision has looked. From so many vertices on (the
# geometric mean of both sides) a first look at it, with a part of its share, is precise enough for
# the decision, and the remaining share refines it for answers. With fewer vertices the sum of the
# entries is as good for answers as the total.
_VERTICES_FOR_FIRST_TOTAL = 200
_FIRST_LOOK_AT_TOTAL = Fraction(1, 4)  # part of its share
# Shares of the degrees. The base of all of them is what groups and total leave, and each includes
# what earlier looks at degrees have spent.
EARLY_SHARE = Fraction(2, 25)  # for a first look
SECOND_LOOK_SHARE = Fraction(1, 5)  # if the first look leaves open whether degrees are even
UNDETECTABLE_SHARE = Fraction(3, 5)  # if communities are undetectable in the entries
UNCERTAIN_SHARE = Fraction(3, 4)  # if an early look shows that 3/5 would leave them uncertain

# Shares of the tests that choose the share of the degrees, each of what groups, the total and the
# test before leave. With a share c the noise moves the eigenvalue that the structure test detects
# by about 2/(c epsilon n), so fewer vertices need more.
_UNEVENNESS_SHARE, _UNEVENNESS_SHARE_OF_FEW = Fraction(1, 200), Fraction(1, 100)
_FEW_VERTICES = 200
_LEAST_STRUCTURE_SHARE, _LARGEST_STRUCTURE_SHARE = 0.005, 0.02
_STRUCTURE_NUMERATOR = 30.0  # the share is this over n^1.5 for n tested vertices
FEWEST_TESTED = 40  # vertices of a side; with fewer, looks at degrees choose

MOST_GROUPS = 256  # of one level: a step of the fit takes O(n^2 groups) operations
# Constants of `group_share`, tuned with bench_groups.py on its tuning graphs at epsilon 1, random
# groups among them. Its docstring has the formulas; n is the number of vertices, k of groups, s the
# share of epsilon for groups.
_FIRST_LOOK_AT_GROUPS = Fraction(1, 6)  # part of s that is spent before groups are informative
_LEAST_GROUP_SHARE, _LARGEST_GROUP_SHARE = 0.05, 0.25  # bounds of s
_ENTRY_ERRORS = 1 / 50  # errors of entries move the worst cut by n^1.5/(50 epsilon)
_CELL_ERRORS = 0.7  # errors of group sums move the worst cut by .7 k^1.5/epsilon
_SUM_OVER_ENTRIES = 6.0  # s is at least 6 k/n, so that a measured sum errs less than entries
# Of groups that are not informative, second sums get the share of the first look if that is at
# least .6 k/n: they err less than the noisy entries of their cells would with .4 of epsilon, which
# is what degrees leave to entries that show nothing.
_SECOND_SUM_OVER_ENTRIES = 0.6

# Shares of a sparse release.
COUNTS_SHARE = Fraction(1, 50)  # of epsilon, for counts of how many edges weigh how much
KEPT_SHARES = tuple(Fraction(step, 40) for step in range(1, 40))  # of what the counts leave
# The share of kept edges for weights far above the noise: 6/9, in fortieths, since kept edges,
# degrees and groups then share 6 : 2 : 1; see `synth.sparse_decisions`.
TYPICAL_KEPT_SHARE = Fraction(27, 40)
GROUPS_BESIDE_EDGES = Fraction(1, 3)  # of what kept edges leave, for sums between public groups
GROUPS_BESIDE_DEGREES = Fraction(1, 20)  # of what the counts leave, if no edges are kept
COMMUNITIES_SHARE = Fraction(1, 5)  # of what kept edges leave, for groups that they show
# If the user sets the share of degrees. Both are shares of what the counts leave.
_LARGEST_SPARSE_GROUP_SHARE = Fraction(1, 20)  # for groups at most
LEAST_KEPT_SHARE = Fraction(1, 10)  # kept edges and groups together; with less, no edges are kept

# Entries need no degrees beside them if both hold; see `MatrixShares.entries_are_fine`.
_FINE_DEGREES = 1.5  # row sums of entries err by less than this times the error of measured degrees
_FINE_ENTRY = 0.3  # an entry's noise deviates by at most this times the largest weight


@lru_cache(maxsize=64)
def degree_share(vertices: int) -> Fraction:
    """Return the share of degrees beside entries that show communities: 2/(2 + n^(1/4)).

    Shares of degrees are of what groups and total leave. With a share t, errors of the degrees move
    the worst cut by about n/(t epsilon), and errors of the entries by about a quarter of
    n^(3/2)/((1-t) epsilon) after the fit. The sum is least at t/(1-t) = 2 n^(-1/4), so t is .39 for
    100 vertices, .17 for 10^4, and .06 for 10^6.
    """
    return Fraction(2 / (2 + vertices**0.25)).limit_denominator(1000)


def degree_share_beside_groups(vertices: float) -> Fraction:
    """Return the share of degrees in what informative groups leave: 7/(7 + n^(1/4)).

    As in `degree_share`, errors of degrees move the worst cut by n/(t epsilon). With sums between
    groups measured besides, entries only have to show structure within them, and their errors move
    the worst cut by about n^1.5/(50 (1-t) epsilon). The sum is least at t/(1-t) = 7 n^(-1/4).
    """
    return Fraction(7 / (7 + vertices**0.25)).limit_denominator(1000)


def group_share(vertices: float, groups: float) -> Fraction:
    """Return the share of epsilon for sums between public groups.

    With a share s, errors of the k(k+1)/2 sums (of deviation sqrt(2)/(s epsilon) each) move the
    worst cut by about the cut norm of a noisy k x k matrix, a/(s epsilon) with a = .7 k^1.5. Errors
    of the other measurements move it by b/((1-s) epsilon): with the share t of degrees in the
    remainder (`degree_share_beside_groups`), b = n/t + n^1.5/(50 (1-t)). The sum is least at
    s/(1-s) = sqrt(a/b).

    The share is at least 6 k/n, so that measured sums are better than sums of noisy entries. Two
    groups have (n/k)^2 pairs between them. The sum of their entries errs by about .77 (n/k)/epsilon
    (at epsilon 1 an entry has the deviation .96, and a normal number of this deviation errs by .77
    on average). The measured sum errs by sqrt(2)/(s epsilon); for s >= 6 k/n that is at most .31 of
    the former. Finally the share is clipped to lie between 1/20 and 1/4.

    Args:
        vertices: n; for two sides the geometric mean of their sizes.
        groups: k; for two sides the geometric mean of their numbers of groups.
    """
    t = float(degree_share_beside_groups(vertices))
    a = _CELL_ERRORS * groups**1.5
    b = vertices / t + _ENTRY_ERRORS * vertices**1.5 / (1 - t)
    ratio = math.sqrt(a / b)
    share = max(ratio / (1 + ratio), _SUM_OVER_ENTRIES * groups / vertices)
    clipped = min(max(share, _LEAST_GROUP_SHARE), _LARGEST_GROUP_SHARE)
    return Fraction(clipped).limit_denominator(1000)


@final
@dataclass(frozen=True, eq=False)
class MeasuredGroups:
    """Public groups whose sums are measured, with the shares of epsilon for it.

    Attributes:
        sides: groups of the rows and of the columns; one object twice for one vertex set. They hold
            all levels from the coarsest down to the one that is measured, which is the finest.
        first_look: share of epsilon for a first look at all sums.
        both_looks: share of epsilon for all sums if the first look shows that the groups are
            informative; it includes the first look.
        second: share of epsilon for second sums, with noise of their own, if the groups are not
            informative; 0 if the entries are as good for answers.
        degrees: share of the degrees in what is left after both looks.
    """

    sides: Sides
    first_look: Fraction
    both_looks: Fraction
    second: Fraction
    degrees: Fraction

    @classmethod
    def of(cls, sides: Sides, shape: tuple[int, int]) -> Self:
        """Return the groups that are measured, and their shares.

        Of nested levels the finest one with at most `MOST_GROUPS` groups is measured: sums of
        coarser levels are sums of its cells.

        Args:
            sides: groups of the rows and of the columns; one object twice for one vertex set.
            shape: rows and columns of the matrix.

        Raises:
            GraphError: every level has too many groups.
        """
        row_groups, column_groups = sides
        measured_rows = _measured_levels(row_groups)
        one_vertex_set = column_groups is row_groups
        # Callers rely on one object twice for one vertex set.
        measured_columns = measured_rows if one_vertex_set else _measured_levels(column_groups)
        # Numbers of groups of the finest level.
        counts = [len(measured.labels()) for measured in (measured_rows, measured_columns)]
        vertices, groups = math.sqrt(math.prod(shape)), math.sqrt(math.prod(counts))
        share = group_share(vertices, groups)
        first_look = share * _FIRST_LOOK_AT_GROUPS
        sums_are_better = first_look >= _SECOND_SUM_OVER_ENTRIES * groups / vertices
        # The share of degrees is that for the larger side, as in `MatrixShares.beside_entries`;
        # `group_share` compares errors of the whole matrix, so it takes the mean size.
        return cls(
            sides=(measured_rows, measured_columns),
            first_look=first_look,
            both_looks=share,
            second=first_look if sums_are_better else Fraction(0),
            degrees=degree_share_beside_groups(max(shape)),
        )


@final
@dataclass(frozen=True)
class MatrixShares:
    """The shares of total and degrees beside a noisy matrix, and the public facts behind them.

    The share of the total is of what groups leave. Shares of degrees are of what groups and total
    leave.

    Attributes:
        shape: rows and columns of the matrix.
        max_weight: public largest weight; None for graphs without weights or without a maximum.
        noise: name of the distribution of the noise of the entries, as `noise_distribution` knows
            it, such as "binary".
        options: the mechanism, and the share of degrees if the user has set it.
        groups: informative groups. They give the shares for the case that a first look has found
            the groups informative, and both looks are measured. None for the case without groups,
            or with groups that are not informative.
        tested: layout of the matrix if "auto" chooses the share of the degrees by the structure
            test; None if it does by looks at degrees.
    """

    shape: tuple[int, int]
    max_weight: float | None
    noise: str
    options: Mechanism = field(default_factory=Mechanism)
    groups: MeasuredGroups | None = None
    tested: Layout | None = None

    @property
    def mechanism(self) -> str:
        """ "auto", "randomized-response" or "degrees+randomized-response"."""
        return self.options.mechanism

    @property
    def largest_weight(self) -> float:
        """The public largest weight; 1 if there is none, as for graphs without weights."""
        return self.max_weight or 1.0

    @property
    def total(self) -> Fraction:
        """Share of the total, of what groups leave."""
        return TOTAL_SHARE

    @property
    def first_total(self) -> Fraction:
        """Share of the total when decisions look at it, part of `total`, or all of it."""
        sides = math.sqrt(math.prod(self.shape))
        return self.total * (_FIRST_LOOK_AT_TOTAL if sides >= _VERTICES_FOR_FIRST_TOTAL else 1)

    @property
    def unevenness(self) -> Fraction:
        """Share of the unevenness of degrees, of what groups and total leave."""
        few = max(self.shape) < _FEW_VERTICES
        return _UNEVENNESS_SHARE_OF_FEW if few else _UNEVENNESS_SHARE

    @property
    def structure(self) -> Fraction:
        """Share of the structure test, of what groups, total and unevenness leave."""
        vertices = max(self.shape) if self.tested is None else tested_vertices(self.tested)
        share = _STRUCTURE_NUMERATOR / min(vertices, MOST_TESTED) ** 1.5
        clipped = min(max(share, _LEAST_STRUCTURE_SHARE), _LARGEST_STRUCTURE_SHARE)
        return Fraction(clipped).limit_denominator(1000)

    @property
    def left_by_tests(self) -> Fraction:
        """Part of epsilon that total and tests leave to degrees and entries."""
        return (1 - self.total) * (1 - self.unevenness) * (1 - self.structure)

    @property
    def fixed(self) -> Fraction | None:
        """Share of the degrees that depends on no result: the user's, or that beside groups.

        None if there is neither. Then earlier results choose between the properties below; with a
        fixed share, all of them are this share.
        """
        if self.options.share is None and self.groups is not None:
            return self.groups.degrees
        return self.options.share

    @property
    def beside_entries(self) -> Fraction:
        """Share of the degrees if entries are likely to show communities."""
        return degree_share(max(self.shape)) if self.fixed is None else self.fixed

    @property
    def undetectable(self) -> Fraction:
        """Share of the degrees if communities are undetectable in the entries.

        The entries then add nothing to the worst cut, for which all of epsilon should go to the
        degrees. But cuts between given sets of vertices still need the entries, so these get a
        part.
        """
        return self._fixed_or_at_least(UNDETECTABLE_SHARE)

    @property
    def uncertain(self) -> Fraction:
        """Share of the degrees if communities are undetectable and degrees stay uncertain.

        That is, if an early look shows that they would stay so with the share `undetectable`.
        """
        return self._fixed_or_at_least(UNCERTAIN_SHARE)

    def _fixed_or_at_least(self, share: Fraction) -> Fraction:
        """Return the fixed share; without one, the given share or `beside_entries` if larger."""
        return max(share, self.beside_entries) if self.fixed is None else self.fixed

    def beside_groups(self, groups: MeasuredGroups) -> Self:
        """Return the shares beside informative groups, which make degrees worth more."""
        return replace(self, groups=groups)

    def deviation(self, epsilon: Fraction) -> float:
        """Return the standard deviation of the noise of an entry measured with epsilon."""
        return _deviation(self.noise, epsilon, self.max_weight)

    def detection_threshold(self, epsilon: Fraction) -> float:
        """Return half the largest singular value of the noise: deviation (sqrt(n) + sqrt(m))/2.

        Smaller eigenvalues of the graph are undetectable in entries measured with epsilon.
        """
        rows, columns = self.shape
        return self.deviation(epsilon) * (math.sqrt(rows) + math.sqrt(columns)) / 2

    def entries_are_fine(self, epsilon: Fraction) -> bool:
        """Return whether entries need no degrees beside them.

        That is so if an entry shows an edge, and row sums of entries err about as little as
        measured degrees would. The answer depends on the attributes of this object and epsilon, so
        it is known before anything is measured.

        Args:
            epsilon: of the entries, if no degrees are measured.
        """
        if self.deviation(epsilon) > _FINE_ENTRY * self.largest_weight:
            return False
        # Scale of the noise of a degree: one pair changes two degrees by the largest weight each.
        degree_error = 2 * self.largest_weight / float(epsilon * self.beside_entries)
        # A row sum of entries deviates by deviation * sqrt(n), which is the detection threshold.
        return self.detection_threshold(epsilon) < _FINE_DEGREES * math.sqrt(2) * degree_error


def matrix_plan(
    shares: MatrixShares,
    distribution: NoiseDistribution,
    *,
    epsilon: Fraction,
    groups: MeasuredGroups | None = None,
    certified: bool = False,
    edge_counts: bool = False,
) -> BudgetPlan:
    """Return the plan of a release with a noisy matrix.

    0. If the fit is certified, `CERTIFICATE_SHARE` of epsilon is set aside for step 5, and epsilon
       stands for what this leaves in all other steps. Of graphs with weights it is then spent on
       how many edges there are and how many weigh how much, unless it is too small. Shares of all
       steps that follow are of what these leave.

    1. Sums between public groups, if there are any: a first look, and a second one if the groups
       are informative. Then degrees get their share, and the entries all that is left.
    2. Of groups that are not informative, second sums with noise of their own, if they are better
       than the entries: no interval is made of sums at which a decision has looked.
    3. Without informative groups, "degrees+randomized-response" gives degrees their share. "auto"
       measures the total, unless the groups determine it, and then degrees with a share that
       earlier results choose. For graphs with `shares.tested` these are the unevenness of degrees
       and the structure test. For others they are the total and a first and second look at the
       degrees: decisions look at early degrees alone, and later ones refine these.
    4. Entries, with all that is left.
    5. After the fit, its squared distance from the private graph, see `measure.mean_square`.

    Steps of 1 and 3 are left out if their statistic cannot be measured (see
    `_possible_mechanism`), or if "auto" does not need it: `entries_are_fine` tells so in advance.

    Args:
        shares: of degrees and total without groups, with the mechanism.
        distribution: noise of the entries if they get all of epsilon.
        epsilon: privacy parameter of the whole release.
        groups: groups whose sums are measured; None if absent.
        certified: whether the squared distance of a fit is measured, see `can_be_certified`.
        edge_counts: whether edges are counted, see `after_edge_counts`.

    Raises:
        ParameterError: the mechanism is "degrees+randomized-response" and degrees cannot be
            measured; or a step would get less than the smallest epsilon.

    Privacy: reads public facts alone.
    """
    steps: list[BudgetStep] = []
    amount = epsilon
    if certified:
        epsilon *= 1 - CERTIFICATE_SHARE
    epsilon, before_counts = after_edge_counts(epsilon, counted=edge_counts), epsilon
    if epsilon < before_counts:
        steps = [
            _count_step(EDGES, EDGES_SHARE),
            _count_step(FINE_WEIGHTS, WEIGHTS_SHARE, name=WEIGHTS),
        ]
    unless_informative: tuple[Condition, ...] = ()
    remaining = epsilon
    if groups is not None:
        if epsilon * groups.first_look < SMALLEST_EPSILON:
            raise ParameterError(
                f"a part of epsilon would be below {SMALLEST_EPSILON:g}: leave the groups out"
            )
        if_informative = Condition(GROUPS_INFORMATIVE)
        unless_informative = (Condition(GROUPS_INFORMATIVE, holds=False),)
        steps.append(_count_step(GROUPS, groups.first_look))
        steps.append(_count_step(GROUPS, groups.both_looks, if_informative))
        shares_with_groups = shares.beside_groups(groups)
        left_by_groups = epsilon * (1 - groups.both_looks)
        mechanism = _possible_mechanism(shares_with_groups, distribution, left_by_groups)
        # `_possible_mechanism` does not ask this of shares with groups, since theirs are fixed.
        fine_entries = shares_with_groups.entries_are_fine(left_by_groups)
        degrees_needless = shares.mechanism == AUTO and fine_entries
        if mechanism != RESPONSE and not degrees_needless:
            share = shares_with_groups.beside_entries
            steps.append(_count_step(DEGREES, share, if_informative))
        # From here on, steps run only unless the groups are informative: after their first look.
        remaining = epsilon * (1 - groups.first_look)
        if groups.second:
            share = groups.second / (1 - groups.first_look)  # of what the first look leaves
            steps.append(_count_step(SECOND_GROUPS, share, *unless_informative))
            remaining -= epsilon * groups.second
    mechanism = _possible_mechanism(shares, distribution, remaining)
    if mechanism == SPLIT:
        steps.append(_count_step(DEGREES, shares.beside_entries, *unless_informative))
    elif mechanism == AUTO:
        steps += _steps_by_total(shares, unless_informative, with_groups=groups is not None)
    steps.append(BudgetStep(statistic=ENTRIES, share=ALL_LEFT, noise=shares.noise))
    if certified:
        steps.append(
            BudgetStep(
                statistic=SQUARED_DISTANCE,
                share=CERTIFICATE_SHARE,
                noise=_COUNT_NOISE,
                reserved=True,
            )
        )
    return BudgetPlan(steps=tuple(steps), amount=amount)


def can_be_certified(max_weight: float | None, *, weighted: bool, epsilon: Fraction) -> bool:
    """Return whether the squared distance of a fit can be measured, from public facts alone.

    Weights need a public maximum: without one, one pair can change the squared distance by any
    amount. And the part of epsilon must not be below the smallest epsilon.

    Args:
        max_weight: public largest weight, None without one.
        weighted: whether the graph has weights.
        epsilon: privacy parameter of the whole release.
    """
    # Squares of much smaller or larger weights are no floats.
    bounded = not weighted or (max_weight is not None and 1e-100 <= max_weight <= 1e100)
    return bounded and epsilon * CERTIFICATE_SHARE >= SMALLEST_EPSILON


def left_by_certificate(epsilon: Fraction) -> Fraction:
    """Return what the squared distance leaves of the epsilon of a graph without weights."""
    certified = can_be_certified(None, weighted=False, epsilon=epsilon)
    return epsilon * (1 - CERTIFICATE_SHARE) if certified else epsilon


def after_edge_counts(epsilon: Fraction, *, counted: bool) -> Fraction:
    """Return what the counts of edges leave of epsilon for a noisy matrix.

    Args:
        epsilon: of the whole release.
        counted: whether edges are counted: the graph has weights, and is to have a synthetic one.
            They are not where a count would get less than the smallest epsilon.
    """
    smallest = epsilon * min(EDGES_SHARE, (1 - EDGES_SHARE) * WEIGHTS_SHARE)
    if not counted or smallest < SMALLEST_EPSILON:
        return epsilon
    return epsilon * (1 - EDGES_SHARE) * (1 - WEIGHTS_SHARE)


def sparse_plan(
    *,
    epsilon: Fraction,
    noise: str,
    groups: bool,
    bipartite: bool = False,
    degrees: Fraction | None = None,
) -> BudgetPlan:
    """Return the plan of a sparse release.

    1. Counts of how many edges weigh how much. They decide on the share of the kept edges, and
       whether any are kept.
    2. Kept edges: those whose noisy weight reaches a threshold.
    3. Sums between public groups. Without public groups, sums between communities, if kept edges
       show any.
    4. Degrees, with all that is left.

    Args:
        epsilon: privacy parameter of the whole release.
        noise: name of the distribution of the noise of a pair.
        groups: whether there are public groups.
        bipartite: whether the graph has two sides; its kept edges are not searched for communities.
        degrees: share of all of epsilon for the degrees, set by the user; None if absent. With it,
            kept edges and groups share what counts and degrees leave. Let r be this amount, divided
            by what the counts leave. Groups get the part min(1/20, r/2) of what the counts leave,
            and kept edges the part r - min(1/20, r/2), or all of r if there can be no groups. If r
            is below 1/10, or edges turn out not to be worth keeping, public groups get all of r.
            What no groups take (none are public, or no communities are found) is left to degrees.

    Privacy: reads public facts alone.
    """
    if_kept = Condition(EDGES_WORTH_KEEPING)
    unless_kept = Condition(EDGES_WORTH_KEEPING, holds=False)
    may_have_groups = groups or not bipartite  # public ones, or communities
    keeps_edges = True
    # Shares of kept edges in what the counts leave: several to choose from, or a single one.
    kept_shares: Fraction | tuple[Fraction, ...] = KEPT_SHARES
    # Of what kept edges leave.
    groups_beside_edges = GROUPS_BESIDE_EDGES if groups else COMMUNITIES_SHARE
    groups_without_edges = GROUPS_BESIDE_DEGREES  # of what the counts leave
    if degrees is not None:
        # `r`, `group_part` and `kept_part` are parts of what the counts leave.
        r = 1 - degrees / (1 - COUNTS_SHARE)
        group_part = min(_LARGEST_SPARSE_GROUP_SHARE, r / 2) if may_have_groups else Fraction(0)
        kept_part = r - group_part
        keeps_edges = r >= LEAST_KEPT_SHARE
        kept_shares = kept_part
        groups_beside_edges = group_part / (1 - kept_part)
        groups_without_edges = r
    steps = [_count_step(WEIGHTS, COUNTS_SHARE)]
    if keeps_edges:
        steps.append(
            BudgetStep(statistic=KEPT_EDGES, share=kept_shares, noise=noise, conditions=(if_kept,))
        )
    if groups:
        steps.append(_count_step(GROUPS, groups_beside_edges, if_kept))
        steps.append(_count_step(GROUPS, groups_without_edges, unless_kept))
    elif may_have_groups and keeps_edges:
        if_communities = Condition(COMMUNITIES_FOUND)
        steps.append(
            _count_step(GROUPS, groups_beside_edges, if_kept, if_communities, name=COMMUNITY_GROUPS)
        )
    steps.append(_count_step(DEGREES, ALL_LEFT))
    return BudgetPlan(steps=tuple(steps), amount=epsilon)


def typical_runs(epsilon: Fraction) -> tuple[BudgetPlan, BudgetPlan]:
    """Return the plan of a sparse release with public groups, as it runs on two kinds of graphs.

    Args:
        epsilon: privacy parameter of the whole release.

    Returns:
        The run on weights far above the noise, whose heavy edges are kept; and the run in which no
        edges are kept.
    """
    plan = sparse_plan(epsilon=epsilon, noise="laplace", groups=True)
    runs = []
    for keeps_edges in (True, False):
        execution = PlanExecution(plan)
        for step in plan.steps:
            # This plan asks one question only, whether edges are worth keeping: conditions on
            # communities are in plans without public groups.
            if all(condition.holds == keeps_edges for condition in step.conditions):
                share = TYPICAL_KEPT_SHARE if step.statistic == KEPT_EDGES else None
                execution.take(step, share)  # None for the only share of the step
        runs.append(execution.plan)
    return runs[0], runs[1]


def _count_step(
    statistic: str, share: Fraction, *conditions: Condition, name: str = ""
) -> BudgetStep:
    """Return a step with discrete Laplace noise."""
    return BudgetStep(
        statistic=statistic, share=share, noise=_COUNT_NOISE, conditions=conditions, name=name
    )


def _steps_by_total(
    shares: MatrixShares, conditions: tuple[Condition, ...], *, with_groups: bool
) -> Iterator[BudgetStep]:
    """Yield the steps of "auto": the total, and degrees with the share that results suggest.

    Args:
        shares: of total and degrees.
        conditions: of all of these steps.
        with_groups: whether sums between groups were measured, which may determine the total.
    """
    of_total = (*conditions, Condition(TOTAL_UNKNOWN)) if with_groups else conditions
    undecided = (*conditions, Condition(UNDECIDED_BY_TOTAL))
    still_undecided = (*undecided, Condition(UNDECIDED_BY_LOOK))
    undetectable = (*conditions, Condition(ENTRIES_SHOW_NOTHING))
    if shares.first_total < shares.total:
        yield _count_step(TOTAL, shares.first_total, *of_total)
    yield _count_step(TOTAL, shares.total, *of_total)
    if shares.tested is not None and shares.fixed is None:
        yield _count_step(UNEVENNESS, shares.unevenness, *conditions)
        yield _count_step(STRUCTURE, shares.structure, *conditions)
        yield BudgetStep(
            statistic=DEGREES,
            share=DEGREE_SHARES,
            noise=_COUNT_NOISE,
            conditions=(*conditions, Condition(DEGREES_HELP)),
        )
        return
    yield _count_step(DEGREES, EARLY_SHARE, *undecided, name=EARLY_DEGREES)
    yield _count_step(DEGREES, SECOND_LOOK_SHARE, *still_undecided, name=EARLY_DEGREES)
    yield _count_step(DEGREES, shares.beside_entries, *conditions, Condition(BESIDE_ENTRIES))
    if shares.uncertain == shares.undetectable:
        yield _count_step(DEGREES, shares.undetectable, *undetectable)
        return
    # An early look for the last decision, unless there was one for the others.
    yield _count_step(DEGREES, EARLY_SHARE, *undetectable, name=EARLY_DEGREES)
    uncertain, certain = (Condition(DEGREES_UNCERTAIN, holds=holds) for holds in (True, False))
    yield _count_step(DEGREES, shares.undetectable, *undetectable, certain)
    yield _count_step(DEGREES, shares.uncertain, *undetectable, uncertain)


def _possible_mechanism(
    shares: MatrixShares, distribution: NoiseDistribution, epsilon: Fraction
) -> str:
    """Return the mechanism that a budget allows: the one that `shares` name, or without degrees.

    "auto" becomes "randomized-response" in two cases. Either degrees cannot be measured: weights
    have no maximum, or a huge one, or some part of epsilon would be too small. Or results choose
    the share of degrees, and entries are so fine that they would choose none.

    Args:
        shares: of total and degrees, with the mechanism.
        distribution: noise of the entries.
        epsilon: what groups leave of epsilon.

    Raises:
        ParameterError: the mechanism is "degrees+randomized-response" and degrees cannot be
            measured.
    """
    mechanism = shares.mechanism
    if mechanism == RESPONSE:
        return mechanism
    try:
        sums_grid(distribution)  # raises `ParameterError` for weights without a maximum
        if epsilon * _smallest_share(shares) < SMALLEST_EPSILON:
            raise ParameterError(
                f"a part of epsilon would be below {SMALLEST_EPSILON:g}: choose "
                "mechanism='randomized-response', or another degree_share"
            )
    except ParameterError:
        if mechanism == SPLIT:
            raise
        return RESPONSE
    results_choose = mechanism == AUTO and shares.fixed is None
    return RESPONSE if results_choose and shares.entries_are_fine(epsilon) else mechanism


def _smallest_share(shares: MatrixShares) -> Fraction:
    """Return the smallest part of an amount that a statistic can get, if the amount is split.

    The amount is what groups leave. The minimum is over all steps that some results lead to, early
    looks among them.
    """
    if not 0 < shares.beside_entries < 1:  # a user's share that rounding has made 0 or 1
        return Fraction(0)
    if shares.mechanism == SPLIT:
        steps = [_count_step(DEGREES, shares.beside_entries)]
    else:
        steps = list(_steps_by_total(shares, (), with_groups=False))
    entries = BudgetStep(statistic=ENTRIES, share=ALL_LEFT, noise=shares.noise)
    return BudgetPlan(steps=(*steps, entries), amount=Fraction(1)).smallest


def _measured_levels(groups: Groups) -> Groups:
    """Return groups without the levels below the finest with at most `MOST_GROUPS` groups.

    `Groups.levels` are names of levels, ordered from coarse to fine, and `labels` are the groups of
    a level, by default of the finest.

    Raises:
        GraphError: every level has too many groups.
    """
    fitting = [name for name in groups.levels if len(groups.labels(name)) <= MOST_GROUPS]
    if not fitting:
        raise GraphError(
            f"a release takes at most {MOST_GROUPS} groups: give a coarser level too, or release "
            "the sums alone with release_flows"
        )
    return groups.down_to(fitting[-1])


@lru_cache(maxsize=256)  # decisions ask for a few of them again and again
def _deviation(noise: str, epsilon: Fraction, max_weight: float | None) -> float:
    """Return the standard deviation of the noise of an entry measured with epsilon."""
    return noise_distribution(noise, epsilon=epsilon, max_weight=max_weight).standard_deviation
