"""Packages that add names: the one of docs/plugins.md, installed, and others that are at fault.

Each is written as pip would leave it, into a folder on the path: a module, and beside it the
metadata with its entry points. Each runs in a process of its own; commands on the same packages are
forks of one process, which has loaded our package and none of the others.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from graphcuts_dp import plugins

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
MODULE = "\n".join(
    re.findall(r"^```python\n(.*?)^```", PAGE.split("\n## Universes")[0], re.M | re.S)
)
PROJECT = tomllib.loads(re.findall(r"^```toml\n(.*?)^```", PAGE, re.M | re.S)[0])["project"]
GROUPS = PROJECT["entry-points"]


def install(folder, name, groups, module=None):
    """Leave in a folder what pip would leave there of a package."""
    module_name = name.replace("-", "_")
    metadata = folder / f"{module_name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    if module is not None:
        (folder / f"{module_name}.py").write_text(module)
    return folder


def run(folder, *words, typed=""):
    """Run Python with the packages of a folder, in which it finds two small files."""
    write_graphs(folder)
    path = os.pathsep.join([str(folder), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "GRAPHCUTS_DP_STATE": str(folder / "state")}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**environment, "COLUMNS": "200"},
        input=typed,
        capture_output=True,
        text=True,
        check=False,
    )


def write_graphs(folder):
    """Write the files of the commands below."""
    (folder / "g.csv").write_text("source,target\n0,1\n1,2\n2,3\n3,4\n4,5\n")
    (folder / "g.arrows").write_text("0->1\n1->2\n2->3\n")


# What takes time is loaded before the forks; what a command does first there, it does first.
FORKS = """
import gc, json, os, sys
sys.path.remove("")  # the packages lie in this folder, which the commands leave
import pyarrow, pydantic
from graphcuts_dp import open_session, read_graph, release_graph, release_iteratively
from graphcuts_dp.cli import main, release, session
from graphcuts_dp.cli import release_iteratively as _

gc.freeze()  # what the forks share is not looked through, and so not copied
for folder, words in json.load(sys.stdin):
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.environ["GRAPHCUTS_DP_STATE"] = os.path.join(folder, "state")
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
        sys.argv = ["graphcuts-dp", *words]
        status = main.run_command()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    with open(os.path.join(folder, "status"), "w") as file:
        file.write(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
"""


def run_commands(folder, commands):
    """Return the status and standard error of each command, which has a folder of its own."""
    folders = [folder / f"command {number}" for number in range(len(commands))]
    for each in folders:
        each.mkdir()
        write_graphs(each)
    lines = [(str(each), words.split()) for each, words in zip(folders, commands, strict=True)]
    ended = run(folder, "-c", FORKS, typed=json.dumps(lines))
    assert ended.returncode == 0, ended.stderr
    return [(int((each / "status").read_text()), (each / "err").read_text()) for each in folders]


def answered(folder, code):
    ended = run(folder, "-c", code)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1]), ended.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install(tmp_path_factory.mktemp("site"), PROJECT["name"], GROUPS, MODULE)


IN_PYTHON = """
import json, warnings
import graphcuts_dp as gc
from graphcuts_dp.errors import PrivacyWarning

graph = gc.Graph([0, 1, 2, 3, 4], [1, 2, 3, 4, 5], vertices=8)
said = {}
with warnings.catch_warnings(record=True) as met:
    warnings.simplefilter("always")
    made = gc.release_graph(graph, epsilon=2.0, fit="clipped", seed=1)
    made.save("clipped.edges")
    said["fit"] = [made.fit.method, gc.load("clipped.edges").fit.method]
    said["trusted"] = [str(each.message) for each in met if each.category is PrivacyWarning]
    made = gc.release_graph(graph, epsilon=2.0, noise="wide", seed=1)
    made.save("wide.edges")
    said["noise"] = [made.noisy.distribution.name, gc.load("wide.edges").noisy.distribution.name]
    said["unit"] = [made.noisy.distribution.unit, made.guarantee.epsilon]
    made = gc.release_iteratively(graph, epsilon=2.0, delta=1e-6, construction="half-steps", seed=1)
    said["learner"] = made.settings.construction
    finding = gc.Learning(distinguisher="in-turn", rounds=3)
    made = gc.release_iteratively(graph, epsilon=2.0, construction=finding, seed=1)
    said["distinguisher"] = [made.settings.distinguisher, len(made.transcript)]
    for method in ("half-steps", "middle"):
        terms = {"epsilon": 5.0, "delta": 1e-6, "queries": 20, "method": method}
        with gc.open_session(graph, store=f"{method}.db", **terms) as session:
            first = session.ask([0, 1])
        with gc.open_session(graph, store=f"{method}.db") as session:
            said[method] = [session.parameters["method"], session.ask([0, 1]).value == first.value]
    graph.write("made.arrows")
    same = gc.read_graph("made.arrows", vertices=8) == graph
    said["format"] = [open("made.arrows").readline(), same]
    said["auto"] = gc.open_session(graph, store="a.db", epsilon=1.0, queries=5).parameters["method"]
    said["warned"] = sorted(
        str(each.message).split(" is of ")[0]
        for each in met
        if each.category is PrivacyWarning
    )
print(json.dumps(said))
"""


@pytest.mark.thorough
def test_each_name_works_in_python(installed):
    said, _ = answered(installed, IN_PYTHON)
    assert said["fit"] == ["clipped", "clipped"]
    assert said["trusted"] == []  # a fit is post-processing
    assert said["noise"] == ["wide", "wide"]
    assert said["unit"] == [0.25, 2.0]
    assert said["learner"] == "half-steps"
    assert said["distinguisher"] == ["in-turn", 3]
    assert said["half-steps"] == ["half-steps", True]
    assert said["middle"] == ["middle", True]
    assert said["format"] == ["0->1\n", True]
    assert said["auto"] not in ("middle", "half-steps")
    # Those on which privacy rests, once each.
    assert said["warned"] == [
        "the distinguisher 'in-turn'",
        "the file format '.arrows'",
        "the noise 'wide'",
        "the session method 'middle'",
    ]


COMMANDS = {
    "file format": "release g.arrows plain.edges --vertices 8 --epsilon 2",
    "fit": "release g.csv fit.edges --vertices 8 --epsilon 2 --fit clipped",
    "noise": "release g.csv noise.edges --vertices 8 --epsilon 2 --noise wide",
    "learner": "release-iteratively g.csv learner.edges --vertices 8 --epsilon 2 --delta 1e-6"
    " --construction half-steps",
    "distinguisher": "release-iteratively g.csv turn.edges --vertices 8 --epsilon 2"
    " --construction multiplicative-weights:distinguisher=in-turn,rounds=3",
    "session method": "session start g.csv --store m.db --vertices 8 --epsilon 2 --queries 5"
    " --method middle",
    "learner of a session": "session start g.csv --store h.db --vertices 8 --epsilon 9 --delta 1e-6"
    " --queries 5 --method half-steps",
}


EACH_KIND = [kind for kind in COMMANDS if kind != "learner of a session"]


@pytest.fixture(scope="module")
def working(installed):
    return dict(zip(COMMANDS, run_commands(installed, [*COMMANDS.values()]), strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", COMMANDS)
def test_each_name_works_on_the_command_line(kind, working):
    status, err = working[kind]
    assert status == 0, err
    assert "Traceback" not in err


@pytest.mark.thorough
def test_help_names_them(installed):
    ended = run(installed, "-m", "graphcuts_dp", "release", "--help")
    assert "clipped" in ended.stdout
    assert "wide" in ended.stdout


BROKEN = "import no_such_module_anywhere\n"
EVERY = {group: dict.fromkeys(points, "broken_parts:X") for group, points in GROUPS.items()}


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    return install(tmp_path_factory.mktemp("broken"), "broken-parts", EVERY, BROKEN)


OTHERS = ("session start --help", "release --help", "plan --n 100 --epsilon 1 --queries 5")


@pytest.fixture(scope="module")
def failing(broken):
    kinds = (*EACH_KIND, *OTHERS)
    commands = [COMMANDS.get(kind, kind) for kind in kinds]
    return dict(zip(kinds, run_commands(broken, commands), strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", EACH_KIND)
def test_a_package_that_cannot_be_imported_is_one_line(kind, failing):
    status, err = failing[kind]
    assert status == 2, err
    (line,) = (line for line in err.strip().splitlines() if not line.startswith("note: "))
    assert line.startswith("error: ")
    assert f"the {kind} " in line
    assert "of broken-parts 1.0 cannot be imported" in line
    assert "no_such_module_anywhere" in line


@pytest.mark.thorough
def test_other_names_work_beside_it(broken, failing):
    code = """
import json
import graphcuts_dp as gc
graph = gc.Graph([0, 1, 2, 3, 4], [1, 2, 3, 4, 5], vertices=8)
release = gc.release_graph(graph, epsilon=2.0, seed=1)
session = gc.open_session(graph, store="b.db", epsilon=1.0, queries=5)
plan = gc.plan(100, edges=300, queries=5, epsilon=1.0)
print(json.dumps([release.fit.method, session.parameters["method"], plan.best_method]))
"""
    assert len(answered(broken, code)[0]) == 3
    for words in OTHERS:
        status, err = failing[words]
        assert status == 0, err


@pytest.mark.thorough
def test_two_packages_of_one_name_are_refused_and_ours_stay(tmp_path):
    groups = {"graphcuts_dp.fit_methods": {"twice": "one:X", "spectral": "one:X"}}
    for name in ("one", "two"):
        install(tmp_path, name, groups, "X = 7\n")
    code = """
import json
import graphcuts_dp as gc
graph = gc.Graph([0, 1, 2, 3, 4], [1, 2, 3, 4, 5], vertices=8)
said = [gc.release_graph(graph, epsilon=2.0, fit="spectral", seed=1).fit.method]
try:
    gc.release_graph(graph, epsilon=2.0, fit="twice")
except ValueError as error:
    said.append(str(error))
print(json.dumps(said))
"""
    method, message = answered(tmp_path, code)[0]
    assert method == "spectral"
    assert "several installed packages have a fit 'twice': one 1.0, two 1.0" in message


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    every = {group: dict.fromkeys(points, "odd:X") for group, points in GROUPS.items()}
    folder = install(tmp_path_factory.mktemp("odd"), "odd", every, "X = 7\n")
    commands = [COMMANDS[kind] for kind in EACH_KIND]
    return dict(zip(EACH_KIND, run_commands(folder, commands), strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", EACH_KIND)
def test_an_object_of_another_kind_is_refused(kind, odd):
    status, err = odd[kind]
    assert status == 2, err
    assert "of odd 1.0 is no such object: its entry point must be" in err


@pytest.mark.thorough
def test_no_plug_in_is_imported_before_it_is_used(installed):
    code = """
import json, sys
import graphcuts_dp as gc
graph = gc.Graph([0, 1, 2, 3, 4], [1, 2, 3, 4, 5], vertices=8)
gc.release_graph(graph, epsilon=2.0, seed=1)
gc.open_session(graph, store="i.db", epsilon=1.0, queries=5)
gc.release_iteratively(graph, epsilon=1.0, delta=1e-6, seed=1)
print(json.dumps("own_parts" in sys.modules))
"""
    assert answered(installed, code)[0] is False


def test_every_interface_has_a_section_and_a_group():
    groups = set(re.findall(r"`(graphcuts_dp\.\w+)`", PAGE)) - {"graphcuts_dp.plugins"}
    assert groups == set(GROUPS)
    assert set(re.findall(r"^    (graphcuts_dp\.\w+) ", plugins.__doc__, re.M)) == groups
    for name in ("FitMethod", "NoiseDistribution", "Learner", "Distinguisher", "CutMechanism"):
        assert f"`{name}`" in PAGE
        assert name in plugins.__all__
