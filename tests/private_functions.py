"""Every public function, by what it reads: a test fails for one that is not listed here.

`CONVERTING` are those that read private data and convert them; each has a call on a small graph
without weights, whose result is plain numbers that follow from a seed and the graph.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.evaluation.cut_error import graph_cut_errors

SEED = 3
CUTS = [gc.CutQuery([0, 1]), gc.CutQuery([2])]


def _release(source: Any) -> Any:
    made = gc.release_graph(source, epsilon=2.0, fit="none", seed=SEED)
    return [made.answer([0]).value, made.answer([1, 2]).value]


def _flows(source: Any) -> Any:
    groups = gc.Groups.of({vertex: vertex % 2 for vertex in range(N)})
    return gc.release_flows(source, groups, epsilon=2.0, seed=SEED).values().tolist()


def _iterative(source: Any) -> Any:
    made = gc.release_iteratively(source, CUTS, epsilon=2.0, construction="answers", seed=SEED)
    return [made.answer(cut).value for cut in CUTS]


def _session(source: Any) -> Any:
    with gc.open_session(source, epsilon=2.0, queries=5, method="laplace", seed=SEED) as session:
        return [session.ask(cut).value for cut in CUTS]


def _cut_errors(source: Any) -> Any:
    made = gc.release_graph(graph(), epsilon=2.0, fit="none", seed=SEED)
    return repr(gc.cut_errors(source, made))


N = 12
EDGES = [(i, (i + step) % N) for i in range(N) for step in (1, 3)]


def graph() -> gc.Graph:
    """Return the graph that all calls are about: 12 vertices, each of which has an edge."""
    return gc.Graph.of(EDGES, vertices=N)


CONVERTING: dict[str, Callable[[Any], Any]] = {
    "release_graph": _release,
    "release_flows": _flows,
    "release_iteratively": _iterative,
    "open_session": _session,
    "least_cut": lambda source: gc.least_cut(source, 0, 6, epsilon=2.0, seed=SEED).value,
    "choose_degree_bound": lambda source: (
        gc.choose_degree_bound(source, epsilon=2.0, seed=SEED).max_degree
    ),
    "detect_structure": lambda source: gc.detect_structure(source, epsilon=2.0, seed=SEED).signal,
    "cut_errors": _cut_errors,
    "evaluation.graph_cut_errors": lambda source: repr(graph_cut_errors(source, graph())),
}
# Of these, the caller must say which columns name users, or where people are.
ROWS = {
    "update_flows": lambda rows, **options: gc.update_flows(
        rows, None, period="2026-01", store="none.db", **options
    ),
    "release_contributions": lambda rows, **options: gc.release_contributions(rows, **options),
    "choose_contribution_bound": lambda rows, **options: gc.choose_contribution_bound(
        rows, **options
    ),
}
LOCATIONS = {"distances.answer_distances", "distances.open_distance_session"}
# True answers, without noise: graphs of this package and matrices alone.
EXACT = {"answer_all", "compare", "cut_norm"}
READ_NO_DATA = {
    *("graph_job", "flows_job", "contributions_job", "cut_job"),  # the schema alone
    "session_parameters",
    "update_plan",
    "end_series",
    "connect",
    "plan",
    "planning.plan_contribution_bounds",
    "planning.plan_degree_bounds",
    "distances.plan_distances",
    "distances.read_map",
    "load",
    "resume",
    "store_status",
}
LISTED = {*CONVERTING, *ROWS, *LOCATIONS, *EXACT, *READ_NO_DATA}


def adjacency() -> Any:
    """Return the matrix of `graph`, of truth values."""
    matrix = np.zeros((N, N), dtype=bool)
    for i, j in EDGES:
        matrix[i, j] = matrix[j, i] = True
    return matrix
