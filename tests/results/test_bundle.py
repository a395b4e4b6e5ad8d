"""All saved results: what `gc.load` brings back and refuses, interruptions, what the files tell."""

import contextlib
import errno
import json
import shutil
from functools import cache

import networkx as nx
import numpy as np
import pytest
from group_cases import cliques
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, VertexSet
from graphcuts_dp.files import atomic_write
from graphcuts_dp.io import files
from graphcuts_dp.results import bundle
from graphcuts_dp.results.bundle import KINDS, space_fields, space_from
from graphcuts_dp.schema.vertices import Arcs

GRAPH = gc.Graph([0, 1, 2, 0], [1, 2, 3, 5], vertices=6)
TINY = gc.Graph([0], [1], vertices=4)
HALVES = gc.Groups(GRAPH.vertices, {"half": ["a", "a", "a", "b", "b", "b"]})
CLUBS, OF_CLUBS = cliques()
CUTS = [gc.CutQuery([0]), gc.CutQuery([0, 2])]
SIDES = gc.BipartiteGraph([0, 1], [1, 0], left=2, right=["ä", "7"])
ARCS = gc.DirectedGraph([0, 1, 2], [1, 2, 0], vertices=["a", "b", "c"])
HEAVY = gc.DirectedGraph([0, 1, 4], [1, 0, 5], [0.5, 2.0, 1.25], vertices=6, max_weight=2.5)
UNCAPPED = gc.Graph([0, 1, 4], [1, 2, 5], [5e4, 2.0, 7.0], vertices=6, max_weight_change=1)
SEEDED = "seeded: not private"
TIMES = {"epsilon": 5.0, "seed": 3}
pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
# What each is made of, and the file that it is saved to.
RELEASED = {
    "release": (random_graph(12, density=0.4), {}, "g.edges"),
    "release of arcs": (ARCS, {"mechanism": "degrees+randomized-response"}, "g.graphml"),
    "release of capped arcs": (HEAVY, {"noise": "laplace"}, "g.mtx"),
    "release of weights": (UNCAPPED, {"noise": "laplace", "fit": "first-order"}, "g.gml"),
    "release of two sides": (SIDES, {}, "g.edges.gz"),
    "release with groups": (CLUBS, {"groups": OF_CLUBS, "fit": "none"}, "g.graphml"),
    "release without a graph": (SIDES, {"fit": "none"}, "g.csv"),
    "release, sparse": (GRAPH, {"mechanism": "sparse", "groups": HALVES}, "g.csv.gz"),
    "release, sparse, of two sides": (SIDES, {"mechanism": "sparse"}, "g.graphml"),
    "release, sparse, without a graph": (
        UNCAPPED,
        {"mechanism": "sparse", "fit": "none"},
        "g.npz",
    ),
}
TWO_ROUNDS = "multiplicative-weights:rounds=2"
LEARNT = {
    "iterative construction": (GRAPH, None, TWO_ROUNDS, "g.npz"),
    "iterative construction with a list": (SIDES, CUTS[:1], TWO_ROUNDS, "g.graphml"),
    "iterative construction with statistics": (
        TINY,
        [*CUTS, gc.Query.statistic("triangles")],
        "median",
        "g.tsv",
    ),
    "iterative construction of arcs": (ARCS, [gc.CutQuery(["a"])], TWO_ROUNDS, "g.net"),
    "iterative construction, net": (TINY, CUTS[:1], "net", "g.edges"),
    "answers by sensing": (SIDES, CUTS[:1], "sensing", "m.npz"),
    "answers by sensing in rounds": (SIDES, CUTS[:1], "sensing:rounds=2", "m.npz"),
    "answers": (GRAPH, CUTS, "answers", "a.npz"),
}
TABLES = {"flows": "t.csv", "partition, least cut": "c.csv", "partition": "p.csv"}
MADE = [*RELEASED, *LEARNT, *TABLES]
WITHOUT_GRAPH = ("release with", "release, sparse, without")


def kind_of(name):
    return next(kind for kind in KINDS if name.startswith(kind))


@cache
def result(name):
    if name == "flows":
        return gc.release_flows(GRAPH, HALVES, **TIMES)
    if name == "partition, least cut":
        return gc.least_cut(GRAPH, *GRAPH.vertices.labels[:2], **TIMES)
    if name == "partition":
        return result("release").partition("hierarchy")
    if name in RELEASED:
        graph, options, _ = RELEASED[name]
        return gc.release_graph(graph, **TIMES, **options)
    graph, queries, construction, _ = LEARNT[name]
    delta = 0.0 if construction in ("net", "answers") else 1e-6
    return gc.release_iteratively(graph, queries, construction=construction, delta=delta, **TIMES)


def file_of(name):
    return TABLES.get(name) or (RELEASED | LEARNT)[name][-1]


def saved(name, folder):
    folder.mkdir(exist_ok=True)
    path = folder / file_of(name)
    written = result(name).save(path)
    assert sorted(written) == sorted(str(file) for file in folder.iterdir())
    assert written[-1] == f"{path}.json"
    return path


def refusal(path):
    with pytest.raises(FileFormatError) as caught:
        gc.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def receipt_of(path):
    return json.loads(bundle.receipt_path(path).read_text())


def write_receipt(path, fields):
    """A receipt of these fields, whose digest fits."""
    fields.pop("digest")
    text = json.dumps({**fields, "digest": bundle._digest(fields)})
    bundle.receipt_path(path).write_text(text)


def rewrite(path, **changed):
    """A receipt with other fields, likewise."""
    write_receipt(path, receipt_of(path) | changed)


def replace_arrays(path, content):
    """Another file of arrays, with a receipt that names it."""
    fields = receipt_of(path)
    file = KINDS[fields["kind"]].arrays(path)
    file.write_bytes(content)
    rewrite(path, files={**fields["files"], file.name: bundle.sha256_of(file)})


def arrays_of(path, kind):
    with np.load(KINDS[kind].arrays(path)) as stored:
        return dict(stored)


def test_every_kind_that_has_a_reader_is_here():
    # Tables over time are tried in tests/release/test_update_flows.py.
    assert {kind_of(name) for name in MADE} | {"distances", "flows over time"} == set(KINDS)
    assert all(kind.home or name == "distances" for name, kind in KINDS.items())


@pytest.mark.thorough(cases=6)
@pytest.mark.parametrize("name", MADE)
def test_what_is_loaded_and_saved_again_is_the_same_in_every_byte(name, tmp_path):
    path, made = saved(name, tmp_path / "one"), result(name)
    again = gc.load(path)
    assert type(again) is type(made)
    assert repr(again) == repr(made)
    assert again.guarantee == made.guarantee
    (tmp_path / "two").mkdir()
    again.save(tmp_path / "two" / path.name)
    for file in path.parent.iterdir():
        assert (tmp_path / "two" / file.name).read_bytes() == file.read_bytes(), file.name
    receipt = receipt_of(path)
    assert (receipt["format"], receipt["kind"]) == (bundle.FORMAT, kind_of(name))
    assert set(receipt["files"]) | {f"{path.name}.json"} == {f.name for f in path.parent.iterdir()}
    # Whoever finds one of the files alone is told that a seed made it.
    assert receipt["guarantee"]["entropy"] == SEEDED
    header = json.loads(arrays_of(path, kind_of(name))["header"].tobytes())
    assert header["entropy"] == SEEDED
    if isinstance(made, gc.Release):
        assert again.has_graph == made.has_graph == (not name.startswith(WITHOUT_GRAPH))
        assert not made.has_graph or again.graph == made.graph
        asked = made.space[0] if isinstance(made.space, tuple) else made.space
        cut = [vertex_label(asked)]
        assert again.answer(cut) == made.answer(cut)
        assert SEEDED in str(again.answer(cut))
        assert SEEDED in repr(again)


def vertex_label(space):
    return (space.vertices if isinstance(space, Arcs) else space).labels[0]


def test_nothing_of_a_private_release_says_seeded(tmp_path):
    path = tmp_path / "g.edges"
    gc.release_graph(GRAPH, epsilon=3.0).save(path)
    guaranteed = receipt_of(path)["guarantee"]
    assert (guaranteed["entropy"], guaranteed["seed"]) == ("operating system", None)
    header = json.loads(arrays_of(path, "release")["header"].tobytes())
    assert header["entropy"] == "operating system"


@pytest.mark.parametrize("name", [name for name in MADE if name.startswith(("iter", "answ"))])
def test_an_iterative_release_answers_as_before_and_tells_what_was_measured(name, tmp_path):
    made, again = result(name), gc.load(saved(name, tmp_path / "one"))
    for field in ("accuracy", "settings", "cap"):
        assert getattr(again, field) == getattr(made, field)
    asked = () if made.listed is None else made.listed.public_queries
    queries = [each for each in asked if not isinstance(each, int)] or [gc.CutQuery("*", "*")]
    assert again.answer_all(queries) == made.answer_all(queries)
    for level in (0.5, 0.999) if made.law is not None else ():
        told = [each.answer_all(queries, confidence=level) for each in (made, again)]
        assert told[0] == told[1]
    for old, new in zip(made.transcript, again.transcript, strict=True):
        assert (old.round, old.value, old.updated) == (new.round, new.value, new.updated)
        if isinstance(old.query, gc.CutQuery):
            assert old.query.value(made.graph) == new.query.value(made.graph)
        else:
            assert new.query == old.query


def test_a_sparse_release_answers_without_its_graph(tmp_path):
    path = saved("release, sparse", tmp_path / "one")
    path.unlink()
    assert "missing" in refusal(path)
    read = gc.Release.load(path, graph=False)
    assert not read.has_graph
    assert read.answer_all(CUTS) == result("release, sparse").answer_all(CUTS)
    KINDS["release"].arrays(path).unlink()
    with pytest.raises(FileFormatError, match="missing"):
        gc.Release.load(path, graph=False)
    path = saved("release", tmp_path / "two")
    assert gc.Release.load(path, graph=False).has_graph  # its answers may need it


# Damage.

NO_RECEIPTS = (b"null", b"[]", b"{}", b"\xff\xfe", b'{"format": 1}')


@pytest.mark.thorough(cases=7)
@pytest.mark.parametrize("name", MADE)
def test_damaged_missing_and_mixed_files_are_refused(name, tmp_path):
    path = saved(name, tmp_path / "one")
    for file in sorted(path.parent.iterdir()):
        whole = file.read_bytes()
        places = np.linspace(0, len(whole) - 2, 7).astype(int)
        flipped = (whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in places)
        others = NO_RECEIPTS if file.suffix == ".json" else ()
        for damaged in (b"", whole[:-3], *others, *flipped):
            if not (file.suffix == ".json" and same_fields(whole, damaged)):
                file.write_bytes(damaged)
                refusal(path)
        file.unlink()
        assert file.name in refusal(path)
        file.write_bytes(whole)
    assert gc.load(path).guarantee == result(name).guarantee


def same_fields(first, second):
    """Whether two receipts are read as the same: white space, or a 17th digit, says nothing."""
    try:
        return json.loads(first) == json.loads(second)
    except ValueError:
        return False


def test_a_file_of_another_release_is_refused(tmp_path):
    path = saved("release", tmp_path / "one")
    other = gc.release_graph(random_graph(12, seed=9), epsilon=3.0, seed=5)
    (tmp_path / "other").mkdir()
    for name in other.save(tmp_path / "other" / path.name):
        file = path.with_name(name.rpartition("/")[2])
        whole = file.read_bytes()
        shutil.copy(name, file)
        refusal(path)
        file.write_bytes(whole)


@pytest.mark.thorough(cases=5)
@pytest.mark.parametrize("name", MADE)
def test_other_kinds_and_versions_are_refused(name, tmp_path):
    path, own = saved(name, tmp_path / "one"), kind_of(name)
    for version in (min(bundle.READABLE) - 1, bundle.FORMAT + 1, None, [5], f"{own} 1", "5"):
        rewrite(path, format=version)
        told = refusal(path)
        assert "not a receipt of this version" in told
        assert "read it with the version that wrote it, or release again" in told
    for kind in (*KINDS, "songs", None, [own]):
        if kind != own:
            rewrite(path, format=bundle.FORMAT, kind=kind)
            refusal(path)
    rewrite(path, kind=own)
    reader = gc.Flows if own != "flows" else gc.IterativeRelease
    with pytest.raises(FileFormatError, match=f"is no .*, but of kind '{own}'"):
        reader.load(path)


READ = {"guarantee", "kind", "format", "files", "measurements", "sums", "shares", "model"}
READ |= {"settings", "accuracy", "cost", "rate", "vertices", "grid", "noise", "workload"}


@pytest.mark.thorough(cases=5)
@pytest.mark.parametrize("name", MADE)
def test_a_field_that_is_gone_or_something_else_is_refused_though_the_digest_fits(name, tmp_path):
    path = saved(name, tmp_path / "one")
    whole = receipt_of(path)
    for field in READ & set(whole) - ({"workload"} if name == "flows" else set()):
        for value in ([None], None):
            if value != whole[field]:
                rewrite(path, **{field: value})
                refusal(path)
                rewrite(path, **{field: whole[field]})


GONE = object()


@pytest.mark.thorough(cases=16)
@pytest.mark.parametrize(
    ("name", "where", "values"),
    [
        ("answers", "law", [None]),
        ("answers", "list/given", [False]),
        ("answers", "accuracy/error", ["small"]),
        ("answers", "accuracy/confidence", [float("nan")]),
        ("iterative construction", "accuracy/queries", ["measured"]),
        ("iterative construction", "cap", [float("nan")]),
        ("release", "guarantee", [GONE]),
        ("release", "files", [{}, {"g.edges": 3, "g.edges.noisy.npz": 4}]),
        ("release", "graph", [None, GONE, {"weighted": True}]),
        ("release", "fit/extra", [1]),
        ("release", "certificate/S", [[999], ["x"]]),
        ("release", "certificate/lower", [GONE]),
        ("release", "measurements/entries/epsilon", [[1, 0], [-1, 1]]),
        ("release", "measurements/entries/noise", ["gauss", "laplace"]),
        ("release of arcs", "measurements/degrees/parameters", [[[1, 0]], [["x", 1]]]),
        ("release of arcs", "measurements/degrees/unit", ["x"]),
        ("release of arcs", "measurements/degrees", [[1, 2], GONE]),
        ("release of arcs", "measurements/total", [{"value": 1.0}]),
        ("release of arcs", "guarantee/spent", [[1, 2], GONE]),
        ("release, sparse", "measurements/degrees", [GONE]),
        ("release, sparse", "model/whole", [GONE]),
        ("release, sparse", "measurements/weights/unit", ["x"]),
        ("flows", "sums/noise", ["uniform"]),
        ("flows", "sums/places", [[0]]),
        ("flows", "sums/parameters", [[]]),
        ("flows", "sums/directed", [True]),
        ("flows", "sums/rows/levels/0/labels", [["a"]]),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(name, where, values, tmp_path):
    path = saved(name, tmp_path / "one")
    *steps, last = where.split("/")
    for value in values:
        whole, fields = receipt_of(path), receipt_of(path)
        inner = fields
        for step in steps:
            inner = inner[int(step) if step.isdigit() else step]
        if value is GONE:
            del inner[last]
        else:
            inner[last] = value
        write_receipt(path, fields)
        refusal(path)
        write_receipt(path, whole)


@pytest.mark.thorough(cases=16)
@pytest.mark.parametrize(
    ("name", "array", "values"),
    [
        ("answers", "facets", np.zeros((0, 9), dtype=np.int64)),
        ("release", "entries/values", np.zeros(3, dtype=np.uint8)),
        ("release", "entries/values", np.zeros(9, dtype=np.float64)),
        ("release", "entries/values", np.zeros((3, 3), dtype=np.uint8)),
        ("release", "weights", np.zeros((3, 3), dtype=np.uint16)),
        ("release", "weights", np.zeros((12, 12))),
        ("release", "weights", np.eye(12, k=1, dtype=np.uint16) * 10_001),
        ("release", "weights", np.eye(12, dtype=np.uint16)),
        ("release", "weights", np.eye(12, k=-1, dtype=np.uint16)),
        ("release", "weights", None),
        ("release", "about", np.frombuffer(b'{"vertices": [13], "directed": false}', np.uint8)),
        ("release", "about", np.frombuffer(b'{"vertices": [[0, 0]], "directed": 0}', np.uint8)),
        ("release of arcs", "degrees/steps 0", np.zeros(4, dtype=np.int64)),
        ("release of arcs", "degrees/steps 0", np.array(["many"] * 3)),
        ("release of arcs", "degrees/steps 0", None),
        ("release, sparse", "model/blocks", np.zeros((1, 1))),
        ("release, sparse", "groups/codes 0", np.zeros(6, dtype=np.int64)),
        ("flows", "steps 0", np.zeros(5, dtype=np.int64)),
        ("partition, least cut", "codes", np.array([0, 1, 2, 0, 0, 0])),
        ("partition, least cut", "codes", np.array([0, 1, -1, 0, 0, 0])),
        ("partition, least cut", "codes", np.array([0, 1, 0])),
        ("partition, least cut", "codes", np.array([0, 1, 0, 0, 0, 0.5])),
        ("partition, least cut", "codes", None),
    ],
)
def test_other_arrays_are_refused_though_the_checksums_fit(name, array, values, tmp_path):
    path = saved(name, tmp_path / "one")
    parts = arrays_of(path, kind_of(name))
    assert array in parts
    del parts[array]
    if values is not None:
        parts[array] = values
    with (tmp_path / "changed.npz").open("wb") as handle:
        np.savez(handle, **parts)
    replace_arrays(path, (tmp_path / "changed.npz").read_bytes())
    refusal(path)


@pytest.mark.parametrize("name", ["release", "iterative construction", "answers"])
def test_an_archive_that_is_none_or_has_pickles_is_refused_though_the_checksums_fit(name, tmp_path):
    path = saved(name, tmp_path / "one")
    whole = KINDS[kind_of(name)].arrays(path).read_bytes()
    parts = arrays_of(path, kind_of(name))
    with (tmp_path / "pickled.npz").open("wb") as handle:
        np.savez(handle, **parts | {"more": np.array([{"a": 1}], dtype=object)})
    pickled = (tmp_path / "pickled.npz").read_bytes()
    for content in (b"", b"PK", b"PK\3\4" + b"x" * 60, whole[:-40], pickled):
        replace_arrays(path, content)
        refusal(path)


def test_files_that_are_replaced_while_they_are_read_are_refused(tmp_path):
    one, two = saved("answers", tmp_path / "one"), saved("answers by sensing", tmp_path / "two")
    reading = bundle.opened(one, "answers")
    assert "facets" in reading.__enter__().arrays()
    shutil.copy(two, one)
    with pytest.raises(FileFormatError, match="changed"):
        reading.__exit__(None, None, None)


def test_files_that_are_replaced_and_put_back_while_they_are_read_are_refused(tmp_path):
    one, two = saved("answers", tmp_path / "one"), saved("answers by sensing", tmp_path / "two")
    before = one.read_bytes()
    reading = bundle.opened(one, "answers")
    reading.__enter__()
    for content in (two.read_bytes(), before):
        with atomic_write(one, force=True) as handle:
            handle.write(content)
    with pytest.raises(FileFormatError, match="replaced while it was read"):
        reading.__exit__(None, None, None)


def test_answers_about_distances_are_a_table(tmp_path):
    made = gc.distances.answer_distances(nx.path_graph(6), [0, 1, 2] * 20, epsilon=1.0, seed=1)
    made.save(tmp_path / "d.csv")
    assert "is a table of distances" in refusal(tmp_path / "d.csv")
    assert "does not exist" in refusal(tmp_path / "nothing.csv")


@pytest.mark.parametrize(
    "space",
    [
        VertexSet(3),
        VertexSet(["a", "b"]),
        Arcs(VertexSet(3)),
        (VertexSet(2), VertexSet(["x", "y"])),
        (VertexSet(2), VertexSet(2)),
    ],
)
def test_spaces_come_back(space):
    assert space_from(json.loads(json.dumps(space_fields(space)))) == space


# Places and interruptions.


@pytest.mark.parametrize("name", ["release", "release without a graph", "flows", "answers"])
def test_existing_files_are_kept_unless_forced(name, tmp_path):
    for place in saved(name, tmp_path / "one").parent.iterdir():
        folder = tmp_path / place.name
        folder.mkdir()
        taken, path = folder / place.name, folder / file_of(name)
        taken.write_text("precious")
        with pytest.raises(FileFormatError, match="exists"):
            result(name).save(path)
        assert [file.read_text() for file in folder.iterdir()] == ["precious"]
        result(name).save(path, force=True)
        assert repr(gc.load(path)) == repr(result(name))


@pytest.mark.parametrize(
    ("kind", "name", "match"),
    [
        ("release without a graph", "no/such/g.edges", "does not exist"),
        ("release without a graph", "g.xyz", "xyz"),
        ("release without a graph", "g.konect", "KONECT"),
        ("flows", "t.xlsx", "must end in .csv"),
        ("answers", "a.csv", "must end in .npz"),
    ],
)
def test_places_that_cannot_hold_a_result_are_refused(kind, name, match, tmp_path):
    with pytest.raises(FileFormatError, match=match) as caught:
        result(kind).save(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


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


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("problem", "raised"),
    [
        (FULL, FileFormatError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (MemoryError(), MemoryError),
    ],
)
@pytest.mark.parametrize("place", [1, 2, 3, "sha256_of", "_write_arrays", "_digest", "archive"])
def test_an_interrupted_save_leaves_nothing(tmp_path, monkeypatch, place, problem, raised):
    """At the end of each file, between the files, and in the middle of the archive."""
    calls = []

    def trouble(*_, **__):
        raise problem

    if place == "archive":
        monkeypatch.setattr(np.lib.format, "write_array", trouble)
    elif isinstance(place, str):
        monkeypatch.setattr(bundle, place, trouble)
    for module in (files, bundle):
        write = failing(module.atomic_write, place, problem, calls)
        monkeypatch.setattr(module, "atomic_write", write)
    with pytest.raises(raised, match="disk is full" if problem is FULL else None):
        result("release").save(tmp_path / "g.edges")
    assert len(calls) == place or isinstance(place, str)
    assert not list(tmp_path.iterdir())


def test_an_interrupted_replacement_leaves_the_older_release(tmp_path, monkeypatch):
    path = saved("release", tmp_path / "one")
    other, calls = gc.release_graph(random_graph(12, seed=9), epsilon=3.0, seed=5), []
    write = failing(bundle.atomic_write, 2, KeyboardInterrupt(), calls)
    monkeypatch.setattr(bundle, "atomic_write", write)
    with pytest.raises(KeyboardInterrupt):
        other.save(path, force=True)
    assert gc.load(path).graph == result("release").graph


# What the files tell.


def shape_of(value):
    """The structure of JSON: keys and types, no numbers."""
    if isinstance(value, dict):
        return {key: shape_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return "list"
    return "number" if isinstance(value, int | float) else type(value).__name__


def leaves(value):
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [leaf for item in inner for leaf in leaves(item)]
    return [value]


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("fit", ["first-order", "none"])
@pytest.mark.parametrize("noise", ["binary", "laplace"])
def test_files_of_unlike_graphs_have_one_structure_and_hold_no_edge_count(tmp_path, noise, fit):
    n, edges = 20, 137
    rows, columns = np.triu_indices(n, 1)
    told = []
    for count in (edges, edges + 1, 0, len(rows)):
        graph = gc.Graph(rows[:count], columns[:count], vertices=n)
        made = gc.release_graph(graph, epsilon=3.0, noise=noise, fit=fit, seed=3)
        path = tmp_path / str(count) / "g.mtx"
        path.parent.mkdir()
        made.save(path)
        receipt, arrays = receipt_of(path), arrays_of(path, "release")
        found = {name: (each.shape, each.dtype) for name, each in arrays.items()}
        if noise == "binary":  # eight a byte
            assert arrays["entries/values"].shape == (-(-n * (n - 1) // 2 // 8),)
        told.append((shape_of(receipt), found, arrays["header"].tobytes(), repr(made)))
        certificate = receipt.pop("certificate")
        assert count == 0 or count not in leaves(receipt)
        if certificate is not None:
            assert count <= 1 or count not in leaves(certificate | {"S": None, "T": None})
    assert all(each == told[0] for each in told)


@pytest.mark.parametrize("mechanism", ["randomized-response", "sparse"])
@pytest.mark.parametrize("seed", [None, 1])
def test_graphml_of_a_release_tells_its_epsilon(mechanism, seed, tmp_path):
    made = gc.release_graph(
        GRAPH, epsilon=9.0, mechanism=mechanism, seed=seed, privacy_unit=gc.PrivacyUnit.edge(3)
    )
    made.save(tmp_path / "a.graphml")
    told = nx.read_graphml(tmp_path / "a.graphml").graph
    assert (told["epsilon"], told["delta"], told["privacy_unit"]) == (9.0, 0.0, "3 edges")
    assert ("warning" in told) == (seed is not None)
    assert gc.load(tmp_path / "a.graphml").graph == made.graph
    assert gc.read_graph(tmp_path / "a.graphml") == made.graph
    made.save(tmp_path / "a.csv")  # other formats have no place for it
    assert "epsilon" not in (tmp_path / "a.csv").read_text()
