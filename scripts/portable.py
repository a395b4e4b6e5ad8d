"""Run the numerical tests as other processors would: other BLAS kernels, threads, numpy loops.

Last digits differ between processors, since OpenBLAS and numpy choose their loops by what the
processor has. A test that takes such a digit for a guarantee fails on other machines than its
author's. Each setup below changes all three choices at once, for a whole run of pytest.

    python scripts/portable.py                     # every kernel that this processor can run
    python scripts/portable.py --kernels Prescott tests/cutnorm -x   # what follows goes to pytest

Exit status 0 if all runs passed, 1 if one failed, 2 if no kernel of these can be chosen.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy._core._multiarray_umath import __cpu_features__ as has  # it has no public name

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ("Prescott", "Haswell", "Zen", "SkylakeX", "Sapphirerapids")
THREADS = (1, 2, 4)
# What numpy must have found of the processor before a kernel can run on it.
NEEDS = {"Haswell": "AVX2", "Zen": "AVX2", "SkylakeX": "AVX512F", "Sapphirerapids": "AVX512F"}
# Folders whose tests compute nothing in floating point that could differ; and the audits, which
# count integers and allow many standard errors.
NOT_NUMERICAL = {
    *("architecture", "attacks", "audits", "cli", "contract", "crash", "graph", "io"),
    *("ledger", "queries", "schema", "scripts", "server"),
}
# Prints the kernels that numpy and scipy have loaded, as this process would use them.
LOADED = """
import json, numpy, scipy.linalg, threadpoolctl
pools = threadpoolctl.threadpool_info()
print(json.dumps(sorted(p["architecture"] for p in pools if p["internal_api"] == "openblas")))
"""


@dataclass(frozen=True)
class Setup:
    """One way to run the tests.

    Attributes:
        kernel: a name that OpenBLAS knows.
        threads: of each BLAS call.
        without: numpy's optional loops to leave out.
    """

    kernel: str
    threads: int
    without: tuple[str, ...]

    def environment(self) -> dict[str, str]:
        """Return the environment of a process that runs in this way."""
        return {
            **os.environ,
            "OPENBLAS_CORETYPE": self.kernel,
            "OPENBLAS_NUM_THREADS": str(self.threads),
            "NPY_DISABLE_CPU_FEATURES": " ".join(self.without),
        }

    def __str__(self) -> str:
        """Return the setup as it is printed before its run."""
        left_out = ", ".join(self.without) or "nothing"
        return f"{self.kernel}, BLAS threads {self.threads}, numpy loops left out: {left_out}"


@lru_cache
def loaded(kernel: str | None) -> tuple[str, ...]:
    """Return the kernels that a process gets who asks for this one: many builds have only a few."""
    environment = dict(os.environ)
    environment.pop("OPENBLAS_CORETYPE", None)
    if kernel is not None:
        environment["OPENBLAS_CORETYPE"] = kernel
    ended = subprocess.run(
        [sys.executable, "-c", LOADED], env=environment, capture_output=True, check=True
    )
    return tuple(json.loads(ended.stdout))


def features() -> list[str]:
    """Return the loops of numpy that this processor has and that can be left out, weakest first."""
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    return list(extensions.get("found", ()))


def runnable(kernels: list[str]) -> list[str]:
    """Return the kernels that this processor can run; OpenBLAS starts others, and then crashes."""
    return [kernel for kernel in kernels if kernel not in NEEDS or has.get(NEEDS[kernel])]


def setups(kernels: list[str]) -> list[Setup]:
    """Return a setup for each kernel that differs from those before it.

    Args:
        kernels: names, in the order of their runs.
    """
    listed: set[tuple[str, ...]] = set()
    cpu_features = features()
    chosen = []
    for kernel in runnable(kernels):
        names = loaded(kernel)
        if not names or names in listed:
            continue
        listed.add(names)
        turn = len(chosen)
        # All of numpy's loops, none, or the weaker half: never the same beside each kernel.
        without = (cpu_features, cpu_features[len(cpu_features) // 2 :], [])[turn % 3]
        chosen.append(Setup(kernel, THREADS[turn % len(THREADS)], tuple(without)))
    return chosen


def places() -> list[str]:
    """Return folders and files of tests that compute in floating point; new ones count as such."""
    tests = ROOT / "tests"
    return [
        f"tests/{path.name}"
        for path in sorted(tests.iterdir())
        if path.name not in NOT_NUMERICAL
        and (any(path.glob("test_*.py")) or path.match("test_*.py"))
    ]


def main() -> int:
    """Read the options, run the tests once for each setup, and say which failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--kernels",
        default=",".join(KERNELS),
        help="names of kernels of OpenBLAS, separated by commas",
    )
    options, pytest_options = parser.parse_known_args()
    chosen = setups(options.kernels.split(","))
    if not chosen:
        print(
            "none of these kernels can run here: numpy has no OpenBLAS, or the processor too little"
        )
        return 2
    names_tests = any(Path(option.split("::")[0]).exists() for option in pytest_options)
    command = [sys.executable, "-m", "pytest", *pytest_options, *([] if names_tests else places())]
    failed = []
    for setup in chosen:
        print(f"== {setup}", flush=True)
        begin = time.monotonic()
        ended = subprocess.run(command, cwd=ROOT, env=setup.environment(), check=False)
        print(f"== {time.monotonic() - begin:.0f} s, exit status {ended.returncode}", flush=True)
        if ended.returncode:
            failed.append(setup)
    for setup in failed:
        print(f"failed: {setup}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
