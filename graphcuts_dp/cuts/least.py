"""Least cuts between vertices, privately: a noisy cut, or the terminals alone if they weigh less.

The algorithm adds to the graph an edge from each terminal to each free vertex, of random weight,
and finds the least cut of the result: the *noisy cut*. In a *trivial cut* one terminal keeps all
free vertices. `weights` measures the weights of the noisy cut and of the trivial cuts, and the
lightest of these cuts is returned. The rates of all noise are `CutRates`. The proofs are in
docs/mathematics.md, "Least cuts".
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, final

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE, DEFAULT_FAILURE, DEFAULT_PERCENT
from graphcuts_dp.cuts.network import MOST_VERTEX_WEIGHT, least_side
from graphcuts_dp.cuts.weights import MeasuredCut, lightest, measure_weights
from graphcuts_dp.display import down_to_digits, up_to_digits
from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.files import PathLike
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.private_data import PrivateSource, private_data
from graphcuts_dp.graph.rows import PrivateData, bounded_graph, paired_graph, without_rows
from graphcuts_dp.io.edge_store import LARGEST_OPEN
from graphcuts_dp.learn.least_cut_error import CutErrors, CutRates, halvings_of
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.entropy import EntropySource, Seed
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.release.guarantees import release_guarantee
from graphcuts_dp.release.job import Job, execute
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.results.packing import ResultParts, SavedParts
from graphcuts_dp.results.partition import Partition
from graphcuts_dp.schema.vertices import Label, VertexSet

Terminal = Label | Iterable[Label]
KIND = "cut"  # the kind of use on a ledger
# The largest change of a weight between neighbours has 2^3 to 2^12 grid units.
_FEWEST_BITS, _MOST_BITS = 3, 12
# The expected noise of all vertices together is about 2^29 grid units, with which flows are fast.
_FLOW_BITS = 29


@refuses_former_options()
def least_cut(
    graph: PrivateSource,
    *terminals: Terminal,
    epsilon: float,
    privacy_unit: str | PrivacyUnit = "edge",
    store: PathLike | Store | None = None,
    seed: Seed | None = None,
    progress: Progress | bool = silent,
) -> Partition:
    """Find privately a cut of little weight that keeps vertices apart.

    Between two terminals it is the problem of the least s-t cut; of several, that of the least
    multiway cut, by halving: the first half of them is cut off from the other one, then each half
    is halved again within its part.

    Args:
        graph: the private graph, or rows with users; undirected or directed; or a graph of networkx
            or igraph, a matrix, or a table, see `private_data`. Of a directed one
            the arcs that leave the part of the first terminal count, and there are two terminals.
        terminals: two or more: each a label, or a list of labels that stay together. Public.
        epsilon: privacy parameter for one `privacy_unit`, in [1e-6, 50]; all of it is spent,
            `WEIGHT_SHARE` of it on the weight of the noisy cut. There are ceil(log2 k) halvings of
            k terminals, each with more than an equal share of the remaining epsilon: a pair is
            charged for being parted once.
        privacy_unit: what neighbouring data differ by: "edge", or a `PrivacyUnit`. Where k edges
            may change together, each has a k-th of epsilon. It cannot be a vertex.
        store: path of the store, or a `Store`, that remembers what was spent on this graph: the
            cut is charged to it, and refused if its budget does not allow it.
        seed: makes the run repeatable and voids the guarantee: an integer, or a SeedSequence or
            Generator of numpy; None for the system's entropy.
        progress: True shows a bar; a function is called with the fraction done and a message.

    Returns:
        A `Partition` with a part for each terminal, named by it: the lightest, by noisy weight, of
        a noisy cut and the trivial ones, in which one terminal keeps all other vertices. It has the
        noisy weight, an interval for the true one, and one for that of the least cut.

    Raises:
        ParameterError: an option out of range; fewer than two terminals, or more than two in a
            directed graph; weights without a public bound; a bipartite graph.
        QueryError: a terminal that is no vertex, or in two of the lists.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Guarantee: epsilon-DP at edge level. Of two terminals: let c be by how many grid units the
    weight of one pair can differ between neighbours, w the weights, D independent discrete Laplace
    noise of rate L = `CutRates.cut` for each free vertex, and f(R) = w(R, others) - D(R). The noisy
    cut is the least set P: f(P) <= f(R) for all R, and P lies within R where both are equal
    (`network`). It loses at most 2 L c by Theorem "Least cut between two terminals". Then the
    weights of P and of the trivial cuts get noise (`measure_weights`), and all that is released is
    computed from P and these. Together they lose at most epsilon by Theorem "Weights of cuts".
    Of k changes together each has epsilon/k. Of more terminals each halving is such a cut, of
    disjoint parts at once that became public before; `CutRates.loss` is what all cost together.
    Weights are rounded down to a grid that c is a multiple of, and those above M, 2^51/n grid
    units, count as M. Neither moves two weights further apart.

    Accuracy: with the default confidence the cut weighs at most `CutErrors.above_trivial` more than
    the lightest trivial one, and `above_least` more than the least cut P*; of more terminals, than
    the least cuts of its halvings, added up. Since P is least with noise, it weighs at most D(P) -
    D(P*) more than P*. That is at most the sum of max(0, D) over free vertices outside P* and of
    max(0, -D) over those in it, on average (n - 2)/(2 sinh L) grid units. With two terminals
    `Partition.shortfall` is the smaller of this bound and the upper end of the interval; with more
    terminals it is the upper end of the interval less the lower end of `Partition.optimum`. On
    graphs with a clear cut all errors are far less (docs/measured). Weights and intervals are those
    of weights rounded down to the grid, which adds at most a grid unit for each pair across. All
    this holds if the weight of a least cut plus the shortfall is below M: then P weighs less than M
    with clipped weights, so no pair that it parts was clipped. M is above the maximum of weights
    that have one; of others the `notes` of the partition state the condition. Every private
    mechanism has an error of order n/epsilon on some graph (source).

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> cut = gc.least_cut(club, 0, 33, epsilon=8.0)
        >>> S, T = cut.parts
        >>> low, high = cut.interval  # holds what passes between S and T
        >>> flows = gc.release_flows(club, cut.groups, epsilon=1.0)
        >>> low, high = flows.between(0, 33).interval  # a narrower one

    Source: Dalirrooyfard, Mitrovic, Nevmyvaka, "Nearly Tight Bounds For Differentially Private Min
    s-t and Multiway Cut", NeurIPS 2023: the idea, and the lower bound. The proof, the grid and the
    rule for equal cuts are our own.
    """
    data = private_data(graph)
    job = cut_job(data, *terminals, epsilon=epsilon, privacy_unit=privacy_unit)
    return execute(job, data, store=store, seed=seed, progress=progress)


def cut_job(
    data: PrivateData,
    *terminals: Terminal,
    epsilon: float,
    privacy_unit: str | PrivacyUnit = "edge",
) -> "CutJob":
    """Return the job that `least_cut` executes. Reads the schema of the data alone.

    Args:
        data: the private graph or rows, or an empty one of the same schema.
        terminals: see `least_cut`.
        epsilon: privacy parameter, see `least_cut`.
        privacy_unit: what neighbouring data differ by, see `least_cut`.

    Raises:
        ParameterError, QueryError: as `least_cut`.

    Examples:
        >>> job = gc.cuts.cut_job(gc.datasets.load("karate"), 0, 33, epsilon=1.0)
        >>> job.cost.epsilon
        1.0
    """
    empty = without_rows(data)
    del data  # nothing below can reach it
    graph, privacy_unit = paired_graph(empty, privacy_unit, epsilon=epsilon)
    if isinstance(graph, BipartiteGraph):
        raise ParameterError(
            "least cuts are of graphs with one vertex set: read the graph as undirected, without "
            "kind bipartite, with labels that tell its two sides apart"
        )
    terminal_rows = rows_of_terminals(graph.vertices, terminals)
    if len(terminal_rows) > 2 and isinstance(graph, DirectedGraph):
        raise ParameterError("a directed graph is cut between two terminals: name two")
    halvings = halvings_of(len(terminal_rows))
    epsilon_of_change = privacy_unit.per_change(epsilon)
    grid = grid_of_cuts(graph, epsilon_of_change / halvings)
    rates = CutRates.of(epsilon_of_change, grid.sensitivity, halvings)
    loss = rates.loss(grid.sensitivity, halvings)  # epsilon of everything
    loss_of_weights = rates.across * grid.sensitivity
    costs = {
        "least cut": Cost.of_pure(loss - loss_of_weights),
        "weights of cuts": Cost.of_pure(loss_of_weights),
    }
    plan = BudgetPlan.of_costs(costs, "discrete Laplace", Cost.of_pure(loss))
    plan = replace(plan, group_size=privacy_unit.group_size)
    return CutJob(
        public=empty,
        epsilon=epsilon,
        budget_plan=plan,
        guarantee=release_guarantee(graph, stated_cost(plan.cost, epsilon=epsilon), privacy_unit),
        graph=graph,
        privacy_unit=privacy_unit,
        terminal_rows=tuple(terminal_rows),
        rates=rates,
        grid=grid,
    )


@final
@dataclass(frozen=True, kw_only=True)
class CutJob(Job[Partition]):
    """A least cut between terminals.

    Attributes:
        graph: the graph of the schema, without any edge.
        privacy_unit: what neighbouring data of the guarantee differ by.
        terminal_rows: row numbers of each terminal.
        rates: rates of all noise, per grid unit.
        grid: the grid on which weights are counted.
    """

    kind: str = KIND
    graph: Graph | DirectedGraph
    privacy_unit: PrivacyUnit
    terminal_rows: tuple[IntVector, ...]
    rates: CutRates
    grid: Grid

    @property
    def inputs(self) -> Sequence[Any]:
        """See `Job.inputs`."""
        return self.terminal_rows

    def bound(self, data: PrivateData) -> AnyGraph:
        """See `Job.bound`."""
        return bounded_graph(data, self.privacy_unit)

    def measure(
        self, bounded: AnyGraph, source: EntropySource, progress: Progress = silent
    ) -> MeasuredCut:
        """See `Job.measure`."""
        return measure_cut(
            bounded,
            source,
            progress,
            terminal_rows=self.terminal_rows,
            rates=self.rates,
            grid=self.grid,
        )

    def finish(
        self,
        measured: MeasuredCut,
        guarantee: PrivacyGuarantee,
        source: EntropySource,
        progress: Progress = silent,
    ) -> Partition:
        """See `Job.finish`."""
        del source, progress
        return self._partition(measured, guarantee)

    def _partition(self, measured: MeasuredCut, guarantee: PrivacyGuarantee) -> Partition:
        labels = self.graph.labels
        terminals = [[labels[row] for row in rows.tolist()] for rows in self.terminal_rows]
        cut = lightest(measured, self.terminal_rows, self._errors, self.grid.unit)
        sizes = np.bincount(cut.codes, minlength=len(terminals))
        notes = _notes_on_lone_terminals(terminals, sizes)
        if self._weight_condition:
            notes = (*notes, *self.notes)
        return Partition(
            kind="least-cut",
            space=self.graph.space,
            names=tuple(terminal[0] for terminal in terminals),
            codes=cut.codes,
            guarantee=guarantee,
            shortfall=cut.shortfall,
            confidence=DEFAULT_CONFIDENCE,
            value=cut.value,
            interval=cut.interval,
            optimum=cut.optimum,
            notes=notes,
        )

    def parts(self, measured: MeasuredCut, guarantee: PrivacyGuarantee) -> ResultParts:
        """See `Job.parts`."""
        return self._partition(measured, guarantee).to_parts()

    def completed(
        self, saved: SavedParts, completion: Mapping[str, Any], progress: Progress = silent
    ) -> Partition:
        """See `Job.completed`."""
        del completion, progress
        return Partition.from_saved(saved)

    @property
    def parameters(self) -> dict[str, Any]:
        """See `Job.parameters`."""
        return {
            "terminals": len(self.terminal_rows),
            "terminal_vertices": sum(map(len, self.terminal_rows)),
        }

    @property
    def _least_cuts_text(self) -> str:
        """The cuts that `CutErrors.above_least` compares with, in words."""
        several = halvings_of(len(self.terminal_rows)) > 1
        return "the least cuts of its halvings, added up" if several else "the least one"

    @property
    def _errors(self) -> CutErrors:
        """Bounds on what noise can do, which hold together with the default confidence."""
        sizes = self.graph.shape[0], len(self.terminal_rows)
        return CutErrors.of(self.rates, *sizes, unit=self.grid.unit, beta=DEFAULT_FAILURE)

    @property
    def _weight_condition(self) -> str:
        """The condition for the bounds, in words; empty if no weight can be clipped."""
        graph, clipped_to = self.graph, largest_weight(self.graph, self.grid)
        # Weights without a public maximum are at most `LARGEST_OPEN`.
        if not graph.weighted or clipped_to >= (graph.max_weight or LARGEST_OPEN):
            return ""
        below = max(0.0, clipped_to - self._errors.above_least)
        return (
            f" It holds if the least cut weighs less than {down_to_digits(below, 4):,.4g}: weights"
            f" above {clipped_to:,.4g} count as that."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """See `Job.notes`."""
        above_least = up_to_digits(self._errors.above_least, 4)
        above_trivial = up_to_digits(self._errors.above_trivial, 4)
        note = (
            f"With probability {DEFAULT_PERCENT} the cut weighs at most {above_least:,.4g} more "
            f"than {self._least_cuts_text}, and at most {above_trivial:,.4g} more than any that "
            f"only cuts off terminals.{self._weight_condition}"
        )
        return (note,)

    def errors(self) -> Iterable[tuple[str, float]]:
        """See `Job.errors`."""
        return (
            (f"what the cut weighs above {self._least_cuts_text}", self._errors.above_least),
            ("above one that cuts off terminals alone", self._errors.above_trivial),
        )


def rows_of_terminals(vertices: VertexSet, terminals: Sequence[Terminal]) -> list[IntVector]:
    """Return the row numbers of each terminal, in its order, checked.

    Raises:
        ParameterError: fewer than two terminals, or an empty one.
        QueryError: a label that is no vertex, or is in two terminals.
    """
    terminal_rows = [
        np.flatnonzero(
            vertices.mask(
                list(terminal)
                if isinstance(terminal, Iterable) and not isinstance(terminal, str)
                else [terminal]
            )
        )
        for terminal in terminals
    ]
    if len(terminal_rows) < 2 or not all(map(len, terminal_rows)):
        raise ParameterError(
            "name two or more vertices to keep apart, for example 'ann', 'bob'; each may be a list "
            "of vertices that is not empty"
        )
    all_rows = np.concatenate(terminal_rows)
    if len(np.unique(all_rows)) < len(all_rows):
        raise QueryError("a vertex is in two terminals: no cut keeps it from itself")
    return terminal_rows


def grid_of_cuts(graph: AnyGraph, epsilon: Fraction) -> Grid:
    """Return the grid of weights, as fine as flows with the noise of all vertices allow.

    Rounding lowers a cut of m pairs by at most m grid units. All expected noise together is about
    2^29 grid units, unless the largest change of a weight between neighbours would then have fewer
    than 2^3 or more than 2^12. Reads the schema alone.

    Raises:
        ParameterError: weights without a public bound.
    """
    graph.check_bounded()
    if not graph.weighted:
        return Grid()
    largest_change = graph.max_weight or 1.0
    bits = math.floor(_FLOW_BITS + math.log2(float(epsilon) / sum(graph.shape)))
    bits = min(max(bits, _FEWEST_BITS), _MOST_BITS)
    unit = 2.0 ** (math.floor(math.log2(largest_change)) - bits)
    return Grid(unit, math.ceil(largest_change / unit), graph.max_weight)


def largest_weight(graph: AnyGraph, grid: Grid) -> float:
    """Return the weight to which larger ones are clipped, so that floats hold all sums. Public."""
    return (MOST_VERTEX_WEIGHT // graph.shape[0]) * grid.unit


def measure_cut(
    graph: AnyGraph,
    source: EntropySource,
    progress: Progress = silent,
    *,
    terminal_rows: Sequence[IntVector],
    rates: CutRates,
    grid: Grid,
) -> MeasuredCut:
    """Draw the noisy cut, and measure it and the trivial ones. All noise is drawn here.

    Args:
        graph: the private graph.
        source: where the noise comes from.
        progress: called with the fraction done.
        terminal_rows: row numbers of each terminal, at least two.
        rates: rates of all noise, per grid unit.
        grid: the grid on which weights are counted.

    Guarantee: for a change of one pair by c grid units all of it together costs `CutRates.loss`.
    """
    n = graph.shape[0]
    edge_units = grid.edge_steps(graph)
    weights = np.ones(len(graph.rows), np.int64) if edge_units is None else edge_units
    weights = np.minimum(weights, MOST_VERTEX_WEIGHT // n)  # `largest_weight`, which is stated
    halvings = halvings_of(len(terminal_rows))
    # A vertex is in the part of the terminals whose numbers begin with the same binary digits. Each
    # halving adds a digit: 0 for the side of the lower terminals, 1 for the other side.
    part = np.zeros(n, dtype=np.int64)
    for bit in reversed(range(halvings)):
        progress(1 - (bit + 1) / halvings, "cutting")
        pull = sample_discrete_laplace(rates.cut, n, source)  # the noise D of each vertex
        # A part all of whose terminals are on the first side stays whole.
        divided_parts = [
            terminal >> (bit + 1) for terminal in range(len(terminal_rows)) if terminal >> bit & 1
        ]
        side = np.where(np.isin(part, divided_parts), 0, 1).astype(np.int8)
        for terminal, rows in enumerate(terminal_rows):
            side[rows] = -1 if terminal >> bit & 1 else 1
        is_inside = part[graph.rows] == part[graph.columns]
        pairs = graph.rows[is_inside], graph.columns[is_inside]
        arcs = sp.csr_array((weights[is_inside], pairs), shape=(n, n))
        arcs = arcs if isinstance(graph, DirectedGraph) else sp.csr_array(arcs + arcs.T)
        is_on_second_side = ~least_side(arcs, pull, side)
        part = 2 * part + is_on_second_side
    measured = measure_weights(
        graph, source, weights=weights, codes=part, terminal_rows=terminal_rows, rates=rates
    )
    progress(1.0, "done")
    return measured


def _notes_on_lone_terminals(
    terminals: Sequence[Sequence[Label]], sizes: IntVector
) -> tuple[str, ...]:
    """Return a sentence on the parts that have no other vertex than their terminal, if any."""
    lone_parts = [
        ", ".join(map(str, labels[:3])) + (", ..." if labels[3:] else "")
        for labels, size in zip(terminals, sizes, strict=True)
        if size == len(labels) and size < sizes.sum()
    ]
    if not lone_parts:
        return ()
    note = (
        f"Nothing but {'; '.join(lone_parts)} was cut off: the edges there seem to weigh less than "
        "any other cut, so nothing tells where else the graph breaks."
    )
    return (note,)
