"""Audits of what protects several edges or people together, or the owner of several rows.

Each runs a public function as users call it, and looks at all that comes out. Neighbours differ in
six pairs: edges, or those of an owner of twelve rows; or in the places of six people. The twin of
each is the mistake that matters: noise for one change where all of these are hidden. With six, and
not two or three, it shows in few runs.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.distances.answers import answer_distances
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.errors import AccuracyWarning, PrivacyWarning
from graphcuts_dp.estimate.measurement import Degrees, Measurement
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.owned_rows import OwnedRows, PrivateData
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.vertices import Space
from graphcuts_dp.privacy.guarantee import Protect
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.release.measuring import measure
from graphcuts_dp.release.releases import release_flows, release_graph
from graphcuts_dp.release.shares import Response
from graphcuts_dp.session.terms import SessionTerms
from tests.audits.base import Audit, Entry, Sampled
from tests.audits.graphs import EMPTY, seed_of
from tests.audits.transcripts import UNIVERSE

Run = Callable[[Any], FloatVector]
_MOST = 6
ENDS = np.triu_indices(4, 1)
ALL = CutQuery(range(4), range(4))
EDGES = (Neighbours("all six edges appear", EMPTY, Graph(*ENDS, vertices=4)),)


def owner_of(space: Space, ends: tuple[IntVector, IntVector]) -> tuple[Neighbours, ...]:
    """Neighbours that differ in an owner of rows, who names each of these pairs twice."""
    found = []
    for times in (0, 2):
        rows, columns = np.tile(ends[0], times), np.tile(ends[1], times)
        marks = np.arange(1, dtype=np.uint64)
        found.append(OwnedRows(space, np.zeros(len(rows), np.int64), marks, (rows, columns)))
    return (Neighbours("an owner of twelve rows appears", found[0], found[1]),)


OWNER = owner_of(EMPTY.vertices, ENDS)
_DELTA = 0.02  # so large that runs see what it is for
_LINE = Metric.of(Graph([0, 1, 2], [1, 2, 3], vertices=4))


def _people(counts: list[int]) -> Locations:
    return Locations(_LINE, np.array(counts))


_MOVED_ENDS = _people([6, 0, 0, 1]), _people([0, 0, 0, 7])
_MOVED = (Neighbours("six people move", *_MOVED_ENDS),)


def protected(data: PrivateData, at_most: int) -> tuple[Any, dict[str, Any]]:
    """What a public function is given, and how it is to protect it.

    Args:
        data: a graph, or rows with owners.
        at_most: how many changes the mechanism hides; a twin hides one, and gives the bounded
            graph away as a plain one.
    """
    if not isinstance(data, OwnedRows):
        return data, {"protect": Protect.edges(at_most)}
    if at_most == _MOST:
        return data, {"protect": Protect.owner(at_most=at_most)}
    return plain(data), {}


def plain(data: PrivateData) -> Any:
    """The graph of the data, in which owners are bounded. Private."""
    return data.bounded(at_most=_MOST) if isinstance(data, OwnedRows) else data


def _with_evidence(*seen: float) -> FloatVector:
    """What was seen, and its sum: several changes show together what none shows alone."""
    return np.array([*seen, sum(seen)], dtype=np.float64)


def _of_degrees(noisy: Measurement[Degrees]) -> float:
    """What the log likelihood ratio of Laplace noise is proportional to."""
    return float(np.clip(noisy.steps[0], 0, 3).sum())


def _measured(at_most: int, epsilon: float, source: EntropySource) -> Run:
    """Degrees and entries, which a release buys for the fit that uses both."""
    each = Protect(steps=at_most).per_step(epsilon)

    def run(data: Graph | OwnedRows) -> FloatVector:
        made = measure(
            plain(data),
            epsilon=each,
            noise="binary",
            source=source,
            response=Response("degrees+response", degree_share=0.5),
        )
        (degrees,), matrix = made.all_of(Degrees), made.matrix
        bits = 0 if matrix is None else matrix.steps[ENDS].sum()
        return _with_evidence(_of_degrees(degrees) / 2, float(bits))

    return run


def _released(at_most: int, epsilon: float, source: EntropySource) -> Run:
    def run(data: Graph | OwnedRows) -> FloatVector:
        graph, protection = protected(data, at_most)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            warnings.simplefilter("ignore", PrivacyWarning)
            made = release_graph(
                graph,
                epsilon=epsilon,
                fit="none",
                noise="binary",
                mechanism="response",
                **protection,
                seed=seed_of(source),
            )
        return _with_evidence(*map(float, made.noisy.steps[ENDS]))

    return run


def _flows(at_most: int, epsilon: float, source: EntropySource) -> Run:
    groups = Groups(EMPTY.vertices, {"part": [0, 0, 0, 1]})

    def run(graph: Graph) -> FloatVector:
        made = release_flows(
            graph, groups, epsilon=epsilon, seed=seed_of(source), protect=Protect.edges(at_most)
        )
        return np.concatenate([np.asarray(each, dtype=np.float64) for each in made.noisy.steps])

    return run


def _session(method: str, delta: float, at_most: int, epsilon: float, source: EntropySource) -> Run:
    mechanism = SessionTerms.of(
        method=method, epsilon=epsilon, delta=delta, queries=2, **Protect(steps=at_most).keywords
    ).mechanism(UNIVERSE, Grid())

    def run(data: Graph | OwnedRows) -> FloatVector:
        graph = plain(data)
        state, values = mechanism.start(graph, source), []
        for _ in range(2):
            truth = mechanism.grid.count(ALL, graph) if mechanism.needs_truth else None
            state, answer = mechanism.step(state, ALL, truth, source)
            values.append(answer.value)
        return _with_evidence(*values)

    return run


def _distances(at_most: int, epsilon: float, source: EntropySource) -> Run:
    def run(placed: Locations) -> FloatVector:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            warnings.simplefilter("ignore", PrivacyWarning)
            made = answer_distances(
                _LINE,
                placed,
                epsilon=epsilon,
                at_most=at_most,
                mechanism="histogram",
                noise="laplace",
                seed=seed_of(source),
            )
        # On a line the answers tell the noisy counts, and these the log likelihood ratio.
        counts = np.linalg.solve(_LINE.matrix, made.values * placed.people)
        first, second = (np.abs(counts - end.counts).sum() for end in _MOVED_ENDS)
        return np.array([first - second])

    return run


TWIN = "epsilon of one used for several"
Start = Callable[[int, float, EntropySource], Run]


def _audit(
    start: Start,
    epsilon: float,
    *,
    delta: float = 0.0,
    pairs: tuple[Neighbours, ...] = EDGES,
) -> Audit:
    return Sampled(
        claim=Claim(epsilon, delta),
        pairs=pairs,
        start=partial(start, _MOST, epsilon),
        twins={TWIN: partial(start, 1, epsilon)},
        twin_pairs=pairs[:1],
    )


ENTRIES = (
    Entry("6 edges: release, response", partial(_audit, _released)),
    Entry("6 edges: release, degrees+response", partial(_audit, _measured)),
    Entry("6 edges: flows", partial(_audit, _flows)),
    Entry("6 edges: session, laplace", partial(_audit, partial(_session, "laplace", 0.0))),
    Entry(
        "6 edges: session, gaussian",
        partial(_audit, partial(_session, "gaussian", _DELTA), delta=_DELTA),
    ),
    Entry("6 edges: session, binary", partial(_audit, partial(_session, "binary", 0.0))),
    Entry("owners: release, response", partial(_audit, _released, pairs=OWNER)),
    Entry(
        "owners: session, laplace",
        partial(_audit, partial(_session, "laplace", 0.0), pairs=OWNER),
    ),
    Entry(
        "owners: session, gaussian",
        partial(_audit, partial(_session, "gaussian", _DELTA), delta=_DELTA, pairs=OWNER),
    ),
    Entry(
        "owners: session, binary",
        partial(_audit, partial(_session, "binary", 0.0), pairs=OWNER),
    ),
    Entry("6 people: distances", partial(_audit, _distances, pairs=_MOVED)),
)
