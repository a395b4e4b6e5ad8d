"""A graph from a public net, chosen privately: the net mechanism, for tiny universes only.

A net holds every possible graph, or a public family of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, IntMatrix
from graphcuts_dp.errors import GraphError, HypothesisError, ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.adjacency import AnyGraph, graph_on_space
from graphcuts_dp.iterative.accuracy import Accuracy, NetChoice
from graphcuts_dp.iterative.query_lists import as_list
from graphcuts_dp.iterative.release import GRAPH, IterativeRelease, Settings
from graphcuts_dp.iterative.task import Task
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.median import DatabaseFamily, all_graphs, alpha_net
from graphcuts_dp.options import Checked, option
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.choices import noisy_maximum
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.queries.coefficients import pair_coefficients
from graphcuts_dp.queries.linear import LinearQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.job import Job

MOST_LISTED = 1 << 24  # members of the family times pairs or queries: 128 MiB
_UNIT_BITS = 20  # the largest coefficient has 2^20 to 2^21 units, unless the unit is 1


@refuses_former_options(within="family_error")
@final
@dataclass(frozen=True, kw_only=True)
class Net(Checked):
    """Choose a graph of a public net whose answers to a list are near those of a private one.

    Steps:
    1. Build the net: some members of the family, such that each database of the family is within
       alpha of a member on all queries. For alpha = 0, one member for each list of answers.
    2. Score each member y by -max over queries of |f(x) - f(y)|, in whole units.
    3. Choose the member with the largest score plus noise (`noisy_maximum`).

    Attributes:
        alpha: of the net, >= 0. A coarser net is smaller: less noise, but more rounding.
        edges: number of edges, if it is public; fewer graphs are then possible.
        family_error: largest error, on any query, of the member of the family that is nearest to
            the truth: 0 if the truth is in the family, alpha if the family is itself an alpha-net.
        family: public databases that the truth may be, such as the `construction_net` of a
            checkout; None for every graph on these vertices (at most 19 pairs), or every graph
            with `edges` edges.

    Raises:
        ParameterError: a number out of range, no query, or queries that are all constant.
        HypothesisError: too many databases to list, or a family of another universe.
        GraphError: a graph with weights.

    Guarantee: epsilon-DP at edge level. Net, queries and unit are public. Coefficients are rounded
    to whole units, of which the largest is Delta, so one edge moves each answer f(x) by at most
    Delta units, hence every score by at most Delta, up for some members and down for others:
    noise of rate epsilon/(2 Delta) makes the choice epsilon-DP exactly.
    Accuracy: `NetChoice.error`.

    Source: DR14 Algorithm 7, Propositions 5.1 and 5.2. Deviations: noisy maximum in place of the
    exponential mechanism, which it equals or beats; answers are not divided by the size of the
    database, which is private.

    Examples:
        >>> small = gc.Graph([0, 1], [1, 2], vertices=4)
        >>> net, cuts = gc.Net(), [gc.CutQuery([0])]
        >>> release = gc.release_iteratively(small, cuts, epsilon=2.0, construction=net)
        >>> release.guarantee.epsilon
        2.0
    """

    alpha: float = option(
        0.0, help="Coarseness of a net: 0 is exact; a coarser one needs less noise.", least=0.0
    )
    edges: int | None = option(None, help="Number of edges, if it is public: for a net.", least=0)
    family_error: float = option(
        0.0, help="Largest error of the member of a net that is nearest to the truth.", least=0.0
    )
    family: DatabaseFamily | None = None
    files: ClassVar[str] = GRAPH

    def job(self, task: Task) -> Job[IterativeRelease]:
        """Return the job that chooses a member, by one draw.

        Args:
            task: the private data's schema, the queries and the budget.
        """
        if task.graph.weighted:
            raise GraphError("a net is for graphs without weights: use another construction")
        universe, queries = task.universe, task.public_queries("a net")
        family = self.family
        if family is None and self.edges is not None:
            family = all_graphs(universe, self.edges)
        net = _Net(universe, queries, family, self.alpha)
        rate = task.privacy_unit.per_change(task.epsilon) / (2 * net.sensitivity)
        law = NetChoice(
            members=len(net.databases),
            alpha=self.alpha + self.family_error,
            unit=net.unit,
            rounding=net.rounding,
            rate=rate,
        )
        listed = as_list(universe, queries)

        def release(member: int, guarantee: PrivacyGuarantee) -> IterativeRelease:
            note = "" if guarantee.is_private else SEEDED_WARNING
            graph = net.graph(member, note=note)
            error = law.error(task.failure)
            return IterativeRelease(
                universe=universe,
                guarantee=guarantee,
                accuracy=Accuracy(error=error, confidence=task.confidence, queries="listed"),
                settings=Settings(construction="net"),
                _graph=graph,
                hypothesis=DenseHypothesis(universe, graph.dense()),
                listed=listed,
                law=law,
            )

        return task.job(
            kind="net",
            parameters={},
            plan=BudgetPlan.of_one(
                "member of the net",
                "exponential mechanism",
                Cost.of_pure(2 * net.sensitivity * rate),
            ),
            public="the queries and the family of possible graphs",
            measure=lambda graph, source, _: noisy_maximum(net.scores(graph), rate, source),
            release=release,
        )


@final
class _Net:
    """The members of a net, and their answers in whole units. All of it is public."""

    def __init__(
        self,
        universe: Universe,
        queries: Sequence[LinearQuery],
        family: DatabaseFamily | None,
        alpha: float,
    ) -> None:
        self.universe = universe
        family = _checked_family(universe, family, len(queries))
        pairs = universe.pairs()
        coefficients = np.stack(
            [pair_coefficients(query, universe.space)[pairs] for query in queries]
        )
        if alpha > 0:
            family = alpha_net(family, queries, alpha)
        coefficients.flags.writeable = False
        self.coefficients: FloatMatrix = coefficients
        self.databases = family.databases
        self.unit = _unit(coefficients, self.databases)
        self.coefficient_units: IntMatrix = np.rint(coefficients / self.unit).astype(np.int64)
        self.sensitivity = int(np.abs(self.coefficient_units).max())
        answers = np.rint(self.databases @ self.coefficient_units.T).astype(np.int64)
        if alpha == 0:
            _, first = np.unique(answers, axis=0, return_index=True)
            first.sort()
            self.databases, answers = self.databases[first], answers[first]
        self.answers: IntMatrix = answers
        # The largest changes of answers by rounding: of the truth, where a pair weighs at most 1,
        # and of a member.
        truth_error = np.abs(coefficients - self.unit * self.coefficient_units).sum(axis=1).max()
        member_error = np.abs(self.databases @ coefficients.T - self.unit * answers).max()
        self.rounding = float(truth_error + member_error)

    def scores(self, graph: AnyGraph) -> npt.NDArray[np.int64]:
        """Return minus the largest error of each member, in units. Private."""
        is_edge = graph.dense()[self.universe.pairs()].astype(np.int64)
        errors: npt.NDArray[np.int64] = np.abs(self.answers - self.coefficient_units @ is_edge)
        largest: npt.NDArray[np.int64] = errors.max(axis=1)
        return -largest

    def graph(self, member: int, *, note: str) -> AnyGraph:
        """Return a member as a graph."""
        rows, columns = self.universe.pairs()
        weighted = bool(((self.databases != 0) & (self.databases != 1)).any())
        is_edge = self.databases[member] != 0
        weights = self.databases[member][is_edge] if weighted else None
        return graph_on_space(
            self.universe.space, rows[is_edge], columns[is_edge], weights, note=note
        )


def _checked_family(
    universe: Universe, family: DatabaseFamily | None, queries: int
) -> DatabaseFamily:
    """Return the family, or that of every graph; refuse before anything large is built.

    Raises:
        ParameterError: family is no `DatabaseFamily`.
        HypothesisError: too many databases to list, or a family that is not one of graphs on these
            vertices.
    """
    if family is not None and not isinstance(family, DatabaseFamily):
        raise ParameterError(f"family is a DatabaseFamily, not {family!r:.60}")
    numbers = max(universe.size, queries)  # that are held of each member
    members = 2.0 ** min(universe.size, 999) if family is None else float(len(family))
    if members * numbers > MOST_LISTED:
        count = f"2^{universe.size} graphs" if family is None else f"{len(family)} databases"
        raise HypothesisError(
            f"a net would list {count} with {numbers} numbers each, more than {MOST_LISTED}: use"
            " release_graph, or give a smaller family or fewer queries"
        )
    if family is None:
        return all_graphs(universe)
    if family.universe != universe:
        raise HypothesisError("the family is over other vertices than the graph")
    if (family.databases < 0).any():
        raise HypothesisError("the members of a net are graphs: no weight may be negative")
    return family


def _unit(coefficients: FloatMatrix, databases: FloatMatrix) -> float:
    """Return the unit of answers: 1 if all are then whole, else far below the coefficients.

    Raises:
        ParameterError: all coefficients are 0.
    """
    largest = float(np.abs(coefficients).max(initial=0.0))
    if largest == 0:
        raise ParameterError("all queries are constant: no graph is better than another")
    if (coefficients % 1 == 0).all() and (databases % 1 == 0).all():
        return 1.0
    return 2.0 ** (math.floor(math.log2(largest)) - _UNIT_BITS)
