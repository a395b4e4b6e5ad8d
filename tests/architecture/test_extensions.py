"""Objects of one's own, as the docstrings of the protocols have them."""

import inspect
import math
import textwrap
from dataclasses import dataclass, replace

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


def released(graph, **options):
    delta = options.pop("delta", 1e-6)
    made = gc.Learning(rounds=3, **options)
    return gc.release_iteratively(graph, epsilon=3.0, delta=delta, construction=made, seed=1)


def docstring_example(protocol):
    """What a protocol's docstring has as an example."""
    lines = inspect.getdoc(protocol).split("::\n", 1)[1].splitlines()
    code = [line for line in lines if not line or line.startswith("    ")]
    return textwrap.dedent("\n".join(code)).strip()


def example(protocol, **names):
    """The names of that example, once it has run."""
    exec(docstring_example(protocol), names)  # noqa: S102  # our own documentation
    return names


def test_a_distinguisher_of_your_own():
    names = {
        "dataclass": dataclass,
        "math": math,
        "ProposedQuery": ProposedQuery,
        "Universe": Universe,
    }
    in_turn = example(Distinguisher, CutQuery=gc.CutQuery, **names)["InTurn"]
    graph = small_graph()
    made = released(graph, distinguisher=in_turn(Universe.of(graph), CUTS), delta=0.0)
    assert made.settings.distinguisher == "in-turn"
    assert [each.query for each in made.transcript] == CUTS
    with pytest.raises(ParameterError, match="other vertices"):
        released(graph, distinguisher=in_turn(Universe(3), CUTS))
    with pytest.raises(ParameterError, match="an object as `Distinguisher`"):
        released(graph, distinguisher=7)


def test_a_construction_of_your_own():
    names = {"dataclass": dataclass, "Universe": Universe}
    half_steps = example(Learner, CutSum=CutSum, FriezeKannanRule=FriezeKannanRule, **names)[
        "HalfSteps"
    ]
    graph = small_graph()
    made = released(graph, rule=half_steps(Universe.of(graph)))
    assert made.settings.construction == "half-steps"
    with pytest.raises(ParameterError, match="other vertices"):
        released(graph, rule=half_steps(Universe(3)))
    with pytest.raises(ParameterError, match="an object as `Learner`"):
        released(graph, rule=7)


def test_a_fit_of_your_own():
    clipped = FitMethod(example(FitMethod, Fit=Fit, silent=silent)["clipped"])
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


def test_a_query_class_of_your_own():
    """It works wherever linear queries do: a-b and c-d join two groups, b-c is within one."""
    graph = small_graph()
    universe = Universe.of(graph)
    query = example(gc.Query, gc=gc, np=np)["EdgesBetweenGroups"]([["a"], ["b", "c"], ["d"]])
    cuts = [
        gc.CutQuery(["a"], ["b", "c"]),
        gc.CutQuery(["b", "c"], ["d"]),
        gc.CutQuery(["a"], ["d"]),
    ]
    first, *parts = gc.answer_all([query, *cuts], graph)
    assert query.value(graph) == first == sum(parts) == 2
    assert (query.sensitivity(graph), universe.norm_squared(query)) == (1.0, 5.0)
    assert DenseHypothesis(universe, graph.dense()).estimate(query) == 2
