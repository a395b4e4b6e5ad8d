"""Pictures of lists of numbers: answers with intervals, errors of a plan, beliefs, user counts.

- `answer_list_figure`: answers to queries, as points with intervals;
- `session_answers_figure`: the same for the answers of a session, in order;
- `plan_figure`: guaranteed errors of several mechanisms;
- `odds_figure`: what a privacy guarantee lets an attacker believe;
- `classes_figure`: noisy numbers of users by how much they contribute.

Titles, names and units are made by the callers. A title has the privacy guarantee in it, or for a
plan the setting: the graph, the budget and the workload. Labels that never change are written here.

`drawing(width, height)` opens a figure of this size in inches, with one picture. `COLUMN`, `PAGE`
are the two usual widths. Nothing is saved: figures are returned. `COLOURS` has colours by what they
stand for: "noisy" for all that is drawn from releases, "synthetic" as a second colour beside it,
"truth" black, and "all zero" the grey of all that does not depend on the graph. `plain_text` keeps
matplotlib from reading a "$" as a formula. Names of answers need it: they can come from data.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.plotting.labels import (
    INCH,
    TITLE_SIZE,
    shortened,
    text_height,
    text_width,
    wrapped,
)
from graphcuts_dp.plotting.style import COLOURS, COLUMN, GRID, PAGE, drawing, plain_text

_MAX_NAMED = 40  # answers up to which each has its name below it
_MAX_NAME_LENGTH = 24  # characters of such a name; longer ones lose their middle
_PLAN_TITLE_SIZE = 8.0  # of the font: a plan says much of its setting
_NAME_SIZE = 8.0  # of the font
_BESIDE = 0.9  # inches on both sides of a picture
_MAX_BARS = 400  # intervals up to which each is a bar; more are drawn as a band


def answer_list_figure(
    values: FloatVector,
    low: FloatVector,
    high: FloatVector,
    *,
    title: str,
    x_label: str,
    names: Sequence[str] = (),
    second_values: FloatVector | None = None,
    second_label: str = "",
    unit: str,
) -> Figure:
    """Draw values with intervals side by side, and second values as diamonds.

    Args:
        values: estimates, at least one, shape (k,).
        low: lower ends of their intervals, shape (k,).
        high: upper ends, shape (k,). An interval with an infinite end is not drawn.
        title: title of the figure, with the guarantee.
        x_label: text below the picture, which says what the answers are of.
        names: names of the answers, or empty. Long lists are numbered instead.
        second_values: second values for the same questions, shape (k,); None if there are none.
        second_label: name of the second values in the legend.
        unit: unit of the values.
    """
    numbers = np.arange(1, len(values) + 1)
    low, high = low.copy(), high.copy()
    low[~np.isfinite(low)] = np.nan
    high[~np.isfinite(high)] = np.nan
    shown_names = [_name_below(name) for name in names] if len(names) <= _MAX_NAMED else []
    # Names are turned; they are as small as their distance needs, and lie below the usual picture.
    size = min(_NAME_SIZE, (PAGE - _BESIDE) * INCH / text_height(max(len(shown_names), 1)))
    longest = max((text_width(name, size) for name in shown_names), default=0.0)
    with drawing(PAGE, 3.4 + longest / INCH) as (figure, axes):
        if len(numbers) > _MAX_BARS:
            axes.fill_between(numbers, low, high, color=COLOURS["noisy"], alpha=0.2, linewidth=0)
        else:
            axes.vlines(numbers, low, high, color=COLOURS["noisy"], linewidth=0.9, alpha=0.6)
        axes.scatter(numbers, values, s=12, color=COLOURS["noisy"], label="answer", zorder=3)
        if second_values is not None:
            axes.scatter(
                numbers,
                second_values,
                s=18,
                marker="D",
                facecolors="none",
                edgecolors=COLOURS["synthetic"],
                label=second_label,
                zorder=4,
            )
            figure.legend(loc="outside lower left", ncols=2)
        if shown_names:
            axes.set_xticks(numbers, shown_names, rotation=90, fontsize=size)
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.margins(x=0.03)
        axes.set_xlabel(x_label)
        axes.set_ylabel(unit)
        axes.set_title(_title(title, PAGE))
    return figure


def _name_below(name: str) -> str:
    """Return a name of at most 24 characters for an axis."""
    return plain_text(shortened(name, _MAX_NAME_LENGTH))


def _title(title: str, width: float) -> str:
    """Return a title in lines that fit above a picture in a figure of this width in inches."""
    return wrapped(title, TITLE_SIZE, INCH * (width - _BESIDE))


def session_answers_figure(
    points: Sequence[tuple[float, float, float, bool]], *, title: str, unit: str
) -> Figure:
    """Draw the answers of a session against their numbers.

    Args:
        points: in the order of the answers, at least one: the answer, both ends of its interval,
            which may be infinite, and whether the query corrected the hypothesis. (Some sessions
            answer from a hypothesis, a public approximation that queries with a large error
            correct.)
        title: names the session and its guarantee.
        unit: unit of the values.

    Returns:
        A figure: values with intervals; corrections marked. Infinite intervals are left out.
    """
    values, low, high, corrected = np.array(points, dtype=np.float64).T
    # A diamond around the answer marks a correction. The diamonds of `answer_list_figure` are its
    # second values: those of corrections are the answers, all others are NaN and not drawn.
    return answer_list_figure(
        values,
        low,
        high,
        title=title,
        x_label="answer number",
        second_values=np.where(corrected > 0, values, np.nan) if corrected.any() else None,
        second_label="corrected the hypothesis",
        unit=unit,
    )


def plan_figure(
    names: Sequence[str], guaranteed: FloatVector, trivial: Sequence[bool], *, title: str
) -> Figure:
    """Draw guaranteed errors from top to bottom; those of trivial answers in grey.

    Args:
        names: names of the mechanisms, with the cuts for which the error holds.
        guaranteed: errors, finite and positive, shape (k,), the least first.
        trivial: whether each mechanism learns nothing of the graph, or no more than its number of
            edges. The label of the axis says "nothing" for short.
        title: the setting, in words.
    """
    heights = np.arange(len(names))
    colours = [COLOURS["all zero"] if is_trivial else COLOURS["noisy"] for is_trivial in trivial]
    with drawing(PAGE, 1.2 + 0.2 * len(names)) as (figure, axes):
        # From the left edge to each point: on the logarithmic axis below, 0 is left of all.
        axes.hlines(heights, 0, guaranteed, color=GRID, linewidth=0.8, zorder=1)
        axes.scatter(guaranteed, heights, c=colours, s=26, zorder=2)
        axes.set_yticks(heights, names)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlim(left=0.7 * guaranteed.min())
        axes.set_xlabel("guaranteed error of a cut, in edges (grey: learns nothing of the graph)")
        lines = wrapped(title, _PLAN_TITLE_SIZE, INCH * (PAGE - 0.2))
        figure.suptitle(lines, fontsize=_PLAN_TITLE_SIZE, x=0.01, ha="left")
    return figure


def odds_figure(
    priors: FloatVector, lowest: FloatVector, highest: FloatVector, *, title: str
) -> Figure:
    """Draw the range of beliefs after a release against the belief before it.

    Args:
        priors: probabilities before, ascending, shape (k,).
        lowest: the least that they can become, shape (k,).
        highest: the most that they can become, shape (k,).
        title: the guarantee.
    """
    with drawing(COLUMN, COLUMN) as (figure, axes):
        axes.fill_between(priors, lowest, highest, color=COLOURS["noisy"], alpha=0.25, linewidth=0)
        # the diagonal, grey: a release that teaches nothing of the graph
        axes.plot(priors, priors, color=COLOURS["all zero"], linestyle=":", linewidth=1.3)
        axes.set_xlabel("believed beforehand")
        axes.set_ylabel("believed afterwards")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_title(_title(title, COLUMN))
    return figure


def classes_figure(
    names: Sequence[str], counts: FloatVector, *, title: str, x_label: str
) -> Figure:
    """Draw noisy numbers of users in classes as bars; numbers below 0 hang down.

    Args:
        names: names of the classes.
        counts: noisy numbers of users, shape (k,).
        title: title of the figure, with the guarantee.
        x_label: text below the picture, which says what the classes are of.
    """
    positions = np.arange(len(names))
    with drawing(PAGE, 3.0) as (figure, axes):
        axes.bar(positions, counts, color=COLOURS["noisy"])
        axes.axhline(0, color=COLOURS["truth"], linewidth=0.6)
        axes.set_xticks(positions, names, rotation=45, ha="right")
        axes.set_yscale("symlog")
        axes.set_xlabel(x_label)
        axes.set_ylabel("users, noisy")
        axes.set_title(_title(title, PAGE))
    return figure
