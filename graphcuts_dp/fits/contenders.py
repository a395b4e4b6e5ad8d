"""Two ways to find the structure of a noisy adjacency matrix, and which of them to believe."""

import math
from dataclasses import replace

import numpy as np

from graphcuts_dp.deadline import NEVER, Deadline
from graphcuts_dp.fits.block_model import fit_blocks
from graphcuts_dp.fits.message_passing import sharpened_structure, structure_of_blocks
from graphcuts_dp.fits.structure import (
    Structure,
    directions_near_noise,
    find_spectrum,
    largest_triples,
)
from graphcuts_dp.fits.two_sided_messages import sharpened_two_sided
from graphcuts_dp.fits.view import View

_MOST_VERTICES = 2048  # for block models, which read the matrix some hundred times
_MOST_BLOCKS = 10
_FEWEST = 6  # numbers of blocks up to this one are tried in any case
_PATIENCE = 2  # above, until so many in a row are no better


def best_structure(view: View, deviation: float, deadline: Deadline = NEVER) -> Structure:
    """The structure that the noisy matrix bears out.

    Eigenvectors, sharpened (`sharpened_structure`), find structure of any kind, but what lies near
    the edge of the noise they lose, and then two blocks become one. Block models (`fit_blocks`)
    find blocks there, and nothing else; they are sharpened likewise (`structure_of_blocks`), which
    leaves nothing of blocks that are noise. All are posterior means under the same law of noise, so
    the one with the largest likelihood is kept, less 1/2 (k (k + 1)/2 log(pairs) + (k - 1) log n)
    for k blocks. That likelihood knows nothing of what it takes to place every vertex, and noise
    alone can reach it; so blocks compete only where the evidence of their model, which does, is
    above that of one block. Blocks without a direction that stands out count as near the noise.

    Args:
        view: the matrix; one that is not symmetric has the structure of its spectrum, sharpened.
        deviation: s, of the noise of an entry.
        deadline: when to stop.

    Source: Schwarz 1978 (the penalty).
    """
    triples = largest_triples(view)
    seen, near = find_spectrum(view, triples), directions_near_noise(view, triples)
    if not view.symmetric:
        return replace(sharpened_two_sided(view, deadline, seen=seen), near=near)
    n = view.shape[0]
    best = sharpened_structure(view, deadline, seen=seen)
    if n > _MOST_VERTICES:
        return replace(best, near=near)
    deviation = max(deviation, seen.deviation)  # what edges have of their own is noise, too
    one_block = fit_blocks(view, triples[1], 1, deviation).evidence
    score, worse = explained(best, view) / deviation**2, 0
    for count in range(2, min(_MOST_BLOCKS, n // 2, triples[1].shape[1]) + 1):
        if deadline.passed() or (count > _FEWEST and worse >= _PATIENCE):
            break
        blocks = fit_blocks(view, triples[1], count, deviation)
        if blocks.evidence <= one_block:
            worse += 1
            continue
        if not len(seen.signal):
            near = max(near, 1)
        found = structure_of_blocks(view, blocks.memberships, deviation, deadline)
        reached = explained(found, view) / deviation**2 - _penalty(count, n)
        if reached > score:
            best, score, worse = found, reached, 0
        else:
            worse += 1
    return replace(best, near=near)


def _penalty(count: int, n: int) -> float:
    pairs = n * (n - 1) / 2
    return count * (count + 1) / 4 * math.log(pairs) + (count - 1) / 2 * math.log(n)


def explained(structure: Structure, view: View) -> float:
    """Log likelihood of a symmetric noisy matrix above that of no structure, times s^2.

    With T the structure's estimate, the sum over pairs of z T - T^2/2.
    """
    shown = (structure.left * view.times(structure.left)).sum(axis=0)
    diagonal = structure.left**2 @ structure.sizes
    squares = float((structure.sizes**2).sum() - diagonal @ diagonal)
    return float(np.dot(structure.sizes, shown) - squares / 2) / 2
