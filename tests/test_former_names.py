"""Each former name is refused with the new one, and former keys of stored files are read."""

import inspect
from functools import partial

import pytest
from command_runs import run_line

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.former_names import KEYS, OPTIONS, PUBLIC_NAMES, STORED_KEYS, VALUES, current
from graphcuts_dp.synth.mechanisms import MECHANISM_OPTIONS
from tests.audits.public_names import public_names

CLUB = gc.datasets.load("karate")
REFUSING = {
    "release_graph": partial(gc.release_graph, CLUB, epsilon=1.0),
    "release_flows": partial(gc.release_flows, CLUB, None, epsilon=1.0),
    "release_iteratively": partial(gc.release_iteratively, CLUB, epsilon=1.0),
    "open_session": partial(gc.open_session, CLUB, store="x.db", epsilon=1.0, queries=3),
    "least_cut": partial(gc.least_cut, CLUB, 0, 33, epsilon=1.0),
    "plan": partial(gc.plan, 34, epsilon=1.0),
}


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_a_former_name_gives_the_new_one(name):
    new = PUBLIC_NAMES[name]
    with pytest.raises(AttributeError, match=f"is now called {new}$"):
        getattr(gc, name)
    assert new in {**public_names(), **dict.fromkeys(gc.__all__)}


@pytest.mark.parametrize("name", REFUSING)
def test_a_former_option_gives_the_new_one(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=r"^protect is now called privacy_unit$"):
        REFUSING[name](protect="edges")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("make", "former", "new"),
    [
        (partial(gc.read_graph, "x.csv"), "weight_cap", "max_weight"),
        (partial(gc.Graph, [0], [1], n=2), "hide_change", "max_weight_change"),
        (gc.Columns, "owner", "user"),
        (partial(gc.Rows.read, "x.csv", columns=gc.Columns()), "unit", "weight_unit"),
        (gc.PrivacyUnit.user, "at_most", "max_contributions"),
        (gc.PrivacyUnit.edge, "at_most", "group_size"),
        (gc.PrivacyUnit.row, "at_most", "max_units"),
        (gc.PrivacyUnit.vertex, "degree_bound", "max_degree"),
    ],
)
def test_former_keywords(make, former, new):
    with pytest.raises(ParameterError, match=f"^{former} is now called {new}$"):
        make(**{former: 1})


@pytest.mark.parametrize("word", VALUES["privacy_unit"])
def test_a_former_privacy_unit_gives_the_new_one(word):
    now = VALUES["privacy_unit"][word]
    with pytest.raises(ParameterError, match=f"privacy_unit='{word}' is now called '{now}'"):
        gc.PrivacyUnit.of(word)


@pytest.mark.parametrize("word", VALUES["mechanism"])
def test_a_former_mechanism_gives_the_new_one(word):
    now = VALUES["mechanism"][word]
    assert now in MECHANISM_OPTIONS
    with pytest.raises(ParameterError) as error:
        gc.release_graph(CLUB, epsilon=1.0, mechanism=word)
    assert str(error.value) == f"mechanism={word!r} is now called {now!r}"


@pytest.mark.parametrize("kind", ["edge", "row", "user", "vertex"])
def test_former_keys_of_typed_values(kind):
    ((former, now),) = KEYS[kind].items()
    with pytest.raises(ParameterError, match=f"{former} of '{kind}' is now called {now}"):
        gc.PrivacyUnit.of(f"{kind}:{former}=3")


@pytest.mark.parametrize("option", sorted({"protect", "weight_cap", "hide_change", "unit", "data"}))
def test_former_options_of_the_command_line(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flag = f"--{option.replace('_', '-')}"
    status, _, err = run_line("release", "x.csv", "y.csv", "--epsilon", "1", flag, "1")
    assert status == 2
    assert f"{flag} is now called --{OPTIONS[option].replace('_', '-')}" in err


def test_stored_keys_are_read_as_those_of_today():
    for former, new in STORED_KEYS.items():
        assert current({"a": [{former: 3}]}) == {"a": [{new: 3}]}
        assert current({new: 3}) == {new: 3}
    stored = {"protect": "owner", "at_most": 50, "degree_bound": None}
    assert current(stored) == {"privacy_unit": "user:max-contributions=50"}
    guarantee = {"neighbours": "x", "protects": "1 owner in one month", "parts": {"entries": 1.0}}
    assert current(guarantee) == {
        "neighbours": "x",
        "privacy_unit": "1 user in one month",
        "spent": {"entries": 1.0},
    }
    files = {"files": {"protects": "a name of a file"}}
    assert current(files) == files


def test_no_function_has_a_former_name_of_an_option():
    former = OPTIONS.keys() - {"data", "unit", "rest"}  # which mean other things elsewhere
    for name, value in public_names().items():
        if callable(value):
            try:
                parameters = inspect.signature(value).parameters
            except ValueError:
                continue
            assert not former & parameters.keys(), name
