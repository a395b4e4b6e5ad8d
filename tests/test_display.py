"""Pages of objects in notebooks: facts, escaped labels, short reprs, and no edges."""

import re
from base64 import b64decode
from html.parser import HTMLParser

import numpy as np
import pytest
import shown

import graphcuts_dp as gc
from graphcuts_dp.display import Card, cell_text, html_of


class Page(HTMLParser):
    """A page of HTML, whose tags must be closed in order; collects its texts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(self.texts)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return shown.made(tmp_path_factory.mktemp("shown"))


# Words that each page must have.
WORDS = {
    "Graph": ["Graph", "vertices 8", "not shown"],
    "BipartiteGraph": ["3 x 2"],
    "DirectedGraph": ["vertices 8"],
    "Release": ["epsilon 2", "1 edge", "fit", "may be published"],
    "Release, sparse": ["epsilon 2", "sparse"],
    "Release, seeded": ["seeded: not private", "synthetic graph none"],
    "Plan": ["mechanism", "guaranteed", "Advice"],
    "CutNormCertificate": ["at least", "at most", "attained by"],
    "Flows": ["from", "to", "count", "estimate", "total", "half"],
    "IterativeRelease": ["2 of at most 2", "construction"],
    "NetRelease": ["members of the net 3"],
    "SensingRelease": ["error at most", "noisy answer"],
    "DistanceAnswers": ["may be the best", "1 person"],
    "PrivacyGuarantee": ["epsilon 1", "seeded: not private"],
    "Explanation": ["The guarantee", "afterwards at least", "1e-06"],
    "Contributions": ["at most 1", "3 to 5", "over 5", "a public table"],
}

PICTURED = {
    *("Release", "Release, sparse", "Release, seeded", "Plan", "Flows", "IterativeRelease"),
    *("SensingRelease", "DistanceAnswers", "Explanation", "Contributions"),
}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", WORDS)
def test_every_object_has_a_page_a_short_line_and_public_names(name, made):
    value = made[0][name]
    text = value._repr_html_()
    page = Page(text)
    for word in WORDS[name]:
        assert word in " ".join(page.text.split()), word
    assert {"script"}.isdisjoint(page.tags)
    pictures = re.findall(r' src="data:image/png;base64,([^"]*)"', text)
    assert len(pictures) == (name in PICTURED)
    assert all(b64decode(picture).startswith(b"\x89PNG") for picture in pictures)
    assert all(len(picture) < 80_000 for picture in pictures)
    assert len(text) - sum(map(len, pictures)) < 20_000
    assert dir(value)
    assert not [name for name in dir(value) if name.startswith("_")]
    if name != "PrivacyGuarantee":  # its repr is the call that makes it
        assert len(repr(value)) < 300
        assert "\n" not in repr(value)


def test_labels_are_escaped(made):
    label = shown.EVIL
    assert label in Page(made[0]["Flows"]._repr_html_()).texts
    contents = {
        "facts": ((label, label),),
        "columns": (label,),
        "rows": [(label,)],
        "notes": (label,),
    }
    page = Page(html_of(Card(title=label, warning=label, **contents)))
    assert "script" not in page.tags
    assert page.texts.count(label) >= 7


def test_the_page_of_a_session_has_its_status_and_a_plot_while_it_is_open(made, tmp_path):
    page = " ".join(Page(made[1]).text.split())
    assert "answers 2," in page
    assert "queries left 7" in page
    session = gc.open_session(
        shown.private_graph(), store=tmp_path / "a.db", queries=9, epsilon=40.0, method="laplace"
    )
    assert "<img" not in session._repr_html_()
    session.ask(shown.LABELS[:1])
    assert "<img" in session._repr_html_()
    session.close()
    assert "<img" not in session._repr_html_()
    assert "laplace" in Page(session._repr_html_()).text


def test_long_tables_and_long_texts_are_cut():
    text = html_of(Card(title="x" * 1000, columns=("a",), rows=[(i,) for i in range(50)]))
    page = Page(text)
    assert page.tags.count("tr") == 21
    assert "and 30 more rows" in page.text
    assert "x" * 401 not in text
    assert "and 5 more rows" in html_of(Card(title="x", columns=("a",), rows=[(1,)], size=6))


def test_pages_of_graphs_are_the_same_for_all_edges():
    pages = {
        gc.Graph(rows, [3] * len(rows), vertices=4)._repr_html_() for rows in ([], [0], [0, 1, 2])
    }
    assert len(pages) == 1


def test_tables_for_pandas(made):
    found = made[0]
    plan = found["Plan"].to_frame()
    assert {"method", "calibration", "cuts"} <= set(plan.columns)
    assert plan["guaranteed"].tolist() == [row.guaranteed for row in found["Plan"].rows]
    release = found["Release"]
    queries = [gc.CutQuery([label]) for label in shown.LABELS]
    answers = release.answer_all(queries)
    assert answers == list(answers)
    table = answers.to_frame()
    assert table["value"].tolist() == [answer.value for answer in answers]
    assert table["estimate"].tolist() == [answer.estimate for answer in answers]
    assert list(zip(table["low"], table["high"], strict=True)) == [a.interval for a in answers]
    assert set(table["mark"]) == {""}
    assert "8 answers" in Page(answers._repr_html_()).text
    seeded = found["Release, seeded"].answer_all(queries)
    assert set(seeded.to_frame()["mark"]) == {"seeded: not private"}
    assert "seeded: not private" in Page(seeded._repr_html_()).text
    for name in ("IterativeRelease", "Release, sparse"):
        assert len(found[name].answer_all(queries).to_frame()) == len(queries)
    distances = found["DistanceAnswers"].to_frame()
    np.testing.assert_array_equal(distances["value"], found["DistanceAnswers"].values)
    users = found["Contributions"].to_frame()
    assert users["over"].tolist() == [0, 1, 2, 5]
    assert users["bound"].isna().tolist() == [False, False, False, True]
    history = made[2][1]
    assert history["S"].tolist() == [(shown.EVIL,), ("b", "c")]
    assert [set(T) for T in history["T"]] == [{"b"}, set(shown.LABELS) - {"b", "c"}]
    assert history["low"].le(history["high"]).all()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (104_032.4, "104,032"),
        (99_999.4, "99,999"),
        (70_690.12, "70,690"),
        (-1.5e6, "-1,500,000"),
        (0.123456, "0.12346"),
        (1e20, "1e+20"),
        (float("inf"), "inf"),
        (7, "7"),
    ],
)
def test_numbers_in_tables_have_five_digits_and_no_exponents_that_people_would_not_write(
    value, text
):
    assert cell_text(value) == text
