"""Two ways to find the structure of a noisy adjacency matrix, and which of them to believe."""

import math
from dataclasses import replace

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
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

_MOST_VERTICES = 2048  # for block models, which read the matrix some hundred times
_MOST_BLOCKS = 10
_FEWEST = 6  # numbers of blocks up to this one are tried in any case
_PATIENCE = 2  # above, until so many in a row are no better
_HELD_OUT = 16  # one of so many pairs
_DOUBT = 2.0  # deviations by which blocks may tell less than the spectrum does


def best_structure(view: View, deviation: float, deadline: Deadline = NEVER) -> Structure:
    """The structure that the noisy matrix bears out.

    Eigenvectors, sharpened (`sharpened_structure`), find structure of any kind, but what lies near
    the edge of the noise they lose, and then two blocks become one. Block models (`fit_blocks`)
    find blocks there, and nothing else; they are sharpened likewise (`structure_of_blocks`), which
    leaves nothing of blocks that are noise. All are posterior means under the same law of noise, so
    the one with the largest likelihood is kept, less 1/2 (k (k + 1)/2 log(pairs) + (k - 1) log n)
    for k blocks. Memberships that were fitted to noise alone can pass that; so blocks are believed
    if they are found again without a sixteenth of the pairs, and tell these not clearly worse than
    the spectrum that was found without them (`_foretold`).

    Args:
        view: the matrix; one that is not symmetric has the structure of its spectrum, sharpened.
        deviation: s, of the noise of an entry.
        deadline: when to stop.

    Source: Schwarz 1978 (the penalty).
    """
    if not view.symmetric:
        return sharpened_two_sided(view, deadline)
    n = view.shape[0]
    triples = largest_triples(view)
    best = spectral = sharpened_structure(view, deadline, seen=find_spectrum(view, triples))
    if n > _MOST_VERTICES:
        return best
    score, worse, chosen = explained(best, view) / deviation**2, 0, 0
    for count in range(2, min(_MOST_BLOCKS, n // 2, triples[1].shape[1]) + 1):
        if deadline.passed() or (count > _FEWEST and worse >= _PATIENCE):
            break
        blocks = fit_blocks(view, triples[1], count, deviation)
        found = structure_of_blocks(view, blocks.memberships, deviation, deadline)
        reached = explained(found, view) / deviation**2 - _penalty(count, n)
        if reached > score:
            best, score, worse = found, reached, 0
        else:
            worse += 1
            continue
        chosen = count
    if chosen and not _foretold(view, chosen, deviation, deadline):
        return spectral
    return best


def _foretold(view: View, count: int, deviation: float, deadline: Deadline) -> bool:
    """Whether so many blocks are found again without some pairs, and tell those no worse.

    For a part of the pairs the sum of z T - T^2/2 says how much nearer T is to z than 0 is. Noise
    in z moves the difference between two such sums by s times the norm of T - T' there.
    """
    n = view.shape[0]
    random = np.random.default_rng(n)  # which pairs: nothing private, no noise
    held = np.triu(random.integers(_HELD_OUT, size=(n, n), dtype=np.uint8) == 0, 1)
    held |= held.T
    left = 1 - 1 / _HELD_OUT
    shown = replace(view, factors=np.where(held, 0, 1 / left).astype(np.float32))
    noise = deviation / math.sqrt(left)
    triples = largest_triples(shown)
    blocks = fit_blocks(shown, triples[1], count, noise)
    found = structure_of_blocks(shown, blocks.memberships, noise, deadline)
    if not len(found.sizes):
        return False
    other = sharpened_structure(shown, deadline, seen=find_spectrum(shown, triples))
    rest = replace(view, factors=held.astype(np.float32))
    ours, theirs = (_estimate(each) * held for each in (found, other))
    gained = _told(found, rest, ours) - _told(other, rest, theirs)
    return gained >= -_DOUBT * deviation * math.sqrt(float(((ours - theirs) ** 2).sum()) / 2)


def _estimate(structure: Structure) -> FloatMatrix:
    return (structure.left * structure.sizes) @ structure.left.T


def _told(structure: Structure, rest: View, estimate: FloatMatrix) -> float:
    """The sum over pairs that were held out of z T - T^2/2."""
    shown = (structure.left * rest.times(structure.left)).sum(axis=0)
    return float(structure.sizes @ shown - (estimate**2).sum() / 2) / 2


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
