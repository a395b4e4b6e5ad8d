"""The statistics of flows as methods; each lives in a module of its own.

The table of flows as a Parquet file; needs pyarrow, which is no dependency.

Tables per member: contact matrices and the social connectedness index.

The largest flows, and how sure their order is.

A chi-square test against independence that holds its level when the cells are noisy.
"""

import importlib.util
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import FileFormatError, QueryError
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.files import PathLike, atomic_write, check_writable
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, entropy_source
from graphcuts_dp.results import flow_statistics
from graphcuts_dp.results.flow_mixing import mixing
from graphcuts_dp.results.flow_table import FlowTable, checked_failure
from graphcuts_dp.results.flow_values import (
    CellStatistic,
    GroupStatistic,
    IndependenceTest,
    RankedFlow,
    Statistic,
    TopFlows,
)
from graphcuts_dp.tables.frames import made_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from graphcuts_dp.plotting.flow_tables import FlowPicture

_SCALINGS = 30  # rounds of proportional fitting, where some cells are impossible
_MOST = 10_000_000  # simulated tables


def independence_test(
    flows: FlowTable, level: str | None, simulations: int, counts: bool, seed: int
) -> IndependenceTest:
    """See `FlowStatistics.independence_test`."""
    if flows.noisy.weighted and not counts:
        raise QueryError(
            "chi-square is for counts, and these edges have weights; if each unit of weight is an "
            "observation of its own, pass counts=True"
        )
    if isinstance(simulations, bool) or not isinstance(simulations, int):
        raise QueryError("the number of simulations must be a whole number, for example 999")
    if not 19 <= simulations <= _MOST:
        raise QueryError("the number of simulations must be at least 19 (999 is common)")
    place = flows.cells.place(level)
    table = _Independence(flows, place)
    values = flows.estimates[place]
    statistic, expected = table.statistic(values)
    draw = table.null(expected, seed)
    reached = sum(table.statistic(draw())[0] >= statistic for _ in range(simulations))
    return IndependenceTest(
        statistic=statistic,
        p_value=(1 + reached) / (1 + simulations),
        simulations=simulations,
        degrees_of_freedom=table.degrees_of_freedom,
        level=flows.cells.levels[place - 1],
        seeded=not flows.guarantee.is_private,
    )


class _Independence:
    """The statistic of a level, and tables without dependence."""

    def __init__(self, flows: FlowTable, place: int) -> None:
        self._flows, self._place = flows, place
        cells = flows.cells
        self._a, self._b = cells.cells(place)
        self._shape = cells.shape(place)
        self._variances = flows.fit.variances[place] * flows.noisy.unit**2
        possible = cells.matrix(place, np.ones(len(self._a)))
        self._possible: FloatMatrix | None = None if (possible > 0).all() else possible
        # A cell of one vertex set without directions holds both (a, b) and (b, a).
        twice = cells.symmetric & (self._a != self._b)
        self._half = np.where(cells.symmetric & ~twice, 0.5, 1.0)
        free = len(self._a) - sum(self._shape) + 1
        self.degrees_of_freedom = free + self._shape[0] - 1 if cells.symmetric else free

    def statistic(self, values: FloatVector) -> tuple[float, FloatVector]:
        """The sum, and the expected cells from the margins of the table."""
        expected = self._expected(values)
        off = (values - expected) ** 2 / (expected + self._variances)
        return float(off.sum()), expected

    def _expected(self, values: FloatVector) -> FloatVector:
        left = np.bincount(self._a, weights=values, minlength=self._shape[0])
        right = np.bincount(self._b, weights=values, minlength=self._shape[1])
        if self._flows.cells.symmetric:
            left = right = left + right
        left, right = np.maximum(left, 0), np.maximum(right, 0)
        total = max(float(left.sum()), 1e-300)
        if self._possible is None:
            return left[self._a] * right[self._b] / total * self._half
        rows, columns = left / np.sqrt(total), right / np.sqrt(total)
        for _ in range(_SCALINGS):
            made = rows * (self._possible @ columns)
            factor = np.divide(left, made, out=np.zeros_like(left), where=made > 0)
            if self._flows.cells.symmetric:
                rows = columns = rows * np.sqrt(factor)
                continue
            rows = rows * factor
            made = columns * (self._possible.T @ rows)
            columns *= np.divide(right, made, out=np.zeros_like(right), where=made > 0)
        found: FloatVector = rows[self._a] * columns[self._b] * self._half
        return found

    def null(self, expected: FloatVector, seed: int) -> Callable[[], FloatVector]:
        """Makes estimates of tables with these expected cells, with fresh noise of the same law."""
        flows, noisy = self._flows, self._flows.noisy
        rng = np.random.default_rng(seed)
        source = entropy_source(seed)
        total = round(float(expected.sum()))
        shares = expected / max(float(expected.sum()), 1e-300)

        def draw() -> FloatVector:
            made = rng.multinomial(total, shares) if total else np.zeros(len(shares))
            sums = {}
            for number, place in enumerate(noisy.places):
                sums[place] = noisy.noise.draw(number, flows.cells.size(place), source)
            noise = flows.fit.estimates({p: s.astype(np.float64) for p, s in sums.items()})
            return made + noise[self._place] * noisy.unit

        return draw


_LEAST = 1e-12  # failures below it are not told apart
_ROUNDS = 14  # of bisection, to 2e-3 of a failure


def top_flows(flows: FlowTable, count: int, level: str | None, confidence: float) -> TopFlows:
    """See `FlowStatistics.top_flows`."""
    place = flows.cells.place(level)
    size = flows.cells.size(place)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= size:
        raise QueryError(f"the number of flows must be a whole number from 1 to {size}")
    failure = checked_failure(confidence)
    ranked = _Ranked(flows, place, count)
    low, high = ranked.bounds(failure)
    a, b = flows.cells.cells(place)
    name = flows.groups.levels[place - 1], flows.right_groups.levels[place - 1]
    left, right = flows.groups.labels(name[0]), flows.right_groups.labels(name[1])
    sorted_low, sorted_high = np.sort(low), np.sort(high)
    found = []
    for cell in ranked.order[:count]:
        better = size - np.searchsorted(sorted_low, high[cell], side="right")
        not_worse = size - np.searchsorted(sorted_high, low[cell], side="left")
        found.append(
            RankedFlow(
                source=left[a[cell]],
                target=right[b[cell]],
                value=float(ranked.values[cell]),
                interval=(max(0.0, float(low[cell])), max(0.0, float(high[cell]))),
                ranks=(int(better) + 1, int(not_worse)),
            )
        )
    return TopFlows(
        level=flows.cells.levels[place - 1],
        flows=tuple(found),
        set_chance=ranked.chance(ordered=False),
        order_chance=ranked.chance(ordered=True),
        confidence=confidence,
        seeded=not flows.guarantee.is_private,
    )


@final
class _Ranked:
    """Cells in the order of their estimates, and intervals for all of them at once."""

    def __init__(self, flows: FlowTable, place: int, count: int) -> None:
        self._noisy = flows.noisy
        self._spread = flows.fit.spreads(place)
        self._count = count
        self.values: FloatVector = flows.estimates[place]
        self.order = np.argsort(-self.values, kind="stable")
        lost = 0.0 if flows.noisy.whole else flows.noisy.unit
        self._lost = flows.cells.pairs(place) * lost

    def bounds(self, failure: float) -> tuple[FloatVector, FloatVector]:
        """Ends of the intervals, all at once."""
        noisy = self._noisy
        each = failure / len(self.values)
        radii = error_radii(noisy.noise, noisy.places, self._spread, failure=each) * noisy.unit
        radii = radii + 1e-12 * np.abs(self.values)
        low, high = self.values - radii, self.values + radii + self._lost
        return (np.ceil(low), np.floor(high)) if noisy.whole else (low, high)

    def chance(self, *, ordered: bool) -> float:
        """One minus the least failure at which the intervals are apart, rounded down."""

        def apart(log_failure: float) -> bool:
            low, high = self.bounds(math.exp(log_failure))
            top, rest = self.order[: self._count], self.order[self._count :]
            beside = float(high[rest].max(initial=-math.inf))
            if ordered:
                below = np.append(high[top][1:], beside)
                return bool((low[top] > below).all())
            return bool(low[top].min() > beside)

        left, right = math.log(_LEAST), math.log(1 - 1e-9)
        if not apart(right):
            return 0.0
        if apart(left):
            return 1 - _LEAST
        for _ in range(_ROUNDS):
            middle = (left + right) / 2
            left, right = (left, middle) if apart(middle) else (middle, right)
        return 1 - math.exp(right)


def contacts(
    flows: FlowTable, level: str | None, confidence: float, simultaneous: bool
) -> CellStatistic:
    """Ends of edges of a group over its members; see `FlowStatistics.contacts`."""
    left, _ = _sizes(flows, level)
    factor = np.repeat(1 / left[:, None], flows.cells.shape(flows.cells.place(level))[1], axis=1)
    if flows.cells.symmetric:  # an edge inside is a contact of both of its ends
        factor[np.diag_indices_from(factor)] *= 2
    return _scaled(flows, level, factor, "contacts per head", confidence, simultaneous)


def social_connectedness(
    flows: FlowTable, level: str | None, largest: float, confidence: float, simultaneous: bool
) -> CellStatistic:
    """Cells over products of sizes; see `FlowStatistics.social_connectedness`."""
    if not (isinstance(largest, float | int) and 0 < largest < np.inf):
        raise QueryError("the largest index must be a number above 0, for example 1e6")
    left, right = _sizes(flows, level)
    factor = 1 / (left[:, None] * right[None, :])
    top = float((flows.values(level) * factor).max())
    if top > 0:
        factor *= largest / top
    name = "social connectedness index"
    return _scaled(flows, level, factor, name, confidence, simultaneous)


def _sizes(flows: FlowTable, level: str | None) -> tuple[FloatMatrix, FloatMatrix]:
    place = flows.cells.place(level) - 1
    left = flows.groups.sizes(flows.groups.levels[place])
    right = flows.right_groups.sizes(flows.right_groups.levels[place])
    return left.astype(np.float64), right.astype(np.float64)


def _scaled(
    flows: FlowTable,
    level: str | None,
    factor: FloatMatrix,
    name: str,
    confidence: float,
    simultaneous: bool,
) -> CellStatistic:
    """Each cell times a number: so are its estimate and its interval."""
    place = flows.cells.place(level)
    low, high = flows.intervals(level, confidence=confidence, simultaneous=simultaneous)
    return CellStatistic(
        name=name,
        level=flows.cells.levels[place - 1],
        rows=flows.groups.labels(flows.groups.levels[place - 1]),
        columns=flows.right_groups.labels(flows.right_groups.levels[place - 1]),
        values=flows.values(level) * factor,
        low=np.nextafter(low * factor, -np.inf),
        high=np.nextafter(high * factor, np.inf),
        confidence=confidence,
        simultaneous=simultaneous,
        seeded=not flows.guarantee.is_private,
    )


def write_parquet(path: PathLike, columns: Mapping[str, Any], *, seeded: bool, force: bool) -> None:
    """Write a table; see `FlowStatistics.write_parquet`."""
    if importlib.util.find_spec("pyarrow") is None:
        raise FileFormatError(
            "Parquet needs the package pyarrow: python -m pip install pyarrow; or save as .csv"
        )
    check_writable(path, force=force)
    from pyarrow import parquet

    mark = {"mark": [SEEDED_WARNING] * len(columns["value"])} if seeded else {}
    packed = io.BytesIO()
    parquet.write_table(made_frame({**columns, **mark}, "pyarrow"), packed)
    with atomic_write(path, force=force) as handle:
        handle.write(packed.getvalue())


class FlowStatistics(FlowTable):
    """What people compute from a table of flows; free, as often as you like.

    All of it is computed from the noisy sums alone, so it may be published and costs nothing. The
    groups must be one set: for flows between two sides only the tables per head, the largest flows
    and the test are defined. Weight is truly above 0 wherever a ratio is asked for.

    Intervals of ratios come from inverting tests, whose tails are proven; see `ratio_bounds`. Each
    holds by itself with its confidence, whatever the graph is.
    """

    def share_inside(self, level: str | None = None, *, confidence: float = 0.95) -> Statistic:
        """The share of the weight that lies inside groups, in [0, 1].

        Args:
            level: None for the finest.
            confidence: of the interval, in (0, 1).

        Raises:
            QueryError: no such level, a confidence out of range, or flows between two sides.
        """
        return flow_statistics.share(self, level, confidence)

    def share_outside(self, level: str | None = None, *, confidence: float = 0.95) -> Statistic:
        """The share of the weight that passes between different groups; see `share_inside`."""
        found = flow_statistics.share(self, level, confidence)
        return flow_statistics.turned(found, "share outside", lambda x: 1 - x)

    def ei_index(self, level: str | None = None, *, confidence: float = 0.95) -> Statistic:
        """(outside - inside)/(outside + inside), in [-1, 1]; see `share_inside`.

        Source: Krackhardt, Stern, *Informal Networks and Organizational Crises*, 1988.
        """
        found = flow_statistics.share(self, level, confidence)
        return flow_statistics.turned(found, "E-I index", lambda x: 1 - 2 * x)

    def modularity(self, level: str | None = None, *, confidence: float = 0.95) -> Statistic:
        """Modularity of the partition: sum over groups of E_aa/t - r_a c_a/t^2.

        E is the table of ends (see `results/flow_statistics.py`), t its sum, r and c those of its
        rows and columns. The interval is that of a ratio of quadratic functions; see
        `flow_mixing`. Arguments and errors as for `share_inside`.

        Source: Newman, Girvan, *Finding and evaluating community structure in networks*, 2004;
        Leicht, Newman 2008 for directed graphs.
        """
        return mixing(self, level, confidence, corrected=False)

    def assortativity(self, level: str | None = None, *, confidence: float = 0.95) -> Statistic:
        """Newman's coefficient of the mixing matrix e = E/t, in [-1, 1].

        (trace e - sum of e^2)/(1 - sum of e^2), where the sum of e^2 is sum r_a c_a/t^2. Arguments
        and errors as for `share_inside`.

        Source: Newman, *Mixing patterns in networks*, 2003, equation (2).
        """
        return mixing(self, level, confidence, corrected=True)

    def conductance(
        self,
        level: str | None = None,
        groups: Iterable[Label] | None = None,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
    ) -> GroupStatistic:
        """For each group the weight that leaves it over the smaller of its volume and the rest's.

        The volume of a group is the number (weight) of ends of edges in it. A group without any is
        left open: its interval is all of [0, 1].

        Args:
            level: None for the finest.
            groups: labels; None for all groups of the level.
            confidence: of each interval, in (0, 1).
            simultaneous: ask for intervals that hold for all these groups at once.

        Raises:
            QueryError: no such level or group, a confidence out of range, or flows that have a
                direction or pass between two sides.
        """
        return flow_statistics.conductance(self, level, groups, confidence, simultaneous)

    def contacts(
        self,
        level: str | None = None,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
    ) -> CellStatistic:
        """Mean contacts of a member of the row's group with members of the column's group.

        A cell over the size of the row's group; inside a group each edge is a contact of two
        members. Arguments and errors as for `Flows.intervals`.

        Source: Mossong and others, *Social Contacts and Mixing Patterns Relevant to the Spread of
        Infectious Diseases*, 2008.
        """
        return contacts(self, level, confidence, simultaneous)

    def social_connectedness(
        self,
        level: str | None = None,
        *,
        largest: float = 1e6,
        confidence: float = 0.95,
        simultaneous: bool = False,
    ) -> CellStatistic:
        """Each cell over the product of the sizes of its groups, times one number for all cells.

        That number makes the largest estimate `largest`; it is computed from noisy sums. The
        intervals hold for the true cells over the products of sizes times the same number. A cell
        (a, a) is the weight inside a over the square of its size.

        Args:
            level: None for the finest.
            largest: the largest estimate, > 0.
            confidence: of each interval, in (0, 1).
            simultaneous: see `Flows.intervals`.

        Raises:
            QueryError: no such level, or a number out of range.

        Source: Bailey, Cao, Kuchler, Stroebel, Wong, *Social Connectedness: Measurement,
        Determinants, and Effects*, 2018.
        """
        return social_connectedness(self, level, largest, confidence, simultaneous)

    def top_flows(
        self, count: int, level: str | None = None, *, confidence: float = 0.95
    ) -> TopFlows:
        """The largest flows of a level, with the chance that they and their order are right.

        A failure b gives intervals that hold for all cells of the level at once with 1 - b. They
        prove an order where each of these cells lies above the next, and the last above all others.
        `order_chance` is 1 minus the least b at which they do, and 0 where there is none: whatever
        the true table is, a wrong order comes out with an `order_chance` of 1 - b or more with a
        probability of at most b (intervals grow as b falls, so that happens only if those for b
        fail). Likewise `set_chance`, for the cells in any order. Not a Bayesian probability, which
        would need a prior.

        Args:
            count: of flows, from 1 to the number of cells of the level.
            level: None for the finest.
            confidence: of the intervals and the ranks, all at once, in (0, 1).

        Raises:
            QueryError: no such level, or a number out of range.
        """
        return top_flows(self, count, level, confidence)

    def independence_test(
        self,
        level: str | None = None,
        *,
        simulations: int = 999,
        counts: bool = False,
        seed: int = 0,
    ) -> IndependenceTest:
        """Chi-square of the table against independence of the two ends, with the noise in its law.

        The hypothesis: each edge picks its two ends independently, a group a with a chance p_a (for
        rows and columns, where they differ), among the cells that can hold a pair. The statistic is
        the sum over cells of (x - e)^2/(e + v): x the estimate, e what is expected from the margins
        of the estimates, v the variance of the noise. Its law comes from tables of as many edges
        that are drawn with these e, with fresh noise of the same distributions made consistent in
        the same way, each with the expected cells of its own margins.

        The p-value is (1 + tables that reach the statistic)/(1 + simulations). It would be exact if
        the margins were known; with estimated margins the level holds approximately, which is
        tested by simulation (a parametric bootstrap), not proven.

        Args:
            level: None for the finest.
            simulations: at least 19.
            counts: say that each unit of weight is an observation of its own; graphs without
                weights need not.
            seed: of the simulated tables, which tell nothing about the graph.

        Raises:
            QueryError: no such level, a number out of range, or weights that are not said to be
                counts.

        Source: Gaboardi, Lim, Rogers, Vadhan, *Differentially Private Chi-Squared Hypothesis
        Testing*, 2016, whose Monte Carlo test this is, with the variance of the noise in the
        denominator.
        """
        return independence_test(self, level, simulations, counts, seed)

    def plot(
        self,
        level: str | None = None,
        *,
        coordinates: Mapping[Label, Sequence[float]] | None = None,
        title: str | None = None,
    ) -> "Figure":
        """Draw the noisy table of a level: a heat map, or a map where groups have places.

        In the heat map estimates below 0 have the colour of 0 and are hatched; the map shows the
        flows that are above 0 for sure.

        Args:
            level: None for the finest.
            coordinates: the place (x, y) of each group of the level, in one unit on both axes; None
                for a heat map.
            title: above the picture, before the guarantee; None for "Flows by LEVEL".

        Returns:
            A figure of matplotlib: `figure.savefig("flows.png")`.

        Raises:
            QueryError: no such level, or a group without coordinates.
        """
        from graphcuts_dp.plotting import flow_tables  # matplotlib is slow to import

        if coordinates is None:
            return flow_tables.heat_map_figure(_picture(self, level, title))
        places = _checked_places(self, level, coordinates)
        return flow_tables.flow_map_figure(_picture(self, level, title), places)

    def write_parquet(
        self,
        path: PathLike,
        level: str | None = None,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        force: bool = False,
    ) -> None:
        """Write the table of `Flows.to_frame` as a Parquet file; of a seeded run with a `mark`.

        Labels are written as strings where a column has both strings and integers.

        Args:
            path: where.
            level: None for all levels.
            confidence: of each interval, in (0, 1).
            simultaneous: see `Flows.intervals`.
            force: replace a file that is there.

        Raises:
            QueryError: no such level, or a confidence out of range.
            FileFormatError: the package pyarrow is not installed, a missing folder, a file that is
                there, a full disk.
        """
        columns = self.columns(level, confidence=confidence, simultaneous=simultaneous)
        write_parquet(path, columns, seeded=not self.guarantee.is_private, force=force)


def _picture(flows: FlowTable, level: str | None, title: str | None) -> "FlowPicture":
    """The table of a level, as it is drawn."""
    from graphcuts_dp.plotting.flow_tables import FlowPicture  # matplotlib is slow to import

    place = flows.cells.place(level)
    name = flows.cells.levels[place - 1]
    names = flows.groups.levels[place - 1], flows.right_groups.levels[place - 1]
    possible = flows.cells.matrix(place, np.ones(flows.cells.size(place), dtype=np.bool_))
    low, _ = flows.intervals(level, simultaneous=True)
    mark = "" if flows.guarantee.is_private else ", seeded: not private"
    promise = f"epsilon = {flows.guarantee.epsilon:g}"
    if flows.guarantee.delta:
        promise += f", delta = {flows.guarantee.delta:g}"
    return FlowPicture(
        values=flows.values(level),
        low=low,
        possible=possible,
        rows=[str(label) for label in flows.groups.labels(names[0])],
        columns=[str(label) for label in flows.right_groups.labels(names[1])],
        breaks=(_breaks(flows.groups, names[0]), _breaks(flows.right_groups, names[1])),
        symmetric=flows.cells.symmetric,
        title=f"{title or f'Flows by {name}'} ({promise}{mark})",
        unit="weight" if flows.noisy.weighted else "edges",
    )


def _breaks(groups: GroupTree, level: str) -> list[tuple[str, int]]:
    """The groups of the level before and how many of this level's each of them holds."""
    place = groups.levels.index(level)
    if place == 0:
        return []
    above = groups.labels(groups.levels[place - 1])
    counts = np.bincount(groups.parents(level), minlength=len(above))
    return [(str(name), int(count)) for name, count in zip(above, counts, strict=True)]


def _checked_places(
    flows: FlowTable, level: str | None, coordinates: Mapping[Label, Sequence[float]]
) -> FloatMatrix:
    """Places of the groups of a level, shape (groups, 2).

    Raises:
        QueryError: a group without a place, places that are no pairs of numbers, or two sides.
    """
    if not flows.cells.one_set:
        raise QueryError("flows between two sides have no map: leave coordinates out")
    name = flows.groups.levels[flows.cells.place(level) - 1]
    labels = flows.groups.labels(name)
    missing = [label for label in labels if label not in coordinates]
    if missing:
        raise QueryError(
            f"{len(missing)} of {len(labels)} groups have no coordinates: {missing[0]!r:.60}"
        )
    try:
        found: npt.NDArray[np.float64] = np.array([coordinates[x] for x in labels], dtype=float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (len(labels), 2) or not np.isfinite(found).all():
        raise QueryError("coordinates are pairs of numbers: {'Texas': (-99.0, 31.5), ...}")
    return found
