"""Databases of few pairs each, one of which is near every truth: a start for the median."""

import itertools
import math

from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.median import DatabaseFamily, check_size, family_of, log2_binomial
from graphcuts_dp.queries.universe import Universe


def small_databases(universe: Universe, *, total_weight: float, size: int) -> DatabaseFamily:
    """Return every multiset of `size` pairs, scaled to total weight `total_weight`.

    Args:
        universe: the public vertex pairs.
        total_weight: total weight m, > 0.
        size: how many pairs to choose with repetition, >= 1; see `small_database_size`.

    Raises:
        HypothesisError: too many multisets; the message tells their number.

    Source: GRU12 Alg. 4 and Claim A.3.
    """
    X = universe.size
    check_size(log2_binomial(X + size - 1, size), X)
    chosen = itertools.combinations_with_replacement(range(X), size)
    return family_of(universe, chosen, total_weight / size)


def small_database_size(
    *, alpha: float, total_weight: float, queries: int, rule: Rule = "tight"
) -> int:
    """Return a size of `small_databases` at which some member is within alpha of every truth.

    Sampling s pairs of D errs by alpha or more on one of k queries with probability at most
    2 k exp(-2 s alpha^2 / m^2) (Hoeffding); below 1, some sample errs on none.

    Args:
        alpha: tolerance in edges, > 0.
        total_weight: total weight m of the truth, > 0.
        queries: k, how many there are in the class, coefficients in [0, 1].
        rule: "tight": the least s for which that is below 1; "as printed": m^2 ln(k) / alpha^2,
            which is enough from k = 3 on.
    """
    ratio = (total_weight / alpha) ** 2
    if rule == "as printed":
        return max(1, math.ceil(ratio * math.log(queries)))
    return math.floor(ratio * math.log(2 * queries) / 2) + 1
