"""An option of another type is refused in one line that quotes no data, before anything is done."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

import graphcuts_dp as gc

GRAPH = gc.Graph([0, 1], [1, 2], vertices=["a", "b", "c"])
PAIRS = [("a", "b"), ("b", "c")]
TABLE = pd.DataFrame(PAIRS, columns=["source", "target"])
GROUPS = gc.Groups.of({"a": "x", "b": "y", "c": "y"})
ARRAYS = {
    "an array": np.array([1, 2]),
    "an array of text": np.array(["edge", "row"]),
    "a square array": np.zeros((2, 2)),
}
OTHERS = {
    "a number": 1.5,
    "a list": [1],
    "a list of text": ["edge"],
    "a dict": {},
    "bytes": b"edge",
    "a tuple": (1.5,),
    "an object": object(),
    "a class": int,
}
VALUES = ARRAYS | OTHERS | {"nothing": None}
# A call, and its options that are texts, truth values or objects.
CALLS = {
    "release_graph": (
        partial(gc.release_graph, GRAPH, epsilon=1.0),
        ("mechanism", "privacy_unit", "noise", "fit", "store"),
    ),
    "release_flows": (
        partial(gc.release_flows, GRAPH, groups=GROUPS, epsilon=1.0),
        ("privacy_unit", "workload"),
    ),
    "release_iteratively": (
        partial(gc.release_iteratively, GRAPH, epsilon=1.0, delta=1e-6),
        ("privacy_unit",),
    ),
    "open_session": (partial(gc.open_session, GRAPH, epsilon=1.0, queries=3), ("privacy_unit",)),
    "plan": (partial(gc.plan, n=5, epsilon=1.0), ("n", "directed", "privacy_unit")),
    "cut_norm": (partial(gc.cut_norm, np.eye(3)), ("norm", "method", "start")),
    "Graph.of": (
        partial(gc.Graph.of, PAIRS),
        ("columns", "vertices", "weighted", "max_weight", "max_weight_change", "merge"),
    ),
    "Rows.of": (
        partial(gc.Rows.of, TABLE, columns=gc.Columns(), vertices=["a", "b", "c"], kind="directed"),
        ("columns", "vertices", "kind", "counting"),
    ),
    "read_graph": (partial(gc.read_graph), ("path",)),
    "load": (gc.load, ("path",)),
    "cut_errors": (partial(gc.cut_errors, GRAPH), ("release",)),
    "VertexSet": (gc.VertexSet, ("labels",)),
    "Groups.of": (
        partial(gc.Groups.of, {"a": "x", "b": "y", "c": "y"}),
        ("columns", "order", "unknown"),
    ),
}
# Values that these options take. `vertices` and `labels` are any labels, and a tuple of two
# numbers is a size.
TAKEN = {
    ("vertices", "an array of text"),
    ("labels", "an array of text"),
    ("labels", "an array"),
    ("labels", "a list"),
    ("labels", "a list of text"),
    ("labels", "bytes"),
    ("order", "a dict"),
    ("max_weight", "a number"),
    *((name, "nothing") for name in ("noise", "fit", "store", "start", "columns", "vertices")),
    *((name, "nothing") for name in ("weighted", "max_weight", "max_weight_change", "merge")),
    *((name, "nothing") for name in ("order", "workload")),
}
TAKEN_BY = {
    ("open_session", "privacy_unit", "nothing"),
    ("Groups.of", "columns", "a list"),
    ("Groups.of", "columns", "a list of text"),
}


@pytest.mark.thorough(cases=116)
@pytest.mark.filterwarnings("ignore::graphcuts_dp.AccuracyWarning")
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    ("call", "option"), [(call, option) for call, (_, names) in CALLS.items() for option in names]
)
def test_an_option_of_another_type_is_refused_in_one_line(
    call, option, value, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    if (option, value) in TAKEN or (call, option, value) in TAKEN_BY:
        return
    function, _ = CALLS[call]
    with pytest.raises(gc.GraphCutsError) as caught:
        function(**{option: VALUES[value]})
    assert "\n" not in str(caught.value)
    assert not re.search(r"\bambiguous\b|NoneType' object|has no attribute", str(caught.value))


def test_the_refusal_of_an_option_quotes_no_data():
    private = np.array(["XsecretX", "b"])
    for name in ("columns", "weighted", "merge", "max_weight_change", "max_weight"):
        with pytest.raises(gc.ParameterError, match=name) as caught:
            gc.Graph.of(PAIRS, **{name: private})
        assert "secret" not in str(caught.value)
