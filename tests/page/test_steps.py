"""The steps without a browser: what is understood, what is confirmed, and how messages read."""

import csv
import json
import re

import pytest
from page_cases import MAIL, TRIPS, with_paths_in, write_contacts

import graphcuts_dp as gc
from graphcuts_dp.page.accounts import uses_on
from graphcuts_dp.page.app import NOT_PRIVATE
from graphcuts_dp.page.form import with_store
from graphcuts_dp.page.products import LOOK, PRODUCTS
from graphcuts_dp.page.runs import account_named_in
from graphcuts_dp.page.steps import STEPS
from graphcuts_dp.page.words import PLAIN

WARDS = {"periods": "2025-01..2025-06", "privacy-unit": "user"}
WARDS |= {"privacy-unit.max-contributions": "8"}
OPTIONS = re.compile(r"--[a-z]|\b[a-z_-]+=|\b[a-z]+_[a-z]+\b")


@pytest.fixture
def contacts(tmp_path):
    return write_contacts(tmp_path)


def of_wards(page, contacts):
    """What the page proposes of the file, with the list of the wards."""
    proposed = page.post("head", path=str(contacts), values={})["suggested"]
    return {**proposed, **WARDS, "groups": str(contacts.parent / "wards.csv")}


def test_columns_propose_who_is_a_person_and_what_is_a_date(page, contacts, mail):
    told = page.post("head", path=str(contacts), values={})
    assert told["names"] == ["patient", "from", "to", "date"]
    assert told["suggested"]["columns.user"] == "patient"
    assert told["suggested"]["columns.period"] == "date"
    assert page.post("head", path=str(mail), values={})["suggested"] == {}


def test_what_was_understood_is_said_without_any_row(page, contacts):
    values = of_wards(page, contacts)
    told = page.post("look", path=str(contacts), values=values)
    assert "from the place in \u201cfrom\u201d to the place in \u201cto\u201d" in told["direction"]
    sample = told["sample"]
    assert sample["means"] == ["from", "to", "person", "date"]
    places = {"Ward A", "Ward B", "Ward C", "ICU"}
    assert {cell for row in sample["rows"] for cell in row[:2]} <= places
    # The same for other rows below the same head.
    head = contacts.read_text().splitlines()[0]
    contacts.write_text(f"{head}\nsecret;x;y;never\n")
    assert page.post("look", path=str(contacts), values=values) == told


@pytest.mark.thorough
def test_rows_are_counted_by_a_program_that_is_started(page, contacts):
    """Which other tests fork, as that is quicker than to start it."""
    counted = page.post("row_counts", path=str(contacts), values=of_wards(page, contacts))
    assert (counted["rows"], counted["skipped"]) == (300, 300)  # the form of dates is not told


@pytest.mark.thorough
@pytest.mark.usefixtures("forked")
def test_german_dates_are_told_before_anything_is_spent(page, contacts):
    values = of_wards(page, contacts)
    with contacts.open() as file:
        rows = len(list(csv.reader(file))) - 1
    eyes = page.post("row_counts", path=str(contacts), values=values)
    assert NOT_PRIVATE in page.replies[-1].headers
    assert (eyes["rows"], eyes["skipped"], eyes["share"]) == (rows, rows, 1.0)
    assert not OPTIONS.search(eyes["faults"][0]["text"])
    (written,) = (key for key, example in eyes["date_formats"].items() if example == "31.01.2026")
    values["columns.date-format"] = written
    eyes = page.post("row_counts", path=str(contacts), values=values)
    assert (eyes["skipped"], eyes["date_formats"]) == (0, {})
    with contacts.open("a") as file:  # rows without a place, counted here by hand
        file.write("p1;;ICU;01.01.2025\np1;nowhere;ICU;01.01.2025\n")
    eyes = page.post("row_counts", path=str(contacts), values=values)
    assert (eyes["rows"], eyes["skipped"]) == (rows + 2, 2)
    lines = contacts.read_text().splitlines()
    where = {place for fault in eyes["faults"] for place in fault["where"]}
    assert where == {f"line {len(lines) - 1}", f"line {len(lines)}"}
    assert NOT_PRIVATE in page.replies[-1].headers


@pytest.mark.thorough(cases=2)
@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(
    ("months", "said", "any_outside"),
    [
        ("2025-01..2025-06", "6 months: 2025-01 to 2025-06", False),
        ("2024-01..2024-06", "6 months: 2024-01 to 2024-06", True),  # the wrong year
        ("2025-01..2025-03", "3 months: 2025-01 to 2025-03", True),
        ("2025", "1 year: 2025", False),
    ],
)
def test_rows_of_other_months_are_counted_in_the_panel(page, contacts, months, said, any_outside):
    """The panel counts what no number of the table will; other replies say only what was typed."""
    values = of_wards(page, contacts) | {"periods": months, "columns.date-format": "%d.%m.%Y"}
    with contacts.open() as file:
        dates = [row["date"].split(".") for row in csv.DictReader(file, delimiter=";")]
    year, last = int(months[:4]), int(months[-2:]) if len(months) > 4 else 12
    outside = sum(int(date[2]) != year or int(date[1]) > last for date in dates)
    assert (outside > 0) is any_outside
    eyes = page.post("row_counts", path=str(contacts), values=values)
    assert (eyes["outside"], eyes["skipped"], eyes["rows"]) == (outside, 0, len(dates))
    assert NOT_PRIVATE in page.replies[-1].headers
    assert page.post("look", path=str(contacts), values=values)["months"] == said


@pytest.mark.parametrize("confirmed", [None, 0, 0.5, 2, 1.0000001])
def test_only_the_amount_that_was_confirmed_is_spent(page, trips, tmp_path, confirmed):
    about = {"product": "table", "values": with_paths_in(TRIPS, tmp_path), "source": str(trips)}
    amount = {} if confirmed is None else {"confirmed": confirmed}
    refusal = page.post("start", **about, **amount, status=422)
    assert "confirm" in refusal["detail"]
    assert not list((tmp_path / "results").iterdir())


@pytest.mark.parametrize(
    ("answers", "status", "words"),
    [
        ({"access": "x" * 121}, 422, "at most 120 characters"),
        ({"access": "one\nand two"}, 422, "one line"),
        ({"salary": "none"}, 400, "no form of this page"),
        ({"access": 3}, 400, "no form of this page"),
    ],
)
def test_an_answer_for_the_report_that_cannot_be_printed_stops_the_run(
    page, trips, tmp_path, answers, status, words
):
    about = {"product": "table", "values": with_paths_in(TRIPS, tmp_path), "source": str(trips)}
    refusal = page.post("start", **about, confirmed=1, answers=answers, status=status)
    assert words in refusal["detail"]
    assert not list((tmp_path / "results").iterdir())


@pytest.mark.slow
def test_answers_for_the_report_are_printed_in_it_and_kept_beside_the_result(page, trips, tmp_path):
    """They are no part of the receipt, and no text of them becomes HTML."""
    about = {"product": "table", "values": with_paths_in(TRIPS, tmp_path), "source": str(trips)}
    typed = {"access": "two <b>people</b>", "legal_basis": "Art. 89 <GDPR>", "readers": "  "}
    assert {each["key"] for each in page.post("form")["questions"]} >= set(typed)
    run = page.post("start", **about, confirmed=1, answers=typed)["run"]
    told = page.wait_for(run)
    assert told["state"] == "done"
    assert "report-answers.json" in told["files"]
    kept = json.loads(page.file(run, "report-answers.json"))
    assert kept == {name: text for name, text in typed.items() if text.strip()}
    for shown in (told["sheets"], page.file(run, "report.html").decode()):
        assert "two &lt;b&gt;people&lt;/b&gt;" in shown
        assert "Art. 89 &lt;GDPR&gt;" in shown
        assert "<b>people" not in shown
        assert "<GDPR>" not in shown
    for name in set(told["files"]) - {"report-answers.json"}:
        assert b"GDPR" not in page.file(run, name)
    (tmp_path / "results" / run / "report-answers.json").write_text("{")
    assert "report-answers.json is damaged" in page.post("run", run=run, status=422)["detail"]


def spend(page, about, confirmed):
    run = page.post("start", **about, confirmed=confirmed)["run"]
    return page.wait_for(run)


@pytest.mark.slow
def test_a_budget_that_does_not_suffice_is_told_before_and_refused(page, trips, tmp_path):
    values = with_paths_in(TRIPS, tmp_path) | {"budget.epsilon": "2"}
    about = {"product": "table", "values": values, "source": str(trips)}
    budget = page.post("preview", **about)["budget"]
    assert (budget["uses"], budget["total"], budget["after"]) == (1.0, 2.0, 1.0)
    assert budget["refusal"] is None
    assert spend(page, about, 1)["state"] == "done"
    more = about | {"values": values | {"epsilon": "1.5"}}
    budget = page.post("preview", **more)["budget"]
    assert budget["left"] == pytest.approx(1)
    refusal = page.post("start", **more, confirmed=1.5, status=422)
    assert refusal["detail"].casefold() == budget["refusal"].casefold()
    assert refusal["step"] == "exact"
    assert not OPTIONS.search(refusal["detail"])
    assert len(uses_on(str(tmp_path / "results" / "trips.db"))) == 1
    exact = about | {"values": values | {"epsilon": f"{budget['left']:g}"}}
    assert spend(page, exact, float(f"{budget['left']:g}"))["state"] == "done"


@pytest.mark.slow
def test_an_estimate_of_rows_has_its_own_price_in_the_same_account(page, trips, tmp_path):
    values = with_paths_in(TRIPS, tmp_path) | dict(PRODUCTS["table"].preset)  # as the page has them
    own = PRODUCTS["bound"].by_key
    values = {key: text for key, text in values.items() if key in own}
    values |= {**PRODUCTS["bound"].preset, "budget.epsilon": "2"}
    about = {"product": "bound", "values": values, "source": str(trips)}
    price = page.post("preview", **about)["budget"]
    assert price["uses"] == float(PRODUCTS["bound"].preset["epsilon"])
    page.post("start", **about, confirmed=1, status=422)
    told = spend(page, about, price["uses"])
    assert told["state"] == "done"
    assert told["report"]["max_contributions"] >= 1
    (use,) = gc.store_status(tmp_path / "results" / "trips.db").uses
    assert use.use.guarantee.epsilon == price["uses"]
    about = {"product": "table", "values": with_paths_in(TRIPS, tmp_path), "source": str(trips)}
    assert page.post("preview", **about)["budget"]["used"] == pytest.approx(price["uses"])


def test_no_kind_of_result_takes_files_that_another_kind_writes(tmp_path):
    """What a form begins with is nothing to another form that does not write such files."""
    presets = {key: text for product in PRODUCTS.values() for key, text in product.preset.items()}
    assert presets["html"] == "table.html"
    values = with_paths_in(TRIPS, tmp_path) | presets
    for name, product in PRODUCTS.items():
        words = product.words(values, "trips.csv", tmp_path)
        written = {word for word in ("table.html", "table.png") if word in words}
        assert written == ({"table.html", "table.png"} if name == "table" else set()), name


@pytest.mark.thorough
def test_an_account_is_asked_before_the_confirmation(page, trips, tmp_path):
    """The file of the account lies in the folder of the page, wherever the page was started."""
    values = with_paths_in(TRIPS, tmp_path) | {"budget.epsilon": "2"}
    about = {"product": "table", "source": str(trips)}
    first = page.post("preview", **about, values=values)
    assert not first["budget"]["is_fixed"]
    assert spend(page, about | {"values": values}, 1.0)["state"] == "done"
    values |= {"budget.epsilon": "5"}  # typed after the first result: it is nothing to the account
    for more, reason in (
        ({"epsilon": "1.5"}, "Only 1 of the budget is left"),
        ({"privacy-unit": "row", "columns.user": ""}, "the account would refuse this"),
        ({"columns.user": "amount"}, None),
    ):
        told = page.post("preview", **about, values=values | more)
        budget = told["budget"]
        assert (budget["total"], budget["used"], budget["is_fixed"]) == (2.0, 1.0, True)
        assert not any("would refuse" in note for note in told["notes"])
        if reason is None:
            assert budget["refusal"] is None, "only the rows tell that this is other data"
            continue
        assert reason in budget["refusal"]
        assert not OPTIONS.search(budget["refusal"].replace(str(tmp_path), ""))
        confirmed = {"confirmed": told["epsilon"], "status": 422}
        refusal = page.post("start", **about, values=values | more, **confirmed)
        assert reason.casefold() in refusal["detail"].casefold()
    assert len(uses_on(str(tmp_path / "results" / "trips.db"))) == 1


def test_a_refusal_names_the_account_to_use_if_it_is_there(tmp_path):
    refusal = f"these data were charged to the store {tmp_path}/a b.db: add --store '{tmp_path}/a b"
    assert account_named_in(refusal) is None
    (tmp_path / "a b.db").touch()
    assert account_named_in(refusal) == f"{tmp_path}/a b.db"
    assert account_named_in("no such column") is None


@pytest.mark.usefixtures("mail")
@pytest.mark.parametrize(
    ("product", "values", "more", "step"),
    [
        ("table", TRIPS, {"groups": ""}, "check"),
        ("table", TRIPS, {"columns.user": ""}, "check"),
        ("table", TRIPS, {"periods": "soon"}, "check"),
        ("table", TRIPS, {"columns.date-format": "%d"}, "check"),
        ("table", TRIPS, {"privacy-unit.max-contributions": ""}, "count"),
        ("table", TRIPS, {"privacy-unit": "vertex", "privacy-unit.max-degree": "3"}, None),
        ("table", TRIPS, {"by": "week"}, None),
        ("table", TRIPS, {"epsilon": "100"}, "exact"),
        ("graph", MAIL, {"dry-run": ""}, "out"),
        ("graph", MAIL, {"privacy-unit": "vertex"}, "count"),
        ("session", {"vertices": "staff.txt", "epsilon": "1"}, {}, "out"),
    ],
)
def test_a_message_names_fields_of_the_page_and_the_step_to_go_to(
    page, trips, tmp_path, product, values, more, step
):
    given = with_paths_in(values, tmp_path) | more
    about = {"product": product, "values": given, "source": str(trips)}
    refusal = page.post("preview", **about, status=422)
    assert not OPTIONS.search(refusal["detail"].replace(str(tmp_path), "")), refusal
    assert step is None or refusal["step"] == step, refusal
    assert refusal["step"] in (None, *STEPS)


def test_the_account_is_named_after_the_file_that_is_read_in_the_end():
    assert with_store({}, "/a/wrong.csv")["store"] == "wrong.csv.db"
    assert with_store({"columns.user": "who"}, "/a/right.csv")["store"] == "right.csv.db"
    assert with_store({"store": "mine.db"}, "/a/right.csv")["store"] == "mine.db"


def test_odds_and_errors_are_those_of_the_dry_run(page, trips, tmp_path):
    values = with_paths_in(TRIPS, tmp_path)
    told = page.post("preview", product="table", values=values, source=str(trips))
    unit = gc.PrivacyUnit.user(max_contributions=20)
    stated = [vars(odds) for odds in unit.explain(epsilon=1.0).odds]
    assert json.loads(json.dumps(stated)) == told["odds"]
    assert told["errors"] == PRODUCTS["table"].preview(values)["errors"]
    assert told["picture"]["numbers"] == 6 * 2 * 2  # months, and districts from and to


def test_the_reader_of_private_files_writes_nothing_here():
    assert not LOOK.result
    assert LOOK.in_words("pass --columns user=COLUMN, or --by") != "pass --columns user=COLUMN"


@pytest.mark.thorough
@pytest.mark.usefixtures("forked")
def test_text_of_excel_is_mended_by_a_button_and_not_by_leaving_rows_out(page, contacts):
    values = of_wards(page, contacts) | {"columns.date-format": "%d.%m.%Y"}
    for file in (contacts, contacts.parent / "wards.csv"):
        text = file.read_text().replace("Ward A", "Station Süd")
        file.write_bytes(text.encode("cp1252"))
    looked = page.post("look", path=str(contacts), values=values)  # the list is public
    read_as = "; it is read as text of Excel on Windows (cp1252)"
    assert looked["public_list"] == f"The list names 4 places in 2 areas{read_as}"
    assert looked["problems"] == []
    eyes = page.post("row_counts", path=str(contacts), values=values)
    assert eyes["encodings"] == {"cp1252": "Excel on Windows"}
    assert eyes["mend_first"]
    assert eyes["skipped"] > 0
    # The encoding of the private file holds for a list that is not UTF-8.
    mended = values | {"columns.encoding": "cp1252"}
    assert page.post("look", path=str(contacts), values=mended)["problems"] == []
    eyes = page.post("row_counts", path=str(contacts), values=mended)
    assert (eyes["skipped"], eyes["encodings"], eyes["mend_first"]) == (0, {}, False)
    about = {"product": "table", "source": str(contacts)}
    assert page.post("preview", **about, values=mended | {"epsilon": "1"})["errors"]
    # A list that is UTF-8 stays so.
    (contacts.parent / "wards.csv").write_text("ward;house\nStation Süd;a\nICU;b\n")
    assert "Süd" in str(page.post("look", path=str(contacts), values=mended)["sample"])


def test_names_of_columns_that_are_not_utf_8_are_refused_with_a_button(page, contacts):
    contacts.write_bytes("patient;from;to;Jahrestag größer\n".encode("cp1252"))
    refusal = page.post("head", path=str(contacts), values={}, status=422)
    assert refusal["encodings"] == {"cp1252": "Excel on Windows"}
    values = {"columns.encoding": "cp1252"}
    assert page.post("head", path=str(contacts), values=values)["names"][0] == "patient"


def test_a_list_of_one_column_is_one_of_areas(page, contacts):
    values = of_wards(page, contacts) | {"epsilon": "1"}
    (contacts.parent / "wards.csv").write_text("ward\nWard A\nWard B\nWard C\nICU\n")
    looked = page.post("look", path=str(contacts), values=values)
    assert looked["public_list"] == "The list names 4 places; each is an area of its own"
    preview = page.post("preview", product="table", values=values, source=str(contacts))
    assert "level 'ward'" in preview["errors"][0]["of"]


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"groups": ""}, "groups"),
        ({"groups": "contacts.csv"}, "groups"),
        ({"groups": "none.csv"}, "groups"),
        ({"periods": ""}, "periods"),
        ({"periods": "soon"}, "periods"),
        ({"groups": "", "vertices": "4"}, None),
        ({"groups": "", "public-vertices-from-file": "yes"}, None),
    ],
)
def test_what_is_missing_is_said_at_its_field_before_the_next_step(page, contacts, more, key):
    values = of_wards(page, contacts) | more
    if values["groups"]:
        values["groups"] = str(contacts.parent / values["groups"])
    problems = page.post("look", path=str(contacts), values=values)["problems"]
    assert [problem["key"] for problem in problems] == ([] if key is None else [key])
    assert not any(OPTIONS.search(problem["text"]) for problem in problems)


def test_the_form_of_dates_is_said_in_words(page, contacts):
    values = of_wards(page, contacts) | {"columns.date-format": "%d.%m.%Y"}
    looked = page.post("look", path=str(contacts), values=values)
    assert looked["time_zone"] == "dates are read as day.month.year"


def test_values_in_messages_are_in_the_words_of_the_page():
    product = PRODUCTS["table"]
    assert product.in_words("leave them out with --columns on-bad=skip").endswith(
        "\u201cRows that cannot be used\u201d: leave them out"
    )
    assert product.in_words("unless you add --kind directed").endswith("\u201d: count apart")
    assert product.in_words("pass --groups-columns header=yes").endswith(
        "\u201cThe first line of the list of places names its columns\u201d: yes"
    )


def test_labels_of_the_fields_are_different():
    for product in PRODUCTS.values():
        labels = [field["label"] for key, field in product.by_key.items() if key in PLAIN]
        assert len(set(labels)) == len(labels)


def test_the_copy_of_a_file_is_deleted_where_nothing_needs_it(page, trips, tmp_path):
    copy = page.post("upload/trips.csv", trips.read_bytes())["path"]
    assert page.post("forget", path=str(trips)) == {"deleted": False}
    assert trips.exists()
    assert page.post("forget", path=copy) == {"deleted": True}
    assert list((tmp_path / "results" / "data").iterdir()) == []
    assert page.post("forget", path=copy) == {"deleted": False}


@pytest.mark.parametrize(
    ("beginning", "words"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "this is a PDF, not a table"),
        (b"PK\x03\x04\x14", "a workbook of Excel or another packed file"),
        (b"\xd0\xcf\x11\xe0\xa1", "an older Excel or Word"),
    ],
)
def test_a_document_that_is_called_csv_is_named_for_what_it_is(page, tmp_path, beginning, words):
    (tmp_path / "list.csv").write_bytes(beginning + bytes(50))
    refusal = page.post("head", path=str(tmp_path / "list.csv"), values={}, status=422)
    assert words in refusal["detail"]
    assert "export the table as CSV" in refusal["detail"]
    assert refusal["encodings"] == {}


@pytest.mark.thorough(cases=2)
@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(
    ("line", "separator", "name"),
    [
        ("p1;Ward A;ICU", ";", "x.csv"),
        ("p1,Ward A,ICU", ",", "x.csv"),
        ("p1|Ward A|ICU", "|", "x.csv"),
        ("p1\tWard A\tICU", "tab", "x.tsv"),
    ],
)
def test_a_first_row_is_split_by_what_the_panel_shows(page, contacts, line, separator, name):
    """The curator sees how the line is split, and says that it is a row: so all rows are split."""
    file = contacts.with_name(name)
    file.write_text(f"{line}\n" * 3)
    told = page.post("first_line", path=str(file), values={})
    assert NOT_PRIVATE in page.replies[-1].headers
    assert told == {"cells": ["p1", "Ward A", "ICU"], "separator": separator}
    values = {"columns.header": "no", "columns.user": "1", "columns.source": "2"}
    values |= {"columns.target": "3", "groups": str(contacts.parent / "wards.csv")}
    values |= {"columns.delimiter": separator}
    eyes = page.post("row_counts", path=str(file), values=values)
    assert (eyes["rows"], eyes["skipped"]) == (3, 0)


@pytest.mark.usefixtures("forked")
def test_a_few_damaged_dates_are_left_out_once_their_form_is_right(page, contacts):
    values = of_wards(page, contacts) | {"columns.date-format": "%d.%m.%Y"}
    with contacts.open("a") as file:
        file.write("p1;Ward A;ICU;unknown\n")
    eyes = page.post("row_counts", path=str(contacts), values=values)
    assert (eyes["skipped"], eyes["date_formats"], eyes["mend_first"]) == (1, {}, False)
    # A wrong form is still to be mended first.
    values["columns.date-format"] = "%Y-%d-%m"
    eyes = page.post("row_counts", path=str(contacts), values=values)
    assert eyes["mend_first"]
    assert eyes["date_formats"]


def test_one_error_of_a_network_is_shown_and_no_other(page, mail, tmp_path):
    """Notes on measurements that nobody sees in the result would give a third number."""
    told = page.post(
        "preview", product="graph", values=with_paths_in(MAIL, tmp_path), source=str(mail)
    )
    assert not any("noisy matrix" in note for note in told["notes"])
    sizes = [question["error_bound"] for question in told["questions"]]
    assert sizes == [error["bound"] for error in told["errors"]]
