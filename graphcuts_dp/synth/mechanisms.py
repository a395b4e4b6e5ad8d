"""How users say that a release shall spend its budget: a mechanism by name, and its options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.options import check, option

AUTO, RESPONSE, SPLIT, SPARSE = "auto", "response", "degrees+response", "sparse"
ALL_MECHANISMS = (AUTO, RESPONSE, SPLIT, SPARSE)
MECHANISMS = ALL_MECHANISMS[:3]  # the last one has no noisy matrix
_SPARSE_SHARES = (0.01, 0.95)  # of epsilon, that degrees may have: other parts need some, too


@final
@dataclass(frozen=True)
class Response:
    """How a release spends epsilon; a string names it, too, such as "sparse:degree-share=.3".

    Attributes:
        mechanism: "response" (all of epsilon for noisy entries), "degrees+response" (a part for
            noisy degrees, which are cheap and hold most of a sparse graph's cuts), or "auto": a
            fiftieth of epsilon tells the total weight, which tells the better of the two. For the
            fit "maximum-entropy"; "auto" is "response" with any other. Or "sparse", which costs the
            edges and not the pairs, for large graphs of few edges: edges whose noisy weight reaches
            a threshold, degrees, sums between groups, see `measure_sparse`; "auto" takes it where
            memory is too small for the others, and on 2000 vertices or more with weights without a
            cap (`takes_sparse`). The default noise is then "laplace" with weights.
        degree_share: part of epsilon for the degrees, in (0, 1); None for 2/(2 + n^(1/4)), and for
            7/(7 + n^(1/4)) of what is left beside groups that tell something. With "sparse" in
            [0.01, 0.95], None for what noisy counts of weights suggest.

    Raises:
        ParameterError: an unknown name, a share out of range or without degrees.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> release = gc.release_graph(club, epsilon=4.0, mechanism=gc.Response(degree_share=0.5))
    """

    mechanism: str = option(AUTO, help="How epsilon is spent.", choices=ALL_MECHANISMS)
    degree_share: float | None = option(
        None,
        help="Part of epsilon for noisy degrees, if the mechanism uses them.",
        above=0,
        below=1,
    )

    def __post_init__(self) -> None:
        check(self)
        if self.degree_share is None:
            return
        if self.mechanism == RESPONSE:
            raise ParameterError("degree_share is for mechanism='degrees+response'")
        low, high = _SPARSE_SHARES
        if self.mechanism == SPARSE and not low <= self.degree_share <= high:
            raise ParameterError(
                f"degree_share must lie between {low:g} and {high:g} with mechanism='sparse'"
            )

    @property
    def share(self) -> Fraction | None:
        """For degrees, exactly."""
        if self.degree_share is None:
            return None
        return Fraction(self.degree_share).limit_denominator(10**6)


# What `mechanism=` can name.
RESPONSES: Mapping[str, Callable[..., Response]] = {
    name: partial(Response, mechanism=name) for name in ALL_MECHANISMS
}
