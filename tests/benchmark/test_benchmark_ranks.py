"""Ratios, ranks and pages of a few runs, compared with results by hand."""

import math
import re
from typing import Any

import contender_runs
import pytest

from scripts.benchmark.not_run import NOT_RUN
from scripts.benchmark.page import graph_page, main_page
from scripts.benchmark.ranks import LEAST, TITLES, Results, geometric_mean, is_ours
from scripts.benchmark.runs import BenchmarkRun

CUT = "worst cut proven"


def run_of(contender: str, graph: str, error: float | None, **fields: Any) -> BenchmarkRun:
    """Return a run with this error of the worst cut; None of a run that failed."""
    errors = {} if error is None else {CUT: error, "seconds": 2.0}
    return contender_runs.run_of(contender, graph, **({"errors": errors} | fields))


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


def test_errors_are_listed_by_contender_and_failures_by_reason():
    names = ("ours", "ours-groups", "failing", "liar", "rival")
    assert RESULTS.errors("karate", 1.0, "seconds") == dict.fromkeys(names, 2.0)
    assert RESULTS.contenders[:2] == ("ours", "ours-groups")
    ((key, runs),) = RESULTS.failures.items()
    assert key == ("failing", "ValueError: no")
    assert len(runs) == 2


GRAPHS, GROUPED, ANSWERS, PARTITIONS, UNSOUND = TITLES


def test_contenders_are_compared_with_those_of_their_kind():
    assert RESULTS.tables() == {
        GRAPHS: ("ours", "failing", "rival"),
        GROUPED: ("ours-groups",),
        UNSOUND: ("liar",),
    }


@pytest.mark.parametrize(
    ("epsilon", "title", "errors"),  # on each graph
    [
        (1.0, GRAPHS, {"ours": (0.3, 0.5), "rival": (0.15, 1.5), "failing": (0.65, 1.0)}),
        (1.0, GROUPED, {"ours": (0.3,), "ours-groups": (0.6,)}),
        (1.0, UNSOUND, {"ours": (0.3, 0.5), "liar": (0.01, 0.01)}),
        (2.0, GRAPHS, {"ours": (LEAST,), "rival": (0.1,)}),  # an error of 0 counts as a thousandth
        (2.0, GROUPED, {}),
    ],
)
def test_ratios_are_over_the_best_sound_contender_and_ranks_follow_them(epsilon, title, errors):
    """The worst run is one of a single seed.

    Errors of ours on karate are .2 and .4, those of the contender with a failure .3 and 1.
    """
    standings = RESULTS.standings(epsilon, CUT, title)
    assert [standing.contender for standing in standings] == list(errors)
    sound = [row for name, row in errors.items() if name != "liar"]
    best = [min(column) for column in zip(*sound, strict=True)]
    for rank, (standing, row) in enumerate(zip(standings, errors.values(), strict=True), 1):
        ratios = [error / least for error, least in zip(row, best, strict=True)]
        assert standing.ratio == pytest.approx(math.prod(ratios) ** (1 / len(row)))
        assert standing.share == pytest.approx(math.prod(row) ** (1 / len(row)))
        largest = {("ours", 1.0): 0.4, ("failing", 1.0): 1.0}.get(
            (standing.contender, epsilon), row[0]
        )
        runs = [largest / best[0], *ratios[1:]]
        assert standing.worst == pytest.approx(max(runs))
        assert standing.worst_graph == ("karate", "davis-women")[runs.index(max(runs))]
        assert standing.rank == (None if standing.contender == "liar" else rank)
        assert (standing.graphs, standing.below_empty) == (
            len(row),
            sum(error < 1 for error in row),
        )
    assert RESULTS.standings(epsilon, "modularity", title) == []


def test_means_are_over_common_graphs_of_a_table_without_contenders_that_leave_few():
    """Of eight graphs, "some" ran on four, where ours is better.

    "few" ran on the last one, or on two of the four as well, which is a quarter of all graphs.
    """
    many = [run_of("ours", f"g{i}", 0.1 if i < 4 else 0.8) for i in range(8)]
    many += [run_of("some", f"g{i}", 0.2) for i in range(4)] + [run_of("few", "g7", 0.1)]
    more = [run_of("few", graph, 0.4) for graph in ("g2", "g3")]
    for runs, few in ((many, ()), (many[:-1], ()), ([*many, *more], (0.4,))):
        results = Results(runs)
        standings = results.standings(1.0, CUT, GRAPHS)
        shares = {standing.contender: standing.share for standing in standings}
        expected = dict(zip(("ours", "some", "few"), (0.1, 0.2, *few), strict=False))
        assert shares == pytest.approx(expected)
        assert {standing.graphs for standing in standings} == {2 if few else 4}


def test_answers_have_a_table_of_their_own_and_no_duels():
    """A contender answers cuts only if it has no measure of graphs in any run."""
    halves = "random halves"
    runs = [run_of("ours", "karate", 0.3), run_of("rival", "karate", 0.2)]
    for name, error in (("ours", 0.4), ("ours-answers", 0.1), ("their-answers", 0.01)):
        runs.append(run_of(name, "karate", None, seed=1, errors={halves: error}))
    results = Results(runs)
    names = ("ours-answers", "their-answers")
    assert results.tables() == {GRAPHS: ("ours", "rival"), ANSWERS: names}
    standings = results.standings(1.0, halves, ANSWERS)
    assert {standing.contender: standing.share for standing in standings} == {
        "their-answers": pytest.approx(0.01), "ours-answers": pytest.approx(0.1),
        "ours": pytest.approx(0.4),
    }  # fmt: skip
    assert results.standings(1.0, CUT, ANSWERS) == []
    assert results.duels(1.0, halves) == {}
    assert results.duels(1.0, CUT) == {"karate": ("rival", pytest.approx(1.5))}


def test_partitions_have_a_table_of_their_own_and_duels_in_their_measures():
    """A contender returns partitions if it has their measures alone."""
    parts = "found communities"
    runs = [run_of("ours", "karate", None, errors={CUT: 0.3, parts: 0.4})]
    runs += [run_of(name, "karate", None, errors={parts: error, "seconds": 1.0})
             for name, error in (("ours-clusters", 0.3), ("theirs", 0.1))]  # fmt: skip
    results = Results(runs)
    assert results.tables() == {GRAPHS: ("ours",), PARTITIONS: ("ours-clusters", "theirs")}
    standings = results.standings(1.0, parts, PARTITIONS)
    assert [standing.contender for standing in standings] == ["theirs", "ours-clusters", "ours"]
    assert results.standings(1.0, CUT, PARTITIONS) == []
    assert results.duels(1.0, parts) == {"karate": ("theirs", pytest.approx(3))}
    assert results.duels(1.0, CUT) == {}


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
def test_a_duel_is_the_ratio_to_the_best_rival_on_each_graph(epsilon, options, duels):
    expected = {graph: (name, pytest.approx(ratio)) for graph, (name, ratio) in duels.items()}
    assert RESULTS.duels(epsilon, CUT, **options) == expected
    assert RESULTS.duels(epsilon, "modularity", **options) == {}


def test_the_geometric_mean_of_2_and_8_is_4():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)


def test_contenders_of_this_package_are_called_ours_or_begin_with_it():
    assert list(filter(is_ours, ("ours", "ours-flows", "oursler", "rival"))) == [
        "ours",
        "ours-flows",
    ]


def lines_with(text: str, *words: str) -> list[str]:
    return [line for line in text.splitlines() if all(word in line for word in words)]


def section_of(page: str, title: str) -> str:
    return page.partition(f"## {title}")[2].partition("\n## ")[0]


def test_the_page_ranks_contenders_and_lists_where_ours_is_not_first():
    page = main_page(RUNS, table="benchmark/results.csv.gz")
    assert "13 runs, of which 2 failed" in page
    section = section_of(page, "Worst cut proven")
    rows = [line.split(" |")[0] for line in section.splitlines() if line.startswith("| ")]
    assert rows == [
        *("| contender", "| ours", "| failing", "| rival\\*"),
        *("| contender", "| ours", "| ours-groups", "| contender", "| ours", "| liar†"),
    ]
    titles = [line[4:] for line in section.splitlines() if line.startswith("### ")]
    assert titles == [GRAPHS, GROUPED, UNSOUND]
    row = "| ours | 1.41; 0.387 (1) | 1; 0.001 (1) | 2.67: karate, 1 | 3 of 3 |"
    assert lines_with(section_of(section, GRAPHS), row)
    assert lines_with(section_of(section, GRAPHS), "On 2 graphs.")
    assert lines_with(section, "liar", "0.0258; 0.01 (-)")
    behind = section_of(page, "Where this package is not first")
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
    at_1, _, at_2 = page.partition("## epsilon = 2")
    for row in (
        "| rival\\* | **0.15** | 2 |",
        "| ours | 0.3 (0.4) | 2 (2) |",
        "| liar† | 0.01 | 2 |",
    ):
        assert lines_with(at_1, row)
    assert lines_with(at_2, "| ours | **0** | 2 |")
    assert "34 vertices" in page
    assert "davis" not in page
    assert "seeds: 2; order of the vertices: shuffled" in page


def test_runs_with_vertices_in_file_order_are_marked_as_older():
    assert "older" not in main_page(RUNS, table="t.csv")
    old = [run_of("ours", "davis-women", 0.5, shuffled=False)]
    page = main_page([*RUNS[:2], *old], table="t.csv")
    assert "**1 of these runs are older**" in page
    assert lines_with(page, "benchmark/davis-women.md", "| 1 | of the file |")
    assert lines_with(page, "benchmark/karate.md", "| 2 | shuffled |")
    assert "order of the vertices: of the file" in graph_page(old, "davis-women")


def test_every_method_that_is_not_run_has_a_row_with_its_bounds():
    table = section_of(main_page(RUNS, table="t.csv"), "What is not run, and why")
    for method in NOT_RUN:
        (row,) = lines_with(table, method.name)
        assert len(re.findall(r"\| [\d.e+]+; [\d.e+]+ ", row)) == 3


def test_the_default_is_not_compared_with_contenders_that_need_groups():
    errors = {"ours": 0.2, "group-sums": 0.1, "density": 0.4}
    page = main_page([run_of(name, "karate", errors[name]) for name in errors], table="t.csv")
    behind = section_of(page, "Where this package is not first")
    default, best = lines_with(behind, "| worst cut proven |")
    assert default == "| worst cut proven | 0 of 1 |"
    assert best.startswith("| worst cut proven | 1 of 1, by 2.00; at most 2.00: group-sums")


def test_failures_and_unknown_graphs_have_rows_and_break_no_table():
    failed = run_of("other", "karate", None, failure="a | b <script>")
    runs = [run_of("ours", "polblogs-600", 0.5), *RUNS, failed]
    page = main_page(runs, table="t.csv")
    assert lines_with(page, "| other | 1 | karate | a / b &lt;script> |")
    assert lines_with(page, "[polblogs-600](benchmark/polblogs-600.md)", "from a folder")
    assert graph_page(runs, "polblogs-600").startswith("# polblogs-600")
