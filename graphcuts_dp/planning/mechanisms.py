"""The formulas behind a plan: what each mechanism guarantees, and what is typical of it.

Guaranteed errors are proven, given the number of edges. They are for cuts between disjoint sets.
Typical errors are the expected absolute error of a cut between random halves (each vertex on
either side by a fair coin; in a bipartite graph, a random half of each side) in the normal
approximation; they are not promised. On such cuts the density tells nearly everything: a cut of a
plain graph differs from what its density says by a variance of m (1 - d)/4, whatever the graph, one
of a bipartite graph with even degrees, or of a random directed graph, by 3 m (1 - d)/16.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, final

from graphcuts_dp.estimate.answers import AnswerOptions, Sizes
from graphcuts_dp.estimate.noisy_matrix import noise_cut_bound
from graphcuts_dp.estimate.partition_noise import FOR_EACH
from graphcuts_dp.learn.bounds import Setting, least_cut_excess, noise_of, shape_of
from graphcuts_dp.learn.calibrations import (
    CALIBRATIONS,
    Tight,
    guaranteed_error,
    learning_error,
    mirror_descent_error,
)
from graphcuts_dp.learn.learners import CONSTRUCTIONS
from graphcuts_dp.learn.norms import AUTO, NORMS, norms_of, parse_norm, terms_of
from graphcuts_dp.pairs.universe import Layout
from graphcuts_dp.planning import offline
from graphcuts_dp.privacy.distributions import (
    LaplaceNoise,
    NoiseSum,
    NoiseTerm,
    discrete_laplace_radius,
)

ANSWERS = "answers"
ADAPTIVE, FIXED, ALL, LINEAR = "any k", "fixed k", "all", "linear k"
PARTS = LEAST, HALVES = "between two", "halves"
TIGHT = Tight.name
_PAPERS = tuple(name for name in CALIBRATIONS if name != TIGHT)
_MIRROR, _MEDIAN = "mirror-descent", "median"
_CONSTRUCTIONS = {name: known.updates for name, known in CONSTRUCTIONS.items() if name != _MIRROR}
Error = Callable[[Setting], float]


@dataclass(frozen=True, kw_only=True)
class Named:
    """What a line of the table is about.

    Attributes:
        method: the name that a session takes as `method`; "release" for the synthetic graph;
            "answers" for a short list of cuts at once; of `release_iteratively` with
            calibration="tight" "offline MW", "offline MW released" (its distinguisher),
            "offline median", and "game query", "game both" with a player; "net" for the net
            mechanism, "sensing" for queries on ratings; "flows" for a table between public groups;
            "least cut", "partition"; else
            one of the trivial answers "answer 0", "midpoint" (the middle of what a noisy
            number of edges leaves possible), "density only" (a noisy number of edges, spread
            evenly).
        calibration: of "multiplicative-weights" and "frieze-kannan", as a session takes it:
            "tight", "gru12", "jt12" or "dr14"; else empty.
        cuts: which cuts the guarantee is for: "any k", which may depend on earlier answers,
            "fixed k", chosen before, or "all" at once; of flows "cell", "union" (of about sqrt(g)
            of g groups with as many others) or "half" (of the groups with the rest): fixed k of
            these, of the finest level. "linear k": fixed k linear queries with coefficients in
            [-1, 1]. "between two": a private least cut, by what it weighs above the least one, and
            typically at most. "halves": half the interval of two halves of a release that were
            chosen after looking.
        norm: of mirror descent; empty for others. What "2,p" guarantees whatever the degrees are.
        trivial: whether hardly anything was learnt from the graph.
        offline: whether all queries are answered at once, from a public list. Such rows are printed
            only where they are not vacuous.
    """

    method: str
    calibration: str = ""
    cuts: str
    norm: str = ""
    trivial: bool = False
    offline: bool = False

    @property
    def name(self) -> str:
        """For people: "gaussian", or calibration, initials and norm, as in "tight MW"."""
        if not self.calibration:
            return self.method
        return f"{self.calibration} {CONSTRUCTIONS[self.method].initials} {self.norm}".rstrip()


@final
@dataclass(frozen=True, kw_only=True)
class PlannedMechanism(Named):
    """A line of the table, for any setting.

    Attributes:
        guaranteed: error, from a setting; infinite where delta is 0 and must not be.
        typical: likewise; None where only measurements tell.
        fits: whether it is possible for a setting.
        monotone: whether more epsilon never makes what is guaranteed worse.
    """

    guaranteed: Error
    typical: Error | None = None
    fits: Callable[[Setting], bool] = lambda _: True
    monotone: bool = True


# Typical errors


def mean_absolute(deviation: float, bias: float = 0.0) -> float:
    """E|N| for a normal N: deviation sqrt(2/pi) without bias."""
    if deviation == 0:
        return abs(bias)
    ratio = bias / deviation
    spread = deviation * math.sqrt(2 / math.pi) * math.exp(-(ratio**2) / 2)
    return spread + bias * math.erf(ratio / math.sqrt(2))


def _halves(setting: Setting) -> float:
    """Share of all pairs, and so of the edges, that lies between random halves."""
    return 1 / 2 if isinstance(setting.n, int) else 1 / 4


def _density_deviation(setting: Setting) -> float:
    """Of a cut between random halves, from what the density says; see the module."""
    m = setting.edges
    part = 1 / 4 if isinstance(setting.n, int) else 3 / 16
    return math.sqrt(part * m * (1 - m / setting.pairs))


def _first_hypothesis(setting: Setting) -> float:
    return mean_absolute(_density_deviation(setting))


def _empty_hypothesis(setting: Setting) -> float:
    """m/2 of the edges, m/4 if bipartite or directed: Frieze-Kannan as printed starts at 0."""
    return setting.edges * _halves(setting)


def _gaussian_typical(setting: Setting) -> float:
    """Scale times sqrt(2/pi), the discrete distribution taken as the continuous one."""
    return mean_absolute(noise_of("gaussian", setting).deviation)


def _laplace_typical(setting: Setting) -> float:
    """Mean of the discrete distribution, exactly: 1/sinh(epsilon/k) for one edge."""
    return 1 / math.sinh(float(noise_of("laplace", setting).parameter))


def _response_typical(setting: Setting, pairs: float | None = None) -> float:
    """Deviation of one entry, times the root of the pairs between two sets: random halves."""
    pairs = _halves(setting) * setting.pairs if pairs is None else pairs
    return mean_absolute(setting.distribution.standard_deviation * math.sqrt(pairs))


# Trivial answers


def _count_radius(setting: Setting) -> int:
    """Of the noisy number of edges: discrete Laplace noise with all of epsilon."""
    rate = setting.epsilon / setting.change
    return discrete_laplace_radius(rate, failure=setting.workload.beta)


def count_deviation(setting: Setting) -> float:
    """Of the noisy number of edges, with all of epsilon."""
    return LaplaceNoise(Fraction(setting.epsilon) / setting.change).standard_deviation


def _zero(setting: Setting) -> float:
    """All edges may lie in one cut."""
    return min(setting.edges, setting.sizes.most)


def _midpoint(setting: Setting) -> float:
    """A cut of p pairs holds between max(0, m - X + p) and min(m, p) edges; answer the middle."""
    return min(setting.edges, setting.pairs - setting.edges) / 2 + _count_radius(setting)


def _midpoint_typical(setting: Setting) -> float:
    """A cut between halves holds m/2 with variance m/4; of a dense graph, see the pairs missing."""
    m, pairs, share = setting.edges, setting.pairs, _halves(setting)
    middle = (min(m, share * pairs) + max(0.0, m - (1 - share) * pairs)) / 2
    spread = math.hypot(math.sqrt(min(m, pairs - m)) / 2, count_deviation(setting))
    return mean_absolute(spread, abs(middle - m * share))


def _density(setting: Setting) -> float:
    """The worst p: all edges in p = m pairs, or none in as many pairs as can be without."""
    m, pairs, most = setting.edges, setting.pairs, setting.sizes.most
    worst = max(min(m, most) * (1 - m / pairs), m / pairs * min(most, pairs - m))
    return worst + most / pairs * _count_radius(setting)


def _density_typical(setting: Setting) -> float:
    noise = _halves(setting) * count_deviation(setting)
    return mean_absolute(math.hypot(_density_deviation(setting), noise))


# Mechanisms


def _release(setting: Setting) -> float:
    """Twice `noise_cut_bound`: what `release_graph` keeps its default fit within.

    With mechanism="response"; where a part of epsilon goes to degrees, the bound is larger.
    """
    return 2 * noise_cut_bound(
        setting.distribution,
        shape_of(setting.n),
        symmetric=isinstance(setting.n, int),
        confidence=1 - setting.workload.beta,
    )


def _least_cut_excess(setting: Setting) -> float:
    """Of `least_cut` between two vertices of a graph without weights."""
    rate = setting.for_one().epsilon / 2
    return least_cut_excess(shape_of(setting.n)[0], rate, beta=setting.workload.beta)


def _least_cut_mean(setting: Setting) -> float:
    return shape_of(setting.n)[0] / (2 * math.sinh(setting.for_one().epsilon / 2))


def _halves_radius(setting: Setting) -> float:
    """Of two halves, for all cuts at once: see `Release.partition`, with mechanism="response"."""
    n = shape_of(setting.n)[0]
    sizes, pairs = Sizes(n // 2, n - n // 2, 0), (n // 2) * (n - n // 2)
    options = AnswerOptions(confidence=1 - FOR_EACH * setting.workload.beta, simultaneous=True)
    noise = NoiseSum.of([NoiseTerm(setting.distribution.law, 1.0, pairs)])
    return noise.radius(options.log_failures(1, sizes, Layout((n, n), symmetric=True)))


def _norm_typical(norm: str, setting: Setting) -> float:
    """Of the start: the density, or nothing where p is below 2."""
    start = terms_of(norm, parse_norm(norm)[1], setting.sizes, total_weight=setting.edges).weight
    return _first_hypothesis(setting) if start else _empty_hypothesis(setting)


_ANY_LINEAR = (_MIRROR, "gaussian", "laplace", "answer 0")
_FOR_VERTICES = ("gaussian", "laplace", "answer 0", "midpoint", "density only")


def mechanisms_for(setting: Setting) -> tuple[PlannedMechanism, ...]:
    """Those that suit the graph, can protect whom the setting names, and have formulas here."""
    if setting.protect.kind == "vertex":
        return tuple(each for each in MECHANISMS if each.method in _FOR_VERTICES)
    norms = norms_of(setting.sizes)
    suiting = {"", *norms, *([AUTO] if norms else [])}
    found = (each for each in MECHANISMS if each.norm in suiting and each.fits(setting))
    if not setting.workload.linear:
        return tuple(found)
    return tuple(
        each
        for each in found
        if each.cuts == LINEAR or (each.method in _ANY_LINEAR and each.calibration in ("", TIGHT))
    )


def _line(
    method: str, cuts: str, guaranteed: Error, typical: Error | None = None, **more: Any
) -> PlannedMechanism:
    return PlannedMechanism(
        method=method, cuts=cuts, guaranteed=guaranteed, typical=typical, **more
    )


def _learns(rule: str, calibration: str) -> PlannedMechanism:
    updates = _CONSTRUCTIONS[rule]
    from_nothing = calibration != TIGHT and rule == "frieze-kannan"
    return _line(
        rule,
        ADAPTIVE,
        lambda setting: learning_error(updates, setting, calibration),
        _empty_hypothesis if from_nothing else _first_hypothesis,
        calibration=calibration,
    )


def _descends(norm: str, calibration: str) -> PlannedMechanism:
    error = partial(mirror_descent_error, norm=norm, calibration=calibration)
    typical = None if norm == AUTO else partial(_norm_typical, norm)
    return _line(_MIRROR, ADAPTIVE, error, typical, calibration=calibration, norm=norm)


def _session(method: str, typical: Error, cuts: str = ADAPTIVE) -> PlannedMechanism:
    error = partial(guaranteed_error, method, adaptive=cuts != FIXED)
    return _line(method, cuts, error, typical)


# Of public lists: the guarantee is for k of them that are chosen before.
_listed = partial(_line, offline=True)
_matrix, _trivial = partial(_listed, fits=offline.lists_fit), partial(_line, trivial=True)

MECHANISMS = (
    *(_learns(rule, TIGHT) for rule in _CONSTRUCTIONS),
    *(_descends(norm, TIGHT) for norm in NORMS),
    replace(_session(_MEDIAN, _first_hypothesis), fits=offline.median_fits),
    _session("gaussian", _gaussian_typical),
    _session("laplace", _laplace_typical),
    _session("binary", _response_typical, FIXED),
    _session("binary", _response_typical, ALL),
    _line("release", ALL, _release),
    _line(
        "least cut",
        LEAST,
        _least_cut_excess,
        _least_cut_mean,
        fits=lambda at: not isinstance(at.n, tuple),
    ),
    _line("partition", HALVES, _halves_radius, fits=lambda at: isinstance(at.n, int)),
    *(_learns(rule, paper) for paper in _PAPERS for rule in _CONSTRUCTIONS),
    _descends(AUTO, "jt12"),
    _listed(
        ANSWERS,
        FIXED,
        offline.few_answers_error,
        offline.few_answers_typical,
        fits=offline.few_answers_fit,
    ),
    _matrix("offline MW", FIXED, offline.listed_error, _first_hypothesis),
    _listed("offline MW", LINEAR, offline.linear_error, fits=offline.linear_fits),
    _matrix("offline MW released", FIXED, offline.released_error, _first_hypothesis),
    _listed("offline median", FIXED, offline.median_offline_error, fits=offline.median_fits),
    *(
        _matrix(f"game {player}", FIXED, partial(offline.game_error, player), monotone=False)
        for player in offline.LEARNING
    ),
    _listed("net", FIXED, offline.net_error, fits=offline.net_fits),
    _listed("sensing", LINEAR, offline.sensing_error, fits=offline.sensing_fits),
    _trivial("answer 0", ALL, _zero, _empty_hypothesis),
    _trivial("midpoint", ALL, _midpoint, _midpoint_typical),
    _trivial("density only", ALL, _density, _density_typical),
)


# Cuts between two small disjoint sets of one size, where a formula tells their expected errors.
# Noise on answers does not depend on the sets, noise on entries grows with the root of the pairs
# between them, and trivial answers are off by how much a graph of so many edges, placed at random,
# differs from them (the hypergeometric law).


def held(setting: Setting, size: int) -> float:
    """What a cut between two such sets holds on average, in edges."""
    return setting.edges * size * size / setting.pairs


def _density_of_sets(setting: Setting, size: int) -> float:
    share = size * size / setting.pairs
    varies = held(setting, size) * (1 - share) * (1 - setting.edges / setting.pairs)
    return mean_absolute(math.hypot(math.sqrt(varies), share * count_deviation(setting)))


SET_SIZE_ERRORS: Mapping[str, Callable[[Setting, int], float]] = {
    "gaussian": lambda setting, _: _gaussian_typical(setting),
    "laplace": lambda setting, _: _laplace_typical(setting),
    "binary": lambda setting, size: _response_typical(setting, size * size),
    "answer 0": held,
    "density only": _density_of_sets,
}
