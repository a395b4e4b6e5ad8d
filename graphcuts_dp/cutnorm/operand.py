"""A matrix as the cut-norm methods see it: products, absolute sums, and sums with error bounds.

Every method works on an `Operand`. It hides whether the matrix is dense, sparse or a
`LinearOperator`, holds it scaled by a power of two when its entries are extreme, and is the one
place where rounding error is bounded: u = 2^-53, and a sum of m terms in any order is off by at
most gamma_m = m u / (1 - m u) times the sum of absolute values (Higham 2002, section 3.1).
"""

import math
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, final

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from graphcuts_dp.arrays import FloatArray, RealMatrix
from graphcuts_dp.errors import MatrixError

Kind = Literal["dense", "sparse", "operator"]

UNIT_ROUNDOFF = 2.0**-53
OPERATOR_ERROR = 2.0**-40
_BLOCK_ENTRIES = 1 << 22
_FSUM_ENTRIES = 1 << 13
_SAFE_EXPONENT = {np.dtype(np.float32): 24, np.dtype(np.float64): 200}


def gamma(terms: int) -> float:
    """Higham's gamma_m: the relative error of a float64 sum of `terms` products, any order."""
    return terms * UNIT_ROUNDOFF / (1.0 - terms * UNIT_ROUNDOFF) * (1.0 + 2.0**-50)


class AbsoluteSums(NamedTuple):
    """Upper bounds on sums of absolute entries.

    Attributes:
        rows: on sum_j |a_ij|, shape (n1,).
        columns: on sum_i |a_ij|, shape (n2,).
        total: on sum_ij |a_ij|.
        one_sign: on max(sum of positive entries, sum of |negative entries|). It bounds the cut
            norm: A(S, T) takes at best all positive entries, or all negative ones.
    """

    rows: FloatArray
    columns: FloatArray
    total: float
    one_sign: float


@final
class Operand:
    """A validated matrix with entries a_ij = 2^-exponent times the user's.

    Args:
        data: a C- or F-ordered float32/float64 array, a CSR array of the same, or an operator.
        exponent: the power of two that was taken out.
    """

    def __init__(self, data: Any, exponent: int = 0) -> None:
        self.data = data
        self.exponent = exponent
        self.shape: tuple[int, int] = (int(data.shape[0]), int(data.shape[1]))
        self.kind: Kind = (
            "dense"
            if isinstance(data, np.ndarray)
            else "sparse"
            if sp.issparse(data)
            else "operator"
        )
        dtype = np.dtype(data.dtype) if data.dtype is not None else np.dtype(np.float64)
        self.dtype = np.dtype(np.float32) if dtype == np.float32 else np.dtype(np.float64)

    @classmethod
    def from_matrix(cls, matrix: Any) -> Self:
        """Validate a matrix and scale it by a power of two if its entries are extreme.

        Args:
            matrix: array-like of shape (n1, n2), real (bool and integers too), any scipy sparse
                matrix, or a real `LinearOperator` with `matmat` and `rmatmat`; n1, n2 >= 1.

        Raises:
            MatrixError: wrong dimension, empty, complex, not a number, infinite, or integers that
                float64 cannot hold.
        """
        if isinstance(matrix, cls):
            return matrix
        if isinstance(matrix, LinearOperator):
            _require_two_dimensions(matrix.shape)
            if matrix.dtype is not None and np.dtype(matrix.dtype).kind == "c":
                raise MatrixError("the cut norm is for real matrices; split real and imaginary")
            return cls(matrix)
        if sp.issparse(matrix):
            _require_two_dimensions(matrix.shape)
            sparse = sp.csr_array(matrix, dtype=_float_dtype(matrix.dtype))
            if not sparse.has_canonical_format:
                sparse = sparse.copy()
                sparse.sum_duplicates()
            _require_same_values(matrix.data, matrix.dtype)
            exponent = _scaling_exponent(sparse.data)
            if exponent:
                sparse = sparse.copy()
                sparse.data = np.ldexp(sparse.data, -exponent)
            return cls(sparse, exponent)
        try:
            raw = np.asarray(matrix)
        except ValueError as error:
            raise MatrixError("rows of different lengths; give a rectangular matrix") from error
        _require_two_dimensions(raw.shape)
        dense = raw.astype(_float_dtype(raw.dtype), copy=False)
        _require_same_values(raw, raw.dtype)
        if not (dense.flags.c_contiguous or dense.flags.f_contiguous):
            dense = np.ascontiguousarray(dense)
        exponent = _scaling_exponent(dense)
        return cls(np.ldexp(dense, -exponent) if exponent else dense, exponent)

    def require_entries(self, method: str) -> None:
        """Raise `MatrixError` for an operator, which hides them."""
        if self.kind == "operator":
            raise MatrixError(
                f"the {method} method needs the entries, which an operator hides; "
                'use method="low-rank"'
            )

    def dense(self) -> FloatArray:
        """The matrix written out, in float64. Not for operators."""
        inner = self.data.toarray() if self.kind == "sparse" else self.data
        return np.asarray(inner, dtype=np.float64)

    @property
    def T(self) -> "Operand":
        """The transpose, sharing memory."""
        data = self.data.T
        return Operand(data.tocsr() if self.kind == "sparse" else data, self.exponent)

    @cached_property
    def _transposed(self) -> Any:
        return self.data.T.tocsr() if self.kind == "sparse" else self.data.T

    def apply(self, columns: RealMatrix, *, transpose: bool = False) -> RealMatrix:
        """A @ columns, or A^T @ columns, in the precision of the matrix."""
        product: RealMatrix
        if not transpose:
            product = self.data @ columns
        elif self.kind == "operator":
            product = self.data.rmatmat(columns)
        else:
            product = self._transposed @ columns
        return product

    def apply64(self, columns: FloatArray, *, transpose: bool = False) -> FloatArray:
        """The same in float64; a float32 matrix is widened block by block."""
        if self.kind != "dense" or self.dtype == np.float64:
            return np.asarray(self.apply(columns, transpose=transpose), dtype=np.float64)
        if transpose:
            total = np.zeros((self.shape[1], *columns.shape[1:]))
            for rows, block in self.blocks():
                total += block.T @ columns[rows]
            return total
        return np.concatenate([block @ columns for _, block in self.blocks()])

    def blocks(self) -> Any:
        """Pairs (slice of rows, float64 copy or view of them) of a dense or sparse matrix."""
        height = self.shape[0]
        if self.kind == "dense":
            height = max(1, _BLOCK_ENTRIES // self.shape[1])
        for start in range(0, self.shape[0], height):
            rows = slice(start, min(start + height, self.shape[0]))
            block = self.data if self.kind == "sparse" else self.data[rows]
            yield rows, block.astype(np.float64, copy=False)

    @cached_property
    def absolute(self) -> AbsoluteSums:
        """Sums of |a_ij|; of an operator, whose entries are unseen, infinite totals alone."""
        if self.kind == "operator":
            return AbsoluteSums(np.zeros(0), np.zeros(0), math.inf, math.inf)
        rows, columns = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        total = 0.0
        for where, block in self.blocks():
            absolute = abs(block)
            rows[where] = np.asarray(absolute.sum(axis=1)).ravel()
            columns += np.asarray(absolute.sum(axis=0)).ravel()
            total += float(block.sum())
        slack = 1.0 + 2.0 * gamma(self.shape[0] + self.shape[1] + 4)
        rows, columns = rows * slack, columns * slack
        absolute_total = math.fsum(rows) * slack
        error = gamma(self.shape[0] * self.shape[1] + 4) * absolute_total
        part = 0.5 * (absolute_total + abs(total) + error) * slack
        return AbsoluteSums(rows, columns, absolute_total, part)

    @cached_property
    def is_integer(self) -> bool:
        """Whether all entries are integers and all sums of them are exact in float64."""
        if self.kind == "operator" or self.exponent or not self.absolute.total < 2.0**50:
            return False
        for _, block in self.blocks():
            values = block.data if self.kind == "sparse" else block
            if not bool(np.all(values == np.rint(values))):
                return False
        return True

    @cached_property
    def operator_norm_guess(self) -> float:
        """Twice a power-method estimate of sigma_1 (only to model an operator's error)."""
        rng = np.random.default_rng(20120306)
        vectors = rng.standard_normal((self.shape[1], 4))
        estimate = 0.0
        for _ in range(8):
            norms = np.linalg.norm(vectors, axis=0)
            vectors = vectors / np.where(norms > 0, norms, 1.0)
            image = self.apply64(vectors)
            estimate = max(estimate, float(np.linalg.norm(image, axis=0).max()))
            vectors = self.apply64(image, transpose=True)
        if not math.isfinite(estimate):
            raise MatrixError("the operator returned a value that is not finite")
        return 2.0 * estimate

    def bilinear_form(self, x: FloatArray, y: FloatArray) -> tuple[float, float]:
        """x^T A y for x, y with entries in {-1, 0, 1}, and a bound on its rounding error.

        Products with -1, 0, 1 are exact, so only sums round. Small matrices are summed by
        `math.fsum` (error at most one unit in the last place); integers are exact; otherwise each
        row is off by gamma_n2 times its absolute sum and `math.fsum` adds the rows. An operator's
        products are taken to be accurate to 2^-40 of its norm: a premise, not a theorem.

        Args:
            x: shape (n1,).
            y: shape (n2,).

        Returns:
            (value, error) with |value - x^T A y| <= error.
        """
        if self.kind == "dense" and self.data.size <= _FSUM_ENTRIES:
            value = math.fsum((self.data.astype(np.float64) * np.outer(x, y)).ravel().tolist())
            return value, 0.0 if self.is_integer else UNIT_ROUNDOFF * 1.001 * abs(value)
        rows = self.apply64(y.reshape(-1, 1)).ravel()
        value = math.fsum((rows * x).tolist())
        if not math.isfinite(value):
            raise MatrixError("the operator returned a value that is not finite")
        if self.is_integer:
            return value, 0.0
        if self.kind == "operator":
            length = math.sqrt(float(np.abs(x).sum()) * float(np.abs(y).sum()))
            return value, OPERATOR_ERROR * self.operator_norm_guess * length
        error = gamma(self.shape[1] + 4) * self.absolute.total
        return value, error + 2.0 * UNIT_ROUNDOFF * abs(value)

    def unscale_down(self, value: float) -> float:
        """`value` in the user's unit, rounded towards zero."""
        if self.exponent == 0 or value == 0.0:
            return value
        try:
            result = math.ldexp(value, self.exponent)
        except OverflowError:
            return float(np.finfo(np.float64).max)
        return result if abs(result) > 1e-290 else max(0.0, math.nextafter(result, 0.0))

    def unscale_up(self, value: float) -> float:
        """`value` in the user's unit, rounded away from zero.

        Scaling down the tiny entries of a matrix with huge ones may lose 2^-1074 an entry; the
        largest entry is then above 1/2, so one unit in the last place of `value` covers the loss.
        """
        if self.exponent == 0 or value == 0.0 or not math.isfinite(value):
            return value
        try:
            return math.nextafter(
                math.ldexp(math.nextafter(value, math.inf), self.exponent), math.inf
            )
        except OverflowError:
            return math.inf


def _require_two_dimensions(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise MatrixError(f"a matrix has two dimensions, this has {len(shape)}")
    if 0 in shape:
        raise MatrixError("the matrix is empty; give at least one row and one column")


def _float_dtype(dtype: Any) -> np.dtype[Any]:
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        raise MatrixError("the cut norm is for real matrices; split real and imaginary parts")
    if dtype.kind not in "fiub":
        raise MatrixError(f"entries of type {dtype} are not numbers; convert to float64")
    narrow = dtype in (np.dtype(np.float32), np.dtype(np.float16))
    return np.dtype(np.float32) if narrow else np.dtype(np.float64)


def _require_same_values(values: Any, dtype: Any) -> None:
    dtype = np.dtype(dtype)
    if dtype.kind in "iu" and dtype.itemsize == 8 and values.size:
        if max(abs(int(values.max())), abs(int(values.min()))) > 2**53:
            raise MatrixError("integers above 2^53 do not fit float64; scale the matrix first")
    elif dtype.kind == "f" and dtype.itemsize > 8 and not np.all(values == values.astype("f8")):
        raise MatrixError("extended precision does not fit float64; convert the matrix first")


def _scaling_exponent(values: RealMatrix) -> int:
    """0 for ordinary entries, else e with max |a| in [2^(e-1), 2^e)."""
    if values.size == 0:
        return 0
    largest = max(float(values.max()), -float(values.min()))
    if not math.isfinite(largest):
        raise MatrixError("the matrix has entries that are nan or infinite; remove them first")
    if largest == 0.0:
        return 0
    exponent = math.frexp(largest)[1]
    return exponent if abs(exponent) > _SAFE_EXPONENT[values.dtype] else 0
