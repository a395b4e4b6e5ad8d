"""Every way to release a graph on the bundled real graphs."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcuts_dp.evaluation.experiments.base import Table
from graphcuts_dp.plotting.series import by_repetition, medians
from graphcuts_dp.plotting.style import (
    PAGE,
    draw_series,
    house_style,
    light_grid,
    log_log,
    look,
    plain_log_ticks,
    trivial_look,
)

_TRIVIAL_LINES = {"answer 0": (0, (1, 1.5)), "true density": (0, (4, 2))}


_LEAST = 0.01  # lower errors, 0 among them, leave the panel
_SHORT = {"davis_women": "davis", "us_flights_2008": "flights", "air_routes": "routes"}


def real_graphs_figure(table: Table) -> Figure:
    """Draw the table of `evaluation.experiments.real_graphs`.

    Returns:
        A panel for each graph: relative error of the worst cut against epsilon; and one with the
        epsilon from which on each method beats the trivial answers.
    """
    graphs: Sequence[str] = table.parameters["graphs"]
    with house_style():
        figure = Figure(figsize=(PAGE, 5.2))
        panels = figure.subplots(2, 3).ravel()
        for axes, graph in zip(panels, graphs, strict=False):
            _draw_graph(axes, table, graph)
        for axes in panels[len(graphs) : -1]:
            axes.set_axis_off()
        _draw_useful(panels[-1], table, graphs)
        for axes in (panels[0], panels[3]):
            axes.set_ylabel("worst cut, relative error")
        figure.legend(
            *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
        )
    return figure


def _draw_graph(axes: Axes, table: Table, graph: str) -> None:
    for i, method in enumerate(table.parameters["methods"]):
        x, y = by_repetition(table, panel="error", graph=graph, series=method)
        if x:
            draw_series(axes, x, np.maximum(y, _LEAST / 3), index=i, label=method)
        else:
            axes.plot([], [], label=method, **look(i))  # for the legend
    for name, line in _TRIVIAL_LINES.items():
        x, values = medians(table, panel="error", graph=graph, series=name)
        axes.plot(x, values, label=name, **(trivial_look() | {"linestyle": line}))
    log_log(axes)
    plain_log_ticks(axes.xaxis)
    axes.set_ylim(_LEAST, 13)  # the same in all panels
    axes.set_xlabel(r"$\varepsilon$")
    axes.set_title(graph.replace("_", " "))


def _draw_useful(axes: Axes, table: Table, graphs: Sequence[str]) -> None:
    """One line of the panel for each graph, the marks of the methods around it."""
    methods = table.parameters["methods"]
    for i, method in enumerate(methods):
        rows = table.where(panel="useful", series=method)
        lower = 0.7 * (i / (len(methods) - 1) - 0.5)  # so that marks do not hide each other
        axes.plot(
            [row["y"] for row in rows],
            [graphs.index(row["graph"]) + lower for row in rows],
            **(look(i) | {"linestyle": "none", "markersize": 5}),
        )
    axes.set_xscale("log")
    plain_log_ticks(axes.xaxis)
    light_grid(axes)
    axes.set_yticks(range(len(graphs)), [_SHORT.get(graph, graph) for graph in graphs])
    axes.set_ylim(len(graphs) - 0.5, -0.5)
    axes.set_xlabel(r"$\varepsilon$")
    axes.set_title("Better than trivial from")
