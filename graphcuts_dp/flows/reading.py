"""The statistics of flows as methods; each lives in a module of its own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from graphcuts_dp.flows import mixing, per_head, statistics
from graphcuts_dp.flows.base import FlowTable
from graphcuts_dp.flows.independence import independence_test
from graphcuts_dp.flows.parquet import write_parquet
from graphcuts_dp.flows.ranking import top_flows
from graphcuts_dp.flows.statistic_values import (
    CellStatistic,
    GroupStatistic,
    IndependenceTest,
    Statistic,
    TopFlows,
)
from graphcuts_dp.graph.vertices import Label
from graphcuts_dp.receipts import PathLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class FlowStatistics:
    """What people compute from a table of flows; free, as often as you like.

    All of it is computed from the noisy sums alone, so it may be published and costs nothing. The
    groups must be one set: for flows between two sides only the tables per head, the largest flows
    and the test are defined. Weight is truly above 0 wherever a ratio is asked for.

    Intervals of ratios come from inverting tests, whose tails are proven; see `ratio_bounds`. Each
    holds by itself with its confidence, whatever the graph is.
    """

    def share_inside(
        self: FlowTable, level: str | None = None, *, confidence: float = 0.95
    ) -> Statistic:
        """The share of the weight that lies inside groups, in [0, 1].

        Args:
            level: None for the finest.
            confidence: of the interval, in (0, 1).

        Raises:
            QueryError: no such level, a confidence out of range, or flows between two sides.
        """
        return statistics.share(self, level, confidence)

    def share_outside(
        self: FlowTable, level: str | None = None, *, confidence: float = 0.95
    ) -> Statistic:
        """The share of the weight that passes between different groups; see `share_inside`."""
        found = statistics.share(self, level, confidence)
        return statistics.turned(found, "share outside", lambda x: 1 - x)

    def ei_index(
        self: FlowTable, level: str | None = None, *, confidence: float = 0.95
    ) -> Statistic:
        """(outside - inside)/(outside + inside), in [-1, 1]; see `share_inside`.

        Source: Krackhardt, Stern, *Informal Networks and Organizational Crises*, 1988.
        """
        found = statistics.share(self, level, confidence)
        return statistics.turned(found, "E-I index", lambda x: 1 - 2 * x)

    def modularity(
        self: FlowTable, level: str | None = None, *, confidence: float = 0.95
    ) -> Statistic:
        """Modularity of the partition: sum over groups of E_aa/t - r_a c_a/t^2.

        E is the table of ends (see `flows/statistics.py`), t its sum, r and c those of its rows and
        columns. The interval is that of a ratio of quadratic functions; see `mixing`. Arguments and
        errors as for `share_inside`.

        Source: Newman, Girvan, *Finding and evaluating community structure in networks*, 2004;
        Leicht, Newman 2008 for directed graphs.
        """
        return mixing.modularity(self, level, confidence)

    def assortativity(
        self: FlowTable, level: str | None = None, *, confidence: float = 0.95
    ) -> Statistic:
        """Newman's coefficient of the mixing matrix e = E/t, in [-1, 1].

        (trace e - sum of e^2)/(1 - sum of e^2), where the sum of e^2 is sum r_a c_a/t^2. Arguments
        and errors as for `share_inside`.

        Source: Newman, *Mixing patterns in networks*, 2003, equation (2).
        """
        return mixing.assortativity(self, level, confidence)

    def conductance(
        self: FlowTable,
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
        return statistics.conductance(self, level, groups, confidence, simultaneous)

    def contacts(
        self: FlowTable,
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
        return per_head.contacts(self, level, confidence, simultaneous)

    def social_connectedness(
        self: FlowTable,
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
        return per_head.social_connectedness(self, level, largest, confidence, simultaneous)

    def top_flows(
        self: FlowTable, count: int, level: str | None = None, *, confidence: float = 0.95
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
        self: FlowTable,
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
        self: FlowTable,
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
        from graphcuts_dp.flows.picture import drawn  # matplotlib takes a while to import

        return drawn(self, level, coordinates, title)

    def write_parquet(
        self: FlowTable,
        path: PathLike,
        level: str | None = None,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        force: bool = False,
    ) -> None:
        """Write the table of `Flows.to_pandas` as a Parquet file; of a seeded run with a `mark`.

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
        frame = self.to_pandas(level, confidence=confidence, simultaneous=simultaneous)
        write_parquet(path, frame, seeded=not self.guarantee.is_private, force=force)
