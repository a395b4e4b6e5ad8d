"""Choose a bound on users or on vertices: a larger one needs more noise, and drops fewer rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE, DEFAULT_FAILURE, DEFAULT_PERCENT, percent
from graphcuts_dp.display import Card, Tabled
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.all_rows_forecast import AllRowsWidths, comparison_of_widths
from graphcuts_dp.estimate.cell_changes import cell_changes
from graphcuts_dp.estimate.consistency import ErrorSpread
from graphcuts_dp.estimate.counted_rows import (
    SHARE,
    counted_sentence,
    left_out_failures,
    left_out_noise,
    left_out_radius,
)
from graphcuts_dp.estimate.noisy_contributions import Contributions
from graphcuts_dp.estimate.strategy import choose_strategy
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.learn.forecasts import noise_error
from graphcuts_dp.learn.workload import SessionWorkload, Setting
from graphcuts_dp.privacy.count_noise import COUNT_NOISES
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import CONTRIBUTED
from graphcuts_dp.schema.group_tree import GroupTree


@final
@dataclass(frozen=True, kw_only=True)
class ContributionBoundRow:
    """The error to expect from one bound on users.

    Attributes:
        max_contributions: the bound k.
        noise: standard deviation of a sum with discrete Laplace noise of rate epsilon/k.
        users_above: how many users have more, from the table.
        users_above_error: the error of that number is no larger, with the default confidence for
            this bound alone.
        left_out: lower and upper bound of how many pairs, rows or units are left out, see
            `Contributions.left_out`; the upper one is infinite if it is unknown.
        left_out_by_detected: of the users that noise cannot hide, at most, see
            `Contributions.left_out_by_detected`. No bound of what is left out: users that noise
            hides may have far more.
        share_left_out: what is left out, as a share of all that there is, at most; 1 where it is
            unknown. It holds together with `left_out`.
        error: sqrt(noise^2 + loss^2), where loss is the most that is left out of a cell: of all
            users if that is known, else of those that noise cannot hide.

    Examples:
        >>> import pandas
        >>> frame = pandas.DataFrame(
        ...     {"user": [1, 1, 2], "source": ["a", "b", "a"], "target": ["b", "a", "b"]}
        ... )
        >>> rows = gc.Rows.of(frame, vertices=["a", "b"], columns=gc.Columns(user="user"))
        >>> known = gc.release_contributions(rows, epsilon=1.0)
        >>> plan = gc.planning.plan_contribution_bounds(known, epsilon=1.0)
        >>> len(plan.rows) > 0
        True
    """

    max_contributions: int
    noise: float
    users_above: int
    users_above_error: int
    left_out: tuple[float, float]
    left_out_by_detected: float
    share_left_out: float
    error: float

    @property
    def says_something(self) -> bool:
        """True if users or rows above the bound show above the noise, or their number is known."""
        low, high = self.left_out
        is_known = math.isfinite(high) and high > 0
        return low > 0 or is_known or self.users_above > self.users_above_error


@final
@dataclass(frozen=True, repr=False, kw_only=True)
class ContributionBoundPlan(Tabled):
    """The error to expect from each bound on users, in ascending order of the bounds.

    Attributes:
        rows: one for each bound of the table.
        best: the row with the least error.
        what: what the bounds count.
        confidence: probability with which all that is said of left-out rows holds; 1 where the
            table is public.
        undetectable: how many users noise can hide in each class.
        chosen: the bound that was chosen before the table was seen, with a lower and an upper bound
            of what it leaves out, for itself alone; None if none was named. See
            `Contributions.left_out_of_one`.
        coverage: what the best bound, or the chosen one, does to intervals of the count of all
            rows, in sentences.

    Examples:
        >>> import pandas
        >>> frame = pandas.DataFrame(
        ...     {"user": [1, 1, 2], "source": ["a", "b", "a"], "target": ["b", "a", "b"]}
        ... )
        >>> rows = gc.Rows.of(frame, vertices=["a", "b"], columns=gc.Columns(user="user"))
        >>> known = gc.release_contributions(rows, epsilon=1.0)
        >>> plan = gc.planning.plan_contribution_bounds(known, epsilon=1.0)
        >>> len(plan.rows) > 0
        True
    """

    rows: tuple[ContributionBoundRow, ...]
    best: ContributionBoundRow
    what: str
    confidence: float
    undetectable: int
    chosen: tuple[int, tuple[float, float]] | None = None
    coverage: str = ""

    @property
    def warning(self) -> str:
        """Warning of what no table can show; empty if there is none."""
        if all(math.isfinite(row.left_out[1]) for row in self.rows):
            return ""
        bound, (least, _) = self.chosen or (self.best.max_contributions, self.best.left_out)
        return (
            f"A bound of {bound:,} leaves out at least {math.floor(least):,} {self.what} for sure, "
            f"and may leave out most of them: noise hides up to {self.undetectable:,} users of "
            f"each size, and one user may have any number of {self.what}, so that nobody can tell "
            "privately how many are left out at most. If it is publicly known that no user has "
            "more than some number, --contributions table:known-max= (known_max=) gives an upper "
            "bound. A larger epsilon hides fewer users."
        )

    @property
    def _shown_rows(self) -> tuple[ContributionBoundRow, ...]:
        """The rows up to the first one after the last informative one.

        The best bound and the chosen one are among them.
        """
        bounds = [row.max_contributions for row in self.rows]
        named = [self.best.max_contributions, *([] if self.chosen is None else [self.chosen[0]])]
        shown = [bounds.index(bound) for bound in named]
        shown += [index + 1 for index, row in enumerate(self.rows) if row.says_something]
        return self.rows[: max(shown) + 1]

    def _card(self) -> Card:
        shown_rows = self._shown_rows
        facts: tuple[tuple[str, str], ...] = ()
        if self.undetectable:
            text = f"up to {self.undetectable:,} users of each size can be invisible: smaller "
            facts = (("hidden by noise", f"{text}numbers of users say nothing"),)
        notes = [self.coverage, self.warning]
        if len(shown_rows) < len(self.rows):
            notes.insert(
                0,
                f"Bounds from {self.rows[len(shown_rows)].max_contributions:,} to "
                f"{self.rows[-1].max_contributions:,} are not shown: noise hides how many users "
                f"are above them, up to {self.undetectable:,} of each size.",
            )
        of_whom = "for users whom noise does not hide, " if self.warning else ""
        return Card(
            title=f"Bounds on users, and {self.what} left out, with confidence "
            f"{percent(self.confidence)}; {of_whom}the best is {self.best.max_contributions:,}",
            facts=facts,
            columns=(
                *("bound", "noise", "users above", "±", "left out, at least"),
                *("at most", f"share of all {self.what}, at most"),
            ),
            rows=[
                (
                    f"{row.max_contributions:,}",
                    f"{row.noise:,.4g}",
                    f"{max(0, row.users_above):,}",
                    f"{row.users_above_error:,}",
                    f"{math.floor(row.left_out[0]):,}",
                    f"{math.ceil(row.left_out[1]):,}"
                    if math.isfinite(row.left_out[1])
                    else "unknown",
                    _share_text(row),
                )
                for row in shown_rows
            ],
            notes=tuple(filter(None, notes)),
        )

    def __repr__(self) -> str:
        return f"ContributionBoundPlan({len(self.rows)} bounds, best={self.best.max_contributions})"


@refuses_former_options(most="known_max")
def plan_contribution_bounds(
    contributions: Contributions,
    *,
    epsilon: float,
    cells: int = 1,
    known_max: int | None = None,
    max_contributions: int | None = None,
) -> ContributionBoundPlan:
    """Compare bounds on users: the noise that each needs, and what it leaves out.

    It reads the table alone, so it costs nothing. The error of a bound adds the squares of the
    noise and of the most that is left out of a cell. If that is not known, only users that noise
    cannot hide count. The rows of another user are no reason for a larger bound: noise for a bound
    of as many rows as that user has would be no smaller than the loss of them.

    Args:
        contributions: a noisy table that was measured (`release_contributions`), or a public one
            (`Contributions.public`).
        epsilon: of the release that the bound is for, for one user, in [1e-6, 50].
        cells: over how many sums of a table the rows that are left out spread evenly, >= 1. A table
            has its noise in each cell; a single sum, all that is left out.
        known_max: publicly known maximum of the rows of a user, >= 1; None if there is none. With
            it the upper bound of what is left out is finite, and decides which bound is best.
        max_contributions: a bound that was chosen before the table was seen, one of its bounds:
            what it leaves out is then stated for itself, which is far sharper than for all bounds
            at once. None if the table is to choose.

    Raises:
        ParameterError: a number out of range, or a bound that the table does not have.

    Examples:
        >>> import pandas
        >>> frame = pandas.DataFrame(
        ...     {"user": [1, 1, 2], "source": ["a", "b", "a"], "target": ["b", "a", "b"]}
        ... )
        >>> rows = gc.Rows.of(frame, vertices=["a", "b"], columns=gc.Columns(user="user"))
        >>> known = gc.release_contributions(rows, epsilon=1.0)
        >>> plan = gc.planning.plan_contribution_bounds(known, epsilon=1.0)
        >>> len(plan.rows) > 0
        True
    """
    total_epsilon = float(exact_epsilon(epsilon))
    if isinstance(cells, bool) or not isinstance(cells, int) or cells < 1:
        raise ParameterError("cells must be a whole number from 1 on")
    chosen = None
    if max_contributions is not None:
        left_out = contributions.left_out_of_one(max_contributions, known_max=known_max)
        chosen = max_contributions, left_out
    rows = []
    for bound in contributions.bounds:
        noise = math.sqrt(0.5) / math.sinh(total_epsilon / bound / 2)
        left_out = contributions.left_out(bound, known_max=known_max)
        detected = contributions.left_out_by_detected(bound, known_max=known_max)
        users_above, users_above_error = contributions.users_above(bound)
        loss = left_out[1] if math.isfinite(left_out[1]) else detected
        rows.append(
            ContributionBoundRow(
                max_contributions=bound,
                noise=noise,
                users_above=users_above,
                users_above_error=users_above_error,
                left_out=left_out,
                left_out_by_detected=detected,
                share_left_out=_largest_share(left_out[1], contributions.counted_at_least(bound)),
                error=math.hypot(noise, loss / cells),
            )
        )
    best = min(rows, key=lambda row: row.error)
    bound, left_out = (best.max_contributions, best.left_out) if chosen is None else chosen
    return ContributionBoundPlan(
        rows=tuple(rows),
        best=best,
        what=contributions.what,
        confidence=1.0 if contributions.rate is None else DEFAULT_CONFIDENCE,
        undetectable=contributions.radius,
        chosen=chosen,
        coverage=_coverage(
            bound,
            left_out,
            what=contributions.what,
            epsilon=total_epsilon,
            cells=cells,
            known_max=known_max,
            confidence="" if contributions.rate is None else f"{DEFAULT_PERCENT}, together",
        ),
    )


def _share_text(row: ContributionBoundRow) -> str:
    """Return the largest share of all rows that is left out, rounded up to whole per cent."""
    if math.isinf(row.left_out[1]):
        return "unknown"
    return f"{math.ceil(100 * row.share_left_out)} %"


def _largest_share(left_out: float, counted: float) -> float:
    """Return the largest share of all rows that is left out.

    Args:
        left_out: the most rows that are left out; infinite if that is unknown.
        counted: the fewest that count.
    """
    if math.isinf(left_out):
        return 1.0
    return left_out / (left_out + counted) if left_out else 0.0


@final
@dataclass(frozen=True, kw_only=True)
class DegreeBoundRow:
    """The error to expect from one degree bound, in edges.

    Attributes:
        max_degree: the bound D.
        cut: bound on the errors of all answers of a session at once, with probability 1 - beta;
            errors are those from cuts of the bounded graph. The better one of "laplace" and
            "gaussian" noise; the same for any number of vertices.
        cell: standard deviation of the noise of a cell of the finest level of a table that gets
            all of epsilon; None without groups.
        dropped_edges: least and most edges that the bound leaves out, by the guessed degrees; None
            if no degrees were guessed.

    Examples:
        >>> plan = gc.planning.plan_degree_bounds([2, 5, 10], epsilon=1.0)
        >>> [row.max_degree for row in plan.rows]
        [2, 5, 10]
    """

    max_degree: int
    cut: float
    cell: float | None = None
    dropped_edges: tuple[float, float] | None = None


@final
@dataclass(frozen=True, repr=False, kw_only=True)
class DegreeBoundPlan(Tabled):
    """The error to expect from each degree bound, in ascending order of the bounds.

    Attributes:
        rows: one for each bound.

    Examples:
        >>> plan = gc.planning.plan_degree_bounds([2, 5, 10], epsilon=1.0)
        >>> [row.max_degree for row in plan.rows]
        [2, 5, 10]
    """

    rows: tuple[DegreeBoundRow, ...]

    def _card(self) -> Card:
        return Card(
            title="Degree bounds: the noise of each, and what it takes of the edges",
            columns=("degree bound", "any cut", "a cell", "edges taken"),
            rows=[
                (
                    f"{row.max_degree:,}",
                    f"{row.cut:,.1f}",
                    "-" if row.cell is None else f"{row.cell:,.1f}",
                    "-"
                    if row.dropped_edges is None
                    else f"{row.dropped_edges[0]:,.0f} .. {row.dropped_edges[1]:,.0f}",
                )
                for row in self.rows
            ],
        )

    def __repr__(self) -> str:
        return f"DegreeBoundPlan({len(self.rows)} bounds)"


@refuses_former_options()
def plan_degree_bounds(
    bounds: Sequence[int],
    *,
    epsilon: float,
    delta: float = 0.0,
    queries: int = 1,
    beta: float = DEFAULT_FAILURE,
    groups: GroupTree | tuple[GroupTree, GroupTree] | None = None,
    directed: bool = False,
    degrees: npt.ArrayLike | None = None,
) -> DegreeBoundPlan:
    """Compare degree bounds for `PrivacyUnit.vertex`: the noise of each. Reads no data.

    Args:
        bounds: degree bounds, whole numbers from 1 on.
        epsilon: of a session, or of a table, in [1e-6, 50].
        delta: in [0, 1); 0 for pure privacy.
        queries: how many cuts a session answers.
        beta: probability of a larger error of any answer, in (0, 1).
        groups: public groups, or their sizes alone; of a bipartite graph a pair.
        directed: of tables, whether edges have a direction.
        degrees: a public guess of all degrees (of a directed graph in and out together), such as
            those of a graph of this kind that is public. Not the private ones.

    Raises:
        ParameterError: a number out of range.
        GraphError: groups that can hold no pair.

    Examples:
        >>> plan = gc.planning.plan_degree_bounds([2, 5, 10], epsilon=1.0)
        >>> [row.max_degree for row in plan.rows]
        [2, 5, 10]
    """
    if not len(bounds):  # also of an array, which has no truth value
        raise ParameterError("give at least one degree bound, for example [10, 20, 50]")
    workload = SessionWorkload(queries=queries, beta=beta)
    # Noise on each answer is the same for any graph, so the size of the graph does not matter.
    setting = Setting(n=3, edges=1, workload=workload, epsilon=epsilon, delta=delta)
    guessed = None if degrees is None else _checked_degrees(degrees)

    def row(bound: int) -> DegreeBoundRow:
        privacy_unit = PrivacyUnit.vertex(max_degree=bound)
        setting_of_bound = replace(setting, privacy_unit=privacy_unit)
        cut = min(noise_error(distribution, setting_of_bound) for distribution in COUNT_NOISES)
        cell = None
        if groups is not None:
            left, right = groups if isinstance(groups, tuple) else (groups, None)
            cells = CellTree(left, right, directed=directed)
            changes = cell_changes(cells, privacy_unit)
            strategy = choose_strategy(cells, epsilon=epsilon, delta=delta, changes=changes)
            cell = strategy.deviations[-1]
        dropped = None if guessed is None else _dropped_edges(guessed, bound)
        return DegreeBoundRow(max_degree=bound, cut=cut, cell=cell, dropped_edges=dropped)

    return DegreeBoundPlan(rows=tuple(row(bound) for bound in sorted(set(bounds))))


def _coverage(
    bound: int,
    left_out: tuple[float, float],
    *,
    what: str,
    epsilon: float,
    cells: int,
    known_max: int | None,
    confidence: str,
) -> str:
    """Return sentences on what a bound does to intervals of the count of all rows.

    With a known maximum, widths are compared for a table of one level, all of whose cells have the
    noise of one sum.

    Args:
        bound: the best bound, or the chosen one.
        left_out: lower and upper bound of what it leaves out.
        what: what the bounds count.
        epsilon: of the release.
        cells: number of cells of the table.
        known_max: publicly known maximum of a user; None if there is none.
        confidence: with which `left_out` holds, as text; empty if it is public.
    """
    low, high = left_out
    sentence = counted_sentence(
        bound, what=what, least=low, most=high, known_max=known_max, confidence=confidence
    )
    text = f"With a bound of {bound:,}, {sentence}."
    if known_max is not None and known_max <= bound:
        return text
    text += (
        f" So intervals of counted {what} can lie below the count of all {what}, of a cell as of "
        "the total; only their lower ends hold for it."
    )
    if known_max is None or what == CONTRIBUTED["weight"]:
        return text
    # The total is a sum of all cells, with coefficients 1; a cell is the sum of one.
    coefficient_sums = np.array([[float(cells)], [1.0]])
    spread = ErrorSpread(
        squares=coefficient_sums,
        largest=np.ones_like(coefficient_sums),
        absolute=coefficient_sums,
    )
    widths = []
    # With the bound, a share of epsilon measures what is left out; with the known maximum none is.
    for max_contributions, measures_left_out in ((bound, True), (known_max, False)):
        share = 1 - float(SHARE) if measures_left_out else 1.0
        noise = LevelNoise("laplace", (Fraction(share * epsilon / max_contributions),))
        failures = left_out_failures(DEFAULT_FAILURE, measured=measures_left_out)
        total, cell = 2 * error_radii(noise, (0,), spread, failure=failures.counted)
        left_out_width = 0
        if measures_left_out:
            change = known_max - bound
            noise_of_left_out = left_out_noise("laplace", Fraction(epsilon), (change, change**2))
            left_out_width = left_out_radius(noise_of_left_out, failures.left_out)
        widths.append(AllRowsWidths(float(total) + left_out_width, float(cell) + left_out_width))
    narrower = comparison_of_widths(*widths, bound=bound, known_max=known_max, what=what)
    return f"{text} A release with known_max={known_max} has intervals of all {what}. {narrower}"


def _checked_degrees(degrees: npt.ArrayLike) -> FloatVector:
    """Return guessed degrees as an array.

    Raises:
        ParameterError: no list of numbers from 0 on.
    """
    guesses = np.asarray(degrees, dtype=np.float64)
    if guesses.ndim != 1 or not (np.isfinite(guesses) & (guesses >= 0)).all():
        raise ParameterError("degrees are a list of numbers from 0 on: a public guess of them")
    return guesses


def _dropped_edges(degrees: FloatVector, bound: int) -> tuple[float, float]:
    """Return the least and the most edges that a degree bound leaves out.

    An edge that is left out lowers one or two of the degrees above the bound: at least half as many
    edges go as degrees exceed it by, and no more than that, or than there are.
    """
    above = float(np.maximum(degrees - bound, 0).sum())
    return above / 2, min(above, float(degrees.sum()) / 2)
