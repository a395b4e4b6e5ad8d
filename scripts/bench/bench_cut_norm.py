"""Compare the cut norm with the package `cutnorm` and with cvxpy and SCS: time and bounds.

Run `python -m scripts.bench.bench_cut_norm [--quick]`. Every row shows medians of five runs,
interleaved with the peer's, on fresh matrices. Our time includes the certificate. A peer's lower
bound is recomputed from the sets that it returns. Targets: a thousand times faster than SCS from
n = 100 on, five times faster than `cutnorm` from n = 1,000 on, upper over lower at most 1.13 on
noise and 1.02 on residuals; the large ones, which fit in memory once, in 60 s and 1 GB more.
"""

import importlib
import importlib.util
import resource
import statistics
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.relaxation import solve_relaxation
from scripts.bench.harness import Table, run, timed

Matrix = Any
REPEATS = 5


def noise(n: int, rng: np.random.Generator) -> Matrix:
    """Draw symmetric signs with a zero diagonal: the residual of randomized response."""
    upper = np.triu(rng.choice([-1.0, 1.0], (n, n)), 1)
    return upper + upper.T


def residual(n: int, rng: np.random.Generator) -> Matrix:
    """Draw a graph of two dense groups less its density: what a fit that misses them leaves."""
    group = rng.integers(0, 2, n)
    chance = np.where(group[:, None] == group, 0.5, 0.1)
    upper = np.triu(rng.random((n, n)) < chance, 1).astype(float)
    return (upper + upper.T) - np.where(np.eye(n) > 0, 0.0, 0.3)


KINDS: dict[str, Callable[[int, np.random.Generator], Matrix]] = {
    "noise": noise,
    "residual": residual,
}


def lower_of_cutnorm(matrix: Matrix) -> float:
    """Return the value that the sets of `cutnorm` attain; its own value if it returns no sets."""
    peer = importlib.import_module("cutnorm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, _, info = peer.compute_cutnorm(matrix, np.zeros_like(matrix), extra_info=True)
    S, T = np.ravel(info["cutnorm_sets"][0]), np.ravel(info["cutnorm_sets"][1])
    return abs(float(S @ matrix @ T)) or float(value) * matrix.size


def by_scs(matrix: Matrix) -> None:
    """Solve the relaxation by cvxpy and SCS: the solution alone, no rounding."""
    solve_relaxation(Operand.from_matrix(matrix), bordered=True)


def compared(
    kind: str, n: int, peer: Callable[[Matrix], float | None] | None, repeats: int = REPEATS
) -> dict[str, float | None]:
    """Return medians of both by turns: seconds, upper over lower, our lower bound over theirs."""
    values_of: dict[str, list[float]] = defaultdict(list)
    for repeat in range(repeats):
        matrix = KINDS[kind](n, np.random.default_rng([n, repeat]))
        ours, certificate = timed(lambda m=matrix: cut_norm(m, method="low-rank"))
        values_of["ours"].append(ours)
        values_of["ratio"].append(certificate.ratio)
        if peer is not None:
            theirs, lower = timed(lambda m=matrix: peer(m))
            values_of["peer"].append(theirs)
            values_of["faster"].append(theirs / ours)
            if lower is not None:
                values_of["lower"].append(certificate.lower / lower)
    medians: dict[str, float | None] = {key: statistics.median(of) for key, of in values_of.items()}
    return medians | {"worst": max(values_of["ratio"])}


def large(matrix: Matrix) -> tuple[float, float, float]:
    """Return seconds of one run, upper over lower, and the gigabytes beyond the matrix."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, certificate = timed(lambda: cut_norm(matrix, method="low-rank"))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return seconds, certificate.ratio, (after - before) / 1e6


def main(quick: bool) -> None:
    """Print the table; the large ones come first, while memory is small."""
    cut_norm(noise(300, np.random.default_rng(0)), method="low-rank")  # warm the libraries up
    columns = "case:<20 seconds:>9.3g peer_s:>9.3g times_faster:>13.3g lower/peer:>11.3g "
    table = Table(columns + "upper/lower:>12.4g worst:>8.4g extra_GB:>9.3g")
    if not quick:
        rng = np.random.default_rng(20)
        entries, positions = rng.choice([-1.0, 1.0], 10**6), rng.integers(0, 10**5, (2, 10**6))
        sparse = sp.csr_array((entries, (positions[0], positions[1])), shape=(10**5, 10**5))
        dense = rng.standard_normal((10_000, 10_000), dtype=np.float32)
        for name, matrix in (("sparse", sparse), ("dense", dense)):
            seconds, ratio, extra = large(matrix)
            empty = (None,) * 3
            table.row(f"{name} n={matrix.shape[0]:,}", seconds, *empty, ratio, None, extra)
    peer = lower_of_cutnorm if importlib.util.find_spec("cutnorm") else None
    cases = [(kind, n, peer) for kind in KINDS for n in (100, 300, 1000, 3000)[: 2 if quick else 4]]
    cases += [("noise", n, by_scs) for n in (30, 60, 100)[: 1 if quick else 3]]
    for kind, n, method in cases:
        medians = compared(kind, n, method)
        name = f"{'SDP' if method is by_scs else kind} n={n}"
        order = ("ours", "peer", "faster", "lower", "ratio", "worst")
        table.row(name, *(medians.get(key) for key in order))


if __name__ == "__main__":
    run(main, __doc__)
