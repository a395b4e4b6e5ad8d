"""Audits of what protects several edges or people together, or the user of several rows.

Each has one incorrect variant: noise for one change where several differ.

- *Runs* of a public function, as users call it, or of a session's mechanism, with all that comes
  out. Neighbours differ in six pairs: edges, or those of a user of twelve rows, or ratings; or in
  the places of six people. With six, and not two or three, the mistake
  shows in few runs.
- *Exact losses* of what calibrations that users choose from allow, at full length. A session by the
  calibrations "gru12" and "jt12" has no such variant: their constants are so large
  that a session for one edge still hides 4,500 of them; iterative releases hide three, not twelve.
"""

import inspect
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, cast
from unittest import mock

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp import Job, graph_job
from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.distances.answers import answer_distances
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.estimate.measurement import Classes, Degrees, Measurements
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.rows import PrivateData
from graphcuts_dp.learn.learners import MirrorDescentLearner
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.entropy import entropy_source
from graphcuts_dp.schema.vertices import Space
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.terms import SessionTerms
from tests.audits.base import Audit, Enumerated, Sampled, audited
from tests.audits.calibrations import calibrated, transcripts_of
from tests.audits.graphs import EMPTY, one_more, quietly, seed_of
from tests.audits.iterative import LOOSE, rounds_of, tuned
from tests.audits.rows_in_memory import bounded, rows_in_memory
from tests.audits.sessions import LEARNERS, UNIVERSE, ByHand, Kind, transcript

Run = Callable[[Any], FloatVector]
Start = Callable[[int, float, EntropySource], Run]
ONE_EPSILON_FOR_SEVERAL = "epsilon of one used for several"
_MOST = 6
_DELTA = 0.02  # so large that runs see what it is for
_ALL = gc.CutQuery(range(4), range(4))

# Neighbours.

_ENDS = np.triu_indices(4, 1)
_CORNERS = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
_EDGES = (one_more("all six edges appear", *_ENDS, more=_MOST),)
_RATINGS = (one_more("all six ratings appear", *_CORNERS, kind=gc.BipartiteGraph, more=_MOST),)
_LINE = Metric.of(gc.Graph([0, 1, 2], [1, 2, 3], vertices=4))
_MOVED = (
    Neighbours("six people move", Locations(_LINE, [6, 0, 0, 1]), Locations(_LINE, [0, 0, 0, 7])),
)


def _user_of(space: Space, ends: tuple[IntVector, IntVector]) -> tuple[Neighbours, ...]:
    """Neighbours that differ in a user of rows, who names each of these pairs twice."""
    found = []
    for times in (0, 2):
        rows, columns = np.tile(ends[0], times), np.tile(ends[1], times)
        marks = np.arange(1, dtype=np.uint64)
        found.append(rows_in_memory(space, np.zeros(len(rows), np.int64), marks, (rows, columns)))
    return (Neighbours("a user of twelve rows appears", found[0], found[1]),)


HIDDEN = {
    "6 edges": (_EDGES, _RATINGS),
    "users": (_user_of(EMPTY.vertices, _ENDS), _user_of(_RATINGS[0].first.space, _CORNERS)),
}


def protected(data: PrivateData, group_size: int) -> tuple[Any, dict[str, Any]]:
    """What a public function is given, and how it is to protect it.

    Args:
        data: a graph, or rows with users.
        group_size: how many changes the mechanism hides; 1 for the incorrect variant, which takes
            the bounded graph for a plain one.
    """
    if not isinstance(data, gc.Rows):
        return data, {"privacy_unit": gc.PrivacyUnit.edge(group_size)}
    if group_size == _MOST:
        return data, {"privacy_unit": gc.PrivacyUnit.user(max_contributions=group_size)}
    return plain(data), {}


def plain(data: PrivateData) -> Any:
    """The graph of the data, in which users are bounded. Private."""
    return bounded(data, _MOST) if isinstance(data, gc.Rows) else data


def _public(
    function: Callable[..., Any],
    group_size: int,
    source: EntropySource,
    *arguments: Any,
    **options: Any,
) -> Callable[[PrivateData], Any]:
    """Return what a public function makes of data, for its job is made once.

    A job depends on the schema of the data alone, and takes far longer to make than to run. That
    the results are those of the function is tested by `test_a_job_that_is_made_once`.
    """
    jobs: dict[type, Job[Any]] = {}

    def run(data: PrivateData) -> Any:
        graph, privacy_unit = protected(data, group_size)
        if type(graph) not in jobs:
            jobs[type(graph)] = _job_of(function, graph, *arguments, **options, **privacy_unit)
        job = jobs[type(graph)]
        return quietly(job.run, job.bounded(graph), entropy_source(seed_of(source)))

    return run


def _job_of(function: Callable[..., Any], *arguments: Any, **options: Any) -> Job[Any]:
    """Return the job that a public function executes."""
    scope = inspect.unwrap(function).__globals__
    with mock.patch.dict(scope, execute=lambda job, *_, **__: job):
        job: Job[Any] = quietly(function, *arguments, **options)
    return job


def _with_evidence(*seen: float) -> FloatVector:
    """What was seen, and its sum: several changes show together what none shows alone."""
    return np.array([*seen, sum(seen)], dtype=np.float64)


def _clipped_degrees(made: Measurements) -> float:
    """What the log likelihood ratio of Laplace noise of degrees is proportional to."""
    degrees = made.find(Degrees)
    return 0.0 if degrees is None else float(np.clip(degrees.steps[0], 0, 3).sum())


# Releases.


def _released(group_size: int, epsilon: float, source: EntropySource) -> Run:
    options = {
        "epsilon": epsilon,
        "fit": "none",
        "noise": "binary",
        "mechanism": "randomized-response",
    }

    release = _public(gc.release_graph, group_size, source, **options)

    def run(data: PrivateData) -> FloatVector:
        made = release(data)
        return _with_evidence(*map(float, made.noisy.steps[_ENDS]))

    return run


def _measured(group_size: int, epsilon: float, source: EntropySource) -> Run:
    """Degrees and entries, which a release buys for the fit that uses both."""
    step = gc.PrivacyUnit(group_size=group_size).per_change(epsilon)
    job = _job(EMPTY.n, "degrees+randomized-response", 0.5, "binary", step)

    def run(data: PrivateData) -> FloatVector:
        made = job.measure(plain(data), source)
        bits = 0 if made.matrix is None else made.matrix.steps[_ENDS].sum()
        return _with_evidence(_clipped_degrees(made) / 2, float(bits))

    return run


def measured_sparse(
    data: PrivateData, group_size: int, epsilon: float, source: EntropySource
) -> Measurements:
    """What `release_graph` measures with mechanism "sparse"; its fit reads that alone."""
    graph = plain(data)
    each = gc.PrivacyUnit(group_size=group_size).per_change(epsilon)
    job = _job(graph.n, "sparse", None, "discrete-laplace", each)
    measured: Measurements = job.measure(graph, source)
    return measured


@lru_cache(maxsize=64)  # a run is repeated thousands of times
def _job(n: int, mechanism: str, share: float | None, noise: str, epsilon: Fraction) -> Any:
    """The job of a release of graphs without weights."""
    response: Any = gc.Mechanism(mechanism, degree_share=share)
    empty = gc.Graph([], [], vertices=n)
    budget: Any = epsilon
    return graph_job(empty, epsilon=budget, noise=noise, mechanism=response, fitted=False)


def _sparse(group_size: int, epsilon: float, source: EntropySource) -> Run:
    """Noisy degrees, each cut off where it tells no more, and the noisy count of edges."""

    def run(data: PrivateData) -> FloatVector:
        made = measured_sparse(data, group_size, epsilon, source)
        return np.array([_clipped_degrees(made), made.find(Classes).total])  # type: ignore[union-attr]

    return run


def flows(group_size: int, epsilon: float, source: EntropySource) -> Run:
    groups = gc.Groups(EMPTY.vertices, {"part": [0, 0, 0, 1]})
    work = gc.FlowWorkload(expected_cell=0)  # noise hides what four vertices have
    release = _public(gc.release_flows, group_size, source, groups, epsilon=epsilon, workload=work)

    def run(graph: gc.Graph) -> FloatVector:
        made = release(graph)
        return np.concatenate([np.asarray(each, dtype=np.float64) for each in made.noisy.steps])

    return run


def _iterative(group_size: int, epsilon: float, source: EntropySource) -> Run:
    """The noisy total, how many pairs the cut has that the noisy matrix shows, and its answer.

    And the sum of all three by what is spent on each, as Laplace noise tells them.
    """
    rule = gc.Learning(distinguisher="response-rank-one", rounds=1, refits=0)
    options = {"epsilon": epsilon, "construction": rule}
    release = _public(gc.release_iteratively, group_size, source, **options)

    def run(data: PrivateData) -> FloatVector:
        made = release(data)
        (bought,), total = made.transcript, float(made.settings.total or 0.0)
        pairs = UNIVERSE.pairs_between(cast(gc.CutQuery, bought.query))
        # Beyond what is possible an answer tells no more of Laplace noise.
        answer = min(max(bought.value, 0.0), pairs)
        spent = dict(made.guarantee.spent)
        told = spent["total weight"] * min(max(total, 0.0), 6.0) + spent["answers"] * answer
        told += spent["noisy matrix"] * pairs
        return np.array([total, pairs, answer, told])

    return run


def sensing(group_size: int, epsilon: float, source: EntropySource) -> Run:
    queries = [gc.CutQuery([0, 1], [0, 1, 2])]
    options = {"epsilon": epsilon, "delta": _DELTA, "construction": gc.Sensing(rounds=1)}
    release = _public(gc.release_iteratively, group_size, source, queries, **options)

    def run(data: PrivateData) -> FloatVector:
        made = release(data)
        return np.array([made.transcript[0].value])

    return run


def _net(group_size: int, epsilon: float, source: EntropySource) -> Run:
    """How many edges the member of the net has that is chosen."""
    options = {"epsilon": epsilon, "construction": "net"}
    release = _public(gc.release_iteratively, group_size, source, [_ALL], **options)

    def run(data: PrivateData) -> FloatVector:
        made = release(data)
        return np.array([float(made.graph.weights.sum())])

    return run


def _distances(group_size: int, epsilon: float, source: EntropySource) -> Run:
    options = {"epsilon": epsilon, "mechanism": "histogram", "noise": "laplace"}
    ends = [end.counts for end in (_MOVED[0].first, _MOVED[0].second)]

    def run(placed: Locations) -> FloatVector:
        seed = seed_of(source)
        made = quietly(answer_distances, _LINE, placed, group_size=group_size, seed=seed, **options)
        # On a line the answers tell the noisy counts, and these the log likelihood ratio.
        counts = np.linalg.solve(_LINE.matrix, made.values * placed.people)
        first, second = (np.abs(counts - end).sum() for end in ends)
        return np.array([first - second])

    return run


# Sessions.


def plain_session(
    method: str, delta: float, group_size: int, epsilon: float, source: EntropySource
) -> Run:
    mechanism = SessionTerms.of(
        method=method,
        epsilon=epsilon,
        delta=delta,
        queries=2,
        privacy_unit=gc.PrivacyUnit.edge(group_size),
    ).mechanism(UNIVERSE, Grid())

    def run(data: PrivateData) -> FloatVector:
        graph = plain(data)
        state, values = mechanism.start(graph, source), []
        for _ in range(2):
            truth = mechanism.grid.count(_ALL, graph) if mechanism.needs_truth else None
            state, answer = mechanism.step(state, _ALL, truth, source)
            values.append(answer.value)
        return _with_evidence(*values)

    return run


# By entropy a hypothesis has the bought total, and can be off on no query that counts all pairs.
_OFF_ON_ALL = LEARNERS | {"mirror-descent": MirrorDescentLearner(UNIVERSE, norm="l2")}


def session_of_tests(
    learner: str, kind: Kind, group_size: int, epsilon: float, source: EntropySource
) -> Run:
    """Rates are chosen by hand, see `sessions`; group privacy is that of every calibration."""
    made = OnlineMechanism(
        learner=_OFF_ON_ALL[learner],
        calibration=ByHand(
            kind=kind, epsilon=gc.PrivacyUnit(group_size=group_size).per_change(epsilon)
        ),
        grid=Grid(),
        steps=group_size,
    )
    seen = transcript(made, source, _ALL)
    return lambda data: np.asarray(seen(plain(data)), dtype=np.float64)


# The audits. A run on a user's rows is the same as one on the six edges that are left of them, as
# `test_a_user_is_hidden_as_the_edges_that_are_left` says, so these are quick and those are slow.


def _audit(start: Start, pairs: tuple[Neighbours, ...], claim: Claim, epsilon: float) -> Audit:
    return Sampled(
        claim=claim,
        pairs=pairs,
        start=partial(start, _MOST, epsilon),
        incorrect_variants={ONE_EPSILON_FOR_SEVERAL: partial(start, 1, epsilon)},
    )


OF_EDGES: dict[str, Start] = {
    "release, response": _released,
    "release, sparse": _sparse,
    "iterative release": _iterative,
    "net": _net,
    "session, laplace": partial(plain_session, "laplace", 0.0),
    "session, binary": partial(plain_session, "binary", 0.0),
}
_ALONE: dict[str, tuple[Start, tuple[Neighbours, ...]]] = {
    "6 edges: release, degrees+randomized-response": (_measured, _EDGES),
    "6 edges: flows": (flows, _EDGES),
    "6 people: distances": (_distances, _MOVED),
}


def _of_users(privacy_unit: str, *_names: str) -> bool:
    return privacy_unit == "users"


@audited("{}: {}", HIDDEN, OF_EDGES, slow=_of_users)
def _both(privacy_unit: str, name: str, epsilon: float) -> Audit:
    return _audit(OF_EDGES[name], HIDDEN[privacy_unit][0], Claim(epsilon), epsilon)


@audited("{}", _ALONE)
def _alone(name: str, epsilon: float) -> Audit:
    start, pairs = _ALONE[name]
    return _audit(start, pairs, Claim(epsilon), epsilon)


@audited("{}: session, gaussian", HIDDEN, slow=_of_users)
def _gaussian(privacy_unit: str, epsilon: float) -> Audit:
    start = partial(plain_session, "gaussian", _DELTA)
    return _audit(start, HIDDEN[privacy_unit][0], Claim(epsilon, _DELTA), epsilon)


@audited("{}: sensing", HIDDEN, slow=_of_users)
def _sensed(privacy_unit: str, epsilon: float) -> Audit:
    claim = Claim(zcdp_rho(epsilon=epsilon, delta=_DELTA), kind="rho")
    return _audit(sensing, HIDDEN[privacy_unit][1], claim, epsilon)


@audited(
    "{}: {} tests, {}",
    HIDDEN,
    ("shared", "one-sided"),
    LEARNERS,
    slow=lambda privacy_unit, kind, _learner: kind == "one-sided" or _of_users(privacy_unit),
)
def _tested(privacy_unit: str, kind: Kind, learner: str, epsilon: float) -> Audit:
    start = partial(session_of_tests, learner, kind)
    return _audit(start, HIDDEN[privacy_unit][0], Claim(epsilon), epsilon)


@audited("3 edges: session, {}, {}", LEARNERS, ("tight", "dr14"))
def _calibration_audit(construction: str, calibration: str, epsilon: float) -> Audit:
    sound, claim = calibrated(construction, calibration, epsilon, gc.PrivacyUnit(group_size=3))
    of_one, _ = calibrated(construction, calibration, epsilon)
    return Enumerated(
        claim=claim,
        distributions=partial(transcripts_of, sound, steps=3),
        incorrect_variants={ONE_EPSILON_FOR_SEVERAL: partial(transcripts_of, of_one, steps=3)},
    )


def _offline_audit(steps: int, calibration: str, epsilon: float) -> Audit:
    of = "multiplicative-weights", calibration, epsilon
    sound, claim = tuned(*of, gc.PrivacyUnit(group_size=steps))
    of_one, _ = tuned(*of)
    return Enumerated(
        claim=claim,
        distributions=partial(rounds_of, sound, claim, steps=steps),
        incorrect_variants={
            ONE_EPSILON_FOR_SEVERAL: partial(rounds_of, of_one, claim, steps=steps)
        },
    )


audited("{} edges: iterative, {} calibration", (3,), ("practical", "tight", "dr14"))(_offline_audit)
audited("{} edges: iterative, {} calibration", (12,), ("gru12", "nik17"), why_below_half=LOOSE)(
    _offline_audit
)
