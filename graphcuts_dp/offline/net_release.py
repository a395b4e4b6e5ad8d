"""The Net mechanism: choose a graph from a public net, privately; for tiny universes only.

What is released comes first: a graph, answers with proven intervals, files; then the mechanism.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, IntMatrix
from graphcuts_dp.display import Card
from graphcuts_dp.errors import GraphError, HypothesisError, ParameterError
from graphcuts_dp.estimate.answers import whole_query
from graphcuts_dp.estimate.noisy_matrix import CutAnswer
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph, on_space
from graphcuts_dp.graph.owned_rows import PrivateData, paired_graph
from graphcuts_dp.learn.median import DatabaseFamily, all_graphs, alpha_net
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.offline.release import Answering
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.queries import Subset, answer_all
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, hidden_change
from graphcuts_dp.privacy.noise import noisy_maximum, shortfall
from graphcuts_dp.results import bundle

_KIND = "net"


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NetRelease(Answering):
    """A graph that was chosen privately from a net. All of it may be published.

    Attributes:
        graph: the member; weighted if the net's members are.
        guarantee: the promise of differential privacy.
        cost: the same, for composition.
        members: size of the net.
        alpha: how far the nearest member may be from the truth on any query.
        unit: of the answers that scores are counted in.
        rounding: how far counting in whole units can move a difference of two answers.
        rate: of the noise on each score, for one unit.
        coefficients: of the queries that it is for, shape (queries, X), the pairs in the order of
            `Universe.pairs`.
    """

    graph: AnyGraph
    guarantee: PrivacyGuarantee
    cost: Cost
    members: int
    alpha: float
    unit: float
    rounding: float
    rate: Fraction
    coefficients: FloatMatrix

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return Universe.of(self.graph)

    def error_bound(self, beta: float) -> float:
        """A bound on the error of every query at once that fails with probability beta at most.

        alpha + (2 Delta/epsilon) ln((members - 1)/beta), rounded down to a whole unit, where Delta
        is the sensitivity of the queries; `rounding` is added twice. DR14, Proposition 5.2 has
        members for members - 1. It holds if the truth was in the family that the net is for.

        Args:
            beta: in (0, 1).

        Raises:
            ParameterError: beta out of range.
        """
        if not 0 < beta < 1:
            raise ParameterError(f"beta must be between 0 and 1, not {beta}")
        steps = shortfall(self.members, self.rate, failure=beta)
        return self.alpha + self.unit * steps + 2 * self.rounding

    def answer(
        self,
        S: Subset | LinearQuery,
        T: Subset | None = None,
        *,
        confidence: float = 0.95,
    ) -> CutAnswer:
        """Answer any query from the graph; free, as often as you like.

        The interval holds for all queries that the release is for at once, cut to what a graph
        without weights can have. For others it is all of that, which is certain.

        Args:
            S: vertex labels or a truth vector, or a whole query.
            T: likewise; None for all vertices outside S (all right ones).
            confidence: of the interval, in (0, 1).

        Raises:
            ParameterError: confidence out of range.
            QueryError: an unknown vertex.
        """
        if not 0 < confidence < 1:
            raise ParameterError(f"confidence must be between 0 and 1, not {confidence}")
        query = whole_query(S, T)
        row = self.universe.coefficients(query)[self.universe.pairs()]
        value = float(answer_all([query], self.graph)[0])
        possible, error = (float(row[row < 0].sum()), float(row[row > 0].sum())), None
        if (self.coefficients == row).all(axis=1).any():
            # 1 - confidence, rounded down
            error = self.error_bound(math.nextafter(1 - confidence, 0))
        return self._within(value, error, possible, confidence)

    def answer_all(
        self, queries: Iterable[LinearQuery], *, confidence: float = 0.95
    ) -> list[CutAnswer]:
        """Answer several queries; see `answer`."""
        return [self.answer(query, confidence=confidence) for query in queries]

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write the graph at `path`, the queries and a receipt beside it.

        Args:
            path: where; the ending tells the graph's format. The receipt is `path` + ".json", the
                queries `path` + ".queries.npz".
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: unknown ending, missing folder, files that are there, a full disk.
                Nothing is left behind then, and older files stay as they are.
        """
        fields = {
            "cost": self.cost.to_dict(),
            "members": self.members,
            "alpha": self.alpha,
            "unit": self.unit,
            "rounding": self.rounding,
            "rate": str(self.rate),
            **bundle.space_fields(self.universe.space),
        }
        arrays = {"coefficients": self.coefficients}
        return bundle.save(
            _KIND, path, self.guarantee, fields, arrays, graph=self.graph, force=force
        )

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        with bundle.opened(path, _KIND) as saved:
            fields, graph = saved.fields, saved.graph(saved.space)
            coefficients = np.array(saved.arrays()["coefficients"], dtype=np.float64)
            if graph is None or coefficients.shape[1] != Universe.of(graph).size:
                raise ValueError("no graph, or queries over other pairs")
            coefficients.flags.writeable = False
            made = cls(
                graph=graph,
                guarantee=saved.guarantee,
                cost=Cost.from_dict(fields["cost"]),
                rate=Fraction(fields["rate"]),
                coefficients=coefficients,
                **{name: fields[name] for name in ("members", "alpha", "unit", "rounding")},
            )
            made.error_bound(0.5)
            return made

    def _card(self) -> Card:
        return Card(
            title="Release from a net",
            facts=(
                ("members of the net", f"{self.members:,}"),
                ("error at most, with probability 95%", self.error_bound(0.05)),
                *self.guarantee.facts,
            ),
            warning=self.guarantee.warning,
        )

    def __repr__(self) -> str:
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return f"NetRelease(epsilon={self.guarantee.epsilon:g}, members={self.members}{mark})"


MOST_LISTED = 1 << 24  # members of the family times pairs or queries: 128 MiB
_UNIT_BITS = 20  # the largest coefficient has 2^20 to 2^21 steps


def release_net(
    graph: PrivateData,
    queries: Sequence[LinearQuery],
    *,
    epsilon: float,
    protect: str = "edges",
    at_most: int | None = None,
    store: PathLike | Store | None = None,
    alpha: float = 0.0,
    family: DatabaseFamily | None = None,
    within: float = 0.0,
    seed: int | None = None,
) -> NetRelease:
    """Release a graph whose answers to a list of queries are near those of a private one.

    Steps:
    1. The net: members of the family, of which some one is within alpha of each of the others on
       all queries. For alpha = 0, one for each way to answer them.
    2. The score of a member y is -max over queries of |f(x) - f(y)|, in whole units.
    3. The member with the largest score plus noise (`noisy_maximum`).

    Args:
        graph: the private graph, without weights.
        queries: the public list that the release is for, at least one.
        epsilon: privacy parameter, for whom `protect` names, in [1e-6, 50]; all of it is spent.
        protect: whom the promise is for: "edges", see `Protect.of`.
        at_most: of edges: how many may change together, 1 if omitted.
        store: see `release_graph`.
        alpha: of the net, >= 0. A coarser net is smaller: less noise, but more rounding.
        family: public databases that the truth may be; None for every graph on these vertices,
            which takes at most 19 pairs. Less is possible when more is public: see `all_graphs`
            with a number of edges; or a net of these, such as the `construction_net` of a checkout.
        within: how far, on any query, the nearest member of the family may be from the truth: 0 if
            the truth is one of them, alpha of a net that was made elsewhere.
        seed: makes the run repeatable and voids the promise; None for the system's entropy.

    Raises:
        ParameterError: epsilon, alpha or within out of range, no query, or queries that are all
            constant.
        HypothesisError: too many databases to list, or a family of another universe.
        GraphError: a graph with weights.
        QueryError: a query that does not fit the vertex sets.

    Guarantee: epsilon-DP at edge level. Net, queries and unit are public. Coefficients are rounded
    to whole units, of which the largest is Delta, so one edge moves each answer f(x) by at most
    Delta units, hence every score by at most Delta, up for some members and down for others:
    noise of rate epsilon/(2 Delta) makes the choice epsilon-DP exactly.
    Accuracy: `NetRelease.error_bound`.

    Examples:
        >>> tiny = gc.Graph.of([("ann", "bob"), ("bob", "eve")], vertices=["ann", "bob", "eve"])
        >>> gc.release_net(tiny, [gc.CutQuery(["bob"])], epsilon=2.0).graph
        Graph(n=3)

    Source: DR14 Algorithm 7, Propositions 5.1 and 5.2. Deviations: noisy maximum in place of the
    exponential mechanism, which it equals or beats; answers are not divided by the size of the
    database, which is private.
    """
    private = graph
    graph, protection = paired_graph(private, protect, at_most=at_most, epsilon=epsilon)
    if not (math.isfinite(alpha) and alpha >= 0):
        raise ParameterError(f"alpha must be a finite number >= 0, not {alpha}")
    if not (math.isfinite(within) and within >= 0):
        raise ParameterError(f"within must be a finite number >= 0, not {within}")
    net = _Net(_universe_of(graph), queries, family, alpha)
    rate = protection.per_step(epsilon) / (2 * net.sensitivity)
    step = Cost.of_pure(2 * net.sensitivity * rate)
    cost = protection.cost(step, epsilon=epsilon)

    source = entropy_source(seed)
    promised = PrivacyGuarantee(
        epsilon=cost.epsilon,
        neighbours=hidden_change(weighted=False, weight_cap=1.0, directed=net.universe.directed),
        public=f"{net.universe.public}, the queries and the family of possible graphs",
        seed=seed,
    )
    guarantee = protection.promise(promised, cost)
    with charged(store, private, kind="net", parameters={}, cost=cost, guarantee=guarantee):
        # The private graph is read here, and nowhere else.
        scores = net.scores(graph)
        chosen = noisy_maximum(scores, rate, source)
    return NetRelease(
        graph=net.graph(chosen, note="" if seed is None else SEEDED_WARNING),
        guarantee=guarantee,
        cost=cost,
        members=len(net.databases),
        alpha=alpha + within,
        unit=net.unit,
        rounding=net.rounding,
        rate=rate,
        coefficients=net.coefficients,
    )


@final
class _Net:
    """Public: the members, and all answers in whole units."""

    def __init__(
        self,
        universe: Universe,
        queries: Sequence[LinearQuery],
        family: DatabaseFamily | None,
        alpha: float,
    ) -> None:
        self.universe = universe
        if not queries:
            raise ParameterError("the net mechanism needs at least one query")
        family = _checked_family(universe, family, len(queries))
        pairs = universe.pairs()
        coefficients = np.stack([universe.coefficients(query)[pairs] for query in queries])
        if alpha > 0:
            family = alpha_net(family, queries, alpha)
        coefficients.flags.writeable = False
        self.coefficients: FloatMatrix = coefficients
        self.databases = family.databases
        self.unit = _unit(coefficients, self.databases)
        self.steps: IntMatrix = np.rint(coefficients / self.unit).astype(np.int64)
        self.sensitivity = int(np.abs(self.steps).max())
        answers = np.rint(self.databases @ self.steps.T).astype(np.int64)
        if alpha == 0:
            _, first = np.unique(answers, axis=0, return_index=True)
            first.sort()
            self.databases, answers = self.databases[first], answers[first]
        self.answers: IntMatrix = answers
        # A pair of the truth weighs at most 1.
        of_truth = np.abs(coefficients - self.unit * self.steps).sum(axis=1).max()
        of_member = np.abs(self.databases @ coefficients.T - self.unit * answers).max()
        self.rounding = float(of_truth + of_member)

    def scores(self, graph: AnyGraph) -> npt.NDArray[np.int64]:
        """Minus the largest error of each member, in units. Private."""
        present = graph.dense()[self.universe.pairs()].astype(np.int64)
        worst: npt.NDArray[np.int64] = np.abs(self.answers - self.steps @ present).max(axis=1)
        return -worst

    def graph(self, member: int, *, note: str) -> AnyGraph:
        """A member as a graph."""
        rows, columns = self.universe.pairs()
        weighted = bool(((self.databases != 0) & (self.databases != 1)).any())
        used = self.databases[member] != 0
        ends = rows[used], columns[used]
        weights = self.databases[member][used] if weighted else None
        return on_space(self.universe.space, *ends, weights, note=note)


def _universe_of(graph: AnyGraph) -> Universe:
    if graph.weighted:
        raise GraphError("the net mechanism is for graphs without weights: use release_graph")
    return Universe.of(graph)


def _checked_family(
    universe: Universe, family: DatabaseFamily | None, queries: int
) -> DatabaseFamily:
    """The family, or every graph; refused before anything large is built."""
    X = universe.size
    members = 2.0 ** min(X, 999) if family is None else float(len(family))
    if members * max(X, queries) > MOST_LISTED:
        count = f"2^{X} graphs" if family is None else f"{len(family)} databases"
        raise HypothesisError(
            f"the net mechanism would list {count} with {max(X, queries)} numbers each, more than"
            f" {MOST_LISTED}: use release_graph, or give a smaller family or fewer queries"
        )
    if family is None:
        return all_graphs(universe)
    if family.universe != universe:
        raise HypothesisError("the family is over other vertices than the graph")
    if (family.databases < 0).any():
        raise HypothesisError("the members of a net are graphs: no weight may be negative")
    return family


def _unit(coefficients: FloatMatrix, databases: FloatMatrix) -> float:
    """1 where that makes all answers whole; else a power of two far below the coefficients."""
    largest = float(np.abs(coefficients).max(initial=0.0))
    if largest == 0:
        raise ParameterError("all queries are constant: no graph is better than another")
    if (coefficients % 1 == 0).all() and (databases % 1 == 0).all():
        return 1.0
    return 2.0 ** (math.floor(math.log2(largest)) - _UNIT_BITS)
