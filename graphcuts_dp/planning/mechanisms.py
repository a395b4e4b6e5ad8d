"""Compute the errors of a plan: those that each mechanism guarantees, and those that are typical.

Guaranteed errors are proven, given the number of edges. They are for cuts between disjoint sets.
Typical errors are the expected absolute error of a cut between random halves (each vertex on
either side by a fair coin; in a bipartite graph, a random half of each side) in the normal
approximation; they are not guaranteed.

Such cuts are nearly known from the density d of a graph, the share of pairs that are edges. Around
the value that d predicts, their variance is m (1 - d)/4 for m edges of any undirected graph, and
3 m (1 - d)/16 for a bipartite graph with even degrees, or a random directed graph.

Read `mechanisms_for` first, then `_all_mechanisms`, which lists the lines of the table.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import Any, cast, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.estimator import AnswerOptions, Sizes
from graphcuts_dp.estimate.partition_noise import FOR_EACH
from graphcuts_dp.estimate.worst_cut_errors import noise_cut_bound
from graphcuts_dp.iterative.answer_grid import MOST_SENSED_PAIRS, AnswerGrid
from graphcuts_dp.iterative.distinguisher import Exponential
from graphcuts_dp.iterative.game import PLAYERS, Game, PlayerGame
from graphcuts_dp.iterative.net import MOST_LISTED
from graphcuts_dp.iterative.query_lists import EDGES, MOST_NUMBERS, CutList, rounding_of
from graphcuts_dp.iterative.rank_one import Released
from graphcuts_dp.iterative.sensing import TEST_SHARE
from graphcuts_dp.iterative.tuning import PracticalIterative, TightIterative
from graphcuts_dp.learn.bounds import UpdateBound, multiplicative_weights_updates
from graphcuts_dp.learn.calibrations import CALIBRATIONS, Tight
from graphcuts_dp.learn.constructions import BUILT_IN, CONSTRUCTIONS
from graphcuts_dp.learn.forecasts import (
    learning_error,
    median_error,
    mirror_descent_error,
    noise_error,
    noise_of,
    response_error,
)
from graphcuts_dp.learn.learners import MOST_DENSE_VERTICES, MOST_MEDIAN_PAIRS
from graphcuts_dp.learn.least_cut_error import CutErrors, CutRates
from graphcuts_dp.learn.norms import AUTO, NORMS, norms_of, parse_norm, terms_of
from graphcuts_dp.learn.sizes import ArcsOn, Size, shape_of
from graphcuts_dp.learn.workload import Setting
from graphcuts_dp.privacy.choices import shortfall
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.count_noise import ValueNoise, discrete_laplace_radius
from graphcuts_dp.privacy.distributions import BinaryResponse, LaplaceNoise
from graphcuts_dp.privacy.k_norm import MOST_COUNTS, k_norm_radius
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import ALL as EVERY_VERTEX
from graphcuts_dp.synth.budget_plans import left_by_certificate

ErrorFunction = Callable[[Setting], float]  # the error of a mechanism, from a setting

ANSWERS = "answers"  # method of a short list of cuts
ADAPTIVE, FIXED, ALL, LINEAR = "any k", "fixed k", "all", "linear k"  # see `NamedMechanism.cuts`
BETWEEN_TWO, HALVES = "between two", "halves"
ON_PARTITIONS = (BETWEEN_TWO, HALVES)  # values of `cuts` of the lines that answer no cut
TIGHT = Tight.name
_PAPERS = tuple(name for name in CALIBRATIONS if name != TIGHT)  # calibrations of the papers
_MIRROR, _MEDIAN = "mirror-descent", "median"
SESSIONS = (*BUILT_IN, _MEDIAN, "gaussian", "laplace", "binary")  # methods of sessions
# Bounds on the updates of constructions; that of mirror descent depends on its norm.
_UPDATE_BOUNDS = {name: CONSTRUCTIONS[name].updates for name in BUILT_IN if name != _MIRROR}
_ANY_LINEAR = (_MIRROR, "gaussian", "laplace", "answer 0")  # methods for any linear queries
_FOR_VERTICES = ("gaussian", "laplace", "answer 0", "midpoint", "density only")  # vertex privacy


@dataclass(frozen=True, kw_only=True)
class NamedMechanism:
    """Name of a mechanism in the table, and the answers that its errors are for.

    Attributes:
        method: the name that a session takes as `method`; "release" for the synthetic graph;
            "answers" for a short list of cuts at once; of `release_iteratively` with
            calibration="tight" "iterative MW", "iterative MW released" (its distinguisher),
            "iterative median", and "game query", "game both" with a player; "net" for the net
            mechanism, "sensing" for queries on ratings; "flows" for a table between public groups;
            "least cut", "partition"; else one of the trivial answers "answer 0", "midpoint" (the
            middle of what a noisy number of edges leaves possible), "density only" (a noisy number
            of edges, spread evenly).
        calibration: of "multiplicative-weights" and "frieze-kannan", as a session takes it:
            "tight", "gru12", "jt12" or "dr14"; else empty.
        cuts: which cuts the guarantee is for: "any k", which may depend on earlier answers,
            "fixed k", chosen before, or "all" at once; of flows "cell", "union" (of about sqrt(g)
            of g groups with as many others) or "half" (of the groups with the rest): one of these,
            of the finest level, by itself. "linear k": fixed k linear queries with coefficients in
            [-1, 1]. "between two": a private least cut; errors are what it weighs above the least
            one, and the typical one is a bound on the mean. "halves": half the interval of two
            halves of a release that were chosen after looking.
        norm: of mirror descent; empty for others. Errors of "2,p" are guaranteed for any degrees.
        trivial: whether the answer uses at most a noisy number of edges.
        iterative: whether all queries of a public list are answered at once. Such rows are printed
            only where they are not vacuous.
    """

    method: str
    calibration: str = ""
    cuts: str
    norm: str = ""
    trivial: bool = False
    iterative: bool = False

    @property
    def name(self) -> str:
        """For people: "gaussian", or calibration, initials and norm, as in "tight MW"."""
        if not self.calibration:
            return self.method
        return f"{self.calibration} {CONSTRUCTIONS[self.method].initials} {self.norm}".rstrip()


@final
@dataclass(frozen=True, kw_only=True)
class PlannedMechanism(NamedMechanism):
    """A mechanism in the table, for any setting.

    Attributes:
        guaranteed: returns the guaranteed error of a setting; infinite where delta is 0 and must
            not be.
        typical: returns the typical error of a setting; None where only measurements show it.
        fits: returns whether the mechanism is possible for a setting.
        monotone: whether more epsilon never makes the guaranteed error larger.
    """

    guaranteed: ErrorFunction
    typical: ErrorFunction | None = None
    fits: Callable[[Setting], bool] = lambda _: True
    monotone: bool = True


# The table


def mechanisms_for(setting: Setting) -> tuple[PlannedMechanism, ...]:
    """Return the mechanisms that suit the graph, the queries and the privacy unit."""
    if setting.privacy_unit.kind == "vertex":
        return tuple(
            mechanism for mechanism in _all_mechanisms() if mechanism.method in _FOR_VERTICES
        )
    norms = norms_of(setting.sizes)
    suitable_norms = {"", *norms, *([AUTO] if norms else [])}
    suitable = (
        mechanism
        for mechanism in _all_mechanisms()
        if mechanism.norm in suitable_norms and mechanism.fits(setting)
    )
    if not setting.workload.linear:
        return tuple(suitable)
    return tuple(
        mechanism
        for mechanism in suitable
        if mechanism.cuts == LINEAR
        or (mechanism.method in _ANY_LINEAR and mechanism.calibration in ("", TIGHT))
    )


@cache
def _all_mechanisms() -> tuple[PlannedMechanism, ...]:
    """Return all mechanisms of the table, in its order."""
    # For public lists of queries the guarantee is for k queries that are chosen beforehand.
    iterative = partial(_mechanism, iterative=True)
    with_matrix = partial(iterative, fits=lists_fit)
    trivial = partial(_mechanism, trivial=True)
    return (
        *(_learning(rule, TIGHT) for rule in _UPDATE_BOUNDS),
        *(_mirror_descent(norm, TIGHT) for norm in NORMS),
        _mechanism(_MEDIAN, ADAPTIVE, median_error, _first_hypothesis, fits=median_fits),
        _mechanism("gaussian", ADAPTIVE, partial(noise_error, "gaussian"), _gaussian_typical),
        _mechanism("laplace", ADAPTIVE, partial(noise_error, "laplace"), _laplace_typical),
        _mechanism("binary", FIXED, partial(response_error, adaptive=False), _response_typical),
        _mechanism("binary", ALL, response_error, _response_typical),
        _mechanism("release", ALL, _release_error),
        _mechanism(
            "least cut",
            BETWEEN_TWO,
            _least_cut_excess,
            _least_cut_mean,
            fits=lambda setting: not isinstance(setting.n, tuple),
        ),
        _mechanism(
            "partition", HALVES, _halves_radius, fits=lambda setting: isinstance(setting.n, int)
        ),
        *(_learning(rule, paper) for paper in _PAPERS for rule in _UPDATE_BOUNDS),
        _mirror_descent(AUTO, "jt12"),
        # K-norm noise is drawn for so few cuts alone: for more, see the row "laplace".
        iterative(
            ANSWERS,
            FIXED,
            few_answers_error,
            few_answers_typical,
            fits=lambda setting: setting.workload.queries <= MOST_COUNTS,
        ),
        with_matrix("iterative MW", FIXED, listed_error, _first_hypothesis),
        iterative("iterative MW", LINEAR, linear_error, fits=linear_fits),
        with_matrix(
            "iterative MW released", FIXED, partial(listed_error, released=True), _first_hypothesis
        ),
        iterative("iterative median", FIXED, median_iterative_error, fits=median_fits),
        *(
            with_matrix(f"game {player}", FIXED, partial(game_error, player), monotone=False)
            for player in PLAYERS[1:]
        ),
        iterative("net", FIXED, net_error, fits=net_fits),
        iterative("sensing", LINEAR, sensing_error, fits=sensing_fits),
        trivial("answer 0", ALL, _zero_error, _empty_hypothesis),
        trivial("midpoint", ALL, _midpoint_error, _midpoint_typical),
        trivial("density only", ALL, _density_error, _density_typical),
    )


def _mechanism(
    method: str,
    cuts: str,
    guaranteed: ErrorFunction,
    typical: ErrorFunction | None = None,
    **further: Any,
) -> PlannedMechanism:
    """Return a mechanism; `further` are attributes that are rarely stated."""
    return PlannedMechanism(
        method=method, cuts=cuts, guaranteed=guaranteed, typical=typical, **further
    )


def _learning(rule: str, calibration: str) -> PlannedMechanism:
    """Return a construction of sessions with a calibration."""
    updates = _UPDATE_BOUNDS[rule]
    starts_empty = calibration != TIGHT and rule == "frieze-kannan"
    return _mechanism(
        rule,
        ADAPTIVE,
        lambda setting: learning_error(updates, setting, calibration),
        _empty_hypothesis if starts_empty else _first_hypothesis,
        calibration=calibration,
    )


def _mirror_descent(norm: str, calibration: str) -> PlannedMechanism:
    """Return mirror descent in a norm, with a calibration."""
    error = partial(mirror_descent_error, norm=norm, calibration=calibration)
    typical = None if norm == AUTO else partial(_norm_typical, norm)
    return _mechanism(_MIRROR, ADAPTIVE, error, typical, calibration=calibration, norm=norm)


# Typical errors


def mean_absolute(deviation: float, bias: float = 0.0) -> float:
    """Return E|N| for a normal N with this deviation and this mean, the bias."""
    if deviation == 0:
        return abs(bias)
    ratio = bias / deviation
    spread = deviation * math.sqrt(2 / math.pi) * math.exp(-(ratio**2) / 2)
    return spread + bias * math.erf(ratio / math.sqrt(2))


def _share_across_halves(setting: Setting) -> float:
    """Return the share of all pairs, and so of the edges, that lies between random halves."""
    return 1 / 2 if isinstance(setting.n, int) else 1 / 4


def _density_deviation(setting: Setting) -> float:
    """Return the deviation of a cut between random halves from the density; see the module."""
    m = setting.edges
    part = 1 / 4 if isinstance(setting.n, int) else 3 / 16
    return math.sqrt(part * m * (1 - m / setting.pairs))


def _first_hypothesis(setting: Setting) -> float:
    """Return the typical error of the density, with which most constructions begin."""
    return mean_absolute(_density_deviation(setting))


def _empty_hypothesis(setting: Setting) -> float:
    """Return the typical error of the empty graph, with which Frieze-Kannan as printed begins."""
    return setting.edges * _share_across_halves(setting)


def _gaussian_typical(setting: Setting) -> float:
    """Return the mean absolute Gaussian noise, as if its discrete distribution were continuous."""
    return mean_absolute(noise_of("gaussian", setting).deviation)


def _laplace_typical(setting: Setting) -> float:
    """Return the mean absolute discrete Laplace noise: 1/sinh(epsilon/k) for one edge."""
    return 1 / math.sinh(float(noise_of("laplace", setting).parameter))


def _response_typical(setting: Setting) -> float:
    """Return the deviation of one entry, times the root of the pairs between two random halves."""
    pairs = _share_across_halves(setting) * setting.pairs
    return mean_absolute(setting.distribution.standard_deviation * math.sqrt(pairs))


# Trivial answers


def _count_radius(setting: Setting) -> int:
    """Return the radius of the noisy number of edges: Laplace noise with all of epsilon."""
    rate = setting.epsilon / setting.change
    return discrete_laplace_radius(rate, failure=setting.workload.beta)


def count_deviation(setting: Setting) -> float:
    """Return the deviation of the noisy number of edges, with all of epsilon."""
    return LaplaceNoise(Fraction(setting.epsilon) / setting.change).standard_deviation


def _zero_error(setting: Setting) -> float:
    """Return the error of the answer 0: all edges may lie in one cut."""
    return min(setting.edges, setting.sizes.largest_query)


def _midpoint_error(setting: Setting) -> float:
    """Return the error of the middle between max(0, m - N + p) and min(m, p).

    Between these lies the weight of a cut of p of all N pairs.
    """
    return min(setting.edges, setting.pairs - setting.edges) / 2 + _count_radius(setting)


def _midpoint_typical(setting: Setting) -> float:
    """Return the typical error of the middle: a cut between halves holds m/2, with variance m/4."""
    m, pairs, share = setting.edges, setting.pairs, _share_across_halves(setting)
    middle = (min(m, share * pairs) + max(0.0, m - (1 - share) * pairs)) / 2
    spread = math.hypot(math.sqrt(min(m, pairs - m)) / 2, count_deviation(setting))
    return mean_absolute(spread, abs(middle - m * share))


def _density_error(setting: Setting) -> float:
    """Return the error of the density for the worst cut.

    That is one of m pairs which are all the edges, or one of N - m pairs without any edge, or the
    largest cut if it has fewer pairs.
    """
    m, pairs, largest = setting.edges, setting.pairs, setting.sizes.largest_query
    worst = max(min(m, largest) * (1 - m / pairs), m / pairs * min(largest, pairs - m))
    return worst + largest / pairs * _count_radius(setting)


def _density_typical(setting: Setting) -> float:
    """Return the typical error of the density, whose number of edges is noisy."""
    noise = _share_across_halves(setting) * count_deviation(setting)
    return mean_absolute(math.hypot(_density_deviation(setting), noise))


# Mechanisms


def _entry_noise(setting: Setting) -> BinaryResponse:
    """Return the noise of the entries of a release with mechanism="randomized-response"."""
    epsilon = left_by_certificate(setting.distribution.epsilon)
    return BinaryResponse(epsilon, setting.distribution.max_weight)


def _release_error(setting: Setting) -> float:
    """Return twice `noise_cut_bound`, within which `release_graph` keeps its default fit.

    With mechanism="randomized-response"; where a part of epsilon goes to degrees, the bound is
    larger.
    """
    return 2 * noise_cut_bound(
        _entry_noise(setting),
        shape_of(setting.n),
        symmetric=isinstance(setting.n, int),
        confidence=1 - setting.workload.beta,
    )


def _cut_rates(setting: Setting) -> CutRates:
    """Return the rates of `least_cut` between two vertices of a graph without weights."""
    return CutRates.of(Fraction(setting.for_one().epsilon), 1)


def _least_cut_excess(setting: Setting) -> float:
    """Return the weight of a private least cut above the least one, at most."""
    sizes = shape_of(setting.n)[0], 2
    errors = CutErrors.of(_cut_rates(setting), *sizes, unit=1.0, beta=setting.workload.beta)
    return errors.above_least


def _least_cut_mean(setting: Setting) -> float:
    """Return a bound on the mean weight of a private least cut above the least one."""
    return _cut_rates(setting).mean_excess(shape_of(setting.n)[0], 2)


def _halves_radius(setting: Setting) -> float:
    """Return the radius of two halves for all cuts at once: randomised response."""
    n = shape_of(setting.n)[0]
    sizes, pairs = Sizes(S=n // 2, T=n - n // 2, both=0), (n // 2) * (n - n // 2)
    # `partition_of` has this share of the failure probability for all cuts in two.
    options = AnswerOptions(confidence=1 - FOR_EACH * setting.workload.beta, simultaneous=True)
    noise = NoiseSum.of([NoiseTerm(_entry_noise(setting).law, 1.0, pairs)])
    return noise.radius(options.log_failures(1, sizes, Layout((n, n), symmetric=True)))


def _norm_typical(norm: str, setting: Setting) -> float:
    """Return the typical error of the start of mirror descent with a norm.

    It starts at the density, or at the empty graph if the p of the norm is below 2.
    """
    start = terms_of(norm, parse_norm(norm)[1], setting.sizes, total_weight=setting.edges).weight
    return _first_hypothesis(setting) if start else _empty_hypothesis(setting)


# Guarantees of iterative releases on a public list, from sizes alone. The mechanisms themselves are
# tuned, with a stand-in for the list that knows its length. Guarantees are those before a run, for
# a known number of edges; a run that measures the number has a little less budget. Games test the
# result when they end, and mostly state a smaller error.


@final
@dataclass(frozen=True)
class PlannedList:
    """Stands for a list of cuts between disjoint sets, of which only the length is known.

    Attributes:
        universe: the public vertex pairs.
        length: k.
        most_pairs: of one cut.
    """

    universe: Universe
    length: int
    most_pairs: int
    disjoint: bool = True

    def __len__(self) -> int:
        return self.length

    @classmethod
    def of(cls, setting: Setting) -> CutList:
        """Return a stand-in for the list of a setting, with the numbers that a tuning reads."""
        cuts: Any = cls(_universe(setting.n), setting.workload.queries, setting.sizes.largest_query)
        return cast(CutList, cuts)


# Answers at once


def few_answers_error(setting: Setting) -> float:
    """Return the error that "answers" guarantees for any k cuts: the least of those of its noises.

    Laplace noise is for the largest number of cuts that a pair is in, at most k, and its radius
    grows with that; K-norm noise has a radius that holds for any columns.
    """
    k, beta = setting.workload.queries, setting.workload.beta
    rate = float(Fraction(setting.privacy_unit.per_change(setting.epsilon)))
    laplace_error = discrete_laplace_radius(rate / k, failure=beta / k)
    if k > MOST_COUNTS:
        return float(laplace_error)
    return float(min(laplace_error, k_norm_radius(k, rate, beta)))


def few_answers_typical(setting: Setting) -> float:
    """Return the mean absolute K-norm noise of k random halves, (k + 2)/(3 rate).

    Whole numbers are treated as real numbers. For each subset of the k halves there is a pair that
    lies in these and in no others, so K is the hull of all 0/1 vectors and their negatives, and
    its norm is N(z) = max_i max(z_i, 0) + max_i max(-z_i, 0). With a density proportional to
    e^(-rate N(z)), the number j of positive entries is uniform on 0..k. The largest of these is a
    Gamma variable of shape j, and the others are uniform below it, so that their mean is
    (j + 1)/(2 rate); the negative entries have the same law. The mean of
    (j (j + 1) + (k - j)(k - j + 1))/(2 k) over j = 0..k is (k + 2)/3.
    """
    rate = float(setting.privacy_unit.per_change(setting.epsilon))
    return (setting.workload.queries + 2) / (3 * rate)


# Iterative releases with the calibration "tight", and games


def _error_for_one_edge(error: Callable[[Setting], float | None], setting: Setting) -> float:
    """Return an error that is computed for the budget of one edge.

    Infinite without delta, where nothing is proven, and where too little is left for one edge, or
    for any number of rounds.
    """
    try:
        radius = error(setting.for_one(zcdp=True)) if setting.delta else None
    except ParameterError:
        radius = None
    return math.inf if radius is None else radius


def _tight_error(
    bound: Callable[[Setting], UpdateBound], setting: Setting, released: bool = False
) -> Any:
    """Return the error of `Learning(calibration="tight")`, perhaps with released cuts."""
    queries = PlannedList.of(setting)
    distinguisher: Any = Exponential(queries=queries, epsilon=Fraction(1))
    if released:
        distinguisher = Released(queries=queries, distribution=setting.distribution)
    budget = TightIterative(
        epsilon=setting.epsilon, delta=setting.delta, beta=setting.workload.beta
    )
    return budget.tune(bound(setting), distinguisher, unit_weight=1.0, sensitivity=1).error


def _weights_updates(setting: Setting, *, span: float = 1.0) -> UpdateBound:
    """Return the bound on updates of multiplicative weights, for m edges.

    No update is needed for an alpha above span m, the largest possible error.
    """
    m = setting.edges
    updates = multiplicative_weights_updates(setting.n, m, span=span)
    return lambda alpha: 0.0 if alpha > span * m else updates(alpha)


def listed_error(setting: Setting, *, released: bool = False) -> float:
    """Return the error of multiplicative weights on k cuts."""
    return _error_for_one_edge(lambda at: _tight_error(_weights_updates, at, released), setting)


def linear_error(setting: Setting) -> float:
    """Return the error on k linear queries, over their largest coefficient; some may be negative.

    The bound on updates grows with the square of the span of the coefficients, and an answer to
    such a query moves by up to twice the total weight.
    """
    # In a stream of such queries each sign has a budget of its own; in a list both share one.
    setting = replace(
        setting, rank=None, workload=replace(setting.workload, linear=False, max_spectral_norm=None)
    )
    radius = _error_for_one_edge(
        partial(_tight_error, partial(_weights_updates, span=2.0)), setting
    )
    return radius + rounding_of(setting.pairs, EDGES)


def median_iterative_error(setting: Setting) -> float:
    """Return the error with construction="median": twice that of the median.

    The released graph is one whose answers are all near those of the median. There is one: the true
    graph.
    """

    def halvings(at: Setting) -> UpdateBound:
        return lambda alpha: 0.0 if alpha > at.pairs else float(at.pairs)

    return 2 * _error_for_one_edge(partial(_tight_error, halvings), setting)


def lists_fit(setting: Setting) -> bool:
    """Return whether an iterative release can hold a number for each pair."""
    return max(shape_of(setting.n)) <= MOST_DENSE_VERTICES


def linear_fits(setting: Setting) -> bool:
    """Return whether the coefficients of k queries fit into memory."""
    return lists_fit(setting) and setting.workload.queries * setting.pairs <= MOST_NUMBERS


def median_fits(setting: Setting) -> bool:
    """Return whether all graphs can be listed."""
    return setting.pairs <= MOST_MEDIAN_PAIRS


def game_error(player: str, setting: Setting) -> float:
    """Return the proven bound of the query release game that is usually best."""

    def bound(at: Setting) -> float | None:
        beta = at.workload.beta
        budget = PracticalIterative(epsilon=at.epsilon, delta=at.delta, beta=beta / 4)
        queries, game = PlannedList.of(at), Game(player=player)
        planned = PlayerGame(queries=queries, grid=EDGES, calibration=budget, game=game, beta=beta)
        return planned.tune(at.edges, 1.0, budget).bound

    return _error_for_one_edge(bound, setting)


# The net mechanism, and sensing


def net_error(setting: Setting) -> float:
    """Return the error that the construction "net" guarantees for any k cuts of any graph.

    It lists one graph for each way to answer them, which is at most every graph.
    """
    rate = setting.privacy_unit.per_change(setting.epsilon) / 2
    return float(shortfall(2**setting.pairs, rate, failure=setting.workload.beta))


def net_fits(setting: Setting) -> bool:
    """Return whether the net mechanism can list all graphs."""
    numbers_of_graph = max(setting.pairs, setting.workload.queries)
    graphs = 2.0 ** min(setting.pairs, 999)  # 2^999 is far too many, and floats hold it
    return graphs * numbers_of_graph <= MOST_LISTED


def sensing_error(setting: Setting) -> float:
    """Return the error of the construction "sensing" on k queries that one rating may all move.

    A release then measures all of them, if their noise is no larger than the error of ten rounds
    without the gap that the last round leaves. If it is larger the error is infinite here: the gap
    is known only when the rounds are over.
    """
    if setting.delta == 0:
        return math.inf
    k, beta = setting.workload.queries, setting.workload.beta
    rho = Fraction(zcdp_rho(epsilon=setting.epsilon, delta=setting.delta))
    rho /= setting.privacy_unit.group_size**2
    grid = AnswerGrid(_universe(setting.n), [CutQuery(EVERY_VERTEX, EVERY_VERTEX)], 1.0)
    try:
        rate, test_noise = grid.noise(rho * TEST_SHARE, 1)
    except ParameterError:  # the budget is too small
        return math.inf
    error_of_rounds = grid.error_less_gap(rate, test_noise, beta, queries=k)
    squared_sensitivity = k * grid.sensitivity**2
    noise = ValueNoise("gaussian", squared_sensitivity / (2 * rho))
    error = grid.radius(noise, beta / k)
    return error if error <= error_of_rounds else math.inf


def sensing_fits(setting: Setting) -> bool:
    """Return whether the graph has two sides, and a number for each pair fits into memory."""
    return isinstance(setting.n, tuple) and setting.pairs <= MOST_SENSED_PAIRS


@lru_cache(maxsize=4)
def _universe(n: Size) -> Universe:
    """Return the pairs of a graph of this size."""
    if isinstance(n, ArcsOn):
        return Universe(n.n, directed=True)
    return Universe(*n) if isinstance(n, tuple) else Universe(n)
