"""The pictures of README and docs: releases of the US flights graph.

Seeded, so that they can be drawn again; a real release never is.
"""

import graphcuts_dp as gc
from graphcuts_dp.datasets import load_groups
from graphcuts_dp.distances.locations import all_distances
from graphcuts_dp.evaluation.cut_error_figure import cut_error_figure
from graphcuts_dp.resources import one_blas_thread
from scripts import demo, demo_distances, demo_flows
from scripts.figures.style import save_figure

FIGURES = demo.ROOT / "figures"
SEED = 2008
FLOWS_EPSILON, LEVEL = 3.0, "state"


def draw_cut_errors() -> None:
    """The README's figure: cut errors of one release."""
    graph = demo_flows.flights()
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
    """The map of docs/distances.md: where to meet."""
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
    """The README's heat map: flows between states."""
    flows = gc.release_flows(
        demo_flows.flights(),
        load_groups("us-flights").down_to(LEVEL),
        epsilon=FLOWS_EPSILON,
        seed=SEED,
    )
    table = flows.to_frame(LEVEL)
    save_figure(
        flows.plot(LEVEL, title="Connected airports by state"),
        FIGURES / "demo_flows",
        columns=list(table.columns),
        rows=table.itertuples(index=False, name=None),
        parameters={
            "dataset": "us_flights_2008",
            "levels": list(flows.levels),
            "epsilon": FLOWS_EPSILON,
            "seed": SEED,
        },
    )


DRAWN = {"cut_errors": draw_cut_errors, "distances": draw_distances, "flows": draw_flows}
