"""`graphcuts-dp resume`: what it says where it cannot go on by itself."""

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError
from graphcuts_dp.cli import report
from graphcuts_dp.ledger.charges import begin_charge
from graphcuts_dp.plugins import Cost

CLUB = gc.datasets.load("karate")
OPTIONS = ("--epsilon", "1", "--vertices", "34", "--fit", "none", "--store", "club.db")


def begin_use_in_python():
    """Begin a use as Python does, and leave it before anything is measured."""
    guarantee = gc.PrivacyGuarantee(epsilon=1.0, neighbours="one pair")
    use = {"kind": "release", "parameters": {}, "cost": Cost.of_pure(Fraction(1))}
    begin_charge("club.db", CLUB, guarantee=guarantee, **use)


@pytest.mark.parametrize("finished", [False, True])
def test_a_use_that_python_began_is_resumed_in_python(refused, tmp_path, monkeypatch, finished):
    monkeypatch.chdir(tmp_path)
    if finished:
        gc.release_graph(CLUB, epsilon=1.0, fit="none", store="club.db")
    else:
        begin_use_in_python()
    message = refused("resume", "club.db")
    again = "gc.resume('club.db', use=1)" if finished else "gc.Store('club.db', resume=1)"
    assert again in message


def test_the_folder_in_which_a_command_ran_is_named_where_it_is_gone(
    done, refused, tmp_path, monkeypatch
):
    (tmp_path / "work").mkdir()
    CLUB.write(tmp_path / "work" / "club.csv")
    monkeypatch.chdir(tmp_path / "work")
    done("release", "club.csv", "out.edges", *OPTIONS)
    shutil.move(tmp_path / "work" / "club.db", tmp_path / "club.db")
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(tmp_path / "work")
    assert "is not there any more: make it again; or in Python" in refused("resume", "club.db")


def test_the_private_file_is_replaced_and_no_other_word(done, tmp_path):
    CLUB.write(tmp_path / "club.csv")
    line = ("release", "club.csv", "out.edges", "--purpose", "club.csv", *OPTIONS)
    done(*line)
    for path in tmp_path.glob("out.edges*"):
        path.unlink()
    shutil.move(tmp_path / "club.csv", tmp_path / "moved.csv")
    done("resume", "club.db", "--data", "moved.csv")
    assert gc.Release.load("out.edges").guarantee.provenance.purpose == "club.csv"
    done("resume", "club.db", "--use", "1", "--force")
    assert len(gc.store_status("club.db").uses) == 1


@pytest.mark.parametrize("use", ["0", "7", "-1", "9" * 38])
def test_an_unknown_use_is_refused(refused, tmp_path, monkeypatch, use):
    monkeypatch.chdir(tmp_path)
    begin_use_in_python()
    assert "that could be resumed; there is: 1" in refused("resume", "club.db", "--use", use)


ROWS = "from,to,user\n" + "a,b,u\nb,c,v\na,c,w\n" * 40
FLOWS = ("flows", "trips.csv", "zones.csv", "table.csv", "--epsilon", "1", "--columns", "user=user")
FLOWS = (*FLOWS, "--kind", "directed", "--privacy-unit", "user:max-contributions=9")


@pytest.fixture
def failed(call):
    """Run a command that fails, perhaps after it has written files: the line of its error."""

    def run(*arguments):
        status, _, err = call(*arguments)
        (line,) = (line for line in err.splitlines() if line.startswith("error: "))
        assert status == 2
        return line

    return run


@pytest.fixture
def trips(tmp_path, monkeypatch):
    """Write trips, and let the disk be full for pages; yields a function that frees it."""
    (tmp_path / "trips.csv").write_text(ROWS)
    (tmp_path / "zones.csv").write_text("zone,area\na,north\nb,north\nc,south\n")
    monkeypatch.chdir(tmp_path)

    def full(*_, **__):
        raise FileFormatError("cannot write it: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(gc.Flows, "to_html", full)
        yield patched.undo


def test_files_that_are_whole_are_named_where_a_later_one_cannot_be_written(trips, failed, done):
    outputs = ("--margins", "sums.csv", "--html", "page.html")
    message = failed(*FLOWS, *outputs, "--store", "trips.db")
    written = ["table.csv", "table.csv.noisy.npz", "table.csv.json", "sums.csv"]
    assert f"; written before, and whole: {', '.join(written)}; epsilon = 1 was spent" in message
    assert message.rstrip().endswith("resume with: graphcuts-dp resume trips.db --force")
    before = gc.load("table.csv").values()
    free_disk = trips
    free_disk()
    occupied = failed("resume", "trips.db")
    assert "exists; choose another name" in occupied
    assert occupied.rstrip().endswith("graphcuts-dp resume trips.db --force")
    done("resume", "trips.db", "--force")
    assert (gc.load("table.csv").values() == before).all()
    assert "<html" in Path("page.html").read_text()
    assert len(gc.store_status("trips.db").uses) == 1


def test_without_a_store_the_table_is_there_to_go_on_with(trips, failed):
    message = failed(*FLOWS, "--html", "page.html", "--uncounted")
    assert "written before, and whole: table.csv, " in message
    assert message.rstrip().endswith("gc.load('table.csv') in Python")
    free_disk = trips
    free_disk()
    gc.load("table.csv").to_html("page.html")


@pytest.mark.usefixtures("trips")
def test_no_file_is_named_as_written_if_none_is(failed):
    assert "written before" not in failed(*FLOWS, "--html", "page.txt", "--uncounted")
    failed(*FLOWS, "--html", "page.html", "--uncounted")
    assert "written before" not in failed("report", "none.csv")


def test_a_report_is_named_where_the_entry_of_the_registry_cannot_be_written(
    failed, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    gc.release_graph(CLUB, epsilon=1.0, fit="none").save("club.csv")
    write = report.write_out

    def full(parts, output, *, force):
        if output.endswith(".json"):
            raise FileFormatError("cannot write it: No space left on device")
        write(parts, output, force=force)

    monkeypatch.setattr(report, "write_out", full)
    message = failed("report", "club.csv", "report.html", "--registry", "entry.json")
    assert "written before, and whole: report.html; write the other one" in message
