"""How a release spends its budget: on entries alone, or on degrees too."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.measurements.blocks import LocalBlocks
from graphcuts_dp.measurements.degrees import (
    check_sums,
    degree_share,
    respond_degrees,
    respond_total,
)
from graphcuts_dp.measurements.entries import (
    MakeBlocks,
    guarantee_of,
    law_for,
    randomized_response,
)
from graphcuts_dp.measurements.noisy_degrees import NoisyDegrees, NoisyTotal
from graphcuts_dp.measurements.noisy_matrix import NoisyMatrix
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import SMALLEST_EPSILON, PrivacyGuarantee, exact_epsilon
from graphcuts_dp.privacy.laws import NoiseLaw, noise_law

MECHANISMS = ("auto", "response", "degrees+response")
_TOTAL_SHARE = Fraction(1, 50)  # of epsilon, for choosing between the two
_SEEN_BY_ALL = 1.5  # signal over the noise's edge, above which entries show blocks
_SEEN_BY_REST = 3.05  # likewise with the entries' part of a split budget
_DENSE = 3.0  # missing neighbours count for so much less than neighbours
_FINE = 1.5  # entries give degrees well by themselves when their error is below this many times


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class NoisyData:
    """All that a release knows of the private graph.

    Attributes:
        noisy: the noisy matrix.
        degrees: noisy degrees; None if the whole budget went into the matrix.
        total: that the choice of the mechanism was made from, or None.
        guarantee: for all of them together.
    """

    noisy: NoisyMatrix
    degrees: NoisyDegrees | None
    total: NoisyTotal | None
    guarantee: PrivacyGuarantee


def respond(
    graph: AnyGraph,
    *,
    epsilon: float,
    noise: str,
    mechanism: str,
    share: float | None,
    source: EntropySource,
    make_blocks: MakeBlocks = LocalBlocks.from_pairs,
) -> NoisyData:
    """Draw all noise of a release.

    Args:
        graph: the private graph.
        epsilon: for everything together.
        noise: law of the entries.
        mechanism: "response", "degrees+response", or "auto" to choose from a noisy total.
        share: of what is left of epsilon after the choice, for the degrees; None for
            `degree_share`.
        source: where the noise comes from.
        make_blocks: see `randomized_response`.

    Raises:
        ParameterError: an option out of range; weights without a cap with degrees; parts of
            epsilon below the least. Nothing is drawn before.

    Guarantee: epsilon-DP. The parts are epsilon_k-DP (`respond_total`, `respond_degrees`,
    `randomized_response`), their epsilons are exact fractions that add up to epsilon, and each is
    chosen from the results of those before it: sequential composition, which holds for adaptive
    choices. Neighbours are the same for all parts. Source: DR14 Theorem 3.16.
    """
    check_mechanism(mechanism, share)
    rest = exact_epsilon(epsilon)
    law = law_for(graph, noise, epsilon)
    total = degrees = None
    parts: list[tuple[str, Fraction]] = []
    mechanism = _possible(mechanism, law, rest, _share(graph, share))
    if mechanism == "auto":
        spent = rest * _TOTAL_SHARE
        total = respond_total(graph, law, epsilon=spent, source=source)
        parts.append(("total", spent))
        rest -= spent
        mechanism = _better(total, graph, noise, rest, share)
    if mechanism == "degrees+response":
        spent = rest * _share(graph, share)
        degrees = respond_degrees(graph, law, epsilon=spent, source=source)
        parts.append(("degrees", spent))
        rest -= spent
    law = noise_law(noise, epsilon=rest, weight_cap=law.weight_cap)
    noisy = randomized_response(graph, law, source, make_blocks)
    guarantee = guarantee_of(law, graph, source.seed, parts)
    return NoisyData(noisy=noisy, degrees=degrees, total=total, guarantee=guarantee)


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
    return degree_share(max(_shape(graph)))


def _possible(mechanism: str, law: NoiseLaw, epsilon: Fraction, share: Fraction) -> str:
    """The mechanism, or "response" in place of "auto" where the budget cannot be split.

    Raises:
        ParameterError: degrees are asked for, and cannot be had.
    """
    least = epsilon * min(_TOTAL_SHARE, (1 - _TOTAL_SHARE) * min(share, 1 - share))
    if mechanism == "response":
        return mechanism
    try:
        check_sums(law)
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


def least_law(
    graph: AnyGraph, noise: str, epsilon: float, mechanism: str, share: float | None
) -> NoiseLaw:
    """The law of the entries if as much of epsilon as possible goes elsewhere.

    From options and the schema alone, for telling beforehand what error to expect.

    Raises:
        ParameterError: as `respond`.
    """
    check_mechanism(mechanism, share)
    law = law_for(graph, noise, epsilon)
    rest, part = exact_epsilon(epsilon), _share(graph, share)
    mechanism = _possible(mechanism, law, rest, part)
    if mechanism == "response":
        return law
    spent = _TOTAL_SHARE if mechanism == "auto" else Fraction(0)
    return noise_law(noise, epsilon=rest * (1 - spent) * (1 - part), weight_cap=graph.weight_cap)


def _better(
    total: NoisyTotal, graph: AnyGraph, noise: str, epsilon: Fraction, share: float | None
) -> str:
    """The mechanism whose synthetic graph will be better, from a noisy total.

    In a graph of average degree d, blocks of alike vertices show as eigenvalues of up to about d,
    and of up to (n - d)/(k - 1) when k blocks are nearly full; noise of deviation s hides those
    below s sqrt(n). Where only the whole budget makes entries good
    enough to show blocks, degrees cost too much. They also do where epsilon is so large that sums
    of entries tell degrees nearly as well. Elsewhere they are cheap and help. The thresholds are
    measured ones (see the benchmark of fits).
    """
    rows, columns = _shape(graph)
    edge = (math.sqrt(rows) + math.sqrt(columns)) / 2
    full = math.sqrt(rows * columns)
    cap = graph.weight_cap or 1.0
    degree = total.value / full
    signal = min(degree, (cap * full - degree) / _DENSE)
    spent = epsilon * _share(graph, share)
    alone, beside = (
        noise_law(noise, epsilon=part, weight_cap=graph.weight_cap).standard_deviation * edge
        for part in (epsilon, epsilon - spent)
    )
    if alone < _FINE * math.sqrt(2) * 2 * cap / float(spent):
        return "response"
    shown_by_all_alone = _SEEN_BY_ALL * alone <= signal < _SEEN_BY_REST * beside
    return "response" if shown_by_all_alone else "degrees+response"


def _shape(graph: AnyGraph) -> tuple[int, int]:
    return (graph.n, graph.n) if isinstance(graph, Graph) else graph.shape
