"""Find where to meet: private average distances on US flights, drawn as a map.

The map is public: direct flights between airports in 2008, with great-circle lengths. The people
are made up: they live near airports in proportion to departures, twice as often in the West.
"""

import csv
import warnings
from pathlib import Path

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.cli.console import out
from graphcuts_dp.distances import Locations, Metric, answer_distances
from graphcuts_dp.distances.locations import all_distances
from graphcuts_dp.distances.metric import read_coordinates

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "demo-output"
EPSILON, PEOPLE, SEED = 1.0, 20_000, 2008
EARTH = 6371.0  # km


def made_people() -> tuple[Metric, Locations]:
    """Return the public map, and people who live near its airports, more of them in the West."""
    metric, departures = read_flights()
    west = metric.coordinates[:, 0] < np.median(metric.coordinates[:, 0])
    shares = departures * np.where(west, 2.0, 1.0)
    counts = np.random.default_rng(SEED).multinomial(PEOPLE, shares / shares.sum())
    return metric, Locations(metric, counts)


def read_flights() -> tuple[Metric, np.ndarray]:
    """Read the 48 states and their neighbours: airports east of 130 W, and departures from each."""
    with (ROOT / "datasets" / "us_airports_2008.csv").open(encoding="utf-8") as file:
        positions = {
            row["airport"]: np.radians([float(row["longitude"]), float(row["latitude"])])
            for row in csv.DictReader(file)
        }
    flights = gc.datasets.load("us_flights_2008")
    labels = [
        v for v in flights.labels if np.radians(-130) < positions[v][0] and positions[v][1] > 0.42
    ]
    row_of = {label: row for row, label in enumerate(labels)}
    departures = np.zeros(len(labels))
    ends = []
    for first, second, weight in zip(flights.rows, flights.columns, flights.weights, strict=True):
        pair = [row_of.get(flights.labels[end]) for end in (first, second)]
        if None not in pair:
            ends.append(pair)
            departures[pair] += weight
    sphere = np.array([positions[label] for label in labels])
    first, second = np.array(ends).T
    lengths = great_circles(sphere[first], sphere[second])
    points = read_coordinates(ROOT / "datasets" / "us_airports_2008.csv", gc.VertexSet(labels))
    return Metric(first, second, lengths, vertices=labels, coordinates=points), departures


def great_circles(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return lengths in km between points of longitude and latitude, in radians."""
    half = np.sin((second - first) / 2) ** 2
    chord = half[:, 1] + np.cos(first[:, 1]) * np.cos(second[:, 1]) * half[:, 0]
    return 2 * EARTH * np.arcsin(np.sqrt(chord))


def main() -> None:
    warnings.simplefilter("error")
    OUTPUT.mkdir(exist_ok=True)
    metric, people = made_people()
    out.print(f"1. Public map, private people: {people}")
    answers = answer_distances(metric, people, epsilon=EPSILON)
    out.print(f"2. {answers.guarantee}", markup=False)
    out.print(str(answers.plan), markup=False)
    out.print(f"3. Where to meet (km of flights): {answers.best}", markup=False)
    out.print(f"   may be the best: {', '.join(map(str, answers.candidates))}", markup=False)

    truth = all_distances(people)
    error = float(np.abs(answers.values - truth).max())
    best = metric.vertices.labels[int(np.argmin(truth))]
    out.print(f"4. How wrong is it? This reads the people again (not private): at most {error:.1f}")
    out.print(f"   km for any airport; the best one in truth is {best}", markup=False)
    figure = OUTPUT / "distance_map.png"
    answers.plot(unit="km").savefig(figure)
    for file in (*answers.save(OUTPUT / "distances.csv", force=True), figure):
        out.print(f"   wrote {Path(file).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
