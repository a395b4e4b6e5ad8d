"""Certified ratio and time of the cut norm against n, for ours and for peers that are installed.

Times are those of the machine that draws it; ratios are the same everywhere. Run with `--sizes` to
change the sizes. The measuring is that of tests/benchmarks/bench_cut_norm.py.
"""

import argparse
import sys
from pathlib import Path

from graphcuts_dp.plotting.cut_norm_certificates import (
    CertificatePoint,
    cut_norm_certificate_figure,
)
from graphcuts_dp.plotting.saving import save_figure

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "benchmarks"))

from bench_cut_norm import KINDS, against_cutnorm, against_scs  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[30, 100, 300, 1000])
    parser.add_argument("--sdp-sizes", type=int, nargs="*", default=[30, 60])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    points = []
    for kind in KINDS:
        for n in options.sizes:
            row = against_cutnorm(kind, n, options.repeats)
            points.append(CertificatePoint(kind, "low-rank", n, row["ours_s"], row["ratio"]))
            if "peer_s" in row:
                points.append(CertificatePoint(kind, "cutnorm", n, row["peer_s"], None))
    for n in options.sdp_sizes:
        row = against_scs(n, min(3, options.repeats))
        points.append(CertificatePoint("noise", "SCS", n, row["peer_s"], None))
    save_figure(
        cut_norm_certificate_figure(points),
        ROOT / "figures" / "cut_norm_certificates",
        columns=["kind", "solver", "n", "seconds", "ratio"],
        rows=[[p.kind, p.solver, p.n, p.seconds, p.ratio] for p in points],
        parameters={
            "sizes": options.sizes,
            "sdp_sizes": options.sdp_sizes,
            "repeats": options.repeats,
        },
    )


if __name__ == "__main__":
    main()
