"""Whom a promise protects: which change of the private data neighbours differ in.

Every mechanism here has a proven cost for one step: one pair of vertices (of distances: one
person's place) changes as `hidden_change` says. Whoever is to be hidden changes more than that:

- *k edges*: neighbours are the ends of a path of at most k + 1 graphs, each a step from the last.
- *An owner* of rows of a file, of which at most k count: adding or removing all of them is k
  steps, since the graph is made of each owner's own rows, bounded one owner at a time.
- *A vertex*: all its edges change. No number of steps bounds that; mechanisms for it answer with
  bounded cuts, whose change is bounded by `degree_bound`.

Group privacy gives the cost of k steps (`Cost.for_group`): k epsilon where it is pure; k^2 rho;
(k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))) of what is only (epsilon, delta)-DP.
Source: DR14 Theorem 2.2; Bun, Steinke 2016, Proposition 1.9 (zCDP).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, Literal, Self, TypeVar, final, get_args

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.options import PRIVACY, Option, chosen
from graphcuts_dp.privacy.composition import (
    Cost,
    as_stored,
    stated_cost,
    zcdp_epsilon,
    zcdp_rho,
)
from graphcuts_dp.privacy.explanation import (
    PRIORS,
    Explanation,
    Odds,
    posterior,
    strength,
    words_for,
)
from graphcuts_dp.privacy.guarantee import SMALLEST_EPSILON, PrivacyGuarantee, exact_epsilon

Protected = Literal["edges", "owner", "vertex", "people"]
_LARGEST_BOUND = 10**9
_Together = Annotated[int, Option(help="How many edges change together.", group=PRIVACY)]
_OfAnOwner = Annotated[
    int | None,
    Option(help="How many pairs, rows or units of weight of an owner count.", group=PRIVACY),
]
_OfAVertex = Annotated[
    int | None,
    Option(help="How many edges of a vertex a sum counts.", group=PRIVACY),
]
N = TypeVar("N", float, Fraction)


def _whole(name: str, given: int | None, missing: str, *, most: float = _LARGEST_BOUND) -> int:
    if given is None:
        raise ParameterError(f"{missing}, for example {name}=20")
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most:
        raise ParameterError(f"{name} must be a whole number from 1 on, for example {name}=20")
    return given


@final
@dataclass(frozen=True, kw_only=True)
class Protect:
    """Whom a promise protects.

    `Protect.edges(3)`, `Protect.owner(at_most=50)` and `Protect.vertex(degree_bound=20)` make one,
    which every `protect=` takes; or a string, such as "edges" or "owner:at-most=50".

    Attributes:
        kind: "edges", "owner" or "vertex"; of distances "people", each of whom is in one place.
        steps: k >= 1: how many steps lie between neighbours; 1 for a vertex, whose mechanisms
            bound the change of all its edges as one step.
        degree_bound: of a vertex: D, public.

    Raises:
        ParameterError: another kind, no number of steps, or a degree bound of somebody else.

    Examples:
        >>> club, groups = gc.datasets.load("karate"), gc.datasets.load_groups("karate")
        >>> print(gc.Protect.vertex(degree_bound=20))
        1 vertex
        >>> flows = gc.release_flows(club, groups, epsilon=1.0, protect=gc.Protect.edges(3))
        >>> flows.guarantee.protects
        '3 edges'
    """

    kind: Protected = "edges"
    steps: int = 1
    degree_bound: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Protected):
            names = ", ".join(map(repr, get_args(Protected)[:3]))
            raise ParameterError(f"unknown protect={self.kind!r:.60}; choose one of {names}")
        if self.kind != "vertex" and self.degree_bound is not None:
            raise ParameterError("degree_bound is for protect='vertex'")
        if self.kind == "vertex":
            _whole("degree_bound", self.degree_bound, "protect='vertex' needs degree_bound")
        _whole("at_most", self.steps, "", most=math.inf)  # steps of both ways are twice as many

    @classmethod
    def edges(cls, at_most: _Together = 1) -> Self:
        """So many edges together.

        Raises:
            ParameterError: no whole number from 1 on.
        """
        return cls(steps=_whole("at_most", at_most, ""))

    @classmethod
    def owner(cls, *, at_most: _OfAnOwner = None) -> Self:
        """An owner of rows, of whose pairs, rows or units so many count.

        Raises:
            ParameterError: no whole number from 1 on.
        """
        needs = "protect='owner' needs at_most, how many rows of an owner count"
        return cls(kind="owner", steps=_whole("at_most", at_most, needs))

    @classmethod
    def vertex(cls, *, degree_bound: _OfAVertex = None) -> Self:
        """A vertex with all its edges; sums count so much of their weight.

        Raises:
            ParameterError: no whole number from 1 on.
        """
        return cls(kind="vertex", degree_bound=degree_bound)

    @classmethod
    def of(
        cls, protect: "str | Self", *, at_most: int | None = None, degree_bound: int | None = None
    ) -> Self:
        """From what users type.

        Args:
            protect: one of `PROTECTIONS`, perhaps with its bound, as in "owner:at-most=50", or an
                object of this class, which holds it.
            at_most: of edges: how many change together, 1 if None; of an owner: how many of its
                rows, or units of weight, count.
            degree_bound: of a vertex.

        Raises:
            ParameterError: an unknown name, a bound that is missing, out of range or of no use.
        """
        if (at_most, degree_bound) == (None, None):
            return chosen(protect, PROTECTIONS, "protect")
        if not isinstance(protect, str) or protect not in PROTECTIONS:
            raise ParameterError(f"{protect!r:.60} holds its bound: leave out the other one")
        if protect == "vertex" and at_most is not None:
            raise ParameterError("protect='vertex' takes degree_bound, not at_most")
        if protect != "vertex" and degree_bound is not None:
            raise ParameterError("degree_bound is for protect='vertex'")
        bounds = {"at_most": at_most, "degree_bound": degree_bound}
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        return PROTECTIONS[protect](**given)

    @classmethod
    def of_pairs(
        cls, protect: "str | Self", *, at_most: int | None, others: int, epsilon: float
    ) -> Self:
        """Likewise, for what is made of noisy pairs of vertices: all but a vertex.

        Args:
            protect: as for `of`.
            at_most: likewise.
            others: how many pairs one vertex has, public.
            epsilon: that was asked for.

        Raises:
            ParameterError: as for `of`; or a vertex.
        """
        if protect == "vertex" or cls.of(protect, at_most=at_most).kind == "vertex":
            noise = math.sqrt(2) * others / float(exact_epsilon(epsilon))
            raise ParameterError(
                f"this cannot hide a vertex: all its {others:,} pairs change together, so an entry"
                f" of 0 or 1 would have noise of about {noise:,.0f}; use release_flows or"
                " open_session with protect='vertex', whose noise does not grow with the graph"
            )
        return cls.of(protect, at_most=at_most)

    @property
    def keywords(self) -> dict[str, Any]:
        """The same as users type it: `protect`, `at_most` and `degree_bound`."""
        bounded = self.steps if self.kind == "owner" or self.steps > 1 else None
        return {"protect": self.kind, "at_most": bounded, "degree_bound": self.degree_bound}

    @property
    def monotone(self) -> Self:
        """The same, for mechanisms that need all answers to change in one direction at each step.

        Of two graphs that differ in the edges at one vertex neither need have the larger answers;
        but both have at least those of the graph without these edges. So it lies between them, a
        step from either, and neighbours are two steps apart.
        """
        return replace(self, steps=2) if self.kind == "vertex" else self

    @property
    def either_way(self) -> Self:
        """The same, for such mechanisms where one change raises some answers and lowers others.

        All answers that it raises are raised first, then all others lowered: two steps.
        """
        return replace(self, steps=2 * self.steps)

    @classmethod
    def of_people(cls, at_most: int) -> Self:
        """So many people together, each of whom is in one place.

        Raises:
            ParameterError: no whole number from 1 on.
        """
        return cls(kind="people", steps=_whole("at_most", at_most, ""))

    def __str__(self) -> str:
        if self.kind in ("edges", "people"):
            single = "1 edge" if self.kind == "edges" else "1 person"
            return single if self.steps == 1 else f"{self.steps} {self.kind}"
        return f"1 {self.kind}"

    def per_step(self, epsilon: float | Fraction) -> Fraction:
        """What of a pure epsilon each step may cost, exactly.

        Raises:
            ParameterError: it is out of range, or too little is left for a step.
        """
        whole = exact_epsilon(epsilon)
        return self._enough(whole / self.steps, whole)

    def _enough(self, step: N, whole: float | Fraction) -> N:
        if step < SMALLEST_EPSILON:
            raise ParameterError(
                f"epsilon = {float(whole):g} for {self} leaves less than {SMALLEST_EPSILON:g} for"
                f" each of {self.steps:,} changes; choose a smaller at_most, or more epsilon"
            )
        return step

    def step_budget(
        self, *, epsilon: float | Fraction, delta: float, zcdp: bool
    ) -> tuple[float, float]:
        """The (epsilon, delta) for one step with which a mechanism keeps (epsilon, delta) for all.

        Args:
            epsilon: for all steps together, in [1e-6, 50].
            delta: likewise, in [0, 1).
            zcdp: whether the mechanism has a zCDP cost, of which it takes all that its (epsilon,
                delta) allows: then steps add up in that, which is far cheaper.

        Raises:
            ParameterError: out of range, or too little is left for a step.
        """
        each = self.per_step(epsilon)
        if self.steps == 1:
            return as_stored(epsilon), delta
        if not delta:
            return as_stored(each), 0.0
        if zcdp:
            rho = zcdp_rho(epsilon=as_stored(epsilon), delta=delta) / self.steps**2
            found = zcdp_epsilon(rho * (1 - 1e-6), delta=delta)
            return self._enough(found, epsilon), delta
        step = as_stored(each)
        # delta/(1 + e^step + ... + e^((k-1) step)), rounded down
        share = math.expm1(step) / math.expm1(step * self.steps)
        return step, delta * share * (1 - 1e-12)

    def cost(self, step: Cost, *, epsilon: float | Fraction, delta: float = 0.0) -> Cost:
        """What all steps cost together, of a mechanism that was asked to keep (epsilon, delta).

        Args:
            step: the cost of the mechanism for one step, from the scales of its noise.
            epsilon: that was asked for, for all steps.
            delta: likewise.

        Raises:
            BudgetError: it would cost more.
        """
        return stated_cost(step.for_group(self.steps), epsilon=epsilon, delta=delta)

    def promise(self, step: PrivacyGuarantee, cost: Cost) -> PrivacyGuarantee:
        """The guarantee for whom this protects, from that for one step.

        Args:
            step: as the mechanism states it.
            cost: of all steps.
        """
        share = cost.epsilon / step.epsilon if step.epsilon else 1.0
        parts = step.parts
        if self.steps > 1:
            parts = tuple((name, epsilon * share) for name, epsilon in parts)
        return replace(
            step,
            epsilon=cost.epsilon,
            delta=cost.delta,
            neighbours=self._neighbours(step.neighbours),
            protects=str(self),
            parts=parts,
        )

    def explain(
        self, *, epsilon: float, delta: float = 0.0, priors: Sequence[float] = PRIORS
    ) -> Explanation:
        """Explain in plain words whom such a promise protects, against what, and how well.

        Reads no data.

        Args:
            epsilon: of everything that is released together, in [1e-6, 50].
            delta: likewise, in [0, 1).
            priors: what an attacker may believe beforehand, each in (0, 1).

        Raises:
            ParameterError: a number out of range.

        Examples:
            >>> told = gc.Protect.edges(20).explain(epsilon=1.0)
            >>> told.odds[1]  # who held it for 1 % likely may hold it for 2.7 %
            Odds(prior=0.01, lowest=0.0037..., highest=0.0267...)
        """
        exact_epsilon(epsilon)
        if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 <= delta < 1:
            raise ParameterError("delta must be at least 0 and below 1, for example 1e-6")
        words = words_for(self.kind, self.degree_bound or self.steps)
        return Explanation(
            protects=str(self),
            epsilon=float(epsilon),
            delta=float(delta),
            sentences=words | {"Strength": strength(epsilon, delta)},
            odds=tuple(
                Odds(float(prior), posterior(prior, -epsilon), posterior(prior, epsilon))
                for prior in priors
            ),
        )

    def _neighbours(self, step: str) -> str:
        if self.kind == "vertex":
            return (
                "all edges of any one vertex, however many; what is released are bounded sums, in"
                f" which each vertex counts for at most {self.degree_bound:,}"
            )
        if self.kind == "owner":
            one, _, _ = step.partition(";")  # what a single step would not hide is no matter here
            return (
                f"all rows of any one owner, of which at most {self.steps:,} count (added or"
                f" removed; replacing them is two such changes); each of them: {one}"
            )
        return step if self.steps == 1 else f"any {self.steps:,} changes together, each: {step}"


EDGE = Protect()
# What `protect=` can name.
PROTECTIONS: Mapping[str, Callable[..., Protect]] = {
    "edges": Protect.edges,
    "owner": Protect.owner,
    "vertex": Protect.vertex,
}
