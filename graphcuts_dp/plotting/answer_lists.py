"""Answers with their intervals, guarantees of a plan, and what a guarantee does to beliefs."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.plotting.style import COLOURS, COLUMN, PAGE, drawing

_NAMED = 40  # answers up to which each has its name below it
_LONGEST = 24  # characters of such a name
_MOST_BARS = 400  # more intervals than that are drawn as a band


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
    unit: str,
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
    with drawing(PAGE, 3.4) as (figure, axes):
        if len(places) > _MOST_BARS:
            axes.fill_between(places, low, high, color=COLOURS["noisy"], alpha=0.2, linewidth=0)
        else:
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


def session_answers_figure(
    points: Sequence[tuple[float, float, float, bool]], *, title: str, unit: str
) -> Figure:
    """Draw the answers of a session.

    Args:
        points: in the order of the answers, at least one: the value of the cut, both ends of its
            interval, which may be infinite, and whether the query corrected the hypothesis.
        title: names the session and its guarantee.
        unit: of the values.

    Returns:
        A figure: values with intervals against the number of the answer; corrections marked.
        Infinite intervals are left out.
    """
    values, low, high, marks = np.array(points, dtype=np.float64).T
    return answer_list_figure(
        values,
        low,
        high,
        title=title,
        across="answer number",
        other=np.where(marks > 0, values, np.nan) if marks.any() else None,
        other_label="corrected the hypothesis",
        unit=unit,
    )


def plan_figure(
    names: Sequence[str], guaranteed: FloatVector, trivial: Sequence[bool], *, title: str
) -> Figure:
    """Guaranteed errors, the least at the top; of trivial answers in grey.

    Args:
        names: of the mechanisms with the cuts that are meant.
        guaranteed: errors, finite and positive, shape (k,).
        trivial: which learn hardly anything from the graph.
        title: the setting.
    """
    places = np.arange(len(names))
    colours = [COLOURS["all zero"] if each else COLOURS["noisy"] for each in trivial]
    with drawing(PAGE, 1.2 + 0.2 * len(names)) as (figure, axes):
        axes.hlines(places, 0, guaranteed, color="#dddddd", linewidth=0.8, zorder=1)
        axes.scatter(guaranteed, places, c=colours, s=26, zorder=2)
        axes.set_yticks(places, names)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlim(left=0.7 * guaranteed.min())
        axes.set_xlabel("guaranteed error of a cut, in edges (grey: learns nothing of the graph)")
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    return figure


def odds_figure(
    priors: FloatVector, lowest: FloatVector, highest: FloatVector, *, title: str
) -> Figure:
    """What a belief can become, for every belief beforehand.

    Args:
        priors: probabilities, ascending, shape (k,).
        lowest: the least that they can become.
        highest: the most.
        title: the guarantee.
    """
    with drawing(COLUMN, COLUMN) as (figure, axes):
        axes.fill_between(priors, lowest, highest, color=COLOURS["noisy"], alpha=0.25, linewidth=0)
        axes.plot(priors, priors, color=COLOURS["all zero"], linestyle=":", linewidth=1.3)
        axes.set_xlabel("believed beforehand")
        axes.set_ylabel("believed afterwards")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_title(title)
    return figure


def classes_figure(names: Sequence[str], counts: FloatVector, *, title: str, what: str) -> Figure:
    """Noisy numbers of users in classes, as bars; those below 0 hang down.

    Args:
        names: of the classes.
        counts: shape (k,).
        title: with the guarantee.
        what: was counted.
    """
    places = np.arange(len(names))
    with drawing(PAGE, 3.0) as (figure, axes):
        axes.bar(places, counts, color=COLOURS["noisy"])
        axes.axhline(0, color=COLOURS["truth"], linewidth=0.6)
        axes.set_xticks(places, names, rotation=45, ha="right")
        axes.set_yscale("symlog")
        axes.set_xlabel(what)
        axes.set_ylabel("users, noisy")
        axes.set_title(title)
    return figure
