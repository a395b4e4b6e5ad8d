"""Who may ask the page, how much, and that no private cell is in any reply."""

import io
import json
import random
import zipfile
from pathlib import Path

import pytest
from page_cases import PORT, TOKEN, TRIPS, PageProcess, open_page, with_paths_in

from graphcuts_dp.page.app import NOT_PRIVATE

HERE = {"host": f"127.0.0.1:{PORT}"}
MINE = {"authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (HERE, 401),
        (HERE | {"authorization": TOKEN}, 401),
        (HERE | {"authorization": f"Bearer {TOKEN}x"}, 401),
        (HERE | MINE, 200),
        (MINE | {"host": f"localhost:{PORT}"}, 200),
        (HERE | MINE | {"origin": f"http://127.0.0.1:{PORT}"}, 200),
        (HERE | MINE | {"origin": "http://127.0.0.1:9"}, 403),
        (HERE | MINE | {"origin": "null"}, 403),
        (HERE | MINE | {"origin": "https://evil.example"}, 403),
        (MINE | {"host": "evil.example"}, 400),
        (MINE | {"host": f"evil.example:{PORT}"}, 400),
        (MINE | {"host": "127.0.0.1:9"}, 400),
    ],
)
def test_who_is_let_in(page, headers, status):
    reply = page.client.post("/api/form", headers=headers, json={})
    assert reply.status_code == status
    assert "script-src 'self'" in reply.headers["content-security-policy"]
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "path", ["/", "/web/page.js", "/web/state.js", "/page/shared.js", "/page/app.css"]
)
def test_the_files_of_the_page_need_no_token_and_hold_none(page, path):
    reply = page.client.get(path)
    assert reply.status_code == 200
    assert TOKEN not in reply.text
    assert "http:" not in reply.text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("preview", b"{", 400),
        ("preview", b"[1]", 400),
        ("preview", b'{"product": "none", "values": {}}', 400),
        ("preview", b'{"product": "table", "values": {"epsilon": 3}}', 400),
        ("form", b" " * (1 << 20) + b"{}", 413),
        ("run", b'{"run": "../results"}', 422),
        ("run", b'{"run": ""}', 422),
        ("run", b'{"run": ".."}', 422),
        ("head", b'{"path": "/no/such.csv"}', 422),
        ("upload/big.csv", b"x" * ((1 << 20) + 1), 413),
    ],
)
def test_what_is_no_form_is_refused_in_a_line(page, name, body, status):
    detail = page.post(name, body, status=status)["detail"]
    assert detail
    assert "\n" not in detail


def test_only_the_account_can_read_a_file_that_is_dropped(page, tmp_path):
    path = page.post("upload/..trips.csv", b"a,b\n1,2\n")["path"]
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert Path(path).parent.stat().st_mode & 0o777 == 0o700
    assert path.startswith(str(tmp_path / "results" / "data"))
    assert path.endswith("/trips.csv")
    assert (tmp_path / "results" / "data").stat().st_mode & 0o77 == 0
    assert not list((tmp_path / "results" / "data").glob("*/big.csv"))


# Every cell is a mark: nothing of it may come back but the names in the first line. Half of the
# ends are public vertices, which groups name, too.
COLUMNS = ["who", "start", "end", "day", "much"]
ENDS = ["left", "right", "middle"]


def marked(folder):
    drawn = random.Random(9)
    lines, marks = [",".join(COLUMNS)], set()
    for row in range(60):
        cells = [f"MARK{row}x{i}" for i in range(5)]
        if row % 2:
            cells[1:3] = drawn.choices(ENDS, k=2)
            cells[3] = "2026-01-05"
        marks |= {cell for cell in cells if cell.startswith("MARK")}
        lines.append(",".join(cells))
    (folder / "marked.csv").write_text("\n".join(lines) + "\n")
    (folder / "ends.csv").write_text("end,side\nleft,a\nright,b\nmiddle,b\n")
    (folder / "ends.txt").write_text("left\nright\nmiddle\n")
    return folder / "marked.csv", marks


SAID = {
    "columns.source": "start",
    "columns.target": "end",
    "columns.on-bad": "skip",
    "epsilon": "5",
    "vertices": "ends.txt",
}
ROWS = {"columns.user": "who", "privacy-unit": "user", "privacy-unit.max-contributions": "3"}
TABLE = SAID | ROWS | {"groups": "ends.csv"}
RUNS = [
    ("table", TABLE, "done"),
    ("table", TABLE | {"columns.on-bad": ""}, "refused"),
    ("table", TABLE | {"columns.weight": "much", "counting": "weight"}, "done"),
    ("table", TABLE | {"columns.period": "day", "periods": "2026-01..2026-02"}, "done"),
    ("table", TABLE | {"columns.user": "nobody"}, "refused"),
    ("table", TABLE | {"columns.header": "no"}, "refused"),
    ("graph", SAID | {"dry-run": "1", "ignore-weights": "yes", "plot": "table.png"}, "done"),
    ("cut", SAID | {"first": "left", "second": "right"}, "done"),
    ("session", SAID | {"queries.queries": "2"}, "done"),
]


def unpacked(reply):
    """All that a reply holds, of an archive its members."""
    yield reply.content
    if reply.content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(reply.content)) as archive:
            yield from (archive.read(name) for name in archive.namelist())


@pytest.mark.slow
def test_no_cell_of_the_private_file_is_in_any_reply(tmp_path):
    source, marks = marked(tmp_path)
    page = open_page(tmp_path / "results")
    for number, (product, values, state) in enumerate(RUNS):
        given = with_paths_in(values, tmp_path) | {
            "store": f"{number}.db",
            "separate-budget": "a test",
        }
        page.post("head", path=str(source), values=given)
        about = {"product": product, "values": given}
        page.post("preview", **about)
        page.post("preview", **about, error=9)
        page.post("look", path=str(source), values=given)
        page.post("row_counts", path=str(source), values=given)
        assert NOT_PRIVATE in page.replies[-1].headers
        about["source"] = str(source)
        page.post("account", values=given, source=str(source))
        amount = float(given["epsilon"])
        run = page.post("start", **about, confirmed=amount, separate=True)["run"]
        told = page.wait_for(run)
        assert (told["state"], told["has_reasons"]) == (state, state == "refused"), told
        if state == "refused":
            assert "line " not in page.replies[-1].text
            assert page.post("reasons", run=run)["reasons"]
        for name in (*told.get("files", []), "report.html", "notebook.ipynb"):
            if state == "done":
                page.file(run, name)
        if product == "graph" and state == "done":
            page.post("truth", run=run)
            assert NOT_PRIVATE in page.replies[-1].headers
    page.post("runs")
    path = page.post("upload/again.csv", source.read_bytes())["path"]
    names = page.post("head", path=path)["names"]
    assert names == COLUMNS
    assert len(page.replies) > 60
    ends_of_published = ("report.html", "notebook.ipynb")
    published = [each.text for each in page.replies if each.url.path.endswith(ends_of_published)]
    assert len(published) == 2 * sum(state == "done" for *_, state in RUNS)
    assert not [text for text in published if str(tmp_path) in text]
    reports = [each.text for each in page.replies if each.url.path.endswith("report.html")]
    assert len(reports) == sum(state == "done" for *_, state in RUNS)
    assert not [text for text in reports if f"{tmp_path}/ends" in text]
    for reply in page.replies:
        sent = b"".join(unpacked(reply)) + json.dumps(dict(reply.headers)).encode()
        assert not [mark for mark in marks if mark.encode() in sent], reply.url
    panels = [reply for reply in page.replies if NOT_PRIVATE in reply.headers]
    assert {Path(reply.url.path).name for reply in panels} == {"row_counts", "truth", "reasons"}
    assert len(panels) == len(RUNS) + 1 + sum(state == "refused" for *_, state in RUNS)


# First lines that are rows, some of whose words are usual names of columns.
ROWS_FIRST = {
    "a role": "P001,user,Mueller Anna,HIV",
    "two equal roles": "user,user,Mueller Anna,HIV",
    "a guest": "Mueller Anna;guest;HIV",
    "a month": "Mueller Anna\tHIV\tTag",
    "half of it": "user,from,Mueller Anna,HIV",
    "no usual word": "Mueller Anna,HIV",
    "with a number": "user,date,Mueller Anna,HIV,7",
}
SECRET = (b"Mueller", b"HIV", b"P001")


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("case", ROWS_FIRST)
@pytest.mark.parametrize("header", ["", "no"])
def test_a_row_that_holds_usual_words_is_shown_in_the_panel_alone(page, tmp_path, case, header):
    line = ROWS_FIRST[case]
    source = tmp_path / ("notes.tsv" if "\t" in line else "notes.csv")
    source.write_text(f"{line}\n{line}\n")
    (tmp_path / "zones.csv").write_text("zone;district\na;x\nb;y\n")
    values = {"groups": str(tmp_path / "zones.csv"), "epsilon": "1", "kind": "directed"}
    values |= {"columns.header": header} if header else {}
    columns = {"columns.source": "2", "columns.target": "3", "columns.user": "1"}
    read = {"path": str(source), "values": values}
    about = {"product": "table", "source": str(source), "values": values}
    assert page.post("head", **read) == {
        "names": [],
        "suggested": {},
        "asks_for_header": not header,
    }
    for more in ({}, columns, {"columns.user": "user"}):
        typed = {**read, "values": values | more}
        for name, body in (("look", typed), ("preview", about | typed)):
            headers = {"Authorization": f"Bearer {TOKEN}"}
            page.replies.append(page.client.post(f"/api/{name}", headers=headers, json=body))
    if not header:
        told = page.post("look", **read)
        assert [problem["key"] for problem in told["problems"]] == ["columns.header"]
        refusal = page.post("start", **about, confirmed=1, status=422)
        assert "names its columns" in refusal["detail"]
        assert refusal["step"] == "data"
        page.post("first_line", **read)
        assert NOT_PRIVATE in page.replies[-1].headers
        assert b"Mueller Anna" in page.replies[-1].content
    outside = [reply for reply in page.replies if NOT_PRIVATE not in reply.headers]
    assert len(outside) >= 7
    for reply in outside:
        assert not [word for word in SECRET if word in reply.content], reply.url
    assert not list((tmp_path / "results").glob("*/.run"))


@pytest.mark.thorough
def test_the_command_shows_a_link_whose_token_stands_in_no_log(tmp_path):
    process = PageProcess(tmp_path / "results")
    try:
        token = process.client.token
        assert len(token) >= 32
        process.client.post("form")
        process.client.post("run", run="none", status=422)
        process.client.client.get("/?token=x")
        assert process.client.client.get("/api/file/a/b").status_code == 401
    finally:
        assert process.end() == 0
    assert token not in process.log.read_text()
    kept = [file for file in (tmp_path / "results").rglob("*") if file.is_file()]
    assert not [file for file in kept if token.encode() in file.read_bytes()]
    assert TRIPS["store"] not in {file.name for file in kept}


@pytest.mark.thorough
def test_what_tells_of_rows_is_in_replies_for_marked_panels_alone(page, trips, tmp_path):
    """A count, and a comparison with the truth, that fail say why in their own panel."""
    told = page.post(
        "row_counts", path=str(tmp_path / "none.csv"), values=with_paths_in(TRIPS, tmp_path)
    )
    assert NOT_PRIVATE in page.replies[-1].headers
    assert (told["skipped"], told["faults"]) == (None, [])
    assert "none.csv" in told["not_counted"]
    run = tmp_path / "results" / "one" / ".run"
    run.mkdir(parents=True)
    (run / "lock").touch()
    plan = {"product": "graph", "source": str(trips), "values": {}, "store": "x.db", "uses": 0}
    (run / "plan.json").write_text(json.dumps(plan))
    told = page.post("truth", run="one")
    assert NOT_PRIVATE in page.replies[-1].headers
    assert told["text"]


@pytest.mark.parametrize("content", ["Doe, Jane;Roe, Rick\nPoe, Ann;Low, Lea\n", "a;b;c\n1\n"])
def test_a_list_that_is_not_understood_shows_none_of_its_words(page, trips, tmp_path, content):
    """It may be a list of persons that was dropped into the wrong field."""
    people = tmp_path / "people.csv"
    people.write_text(f"name;town;street\n{content}")
    values = with_paths_in(TRIPS, tmp_path) | {"groups": str(people)}
    told = page.post("look", path=str(trips), values=values)
    assert [problem["key"] for problem in told["problems"]] == ["groups"]
    for word in ("Doe", "Roe", "Poe"):
        assert word not in page.replies[-1].text
    assert told["sample"]["rows"]
