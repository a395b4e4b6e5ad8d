"""The same data, another store: refused by name, unless somebody says why; and data that grow."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import graphcuts_dp as gc
from graphcuts_dp import LedgerError
from graphcuts_dp.ledger import charges, known_data
from graphcuts_dp.ledger.opening import Subject

LINE = "--epsilon 1 --vertices 34 --fit none"


@pytest.fixture
def club(tmp_path):
    """A private file in a folder of its own, so that no store lies beside it."""
    folder = tmp_path / "private"
    folder.mkdir()
    gc.datasets.load("karate").write(folder / "club.csv")
    return folder / "club.csv"


def release(club, out, *options):
    return ("release", club, out, *LINE.split(), *options)


def test_a_second_store_for_the_same_data_is_refused_by_the_name_of_the_first(
    done, refused, club, tmp_path
):
    done(*release(club, "a.edges", "--store", "a.db"))
    message = refused(*release(club, "b.edges", "--store", "b.db"))
    assert f"these data were charged to the store {tmp_path / 'a.db'}: add --store" in message
    assert "nothing was spent" in message
    copy = club.with_name("copy.tsv.csv")  # under another name, in another order
    first, *lines = club.read_text().splitlines()
    copy.write_text("\n".join([first, *reversed(lines)]) + "\n")
    assert "a.db" in refused(*release(copy, "b.edges", "--store", "b.db"))
    assert "a.db" in refused(*release(club, "b.edges"))
    done(*release(club, "b.edges", "--store", "a.db"))
    assert gc.store_status("a.db").epsilon == 2.0


def test_every_command_knows_them(done, refused, club, tmp_path):
    done(*release(club, "a.edges", "--store", "a.db"))
    groups = tmp_path / "staff.csv"
    groups.write_text("vertex,half\n" + "".join(f"{v},{'ab'[v > 16]}\n" for v in range(34)))
    for line in (
        ("flows", club, groups, "f.csv", "--epsilon", "1"),
        ("cuts", club, "c.csv", "--from", "0", "--to", "33", "--epsilon", "1"),
        ("session", "start", club, "--epsilon", "1", "--queries", "9"),
    ):
        assert "a.db" in refused(*line, "--vertices", "34", "--store", "b.db")
    assert not Path("b.db").exists()


def test_a_budget_of_its_own_needs_a_reason_which_stands_in_store_and_receipt(done, club):
    done(*release(club, "a.edges", "--store", "a.db"))
    done(*release(club, "b.edges", "--store", "b.db", "--separate-budget", "a drill"))
    assert gc.load("b.edges").guarantee.provenance.separate_budget == "a drill"
    (use,) = gc.store_status("b.db").uses
    assert use.use.separate_budget == "a drill"
    done(*release(club, "c.edges", "--store", "b.db"))  # a store that is known by now
    done(*release(club, "d.edges", "--uncounted"))


def test_a_store_that_is_lost_is_still_named(done, refused, club, tmp_path):
    done(*release(club, "a.edges", "--store", "a.db"))
    Path("a.db").unlink()
    for store in ("b.db", "a.db"):  # nor is a fresh one made in its place
        message = refused(*release(club, "b.edges", "--store", store))
        assert f"{tmp_path / 'a.db'}, which is not there any more" in message


def test_a_store_that_was_moved_is_the_same_store(done, club):
    done(*release(club, "a.edges", "--store", "a.db"))
    Path("a.db").rename("moved.db")
    done(*release(club, "b.edges", "--store", "moved.db"))
    assert gc.store_status("moved.db").epsilon == 2.0


def test_a_store_that_cannot_be_looked_at_for_now_is_still_the_same_store(done, club, monkeypatch):
    done(*release(club, "a.edges", "--store", "a.db"))
    monkeypatch.setattr(charges, "peek_store_id", lambda _: None)  # as while another one writes
    done(*release(club, "b.edges", "--store", "a.db"))
    assert gc.store_status("a.db").epsilon == 2.0


def test_a_store_in_place_of_another_is_another_store(done, refused, club, tmp_path, monkeypatch):
    done(*release(club, "a.edges", "--store", "a.db"))
    Path("a.db").rename("moved.db")
    graph = gc.read_graph(club, vertices=34)
    gc.release_graph(graph, epsilon=1.0, store="a.db", fit="none")
    monkeypatch.setattr(charges, "peek_store_id", lambda _: None)
    message = refused(*release(club, "b.edges", "--store", "a.db"))
    assert f"these data were charged to the store {tmp_path / 'a.db'}" in message


def test_uses_without_any_store_are_told_of(done, club):
    _, first = done(*release(club, "a.edges"))
    assert "read before without a store" not in first
    _, second = done(*release(club, "b.edges"))
    assert "These data were read before without a store" in second


def test_data_that_grow_go_on_with_their_budget(done, refused, club):
    done(*release(club, "a.edges", "--store", "a.db", "--budget", "2.5"))
    grown = club.with_name("grown.csv")
    grown.write_text(club.read_text() + "0,33\n34,35\n")
    more = ("release", grown, "b.edges", "--epsilon", "1", "--vertices", "36", "--fit", "none")
    assert "about other private data" in refused(*more, "--store", "a.db")
    done(*more, "--same-people-as", "a.db")
    assert gc.store_status("a.db").epsilon == 2.0
    again = (*more[:2], "c.edges", *more[3:])
    assert "does not allow another use" in refused(*again, "--store", "a.db")  # known by now
    assert "leave out --store" in refused(*again, "--store", "a.db", "--same-people-as", "a.db")
    other = ("cuts", grown, "c.csv", "--from", "0", "--to", "9", "--epsilon", "1")
    directed = refused(*other, "--kind", "directed", "--vertices", "36", "--store", "a.db")
    assert "read as undirected edges" in directed
    session = ("session", "start", grown, "--epsilon", "0.1", "--queries", "9")
    message = refused(*session, "--vertices", "36", "--store", "a.db")
    assert "sessions in" in message
    assert "are about the vertices that it was made for" in message


def test_other_data_between_the_same_vertices_are_other_data(done, tmp_path):
    for month, first in (("january", "ann"), ("february", "bob")):
        rows = f"{first},a,b\nann,b,a\nkim,a,b\n"  # the same pairs occur
        (tmp_path / f"{month}.csv").write_text(f"user,source,target\n{rows}")
    (tmp_path / "groups.csv").write_text("vertex,group\na,1\nb,2\n")
    (tmp_path / "a.txt").write_text("c\nd\n")
    for month in ("january", "february"):
        line = ("flows", f"{month}.csv", "groups.csv", f"{month}.out.csv", "--epsilon", "1")
        how = ("--columns", "user=user", "--privacy-unit", "user:1", "--kind", "directed")
        done(*line, *how, "--store", f"{month}.db", "--expected-cell", "0")
    for month, weight in (("march", 1), ("april", 2)):
        (tmp_path / f"{month}.csv").write_text(f"source,target,weight\nc,d,{weight}\n")
        done(
            "release",
            f"{month}.csv",
            f"{month}.edges",
            *LINE.split()[:2],
            "--fit",
            "none",
            "--vertices",
            "a.txt",
            "--max-weight",
            "3",
            "--store",
            f"{month}.db",
            "--allow-useless",
        )


def test_the_index_holds_no_datum_and_is_readable_by_the_account_alone(done, club):
    done(*release(club, "a.edges", "--store", "a.db"))
    folder = known_data.state_folder()
    for file in folder.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    text = (folder / "known-data.jsonl").read_text()
    assert "club" not in text
    (folder / "key").unlink()  # under another key nothing is known
    assert known_data.uses_of_data(Subject.of(gc.datasets.load("karate"))) == ()


def test_several_threads_write_one_index():
    graphs = [gc.Graph([0], [k], vertices=20) for k in range(1, 17)]
    subjects = [Subject.of(graph) for graph in graphs]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: known_data.register(subjects[k], f"{k}.db", str(k)), range(16)))
    found = [known_data.uses_of_data(subject) for subject in subjects]
    assert [[use.store for use in uses] for uses in found] == [[f"{k}.db"] for k in range(16)]
    with (known_data.state_folder() / "known-data.jsonl").open("a") as file:
        file.write('{"digests": {"pa')  # a line that was cut off
    known_data.register(subjects[3], "again.db", "x")  # begins a line of its own
    assert [use.store for use in known_data.uses_of_data(subjects[3])] == ["3.db", "again.db"]


def test_an_index_that_cannot_be_used_is_told_in_a_line(refused, club, tmp_path, monkeypatch):
    (tmp_path / "state").write_text("")
    monkeypatch.setenv(known_data.STATE_FOLDER, str(tmp_path / "state"))
    message = refused(*release(club, "a.edges", "--store", "a.db"))
    assert "name another folder by the variable GRAPHCUTS_DP_STATE" in message


@pytest.mark.parametrize(
    ("platform", "variable", "ends"),
    [
        ("linux", "XDG_STATE_HOME", "graphcuts-dp"),
        ("win32", "LOCALAPPDATA", "graphcuts-dp"),
        ("linux", None, ".local/state/graphcuts-dp"),
    ],
)
def test_where_the_index_is(monkeypatch, tmp_path, platform, variable, ends):
    monkeypatch.delenv(known_data.STATE_FOLDER)
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(known_data.sys, "platform", platform)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "own"))
    assert str(known_data.state_folder()).startswith(str(tmp_path))
    assert known_data.state_folder().as_posix().endswith(ends)


def test_an_account_without_a_home_folder_is_told_to_name_one(monkeypatch):
    for name in (known_data.STATE_FOLDER, "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(known_data.sys, "platform", "linux")

    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(known_data.Path, "home", unknown)
    with pytest.raises(LedgerError, match="name a folder by the variable GRAPHCUTS_DP_STATE"):
        known_data.state_folder()
