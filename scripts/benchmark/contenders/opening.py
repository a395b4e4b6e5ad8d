"""Start a contender with its budget, and state its guarantee."""

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntegerVector
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.entropy import EntropySource, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.schema.groups import Groups
from scripts.benchmark.base import Contender, Estimate, Submission, hidden


@final
class Run:
    """Run of a contender on a private graph: its budget, and what it has spent.

    Args:
        graph: the private graph.
        epsilon: requested epsilon.
        delta: requested delta.
        groups: public groups, or None.
        seed: None when noise comes from the operating system's entropy.

    Attributes:
        epsilon: exact.
        asked: epsilon as it was requested.
        source: where noise comes from.
        guarantee: privacy guarantee; None before `spend`.

    Raises:
        ParameterError: epsilon or seed out of range.
    """

    def __init__(
        self, graph: Any, *, epsilon: float, delta: float, groups: Any, seed: int | None
    ) -> None:
        self.graph, self.groups, self.seed = graph, groups, seed
        self.asked, self.delta = epsilon, delta
        self.epsilon: Fraction = exact_epsilon(epsilon)
        self.source: EntropySource = entropy_source(seed)
        self.guarantee: PrivacyGuarantee | None = None

    def spend(self, cost: Cost | None = None, **parts: Fraction) -> None:
        """State the guarantee, before any noise is drawn.

        Args:
            cost: of the noise that was built; None for the sum of the parts.
            parts: what epsilon is spent on; blanks are written as underscores.

        Raises:
            BudgetError: it costs more than was asked for.
        """
        built = cost or Cost.of_pure(sum(parts.values(), Fraction(0)))
        stated = stated_cost(built, epsilon=self.asked, delta=self.delta)
        named = tuple((name.replace("_", " "), float(part)) for name, part in parts.items())
        self.guarantee = PrivacyGuarantee(
            epsilon=stated.epsilon,
            delta=stated.delta,
            neighbours=hidden(self.graph),
            seed=self.seed,
            budget_plan=BudgetPlan.of_parts(named) if named[1:] else None,
        )

    def generator(self) -> np.random.Generator:
        """Return a generator for code that reads public or noisy values only."""
        return public_generator(self.source)

    def made(
        self, rows: IntegerVector, columns: IntegerVector, weights: FloatVector | None = None
    ) -> AnyGraph:
        """Return a graph of the same kind on the same vertices, with these edges.

        Loops are dropped, and a pair counts once. No edge of the private graph is read.
        """
        graph: AnyGraph = self.graph
        if isinstance(graph, Graph):
            return Graph(rows, columns, weights, vertices=graph.vertices)
        if isinstance(graph, DirectedGraph):
            return DirectedGraph(rows, columns, weights, vertices=graph.vertices)
        return BipartiteGraph(rows, columns, weights, left=graph.left, right=graph.right)


def contender(body: Callable[[Run], Estimate | Submission], **about: Any) -> Contender:
    """Return a contender that checks its graph, runs, and guarantees what the run has spent.

    Args:
        body: returns an estimate, after `Run.spend`; or a submission with its own guarantee.
        about: fields of `Contender` but `method`. Without a note, it is what the docstring of the
            body's module says after its first line. Graphs of other kinds, and weights that it
            does not take, are refused.
    """
    if "note" not in about:
        text = inspect.getdoc(inspect.getmodule(body)) or ""
        about["note"] = " ".join(text.partition("\n\n")[2].split())

    def method(
        graph: AnyGraph,
        *,
        epsilon: float,
        delta: float = 0.0,
        groups: Groups | None = None,
        seed: int | None = None,
    ) -> Submission:
        check_graph(graph, entry)
        if entry.needs_groups and groups is None:
            raise GraphError("this contender needs public groups")
        run = Run(graph, epsilon=epsilon, delta=0.0, groups=groups, seed=seed)
        if entry.needs_delta:
            run.delta = checked_delta(delta, entry.name)
        result = body(run)
        if isinstance(result, Submission):
            return result
        if run.guarantee is None:
            raise TypeError(f"{entry.name} has not said what it spends")
        return Submission(estimate=result, guarantee=run.guarantee)

    entry = Contender(method=method, **about)
    return entry


def check_graph(graph: AnyGraph, entered: Contender) -> None:
    """Check that a contender takes a graph, and that there is a pair to hide.

    Raises:
        GraphError: another kind, weights that are not taken, or one vertex.
        ParameterError: weights without a cap.
    """
    if not isinstance(graph, Graph) and entered.kinds == {"undirected"}:
        raise GraphError(f"{entered.name} takes undirected graphs alone")
    if graph.weighted and not entered.weights:
        raise GraphError(f"{entered.name} takes graphs without weights alone")
    graph.check_bounded()
    if min(graph.shape) < (1 if isinstance(graph, BipartiteGraph) else 2):
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")


def checked_delta(delta: float, name: str) -> float:
    """Return a delta that a method without a pure guarantee can spend, checked.

    Raises:
        ParameterError: it is 0, or no number in (0, 1).
    """
    number = isinstance(delta, float | int) and not isinstance(delta, bool)
    if not (number and 0 < delta < 1):
        raise ParameterError(f"{name} has no pure guarantee: give a delta in (0, 1)")
    return float(delta)


def public_generator(source: EntropySource) -> np.random.Generator:
    """See `Run.generator`."""
    return np.random.default_rng(int.from_bytes(source.bytes(16).tobytes(), "little"))
