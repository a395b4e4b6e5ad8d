"""Errors of iterative releases: a bound at one confidence, or a law for every confidence."""

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
    """How far off answers may be.

    Attributes:
        error: with probability `confidence` no query of the class is farther off, in weight; None
            where nothing is proven. Of a list with other queries than cuts, for its largest
            coefficient; a statistic is then off by less than its sensitivity times one more than
            that many of the largest coefficient.
        confidence: in (0, 1).
        queries: the class: "listed" (the queries that were given), "measured" (the same, and each
            was measured, so that answers are the values that were measured), "disjoint" (all cuts
            between disjoint sets; all cuts if bipartite), or "none".
        graph_error: the same for the synthetic graph, whose weights are cut to what is allowed.
        deviation: standard deviation of the noise on each measured answer, at most, where told.
    """

    error: float | None
    confidence: float
    queries: str
    graph_error: float | None = None
    deviation: float | None = None


@final
@dataclass(frozen=True, kw_only=True)
class NetChoice:
    """The law of the error of a graph that was chosen from a net.

    Attributes:
        members: size of the net.
        alpha: how far the nearest member may be from the truth on any query.
        unit: of the answers that scores are counted in.
        rounding: how far counting in whole units can move a difference of two answers.
        rate: of the noise on each score, for one unit.
    """

    members: int
    alpha: float
    unit: float
    rounding: float
    rate: Fraction

    def error(self, beta: float) -> float:
        """A bound on the error of every query at once that fails with probability beta at most.

        alpha + (2 Delta/epsilon) ln((members - 1)/beta), rounded down to a whole unit, where Delta
        is the sensitivity of the queries; `rounding` is added twice. DR14, Proposition 5.2 has
        members for members - 1. It holds if the truth was in the family that the net is for.
        """
        steps = shortfall(self.members, self.rate, failure=beta)
        return self.alpha + self.unit * steps + 2 * self.rounding


@final
@dataclass(frozen=True, kw_only=True)
class CountNoise:
    """The law of the noise on all counts of a list.

    Attributes:
        noise: in steps of the grid.
        grid: how cuts were counted: rounding lowers an answer besides.
    """

    noise: KNormNoise
    grid: Grid

    def error(self, beta: float) -> float:
        """By how much noise has moved any answer, in weight, but for probability beta."""
        return self.noise.radius(beta) * self.grid.unit

    def measure(self, queries: CutList, graph: AnyGraph, source: EntropySource) -> list[float]:
        """Noisy answers in weight; reads the graph."""
        counts = queries.counts(graph, self.grid)
        return [float(noisy * self.grid.unit) for noisy in counts + self.noise.draw(source)]


Law = NetChoice | CountNoise


def law_fields(law: Law | None) -> dict[str, Any] | None:
    """The fields of a law in a receipt, which `law_from` reads; None if there is no law."""
    if law is None:
        return None
    if isinstance(law, NetChoice):
        return asdict(law) | {"rate": str(law.rate)}
    noise = law.noise
    return {"weight": noise.weight, "rate": str(noise.rate), "grid": asdict(law.grid)}


def law_from(fields: dict[str, Any] | None, arrays: dict[str, Any]) -> Law | None:
    """A law from its fields, and the facets of the noise among the arrays."""
    if fields is None:
        return None
    rate = Fraction(fields["rate"])
    if "members" in fields:
        return NetChoice(**{**fields, "rate": rate})
    noise = KNormNoise(arrays["facets"], fields["weight"], rate)
    return CountNoise(noise=noise, grid=Grid(**fields["grid"]))
