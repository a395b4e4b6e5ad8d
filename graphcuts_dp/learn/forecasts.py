"""Errors of sessions that can be stated before any data are read, from a public `Setting`.

Each method of sessions has a function here that maps a `Setting` (size of the graph, announced
workload, budget, privacy unit) to an error in edges. For independent noise and for randomised
response it is the bound of the session: with probability 1 - beta no answer differs from the truth
by more. For methods that learn it is a forecast of that bound, for the guessed number of edges; see
`learning_error` for how the bound differs. Plans compare the methods by it, and sessions warn by
it. An error is infinite if the method cannot be run in this setting: delta is 0 and the method
needs delta > 0, too little epsilon is left for each of many edges, or the graph is too large.

Terms used here:

- A *radius* is a bound on the modulus of noise that fails with a stated probability.
- A *grid unit* is the unit of whole-numbered noise. In a forecast it is one edge.
- `COUNT_NOISES`, in `privacy.count_noise`, lists the noise distributions of answers by name:
  "gaussian" and "laplace", both discrete.
- B(alpha) is the largest number of updates of a learning method with tolerance alpha; an
  `UpdateBound` is this function. `learn.bounds` has the formulas.
- A `Rule` is "as printed" for the constants of a paper, "tight" for the best of the same proof.

The first part is about noise on each answer and about randomised response, whose sessions call the
same radii. The second part is about methods that learn.
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

# B from the size, the number of edges, the rule and whether S and T of all cuts are disjoint.
Updates = Callable[[Size, float, Rule, bool], UpdateBound]
# In how many ways one vertex can lie in S and T. Disjoint sets (True): only in S, only in T, or in
# neither. Other sets (False): also in both.
_CHOICES: Mapping[bool, int] = {True: 3, False: 4}
_CACHED = 1 << 16  # radii: each takes about a millisecond, and many cuts have equally many pairs


def noise_error(distribution: str, setting: Setting) -> float:
    """Return the error, in edges, of a session that adds independent noise to each answer.

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
        sensitivity=setting.change,  # largest change of one answer between neighbours, in edges
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
    """Return the error of k answers with independent noise: each fails with beta/k.

    It is in the grid units of the noise. `noise_of` has the grid unit of one edge; sessions on
    weighted graphs call this with other units.
    """
    return noise.radius(beta / queries)


def response_error(setting: Setting, adaptive: bool = True) -> float:
    """Return the error, in edges, of randomised response, whose noise is drawn once for all cuts.

    Args:
        setting: the public numbers.
        adaptive: whether cuts may depend on earlier answers. Then the bound is for all cuts at
            once; else it is a union bound over k cuts.
    """
    distribution = setting.distribution  # the randomised response of the bit of each pair
    pairs = setting.sizes.largest_query  # the most pairs of one cut; in a plan S and T are disjoint
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

    One cut fails with probability beta over an upper bound on the number of cuts:

    - 3^n on an undirected graph if S and T are disjoint, else 4^n.
    - 2 * 3^n or 2 * 4^n on a directed graph. The factor 2 is not needed, since 3^n and 4^n count
      (S, T) and (T, S) apart already. It is kept, so that released errors do not change.
    - 2^(left + right) on a bipartite graph: each left vertex is in S or not, each right one in T.

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
    """Forecast the error, in edges, of a session that learns, if m is the number of edges.

    The cuts may depend on earlier answers. The returned number is the error of a session that knows
    m = `setting.edges` for free. A real session measures m with a small part of its budget, and its
    guaranteed error is about 2 % larger than the one returned here. Not for privacy unit "vertex",
    for which plans leave out the methods that learn.

    Args:
        updates: makes B. It is called with rule "tight" for disjoint sets if the calibration is
            "tight". Else it is called with rule "as printed", whose B has no gain from disjoint
            sets.
        setting: the public numbers.
        calibration: a name of `CALIBRATIONS`.
    """
    known = CALIBRATIONS[calibration]  # a class; `known.bound` gives the error for a B
    if setting.delta == 0 and not known.pure:  # it needs delta > 0
        return math.inf
    tight = calibration == TIGHT
    try:
        # The same setting with the budget that group privacy leaves for one changed edge. The tight
        # calibration adds its costs up in zCDP, the papers' in (epsilon, delta).
        one_edge = setting.for_one(zcdp=tight)
    except ParameterError:  # too little is left for one of many edges
        return math.inf
    if tight:
        bound = updates(one_edge.n, one_edge.edges, "tight", True)
    else:
        # max(1, B): the papers' calibrations pay for one update even if B is smaller.
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
        norm: "auto", "l2" or another name that `parse_norm` takes. B of norm "2,p" depends on the
            sum of the square roots of the left degrees, which is taken as large as it can be.
        calibration: a name of `CALIBRATIONS`.

    Raises:
        ParameterError: a norm that such a graph cannot have.
    """
    # MOST_VERTICES: for each norm, the most vertices on a side.
    if max(shape_of(setting.n)) > max(MOST_VERTICES.values()):
        return math.inf
    sizes = setting.sizes  # how large queries can be: with cuts, between disjoint sets
    if calibration != TIGHT:  # B as printed has no gain from disjoint sets
        sizes = CutSizes.of(setting.n, max_right_size=setting.workload.max_right_size)
    # `setting.rank` is a public guess of the rank r of the matrix of weights. The sum of its
    # singular values is at most (r sum of their squares)^(1/2) by Cauchy and Schwarz, and the sum
    # of their squares is that of the squared weights: at most m.
    nuclear_norm = None if setting.rank is None else math.sqrt(setting.rank * setting.edges)
    updates = partial(norm_updates, norm=norm, sizes=sizes, nuclear_norm=nuclear_norm)
    return learning_error(updates, setting, calibration=calibration)


def median_error(setting: Setting) -> float:
    """Return the error of the median of all graphs, whose B is the number of pairs.

    Infinite for more pairs than the median can list graphs of. Infinite for privacy unit "vertex"
    as well: group privacy needs a bound on the number of changed edges, and a vertex has none.
    """
    if setting.pairs > MOST_MEDIAN_PAIRS or setting.privacy_unit.kind == "vertex":
        return math.inf
    pairs = float(setting.pairs)

    def updates(n: Size, edges: float, rule: Rule, disjoint: bool) -> UpdateBound:  # noqa: ARG001
        return lambda alpha: pairs  # noqa: ARG005

    return learning_error(updates, setting)
