"""The table of flows as a Parquet file."""

import importlib.util

import pandas as pd
import pytest
from statistic_cases import planted

import graphcuts_dp as gc
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.release.releases import release_flows

HERE = importlib.util.find_spec("pyarrow") is not None


@pytest.mark.skipif(not HERE, reason="pyarrow is an extra")
def test_the_table_comes_back(tmp_path):
    graph, _, groups, _ = planted()
    path = tmp_path / "flows.parquet"
    flows = release_flows(graph, groups, epsilon=1.0)
    flows.write_parquet(path, "part")
    pd.testing.assert_frame_equal(pd.read_parquet(path), flows.to_frame("part"), check_dtype=False)
    with pytest.raises(FileFormatError, match=r"already|there|exists"):
        flows.write_parquet(path)
    seeded = release_flows(graph, groups, epsilon=1.0, seed=0)
    seeded.write_parquet(path, force=True)
    assert set(pd.read_parquet(path)["mark"]) == {"seeded: not private"}


@pytest.mark.skipif(not HERE, reason="pyarrow is an extra")
def test_labels_of_two_kinds_become_strings(tmp_path):
    club = gc.datasets.load("karate")
    sides = gc.Groups(club.vertices, {"side": [1 if v < 9 else "x" for v in range(34)]})
    flows = gc.release_flows(club, sides, epsilon=1.0)
    flows.write_parquet(tmp_path / "a.parquet")
    back = pd.read_parquet(tmp_path / "a.parquet")
    assert set(back["from"]) <= {"1", "x"}
    assert set(flows.to_frame(kind="pandas")["from"]) == {1, "x"}


def test_without_pyarrow_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    graph, _, groups, _ = planted()
    flows = release_flows(graph, groups, epsilon=1.0, seed=0)
    with pytest.raises(FileFormatError, match="pip install pyarrow"):
        flows.write_parquet(tmp_path / "flows.parquet")
    assert not list(tmp_path.iterdir())
