"""Release a synthetic graph from a bundled real one, ask cut queries, measure, draw a figure.

The graph is public (direct flights between US airports in 2008); the demo treats it as private.
"""

import csv
import warnings
from collections import defaultdict
from pathlib import Path

import graphcuts_dp as gc
from graphcuts_dp.cli.console import Report, out, progress_bar, show
from graphcuts_dp.plotting.style import write_figure

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "demo-output"
EPSILON = 1.0
REGIONS = {
    "West Coast": {"CA", "OR", "WA"},
    "Mountain": {"AZ", "CO", "ID", "MT", "NM", "NV", "UT", "WY"},
    "Texas and South": {"AL", "AR", "LA", "MS", "OK", "TN", "TX"},
    "Midwest": {"IA", "IL", "IN", "KS", "MI", "MN", "MO", "ND", "NE", "OH", "SD", "WI"},
    "North East": {"CT", "DE", "MA", "MD", "ME", "NH", "NJ", "NY", "PA", "RI", "VA", "VT"},
    "South East": {"FL", "GA", "KY", "NC", "SC", "WV"},
}


def regions() -> dict[str, list[str]]:
    """Return airports by region, from the public list of airports."""
    of_state = {state: region for region, states in REGIONS.items() for state in states}
    airports = defaultdict(list)
    with (ROOT / "datasets" / "us_airports_2008.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["state"] in of_state:
                airports[of_state[row["state"]]].append(row["airport"])
    return dict(airports)


def main() -> None:
    warnings.simplefilter("error")
    OUTPUT.mkdir(exist_ok=True)
    graph = gc.read_graph(
        ROOT / "datasets" / "us_flights_2008.csv", weighted=False, public_vertices_from_file=True
    )
    out.print(f"1. Private graph: which of {graph.n} US airports had direct flights in 2008")

    with progress_bar("fitting") as progress:
        release = gc.release_graph(graph, epsilon=EPSILON, progress=progress)
    for file in release.save(OUTPUT / "flights.graphml", force=True):
        out.print(f"   wrote {Path(file).relative_to(ROOT)}")
    out.print(f"2. Released: {release.guarantee}")

    out.print("3. Cut queries, answered from the release alone: connected pairs of airports")
    groups = regions()
    for first, second in (("West Coast", "North East"), ("Midwest", "South East")):
        answer = release.answer(groups[first], groups[second])
        out.print(f"   {first} - {second}: {answer}")

    out.print("4. How wrong is it? This reads the private graph again:")
    table = gc.cut_errors(graph, release, groups=groups)
    show(Report(None, [table]), as_json=False)
    figure = OUTPUT / "cut_errors.png"
    write_figure(table.plot(), figure, force=True)
    out.print(f"   figure: {figure.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
