"""`graphcuts-dp report`, and what it refuses."""

import json

import pytest

EDGES = "".join(f"{i} {(i + step) % 12}\n" for i in range(12) for step in (1, 3))
READ = ("--vertices", "12", "--epsilon", "2")


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "in.edges").write_text(EDGES)
    groups = "".join(f"{i},{'a' if i < 6 else 'b'}\n" for i in range(12))
    (tmp_path / "staff.csv").write_text(f"vertex,half\n{groups}")
    return tmp_path


@pytest.fixture
def _flows(done):
    stated = ("--budget", "4", "--purpose", "Timetable", "--author", "City office")
    done("flows", "in.edges", "staff.csv", "out.csv", *READ, "--store", "data.db", *stated)


@pytest.mark.usefixtures("_flows")
def test_a_report_is_text_a_page_or_an_entry(done, told, folder):
    text, _ = done("report", "out.csv", "--store", "data.db")
    assert text.startswith("# Table of flows")
    for part in ("Timetable", "City office", "2 is left", "has recorded this code", "- [ ] "):
        assert part in text
    (folder / "in.edges").unlink()  # no private file is read
    made = told("report", "out.csv.json", "page.html", "--store", "data.db", "--registry", "e.json")
    assert made["files"] == ["page.html", "e.json"]
    code = made["check_code"]
    assert code in (folder / "page.html").read_text()
    entry = json.loads((folder / "e.json").read_text())
    assert entry["deployment"]["basic"]["name"] == "Timetable"
    done("report", "out.csv", "text.md", "--store", "data.db", "--code", code)
    written = (folder / "text.md").read_text()
    assert written.replace("The code is the one that was typed.\n", "") == text
    assert "Results in a store" in done("report", "data.db")[0]


@pytest.mark.usefixtures("_flows")
def test_people_answer_what_no_program_can_know(done, told):
    typed = ("--answers", "access=Ann\\, and Ben,other-results=none")
    hazards = told("report", "out.csv", "page.html", *typed)["hazards"]
    answers = {each["name"]: each["answer"] for each in hazards if each["answer"]}
    assert answers["Access to the private data"] == "Ann, and Ben"
    assert answers["Other publications of the same data"] == "none"
    assert len(answers) == 2
    text = done("report", "out.csv", *typed)[0]
    assert "Who may read the private file and the store? Ann, and Ben" in text


@pytest.mark.usefixtures("_flows")
def test_answers_that_the_page_wrote_beside_a_result_count(done, refused, folder):
    page_wrote = {"access": "Two people", "other_accounts": "buses.db", "legal_basis": "§ 23 IfSG"}
    file = folder / "report-answers.json"
    file.write_text(json.dumps(page_wrote), encoding="utf-8")
    text = done("report", "out.csv", "--store", "data.db", "--answers", "access=Ann")[0]
    assert "buses.db" in text
    assert "§ 23 IfSG" in text
    assert "Who may read the private file and the store? Ann" in text  # what is typed goes first
    assert "Two people" not in text
    file.write_text("[")
    assert "report-answers.json is damaged" in refused("report", "out.csv")


@pytest.mark.usefixtures("_flows")
def test_what_is_refused(refused, done):
    assert "the check code is" in refused("report", "out.csv", "--code", "0000-0000-0000-0000")
    assert "a report ends in .html or .md" in refused("report", "out.csv", "out.pdf")
    assert "has no receipt beside it, and is no store" in refused("report", "in.edges")
    assert "does not exist" in refused("report", "nothing.csv")
    assert "is a store itself" in refused("report", "data.db", "--store", "data.db")
    assert "leave it out" in refused("report", "out.csv", "--purpose", "Another")
    assert "leave it out" in refused("report", "out.csv", "--who", "Another")
    assert "must be one line" in refused("report", "out.csv", "--answers", f"access={'x' * 121}")
    done("report", "out.csv", "page.html")
    assert "page.html" in refused("report", "out.csv", "page.html")
    done("report", "out.csv", "page.html", "--force")
    done("flows", "in.edges", "staff.csv", "seeded.csv", *READ, "--seed", "1", "--uncounted")
    refusal = refused("report", "seeded.csv", "--registry", "entry.json")
    assert "guarantees nothing" in refusal


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("skip", "sentence"),
    [
        ((), "No row was skipped: one that could not be used would have stopped"),
        (("--columns", "on-bad=skip"), "Rows that could not be used were skipped"),
        (("--columns=on_bad=skip",), "Rows that could not be used were skipped"),
    ],
)
def test_skipped_rows_are_told_by_the_options_and_never_counted(skip, sentence, done, folder):
    (folder / "in.csv").write_text("user,from,to\n" + "".join(f"u{i},{i},0\n" for i in range(12)))
    unit = ("--privacy-unit", "user:max-contributions=1", "--columns", "user=user")
    done("flows", "in.csv", "staff.csv", "out.csv", *READ, *unit, *skip, "--store", "rows.db")
    assert sentence in done("report", "out.csv", "--store", "rows.db")[0]
    without = done("report", "out.csv")[0]
    assert sentence in without  # the receipt says it
    assert "Made without the store of this result" in without
    receipt = json.loads((folder / "out.csv.json").read_text())
    assert receipt["provenance"]["bad_rows"] == ("skip" if skip else "refuse")
    assert receipt["provenance"]["columns"] == {"users": "user"}


def test_a_receipt_is_the_same_whatever_number_of_rows_was_skipped(done, folder):
    """But for its sums: the rule is stated, and nothing that follows from private rows."""
    unit = ("--privacy-unit", "user:max-contributions=1", "--columns", "user=user,on-bad=skip")
    said = []
    for name, bad in (("few", 1), ("many", 9)):
        rows = "".join(f"u{i},{'?' if i < bad else i},0\n" for i in range(12))
        (folder / f"{name}.csv").write_text("user,from,to\n" + rows)
        done("flows", f"{name}.csv", "staff.csv", f"{name}-out.csv", *READ, *unit, "--uncounted")
        receipt = json.loads((folder / f"{name}-out.csv.json").read_text())
        said.append({**receipt["provenance"], "time": ""})
        for key in ("intervals", "counted_rows", "shares"):
            said[-1][key] = receipt[key]
    assert said[0] == said[1]
    assert said[0]["bad_rows"] == "skip"


PERSONS = "".join(f"u{i},{i},0,2026-0{1 + i % 2}-03\n" for i in range(12))


@pytest.mark.parametrize(
    ("unit", "used"),
    [
        ("user:max-contributions=3", "for each person in all 2 periods together"),
        ("user:max-contributions=3,per-period=yes", "in all 2 of them, 2 times as much"),
    ],
)
def test_an_officer_reads_who_is_protected_and_for_how_long(unit, used, done, folder):
    (folder / "in.csv").write_text(f"PatID,out of,into,day\n{PERSONS}")
    columns = ("--columns", "user=PatID,source=out of,target=into,period=day")
    months = ("--periods", "2026-01..2026-02", "--by", "month", "--privacy-unit", unit)
    done("flows", "in.csv", "staff.csv", "out.csv", *READ, *columns, *months, "--store", "rows.db")
    text = done("report", "out.csv", "--store", "rows.db")[0]
    for part in (
        "each person in the column \u201cPatID\u201d of the private file",
        "Columns: from \u201cout of\u201d to \u201cinto\u201d, dated by \u201cday\u201d",
        "such as a nurse in a patient's row, is not protected as a person",
        "the rows say of one person who is known to be in the data, twice epsilon counts",
        "without looking at the data, or by a choice that a store has charged: ....",
        used,
    ):
        assert part in text
    without = done("report", "out.csv", "--answers", "bounds=Custom of the house")[0]
    assert "each person in the column \u201cPatID\u201d" in without  # the receipt names it
    assert "from \u201cout of\u201d to \u201cinto\u201d, dated by \u201cday\u201d" in without
    assert "that a store has charged: Custom of the house" in without
