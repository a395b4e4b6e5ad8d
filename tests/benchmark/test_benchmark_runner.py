"""The benchmark's runs: what a method may do wrong, files that go on after any end, ways in."""

import gzip
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from contender_runs import run_of

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, ParameterError
from scripts.benchmark import worker
from scripts.benchmark.base import Contender, Submission
from scripts.benchmark.contenders.table import CONTENDERS
from scripts.benchmark.entering import claiming, is_audited, load_contender
from scripts.benchmark.measures import measured
from scripts.benchmark.runner import (
    DELTA,
    EPSILONS,
    LARGE_SEEDS,
    QUICK_CONTENDERS,
    SEEDS,
    BenchmarkPlan,
    run_benchmark,
    seed_of,
)
from scripts.benchmark.runs import open_runs, read_runs, write_table
from scripts.benchmark.worker import FAILED, MADE, MEASURED, READY, Job


@pytest.fixture
def methods(tmp_path, monkeypatch):
    """A file with methods in the working directory, as a user has one."""
    shutil.copy(Path(__file__).with_name("my_methods.py"), tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("my_methods", None)
    yield tmp_path
    sys.modules.pop("my_methods", None)


def told(name, folder, *, warmed):
    """The messages of a worker, in this process."""
    spec = f"my_methods:{name}"
    job = Job(contender=spec, folder=str(folder), graph="karate", epsilon=1.0, delta=0.0, seed=1)
    return list(worker.answers(job, {}, {spec} if warmed else set()))


def test_a_worker_tells_what_a_method_claims_and_its_errors(methods):
    ready, made, measured = told("Halves", methods, warmed=True)
    assert ready == (READY,)
    assert (made[0], made[1]["epsilon"], made[1]["delta"]) == (MADE, 1.0, 0.0)
    assert made[1]["seconds"] >= 0
    assert made[1].get("memory", 0.0) >= 0  # told by the kernel of Linux alone
    before = worker.start_of_peak()
    assert before is None or before > 10
    assert measured[0] == MEASURED
    # Half of every weight is missing, whatever the cut.
    for name in ("worst cut found", "worst cut proven", "group cuts", "s-t cuts"):
        assert measured[1][name] == pytest.approx(0.5), name
    assert measured[1]["modularity"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.thorough
def test_a_method_that_reads_the_order_of_the_vertices_learns_nothing(methods):
    """It knows the planted blocks of the file, which would give it an error near 0."""
    truths = {}
    errors = []
    for seed in range(3):
        job = Job(contender="my_methods:in_order", folder=str(methods), graph="blocks-150",
                  epsilon=1.0, delta=0.0, seed=seed)  # fmt: skip
        *_, (what, found) = worker.answers(job, truths, {"my_methods:in_order"})
        assert what == MEASURED
        errors.append(found["group cuts"])
        assert found["found communities"] > 0.5
    truth = truths["blocks-150"]
    from my_methods import in_order

    in_true_order = measured(in_order(truth.graph), truth)
    assert in_true_order["group cuts"] < 0.2
    assert in_true_order["found communities"] == 0.0
    assert min(errors) > 1
    assert len(set(errors)) == 3, "each seed has an order of its own"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raises", "ValueError: not today"),
        ("wrong_shape", "shape"),
        ("greedy", "claims epsilon = 2, more than the 1 given"),
        ("loose", "claims delta = 0.1, more than the 0 given"),
    ],
)
@pytest.mark.parametrize("warmed", [True, False])
def test_what_goes_wrong_is_told_in_one_line(name, reason, warmed, methods):
    *_, (what, line) = told(name, methods, warmed=warmed)
    assert what == FAILED
    assert reason in line
    assert "\n" not in line


@pytest.mark.thorough
def test_a_process_that_dies_or_hangs_is_a_run_that_failed(methods):
    """Each run is on the disk when it is told, and a file is gone on from, the half line apart."""
    path, said = methods / "runs.jsonl", []
    plan = BenchmarkPlan.of(
        graphs=["karate"], contenders=["empty-graph"], added=["my_methods:dies"],
        epsilons=[1.0], seeds=1,
    )  # fmt: skip
    runs = run_benchmark(
        plan, path, progress=lambda share, _: said.append((share, len(read_runs(path))))
    )
    assert said == [(0.5, 1), (1.0, 2)]
    empty, dead = sorted(runs, key=lambda run: run.failure)
    assert (empty.contender, empty.failure, empty.audited) == ("empty-graph", "", True)
    assert (empty.claimed_epsilon, empty.errors["worst cut proven"]) == (0.0, 1.0)
    assert "graphcuts_dp" in empty.versions
    assert (dead.contender, dead.audited) == ("dies", False)
    assert dead.failure == "the process died, status 3"
    path.write_bytes(path.read_bytes() + b'{"contender": "emp')
    longer = replace(plan, contenders=(*plan.contenders, "my_methods:sleeps"))
    again = run_benchmark(longer, path, seconds=0.2)
    assert again[:2] == runs
    assert [run.failure for run in again[2:]] == ["the method took more than 0.2 seconds"]
    assert read_runs(path) == again


@pytest.mark.parametrize("cut", [0, 5, 40])
def test_a_file_that_was_hardly_begun_is_begun_again(cut, tmp_path):
    path = tmp_path / "runs.jsonl"
    with open_runs(path) as file:
        assert file.runs == ()
    path.write_bytes(path.read_bytes()[:cut])
    with open_runs(path) as file:
        file.append(run_of())
    head, line = path.read_text().splitlines()
    assert json.loads(head)["version"] == 2
    assert json.loads(line)["errors"] == {"worst cut proven": 0.25, "seconds": 1.5}
    assert read_runs(path) == [run_of()]


@pytest.mark.parametrize(
    "content",
    [b"my thesis", b"my thesis\nlines\n", b'{"format": "other"}\n',
     b'{"format": "graphcuts_dp benchmark", "version": 2}\n{"contender": 1}\n',
     b'{"format": "graphcuts_dp benchmark", "version": 1}\n'],
)  # fmt: skip
def test_other_files_are_left_alone(content, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"runs\.jsonl"):
        open_runs(path).__enter__()
    assert path.read_bytes() == content
    with pytest.raises(FileFormatError):
        read_runs(path)


def test_places_that_cannot_be_written_or_read(tmp_path):
    path = tmp_path / "runs.jsonl"
    with open_runs(path), pytest.raises(FileFormatError, match="another benchmark"):
        open_runs(path).__enter__()
    with pytest.raises(FileFormatError, match="cannot write"):
        open_runs(tmp_path / "none" / "runs.jsonl").__enter__()
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a table")[:-4])
    for name in ("none.jsonl", "t.csv.gz"):
        with pytest.raises(FileFormatError, match="cannot read"):
            read_runs(tmp_path / name)


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_table_holds_all_runs_in_six_digits(ending, tmp_path):
    path = tmp_path / f"runs.{ending}"
    runs = [
        run_of(seed=1, errors={"worst cut proven": 1 / 3}),
        run_of(claimed_epsilon=None, claimed_delta=None, failure='it said "a, b"', errors={}),
        run_of(contender="mine", audited=False, claim_holds=False),
    ]
    write_table(runs, path)
    first = path.read_bytes()
    write_table(reversed(runs), path)
    assert path.read_bytes() == first
    rounded = replace(runs[0], errors={"worst cut proven": 0.333333})
    assert read_runs(path) == [runs[2], runs[1], rounded]
    path.write_bytes(gzip.compress(b"a,b\n") if ending.endswith("gz") else b"a,b\n")
    with pytest.raises(FileFormatError, match="no table"):
        read_runs(path)


def test_a_plan_runs_each_contender_where_it_can_be_run():
    plan = BenchmarkPlan.of(graphs=["karate", "davis", "counts", "blocks-100000"])
    assert (plan.epsilons, plan.seeds) == (EPSILONS, None)
    repeated = {case.name: plan.seeds_of(case) for case in plan.cases}
    assert (repeated["karate"], repeated["blocks-100000"]) == (SEEDS, LARGE_SEEDS) == (5, 3)
    assert plan.contenders == tuple(CONTENDERS)
    runs = list(plan.runs())
    pairs = {(known.contender, known.graph) for _, known in runs}
    assert {("ours", "karate"), ("ours-sparse", "blocks-100000")} <= pairs
    impossible = {("ours", "blocks-100000"), ("ours-groups", "davis-women")}
    assert not pairs & (impossible | {("degrees-drawn", "counts-300")})
    assert len({known.key for _, known in runs}) == len(runs)
    assert len(runs) == sum(4 * repeated[graph] for _, graph in pairs)
    assert all(job.delta in (0.0, DELTA) for job, _ in runs)
    assert len({job.seed for job, _ in runs}) == 4 * (3 * 5 + 3)  # the same for all contenders
    assert seed_of("karate", 1.0, 0) == seed_of("karate", 1.0, 0) != seed_of("karate", 1.0, 1)


@pytest.mark.usefixtures("methods")
def test_delta_is_for_those_who_need_it():
    terms = {"graphs": ["karate"], "epsilons": [1], "seeds": 1}
    plan = BenchmarkPlan.of(contenders=["ours"], added=["my_methods:NEEDY"], **terms)
    deltas = {known.contender: (job.delta, known.delta) for job, known in plan.runs()}
    assert deltas == {"ours": (0.0, 0.0), "needy": (DELTA, DELTA)}


@pytest.mark.thorough
def test_two_processes_find_what_one_finds(tmp_path):
    plan = BenchmarkPlan.of(
        graphs=["karate", "davis-women"], contenders=["density", "degrees-chung-lu"],
        epsilons=[1.0], seeds=2,
    )  # fmt: skip
    runs = {run.key: run for run in run_benchmark(plan, tmp_path / "runs.jsonl", jobs=2)}
    assert len(runs) == 8
    truths = {}
    for job, known in plan.runs():
        *_, (what, errors) = worker.answers(job, truths, {job.contender})
        assert what == MEASURED
        found = runs[known.key].errors
        assert {name: found[name] for name in errors} == pytest.approx(errors, rel=1e-9)


def test_a_quick_plan_is_small():
    plan = BenchmarkPlan.of(quick=True)
    assert plan.contenders == QUICK_CONTENDERS
    assert len(list(plan.runs())) <= 15
    assert max(case.vertices for case in plan.cases) < 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 0}, "at least one seed"),
        ({"epsilons": [0.0]}, "epsilon"),
        ({"graphs": ["nowhere"]}, "no graph of the benchmark"),
        ({"contenders": ["nobody"]}, "no contender"),
        ({"added": ["no_such_module:x"]}, "no module"),
    ],
)
def test_plans_that_are_none(options, message):
    with pytest.raises(ParameterError, match=message):
        BenchmarkPlan.of(**options)


def test_contenders_enter_by_name_or_from_a_file(methods):
    assert load_contender("ours") is CONTENDERS["ours"]
    named = load_contender("my_methods:NAMED", methods)
    assert (named.name, named.source) == ("named", "a test")
    plain = load_contender("my_methods:zeros", methods)
    assert isinstance(plain, Contender)
    assert (plain.name, plain.source) == ("zeros", "my_methods:zeros")
    assert not plain.needs_delta
    assert load_contender("my_methods:Halves", methods).name == "Halves"
    assert is_audited("ours")
    assert not is_audited("my_methods:NAMED")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("my_methods", "no contender"),
        ("my_methods:", "no contender"),
        ("my_methods:nothing", "AttributeError"),
        ("my_methods:NUMBER", "neither a Contender nor a function"),
        ("my_methods:OURS", "rename yours"),
        ("broken:x", "cannot be imported: ZeroDivisionError"),
        ("needy:x", "cannot be imported: ModuleNotFoundError: No module named 'not_there'"),
        ("unmade:X", "cannot be made: RuntimeError: no"),
    ],
)
def test_what_cannot_enter_is_refused_in_one_line(spec, message, methods):
    unmade = "class X:\n    def __init__(self):\n        raise RuntimeError('no')\n"
    files = {"broken": "1 / 0\n", "needy": "import not_there\n", "unmade": unmade}
    for name, text in files.items():
        (methods / f"{name}.py").write_text(text)
    with pytest.raises(ParameterError, match=message) as error:
        load_contender(spec, methods)
    assert "\n" not in str(error.value)


def test_a_plain_function_claims_what_it_is_given():
    graph = gc.Graph([0], [1], vertices=3)
    options = {"epsilon": 0.5, "delta": 1e-6, "groups": None, "seed": 4}
    given = []

    def mine(graph, **options):
        given.append(options)
        return np.zeros(graph.shape)

    made = claiming(mine)(graph, **options)
    assert given == [options]
    assert (made.guarantee.epsilon, made.guarantee.delta) == (0.5, 1e-6)
    assert "pair" in made.guarantee.neighbours
    own = Submission(estimate=np.zeros((3, 3)), guarantee=replace(made.guarantee, epsilon=0.1))
    assert claiming(lambda *_, **__: own)(graph, **options) is own
