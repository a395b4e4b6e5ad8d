"""Made groups, cells and noise for the tests of flows."""

import numpy as np

from graphcuts_dp import Groups, VertexSet
from graphcuts_dp.schema.cells import CellTree


def random_groups(rng, n=30, fine=9, middle=4, coarse=2):
    """Three nested levels of uneven groups, one of them with a single vertex."""
    codes = rng.integers(1, fine, size=n)
    codes[: fine - 1] = np.arange(1, fine)
    codes[-1] = 0
    above = np.concatenate([np.arange(middle), rng.integers(0, middle, size=fine - middle)])
    top = np.concatenate([np.arange(coarse), rng.integers(0, coarse, size=middle - coarse)])
    levels = {"top": top[above[codes]], "middle": above[codes], "fine": codes}
    return Groups(VertexSet(n), levels)


def random_cells(rng, kind):
    """The cells of such groups."""
    groups = random_groups(rng)
    if kind == "two sides":
        return CellTree(groups.tree, random_groups(rng, n=20, fine=6).tree)
    return CellTree(groups.tree, directed=kind == "directed")


def fast_noise(rng, noise, place, shape):
    """Noise of a place by numpy: differences of geometric variables, or Gaussians by their law."""
    parameter = float(noise.parameters[place])
    if noise.distribution == "laplace":
        chance = -np.expm1(-parameter)
        return rng.geometric(chance, shape) - rng.geometric(chance, shape)
    reach = int(12 * parameter**0.5) + 2
    at = np.arange(-reach, reach + 1)
    weights = np.exp(-(at**2) / (2 * parameter))
    return rng.choice(at, size=shape, p=weights / weights.sum())
