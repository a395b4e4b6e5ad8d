"""`graphcuts-dp resume`: what it says where it cannot go on by itself."""

import shutil
from fractions import Fraction

import pytest

import graphcuts_dp as gc
from graphcuts_dp.ledger.charges import begin_charge
from graphcuts_dp.privacy.composition import Cost

CLUB = gc.datasets.load("karate")
LINE = ("--epsilon", "1", "--vertices", "34", "--fit", "none", "--store", "club.db")


def pending():
    """A use that was begun in Python and has measured nothing."""
    guarantee = gc.PrivacyGuarantee(epsilon=1.0, neighbours="one pair")
    use = {"kind": "release", "parameters": {}, "cost": Cost.of_pure(Fraction(1))}
    begin_charge("club.db", CLUB, guarantee=guarantee, **use)


@pytest.mark.parametrize("finished", [False, True])
def test_a_use_of_python_is_resumed_in_python(refused, tmp_path, monkeypatch, finished):
    monkeypatch.chdir(tmp_path)
    if finished:
        gc.release_graph(CLUB, epsilon=1.0, fit="none", store="club.db")
    else:
        pending()
    message = refused("resume", "club.db")
    again = "gc.resume('club.db', use=1)" if finished else "gc.Store('club.db', resume=1)"
    assert again in message


def test_the_folder_in_which_a_command_ran_is_named_where_it_is_gone(
    done, refused, tmp_path, monkeypatch
):
    (tmp_path / "work").mkdir()
    CLUB.write(tmp_path / "work" / "club.csv")
    monkeypatch.chdir(tmp_path / "work")
    done("release", "club.csv", "out.edges", *LINE)
    shutil.move(tmp_path / "work" / "club.db", tmp_path / "club.db")
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(tmp_path / "work")
    assert "is not there any more: make it again; or in Python" in refused("resume", "club.db")


def test_the_private_file_is_replaced_and_no_other_word(done, tmp_path):
    CLUB.write(tmp_path / "club.csv")
    line = ("release", "club.csv", "out.edges", "--purpose", "club.csv", *LINE)
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
    pending()
    assert "that could be resumed; there is: 1" in refused("resume", "club.db", "--use", use)
