"""Draw uniform subsets, exactly."""

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.privacy.entropy import EntropySource


def uniform_subset(count: int, size: int, source: EntropySource) -> IntVector:
    """Draw a uniform subset of 0..size-1, exactly, ascending.

    Numbers are drawn until enough are distinct, and the first ones stay: each is uniform whatever
    was drawn before, given that it is a new one. Where more than half is wanted, those to leave
    out are drawn.

    Args:
        count: how many, in 0..size.
        size: at most 2^62.
        source: where the bits come from.

    Returns:
        Shape (count,).
    """
    if 2 * count > size:
        left_out = uniform_subset(size - count, size, source)
        is_kept = np.ones(size, dtype=np.bool_)
        is_kept[left_out] = False
        return np.flatnonzero(is_kept)
    chosen = np.zeros(0, dtype=np.int64)
    while len(chosen) < count:
        more = np.concatenate([chosen, _uniform(2 * (count - len(chosen)) + 8, size, source)])
        _, first = np.unique(more, return_index=True)
        chosen = more[np.sort(first)][:count]
    chosen.sort()
    return chosen


def _uniform(count: int, size: int, source: EntropySource) -> IntVector:
    """Draw about so many independent uniform numbers in 0..size-1 from `count` words."""
    bits = max(1, (size - 1).bit_length())
    words = source.bytes(8 * count).view(np.uint64) >> np.uint64(64 - bits)
    return words[words < np.uint64(size)].astype(np.int64)
