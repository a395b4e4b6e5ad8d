"""How a release spends its budget: on entries alone, or on degrees too."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.measurement import (
    Bought,
    CellSums,
    Degrees,
    Measurement,
    Measurements,
    measured_by,
)
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.graph.adjacency import AnyGraph, DirectedGraph
from graphcuts_dp.measure.cells import measure_groups
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.measure.statistics import check_sums, measure_degrees, measure_total
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.guarantee import (
    EDGE,
    SMALLEST_EPSILON,
    PrivacyGuarantee,
    Protect,
    exact_epsilon,
    hidden_change,
)
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.release.choice import (
    EARLY_SHARE,
    MOST_BESIDE_GROUPS,
    TOTAL_SHARE,
    Prospect,
    Response,
)
from graphcuts_dp.release.group_shares import GroupPlan, telling
from graphcuts_dp.results.storage import ANSWERS

_CLOSE = 0.1  # of the noise's edge: how well the mean degree must be known for the choice


def measure(
    graph: AnyGraph,
    *,
    epsilon: float | Fraction,
    noise: str,
    response: Response,
    source: EntropySource,
    groups: GroupPlan | None = None,
    choice: type[Prospect] = Prospect,
) -> Measurements:
    """Draw all noise of a release.

    Args:
        graph: the private graph.
        epsilon: for everything together.
        noise: distribution of the entries.
        response: "auto" is chosen from a noisy total and, where that leaves it open, early noisy
            degrees (`Prospect`); the share is of what is left of epsilon after the choice.
        source: where the noise comes from.
        groups: what is bought of public groups; see `group_plan`.
        choice: what "auto" chooses by.

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
    least_distribution(graph, noise, epsilon, response, groups)
    rest = exact_epsilon(epsilon)
    distribution = distribution_for(graph, noise, epsilon)
    bought: list[Bought] = []

    def degrees(part: Fraction, *, early: bool = False) -> Measurement[Degrees]:
        noisy = measure_degrees(
            graph, distribution, epsilon=rest * part, source=source, early=early
        )
        bought.append(noisy)
        return noisy

    mechanism = response.mechanism
    prospect = choice.of(graph, noise, response)
    if groups is not None:
        bought += _groups_bought(graph, groups, rest, noise, source)
        rest *= 1 - groups.first - (groups.second if bought[1:] else 0)
        if bought[1:]:  # they tell something
            prospect = _beside_groups(prospect, groups)
            if _possible(mechanism, distribution, rest, prospect) == "auto":
                fine = prospect.entries_are_fine(rest)
                mechanism = "response" if fine else "degrees+response"
    mechanism = _possible(mechanism, distribution, rest, prospect)
    part: Fraction | None = prospect.beside if mechanism == "degrees+response" else Fraction(0)
    if mechanism == "auto":
        # Chosen as if there were no groups, so that groups that tell nothing change nothing.
        alone = exact_epsilon(epsilon) * (1 - TOTAL_SHARE)
        total = _total_of_groups(bought, prospect, alone)
        if total is None:
            spent = rest * TOTAL_SHARE
            measured = measure_total(graph, distribution, epsilon=spent, source=source)
            bought.append(measured)
            rest -= spent
            total = measured.total
        part = prospect.share_from_total(total, alone)
        if part is None:
            early = degrees(EARLY_SHARE, early=True)
            rest -= rest * EARLY_SHARE
            part = prospect.share_from_degrees(early, total, alone * (1 - EARLY_SHARE))
    if part:
        degrees(part)
        rest -= rest * part
    distribution = noise_distribution(noise, epsilon=rest, weight_cap=distribution.weight_cap)
    bought.append(randomized_response(graph, distribution, source))
    spent = sum((part.epsilon for part in bought), Fraction(0))
    cost = stated_cost(Cost.of_pure(spent), epsilon=epsilon)
    parts = tuple((part.name, float(part.epsilon)) for part in bought) if bought[1:] else ()
    guarantee = promise(graph, cost, seed=source.seed, parts=parts, groups=groups is not None)
    return Measurements(tuple(bought), guarantee)


def _groups_bought(
    graph: AnyGraph, groups: GroupPlan, epsilon: Fraction, noise: str, source: EntropySource
) -> list[Bought]:
    """A first look at all sums between groups, and a second one where it is worth it."""
    whole = noise == "discrete-laplace"
    parts = ("groups", groups.first), ("groups again", groups.second)
    bought: list[Bought] = []
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
    protect: Protect = EDGE,
    *,
    seed: int | None = None,
    parts: tuple[tuple[str, float], ...] = (),
    groups: bool = False,
) -> PrivacyGuarantee:
    """What a release promises. Reads the schema of the graph only.

    Args:
        graph: the private graph, or one of its schema.
        cost: of everything together.
        protect: whom it protects.
        seed: of the noise, or None.
        parts: see `PrivacyGuarantee.parts`.
        groups: whether public groups come out with it.
    """
    public = Universe.of(graph).public + (" and the groups" if groups else "")
    if graph.weighted and graph.weight_cap is not None:
        public += " and the weight cap"
    if protect.degree_bound is not None:
        public += " and the degree bound"
    step = PrivacyGuarantee(
        epsilon=cost.epsilon,
        delta=cost.delta,
        neighbours=hidden_change(
            weighted=graph.weighted,
            weight_cap=graph.weight_cap,
            directed=isinstance(graph, DirectedGraph),
        ),
        public=public,
        seed=seed,
        parts=parts,
    )
    return protect.promise(step, cost)


def _possible(
    mechanism: str, distribution: NoiseDistribution, epsilon: Fraction, prospect: Prospect
) -> str:
    """The mechanism, or "response" in place of "auto" where the budget cannot or need not be split.

    Raises:
        ParameterError: degrees are asked for, and cannot be had.
    """
    if mechanism == "response":
        return mechanism
    least = epsilon * _least_part(mechanism, prospect)
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
    if mechanism == "auto" and prospect.share is None and prospect.entries_are_fine(epsilon):
        return "response"
    return mechanism


def _least_part(mechanism: str, prospect: Prospect) -> Fraction:
    """Of epsilon, the least that any measurement may get."""
    if mechanism == "degrees+response":
        return min(prospect.beside, 1 - prospect.beside)
    left = (1 - TOTAL_SHARE) * (1 - EARLY_SHARE)
    parts = (prospect.beside, 1 - prospect.beside, prospect.most, 1 - prospect.most)
    return min(TOTAL_SHARE, (1 - TOTAL_SHARE) * EARLY_SHARE, left * min(parts))


def least_distribution(
    graph: AnyGraph,
    noise: str,
    epsilon: float | Fraction,
    response: Response,
    groups: GroupPlan | None = None,
) -> NoiseDistribution:
    """The distribution of the entries if as much of epsilon as possible goes elsewhere.

    From options and the schema alone, for telling beforehand what error to expect.

    Raises:
        ParameterError: as `respond`; parts of epsilon below the least.
    """
    distribution = distribution_for(graph, noise, epsilon)
    rest = exact_epsilon(epsilon)
    prospect = Prospect.of(graph, noise, response)
    if groups is not None:
        if rest * groups.first < SMALLEST_EPSILON:
            raise ParameterError(
                f"a part of epsilon would be below {SMALLEST_EPSILON:g}: leave the groups out"
            )
        rest *= 1 - groups.first - groups.second
        distribution = noise_distribution(noise, epsilon=rest, weight_cap=graph.weight_cap)
    prospects = [prospect] if groups is None else [prospect, _beside_groups(prospect, groups)]
    least = min(_least_left(response.mechanism, distribution, rest, each) for each in prospects)
    if least == 1:
        return distribution
    return noise_distribution(noise, epsilon=rest * least, weight_cap=graph.weight_cap)


def _least_left(
    mechanism: str, distribution: NoiseDistribution, epsilon: Fraction, prospect: Prospect
) -> Fraction:
    """Of epsilon, the least that entries may get.

    Raises:
        ParameterError: as `_possible`.
    """
    mechanism = _possible(mechanism, distribution, epsilon, prospect)
    if mechanism == "response":
        return Fraction(1)
    if mechanism == "degrees+response":
        return 1 - prospect.beside
    left = (1 - TOTAL_SHARE) * (1 - EARLY_SHARE)
    return left * (1 - prospect.most)


def _beside_groups(prospect: Prospect, groups: GroupPlan) -> Prospect:
    """The prospect where groups show the blocks: degrees are worth more then.

    For a synthetic graph alone nearly all: entries hardly show what groups leave open. They are
    what `answer` needs for cuts that part groups, so that the other workload keeps more of them.
    """
    if prospect.share is not None:
        return prospect
    share = groups.degrees
    if prospect.workload != ANSWERS:
        share = max(MOST_BESIDE_GROUPS, share)
    return replace(prospect, share=share)


def _total_of_groups(
    bought: Sequence[Bought], prospect: Prospect, epsilon: Fraction
) -> float | None:
    """Sum of the whole matrix from sums between groups, where these tell it well enough.

    That is, so well that three standard deviations more or less make the same choice; and where
    that choice is left to early degrees, which look at the total again, the mean degree up to a
    tenth of what the thresholds are multiples of.
    """
    looks = measured_by(CellSums, bought)
    if not looks:
        return None
    twice = 2 if looks[0].map.tree.symmetric else 1
    deviation = twice * math.sqrt(len(looks[0].values[0]) * looks[0].law.variance)
    total = twice * looks[0].total
    choices = {prospect.share_from_total(total + far * deviation, epsilon) for far in range(-3, 4)}
    close = deviation <= _CLOSE * prospect.edge(epsilon) * math.sqrt(math.prod(prospect.shape))
    return total if len(choices) == 1 and (close or None not in choices) else None
