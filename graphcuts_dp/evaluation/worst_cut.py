"""The largest error of any cut, from both sides."""

from typing import Any

import scipy.sparse as sp

from graphcuts_dp.cutnorm.cut_norm import cut_norm


def worst_cut(difference: Any, *, tolerance: float, time_limit: float) -> tuple[float, float]:
    """Bound the cut norm of a difference of two matrices from both sides.

    Args:
        difference: real, shape (n1, n2), dense or sparse.
        tolerance: stop once upper/lower <= 1 + tolerance is proven.
        time_limit: seconds of search; the proof takes time besides.

    Returns:
        The error of a cut that was found, and a proven upper bound on that of every cut; both
        exact where all entries have one sign, since then the largest cut is all of them.
    """
    entries = difference.data if sp.issparse(difference) else difference
    total = float(abs(entries.sum()))
    if not entries.size or entries.min() >= 0 or entries.max() <= 0:
        return total, total
    certificate = cut_norm(difference, tolerance=tolerance, time_limit=time_limit)
    return certificate.lower, certificate.upper
