"""Ratios, ranks and pages of hand-made runs, beside what was worked out by hand."""

import math

import pytest

from scripts.benchmark.page import graph_page, main_page
from scripts.benchmark.ranks import LEAST, Results, geometric_mean, is_ours
from scripts.benchmark.runs import BenchmarkRun

CUT = "worst cut proven"


def run_of(contender, graph, value, *, epsilon=1.0, seed=0, failure="", **fields):
    known = {
        "source": "a test", "delta": 0.0, "claimed_epsilon": epsilon, "claimed_delta": 0.0,
        "claim_holds": True, "audited": True, "versions": "graphcuts_dp 0",
        "errors": {} if value is None else {CUT: value, "seconds": 2.0},
    }  # fmt: skip
    return BenchmarkRun(
        contender=contender, graph=graph, epsilon=epsilon, seed=seed, failure=failure,
        **(known | fields),
    )  # fmt: skip


RUNS = [
    run_of("ours", "karate", 0.2),
    run_of("ours", "karate", 0.4, seed=1),
    run_of("ours-groups", "karate", 0.6),
    run_of("rival", "karate", 0.15, audited=False),
    run_of("ours", "davis-women", 0.5),
    run_of("rival", "davis-women", 1.5, audited=False),
    run_of("liar", "karate", 0.01, claim_holds=False),
    run_of("liar", "davis-women", 0.01, claim_holds=False),
    run_of("failing", "karate", 0.3),
    run_of("failing", "karate", None, seed=1, failure="ValueError: no"),
    run_of("failing", "davis-women", None, failure="ValueError: no"),
    run_of("ours", "karate", 0.0, epsilon=2.0),
    run_of("rival", "karate", 0.1, epsilon=2.0, audited=False),
]
RESULTS = Results(RUNS)


def test_errors_are_means_over_seeds_and_failures_count_as_the_empty_graph():
    assert RESULTS.error("ours", "karate", 1.0, CUT) == pytest.approx(0.3)
    assert RESULTS.error("failing", "karate", 1.0, CUT) == pytest.approx((0.3 + 1) / 2)
    assert RESULTS.error("failing", "davis-women", 1.0, CUT) == 1.0
    assert RESULTS.error("failing", "davis-women", 1.0, "seconds") is None
    assert RESULTS.error("failing", "davis-women", 1.0, "group cuts") is None
    assert RESULTS.error("ours-groups", "davis-women", 1.0, CUT) is None
    assert RESULTS.errors("karate", 1.0, "seconds") == dict.fromkeys(
        ("ours", "ours-groups", "failing", "liar", "rival"), 2.0
    )


def test_ratios_are_to_the_best_whose_claim_holds():
    ratios = RESULTS.ratios("karate", 1.0, CUT)
    assert ratios == pytest.approx(
        {"ours": 2.0, "ours-groups": 4.0, "rival": 1.0, "failing": 0.65 / 0.15, "liar": 0.01 / 0.15}
    )
    # An error of 0 counts as a thousandth.
    assert RESULTS.ratios("karate", 2.0, CUT) == pytest.approx({"ours": 1.0, "rival": 0.1 / LEAST})


def test_standings():
    found = RESULTS.standings(1.0, CUT)
    assert [each.contender for each in found] == ["ours", "rival", "failing", "ours-groups", "liar"]
    ours, rival, failing, groups, liar = found
    assert [each.rank for each in found] == [1, 2, 3, 4, None]
    assert ours.ratio == pytest.approx(math.sqrt(2.0 * 1.0))
    assert (ours.worst, ours.worst_graph) == (pytest.approx(2.0), "karate")
    assert (ours.graphs, ours.below_empty) == (2, 2)
    assert rival.ratio == pytest.approx(math.sqrt(1.0 * 3.0))
    assert (rival.worst_graph, rival.below_empty) == ("davis-women", 1)
    assert failing.ratio == pytest.approx(math.sqrt(0.65 / 0.15 * 2.0))
    assert (groups.graphs, groups.ratio) == (1, pytest.approx(4.0))
    assert liar.ratio == pytest.approx(math.sqrt(0.01 / 0.15 * 0.01 / 0.5))
    assert RESULTS.standings(1.0, "modularity") == []


def test_where_ours_is_not_first():
    both = {"karate": ("rival", pytest.approx(2.0)), "davis-women": ("failing", pytest.approx(0.5))}
    assert RESULTS.duels(1.0, CUT) == both
    assert RESULTS.duels(2.0, CUT) == {"karate": ("rival", pytest.approx(LEAST / 0.1))}
    assert RESULTS.duels(1.0, CUT, only="ours-groups") == {"karate": ("rival", pytest.approx(4.0))}
    assert RESULTS.duels(1.0, CUT, without={"rival"})["karate"] == (
        "failing",
        pytest.approx(0.3 / 0.65),
    )
    assert RESULTS.duels(1.0, "modularity") == {}


def test_failures_are_gathered():
    ((key, runs),) = RESULTS.failures.items()
    assert key == ("failing", "ValueError: no")
    assert len(runs) == 2


def test_small_helpers():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert [is_ours(name) for name in ("ours", "ours-flows", "oursler", "rival")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert RESULTS.contenders[:2] == ("ours", "ours-groups")


def lines_with(text, *words):
    return [line for line in text.splitlines() if all(word in line for word in words)]


def test_the_page_says_who_is_first_and_where_ours_is_not():
    page = main_page(RUNS, table="benchmark/results.csv.gz")
    assert "13 runs, of which 2 failed" in page
    section = page.partition("## Worst cut proven")[2].partition("\n## ")[0]
    rows = [line.split(" |")[0] for line in section.splitlines() if line.startswith("| ")]
    assert rows == [
        "| contender", "| ours", "| failing", "| ours-groups", "| rival\\*", "| liar†",
    ]  # fmt: skip
    (ours,) = lines_with(section, "| ours |")
    assert ours == "| ours | 1.41 (1) | 1 (1) | 2 | 2: karate, 1 | 3 of 3 |"
    (liar,) = lines_with(section, "liar")
    assert "0.0365 (-)" in liar
    behind = page.partition("## Where this package is not first")[2].partition("\n## ")[0]
    default, grouped, best = lines_with(behind, "| worst cut proven |")
    lost = "1 of 2, by 2.00; at most 2.00: rival on karate"
    assert default == best == f"| worst cut proven | {lost} | 0 of 1 |"
    assert grouped == "| worst cut proven | 1 of 1, by 4.00; at most 4.00: rival on karate |  |"
    assert lines_with(page, "| failing | 2 | karate, davis-women | ValueError: no |")
    assert lines_with(page, "Its claim does not hold", "liar")
    assert lines_with(page, "Nobody has audited it", "rival")
    assert lines_with(page, "benchmark/karate.md", "34", "BSD-3-Clause")


def test_the_page_of_a_graph_has_every_error():
    page = graph_page(RUNS, "karate")
    one, _, two = page.partition("## epsilon = 2")
    assert lines_with(one, "| rival\\* | **0.15** | 2 |")
    assert lines_with(one, "| ours | 0.3 | 2 |")
    assert lines_with(one, "| liar† | 0.01 | 2 |")
    assert lines_with(two, "| ours | **0** | 2 |")
    assert "34 vertices" in page
    assert "davis" not in page


def test_the_default_is_not_measured_against_those_that_need_groups():
    runs = [
        run_of("ours", "karate", 0.2),
        run_of("group-sums", "karate", 0.1),
        run_of("density", "karate", 0.4),
    ]
    behind = (
        main_page(runs, table="t.csv")
        .partition("## Where this package is not first")[2]
        .partition("\n## ")[0]
    )
    default, best = lines_with(behind, "| worst cut proven |")
    assert default == "| worst cut proven | 0 of 1 |"
    assert best.startswith("| worst cut proven | 1 of 1, by 2.00; at most 2.00: group-sums")


def test_what_a_failure_says_breaks_no_table():
    runs = [*RUNS, run_of("other", "karate", None, failure="a | b <script>", epsilon=1.0)]
    page = main_page(runs, table="t.csv")
    assert lines_with(page, "| other | 1 | karate | a / b &lt;script> |")


def test_a_graph_from_a_folder_has_its_page_too():
    runs = [run_of("ours", "polblogs-600", 0.5), *RUNS]
    page = main_page(runs, table="t.csv")
    assert lines_with(page, "[polblogs-600](benchmark/polblogs-600.md)", "from a folder")
    assert graph_page(runs, "polblogs-600").startswith("# polblogs-600")
