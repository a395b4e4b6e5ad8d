"""Objects of options: descriptions, checks, texts that stand for them, and the command line."""

import math
import sys
from dataclasses import dataclass, make_dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, Literal

import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.cli import options as typed
from graphcuts_dp.options import (
    INPUT,
    METHOD,
    OUTPUT,
    Checked,
    Option,
    check,
    chosen,
    described,
    option,
    read_options,
)


@dataclass(frozen=True, kw_only=True)
class Search:
    """One option of each kind."""

    steps: int = option(10, help="Most steps.", least=1, most=99)
    share: float | None = option(None, help="Part for the search.", above=0, below=1)
    time_limit: float = option(math.inf, help="Most time.", above=0, unit="seconds")
    rule: Literal["fast", "exact"] = option("fast", help="How steps are made.")
    header: bool | None = option(None, help="Whether there is one.", group=INPUT)
    force: bool = option(False, help="Replace a file.", group=OUTPUT)
    column: str | int = option("x", help="Which column.", flag="--of", parse=str.upper)
    start: object = option(None, help="No word stands for it.")

    def __post_init__(self) -> None:
        check(self)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps must be a whole number at least 1 and at most 99, not 0"),
        ({"steps": 100}, "at most 99, not 100"),
        ({"steps": 2.0}, "steps must be a whole number"),
        ({"steps": True}, "not True"),
        ({"steps": None}, "not None"),
        ({"share": 0.0}, "share must be a number above 0 and below 1, not 0.0"),
        ({"share": 1}, "below 1, not 1"),
        ({"share": "half"}, "share must be a number"),
        ({"time_limit": math.nan}, "time_limit must be a number above 0, not nan"),
        ({"rule": "slow"}, "unknown rule='slow'; choose one of 'fast', 'exact'"),
        ({"force": 1}, "force must be True or False, not 1"),
    ],
)
def test_values_out_of_range_are_refused_in_one_line(options, message):
    with pytest.raises(ParameterError) as refused:
        Search(**options)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_values_in_range_are_stored_unchanged():
    search = Search(steps=99, share=Fraction(1, 3), rule="exact", header=False, start=object)
    assert (search.steps, search.share, search.rule, search.header) == (
        99,
        Fraction(1, 3),
        "exact",
        False,
    )


def test_every_option_describes_its_kind_choices_text_and_group():
    option_of = {option.name: option for option in described(Search)}
    assert [option_of["steps"].kind, option_of["share"].kind, option_of["start"].kind] == [
        int,
        float,
        None,
    ]
    assert (option_of["share"].optional, option_of["steps"].optional) == (True, False)
    assert option_of["rule"].choices == ("fast", "exact")
    assert option_of["time_limit"].text == "Most time. In seconds."
    assert option_of["steps"].group == METHOD


def test_a_name_stands_for_an_object_with_defaults():
    search = Search(steps=3)
    assert chosen(search, {"search": Search}, "method") is search
    assert chosen("search", {"search": Search}, "method") == Search()


@dataclass(frozen=True)
class Walk:
    """Another kind, whose first option has to be given."""

    steps: int = option(help="Most steps.", least=1)
    by: str = option("", help="What moves.", choices=("foot", "night train"))


KINDS = {"search": Search, "exact": partial(Search, rule="exact"), "walk": Walk}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("search", Search()),
        ("search:steps=5, share=.5", Search(steps=5, share=0.5)),
        (
            "search:time_limit=1e3,header=no,force",
            Search(time_limit=1000, header=False, force=True),
        ),
        ("search:column=a\\,b=c", Search(column="A,B=C")),
        ("search:column=,", Search(column=",")),
        ("search:column=,,steps=5", Search(column=",", steps=5)),
        ("exact:steps=9", Search(steps=9, rule="exact")),
        ("walk:9", Walk(9)),
        ("walk:1e6,by=night-train", Walk(10**6, "night train")),
    ],
)
def test_a_text_stands_for_an_object_with_options(text, expected):
    assert chosen(text, KINDS, "method") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("find:steps=3", "unknown method='find'; choose one of 'search', 'exact', 'walk'"),
        ("walk:step=3", "unknown option 'step' of 'walk'; choose one of steps, by"),
        ("exact:rule=fast", "unknown option 'rule' of 'exact'; choose one of steps, share,"),
        ("search:start=3", "unknown option 'start' of 'search'"),
        ("search:steps=", "steps must be a whole number at least 1 and at most 99, not ''"),
        ("search:steps=1.5", "steps must be a whole number"),
        ("search:force=maybe", "force must be True or False, not 'maybe'"),
        ("search:share", "steps must be a whole number"),
        ("search:steps=1,share", "share of 'search' needs a value: share=..."),
        ("search:steps=1,steps=2", "steps is given twice"),
        ("search:force,,header", "unknown option '' of 'search'"),
        ("walk:by=foot", "give steps, for example steps=10"),
    ],
)
def test_a_text_that_stands_for_no_object_is_refused_on_one_line(text, message):
    with pytest.raises(ParameterError) as refused:
        chosen(text, KINDS, "method")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["9", "9:by=foot", "9,by=foot", "by=foot,steps=9"])
def test_the_first_option_may_leave_out_its_key(text):
    assert read_options(text, Walk) == Walk(9, "foot" if "foot" in text else "")


@dataclass(frozen=True, kw_only=True)
class Shape(Checked):
    norm: str = option("l2", help="Norm.", commas=True)
    steps: int = option(1, help="Steps.")
    force: bool = option(False, help="Force.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("norm=2,p", Shape(norm="2,p")),
        ("norm=2\\,p", Shape(norm="2,p")),
        ("steps=2,norm=2,1.25,force", Shape(norm="2,1.25", steps=2, force=True)),
        ("norm=2,p,steps=3", Shape(norm="2,p", steps=3)),
    ],
)
def test_a_value_may_have_a_comma_if_its_option_allows_it(text, expected):
    assert read_options(text, Shape) == expected


def test_a_function_is_described_by_its_annotations():
    def sleep(hours: Annotated[int, Option(help="How long.", least=1)] = 8, *, snore: bool = False):
        return hours, snore

    (about,) = described(sleep)
    assert (about.key, about.kind, about.default, about.least) == ("hours", int, 8, 1)
    assert read_options("hours=3", sleep) == (3, False)


@pytest.fixture
def call(monkeypatch, capsys):
    """Return a function that runs a command with an object of options.

    It returns the object that the command received, or, of a help page, what was printed.
    """

    def run(kind, *words):
        received = []

        def command(search):
            """Search."""
            received.append(search)

        command.__annotations__ = {"search": kind}
        app = typed.Commands()
        app.command("search")(command)
        monkeypatch.setattr(sys, "argv", ["search", *words])
        app(standalone_mode=False)
        return received[0] if received else capsys.readouterr().out

    return run


def test_a_command_takes_the_options_of_an_object(call):
    words = ("--steps", "5", "--header", "no", "--force", "--of", "who", "--rule", "exact")
    assert call(Search, *words) == Search(
        steps=5, header=False, force=True, column="WHO", rule="exact"
    )
    assert call(Search) == Search()


def test_help_lists_options_in_groups(call):
    help_text = call(Search, "--help")
    positions = [
        help_text.index(word) for word in ("Input:", "--header", "Method:", "--of", "Output:")
    ]
    assert positions == sorted(positions)
    assert "--start" not in help_text


def test_a_new_option_of_an_object_is_in_its_help(call):
    larger = make_dataclass(
        "Larger",
        [("depth", int, option(2, help="How deep to look.", unit="levels", least=0))],
        bases=(Search,),
        frozen=True,
        kw_only=True,
    )
    assert "--depth COUNT" in call(larger, "--help")
    assert "How deep to look. In levels." in call(larger, "--help")
    assert call(larger, "--depth", "3").depth == 3
    with pytest.raises(ParameterError, match=r"^--depth must be a whole number from 0 on, not -1"):
        call(larger, "--depth", "-1")


def test_public_functions_take_texts_for_objects(tmp_path):
    club = gc.datasets.load("karate")
    by_text, by_object = (
        gc.release_graph(club, epsilon=4.0, seed=1, mechanism=mechanism, fit=fit)
        for mechanism, fit in (
            ("degrees+randomized-response:degree-share=.5", "maximum-entropy:time-limit=60"),
            (
                gc.Mechanism(mechanism="degrees+randomized-response", degree_share=0.5),
                gc.FitOptions("maximum-entropy", time_limit=60),
            ),
        )
    )
    assert by_text.graph == by_object.graph
    assert gc.PrivacyUnit.of("user:50") == gc.PrivacyUnit.user(max_contributions=50)
    terms = {"epsilon": 40.0, "delta": 1e-6, "queries": 9, "store": tmp_path / "club.db"}
    with gc.open_session(club, method="mirror-descent:norm=l2", **terms) as session:
        assert session.norm == "l2"
    with pytest.raises(ParameterError, match="norm='l2'"):
        gc.open_session(club, method="mirror-descent:norm=lp", **terms)
    reopened = gc.open_session(club, method=gc.MirrorDescent(norm="l2"), **terms)
    assert reopened.status.answers == 0
    reopened.close()
