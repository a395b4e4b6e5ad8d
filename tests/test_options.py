"""Objects of options: each described once, checked once, and shown by the command line."""

import math
import sys
from dataclasses import dataclass, make_dataclass
from fractions import Fraction
from typing import Literal

import pytest

from graphcuts_dp.cli import options as typed
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.options import INPUT, METHOD, OUTPUT, check, chosen, described, option


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
    ("given", "told"),
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
def test_values_out_of_range_are_refused_in_one_line(given, told):
    with pytest.raises(ParameterError) as refused:
        Search(**given)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_in_range_is_kept():
    made = Search(steps=99, share=Fraction(1, 3), rule="exact", header=False, start=object)
    assert (made.steps, made.share, made.rule, made.header) == (99, Fraction(1, 3), "exact", False)


def test_a_whole_number_from_a_least_one_on():
    about = described(make_dataclass("Few", [("k", int, option(1, help="Few.", least=1))]))[0]
    with pytest.raises(ParameterError, match="k must be a whole number from 1 on, not 0"):
        about.check(0)


def test_each_option_tells_what_it_is():
    found = {each.name: each for each in described(Search)}
    assert [found["steps"].kind, found["share"].kind, found["start"].kind] == [int, float, None]
    assert (found["share"].optional, found["steps"].optional) == (True, False)
    assert found["rule"].choices == ("fast", "exact")
    assert found["time_limit"].text == "Most time. In seconds."
    assert found["steps"].group == METHOD


def test_a_name_selects_an_object():
    made = Search(steps=3)
    assert chosen(made, {"search": Search}, "method") is made
    assert chosen("search", {"search": Search}, "method") == Search()
    with pytest.raises(ParameterError, match="unknown method 'find'; choose one of 'search'"):
        chosen("find", {"search": Search}, "method")


@pytest.fixture
def call(monkeypatch, capsys):
    """Run a command that takes such an object: what it got, and what it printed."""

    def run(kind, *words):
        got = []

        def command(search):
            """Search."""
            got.append(search)

        command.__annotations__ = {"search": kind}
        app = typed.Commands()
        app.command("search")(typed.with_options(command))
        monkeypatch.setattr(sys, "argv", ["search", *words])
        app(standalone_mode=False)
        return got[0] if got else capsys.readouterr().out

    return run


def test_a_command_takes_the_options_of_an_object(call):
    words = ("--steps", "5", "--no-header", "--force", "--of", "who", "--rule", "exact")
    assert call(Search, *words) == Search(
        steps=5, header=False, force=True, column="WHO", rule="exact"
    )
    assert call(Search) == Search()


def test_a_refusal_names_the_option_as_it_is_typed(call):
    with pytest.raises(ParameterError, match=r"^--time-limit must be a number above 0, not"):
        call(Search, "--time-limit", "0")


def test_help_lists_options_in_groups(call):
    told = call(Search, "--help")
    places = [told.index(word) for word in ("Input:", "--header", "Method:", "--of", "Output:")]
    assert places == sorted(places)
    assert "--start" not in told


def test_an_option_that_is_added_to_an_object_is_in_its_help(call):
    larger = make_dataclass(
        "Larger",
        [("depth", int, option(2, help="How deep to look.", unit="levels", least=0))],
        bases=(Search,),
        frozen=True,
        kw_only=True,
    )
    assert "--depth <int>" in call(larger, "--help")
    assert "How deep to look. In levels." in call(larger, "--help")
    assert call(larger, "--depth", "3").depth == 3
    with pytest.raises(ParameterError, match="--depth must be a whole number from 0 on, not -1"):
        call(larger, "--depth", "-1")
