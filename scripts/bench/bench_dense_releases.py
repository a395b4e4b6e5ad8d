"""Measure dense releases: processor seconds and memory of the command, and its slow parts.

The whole command writes its release, receipt and certificate. It runs by turns with the package of
this checkout and with that of an earlier commit, which git unpacks into a temporary folder (left
out without git or that commit); both get the same graphs, of ten blocks and an average degree of
10. Processor seconds are the least of some runs, and BLAS has one thread.

The parts are measured beside what they replaced, one after the other in the same process: rounding
bit by bit alone, without cycles of four; a proof of the largest singular value by a Chebyshev
polynomial of degree 64; 56 rounds of the structure test, of which tau is halved; and block models
that widen the noisy matrix again for every product. Ratios are new over old, so less is better.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.singular_values import ScaledMatrix, chebyshev_norm_bound, sigma_bound
from graphcuts_dp.estimate.blocks import Blocks
from graphcuts_dp.measure import structure_test
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.resources import one_blas_thread
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.synth import dependent_rounding, structure
from graphcuts_dp.synth.block_model import best_structure
from graphcuts_dp.synth.dependent_rounding import round_keeping_degrees
from graphcuts_dp.synth.detected_structure import MOST_TESTED, StructureSetting
from graphcuts_dp.synth.structure import View
from scripts.bench.harness import Table, run

ROOT = Path(__file__).resolve().parents[2]
OLD_COMMIT = "a7700208"
DEGREE, BLOCKS, INSIDE = 10, 10, 0.8  # average degree, blocks, share of the edges inside them
RUNS = {1000: 3, 5000: 2, 10_000: 1}  # vertices, and runs of each command
OLD_POLYNOMIAL = 64  # its degree, before
OLD_ROUNDS = {"_ROUNDS": 56, "_CLOSE": 0.5, "_LOWERED": 0.5}  # of the structure test, before
PART_SIZES = (2000, 5000)

_CHILD = """
import json, resource, sys
from graphcuts_dp.cli.main import run
sys.argv = ["graphcuts-dp", *sys.argv[1:]]
try:
    run()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds, peak = used.ru_utime + used.ru_stime, used.ru_maxrss
    print(json.dumps([seconds, peak / 1024]), file=sys.stderr)
"""


def earlier_package(folder: Path) -> Path | None:
    """Unpack the package of `OLD_COMMIT` into a folder; None if git does not have it."""
    archive = folder / "old.tar"
    command = ["git", "archive", "-o", str(archive), OLD_COMMIT, "graphcuts_dp"]
    try:
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    root = folder / "old"
    root.mkdir()
    subprocess.run(["tar", "-xf", str(archive), "-C", str(root)], check=True)
    return root


def write_graph(n: int, folder: Path) -> None:
    """Write a graph of ten blocks, shuffled, and its public vertices."""
    rng = np.random.default_rng(n)
    block = rng.integers(0, BLOCKS, n)
    by_block = np.argsort(block, kind="stable")
    sizes = np.bincount(block, minlength=BLOCKS)
    first = np.cumsum(sizes) - sizes
    count = n * DEGREE // 2
    start, stop = rng.integers(0, n, (2, count))
    inside = by_block[first[block[start]] + rng.integers(0, 1 << 30, count) % sizes[block[start]]]
    endpoints = np.column_stack([start, np.where(rng.random(count) < INSIDE, inside, stop)])
    endpoints = endpoints[endpoints[:, 0] != endpoints[:, 1]]
    endpoints = np.unique(np.sort(endpoints, axis=1), axis=0)
    np.savetxt(
        folder / f"{n}.csv", endpoints, fmt="%d", delimiter=",", header="source,target", comments=""
    )
    (folder / f"{n}.txt").write_text("\n".join(map(str, range(n))) + "\n", encoding="utf-8")


def release_seconds_and_megabytes(n: int, folder: Path, root: Path) -> tuple[float, float]:
    """Return processor seconds and largest memory of `graphcuts-dp release` of a checkout."""
    command = [
        sys.executable, "-c", _CHILD, "release", str(folder / f"{n}.csv"),
        str(folder / "synthetic.csv"), "--epsilon", "1", "--vertices", str(folder / f"{n}.txt"),
        "--seed", "1", "--force",
    ]  # fmt: skip
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = os.environ | threads | {"PYTHONPATH": str(root)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    seconds, megabytes = json.loads(done.stderr.splitlines()[-1])
    return float(seconds), float(megabytes)


def compare_commands(n: int, folder: Path, old_root: Path | None, table: Table) -> None:
    """Add the row of the whole command for n vertices: new and old by turns, the least of each."""
    write_graph(n, folder)
    roots = [ROOT] if old_root is None else [ROOT, old_root]
    measured: list[list[tuple[float, float]]] = [[] for _ in roots]
    for _ in range(RUNS[n]):
        for root, results in zip(roots, measured, strict=True):
            results.append(release_seconds_and_megabytes(n, folder, root))
    least = [np.min(results, axis=0) for results in measured]
    row = [n, *least[0]]
    if old_root is not None:
        row += [*least[1], *(least[0] / least[1])]
    table.row(*row)


def seconds_of(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return processor seconds of an action, and its result."""
    started = time.process_time()
    result = action()
    return time.process_time() - started, result


def fractions(n: int) -> npt.NDArray[np.float32]:
    """Return a fit as releases round it: open entries of all pairs, and degrees that differ."""
    rng = np.random.default_rng(n)
    strength = rng.gamma(1.0, 1.0, n)
    x = 0.05 * np.outer(strength, strength) * rng.gamma(2.0, 0.5, (n, n))
    x = np.triu(np.minimum(x, 1.0), 1).astype(np.float32)
    return np.asarray(x + x.T)


def compare_parts(n: int, parts: Table) -> None:
    """Add the rows of both parts for n vertices, new and old one after the other."""
    x = fractions(n)

    def rounded() -> Any:
        return round_keeping_degrees(x, symmetric=True, source=SeededEntropy(1))

    new, bits = seconds_of(rounded)
    with mock.patch.object(dependent_rounding, "_close_by_cycles", return_value=None):
        old, _ = seconds_of(rounded)
    parts.row("rounding", n, new, old, new / old)

    noise, ones = bits - x, np.ones(n)

    def scaled(dtype: type[np.floating]) -> ScaledMatrix:
        return ScaledMatrix(Operand(noise.astype(dtype)), ones, ones, bordered=False)

    new, bound = seconds_of(lambda: sigma_bound(scaled(np.float32), 1, cholesky_limit=0).sigma)
    rng = np.random.default_rng(1)
    old, closer = seconds_of(
        lambda: chebyshev_norm_bound(scaled(np.float64), rng, degree=OLD_POLYNOMIAL)
    )
    parts.row("singular value", n, new, old, new / old)
    parts.row("its bound", n, bound, closer, bound / closer)


def compare_tests(n: int, parts: Table) -> None:
    """Add the rows of the structure test and of block models."""
    rng = np.random.default_rng(n)
    block = rng.integers(0, 4, n)
    edges = np.triu(rng.random((n, n)) < np.where(block[:, None] == block, 0.08, 0.01), 1)
    weights = (edges | edges.T).astype(np.float64)
    tested = weights[:MOST_TESTED, :MOST_TESTED]
    layout = Layout(tested.shape, symmetric=True)
    setting = StructureSetting.of(layout, float(tested.sum()))
    centred = tested - setting.density
    np.fill_diagonal(centred, 0.0)
    new, value = seconds_of(lambda: structure_test.smoothed_value(centred, setting.tau))
    with mock.patch.multiple(structure_test, **OLD_ROUNDS):
        old, old_value = seconds_of(lambda: structure_test.smoothed_value(centred, setting.tau))
    parts.row("structure test", MOST_TESTED, new, old, new / old)
    if value is None or old_value is None or abs(value.value - old_value.value) > 1 / 64:
        raise RuntimeError("the values of the structure test differ by more than is proven")

    noise = np.triu(rng.normal(0.0, 1.0, (n, n)), 1)
    noisy = Blocks.from_matrix(weights + noise + noise.T, symmetric=True)

    def searched() -> Any:
        with one_blas_thread():
            return best_structure(View(noisy), 1.0)

    new, _ = seconds_of(searched)
    with mock.patch.object(structure, "_MOST_KEPT_ENTRIES", 0):
        old, _ = seconds_of(searched)
    parts.row("block models", n, new, old, new / old)


def main(quick: bool) -> None:
    """Print both tables."""
    sizes = tuple(RUNS)[:1] if quick else tuple(RUNS)
    columns = "n:>7,d seconds:>9.1f MB:>7,.0f old_seconds:>13.1f old_MB:>8,.0f ratio:>7.2f "
    title = f"graphcuts-dp release, processor seconds; old is {OLD_COMMIT}"
    table = Table(columns + "of_memory:>11.2f", title)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old_root = earlier_package(folder)
        for n in sizes:
            compare_commands(n, folder, old_root, table)
    parts = Table("part:16 n:>7,d new:>9.2f old:>9.2f ratio:>7.2f", "Parts, processor seconds")
    for n in PART_SIZES[:1] if quick else PART_SIZES:
        compare_parts(n, parts)
    compare_tests(1000, parts)


if __name__ == "__main__":
    run(main, __doc__)
