"""Reports: what they say is computed from the release, and fits on a page."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from browser import BROWSER, DRIVER, Visit, chromium
from products import PRODUCTS, kind_of, make

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, LedgerError, ParameterError
from graphcuts_dp.privacy.explanation import posterior
from graphcuts_dp.reports import words
from graphcuts_dp.reports.hazards import (
    EVIDENCE_FILES,
    LARGEST_DELTA,
    SECURITY,
    STRONG_EPSILON,
    HazardAnswers,
    ReportBasis,
    hazards_of,
)
from graphcuts_dp.reports.registry import registry_entry
from graphcuts_dp.reports.release_report import report_of, report_of_store
from graphcuts_dp.reports.rendering import html_page, markdown, sheet_lines

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
ROOT = Path(__file__).resolve().parents[2]
# Of products that can be saved one for each kind of receipt.
SAVED = {
    "groups": "out.graphml",
    "response": "out.csv",
    "sparse": "out.csv",
    "flows": "out.csv",
    "flows, gaussian": "out.csv",
    "cut": "out.csv",
    "iterative": "out.graphml",
    "answers": "out.npz",
    "distances": "out.csv",
}
# Lines of the first sheet that fit on Letter, in small letters; tests in a browser print it.
MOST_LINES = 78
OPEN = (  # what no release can show
    *("Other publications of the same data", "Systemic bias, small groups"),
    *("Trust in who holds the data", "Timing and other side channels"),
    *("Access to the private data", "More data collected than needed"),
)


def saved(name, folder, **options):
    """A product that is saved; returns its path."""
    path = folder / SAVED[name]
    make(name, **options).save(path)
    return path


def receipt_of(path):
    return Path(f"{path}.json")


def hazard(report, name):
    (found,) = (each for each in report.hazards if each.name == name)
    return found


@pytest.fixture
def store(tmp_path):
    return gc.Store(tmp_path / "data.db", budget=(2.0, 1e-5), purpose="a <b>timetable</b>")


@pytest.mark.thorough(cases=5)
@pytest.mark.parametrize("name", SAVED)
def test_every_kind_of_release_has_a_report(name, store, tmp_path):
    path = saved(name, tmp_path, store=store)
    report = report_of(receipt_of(path), store=store.file)
    guarantee = report.basis.guarantee
    stated = guarantee.epsilon
    assert all(report.published)
    assert f"epsilon = {stated:g}" in report.budget[0]
    assert "of a budget of epsilon = 2" in report.budget[1]
    assert report.names[-1] == f"{path.name}.json"
    is_added = report.basis.unit.kind in ("row", "user")  # of what it says, twice epsilon
    guesses = [(0.01, stated), (0.5, stated), *[(0.5, 2 * stated)] * is_added]
    for (prior, epsilon), text in zip(guesses, report.odds, strict=True):
        highest = float(text.partition(" is at most ")[2].partition(" %")[0])
        exact = 100 * posterior(prior, epsilon)
        assert exact <= highest <= 1.01 * exact
    assert report.purpose == "a <b>timetable</b>"
    assert dict(report.origin)["by"] == words.NOT_STATED
    assert hazard(report, "Several results add up").addressed
    assert hazard(report, "A delta too large").addressed is (guarantee.delta <= LARGEST_DELTA)
    assert not any(hazard(report, each).addressed for each in OPEN)
    assert sheet_lines(report) <= MOST_LINES
    page, text = html_page(report), markdown(report)
    assert "<b>timetable" not in page
    assert report.check_code in page
    assert report.check_code in text
    for sentence in (*report.published, *report.odds, *report.budget):
        assert sentence in text
    entry = registry_entry(report)
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == stated


def test_the_report_of_a_store_counts_its_sessions(store, tmp_path):
    with gc.open_session(
        PRODUCTS["session"][2][0], epsilon=0.5, queries=5, method="laplace", store=store
    ) as session:
        widths = [session.ask([0, 1]).interval, session.ask([2]).interval]
    saved("flows", tmp_path, store=store)
    report = report_of_store(store.file)
    assert "session (1), flows (1)" in report.published[0]
    half = sorted((high - low) / 2 for low, high in widths)
    (row,) = report.errors
    stated = float(row[1].split()[6].replace(",", ""))
    assert half[0] <= stated <= 1.1 * half[1] + 1
    assert row[1].endswith("(2 answers)")
    assert "2 answers so far, of at most 5" in hazard(report, "Endless questions").evidence
    assert report.basis.guarantee.epsilon == pytest.approx(1.5)
    assert registry_entry(report)["deployment"]["deployment_model"]["access_type"] == "Interactive"
    assert report_of_store(store.file, code=report.check_code).check[-1].endswith("typed.")
    empty = tmp_path / "other.db"
    with pytest.raises(LedgerError):
        report_of_store(empty)


def test_every_product_that_is_saved_is_reported():
    """One of each kind of receipt, so that a new kind needs a report."""
    kinds = {kind_of(name) for name in SAVED}
    sessions = {"session", "distance session"}
    alike = {"net", "sensing"}  # receipts of iterative releases
    assert {kind_of(name) for name in PRODUCTS} - sessions - alike == kinds


@pytest.mark.parametrize("column", ["day", "my day", "day in UTC", "3"])
def test_the_column_of_dates_is_named_without_the_form_of_its_dates(column, tmp_path):
    trips = pd.DataFrame({"from": [0, 1], "to": [1, 0], column: ["17.01.2026", "03.02.2026"]})
    columns = gc.Columns(source="from", target="to", period=column, date_format="%d.%m.%Y")
    rows = gc.Rows.of(trips, columns=columns, vertices=range(2), periods="2026-01..2026-02")
    groups = gc.Groups(gc.VertexSet(2), {"all": ["x", "x"]})
    gc.release_flows(rows, groups, epsilon=1.0, store=tmp_path / "s.db").save(tmp_path / "out.csv")
    (sentence,) = [text for text in report_of(tmp_path / "out.csv.json").unit if "dated" in text]
    assert sentence.endswith(f"dated by \u201c{column}\u201d.")


def test_all_results_of_a_store_may_spend_more_than_one_result_may(tmp_path):
    """A result of more than epsilon = 50 is refused; several that add up to more are not."""
    graph, groups = gc.datasets.load("karate"), gc.datasets.load_groups("karate")
    for number in range(2):
        table = gc.release_flows(graph, groups, epsilon=30.0 + number, store=tmp_path / "s.db")
    table.save(tmp_path / "out.csv")
    report = report_of(tmp_path / "out.csv.json", store=tmp_path / "s.db")
    assert report.odds[-1].startswith("Worst, with all results in the store (epsilon = 61): ")
    assert "100 %" in report.odds[-1]


def test_the_check_code_names_one_receipt(store, tmp_path):
    path = saved("flows", tmp_path, store=store)
    report = report_of(receipt_of(path), store=store.file)
    assert "is not compared" in report.check[0] or "has recorded" in report.check[0]
    again = report_of(receipt_of(path), code=report.check_code.replace("-", "").upper())
    assert again.check == ("The code is the one that was typed.",)
    other = "0000-" + report.check_code[5:]
    assume_other = other if other != report.check_code else "1111-" + report.check_code[5:]
    with pytest.raises(ParameterError, match="the check code is"):
        report_of(receipt_of(path), code=assume_other)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(FileFormatError, match="it changed"):
        report_of(receipt_of(path))


def test_another_store_does_not_vouch_for_a_release(store, tmp_path):
    path = saved("flows", tmp_path, store=store)
    other = tmp_path / "other.db"
    make("flows", store=other)
    with pytest.raises(LedgerError, match="is not the store"):
        report_of(receipt_of(path), store=other)


def test_what_is_recorded_is_not_overwritten(store, tmp_path):
    path = saved("flows", tmp_path, store=store)
    assert report_of(receipt_of(path), author="Ann").author == "Ann"
    assert report_of(receipt_of(path), purpose=store.purpose).purpose == store.purpose
    with pytest.raises(ParameterError, match="leave it out"):
        report_of(receipt_of(path), purpose="another one")
    for text in ("a\nb", "x" * 501):
        with pytest.raises(ParameterError, match="one line"):
            report_of(receipt_of(path), author=text)


def test_without_a_store_nothing_is_said_to_be_limited(tmp_path):
    report = report_of(receipt_of(saved("flows", tmp_path)))
    assert words.NO_STORE in report.budget
    assert not hazard(report, "Several results add up").addressed
    assert report.check == ()


def test_a_seeded_run_is_marked_and_never_registered(tmp_path):
    report = report_of(receipt_of(saved("flows", tmp_path, seed=1)))
    assert report.warning == words.NOT_PRIVATE
    assert "NOT PRIVATE" in html_page(report)
    for name in ("Floating point, weak randomness", "Claims without proof or test"):
        assert not hazard(report, name).addressed
    with pytest.raises(ParameterError, match="guarantees nothing"):
        registry_entry(report)


@pytest.fixture(scope="module")
def basis(tmp_path_factory):
    path = saved("flows", tmp_path_factory.mktemp("basis"))
    return report_of(receipt_of(path)).basis


def addressed(basis: ReportBasis, name: str) -> bool:
    return next(each.addressed for each in hazards_of(basis) if each.name == name)


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("An epsilon too large", {"epsilon": STRONG_EPSILON}, {"epsilon": 1.01}),
        ("A delta too large", {"delta": 0.0}, {"delta": 2 * LARGEST_DELTA}),
        ("Floating point, weak randomness", {"seed": None}, {"seed": 0}),
        ("Error messages and logs", {"seed": None}, {"seed": 0}),
        (
            "Whether somebody is in the data",
            {"neighbours": "any one row (added or removed)"},
            {"neighbours": "whether any one pair is an edge"},
        ),
        ("Parameters that are not stated", {"neighbours": "x"}, {"neighbours": ""}),
        ("Post-processing that reads data again", {}, {"budget_plan": None}),
    ],
)
def test_a_tick_follows_from_the_guarantee(basis, name, yes, no):
    for fields, expected in ((yes, True), (no, False)):
        guarantee = replace(basis.guarantee, **fields)
        assert addressed(replace(basis, guarantee=guarantee), name) is expected


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("A unit that is less than a person", gc.PrivacyUnit.user(max_contributions=3), "edge"),
        ("A unit that is less than a person", gc.PrivacyUnit.vertex(max_degree=3), "row"),
        ("Several people together", gc.PrivacyUnit.edge(4), "edge"),
        ("Bounds chosen from the data", "edge", gc.PrivacyUnit.user(max_contributions=3)),
    ],
)
def test_a_tick_follows_from_the_unit(basis, name, yes, no):
    for unit, expected in ((yes, True), (no, False)):
        assert addressed(replace(basis, unit=gc.PrivacyUnit.of(unit)), name) is expected


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("Statistical bias", {"unbiased": "estimates are unbiased"}, {"unbiased": ""}),
        ("Errors that are not stated", {"errors": (("a", "± 1"),)}, {"errors": ()}),
        (
            "Errors that are not stated",
            {"errors": (("a", "± 1"), ("b", "nothing is proven"))},
            {"errors": (("b", "nothing is proven"),)},
        ),
    ],
)
def test_a_tick_follows_from_the_contents(basis, name, yes, no):
    for fields, expected in ((yes, True), (no, False)):
        contents = replace(basis.contents, **fields)
        assert addressed(replace(basis, contents=contents), name) is expected


def test_a_delta_is_compared_with_the_number_of_vertices(basis):
    guarantee = replace(basis.guarantee, delta=1e-6)
    many = replace(basis.contents, vertices=10_000)
    few = replace(basis.contents, vertices=100)
    name = "A delta too large"
    assert not addressed(replace(basis, guarantee=guarantee, contents=many), name)
    assert addressed(replace(basis, guarantee=guarantee, contents=few), name)


def test_evidence_names_files_of_the_source(basis):
    named = [name for each in hazards_of(basis) for name in each.files]
    assert sorted(named) == sorted(EVIDENCE_FILES)
    seeded = replace(basis, guarantee=replace(basis.guarantee, seed=1))
    assert {name for each in hazards_of(seeded) for name in each.files} == {SECURITY}
    assert all((ROOT / name).is_file() for name in EVIDENCE_FILES)
    assert all(hazard.evidence for hazard in hazards_of(basis))


def test_what_no_program_can_know_is_asked_and_an_answer_is_no_tick(basis):
    asked = [each for each in hazards_of(basis) if each.question]
    assert {each.name for each in asked} >= set(OPEN)
    assert not any(each.addressed or each.answer for each in asked)
    typed = replace(
        basis, answers_of_people=HazardAnswers(access="two people", readers="the press")
    )
    answered = {each.question: each.answer for each in hazards_of(typed) if each.answer}
    assert answered == {
        "Who may read the private file and the store?": "two people",
        "Who explains noisy numbers to those who read them?": "the press",
    }
    assert [each.addressed for each in hazards_of(typed)] == [
        each.addressed for each in hazards_of(basis)
    ]
    for text in ("a\nb", "x" * 121):
        with pytest.raises(ParameterError, match="access must be one line"):
            HazardAnswers(access=text)


def test_the_second_sheet_tells_what_was_checked_from_what_is_asked(tmp_path):
    path = saved("flows", tmp_path)
    report = report_of(receipt_of(path), answers=HazardAnswers(access="<i>two</i> people"))
    page, text = html_page(report), markdown(report)
    for document in (page, text):
        checked, _, asked = document.partition(words.CHECKED)[2].partition(words.ASKED)
        for each in report.hazards:
            assert each.name in (asked if each.question else checked)
            assert each.name not in (checked if each.question else asked)
        assert words.NO not in asked
        assert "&lt;i&gt;two&lt;/i&gt; people" in asked
        assert "<i>two" not in document
    assert text.count("\\_" * 30) == sum(bool(each.question) for each in report.hazards) - 1


def test_the_first_page_has_room_for_what_decides_and_who_decides(tmp_path):
    path = saved("flows", tmp_path)
    silent = report_of(receipt_of(path))
    answers = HazardAnswers(legal_basis="Art. 89 & <law>", why_epsilon="as the <board> decided")
    report = report_of(receipt_of(path), answers=answers)
    for name in ("legal basis", "why this epsilon"):
        assert dict(silent.origin)[name] == words.TO_FILL_IN
    assert dict(report.origin)["legal basis"] == "Art. 89 & <law>"
    assert dict(report.origin)["program"] == f"graphcuts_dp {gc.__version__}"
    first = html_page(report).partition("</section>")[0]
    assert "Art. 89 &amp; &lt;law&gt;" in first
    assert "as the &lt;board&gt; decided" in first
    for place in ("Signature:", "Date:", "not approved, by:"):
        assert place in first
        assert place in markdown(report)


def test_the_other_results_of_a_store_are_named_with_the_worst_odds_of_all(store, tmp_path):
    path = saved("flows", tmp_path, store=store)
    alone = report_of(receipt_of(path), store=store.file)
    assert not any("These are" in sentence for sentence in alone.budget)
    make("groups", store=store)
    report = report_of(receipt_of(path), store=store.file)
    status = gc.store_status(store.file)
    (listed,) = (sentence for sentence in report.budget if "These are" in sentence)
    for charged in status.uses:
        epsilon = f"epsilon = {charged.use.guarantee.epsilon:g}"
        assert f"{charged.use.kind}, {charged.use.time[:10]}, {epsilon}" in listed
    assert store.purpose in listed
    # What the rows say: both a row that is there and another one, so twice epsilon of all results.
    twice = 2 if report.basis.unit.kind in ("row", "user") else 1
    highest = float(report.odds[-1].partition(" is at most ")[2].partition(" %")[0])
    exact = 100 * posterior(0.5, twice * status.epsilon)
    assert exact <= highest <= 1.01 * exact
    assert report.odds[-1].startswith("Worst, with all results in the store")


def test_what_is_only_stated_has_no_tick(tmp_path):
    report = report_of(receipt_of(saved("flows", tmp_path)))
    for name in ("Parameters that are not stated", "Errors that are not stated"):
        assert hazard(report, name).addressed
        assert f"- [ ] {name}: {words.YOU_CHECK}: " in markdown(report)
    page = html_page(report)
    ticks = sum(
        each.addressed and not each.only_stated for each in report.hazards if not each.question
    )
    assert page.count(f"✓ {words.YES}") == ticks
    assert "no chance that" not in page
    assert "the guarantee holds without exception (delta = 0)" in page


class Elements(HTMLParser):
    """The elements of a page, each closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_page_is_whole_and_names_no_other_file(tmp_path):
    page = html_page(report_of(receipt_of(saved("groups", tmp_path))))
    elements = Elements()
    elements.feed(page)
    assert elements.open == []
    assert not [attrs for _, attrs in elements.seen if {"src", "href"} & set(attrs)]
    assert "url(" not in page
    assert "http" not in page
    assert [tag for tag, _ in elements.seen].count("section") == 2


# Of the schema that `reports.registry` names: what an entry has to have, and the lists of words.
REQUIRED = {
    "": {"url_slug", "status", "tier", "deployment"},
    "basic": {
        *("name", "data_curators", "description", "intended_use", "data_product_type"),
        *("data_product_region", "publication_date"),
    },
    "administrative": {"registry_authors"},
}
KNOWN = {
    "basic": {*REQUIRED["basic"], "data_product_sector"},
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        *("privacy_unit", "privacy_unit_details", "privacy_parameters"),
        "privacy_parameters_details",
    },
    "deployment_model": {
        *("model_name", "model_name_details", "actors", "release_type", "release_type_details"),
        *("data_source_type", "data_source_type_details", "access_type", "access_type_details"),
    },
    "accounting": {"post_processing", "composition"},
    "implementation": {
        *("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"),
    },
    "administrative": {"sources", "notes", "registry_authors"},
}
WORDS = {
    ("basic", "data_product_type"): {
        *("Summary statistics", "Synthetic data", "Interactive API", "Dataset"),
        *("Machine learning model", "SQL queries"),
    },
    ("dp_variant", "variant_name"): {
        *("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"),
    },
    ("deployment_model", "model_name"): {"Local", "Central", "Shuffle", "Federated", "Varies"},
    ("deployment_model", "release_type"): {"One release", "Many releases"},
    ("deployment_model", "access_type"): {"Interactive", "Non-interactive"},
}


@pytest.mark.parametrize("name", SAVED)
def test_an_entry_has_the_fields_of_the_registry(name, tmp_path):
    report = report_of(receipt_of(saved(name, tmp_path)), author="Ann")
    entry = registry_entry(report)
    assert set(entry) == REQUIRED[""]
    assert (entry["status"], entry["tier"] in (1, 2, 3)) == ("Draft", True)
    deployment = entry["deployment"]
    assert set(deployment) == set(KNOWN)
    for part, fields in deployment.items():
        assert REQUIRED.get(part, set()) <= set(fields) <= KNOWN[part], part
    for (part, field), choices in WORDS.items():
        assert deployment[part][field] in choices
    parameters = deployment["privacy_loss"]["privacy_parameters"]
    assert set(parameters) <= {"epsilon", "delta", "rho"}
    variant = deployment["dp_variant"]["variant_name"]
    assert (variant == "Pure DP") is (not parameters["delta"])
    notes = deployment["administrative"]["notes"]
    empty = [
        field
        for fields in deployment.values()
        for field, value in fields.items()
        if value in ("", [""])
    ]
    assert empty
    assert all(field in notes for field in empty)
    assert report.check_code in notes


def longest_of(report):
    """The same report with texts that are as long as those of a release can be."""
    text = "wide words " * 46
    return replace(
        report,
        names=tuple(f"{'n' * 56} ..." for _ in report.names),
        published=(text[:260],) * 3,
        errors=((text[:80], text[:120]),) * 20,
        left_out=(text[:320], words.ROWS_UNKNOWN),
        not_guaranteed=(*report.not_guaranteed[:-3], *words.other_results("n" * 60)),
        author=text[:500],
        purpose=text[:500],
        check=(words.NOT_RECORDED, words.NOT_RECORDED),
        hazards=tuple(
            replace(each, answer=text[:120] if each.question else "") for each in report.hazards
        ),
    )


def test_other_stores_that_are_of_other_people_stand_on_the_first_page(store, tmp_path):
    path = saved("flows", tmp_path, store=store)
    answers = HazardAnswers(other_accounts="trips.db, mail.db")
    report = report_of(receipt_of(path), store=store.file, answers=answers)
    (stated,) = (text for text in report.not_guaranteed if "of other people" in text)
    assert stated.endswith("stores of other people, as the curator states: trips.db, mail.db.")
    assert "Other results of the same people add up" in stated
    assert stated in markdown(report)
    without = report_of(receipt_of(path), store=store.file)
    assert not any("of other people" in text for text in without.not_guaranteed)
    assert len(without.not_guaranteed) == len(report.not_guaranteed)


def test_the_longest_report_fits(tmp_path):
    report = report_of(receipt_of(saved("flows", tmp_path, privacy_unit=gc.PrivacyUnit.edge(3))))
    assert sheet_lines(longest_of(report)) > sheet_lines(report)
    assert sheet_lines(longest_of(report)) <= MOST_LINES
    assert 'class="sheet dense"' in html_page(longest_of(report))
    assert 'class="sheet dense"' not in html_page(report)


@pytest.mark.slow
@pytest.mark.skipif(not (DRIVER and BROWSER), reason="no Chromium with its driver here")
@pytest.mark.xdist_group("browser")
def test_a_report_prints_on_two_sheets(store, tmp_path):
    reports = [report_of(receipt_of(saved(name, tmp_path, store=store))) for name in ("flows",)]
    for name in SAVED:
        folder = tmp_path / name
        folder.mkdir()
        reports.append(report_of(receipt_of(saved(name, folder))))
    reports += [longest_of(report) for report in reports]
    reports.append(report_of_store(store.file))
    with chromium() as driver:
        visit = Visit(driver)
        for number, report in enumerate(reports):
            page = tmp_path / f"{number}.html"
            page.write_text(html_page(report), encoding="utf-8")
            driver.get(page.as_uri())
            assert visit.sheets() == {"A4": 2, "Letter": 2}, report.title
        assert visit.complaints() == []
