"""What was typed in version 0.1 is refused, before anything is read, with what is typed now."""

import pytest

RELEASE = ("release", "no.csv", "out.graphml", "--epsilon", "1")
START = ("session", "start", "no.csv", "--store", "no.db", "--epsilon", "1", "--queries")
FLAGS = {
    "--data": "--data-name",
    "--force-hopeless": "--allow-useless",
    "--hide-change": "--max-weight-change",
    "--protect": "--privacy-unit",
    "--unit": "--weight-unit",
    "--weight-cap": "--max-weight",
}
OTHERS = {
    "release-iteratively": ("no.csv", "out.npz"),
    "flows": ("no.csv", "groups.csv", "out.csv"),
    "cuts": ("no.csv", "out.csv"),
    "session start": ("no.csv",),
    "serve start": ("no.db", "--graph", "no.csv"),
}


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("typed", ["{} 1", "{}=1"])
def test_a_former_option_gives_the_new_one(refused, flag, typed):
    words = typed.format(flag).split()
    assert refused(*RELEASE, *words) == f"error: {flag} is now called {FLAGS[flag]}"


@pytest.mark.parametrize("command", OTHERS)
@pytest.mark.parametrize("flag", sorted(FLAGS.keys() - {"--force-hopeless"}))
def test_so_does_every_command_that_reads_a_private_graph(refused, command, flag):
    line = refused(*command.split(), *OTHERS[command], flag, "1")
    assert line == f"error: {flag} is now called {FLAGS[flag]}"


def test_the_new_name_is_one_of_the_command(refused):
    """Where a command has no such option under either name, it says only that there is none."""
    line = refused("distances", "map.csv", "people.csv", "--at-most", "2")
    assert line == "error: --at-most is now called --group-size"
    for line in (
        refused(*RELEASE, "--at-most", "2"),
        refused(*RELEASE, "--owner", "name"),
        refused("answer", "no.graphml", "--unit", "2"),
        refused("plan", "--n", "9", "--weight-cap", "2"),
    ):
        assert "No such option" in line
        assert "is now called" not in line


@pytest.mark.parametrize(
    ("words", "now"),
    [
        ("--columns owner=name", "--columns: owner is now called user"),
        ("--groups-columns rest=none", "--groups-columns: rest is now called default-group"),
        ("--counting owners", "--counting owners is now called 'users'"),
        ("--mechanism response", "--mechanism response is now called 'randomized-response'"),
        (
            "--mechanism degrees+response:degree-share=.5",
            "--mechanism degrees+response is now called 'degrees+randomized-response'",
        ),
        ("--privacy-unit edges", "--privacy-unit edges is now called 'edge'"),
        ("--privacy-unit rows:at-most=3", "--privacy-unit rows is now called 'row'"),
        ("--privacy-unit owner:at-most=3", "--privacy-unit owner is now called 'user'"),
        ("--privacy-unit edge:at-most=3", "at-most of 'edge' is now called group-size"),
        ("--privacy-unit row:at-most=3", "at-most of 'row' is now called max-units"),
        ("--privacy-unit user:at-most=3", "at-most of 'user' is now called max-contributions"),
        ("--privacy-unit vertex:degree-bound=3", "degree-bound of 'vertex' is now called max-"),
    ],
)
def test_former_values_and_keys_give_the_new_ones(refused, tmp_path, words, now):
    (tmp_path / "no.csv").write_text("source,target\na,b\n")
    assert now in refused(*RELEASE, *words.split())


@pytest.mark.parametrize(
    ("key", "now"), [("most-right", "max-right-size"), ("most-spectral", "max-spectral-norm")]
)
def test_former_keys_of_queries_give_the_new_ones(refused, key, now):
    for line in ((*START, f"10,{key}=3"), ("plan", "--n", "9,9", "--queries", f"10,{key}=3")):
        assert f"--queries: {key} is now called {now}" in refused(*line)


def test_a_former_key_of_contributions_gives_the_new_one(refused):
    line = refused("flows", "no.csv", "--contributions", "table:most=3", "--epsilon", "1")
    assert "most of 'table' is now called known-max" in line
