"""Flows between regions and states, and between two halves of a karate club.

The graphs are public (direct flights between US airports in 2008; who met whom in a club); the demo
treats them as private, and prints the truth beside what is released.
"""

from pathlib import Path

import graphcuts_dp as gc
from graphcuts_dp.cli.console import out, show_table
from graphcuts_dp.datasets import load, load_groups
from graphcuts_dp.evaluation.flow_error import FlowErrors, flow_errors
from graphcuts_dp.plotting.style import write_figure

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "demo-output"
EPSILON = 1.0


def flights() -> gc.Graph:
    """Which airports had direct flights, without their number."""
    return load("us_flights_2008", weighted=False)


def show_errors(errors: FlowErrors) -> None:
    """Print the table of a level, each cell as "released (truth)"."""
    rows = [
        [str(label), *(f"{value:,.1f} ({true:,.0f})" for value, true in zip(*pair, strict=True))]
        for label, *pair in zip(errors.labels, errors.values, errors.truth, strict=True)
    ]
    title = f"Flows by {errors.level}: released (truth; {errors.mark})"
    show_table(title, [errors.level, *map(str, errors.labels)], rows)


def show_flows(graph: gc.Graph, groups: gc.Groups, level: str, name: str) -> None:
    """Release, print beside the truth, draw."""
    flows = gc.release_flows(graph, groups, epsilon=EPSILON)
    out.print(f"Released: {flows.guarantee}")
    show_errors(flow_errors(graph, groups, flows, level))
    out.print("From the released table alone:")
    for statistic in (
        flows.share_inside(level),
        flows.modularity(level),
        flows.assortativity(level),
        flows.ei_index(level),
    ):
        out.print(f"   {statistic}")
    top = flows.top_flows(min(3, flows.cells.size(flows.cells.place(level))), level)
    named = ", ".join(f"{flow.source} - {flow.target}" for flow in top.flows)
    out.print(f"   largest: {named}; proven confidence in this order {top.order_chance:.3f}")
    for each in flows.levels:
        errors = flow_errors(graph, groups, flows, each)
        out.print(
            f"   {each}: error {errors.root_mean_square:.2f} a cell, {errors.covered:.1%} of the "
            f"95 % intervals hold the truth ({errors.mark})"
        )
    figure = OUTPUT / f"flows_{name}.png"
    write_figure(flows.plot(level), figure, force=True)
    out.print(f"   figure: {figure.relative_to(ROOT)}")


def main() -> None:
    OUTPUT.mkdir(exist_ok=True)
    out.print("1. US flights by region and state: which airports are connected")
    show_flows(flights(), load_groups("us-flights").down_to("state"), "region", "us_flights")
    out.print("2. The karate club by the club that each member went to")
    show_flows(load("karate"), load_groups("karate"), "club", "karate")


if __name__ == "__main__":
    main()
