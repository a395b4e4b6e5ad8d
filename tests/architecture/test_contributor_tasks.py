"""Two tasks of docs/extending.md, in copies of the package: an option, and a statistic.

The option is a share of the budget. The lines of the guide are put where it says. Then everything
that a release states about its budget is compared with the plan, and with the scales of its noise.
"""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from package_copies import GUIDE, copied_package, output_of, python_blocks

from graphcuts_dp.synth.budget_plans import CERTIFICATE_SHARE

OPTION = "## An option: the share of the total"
STATISTIC = "## A statistic: how many vertices have an edge"
MECHANISMS, PLANS = "synth/mechanisms.py", "synth/budget_plans.py"
MEASURING = "release/measuring.py"
TOTAL = '''    @property
    def total(self) -> Fraction:
        """Share of the total, of what groups leave."""
        return TOTAL_SHARE
'''
STEP = "    steps.append(BudgetStep(statistic=ENTRIES, share=ALL_LEFT, noise=shares.noise))\n"

OPTION_BLOCKS = python_blocks(OPTION)
IMPORTS, CLASS, NAMES, MEASURED = python_blocks(STATISTIC)[:4]
IMPORTED, LINE = IMPORTS.rsplit("\n", 2)[0] + "\n", IMPORTS.rsplit("\n", 2)[1] + "\n"
# Of each edit: the file, a line of it, and the lines of the guide that go after it (+), before it
# (-) or in its place (=).
OPTION_EDITS = [
    (MECHANISMS, "        above=0,\n        below=1,\n    )\n", "+", OPTION_BLOCKS[0]),
    (MECHANISMS, "        check(self)\n", "+", OPTION_BLOCKS[1]),
    (PLANS, TOTAL, "=", OPTION_BLOCKS[2]),
]
STATISTIC_EDITS = [
    (MEASURING, "from graphcuts_dp.errors import ParameterError\n", "-", IMPORTED),
    (MEASURING, "@cache\ndef statistics()", "-", CLASS + "\n\n"),
    (MEASURING, "            KeptEdgesStatistic,\n", "+", LINE),
    (PLANS, "TOTAL_SHARE = Fraction(1, 50)", "-", NAMES),
    (PLANS, STEP, "-", MEASURED),
]

# Prepares a report; `spent_by_noise` computes the budget from the scales of the noise.
START = """
import json, sys, warnings
from fractions import Fraction
import numpy as np
import graphcuts_dp as gc
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.estimate.worst_cut_errors import expected_worst_cut
from graphcuts_dp.cli import main
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.release.graphs import graph_job

warnings.simplefilter("ignore")
club = gc.datasets.load("karate")
groups = gc.datasets.load_groups("karate")
report = {}

def spent_by_noise(values):
    spent = {}
    for value in values:
        if isinstance(value, NoisyMatrix):
            spent[value.name] = str(value.distribution.epsilon)
            continue
        rates = zip(value.noise.parameters, value.changes, strict=True)
        spent[value.name] = str(sum((rate * change for rate, (change, _) in rates), Fraction(0)))
    return spent

def budget_of(**options):
    job = graph_job(club, epsilon=1.0, fitted=False, **options)
    measured = job.measure(club, SeededEntropy(3))
    plan = measured.guarantee.budget_plan
    least = job.least_distribution
    receipt = json.loads(json.dumps(measured.guarantee.to_dict()))
    return {
        "shares": {step.label: [str(share) for share in step.shares] for step in plan.steps},
        "decided on": str(getattr(job.decisions(), "_left_by_total", None)),
        "least": str(least.epsilon),
        "noted": f"{expected_worst_cut(least, (34, 34)):,.0f} before" in " ".join(job.notes),
        "error": expected_worst_cut(least, (34, 34)),
        "amounts": {plan.names[name]: str(amount) for name, amount in plan.amounts.items()},
        "spent by noise": spent_by_noise(measured.values),
        "receipt": receipt["spent"],
        "cost": [str(job.cost.pure), str(plan.cost.pure), measured.guarantee.epsilon],
    }
"""
USES_OF_OPTION = (
    START
    + """
from graphcuts_dp.page.products import PRODUCTS

for share in (None, 0.02, 0.1, 0.2, 0.5):
    chosen = "auto" if share is None else gc.Mechanism(total_share=share)
    report[str(share)] = budget_of(noise="laplace", mechanism=chosen)
    report[f"{share} groups"] = budget_of(noise="laplace", mechanism=chosen, groups=groups)
refused = []
for options in ({"total_share": 0.0}, {"mechanism": "randomized-response", "total_share": 0.2}):
    try:
        gc.Mechanism(**options)
    except gc.errors.ParameterError as problem:
        refused.append(str(problem))
report["refused"] = refused
club.write("club.edges")
labels = [str(label) for label in club.vertices.labels]
open("all.csv", "w").write("vertex\\n" + "\\n".join(labels) + "\\n")
line = "release club.edges out.graphml --vertices all.csv --epsilon 1 --noise laplace --seed 3"
for words in (f"{line} --mechanism auto:total-share=.2 --allow-useless", "release --help"):
    sys.argv = ["graphcuts-dp", *words.split()]
    report[words[:9]] = main.run_command()
report["typed"] = gc.load("out.graphml").guarantee.spent
fields = json.dumps(list(PRODUCTS["graph"].fields()), default=str)
report["form"] = "total-share" in fields
print(json.dumps(report))
"""
)
USES_OF_STATISTIC = (
    START
    + """
from graphcuts_dp.estimate.measurement import NonlinearCounts

NAME = "joined vertices"

def count(graph, seed=5):
    options = {"mechanism": "randomized-response", "fit": "none", "seed": seed}
    release = gc.release_graph(graph, epsilon=50.0, **options)
    return release.measurements.named(NAME)

graph = gc.Graph([0, 1, 5], [1, 2, 6], vertices=10)
mechanisms = {"response": "randomized-response", "auto": "auto"}
mechanisms["split"] = "degrees+randomized-response"
for name, mechanism in mechanisms.items():
    report[name] = budget_of(noise="laplace", mechanism=mechanism)
report["groups"] = budget_of(groups=groups)

errors = [float(count(graph, seed).values[0][0]) - 5 for seed in range(300)]
one = count(graph)
report["errors"] = [float(np.mean(errors)), float(np.std(errors)), *one.standard_errors]
report["spent"] = [str(one.cost().pure), str(one.epsilon)]

# Equal seeds, equal noise: the difference of two counts is that of the true ones.
changes = []
for rows, columns in ([[0, 1, 5, a], [1, 2, 6, b]] for a in range(9) for b in range(a + 1, 10)):
    other = gc.Graph(rows, columns, vertices=10)
    changes.append(int(count(other).steps[0][0] - one.steps[0][0]))
report["changes"] = sorted(set(changes))
two = gc.BipartiteGraph([0, 0, 3], [1, 2, 2], left=4, right=5)
arcs = gc.DirectedGraph([0, 1, 1], [1, 0, 2], vertices=6)
noise = int(one.steps[0][0]) - 5
report["kinds"] = [int(count(each).steps[0][0]) - noise for each in (two, arcs)]

release = gc.release_graph(club, epsilon=50.0, seed=1)
release.save("out.graphml")
loaded = gc.load("out.graphml")
again = loaded.measurements.named(NAME)
first = release.measurements.named(NAME)
report["kept"] = [
    again.steps[0].tolist() == first.steps[0].tolist(),
    again.cost() == first.cost(),
    again.map == first.map,
    isinstance(again.map, NonlinearCounts) and again.map.counted,
    loaded.guarantee.budget_plan == release.guarantee.budget_plan,
    loaded.answer([0, 1]) == release.answer([0, 1]),
]
low, high = loaded.answer([0, 1]).interval
report["answer"] = [low, gc.CutQuery([0, 1]).value(club), high]
report["value"] = float(again.values[0][0])
report["card"] = [NAME in release._repr_html_(), NAME in str(release.budget_plan)]
print(json.dumps(report))
"""
)


def edited_package(tree: Path, edits: list[tuple[str, str, str, str]]) -> Path:
    """Copy the package into a tree and insert lines of the guide, in two files at most."""
    package = copied_package(tree)
    for file, anchor, where, added in edits:
        path = package / file
        text = path.read_text()
        assert text.count(anchor) == 1, f"{file} has no such line: {anchor!r}"
        new = {"+": anchor + added, "-": added + anchor, "=": added}[where]
        path.write_text(text.replace(anchor, new))
    assert len({file for file, *_ in edits}) <= 2
    return tree


def section(heading: str) -> str:
    """Return the text of a section of the guide."""
    return GUIDE.split(heading)[1].split("\n##")[0]


@pytest.mark.parametrize(
    ("heading", "edits"), [(OPTION, OPTION_EDITS), (STATISTIC, STATISTIC_EDITS)]
)
def test_the_guide_names_the_files_of_each_task(heading, edits):
    for file, *_ in edits:
        assert f"`{file}`" in section(heading)


@pytest.fixture(scope="module")
def option(tmp_path_factory):
    tree = edited_package(tmp_path_factory.mktemp("option"), OPTION_EDITS)
    *help_lines, last = output_of(tree, "-c", USES_OF_OPTION).splitlines()
    return {**json.loads(last), "help": " ".join(" ".join(help_lines).split())}


def check_account(report: dict[str, Any], whole: int = 1) -> None:
    """Check that plan, receipt, stated cost and the noise agree on what was spent."""
    assert report["amounts"] == report["spent by noise"]
    assert report["receipt"] == {
        name: float(Fraction(amount)) for name, amount in report["spent by noise"].items()
    }
    assert sum(map(Fraction, report["spent by noise"].values())) == whole
    assert report["cost"] == [str(whole), str(whole), float(whole)]
    # The forecast is made for the least epsilon that a run leaves for entries.
    assert report["noted"]
    assert Fraction(report["least"]) <= Fraction(report["spent by noise"]["entries"])


@pytest.mark.thorough
@pytest.mark.parametrize("share", [None, 0.02, 0.1, 0.2, 0.5])
def test_all_statements_about_the_budget_follow_a_share_of_the_total(option, share):
    report, exact = option[str(share)], Fraction(str(share or 0.02))
    check_account(report)
    assert report["shares"]["total"] == [str(exact)]
    assert Fraction(report["spent by noise"]["total"]) == exact
    # Degrees get at most three quarters of what the total leaves.
    assert Fraction(report["least"]) == (1 - exact) / 4
    assert Fraction(report["decided on"]) == 1 - exact
    if share in (None, 0.02):
        assert report == option["None"]
    else:
        # Errors of entries are in proportion to one over their part of epsilon.
        ratio = report["error"] / option["None"]["error"]
        assert ratio == pytest.approx(0.98 / float(1 - exact), rel=0.05)
    check_account(option[f"{share} groups"])


@pytest.mark.thorough
def test_the_command_line_and_the_form_have_the_share_and_bad_values_are_refused(option):
    assert dict(option["typed"])["total"] == pytest.approx(0.2 * (1 - CERTIFICATE_SHARE))
    assert option["release c"] == option["release -"] == 0
    assert "total-share" in option["help"]
    assert "Part of epsilon for the noisy total, with auto." in option["help"]
    assert option["form"]
    assert option["refused"] == [
        "total_share must be a number at least 0.001 and at most 0.5, not 0.0",
        "total_share is for mechanism='auto'",
    ]


@pytest.fixture(scope="module")
def statistic(tmp_path_factory):
    tree = edited_package(tmp_path_factory.mktemp("statistic"), STATISTIC_EDITS)
    return json.loads(output_of(tree, "-c", USES_OF_STATISTIC).splitlines()[-1])


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["response", "auto", "split", "groups"])
def test_all_statements_about_the_budget_have_the_share_of_a_statistic(statistic, kind):
    report = statistic[kind]
    check_account(report)
    assert report["shares"]["joined vertices"] == ["1/50"]
    entries, joined = (
        Fraction(report["spent by noise"][name]) for name in ("entries", "joined vertices")
    )
    assert joined / (joined + entries) == Fraction(1, 50)
    if kind == "response":
        assert report["least"] == "49/50"


@pytest.mark.thorough
def test_a_statistic_has_its_stated_error_and_cost(statistic):
    mean, deviation, stated = statistic["errors"]
    # 300 draws: 6.2 deviations of a mean, and of a deviation of noise with tails like Laplace's.
    assert abs(mean) < 6.2 * stated / 300**0.5
    assert abs(deviation / stated - 1) < 6.2 * (5 / 4 / 300) ** 0.5
    assert statistic["spent"] == ["1", "1"]  # a fiftieth of 50
    assert abs(statistic["value"] - 34) < 12 * stated


def test_an_edge_changes_the_statistic_by_two_at_most_and_both_sides_count(statistic):
    assert statistic["changes"] == [0, 1, 2]
    assert statistic["kinds"] == [4, 3]


def test_a_saved_release_keeps_the_statistic_and_its_answers(statistic):
    assert statistic["kept"] == [True, True, True, "vertices that have an edge", True, True]
    low, truth, high = statistic["answer"]
    assert low <= truth <= high
    assert statistic["card"] == [True, True]
