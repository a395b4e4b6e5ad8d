"""The table of flows as a Parquet file."""

import importlib.util

import pandas as pd
import pytest
from statistic_cases import planted

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.release.flow_release import release_flows
from graphcuts_dp.results.flow_reading import write_parquet

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
    frame = pd.DataFrame({"level": ["a", "b"], "from": [1, "x"], "to": [1, 2], "value": [0.5, 1.5]})
    write_parquet(tmp_path / "a.parquet", frame, seeded=False, force=False)
    back = pd.read_parquet(tmp_path / "a.parquet")
    assert back["from"].tolist() == ["1", "x"]
    assert back["to"].tolist() == [1, 2]


def test_without_pyarrow_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    graph, _, groups, _ = planted()
    flows = release_flows(graph, groups, epsilon=1.0, seed=0)
    with pytest.raises(FileFormatError, match="pip install pyarrow"):
        flows.write_parquet(tmp_path / "flows.parquet")
    assert not list(tmp_path.iterdir())
