"""Releases that are too large for the machine: refused at once, from public numbers alone."""

import subprocess
import sys

import pytest

import graphcuts_dp as gc
from graphcuts_dp import GraphError, release_graph
from graphcuts_dp.cli import main
from graphcuts_dp.privacy.entropy import SystemEntropy
from graphcuts_dp.release import graphs, sizes
from graphcuts_dp.release.sizes import check_size, needed_memory, size_note
from graphcuts_dp.resources import memory_limit

EVERY_PAIR = [(i, j) for i in range(30) for j in range(i)]


def test_a_release_beyond_the_memory_is_refused_before_noise_in_words_without_edges(monkeypatch):
    def forbidden(*_):
        raise AssertionError("noise was drawn")

    for module in (graphs, sizes):
        monkeypatch.setattr(module, "memory_limit", lambda: 1000)
    monkeypatch.setattr(SystemEntropy, "bytes", forbidden)
    texts = []
    for pairs in ([], EVERY_PAIR):
        graph = gc.Graph.of(pairs, vertices=30)
        with pytest.raises(GraphError, match="30 vertices needs about") as caught:
            release_graph(
                graph, epsilon=1.0, mechanism="randomized-response"
            )  # the default is a sparse one
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert "\n" not in texts[0]
    assert "in a session" in texts[0]
    assert "fit 'none'" in texts[0]  # which fits in 1,000 bytes
    release_graph(gc.Graph([], [], vertices=5), epsilon=20.0, seed=1)


def test_only_what_would_do_is_offered_and_an_unknown_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr(sizes, "memory_limit", lambda: 1000)
    for shape, noise, fit in (((1000, 1000), "binary", True), ((10, 2000), "laplace", False)):
        with pytest.raises(GraphError, match="000 vertices") as caught:
            check_size(shape, noise=noise, fit=fit)
        assert "fit 'none'" not in str(caught.value)
    monkeypatch.setattr(sizes, "memory_limit", lambda: None)
    check_size((10**9, 10**9), noise="binary", fit=True)


def test_a_job_of_ten_million_vertices_is_refused_before_the_file_is_read(
    monkeypatch, capsys, tmp_path
):
    # By default such a release is a sparse one: see tests/release/test_sparse.py.
    dense = ["--mechanism", "randomized-response"], ["--fit", "maximum-entropy"]
    for shape in (["10000000", *dense[0]], ["4000000,9000000", "--kind", "bipartite", *dense[1]]):
        command = ["release", "no-such-file.edges", str(tmp_path / "s.csv"), "--epsilon", "1"]
        monkeypatch.setattr(sys, "argv", ["graphcuts-dp", *command, "--vertices", *shape])
        assert main.run_command() == 2
        error = capsys.readouterr().err
        assert "GB of memory" in error
        assert error.count("\n") == 1
        assert "no-such-file" not in error


def test_a_large_release_says_what_it_takes():
    assert size_note((2000, 2000), noise="binary", fit=True) is None
    assert size_note((10**5, 10**5), noise="binary", fit=False) is None
    assert size_note((9000, 9000), noise="binary", fit=True) is None
    assert "about a minute on two cores" in size_note((12_000, 9000), noise="binary", fit=True)
    assert "about 4 minutes" in size_note((20_000, 20_000), noise="binary", fit=True)
    assert "4 hours" in size_note((150_000, 150_000), noise="binary", fit=True)


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/\n", {"memory.max": "5000\n"}, 5000),
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "700\n"}, 700),
        ("0::/of/the/host\n", {"memory.max": "5000\n"}, 5000),
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("4:cpu,memory:/x\n0::/\n", {"memory/x/memory.limit_in_bytes": "600"}, 600),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, None),
        ("4:cpu:/\n", {"memory.max": "5000\n"}, None),
        ("", {}, None),
        ("nonsense\n0::/\n", {"memory.max": "nonsense"}, None),
    ],
)
def test_the_memory_of_a_container_counts(tmp_path, groups, files, limit):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    machine = memory_limit(tmp_path / "nothing")
    assert machine is None or machine > 10**6
    assert memory_limit(tmp_path) == (machine if limit is None else limit)


PEAK = """
import resource, sys, warnings
import graphcuts_dp as gc
def peak():
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found * (1 if sys.platform == "darwin" else 1024)
n, noise, fit = int(sys.argv[1]), sys.argv[2], sys.argv[3]
weights = None if noise == "binary" else [2.0]
graph = gc.Graph([0], [1], weights, vertices=n, max_weight=weights and 2.0)
before = peak()
gc.release_graph(graph, epsilon=1.0, noise=noise, seed=1, fit=gc.FitOptions(fit, time_limit=1.0))
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no ru_maxrss")
@pytest.mark.parametrize(
    ("noise", "fit"), [("laplace", "none"), ("binary", "auto"), ("laplace", "auto")]
)
def test_the_estimate_is_what_a_process_takes_or_less(noise, fit):
    n = 3000
    peak = int(subprocess.check_output([sys.executable, "-c", PEAK, str(n), noise, fit]))
    assert 0.3 * peak <= needed_memory((n, n), noise=noise, fit=fit != "none") <= peak
