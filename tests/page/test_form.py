"""The form: all options are in it, and what is typed is what the command gets."""

import gzip
import re
import sys
from pathlib import Path

import pytest
from page_cases import MAIL, TRIPS, with_paths_in, write_mail, write_trips

from graphcuts_dp import FileFormatError, ParameterError
from graphcuts_dp import page as room
from graphcuts_dp.cli import main
from graphcuts_dp.page.private_file import head_of
from graphcuts_dp.page.products import PRODUCTS
from graphcuts_dp.page.steps import STEPS
from graphcuts_dp.page.words import PLAIN

CUT = {"vertices": "staff.txt", "first": "p1", "second": "p2", "epsilon": "4", "store": "mail.db"}
SESSION = {"vertices": "staff.txt", "queries.queries": "20", "epsilon": "3", "store": "mail.db"}
BOUND = {**{key: text for key, text in TRIPS.items() if not key.startswith(("privacy", "by"))}}
BOUND |= PRODUCTS["bound"].preset
FORMS = {"table": TRIPS, "graph": MAIL, "cut": CUT, "session": SESSION, "bound": BOUND}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    write_trips(tmp_path)
    write_mail(tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", PRODUCTS)
def test_every_option_of_a_command_is_in_its_form_in_its_own_words(name):
    product = PRODUCTS[name]
    shown = {field["key"]: field for field in product.fields()}
    for about in product.typer_function.known:
        dry = about.name == "dry_run" and not product.takes_guess
        file = about.name in {"plot", "html", "od", "margins", "spreadsheet"} and not product.result
        assert (about.key in shown) is not (about.name in product.omitted or dry or file), about
        if about.key in shown:
            assert shown[about.key]["help"].startswith(about.help)
            inner = shown[about.key].get("kinds", {})
            assert list(inner) == list(about.kinds)


def test_plain_words_are_of_options_and_stand_at_a_step_of_the_page():
    fields = {}
    for product in PRODUCTS.values():
        fields |= product.by_key
    assert set(PLAIN) <= set(fields)
    for key, field in fields.items():
        assert field["step"] in STEPS
        if key in PLAIN:
            assert set(PLAIN[key].choices) <= {*field.get("choices", []), *field.get("kinds", [])}
    roles = [each.role for each in PLAIN.values() if each.role]
    assert len(set(roles)) == len(roles)


def test_no_option_is_spelled_in_the_code_of_the_page():
    folder = Path(room.__file__).parent
    files = [*folder.glob("*.py"), *folder.glob("web/*.js")]
    code = "".join(file.read_text() for file in files if file.name != "words.py")
    known = {each.name for product in PRODUCTS.values() for each in product.offered}
    inner = {
        field["key"].rpartition(".")[2]
        for product in PRODUCTS.values()
        for each in product.fields()
        for fields in each.get("kinds", {}).values()
        for field in fields
    }
    # With a place of their own, and endings of files.
    own = {"epsilon", "store", "same_people_as", "dry_run", "plot", "html"}
    # Words that mean other things there, too.
    others = {
        "groups",
        "data",
        "kind",
        "header",
        "noise",
        "first",
        "second",
        "columns",
        "name",
        "rest",
        "source",
        "budget",
        "privacy_unit",
        "delta",
        "start",
        "step",
        "cells",
        "period",
        "target",
        "user",
    }
    spelled = [
        name
        for name in sorted((known | inner) - own - others)
        if re.search(rf"[\"'`.]({re.escape(name)}|--{re.escape(name)})[\"'`]", code)
    ]
    assert spelled == []


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("table", {}),
        ("table", {"columns.delimiter": ";", "columns.decimal": ",", "protect.per-period": "yes"}),
        ("table", {"noise": "gaussian", "delta": "1e-6", "whole": "yes", "workload": "totals"}),
        ("graph", {}),
        (
            "graph",
            {"mechanism": "randomized-response", "fit": "first-order", "fit.time-limit": "60"},
        ),
        (
            "graph",
            {"privacy-unit": "edge", "privacy-unit.group-size": "2", "ignore-weights": "yes"},
        ),
        ("cut", {}),
        ("session", {"method": "gaussian", "delta": "1e-6", "budget.epsilon": "4"}),
    ],
)
def test_a_preview_says_what_the_words_say_in_a_dry_run(name, more, tmp_path, monkeypatch, capsys):
    product, values = PRODUCTS[name], with_paths_in(FORMS[name] | more, tmp_path)
    found = product.preview(values)
    words = product.words(values, "nothing.csv", tmp_path)
    words += ["--dry-run"] + ([values["dry-run"]] if product.takes_guess else [])
    monkeypatch.setattr(sys, "argv", ["graphcuts-dp", *words])
    assert main.run_command() == 0
    out = capsys.readouterr().out
    assert found["guarantee"] in out or f"their weight  {values.get('dry-run')}" in out
    assert found["epsilon"] == float(values["epsilon"])
    assert found["errors"][0]["bound"] > 0
    assert found["unit_in_words"].startswith(("any ", "each "))
    assert not (tmp_path / values["store"]).exists()


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("part", [0.9, 0.2])
def test_an_error_gives_the_epsilon_that_keeps_it(name, part, tmp_path):
    product, values = PRODUCTS[name], with_paths_in(FORMS[name], tmp_path)

    def error(epsilon):
        return product.preview({**values, "epsilon": str(epsilon)})["errors"][0]["bound"]

    wanted = part * error(values["epsilon"])
    found = product.epsilon_for(values, wanted, 0)
    assert error(found) <= wanted
    assert error(found * 0.98) > wanted


def test_an_error_that_nothing_keeps_is_refused(tmp_path):
    values = with_paths_in(TRIPS, tmp_path)
    with pytest.raises(ParameterError, match="no epsilon up to 50"):
        PRODUCTS["table"].epsilon_for(values, 1e-3, 0)
    with pytest.raises(ParameterError, match="user=COLUMN"):
        PRODUCTS["table"].epsilon_for({**values, "columns.user": ""}, 10, 0)


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("table", {"epsilon": ""}, "epsilon"),
        ("table", {"epsilon": "x"}, "--epsilon must be a number"),
        ("table", {"groups": ""}, "name the file of the groups"),
        ("table", {"kind": "round"}, "unknown kind"),
        ("table", {"privacy-unit": "nobody"}, "unknown --privacy-unit"),
        ("table", {"privacy-unit.max-contributions": "-1"}, "max-contributions"),
        ("graph", {"dry-run": ""}, "public guess"),
        ("graph", {"vertices": "none.txt"}, "none.txt does not exist"),
        ("cut", {"second": ""}, "--to"),
        ("session", {"queries.queries": ""}, "give --queries: How many queries"),
    ],
)
def test_what_is_missing_is_told_in_a_line(name, more, message, tmp_path):
    with pytest.raises((ParameterError, FileFormatError)) as told:
        PRODUCTS[name].preview(with_paths_in(FORMS[name], tmp_path) | more)
    assert message in str(told.value)
    assert "\n" not in str(told.value)


def test_files_that_are_written_have_no_folder(tmp_path):
    values = with_paths_in(TRIPS, tmp_path) | {"plot": "../away.png"}
    with pytest.raises(ParameterError, match="without a folder"):
        PRODUCTS["table"].words(values, "trips.csv", tmp_path)


ROW = b"secret1;secret2;7\n"
STREETS = ["von", "Straße", "nach"]


@pytest.mark.parametrize(
    ("file", "content", "values", "names"),
    [
        ("a.csv", b"user;from;to\n" + ROW, {}, ["user", "from", "to"]),
        ("a.csv", b"\xef\xbb\xbfuser,from\n" + ROW, {}, ["user", "from"]),
        ("a.tsv", b"user\tfrom\n" + ROW, {}, ["user", "from"]),
        ("a.csv.gz", gzip.compress(b"user,from\n" + ROW, mtime=0), {}, ["user", "from"]),
        ("a.csv", "von|an|Straße\n".encode("cp1252"), {"encoding": "cp1252"}, []),
        ("a.csv", "von|Straße|nach\n".encode("cp1252"), {"encoding": "cp1252"}, STREETS),
        ("a.csv", b"from!b!to\n", {"delimiter": "!"}, ["from", "b", "to"]),
        ("a.csv", b"from!b\n", {"delimiter": "!"}, []),
        ("a.csv", b"secret1,secret2\n", {}, []),  # no usual name: it may be a row
        ("a.csv", b"patient,secret2\n", {}, []),
        ("a.csv", b"place,other\n", {"header": "yes"}, ["place", "other"]),
        ("a.txt", b"user from\n" + ROW, {}, []),
        ("a.txt", b"user from\n" + ROW, {"header": "yes"}, ["user", "from"]),
        ("a.csv", ROW, {}, []),  # holds a number: it may be a row
        ("a.csv", ROW, {"header": "yes"}, []),
        ("a.csv", b"from,to,7\n", {}, []),
        ("a.csv", b"user;from\n" + ROW, {"header": "no"}, []),
        ("a.graphml", b"<graphml/>", {}, []),
    ],
)
def test_the_head_of_a_file_is_its_names_alone(file, content, values, names, tmp_path):
    (tmp_path / file).write_bytes(content)
    typed = {f"columns.{key}": text for key, text in values.items()}
    found = head_of(str(tmp_path / file), typed)
    assert not any("secret" in name for name in found)
    assert found == names


def test_a_head_of_nothing_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match="does not exist"):
        head_of(str(tmp_path / "none.csv"), {})
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(FileFormatError, match="empty"):
        head_of(str(tmp_path / "empty.csv"), {})
