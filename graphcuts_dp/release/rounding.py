"""Rounding a fractional synthetic graph to one without weights."""

import numpy as np
import numpy.typing as npt

from graphcuts_dp.privacy.entropy import EntropySource


def round_entries(
    matrix: npt.NDArray[np.floating], *, symmetric: bool, source: EntropySource
) -> npt.NDArray[np.uint8]:
    """Independent coin flips: entry x becomes 1 with probability x, up to 2^-32.

    Every cut keeps its expectation (up to 2^-32 of its pairs); by Hoeffding a cut of N pairs moves
    by more than t with probability at most 2 exp(-2 t^2/N), so no cut by more than about
    0.6 n^1.5. Post-processing of noisy data; costs no privacy.

    Source: GRU12 Remark 6.3.

    Args:
        matrix: entries in [0, 1].
        symmetric: flip once for both entries of a pair.
        source: where the flips come from.
    """
    heads = np.zeros(matrix.shape, dtype=np.uint8)
    for i, row in enumerate(matrix):
        start = i + 1 if symmetric else 0
        wanted = row[start:].astype(np.float64) * 2.0**32
        coins = source.bytes(4 * len(wanted)).view(np.uint32)
        heads[i, start:] = coins < np.floor(wanted)
    if symmetric:
        heads |= heads.T
    return heads
