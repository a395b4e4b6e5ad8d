"""Results of the package in an older and a newer version, and how to save each."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import graphcuts_dp as gc
from graphcuts_dp.distances import answer_distances
from scripts.figures.style import save_figure

learn = gc.release_iteratively

OLDER, NEWER = 0, 1


@dataclass(frozen=True)
class Case:
    """A result that can be saved.

    Attributes:
        name: of the case.
        save: saves the older (0) or the newer (1) version into a folder; `force` replaces.
        receipt: name of the file that is in the folder only if all others are.
    """

    name: str
    save: Callable[..., object]
    receipt: str


def sample_graph(version: int) -> gc.Graph:
    return gc.Graph([0, 1, 2, version], [1, 2, 3, 5], vertices=6)


@cache
def release(version: int, fit: str) -> gc.Release:
    return gc.release_graph(sample_graph(version), epsilon=5.0, fit=fit, seed=version)


@cache
def iterative_release(version: int) -> gc.IterativeRelease:
    return learn(
        sample_graph(version),
        epsilon=5.0,
        delta=1e-6,
        seed=version,
        construction="multiplicative-weights:rounds=2",
    )


@cache
def net_release(version: int) -> gc.IterativeRelease:
    return learn(
        gc.Graph([0, 1], [1, version + 2], vertices=4),
        [gc.CutQuery([0])],
        epsilon=5.0,
        seed=version,
        construction="net",
    )


@cache
def answers_release(version: int) -> gc.IterativeRelease:
    cuts = [gc.CutQuery([0]), gc.CutQuery([0, version + 1])]
    return learn(sample_graph(version), cuts, epsilon=5.0, seed=version, construction="answers")


@cache
def distance_answers(version: int):
    return answer_distances(nx.path_graph(6), [0, 1, version + 2] * 20, epsilon=1.0, seed=version)


@cache
def flow_table(version: int) -> gc.Flows:
    graph = sample_graph(version)
    groups = gc.Groups(graph.vertices, {"half": [0, 0, 0, 1, 1, 1]})
    return gc.release_flows(graph, groups, epsilon=5.0, seed=version)


@cache
def partition(version: int) -> gc.Partition:
    return gc.least_cut(sample_graph(version), 0, 5, epsilon=5.0, seed=version)


@cache
def _drawing(version: int) -> Figure:
    figure = Figure(figsize=(1, 1))
    figure.add_artist(Line2D([0, 1], [0, version]))
    return figure


def _save_graph(folder: Path, version: int, *, force: bool) -> None:
    sample_graph(version).write(folder / "g.npz", force=force)


def _save_figure(folder: Path, version: int, *, force: bool) -> None:  # noqa: ARG001  # replaces
    columns, rows = ("x", "y"), [(version, 1)]
    save_figure(
        _drawing(version), folder / "f", columns=columns, rows=rows, parameters={"seed": version}
    )


def _save_release(folder: Path, version: int, *, force: bool) -> None:
    release(version, "spectral").save(folder / "g.edges.gz", force=force)


def _save_without_graph(folder: Path, version: int, *, force: bool) -> None:
    release(version, ("spectral", "none")[version]).save(folder / "g.edges.gz", force=force)


# All results are saved by one function, with a graph or without one; commands save the others.
CASES = {
    case.name: case
    for case in (
        Case("release", _save_release, "g.edges.gz.json"),
        Case("release without graph", _save_without_graph, "g.edges.gz.json"),
        Case("graph", _save_graph, "g.npz"),
        Case("figure", _save_figure, "f.json"),
    )
}
