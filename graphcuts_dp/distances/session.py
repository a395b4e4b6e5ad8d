"""Sessions of distances: one vertex of a public map after the other, on a durable ledger."""

import hashlib
import json
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

from graphcuts_dp.distances.answers import DistanceAnswer, locations_subject, placed_on
from graphcuts_dp.distances.embeddings import embeddings_of
from graphcuts_dp.distances.l1_plan import L1Plan, best_plan
from graphcuts_dp.distances.learnt import InteractiveDistances
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric, as_metric
from graphcuts_dp.errors import AccuracyWarning, LedgerError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import DISTANCE_SESSION, Use, check_agreed, check_name
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.privacy.composition import as_stored
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, Protect, exact_epsilon, warn_of_delta
from graphcuts_dp.privacy.noise import SEEDED_WARNING, SeededEntropy
from graphcuts_dp.session.base import Answer
from graphcuts_dp.session.runner import Beginning, Runner, begun_or_resumed


@final
@dataclass(frozen=True)
class MapQuery:
    """How far the vertex of a row of the map is from all people; see `session.base.Key`."""

    query: int
    sets: tuple[bytes, ...] = ()
    pairs: int = 1

    @cached_property
    def data(self) -> bytes:
        """The query as bytes."""
        return json.dumps({"distance_from_row": self.query}).encode()

    @classmethod
    def row_of(cls, data: bytes) -> int:
        """The row that `data` was made of."""
        return int(json.loads(data)["distance_from_row"])

    @cached_property
    def digest(self) -> bytes:
        """What the records name it by."""
        return hashlib.sha256(self.data).digest()


_CHUNK = 16  # queries that are reserved, and lost in a crash, together


_DEFAULTS = {"delta": 0.0, "at_most": 1, "confidence": 0.95}


@final
@dataclass(frozen=True, kw_only=True)
class DistanceSessionStatus:
    """Where a session of distances stands.

    Attributes:
        name: of the session.
        state: "open", or "stopped": no further answer is guaranteed.
        answers: on the record.
        corrections: answers that bought something.
        interruptions: times that a step was lost; what it can have used counts as spent.
        queries_left: promised answers that are left.
        parameters: what was agreed when it began.
        guarantee: what is promised for all answers together.
    """

    name: str
    state: str
    answers: int
    corrections: int
    interruptions: int
    queries_left: int
    parameters: dict[str, Any]
    guarantee: PrivacyGuarantee

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**vars(self), "guarantee": self.guarantee.to_dict()}


@final
class DistanceSession:
    """A session that answers average distances of all people; made by `open_distance_session`.

    Several sessions, threads and processes may work on one store. All answers together have
    `guarantee`; it was paid for when the session began. A vertex that was asked before is answered
    from the record, free. Use it as a context manager, or call `close`.
    """

    def __init__(self, terms: Use, runner: Runner[InteractiveDistances], metric: Metric) -> None:
        self._ledger = runner.ledger
        self._terms = terms
        self._runner = runner
        self._metric = metric

    def __repr__(self) -> str:
        mark = "" if self._terms.seed is None else f", {SEEDED_WARNING}"
        return f"DistanceSession({self.name!r}{mark})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the store back. Nothing is lost without it, but files stay beside the store."""
        self._ledger.close()

    @property
    def name(self) -> str:
        """Of the session within the store."""
        return self._terms.name

    @property
    def metric(self) -> Metric:
        """The public map."""
        return self._metric

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What is promised for all answers of this session together."""
        return self._terms.guarantee

    @property
    def error_bound(self) -> float:
        """The largest half width of an interval that a guaranteed answer can have."""
        return self._runner.mechanism.plan.radius

    def ask(self, vertex: Label, *, unguaranteed: bool = False) -> DistanceAnswer:
        """How far a vertex is from all people, on average. It is on the disk before it is returned.

        Args:
            vertex: a label of the map.
            unguaranteed: what to do when the session has run out: False refuses, True answers
                from what was learnt so far, marked as without guarantee.

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
            LedgerError: likewise.
        """
        rows = [self._metric.row(vertex) for vertex in vertices]
        found: list[DistanceAnswer] = []
        for first in range(0, len(rows), _CHUNK):
            asked = rows[first : first + _CHUNK]
            keys = [MapQuery(row) for row in asked]
            answers = self._runner.answers(keys, unguaranteed=unguaranteed)
            found += [self._reply(*pair) for pair in zip(asked, answers, strict=True)]
        return found

    def _reply(self, row: int, answer: Answer) -> DistanceAnswer:
        return DistanceAnswer(
            vertex=self._metric.vertices.labels[row],
            value=answer.value,
            interval=answer.interval,
            confidence=answer.confidence,
            guaranteed=answer.guaranteed,
            corrected=answer.updated,
            queries_left=answer.queries_left,
            seeded=answer.seeded,
        )

    @property
    def history(self) -> list[DistanceAnswer]:
        """All answers so far, oldest first, by whichever process."""
        with self._ledger.locked():
            found = []
            for seq in self._runner.totals.shown:
                row = MapQuery.row_of(self._ledger.content(self._ledger.record(seq)[0]))
                found.append(self._reply(row, self._runner.recorded(seq)))
            return found

    @property
    def status(self) -> DistanceSessionStatus:
        """Where the session stands.

        Raises:
            BudgetError: the session was interrupted while it started.
            LedgerError: the store cannot be used.
        """
        with self._ledger.locked():
            state, totals = self._runner.present(), self._runner.totals
            stopped = state.stopped
            return DistanceSessionStatus(
                name=self.name,
                state="stopped" if stopped else "open",
                answers=len(totals.shown),
                corrections=totals.corrected,
                interruptions=totals.interruptions,
                queries_left=0 if stopped else state.limit - state.queries,
                parameters=dict(self._terms.parameters),
                guarantee=self.guarantee,
            )


def open_distance_session(
    map_graph: Any,
    locations: Any,
    *,
    store: PathLike | Store,
    name: str = "default",
    epsilon: float | None = None,
    delta: float | None = None,
    queries: int | None = None,
    at_most: int | None = None,
    confidence: float | None = None,
    seed: int | None = None,
) -> DistanceSession:
    """Begin a session of distances on private locations, or resume one.

    HR12's interactive mechanism. `answer_distances` answers all vertices at once for the same cost,
    and on most maps better; a session promises a number of answers, to vertices that may be chosen
    after earlier answers.

    The store is a file that remembers everything that was spent on these locations; it is made if
    it is not there. A session of this name that is on it is resumed; parameters may then be left
    out, and must agree where they are given.

    Guarantee: (epsilon, delta)-differential privacy for a change of one person's location (of
    `at_most` people's), for all answers of the session together. The map and the number of people
    are public.

    Args:
        map_graph: the public map, as for `answer_distances`.
        locations: private, as for `answer_distances`.
        store: path of the store, or a `Store`. It holds secrets: only its owner may read it.
        name: of the session.
        epsilon: privacy of the whole session, in [1e-6, 50].
        delta: in [0, 1); 0, for pure privacy, if omitted.
        queries: how many answers are promised.
        at_most: how many people are protected together; 1 if omitted.
        confidence: that all guaranteed intervals hold at once; 0.95 if omitted.
        seed: makes the noise repeatable. NOT PRIVATE: for tests only.

    Raises:
        ParameterError: a parameter is missing, out of range, or not that of the session; or the
            map is not the one that the session was begun with.
        GraphError: a map that is not connected, or has lengths that are not positive.
        QueryError: locations that are not on the map, or none.
        FileFormatError: a file of locations that cannot be read.
        BudgetError: the budget does not allow the session. Nothing was spent.
        LedgerError: the store is damaged, about other data, of another version, or busy.

    Warns:
        AccuracyWarning: half the diameter for every vertex guarantees as much.
    """
    metric = as_metric(map_graph)
    terms = {
        "epsilon": epsilon,
        "delta": delta,
        "queries": queries,
        "at_most": at_most,
        "confidence": confidence,
    }
    given = {key: value for key, value in terms.items() if value is not None}
    return session_on(
        metric, placed_on(metric, locations), given, store=store, name=name, seed=seed
    )


def session_on(
    metric: Metric,
    placed: Locations,
    wanted: dict[str, Any],
    *,
    store: PathLike | Store,
    name: str,
    seed: int | None = None,
    source: dict[str, Any] | None = None,
) -> DistanceSession:
    """A session as `open_distance_session` opens it.

    Args:
        metric: the map.
        placed: the locations on it.
        wanted: those of its terms that are given.
        store: as there.
        name: likewise.
        seed: likewise.
        source: how the files were read, kept for the command line.
    """
    check_name(name)
    if "epsilon" in wanted:
        wanted = wanted | {"epsilon": as_stored(exact_epsilon(wanted["epsilon"]))}
    use, runner = begun_or_resumed(
        Store.of(store),
        locations_subject(placed),
        kind=DISTANCE_SESSION,
        name=name,
        seed=seed,
        fresh=lambda: _fresh(metric, placed, wanted, seed),
        resume=lambda use: (_agreed(use, placed, wanted, seed), placed),
        source=source,
    )
    return DistanceSession(use, runner, metric)


def _fresh(
    metric: Metric, placed: Locations, wanted: dict[str, Any], seed: int | None
) -> Beginning:
    """A new session, before anything is spent."""
    for key, example in (("epsilon", "1.0"), ("queries", "100")):
        if key not in wanted:
            raise ParameterError(f"a new session needs {key}, for example {key}={example}")
    if seed is not None:
        SeededEntropy(seed)
    asked = _DEFAULTS | wanted
    plan, protection = _plan(metric, placed.people, asked)
    if plan.radius >= metric.diameter / 2:
        warnings.warn(
            "half the diameter for every vertex guarantees as much as this session: raise epsilon,"
            " ask more people, promise fewer answers, or use answer_distances",
            AccuracyWarning,
            stacklevel=5,
        )
    cost = protection.cost(
        plan.built_cost, epsilon=exact_epsilon(asked["epsilon"]), delta=asked["delta"]
    )
    warn_of_delta(cost.delta, count=placed.people, of="people", stacklevel=5)
    return Beginning(
        mechanism=InteractiveDistances(plan, cost, seed),
        data=placed,
        parameters={**asked, "map": metric_digest(metric), "plan": plan.digest},
        guarantee=protection.promise(plan.guarantee(seed), cost),
    )


def _plan(metric: Metric, people: int, asked: dict[str, Any]) -> tuple[L1Plan, Protect]:
    delta, confidence, queries = asked["delta"], asked["confidence"], asked["queries"]
    if isinstance(queries, bool) or not isinstance(queries, int) or queries < 1:
        raise ParameterError("queries is a whole number from 1 on: how many answers are promised")
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must be at least 0 and below 1, not {delta}")
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be between 0 and 1, not {confidence}")
    if len(metric) < 2:
        raise ParameterError("a map with one vertex has no distances; give at least two")
    protection = Protect.of_people(asked["at_most"])
    exact = exact_epsilon(asked["epsilon"])
    each: float | Fraction = protection.per_step(exact)
    if delta:
        each, _ = protection.step_budget(epsilon=exact, delta=delta, zcdp=True)
    plan = best_plan(
        embeddings_of(metric),
        people=people,
        queries=queries,
        epsilon=each,
        delta=delta,
        beta=1 - confidence,
    )
    return plan, protection


def _agreed(
    terms: Use, placed: Locations, wanted: dict[str, Any], seed: int | None
) -> InteractiveDistances:
    """The mechanism of a session on the store."""
    agreed = terms.parameters
    check_agreed(terms, agreed, wanted if seed is None else {**wanted, "seed": seed})
    if agreed.get("map") != metric_digest(placed.metric):
        raise ParameterError(
            f"session {terms.name!r} was begun on another map; give that one, or another name"
        )
    try:
        plan, _ = _plan(placed.metric, placed.people, terms.parameters)
    except (LookupError, TypeError):
        plan = None
    if plan is None or plan.digest != agreed.get("plan"):
        raise LedgerError("the session was begun by another version of this program")
    return InteractiveDistances(plan, terms.cost, terms.seed)


def metric_digest(metric: Metric) -> str:
    """SHA-256 of a public map: its vertices and its lengths."""
    entries = metric.lengths.tocoo()
    digest = hashlib.sha256(repr(metric.vertices.labels).encode())
    for array, form in ((entries.row, "<i8"), (entries.col, "<i8"), (entries.data, "<f8")):
        digest.update(array.astype(form).tobytes())
    return digest.hexdigest()
