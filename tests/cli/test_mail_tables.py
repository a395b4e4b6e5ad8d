"""A table of mails with dates: what `release` does where `flows` was charged before it."""

import json
from pathlib import Path

import pytest
from command_runs import run_line

PEOPLE = [f"p{number}" for number in range(12)]
READ = ("mail.csv", "--groups", "staff.csv", "--kind", "directed")


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHCUTS_DP_STATE", str(tmp_path / "state"))
    mails = [
        f"{PEOPLE[i % 12]},{PEOPLE[(i * i + 1) % 12]},2026-01-{1 + i % 28:02}" for i in range(300)
    ]
    Path("mail.csv").write_text("sender,recipient,sent_at\n" + "\n".join(mails) + "\n")
    Path("people.txt").write_text("\n".join(PEOPLE) + "\n")
    staff = [f"{person},{'IT' if i % 2 else 'Sales'}" for i, person in enumerate(PEOPLE)]
    Path("staff.csv").write_text("person,department\n" + "\n".join(staff) + "\n")


def run(*words):
    status, out, err = run_line(*words)
    return status, out + err


def release(*more, out="s.graphml", epsilon="4"):
    file, *read = READ
    return run("release", file, out, *read, "--epsilon", epsilon, "--allow-useless", *more)


def test_a_column_of_dates_is_ignored_by_its_name_and_named():
    status, text = release("--uncounted")
    assert status == 0, text
    assert "ignored: 'sent_at'" in text or "ignored: sent_at" in text
    assert "privacy unit: 1 edge" in text


@pytest.mark.thorough
def test_rows_that_count_are_the_privacy_unit_if_none_is_typed():
    status, text = release("--counting", "rows", "--uncounted")
    assert status == 0, text
    assert "privacy unit: 1 row" in text
    assert "are dropped: they cross no cut" in text  # loops, of which a graph has no cells
    status, text = run(
        *("cuts", "mail.csv", "parts.csv", "--from", "p0", "--to", "p1", "--epsilon", "5"),
        *("--vertices", "people.txt", "--counting", "rows", "--kind", "directed", "--dry-run"),
    )
    assert status == 0, text
    assert "privacy unit: 1 row" in text


def test_inspect_proposes_the_questions_where_names_suggest_dates_or_people():
    status, text = run("inspect", "mail.csv")
    assert status == 0
    assert "has no months (column 'sent_at')" in text
    assert "graphcuts-dp plan --ask mail.csv" in text.splitlines()
    named = run("inspect", "mail.csv", "--columns", "period=sent_at")[1]
    assert "plan --ask" not in named  # somebody has said what to do with it


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("first", "options"),
    [
        (("--counting", "rows"), "--counting rows and --privacy-unit row"),
        (("--privacy-unit", "edge:group-size=3"), "--privacy-unit edge:group-size=3"),
    ],
    ids=str,
)
def test_a_store_of_another_unit_names_the_options_that_fit(first, options):
    table = ("flows", "mail.csv", "staff.csv", "f.csv", "--kind", "directed", "--epsilon", "1")
    status, text = run(*table, "--store", "mail.db", *first)
    assert status == 0, text
    if first[0] == "--counting":
        assert "count, in cells of their own" in text
    status, text = release("--store", "mail.db")
    assert status == 2
    assert f"choose the privacy unit of the store by {options}, or name" in text
    typed = [word for word in options.split() if word != "and"]
    status, text = release("--store", "mail.db", *typed)
    assert status == 0, text


def test_a_report_states_no_more_than_the_budget_if_no_more_was_spent():
    """The sum of 0.2, 1 and 0.8 is 2, and its float is not."""
    table = ("flows", "mail.csv", "staff.csv", "--kind", "directed", "--counting", "rows")
    for number, epsilon in enumerate(("0.2", "1", "0.8")):
        budget = () if number else ("--budget", "2")
        out = f"f{number}.csv"
        line = (*table[:3], out, *table[3:], "--epsilon", epsilon, "--store", "mail.db", *budget)
        status, text = run(*line)
        assert status == 0, text
    assert json.loads(run_line("store", "status", "mail.db", "--json")[1])["epsilon"] == 2
    report = run("report", "f2.csv", "--store", "mail.db")[1]
    assert "epsilon = 2 of a budget of epsilon = 2: 0 is left" in report
    assert "2.001" not in report


def test_what_is_missing_of_a_table_between_two_sides_is_named():
    Path("films.csv").write_text("film,genre\nAlien,space\n")
    read = ("--right-groups", "films.csv", "--kind", "bipartite", "--epsilon", "1")
    status, text = run("flows", "ratings.csv", "out.csv", *read)
    assert status == 2
    assert "there are two: GROUPS are those of the left side, beside --right-groups" in text


def test_who_lists_users_as_vertices_is_told_where_the_list_may_come_from():
    Path("ratings.csv").write_text("user,film\np1,Alien\np2,Alien\n")
    Path("films.csv").write_text("film,genre\nAlien,space\n")
    status, text = run(
        *("flows", "ratings.csv", "staff.csv", "out.csv", "--right-groups", "films.csv"),
        *(
            "--kind",
            "bipartite",
            "--counting",
            "rows",
        ),
        *("--columns", "user=user,source=user,target=film", "--epsilon", "1", "--uncounted"),
        *("--privacy-unit", "user:max-contributions=2", "--expected-cell", "0"),
    )
    assert status == 0, text
    assert "a list that is made from the private file shows who is in it" in text
