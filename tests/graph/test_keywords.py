"""A keyword that is misspelt is refused: a lost cap or vertex set would be lost in silence."""

import inspect

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import graphcuts_dp as gc
from tests.audits.public_names import public_names

# `cut_distance` hands its keywords on to the function of a norm; a protocol is not called.
FUNCTIONS = [
    value
    for name, value in public_names().items()
    if inspect.isfunction(value) or inspect.isclass(value)
    if name not in ("cut_distance", "LinearQuery")
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_public_function_takes_any_keyword(function):
    parameters = inspect.signature(function).parameters.values()
    assert not [p for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD]


@pytest.mark.parametrize(
    "wrong", [{"weight_capp": 3.0}, {"vertex": ["a", "b"]}, {"Weighted": True}]
)
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("from_edges", [("a", "b", 7.0)]),
        ("from_networkx", nx.Graph([("a", "b", {"weight": 7.0})])),
        ("from_scipy", np.array([[0.0, 7.0], [7.0, 0.0]])),
        ("from_pandas", pd.DataFrame({"source": ["a"], "target": ["b"], "weight": [7.0]})),
        ("from_igraph", None),
        ("from_arrow", None),
        ("read_graph", "mail.csv"),
    ],
)
def test_misspelt_keywords_are_refused(name, given, wrong):
    with pytest.raises(TypeError, match=next(iter(wrong))):
        getattr(gc, name)(given, **wrong)


def test_keywords_that_are_handed_on_are_refused_there():
    graph = gc.Graph([0], [1], vertices=3)
    with pytest.raises(TypeError, match="methud"):
        gc.cut_distance(graph, graph, methud="exact")
    for norm in ("infinity-to-one", "normalised"):
        with pytest.raises(TypeError, match="methud"):
            gc.cut_distance(graph, graph, norm=norm, methud="exact")
