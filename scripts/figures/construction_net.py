"""The net that an iterative construction describes: all hypotheses that its updates can reach."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import HypothesisError, ParameterError
from graphcuts_dp.learn.base import Sign
from graphcuts_dp.learn.learners import Learned, Learner
from graphcuts_dp.learn.median import DatabaseFamily
from graphcuts_dp.queries.linear import LinearQuery

_MOST_NUMBERS = 1 << 22  # hypotheses times pairs or queries: 32 MiB
_ROUNDED = 9  # decimals: hypotheses that agree to them are one member


def construction_net(
    learner: Learner, queries: Sequence[LinearQuery], *, alpha: float, total_weight: float
) -> DatabaseFamily:
    """Return an alpha-net of all graphs of a total weight, made of updates, not of databases.

    Whatever the truth is, a construction that is corrected by any query on which it is off by alpha
    or more, with the right sign, ends after B(alpha) updates at most, and is then off by less than
    alpha on all queries. Which hypothesis that is, is told by the queries and signs alone. So all
    that can be reached by at most B(alpha) of them are a net, of at most the sum of (2 k)^t for
    t <= B(alpha). It does not grow with the number of graphs: with few queries it is there for more
    vertices than all graphs can be listed for. Pass it to `Net` as `family`, with
    `family_error=alpha`.

    Updates that no graph calls for are left out: upwards, when more weight is asked for than the
    pairs of the query, or all of them, can have; downwards likewise.

    Args:
        learner: whose updates need a sign only, and whose hypotheses stay nonnegative: of
            multiplicative weights or mirror descent.
        queries: k >= 1, the query class, coefficients in [0, 1].
        alpha: tolerance, > 0.
        total_weight: of the graphs, public, in (0, X].

    Raises:
        ParameterError: no query, coefficients outside [0, 1], or a number out of range.
        HypothesisError: too many members.
        QueryError: a query that does not fit the vertex sets.

    Source: DR14 section 5.3.1, with signs and with B(alpha) of the construction.
    """
    universe = learner.universe
    if not queries or not (0 < alpha < math.inf and 0 < total_weight <= universe.size):
        raise ParameterError("a net needs queries, a finite alpha > 0, and a possible total weight")
    pairs = universe.pairs()
    rows = np.stack([universe.coefficients(query)[pairs] for query in queries])
    if rows.min() < 0 or rows.max() > 1:
        raise ParameterError("the queries of this net have coefficients in [0, 1]")
    rule = learner.construction(alpha=alpha, total_weight=total_weight, total_error=0.0)
    limits = _limits(rows, total_weight)
    weights_of: dict[bytes, Any] = {}
    most = _MOST_NUMBERS // max(universe.size, len(queries))
    reached: list[Any] = [rule.initial()]
    for _ in range(math.floor(rule.update_bound(alpha) * (1 + 1e-9)) + 1):
        frontier = []
        for hypothesis in reached:
            weights = hypothesis.dense()[pairs]
            key = (np.round(weights, _ROUNDED) + 0.0).tobytes()
            if key not in weights_of:
                weights_of[key] = weights
                frontier.append(hypothesis)
            if len(weights_of) > most:
                raise HypothesisError(
                    f"the net has more than {most:,} members: take fewer queries or a larger alpha"
                )
        reached = [
            following
            for hypothesis in frontier
            for following in _updates(rule, hypothesis, queries, limits, alpha)
        ]
    return DatabaseFamily(universe, np.stack(list(weights_of.values())))


def _updates(
    rule: Learned,
    hypothesis: Any,
    queries: Sequence[LinearQuery],
    limits: FloatMatrix,
    alpha: float,
) -> Iterator[Any]:
    """Yield all hypotheses that one update makes of a hypothesis, for some graph."""
    slack = alpha * (1 - 1e-9)
    signs: tuple[Sign, Sign] = (1, -1)
    for query, (least, most) in zip(queries, limits, strict=True):
        value = hypothesis.estimate(query)
        for sign, possible in zip(signs, (most - value, value - least), strict=True):
            if possible >= slack:
                yield rule.update(hypothesis, query, sign, None)


def _limits(rows: FloatMatrix, total_weight: float) -> FloatMatrix:
    """Return the least and the largest answer to each query, given the total weight, (k, 2).

    Weights lie in [0, 1]: the best puts as much as it can on the largest coefficients.
    """
    full, fraction = math.floor(total_weight), total_weight - math.floor(total_weight)
    weights = np.zeros(rows.shape[1])
    weights[:full] = 1
    if full < len(weights):
        weights[full] = fraction
    ordered = np.sort(rows, axis=1)
    return np.stack([ordered @ weights, ordered[:, ::-1] @ weights], axis=1)
