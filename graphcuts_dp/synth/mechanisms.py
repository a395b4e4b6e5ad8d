"""The option of a release that says how it spends its budget: a mechanism, and a degree share.

Users type `mechanism="auto"`, `mechanism="sparse:degree-share=.3"`, or pass a `Mechanism`. A text
before the colon is a key of `MECHANISM_OPTIONS`; what follows are keyword arguments for the value
of that key, with hyphens for underscores. From the `Mechanism` and from public facts,
`synth.budget_plans` writes the plan of the release: its measurements, their shares of epsilon, and
the conditions under which they are made.

Terms used here: a release either measures a noisy value for every pair of vertices (a noisy matrix,
perhaps beside noisy degrees), or it is a sparse release, which measures heavy pairs alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.options import check, option

AUTO = "auto"
RESPONSE = "randomized-response"
SPLIT = "degrees+randomized-response"
SPARSE = "sparse"
MECHANISMS = (AUTO, RESPONSE, SPLIT)  # the three that measure a noisy matrix, without "sparse"
ALL_MECHANISMS = (*MECHANISMS, SPARSE)
# Least and largest share of epsilon for the degrees of a sparse release, whose other measurements
# need some of epsilon, too.
_SPARSE_DEGREE_SHARES = (0.01, 0.95)

# What `mechanism=` can name. Each name has a function that makes the `Mechanism` of this name from
# the other options as keyword arguments, such as degree_share=0.3. Releases and the command line
# read the table; `_named_by_option` fills it, since the class is defined below.
MECHANISM_OPTIONS: dict[str, Callable[..., "Mechanism"]] = {}


def _named_by_option(mechanism_class: type["Mechanism"]) -> type["Mechanism"]:
    """Enter a class in `MECHANISM_OPTIONS`, once for each of the four names."""
    for name in ALL_MECHANISMS:
        MECHANISM_OPTIONS[name] = partial(mechanism_class, mechanism=name)
    return mechanism_class


@_named_by_option
@final
@dataclass(frozen=True)
class Mechanism:
    """Choice of how a release spends epsilon.

    Users may type it as a string, such as "sparse:degree-share=.3".

    Attributes:
        mechanism: one of four names.
            "randomized-response" spends all of epsilon on a noisy entry for each pair.
            "degrees+randomized-response" spends a part on noisy degrees, which are cheap and hold
            most of a sparse graph's cuts.
            "auto" measures the total weight, and then a structure test and the unevenness of
            degrees, or early degrees if needed, and chooses between these two; see
            `synth.decisions.MatrixDecisions`. Only the fit "maximum-entropy" uses degrees: with any
            other, "auto" is "randomized-response". For large graphs "auto" is "sparse"; see
            `release.graphs.takes_sparse`.
            "sparse" has a cost in time and memory that grows with the edges and not with the pairs.
            It measures the edges whose noisy weight reaches a threshold, degrees, and sums between
            groups; see `synth.budget_plans.sparse_plan`.
        degree_share: share of epsilon for the degrees, above 0 and below 1; with "sparse" from 0.01
            to 0.95. None for the share that the plan chooses: with a noisy matrix from the number
            of vertices, with "sparse" from noisy counts of weights.

    Raises:
        ParameterError: the name is unknown, the share is out of range, or there is a share for a
            mechanism without degrees.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> release = gc.release_graph(club, epsilon=4.0, mechanism=gc.Mechanism(degree_share=0.5))
    """

    # `option` makes a dataclass field with a default, a help text and limits: only `choices` are
    # valid, and only numbers above `above` and below `below`. `check` refuses all others.
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
        low, high = _SPARSE_DEGREE_SHARES
        if self.mechanism == SPARSE and not low <= self.degree_share <= high:
            raise ParameterError(
                f"degree_share must lie between {low:g} and {high:g} with mechanism='sparse'"
            )

    @property
    def share(self) -> Fraction | None:
        """The degree share as a fraction with a denominator of at most 10^6; None if absent.

        A share very near 0 or 1 is rounded to it. A plan with degrees of such a share would leave
        them, or the entries, nothing: "auto" then measures entries alone, and
        "degrees+randomized-response" raises an error.
        """
        if self.degree_share is None:
            return None
        return Fraction(self.degree_share).limit_denominator(10**6)
