"""Audits of what hides several changes, or an owner: nets, sparse releases, learnt ones, sessions.

As in `together`, the twin is noise for one change where several are hidden. Two kinds:

- *Runs* of the public function, or of a session's mechanism, on a graph whose six pairs all change,
  or on rows of an owner who names them all: three would show in too few runs.
- *Exact losses* of what calibrations that users choose from allow, at full length. A session by the
  calibrations "gru12" and "jt12" has no such twin: their constants are so large that one made for
  one edge still hides 4,500 of them; offline they hide three, but not twelve.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.errors import AccuracyWarning, PrivacyWarning
from graphcuts_dp.estimate.measurement import Classes, Degrees
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.owned_rows import PrivateData
from graphcuts_dp.learn.learners import MirrorDescentLearner
from graphcuts_dp.offline.lists import Sensing
from graphcuts_dp.offline.methods import Learning, release_iteratively
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.guarantee import Protect
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.release.measuring import measure_sparse
from graphcuts_dp.session.online import OnlineMechanism
from tests.audits.base import Audit, Entry, Enumerated, Sampled
from tests.audits.calibrations import calibrated, transcripts_of
from tests.audits.graphs import seed_of
from tests.audits.iterative import LOOSE, rounds_of, tuned
from tests.audits.together import ALL, EDGES, OWNER, TWIN, owner_of, plain, protected
from tests.audits.transcripts import LEARNERS, ByHand, Kind, transcript

Run = Callable[[Any], FloatVector]
Start = Callable[[int, float, EntropySource], Run]
_MOST = 6
_DELTA = 0.02  # so large that runs see what it is for


_UNIVERSE = Universe(4)
_CORNERS = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
_UNRATED = BipartiteGraph([], [], left=2, right=3)
_RATED = BipartiteGraph(*_CORNERS, left=2, right=3)
_RATINGS = (Neighbours("all six ratings appear", _UNRATED, _RATED),)
HIDDEN = {"6 edges": (EDGES, _RATINGS), "owners": (OWNER, owner_of(_UNRATED.space, _CORNERS))}
# By entropy a hypothesis has the bought total, and can be off on no query that counts all pairs.
_OFF_ON_ALL = {"mirror-descent": MirrorDescentLearner(_UNIVERSE, norm="l2")}


# Runs.


def _iterative(at_most: int, epsilon: float, source: EntropySource) -> Run:
    """The noisy total, how many pairs the cut has that the noisy matrix shows, and its answer.

    And the sum of all three by what is spent on each, as Laplace noise tells them.
    """

    def run(data: PrivateData) -> FloatVector:
        graph, protection = protected(data, at_most)
        made = release_iteratively(
            graph,
            epsilon=epsilon,
            construction=Learning(distinguisher="response-rank-one", rounds=1, refits=0),
            **protection,
            seed=seed_of(source),
        )
        (bought,), total = made.transcript, float(made.settings.total or 0.0)
        pairs = _UNIVERSE.pairs_between(cast(CutQuery, bought.query))
        # Beyond what is possible an answer tells no more of Laplace noise.
        answer = min(max(bought.value, 0.0), pairs)
        spent = dict(made.guarantee.parts)
        told = spent["total weight"] * min(max(total, 0.0), 6.0) + spent["answers"] * answer
        told += spent["noisy matrix"] * pairs
        return np.array([total, pairs, answer, told])

    return run


def _sensing(at_most: int, epsilon: float, source: EntropySource) -> Run:
    queries = [CutQuery([0, 1], [0, 1, 2])]

    def run(data: PrivateData) -> FloatVector:
        ratings, protection = protected(data, at_most)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            warnings.simplefilter("ignore", PrivacyWarning)
            made = release_iteratively(
                ratings,
                queries,
                epsilon=epsilon,
                delta=_DELTA,
                construction=Sensing(rounds=1),
                **protection,
                seed=seed_of(source),
            )
        return np.array([made.transcript[0].value])

    return run


def _net(at_most: int, epsilon: float, source: EntropySource) -> Run:
    """How many edges the member of the net has that is chosen."""

    def run(data: PrivateData) -> FloatVector:
        graph, protection = protected(data, at_most)
        made = release_iteratively(
            graph, [ALL], epsilon=epsilon, construction="net", **protection, seed=seed_of(source)
        )
        return np.array([float(made.graph.weights.sum())])

    return run


def measured_sparse(data: PrivateData, at_most: int, epsilon: float, source: EntropySource) -> Any:
    """What `release_graph` measures with mechanism "sparse"; its fit reads that alone."""
    each = Protect(steps=at_most).per_step(epsilon)
    graph = plain(data)
    return measure_sparse(graph, epsilon=each, noise="discrete-laplace", source=source)


def _sparse(at_most: int, epsilon: float, source: EntropySource) -> Run:
    """Noisy degrees, each cut off where it tells no more, and the noisy count of edges."""

    def run(data: PrivateData) -> FloatVector:
        made = measured_sparse(data, at_most, epsilon, source)
        degrees = sum(np.clip(each.steps[0], 0, 3).sum() for each in made.all_of(Degrees))
        return np.array([float(degrees), made.find(Classes).total])

    return run


def _session(learner: str, kind: Kind, at_most: int, epsilon: float, source: EntropySource) -> Run:
    """Rates are chosen by hand, see `transcripts`; group privacy is that of every calibration."""
    made = OnlineMechanism(
        learner=_OFF_ON_ALL.get(learner, LEARNERS[learner]),
        calibration=ByHand(kind=kind, epsilon=Protect(steps=at_most).per_step(epsilon)),
        grid=Grid(),
        steps=at_most,
    )
    seen = transcript(made, source, ALL)
    return lambda data: np.asarray(seen(plain(data)), dtype=np.float64)


def _audit(
    start: Start,
    pairs: tuple[Neighbours, ...],
    epsilon: float,
    *,
    zcdp: bool = False,
) -> Audit:
    claim = Claim(zcdp_rho(epsilon=epsilon, delta=_DELTA), kind="rho") if zcdp else Claim(epsilon)
    return Sampled(
        claim=claim,
        pairs=pairs,
        start=partial(start, _MOST, epsilon),
        twins={TWIN: partial(start, 1, epsilon)},
    )


# Exact losses.


def _calibration_audit(construction: str, calibration: str, epsilon: float) -> Audit:
    sound, claim = calibrated(construction, calibration, epsilon, Protect(steps=3))
    of_one, _ = calibrated(construction, calibration, epsilon)
    return Enumerated(
        claim=claim,
        distributions=partial(transcripts_of, sound, steps=3),
        twins={TWIN: partial(transcripts_of, of_one, steps=3)},
    )


def _offline_audit(calibration: str, steps: int, epsilon: float) -> Audit:
    of = "multiplicative-weights", calibration, epsilon
    sound, claim = tuned(*of, Protect(steps=steps))
    of_one, _ = tuned(*of)
    return Enumerated(
        claim=claim,
        distributions=partial(rounds_of, sound, claim, steps=steps),
        twins={TWIN: partial(rounds_of, of_one, claim, steps=steps)},
    )


_OFFLINE = {"practical": 3, "tight": 3, "dr14": 3, "gru12": 12, "nik17": 12}

ENTRIES = (
    *(
        Entry(f"{whom}: iterative release", partial(_audit, _iterative, pairs[0]))
        for whom, pairs in HIDDEN.items()
    ),
    *(
        Entry(f"{whom}: sensing", partial(_audit, _sensing, pairs[1], zcdp=True))
        for whom, pairs in HIDDEN.items()
    ),
    *(Entry(f"{whom}: net", partial(_audit, _net, pairs[0])) for whom, pairs in HIDDEN.items()),
    *(
        Entry(f"{whom}: release, sparse", partial(_audit, _sparse, pairs[0]))
        for whom, pairs in HIDDEN.items()
    ),
    *(
        Entry(
            f"{whom}: {kind} tests, {learner}",
            partial(
                _audit,
                partial(_session, learner, kind),
                pairs[0],
            ),
            slow=kind == "one-sided",
        )
        for whom, pairs in HIDDEN.items()
        for learner in LEARNERS
        for kind in ("shared", "one-sided")
    ),
    *(
        Entry(
            f"3 edges: session, {construction}, {calibration}",
            partial(_calibration_audit, construction, calibration),
        )
        for construction in LEARNERS
        for calibration in ("tight", "dr14")
    ),
    *(
        Entry(
            f"{steps} edges: iterative, {calibration} calibration",
            partial(_offline_audit, calibration, steps),
            unseen=LOOSE if calibration in ("gru12", "nik17") else "",
        )
        for calibration, steps in _OFFLINE.items()
    ),
)
