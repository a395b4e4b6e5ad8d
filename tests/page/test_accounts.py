"""Accounts of a folder: what is asked before a new one, and what is said of all others."""

import json

import pytest
from page_cases import MAIL, TRIPS, placed

import graphcuts_dp as gc
from graphcuts_dp.page.accounts import PageAccount, names_for_report, unused_name
from graphcuts_dp.page.app import NOT_PRIVATE
from graphcuts_dp.page.products import PRODUCTS
from graphcuts_dp.page.runs import OTHER_ACCOUNTS_UNANSWERED

BUDGET = 2.0


def charged(path, epsilon, budget=BUDGET):
    """An account of other data, with one result."""
    graph = gc.datasets.load("karate")
    store = gc.Store(path, budget=budget) if budget else gc.Store(path)
    gc.release_graph(graph, epsilon=epsilon, store=store)


def trips_form(trips, folder, **more):
    values = {key: text for key, text in placed(TRIPS, folder).items() if key != "store"}
    return {"product": "table", "values": values | more, "source": str(trips)}


def test_the_accounts_of_a_folder_are_listed_with_what_they_have_used(page, trips, tmp_path):
    charged(tmp_path / "results" / "mail.db", 0.5)
    form = trips_form(trips, tmp_path)
    about = page.post("account", values=form["values"], source=form["source"])
    assert about["of_file"] == PageAccount(name="trips.csv.db").to_dict() == about["charged"]
    (other,) = about["others"]
    assert (other["name"], other["results"], other["is_new"]) == ("mail.db", 1, False)
    assert (other["used"], other["total"], other["left"]) == (0.5, BUDGET, pytest.approx(1.5))
    # The account of the same people, or one that is there already.
    values = form["values"] | {"same-people-as": "mail.db"}
    about = page.post("account", values=values, source=form["source"])
    assert (about["charged"]["name"], about["of_file"]["name"]) == ("mail.db", "trips.csv.db")
    values = form["values"] | {"store": "mail.db"}
    about = page.post("account", values=values, source=form["source"])
    assert (about["of_file"]["used"], about["others"], about["unused"]) == (0.5, [], "mail-2.db")


def test_a_damaged_account_does_not_hide_the_others(page, trips, tmp_path):
    charged(tmp_path / "results" / "mail.db", 0.5)
    (tmp_path / "results" / "broken.db").write_text("no account")
    form = trips_form(trips, tmp_path)
    about = page.post("account", values=form["values"], source=form["source"])
    assert [other["name"] for other in about["others"]] == ["mail.db"]


def test_a_new_account_beside_others_is_only_charged_once_it_is_said_whose_it_is(
    page, trips, tmp_path
):
    charged(tmp_path / "results" / "mail.db", 0.5)
    for product in ("table", "bound"):
        form = trips_form(trips, tmp_path) | {"product": product}
        form["values"] |= PRODUCTS[product].preset
        amount = page.post("preview", **form)["epsilon"]
        refusal = page.post("start", **form, confirmed=amount, status=422)
        assert refusal["detail"] == OTHER_ACCOUNTS_UNANSWERED
        assert refusal["step"] == "exact"
    assert not (tmp_path / "results" / "trips.csv.db").exists()
    # No account but its own: nothing is asked.
    (tmp_path / "results" / "mail.db").rename(tmp_path / "results" / "trips.csv.db")
    about = page.post("account", values=form["values"], source=form["source"])
    assert about["others"] == []


@pytest.mark.slow
def test_data_of_the_same_people_share_a_budget_and_others_stand_in_the_report(
    page, trips, tmp_path
):
    """One row more and another name: what is used up adds up, or the report names the account."""
    first = trips_form(trips, tmp_path, **{"budget.epsilon": "2"})
    run = page.post("start", **first, confirmed=1)["run"]
    assert page.end_of(run)["state"] == "done"
    more = trips.with_name("trips_may.csv")
    more.write_text(trips.read_text() + "u1;Hill;Harbour;2026-05-12;3,50\n")
    second = trips_form(more, tmp_path)
    page.post("start", **second, confirmed=1, status=422)
    shared = trips_form(more, tmp_path, **{"same-people-as": "trips.csv.db"})
    budget = page.post("preview", **shared)["budget"]
    assert (budget["used"], budget["total"], budget["is_fixed"]) == (1.0, BUDGET, True)
    run = page.post("start", **shared, confirmed=1)["run"]
    assert page.end_of(run)["state"] == "done"
    assert gc.store_status(tmp_path / "results" / "trips.csv.db").epsilon == BUDGET
    # The same rows once more: the account is used up, and is named with the way out.
    refusal = page.post("start", **first, confirmed=1, status=422)["detail"].casefold()
    assert "the account trips.csv.db is used up" in refusal
    assert "account of its own" in refusal
    # Other people, as somebody says: the report names the other account.
    other = trips.with_name("visits.csv")
    other.write_text(trips.read_text().replace("\nu", "\nv"))
    run = page.post("start", **trips_form(other, tmp_path), confirmed=1, separate=True)["run"]
    told = page.end_of(run)
    assert told["state"] == "done"
    assert "stores of other people, as the curator states: trips.csv.db." in told["sheets"]
    kept = json.loads(page.file(run, "report-answers.json"))
    assert kept == {"other_accounts": "trips.csv.db"}
    # Other rows under the same name: their account refuses them, and the page knows why.
    (tmp_path / "elsewhere").mkdir()
    changed = tmp_path / "elsewhere" / "visits.csv"
    changed.write_text(trips.read_text().replace("\nu", "\nw"))
    run = page.post("start", **trips_form(changed, tmp_path), confirmed=1)["run"]
    told = page.end_of(run)
    assert (told["state"], told["of_other_data"], told["account"]) == ("refused", True, None)


@pytest.mark.slow
def test_an_estimate_takes_a_budget_and_says_how_sure_it_is(page, trips, tmp_path):
    form = trips_form(trips, tmp_path, **PRODUCTS["bound"].preset) | {"product": "bound"}
    form["values"] |= {"budget.epsilon": "2", "epsilon": "0.5"}
    forecast = page.post("preview", **form, people=1000)
    assert forecast["estimate"]["is_informative"]
    assert forecast["budget"]["total"] == BUDGET
    run = page.post("start", **form, confirmed=0.5, people=1000)["run"]
    told = page.end_of(run)
    assert told["state"] == "done"
    rows = told["report"]["max_contributions"]
    assert f"more than {rows:,} rows, and at most " in told["estimate"]
    assert told["estimate"] in told["html"]
    assert "<table" not in told["html"]
    assert "gc.store_status" in page.file(run, "notebook.ipynb").decode()
    assert gc.store_status(tmp_path / "results" / "trips.csv.db").left == pytest.approx(1.5)
    (listed,) = page.post("runs")
    assert listed["data"] == "trips.csv, 2026-01..2026-06"


def test_another_kind_of_result_that_cannot_share_an_account_says_so(page, mail, tmp_path):
    values = placed(MAIL, tmp_path) | {"queries.queries": "5", "same-people-as": "mail.db"}
    about = {"product": "session", "values": values, "source": str(mail)}
    refusal = page.post("preview", **about, status=422)
    assert "needs an account of its own" in refusal["detail"]
    assert refusal["step"] == "exact"
    assert NOT_PRIVATE not in page.replies[-1].headers


def test_names_of_accounts_fit_into_a_line_of_the_report(tmp_path):
    few = [PageAccount(name="a.db"), PageAccount(name="b.db")]
    assert names_for_report(few) == "a.db, b.db"
    many = [PageAccount(name=f"account-{number}.db") for number in range(30)]
    line = names_for_report(many)
    assert len(line) <= 60
    shown, _, more = line.partition(" and ")
    assert len(shown.split(", ")) + int(more.split()[0]) == len(many)
    assert names_for_report([PageAccount(name="x" * 200), *few]) == "3 accounts"
    assert unused_name(tmp_path / "a.csv.db") == "a.csv-2.db"
    (tmp_path / "a.csv-2.db").touch()
    assert unused_name(tmp_path / "a.csv.db") == "a.csv-3.db"
