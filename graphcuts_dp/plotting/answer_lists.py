"""Answers beside each other with their intervals: cuts of a release, or what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.plotting.style import COLOURS, PAGE, house_style

_NAMED = 40  # answers up to which each has its name below it
_LONGEST = 24  # characters of such a name


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class AnswerPicture:
    """What is drawn.

    Attributes:
        values: estimates, shape (k,).
        low: ends of their intervals, shape (k,); not drawn where infinite.
        high: likewise.
        names: of the answers, or none.
        other: second values for the same questions, shape (k,), or None.
        other_label: what they are.
        title: what is shown, with the guarantee.
        across: what the answers are of, below the picture.
        unit: of the values.
    """

    values: FloatVector
    low: FloatVector
    high: FloatVector
    names: Sequence[str] = ()
    other: FloatVector | None = None
    other_label: str = ""
    title: str
    across: str
    unit: str = "weight between S and T"


def answer_list_figure(picture: AnswerPicture) -> Figure:
    """Values with intervals, side by side, and second values as diamonds.

    Args:
        picture: at least one answer.
    """
    places = np.arange(1, len(picture.values) + 1)
    low, high = picture.low.copy(), picture.high.copy()
    low[~np.isfinite(low)] = high[~np.isfinite(high)] = np.nan
    with house_style():
        figure = Figure(figsize=(PAGE, 3.4))
        axes = figure.subplots()
        axes.vlines(places, low, high, color=COLOURS["noisy"], linewidth=0.9, alpha=0.6)
        axes.scatter(places, picture.values, s=12, color=COLOURS["noisy"], label="answer", zorder=3)
        if picture.other is not None:
            axes.scatter(
                places,
                picture.other,
                s=18,
                marker="D",
                facecolors="none",
                edgecolors=COLOURS["synthetic"],
                label=picture.other_label,
                zorder=4,
            )
            figure.legend(loc="outside lower left", ncols=2)
        if picture.names and len(places) <= _NAMED:
            axes.set_xticks(places, [_short(name) for name in picture.names], rotation=90)
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.margins(x=0.03)
        axes.set_xlabel(picture.across)
        axes.set_ylabel(picture.unit)
        axes.set_title(picture.title)
    return figure


def _short(name: str) -> str:
    text = name if len(name) <= _LONGEST else name[: _LONGEST - 3] + "..."
    return text.replace("$", r"\$")  # which would begin a formula
