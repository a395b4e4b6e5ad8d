"""Break the privacy of the code on purpose, one edit at a time, and see which tests notice.

Each mutant is one small edit (noise left out, a scale doubled, a cap unchecked, ...) in a copy of
the tree. The tests that enter the changed function run first, cheapest first, audits last; where
these are few, their whole files too. What no test notices is a survivor; each is explained in
tests/mutation_survivors.md. Results are kept in a folder, so a stopped run goes on.

    python scripts/mutate.py --list           # the mutants, none of them run
    python scripts/mutate.py --only privacy/  # those of some files
    python scripts/mutate.py --kind 'by hand' # those of one kind
    python scripts/mutate.py --retry          # run the survivors again, after new tests
    python scripts/mutate.py --by-hand        # each mistake by hand against the test that it names
    python scripts/mutate.py --record         # write down how many mutants each module has
    python scripts/mutate.py --compare        # a finished run beside that record, by folder
"""

import argparse
import ast
import compileall
import contextlib
import json
import os
import py_compile
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from mutants import BY_HAND, ROOT, Mutant, by_hand, candidates, select

EXPLAINED = ROOT / "tests" / "mutation_survivors.md"
SCORES = ROOT / "tests" / "golden" / "mutation_scores.json"

# Written beside the instrumented copy; subprocesses of tests report through the same file.
REACH = """
import os
seen = set()
def hit(key):
    if key not in seen and "MUTATION_REACH" in os.environ:
        seen.add(key)
        with open(os.environ["MUTATION_REACH"], "a") as file:
            file.write(key + "\\n")
"""


class Instrument(ast.NodeTransformer):
    """Makes each function of a file report that it was entered."""

    def __init__(self, path: str) -> None:
        self.path, self.scope = path, ""

    def _enter(self, node: Any) -> ast.AST:
        outer, self.scope = self.scope, f"{self.scope}.{node.name}".lstrip(".")
        key = f"{self.path}:{self.scope}"
        self.generic_visit(node)
        self.scope = outer
        if isinstance(node, ast.FunctionDef):
            at = 1 if ast.get_docstring(node) is not None else 0
            call = ast.parse(f"__import__('mutation_reach').hit({key!r})").body
            node.body[at:at] = call
        return node

    visit_FunctionDef = visit_ClassDef = _enter  # noqa: N815


class Reach:
    """Pytest plugin: what each test that passed entered, and how long it took."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.found: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        import mutation_reach  # type: ignore[import-not-found]

        mutation_reach.seen.clear()
        self.file.write_text("")
        self.found[nodeid] = {"seconds": 0.0, "entered": [], "ok": True}

    def pytest_runtest_logreport(self, report: Any) -> None:
        entry = self.found[report.nodeid]
        entry["seconds"] += report.duration
        entry["ok"] = entry["ok"] and report.outcome == "passed"
        entry["entered"] = sorted(set(self.file.read_text().split("\n")) - {""})


class Ordered:
    """Pytest plugin: runs the wanted tests in the wanted order; keeps the first failure.

    A test that is wanted without parameters is wanted with all of them.
    """

    def __init__(self, nodeids: list[str]) -> None:
        self.rank = {nodeid: i for i, nodeid in enumerate(nodeids)}
        self.failure = ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        rank_of = {item: self._place(item.nodeid) for item in items}
        selected = [item for item in items if rank_of[item] is not None]
        items[:] = sorted(selected, key=lambda item: rank_of[item])

    def _place(self, nodeid: str) -> int | None:
        return self.rank.get(nodeid, self.rank.get(nodeid.split("[")[0]))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.failure:
            lines = str(report.longrepr).splitlines()
            errors = [line for line in lines if line.startswith("E ")] or lines[-1:]
            self.failure = f"{report.nodeid}: {errors[0][1:].strip() if errors else ''}"[:300]

    pytest_runtest_logreport = pytest_collectreport


def preload() -> None:
    """Import the libraries of the tests once for all runs, which are forked from this process."""
    os.environ["MPLBACKEND"] = "agg"
    for name in (
        *("numpy", "scipy.stats", "scipy.optimize", "scipy.sparse.linalg", "networkx", "igraph"),
        *("pandas", "cvxpy", "highspy", "typer.testing", "rich.progress", "matplotlib.pyplot"),
        "pytest",
    ):
        __import__(name)


def in_child(tree: Path, nodeids: list[str], log: Path, limit: float) -> tuple[str, str]:
    """Run tests in a tree, in a process of their own: (passed, failed or timeout; failure)."""
    verdict = log.with_suffix(".verdict")
    verdict.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()
        _enter(tree, log)
        import pytest

        plugin = Ordered(nodeids)
        files = dict.fromkeys(nodeid.split("::")[0] for nodeid in nodeids)
        options = ["-x", "-q", "--tb=short", "-rN", "-n", "0"]  # in the order that is wanted
        status = pytest.main([*files, *options], plugins=[plugin])
        verdict.write_text(json.dumps([int(status), plugin.failure]))
        os._exit(0)
    end = time.monotonic() + limit
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "timeout", ""
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests left behind
    if not verdict.exists():
        return "failed", "the interpreter stopped"
    status, failure = json.loads(verdict.read_text())
    return ("passed" if status in (0, 5) else "failed"), failure or f"pytest ended with {status}"


def _enter(tree: Path, log: Path) -> None:
    """Prepare a forked process: it imports the tree's code, and writes its output to a file."""
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    os.environ["PYTHONPATH"] = str(tree)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(out, stream)


def copy_tree(tree: Path) -> None:
    """Make a fresh copy whose compiled code is checked by its source, not by its time."""
    shutil.rmtree(tree, ignore_errors=True)
    skip = shutil.ignore_patterns(".*", "*.egg-info", "demo-output", "build", "dist")
    shutil.copytree(ROOT, tree, ignore=skip)
    for cache in (tree / "graphcuts_dp").rglob("__pycache__"):
        shutil.rmtree(cache)
    checked = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(tree / "graphcuts_dp", quiet=1, invalidation_mode=checked)


def reach(work: Path, tree: Path, tests: list[str]) -> dict[str, dict[str, Any]]:
    """Record which functions each test enters: one run of the suite on an instrumented copy, saved.

    Args:
        work: where it is kept.
        tree: of the copy.
        tests: files or folders; all if there are none.
    """
    record = work / "reach.json"
    if not record.exists():
        copy_tree(tree)
        (tree / "mutation_reach.py").write_text(REACH)
        for path in {mutant.path for mutant in candidates()}:
            changed = Instrument(path).visit(ast.parse((tree / path).read_bytes()))
            (tree / path).write_text(ast.unparse(ast.fix_missing_locations(changed)))
        child = os.fork()
        if child == 0:
            os.environ["MUTATION_REACH"] = str(work / "entered")
            _enter(tree, work / "reach.log")
            import pytest

            plugin = Reach(work / "entered")
            pytest.main(["-q", "-n", "0", *tests], plugins=[plugin])  # one process tells its tests
            record.write_text(json.dumps(plugin.found))
            os._exit(0)
        os.waitpid(child, 0)
    reached: dict[str, dict[str, Any]] = json.loads(record.read_text())
    return {nodeid: entry for nodeid, entry in reached.items() if entry["ok"]}


class Plan:
    """The tests to run for a mutant, in stages."""

    def __init__(self, tests: dict[str, dict[str, Any]]) -> None:
        self.tests = tests
        self.by_function: dict[str, list[str]] = defaultdict(list)
        self.by_module: dict[str, set[str]] = defaultdict(set)
        self.by_file: dict[str, list[str]] = defaultdict(list)
        for nodeid, entry in tests.items():
            self.by_file[nodeid.split("::")[0]].append(nodeid)
            for key in entry["entered"]:
                self.by_function[key].append(nodeid)
                self.by_module[key.split(":")[0]].add(nodeid.split("::")[0])

    def seconds(self, nodeids: list[str]) -> float:
        """Return how long the tests took when they passed."""
        return sum(self.tests[nodeid]["seconds"] for nodeid in nodeids)

    def stages(self, mutant: Mutant) -> Iterator[list[str]]:
        """Yield the nearest cheap tests; all that enter the function; or whole files if few do.

        Where no test enters a function, all files that enter the module.
        """
        folder = mutant.path.split("/")[1]
        done: set[str] = set()
        near = self._sorted(self.by_function[f"{mutant.path}:{mutant.function}"])
        files = {nodeid.split("::")[0] for nodeid in near} or self.by_module[mutant.path]
        all_tests = {nodeid for file in files for nodeid in self.by_file[file]}
        cheap = [n for n in near if n.startswith(f"tests/{folder}/")]
        for stage in (cheap[:40], near, self._sorted(list(all_tests)) if len(near) < 20 else []):
            new = [nodeid for nodeid in stage if nodeid not in done]
            done |= set(new)
            if new:
                yield new

    def _sorted(self, nodeids: list[str]) -> list[str]:
        """Sort tests, the cheapest first and audits last."""
        return sorted(
            nodeids, key=lambda n: (n.startswith("tests/audits"), self.tests[n]["seconds"], n)
        )


def judge(mutant: Mutant, plan: Plan, tree: Path, log: Path) -> dict[str, Any]:
    """Run the tests against one mutant."""
    target = tree / mutant.path
    original = (ROOT / mutant.path).read_bytes()
    changed = mutant.applied(original)
    begin = time.monotonic()
    outcome, failure, ran = "survived", "", 0
    try:
        ast.parse(changed)
        target.write_bytes(changed)
        for stage in plan.stages(mutant):
            ran += len(stage)
            state, failure = in_child(tree, stage, log, 30 + 6 * plan.seconds(stage))
            if state != "passed":
                outcome = "timeout" if state == "timeout" else "caught"
                break
    finally:
        target.write_bytes(original)
    seconds = round(time.monotonic() - begin, 1)
    by = failure if outcome == "caught" else ""
    return {"outcome": outcome, "by": by, "tests": ran, "seconds": seconds}


def work_through(todo: list[Mutant], plan: Plan, work: Path, jobs: int, keep: Path) -> None:
    """Judge the mutants in `jobs` processes, each with a copy of its own."""
    workers = []
    for job in range(jobs):
        child = os.fork()
        if child == 0:
            tree, log = work / f"tree{job}", work / f"job{job}.log"
            copy_tree(tree)
            for mutant in todo[job::jobs]:
                result = {"key": mutant.key, "source": _digest(mutant.path)}
                result |= judge(mutant, plan, tree, log)
                with keep.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                print(f"{result['outcome']:8} {result['seconds']:6.1f} s  {mutant.key}", flush=True)
            os._exit(0)
        workers.append(child)
    for child in workers:
        os.waitpid(child, 0)


def _digest(path: str) -> str:
    return sha256((ROOT / path).read_bytes()).hexdigest()[:12]


def kept_results(keep: Path) -> dict[str, dict[str, Any]]:
    """Return the last result of each mutant whose source has not changed since."""
    results = {}
    for line in keep.read_text().splitlines() if keep.exists() else ():
        result = json.loads(line)
        if result["source"] == _digest(result["key"].split(":")[0]):
            results[result["key"]] = result
    return results


def by_folder(chosen: list[Mutant], results: dict[str, dict[str, Any]]) -> dict[str, Counter[str]]:
    """Return outcomes of mutants by folder, and of all of them last."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for name in (lambda mutant: mutant.path.split("/")[1], lambda _: "all"):
        for mutant in chosen:
            counts[name(mutant)][results.get(mutant.key, {}).get("outcome", "not run")] += 1
    return counts


def report(chosen: list[Mutant], results: dict[str, dict[str, Any]]) -> None:
    """Print counts by folder, and the survivors that have no explanation."""
    explained = EXPLAINED.read_text().splitlines()
    for name, count in by_folder(chosen, results).items():
        shown = ", ".join(f"{number} {outcome}" for outcome, number in sorted(count.items()))
        print(f"{name:16}{sum(count.values()):5}: {shown}")
    for mutant in chosen:
        survived = results.get(mutant.key, {}).get("outcome") == "survived"
        if survived and not any(line.startswith(mutant.entry) for line in explained):
            print(f"unexplained: line {mutant.line}: {mutant.entry}")


def against_named_tests(work: Path, only: str) -> int:
    """Run the named test of each mistake by hand; 1 if one survives, or fails without it."""
    tree, log = work / "tree0", work / "by-hand.log"
    copy_tree(tree)
    pairs = [(e, m) for e, m in zip(BY_HAND, by_hand(), strict=True) if only in m.path]
    pairs = [(edit, mutant) for edit, mutant in pairs if edit.killed_by]
    state, failure = in_child(tree, sorted({edit.killed_by for edit, _ in pairs}), log, 3600)
    if state != "passed":
        print(f"a named test fails without any mistake: {failure}")
        return 1
    survivors = 0
    for edit, mutant in pairs:
        target, original = tree / mutant.path, (ROOT / mutant.path).read_bytes()
        target.write_bytes(mutant.applied(original))
        state, _ = in_child(tree, [edit.killed_by], log, 600)
        target.write_bytes(original)
        survivors += state == "passed"
        print(f"{'survived' if state == 'passed' else 'killed':8}  {mutant.key}", flush=True)
    print(f"{len(pairs) - survivors} of {len(pairs)} killed")
    return int(survivors > 0)


def module_of(path: str) -> str:
    """Return the module as the record names it: "privacy/noise"."""
    return path.removeprefix("graphcuts_dp/").removesuffix(".py")


def scores() -> dict[str, Any]:
    """Count the mutants of each module, the chosen ones, and its explained survivors."""
    mutants = candidates()
    chosen = set(select(mutants, sample=150, seed=1))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant in mutants:
        count = counts[module_of(mutant.path)]
        count["mutants"] += 1
        count["chosen"] += mutant in chosen
        count["by hand"] += mutant.kind == "by hand"
    for line in EXPLAINED.read_text().splitlines():
        if line.startswith("- `"):
            counts[module_of(line.split("`")[1])]["explained"] += 1
    return {name: dict(sorted(count.items())) for name, count in sorted(counts.items())}


def compare(chosen: list[Mutant], results: dict[str, dict[str, Any]]) -> int:
    """Print noticed shares by folder beside the record; return 1 if one is lower.

    Folders that are not in the record, after a move, are compared with all folders together.
    """
    recorded = json.loads(SCORES.read_text())["noticed"]
    lower, run = 0, [mutant for mutant in chosen if mutant.key in results]
    for name, count in by_folder(run, results).items():
        before, of = recorded.get(name, recorded["all"])
        noticed, total = count.total() - count["survived"], count.total()
        share, least = noticed / total, before / of
        lower += share < least
        mark = "  lower than recorded" if share < least else ""
        print(f"{name:16}{noticed:5} of {total:4} = {share:.1%}, was {least:.1%}{mark}")
    return int(lower > 0)


def main() -> int:
    """Read the options, run what has no result yet, print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="take only files whose paths contain this text"
    )
    parser.add_argument(
        "--kind", default="", metavar="TEXT", help="take only kinds of edits that contain this text"
    )
    parser.add_argument(
        "--tests", nargs="*", default=[], help="files of tests to run; all if omitted"
    )
    parser.add_argument(
        "--sample", type=int, default=150, help="number of mutants of the sampled kinds"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--retry", action="store_true", help="run mutants again that survived")
    parser.add_argument(
        "--by-hand",
        action="store_true",
        help="run the mistakes by hand, each with the test that it names",
    )
    parser.add_argument("--record", action="store_true", help="record the numbers of mutants")
    parser.add_argument("--compare", action="store_true", help="print results beside the record")
    folder = Path(tempfile.gettempdir()) / "graphcuts-mutants"
    parser.add_argument("--work", type=Path, default=folder, help="folder of copies and results")
    options = parser.parse_args()
    if options.record:
        record = json.loads(SCORES.read_text()) | {"modules": scores()}
        SCORES.write_text(json.dumps(record, indent=1) + "\n")
        return 0
    if options.by_hand:
        options.work.mkdir(parents=True, exist_ok=True)
        preload()
        return against_named_tests(options.work, options.only)
    chosen = select(candidates(), sample=options.sample, seed=options.seed)
    chosen = [m for m in chosen if options.only in m.path and options.kind in m.kind]
    if options.list:
        print(*(mutant.key for mutant in chosen), f"{len(chosen)} mutants", sep="\n")
        return 0
    if options.compare:
        return compare(chosen, kept_results(options.work / "results.jsonl"))
    options.work.mkdir(parents=True, exist_ok=True)
    keep = options.work / "results.jsonl"
    done = kept_results(keep)
    if options.retry:
        done = {key: result for key, result in done.items() if result["outcome"] == "caught"}
        (options.work / "reach.json").unlink(missing_ok=True)
    preload()
    plan = Plan(reach(options.work, options.work / "tree0", options.tests))
    todo = [mutant for mutant in chosen if mutant.key not in done]
    work_through(todo, plan, options.work, options.jobs, keep)
    report(chosen, kept_results(keep))
    return 0


if __name__ == "__main__":
    sys.exit(main())
