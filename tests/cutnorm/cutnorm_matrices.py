"""Matrices for the tests: every shape, integers, reals, sparse, ties, extreme scales."""

from collections.abc import Iterator
from typing import Any

import numpy as np


def small_matrices(count: int, seed: int = 7, largest: int = 10) -> Iterator[np.ndarray[Any, Any]]:
    """`count` matrices whose shapes run through all of 1x1 .. largest x largest."""
    rng = np.random.default_rng(seed)
    shapes = [(i, j) for i in range(1, largest + 1) for j in range(1, largest + 1)]
    for index in range(count):
        shape = shapes[(index * 37) % len(shapes)]
        kind = index % 8
        if kind == 0:
            yield rng.integers(-9, 10, shape)
        elif kind == 1:
            yield rng.choice([-1.0, 1.0], shape)
        elif kind == 2:
            yield rng.standard_normal(shape) * (rng.random(shape) < 0.3)
        elif kind == 3:
            yield rng.standard_normal(shape).astype(np.float32)
        elif kind == 4:
            yield np.outer(rng.standard_normal(shape[0]), rng.standard_normal(shape[1]))
        elif kind == 5:
            yield rng.random(shape) < 0.5
        elif kind == 6:
            yield rng.integers(-1, 2, shape) * 2.0 ** rng.integers(-3, 4)
        else:
            yield rng.standard_normal(shape) * np.exp(6 * rng.standard_normal(shape))
