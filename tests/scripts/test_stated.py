"""Every number about errors or speed in README and two guides is in a record of docs/measured."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
stated = importlib.import_module("stated")

# Beginnings of sentences whose numbers are no measurements, with the reason.
NOT_MEASURED = {
    "Here one hundred questions": "what an example asks for",
    "In a graph of average degree": "a constant of the rule that chooses",
    "Below that, degrees get": "shares of the budget plan",
    "[Measured has errors": "sizes of a generated hierarchy",
}


@pytest.mark.parametrize("page", stated.PAGES)
def test_what_a_page_states_is_in_its_records(page):
    text = (ROOT / page).read_text()
    assert text.count("<!-- measured: ") == len(stated.statements(text)) > 0
    assert text.count("<!-- /measured -->") == len(stated.statements(text))
    for statement in stated.statements(text):
        assert stated.numbers(statement.text)
        assert not stated.unrecorded(statement), f"{page}: {statement}"


@pytest.mark.parametrize("page", stated.PAGES)
def test_no_page_states_an_error_or_a_time_without_a_record(page):
    for sentence in stated.unmarked((ROOT / page).read_text()):
        assert sentence.startswith(tuple(NOT_MEASURED)), f"{page}: {sentence}"


def test_sentences_that_are_no_measurements_are_still_there():
    sentences = [one for page in stated.PAGES for one in stated.unmarked((ROOT / page).read_text())]
    for start in NOT_MEASURED:
        assert any(sentence.startswith(start) for sentence in sentences), start


def test_a_number_that_no_record_has_and_a_claim_without_a_mark_are_found():
    page = (
        "<!-- measured: error_sizes -->Halves err by .74 to 1.81 times n/2<!-- /measured -->. "
        "It takes 17 s."
    )
    (statement,) = stated.statements(page)
    assert stated.numbers(statement.text) == [".74", "1.81", "2"]
    assert stated.unrecorded(statement) == []
    assert stated.unrecorded(statement._replace(text="errors of 0.7431 and 12,345")) == [
        "0.7431",
        "12,345",
    ]
    assert list(stated.unmarked(page)) == ["It takes 17 s."]
