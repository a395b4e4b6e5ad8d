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


@pytest.mark.parametrize(
    ("contender", "graph", "measure", "error"),
    [
        ("ours", "karate", CUT, 0.3),
        ("failing", "karate", CUT, (0.3 + 1) / 2),
        ("failing", "davis-women", CUT, 1.0),
        ("failing", "davis-women", "seconds", None),
        ("failing", "davis-women", "group cuts", None),
        ("ours-groups", "davis-women", CUT, None),
    ],
)
def test_errors_are_means_over_seeds_and_failures_count_as_the_empty_graph(
    contender, graph, measure, error
):
    assert RESULTS.error(contender, graph, 1.0, measure) == (error and pytest.approx(error))


def test_errors_and_failures_are_gathered():
    names = ("ours", "ours-groups", "failing", "liar", "rival")
    assert RESULTS.errors("karate", 1.0, "seconds") == dict.fromkeys(names, 2.0)
    assert RESULTS.contenders[:2] == ("ours", "ours-groups")
    ((key, runs),) = RESULTS.failures.items()
    assert key == ("failing", "ValueError: no")
    assert len(runs) == 2


def test_ratios_are_to_the_best_whose_claim_holds():
    ratios = RESULTS.ratios("karate", 1.0, CUT)
    assert ratios == pytest.approx(
        {"ours": 2.0, "ours-groups": 4.0, "rival": 1.0, "failing": 0.65 / 0.15, "liar": 0.01 / 0.15}
    )
    # An error of 0 counts as a thousandth.
    assert RESULTS.ratios("karate", 2.0, CUT) == pytest.approx({"ours": 1.0, "rival": 0.1 / LEAST})


def test_standings():
    found = RESULTS.standings(1.0, CUT)
    ratios = {
        "ours": math.sqrt(2.0 * 1.0),
        "rival": math.sqrt(1.0 * 3.0),
        "failing": math.sqrt(0.65 / 0.15 * 2.0),
        "ours-groups": 4.0,
        "liar": math.sqrt(0.01 / 0.15 * 0.01 / 0.5),
    }
    assert {each.contender: each.ratio for each in found} == pytest.approx(ratios)
    assert [each.contender for each in found] == list(ratios)
    assert [each.rank for each in found] == [1, 2, 3, 4, None]
    ours, rival, *_ = found
    assert (ours.worst, ours.worst_graph) == (pytest.approx(2.0), "karate")
    assert (ours.graphs, ours.below_empty, found[3].graphs) == (2, 2, 1)
    assert (rival.worst_graph, rival.below_empty) == ("davis-women", 1)
    assert RESULTS.standings(1.0, "modularity") == []


@pytest.mark.parametrize(
    ("epsilon", "options", "duels"),
    [
        (1.0, {}, {"karate": ("rival", 2.0), "davis-women": ("failing", 0.5)}),
        (2.0, {}, {"karate": ("rival", LEAST / 0.1)}),
        (1.0, {"only": "ours-groups"}, {"karate": ("rival", 4.0)}),
        (1.0, {"without": {"rival"}},
         {"karate": ("failing", 0.3 / 0.65), "davis-women": ("failing", 0.5)}),
    ],
)  # fmt: skip
def test_where_ours_is_not_first(epsilon, options, duels):
    expected = {graph: (name, pytest.approx(ratio)) for graph, (name, ratio) in duels.items()}
    assert RESULTS.duels(epsilon, CUT, **options) == expected
    assert RESULTS.duels(epsilon, "modularity", **options) == {}


def test_small_helpers():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert list(filter(is_ours, ("ours", "ours-flows", "oursler", "rival"))) == [
        "ours",
        "ours-flows",
    ]


def lines_with(text, *words):
    return [line for line in text.splitlines() if all(word in line for word in words)]


def part(page, title):
    return page.partition(f"## {title}")[2].partition("\n## ")[0]


def test_the_page_says_who_is_first_and_where_ours_is_not():
    page = main_page(RUNS, table="benchmark/results.csv.gz")
    assert "13 runs, of which 2 failed" in page
    section = part(page, "Worst cut proven")
    rows = [line.split(" |")[0] for line in section.splitlines() if line.startswith("| ")]
    assert rows == [
        "| contender", "| ours", "| failing", "| ours-groups", "| rival\\*", "| liar†",
    ]  # fmt: skip
    assert lines_with(section, "| ours | 1.41 (1) | 1 (1) | 2 | 2: karate, 1 | 3 of 3 |")
    assert lines_with(section, "liar", "0.0365 (-)")
    behind = part(page, "Where this package is not first")
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
    for row in ("| rival\\* | **0.15** | 2 |", "| ours | 0.3 | 2 |", "| liar† | 0.01 | 2 |"):
        assert lines_with(one, row)
    assert lines_with(two, "| ours | **0** | 2 |")
    assert "34 vertices" in page
    assert "davis" not in page


def test_the_default_is_not_measured_against_those_that_need_groups():
    errors = {"ours": 0.2, "group-sums": 0.1, "density": 0.4}
    page = main_page([run_of(name, "karate", errors[name]) for name in errors], table="t.csv")
    behind = part(page, "Where this package is not first")
    default, best = lines_with(behind, "| worst cut proven |")
    assert default == "| worst cut proven | 0 of 1 |"
    assert best.startswith("| worst cut proven | 1 of 1, by 2.00; at most 2.00: group-sums")


def test_failures_and_graphs_that_nobody_knows_have_their_lines_too():
    """What a failure says breaks no table."""
    failed = run_of("other", "karate", None, failure="a | b <script>")
    runs = [run_of("ours", "polblogs-600", 0.5), *RUNS, failed]
    page = main_page(runs, table="t.csv")
    assert lines_with(page, "| other | 1 | karate | a / b &lt;script> |")
    assert lines_with(page, "[polblogs-600](benchmark/polblogs-600.md)", "from a folder")
    assert graph_page(runs, "polblogs-600").startswith("# polblogs-600")
