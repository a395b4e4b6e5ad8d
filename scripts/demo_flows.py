"""Release flows between regions, divisions and states, and between two halves of a karate club.

The graphs are public (direct flights between US airports in 2008; who met whom in a club); the demo
treats them as private, and prints the truth beside what is released.
"""

import csv
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.figure import Figure

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.cli.console import out, show_table
from graphcuts_dp.datasets import load, load_groups
from graphcuts_dp.evaluation.tables import NOT_PRIVATE
from graphcuts_dp.plotting.style import write_figure

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "demo-output"
EPSILON = 1.0
ISLANDS = "Island Areas"  # of the airports of no state; left out


def flights() -> gc.Graph:
    """Return the graph of direct flights between airports of the states, without their numbers."""
    all_flights = load("us_flights_2008", weighted=False)
    in_states = {row["airport"] for row in airports() if row["region"] != ISLANDS}
    labels = [label for label in all_flights.labels if label in in_states]
    ends = [
        (all_flights.labels[a], all_flights.labels[b])
        for a, b in zip(all_flights.rows, all_flights.columns, strict=True)
    ]
    return gc.Graph.of([pair for pair in ends if in_states.issuperset(pair)], vertices=labels)


def airports() -> list[dict[str, str]]:
    """Read the public table of airports: state, division and region of the census, and position."""
    regions = {row["state"]: row for row in rows_of("us_census_regions.csv")}
    islands = {"region": ISLANDS, "division": ISLANDS}
    return [row | regions.get(row["state"], islands) for row in rows_of("us_airports_2008.csv")]


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of `datasets/`."""
    with (ROOT / "datasets" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def states(graph: gc.Graph, levels: tuple[str, ...] = ("region", "division", "state")) -> gc.Groups:
    """Return states within divisions within regions."""
    known = {row["airport"]: tuple(row[level] for level in levels) for row in airports()}
    return gc.Groups.of({label: known[label] for label in graph.labels}, graph, levels)


def write_places(path: Path) -> None:
    """Write the position of each state: the mean of its airports."""
    positions_of = defaultdict(list)
    for row in airports():
        if row["region"] == ISLANDS:
            continue
        positions_of[row["state"]].append((float(row["latitude"]), float(row["longitude"])))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "lat", "lon"))
        writer.writerows(
            (state, *np.mean(positions, axis=0).round(2))
            for state, positions in positions_of.items()
        )


def true_table(graph: gc.Graph, groups: gc.Groups, level: str) -> FloatMatrix:
    """Count the edges between the groups of a level, those inside a group once."""
    codes = groups.codes(level)
    counts = np.zeros((len(groups.labels(level)),) * 2)
    np.add.at(counts, (codes[graph.rows], codes[graph.columns]), 1)
    counts += counts.T
    counts[np.diag_indices_from(counts)] /= 2
    return counts


def show_level(flows: gc.Flows, truth: FloatMatrix, level: str) -> None:
    """Print the table of a level, each cell as "released (truth)"."""
    labels = flows.labels(level)[0]
    rows = [
        [str(label), *(f"{value:,.1f} ({true:,.0f})" for value, true in zip(*pair, strict=True))]
        for label, *pair in zip(labels, flows.values(level), truth, strict=True)
    ]
    title = f"Flows by {level}: released (truth; {NOT_PRIVATE})"
    show_table(title, [level, *map(str, labels)], rows)


def show_flows(
    graph: gc.Graph, groups: gc.Groups, level: str, store: Path | None = None
) -> gc.Flows:
    """Release, charged to a store if one is given, and print beside the truth."""
    flows = gc.release_flows(graph, groups, epsilon=EPSILON, store=store)
    out.print(f"Released: {flows.guarantee}")
    show_level(flows, true_table(graph, groups, level), level)
    out.print("From the released table alone:")
    for statistic in (
        flows.share_inside(level),
        flows.modularity(level),
        flows.assortativity(level),
        flows.ei_index(level),
    ):
        out.print(f"   {statistic}")
    top = flows.top_flows(min(3, flows.cells.size(flows.cells.level_index(level))), level)
    named = ", ".join(f"{flow.source} - {flow.target}" for flow in top.flows)
    out.print(f"   largest: {named}; proven confidence in this order {top.order_chance:.3f}")
    for level_name in flows.levels:
        cells = flows.cells.cells(flows.cells.level_index(level_name))
        true, values, low, high = (
            table[cells]
            for table in (
                true_table(graph, groups, level_name),
                flows.values(level_name),
                *flows.intervals(level_name),
            )
        )
        error, covered = np.sqrt(((values - true) ** 2).mean()), (low <= true) & (true <= high)
        out.print(
            f"   {level_name}: error {error:.2f} a cell, {covered.mean():.1%} of the 95 % "
            f"intervals hold the truth ({NOT_PRIVATE})"
        )
    return flows


def draw(figure: Figure, name: str) -> None:
    """Write a figure, and say where."""
    path = OUTPUT / f"flows_{name}.png"
    write_figure(figure, path, force=True)
    out.print(f"   figure: {path.relative_to(ROOT)}")


def main() -> None:
    OUTPUT.mkdir(exist_ok=True)
    out.print("1. US flights by region, division and state: which airports are connected")
    graph = flights()
    with TemporaryDirectory() as folder:
        store = Path(folder) / "flights.db"
        flows = show_flows(graph, states(graph), "region", store)
        draw(flows.plot("division"), "us_divisions")
        out.print(f"   again by state alone, for another epsilon = {EPSILON:g}: more accurate")
        flows = gc.release_flows(graph, states(graph, ("state",)), epsilon=EPSILON, store=store)
        spent_epsilon = gc.store_status(store).epsilon
    out.print(f"   the store that was charged for both says: epsilon = {spent_epsilon:g} together")
    locations = OUTPUT / "us_states.csv"
    write_places(locations)
    draw(flows.plot("state", locations=locations), "us_states")
    lines = flows.write_od(OUTPUT / "flows_us_states.geojson", locations, "state", force=True)
    out.print(f"   for a map: {Path(lines[0]).relative_to(ROOT)}")
    out.print("2. The karate club by the club that each member went to")
    draw(show_flows(load("karate"), load_groups("karate"), "club").plot(), "karate")


if __name__ == "__main__":
    main()
