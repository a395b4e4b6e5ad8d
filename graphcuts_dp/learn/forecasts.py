"""Errors of sessions that can be stated before any data are read, from a public `Setting`.

A session answers k queries about a private graph, with an interval for each answer. Plans compare
the methods of sessions by the errors computed here. A function for each method returns its error,
in edges:

- Independent noise and randomised response: the error that the session guarantees. With probability
  1 - beta no answer differs from the truth by more.
- Methods that learn: a forecast of the guaranteed error. The guarantee depends on the number m of
  edges, which is private, so the forecast takes a public guess of m.

The error is infinite if the method cannot be run: delta is 0 and the method needs delta > 0, too
little epsilon is left for each of many edges, or the graph is too large.

Terms used here:

- A `Setting` has the public numbers: `n` (size of the graph), `workload` (k, beta and the kinds of
  queries that were announced), `edges` (the guess of m), `epsilon`, `delta` and `privacy_unit` (by
  what neighbouring data differ: one edge, several edges, or a vertex with its edges).
- A *radius* is a bound on the modulus of noise that fails with a stated probability.
- A *grid unit* is the unit of whole-numbered noise. In a forecast it is one edge.
- `COUNT_NOISES`, in `privacy.count_noise`, lists the noise distributions of answers by name:
  "gaussian" and "laplace", both discrete.
- B(alpha) is the largest number of updates of a learning method with tolerance alpha; an
  `UpdateBound` is this function. `learn.bounds` has the formulas.
- A `Rule` is "as printed" for the constants of a paper, "tight" for the best of the same proof.

The first part is about noise on each answer and about randomised response. Sessions call its radii
for the errors that they guarantee: a smaller radius than proven would break the guarantee. The
second part is about methods that learn. Only plans, warnings and method "auto" read it.
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
        # Largest change of one answer between neighbours, in edges: how many edges the privacy unit
        # has, or the degree bound if it is a vertex.
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
    """Return the error of k answers with independent noise, in grid units: a union bound.

    Each answer may fail with probability beta/k. The grid unit is that of `noise`: one edge for
    `noise_of`, another weight for sessions on weighted graphs, which call this function too.
    """
    return noise.radius(beta / queries)


def response_error(setting: Setting, adaptive: bool = True) -> float:
    """Return the error, in edges, of randomised response, whose noise is drawn once for all cuts.

    Args:
        setting: the public numbers.
        adaptive: whether cuts may depend on earlier answers. Then the bound is for all cuts at
            once; else it is a union bound over k cuts.
    """
    distribution = setting.distribution  # how the bit "is an edge" of each vertex pair is flipped
    # The most vertex pairs between the two sets S and T of a cut. A `Setting` assumes that S and T
    # are disjoint.
    pairs = setting.sizes.largest_query
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
    - 2 * 3^n or 2 * 4^n on a directed graph. 3^n and 4^n would do, since they count (S, T) and
      (T, S) as two cuts. The factor 2 makes the bound slightly larger than needed. Stored results
      and golden numbers depend on it: leave it.
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
    guaranteed error is about 2 % larger than the one returned here.

    Do not call it for privacy unit "vertex": group privacy needs a bound on the number of changed
    edges, and a vertex has none. This is not checked; callers leave the methods that learn out.

    Args:
        updates: makes B, see `Updates`. If the calibration is "tight" it is called with rule
            "tight" and disjoint sets. Else it is called with rule "as printed", whose B has no gain
            from disjoint sets.
        setting: the public numbers.
        calibration: a name of `CALIBRATIONS`: how the budget becomes noise and a tolerance.
    """
    calibration_class = CALIBRATIONS[calibration]  # its `bound` maps B and a budget to an error
    if setting.delta == 0 and not calibration_class.pure:  # it needs delta > 0
        return math.inf
    tight = calibration == TIGHT
    try:
        # Neighbours may differ by k edges, but the calibrations are for one. `for_one` returns the
        # same setting for one edge, with the budget that one edge may cost by group privacy: about
        # epsilon/k. `zcdp` says in what this share is computed: in zCDP, in which the tight
        # calibration adds up its costs, or in (epsilon, delta), as the papers' do.
        one_edge = setting.for_one(zcdp=tight)
    except ParameterError:  # less than 1e-6 of epsilon is left for one edge
        return math.inf
    if tight:
        bound = updates(one_edge.n, one_edge.edges, "tight", True)
    else:
        # max(1, B): the papers' calibrations pay for one update even if B is smaller.
        bound = at_least_one(updates(one_edge.n, one_edge.edges, "as printed", False))
    work = setting.workload
    return calibration_class.bound(
        bound,
        queries=work.queries,
        epsilon=one_edge.epsilon,
        delta=one_edge.delta,
        beta=work.beta,
    ).error


def mirror_descent_error(setting: Setting, *, norm: str = AUTO, calibration: str = TIGHT) -> float:
    """Forecast the error of mirror descent, whose B depends on its norm; see `learning_error`.

    Infinite for more vertices than a matrix of all pairs can have. Not for privacy unit "vertex".

    Args:
        setting: the public numbers.
        norm: "auto", "l2" or another name that `parse_norm` takes. B of norm "2,p" depends on R,
            the sum of the square roots of the left degrees, which is private. No guess of R is
            passed on, and so `norm_updates` takes the largest R that m edges can have.
        calibration: a name of `CALIBRATIONS`.

    Raises:
        ParameterError: a norm that such a graph cannot have.
    """
    # MOST_VERTICES maps each norm to the most vertices on a side that it takes. Beyond the largest
    # of these no norm is possible. (Beyond the limit of a named norm, the learner refuses it.)
    if max(shape_of(setting.n)) > max(MOST_VERTICES.values()):
        return math.inf
    sizes = setting.sizes  # sizes of the graph and of its largest query; cuts have disjoint S and T
    if calibration != TIGHT:  # B as printed has no gain from disjoint sets: allow any cuts
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
