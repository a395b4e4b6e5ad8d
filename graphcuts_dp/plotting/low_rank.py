"""Updates that learn a low-rank matrix: Schatten-p beside Frobenius."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.evaluation.experiments.base import Table
from graphcuts_dp.plotting.style import (
    PAGE,
    draw_series,
    draw_slope,
    house_style,
    label_ends,
    log_log,
    trivial_look,
)

_NAMES = {
    "Frobenius": "Frobenius",
    "Schatten, JT12's p": "Schatten, JT12's $p$",
    "Schatten, best p": "Schatten, best $p$",
}
_TITLES = {"gaussian": "Gaussian queries", "rank-one": "Rank-one queries"}
_ASPECT = 4


def low_rank_figure(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of the experiment `low_rank`.

    Returns:
        A figure of four panels: updates against n (left) and against the rank (right), for Gaussian
        (above) and rank-one queries (below); lines are medians, bands the range over repetitions.
        Dotted: one update for each of the mn entries.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 5.2))
        panels = figure.subplots(2, 2, sharey="row")
        for (left, right), (queries, title) in zip(panels, _TITLES.items(), strict=True):
            _draw(left, table, part="n", queries=queries)
            lines = _draw(right, table, part="rank", queries=queries)
            n = table.where(part="rank", queries=queries)[0]["n"]
            left.set_title(f"{title}, matrices of rank {table.parameters['rank in part n']}")
            right.set_title(f"{title}, {_ASPECT * n} × {n} matrices")
            left.set_ylabel("updates until nothing is off")
            label_ends(right, lines)
        _draw_claims(panels[0, 0], table)
        panels[1, 0].set_xlabel("n (matrices are 4n × n)")
        panels[1, 1].set_xlabel("rank r")
    return figure


def _draw(axes: Axes, table: Table, *, part: str, queries: str) -> list[Line2D]:
    lines = []
    for index, (method, name) in enumerate(_NAMES.items()):
        rows = table.where(part=part, queries=queries, method=method)
        if not rows:
            continue
        places = sorted({row[part] for row in rows})
        updates = [[row["updates"] for row in rows if row[part] == x] for x in places]
        lines.append(draw_series(axes, places, updates, index=index, label=name))
    entries = [
        _ASPECT * table.where(part=part, queries=queries, **{part: x})[0]["n"] ** 2 for x in places
    ]
    lines += axes.plot(places, entries, label="every entry", **trivial_look())
    log_log(axes)
    axes.set_xticks(places, [str(x) for x in places])
    axes.minorticks_off()
    return lines


def _draw_claims(axes: Axes, table: Table) -> None:
    """A wedge of slopes 1 and 2, below the lines."""
    n = sorted({row["n"] for row in table.where(part="n", queries="gaussian")})
    start, stop = n[len(n) // 2 - 1], n[-1]
    foot = 0.17 * min(
        row["updates"] for row in table.where(part="n", queries="gaussian") if row["n"] == start
    )
    for exponent, text in ((2, "$n^2$"), (1, "$n$")):
        draw_slope(axes, (start, stop), foot, exponent, label=text)
        end = (stop, foot * (stop / start) ** exponent)
        axes.annotate(text, end, xytext=(0, 3), textcoords="offset points", ha="right", fontsize=8)
