"""`graphcuts-dp flows-over-time`: one command a month, each refusal in one line."""

import json
import re
from pathlib import Path

import pytest
from command_runs import run_line

COLUMNS = "source=origin,target=destination,period=date"
MONTHS = ("2026-01", "2026-02", "2026-03")


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHCUTS_DP_STATE", str(tmp_path / "state"))
    Path("zones.csv").write_text("zone,district\nAirport,north\nHarbour,south\nMills,south\n")
    Path("zones.txt").write_text("Airport\nHarbour\nMills\n")
    grow(1)


def grow(months):
    """The table of trips after so many months: 40 a month of 5 people."""
    zones = ("Airport", "Harbour", "Mills")
    lines = ["user,origin,destination,date"]
    for month in MONTHS[:months]:
        lines += [
            f"u{i % 5},{zones[i % 3]},{zones[i % 2]},{month}-{1 + i % 28:02}" for i in range(40)
        ]
    Path("trips.csv").write_text("\n".join(lines) + "\n")


def line(month, *more, out="t.csv", columns=COLUMNS, epsilon="1", periods="2026-01..2026-03"):
    return (
        *("flows-over-time", "trips.csv", "zones.csv", out, "--period", month),
        *("--periods", periods, "--epsilon", epsilon, "--vertices", "zones.txt"),
        *("--kind", "directed", "--columns", columns, "--store", "s.db", *more),
    )


def done(*words):
    status, out, err = run_line(*words)
    assert status == 0, err
    return out, err


def refused(*words):
    status, _, err = run_line(*words)
    assert status == 2
    (problem,) = [text for text in err.splitlines() if text.startswith("error: ")]
    return problem


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--delta", "1e-6"),
        ("--strategy", "independent"),
        ("--privacy-unit", "user:max-contributions=4"),
        ("--privacy-unit", "user:max-contributions=4", "--whole"),
        ("--privacy-unit", "user:max-contributions=4,per-period"),
    ],
)
def test_month_after_month(more):
    columns = COLUMNS + (",user=user" if "--privacy-unit" in more else "")
    for number, month in enumerate(MONTHS, 1):
        grow(number)
        out, err = done(*line(month, "--force", *more, columns=columns), "--json")
        assert "cost epsilon once" in err
        told = json.loads(out)
        assert told["published"] == list(MONTHS[:number])
    (use,) = json.loads(done("store", "status", "s.db", "--json")[0])["uses"]
    assert use["state"] == "finished"
    lines = Path("t.csv").read_text().splitlines()
    assert [text for text in lines if text.startswith("2026,north,south,")]
    out, _ = done(
        "answer", "t.csv", "--from", "north", "--to", "south", "--period", "2026-01..2026-02"
    )
    assert re.search(r"[\d,.]+ rows, between [\d,]+ and [\d,]+ \(95%\)", out)
    done("answer", "t.csv", "--from", "*", "--to", "south")
    done("store", "check", "s.db", "t.csv")
    done("inspect", "t.csv")
    assert "Rows that came after" in done("report", "t.csv", "--store", "s.db")[0]
    assert "intervals hold" not in refused("answer", "t.csv", "--from", "north", "--simultaneous")


def test_a_month_again_is_the_same_bytes_and_reads_no_private_file():
    done(*line("2026-01"))
    before = {path.name: path.read_bytes() for path in Path().glob("t.csv*")}
    assert len(before) == 3
    assert "t.csv exists" in refused(*line("2026-01"))
    Path("trips.csv").unlink()
    _, err = done(*line("2026-01", "--force"))
    assert "written from the store" in err
    assert before == {path.name: path.read_bytes() for path in Path().glob("t.csv*")}
    done(*line("2026-01", out="other.csv"))
    assert Path("other.csv").read_bytes() == before["t.csv"]


def test_what_has_changed_is_named_in_one_line():
    done(*line("2026-01"))
    grow(2)
    for words, message in (
        (line("2026-03", "--force"), "next one of the series 'flows' is 2026-02"),
        (line("2026-02", "--force", epsilon="2"), "epsilon: 1.0, and now it is 2.0"),
        (line("2026-02", "--force", periods="2026-01..2026-04"), "other periods"),
        (line("2026-02", "--force", "--delta", "1e-6"), "name it by --series"),
        (line("2026-02", "--force", "--strategy", "square-root"), "--delta"),
        (line("2027-02", "--force"), "none of the declared periods"),
        (line("2026-02", "--force", "--no-keep"), "--no-keep"),
    ):
        assert message in refused(*words)
    Path("zones.csv").write_text("zone,district\nAirport,north\nHarbour,north\nMills,south\n")
    assert "other groups" in refused(*line("2026-02", "--force"))
    assert json.loads(done("store", "status", "s.db", "--json")[0])["epsilon"] == 1


def test_what_is_missing_is_asked_for():
    words = line("2026-01")
    without = {
        name: [word for i, word in enumerate(words) if name not in (word, words[i - 1])]
        for name in ("--period", "--periods", "--store")
    }
    assert "--period LABEL" in refused(*without["--period"])
    assert "add, for example, --store" in refused(*without["--store"])
    assert "--periods" in refused(*without["--periods"])
    assert not Path("s.db").exists()


def test_a_dry_run_says_what_to_expect_and_reads_nothing():
    Path("trips.csv").unlink()
    out, _ = done(*line("2026-01"), "--dry-run", "--json")
    told = json.loads(out)
    assert [row["of"] for row in told["errors"]] == [
        "a cell, one month",
        "a cell, 3 months together",
    ]
    assert "cost epsilon once for one row" in " ".join(told["notes"])
    assert not Path("s.db").exists()


def test_a_later_month_than_the_first_is_no_series_and_a_table_of_its_own_is_named():
    later = refused(*line("2026-02"))
    assert "has no period yet, and starts with 2026-01" in later
    assert later.endswith("--same-people-as STORE")


def test_a_series_is_not_resumed_and_says_what_to_do():
    done(*line("2026-01"))
    assert "nothing that could be resumed" in refused("resume", "s.db")


def test_a_store_that_was_put_back_measures_no_month_twice():
    columns = COLUMNS
    grow(2)
    done(*line(MONTHS[0], columns=columns))
    before = Path("s.db").read_bytes()
    done(*line(MONTHS[1], "--force", columns=columns))
    table = Path("t.csv").read_bytes()
    Path("s.db").write_bytes(before)
    problem = refused(*line(MONTHS[1], "--force", columns=columns))
    assert "the store was put back to an earlier time: use its latest copy" in problem
    assert Path("t.csv").read_bytes() == table


def test_a_table_of_another_store_is_not_replaced():
    done(*line(MONTHS[0]))
    Path("s.db").unlink()
    problem = refused(*line(MONTHS[0], "--force", "--separate-budget", "a test"))
    assert "t.csv is a table of another series or store" in problem


def test_an_older_copy_than_the_expected_head_is_refused():
    done(*line(MONTHS[0]))
    before = Path("s.db").read_bytes()
    grow(2)
    done(*line(MONTHS[1], "--force"))
    out, _ = done("store", "status", "s.db", "--json")
    head = json.loads(out)["head"]
    Path("s.db").write_bytes(before)
    problem = refused(*line(MONTHS[1], "--expect-head", head, out="other.csv"))
    assert "is an older copy" in problem


def test_a_dry_run_tells_what_the_store_would_refuse():
    person = ("--privacy-unit", "user:max-contributions=4,per-period", "--dry-run")
    columns = COLUMNS + ",user=user"
    assert "would refuse" not in done(*line("2026-01", "--dry-run"))[1]
    done(*line("2026-01", "--budget", "1"))
    assert "would refuse" not in done(*line("2026-02", "--dry-run"))[1]
    assert "would refuse this" in done(*line("2026-01", *person, columns=columns))[1]
    assert "would refuse this" in done(*line("2026-03", "--dry-run"))[1]  # not the next one
    again = line("2026-01", "--series", "second", "--dry-run")
    assert "budget" in done(*again)[1]
    table = ["flows", "trips.csv", "zones.csv", "f.csv", "--epsilon", "1", "--store", "s.db"]
    table += ["--columns", COLUMNS, "--periods", "2026-01..2026-03", "--vertices", "zones.txt"]
    _, err = done(*table, "--dry-run")
    assert "read as directed edges: read them so" in err
    assert "--kind directed keeps them apart" in err
    assert "does not allow another use" in done(*table, "--kind", "directed", "--dry-run")[1]


def test_a_bound_for_all_months_shows_no_trend_and_says_so_everywhere():
    columns, bound = COLUMNS + ",user=user", ("--privacy-unit", "user:max-contributions=4")
    no_trend = "do not read a decline"
    assert no_trend in done(*line("2026-01", *bound, "--dry-run", columns=columns))[1]
    for number, month in enumerate(MONTHS[:2], 1):
        grow(number)
        assert no_trend in done(*line(month, "--force", *bound, columns=columns))[1]
    assert no_trend in Path("t.csv").read_text().splitlines()[0]
    ask = ("answer", "t.csv", "--from", "*", "--to", "south")
    assert no_trend in done(*ask, "--period", "2026-02")[0]
    assert no_trend not in done(*ask)[0]  # all months so far, compared with none
    assert no_trend in done("report", "t.csv", "--store", "s.db")[0]


def test_what_a_month_costs_in_accuracy_is_said_before_it_is_charged():
    grow(1)
    noise = refused(*line("2026-01", "--expected-cell", "0.5"))
    assert "above the 0.5 that you expect in one; raise epsilon to" in noise
    assert not Path("s.db").exists()
    _, err = done(*line("2026-01", "--dry-run"))
    assert "--expected-cell NUMBER tells what you expect" in err
    assert "expected_cell=" not in err  # which is for Python
    _, err = done(*line("2026-01", periods="2026-01..2026-12"))
    assert "note: Expected error of a cell of level 'district' in one month: " in err
    assert "--strategy independent" in err


def test_a_picture_of_all_months_so_far_is_drawn_and_checked_before_anything_is_charged():
    assert "a plot ends in" in refused(*line("2026-01", "--plot", "months.txt"))
    Path("months.png").write_text("")
    assert "months.png exists" in refused(*line("2026-01", "--plot", "months.png"))
    assert not Path("s.db").exists()
    _, err = done(*line("2026-01", "--plot", "months.png", "--force"))
    assert "months.png" in err
    assert "read_csv('t.csv', skiprows=1)" in err
    assert Path("t.csv").read_text().startswith("# ")
    assert Path("months.png").read_bytes().startswith(b"\x89PNG")
