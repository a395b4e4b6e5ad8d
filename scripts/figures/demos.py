"""Draw the pictures of README and docs: releases of US flights, and of simulated phone records.

Seeded, so that they can be drawn again; a real release never is.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from matplotlib.figure import Figure

import graphcuts_dp as gc
from graphcuts_dp.datasets import load
from graphcuts_dp.distances.locations import all_distances
from graphcuts_dp.evaluation.cut_error_figure import cut_error_figure
from graphcuts_dp.resources import one_blas_thread
from scripts import demo, demo_distances, demo_flows
from scripts.figures.style import save_figure

FIGURES = demo.ROOT / "figures"
SEED = 2008


def draw_cut_errors() -> None:
    """Draw the README's figure: cut errors of one release."""
    graph = load("us_flights_2008", weighted=False)
    with one_blas_thread():  # the same digits whatever the number of processors
        release = gc.release_graph(graph, epsilon=demo.EPSILON, seed=SEED)
        table = gc.cut_errors(graph, release, groups=demo.regions())
    save_figure(
        cut_error_figure(table),
        FIGURES / "demo_cut_errors",
        columns=["kind", "cuts", "size", *table.estimates],
        rows=[[row.kind, row.cuts, row.size, *row.errors] for row in table.rows],
        parameters={
            "dataset": "us_flights_2008",
            "epsilon": demo.EPSILON,
            "noise": release.noisy.distribution.name,
            "fit": release.fit.method if release.fit else "none",
            "seed": SEED,
        },
    )


def draw_distances() -> None:
    """Draw the map of docs/distances.md: where to meet."""
    metric, people = demo_distances.made_people()
    epsilon, seed = demo_distances.EPSILON, demo_distances.SEED
    answers = gc.distances.answer_distances(metric, people, epsilon=epsilon, seed=seed)
    save_figure(
        answers.plot(unit="km"),
        FIGURES / "demo_distances",
        columns=["vertex", "answer", "low", "high", "truth"],
        rows=[
            [answer.vertex, answer.value, *answer.interval, float(truth)]
            for answer, truth in zip(answers.all(), all_distances(people), strict=True)
        ],
        parameters={
            "dataset": "us_flights_2008",
            "people": demo_distances.PEOPLE,
            "epsilon": epsilon,
            "mechanism": answers.plan.best.mechanism,
            "noise": answers.plan.best.noise,
            "seed": seed,
        },
    )


def draw_flows() -> None:
    """Draw the README's map: flows between states."""
    graph = demo_flows.flights()
    groups = demo_flows.states(graph, ("state",))
    flows = gc.release_flows(graph, groups, epsilon=demo_flows.EPSILON, seed=SEED)
    with TemporaryDirectory() as folder:
        locations = Path(folder) / "states.csv"
        demo_flows.write_places(locations)
        figure = flows.plot("state", locations=locations, title="Connected airports by state")
    _save_flows(figure, flows, "state", "demo_flows")


def draw_flow_table() -> None:
    """Draw the heat map of docs/groups.md: flows between divisions, with their errors."""
    graph = demo_flows.flights()
    groups = demo_flows.states(graph, ("division",))
    flows = gc.release_flows(graph, groups, epsilon=demo_flows.EPSILON, seed=SEED)
    figure = flows.plot("division", title="Connected airports by division")
    _save_flows(figure, flows, "division", "demo_flow_table")


def draw_tables() -> None:
    """Draw the figure of docs/tables.md: errors of the tables of the notebook on phone records."""
    known: dict[str, Any] = {}
    page = (demo.ROOT / "docs" / "notebooks" / "phone-records.md").read_text(encoding="utf-8")
    for cell in re.findall(r"```{code-cell}\n(.*?)```", page, re.DOTALL):
        exec(cell, known)  # noqa: S102
        if "errors" in known:
            break
    errors_of = {name: known["errors"](table) for name, table in known["tables"].items()}
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    sums = list(errors_of["blanked"])[::-1]
    labels = {
        "blanked": "cells below 15 blanked",
        "a trip": "noise that hides a trip",
        "a month": "... a person's month",
        "a year": "... a person's year",
    }
    for (name, errors), marker in zip(errors_of.items(), "xos^", strict=True):
        label = labels[name]
        axes.plot([errors[sum_name] for sum_name in sums], sums, marker, label=label, alpha=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("error, in trips (root mean square)")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    save_figure(
        figure,
        FIGURES / "demo_tables",
        columns=["sum", *errors_of],
        rows=[
            [sum_name, *(round(errors[sum_name], 1) for errors in errors_of.values())]
            for sum_name in sums[::-1]
        ],
        parameters={"dataset": "made phone records", "users": known["USERS"], "seed": 2026},
    )


def _save_flows(figure: Figure, flows: gc.Flows, level: str, name: str) -> None:
    table = flows.to_frame(level)
    save_figure(
        figure,
        FIGURES / name,
        columns=list(table.columns),
        rows=table.itertuples(index=False, name=None),
        parameters={
            "dataset": "us_flights_2008",
            "levels": list(flows.levels),
            "epsilon": flows.guarantee.epsilon,
            "seed": SEED,
        },
    )


DRAWN = {
    "cut_errors": draw_cut_errors,
    "distances": draw_distances,
    "flows": draw_flows,
    "flow_table": draw_flow_table,
    "tables": draw_tables,
}
