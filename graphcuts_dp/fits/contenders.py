"""Two ways to find the structure of a noisy matrix, and which of them to believe."""

import math
from dataclasses import replace

import numpy as np

from graphcuts_dp.deadline import NEVER, Deadline
from graphcuts_dp.fits.block_model import BlockModel, fit_blocks
from graphcuts_dp.fits.message_passing import sharpened_structure
from graphcuts_dp.fits.structure import (
    Structure,
    Triples,
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
_MARGIN = 3.0  # above the evidence of one block: matrices of noise alone reached 2


def best_structure(
    view: View, deviation: float, deadline: Deadline = NEVER, *, cap: float = 1.0
) -> Structure:
    """The structure that the noisy matrix bears out.

    Singular vectors, sharpened (`sharpened_structure`, `sharpened_two_sided`), find structure of
    any kind, but what lies near the edge of the noise they lose, and then two blocks become one.
    Block models (`fit_blocks`) find blocks there, and nothing else. Of these the one of largest
    evidence competes, where that is clearly above one block's. Of both the one is kept whose
    estimate has the larger likelihood under the law of the noise, less half the logarithm of the
    number of pairs for each entry of the kernel, and of the vertices for each share. Blocks without
    a direction that stands out count as near the noise.

    Args:
        view: the matrix.
        deviation: s, of the noise of an entry.
        deadline: when to stop.
        cap: of an entry.

    Source: Schwarz 1978 (the penalty).
    """
    triples = largest_triples(view)
    seen, near = find_spectrum(view, triples), directions_near_noise(view, triples)
    sharpened = sharpened_structure if view.symmetric else sharpened_two_sided
    best = sharpened(view, deadline, seen=seen)
    if max(view.shape) > _MOST_VERTICES:
        return replace(best, near=near)
    deviation = max(deviation, seen.deviation)  # what edges have of their own is noise, too
    blocks = _likeliest(view, triples, deviation, cap, deadline)
    if blocks is not None:
        if not len(seen.signal):
            near = max(near, 1)
        found = blocks.structure()
        ahead = explained(found, view) - explained(best, view)
        if ahead > deviation**2 * _penalty(blocks.count, view):
            best = found
    return replace(best, near=near)


def _likeliest(
    view: View, triples: Triples, deviation: float, cap: float, deadline: Deadline
) -> BlockModel | None:
    """The block model of largest evidence, or None where one block explains as much."""
    one = fit_blocks(view, triples, 1, deviation, cap).evidence
    best, score, worse = None, one + _MARGIN, 0
    most = min(_MOST_BLOCKS, min(view.shape) // 2, len(triples[0]))
    for count in range(2, most + 1):
        if deadline.passed() or (count > _FEWEST and worse >= _PATIENCE):
            break
        blocks = fit_blocks(view, triples, count, deviation, cap)
        if blocks.evidence > score:
            best, score, worse = blocks, blocks.evidence, 0
        else:
            worse += 1
    return best


def _penalty(count: int, view: View) -> float:
    """For the kernel's entries, and the shares of the blocks of each side."""
    n, m = view.shape
    if view.symmetric:
        return count * (count + 1) / 4 * math.log(n * (n - 1) / 2) + (count - 1) / 2 * math.log(n)
    return count**2 / 2 * math.log(n * m) + (count - 1) / 2 * math.log(n * m)


def explained(structure: Structure, view: View) -> float:
    """Log likelihood of a noisy matrix above that of no structure, times s^2.

    With T the structure's estimate, the sum over pairs of z T - T^2/2.
    """
    left, right = structure.left, structure.right
    shown = (left * view.times(right)).sum(axis=0)
    squares = float((structure.sizes**2).sum())
    if view.blocks.layout.hollow:
        diagonal = (left * right) @ structure.sizes
        squares -= float(diagonal @ diagonal)
    found = float(np.dot(structure.sizes, shown) - squares / 2)
    return found / 2 if view.symmetric else found
