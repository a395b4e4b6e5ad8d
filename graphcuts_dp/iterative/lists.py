"""Public lists of queries without a distinguisher: a graph from a net, few answers, sensing.

A net holds every possible graph, or a public family, and one is chosen privately: for tiny
universes only. A few cuts are answered at once with K-norm noise, purely, with less noise than one
by one. Sensing measures linear queries on a matrix of ratings, all of them or those that are off
most, and learns by Schatten mirror descent; answers are counted in public steps, and rows and
columns that no query of a list tells apart are taken together. The three stand in one long file,
since each reads the same kind of list and releases the same kind of result.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import GraphError, HypothesisError, ParameterError, QueryError
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, on_space
from graphcuts_dp.iterative.accuracy import Accuracy, CountNoise, NetChoice
from graphcuts_dp.iterative.distinguisher import root_at_most
from graphcuts_dp.iterative.query_digests import Digests
from graphcuts_dp.iterative.query_lists import MOST_NUMBERS, CutList, as_list
from graphcuts_dp.iterative.release import GRAPH, TABLE, IterativeRelease, Measured, Settings
from graphcuts_dp.iterative.task import Task
from graphcuts_dp.learn.base import DenseHypothesis, Sign
from graphcuts_dp.learn.median import DatabaseFamily, all_graphs, alpha_net
from graphcuts_dp.learn.potentials import LpNorm, Potential, SchattenNorm, near_one
from graphcuts_dp.learn.rules import MirrorDescentRule, minimal_start
from graphcuts_dp.options import Checked, option
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.choices import exponential_choice, noisy_maximum
from graphcuts_dp.privacy.composition import Cost, rounded_up, zcdp_rho
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.k_norm import MOST_COUNTS, NORMS, KNormNoise
from graphcuts_dp.queries.coefficients import Extent, pair_coefficients
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, MatrixQuery
from graphcuts_dp.queries.mixed_cuts import with_sides
from graphcuts_dp.queries.plain import plain_query
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.job import Job
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.schema.vertices import Space

MOST_LISTED = 1 << 24  # members of the family times pairs or queries: 128 MiB
_UNIT_BITS = 20  # the largest coefficient has 2^20 to 2^21 steps


@final
@dataclass(frozen=True, kw_only=True)
class Net(Checked):
    """Choose a graph of a public net whose answers to a list are near those of a private one.

    Steps:
    1. The net: members of the family, of which some one is within alpha of each of the others on
       all queries. For alpha = 0, one for each way to answer them.
    2. The score of a member y is -max over queries of |f(x) - f(y)|, in whole units.
    3. The member with the largest score plus noise (`noisy_maximum`).

    Attributes:
        alpha: of the net, >= 0. A coarser net is smaller: less noise, but more rounding.
        edges: number of edges, if it is public; fewer graphs are then possible.
        within: how far, on any query, the nearest member of the family may be from the truth: 0 if
            the truth is one of them, alpha of a net that was made elsewhere.
        family: public databases that the truth may be; None for every graph on these vertices,
            which takes at most 19 pairs, or with so many edges. Such as the `construction_net` of a
            checkout.

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
        >>> net = gc.Net()
        >>> made = gc.release_iteratively(small, [gc.CutQuery([0])], epsilon=2.0, construction=net)
        >>> made.guarantee.epsilon
        2.0
    """

    alpha: float = option(
        0.0, help="Coarseness of a net: 0 is exact; a coarser one needs less noise.", least=0.0
    )
    edges: int | None = option(None, help="Number of edges, if it is public: for a net.", least=0)
    within: float = option(
        0.0, help="How far the nearest member of a net may be from the truth.", least=0.0
    )
    family: DatabaseFamily | None = None
    files: ClassVar[str] = GRAPH

    def job(self, task: Task) -> Job[IterativeRelease]:
        """One draw.

        Args:
            task: what is asked for.
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
            alpha=self.alpha + self.within,
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
    """Public: the members, and all answers in whole units."""

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


def _checked_family(
    universe: Universe, family: DatabaseFamily | None, queries: int
) -> DatabaseFamily:
    """The family, or every graph; refused before anything large is built."""
    if family is not None and not isinstance(family, DatabaseFamily):
        raise ParameterError(f"family is a DatabaseFamily, not {family!r:.60}")
    most = max(universe.size, queries)
    members = 2.0 ** min(universe.size, 999) if family is None else float(len(family))
    if members * most > MOST_LISTED:
        count = f"2^{universe.size} graphs" if family is None else f"{len(family)} databases"
        raise HypothesisError(
            f"a net would list {count} with {most} numbers each, more than {MOST_LISTED}: use"
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
    """1 where that makes all answers whole; else a power of two far below the coefficients."""
    largest = float(np.abs(coefficients).max(initial=0.0))
    if largest == 0:
        raise ParameterError("all queries are constant: no graph is better than another")
    if (coefficients % 1 == 0).all() and (databases % 1 == 0).all():
        return 1.0
    return 2.0 ** (math.floor(math.log2(largest)) - _UNIT_BITS)


MOST_ANSWERS = 1000
_COARSER = 1 << 20  # steps of a grid that make one here: a weight at the cap has about 2^10


@final
@dataclass(frozen=True, kw_only=True)
class Answers:
    """Answer a few cuts at once, purely privately, and nothing else; 1 to 1000 of them.

    Attributes:
        noise: "k-norm" (at most 6 cuts): noise in the shape of what one pair can change of all
            answers; "laplace": independent noise, for the largest number of cuts that one pair is
            in; "auto": the one that guarantees shorter intervals.

    Raises:
        ParameterError: an unknown noise, or too many cuts for it.
        QueryError: a query that is no cut of the graph.

    Guarantee: epsilon-DP at edge level: the counts change by a column of the matrix of queries,
        times at most `Grid.sensitivity` steps of one weight, which `KNormNoise` hides; columns and
        noise are made from the vertices and the queries alone.

    Source: Hardt, Talwar 2010; GRU12, Table 1 (the K-norm mechanism).
    """

    noise: str = "auto"
    files: ClassVar[str] = TABLE

    def job(self, task: Task) -> Job[IterativeRelease]:
        """One draw for all counts."""
        queries = task.public_queries("a list of answers")
        listed = queries if isinstance(queries, CutList) else CutList(task.universe, queries)
        if listed.universe != task.universe:
            raise ParameterError("the queries are for other vertices than the graph's")
        if len(listed) > MOST_ANSWERS:
            raise ParameterError(
                f"at most {MOST_ANSWERS} cuts are answered at once; use release_graph"
            )
        laws = self.laws(task, listed)
        name = min(laws, key=lambda name: laws[name].error(task.failure))
        law = laws[name]
        accuracy = Accuracy(
            error=law.error(task.failure), confidence=task.confidence, queries="measured"
        )

        return task.job(
            kind="answers",
            parameters={"queries": len(listed), "noise": name},
            plan=BudgetPlan.of_one("counts", name, law.noise.cost(law.grid.sensitivity)),
            public="the queries",
            measure=lambda graph, source, _: law.measure(listed, graph, source),
            release=lambda values, guarantee: IterativeRelease(
                universe=task.universe,
                guarantee=guarantee,
                accuracy=accuracy,
                settings=Settings(construction=name, distinguisher="every query"),
                transcript=tuple(
                    Measured(round=1, query=place, value=value, updated=False)
                    for place, value in enumerate(values)
                ),
                cap=law.grid.cap or 1.0,
                listed=listed,
                law=law,
            ),
        )

    def laws(self, task: Task, listed: CutList) -> dict[str, CountNoise]:
        """The noises that may be drawn, by name."""
        grid = task.grid
        if grid.weighted:
            steps = -(-grid.sensitivity // _COARSER)
            grid = replace(grid, unit=grid.unit * _COARSER, sensitivity=steps)
        rate = Fraction(task.privacy_unit.per_change(task.epsilon)) / grid.sensitivity
        columns = columns_of(listed)
        every = NORMS if len(listed) <= MOST_COUNTS else ("laplace",)
        return {
            name: CountNoise(noise=KNormNoise.of_columns(columns, rate, norm=name), grid=grid)
            for name in (every if self.noise == "auto" else (self.noise,))
        }


def columns_of(queries: CutList) -> IntMatrix:
    """Which cuts count a pair, for every two kinds of vertices that there are; shape (c, k).

    A kind of vertex is told by the sets of the list that it is in. Where only one vertex is of a
    kind, two such make no pair; their column does no harm.
    """
    masks = [queries.universe.masks(query) for query in queries]
    S, T = (np.array(side) for side in zip(*masks, strict=True))
    symmetric, k = queries.universe.symmetric, len(queries)
    rows = np.unique(np.concatenate([S, T]).T if symmetric else S.T, axis=0)
    others = rows if symmetric else np.unique(T.T, axis=0)
    found: set[bytes] = set()
    for row in rows:
        here = row & others
        if symmetric:  # one vertex in S and the other in T, either way round
            here = (row[:k] & others[:, k:]) | (row[k:] & others[:, :k])
        found |= {column.tobytes() for column in np.unique(here, axis=0)}
    columns = [np.frombuffer(column, dtype=np.bool_) for column in sorted(found)]
    return np.array(columns).astype(np.int64)


SUM_BITS = 61  # of answers in steps: differences of two fit into 64 bits
_MOST_BITS = 20  # the largest coefficient and the largest rating have 2^20 to 2^21 steps, or fewer
MOST_SENSED_PAIRS = 1 << 25  # 256 MiB for a hypothesis
_LARGEST_DEVIATION = 2**55  # of noise, in steps: 64-bit integers hold every sample


@final
class Steps:
    """How answers are counted in whole public steps.

    Privacy: sensitivities hold of `plain_query` queries alone, whose coefficients are the same
    numbers each time that they are read, whatever the ratings are.

    Args:
        universe: users and items.
        queries: the list, read by `plain_query`.
        cap: public largest rating.

    Attributes:
        queries: as given.
        cap: as given.
        sensitivity: Delta: by how many steps one rating can change an answer, at most.
        unit: of the answers, a power of two.
        rounding: how far an answer in steps may be from the true one, in units of ratings.

    Raises:
        ParameterError: queries that are all constant, or numbers that are too large or small.
        GraphError: too many pairs.
        QueryError: a query that does not fit the vertex sets.
    """

    def __init__(self, universe: Universe, queries: Sequence[LinearQuery], cap: float) -> None:
        if universe.size > MOST_SENSED_PAIRS:
            raise GraphError(f"sensing holds all pairs, up to {MOST_SENSED_PAIRS}: use fewer items")
        self.queries: tuple[LinearQuery, ...] = tuple(queries)
        self.universe = universe
        self.cap: float = float(cap)
        largest = max(Extent.of(query, universe.space).largest for query in queries)
        if largest == 0:
            raise ParameterError("all queries are constant: there is nothing to measure")
        # A coefficient and a rating have fewer than 2^(bits + 1) steps each.
        bits = min(_MOST_BITS, (SUM_BITS - universe.size.bit_length()) // 2 - 1)
        self._of_ratings = 2.0 ** (math.floor(math.log2(cap)) - bits)
        self._of_coefficients = 2.0 ** (math.floor(math.log2(largest)) - bits)
        self.unit: float = self._of_ratings * self._of_coefficients
        if not 0 < self.unit < math.inf:
            raise ParameterError("coefficients times max_weight must be numbers of usual size")
        # Rounding is monotone: the largest coefficient has the most steps.
        most = self._rating_steps = math.floor(cap / self._of_ratings)
        self._most_coefficient_steps = round(largest / self._of_coefficients)
        self.sensitivity: int = self._most_coefficient_steps * most
        of_entry = cap * self._of_coefficients / 2 + self._of_ratings * largest
        self.rounding: float = universe.size * of_entry

    def count(self, ratings: BipartiteGraph) -> IntVector:
        """All true answers, shape (len(queries),), exactly in steps. Private."""
        weights = np.floor(ratings.weights / self._of_ratings).astype(np.int64)
        answers = []
        for query in self.queries:
            found = query.coefficients_at(ratings.rows, ratings.columns, self.universe.space)
            answers.append(int(self._coefficient_steps(found).astype(np.int64) @ weights))
        return np.array(answers, dtype=np.int64)

    def _coefficient_steps(self, coefficients: FloatVector) -> FloatVector:
        """Coefficients in whole steps, none of which is above that of the largest coefficient."""
        most = self._most_coefficient_steps
        return np.clip(np.rint(coefficients / self._of_coefficients), -most, most)

    def noise(self, rho: Fraction, rounds: int) -> tuple[Fraction, ValueNoise]:
        """Rate of each choice and noise of each measurement, rho-zCDP in so many rounds.

        Raises:
            ParameterError: noise that does not fit into 64 bits.
        """
        of_values = ValueNoise("gaussian", self.sensitivity**2 * rounds / rho)
        if of_values.parameter > _LARGEST_DEVIATION**2:
            raise ParameterError("the noise does not fit into 64 bits: use more epsilon")
        return root_at_most(4 * rho / rounds) / (2 * self.sensitivity), of_values

    def whole(self, answers: FloatVector) -> IntVector:
        """Answers of a hypothesis in steps: public, and cut to what is far beyond any truth."""
        limit = 2.0**SUM_BITS
        steps: IntVector = np.rint(np.clip(answers / self.unit, -limit, limit)).astype(np.int64)
        return steps

    @cached_property
    def square(self) -> int:
        """Square of the length of the vector by which one rating can move all answers, in steps.

        The largest over pairs of the sum over queries of squared steps of coefficients, with a
        margin for the rounding of floats, times the square of a rating's steps.
        """
        total = np.zeros(self.universe.shape)
        for query in self.queries:
            steps = self._coefficient_steps(self.universe.coefficients(query))
            total += steps * steps
        return math.ceil(float(total.max()) * (1 + 1e-9)) * self._rating_steps**2

    def noise_for_all(self, rho: Fraction) -> ValueNoise | None:
        """Noise of measurements of all queries; None if it does not fit into 64 bits."""
        of_values = ValueNoise("gaussian", self.square / (2 * rho))
        return of_values if of_values.parameter <= _LARGEST_DEVIATION**2 else None

    def radius(self, noise: ValueNoise, failure: float) -> float:
        """How far a measured value may be off, but for that probability."""
        return (self.unit * noise.radius(failure) + self.rounding) * (1 + 1e-9)

    def slack(self, rate: Fraction, noise: ValueNoise, beta: float, *, queries: int) -> float:
        """How far above the last gap the error on so many queries may be, but for beta."""
        choices = 2 * queries
        short = math.log(2 * choices / beta) / float(rate) + 1  # and the estimates' rounding
        return (self.unit * (noise.radius(beta / 2) + short) + self.rounding) * (1 + 1e-9)


def _read_once(queries: Sequence[LinearQuery], space: Space) -> list[LinearQuery]:
    """Return a list of queries as `plain_query` reads them.

    Raises:
        QueryError: a query that does not fit, or queries of classes of the user's own that together
            have more than 2^24 coefficients.
    """
    plain, coefficients = [], 0
    for query in queries:
        sided = with_sides(query, space)
        plain.append(plain_query(sided, space))
        if plain[-1] is not sided and isinstance(plain[-1], MatrixQuery):
            coefficients += math.prod(Universe.over(space).shape)
        if coefficients > MOST_NUMBERS:
            raise QueryError(
                f"queries of classes of your own hold at most {MOST_NUMBERS:,} coefficients"
                " together: give fewer, or cuts and rank-one queries"
            )
    return plain


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class QueryBlocks:
    """A list of queries on a matrix, and the same on a smaller one.

    All cuts of the list are sums of whole blocks. Taking x to sqrt(rows columns) x, for a block of
    that many rows and columns, maps matrices that are constant on blocks to one entry for each
    block, and keeps inner products and singular values. Mirror descent that starts at 0, with a
    potential of singular values or of the sum of squares, never leaves such matrices: it is the
    same in both, and takes less in the smaller.

    Attributes:
        whole: the universe that was given.
        universe: one row for each class of rows, one column for each class of columns.
        queries: the given ones, on `universe`, in their order.
        sides: class of each row, and of each column.
    """

    whole: Universe
    universe: Universe
    queries: tuple[LinearQuery, ...]
    sides: tuple[IntVector, IntVector]

    @classmethod
    def of(cls, queries: Sequence[LinearQuery], universe: Universe) -> Self:
        """The blocks of a list; each entry is one if a query of it is no cut.

        Args:
            queries: on a bipartite universe.
            universe: the public vertex pairs.
        """
        shape, cuts = universe.shape, [each for each in queries if isinstance(each, CutQuery)]
        if len(cuts) < len(queries):
            rows, columns = np.arange(shape[0]), np.arange(shape[1])
            return cls(
                whole=universe, universe=universe, queries=(*queries,), sides=(rows, columns)
            )
        masks = [query.masks(universe.space) for query in cuts]
        rows, columns = (_classes([pair[side] for pair in masks], shape[side]) for side in (0, 1))
        left, right = _roots(rows), _roots(columns)
        firsts = [np.unique(codes, return_index=True)[1] for codes in (rows, columns)]
        return cls(
            whole=universe,
            universe=Universe(len(left), len(right)),
            queries=tuple(
                MatrixQuery(np.outer(left * S[firsts[0]], right * T[firsts[1]])) for S, T in masks
            ),
            sides=(rows, columns),
        )

    def expand(self, hypothesis: DenseHypothesis) -> DenseHypothesis:
        """The hypothesis on the whole universe that one on the blocks stands for."""
        if self.universe is self.whole:
            return hypothesis
        entries = hypothesis.matrix / np.outer(*map(_roots, self.sides))
        return DenseHypothesis(self.whole, entries[np.ix_(*self.sides)])


def _classes(masks: Sequence[BoolVector], size: int) -> IntVector:
    """Numbers from 0 on, the same for places that are in the same sets."""
    codes = np.zeros(size, dtype=np.int64)
    for mask in masks:
        codes = np.unique(2 * codes + mask, return_inverse=True)[1]
    return codes


def _roots(codes: IntVector) -> FloatVector:
    """Square root of the size of each class."""
    return np.sqrt(np.bincount(codes))


_PASSES = 2  # over the answers bought so far, after each round: free
_FEW = 200  # measurements that are gone over so often where all queries were measured
_ROUNDS = 10  # where nobody says how many
FOR_TEST = Fraction(1, 2)  # of the budget: for the last round, which all guarantees rest on


@final
@dataclass(frozen=True, kw_only=True)
class Sensing(Checked):
    """Answer a public list of linear queries on a private matrix, and learn a matrix from them.

    Each of the rounds:
    1. Choose a query of the list on which the hypothesis is off by nearly the most, and the
       direction (`exponential_choice` among all queries in both directions).
    2. Measure it: its whole answer plus discrete Gaussian noise.
    3. Correct the hypothesis by Schatten-p mirror descent, as far as the measurement goes beyond
       its noise; let older measurements correct it again. The last round only tests, with half of
       the budget, since all that is guaranteed of the answers rests on it.
    Or every query of the list is measured once, all of them with the noise that the ratings' whole
    effect on the list needs; the hypothesis learns from that, and the guaranteed answers are the
    measured values. That is better for few queries, and for any number of sums without a common
    rating.

    Attributes:
        rounds: how many queries are chosen and measured, 1 to 10,000. None: every query is measured
            if that guarantees less error than 10 rounds can, and 10 else.
        p: of the Schatten norm, in (1, 2]; 2 is the Frobenius norm, which is better when queries
            are of rank one. None: ln(mn)/(ln(mn) - 1), better for queries whose singular values
            are spread on matrices of low rank.
        expected_ratings: a public guess of the number of ratings, for the warning only.

    Raises:
        ParameterError: a number out of range, no query, queries that are all constant, or ratings
            without a public bound.
        GraphError: not a bipartite graph, or one of more than 2^25 pairs.

    Warns:
        AccuracyWarning: before anything is spent, when answers are guaranteed no better than
            without data, by the middle of what each query can be, or, with `expected_ratings`,
            by 0.

    Guarantee: (epsilon, delta)-DP for one rating, by rho-zCDP, and nothing but 1 and 2 reads it.
    Queries are read once, from the public vertices (`plain_query`): a class of the user's own has
    no say in the noise.
    Ratings are rounded down to public steps and coefficients to the nearest public step, so that
    answers are whole. Neighbours differ in one rating by at most `cap` of its steps, hence in each
    answer by at most Delta = (largest coefficient) cap steps, upwards for some queries and
    downwards for others. Of r rounds that share rho, each choice, of rate eta/(2 Delta), is
    eta^2/8-zCDP, each measurement, of variance Delta^2 r/rho, is rho/(2 r)-zCDP, and
    eta^2/8 <= rho/(2 r). Where all queries are measured: a rating moves the whole list by a vector
    of length D at most, the root of the largest sum over queries of squared coefficients, times the
    cap; independent noise of variance v on each is D^2/(2 v)-zCDP.
    Accuracy: `Accuracy.error`: the last gap, plus what its noise, the choice and rounding
    may hide; or the noise of the measured values, times a union bound. Mirror descent needs at most
    B(alpha) corrections by queries that are off by alpha (`learn.rules`), fewer for p near
    1 than for p = 2 as soon as r ln(mn) is well below the smaller side and queries are spread; with
    one rating of sensitivity Delta that takes large matrices.

    Source: JT12 section 4.2; DR14 Alg. 8 in place of JT12's online test; Hardt, Ligett, McSherry
    2012 (all rounds are used, the last one tests). Corrected: the potential's ball is dropped, as
    its radius would be private.

    Examples:
        >>> stars = [3.0, 5.0]
        >>> ratings = gc.BipartiteGraph([0, 1], [1, 0], stars, left=2, right=2, max_weight=5.0)
        >>> sums = [gc.Query.rank_one([1, 1], [1, 0])]
        >>> sensing = gc.Sensing()
        >>> made = gc.release_iteratively(
        ...     ratings, sums, epsilon=2.0, delta=1e-6, construction=sensing
        ... )
        >>> made.guarantee.epsilon
        2.0
    """

    rounds: int | None = option(
        None,
        help="Number of queries that sensing chooses; all or 10 if omitted.",
        least=1,
        most=10_000,
    )
    p: float | None = option(
        None, help="Exponent of the Schatten norm of sensing: 2 (Frobenius) or near 1."
    )
    expected_ratings: float | None = option(
        None, help="A public guess of the number of ratings, only for a warning.", above=0.0
    )
    files: ClassVar[str] = TABLE

    def job(self, task: Task) -> Job[IterativeRelease]:
        """All choices and measurements.

        Args:
            task: what is asked for.
        """
        ratings = task.graph
        if not isinstance(ratings, BipartiteGraph):
            raise GraphError("ratings are a BipartiteGraph: users on the left, items on the right")
        task.privacy_unit.per_change(task.epsilon)
        rho = (
            Fraction(zcdp_rho(epsilon=task.epsilon, delta=task.delta))
            / task.privacy_unit.group_size**2
        )
        space = ratings.space
        queries = _read_once(task.public_queries("sensing"), space)
        steps = Steps(task.universe, queries, task.grid.cap or 1.0)
        plan = SensingPlan.of(steps, rho, self.rounds, task.beta)
        _Learner(steps, self.p)  # refuses here, before anything is spent

        def measure(
            graph: Any, source: EntropySource, progress: Progress
        ) -> tuple[list[Measured], DenseHypothesis]:
            learner = _Learner(steps, self.p)  # of each run its own: none knows what another saw
            made = plan.run(learner, steps.count(graph), source, progress)
            return made, learner.hypothesis

        def release(
            drawn: tuple[list[Measured], DenseHypothesis], guarantee: PrivacyGuarantee
        ) -> IterativeRelease:
            measured, learnt = drawn
            every = plan.measures_all
            return IterativeRelease(
                universe=task.universe,
                guarantee=guarantee,
                accuracy=Accuracy(
                    error=plan.guaranteed + (0.0 if every else _gap(measured[-1])),
                    confidence=task.confidence,
                    queries="measured" if every else "listed",
                    deviation=plan.deviation,
                ),
                settings=Settings(
                    construction="sensing",
                    distinguisher="every query" if every else "exponential",
                    rounds=plan.rounds,
                    used=plan.rounds,
                ),
                hypothesis=learnt,
                transcript=tuple(measured),
                cap=steps.cap,
                listed=Digests.of(steps.queries, task.universe),
            )

        return task.job(
            kind="sensing",
            parameters={"rounds": plan.rounds},
            plan=BudgetPlan.of_one("rounds", "discrete Gaussian", plan.cost(task.delta)),
            public="the queries" + (", the cap" if ratings.weighted else ""),
            measure=measure,
            release=release,
            warning=plan.warning(self.expected_ratings),
        )


@final
@dataclass(frozen=True, kw_only=True)
class SensingPlan:
    """What is bought of a private matrix. All of it is public.

    Attributes:
        steps: how answers are counted.
        draws: rate of the choice and noise of the measurement of each round, the last one the test;
            where all queries are measured their noise, and rate 0.
        measures_all: whether every query of the list is measured, and none is chosen.
        beta: probability that the guarantee about answers fails.
    """

    steps: Steps
    draws: tuple[tuple[Fraction, ValueNoise], ...]
    measures_all: bool = False
    beta: float

    @classmethod
    def of(cls, steps: Steps, rho: Fraction, rounds: int | None, beta: float) -> "SensingPlan":
        """The plan that a budget pays for; of least guaranteed error where `rounds` is None."""
        if rounds is None:
            chosen, noise = cls.of(steps, rho, _ROUNDS, beta), steps.noise_for_all(rho)
            if noise is None:
                return chosen
            draws = ((Fraction(0), noise),)
            every = cls(steps=steps, draws=draws, measures_all=True, beta=beta)
            return every if every.guaranteed <= chosen.guaranteed else chosen
        learning = rho * (1 - FOR_TEST) if rounds > 1 else Fraction(0)
        test = steps.noise(rho - learning, 1)
        before = [steps.noise(learning, rounds - 1)] * (rounds - 1) if rounds > 1 else []
        return cls(steps=steps, draws=(*before, test), beta=beta)

    @property
    def rounds(self) -> int:
        """How many queries are chosen; 0 if all are measured."""
        return 0 if self.measures_all else len(self.draws)

    def cost(self, delta: float) -> Cost:
        """Of all choices and measurements."""
        Delta, rho = self.steps.sensitivity, Fraction(0)
        squared = self.steps.square if self.measures_all else Delta**2
        for rate, noise in self.draws:
            rho += (2 * Delta * rate) ** 2 / 8 + Fraction(squared) / (2 * noise.parameter)
        return Cost.of_rho(rounded_up(rho), delta=delta)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on a measurement, at most."""
        return self.steps.unit * math.sqrt(max(noise.parameter for _, noise in self.draws))

    @property
    def guaranteed(self) -> float:
        """Where all queries are measured the error of each; else what is added to the last gap."""
        (rate, noise), queries = self.draws[-1], len(self.steps.queries)
        if not self.measures_all:
            return self.steps.slack(rate, noise, self.beta, queries=queries)
        return self.steps.radius(noise, self.beta / queries)

    def warning(self, expected_ratings: float | None) -> str | None:
        """Return a sentence if no better error is guaranteed than without data, or None."""
        extents = [Extent.of(query, self.steps.universe.space) for query in self.steps.queries]
        cap = self.steps.cap
        error, how = (
            max(cap * each.absolute_sum / 2 for each in extents),
            "the middle of what it can be",
        )
        if expected_ratings is not None:
            largest = max(each.largest for each in extents)
            nothing = min(
                cap * largest * float(expected_ratings),
                max(cap * max(each.negative, each.positive) for each in extents),
            )
            if nothing < error:
                error, how = nothing, "0"
        if self.guaranteed < error:
            return None
        return (
            "worthless at this size: the guaranteed error is"
            f" {up_to_digits(self.guaranteed, 4):,.4g}, but that of answering each query by {how}"
            f" is at most {error:,.4g}; use more epsilon, larger groups, or fewer queries"
        )

    def run(
        self, learner: "_Learner", truth: IntVector, source: EntropySource, progress: Progress
    ) -> list[Measured]:
        """Draw all noise, and learn."""
        steps, made = self.steps, list[Measured]()
        if self.measures_all:
            noise = self.draws[0][1]
            for place, count in enumerate(truth.tolist()):
                value = steps.unit * (count + noise.draw(source))
                made.append(Measured(round=1, query=place, value=value, updated=True))
            passes = 1 + (_PASSES if len(made) <= _FEW else 0)
            learner.learn(made * passes, self.deviation, progress)
            return made
        for number, (rate, noise) in enumerate(self.draws, 1):
            estimates = learner.estimates()
            gaps = truth - steps.whole(estimates)
            place = exponential_choice(np.concatenate([gaps, -gaps]), rate, source) % len(truth)
            value = steps.unit * (int(truth[place]) + noise.draw(source))
            learns, estimate = number < self.rounds, float(estimates[place])
            made.append(
                Measured(round=number, query=place, value=value, updated=learns, estimate=estimate)
            )
            if learns:
                deviation = steps.unit * math.sqrt(noise.parameter)
                learner.learn([made[-1], *made * _PASSES], deviation)
            progress(number / self.rounds, f"round {number}: off by about {_gap(made[-1]):.3g}")
        return made


def _gap(measurement: Measured) -> float:
    return abs(measurement.value - measurement.estimate)


@final
class _Learner:
    """The hypothesis and its corrections: everything here is public."""

    def __init__(self, steps: Steps, p: float | None) -> None:
        universe = steps.universe
        self._blocks = QueryBlocks.of(steps.queries, universe)
        exponent = near_one(universe.size) if p is None else p
        # The same norm for p = 2, without singular values.
        self._psi: Potential = LpNorm(2.0) if exponent == 2 else SchattenNorm(exponent)
        # The Frobenius norm bounds the dual norm; only a check rests on it.
        self._zeta = math.sqrt(max(universe.norm_squared(query) for query in steps.queries))
        self._start = self._learnt = minimal_start(self._blocks.universe, self._psi)

    @property
    def hypothesis(self) -> DenseHypothesis:
        """What was learnt, on all pairs."""
        return self._blocks.expand(self._learnt)

    def estimates(self) -> FloatVector:
        """What it answers to each query of the list."""
        return self._learnt.estimate_all(self._blocks.queries)

    def learn(
        self, order: Sequence[Measured], deviation: float, progress: Progress = silent
    ) -> None:
        """Step 3: each measurement corrects in turn."""
        for place, made in enumerate(order):
            self._correct(made, deviation)
            progress((place + 1) / len(order), "learning")

    def _correct(self, made: Measured, deviation: float) -> None:
        query = self._blocks.queries[made.query]
        gap = made.value - self._learnt.estimate(query)
        # A step longer than the true gap could lead away from the truth.
        length = abs(gap) - deviation
        if length > deviation / 100:
            rule = MirrorDescentRule(
                start=self._start,
                psi=self._psi,
                alpha=length,
                zeta=self._zeta,
                start_potential=0.0,
            )
            sign: Sign = 1 if gap > 0 else -1
            self._learnt = rule.update(self._learnt, query, sign)
