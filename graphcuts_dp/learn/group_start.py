"""A first hypothesis from noisy weights between public groups, and how near the truth it is.

An update rule needs fewer updates the nearer its first hypothesis h is to the true weights D. The
usual start is uniform: the same density d for all pairs. If public groups of vertices are known,
the total weight between each two groups can be measured with noise, and h can have a density of its
own for each two groups. A *cell* is a pair (a, b) of groups, with N_ab vertex pairs, true weight
M_ab and density h_ab > 0 in the start. X is the number of all pairs and M the total weight.

The potential of an update rule is a distance between D and h. For weights in [0, 1], the distance
of this start follows from that of the uniform start d:

1. Squares (Frieze-Kannan). Since h is constant on cells,
   ||D - h||^2 = sum D_ij^2 - 2 sum_ab h_ab M_ab + sum_ab N_ab h_ab^2. The same holds with d for all
   h_ab, and the difference of the two is

       ||D - h||^2 - ||D - d||^2 = sum_ab N_ab (h_ab^2 - d^2) + sum_ab M_ab 2 (d - h_ab).

   So a bound on ||D - d||^2 plus the right side bounds ||D - h||^2.

2. Relative entropy (multiplicative weights), if h and d have the same total. Weights divided by
   their total are written D^, h^, d^. Exactly,

       KL(D^||h^) = KL(D^||d^) + sum_ab (M_ab/M) ln(d/h_ab).

Only one number on the right sides is private, besides M: G = sum_ab M_ab c_ab, with public
coefficients c_ab = 2 (d - h_ab) or ln(d/h_ab). It is called the *correction* (G, or G/M for the
entropy, is added to the distance of the uniform start); it is negative if the groups help. A vertex
pair lies in one cell, so one edge changes G by at most max |c_ab|. So a noisy value of this one
number is cheap, and no union bound over cells is needed. Sessions measure twice: first the weights
between groups, from which `start_from_sums` makes the start; then G, for the coefficients of this
start (`GroupStart.coefficients`).

The public groups come from a `CellTree`. Its levels go from one cell of all vertices (level 0) to
the finest groups (level `depth` - 1). For a level it gives `shape`, the numbers of groups of rows
and of columns; `cells`, the groups (a, b) of each cell, shape (cells,) each; `pairs`, the N_ab in
the same order; and `matrix`, values of cells as a matrix (row groups, column groups), 0 where no
cell is. On an undirected graph a cell is listed once, and `matrix` is symmetric.

Groups are numbered twice. A *code* numbers all groups that the tree knows, also those without a
vertex in the graph: rows and columns of `matrix` are in the order of codes. A *label* numbers only
groups with vertices, without gaps, as the hypothesis on blocks (`BlockHypothesis`) needs it.

Weights are divided by the largest weight that a pair may have, before they come here: so the weight
of a pair, and the density of a cell, is at most 1.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.blocks import BlockHypothesis, Labels
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.cells import CellTree

Distance = Literal["squares", "relative entropy"]

CORRECTION_UNITS = 1024  # coefficients c_ab are rounded up to whole multiples of 1/1024
MOST_GROUPS = 2048  # on one side: densities of cells are a matrix
_LEAST_DENSITY = 1 / 64  # of a cell, in units of the density of all pairs: keeps ln(d/h_ab) small


@final
@dataclass(frozen=True, eq=False)
class GroupStart:
    """A density for each two groups, with the same total weight as one density for all pairs.

    Groups are numbered by labels (see the module) everywhere in this class.

    Attributes:
        universe: the public vertex pairs.
        labels: label of the group of each row, shape (rows,), and of each column, (columns,).
        weights: h_ab, shape (groups of rows, groups of columns); symmetric if the universe is.
        cells: labels a and b, and N_ab, of each cell, shape (cells,) each; N_ab > 0. The order is
            that of the `CellTree`. Callers rely on it: they measure G with the `coefficients` in
            that order.
        density: d.
    """

    universe: Universe
    labels: tuple[Labels, Labels]
    weights: FloatMatrix
    cells: tuple[IntVector, IntVector, IntVector]
    density: float

    @cached_property
    def _cell_densities(self) -> FloatVector:
        """h_ab of each cell, shape (cells,)."""
        a, b, _ = self.cells
        return np.asarray(self.weights[a, b])

    def coefficients(self, distance: Distance) -> IntVector:
        """Return c_ab of each cell in units of 1/1024, rounded up, shape (cells,).

        Rounding up is the safe side for both distances: the M_ab are not negative, so G of rounded
        coefficients is at least the exact G, and a bound on it is a bound on the exact one.
        """
        if distance == "squares":
            coefficients = 2 * (self.density - self._cell_densities)
        else:
            coefficients = np.log(self.density / self._cell_densities)
        return np.ceil(coefficients * CORRECTION_UNITS).astype(np.int64)

    def distance_bound(
        self,
        distance: Distance,
        *,
        uniform: float,
        correction: float,
        total_weight: float,
        total_error: float,
    ) -> float:
        """Return an upper bound on the distance between the truth and this start.

        Args:
            distance: the kind of distance.
            uniform: an upper bound on the distance between the truth and the uniform start.
            correction: an upper bound on G of the rounded coefficients, and so on the exact G.
            total_weight: M or a noisy value of it.
            total_error: how far the true M may be from `total_weight`.
        """
        if distance == "squares":
            # The two sums of the formula: the first is public and exact, the second is G.
            pairs = self.cells[2]
            public_sum = float(pairs @ (self._cell_densities**2 - self.density**2))
            return max(0.0, uniform + public_sum + correction)
        # G/M is a mean of coefficients, weighted by M_ab: at most the largest of them.
        largest = float(self.coefficients(distance).max()) / CORRECTION_UNITS
        # An upper bound on G/M is needed, where M is within total_error of total_weight. A positive
        # G is divided by the smallest such M, a negative G by the largest.
        total = total_weight - total_error if correction > 0 else total_weight + total_error
        mean = min(largest, correction / total) if total > 0 else largest  # bound on G/M
        return max(0.0, uniform + mean)

    def blocks(self) -> BlockHypothesis:
        """Return the start as a hypothesis, with the groups as blocks."""
        right = None if self.universe.symmetric else self.labels[1]
        return BlockHypothesis(self.universe, self.labels[0], self.weights, right)


def start_from_sums(
    universe: Universe,
    cells: CellTree,
    codes: tuple[IntVector, IntVector],
    sums: npt.ArrayLike,
    *,
    deviation: float,
    total_weight: float,
) -> GroupStart:
    """Compute the start from noisy weights between groups.

    The density of a cell is shrunk towards that of all pairs, the more so the noisier it is:

        h = d + b^2/(b^2 + v) (noisy density - d),

    where v is the variance of the noise on the density of the cell, and b^2 the variance of true
    densities around d. b^2 is estimated by the method of moments:

    1. The residual of a cell is its noisy sum minus d N_ab. It is N_ab times (true density - d),
       plus noise of standard deviation `deviation`.
    2. So the expected square of a residual is N_ab^2 b^2 + deviation^2.
    3. Add this up over all cells, put the observed squares for the expected ones, solve for b^2:

        b^2 = (sum of squared residuals - number of cells * deviation^2)/(sum of N_ab^2),

       or 0 if this is negative.

    Then h is clipped to [d/64, 1], and all h are scaled to the total weight, which may bring some
    slightly out of that range again.

    Args:
        universe: the public vertex pairs.
        cells: the public cells; those of the finest level are used.
        codes: code of the group of each row, shape (rows,), and of each column, (columns,).
        sums: noisy total weight of each of these cells, shape (cells,).
        deviation: standard deviation of their noise, in the same unit.
        total_weight: of all pairs together, noisy, in (0, X].

    Privacy:
        Post-processing of noisy sums and a noisy total weight.

    Raises:
        ParameterError: too many groups.
    """
    level = cells.depth - 1  # the finest
    if max(cells.shape(level)) > MOST_GROUPS:
        raise ParameterError(
            f"a session starts from at most {MOST_GROUPS:,} groups; give it a coarser level"
        )
    a, b = cells.cells(level)
    pairs = cells.pairs(level)  # (cells,), N_ab
    density = total_weight / universe.size
    residuals = np.asarray(sums, dtype=np.float64) - density * pairs
    squares_above_noise = float((residuals**2).sum()) - len(residuals) * deviation**2
    squared_pairs = float((pairs.astype(np.float64) ** 2).sum())
    between_variance = max(0.0, squares_above_noise / squared_pairs)  # b^2
    noise_variance = (deviation / pairs) ** 2  # v
    shrinkage = between_variance / (between_variance + noise_variance)
    densities = np.maximum(density + shrinkage * residuals / pairs, density * _LEAST_DENSITY)
    densities = np.minimum(densities, 1.0)
    densities *= total_weight / float(pairs @ densities)
    # Two groups without a vertex pair, such as the group of a single vertex with itself, have no
    # cell, and `matrix` writes 0 there. No answer reads these entries, but multiplicative weights
    # need positive ones. To have d there, make the matrix of differences from d, and add d.
    weights = cells.matrix(level, densities - density) + density  # by codes
    present_rows, row_labels, row_label_of_code = _numbered(codes[0], weights.shape[0])
    present_columns, column_labels, column_label_of_code = _numbered(codes[1], weights.shape[1])
    return GroupStart(
        universe=universe,
        labels=(row_labels, column_labels),
        weights=weights[np.ix_(present_rows, present_columns)],
        cells=(row_label_of_code[a], column_label_of_code[b], pairs),
        density=density,
    )


def _numbered(codes: IntVector, groups: int) -> tuple[IntVector, Labels, IntVector]:
    """Label the groups that have vertices 0, 1, ..., in the order of their codes.

    Args:
        codes: code of the group of each vertex, shape (n,), in [0, groups).
        groups: number of codes.

    Returns:
        The codes of the groups that have vertices, shape (present,); the label of each vertex's
        group, shape (n,); and the label of each code, shape (groups,), -1 without vertices.
    """
    present, labels = np.unique(codes, return_inverse=True)
    label_of_code = np.full(groups, -1, dtype=np.int64)
    label_of_code[present] = np.arange(len(present))
    return present, labels.astype(np.int32), label_of_code
