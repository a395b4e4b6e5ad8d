"""Extensions by docs/extending.md: a noise, a fit, an update rule and a format of files.

Each is a new file and a line in one table. All four are added to one copy of the package; then
everything that should know them (releases, sessions, plans, audits, the command line) is asked.
Then come an option of sessions and a default. `test_contributor_tasks` has the guide's share of a
budget and its statistic.
"""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from package_copies import GUIDE, ROOT, copied_package, insert_import, output_of, python_blocks
from test_confidence import with_confidence
from test_extensions import docstring_example

from graphcuts_dp.plugins import FitMethod

WIDE_NOISE = '''
"""Laplace noise on a grid of quarters."""

from graphcuts_dp.privacy.distributions import LaplaceNoise


class WideNoise(LaplaceNoise):
    name = "wide"


def wide_noise(epsilon, max_weight):
    return WideNoise(epsilon, max_weight, -2)
'''

CLIPPED = f"""
from graphcuts_dp.synth.base import Fit
from graphcuts_dp.resources import silent


{docstring_example(FitMethod)}
"""

ARROWS = '''
"""Lines like 3->5."""

import io
from dataclasses import replace

from graphcuts_dp.io.text import read_edge_list
from graphcuts_dp.schema.text_format import TextFormat


def read_arrows(file, options):
    blanks = io.BytesIO(file.read().replace(b"->", b" "))
    return read_edge_list(blanks, replace(options, weighted=False), form=TextFormat())


def write_arrows(graph, handle):
    for row, column in zip(graph.rows, graph.columns):
        handle.write(f"{row}->{column}\\n".encode())
'''


class Addition(NamedTuple):
    """A new module, and its lines in the table of its kind.

    Attributes:
        module: path of the new module in the package.
        source: text of the new module.
        table: path of the module that has the table.
        anchor: line of the table after which the entry goes.
        entry: of the addition in the table.
        imported: line that imports it into the module of the table.
    """

    module: str
    source: str
    table: str
    anchor: str
    entry: str
    imported: str


ADDITIONS = {
    "noise": Addition(
        module="privacy/wide_noise.py",
        source=WIDE_NOISE,
        table="estimate/noises.py",
        anchor='    "discrete-laplace": discrete_laplace_noise,\n',
        entry='    "wide": wide_noise,\n',
        imported="from graphcuts_dp.privacy.wide_noise import wide_noise\n",
    ),
    "fit": Addition(
        module="synth/clipped.py",
        source=CLIPPED,
        table="synth/methods.py",
        anchor='    "spectral": FitMethod(spectral, has_gap=True),\n',
        entry='    "clipped": FitMethod(clipped, needs_cap=True),\n',
        imported="from graphcuts_dp.synth.clipped import clipped\n",
    ),
    "update rule": Addition(
        module="learn/half_steps.py",
        source=python_blocks("## An update rule")[0],
        table="learn/constructions.py",
        anchor="_OUR_CONSTRUCTIONS: Mapping[str, KnownConstruction] = {\n",
        entry="""    "half-steps": KnownConstruction(
        initials="HS",
        learner=lambda universe, *_: HalfSteps(universe),
        updates=lambda n, edges, rule, _: frieze_kannan_updates(n, edges, rule=rule),
    ),
""",
        imported="from graphcuts_dp.learn.half_steps import HalfSteps\n",
    ),
    "file format": Addition(
        module="io/arrows.py",
        source=ARROWS,
        table="io/files.py",
        anchor="_OUR_FORMATS: Mapping[str, FileFormat] = {\n",
        entry='    ".arrows": FileFormat(read=read_arrows, write=write_arrows),\n',
        imported="from graphcuts_dp.io.arrows import read_arrows, write_arrows\n",
    ),
}

# Uses each addition in the changed copy, then prints help texts, then the report as JSON.
USES_OF_ADDITIONS = """
import json, sys, warnings
import graphcuts_dp as gc
from graphcuts_dp.cli import main
from tests.audits.registry import ENTRIES, exported_mechanisms

warnings.simplefilter("ignore")
graph = gc.Graph([0, 1, 2, 3, 4], [1, 2, 3, 4, 5], vertices=8)
report = {}

release = gc.release_graph(graph, epsilon=2.0, noise="wide", seed=1)
release.save("wide.edges")
loaded = gc.Release.load("wide.edges")
report["noise"] = [release.noisy.distribution.name, loaded.noisy.distribution.name]

release = gc.release_graph(graph, epsilon=2.0, fit="clipped", seed=1)
release.save("clipped.edges")
report["fit"] = [release.fit.method, gc.Release.load("clipped.edges").fit.method]

release = gc.release_iteratively(graph, epsilon=2.0, delta=1e-6, construction="half-steps", seed=1)
terms = {"epsilon": 5.0, "delta": 1e-6, "queries": 20, "method": "half-steps", "seed": 1}
with gc.open_session(graph, store="s.db", **terms) as session:
    first_answer = session.ask([0, 1])
with gc.open_session(graph, store="s.db") as session:
    same_answer = session.ask([0, 1]) == first_answer
plan = str(gc.plan(n=1000, edges=1e4, queries=100, epsilon=1.0, delta=1e-6))
report["update rule"] = [
    release.settings.construction, same_answer, "tight HS" in plan, "gru12 HS" in plan
]

graph.write("g.arrows")
same_graph = gc.read_graph("g.arrows", vertices=8) == graph
report["file format"] = open("g.arrows").readline().strip(), same_graph

audited = {name for entry in ENTRIES for name in entry.covers}
report["audited"] = sorted(audited)
report["not audited"] = sorted(set(exported_mechanisms()) - audited)
for command in ("release", "release-iteratively", "session start"):
    sys.argv = ["graphcuts-dp", *command.split(), "--help"]
    main.run_command()
print(json.dumps(report))
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the report of USES_OF_ADDITIONS, run with a copy of the package that has them."""
    tree = tmp_path_factory.mktemp("tree")
    package = copied_package(tree, "scripts", "tests/audits")  # audits of contenders
    shutil.copy(ROOT / "tests" / "__init__.py", tree / "tests")
    for kind, addition in ADDITIONS.items():
        assert not (package / addition.module).exists()
        (package / addition.module).write_text(addition.source)
        table = package / addition.table
        source = table.read_text()
        assert source.count(addition.anchor) == 1, f"{addition.table} has no such line: {kind}"
        source = source.replace(addition.anchor, addition.anchor + addition.entry)
        table.write_text(insert_import(source, addition.imported))
    *help_lines, last = output_of(tree, "-c", USES_OF_ADDITIONS).splitlines()
    return {**json.loads(last), "help": " ".join(help_lines)}


@pytest.mark.parametrize("kind", ADDITIONS)
def test_the_guide_names_the_table_of_each_addition(kind: str) -> None:
    assert f"`{ADDITIONS[kind].table}`" in GUIDE


EXPECTED_REPORT = {
    "noise": ["wide", "wide"],
    "fit": ["clipped", "clipped"],
    "update rule": ["half-steps", True, True, True],
    "file format": ["0->1", True],
    "not audited": [],
}


@pytest.mark.thorough
@pytest.mark.parametrize("subject", EXPECTED_REPORT)
def test_an_addition_works_in_calls_saved_results_sessions_plans_and_audits(
    subject: str, report: dict[str, Any]
) -> None:
    assert report[subject] == EXPECTED_REPORT[subject]


@pytest.mark.thorough
def test_help_of_the_command_line_offers_the_additions(report: dict[str, Any]) -> None:
    for name in ("wide", "clipped", "half-steps"):
        assert name in report["help"], name


def test_each_addition_gets_its_audits(report: dict[str, Any]) -> None:
    expected = {
        "fit: clipped",
        "release: randomized-response, wide",
        "iterative: half-steps",
        "session: half-steps, dr14",
        "session: half-steps, gru12",
        "session: half-steps, jt12",
        "session: half-steps, tight",
    }
    assert expected <= set(report["audited"])


# Looks for the option `purpose` and the default 0.01 of `beta` wherever options are described.
USES_OF_OPTION = """
import json, sys, warnings
import graphcuts_dp as gc
from graphcuts_dp.cli import main
from graphcuts_dp.page.products import PRODUCTS
from graphcuts_dp.server import models

warnings.simplefilter("ignore")
report = {}
workload = gc.SessionWorkload(queries=9, purpose="a report")
report["python"] = [workload.purpose, workload.beta]
graph = gc.Graph([0, 1, 2], [1, 2, 3], vertices=8)
with gc.open_session(graph, store="s.db", epsilon=2.0, queries=workload) as session:
    report["answer"] = session.ask([1]).confidence
report["store"] = open("s.db", "rb").read().count(b"a report")
properties = models.Terms.model_json_schema()["properties"]
report["http"] = [properties["purpose"]["description"], properties["beta"]["default"]]
report["http plan"] = models.PlanIn.model_json_schema()["properties"]["beta"]["default"]
form = next(field for field in PRODUCTS["session"].fields() if field["key"] == "queries")
help_of = {field["key"]: field["help"] for field in form["kinds"][""]}
report["page"] = help_of["queries.purpose"]
plan = "plan --n 100 --epsilon 1 --queries 9,purpose=why --json"
for command in (plan, "plan --help", "session start --help"):
    sys.argv = ["graphcuts-dp", *command.split()]
    main.run_command()
print(json.dumps(report))
"""


@pytest.mark.thorough
def test_one_field_adds_an_option_and_one_line_changes_a_default_everywhere(tmp_path: Path) -> None:
    pytest.importorskip("pydantic", reason="the server's extra describes options over HTTP")
    purpose_field = python_blocks("## An option: the share of the total")[3]
    confidence_line = python_blocks("## A default: the confidence")[0]
    workload = copied_package(tmp_path) / "learn" / "workload.py"
    before, heading, body = workload.read_text().partition("class SessionWorkload(Checked):\n")
    beta_field = "    beta: float = option(\n"
    assert body.count(beta_field) == 1
    workload.write_text(before + heading + body.replace(beta_field, purpose_field + beta_field))
    with_confidence(confidence_line.strip(), tmp_path)

    output = output_of(tmp_path, "-c", USES_OF_OPTION)

    purpose_help = "What the answers are for, in a few words."
    assert '"beta": 0.01' in output
    assert output.count("purpose") >= 2
    assert output.count(purpose_help) >= 2
    assert output.count("wrong. [0.01]") == 2
    assert json.loads(output.splitlines()[-1]) == {
        "python": ["a report", 0.01],
        "answer": 0.99,
        "store": 1,
        "http": [purpose_help, 0.01],
        "http plan": 0.01,
        "page": purpose_help,
    }
