"""Everything that the package saves: an older one, a newer one, and how to save them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from offline_calls import answer_at_once, choose_from_net, learn

import graphcuts_dp as gc
from graphcuts_dp.distances import answer_distances
from scripts.figures.style import save_figure

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
        rounds=2,
        seed=which,
    )


@cache
def chosen(which: int) -> gc.IterativeRelease:
    return choose_from_net(
        gc.Graph([0, 1], [1, which + 2], vertices=4), [gc.CutQuery([0])], epsilon=5.0, seed=which
    )


@cache
def asked_at_once(which: int) -> gc.IterativeRelease:
    cuts = [gc.CutQuery([0]), gc.CutQuery([0, which + 1])]
    return answer_at_once(sample(which), cuts, epsilon=5.0, seed=which)


@cache
def answered(which: int):
    return answer_distances(nx.path_graph(6), [0, 1, which + 2] * 20, epsilon=1.0, seed=which)


@cache
def tabled(which: int) -> gc.Flows:
    graph = sample(which)
    groups = gc.Groups(graph.vertices, {"half": [0, 0, 0, 1, 1, 1]})
    return gc.release_flows(graph, groups, epsilon=5.0, seed=which)


@cache
def _drawing(which: int) -> Figure:
    figure = Figure(figsize=(1, 1))
    figure.add_artist(Line2D([0, 1], [0, which]))
    return figure


def _save_release(folder: Path, which: int, *, force: bool) -> None:
    released(which, "spectral").save(folder / "g.edges.gz", force=force)


def _save_without_graph(folder: Path, which: int, *, force: bool) -> None:
    released(which, ("spectral", "none")[which]).save(folder / "g.edges.gz", force=force)


def _save_sparse(folder: Path, which: int, *, force: bool) -> None:
    sparse = gc.release_graph(sample(which), epsilon=5.0, mechanism="sparse", seed=which)
    sparse.save(folder / "g.edges.gz", force=force)


def _save_learnt(folder: Path, which: int, *, force: bool) -> None:
    learnt(which).save(folder / "g.graphml", force=force)


def _save_net(folder: Path, which: int, *, force: bool) -> None:
    chosen(which).save(folder / "g.graphml", force=force)


def _save_few_answers(folder: Path, which: int, *, force: bool) -> None:
    asked_at_once(which).save(folder / "a.npz", force=force)


def _save_distances(folder: Path, which: int, *, force: bool) -> None:
    answered(which).save(folder / "d.csv", force=force)


def _save_flows(folder: Path, which: int, *, force: bool) -> None:
    tabled(which).save(folder / "t.csv", force=force)


def _save_graph(folder: Path, which: int, *, force: bool) -> None:
    sample(which).write(folder / "g.npz", force=force)


def _save_figure(folder: Path, which: int, *, force: bool) -> None:  # noqa: ARG001  # replaces
    columns, rows = ("x", "y"), [(which, 1)]
    save_figure(
        _drawing(which), folder / "f", columns=columns, rows=rows, parameters={"seed": which}
    )


CASES = {
    case.name: case
    for case in (
        Case("release", _save_release, "g.edges.gz.json"),
        Case("release without graph", _save_without_graph, "g.edges.gz.json"),
        Case("sparse release", _save_sparse, "g.edges.gz.json"),
        Case("iterative release", _save_learnt, "g.graphml.json"),
        Case("net release", _save_net, "g.graphml.json"),
        Case("few answers", _save_few_answers, "a.npz.json"),
        Case("distances", _save_distances, "d.csv.json"),
        Case("flows", _save_flows, "t.csv.json"),
        Case("graph", _save_graph, "g.npz"),
        Case("figure", _save_figure, "f.json"),
    )
}
