"""What mechanisms guarantee for one setting, as points; and what a promise does to beliefs."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.plotting.style import COLOURS, COLUMN, PAGE, house_style


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
    with house_style():
        figure = Figure(figsize=(PAGE, 1.2 + 0.2 * len(names)))
        axes = figure.subplots()
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
        title: the promise.
    """
    with house_style():
        figure = Figure(figsize=(COLUMN, COLUMN))
        axes = figure.subplots()
        axes.fill_between(priors, lowest, highest, color=COLOURS["noisy"], alpha=0.25, linewidth=0)
        axes.plot(priors, priors, color=COLOURS["all zero"], linestyle=":", linewidth=1.3)
        axes.set_xlabel("believed beforehand")
        axes.set_ylabel("believed afterwards")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_title(title)
    return figure


def classes_figure(names: Sequence[str], counts: FloatVector, *, title: str, what: str) -> Figure:
    """Noisy numbers of owners in classes, as bars; those below 0 hang down.

    Args:
        names: of the classes.
        counts: shape (k,).
        title: with the guarantee.
        what: was counted.
    """
    places = np.arange(len(names))
    with house_style():
        figure = Figure(figsize=(PAGE, 3.0))
        axes = figure.subplots()
        axes.bar(places, counts, color=COLOURS["noisy"])
        axes.axhline(0, color=COLOURS["truth"], linewidth=0.6)
        axes.set_xticks(places, names, rotation=45, ha="right")
        axes.set_yscale("symlog")
        axes.set_xlabel(what)
        axes.set_ylabel("owners, noisy")
        axes.set_title(title)
    return figure
