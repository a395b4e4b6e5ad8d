"""Draw how accurate the products of the guides are, from the output of the benchmarks.

Each shows the table of docs/measured.md under the same name. No number is typed here: `python -m
scripts.bench.run --save` measures them, and `python -m scripts.figures.guides` draws them again.
"""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcuts_dp.plotting.style import PAGE, house_style
from scripts.figures.style import light_grid, look, save_figure
from scripts.measured import CUTS, cells_of, kept_lines

FIGURES = Path(__file__).resolve().parents[2] / "figures"

Rows = list[Sequence[str]]  # of cells, as they are printed
Table = Sequence[Sequence[object]]
_CURVES = {
    "default": "default",
    "0.0": "entries alone",
    "0.35": ".35 for degrees",
    "0.95": ".95 for degrees",
}
_RELEASES = {
    "raw": "noise on every pair",
    "degrees": "degrees alone",
    "filter": "kept edges alone",
    "public": "sparse, public groups",
    "none": "sparse, no groups",
}


def draw_partitions() -> None:
    """Draw the picture of docs/cuts.md: how much worse than the best one a partition is."""
    rows = _measured("partitions")
    names = [row[0].replace(", at ", ", ε = ") for row in rows]
    shown: dict[str, list[tuple[float, float]]] = {"release": [], "noisy matrix": []}
    for row in rows:
        for series, cell in zip(shown, row[1:3], strict=True):
            shown[series].append(_loss(row[0], cell))
    with house_style():
        figure = Figure(figsize=(PAGE, 3.6))
        axes = figure.subplots()
        for index, (series, losses) in enumerate(shown.items()):
            heights = [at + 0.16 * (2 * index - 1) for at in range(len(names))]
            median, worst = zip(*losses, strict=True)
            style = look(index) | {"linestyle": "none"}
            axes.plot(median, heights, label=f"found in the {series}: median graph", **style)
            axes.hlines(heights, median, worst, color=style["color"], linewidth=1)
        _by_name(axes, names)
        _from_zero(axes, 10, [0, 5, 10, 100, 1000, 3000])
        axes.set_xlabel("worse than the best partition, in % (line: to the worst graph)")
        axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.12), ncols=2)
    columns = ["kind", *(f"{series}, {part}" for series in shown for part in ("median", "worst"))]
    table = [
        [name, *(value for losses in shown.values() for value in losses[at])]
        for at, name in enumerate(names)
    ]
    _save(figure, "partitions", columns, table)


def _loss(kind: str, cell: str) -> tuple[float, float]:
    """Convert "median (worst)" of the value over the best one to percent that are lost."""
    sign = -1 if kind.startswith(("max-cut", "clusters")) else 1  # these are the larger the better
    ratios = [float(part) for part in cell.rstrip(")").split(" (")]
    median, worst = (round(100 * sign * (ratio - 1), 1) for ratio in ratios)
    return median, worst


def draw_people() -> None:
    """Draw the picture of docs/people.md: what each bound leaves out, and the noise it needs."""
    rows = [[row[0], *(float(cell.replace(",", "")) for cell in row[1:])]
            for row in _measured("people")]  # fmt: skip
    with house_style():
        figure = Figure(figsize=(PAGE, 2.8))
        halves, cells = figure.subplots(1, 2, sharey=True)
        for axes, title, first in ((halves, "One cut into halves", 1), (cells, "All cells", 3)):
            for index, source in enumerate(("left out by the bound", "noise")):
                values = [row[first + index] for row in rows]
                style = look(index) | {"linestyle": "none"}
                axes.plot(values, range(len(rows)), label=source, **style)
            _by_name(axes, [str(row[0]) for row in rows])
            _from_zero(axes, 1, [0, 1, 10, 100, 1000])
            axes.set_title(title)
            axes.set_xlabel("error in edges")
        figure.legend(*halves.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    _save(figure, "people", CUTS["people"].columns, rows)


def draw_sparse() -> None:
    """Draw the picture of docs/large-graphs.md: errors of five releases over the best of them."""
    rows = _measured("sparse")
    kinds = CUTS["sparse"].columns[2:]
    sizes = list(dict.fromkeys(row[0] for row in rows))
    table = []
    with house_style():
        figure = Figure(figsize=(PAGE, 2.6))
        panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
        for axes, n in zip(panels, sizes, strict=True):
            of_size = [row for row in rows if row[0] == n]
            errors = [[float(cell.replace(",", "")) for cell in row[2:]] for row in of_size]
            best = [min(column) for column in zip(*errors, strict=True)]
            for index, kind in enumerate(kinds):
                over = [round(row[index] / best[index], 2) for row in errors]
                style = look(index) | {"linestyle": "none"}
                axes.plot(over, range(len(over)), label=kind, **style)
                table += [
                    [n, row[1], kind, error] for row, error in zip(of_size, over, strict=True)
                ]
            _by_name(axes, [_RELEASES[row[1]] for row in of_size])
            axes.set_xscale("log")
            axes.set_title(f"n = {n}")
            axes.set_xlabel("error over the least of these")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    _save(figure, "sparse", ["n", "release", "error of", "over the best"], table)


def draw_regret() -> None:
    """Draw the picture of docs/releases.md: regret of the default and of fixed shares."""
    rows = _measured("regret")
    curves = {choice: [row for row in rows if row[1] == choice] for choice in _CURVES}
    with house_style():
        figure = Figure(figsize=(PAGE, 2.8))
        panels = figure.subplots(1, 2, sharey=True)
        for axes, title, column in zip(panels, ("Mean", "Largest"), (3, 4), strict=True):
            for index, (choice, rows_of_choice) in enumerate(curves.items()):
                values = [float(row[column]) for row in rows_of_choice]
                axes.plot(
                    [float(row[0]) for row in rows_of_choice],
                    values,
                    label=_CURVES[choice],
                    **look(index),
                )
            axes.set_yscale("log")
            axes.set_yticks([1, 1.5, 2, 3, 4], ["1", "1.5", "2", "3", "4"])
            axes.minorticks_off()
            light_grid(axes)
            axes.set_title(f"{title} over graphs")
            axes.set_xlabel("epsilon")
        panels[0].set_ylabel("regret of the worst cut")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    _save(figure, "regret", CUTS["regret"].columns, rows)


def _measured(name: str) -> Rows:
    """Return the cells of a table of docs/measured.md."""
    return cells_of(CUTS[name], kept_lines(name)[3:])


def _by_name(axes: Axes, names: Sequence[str]) -> None:
    """Draw a row for each name, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    light_grid(axes)


def _from_zero(axes: Axes, linear: float, ticks: Sequence[int]) -> None:
    """Set an axis that is linear up to `linear` and logarithmic beyond, and begins at 0."""
    axes.set_xscale("symlog", linthresh=linear)
    axes.set_xlim(-linear / 20, ticks[-1] * 1.1)
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()


def _save(figure: Figure, name: str, columns: Sequence[str], rows: Table) -> None:
    parameters = {"from": f"docs/measured/{name}.txt", "measured": kept_lines(name)[0][2:]}
    save_figure(figure, FIGURES / f"measured_{name}",
                columns=columns, rows=rows, parameters=parameters)  # fmt: skip


DRAWN = {
    "partitions": draw_partitions,
    "people": draw_people,
    "regret": draw_regret,
    "sparse": draw_sparse,
}

if __name__ == "__main__":
    for draw in DRAWN.values():
        draw()
