"""Two ways to find the structure of a noisy adjacency matrix, and which of them to believe."""

import numpy as np

from graphcuts_dp.deadline import NEVER, Deadline
from graphcuts_dp.fits.block_model import fit_blocks
from graphcuts_dp.fits.message_passing import sharpened_structure, structure_of_blocks
from graphcuts_dp.fits.structure import (
    Structure,
    find_spectrum,
    largest_triples,
)
from graphcuts_dp.fits.two_sided_messages import sharpened_two_sided
from graphcuts_dp.fits.view import View

_MOST_VERTICES = 4096  # for the block model, which reads the matrix some hundred times


def best_structure(view: View, deviation: float, deadline: Deadline = NEVER) -> Structure:
    """The structure that the noisy matrix bears out.

    Eigenvectors, sharpened (`sharpened_structure`), find structure of any kind, but what lies near
    the edge of the noise they lose, and then two blocks become one. A block model (`fit_blocks`)
    finds blocks there, and nothing else; its blocks are sharpened likewise (`structure_of_blocks`).
    Both are posterior means under the same law of noise, so the one with the larger likelihood is
    kept; the blocks only if their evidence, which counts what they cost, is above that of no
    structure.

    Args:
        view: the matrix; one that is not symmetric has the structure of its spectrum, sharpened.
        deviation: s, of the noise of an entry.
        deadline: when to stop.
    """
    if not view.symmetric:
        return sharpened_two_sided(view, deadline)
    triples = largest_triples(view)
    found = sharpened_structure(view, deadline, seen=find_spectrum(view, triples))
    if view.shape[0] > _MOST_VERTICES or deadline.passed():
        return found
    blocks = fit_blocks(view, triples[1], deviation, deadline)
    if blocks.count == 1 or blocks.evidence <= 0:
        return found
    other = structure_of_blocks(view, blocks.memberships, deviation, deadline)
    better = explained(other, view) > explained(found, view)
    return other if better else found


def explained(structure: Structure, view: View) -> float:
    """Log likelihood of a symmetric noisy matrix above that of no structure, times s^2.

    With T the structure's estimate, the sum over pairs of z T - T^2/2.
    """
    shown = (structure.left * view.times(structure.left)).sum(axis=0)
    diagonal = structure.left**2 @ structure.sizes
    squares = float((structure.sizes**2).sum() - diagonal @ diagonal)
    return float(np.dot(structure.sizes, shown) - squares / 2) / 2
