"""One format for all saved results: what `gc.load` brings back, and what it refuses."""

import json
import math
import shutil
from functools import cache

import networkx as nx
import numpy as np
import pytest
from offline_calls import answer_at_once, choose_from_net, learn, sense

import graphcuts_dp as gc
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.pairs.vertices import Arcs, VertexSet
from graphcuts_dp.results import bundle
from graphcuts_dp.results.bundle import KINDS, space_fields, space_from

GRAPH = gc.Graph([0, 1, 2, 0], [1, 2, 3, 5], vertices=6)
HALVES = gc.Groups(GRAPH.vertices, {"half": ["a", "a", "a", "b", "b", "b"]})
CUTS = [gc.CutQuery([0]), gc.CutQuery([0, 2])]
SIDES = gc.BipartiteGraph([0, 1], [1, 0], left=2, right=["x", "y"])
ARCS = gc.DirectedGraph([0, 1, 2], [1, 2, 0], vertices=["a", "b", "c"])
TIMES = {"epsilon": 5.0, "seed": 3}
pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
# How each kind is made, and the file that it is saved to.
MADE = {
    "release": (lambda: gc.release_graph(GRAPH, **TIMES), "g.csv"),
    "release of arcs": (lambda: gc.release_graph(ARCS, **TIMES), "g.graphml"),
    "release without a graph": (lambda: gc.release_graph(SIDES, fit="none", **TIMES), "g.csv"),
    "sparse": (
        lambda: gc.release_graph(GRAPH, mechanism="sparse", groups=HALVES, **TIMES),
        "g.csv.gz",
    ),
    "sparse of two sides": (
        lambda: gc.release_graph(SIDES, mechanism="sparse", **TIMES),
        "g.graphml",
    ),
    "flows": (lambda: gc.release_flows(GRAPH, HALVES, **TIMES), "t.csv"),
    "iterative construction": (
        lambda: learn(GRAPH, delta=1e-6, rounds=2, **TIMES),
        "g.npz",
    ),
    "iterative construction with a list": (
        lambda: learn(SIDES, delta=1e-6, rounds=2, queries=CUTS[:1], **TIMES),
        "g.graphml",
    ),
    "iterative construction with statistics": (
        lambda: learn(
            gc.Graph([0], [1], vertices=4),
            delta=1e-6,
            queries=[*CUTS, gc.Query.statistic("triangles")],
            construction="median",
            **TIMES,
        ),
        "g.csv",
    ),
    "iterative construction of arcs": (
        lambda: learn(ARCS, delta=1e-6, queries=[gc.CutQuery(["a"])], queries_per_round=2, **TIMES),
        "g.graphml",
    ),
    "iterative construction, net": (
        lambda: choose_from_net(gc.Graph([0], [1], vertices=4), CUTS[:1], **TIMES),
        "g.edges",
    ),
    "answers by sensing": (lambda: sense(SIDES, CUTS[:1], delta=1e-6, **TIMES), "m.npz"),
    "answers by sensing in rounds": (
        lambda: sense(SIDES, CUTS[:1], delta=1e-6, rounds=2, **TIMES),
        "m.npz",
    ),
    "answers": (lambda: answer_at_once(GRAPH, CUTS, **TIMES), "a.npz"),
}
KIND_OF = {
    name: name.partition(" of ")[0].partition(" with")[0].partition(" by ")[0].partition(",")[0]
    for name in MADE
}


@cache
def result(name):
    return MADE[name][0]()


def saved(name, folder):
    folder.mkdir()
    path = folder / MADE[name][1]
    written = result(name).save(path)
    assert sorted(written) == sorted(str(file) for file in folder.iterdir())
    return path


def refusal(path):
    with pytest.raises(FileFormatError) as caught:
        gc.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def rewrite(path, **changed):
    """A receipt with other fields, whose digest fits."""
    file = bundle.receipt_path(path)
    fields = {**json.loads(file.read_text()), **changed}
    fields.pop("digest")
    file.write_text(json.dumps({**fields, "digest": bundle._digest(fields)}))


def test_every_kind_that_has_a_reader_is_here():
    assert set(KIND_OF.values()) | {"distances"} == set(KINDS)
    assert all(kind.home or name == "distances" for name, kind in KINDS.items())


@pytest.mark.parametrize("name", MADE)
def test_what_is_loaded_and_saved_again_is_the_same_in_every_byte(name, tmp_path):
    path = saved(name, tmp_path / "one")
    again = gc.load(path)
    assert type(again) is type(result(name))
    assert repr(again) == repr(result(name))
    assert again.guarantee == result(name).guarantee
    (tmp_path / "two").mkdir()
    again.save(tmp_path / "two" / path.name)
    for file in path.parent.iterdir():
        assert (tmp_path / "two" / file.name).read_bytes() == file.read_bytes(), file.name
    receipt = json.loads(bundle.receipt_path(path).read_text())
    assert (receipt["format"], receipt["kind"]) == (bundle.FORMAT, KIND_OF[name])
    assert receipt["guarantee"]["entropy"] == "seeded: not private"
    assert set(receipt["files"]) | {f"{path.name}.json"} == {f.name for f in path.parent.iterdir()}


@pytest.mark.parametrize("name", [name for name in MADE if name.startswith(("iter", "answ"))])
def test_an_iterative_release_answers_as_before_and_tells_what_was_measured(name, tmp_path):
    made, again = result(name), gc.load(saved(name, tmp_path / "one"))
    for field in ("accuracy", "settings", "cap"):
        assert getattr(again, field) == getattr(made, field)
    asked = () if made.listed is None else made.listed.asked
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


@pytest.mark.parametrize("name", MADE)
def test_damaged_missing_and_mixed_files_are_refused(name, tmp_path):
    path = saved(name, tmp_path / "one")
    for file in sorted(path.parent.iterdir()):
        whole = file.read_bytes()
        middle = len(whole) // 2
        for damaged in (
            b"",
            whole[:-3],
            whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        ):
            file.write_bytes(damaged)
            refusal(path)
        file.unlink()
        assert file.name in refusal(path)
        file.write_bytes(whole)
    assert gc.load(path).guarantee == result(name).guarantee


@pytest.mark.parametrize("name", MADE)
def test_other_kinds_and_versions_are_refused(name, tmp_path):
    path = saved(name, tmp_path / "one")
    whole = bundle.receipt_path(path).read_bytes()
    for format_ in (4, 6, None, [5], f"{KIND_OF[name]} 1", "5"):
        rewrite(path, format=format_)
        told = refusal(path)
        assert "not a receipt of this version" in told
        assert "read it with the version that wrote it, or release again" in told
        bundle.receipt_path(path).write_bytes(whole)
    for kind in (*KINDS, "songs", None, [KIND_OF[name]]):
        if kind != KIND_OF[name]:
            rewrite(path, kind=kind)
            refusal(path)
            bundle.receipt_path(path).write_bytes(whole)
    reader = gc.Flows if KIND_OF[name] != "flows" else gc.IterativeRelease
    with pytest.raises(FileFormatError, match=f"of this kind, but of '{KIND_OF[name]}'"):
        reader.load(path)


@pytest.mark.parametrize("name", MADE)
def test_a_field_that_is_gone_or_something_else_is_refused_though_the_digest_fits(name, tmp_path):
    path = saved(name, tmp_path / "one")
    whole = bundle.receipt_path(path).read_bytes()
    read = {"guarantee", "kind", "format", "files", "measurements", "sums", "shares"}
    read |= {"settings", "accuracy", "cost", "rate", "vertices", "grid", "noise"}
    if KIND_OF[name] in ("release", "flows"):
        read -= {"noise"}  # told to people; the file of the matrix has its own
    for field in read & set(json.loads(whole)):
        for value in ([None], None):
            rewrite(path, **{field: value})
            refusal(path)
            bundle.receipt_path(path).write_bytes(whole)


@pytest.mark.parametrize(
    ("name", "field", "part", "value"),
    [
        ("answers", "law", None, None),
        ("answers", "list", "given", False),
        ("answers", "accuracy", "error", "small"),
        ("answers", "accuracy", "confidence", math.nan),
        ("iterative construction", "accuracy", "queries", "measured"),
        ("iterative construction", "cap", None, math.nan),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(name, field, part, value, tmp_path):
    path = saved(name, tmp_path / "one")
    whole = json.loads(bundle.receipt_path(path).read_text())[field]
    rewrite(path, **{field: value if part is None else {**whole, part: value}})
    refusal(path)


def test_noise_of_other_answers_is_refused(tmp_path):
    path = saved("answers", tmp_path / "one")
    arrays = KINDS["answers"].arrays(path)
    with np.load(arrays) as stored:
        parts = dict(stored.items())
    parts["facets"] = np.zeros((0, parts["facets"].shape[1] + 1), dtype=np.int64)
    with arrays.open("wb") as handle:
        np.savez(handle, **parts)
    rewrite(path, files={arrays.name: bundle.sha256_of(arrays)})
    refusal(path)


@pytest.mark.parametrize("name", ["release", "iterative construction", "answers"])
def test_an_archive_that_is_none_is_refused_though_the_checksums_fit(name, tmp_path):
    path = saved(name, tmp_path / "one")
    file = KINDS[KIND_OF[name]].arrays(path)
    files = json.loads(bundle.receipt_path(path).read_text())["files"]
    for content in (b"", b"PK", b"PK\3\4" + b"x" * 60, file.read_bytes()[:-40]):
        file.write_bytes(content)
        rewrite(path, files={**files, file.name: bundle.sha256_of(file)})
        refusal(path)


def test_files_that_are_replaced_while_they_are_read_are_refused(tmp_path):
    one, two = saved("answers", tmp_path / "one"), saved("answers by sensing", tmp_path / "two")
    reading = bundle.opened(one, "answers")
    assert "facets" in reading.__enter__().arrays()
    shutil.copy(two, one)
    with pytest.raises(FileFormatError, match="changed"):
        reading.__exit__(None, None, None)


def test_a_sparse_release_answers_without_its_graph(tmp_path):
    path = saved("sparse", tmp_path / "one")
    path.unlink()
    assert "missing" in refusal(path)
    read = gc.Release.load(path, graph=False)
    assert not read.has_graph
    assert read.answer_all(CUTS) == result("sparse").answer_all(CUTS)
    KINDS["sparse"].arrays(path).unlink()
    with pytest.raises(FileFormatError, match="missing"):
        gc.Release.load(path, graph=False)


def test_answers_about_distances_are_a_table(tmp_path):
    made = gc.distances.answer_distances(nx.path_graph(6), [0, 1, 2] * 20, epsilon=1.0, seed=1)
    made.save(tmp_path / "d.csv")
    assert "is a table of distances" in refusal(tmp_path / "d.csv")


def test_a_file_of_arrays_alone_tells_whether_it_is_private(tmp_path):
    for name, kind in KIND_OF.items():
        path = saved(name, tmp_path / name)
        with np.load(KINDS[kind].arrays(path)) as stored:
            header = json.loads(stored["header"].tobytes())
        assert header["entropy"] == "seeded: not private"


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


def test_nothing_is_there():
    assert "does not exist" in refusal("/no/such/file.csv")
