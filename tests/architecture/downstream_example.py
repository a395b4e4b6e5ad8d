"""A program of somebody else, as strict type checkers see it; `make check` has mypy check it.

It is only checked, never run. Where it takes a graph for a release, mypy has to complain.
"""

from pathlib import Path
from typing import TYPE_CHECKING, assert_type

import graphcuts_dp as gc

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def synthetic(source: Path, target: Path) -> list[tuple[float, float]]:
    """A release, its answers and its tables."""
    graph = gc.read_graph(source, vertices=100)
    assert_type(graph, gc.Graph)
    release = gc.release_graph(graph, epsilon=1.0)
    assert_type(release, gc.Release)
    release.save(target)
    answer = release.answer([1, 2], [3])
    assert_type(answer, gc.CutAnswer)
    assert_type(answer.value, float)
    answers = release.answer_all([gc.CutQuery([1]), gc.CutQuery([2], [3])])
    frame: pd.DataFrame = answers.to_frame()
    figure: Figure = release.plot()
    figure.savefig(f"{frame.shape}.png")
    return [each.interval for each in answers]


def kinds(source: str, *, arrows: bool) -> int:
    """What is read is of the class that was asked for."""
    assert_type(gc.BipartiteGraph.read(source), gc.BipartiteGraph)
    assert_type(gc.DirectedGraph.read(source, weighted=False), gc.DirectedGraph)
    plain = gc.read_graph(source, max_weight=3.0, merge="sum")
    assert_type(plain, gc.Graph)
    assert_type(plain, gc.Release)  # type: ignore[assert-type]  # else the line above shows nothing
    either = gc.DirectedGraph.read(source) if arrows else gc.BipartiteGraph.of([(1, 2)])
    assert_type(gc.datasets.load("karate"), gc.Graph | gc.BipartiteGraph | gc.DirectedGraph)
    return plain.n + either.shape[0]


def sessions(graph: gc.Graph, store: Path) -> dict[str, float]:
    """A session, its history and a plan."""
    plan = gc.plan(100, edges=500, queries=50, epsilon=1.0, delta=1e-6)
    assert_type(plan.best_method, str)
    with gc.open_session(graph, store=store, epsilon=1.0, queries=50) as session:
        assert_type(session, gc.Session)
        answer = session.ask([1], [2, 3])
        assert_type(answer, gc.Answer)
        assert_type(session.guarantee, gc.PrivacyGuarantee)
        told = session.history.to_frame()
        return {"value": answer.value, "answers": float(len(told))}


def tables(graph: gc.DirectedGraph, file: str) -> float:
    """Flows between groups."""
    groups = gc.Groups.read(file, graph)
    assert_type(groups, gc.Groups)
    flows = gc.release_flows(graph, groups, epsilon=1.0)
    assert_type(flows, gc.Flows)
    between = flows.between("Sales", "IT")
    assert_type(between, gc.FlowAnswer)
    return between.value
