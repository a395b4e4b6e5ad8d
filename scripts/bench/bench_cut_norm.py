"""Cut norm: time and bounds beside the PyPI package `cutnorm` and beside cvxpy with SCS.

Run `python -m scripts.bench.bench_cut_norm [--quick]`, or with `--sizes 100 300 1000`.
Every row shows medians of `--repeats` runs, interleaved with the peer's, on fresh matrices. Our
time includes the certificate. A peer's lower bound is recomputed from the sets that it returns.
"""

import argparse
import importlib
import importlib.util
import json
import resource
import statistics
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.cutnorm.cut_norm import cut_norm, solve_relaxation
from graphcuts_dp.cutnorm.operand import Operand
from scripts.bench.harness import timed

Matrix = Any
Row = dict[str, Any]


def noise(n: int, rng: np.random.Generator) -> Matrix:
    """Symmetric signs with a zero diagonal: the residual of randomized response."""
    upper = np.triu(rng.choice([-1.0, 1.0], (n, n)), 1)
    return upper + upper.T


def residual(n: int, rng: np.random.Generator) -> Matrix:
    """A graph of two dense groups less its density: what a fit that misses the groups leaves."""
    group = rng.integers(0, 2, n)
    chance = np.where(group[:, None] == group, 0.5, 0.1)
    upper = np.triu(rng.random((n, n)) < chance, 1).astype(float)
    return (upper + upper.T) - np.where(np.eye(n) > 0, 0.0, 0.3)


KINDS: dict[str, Callable[[int, np.random.Generator], Matrix]] = {
    "noise": noise,
    "residual": residual,
}


def peer_lower(matrix: Matrix, peer: Any) -> float:
    """What `cutnorm`'s sets attain; its own value if it returns no sets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, _, info = peer.compute_cutnorm(matrix, np.zeros_like(matrix), extra_info=True)
    S, T = np.ravel(info["cutnorm_sets"][0]), np.ravel(info["cutnorm_sets"][1])
    attained = abs(float(S @ matrix @ T))
    return max(attained, 0.0) if attained else float(value) * matrix.size


def against_cutnorm(kind: str, n: int, repeats: int) -> Row:
    """One row of the table against PyPI `cutnorm`."""
    peer = importlib.import_module("cutnorm") if importlib.util.find_spec("cutnorm") else None
    ours, theirs, ratios, gains = [], [], [], []
    for repeat in range(repeats):
        matrix = KINDS[kind](n, np.random.default_rng([n, repeat]))
        seconds, certificate = timed(lambda m=matrix: cut_norm(m, method="low-rank"))
        ours.append(seconds)
        ratios.append(certificate.ratio)
        if peer is not None:
            seconds, lower = timed(lambda m=matrix: peer_lower(m, peer))
            theirs.append(seconds)
            gains.append(certificate.lower / lower)
    row: Row = {
        "case": f"{kind} n={n}",
        "ours_s": statistics.median(ours),
        "ratio": statistics.median(ratios),
        "worst_ratio": max(ratios),
        "ratio_target": 1.13 if kind == "noise" else 1.02,
    }
    if theirs:
        row |= {
            "peer": "cutnorm",
            "peer_s": statistics.median(theirs),
            "speedup": statistics.median(t / o for t, o in zip(theirs, ours, strict=True)),
            "speedup_target": 5.0 if n >= 1000 else None,
            "lower_over_peer": statistics.median(gains),
            "worst_lower_over_peer": min(gains),
        }
    return row


def against_scs(n: int, repeats: int) -> Row:
    """One row against the relaxation solved by cvxpy and SCS (solution only, no rounding)."""
    ours, theirs, ratios = [], [], []
    for repeat in range(repeats):
        matrix = noise(n, np.random.default_rng([n, repeat]))
        seconds, certificate = timed(lambda m=matrix: cut_norm(m, method="low-rank"))
        ours.append(seconds)
        ratios.append(certificate.ratio)
        operand = Operand.from_matrix(matrix)
        theirs.append(timed(lambda o=operand: solve_relaxation(o, bordered=True))[0])
    return {
        "case": f"SDP n={n}",
        "ours_s": statistics.median(ours),
        "ratio": statistics.median(ratios),
        "worst_ratio": max(ratios),
        "peer": "cvxpy + SCS",
        "peer_s": statistics.median(theirs),
        "speedup": statistics.median(t / o for t, o in zip(theirs, ours, strict=True)),
        "speedup_target": 1000.0 if n >= 100 else None,
    }


def large(case: str) -> Row:
    """One run on a matrix that only fits once, with the memory beyond it."""
    rng = np.random.default_rng(20)
    if case == "dense":
        matrix: Matrix = rng.standard_normal((10_000, 10_000), dtype=np.float32)
    else:
        entries = rng.choice([-1.0, 1.0], 10**6)
        places = rng.integers(0, 10**5, (2, 10**6))
        matrix = sp.csr_array((entries, (places[0], places[1])), shape=(10**5, 10**5))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    certificate: CutNormCertificate
    seconds, certificate = timed(lambda: cut_norm(matrix, method="low-rank"))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "case": f"{case} n={matrix.shape[0]:,}",
        "ours_s": seconds,
        "seconds_target": 60.0,
        "ratio": certificate.ratio,
        "extra_gb": (after - before) / 1e6,
        "extra_gb_target": 1.0,
    }


def print_table(rows: list[Row]) -> None:
    """The rows, each number beside its target."""
    columns = [
        ("ours_s", "seconds", "seconds_target", "<="),
        ("peer_s", "peer s", "", ""),
        ("speedup", "times faster", "speedup_target", ">="),
        ("lower_over_peer", "lower/peer", "", ""),
        ("worst_lower_over_peer", "worst", "", ""),
        ("ratio", "upper/lower", "ratio_target", "<="),
        ("worst_ratio", "worst", "", ""),
        ("extra_gb", "extra GB", "extra_gb_target", "<="),
    ]
    print(f"{'case':<20}" + "".join(f"{title:>22}" for _, title, _, _ in columns))
    for row in rows:
        cells = []
        for name, _, target, sign in columns:
            text = f"{row[name]:.4g}" if row.get(name) is not None else "-"
            if row.get(target) is not None:
                text += f" ({sign} {row[target]:g})"
            cells.append(f"{text:>22}")
        print(f"{row['case']:<20}" + "".join(cells))


def main() -> None:
    """Read the options, run, print, and save if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="n = 100, 300 and SDP n = 30 only")
    parser.add_argument("--sizes", type=int, nargs="*", default=[100, 300, 1000, 3000])
    parser.add_argument("--sdp-sizes", type=int, nargs="*", default=[30, 60, 100])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--skip-large", action="store_true", help="no n = 10,000, no n = 10^5")
    parser.add_argument("--save", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    sizes = [100, 300] if options.quick else options.sizes
    sdp_sizes = [30] if options.quick else options.sdp_sizes
    cut_norm(noise(300, np.random.default_rng(0)), method="low-rank")  # warm the libraries up
    skip_large = options.quick or options.skip_large
    rows: list[Row] = [] if skip_large else [large("sparse"), large("dense")]
    rows += [against_cutnorm(kind, n, options.repeats) for kind in KINDS for n in sizes]
    rows += [against_scs(n, options.repeats) for n in sdp_sizes]
    print_table(rows)
    if options.save:
        options.save.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
