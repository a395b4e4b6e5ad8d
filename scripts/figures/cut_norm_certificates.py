"""Certified ratio and time of the cut norm against n, for ours and for peers that are installed.

Times are those of the machine that draws it; ratios are the same everywhere. The measuring is that
of scripts/bench/bench_cut_norm.py.
"""

import importlib.util
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcuts_dp.plotting.style import COLOURS, house_style
from scripts.bench.bench_cut_norm import KINDS, REPEATS, by_scs, compared, lower_of_cutnorm
from scripts.figures.base import Table
from scripts.figures.style import save_figure

ROOT = Path(__file__).resolve().parents[2]
SIZES, SDP_SIZES, SDP_REPEATS = (30, 100, 300, 1000), (30, 60), 3
_LOOKS = {
    "low-rank": (COLOURS["noisy"], "o"),
    "cutnorm": (COLOURS["synthetic"], "s"),
    "SCS": (COLOURS["all zero"], "^"),
}


def measure() -> Table:
    """Return medians over some matrices of a kind and size; no ratio without a certificate."""
    rows = []
    peer = lower_of_cutnorm if importlib.util.find_spec("cutnorm") else None
    for kind in KINDS:
        for n in SIZES:
            times = compared(kind, n, peer)
            rows.append((kind, "low-rank", n, times["ours"], times["ratio"]))
            if peer is not None:
                rows.append((kind, "cutnorm", n, times["peer"], None))
    for n in SDP_SIZES:
        times = compared("noise", n, by_scs, SDP_REPEATS)
        rows.append(("noise", "SCS", n, times["peer"], None))
    parameters = {"sizes": list(SIZES), "sdp_sizes": list(SDP_SIZES), "repeats": REPEATS}
    columns = ("kind", "solver", "n", "seconds", "ratio")
    return Table(columns=columns, rows=rows, parameters=parameters, findings=())


def cut_norm_certificate_figure(table: Table) -> Figure:
    """Draw certified ratios and times.

    Returns:
        A figure of two panels: certified upper/lower against n, with the targets as dotted lines,
        and seconds against n. Full lines are noise, dashed ones residuals of a graph.
    """
    with house_style():
        figure = Figure(figsize=(8.4, 3.4))
        ratios, times = figure.subplots(1, 2)
        _draw(ratios, table, "ratio", ("low-rank",))
        _draw(times, table, "seconds", tuple(_LOOKS))
        for target in (1.02, 1.13):
            ratios.axhline(target, color="#aaaaaa", linestyle=":", zorder=0)
        ratios.set(
            ylabel="certified upper / lower", title="Certificate (dotted: targets 1.02 and 1.13)"
        )
        times.set(yscale="log", ylabel="seconds (ours: with certificate)", title="Time")
        handles, names = times.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower left", ncols=len(names))
    return figure


def _draw(axes: Axes, table: Table, column: str, solvers: tuple[str, ...]) -> None:
    known = {(row["solver"], row["kind"]) for row in table.where() if row["solver"] in solvers}
    for solver, kind in sorted(known, key=lambda key: key[::-1]):
        colour, marker = _LOOKS[solver]
        axes.plot(
            *table.middle("n", column, solver=solver, kind=kind),
            color=colour,
            marker=marker,
            markersize=5,
            linestyle="-" if kind == "noise" else "--",
            label=f"{solver}, {kind}",
        )
    axes.set(xscale="log", xlabel="n")
    axes.grid(axis="y", color="#eeeeee")


def main() -> None:
    """Measure and draw."""
    table = measure()
    save_figure(
        cut_norm_certificate_figure(table),
        ROOT / "figures" / "cut_norm_certificates",
        columns=table.columns,
        rows=table.rows,
        parameters=table.parameters,
    )


if __name__ == "__main__":
    main()
