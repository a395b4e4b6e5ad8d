"""A release on disk: round trips, refusals, damage, interruptions, and what the files tell."""

import contextlib
import errno
import io
import json
import shutil
from functools import partial

import helpers
import networkx
import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import FileFormatError, GraphCutsError
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.graph import files
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.release.releases import release_graph
from graphcuts_dp.results import bundle
from graphcuts_dp.results.release import Release

ENDINGS = [".graphml", ".gml", ".net", ".edges", ".csv", ".tsv", ".mtx", ".npz", ".edges.gz"]

random_graph = partial(helpers.random_graph, density=0.4)


def sample(kind="plain"):
    """Releases of every kind that files must carry."""
    rng = np.random.default_rng(1)
    if kind == "plain":
        return release_graph(random_graph(12), epsilon=3.0, seed=2)
    if kind == "unweighted":
        return release_graph(random_graph(12), epsilon=3.0, seed=2, fit=gc.Fitting(unweighted=True))
    if kind == "labels":
        graph = Graph([0, 1], [1, 2], vertices=["ä b", "7", "c"])
        return release_graph(graph, epsilon=10.0, noise="laplace", fit="spectral", seed=2)
    if kind == "bipartite":
        rows, columns = np.nonzero(rng.random((5, 8)) < 0.5)
        graph = BipartiteGraph(rows, columns, left=5, right=8)
        return release_graph(graph, epsilon=5.0, fit="first-order", seed=2)
    if kind == "directed":
        graph = random_graph(11, directed=True, vertices=[f"v{i}" for i in range(11)])
        return release_graph(graph, epsilon=5.0, seed=2, mechanism="degrees+response")
    if kind == "directed, capped":
        graph = DirectedGraph([0, 1, 4], [1, 0, 5], [0.5, 2.0, 1.25], vertices=6, weight_cap=2.5)
        return release_graph(graph, epsilon=9.0, noise="laplace", seed=2)
    if kind == "capped":
        graph = Graph([0, 1, 4], [1, 2, 5], [0.5, 2.0, 1.25], vertices=6, weight_cap=2.5)
        return release_graph(graph, epsilon=9.0, noise="laplace", seed=2)
    if kind == "uncapped":
        graph = Graph([0, 1, 4], [1, 2, 5], [5e4, 2.0, 7.0], vertices=6, hide_change=1)
        return release_graph(graph, epsilon=9.0, noise="laplace", fit="first-order", seed=2)
    if kind == "private":
        return release_graph(random_graph(12), epsilon=3.0)
    return release_graph(random_graph(12), epsilon=3.0, fit="none", seed=2)


KINDS = [
    *("plain", "unweighted", "labels", "bipartite", "directed", "directed, capped"),
    *("capped", "uncapped", "private", "no fit"),
]


def assert_same(loaded, made):
    assert np.array_equal(loaded.noisy.steps, made.noisy.steps)
    assert loaded.noisy.steps.dtype == made.noisy.steps.dtype
    assert loaded.noisy.distribution == made.noisy.distribution
    assert loaded.noisy.left == made.noisy.left
    assert loaded.noisy.right == made.noisy.right
    assert loaded.noisy.symmetric == made.noisy.symmetric
    assert loaded.noisy.space == made.noisy.space
    assert loaded.guarantee == made.guarantee
    assert loaded.fit == made.fit
    assert loaded.has_graph == made.has_graph
    assert repr(loaded) == repr(made)
    if made.has_graph:
        assert loaded.graph == made.graph
        for name in made.certificate.__dataclass_fields__:
            stored, kept = getattr(loaded.certificate, name), getattr(made.certificate, name)
            assert np.array_equal(stored, kept), name


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_release_comes_back(tmp_path, kind):
    made = sample(kind)
    path = tmp_path / "synthetic.graphml"
    written = made.save(path)
    expected = {path.name + ".noisy.npz", path.name + ".json"}
    expected |= {path.name} if made.has_graph else set()
    assert {file.name for file in tmp_path.iterdir()} == expected
    assert set(written) == {str(tmp_path / name) for name in expected}
    assert written[-1].endswith(".json")
    loaded = Release.load(path)
    assert_same(loaded, made)
    cut = [made.noisy.left.labels[0]]
    assert loaded.answer(cut) == made.answer(cut)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["plain", "bipartite", "directed", "unweighted"])
def test_every_format_brings_the_graph_back(tmp_path, kind, ending):
    made = sample(kind)
    made.save(tmp_path / f"g{ending}")
    assert_same(Release.load(tmp_path / f"g{ending}"), made)


@pytest.mark.parametrize("taken", ["g.edges", "g.edges.json", "g.edges.noisy.npz"])
@pytest.mark.parametrize("kind", ["plain", "no fit"])
def test_existing_files_are_kept_unless_forced(tmp_path, taken, kind):
    made = sample(kind)
    (tmp_path / taken).write_text("precious")
    with pytest.raises(FileFormatError, match="exists"):
        made.save(tmp_path / "g.edges")
    assert [file.name for file in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_text() == "precious"
    made.save(tmp_path / "g.edges", force=True)
    assert_same(Release.load(tmp_path / "g.edges"), made)


@pytest.mark.parametrize(
    ("name", "match"),
    [("no/such/g.edges", "does not exist"), ("g.xyz", "xyz"), ("g.konect", "KONECT")],
)
def test_places_that_cannot_hold_a_release(tmp_path, name, match):
    with pytest.raises(FileFormatError, match=match) as caught:
        sample("no fit").save(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


# Damage.


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "g.edges"
    sample().save(path)
    assert Release.load(path).has_graph
    return path


FILES = ["", ".noisy.npz", ".json"]


def refuses(path):
    with pytest.raises(FileFormatError) as caught:
        Release.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("ending", FILES)
def test_a_file_of_another_release(saved, ending, tmp_path):
    other = release_graph(random_graph(12, seed=9), epsilon=3.0, seed=5)
    (tmp_path / "other").mkdir()
    other.save(tmp_path / "other" / "g.edges")
    shutil.copy(tmp_path / "other" / f"g.edges{ending}", saved.with_name(saved.name + ending))
    refuses(saved)


def same_fields(first, second):
    """Whether two receipts are read as the same."""
    try:
        return json.loads(bytes(first)) == json.loads(bytes(second))
    except ValueError:
        return False


@pytest.mark.parametrize("ending", FILES)
def test_one_changed_byte(saved, ending):
    file = saved.with_name(saved.name + ending)
    content = bytearray(file.read_bytes())
    for place in np.linspace(0, len(content) - 2, 23).astype(int):
        changed = content.copy()
        changed[place] ^= 1
        if ending == ".json" and same_fields(content, changed):
            continue  # white space between fields, or a 17th digit, says nothing
        file.write_bytes(bytes(changed))
        refuses(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.pop("guarantee"),
        lambda r: r["files"].clear(),
        lambda r: r.update(files={"g.edges": 3, "g.edges.noisy.npz": 4}),
        lambda r: r.update(graph=None),
        lambda r: r.update(graph={"weighted": True}),
        lambda r: r.pop("graph"),
        lambda r: r["fit"].update(extra=1),
        lambda r: r["certificate"].update(S=[999]),
        lambda r: r["certificate"].update(S=["x"]),
        lambda r: r["certificate"].pop("lower"),
    ],
)
def test_a_receipt_of_another_make_is_refused_even_with_a_fresh_digest(saved, change):
    file = saved.with_name("g.edges.json")
    receipt = json.loads(file.read_text())
    receipt.pop("digest")
    change(receipt)
    receipt["digest"] = bundle._digest(receipt)
    file.write_text(json.dumps(receipt))
    refuses(saved)


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{}", b"\xff\xfe", b'{"format": 1}'])
def test_something_else_in_place_of_the_receipt(saved, content):
    saved.with_name("g.edges.json").write_bytes(content)
    refuses(saved)


def archive(header=None, **changes):
    """A noisy matrix file with changed parts."""
    buffer = io.BytesIO()
    sample().noisy.write(buffer, entropy="x")
    buffer.seek(0)
    with np.load(buffer) as stored:
        parts = dict(stored)
    fields = json.loads(parts["header"].tobytes())
    fields.update(header or {})
    parts["header"] = np.frombuffer(json.dumps(fields).encode(), dtype=np.uint8)
    parts.update(changes)
    changed = io.BytesIO()
    np.savez_compressed(changed, **parts)
    changed.seek(0)
    return changed


def test_the_archive_helper_is_right():
    assert np.array_equal(NoisyMatrix.read(archive()).steps, sample().noisy.steps)


@pytest.mark.parametrize(
    "content",
    [
        {"header": {"format": 2}},
        {"header": {"epsilon": [1, 0]}},
        {"header": {"epsilon": [-1, 1]}},
        {"header": {"noise": "gauss"}},
        {"header": {"left": list(range(13))}},
        {"header": {"left": [0, 0]}},
        {"header": {"noise": "laplace"}},
        {"values": np.zeros(3, dtype=np.uint8)},
        {"values": np.zeros(9, dtype=np.float64)},
        {"values": np.zeros((3, 3), dtype=np.uint8)},
    ],
)
def test_a_damaged_noisy_matrix(content):
    with pytest.raises(FileFormatError) as caught:
        NoisyMatrix.read(archive(**content))
    assert "\n" not in str(caught.value)


def test_pickles_are_never_opened():
    buffer = io.BytesIO()
    np.savez(buffer, header=np.array([{"a": 1}], dtype=object), values=np.zeros(1))
    buffer.seek(0)
    with pytest.raises(FileFormatError, match="damaged"):
        NoisyMatrix.read(buffer)


# Interruptions.


def failing(real, stage, problem, calls):
    """`atomic_write` that fails at the end of its body when called the stage-th time."""

    @contextlib.contextmanager
    def write(path, *, force=False):
        with real(path, force=force) as handle:
            yield handle
            calls.append(path)
            if len(calls) == stage:
                raise problem

    return write


PROBLEMS = [
    (OSError(errno.ENOSPC, "No space left on device"), FileFormatError),
    (KeyboardInterrupt(), KeyboardInterrupt),
    (MemoryError(), MemoryError),
]


@pytest.mark.parametrize(("problem", "raised"), PROBLEMS)
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_an_interrupted_save_leaves_nothing(tmp_path, monkeypatch, stage, problem, raised):
    calls = []
    for module in (files, bundle):
        monkeypatch.setattr(
            module, "atomic_write", failing(module.atomic_write, stage, problem, calls)
        )
    with pytest.raises(raised):
        sample().save(tmp_path / "g.edges")
    assert len(calls) == stage
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("problem", "raised"),
    [(OSError("trouble"), FileFormatError), (KeyboardInterrupt(), KeyboardInterrupt)],
)
@pytest.mark.parametrize("name", ["sha256_of", "_write_arrays", "_digest"])
def test_trouble_between_the_files_leaves_nothing(tmp_path, monkeypatch, name, problem, raised):
    def trouble(*_):
        raise problem

    monkeypatch.setattr(bundle, name, trouble)
    with pytest.raises(raised):
        sample().save(tmp_path / "g.edges")
    assert not list(tmp_path.iterdir())


def test_a_noisy_matrix_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    def half(self, handle, *, entropy):  # noqa: ARG001
        handle.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(NoisyMatrix, "write", half)
    with pytest.raises(FileFormatError, match="disk is full"):
        sample().save(tmp_path / "g.edges")
    assert not list(tmp_path.iterdir())


def test_an_interrupted_replacement_leaves_the_older_release(tmp_path, monkeypatch):
    path = tmp_path / "g.edges"
    made = sample()
    made.save(path)
    other = release_graph(random_graph(12, seed=9), epsilon=3.0, seed=5)
    calls = []
    monkeypatch.setattr(
        bundle, "atomic_write", failing(bundle.atomic_write, 2, KeyboardInterrupt(), calls)
    )
    with pytest.raises(KeyboardInterrupt):
        other.save(path, force=True)
    assert_same(Release.load(path), made)


# What the files tell.


def shape_of(value):
    """The structure of JSON: keys and types, no numbers."""
    if isinstance(value, dict):
        return {key: shape_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return "list"
    return "number" if isinstance(value, int | float) else type(value).__name__


def leaves(value):
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def header_of(path):
    with np.load(path) as stored:
        return json.loads(stored["header"].tobytes()), stored["values"].shape, sorted(stored)


@pytest.mark.parametrize("fit", ["first-order", "none"])
@pytest.mark.parametrize("noise", ["binary", "laplace"])
def test_files_of_unlike_graphs_have_one_structure_and_hold_no_edge_count(tmp_path, noise, fit):
    n = 30
    rows, columns = np.triu_indices(n, 1)
    edges = 137
    graphs = {
        "few": Graph(rows[:edges], columns[:edges], vertices=n),
        "one more": Graph(rows[: edges + 1], columns[: edges + 1], vertices=n),
        "none": Graph([], [], vertices=n),
        "all": Graph(rows, columns, vertices=n),
    }
    receipts, headers, texts = [], [], []
    for name, graph in graphs.items():
        made = release_graph(graph, epsilon=3.0, noise=noise, fit=fit, seed=3)
        (tmp_path / name).mkdir()
        path = tmp_path / name / "g.mtx"
        made.save(path)
        receipt = json.loads((tmp_path / name / "g.mtx.json").read_text())
        receipts.append(shape_of(receipt))
        headers.append(header_of(tmp_path / name / "g.mtx.noisy.npz"))
        texts.append((repr(made), str(made.guarantee), made.expected_worst_cut_error))
        certificate = receipt.pop("certificate")
        assert len(graph.rows) == 0 or len(graph.rows) not in leaves(receipt)
        if certificate is not None:
            del certificate["S"], certificate["T"]
            assert len(graph.rows) not in leaves(certificate) or len(graph.rows) <= 1
    for found in (receipts, headers, texts):
        assert all(item == found[0] for item in found)


def test_everything_of_a_seeded_release_says_so(tmp_path):
    path = tmp_path / "g.edges"
    made = sample()
    made.save(path)
    loaded = Release.load(path)
    mark = "seeded: not private"
    for release in (made, loaded):
        assert mark in repr(release)
        assert mark in str(release.guarantee)
        assert mark in str(release.answer([0]))
        assert release.answer([0]).seeded
    assert mark in path.with_name("g.edges.json").read_text()
    assert header_of(path.with_name("g.edges.noisy.npz"))[0]["entropy"] == mark


def test_nothing_of_a_private_release_says_seeded(tmp_path):
    path = tmp_path / "g.edges"
    sample("private").save(path)
    receipt = json.loads(path.with_name("g.edges.json").read_text())
    assert receipt["guarantee"]["entropy"] == "operating system"
    assert receipt["guarantee"]["seed"] is None
    header = header_of(path.with_name("g.edges.noisy.npz"))[0]
    assert header["entropy"] == "operating system"


def test_bits_are_packed(tmp_path):
    sample("no fit").save(tmp_path / "g.edges")
    assert header_of(tmp_path / "g.edges.noisy.npz")[1] == (-(-12 * 11 // 2 // 8),)


def test_errors_of_this_module_are_caught_by_one_name(tmp_path):
    with pytest.raises(GraphCutsError):
        Release.load(tmp_path / "nothing.edges")


def test_the_receipt_tells_what_a_release_was_to_be_good_at(tmp_path):
    made = release_graph(
        random_graph(12), epsilon=1.0, seed=2, mechanism=gc.Response(workload="synthetic graph")
    )
    made.save(tmp_path / "g.csv")
    receipt = tmp_path / "g.csv.json"
    assert json.loads(receipt.read_text())["workload"] == "synthetic graph"
    assert Release.load(tmp_path / "g.csv").workload == made.workload == "synthetic graph"
    stored = json.loads(receipt.read_text())
    written = {name: value for name, value in stored.items() if name not in ("digest", "versions")}
    receipt.unlink()
    bundle.write_receipt(receipt, {**written, "workload": "cuts"})
    with pytest.raises(FileFormatError, match="damaged or of another version"):
        Release.load(tmp_path / "g.csv")
    del written["workload"]
    receipt.unlink()
    bundle.write_receipt(receipt, written)
    with pytest.raises(FileFormatError, match="damaged or of another version"):
        Release.load(tmp_path / "g.csv")


@pytest.mark.parametrize("mechanism", ["response", "sparse"])
@pytest.mark.parametrize("seed", [None, 1])
def test_graphml_of_a_release_tells_its_epsilon(mechanism, seed, tmp_path):
    graph = gc.Graph([0, 1, 2], [1, 2, 3], vertices=6)
    release = gc.release_graph(
        graph, epsilon=9.0, mechanism=mechanism, seed=seed, protect=gc.Protect.edges(3)
    )
    release.save(tmp_path / "a.graphml")
    told = networkx.read_graphml(tmp_path / "a.graphml").graph
    assert told["epsilon"] == 9.0
    assert told["delta"] == 0.0
    assert told["protects"] == "3 edges"
    assert ("warning" in told) == (seed is not None)
    again = gc.Release.load(tmp_path / "a.graphml").graph
    assert again == release.graph
    assert gc.read_graph(tmp_path / "a.graphml") == release.graph
    release.save(tmp_path / "a.csv")  # other formats have no place for it
    assert "epsilon" not in (tmp_path / "a.csv").read_text()
