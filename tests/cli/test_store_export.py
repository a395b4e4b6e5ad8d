"""`store export`: a ledger as a document that other tools add up, with public facts alone."""

import getpass
import json

import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

import graphcuts_dp as gc
from graphcuts_dp.privacy.dp_events import built_event
from graphcuts_dp.session.transcript import LEDGER_SCHEMA, LEDGER_SCHEMA_VERSION

USE_FIELDS = {
    *("number", "kind", "state", "time", "author", "purpose", "made_by", "periods", "cost"),
    *("neighbours", "public", "private", "dp_event", "zcdp_event"),
}
FIELDS = {
    *("schema", "schema_version", "made_by", "store", "head", "privacy_unit", "private", "total"),
    *("all_periods", "periods", "budget", "left", "uses"),
}


@pytest.fixture
def charged(done, tmp_path):
    """A store that two releases were charged to."""
    gc.datasets.load("karate").write(tmp_path / "secret-club.edges")
    for epsilon in ("0.5", "0.25"):
        done(
            *("release", "secret-club.edges", f"out-{epsilon}.edges", "--epsilon", epsilon),
            *("--store", "club.db", "--vertices", "34", "--allow-useless"),
        )


@pytest.mark.usefixtures("charged")
def test_a_ledger_adds_up_in_dp_accounting(done):
    document = json.loads(done("store", "export", "club.db")[0])
    assert (document["schema"], document["schema_version"]) == (
        LEDGER_SCHEMA,
        LEDGER_SCHEMA_VERSION,
    )
    assert document["total"] == {"epsilon": 0.75, "delta": 0.0}
    exact, renyi = PLDAccountant(value_discretization_interval=1e-5), RdpAccountant()
    for use in document["uses"]:
        exact.compose(built_event(use["dp_event"]))
        renyi.compose(built_event(use["zcdp_event"]))
    assert 0.75 * (1 - 1e-9) <= exact.get_epsilon(0.0) <= 0.75 + 1e-3
    assert renyi.get_epsilon(1e-6) > 0.75
    assert [use["cost"]["pure"] for use in document["uses"]] == ["1/2", "1/4"]


@pytest.mark.usefixtures("charged")
def test_it_has_the_documented_fields_and_no_private_ones(done, tmp_path):
    text, _ = done("store", "export", "club.db")
    document = json.loads(text)
    assert set(document) == FIELDS
    assert all(set(use) == USE_FIELDS for use in document["uses"])
    for private in ("secret-club", "out-0.5", str(tmp_path)):
        assert private not in text
    assert getpass.getuser() not in [use["author"] for use in document["uses"]]
    assert text == gc.store_status("club.db").to_json() + "\n"


@pytest.mark.usefixtures("charged")
def test_it_is_written_to_a_file(done, refused, tmp_path):
    done("store", "export", "club.db", "-o", "ledger.json")
    text = (tmp_path / "ledger.json").read_text()
    assert json.loads(text)["private"] is True
    assert "exists" in refused("store", "export", "club.db", "-o", "ledger.json")
    assert "does not exist" in refused("store", "export", "none.db")


def test_seeded_uses_have_no_event(tmp_path):
    club = gc.datasets.load("karate")
    gc.release_graph(club, epsilon=1.0, store=tmp_path / "a.db", seed=1, fit="none")
    document = json.loads(gc.store_status(tmp_path / "a.db").to_json())
    assert document["private"] is False
    assert document["uses"][0]["dp_event"] is None
