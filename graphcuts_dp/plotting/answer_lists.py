"""Answers beside each other with their intervals: cuts of a release, or what was measured."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.plotting.style import COLOURS, PAGE, house_style

_NAMED = 40  # answers up to which each has its name below it
_LONGEST = 24  # characters of such a name


def answer_list_figure(
    values: FloatVector,
    low: FloatVector,
    high: FloatVector,
    *,
    title: str,
    across: str,
    names: Sequence[str] = (),
    other: FloatVector | None = None,
    other_label: str = "",
    unit: str = "weight between S and T",
) -> Figure:
    """Values with intervals, side by side, and second values as diamonds.

    Args:
        values: estimates, at least one, shape (k,).
        low: ends of their intervals, shape (k,); not drawn where infinite.
        high: likewise.
        title: what is shown, with the guarantee.
        across: what the answers are of, below the picture.
        names: of the answers, or none.
        other: second values for the same questions, shape (k,), or None.
        other_label: what they are.
        unit: of the values.
    """
    places = np.arange(1, len(values) + 1)
    low, high = low.copy(), high.copy()
    low[~np.isfinite(low)] = high[~np.isfinite(high)] = np.nan
    with house_style():
        figure = Figure(figsize=(PAGE, 3.4))
        axes = figure.subplots()
        axes.vlines(places, low, high, color=COLOURS["noisy"], linewidth=0.9, alpha=0.6)
        axes.scatter(places, values, s=12, color=COLOURS["noisy"], label="answer", zorder=3)
        if other is not None:
            axes.scatter(
                places,
                other,
                s=18,
                marker="D",
                facecolors="none",
                edgecolors=COLOURS["synthetic"],
                label=other_label,
                zorder=4,
            )
            figure.legend(loc="outside lower left", ncols=2)
        if names and len(places) <= _NAMED:
            axes.set_xticks(places, [_short(name) for name in names], rotation=90)
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.margins(x=0.03)
        axes.set_xlabel(across)
        axes.set_ylabel(unit)
        axes.set_title(title)
    return figure


def _short(name: str) -> str:
    text = name if len(name) <= _LONGEST else name[: _LONGEST - 3] + "..."
    return text.replace("$", r"\$")  # which would begin a formula
