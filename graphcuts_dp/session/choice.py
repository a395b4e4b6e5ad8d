"""Which mechanism a session should run: guaranteed errors from public numbers alone."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.learners import MOST_PAIRS
from graphcuts_dp.learn.norms import AUTO, MOST_VERTICES, CutSizes, norm_updates
from graphcuts_dp.learn.online_bounds import tight_online
from graphcuts_dp.learn.update_bounds import (
    Size,
    UpdateBound,
    pairs_of,
    shape_of,
)
from graphcuts_dp.privacy.composition import discrete_gaussian_scale
from graphcuts_dp.privacy.distributions import (
    BinaryResponse,
    discrete_gaussian_radius,
    discrete_laplace_radius,
    response_radius,
)
from graphcuts_dp.privacy.guarantee import Protect

_MOST_QUERIES = 10**18
_MOST_VERTICES = 10**9


@final
@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public numbers that a promise about cuts depends on.

    Attributes:
        n: vertices, or (left, right) of a bipartite graph, or `ArcsOn` of a directed one; at least
            two pairs, at most 10^9 a side.
        edges: m, a public guess, in [1, pairs]. The true one is private.
        queries: k, cuts between disjoint sets, in 1..10^18.
        epsilon: privacy parameter, in [1e-6, 50].
        delta: 0, or in [1e-100, 1).
        beta: probability that any answer is farther off than promised, in [1e-12, 1).
        at_most: how many edges may change together, or how much of an owner counts, in 1..10^9;
            None for one edge.
        protect: whom promises are for: "edges", "owner" or "vertex".
        degree_bound: of a vertex.
        most_right: of a bipartite graph: no cut has more right vertices; None for any number.
        linear: k are any linear queries with a largest coefficient of 1, not only cuts.
        most_spectral: of these, on a bipartite graph: none has a larger singular value.
        rank: likewise, a public guess of the rank of the graph's matrix.

    Raises:
        ParameterError: anything else.
    """

    n: Size
    edges: float
    queries: int
    epsilon: float
    delta: float
    beta: float = 0.05
    at_most: int | None = None
    protect: str = "edges"
    degree_bound: int | None = None
    most_right: int | None = None
    linear: bool = False
    most_spectral: float | None = None
    rank: int | None = None

    def __post_init__(self) -> None:
        sides = self.n if isinstance(self.n, tuple) else shape_of(self.n)
        if len(sides) != 2 or not all(
            _is_whole(side) and 1 <= side <= _MOST_VERTICES for side in sides
        ):
            raise ParameterError(
                "n must be a number of vertices up to 10^9, or two of them: (left, right)"
            )
        if self.pairs < 2:
            raise ParameterError("there must be at least two vertex pairs: add vertices")
        if not (_is_number(self.edges) and 1 <= self.edges <= self.pairs):
            raise ParameterError(
                f"edges must lie between 1 and the number of pairs, {self.pairs:,}"
            )
        if not (_is_whole(self.queries) and 1 <= self.queries <= _MOST_QUERIES):
            raise ParameterError("queries must be a whole number, at least 1 and at most 10^18")
        self.protection.per_step(self.epsilon)
        if not (_is_number(self.delta) and (self.delta == 0 or 1e-100 <= self.delta < 1)):
            raise ParameterError(
                f"delta must be 0, or from 1e-100 to less than 1: not {self.delta}"
            )
        if not (_is_number(self.beta) and 1e-12 <= self.beta < 1):
            raise ParameterError(f"beta must be from 1e-12 to less than 1: not {self.beta}")
        if not self.linear and (self.most_spectral is not None or self.rank is not None):
            raise ParameterError("most_spectral and rank are for linear=True")
        if self.linear and self.protect == "vertex":
            raise ParameterError("protect='vertex' is for cuts, not for linear=True")
        if self.rank is not None and not (
            _is_whole(self.rank) and 1 <= self.rank <= min(shape_of(self.n))
        ):
            raise ParameterError("rank is a whole number of at most the smaller side")
        _ = self.sizes  # checks what was announced

    @property
    def sizes(self) -> CutSizes:
        """Public sizes that a bound for these queries rests on."""
        if self.linear:
            return CutSizes.linear(self.n, most_right=self.most_right, spectral=self.most_spectral)
        return CutSizes.of(self.n, disjoint=True, most_right=self.most_right)

    @property
    def nuclear(self) -> float | None:
        """The largest nuclear norm of a graph of this rank, by Cauchy and Schwarz."""
        return None if self.rank is None else math.sqrt(self.rank * self.edges)

    @property
    def protection(self) -> Protect:
        """Whom a promise is for.

        Raises:
            ParameterError: see `Protect.of`.
        """
        return Protect.of(self.protect, at_most=self.at_most, degree_bound=self.degree_bound)

    @property
    def change(self) -> int:
        """By how much one answer differs between neighbours, in edges."""
        return self.degree_bound or self.protection.steps

    def for_one(self, *, zcdp: bool = False) -> "Setting":
        """The setting in which one edge has the privacy that so many need to have together.

        Not for vertices, all edges of which change.

        Args:
            zcdp: whether costs add up in zCDP, else in epsilon and delta.
        """
        protection = self.protection.either_way if self.linear else self.protection
        epsilon, delta = protection.step_budget(
            epsilon=self.epsilon, delta=self.delta if zcdp else 0.0, zcdp=zcdp
        )
        return replace(
            self,
            epsilon=epsilon,
            delta=delta,
            at_most=None,
            protect="edges",
            linear=False,
            most_spectral=None,
            rank=None,
        )

    @property
    def pairs(self) -> int:
        """X: all vertex pairs."""
        return pairs_of(self.n)

    @property
    def largest_cut(self) -> int:
        """Most pairs between disjoint sets; of any linear queries most pairs of one."""
        return self.sizes.most

    @property
    def distribution(self) -> BinaryResponse:
        """Binary randomised response with this epsilon."""
        return BinaryResponse(self.protection.per_step(self.epsilon), 1.0)


Updates = Callable[[Size, float, Rule, bool], UpdateBound]


def construction_error(updates: Updates, setting: Setting, adaptive: bool = True) -> float:
    """With probability 1 - beta no answer of a construction's session is farther off than this.

    `tight_online`, tight rules, m known, cuts between disjoint sets, however they are chosen. A
    session buys m with a small part of its budget and is about 2 % worse.

    Args:
        updates: B from size, edges, the form of the rule and whether sets are disjoint.
        setting: the public numbers.
        adaptive: makes no difference.

    Returns:
        Infinity where delta is 0, or epsilon too small for so many edges together.
    """
    del adaptive
    if setting.delta == 0:
        return math.inf
    try:
        setting = setting.for_one(zcdp=True)
    except ParameterError:  # too little is left for one of many edges
        return math.inf
    return tight_online(
        updates(setting.n, setting.edges, "tight", True),
        queries=setting.queries,
        epsilon=setting.epsilon,
        delta=setting.delta,
        beta=setting.beta,
    ).error


def mirror_descent_error(setting: Setting, adaptive: bool = True, *, norm: str = AUTO) -> float:
    """Likewise for mirror descent, whose norm and announced right vertices B depends on.

    Args:
        setting: the public numbers.
        adaptive: makes no difference.
        norm: see `parse_norm`; for "2,p" of a graph with the largest sum of root degrees.

    Returns:
        Infinity for more vertices than a matrix of all pairs can have.

    Raises:
        ParameterError: a norm that such a graph cannot have.
    """
    if max(shape_of(setting.n)) > max(MOST_VERTICES.values()):
        return math.inf
    sizes = setting.sizes if setting.linear else None
    updates = partial(
        norm_updates,
        norm=norm,
        most_right=setting.most_right,
        sizes=sizes,
        nuclear=setting.nuclear,
    )
    return construction_error(updates, setting, adaptive)


def median_error(setting: Setting, adaptive: bool = True) -> float:
    """Likewise for the median of all graphs: B is the number of pairs.

    Returns:
        Infinity as `construction_error`, and for more pairs than it can list.
    """
    if setting.pairs > MOST_PAIRS or setting.protect == "vertex":
        return math.inf
    pairs = float(setting.pairs)
    return construction_error(lambda *_: lambda alpha: pairs, setting, adaptive)  # noqa: ARG005


def gaussian_error(setting: Setting, adaptive: bool = True) -> float:
    """Likewise for discrete Gaussian noise of `discrete_gaussian_scale`: a union over k answers."""
    del adaptive
    if setting.delta == 0:
        return math.inf
    failure = setting.beta / setting.queries
    return float(discrete_gaussian_radius(gaussian_deviation(setting), failure=failure))


def laplace_error(setting: Setting, adaptive: bool = True) -> float:
    """Likewise for discrete Laplace noise of rate epsilon/k, pure: a union over k answers."""
    del adaptive
    failure = setting.beta / setting.queries
    rate = setting.epsilon / (setting.queries * setting.change)
    return float(discrete_laplace_radius(rate, failure=failure))


def binary_error(setting: Setting, adaptive: bool = True) -> float:
    """Likewise for randomised response.

    Its noise is drawn once, so a union over k cuts holds only for cuts that do not depend on
    answers; else over all cuts, see `all_cuts_error`.
    """
    if adaptive:
        return all_cuts_error(setting)
    return response_radius(
        setting.distribution, setting.largest_cut, failure=setting.beta / setting.queries
    )


def gaussian_deviation(setting: Setting) -> float:
    """Scale of the discrete Gaussian noise on each of the k answers; delta > 0."""
    return setting.change * discrete_gaussian_scale(
        epsilon=setting.epsilon, delta=setting.delta, queries=setting.queries
    )


def all_cuts_error(setting: Setting) -> float:
    """Binary randomised response on all cuts between disjoint sets at once, chosen as you like.

    A union over the 3^n/2 pairs of disjoint sets (3^n if directed), or 2^(left + right) if
    bipartite.
    """
    if isinstance(setting.n, tuple):
        cuts = sum(setting.n) * math.log(2)
    else:
        cuts = shape_of(setting.n)[0] * math.log(3)
        cuts -= math.log(2) if isinstance(setting.n, int) else 0.0
    return setting.distribution.radius(
        setting.largest_cut, log_failures=cuts - math.log(setting.beta)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
