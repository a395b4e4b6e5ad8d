"""The table of docs/extending.md, dry-run: a new thing is a file and a line in one table.

The four files below are added to a copy of the package, with the line of each; then everything
that names such things (releases, sessions, plans, audits, the command line) is asked for them. So
are the option of sessions and the default of the guide's examples; `test_contributor_tasks` has its
share of a budget and its statistic.
"""

import json
import shutil

import pytest
from package_copies import ROOT, copied_package, printed_by
from test_confidence import with_confidence
from test_extensions import example_of

from graphcuts_dp.plugins import FitMethod

GUIDE = (ROOT / "docs" / "extending.md").read_text()


def shown_below(heading):
    """What the guide has as Python below a heading."""
    return [part.split("```")[0] for part in GUIDE.split(heading)[1].split("```python\n")[1:]]


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


{example_of(FitMethod)}
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

# The new file; the table's file, and the line that goes into it after an existing one.
ADDITIONS = {
    "noise": (
        ("privacy/wide_noise.py", WIDE_NOISE),
        "estimate/noises.py",
        '    "discrete-laplace": discrete_laplace_noise,\n',
        '    "wide": wide_noise,\n',
        "from graphcuts_dp.privacy.wide_noise import wide_noise\n",
    ),
    "fit": (
        ("synth/clipped.py", CLIPPED),
        "synth/methods.py",
        '    "spectral": FitMethod(spectral, has_gap=True),\n',
        '    "clipped": FitMethod(clipped, needs_cap=True),\n',
        "from graphcuts_dp.synth.clipped import clipped\n",
    ),
    "update rule": (
        ("learn/half_steps.py", shown_below("## An update rule")[0]),
        "learn/constructions.py",
        "_OUR_CONSTRUCTIONS: Mapping[str, KnownConstruction] = {\n",
        """    "half-steps": KnownConstruction(
        initials="HS",
        learner=lambda universe, *_: HalfSteps(universe),
        updates=lambda n, edges, rule, _: frieze_kannan_updates(n, edges, rule=rule),
    ),
""",
        "from graphcuts_dp.learn.half_steps import HalfSteps\n",
    ),
    "file format": (
        ("io/arrows.py", ARROWS),
        "io/files.py",
        "_OUR_FORMATS: Mapping[str, FileFormat] = {\n",
        '    ".arrows": FileFormat(read=read_arrows, write=write_arrows),\n',
        "from graphcuts_dp.io.arrows import read_arrows, write_arrows\n",
    ),
}

ASKED = """
import json, sys, warnings
import graphcuts_dp as gc
from graphcuts_dp.cli import main
from tests.audits.registry import ENTRIES, exported_mechanisms

warnings.simplefilter("ignore")
graph = gc.Graph([0, 1, 2, 3, 4], [1, 2, 3, 4, 5], vertices=8)
said = {}

made = gc.release_graph(graph, epsilon=2.0, noise="wide", seed=1)
made.save("wide.edges")
said["noise"] = [made.noisy.distribution.name,
gc.Release.load("wide.edges").noisy.distribution.name]

made = gc.release_graph(graph, epsilon=2.0, fit="clipped", seed=1)
made.save("clipped.edges")
said["fit"] = [made.fit.method, gc.Release.load("clipped.edges").fit.method]

made = gc.release_iteratively(graph, epsilon=2.0, delta=1e-6, construction="half-steps", seed=1)
terms = {"epsilon": 5.0, "delta": 1e-6, "queries": 20, "method": "half-steps", "seed": 1}
with gc.open_session(graph, store="s.db", **terms) as session:
    first = session.ask([0, 1])
with gc.open_session(graph, store="s.db") as session:
    again = session.ask([0, 1]) == first
plan = gc.plan(n=1000, edges=1e4, queries=100, epsilon=1.0, delta=1e-6)
said["update rule"] = [made.settings.construction, again, "tight HS" in str(plan),
    "gru12 HS" in str(plan)]

graph.write("g.arrows")
same = gc.read_graph("g.arrows", vertices=8) == graph
said["file format"] = open("g.arrows").readline().strip(), same

covered = {name for entry in ENTRIES for name in entry.covers}
said["audited"] = sorted(covered)
said["not audited"] = sorted(set(exported_mechanisms()) - covered)
for command in ("release", "release-iteratively", "session start"):
    sys.argv = ["graphcuts-dp", *command.split(), "--help"]
    main.run_command()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A copy of the package with the additions."""
    tree = tmp_path_factory.mktemp("tree")
    package = copied_package(tree, "scripts", "tests/audits")  # audits of contenders
    shutil.copy(ROOT / "tests" / "__init__.py", tree / "tests")
    for what, ((name, text), table, before, line, imported) in ADDITIONS.items():
        assert not (package / name).exists()
        (package / name).write_text(text)
        known = (package / table).read_text()
        assert known.count(before) == 1, f"the table of {what} is not where it was"
        begin = known.index("\nfrom graphcuts_dp") + 1
        known = known[:begin] + imported + known[begin:]
        (package / table).write_text(known.replace(before, before + line))
    return tree


@pytest.fixture(scope="module")
def said(changed):
    *help_text, last = printed_by(changed, "-c", ASKED).splitlines()
    return {**json.loads(last), "help": " ".join(help_text)}


@pytest.mark.parametrize("table", [table for _, table, *_ in ADDITIONS.values()])
def test_the_guide_names_the_table_of_each_addition(table):
    assert f"`{table}`" in GUIDE


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("addition", "expected"),
    [
        ("noise", ["wide", "wide"]),
        ("fit", ["clipped", "clipped"]),
        ("update rule", ["half-steps", True, True, True]),
        ("file format", ["0->1", True]),
        ("not audited", []),
    ],
)
def test_an_addition_works_wherever_its_like_do(addition, expected, said):
    assert said[addition] == expected


def test_the_command_line_offers_them_and_each_gets_its_audits(said):
    for name in ("wide", "clipped", "half-steps"):
        assert name in said["help"], name
    expected = {
        *("fit: clipped", "release: randomized-response, wide", "iterative: half-steps"),
        *(f"session: half-steps, {name}" for name in ("dr14", "gru12", "jt12", "tight")),
    }
    assert expected <= set(said["audited"])


OPTION_ASKED = """
import json, sys, warnings
import graphcuts_dp as gc
from graphcuts_dp.cli import main
from graphcuts_dp.page.products import PRODUCTS
from graphcuts_dp.server import models

warnings.simplefilter("ignore")
said = {}
work = gc.SessionWorkload(queries=9, purpose="a report")
said["python"] = [work.purpose, work.beta]
graph = gc.Graph([0, 1, 2], [1, 2, 3], vertices=8)
with gc.open_session(graph, store="s.db", epsilon=2.0, queries=work) as session:
    said["answer"] = session.ask([1]).confidence
said["store"] = open("s.db", "rb").read().count(b"a report")
fields = models.Terms.model_json_schema()["properties"]
said["http"] = [fields["purpose"]["description"], fields["beta"]["default"]]
said["http plan"] = models.PlanIn.model_json_schema()["properties"]["beta"]["default"]
asked = next(each for each in PRODUCTS["session"].fields() if each["key"] == "queries")
said["page"] = {each["key"]: each["help"] for each in asked["kinds"][""]}["queries.purpose"]
typed = "--n 100 --epsilon 1 --queries"
for words in (f"plan {typed} 9,purpose=why --json", "plan --help", "session start --help"):
    sys.argv = ["graphcuts-dp", *words.split()]
    main.run_command()
print(json.dumps(said))
"""


@pytest.mark.thorough
def test_an_option_is_one_field_and_a_default_one_line(tmp_path):
    pytest.importorskip("pydantic", reason="the server's extra describes options over HTTP")
    added = shown_below("## An option: the share of the total")[3]
    changed = shown_below("## A default: the confidence")[0]
    place = copied_package(tmp_path) / "learn" / "workload.py"
    before, kind, rest = place.read_text().partition("class SessionWorkload(Checked):\n")
    first = "    beta: float = option(\n"
    assert rest.count(first) == 1
    place.write_text(before + kind + rest.replace(first, added + first))
    with_confidence(changed.strip(), tmp_path)
    told = printed_by(tmp_path, "-c", OPTION_ASKED)
    assert '"beta": 0.01' in told
    assert told.count("purpose") >= 2
    assert told.count("What the answers are for, in a few words.") >= 2
    assert told.count("wrong. [0.01]") == 2
    assert json.loads(told.splitlines()[-1]) == {
        "python": ["a report", 0.01],
        "answer": 0.99,
        "store": 1,
        "http": ["What the answers are for, in a few words.", 0.01],
        "http plan": 0.01,
        "page": "What the answers are for, in a few words.",
    }
