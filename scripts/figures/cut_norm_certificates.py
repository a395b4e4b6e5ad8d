"""Certified ratio and time of the cut norm against n, for ours and for peers that are installed.

Times are those of the machine that draws it; ratios are the same everywhere. Run `python -m
scripts.figures.cut_norm_certificates --sizes` to change the sizes. The measuring is that of
scripts/bench/bench_cut_norm.py.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcuts_dp.plotting.style import COLOURS, house_style
from scripts.bench.bench_cut_norm import KINDS, against_cutnorm, against_scs
from scripts.figures.style import save_figure

ROOT = Path(__file__).resolve().parents[2]


@final
@dataclass(frozen=True)
class CertificatePoint:
    """Medians over some matrices of one kind and size.

    Attributes:
        kind: what the matrices are.
        solver: "low-rank", "cutnorm" (PyPI) or "SCS".
        n: rows and columns.
        seconds: time to the result.
        ratio: certified upper/lower; None for a solver without a certificate.
    """

    kind: str
    solver: str
    n: int
    seconds: float
    ratio: float | None


_LOOKS = {
    "low-rank": (COLOURS["noisy"], "o"),
    "cutnorm": (COLOURS["synthetic"], "s"),
    "SCS": (COLOURS["all zero"], "^"),
}


def cut_norm_certificate_figure(points: Sequence[CertificatePoint]) -> Figure:
    """Draw certified ratios and times.

    Args:
        points: one for each kind, solver and n.

    Returns:
        A figure of two panels: certified upper/lower against n, with the targets as dotted lines,
        and seconds against n. Full lines are noise, dashed ones residuals of a graph.
    """
    with house_style():
        figure = Figure(figsize=(8.4, 3.4))
        ratios, times = figure.subplots(1, 2)
        _draw(ratios, [point for point in points if point.ratio is not None], ratio=True)
        _draw(times, points, ratio=False)
        for target in (1.02, 1.13):
            ratios.axhline(target, color="#aaaaaa", linestyle=":", zorder=0)
        ratios.set_ylabel("certified upper / lower")
        ratios.set_title("Certificate (dotted: targets 1.02 and 1.13)")
        times.set_yscale("log")
        times.set_ylabel("seconds (ours: with certificate)")
        times.set_title("Time")
        handles, names = times.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower left", ncols=len(names))
    return figure


def _draw(axes: Axes, points: Sequence[CertificatePoint], *, ratio: bool) -> None:
    series = sorted({(point.solver, point.kind) for point in points}, key=lambda key: key[::-1])
    for solver, kind in series:
        chosen = sorted(
            (point for point in points if (point.solver, point.kind) == (solver, kind)),
            key=lambda point: point.n,
        )
        colour, marker = _LOOKS[solver]
        axes.plot(
            [point.n for point in chosen],
            [(point.ratio or 1.0) if ratio else point.seconds for point in chosen],
            color=colour,
            marker=marker,
            markersize=5,
            linestyle="-" if kind == "noise" else "--",
            label=f"{solver}, {kind}",
        )
    axes.set_xscale("log")
    axes.set_xlabel("n")
    axes.grid(axis="y", color="#eeeeee")


def main() -> None:
    """Measure and draw."""
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
