"""Noisy degrees and a noisy total: where a split release reads the private graph."""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.measurements.noisy_degrees import NoisyDegrees, NoisyTotal
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.laws import LaplaceNoise, NoiseLaw
from graphcuts_dp.privacy.noise import sample_discrete_laplace

_LARGEST_ENTRY = 2**31  # in steps, so that 2^31 of them and their noise fit into 64 bits


def respond_degrees(
    graph: AnyGraph, law: NoiseLaw, *, epsilon: Fraction, source: EntropySource
) -> NoisyDegrees:
    """All degrees with discrete Laplace noise.

    Args:
        graph: the private graph; weights need a public cap.
        law: of the entries; tells the grid that weights are rounded down to.
        epsilon: privacy parameter of all degrees together, exact.
        source: where the noise comes from.

    Raises:
        ParameterError: weights without a cap, or sums that could overflow.

    Guarantee: epsilon-DP, neighbours being graphs on the same vertices that differ in one pair (an
    edge; or its weight within 0..cap). Let an entry be at most s steps. Changing the pair {i, j}
    changes the row sums of i and of j (or the row sum of i and the column sum of j) by the same
    number of steps, at most s, and no other: the L1 sensitivity is exactly 2 s. Independent noise
    with P(k) proportional to e^(-rate |k|), rate = epsilon/(2 s), on integers of that sensitivity
    is epsilon-DP. Weights are rounded down to steps before they are added, entry by entry, which
    keeps s. Source: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009.
    Side channel: adding up takes time proportional to the number of edges.
    """
    check_sums(law)
    grid = _grid(law)
    shape = (graph.n, graph.n) if isinstance(graph, Graph) else graph.shape
    rate = epsilon / (2 * grid.sensitivity_steps)
    steps = _steps(graph, grid)
    rows = np.zeros(shape[0], dtype=np.int64)
    columns = rows if isinstance(graph, Graph) else np.zeros(shape[1], dtype=np.int64)
    np.add.at(rows, graph.rows, steps)
    np.add.at(columns, graph.columns, steps)
    rows += sample_discrete_laplace(rate, len(rows), source)
    if columns is not rows:
        columns += sample_discrete_laplace(rate, len(columns), source)
    return NoisyDegrees(rows, columns, grid.unit, rate)


def respond_total(
    graph: AnyGraph, law: NoiseLaw, *, epsilon: Fraction, source: EntropySource
) -> NoisyTotal:
    """The sum of the whole matrix (each edge of a `Graph` twice), with discrete Laplace noise.

    Args:
        graph: the private graph; weights need a public cap.
        law: of the entries; tells the grid that weights are rounded down to.
        epsilon: privacy parameter, exact.
        source: where the noise comes from.

    Raises:
        ParameterError: as `respond_degrees`.

    Guarantee: epsilon-DP. One pair changes the sum of the weights by at most s steps (see
    `respond_degrees`), and the noise k, added before doubling, has P(k) proportional to
    e^(-epsilon |k|/s). May be negative.
    """
    check_sums(law)
    grid = _grid(law)
    steps = int(_steps(graph, grid).sum())
    rate = epsilon / grid.sensitivity_steps
    steps += int(sample_discrete_laplace(rate, 1, source)[0])
    unit = grid.unit * (2 if isinstance(graph, Graph) else 1)
    return NoisyTotal(steps * unit, unit / (math.sqrt(2) * math.sinh(float(rate) / 2)))


def degree_share(vertices: int) -> Fraction:
    """Which part of epsilon noisy degrees deserve, from the number of vertices: 2/(2 + n^(1/4)).

    With a share t, errors of the degrees move the worst cut by about n/(t epsilon), errors of the
    bits by about a quarter of n^(3/2)/((1-t) epsilon) after the fit; the sum is least at
    t/(1-t) = 2 n^(-1/4). A tenth to a third for 10^2 to 10^6 vertices.
    """
    return Fraction(2 / (2 + vertices**0.25)).limit_denominator(1000)


def check_sums(law: NoiseLaw) -> None:
    """Check that sums of weights can be released.

    Raises:
        ParameterError: weights without a cap, or with one so large that sums could overflow.
    """
    if law.weight_cap is None:
        raise ParameterError(
            "sums of weights have no bounded sensitivity without a public weight cap: give "
            "weight_cap, or choose mechanism='response'"
        )
    if _grid(law).sensitivity_steps > _LARGEST_ENTRY:
        raise ParameterError(
            "the weight cap is too large for sums of weights: rescale the weights, or choose "
            "mechanism='response'"
        )


def _grid(law: NoiseLaw) -> LaplaceNoise:
    """The steps that weights are counted in."""
    return law if isinstance(law, LaplaceNoise) else LaplaceNoise(law.epsilon, law.weight_cap)


def _steps(graph: AnyGraph, grid: LaplaceNoise) -> npt.NDArray[np.int64]:
    """Weights in whole steps, rounded down entry by entry."""
    steps: npt.NDArray[np.int64] = np.floor(graph.weights / grid.unit).astype(np.int64)
    return steps
