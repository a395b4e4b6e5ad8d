"""Dense releases: processor seconds and memory of the whole command, and its two slow parts.

The parts are measured beside what they replaced, one after the other in the same process: rounding
bit by bit alone, without cycles of four; and a proof of the largest singular value by a Chebyshev
polynomial of degree 64. Ratios are new over old, so less is better.
"""

import json
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
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.synth import dependent_rounding
from graphcuts_dp.synth.dependent_rounding import round_keeping_degrees
from scripts.bench.harness import Table, run

DEGREE = 20  # edges of a vertex, on average
SIZES = (1000, 5000)
OLD_POLYNOMIAL = 64  # its degree, before

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


def release_seconds_and_megabytes(n: int, folder: Path) -> tuple[float, float]:
    """Processor seconds and largest memory of `graphcuts-dp release` of a random graph."""
    rng = np.random.default_rng(n)
    ends = rng.integers(0, n, (n * DEGREE // 2, 2))
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    np.savetxt(
        folder / "graph.csv", ends, fmt="%d", delimiter=",", header="source,target", comments=""
    )
    (folder / "vertices.txt").write_text("\n".join(map(str, range(n))) + "\n", encoding="utf-8")
    command = [
        sys.executable, "-c", _CHILD, "release", str(folder / "graph.csv"),
        str(folder / "synthetic.csv"), "--epsilon", "1", "--vertices", str(folder / "vertices.txt"),
        "--mechanism", "randomized-response", "--seed", "1", "--force",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    seconds, megabytes = json.loads(done.stderr.splitlines()[-1])
    return float(seconds), float(megabytes)


def seconds_of(action: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of an action, and its result."""
    started = time.process_time()
    result = action()
    return time.process_time() - started, result


def fractions(n: int) -> npt.NDArray[np.float32]:
    """A fit as releases round it: open entries of all pairs, and degrees that differ."""
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


def main(quick: bool) -> None:
    """Print both tables."""
    sizes = SIZES[:1] if quick else SIZES
    table = Table(
        "n:>7,d seconds:>9.1f MB:>7,.0f", "graphcuts-dp release, dense, processor seconds"
    )
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            table.row(n, *release_seconds_and_megabytes(n, Path(folder)))
    parts = Table("part:16 n:>7,d new:>9.2f old:>9.2f ratio:>7.2f", "Parts, processor seconds")
    for n in (2000, *sizes[1:]):
        compare_parts(n, parts)


if __name__ == "__main__":
    run(main, __doc__)
