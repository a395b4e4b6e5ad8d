"""How users say that a release shall spend its budget: a mechanism by name, and its options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.options import check, option

AUTO, RESPONSE, SPLIT, SPARSE = (
    "auto",
    "randomized-response",
    "degrees+randomized-response",
    "sparse",
)
MECHANISMS = (AUTO, RESPONSE, SPLIT)  # with a noisy matrix
ALL_MECHANISMS = (*MECHANISMS, SPARSE)
_SPARSE_SHARES = (0.01, 0.95)  # of epsilon, that degrees may have: other parts need some, too


@final
@dataclass(frozen=True)
class Mechanism:
    """How a release spends epsilon; a string names it, too, such as "sparse:degree-share=.3".

    Attributes:
        mechanism: "randomized-response" spends all of epsilon on noisy entries.
            "degrees+randomized-response" spends a part on noisy degrees, which are cheap and hold
            most of a sparse graph's cuts. "auto" measures the total and, if needed, early degrees,
            and chooses between the two; see `MatrixDecisions`. Only the fit "maximum-entropy" uses
            degrees: with any other, "auto" is "randomized-response". "sparse" costs the edges and
            not the pairs, for large graphs of few edges: it keeps edges whose noisy weight reaches
            a threshold, degrees, and sums between groups; see `sparse_plan`. "auto" takes it for
            large graphs; see `takes_sparse`.
        degree_share: part of epsilon for the degrees, in (0, 1); with "sparse" in [0.01, 0.95].
            None for `degree_share`, or beside informative groups `degree_share_beside_groups`, of
            `synth.budget_plans`; with "sparse" for what noisy counts of weights suggest.

    Raises:
        ParameterError: an unknown name, a share out of range or without degrees.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> release = gc.release_graph(club, epsilon=4.0, mechanism=gc.Mechanism(degree_share=0.5))
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
            raise ParameterError(
                "mechanism='randomized-response' measures no degrees: leave degree_share out, or "
                "choose mechanism='auto', 'degrees+randomized-response' or 'sparse'"
            )
        low, high = _SPARSE_SHARES
        if self.mechanism == SPARSE and not low <= self.degree_share <= high:
            raise ParameterError(
                f"degree_share must lie between {low:g} and {high:g} with mechanism='sparse'"
            )

    @property
    def share(self) -> Fraction | None:
        """The share of degrees as a fraction with denominator at most 10^6; None if not given."""
        if self.degree_share is None:
            return None
        return Fraction(self.degree_share).limit_denominator(10**6)


# What `mechanism=` can name.
MECHANISM_OPTIONS: Mapping[str, Callable[..., Mechanism]] = {
    name: partial(Mechanism, mechanism=name) for name in ALL_MECHANISMS
}
