"""Replies of a release to lists in which not every query is a cut."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from graphcuts_dp.errors import QueryError
from graphcuts_dp.graph.group_names import GroupNames
from graphcuts_dp.graph.linear_query import LinearQuery, is_query
from graphcuts_dp.graph.linear_steps import as_cut
from graphcuts_dp.graph.mixed_cuts import understood
from graphcuts_dp.graph.queries import CutQuery, RankOneQuery
from graphcuts_dp.graph.vertices import Space
from graphcuts_dp.measurements.noisy_matrix import CutAnswer
from graphcuts_dp.release.linear_answers import LinearEstimator


def read_query(query: LinearQuery, names: GroupNames | None, space: Space) -> LinearQuery:
    """A query with names of groups read, and sets of both sides; a rank-one cut as that cut.

    Raises:
        QueryError: no query, unknown groups or vertices.
    """
    if not is_query(query):
        raise QueryError(f"{query!r:.60} is no query: give a CutQuery or another linear query")
    if isinstance(query, CutQuery):
        return understood(query if names is None else names.named(query), space)
    if isinstance(query, RankOneQuery):
        return as_cut(query, space) or query
    return query


def mixed_answers(
    asked: Sequence[LinearQuery],
    estimator: LinearEstimator,
    of_cut: Callable[[CutQuery, float], CutAnswer],
    *,
    confidence: float,
    simultaneous: bool,
    joint: bool,
    seeded: bool,
) -> list[CutAnswer]:
    """Answers to cuts and other queries, in order.

    Args:
        asked: the queries.
        estimator: of those that are no cuts.
        of_cut: answers a cut with a confidence.
        confidence: of the intervals.
        simultaneous: see `Release.answer`.
        joint: see `Release.answer_all`.
        seeded: whether the noise came from a seed.
    """
    together = len(asked) if joint else 1
    failure = (1 - confidence) / together
    log_failures = math.log(together) - math.log1p(-confidence)
    answers: list[CutAnswer] = []
    for query in asked:
        if isinstance(query, CutQuery):
            one = of_cut(query, 1 - failure)
            answers.append(replace(one, confidence=confidence, together=together))
            continue
        value, interval = estimator.estimate(query, log_failures, simultaneous=simultaneous)
        answers.append(
            CutAnswer(
                value=value,
                interval=interval,
                confidence=confidence,
                simultaneous=simultaneous,
                seeded=seeded,
                together=together,
            )
        )
    return answers
