"""A disk without room for the result is noticed before anything is spent."""

import shutil
from collections import namedtuple

import networkx as nx
import pytest

import graphcuts_dp as gc
from graphcuts_dp import graph_job
from graphcuts_dp.files import check_space

Usage = namedtuple("Usage", "total used free")


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("weighted", "n"), [(False, 120), (False, 300), (True, 120)])
def test_what_a_release_takes_is_foreseen(tmp_path, weighted, n):
    edges = nx.gnm_random_graph(n, 10 * n, seed=1)
    if weighted:
        nx.set_edge_attributes(edges, 3.0, "weight")
    nx.write_graphml(edges, tmp_path / "g.graphml")
    schema = {"max_weight": 10} if weighted else {"weighted": False}
    graph = gc.read_graph(tmp_path / "g.graphml", **schema)
    with pytest.warns(gc.errors.AccuracyWarning, match="communities"):
        made = gc.release_graph(graph, epsilon=1.0)
    files = made.save(tmp_path / "out.graphml")
    taken = sum((tmp_path / name).stat().st_size for name in files)
    assert taken <= graph_job(graph, epsilon=1.0).result_bytes


def test_a_full_disk_is_noticed_before(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9, 10**5))
    check_space([tmp_path / "out.csv"], 10**4)
    with pytest.raises(gc.errors.FileFormatError, match=r"may need 0.5 MB.*0.1 MB: free.*nothing"):
        check_space([tmp_path / "out.csv"], 5 * 10**5)
