"""Errors of the benchmark's contenders against epsilon, for one graph."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from graphcuts_dp.plotting.style import PAGE, draw_series, house_style, trivial_look

MOST_LINES = 7  # looks that can be told apart
_DPI = 110  # there is one for each graph: small files
Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]


def benchmark_figure(title: str, panels: Mapping[str, Curves]) -> Figure:
    """Draw a panel for each measure: error over that of the empty graph, against epsilon.

    Args:
        title: of the figure: the graph's name.
        panels: for each measure, at most four of them, epsilons and errors by contender; the first
            seven contenders that occur are drawn, with the same look in all panels.

    Returns:
        A figure of as many panels in a row; a dotted line at 1, which is the empty graph.
    """
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    with house_style():
        figure = Figure(figsize=(PAGE, 2.9), dpi=_DPI)
        figure.suptitle(title)
        axes = np.atleast_1d(figure.subplots(1, max(1, len(panels)), squeeze=True))
        for each, (measure, curves) in zip(axes, panels.items(), strict=False):
            for index, name in enumerate(names[:MOST_LINES]):
                if name in curves:
                    draw_series(each, *curves[name], index=index, label=name)
            each.axhline(1.0, **trivial_look())
            each.set_xscale("log")
            each.set_yscale("log")
            each.set_title(measure)
            each.set_xlabel("epsilon")
            ticks = sorted({x for xs, _ in curves.values() for x in xs})
            each.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
            each.set_xticks([], minor=True)
        axes[0].set_ylabel("error / empty graph's")
        handles = {
            str(line.get_label()): line
            for each in axes
            for line in each.get_lines()
            if not str(line.get_label()).startswith("_")
        }
        kept = [name for name in names[:MOST_LINES] if name in handles]
        figure.legend([handles[name] for name in kept], kept, loc="outside lower center", ncols=4)
    return figure
