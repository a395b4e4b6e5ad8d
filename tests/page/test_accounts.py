"""Accounts (stores) in the page's folder: the question before a new one, and what is shown."""

import json
from pathlib import Path
from typing import Any

import pytest
from page_cases import MAIL, TRIPS, PageClient, with_paths_in

import graphcuts_dp as gc
from graphcuts_dp.page.accounts import PageAccount, names_for_report, unused_name
from graphcuts_dp.page.app import NOT_PRIVATE
from graphcuts_dp.page.products import PRODUCTS
from graphcuts_dp.page.runs import OTHER_ACCOUNTS_UNANSWERED

BUDGET = 2.0  # epsilon


@pytest.fixture
def mail_account(tmp_path):
    """Return an account of other data in the page's folder, with one result of epsilon = 0.5."""
    path = tmp_path / "results" / "mail.db"
    path.parent.mkdir(exist_ok=True)
    store = gc.Store(path, budget=BUDGET)
    gc.release_graph(gc.datasets.load("karate"), epsilon=0.5, store=store)
    return path


def form_of_trips(trips: Path, folder: Path, **values: str) -> dict[str, Any]:
    """Return the page's form for a table of a file of trips, without an account."""
    defaults = {key: text for key, text in with_paths_in(TRIPS, folder).items() if key != "store"}
    return {"product": "table", "values": defaults | values, "source": str(trips)}


def accounts_for(page: PageClient, form: dict[str, Any], **values: str) -> dict[str, Any]:
    """Return what the page shows of accounts for a form with some values changed."""
    return page.post("account", values=form["values"] | values, source=form["source"])


def test_a_new_account_is_proposed_and_the_others_are_listed_with_what_they_have_used(
    page, trips, tmp_path, mail_account
):
    accounts = accounts_for(page, form_of_trips(trips, tmp_path))
    new_account = PageAccount(name="trips.csv.db").to_dict()
    assert accounts["of_file"] == accounts["charged"] == new_account
    (other,) = accounts["others"]
    assert (other["name"], other["results"], other["is_new"]) == (mail_account.name, 1, False)
    assert (other["used"], other["total"], other["left"]) == (0.5, BUDGET, pytest.approx(1.5))


@pytest.mark.usefixtures("mail_account")
def test_the_account_of_the_same_people_is_charged_in_place_of_that_of_the_file(
    page, trips, tmp_path
):
    form = form_of_trips(trips, tmp_path)
    accounts = accounts_for(page, form, **{"same-people-as": "mail.db"})
    assert accounts["charged"]["name"] == "mail.db"
    assert accounts["of_file"]["name"] == "trips.csv.db"


@pytest.mark.usefixtures("mail_account")
def test_an_existing_account_of_the_file_is_shown_with_its_use_and_an_unused_name(
    page, trips, tmp_path
):
    accounts = accounts_for(page, form_of_trips(trips, tmp_path), store="mail.db")
    assert accounts["of_file"]["used"] == 0.5
    assert accounts["others"] == []
    assert accounts["unused"] == "mail-2.db"


def test_a_damaged_account_does_not_hide_the_others(page, trips, tmp_path, mail_account):
    (tmp_path / "results" / "broken.db").write_text("no account")
    accounts = accounts_for(page, form_of_trips(trips, tmp_path))
    assert [other["name"] for other in accounts["others"]] == [mail_account.name]


@pytest.mark.usefixtures("mail_account")
@pytest.mark.parametrize("product", ["table", "bound"])
def test_a_new_account_beside_others_is_not_charged_until_the_curator_says_whose_data_it_is(
    page, trips, tmp_path, product
):
    form = form_of_trips(trips, tmp_path, **PRODUCTS[product].preset) | {"product": product}
    epsilon = page.post("preview", **form)["epsilon"]
    refusal = page.post("start", **form, confirmed=epsilon, status=422)
    assert refusal["detail"] == OTHER_ACCOUNTS_UNANSWERED
    assert refusal["step"] == "exact"
    assert not (tmp_path / "results" / "trips.csv.db").exists()


def test_no_other_account_is_listed_if_the_file_has_the_only_one(
    page, trips, tmp_path, mail_account
):
    mail_account.rename(tmp_path / "results" / "trips.csv.db")
    assert accounts_for(page, form_of_trips(trips, tmp_path))["others"] == []


@pytest.fixture
def table_of_trips(page, trips, tmp_path):
    """Return the form of a table of trips that was run: it has used 1 of a budget of 2."""
    form = form_of_trips(trips, tmp_path, **{"budget.epsilon": str(BUDGET)})
    run = page.post("start", **form, confirmed=1)["run"]
    assert page.wait_for(run)["state"] == "done"
    return form


@pytest.mark.slow
def test_data_of_the_same_people_share_a_budget_until_it_is_used_up(
    page, trips, tmp_path, table_of_trips
):
    later_trips = trips.with_name("trips_may.csv")
    later_trips.write_text(trips.read_text() + "u1;Hill;Harbour;2026-05-12;3,50\n")
    page.post("start", **form_of_trips(later_trips, tmp_path), confirmed=1, status=422)
    shared = form_of_trips(later_trips, tmp_path, **{"same-people-as": "trips.csv.db"})
    budget = page.post("preview", **shared)["budget"]
    assert (budget["used"], budget["total"], budget["is_fixed"]) == (1.0, BUDGET, True)
    run = page.post("start", **shared, confirmed=1)["run"]
    assert page.wait_for(run)["state"] == "done"
    assert gc.store_status(tmp_path / "results" / "trips.csv.db").epsilon == BUDGET
    refusal = page.post("start", **table_of_trips, confirmed=1, status=422)["detail"].casefold()
    assert "the account trips.csv.db is used up" in refusal
    assert "account of its own" in refusal


@pytest.mark.slow
@pytest.mark.usefixtures("table_of_trips")
def test_data_of_other_people_have_their_own_account_which_refuses_other_rows(
    page, trips, tmp_path
):
    visits = trips.with_name("visits.csv")
    visits.write_text(trips.read_text().replace("\nu", "\nv"))
    run = page.post("start", **form_of_trips(visits, tmp_path), confirmed=1, separate=True)["run"]
    run_state = page.wait_for(run)
    assert run_state["state"] == "done"
    assert "stores of other people, as the curator states: trips.csv.db." in run_state["sheets"]
    answers = json.loads(page.file(run, "report-answers.json"))
    assert answers == {"other_accounts": "trips.csv.db"}
    # A file of the same name with other rows would be charged to the account of the first one.
    (tmp_path / "elsewhere").mkdir()
    other_visits = tmp_path / "elsewhere" / "visits.csv"
    other_visits.write_text(trips.read_text().replace("\nu", "\nw"))
    run = page.post("start", **form_of_trips(other_visits, tmp_path), confirmed=1)["run"]
    run_state = page.wait_for(run)
    assert run_state["state"] == "refused"
    assert run_state["of_other_data"]
    assert run_state["account"] is None


@pytest.mark.slow
def test_an_estimate_is_charged_to_the_budget_and_states_its_probability(page, trips, tmp_path):
    form = form_of_trips(trips, tmp_path, **PRODUCTS["bound"].preset) | {"product": "bound"}
    form["values"] |= {"budget.epsilon": "2", "epsilon": "0.5"}
    forecast = page.post("preview", **form, people=1000)
    assert forecast["estimate"]["is_informative"]
    assert forecast["budget"]["total"] == BUDGET
    run = page.post("start", **form, confirmed=0.5, people=1000)["run"]
    run_state = page.wait_for(run)
    assert run_state["state"] == "done"
    rows = run_state["report"]["max_contributions"]
    assert f"more than {rows:,} rows, and at most " in run_state["estimate"]
    assert run_state["estimate"] in run_state["html"]
    assert "<table" not in run_state["html"]
    assert "gc.store_status" in page.file(run, "notebook.ipynb").decode()
    assert gc.store_status(tmp_path / "results" / "trips.csv.db").left == pytest.approx(1.5)
    (past_run,) = page.post("runs")
    assert past_run["data"] == "trips.csv, 2026-01..2026-06"


def test_a_session_in_an_account_of_other_data_is_refused(page, mail, tmp_path):
    values = with_paths_in(MAIL, tmp_path) | {"queries.queries": "5", "same-people-as": "mail.db"}
    form = {"product": "session", "values": values, "source": str(mail)}
    refusal = page.post("preview", **form, status=422)
    assert "needs an account of its own" in refusal["detail"]
    assert refusal["step"] == "exact"
    assert NOT_PRIVATE not in page.replies[-1].headers


def test_many_names_of_accounts_are_shortened_to_a_line_of_the_report():
    two = [PageAccount(name="a.db"), PageAccount(name="b.db")]
    assert names_for_report(two) == "a.db, b.db"
    thirty = [PageAccount(name=f"account-{number}.db") for number in range(30)]
    line = names_for_report(thirty)
    assert len(line) <= 60
    names, _, number_of_others = line.partition(" and ")
    assert len(names.split(", ")) + int(number_of_others.split()[0]) == len(thirty)
    assert names_for_report([PageAccount(name="x" * 200), *two]) == "3 accounts"


def test_an_unused_name_has_the_first_free_number(tmp_path):
    assert unused_name(tmp_path / "a.csv.db") == "a.csv-2.db"
    (tmp_path / "a.csv-2.db").touch()
    assert unused_name(tmp_path / "a.csv.db") == "a.csv-3.db"
