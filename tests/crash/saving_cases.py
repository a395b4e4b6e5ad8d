"""What the package saves: an older one, a newer one, and how to save them."""

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
    """One thing that can be saved.

    Attributes:
        name: of the case.
        save: saves the older (0) or the newer (1) one into a folder; `force` replaces.
        vouching: the file that vouches for the others, which is in its place only if all are.
    """

    name: str
    save: Callable[..., object]
    vouching: str


def sample(which: int) -> gc.Graph:
    return gc.Graph([0, 1, 2, which], [1, 2, 3, 5], vertices=6)


@cache
def released(which: int, fit: str) -> gc.Release:
    return gc.release_graph(sample(which), epsilon=5.0, fit=fit, seed=which)


@cache
def learnt(which: int) -> gc.IterativeRelease:
    return learn(
        sample(which),
        epsilon=5.0,
        delta=1e-6,
        seed=which,
        construction="multiplicative-weights:rounds=2",
    )


@cache
def chosen(which: int) -> gc.IterativeRelease:
    return learn(
        gc.Graph([0, 1], [1, which + 2], vertices=4),
        [gc.CutQuery([0])],
        epsilon=5.0,
        seed=which,
        construction="net",
    )


@cache
def asked_at_once(which: int) -> gc.IterativeRelease:
    cuts = [gc.CutQuery([0]), gc.CutQuery([0, which + 1])]
    return learn(sample(which), cuts, epsilon=5.0, seed=which, construction="answers")


@cache
def answered(which: int):
    return answer_distances(nx.path_graph(6), [0, 1, which + 2] * 20, epsilon=1.0, seed=which)


@cache
def tabled(which: int) -> gc.Flows:
    graph = sample(which)
    groups = gc.Groups(graph.vertices, {"half": [0, 0, 0, 1, 1, 1]})
    return gc.release_flows(graph, groups, epsilon=5.0, seed=which)


@cache
def parted(which: int) -> gc.Partition:
    return gc.least_cut(sample(which), 0, 5, epsilon=5.0, seed=which)


@cache
def _drawing(which: int) -> Figure:
    figure = Figure(figsize=(1, 1))
    figure.add_artist(Line2D([0, 1], [0, which]))
    return figure


def _save_graph(folder: Path, which: int, *, force: bool) -> None:
    sample(which).write(folder / "g.npz", force=force)


def _save_figure(folder: Path, which: int, *, force: bool) -> None:  # noqa: ARG001  # replaces
    columns, rows = ("x", "y"), [(which, 1)]
    save_figure(
        _drawing(which), folder / "f", columns=columns, rows=rows, parameters={"seed": which}
    )


def _save_release(folder: Path, which: int, *, force: bool) -> None:
    released(which, "spectral").save(folder / "g.edges.gz", force=force)


def _save_fewer(folder: Path, which: int, *, force: bool) -> None:
    released(which, ("spectral", "none")[which]).save(folder / "g.edges.gz", force=force)


# All results are saved by one function, with a graph or without one; commands save the others.
CASES = {
    case.name: case
    for case in (
        Case("release", _save_release, "g.edges.gz.json"),
        Case("release without graph", _save_fewer, "g.edges.gz.json"),
        Case("graph", _save_graph, "g.npz"),
        Case("figure", _save_figure, "f.json"),
    )
}
