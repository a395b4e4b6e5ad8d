"""Sessions of distances: one vertex of a public map after the other, on a durable ledger."""

import hashlib
import json
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, final

import numpy as np

from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.distances.answers import (
    DistanceAnswer,
    check_terms,
    guarantee_of_people,
    learner_for,
)
from graphcuts_dp.distances.coordinate import (
    CoordinateState,
    Profile,
    lose_step,
    start_coordinate,
    step_coordinate,
)
from graphcuts_dp.distances.learner import L1Learner, are_guaranteed
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.errors import (
    AccuracyWarning,
    ExhaustedError,
    FileFormatError,
    LedgerError,
    ParameterError,
)
from graphcuts_dp.files import PathLike
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.plain_values import APART, check_intact, plain
from graphcuts_dp.ledger.uses import DISTANCE_SESSION, Use
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource, Seed, as_seed
from graphcuts_dp.privacy.guarantee import warn_of_delta
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.schema.vertices import Label
from graphcuts_dp.session.base import NO_ANSWERS_LEFT, Answer, SessionMechanism, Update
from graphcuts_dp.session.queries import EncodedQuery
from graphcuts_dp.session.runner import Runner
from graphcuts_dp.session.store_sessions import (
    NewSession,
    StoreSession,
    begin_or_resume,
    check_same_terms,
)

_CALLER_LEVEL = 8  # frames from `_new_session` to the caller of `open_distance_session`
# The names by which stores know fields of `CoordinateTuning` that were renamed since.
_STORED_NAMES = {"total_cost": "spent"}


@final
@dataclass(frozen=True)
class InteractiveState:
    """State of the mechanism. Immutable; its repr shows no secret.

    Attributes:
        profiles: sums of distances on each coordinate. Private.
        coordinates: the state of each coordinate.
        limit: number of guaranteed answers.
        queries: number of answers so far, lost ones included.
    """

    profiles: tuple[Profile, ...] = field(repr=False, metadata=APART)
    coordinates: tuple[CoordinateState, ...] = field(repr=False)
    limit: int
    queries: int = 0

    @property
    def stopped(self) -> bool:
        """See `session.base.State`."""
        return self.queries >= self.limit or not are_guaranteed(self.coordinates)


@final
@dataclass(frozen=True)
class InteractiveDistances(SessionMechanism[int, InteractiveState]):
    """Answers distance queries about private locations, one by one; queries are rows of the map.

    A step tests each coordinate at the vertex's position, measures a tangent where a test fires,
    and answers by the middle of an interval, computed from all tangents. A step's state is used
    once: steps from the same state would draw new noise against the same running tests.

    Guarantee: `learner.cost`, for moving any one person, for all answers together, also when
    queries are chosen after earlier answers. Coordinates are mechanisms on the same people and add
    up, interleaved with the analyst's choices (Lyu 2022); each spends at most its share, a hard cap
    that does not rest on the mistake bound. With probability 1 - beta all guaranteed intervals
    hold, and no coordinate runs out of tangents.

    Attributes:
        learner: the learner, with `queries` set.
        unit_cost: cost of all answers for the privacy unit; None if that is one person.
        seed: of the noise, or None.

    Source: HR12, Theorem 1; deviations in `L1Learner` and `tune_coordinate`.
    """

    learner: L1Learner
    unit_cost: Cost | None = None
    seed: int | None = None

    name = "distances"
    version = 2
    state = InteractiveState

    @cached_property
    def parameters(self) -> Any:
        """See `SessionMechanism.parameters`: all that noise and intervals depend on."""
        embedding = self.learner.embedding
        points = hashlib.sha256(embedding.points.astype("<i8").tobytes()).hexdigest()
        bounds = (
            embedding.unit,
            embedding.reach,
            embedding.diameter,
            embedding.expansion,
            embedding.contraction,
            embedding.rounding,
        )
        tunings = [
            {_STORED_NAMES.get(name, name): value for name, value in plain(tuning).items()}
            for tuning in self.learner.tunings
        ]
        return [tunings, plain(bounds), points]

    @property
    def cost(self) -> Cost:
        """See `SessionMechanism.cost`."""
        return self.unit_cost or self.learner.cost

    def start(self, data: Locations, source: EntropySource) -> InteractiveState:
        """See `SessionMechanism.start`.

        Raises:
            ParameterError: locations that the learner was not made for.
        """
        profiles = self.learner.profiles(data)
        states = tuple(start_coordinate(tuning, source) for tuning in self.learner.tunings)
        return InteractiveState(profiles, states, self.learner.queries or 0)

    def check(self, state: InteractiveState, query: int) -> None:
        """See `SessionMechanism.check`.

        Raises:
            ExhaustedError: all guaranteed answers were given.
            QueryError: a row that may not be asked about.
        """
        self.learner.embedding.check(query)
        if state.queries >= state.limit:
            raise ExhaustedError(NO_ANSWERS_LEFT)

    def step(
        self, state: InteractiveState, query: int, _truth: int | None, source: EntropySource
    ) -> tuple[InteractiveState, Answer]:
        """See `SessionMechanism.step`; the state has the private profiles, and needs no truth."""
        self.check(state, query)
        point = self.learner.embedding.points[query].tolist()
        coordinates = tuple(
            step_coordinate(tuning, coordinate, profile, position, source)
            for tuning, coordinate, profile, position in zip(
                self.learner.tunings, state.coordinates, state.profiles, point, strict=True
            )
        )
        changes = zip(state.coordinates, coordinates, strict=True)
        is_updated = any(after.updates > before.updates for before, after in changes)
        state = replace(state, coordinates=coordinates, queries=state.queries + 1)
        answer = self._answer(state, query, tested=are_guaranteed(coordinates), seed=source.seed)
        left = 0 if state.stopped else state.limit - state.queries
        return state, replace(answer, updates=(Update(1),) if is_updated else (), queries_left=left)

    def _answer(
        self, state: InteractiveState, query: int, *, tested: bool, seed: int | None
    ) -> Answer:
        """Return the answer from the tangents of a state; `step` adds how many answers are left.

        Args:
            state: the state after the step.
            query: row of the vertex.
            tested: whether the answer is guaranteed: all coordinates were tested at the vertex.
            seed: of the noise, or None.
        """
        row = np.array([query])
        low, high = self.learner.ranges(state.coordinates, row, tested=tested)
        value = (low + high) / 2 if tested else self.learner.values(state.coordinates, row)
        return Answer(
            value=float(value[0]),
            interval=(float(low[0]), float(high[0])),
            confidence=1 - self.learner.beta,
            guaranteed=tested,
            queries_left=0,
            seeded=seed is not None,
        )

    def after_interruption(
        self, state: InteractiveState, source: EntropySource
    ) -> InteractiveState:
        """See `SessionMechanism.after_interruption`: the answer is charged, see `lose_step`."""
        coordinates = tuple(
            lose_step(tuning, coordinate, source)
            for tuning, coordinate in zip(self.learner.tunings, state.coordinates, strict=True)
        )
        return replace(state, coordinates=coordinates, queries=state.queries + 1)

    def unguaranteed(self, state: InteractiveState, query: int) -> Answer:
        """See `SessionMechanism.unguaranteed`."""
        return self._answer(state, query, tested=False, seed=self.seed)

    def restore(self, state: InteractiveState, data: Locations, *_: Any) -> InteractiveState:
        """See `SessionMechanism.restore`: the private profiles are computed from the data."""
        if len(state.coordinates) != len(self.learner.tunings):
            raise FileFormatError("the state is of another number of coordinates")
        return replace(state, profiles=self.learner.profiles(data))


@final
class DistanceSession(StoreSession[InteractiveDistances]):
    """A session that answers average distances of all people; made by `open_distance_session`.

    Several sessions, threads and processes may work on one store. `guarantee` is for all answers
    together; it was charged when the session began. A vertex that was asked before is answered from
    the record, free. Use it as a context manager, or call `close`.

    Examples:
        >>> city = gc.distances.Metric.grid(3, 4)
        >>> import pathlib, tempfile
        >>> store = pathlib.Path(tempfile.mkdtemp()) / "people.db"
        >>> with gc.distances.open_distance_session(
        ...     city, [0, 0, 5, 11], store=store, epsilon=1.0, queries=3
        ... ) as session:
        ...     answer = session.ask(0)
    """

    chunk = 16

    def __init__(self, terms: Use, runner: Runner[InteractiveDistances], metric: Metric) -> None:
        super().__init__(terms, runner)
        self.metric = metric

    @property
    def error_bound(self) -> float:
        """The largest half width of an interval that a guaranteed answer can have."""
        return self._runner.mechanism.learner.radius

    def ask(self, vertex: Label, *, unguaranteed: bool = False) -> DistanceAnswer:
        """Answer the average distance of a vertex from all people, after writing it to the disk.

        Args:
            vertex: a label of the map.
            unguaranteed: if the session has run out, False refuses, and True answers from what
                was learnt so far, marked as without guarantee.

        Raises:
            QueryError: it is not on the map.
            ExhaustedError: the session has run out.
            BudgetError: the session was interrupted while it started.
            LedgerError: the store is busy, or its disk is full or fails.
        """
        return self.ask_all([vertex], unguaranteed=unguaranteed)[0]

    def ask_all(
        self, vertices: Iterable[Label], *, unguaranteed: bool = False
    ) -> list[DistanceAnswer]:
        """Answer several, in this order. They are reserved and written in chunks of 16.

        Args:
            vertices: labels of the map.
            unguaranteed: as for `ask`.

        Raises:
            QueryError: one is not on the map; nothing was asked.
            ExhaustedError: as for `ask`; earlier answers are on the record.
            BudgetError: as for `ask`.
            LedgerError: as for `ask`.
        """
        rows = [self.metric.row(vertex) for vertex in vertices]
        chunks = self._answers(map(_encoded, rows), unguaranteed=unguaranteed)
        return list(map(self._reply, rows, chain.from_iterable(chunks)))

    def _reply(self, row: int, answer: Answer) -> DistanceAnswer:
        """Return an answer with the label of the vertex of a row."""
        return DistanceAnswer(vertex=self.metric.vertices.labels[row], **vars(answer))

    @property
    def history(self) -> list[DistanceAnswer]:
        """All answers so far, oldest first, by whichever process."""
        with self._ledger.locked(), check_intact("a query on the record is damaged"):
            answers = []
            for seq in self._runner.totals.shown:
                query = json.loads(self._ledger.content(self._ledger.record(seq)[0]))
                answers.append(
                    self._reply(query["distance_from_row"], self._runner.answer_of_record(seq))
                )
            return answers


@refuses_former_options(at_most="group_size")
def open_distance_session(
    map_graph: Any,
    locations: Any,
    *,
    store: PathLike | Store | None = None,
    name: str = "default",
    epsilon: float | None = None,
    delta: float | None = None,
    queries: int | None = None,
    group_size: int | None = None,
    confidence: float | None = None,
    seed: Seed | None = None,
) -> DistanceSession:
    """Begin a session of distances on private locations, or resume one.

    HR12's interactive mechanism. `answer_distances` answers all vertices at once for the same cost,
    and on most maps better; a session guarantees a number of answers, to vertices that may be
    chosen after earlier answers.

    The store is a file that records everything that was spent on these locations; it is created if
    it does not exist. A session of this name that is on it is resumed; its terms may then be left
    out, and must not differ.

    Guarantee: (epsilon, delta)-differential privacy for a change of one person's location (of
    `group_size` people's), for all answers of the session together. The map and the number of
    people are public.

    Args:
        map_graph: the public map, as for `answer_distances`.
        locations: private, as for `answer_distances`.
        store: path of the store, or a `Store`. It holds secrets: only its owner may read it. None
            for a new session that ends with the process.
        name: of the session.
        epsilon: privacy of the whole session, in [1e-6, 50].
        delta: in [0, 1); 0, for pure privacy, if omitted.
        queries: number of guaranteed answers.
        group_size: how many people together are one privacy unit; 1 if omitted.
        confidence: that all guaranteed intervals hold at once; `DEFAULT_CONFIDENCE` if omitted.
        seed: makes the noise repeatable. NOT PRIVATE: for tests only.

    Raises:
        ParameterError: a parameter is missing, out of range, or not that of the session.
        GraphError: a map that is not connected, or has lengths that are not positive.
        QueryError: locations that are not on the map, or no people.
        FileFormatError: a file of locations that cannot be read.
        BudgetError: the budget does not allow the session. Nothing was spent.
        LedgerError: the store is damaged, about other data, of another version, or busy; or the map
            is not the one that the session was begun with.

    Warns:
        AccuracyWarning: half the diameter for every vertex guarantees as much.

    Examples:
        >>> city = gc.distances.Metric.grid(3, 4)
        >>> import pathlib, tempfile
        >>> store = pathlib.Path(tempfile.mkdtemp()) / "people.db"
        >>> with gc.distances.open_distance_session(
        ...     city, [0, 0, 5, 11], store=store, epsilon=1.0, queries=3
        ... ) as session:
        ...     answer = session.ask(0)
    """
    private_locations = Locations.of(Metric.of(map_graph), locations)
    terms = {
        "epsilon": epsilon,
        "delta": delta,
        "queries": queries,
        "group_size": group_size,
        "confidence": confidence,
    }
    return session_on(private_locations, terms, store=store, name=name, seed=seed)


def session_on(
    locations: Locations,
    terms: dict[str, Any],
    *,
    store: PathLike | Store | None,
    name: str,
    seed: Seed | None = None,
    source: dict[str, Any] | None = None,
) -> DistanceSession:
    """Return a session as `open_distance_session` opens it.

    Args:
        locations: private, on their map.
        terms: of the session, by name; None for those that are not requested.
        store: as for `open_distance_session`.
        name: as for `open_distance_session`.
        seed: as for `open_distance_session`.
        source: how the files were read, recorded for the command line.

    Raises:
        GraphCutsError: as `open_distance_session`.
    """
    seed_number = as_seed(seed)
    use, runner = begin_or_resume(
        store,
        locations.subject,
        terms,
        seed=seed_number,
        stacklevel=4,
        kind=DISTANCE_SESSION,
        name=name,
        prepare=lambda requested: _new_session(locations, requested, seed_number),
        resume=lambda use, requested: (_resumed_mechanism(use, locations, requested), locations),
        source=source,
    )
    return DistanceSession(use, runner, locations.metric)


def _new_session(locations: Locations, requested: dict[str, Any], seed: int | None) -> NewSession:
    """Return a new session on the requested terms, before anything is spent."""
    terms = {"delta": 0.0, "group_size": 1, "confidence": DEFAULT_CONFIDENCE} | requested
    learner = _learner(locations, **terms)
    if learner.radius >= locations.metric.diameter / 2:
        warnings.warn(
            "half the diameter for every vertex guarantees as much as this session: raise epsilon,"
            " ask more people, guarantee fewer answers, or use answer_distances",
            AccuracyWarning,
            stacklevel=_CALLER_LEVEL,
        )
    budget = {name: terms[name] for name in ("epsilon", "delta")}
    privacy_unit = PrivacyUnit.person(terms["group_size"])
    cost, guarantee = guarantee_of_people(privacy_unit, learner.budget_plan, seed=seed, **budget)
    warn_of_delta(cost.delta, count=locations.people, of="people", stacklevel=_CALLER_LEVEL)
    mechanism = InteractiveDistances(learner, cost, seed)
    return NewSession(mechanism=mechanism, data=locations, parameters=terms, guarantee=guarantee)


def _resumed_mechanism(
    use: Use, locations: Locations, requested: dict[str, Any]
) -> InteractiveDistances:
    """Return the mechanism of a session on the store.

    Raises:
        ParameterError: requested terms that differ from those of the session.
        LedgerError: the session is of another version.
    """
    check_same_terms(use, use.parameters, requested)
    try:
        learner = _learner(locations, **use.parameters)
    except TypeError:
        raise LedgerError("the session was begun by another version of this program") from None
    return InteractiveDistances(learner, use.cost, use.seed)


def _learner(
    locations: Locations,
    *,
    queries: int,
    epsilon: float,
    delta: float,
    group_size: int,
    **other_terms: float,
) -> L1Learner:
    """Return the learner of a session from its terms.

    Raises:
        ParameterError: a number out of range, or a map of a single vertex.
    """
    if isinstance(queries, bool) or not isinstance(queries, int) or queries < 1:
        raise ParameterError("queries is a whole number from 1 on: how many answers are guaranteed")
    check_terms(locations.metric, delta=delta, **other_terms)
    return learner_for(
        locations.metric,
        locations.people,
        queries,
        distribution="gaussian" if delta else "laplace",
        privacy_unit=PrivacyUnit.person(group_size),
        epsilon=epsilon,
        delta=delta,
        **other_terms,
    )


def _encoded(row: int) -> EncodedQuery:
    """Return the query of a row of the map in the form of the ledger."""
    return EncodedQuery.of(row, json.dumps({"distance_from_row": row}).encode())
