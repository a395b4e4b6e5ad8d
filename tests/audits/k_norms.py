"""Audits of a few answers at once, of which one pair changes all."""

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.offline.lists import Answers
from graphcuts_dp.offline.query_lists import CutList
from graphcuts_dp.offline.release import Task
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.privacy.level_noise import NORMS, KNormNoise
from graphcuts_dp.privacy.noise import EntropySource
from tests.audits.base import Audit, Entry, Run, Sampled

_CUTS = [CutQuery([0]), CutQuery([0, 2]), CutQuery([0], [1])]  # the pair (0, 1) is in all of them
_PAIRS = (
    Neighbours("an edge", Graph([], [], vertices=4), Graph([0], [1], vertices=4)),
    Neighbours(
        "among others", Graph([2, 0], [3, 2], vertices=4), Graph([2, 0, 0], [3, 2, 1], vertices=4)
    ),
)
_SINGLE = np.eye(3, dtype=np.int64)


def _answers(
    norm: str,
    epsilon: float,
    factor: int,
    columns: npt.NDArray[np.int64] | None,
    source: EntropySource,
) -> Run[Graph]:
    """All answers, their sum and the least of them.

    Args:
        norm: of the noise.
        epsilon: that is promised.
        factor: of the rate; 1 keeps the promise.
        columns: that the noise is made for; None for those of the cuts.
        source: of the noise.
    """
    task = Task.of(_PAIRS[0].first, _CUTS, epsilon=epsilon)
    listed = CutList(task.universe, _CUTS)
    made = Answers(noise=norm).laws(task, listed)[norm]
    rate = made.noise.rate * factor
    noise = replace(made.noise, rate=rate)
    if columns is not None:
        noise = KNormNoise.of_columns(columns, rate, norm=norm)
    law = replace(made, noise=noise)

    def run(graph: Graph) -> list[float]:
        values = law.measure(listed, graph, source)
        return [*values, sum(values), min(values), max(values)]

    return run


def _audit(norm: str, epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=_PAIRS,
        start=partial(_answers, norm, epsilon, 1, None),
        twins={
            "a third of the noise": partial(_answers, norm, epsilon, 3, None),
            "the noise of one answer for each": partial(_answers, norm, epsilon, 1, _SINGLE),
        },
        runs=12_000,
    )


ENTRIES = tuple(
    Entry(f"answers: {norm}", partial(_audit, norm), (f"answers: {norm}",)) for norm in NORMS
)
