"""How a release spends its budget: on entries alone, or on degrees too."""

import math
from collections.abc import Sequence
from fractions import Fraction

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.fits.base import FitMethod
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.measurements.base import Measurement, Measurements
from graphcuts_dp.measurements.blocks import LocalBlocks
from graphcuts_dp.measurements.degrees import measure_degrees
from graphcuts_dp.measurements.entries import MakeBlocks, distribution_for, randomized_response
from graphcuts_dp.measurements.groups import measure_groups
from graphcuts_dp.measurements.noisy_groups import NoisyGroups, Stage
from graphcuts_dp.measurements.steps import check_sums
from graphcuts_dp.measurements.total import measure_total
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import (
    SMALLEST_EPSILON,
    PrivacyGuarantee,
    exact_epsilon,
    hidden_change,
)
from graphcuts_dp.privacy.noises import noise_distribution
from graphcuts_dp.release.group_shares import GroupPlan, telling

MECHANISMS = ("auto", "response", "degrees+response")
_CHOICE_SHARE = Fraction(1, 50)  # of epsilon, for choosing between the two
# Tuned on planted graphs, n = 400 and 1000, densities .1 to .8, with bench_fit_quality.py: where
# they # change the choice the worst cut is 0.6 to 1.3 times, cuts between blocks 0.1 to 1.1 times
# as large.
_SEEN_BY_ALL = 1.5  # signal over the noise's edge, above which entries show blocks
_SEEN_BY_REST = 3.05  # likewise with the entries' part of a split budget
_DENSE = 3.0  # missing neighbours count for so much less than neighbours
_CLOSE = 0.1  # of the noise's edge: how well the mean degree must be known for the choice
_FINE = 1.5  # entries give degrees well by themselves when their error is below this many times


def measure(
    graph: AnyGraph,
    *,
    epsilon: float,
    noise: str,
    mechanism: str,
    share: float | None,
    source: EntropySource,
    make_blocks: MakeBlocks = LocalBlocks.from_pairs,
    groups: GroupPlan | None = None,
) -> Measurements:
    """Draw all noise of a release.

    Args:
        graph: the private graph.
        epsilon: for everything together.
        noise: distribution of the entries.
        mechanism: "response", "degrees+response", or "auto" to choose from a noisy total.
        share: of what is left of epsilon after the choice, for the degrees; None for
            `degree_share`.
        source: where the noise comes from.
        make_blocks: see `randomized_response`.
        groups: what is bought of public groups; see `group_plan`.

    Raises:
        ParameterError: an option out of range; weights without a cap with degrees; parts of
            epsilon below the least. Nothing is drawn before.
        BudgetError: what was drawn costs more than epsilon.

    Returns:
        The measurements in the order in which they were bought, with the guarantee for all.

    Guarantee: epsilon-DP. The parts are epsilon_k-DP (`measure_groups`, `measure_total`,
    `measure_degrees`, `randomized_response`), their epsilons are exact fractions that add up to
    epsilon, and each is chosen from the results of those before it: sequential composition, which
    holds for adaptive choices. Neighbours are the same for all parts. Source: DR14 Theorem 3.16.
    """
    # Refuses what the last part would refuse.
    least_distribution(graph, noise, epsilon, mechanism, share, groups)
    rest = exact_epsilon(epsilon)
    distribution = distribution_for(graph, noise, epsilon)
    bought: list[Measurement] = []
    if groups is not None:
        bought += _groups_bought(graph, groups, rest, noise, source)
        rest *= 1 - groups.first - (groups.second if bought[1:] else 0)
        if bought[1:]:  # they tell something
            share = float(groups.degrees) if share is None else share
            mechanism = _beside_groups(mechanism, graph, noise, rest, share)
    mechanism = _possible(mechanism, distribution, rest, _share(graph, share))
    if mechanism == "auto":
        # Chosen as if there were no groups, so that groups that tell nothing change nothing.
        alone = exact_epsilon(epsilon) * (1 - _CHOICE_SHARE)
        total = _total_of_groups(bought, graph, noise, alone)
        if total is None:
            spent = rest * _CHOICE_SHARE
            measured = measure_total(graph, distribution, epsilon=spent, source=source)
            bought.append(measured)
            rest -= spent
            total = measured.value
        mechanism = _better(total, graph, noise, alone, share)
    if mechanism == "degrees+response":
        spent = rest * _share(graph, share)
        bought.append(measure_degrees(graph, distribution, epsilon=spent, source=source))
        rest -= spent
    distribution = noise_distribution(noise, epsilon=rest, weight_cap=distribution.weight_cap)
    bought.append(randomized_response(graph, distribution, source, make_blocks))
    spent = sum((part.epsilon for part in bought), Fraction(0))
    cost = stated_cost(Cost.of_pure(spent), epsilon=epsilon)
    parts = tuple((part.name, float(part.epsilon)) for part in bought) if bought[1:] else ()
    guarantee = promise(graph, cost, seed=source.seed, parts=parts, groups=groups is not None)
    return Measurements(tuple(bought), guarantee)


def _groups_bought(
    graph: AnyGraph, groups: GroupPlan, epsilon: Fraction, noise: str, source: EntropySource
) -> list[Measurement]:
    """A first look at all sums between groups, and a second one where it is worth it."""
    whole = noise == "discrete-laplace"
    parts: tuple[tuple[Stage, Fraction], ...]
    parts = ("groups", groups.first), ("groups again", groups.second)
    bought: list[Measurement] = []
    for name, part in parts:
        measured = measure_groups(
            graph, groups.sides, epsilon=epsilon * part, whole=whole, name=name, source=source
        )
        bought.append(measured)
        if not telling(measured, graph.weight_cap or 1.0):
            break
    return bought


def promise(
    graph: AnyGraph,
    cost: Cost,
    *,
    seed: int | None,
    parts: tuple[tuple[str, float], ...] = (),
    groups: bool = False,
) -> PrivacyGuarantee:
    """What a release promises. Reads the schema of the graph only.

    Args:
        graph: the private graph.
        cost: of everything together.
        seed: of the noise, or None.
        parts: see `PrivacyGuarantee.parts`.
        groups: whether public groups come out with it.
    """
    public = Universe.of(graph).public + (" and the groups" if groups else "")
    if graph.weighted and graph.weight_cap is not None:
        public += " and the weight cap"
    return PrivacyGuarantee(
        epsilon=cost.epsilon,
        neighbours=hidden_change(weighted=graph.weighted, weight_cap=graph.weight_cap),
        public=public,
        seed=seed,
        parts=parts,
    )


def degree_share(vertices: int) -> Fraction:
    """Which part of epsilon noisy degrees deserve, from the number of vertices: 2/(2 + n^(1/4)).

    With a share t, errors of the degrees move the worst cut by about n/(t epsilon), errors of the
    bits by about a quarter of n^(3/2)/((1-t) epsilon) after the fit; the sum is least at
    t/(1-t) = 2 n^(-1/4). A tenth to a third for 10^2 to 10^6 vertices.
    """
    return Fraction(2 / (2 + vertices**0.25)).limit_denominator(1000)


def mechanism_for(method: FitMethod | None, mechanism: str, share: float | None) -> str:
    """The mechanism that a fit can use: "response" for "auto" with fits that know no degrees.

    Raises:
        ParameterError: an option out of range, or degrees for a fit that does not use them.
    """
    check_mechanism(mechanism, share)
    if method is not None and method.uses_degrees:
        return mechanism
    if mechanism == "degrees+response" or share is not None:
        raise ParameterError("noisy degrees are used by fit='maximum-entropy' only")
    return "response"


def check_mechanism(mechanism: str, share: float | None) -> None:
    """Check options before anything is spent.

    Raises:
        ParameterError: an unknown mechanism, or a share out of range or without degrees.
    """
    if mechanism not in MECHANISMS:
        raise ParameterError(
            f"unknown mechanism {mechanism!r}; choose one of {', '.join(MECHANISMS)}"
        )
    if share is not None:
        if mechanism == "response":
            raise ParameterError("degree_share is for mechanism='degrees+response'")
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
            raise ParameterError("degree_share must lie between 0 and 1, for example 0.3")


def _share(graph: AnyGraph, share: float | None) -> Fraction:
    if share is not None:
        return Fraction(share).limit_denominator(10**6)
    return degree_share(max(graph.shape))


def _possible(
    mechanism: str, distribution: NoiseDistribution, epsilon: Fraction, share: Fraction
) -> str:
    """The mechanism, or "response" in place of "auto" where the budget cannot be split.

    Raises:
        ParameterError: degrees are asked for, and cannot be had.
    """
    least = epsilon * min(_CHOICE_SHARE, (1 - _CHOICE_SHARE) * min(share, 1 - share))
    if mechanism == "response":
        return mechanism
    try:
        check_sums(distribution)
        if least < SMALLEST_EPSILON:
            raise ParameterError(
                f"a part of epsilon would be below {SMALLEST_EPSILON:g}: choose "
                "mechanism='response', or another degree_share"
            )
    except ParameterError:
        if mechanism == "degrees+response":
            raise
        return "response"
    return mechanism


def least_distribution(
    graph: AnyGraph,
    noise: str,
    epsilon: float,
    mechanism: str,
    share: float | None,
    groups: GroupPlan | None = None,
) -> NoiseDistribution:
    """The distribution of the entries if as much of epsilon as possible goes elsewhere.

    From options and the schema alone, for telling beforehand what error to expect.

    Raises:
        ParameterError: as `respond`; parts of epsilon below the least.
    """
    check_mechanism(mechanism, share)
    distribution = distribution_for(graph, noise, epsilon)
    rest, part = exact_epsilon(epsilon), _share(graph, share)
    if groups is not None:
        if rest * groups.first < SMALLEST_EPSILON:
            raise ParameterError(
                f"a part of epsilon would be below {SMALLEST_EPSILON:g}: leave the groups out"
            )
        rest *= 1 - groups.first - groups.second
        part = max(part, groups.degrees) if share is None else part
        distribution = noise_distribution(noise, epsilon=rest, weight_cap=graph.weight_cap)
    mechanism = _possible(mechanism, distribution, rest, part)
    if mechanism == "response":
        return distribution
    spent = _CHOICE_SHARE if mechanism == "auto" else Fraction(0)
    return noise_distribution(
        noise, epsilon=rest * (1 - spent) * (1 - part), weight_cap=graph.weight_cap
    )


def _beside_groups(
    mechanism: str, graph: AnyGraph, noise: str, epsilon: Fraction, share: float
) -> str:
    """The mechanism where groups show the blocks: degrees help, unless entries give them well."""
    if mechanism != "auto" or graph.weight_cap is None:
        return mechanism
    return "response" if _fine(graph, noise, epsilon, share) else "degrees+response"


def _fine(graph: AnyGraph, noise: str, epsilon: Fraction, share: float | None) -> bool:
    """Whether sums of entries give degrees nearly as well as degrees themselves."""
    alone = noise_distribution(noise, epsilon=epsilon, weight_cap=graph.weight_cap)
    spread = alone.standard_deviation * _edge(graph)
    of_degrees = (
        math.sqrt(2) * 2 * (graph.weight_cap or 1.0) / float(epsilon * _share(graph, share))
    )
    return spread < _FINE * of_degrees


def _edge(graph: AnyGraph) -> float:
    rows, columns = graph.shape
    return (math.sqrt(rows) + math.sqrt(columns)) / 2


def _total_of_groups(
    bought: Sequence[Measurement], graph: AnyGraph, noise: str, epsilon: Fraction
) -> float | None:
    """Sum of the whole matrix from sums between groups, where these tell it well enough.

    That is, the mean degree up to a tenth of what the thresholds of `_better` are multiples of.
    """
    looks = [each for each in bought if isinstance(each, NoisyGroups)]
    if not looks:
        return None
    twice = 2 if looks[0].symmetric else 1
    deviation = twice * math.sqrt(len(looks[0].values) * looks[0].law.variance)
    entry = noise_distribution(noise, epsilon=epsilon, weight_cap=graph.weight_cap)
    close = _CLOSE * entry.standard_deviation * _edge(graph)
    if deviation > close * math.sqrt(math.prod(graph.shape)):
        return None
    return twice * looks[0].total


def _better(
    total: float, graph: AnyGraph, noise: str, epsilon: Fraction, share: float | None
) -> str:
    """The mechanism whose synthetic graph will be better, from a noisy total.

    In a graph of average degree d, blocks of alike vertices show as eigenvalues of up to about d,
    and of up to (n - d)/(k - 1) when k blocks are nearly full; noise of deviation s hides those
    below s sqrt(n). Where only the whole budget makes entries good
    enough to show blocks, degrees cost too much. They also do where epsilon is so large that sums
    of entries tell degrees nearly as well. Elsewhere they are cheap and help. The thresholds are
    measured ones.
    """
    if _fine(graph, noise, epsilon, share):
        return "response"
    full = math.sqrt(math.prod(graph.shape))
    cap = graph.weight_cap or 1.0
    degree = total / full
    signal = min(degree, (cap * full - degree) / _DENSE)
    spent = epsilon * _share(graph, share)
    alone, beside = (
        noise_distribution(noise, epsilon=part, weight_cap=graph.weight_cap).standard_deviation
        * _edge(graph)
        for part in (epsilon, epsilon - spent)
    )
    shown_by_all_alone = _SEEN_BY_ALL * alone <= signal < _SEEN_BY_REST * beside
    return "response" if shown_by_all_alone else "degrees+response"
