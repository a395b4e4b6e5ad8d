"""Deltas that are too large to protect anybody, and that whoever asks for one is told so."""

import warnings

from graphcuts_dp.errors import PrivacyWarning

LARGEST_DELTA = 1e-3


def delta_warning(delta: float, *, count: int, of: str = "vertices") -> str | None:
    """A sentence about a delta above 1/n or above 1e-3, or None.

    Showing all that is known of one of n people, drawn at random, is (0, 1/n)-differentially
    private: a delta near that promises nothing worth the name.

    Args:
        delta: that is about to be spent.
        count: n, public.
        of: what they are.
    """
    if delta <= LARGEST_DELTA and delta * count <= 1:
        return None
    limit = f"1 in {count:,} {of}" if 1 / count < LARGEST_DELTA else f"{LARGEST_DELTA:g}"
    return (
        f"delta = {delta:g} is above {limit}: with so large a probability the promise to somebody "
        "may fail; choose a far smaller one"
    )


def warn_of_delta(delta: float, *, count: int, of: str = "vertices", stacklevel: int) -> None:
    """Give that sentence as a warning, if there is one; call it before anything is spent."""
    told = delta_warning(delta, count=count, of=of)
    if told is not None:
        warnings.warn(told, PrivacyWarning, stacklevel=stacklevel + 1)
