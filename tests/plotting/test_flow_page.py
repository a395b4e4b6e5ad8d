"""The page that shows flows: what is in its file, and that no name can be more than a name."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from flow_page_cases import HOSTILE, MONTHS, locations, table
from hypothesis import given
from hypothesis import strategies as st

from graphcuts_dp import FileFormatError, QueryError
from graphcuts_dp.plotting.flow_page import json_in_html, page_of
from graphcuts_dp.results.flow_pictures import MOST_FLOWS, MOST_SHOWN, period_words

SCRIPTS = 2  # the data and the program


class Elements(HTMLParser):
    """The elements of a page with their attributes and texts, as a browser finds them."""

    def __init__(self, text):
        super().__init__()
        self.found, self._open = [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._open = [tag, dict(attrs), ""]
        self.found.append(self._open)

    def handle_endtag(self, _):
        self._open = None

    def handle_data(self, data):
        if self._open is not None:
            self._open[2] += data

    def texts(self, tag):
        return [text for name, _, text in self.found if name == tag]


@pytest.fixture(scope="module")
def flows():
    return table()


def written(flows, path, **options):
    flows.to_html(path, **options)
    return path.read_text(encoding="ascii")


def data_of(page):
    (data,) = [
        text for tag, about, text in Elements(page).found
        if tag == "script" and about.get("type") == "application/json"
    ]  # fmt: skip
    return json.loads(data)


@pytest.mark.parametrize("on_map", [True, False])
def test_the_page_is_one_file_that_fetches_nothing(flows, tmp_path, on_map):
    places = {"locations": locations()} if on_map else {}
    title = "</title><script src=//evil.example></script> \udcff"
    page = written(flows, tmp_path / "flows.html", title=title, **places)
    elements = Elements(page)
    tags = [tag for tag, _, _ in elements.found]
    assert (tags.count("script"), tags.count("style"), tags.count("title")) == (SCRIPTS, 1, 1)
    assert not {"img", "link", "iframe", "object", "embed", "base", "form"} & set(tags)
    for _, about, _ in elements.found:
        assert not {"src", "href", "style"} & about.keys()
        assert not [name for name in about if name.startswith("on")]
    assert elements.texts("title")[0].startswith("</title><script src=//evil.example>")
    # No address but the name of SVG, no import, no request.
    code = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttp|WebSocket|sendBeacon", code)
    assert "innerHTML" not in code
    assert "eval(" not in code


def test_the_policy_allows_this_style_and_this_program_alone(flows, tmp_path):
    elements = Elements(written(flows, tmp_path / "flows.html"))
    (policy,) = [
        about["content"] for tag, about, _ in elements.found
        if tag == "meta" and about.get("http-equiv") == "Content-Security-Policy"
    ]  # fmt: skip
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for name, text in (
        ("style-src", elements.texts("style")[0]),
        ("script-src", elements.texts("script")[1]),
    ):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"


@pytest.mark.thorough
@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner, max_size=3)))
def test_no_text_can_end_the_element_of_the_data(data):
    text = json_in_html(data)
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == data


def test_names_come_back_as_they_are(flows, tmp_path):
    data = data_of(written(flows, tmp_path / "flows.html", locations=locations()))
    assert sorted(data["rows"]) == sorted(data["columns"]) == sorted(HOSTILE)
    assert data["axes"] == ["from: zone", "to: zone"]
    for part in ("{{DATA}}", "{{STYLE}}"):  # a name is never taken for a part of the page
        page = page_of(data | {"title": part})
        assert Elements(page).texts("title") == [part]
        assert data_of(page)["title"] == part


def test_a_page_of_noise_says_so_above_its_picture(flows, tmp_path):
    data = data_of(written(flows, tmp_path / "flows.html"))
    assert data["verdict"] == flows.noise_verdict
    noisy = table(epsilon=1e-3)
    page = written(noisy, tmp_path / "noise.html")
    assert "most of this table is noise" in data_of(page)["verdict"]
    assert data_of(page)["verdict"] == noisy.noise_verdict
    ids = [about.get("id") for _, about, _ in Elements(page).found]
    assert ids.index("verdict") < ids.index("picture")


def test_the_numbers_are_those_of_the_table(flows, tmp_path):
    data = data_of(written(flows, tmp_path / "flows.html"))
    assert data["periods"] == [
        "January 2026 to April 2026 (4 periods)",
        *("January 2026", "February 2026", "March 2026", "April 2026"),
    ]
    rows, columns = (list(map(str, side)) for side in flows.labels(None))
    assert (data["rows"], data["columns"]) == (rows, columns)
    assert len(data["cells"]) == data["all_cells"] == len(HOSTILE) ** 2
    months = [None, *(f"2026-{month:02}" for month in range(1, MONTHS + 1))]
    for month, numbers in zip(months, data["numbers"], strict=True):
        low, high = flows.intervals(None, month)
        at_once, _ = flows.intervals(None, month, simultaneous=True)
        values = np.clip(flows.values(None, month), low, high)
        expected = [values, flows.half_widths(None, month), low, high, at_once]
        for (a, b), cell in zip(data["cells"], numbers, strict=True):
            assert cell == pytest.approx([each[a, b] for each in expected], rel=1e-5, abs=1e-9)
    alone = data_of(written(flows.period("2026-03"), tmp_path / "march.html"))
    assert alone["periods"] == ["March 2026"]


def test_a_map_has_the_flows_that_are_above_zero_for_sure(flows, tmp_path):
    data = data_of(written(flows, tmp_path / "flows.html", locations=locations()))
    sure = [
        flows.intervals(None, month, simultaneous=True)[0] > 0
        for month in (None, *(f"2026-{month:02}" for month in range(1, MONTHS + 1)))
    ]
    assert sorted(map(tuple, data["cells"])) == sorted(
        zip(*np.nonzero(np.any(sure, axis=0)), strict=True)
    )
    assert 0 < len(data["cells"]) < data["all_cells"]
    scale = data["positions"]["longitude_scale"]
    known = locations().set_index("id")
    for name, (x, y) in zip(data["rows"], data["positions"]["rows"], strict=True):
        assert (x / scale, y) == pytest.approx((known.lon[name], known.lat[name]), abs=1e-4)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", ["directed", "undirected"])
def test_large_tables_are_shown_in_part(tmp_path, kind):
    names = [f"zone {number}" for number in range(90)]
    flows = table(names, kind=kind, periods=None, rows=20_000)
    data = data_of(written(flows, tmp_path / "matrix.html"))
    shown = data["shown"][0]
    values = np.clip(flows.values(), *flows.intervals())
    sums = values.sum(axis=1)
    sums = sums + (values.sum(axis=0) if kind == "directed" else np.diag(values))
    assert len(shown) == MOST_SHOWN
    assert set(shown) == set(np.argsort(-sums)[:MOST_SHOWN].tolist())
    assert len(data["cells"]) < data["all_cells"]
    data = data_of(written(flows, tmp_path / "map.html", locations=locations(names)))
    low, _ = flows.intervals(simultaneous=True)
    cells = flows.cells.period_cells(1)
    assert len(data["cells"]) == min(MOST_FLOWS, int((low[cells] > 0).sum()))
    lowest = min(low[a, b] for a, b in data["cells"])
    others = set(zip(*(side.tolist() for side in cells), strict=True))
    others -= {tuple(cell) for cell in data["cells"]}
    assert all(low[a, b] <= lowest for a, b in others)


def test_what_cannot_be_written_is_refused(flows, tmp_path):
    with pytest.raises(FileFormatError, match=r"must end in \.html"):
        flows.to_html(tmp_path / "flows.htm")
    with pytest.raises(FileFormatError, match="does not exist"):
        flows.to_html(tmp_path / "no" / "flows.html")
    with pytest.raises(QueryError, match="have no location"):
        flows.to_html(tmp_path / "flows.html", locations=locations()[:3])
    with pytest.raises(QueryError, match="unknown level"):
        flows.to_html(tmp_path / "flows.html", "county")
    assert not list(tmp_path.iterdir())
    flows.to_html(tmp_path / "flows.html")
    with pytest.raises(FileFormatError, match="exists"):
        flows.to_html(tmp_path / "flows.html")
    flows.to_html(tmp_path / "flows.html", force=True)


def test_months_are_named_in_words():
    assert period_words("2026-03") == "March 2026"
    same = ("2026", "2026-Q1", "2026-13", "2026-03-17", "spring")
    assert [period_words(label) for label in same] == list(same)
