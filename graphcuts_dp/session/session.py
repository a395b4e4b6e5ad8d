"""Sessions: queries about a private graph are answered one by one, on a durable ledger."""

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast, final

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.display import MOST_PICTURED, Card, Displayed, size_text
from graphcuts_dp.errors import (
    AccuracyWarning,
    ExhaustedError,
    LedgerError,
    ParameterError,
    QueryError,
)
from graphcuts_dp.files import PathLike
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.adjacency import AnyGraph, read_graph
from graphcuts_dp.graph.private_data import PrivateSource, private_data
from graphcuts_dp.graph.rows import PrivateData, bounded_graph, without_rows
from graphcuts_dp.learn.learners import Learner
from graphcuts_dp.learn.own_learner import OwnLearner
from graphcuts_dp.learn.parameters import SessionParameters
from graphcuts_dp.learn.workload import SessionWorkload
from graphcuts_dp.ledger.opening import Store, reading_of, size_of
from graphcuts_dp.ledger.uses import SESSION, Use
from graphcuts_dp.measure.cells import sides_of_groups
from graphcuts_dp.options import chosen
from graphcuts_dp.privacy.entropy import Seed, SeededEntropy, as_seed
from graphcuts_dp.privacy.guarantee import guarantee_text, warn_of_delta
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.graph_queries import GraphQuery, Question
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.queries.linear import CutQuery, Subset, is_query, sides_of
from graphcuts_dp.queries.mixed_cuts import with_sides
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.resources import Progress, progress_function, silent
from graphcuts_dp.schema.groups import Groups, Sides
from graphcuts_dp.schema.vertices import VertexSet
from graphcuts_dp.session.base import Answer, CutMechanism
from graphcuts_dp.session.methods import Auto, ByRule, Method
from graphcuts_dp.session.online import OnlineMechanism, OnlineState
from graphcuts_dp.session.queries import EncodedQuery, encode_query
from graphcuts_dp.session.runner import Phases, Runner, answer_together
from graphcuts_dp.session.store_sessions import (
    NewSession,
    OpenStore,
    Remaining,
    StoreSession,
    begin_or_resume,
    check_same_terms,
)
from graphcuts_dp.session.terms import METHOD_NAMES, SessionTerms
from graphcuts_dp.session.transcript import History, export_ledger

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True)
class Preview:
    """The number of guaranteed answers that a request would use, before it is made.

    Attributes:
        queries: number of distinct queries.
        free: number of these that are on the record, or have no pairs.
        new: number of these that the mechanism would answer.
        left: guaranteed answers that are left; None if there is no limit.
    """

    queries: int
    free: int
    new: int
    left: int | None

    @property
    def allowed(self) -> bool:
        """True if enough answers are left for the request."""
        return self.left is None or self.new <= self.left


@final
class Session(StoreSession[CutMechanism[Any]], Displayed):
    """A session that answers queries about one private graph; made by `open_session`.

    Several sessions, threads and processes may use one store: their steps follow one another. The
    guarantee of all answers together is `guarantee`; it was charged when the session began. A query
    that was answered before is answered from the record, free, in whatever form it is written. The
    answer to a cut without pairs is 0; it costs nothing, and is not recorded.
    Use a session as a context manager, or call `close`.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> import pathlib, tempfile
        >>> store = pathlib.Path(tempfile.mkdtemp()) / "club.db"
        >>> with gc.open_session(club, store=store, epsilon=1.0, queries=10) as session:
        ...     answer = session.ask([0, 1], [2, 3])
        >>> low, high = answer.interval
        >>> low <= answer.value <= high, answer.queries_left
        (True, 9)
    """

    def __init__(
        self, terms: Use, runner: Runner[CutMechanism[Any]], names: GroupNames | None = None
    ) -> None:
        super().__init__(terms, runner)
        self._names = names

    def _picture(self) -> "Figure | None":
        try:
            return self.plot() if 0 < len(self.history) <= MOST_PICTURED else None
        except LedgerError:  # for example, the store was closed
            return None

    def _card(self) -> Card:
        facts: list[tuple[str, object]] = [
            ("method", self._terms.parameters["method"]),
            ("vertices", size_text(self.universe.shape)),
        ]
        try:
            status = self.status
        except LedgerError as problem:  # for example, the store was closed
            facts.append(("store", problem))
        else:
            left = status.remaining.queries
            facts += [
                ("answers", f"{status.answers:,}, {status.corrections:,} of them corrected"),
                ("queries left", "no limit" if left is None else f"{left:,}"),
            ]
        return Card(
            title=f"Session {self.name!r}",
            facts=(*facts, *self.guarantee.facts),
            warning=self.guarantee.warning,
        )

    @property
    def error_bound(self) -> float:
        """The largest half width of an interval of a cut in this session, in weight.

        With probability 1 - beta no guaranteed answer has a larger error; see
        `CutMechanism.error_bound`. Infinite if no bound holds for the parameters that were set
        (`void_reason`).
        Another linear query with largest coefficient c has an error below c times this, plus one
        edge: its noise is on a finer grid, and is not rounded down.

        Raises:
            BudgetError: the session was interrupted while it started.
            LedgerError: the store cannot be used.
        """
        with self._ledger.locked():
            return self._runner.mechanism.error_bound(self._runner.current_state())

    @property
    def void_reason(self) -> str | None:
        """The reason why no bound on errors holds for the parameters that were set, or None.

        Then `error_bound` is infinite: the session may end before all its queries are answered.
        The interval of each answer holds in any case.

        Raises:
            BudgetError: as for `error_bound`.
            LedgerError: as for `error_bound`.
        """
        with self._ledger.locked():
            return self._runner.mechanism.void_reason(self._runner.current_state())

    @property
    def learning_parameters(self) -> SessionParameters | None:
        """All parameters of a method that learns, set or computed; None for other methods.

        Raises:
            BudgetError: as for `error_bound`.
            LedgerError: as for `error_bound`.
        """
        mechanism = self._runner.mechanism
        if not isinstance(mechanism, OnlineMechanism):
            return None
        with self._ledger.locked():
            return mechanism.chosen_parameters(cast(OnlineState, self._runner.current_state()))

    @property
    def norm(self) -> str | None:
        """The norm of mirror descent, with its exponent; None for other methods.

        Raises:
            BudgetError: the session was interrupted while it started.
            LedgerError: the store cannot be used.
        """
        mechanism = self._runner.mechanism
        if not isinstance(mechanism, OnlineMechanism):
            return None
        with self._ledger.locked():
            return mechanism.norm_of(cast(OnlineState, self._runner.current_state()))

    @property
    def hypothesis(self) -> FloatMatrix:
        """The current hypothesis of a construction: a noisy weight for each pair; public.

        Raises:
            ExhaustedError: the method has none.
            ParameterError: more vertices than a matrix of all pairs can have.
            BudgetError: as for `error_bound`.
            LedgerError: as for `error_bound`.
        """
        mechanism = self._runner.mechanism
        if not isinstance(mechanism, OnlineMechanism):
            raise ExhaustedError("this method has no hypothesis: it answers each query by itself")
        with self._ledger.locked():
            return mechanism.weights(cast(OnlineState, self._runner.current_state()))

    @property
    def vertices(self) -> tuple[VertexSet, VertexSet]:
        """The public vertex sets of S and of T; the same one unless the graph is bipartite."""
        return sides_of(self.universe.space)

    @property
    def universe(self) -> Universe:
        """All public vertex pairs."""
        return self._runner.mechanism.universe

    @property
    def groups(self) -> GroupNames | None:
        """The public groups that queries may name; None if the session was opened without any."""
        return self._names

    def ask(
        self,
        S: Subset | str | Question,
        T: Subset | str | None = None,
        *,
        unguaranteed: bool = False,
    ) -> Answer:
        """Answer a cut, the weight of the edges between S and T, or any other query.

        Each edge counts once. The answer is on the disk before it is returned.

        Args:
            S: vertex labels, or a truth vector (left vertices of a bipartite graph), or "*" for all
                of them; in a session that was opened with groups also names such as "@Sales", see
                `GroupNames`. Labels of a bipartite graph may be of both sides, see `MixedCut`. Or
                a whole query: a `CutQuery`, a `RankOneQuery`, a `MatrixQuery`, one of your own, or
                a `GraphQuery`.
            T: as S (right vertices), but no whole query. None: all vertices outside S (all right
                vertices).
            unguaranteed: if the session has run out, False refuses, and True answers by the current
                hypothesis, marked as without guarantee.

        Raises:
            QueryError: unknown vertices, or a query that the method does not answer.
            ExhaustedError: the session has run out.
            BudgetError: the session was interrupted while it started.
            LedgerError: the store is busy, or its disk is full or fails.
        """
        if is_query(S):
            if T is not None:
                raise QueryError("give either a whole query or two sets, not both")
            query: Question = cast(Question, S)
        else:
            cut = CutQuery if self._names is None else self._names.query
            query = cut(cast(Subset, S), T)
        ((answer,),) = self._answers(self._encoded([query]), unguaranteed=unguaranteed)
        return answer

    def ask_all(
        self,
        queries: Iterable[Question],
        *,
        unguaranteed: bool = False,
        progress: Progress | bool = silent,
    ) -> list[Answer]:
        """Answer many queries; much faster than one by one.

        They are reserved and recorded in chunks of 64. After an interruption, ask again: answers on
        the record are free.

        Args:
            queries: cut, rank-one and matrix queries, linear queries of your own, or statistics of
                the whole graph (`GraphQuery`), in the order in which they are to be answered.
                Methods "gaussian" and "laplace" answer all of them, with noise for the largest
                coefficient or the sensitivity of the statistic, "mirror-descent" with `linear` all
                linear queries, "binary" cuts and rank-one queries, "median" cuts and statistics,
                other methods cuts.
            unguaranteed: as for `ask`.
            progress: True shows a bar; a function is called with the fraction of the queries (0 if
                their number is not known) and a message.

        Raises:
            QueryError: as for `ask`; earlier answers are on the record.
            ExhaustedError: as for `ask`; earlier answers are on the record.
            BudgetError: as for `ask`.
            LedgerError: as for `ask`.
        """
        total = len(queries) if isinstance(queries, Sequence) else 0
        report = progress_function(progress)
        answers: list[Answer] = []
        for chunk in self._answers(self._encoded(queries), unguaranteed=unguaranteed):
            answers += chunk
            report(len(answers) / total if total else 0.0, f"{len(answers):,} answers")
        return answers

    def _phases(self, queries: Iterable[Question], *, unguaranteed: bool) -> Phases:
        """Answer queries in phases, see `Runner.phases`."""
        encoded = list(self._encoded(queries))
        return (yield from self._runner.phases(encoded, unguaranteed=unguaranteed))

    def _encoded(self, queries: Iterable[Question]) -> Iterator[EncodedQuery]:
        """Yield queries in the form of the ledger, with the names of groups replaced.

        Raises:
            QueryError: a query that does not fit, or something that is no list of queries.
        """
        if not isinstance(queries, Iterable):
            raise QueryError(f"queries are a list of queries, not {queries!r:.60}")
        for query in queries:
            if isinstance(query, GraphQuery):
                yield encode_query(query, self.universe)
                continue
            if self._names is not None and isinstance(query, CutQuery):
                query = self._names.named(query)
            yield encode_query(with_sides(query, self.universe.space), self.universe)

    def cost(self, queries: Iterable[Question]) -> Preview:
        """Return how many guaranteed answers `ask_all` would use. Nothing is asked.

        Args:
            queries: as for `ask_all`.

        Raises:
            QueryError: unknown vertices.
        """
        pairs_of = {query.digest: query.pairs for query in self._encoded(queries)}
        with self._ledger.locked():
            on_record = self._ledger.answers(self._terms.number).keys()
            new = sum(pairs > 0 for digest, pairs in pairs_of.items() if digest not in on_record)
        return Preview(len(pairs_of), len(pairs_of) - new, new, self.remaining.queries)

    @property
    def remaining(self) -> Remaining:
        """The amounts that are left, as of the latest answer."""
        return self.status.remaining

    @property
    def history(self) -> History:
        """All answers so far, oldest first, of all processes."""
        with self._ledger.locked():
            shown = tuple(self._runner.totals.shown)
        return History(self._ledger, shown, self.universe)

    def plot(self, *, title: str | None = None) -> "Figure":
        """Draw all answers so far with their intervals, in order; corrections are marked.

        Args:
            title: above the picture, before the guarantee.

        Returns:
            A figure of matplotlib.

        Raises:
            QueryError: there are no answers yet.
            LedgerError: the store cannot be used.
        """
        # matplotlib is slow to import
        from graphcuts_dp.plotting.answer_lists import session_answers_figure

        answers = [entry.answer for entry in self.history]
        points = [(answer.value, *answer.interval, answer.updated) for answer in answers]
        if not points:
            raise QueryError("there are no answers to draw yet")
        text = f"{title or f'Session {self.name}'} ({guarantee_text(self.guarantee)})"
        unit = f"{self.guarantee.counted} between S and T"
        return session_answers_figure(points, title=text, unit=unit)

    def export(self) -> dict[str, Any]:
        """Return the transcript and its guarantee, as plain values. Nothing in it is secret."""
        header, *answers = export_ledger(self._ledger, self.name)
        return {**header, "answers": answers}


def ask_together(
    requests: Sequence[tuple[Session, Sequence[Question], bool]],
) -> list[list[Answer] | Exception]:
    """Answer queries of several sessions that share an open ledger, see `answer_together`.

    Args:
        requests: of each session, which are different: the session, at most `Session.chunk`
            queries, and whether to answer without guarantee once it has run out, as for `ask`.

    Returns:
        The answers of each session, or the exception that `ask_all` would raise.
    """
    ledger = requests[0][0]._ledger
    return answer_together(
        ledger,
        [
            session._phases(queries, unguaranteed=unguaranteed)
            for session, queries, unguaranteed in requests
        ],
    )


@refuses_former_options()
def open_session(
    graph: PrivateSource | PathLike,
    *,
    store: PathLike | Store | None = None,
    name: str = "default",
    epsilon: float | None = None,
    delta: float | None = None,
    queries: int | SessionWorkload | None = None,
    method: str | Method | Learner = "auto",
    privacy_unit: str | PrivacyUnit | None = None,
    groups: Groups | tuple[Groups, Groups] | None = None,
    seed: Seed | None = None,
) -> Session:
    """Begin a session on a private graph, or resume one.

    The store is a file that records everything that was spent on this graph: all uses of the graph
    belong into one store. It is created if it does not exist. A session of this name that is on it
    is resumed; its terms may then be left out, and must not differ.

    Args:
        graph: the private graph, a file for `read_graph`, rows with users, or a graph of networkx
            or igraph, a matrix, or a table, see `private_data`.
        store: path of the store, for example "mail.db", or a `Store`, which has options such as the
            budget of a new store. It holds secrets: only its owner may read it. None for a new
            session that ends with the process: its cost is not added to other uses of the graph.
        name: of the session; analysts choose one for each of their sessions.
        epsilon: privacy of the whole session, in [1e-6, 50].
        delta: in [0, 1), for example 1e-6; 0 if omitted.
        queries: number of guaranteed answers; or a `SessionWorkload`, which has options such as
            other linear queries than cuts.
        method: "auto" (least guaranteed error), a name of `session.terms.METHODS`, perhaps with
            options, as in "mirror-descent:norm=l2", or an object, `MirrorDescent(norm="l2")`; or a
            learner of your own: an object as `learn.learners.Learner` describes it, with a
            `version`. The store records its name and version; pass it again to resume the session.
        privacy_unit: the difference between neighbouring data: "edge" if omitted, or a
            `PrivacyUnit`, such as `PrivacyUnit.user(max_contributions=50)`. For a vertex, answers
            are bounded cuts, see `graph.grid.doubled_sums`: equal to the true cut if no vertex has
            more weight across it than the degree bound, and never above it. Intervals are for
            bounded cuts.
        groups: public groups that queries may name, as `ask("@Sales", "@IT")`, and that a session
            may start from; of a bipartite graph a pair, left and right. They are not stored: pass
            them again to resume the session.
        seed: makes the noise repeatable: an integer, or a SeedSequence or Generator of numpy. NOT
            PRIVATE: for tests only.

    Returns:
        An open session.

    Raises:
        ParameterError: a parameter is missing, out of range, or not that of the session.
        BudgetError: the budget does not allow the session. Nothing was spent.
        LedgerError: the store is damaged, about another graph or of another version, readable by
            others, or busy.
        FileFormatError: the graph cannot be read.
        GraphError: groups of other vertices.

    Warns:
        PrivacyWarning: without a store, the second time that the same data are used.
        AccuracyWarning: before anything is spent, if the guaranteed answers are no better than
            half of the largest possible value of each cut.

    Examples:
        >>> import tempfile, pathlib
        >>> store = pathlib.Path(tempfile.mkdtemp()) / "club.db"
        >>> club = gc.datasets.load("karate")
        >>> with gc.open_session(club, store=store, epsilon=1.0, queries=10) as session:
        ...     first, again = session.ask([0, 1]), session.ask([0, 1])
        ...     print(first.value == again.value, session.remaining.queries)
        True 9
        >>> with gc.open_session(club, epsilon=1.0, queries=10) as session:  # without a file
        ...     session.remaining.queries
        10
    """
    terms = named_terms(epsilon, delta, queries, method)
    own_learner = terms.pop("rule", None)  # an object, no plain value
    if privacy_unit is not None:
        terms["privacy_unit"] = privacy_unit
    return session_of(
        graph,
        store=store,
        name=name,
        groups=groups,
        seed=seed,
        own_learner=own_learner,
        stacklevel=7,
        **terms,
    )


def named_terms(
    epsilon: float | None,
    delta: float | None,
    queries: int | SessionWorkload | None,
    method: str | Method | Learner,
) -> dict[str, Any]:
    """Return the terms of a session as plain values by name; "rule" is the user's own learner.

    Raises:
        ParameterError: a user's own learner without a name and version.
    """
    terms: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "queries": queries}
    if isinstance(queries, SessionWorkload):
        terms |= vars(queries)
    if isinstance(method, str) and ":" not in method:
        return terms | {"method": method}
    if not isinstance(method, str | Method):
        method = ByRule(rule=OwnLearner.of(method))
    method_options = chosen(method, METHOD_NAMES, "method")
    return terms | {**vars(method_options), "method": method_options.name}


def session_of(
    graph: PrivateSource | PathLike,
    *,
    store: PathLike | Store | OpenStore | None,
    name: str = "default",
    groups: Groups | tuple[Groups, Groups] | None = None,
    seed: Seed | None = None,
    source: dict[str, Any] | None = None,
    own_learner: OwnLearner | None = None,
    stacklevel: int = 5,
    **terms: Any,
) -> Session:
    """Begin or resume a session from plain values by name; the command line and the server use it.

    Args:
        graph: as for `open_session`.
        store: as for `open_session`, or an open store, whose ledger other sessions share.
        name: as for `open_session`.
        groups: as for `open_session`.
        seed: as for `open_session`.
        source: how the graph was read, recorded for the command line.
        own_learner: the user's own learner, if `method` names it.
        stacklevel: of warnings, as for `warnings.warn` from three calls below this function.
        terms: see `SessionTerms.of`; None for those that are not requested.

    Raises:
        GraphCutsError: as `open_session`.
    """
    if isinstance(graph, str | os.PathLike):
        source = source or {"path": os.path.realpath(graph)}
        data: PrivateData = read_graph(graph)
    else:
        data = private_data(graph, stacklevel=stacklevel - 2)
    seed_number = as_seed(seed)
    if terms.get("privacy_unit") is not None:
        terms["privacy_unit"] = PrivacyUnit.of(terms["privacy_unit"]).typed
    sides = None if groups is None else sides_of_groups(data, groups)
    names = None if sides is None else GroupNames(*sides)
    use, runner = begin_or_resume(
        store,
        data,
        terms,
        seed=seed_number,
        stacklevel=stacklevel - 3,
        kind=SESSION,
        name=name,
        prepare=lambda requested: _new_session(
            data, requested, seed_number, own_learner, sides, stacklevel + 2
        ),
        resume=lambda use, requested: _resumed_session(use, data, requested, own_learner),
        source=source,
        reading=reading_of(data),
    )
    runner.shares_ledger = isinstance(store, OpenStore)
    return Session(use, runner, names)


def _new_session(
    private: PrivateData,
    requested: dict[str, Any],
    seed: int | None,
    own_learner: OwnLearner | None,
    groups: Sides | None,
    stacklevel: int,
) -> NewSession:
    """Return a new session, before anything is spent; its start was tried on a graph without edges.

    Raises:
        GraphCutsError: as `open_session`.
    """
    terms = SessionTerms.of(own_learner=own_learner, **requested)
    graph = bounded_graph(private, terms.privacy_unit)
    universe, grid = Universe.of(graph), terms.grid(graph)
    terms = terms.resolved(universe, grid)
    mechanism = terms.mechanism(universe, grid)
    if isinstance(mechanism, OnlineMechanism):
        mechanism = replace(mechanism, groups=groups)
    guarantee = terms.guarantee(mechanism, seed)
    if mechanism.needs_truth:
        # A mechanism that cannot start must fail before it is charged.
        empty = bounded_graph(without_rows(private), terms.privacy_unit)
        mechanism.start(empty, SeededEntropy(0))
    count, counted = size_of(private)
    warn_of_delta(mechanism.cost.delta, count=count, of=counted, stacklevel=stacklevel)
    warning = terms.warning(universe, grid)
    if warning is not None:
        warnings.warn(warning, AccuracyWarning, stacklevel=stacklevel)
    return NewSession(
        mechanism=mechanism, data=graph, parameters=terms.to_dict(), guarantee=guarantee
    )


def _resumed_session(
    use: Use,
    private: PrivateData,
    requested: dict[str, Any],
    own_learner: OwnLearner | None,
) -> tuple[CutMechanism[Any], AnyGraph]:
    """Return the mechanism of a session on the store, and the graph for it.

    Raises:
        ParameterError: requested terms that differ from those of the session, or data that were
            read in another way.
    """
    # Expected edges are not stored, and "auto" was replaced when the session began.
    requested = {key: value for key, value in requested.items() if key != "expected_edges"}
    if requested.get("method") == Auto.name:
        del requested["method"]
    check_same_terms(use, {**vars(Auto()), **use.parameters}, requested)
    reading = reading_of(private)
    for key in use.reading | reading:
        if use.reading.get(key) != reading.get(key):
            raise ParameterError(
                f"session {use.name!r} was begun on data read with {key}="
                f"{use.reading.get(key)!r}; read them so, or choose another name"
            )
    terms = SessionTerms.of(own_learner=own_learner, **use.parameters)
    graph = bounded_graph(private, terms.privacy_unit)
    return terms.mechanism(Universe.of(graph), terms.grid(graph)), graph
