"""Forecast what a synthetic graph keeps, before anything is spent, from public numbers alone.

Randomised response adds noise of deviation s = 1/(2 sinh(epsilon/2)) to each entry of the adjacency
matrix; the noise alone has eigenvalues in (-2 s sqrt(n), 2 s sqrt(n)).

- Communities are eigenvalues of the adjacency matrix, of at most the average degree d. With the
  noise, an eigenvalue leaves that range only if it is above s sqrt(n) (Baik, Ben Arous, Péché
  2005): no method that looks at eigenvalues sees a weaker one. Releases kept planted communities
  whose eigenvalues were above `SHOWN` = 1.5 times that. For a bipartite graph, d stands for
  m/sqrt(n1 n2), and sqrt(n) for (sqrt(n1) + sqrt(n2))/2; for a directed one, d is the average
  number of arcs that leave a vertex.
- Single edges: if m of N pairs are edges, the odds that a pair is one are m/(N - m) beforehand, and
  at most e^epsilon times that after its response. So single edges show only if epsilon is above
  ln((N - m)/m).
- Degrees are measured with discrete Laplace noise of scale 2/epsilon, or a few times that if they
  share epsilon with the entries.

A sparse release spends the share f of epsilon on kept edges. A pair without weight passes the
threshold T with probability e^(-f epsilon T)/(1 + e^(-f epsilon)), and T is chosen so that false
edges are a tenth of the m edges: about ln(10 n^2/(2 m))/(f epsilon). Edges that weigh more are kept
with their noise, edges well below are not. If edges are kept, degrees have about a fifth of epsilon
and errors of 2/(.2 epsilon); otherwise degrees have all of it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

from graphcuts_dp.estimate.kept_edges import FALSE_SHARE
from graphcuts_dp.estimate.worst_cut_errors import expected_worst_cut
from graphcuts_dp.learn.detectability import (
    SHOWN,
    difference_needed,
    epsilon_needed,
    sqrt_and_degree_per_edge,
)
from graphcuts_dp.learn.sizes import Size, pairs_of, shape_of
from graphcuts_dp.learn.workload import Setting
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.synth.budget_plans import DEGREES, KEPT_EDGES, typical_runs

GROUPS = 8  # equal groups for which a forecast states the difference needed, beside halves
Kept = Literal["communities", "strong communities", "degrees", "nothing"]


@final
@dataclass(frozen=True, kw_only=True)
class SparseForecast:
    """Forecast of `release_graph` with mechanism "sparse".

    Attributes:
        threshold: about the weight from which edges are kept, as a multiple of the largest change
            of a weight between neighbours: of the maximum weight if there is one, else of 1.
        degree_error: mean absolute error of a degree if edges are kept.
        degree_error_alone: the same if no edges are kept.
        beats_matrix: whether the noise of all pairs across the worst cut weighs more than all edges
            of weight 1. If so, any noisy matrix has a larger error than an empty graph.
    """

    threshold: float
    degree_error: float
    degree_error_alone: float
    beats_matrix: bool

    def __str__(self) -> str:
        text = (
            f"keeps edges that weigh more than about {self.threshold:,.3g} (times the maximum "
            f"weight, if there is one), degrees up to {self.degree_error:,.3g}, or up to "
            f"{self.degree_error_alone:,.3g} where no edges are so heavy"
        )
        if self.beats_matrix:
            text += "; with edges of weight 1 noise on all pairs would weigh more than the graph"
        return text


def sparse_forecast(setting: Setting) -> SparseForecast:
    """Return the forecast of a sparse release of this setting. Reads no data.

    Args:
        setting: the public numbers; `queries`, `delta` and `beta` do not matter.
    """
    epsilon, edges = setting.for_one().epsilon, max(setting.edges, 1.0)  # epsilon of one edge
    false_edges = FALSE_SHARE * edges
    # The plan as it runs if edges are kept, and if none are.
    with_edges, without_edges = typical_runs(Fraction(epsilon))
    kept_share = float(with_edges.amounts[KEPT_EDGES])
    threshold = math.log(max(setting.pairs / false_edges, 1.0)) / kept_share
    # The worst cut of a matrix of independent noises is about .4 deviations n^1.5, N = n^2/2.
    worst = 0.4 / (2 * math.sinh(epsilon / 2)) * (2 * setting.pairs) ** 0.75
    return SparseForecast(
        threshold=threshold,
        degree_error=2 / float(with_edges.amounts[DEGREES]),
        degree_error_alone=2 / float(without_edges.amounts[DEGREES]),
        beats_matrix=worst > edges,
    )


@final
@dataclass(frozen=True, kw_only=True)
class ResponseForecast:
    """Forecast of `release_graph` with mechanism "randomized-response".

    Attributes:
        difference_of_halves: least p - q at which two equal groups show, for the probability p of
            an edge within a group and q between groups; see `difference_needed`. Above 1 no groups
            show.
        difference_of_groups: the same for `GROUPS` equal groups.
        degree_error: standard deviation of a degree.
        worst_cut_error: expected error of the worst cut, before the fit.
    """

    difference_of_halves: float
    difference_of_groups: float
    degree_error: float
    worst_cut_error: float

    def __str__(self) -> str:
        return (
            "keeps communities whose density within is above that between them by "
            f"{_difference(self.difference_of_halves)} for two halves, by "
            f"{_difference(self.difference_of_groups)} for {GROUPS} equal groups; errors are about "
            f"{self.degree_error:,.3g} for a degree, {self.worst_cut_error:,.3g} for the worst cut"
        )


def response_forecast(
    n: Size, distribution: NoiseDistribution, *, edges: float
) -> ResponseForecast:
    """Return what a noisy matrix alone will keep. Reads no data.

    An edge of a planted partition is itself random. Its variance p (1 - p), for the density p,
    hides groups as that of the noise does, and is added to it.

    Args:
        n: size of the graph.
        distribution: of the noise of an entry.
        edges: a guess of the number of edges.
    """
    shape, deviation = shape_of(n), distribution.standard_deviation
    density = min(max(edges / pairs_of(n), 0.0), 1.0)
    total_deviation = math.hypot(deviation, math.sqrt(density * (1 - density)))
    return ResponseForecast(
        difference_of_halves=difference_needed(n, 2, deviation=total_deviation),
        difference_of_groups=difference_needed(n, GROUPS, deviation=total_deviation),
        degree_error=deviation * math.sqrt(max(shape)),
        worst_cut_error=expected_worst_cut(distribution, shape),
    )


def _difference(least: float) -> str:
    """Return the least difference of probabilities at which groups show, as text."""
    return f"{least:.2g}" if least <= 1 else f"more than 1 ({least:.2g}), which no graph has,"


@final
@dataclass(frozen=True, kw_only=True)
class SyntheticForecast:
    """Forecast of a synthetic graph.

    Attributes:
        keeps: "communities", "strong communities" (those near the bound are merged or lost),
            "degrees" (and the cuts that follow from them), or "nothing" (but the number of edges).
        strength: the largest eigenvalue that communities can have: the average degree, or the
            average number of missing neighbours, if that is smaller.
        noise: the eigenvalue below which noise hides everything.
        epsilon_for_communities: least epsilon at which communities show; infinite if no epsilon in
            range is enough.
        epsilon_for_edges: least epsilon at which single edges can show; infinite if none is.
    """

    keeps: Kept
    strength: float
    noise: float
    epsilon_for_communities: float
    epsilon_for_edges: float

    def __str__(self) -> str:
        compared = f"the average degree gives them {self.strength:,.3g}, noise hides what is below"
        texts = {
            "communities": f"keeps communities ({compared} {self.noise:,.3g})",
            "strong communities": f"keeps strong communities only ({compared} {self.noise:,.3g})",
            "degrees": "keeps degrees and the cuts that follow from them, but no communities",
            "nothing": "keeps hardly more than the number of edges",
        }
        parts = [texts[self.keeps]]
        if self.keeps != "communities":
            parts.append(f"communities show {_from_epsilon_text(self.epsilon_for_communities)}")
        parts.append(f"single edges show {_from_epsilon_text(self.epsilon_for_edges)}")
        return "; ".join(parts)


def synthetic_forecast(setting: Setting) -> SyntheticForecast:
    """Return the forecast of a synthetic graph of this setting. Reads no data.

    Args:
        setting: the public numbers; `queries`, `delta` and `beta` do not matter.
    """
    sqrt_n, degree_per_edge = sqrt_and_degree_per_edge(setting.n)
    epsilon, group_size = setting.for_one().epsilon, setting.privacy_unit.group_size
    edges, missing_edges = setting.edges, setting.pairs - setting.edges
    degree = edges * degree_per_edge
    strength = min(degree, missing_edges * degree_per_edge)
    noise = sqrt_n / (2 * math.sinh(epsilon / 2))
    if strength >= SHOWN * noise:
        keeps: Kept = "communities"
    elif strength >= noise:
        keeps = "strong communities"
    else:
        keeps = "degrees" if degree >= 2 / epsilon else "nothing"
    return SyntheticForecast(
        keeps=keeps,
        strength=strength,
        noise=noise,
        epsilon_for_communities=_in_range(group_size * epsilon_needed(setting.n, strength)),
        epsilon_for_edges=_in_range(
            group_size * math.log(missing_edges / edges) if missing_edges else 0.0
        ),
    )


def _in_range(epsilon: float) -> float:
    """Return an epsilon, at least 0; infinity if it is above the largest one allowed."""
    return max(0.0, epsilon) if epsilon <= LARGEST_EPSILON else math.inf


def _from_epsilon_text(epsilon: float) -> str:
    """Return the least epsilon as text, rounded up to two decimals."""
    if math.isinf(epsilon):
        return "at no epsilon"
    return f"from epsilon = {math.ceil(100 * epsilon) / 100:g} on" if epsilon else "at any epsilon"
