"""Measure errors under each privacy unit at epsilon = 1, bias and noise.

Run `python -m scripts.bench.bench_people [--quick]`. Graphs: the bundled flights (airports with
a direct connection; groups are census regions), and, if they are in ../shared/data, ego-Facebook
and the Enron e-mails (20 groups of equal size, by numbers of the vertices).

- one half: a cut between random halves, asked alone with all of epsilon.
- cells: all cells between groups at once (`release_flows`), root mean squares.
- one degree: the cut between a vertex and all others, asked alone; mean over all vertices.
- all degrees: every degree at once (noisy degrees of a release), mean over all vertices. Blank for
  the privacy unit of a vertex, since each of its edges counts in the degree of another vertex, too.

bias: what the bound leaves out, measured on the true graph (NOT PRIVATE). noise: the mean absolute
value of the noise by its distribution; of cells the standard deviation. measured: the mean error of
a few releases, to compare with both. The user of an edge is the first endpoint of its row, like the
sender of a message.
"""

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import graphcuts_dp as gc
from graphcuts_dp.graph.grid import Grid, bounded_cut
from graphcuts_dp.measure.cells import bounded_cells
from graphcuts_dp.session.session import session_of
from scripts.bench.harness import Table, run

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

SETTINGS = (
    ("edge", gc.PrivacyUnit.edge()),
    ("10 edges", gc.PrivacyUnit.edge(10)),
    ("user, D = 10", gc.PrivacyUnit.user(max_contributions=10)),
    ("user, D = 50", gc.PrivacyUnit.user(max_contributions=50)),
    ("vertex, D = 20", gc.PrivacyUnit.vertex(max_degree=20)),
    ("vertex, D = 50", gc.PrivacyUnit.vertex(max_degree=50)),
    ("vertex, D = 100", gc.PrivacyUnit.vertex(max_degree=100)),
)


def graphs(quick: bool) -> Iterator[tuple[str, gc.Graph, gc.Groups]]:
    """Yield the name of a graph, the graph without weights, and public groups."""
    flights = gc.datasets.load("us_flights_2008")
    plain = gc.Graph(flights.rows, flights.columns, vertices=flights.vertices)
    regions = gc.datasets.load_groups("us_flights_2008").codes("region")
    yield "flights", plain, gc.Groups(plain.vertices, {"region": regions.tolist()})
    for name in () if quick else ("ego_facebook", "email_enron"):
        path = SHARED / f"{name}.edges.gz"
        if path.exists():
            graph = gc.read_graph(path, public_vertices_from_file=True)
            codes = np.arange(graph.n) * 20 // graph.n
            yield name, graph, gc.Groups(graph.vertices, {"part": codes.tolist()})


def with_users(graph: gc.Graph) -> gc.Rows:
    """Return the same edges, each with the vertex that comes first as its user."""
    labels = np.array(graph.labels)
    frame = pd.DataFrame({"source": labels[graph.rows], "target": labels[graph.columns]})
    return gc.Rows.of(frame, columns=gc.Columns(user="source"), vertices=graph.vertices)


def bounded_value(
    graph: gc.Graph, privacy_unit: gc.PrivacyUnit, S: np.ndarray, T: np.ndarray
) -> float:
    """Return the value of a cut as it is counted before noise."""
    if privacy_unit.max_degree is not None:
        return bounded_cut(graph, S, T, bound=privacy_unit.max_degree)
    return gc.CutQuery(S, T).value(bounded_graph(graph, privacy_unit))


def bounded_graph(graph: gc.Graph, privacy_unit: gc.PrivacyUnit) -> gc.Graph:
    """Return the graph without the edges that the bound on users leaves out."""
    if privacy_unit.kind == "user":
        return with_users(graph).bounded(privacy_unit)
    return graph


def sensitivity_of(privacy_unit: gc.PrivacyUnit) -> int:
    """Return by how much one cut differs between neighbours at most."""
    return privacy_unit.max_degree or privacy_unit.group_size


def mean_noise(sensitivity: int) -> float:
    """Return the mean absolute value of discrete Laplace noise for epsilon = 1."""
    return 1 / math.sinh(1 / sensitivity)


def errors_of_halves(
    graph: gc.Graph, privacy_unit: gc.PrivacyUnit, count: int
) -> tuple[float, float, float]:
    """Return bias, noise and measured error of a cut between random halves, a session each."""
    rng, bias, errors = np.random.default_rng(5), [], []
    data = with_users(graph) if privacy_unit.kind == "user" else graph
    for seed in range(count):
        S = rng.random(graph.n) < 0.5
        true_value = gc.CutQuery(S, ~S).value(graph)
        bias.append(true_value - bounded_value(graph, privacy_unit, S, ~S))
        with tempfile.TemporaryDirectory() as folder:
            terms = {"epsilon": 1.0, "queries": 1, "method": "laplace", "seed": seed}
            with session_of(
                data, store=Path(folder) / "s.db", **terms, privacy_unit=privacy_unit
            ) as session:
                errors.append(abs(session.ask(S, ~S).value - true_value))
    return float(np.mean(bias)), mean_noise(sensitivity_of(privacy_unit)), float(np.mean(errors))


def degrees(graph: gc.Graph, privacy_unit: gc.PrivacyUnit) -> tuple[float, float]:
    """Return bias and noise of one degree."""
    true, counted = (
        np.bincount(np.concatenate([kept_graph.rows, kept_graph.columns]), minlength=graph.n)
        for kept_graph in (graph, bounded_graph(graph, privacy_unit))
    )
    counted = np.minimum(counted, privacy_unit.max_degree or graph.n)
    return float(np.mean(true - counted)), mean_noise(sensitivity_of(privacy_unit))


def table_of(graph: gc.Graph, codes: np.ndarray, width: int) -> np.ndarray:
    """Count edges between groups, by numbers of their codes, the smaller first."""
    first, second = codes[graph.rows], codes[graph.columns]
    numbers = np.minimum(first, second) * width + np.maximum(first, second)
    return np.bincount(numbers, minlength=width**2)


def cells(
    graph: gc.Graph, groups: gc.Groups, privacy_unit: gc.PrivacyUnit, draws: int
) -> tuple[float, ...]:
    """Return root mean squares over all cells: bias, noise, measured."""
    data = with_users(graph) if privacy_unit.kind == "user" else graph
    errors = []
    for seed in range(draws):
        flows = gc.release_flows(data, groups, epsilon=1.0, seed=seed, privacy_unit=privacy_unit)
        a, b = flows.cells.cells(1)
        width = len(flows.groups.labels(flows.levels[0]))
        true = table_of(graph, groups.codes(), width)[a * width + b]
        errors.append(flows.values()[a, b] - true)
    if privacy_unit.max_degree is not None:
        grid = Grid.of_vertices(graph, privacy_unit.max_degree)
        counted = bounded_cells(graph, (groups, groups), flows.cells, grid) * grid.unit
    else:
        counted = table_of(bounded_graph(graph, privacy_unit), groups.codes(), width)[a * width + b]
    return tuple(
        float(np.sqrt(np.mean(np.square(deviation))))
        for deviation in (true - counted, flows.deviations()[a, b], errors)
    )


def main(quick: bool) -> None:
    """Print one table for each graph."""
    for name, graph, groups in graphs(quick):
        edges = len(graph.rows)
        print(f"\n{name}: n = {graph.n:,}, m = {edges:,} (not private)")
        columns = "half:_bias noise measured cells:_bias noise measured one_degree:_bias noise"
        specification = " ".join(f"{column}:>18,.0f" for column in columns.split())
        table = Table(f"privacy_unit:<16 {specification} all_degrees:_noise:>20,.0f")
        for label, privacy_unit in SETTINGS:
            half_errors = errors_of_halves(graph, privacy_unit, 3 if quick else 10)
            errors = (*half_errors, *cells(graph, groups, privacy_unit, 2 if quick else 5))
            all_degrees_noise = (
                None if privacy_unit.max_degree else mean_noise(2 * privacy_unit.group_size)
            )
            table.row(label, *errors, *degrees(graph, privacy_unit), all_degrees_noise)


if __name__ == "__main__":
    run(main, __doc__)
