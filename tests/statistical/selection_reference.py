"""Probabilities of a noisy maximum, term by term."""

import math

import numpy as np


def choice_probabilities(scores, rate):
    """P(candidate i is chosen), shape (candidates,): a sum over the noise of i, cut at 1e-18."""
    u = np.asarray(scores, dtype=np.int64)
    ratio = math.exp(-float(rate))
    k = np.arange(math.ceil(42 / float(rate)) + 1)
    earlier = np.tri(len(u), k=-1, dtype=bool)  # [i, j]: j comes before i, and wins ties
    found = np.empty(len(u))
    for i in range(len(u)):
        # j loses to i with G_i = k when G_j < room; G_j = room is enough where j comes before i.
        room = u[i] - u[:, None] + k + np.where(earlier[i], 0, 1)[:, None]
        loses = 1 - ratio ** np.maximum(room, 0)
        loses[i] = 1
        found[i] = (1 - ratio) * (ratio**k * loses.prod(axis=0)).sum()
    return found
