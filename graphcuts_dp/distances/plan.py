"""Which mechanism answers all distance queries best, from public things alone."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

from graphcuts_dp.display import Card, Tabled
from graphcuts_dp.distances.counts import DistanceMechanism, PerQuery, TreeCounts
from graphcuts_dp.distances.embeddings import learnt_cheaply
from graphcuts_dp.distances.learnt import LearntDistances
from graphcuts_dp.distances.locations import checked_people
from graphcuts_dp.distances.metric import Metric, as_metric
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.guarantee import Protect, exact_epsilon
from graphcuts_dp.privacy.level_noise import DistributionPair

NOISES = ("auto", "laplace", "gaussian")
_BUILDERS: dict[str, Callable[..., DistanceMechanism]] = {
    "tree-counts": TreeCounts.build,
    "histogram": TreeCounts.build_histogram,
    "per-query": PerQuery.build,
    "learner": LearntDistances.build,
}
MECHANISMS = ("auto", *_BUILDERS)
_MOST_FOR_BASELINES = 8192  # vertices: beyond it noise on each answer is only tried when asked for
_MOST_COORDINATES = 64  # beyond it the learner is only tried when asked for


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class DistancePlanRow:
    """One mechanism and what it promises, in the units of the map's lengths.

    Attributes:
        mechanism: the name that `answer_distances` takes.
        noise: "laplace" or "gaussian".
        guaranteed: with the plan's confidence, no vertex's answer is farther off. Proven.
        typical: the largest standard deviation of an answer; None where no formula tells it.
        built: the mechanism, ready to run.
    """

    mechanism: str
    noise: str
    guaranteed: float
    typical: float | None
    built: DistanceMechanism

    @property
    def name(self) -> str:
        """For people: "tree-counts, laplace"."""
        return f"{self.mechanism}, {self.noise}"


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DistancePlan(Tabled):
    """Mechanisms for one map, number of people and budget, best first. Reads no data.

    Attributes:
        metric: the map.
        people: n.
        epsilon: budget.
        delta: likewise.
        confidence: of the guaranteed errors, for all vertices at once.
        rows: by guaranteed error.
    """

    metric: Metric
    people: int
    epsilon: float
    delta: float
    confidence: float
    rows: tuple[DistancePlanRow, ...]

    @property
    def best(self) -> DistancePlanRow:
        """The row with the least guaranteed error."""
        return self.rows[0]

    @property
    def trivial(self) -> float:
        """What half the diameter as the answer of every vertex guarantees, without any data."""
        return self.metric.diameter / 2

    @property
    def vacuous(self) -> bool:
        """Whether even the best mechanism guarantees no more than the trivial answer."""
        return self.best.guaranteed >= self.trivial

    @cached_property
    def reason(self) -> str:
        """Why the best one is chosen, in a sentence."""
        best = self.best
        if self.vacuous:
            return (
                f"nothing beats the answer {self.trivial:.4g} for every vertex: raise epsilon, "
                "or ask more people"
            )
        text = f"{best.name} guarantees {best.guaranteed:.4g} for all vertices at once"
        others = [row for row in self.rows if row.mechanism != best.mechanism]
        if others:
            text += f", {others[0].guaranteed / best.guaranteed:.2g} times less than "
            text += others[0].name
        return text

    @property
    def title(self) -> str:
        """The setting in words."""
        return (
            f"{self.metric.kind} of {len(self.metric):,} vertices, diameter "
            f"{self.metric.diameter:.4g}, {self.people:,} people, epsilon = {self.epsilon:g}, "
            f"delta = {self.delta:g}"
        )

    def _card(self) -> Card:
        """The trivial answer included."""
        rows = [
            (row.guaranteed, row.name, "-" if row.typical is None else f"{row.typical:.4g}")
            for row in self.rows
        ]
        rows.append((self.trivial, "half the diameter (no data)", "-"))
        return Card(
            title=self.title,
            columns=("mechanism", f"guaranteed ({self.confidence:g})", "typical"),
            rows=[(name, f"{error:.4g}", typical) for error, name, typical in sorted(rows)],
            notes=(f"Choice: {self.reason}",),
        )

    def __repr__(self) -> str:
        return f"DistancePlan({len(self.rows)} mechanisms, best={self.best.name!r})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "map": self.metric.kind,
            "vertices": len(self.metric),
            "diameter": self.metric.diameter,
            "people": self.people,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "confidence": self.confidence,
            "rows": [
                {
                    "mechanism": row.mechanism,
                    "noise": row.noise,
                    "guaranteed_error": row.guaranteed,
                    "typical_error": row.typical,
                }
                for row in self.rows
            ],
            "trivial_error": self.trivial,
            "reason": self.reason,
        }


def plan_distances(
    map_graph: Any,
    *,
    people: int,
    epsilon: float,
    delta: float = 0.0,
    at_most: int = 1,
    confidence: float = 0.95,
    mechanism: str = "auto",
    noise: str = "auto",
) -> DistancePlan:
    """Compare what mechanisms would guarantee for all vertices of a map. Reads no locations.

    Args:
        map_graph: the public map: a `Metric`, `Graph`, or graph of networkx or igraph.
        people: n, public, at least 1.
        epsilon: privacy parameter of one person's location, in [1e-6, 50].
        delta: in [0, 1); at 0 there is no Gaussian noise.
        at_most: how many people are protected together.
        confidence: of the guaranteed errors, in (0, 1).
        mechanism: one of `MECHANISMS`; "auto" for all of them, except where they would never win:
            noise on each answer on large maps that are no trees, and the learner where its
            embedding is not exact, has many coordinates, or promises nothing.
        noise: one of `NOISES`; "auto" for both distributions.

    Raises:
        ParameterError: a number out of range, an unknown name, Gaussian noise without delta, or a
            map of a single vertex.
        GraphError: a map that is not connected, or has lengths that are not positive.
    """
    metric = as_metric(map_graph)
    protection = Protect.of_people(at_most)
    exact = exact_epsilon(epsilon)
    checked_people(people)
    if not (math.isfinite(delta) and 0 <= delta < 1):
        raise ParameterError(f"delta must be at least 0 and below 1, not {delta}")
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be between 0 and 1, not {confidence}")
    if len(metric) < 2:
        raise ParameterError("a map with one vertex has no distances; give at least two")
    rows = []
    for name, distribution in _wanted(metric, mechanism, noise, delta):
        each: float | Fraction = protection.per_step(exact)
        if distribution == "gaussian":
            each, _ = protection.step_budget(epsilon=exact, delta=delta, zcdp=True)
        tuned = {"confidence": confidence} if name == "learner" else {}
        built = _BUILDERS[name](
            metric, people, distribution=distribution, epsilon=each, delta=delta, **tuned
        )
        guaranteed = float(built.radii(confidence=confidence).max())
        if mechanism == "auto" and name == "learner" and guaranteed >= metric.diameter / 2:
            continue  # its intervals end where the map does: that is no better than no data
        rows.append(
            DistancePlanRow(
                mechanism=name,
                noise=distribution,
                guaranteed=guaranteed,
                typical=built.typical,
                built=built,
            )
        )
    return DistancePlan(
        metric=metric,
        people=people,
        epsilon=float(epsilon),
        delta=float(delta),
        confidence=confidence,
        rows=tuple(sorted(rows, key=lambda row: row.guaranteed)),
    )


def _wanted(
    metric: Metric, mechanism: str, noise: str, delta: float
) -> Iterator[tuple[str, DistributionPair]]:
    if mechanism not in MECHANISMS:
        raise ParameterError(
            f"unknown mechanism {mechanism!r}; choose one of {', '.join(MECHANISMS)}"
        )
    if noise not in NOISES:
        raise ParameterError(f"unknown noise {noise!r}; choose one of {', '.join(NOISES)}")
    if noise == "gaussian" and delta == 0:
        raise ParameterError("Gaussian noise needs a delta above 0, for example 1e-6")
    for name in _BUILDERS:
        slow = name == "per-query" and metric.tree is None and len(metric) > _MOST_FOR_BASELINES
        if name == "learner" and mechanism == "auto":
            slow = not learnt_cheaply(metric, most_coordinates=_MOST_COORDINATES)
        if mechanism == name or (mechanism == "auto" and not slow):
            if noise != "gaussian":
                yield name, "laplace"
            if noise != "laplace" and delta > 0:
                yield name, "gaussian"
