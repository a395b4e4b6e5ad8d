"""Bounds on the sum of squared shares of groups, from simultaneous bounds on each share."""

import numpy as np

from graphcuts_dp.arrays import FloatVector

_OUTWARD = 1e-9  # more than floats and the search lose
_ROUNDS = 60


def squared_shares(low: FloatVector, high: FloatVector) -> tuple[float, float]:
    """Bounds on sum p^2 over all p with low <= p <= high and sum p = 1.

    The least is found by water filling: p is one number, clipped to its bounds. For the largest,
    p^2 <= (low + high) p - low high between the bounds; the sum of that is linear in p and largest
    where what low leaves of 1 goes to the largest low + high first.

    Args:
        low: shape (groups,), sum at most 1.
        high: likewise, at least low, sum at least 1.
    """
    left, right = 0.0, 1.0
    for _ in range(_ROUNDS):
        middle = (left + right) / 2
        if np.clip(middle, low, high).sum() > 1:
            right = middle
        else:
            left = middle
    least = float((np.clip(left, low, high) ** 2).sum())
    order = np.argsort(-(low + high), kind="stable")
    room = (high - low)[order]
    given = np.clip(1 - low.sum() - (np.cumsum(room) - room), 0, room)
    taken = low[order] + given
    most = float(((low + high)[order] * taken - (low * high)[order]).sum())
    return max(least - _OUTWARD, 0.0), min(most + _OUTWARD, 1.0)


def multiplied_shares(
    rows: tuple[FloatVector, FloatVector], columns: tuple[FloatVector, FloatVector]
) -> tuple[float, float]:
    """Bounds on sum p q, from those on the shares p and q."""
    least, most = (float(rows[end] @ columns[end]) for end in (0, 1))
    return max(least - _OUTWARD, 0.0), min(most + _OUTWARD, 1.0)
