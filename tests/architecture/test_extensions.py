"""Plug-ins as in the docstrings of their protocols: they work, and unsuitable ones are refused."""

import inspect
import math
import textwrap
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.estimate.worst_cut_errors import noise_cut_bound
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.plugins import (
    CutSum,
    Distinguisher,
    Fit,
    FitMethod,
    FriezeKannanRule,
    Learner,
    ProposedQuery,
    Universe,
)
from graphcuts_dp.resources import silent

CUTS = [gc.CutQuery(["a", "b"]), gc.CutQuery(["a"], ["c", "d"]), gc.CutQuery(["e"], ["a"])]


def small_graph():
    return gc.Graph([0, 1, 2, 0], [1, 2, 3, 4], vertices=list("abcdefgh"))


def release_with(graph: gc.Graph, *, delta: float = 1e-6, **parts: Any) -> gc.IterativeRelease:
    """Return an iterative release in three rounds, with these parts of `gc.Learning`."""
    learning = gc.Learning(rounds=3, **parts)
    return gc.release_iteratively(graph, epsilon=3.0, delta=delta, construction=learning, seed=1)


def docstring_example(protocol: type) -> str:
    """Return the code of the example in the docstring of a protocol."""
    lines = inspect.getdoc(protocol).split("::\n", 1)[1].splitlines()
    code = [line for line in lines if not line or line.startswith("    ")]
    return textwrap.dedent("\n".join(code)).strip()


def run_example(protocol: type, **names: Any) -> dict[str, Any]:
    """Run the example of a protocol; return its variables, with the names it was run with."""
    exec(docstring_example(protocol), names)  # noqa: S102  # our own documentation
    return names


def test_the_example_of_a_distinguisher_is_used_and_one_for_other_vertices_refused():
    names = {
        "dataclass": dataclass,
        "math": math,
        "ProposedQuery": ProposedQuery,
        "Universe": Universe,
    }
    in_turn = run_example(Distinguisher, CutQuery=gc.CutQuery, **names)["InTurn"]
    graph = small_graph()
    release = release_with(graph, distinguisher=in_turn(Universe.of(graph), CUTS), delta=0.0)
    assert release.settings.distinguisher == "in-turn"
    assert [entry.query for entry in release.transcript] == CUTS
    with pytest.raises(ParameterError, match="other vertices"):
        release_with(graph, distinguisher=in_turn(Universe(3), CUTS))
    with pytest.raises(ParameterError, match="an object as `Distinguisher`"):
        release_with(graph, distinguisher=7)


def test_the_example_of_a_learner_is_used_and_one_for_other_vertices_refused():
    names = {"dataclass": dataclass, "Universe": Universe}
    half_steps = run_example(Learner, CutSum=CutSum, FriezeKannanRule=FriezeKannanRule, **names)[
        "HalfSteps"
    ]
    graph = small_graph()
    release = release_with(graph, rule=half_steps(Universe.of(graph)))
    assert release.settings.construction == "half-steps"
    with pytest.raises(ParameterError, match="other vertices"):
        release_with(graph, rule=half_steps(Universe(3)))
    with pytest.raises(ParameterError, match="an object as `Learner`"):
        release_with(graph, rule=7)


def test_the_example_of_a_fit_is_used_and_unsuitable_options_are_refused():
    clipped = FitMethod(run_example(FitMethod, Fit=Fit, silent=silent)["clipped"])
    release = gc.release_graph(small_graph(), epsilon=3.0, fit=clipped, seed=1)
    assert release.fit.method == "clipped"
    assert release.certificate.upper <= noise_cut_bound(
        release.noisy.distribution, (8, 8), symmetric=True
    )
    with pytest.raises(ParameterError, match="an oracle can be chosen"):
        gc.release_graph(small_graph(), epsilon=3.0, fit=gc.FitOptions(clipped, oracle="spectral"))
    with pytest.raises(ParameterError, match="an object as `FitMethod`"):
        gc.release_graph(small_graph(), epsilon=3.0, fit=7)
    uncapped = gc.Graph([0], [1], [2.0], vertices=3, max_weight_change=1)
    capped = replace(clipped, needs_cap=True)
    with pytest.raises(ParameterError, match="needs a public largest weight"):
        gc.release_graph(uncapped, epsilon=3.0, noise="laplace", fit=capped)


def test_the_example_of_a_query_is_answered_like_the_cuts_it_adds_up():
    """Edges a-b and c-d join two groups, b-c is within one."""
    graph = small_graph()
    universe = Universe.of(graph)
    query = run_example(gc.Query, gc=gc, np=np)["EdgesBetweenGroups"]([["a"], ["b", "c"], ["d"]])
    cuts = [
        gc.CutQuery(["a"], ["b", "c"]),
        gc.CutQuery(["b", "c"], ["d"]),
        gc.CutQuery(["a"], ["d"]),
    ]
    first, *parts = gc.answer_all([query, *cuts], graph)
    assert query.value(graph) == first == sum(parts) == 2
    assert (query.sensitivity(graph), universe.norm_squared(query)) == (1.0, 5.0)
    assert DenseHypothesis(universe, graph.dense()).estimate(query) == 2
