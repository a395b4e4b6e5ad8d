"""Updates that constructions used, as shares of what they may need."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcuts_dp.evaluation.experiments.base import Table
from graphcuts_dp.plotting.style import COLOURS, PAGE, house_style

_NAMES = {
    "Frieze-Kannan": "Frieze–Kannan",
    "multiplicative weights": "multiplicative weights",
    "median": "median",
    "descent, l_p": r"descent, $\ell_p$",
    "descent, (2,p)": "descent, $(2,p)$",
    "descent, Schatten-p": "descent, Schatten-$p$",
    "descent, entropy": "descent, entropy",
}
_TITLES = {"tight": "Tight rule", "as printed": "Rule as printed"}
_LOOKS = {
    "adversarial": ("always the worst cut", "o", COLOURS["synthetic"], COLOURS["synthetic"], -0.17),
    "random": ("random cuts", "s", "white", COLOURS["noisy"], 0.17),
}
_LINEAR = 2e-3  # below it the axis is linear, so that 0 has a place


def updates_figure(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of the experiment `updates`.

    Returns:
        A figure of two panels, the tight rule and the one as printed: for each construction the
        updates used over B(alpha), one point for each graph and tolerance, by analyst. The line is
        the bound.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 3.3))
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        for axes, (rule, title) in zip(panels, _TITLES.items(), strict=True):
            _draw(axes, table, rule)
            axes.set_title(title)
        panels[0].set_yticks(range(len(_NAMES)), list(_NAMES.values()))
        panels[0].set_ylim(len(_NAMES) - 0.5, -0.5)
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower left", ncols=len(names))
    return figure


def _draw(axes: Axes, table: Table, rule: str) -> None:
    for analyst, (name, marker, inside, edge, shift) in _LOOKS.items():
        shares, places = [], []
        for place, construction in enumerate(_NAMES):
            rows = table.where(construction=construction, rule=rule, analyst=analyst)
            shares += [row["used"] / row["B"] for row in rows]
            places += [place + shift] * len(rows)
        axes.scatter(
            shares, places, s=16, marker=marker, facecolor=inside, edgecolor=edge, label=name
        )
    axes.axvline(1, color="black", linewidth=1.2, label=r"the bound $B(\alpha)$")
    axes.set_xscale("symlog", linthresh=_LINEAR, linscale=0.4)
    axes.set_xlim(-3e-4, 1.5)
    ticks = [0, 0.01, 0.1, 1]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    for place in range(len(_NAMES) - 1):
        axes.axhline(place + 0.5, color="#e4e4e4", linewidth=0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(r"updates used / $B(\alpha)$")
