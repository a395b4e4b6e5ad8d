"""Errors of iterative releases: a bound at one confidence, or a law for every confidence.

A law is the distribution of an error, or of the noise that causes it.
"""

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, final

from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.query_lists import CutList
from graphcuts_dp.privacy.choices import shortfall
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.k_norm import KNormNoise


@final
@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """A bound on the errors of all answers to a class of queries, at one confidence.

    Attributes:
        error: with probability `confidence` no answer to a query of the class has a larger error,
            in weight; None if nothing is proven. Let c be the largest coefficient of a list with
            other queries than cuts: all its linear queries have at most this error, and a
            statistic of sensitivity s has an error below s (1 + error/c).
        confidence: in (0, 1).
        queries: the class: "listed" (the queries of the public list), "measured" (the same, and the
            answers are their measured values), "disjoint" (all cuts between disjoint sets; all cuts
            if bipartite), or "none".
        graph_error: the same bound for the synthetic graph, whose weights are clipped to the
            allowed range; None if nothing is proven.
        deviation: largest standard deviation of the noise on a measured answer; None if unknown.
    """

    error: float | None
    confidence: float
    queries: str
    graph_error: float | None = None
    deviation: float | None = None


@final
@dataclass(frozen=True, kw_only=True)
class NetChoice:
    """The distribution of the error of a graph that was chosen from a net.

    Attributes:
        members: size of the net.
        alpha: largest error of the nearest member, on any query.
        unit: weight of one unit of the scores.
        rounding: largest error, in weight, from counting a difference of answers in whole units.
        rate: rate of the noise on each score, per unit.
    """

    members: int
    alpha: float
    unit: float
    rounding: float
    rate: Fraction

    def error(self, beta: float) -> float:
        """Return a bound on the error of all queries at once, which fails with probability <= beta.

        alpha + (2 Delta/epsilon) ln((members - 1)/beta), rounded down to a whole unit, where Delta
        is the sensitivity of the queries; `rounding` is added twice. DR14, Proposition 5.2 has
        members for members - 1. It holds if the truth was in the family that the net is for.
        """
        units = shortfall(self.members, self.rate, failure=beta)
        return self.alpha + self.unit * units + 2 * self.rounding


@final
@dataclass(frozen=True, kw_only=True)
class CountNoise:
    """The distribution of the noise on all counts of a list.

    Attributes:
        noise: the noise on all counts, in grid units.
        grid: the grid on which cuts were counted; `error` leaves out its rounding.
    """

    noise: KNormNoise
    grid: Grid

    def error(self, beta: float) -> float:
        """Return a bound on the noise of all answers, in weight.

        It fails with probability beta at most. Rounding to the grid comes on top: `Grid.rounding`.
        """
        return self.noise.radius(beta) * self.grid.unit

    def measure(self, queries: CutList, graph: AnyGraph, source: EntropySource) -> list[float]:
        """Return the noisy answers in weight; reads the private graph."""
        counts = queries.counts(graph, self.grid)
        return [float(noisy * self.grid.unit) for noisy in counts + self.noise.draw(source)]


Law = NetChoice | CountNoise


def law_fields(law: Law | None) -> dict[str, Any] | None:
    """Return the fields of a law for a receipt, which `law_from` reads; None if there is no law."""
    if law is None:
        return None
    if isinstance(law, NetChoice):
        return asdict(law) | {"rate": str(law.rate)}
    noise = law.noise
    return {"weight": noise.weight, "rate": str(noise.rate), "grid": asdict(law.grid)}


def law_from(fields: dict[str, Any] | None, arrays: dict[str, Any]) -> Law | None:
    """Return the law of `law_fields`; the arrays have the facets of K-norm noise."""
    if fields is None:
        return None
    rate = Fraction(fields["rate"])
    if "members" in fields:
        return NetChoice(**{**fields, "rate": rate})
    noise = KNormNoise(arrays["facets"], fields["weight"], rate)
    return CountNoise(noise=noise, grid=Grid(**fields["grid"]))
