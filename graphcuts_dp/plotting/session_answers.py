"""The answers of a session in the order in which they were given, with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphcuts_dp.plotting.style import COLOURS, house_style

_MOST_BARS = 400  # more intervals than that are drawn as a band


@final
@dataclass(frozen=True)
class AnswerPoint:
    """One answer.

    Attributes:
        value: of the cut.
        low: of its interval; may be infinite.
        high: likewise.
        corrected: whether the query corrected the hypothesis.
    """

    value: float
    low: float
    high: float
    corrected: bool


def session_answers_figure(points: Sequence[AnswerPoint], *, title: str) -> Figure:
    """Draw the answers of a session.

    Args:
        points: in the order of the answers, at least one.
        title: names the session and its guarantee.

    Returns:
        A figure: values with intervals against the number of the answer; corrections marked.
        Infinite intervals are left out.
    """
    numbers = np.arange(1, len(points) + 1)
    values, low, high = (
        np.array([getattr(point, name) for point in points]) for name in ("value", "low", "high")
    )
    low[~np.isfinite(low)] = high[~np.isfinite(high)] = np.nan  # such bars are left out
    corrected = np.array([point.corrected for point in points])
    with house_style():
        figure = Figure(figsize=(7.2, 3.6))
        axes = figure.subplots()
        if len(points) > _MOST_BARS:
            axes.fill_between(numbers, low, high, color=COLOURS["noisy"], alpha=0.2, linewidth=0)
        else:
            axes.vlines(numbers, low, high, color=COLOURS["noisy"], linewidth=0.8, alpha=0.6)
        axes.scatter(numbers, values, s=12, color=COLOURS["noisy"], label="answer", zorder=3)
        if corrected.any():
            axes.scatter(
                numbers[corrected],
                values[corrected],
                s=26,
                marker="D",
                color=COLOURS["synthetic"],
                label="corrected the hypothesis",
                zorder=4,
            )
            figure.legend(loc="outside lower left", ncols=2)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.margins(x=0.05)
        axes.set_xlabel("answer number")
        axes.set_ylabel("weight between S and T")
        axes.set_title(title)
    return figure
