"""CSV files begin with their header; what rows cannot say stands in a file beside them."""

from pathlib import Path

import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import FileFormatError

pandas = pytest.importorskip("pandas")
ENDINGS = (".csv", ".tsv", ".csv.gz")


def lonely() -> gc.Graph:
    """A weighted graph with a cap, names with a comma, and a vertex without edges."""
    edges = [("Lee, Ann", "bob", 2.5), ("bob", "eve", 1.0)]
    return gc.Graph.of(edges, vertices=["eve", "bob", "Lee, Ann", "kim"], weight_cap=4)


@pytest.mark.parametrize("ending", ENDINGS)
def test_other_programs_read_the_rows_as_they_are(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"mail{ending}"
    lonely().write(path)
    frame = pandas.read_csv(path, sep="\t" if ending == ".tsv" else ",")
    assert list(frame.columns) == ["source", "target", "weight"]
    found = {frozenset(row[:2]): row[2] for row in frame.itertuples(index=False)}
    assert found == {frozenset({"Lee, Ann", "bob"}): 2.5, frozenset({"bob", "eve"}): 1.0}


def test_without_the_file_beside_it_the_rows_are_all_there_is(tmp_path: Path) -> None:
    path = tmp_path / "mail.csv"
    lonely().write(path)
    (tmp_path / "mail.csv.schema.json").unlink()
    again = gc.read_graph(path, weight_cap=4)
    assert set(again.vertices.labels) == {"Lee, Ann", "bob", "eve"}


def test_files_that_carry_the_comment_inside_are_still_read(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text('# graphcuts-dp: {"vertices": 5, "weighted": false}\nsource,target\n0,1\n')
    (tmp_path / "old.csv.schema.json").write_text('{"vertices": 9, "weighted": false}\n')
    assert gc.read_graph(path).n == 5


@pytest.mark.parametrize("text", ["", "{", '{"vertices": "abc"}', "\udcff"])
def test_damage_beside_it_is_told(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mail.csv"
    lonely().write(path)
    beside = tmp_path / "mail.csv.schema.json"
    beside.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(FileFormatError, match=r"mail\.csv\.schema\.json beside it is damaged"):
        gc.read_graph(path)


def test_a_folder_beside_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "mail.csv").write_text("source,target\n0,1\n")
    (tmp_path / "mail.csv.schema.json").mkdir()
    with pytest.raises(FileFormatError, match=r"cannot read mail\.csv\.schema\.json"):
        gc.read_graph(tmp_path / "mail.csv")


def test_neither_file_is_replaced_unasked(tmp_path: Path) -> None:
    beside = tmp_path / "mail.csv.schema.json"
    beside.write_text("mine")
    with pytest.raises(FileFormatError, match="exists"):
        lonely().write(tmp_path / "mail.csv")
    assert beside.read_text() == "mine"
    assert not (tmp_path / "mail.csv").exists()
    lonely().write(tmp_path / "mail.csv", force=True)
    assert gc.read_graph(tmp_path / "mail.csv").n == 4


def test_a_release_as_csv_has_all_its_files_or_none(tmp_path: Path) -> None:
    release = gc.release_graph(lonely(), epsilon=8.0, noise="laplace", seed=1)
    written = release.save(tmp_path / "synthetic.csv")
    assert {Path(file).name for file in written} == {file.name for file in tmp_path.iterdir()}
    assert "synthetic.csv.schema.json" in {file.name for file in tmp_path.iterdir()}
    assert gc.Release.load(tmp_path / "synthetic.csv").graph.n == 4
    assert gc.read_graph(tmp_path / "synthetic.csv").n == 4
    with pytest.raises(FileFormatError, match="exists"):
        release.save(tmp_path / "synthetic.csv")
