"""What offline releases guarantee on a public list, from sizes alone: no list, no graph.

The mechanisms themselves are tuned, with a stand-in for the list that knows how long it is. What
they guarantee before they are run is told, for a number of edges that is known; a run that buys the
number has a little less budget. Games test the result when they end, and mostly state less.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.bounds import (
    ArcsOn,
    Setting,
    Size,
    UpdateBound,
    multiplicative_weights_updates,
    shape_of,
)
from graphcuts_dp.learn.learners import MOST_DENSE_VERTICES, MOST_PAIRS
from graphcuts_dp.offline.construction import PLAYERS, Game, PlayerGame
from graphcuts_dp.offline.distinguisher import Distinguisher, Exponential
from graphcuts_dp.offline.lists import FOR_TEST, MOST_LISTED, MOST_SENSED_PAIRS, Steps
from graphcuts_dp.offline.query_lists import EDGES, MOST_NUMBERS, CutList, rounding_of
from graphcuts_dp.offline.rank_one import Released
from graphcuts_dp.offline.tuning import PracticalOffline, TightOffline
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import ALL
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.distributions import ValueNoise, discrete_laplace_radius
from graphcuts_dp.privacy.level_noise import MOST_COUNTS, k_norm_radius
from graphcuts_dp.privacy.noise import shortfall

_SIGNED = 2.0  # span of coefficients in [-1, 1]


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
        """For a setting; taken for a list, of which a tuning reads no more than is here."""
        made: Any = cls(_universe(setting.n), setting.workload.queries, setting.sizes.most)
        return cast(CutList, made)


# Answers at once


def few_answers_error(setting: Setting) -> float:
    """What "answers" guarantees for any k cuts: the lesser of what its noises guarantee.

    Laplace noise is for the largest number of cuts that a pair is in, at most k, and its radius
    grows with that; K-norm noise has a radius that holds for any columns.
    """
    rate, k = float(Fraction(setting.protect.per_step(setting.epsilon))), setting.workload.queries
    single = discrete_laplace_radius(rate / k, failure=setting.workload.beta / k)
    return float(
        single if k > MOST_COUNTS else min(single, k_norm_radius(k, rate, setting.workload.beta))
    )


def few_answers_typical(setting: Setting) -> float:
    """(k + 2)/(3 rate), whole numbers taken as numbers.

    Of k random halves some pair is in any of them and in no others, so K is the hull of all 0/1
    vectors and their negatives, and N(z) = max(z, 0) + max(-z, 0). Of k numbers with chances
    e^(-rate N), j are positive for every j with the same chance; the largest of these is a Gamma
    variable of shape j, and the others are uniform below it, so that their mean is (j + 1)/2 over
    the rate; likewise of those below 0. The mean of (j (j + 1) + (k - j)(k - j + 1))/(2 k) over
    j = 0..k is (k + 2)/3.
    """
    return (setting.workload.queries + 2) / (3 * float(setting.protect.per_step(setting.epsilon)))


def few_answers_fit(setting: Setting) -> bool:
    """Whether there are so few cuts that K-norm noise is drawn: for more, see the row "laplace"."""
    return setting.workload.queries <= MOST_COUNTS


# Iterative releases with the calibration "tight"


def listed_error(setting: Setting) -> float:
    """Of `Learning(calibration="tight")` with multiplicative weights on k cuts."""
    return _tight(setting, _listed, _weights(setting))


def released_error(setting: Setting) -> float:
    """The same with distinguisher="released"."""
    return _tight(setting, _released, _weights(setting))


def linear_error(setting: Setting) -> float:
    """The same on k linear queries, over their largest coefficient; some may be negative.

    B of multiplicative weights grows with the square of the coefficients' span, and an answer to
    such a query moves by up to twice the total weight.
    """
    # Unlike a stream of such queries a list pays for both signs at once.
    setting = replace(
        setting, rank=None, workload=replace(setting.workload, linear=False, most_spectral=None)
    )
    found = _tight(setting, _listed, _weights(setting, span=_SIGNED))
    return found + rounding_of(setting.pairs, EDGES)


def median_offline_error(setting: Setting) -> float:
    """The same with construction="median": twice what holds of the median.

    The graph that is released has nearly the median's answers: the true graph has, and it is one of
    those that are looked at.
    """
    pairs = float(setting.pairs)
    return 2 * _tight(setting, _listed, lambda alpha: 0.0 if alpha > pairs else pairs)


def lists_fit(setting: Setting) -> bool:
    """Whether an iterative release can hold a number for each pair."""
    return max(shape_of(setting.n)) <= MOST_DENSE_VERTICES


def linear_fits(setting: Setting) -> bool:
    """Whether the coefficients of k queries can be held."""
    return lists_fit(setting) and setting.workload.queries * setting.pairs <= MOST_NUMBERS


def median_fits(setting: Setting) -> bool:
    """Whether all graphs can be listed."""
    return setting.pairs <= MOST_PAIRS


def _weights(setting: Setting, *, span: float = 1.0) -> UpdateBound:
    m = setting.edges
    updates = multiplicative_weights_updates(setting.n, m, span=span)
    # No answers of the start and of the truth are farther apart than this.
    return lambda alpha: 0.0 if alpha > span * m else updates(alpha)


def _listed(setting: Setting) -> Distinguisher:
    return Exponential(queries=PlannedList.of(setting), epsilon=Fraction(1))


def _released(setting: Setting) -> Distinguisher:
    return cast(
        Distinguisher, Released(queries=PlannedList.of(setting), distribution=setting.distribution)
    )


def _tight(
    setting: Setting, finder: Callable[[Setting], Distinguisher], bound: UpdateBound
) -> float:
    one = _for_one(setting)
    if one is None:
        return math.inf
    budget = TightOffline(epsilon=one.epsilon, delta=one.delta, beta=one.workload.beta)
    try:
        error = budget.tune(bound, finder(one), one=1.0, steps=1).error
    except ParameterError:  # the budget is too small for any number of rounds
        return math.inf
    return math.inf if error is None else error


# The query release game

LEARNING = PLAYERS[1:]


def game_error(player: str, setting: Setting) -> float:
    """Of the query release game: the proven bound of the game that is usually best."""
    one = _for_one(setting)
    if one is None:
        return math.inf
    game = PlayerGame(
        queries=PlannedList.of(one),
        grid=EDGES,
        calibration=PracticalOffline(
            epsilon=one.epsilon, delta=one.delta, beta=one.workload.beta / 4
        ),
        game=Game(player=player),
        beta=one.workload.beta,
    )
    try:
        bound = game.tune(one.edges, 1.0, game.calibration).bound
    except ParameterError:
        return math.inf
    return math.inf if bound is None else bound


# The net mechanism, and sensing


def net_error(setting: Setting) -> float:
    """What the construction "net" guarantees for any k cuts, every graph being possible.

    It lists one graph for each way to answer them, which is at most every graph.
    """
    rate = setting.protect.per_step(setting.epsilon) / 2
    return float(shortfall(2**setting.pairs, rate, failure=setting.workload.beta))


def net_fits(setting: Setting) -> bool:
    """Whether the net mechanism can list all graphs."""
    most = max(setting.pairs, setting.workload.queries)
    return 2.0 ** min(setting.pairs, 999) * most <= MOST_LISTED


def sensing_error(setting: Setting) -> float:
    """What the construction "sensing" guarantees on k queries that may all be moved by one rating.

    Then all are measured, where that promises no more error than is added to the last gap of ten
    rounds; a gap is known only when they are over.
    """
    if setting.delta == 0:
        return math.inf
    k, beta = setting.workload.queries, setting.workload.beta
    rho = Fraction(zcdp_rho(epsilon=setting.epsilon, delta=setting.delta))
    rho /= setting.protect.steps**2
    steps = Steps(_universe(setting.n), [CutQuery(ALL, ALL)], 1.0)
    try:
        rate, tested = steps.noise(rho * FOR_TEST, 1)
    except ParameterError:  # the budget is too small
        return math.inf
    of_rounds = steps.slack(rate, tested, beta, queries=k)
    square = k * steps.sensitivity**2
    every = steps.radius(ValueNoise("gaussian", square / (2 * rho)), beta / k)
    return every if every <= of_rounds else math.inf


def sensing_fits(setting: Setting) -> bool:
    """Whether the graph has two sides, and a number for each pair can be held."""
    return isinstance(setting.n, tuple) and setting.pairs <= MOST_SENSED_PAIRS


def _for_one(setting: Setting) -> Setting | None:
    """With the budget of one edge; None without delta, or where too little is left for one."""
    if setting.delta == 0:
        return None
    try:
        return setting.for_one(zcdp=True)
    except ParameterError:
        return None


@lru_cache(maxsize=4)
def _universe(n: Size) -> Universe:
    if isinstance(n, ArcsOn):
        return Universe(n.n, directed=True)
    return Universe(*n) if isinstance(n, tuple) else Universe(n)
