"""Errors of sessions that can be stated before any data are read, from a public `Setting`.

Each method of sessions has a function here that maps a `Setting` (size of the graph, announced
workload, budget, privacy unit) to an error: with probability 1 - beta no answer of the session
differs from the truth by more, in edges. Plans compare the methods by it, and sessions warn by it.
An error is infinite if the method cannot be run in this setting: delta is 0 and the method needs
delta > 0, too little epsilon is left for each of many edges, or the graph is too large.

The first part is about noise on each answer and about randomised response, whose sessions call the
same radii. The second part is about methods that learn (`learn.bounds` has their formulas).
"""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.bounds import UpdateBound, at_least_one
from graphcuts_dp.learn.calibrations import CALIBRATIONS, TIGHT
from graphcuts_dp.learn.learners import MOST_MEDIAN_PAIRS
from graphcuts_dp.learn.norms import AUTO, MOST_VERTICES, norm_updates
from graphcuts_dp.learn.sizes import ArcsOn, CutSizes, Size, shape_of
from graphcuts_dp.learn.workload import Setting
from graphcuts_dp.privacy.count_noise import ValueNoise, count_noise
from graphcuts_dp.privacy.distributions import BinaryResponse, response_radius

# B from the size, the edges, the form of the rule and whether S and T are disjoint.
Updates = Callable[[Size, float, Rule, bool], UpdateBound]
# How many places a vertex can have: in S, in T or in neither if S and T are disjoint (True), else
# in both as well (False).
_CHOICES: Mapping[bool, int] = {True: 3, False: 4}
_CACHED = 1 << 16  # radii: each takes about a millisecond, and many cuts have equally many pairs


def noise_error(distribution: str, setting: Setting) -> float:
    """Return the error of a session that adds independent noise to each answer.

    Infinite if delta is 0 and the noise, such as Gaussian noise, needs delta > 0.

    Args:
        distribution: a name of `COUNT_NOISES`.
        setting: the public numbers.
    """
    if not count_noise(distribution).pure and setting.delta == 0:
        return math.inf
    noise = noise_of(distribution, setting)
    work = setting.workload
    return float(radius_of_each(noise, queries=work.queries, beta=work.beta))


def noise_of(distribution: str, setting: Setting) -> ValueNoise:
    """Return the noise on each answer of a session in this setting."""
    return noise_on_each(
        distribution,
        epsilon=setting.epsilon,
        delta=setting.delta,
        queries=setting.workload.queries,
        sensitivity=setting.change,
    )


def noise_on_each(
    distribution: str, *, epsilon: float, delta: float, queries: int, sensitivity: int
) -> ValueNoise:
    """Return the noise with which k answers together keep (epsilon, delta).

    Args:
        distribution: a name of `COUNT_NOISES`.
        epsilon: > 0.
        delta: in [0, 1).
        queries: k >= 1.
        sensitivity: largest change of one answer between neighbours, in grid units.
    """
    parameter = count_noise(distribution).for_answers(
        epsilon=epsilon, delta=delta, queries=queries, sensitivity=sensitivity
    )
    return ValueNoise(distribution, parameter)


def radius_of_each(noise: ValueNoise, *, queries: int, beta: float) -> int:
    """Return the error of k answers with independent noise, in grid units: a union bound."""
    return noise.radius(beta / queries)


def response_error(setting: Setting, adaptive: bool = True) -> float:
    """Return the error of randomised response, whose noise is drawn once for all cuts.

    Args:
        setting: the public numbers.
        adaptive: whether cuts may depend on earlier answers. Then the bound is for all cuts at
            once; else it is a union bound over k cuts.
    """
    distribution, pairs = setting.distribution, setting.sizes.largest_query
    work = setting.workload
    if adaptive:
        return all_cuts_radius(distribution, setting.n, pairs, beta=work.beta, disjoint=True)
    return fixed_cuts_radius(distribution, pairs, queries=work.queries, beta=work.beta)


@lru_cache(maxsize=_CACHED)
def fixed_cuts_radius(
    distribution: BinaryResponse, pairs: int, *, queries: int, beta: float
) -> float:
    """Return the error of randomised response for k cuts that do not depend on answers.

    Args:
        distribution: the randomised response.
        pairs: the most pairs of one cut.
        queries: k >= 1.
        beta: probability that any answer differs by more, in (0, 1).
    """
    return response_radius(distribution, pairs, failure=beta / queries)


@lru_cache(maxsize=_CACHED)
def all_cuts_radius(
    distribution: BinaryResponse, n: Size, pairs: int, *, beta: float, disjoint: bool
) -> float:
    """Return the error of randomised response for all cuts at once: a union bound.

    One cut fails with probability beta over a bound on the number of cuts:

    - 3^n on an undirected graph if S and T are disjoint, else 4^n. These count (S, T) and (T, S),
      which are one cut, twice.
    - 2 * 3^n or 2 * 4^n on a directed graph, where (S, T) and (T, S) are two cuts.
    - 2^(left + right) on a bipartite graph.

    Args:
        distribution: the randomised response.
        n: size of the graph.
        pairs: number of pairs of the cut whose error is bounded.
        beta: probability that any answer differs by more, in (0, 1).
        disjoint: whether S and T of all cuts are disjoint.
    """
    rows, columns = shape_of(n)
    if isinstance(n, tuple):
        log_cuts = (rows + columns) * math.log(2)
    else:
        log_cuts = rows * math.log(_CHOICES[disjoint])
    if isinstance(n, ArcsOn):
        log_cuts += math.log(2)
    return distribution.radius(pairs, log_failures=log_cuts - math.log(beta))


def learning_error(updates: Updates, setting: Setting, calibration: str = TIGHT) -> float:
    """Return the error of a session that learns, if m is the number of edges.

    The cuts may depend on earlier answers. A session measures m with a small part of its budget,
    which makes its error about 2 % larger than the one returned here.

    Args:
        updates: B. The papers' calibrations take B as printed, which has no gain from disjoint
            sets; "tight" takes the tight B for disjoint sets.
        setting: the public numbers.
        calibration: a name of `CALIBRATIONS`.
    """
    known = CALIBRATIONS[calibration]
    if setting.delta == 0 and not known.pure:
        return math.inf
    tight = calibration == TIGHT
    try:
        one_edge = setting.for_one(zcdp=tight)
    except ParameterError:  # too little is left for one of many edges
        return math.inf
    if tight:
        bound = updates(one_edge.n, one_edge.edges, "tight", True)
    else:
        bound = at_least_one(updates(one_edge.n, one_edge.edges, "as printed", False))
    work = setting.workload
    return known.bound(
        bound,
        queries=work.queries,
        epsilon=one_edge.epsilon,
        delta=one_edge.delta,
        beta=work.beta,
    ).error


def mirror_descent_error(setting: Setting, *, norm: str = AUTO, calibration: str = TIGHT) -> float:
    """Return the error of mirror descent, whose B depends on its norm.

    Infinite for more vertices than a matrix of all pairs can have.

    Args:
        setting: the public numbers.
        norm: see `parse_norm`. For "2,p" the sum of root degrees is taken as large as it can be.
        calibration: a name of `CALIBRATIONS`.

    Raises:
        ParameterError: a norm that such a graph cannot have.
    """
    if max(shape_of(setting.n)) > max(MOST_VERTICES.values()):
        return math.inf
    sizes = setting.sizes
    if calibration != TIGHT:  # B as printed has no gain from disjoint sets
        sizes = CutSizes.of(setting.n, max_right_size=setting.workload.max_right_size)
    # By Cauchy and Schwarz, sum of r singular values <= (r sum of their squares)^(1/2).
    nuclear_norm = None if setting.rank is None else math.sqrt(setting.rank * setting.edges)
    updates = partial(norm_updates, norm=norm, sizes=sizes, nuclear_norm=nuclear_norm)
    return learning_error(updates, setting, calibration=calibration)


def median_error(setting: Setting) -> float:
    """Return the error of the median of all graphs, whose B is the number of pairs.

    Infinite for more pairs than the median can list graphs of, and for privacy unit "vertex".
    """
    if setting.pairs > MOST_MEDIAN_PAIRS or setting.privacy_unit.kind == "vertex":
        return math.inf
    pairs = float(setting.pairs)

    def updates(n: Size, edges: float, rule: Rule, disjoint: bool) -> UpdateBound:  # noqa: ARG001
        return lambda alpha: pairs  # noqa: ARG005

    return learning_error(updates, setting)
