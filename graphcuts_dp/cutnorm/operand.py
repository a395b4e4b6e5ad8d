"""The matrix of a cut norm: products, absolute sums, and sums with bounds on their rounding errors.

Every method of this subpackage works on an `Operand`, which holds a matrix A with n1 rows and n2
columns. It hides whether the matrix is dense, sparse or a `LinearOperator`. Terms used here:

- *operator*: a `LinearOperator`. It has products A @ x and A^T @ y, but no entries to look at.
  Bounds that need entries are infinite or refused, and the accuracy of its products is a *premise*:
  a statement that proofs assume, and that nobody can check.
- *scaled unit*: if the largest entry is extreme, the operand holds all entries times a power of
  two. All sums and bounds are then in the scaled unit, and `unscale_down` (for lower bounds) and
  `unscale_up` (for upper bounds) return them in the user's unit.
- *cut*: a set of rows S and a set of columns T; A(S, T) is the sum of a_ij over S x T.

Certificates are proven only if no rounding error is forgotten; here are the bounds that they use.
With the unit roundoff u = 2^-53, a float64 sum of m terms in any order is off by at most
gamma_m = m u / (1 - m u) times the sum of absolute values (Higham 2002, section 3.1). Terms added
to m ("+ 4") and factors such as 1.001 cover the few roundings of a bound's own arithmetic. They
may be raised, never lowered.
"""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, final

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from graphcuts_dp.arrays import FloatArray, RealMatrix
from graphcuts_dp.errors import MatrixError
from graphcuts_dp.resources import in_parallel

UNIT_ROUNDOFF = 2.0**-53  # u: largest relative error of one float64 operation
# Premise on the products of an operator: ||computed A x - A x|| <= 2^-40 ||A|| ||x||. The sentence
# in certificates (see `singular_values`) names this number.
OPERATOR_ERROR = 2.0**-40
_BLOCK_ENTRIES = 1 << 20  # entries that are widened to float64 at once: 8 MiB
# Entries of a dense float32 matrix up to which a float64 copy is kept for products (32 MiB).
# Larger ones are widened block by block, once for both products of `normal_product64`, which takes
# as long as reading a copy. One thread for each processor then works on blocks of rows, with one
# thread in its BLAS calls: BLAS with threads of its own takes up to twice the processor time for
# products with few columns, as its threads wait for each other in loops.
_COPY_ENTRIES = 1 << 22
_FSUM_ENTRIES = 1 << 13  # entries up to which a matrix is summed exactly, in about a millisecond
# Exponents e by data type: a matrix whose largest absolute entry is between about 2^-e and 2^e is
# not scaled. Sums and products of two such entries are far from overflow and from subnormals.
_SAFE_EXPONENT = {np.dtype(np.float32): 24, np.dtype(np.float64): 200}

Kind = Literal["dense", "sparse", "operator"]


def gamma(terms: int) -> float:
    """Return Higham's gamma_m for m = `terms`, rounded up.

    A float64 sum of m products, in any order, is off by at most gamma_m times the sum of their
    absolute values.
    """
    return terms * UNIT_ROUNDOFF / (1.0 - terms * UNIT_ROUNDOFF) * (1.0 + 2.0**-50)


class AbsoluteSums(NamedTuple):
    """Upper bounds on sums of absolute entries: the computed sums plus their rounding errors.

    Attributes:
        rows: bounds on sum_j |a_ij|, shape (n1,); empty for an operator.
        columns: bounds on sum_i |a_ij|, shape (n2,); empty for an operator.
        total: bound on sum_ij |a_ij|; infinite for an operator.
        one_sign: bound on max(sum of positive entries, sum of |negative entries|). It bounds the
            cut norm: A(S, T) takes at best all positive entries, or all negative ones. Infinite for
            an operator.
    """

    rows: FloatArray
    columns: FloatArray
    total: float
    one_sign: float


@final
class Operand:
    """A matrix A: the user's matrix times 2^-exponent.

    The constructor trusts its arguments; `from_matrix` validates and scales. The matrix must not be
    changed afterwards, as sums and the transpose are computed once and kept.

    Args:
        data: a C- or F-ordered float32/float64 array, a CSR array of the same, or an operator.
        exponent: what the entries were scaled by; 0 for operators and all but extreme matrices.

    Attributes:
        data: the argument, scaled.
        shape: (n1, n2).
        kind: "dense", "sparse" or "operator".
        dtype: data type of the products, float32 or float64 (operators of other types: float64).
    """

    def __init__(self, data: Any, exponent: int = 0) -> None:
        self.data = data
        self.exponent = exponent
        self.shape: tuple[int, int] = (int(data.shape[0]), int(data.shape[1]))
        self.kind: Kind = "operator"
        if isinstance(data, np.ndarray):
            self.kind = "dense"
        elif sp.issparse(data):
            self.kind = "sparse"
        is_narrow = data.dtype is not None and np.dtype(data.dtype) == np.float32
        self.dtype: np.dtype[Any] = np.dtype(np.float32) if is_narrow else np.dtype(np.float64)

    @classmethod
    def from_matrix(cls, matrix: Any) -> Self:
        """Validate a matrix and scale it by a power of two if its entries are extreme.

        Args:
            matrix: array-like of shape (n1, n2), real (bool and integers too), any scipy sparse
                matrix, or a real `LinearOperator` with `matmat` and `rmatmat`; n1, n2 >= 1. The
                user's matrix is not changed, but may be shared. An `Operand` is returned as it is.

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
            # The values as the user gave them; "lil" and "dok" keep them in lists, not in an array.
            has_flat_data = matrix.format not in ("lil", "dok")
            _require_same_values(matrix.data if has_flat_data else sp.csr_array(matrix).data)
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
        _require_same_values(raw)
        if not (dense.flags.c_contiguous or dense.flags.f_contiguous):
            dense = np.ascontiguousarray(dense)
        exponent = _scaling_exponent(dense)
        return cls(np.ldexp(dense, -exponent) if exponent else dense, exponent)

    def require_entries(self, method: str) -> None:
        """Raise `MatrixError` for an operator, which hides its entries."""
        if self.kind == "operator":
            raise MatrixError(
                f"the {method} method needs the entries, which an operator hides; "
                'use method="low-rank"'
            )

    def dense(self) -> FloatArray:
        """Return the matrix as a float64 array, perhaps `data` itself. Not for operators."""
        array = self.data.toarray() if self.kind == "sparse" else self.data
        return np.asarray(array, dtype=np.float64)

    @cached_property
    def transposed_data(self) -> Any:
        """The transpose: a view of a dense matrix, a CSR array of a sparse one."""
        return self.data.T.tocsr() if self.kind == "sparse" else self.data.T

    def apply(self, columns: RealMatrix, *, transpose: bool = False) -> RealMatrix:
        """Return A @ columns, or A^T @ columns, in the precision of the matrix.

        No bound covers its rounding; searches use it, proofs use `apply64`.

        Args:
            columns: shape (n2, count), or (n1, count) if `transpose`.
            transpose: True to multiply by A^T.
        """
        product: RealMatrix
        if self.kind == "dense" and self.data.size > _COPY_ENTRIES:
            return self._by_rows(columns, transpose=transpose)
        if not transpose:
            product = self.data @ columns
        elif self.kind == "operator":
            product = self.data.rmatmat(columns)
        elif self.kind == "dense" and self.data.flags.c_contiguous:
            # The rows of A are read in their order, which takes two thirds of the time.
            product = (np.ascontiguousarray(columns.T) @ self.data).T
        else:
            product = self.transposed_data @ columns
        return product

    def apply64(self, columns: FloatArray, *, transpose: bool = False) -> FloatArray:
        """Return A @ columns, or A^T @ columns, in float64; arguments as in `apply`.

        Entries in float32 are exact in float64: a dense float32 matrix is converted, once or block
        by block, and a sparse one by its product with the float64 columns.
        """
        if self.kind != "dense" or self.dtype == np.float64:
            return np.asarray(self.apply(columns, transpose=transpose), dtype=np.float64)
        if self.data.size <= _COPY_ENTRIES:
            return self._wide.apply64(columns, transpose=transpose)
        return np.asarray(self._by_rows(columns, transpose=transpose), dtype=np.float64)

    def _by_rows(self, columns: RealMatrix, *, transpose: bool) -> RealMatrix:
        """Return `apply`, or `apply64` of columns in float64, of a dense matrix block by block.

        The order of sums depends on the shape alone, not on the number of threads.
        """
        dtype = np.result_type(self.dtype, columns.dtype)

        def product(rows: slice) -> RealMatrix:
            block = self.data[rows].astype(dtype, copy=False)
            if transpose:
                # Rows are read in their order, which takes two thirds of the time.
                of_block: RealMatrix = np.ascontiguousarray(columns[rows].T) @ block
                return of_block
            image: RealMatrix = block @ columns
            return image

        products = in_parallel(product, self._row_slices())
        if not transpose:
            return np.concatenate(list(products))
        total = next(products)
        for of_block in products:
            total += of_block
        return total.T

    def normal_product64(
        self, columns: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return W = A @ columns and A^T @ diag(weights) @ W, in float64. Not for operators.

        Each block of rows is widened once for both products.

        Args:
            columns: shape (n2, count).
            weights: of the rows, shape (n1,).
        """

        def products(rows: slice) -> tuple[FloatArray, FloatArray]:
            block = self._rows64(rows)
            image = block @ columns
            return image, (image * weights[rows, None]).T @ block

        images = []
        total = np.zeros((columns.shape[1], self.shape[1]))  # a row for each column
        for image, of_block in in_parallel(products, self._row_slices()):
            images.append(image)
            total += of_block
        return np.concatenate(images), total.T

    @cached_property
    def _wide(self) -> "Operand":
        return Operand(self.data.astype(np.float64), self.exponent)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield (slice of rows, float64 matrix of these rows), from top to bottom.

        Not for operators. A dense matrix is cut into blocks so that the conversion needs little
        memory. A sparse matrix is one block (a sparse array), as its data in float64 takes little
        more memory than its indices.
        """
        for rows in self._row_slices():
            yield rows, self._rows64(rows)

    def _row_slices(self) -> list[slice]:
        """Return the slices of `blocks`."""
        height = self.shape[0]
        if self.kind == "dense":
            height = max(1, _BLOCK_ENTRIES // self.shape[1])
        stops = range(height, self.shape[0] + height, height)
        return [slice(stop - height, min(stop, self.shape[0])) for stop in stops]

    def _rows64(self, rows: slice) -> Any:
        """Return the float64 matrix of a slice of `blocks`."""
        block = self.data if self.kind == "sparse" else self.data[rows]
        return block.astype(np.float64, copy=False)

    @cached_property
    def absolute(self) -> AbsoluteSums:
        """Bounds on sums of |a_ij|; infinite totals for an operator, whose entries are unseen.

        Let P be the sum of the positive entries, and N that of the absolute negative ones. Then
        max(P, N) = (P + N + |P - N|) / 2, where P + N is the absolute total and P - N the total.
        """
        if self.kind == "operator":
            return AbsoluteSums(np.zeros(0), np.zeros(0), math.inf, math.inf)
        row_sums, column_sums = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        signed_total = 0.0
        for rows, block in self.blocks():
            absolute = abs(block)
            row_sums[rows] = np.asarray(absolute.sum(axis=1)).ravel()
            column_sums += np.asarray(absolute.sum(axis=0)).ravel()
            signed_total += float(block.sum())
        # A row sum has n2 terms, a column sum n1. All terms are positive, so the sums are off by at
        # most gamma of their size; twice that also covers the products with `slack` themselves.
        slack = 1.0 + 2.0 * gamma(self.shape[0] + self.shape[1] + 4)
        row_sums, column_sums = row_sums * slack, column_sums * slack
        total = math.fsum(row_sums) * slack
        signed_error = gamma(self.shape[0] * self.shape[1] + 4) * total  # of signed_total
        one_sign = 0.5 * (total + abs(signed_total) + signed_error) * slack
        return AbsoluteSums(row_sums, column_sums, total, one_sign)

    @cached_property
    def is_integer(self) -> bool:
        """True if all entries are integers in the user's unit, and float64 sums of them exact.

        Sums are exact as the absolute total is below 2^50. False for operators, and for scaled
        matrices; so callers may take the scaled unit for the user's unit if it is True.
        """
        if self.kind == "operator" or self.exponent or not self.absolute.total < 2.0**50:
            return False
        for _, block in self.blocks():
            values = block.data if self.kind == "sparse" else block
            if not bool(np.all(values == np.rint(values))):
                return False
        return True

    @cached_property
    def operator_norm_guess(self) -> float:
        """Twice a power-method estimate of sigma_1(A), the largest singular value.

        The estimate is from below; twice it is meant to be above sigma_1, without proof. It stands
        for ||A|| in the error of an operator's products, whose other factor (`OPERATOR_ERROR`) is
        a premise too. No bound of a dense or sparse matrix uses it.
        """
        rng = np.random.default_rng(20120306)  # fixed, so that it depends on the matrix alone
        vectors = rng.standard_normal((self.shape[1], 4))
        estimate = 0.0
        for _ in range(8):
            norms = np.linalg.norm(vectors, axis=0)
            vectors = vectors / np.where(norms > 0, norms, 1.0)
            image = self.apply64(vectors)
            estimate = max(estimate, float(np.linalg.norm(image, axis=0).max()))
            vectors = self.apply64(image, transpose=True)  # (n2, 4), towards singular vectors
        if not math.isfinite(estimate):
            raise MatrixError("the operator returned a value that is not finite")
        return 2.0 * estimate

    def bilinear_form(self, x: FloatArray, y: FloatArray) -> tuple[float, float]:
        """Return x^T A y for x, y with entries in {-1, 0, 1}, and a bound on its rounding error.

        Such x and y are indicators of a cut, or signs. Products with -1, 0, 1 are exact, so only
        sums round:

        - integers: not at all (see `is_integer`);
        - small dense matrices: `math.fsum` rounds the exact sum once, by at most u times its value;
        - other dense and sparse matrices: each row is off by at most gamma_n2 times its absolute
          sum, and `math.fsum` over the rows rounds once more;
        - operators: A y is taken to be accurate to 2^-40 ||A|| ||y||, a premise, so x^T A y to
          2^-40 ||A|| ||x|| ||y||.

        Args:
            x: shape (n1,).
            y: shape (n2,).

        Returns:
            (value, error) with |value - x^T A y| <= error, in the scaled unit.

        Raises:
            MatrixError: an operator returned a value that is not finite.
        """
        if self.kind == "dense" and self.data.size <= _FSUM_ENTRIES:
            products = self.data.astype(np.float64) * np.outer(x, y)
            value = math.fsum(products.ravel().tolist())
            return value, 0.0 if self.is_integer else UNIT_ROUNDOFF * 1.001 * abs(value)
        row_values = self.apply64(y.reshape(-1, 1)).ravel()
        value = math.fsum((row_values * x).tolist())
        if not math.isfinite(value):  # only operators: scaled entries are far from overflow
            raise MatrixError("the operator returned a value that is not finite")
        if self.is_integer:
            return value, 0.0
        if self.kind == "operator":
            # ||x|| ||y||; ||x||^2 is the sum of |x_i|, as these are 0 or 1.
            lengths = math.sqrt(float(np.abs(x).sum()) * float(np.abs(y).sum()))
            return value, OPERATOR_ERROR * self.operator_norm_guess * lengths
        error = gamma(self.shape[1] + 4) * self.absolute.total
        return value, error + 2.0 * UNIT_ROUNDOFF * abs(value)

    def unscale_down(self, value: float) -> float:
        """Return a lower bound of at least 0 in the user's unit, rounded towards zero."""
        if self.exponent == 0 or value == 0.0:
            return value
        try:
            unscaled = math.ldexp(value, self.exponent)
        except OverflowError:  # then the largest float64 is still a lower bound
            return float(np.finfo(np.float64).max)
        # `ldexp` is exact but for subnormal results (below about 2.2e-308), which it may round up;
        # 1e-290 is safely above these.
        return unscaled if abs(unscaled) > 1e-290 else max(0.0, math.nextafter(unscaled, 0.0))

    def unscale_up(self, value: float) -> float:
        """Return an upper bound of at least 0 in the user's unit, rounded upwards.

        Two roundings are covered. Scaling down a matrix with a huge entry makes tiny entries
        subnormal or 0, a loss of up to 2^-1074 each. The largest entry is at least 1/2 after
        scaling, and so is every bound on the norm; one unit in its last place, which the inner
        `nextafter` adds, is much larger than the sum of these losses. The outer one covers the
        rounding of `ldexp`.
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
    """Return float32 for float16 and float32, and float64 for other real types."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        raise MatrixError("the cut norm is for real matrices; split real and imaginary parts")
    if dtype.kind not in "fiub":
        raise MatrixError(f"entries of type {dtype} are not numbers; convert to float64")
    narrow = dtype in (np.dtype(np.float32), np.dtype(np.float16))
    return np.dtype(np.float32) if narrow else np.dtype(np.float64)


def _require_same_values(values: Any) -> None:
    """Refuse 64-bit integers and extended floats that float64 cannot hold exactly."""
    dtype = np.dtype(values.dtype)
    if dtype.kind in "iu" and dtype.itemsize == 8 and values.size:
        if max(abs(int(values.max())), abs(int(values.min()))) > 2**53:
            raise MatrixError("integers above 2^53 do not fit float64; scale the matrix first")
    elif dtype.kind == "f" and dtype.itemsize > 8 and not np.all(values == values.astype("f8")):
        raise MatrixError("extended precision does not fit float64; convert the matrix first")


def _scaling_exponent(values: RealMatrix) -> int:
    """Return the exponent e with max |a| in [2^(e-1), 2^e), or 0 if no scaling is needed.

    Entries times 2^-e have a largest absolute value in [1/2, 1); `unscale_up` relies on it.

    Raises:
        MatrixError: entries that are nan or infinite.
    """
    if values.size == 0:
        return 0
    largest = max(float(values.max()), -float(values.min()))
    if not math.isfinite(largest):
        raise MatrixError("the matrix has entries that are nan or infinite; remove them first")
    if largest == 0.0:
        return 0
    exponent = math.frexp(largest)[1]
    return exponent if abs(exponent) > _SAFE_EXPONENT[values.dtype] else 0
