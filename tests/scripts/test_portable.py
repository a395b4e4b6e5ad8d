"""A test that holds under one BLAS kernel only is found, and CI looks for such tests."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ["Prescott", "Haswell", "Zen", "SkylakeX", "Sapphirerapids"]

# Last digits of a product, taken for a guarantee; what it is under the kernel of this process.
FRAGILE = """
import hashlib
import numpy as np

A = np.random.default_rng(0).random((200, 200))

def digest():
    return hashlib.sha256((A @ A).tobytes()).hexdigest()

def test_product():
    assert digest() == {digest!r}

def test_sound():
    assert np.allclose((A @ A)[0, 0], sum(A[0] * A[:, 0]))
"""


@pytest.fixture
def portable(monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)  # these tests may run under another one
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import portable

    return portable


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, **options
    )


@pytest.mark.thorough
def test_a_test_that_holds_under_one_kernel_only_fails(tmp_path, portable):
    path = tmp_path / "test_fragile.py"
    path.write_text(FRAGILE.format(digest=None))
    digest = run("-c", "import test_fragile; print(test_fragile.digest())", cwd=tmp_path).stdout
    path.write_text(FRAGILE.format(digest=digest.strip()))
    options = ("-q", "-n", "0", "-p", "no:cacheprovider", "--rootdir", tmp_path, "-c", "/dev/null")
    plain = run("-m", "pytest", path, *options, cwd=tmp_path)
    assert plain.returncode == 0, plain.stdout
    others = [kernel for kernel in KERNELS if portable.loaded(kernel) != portable.loaded(None)]
    kernel = others[0] if others else "none"
    found = run(ROOT / "scripts" / "portable.py", "--kernels", kernel, path, *options)
    if not others:  # a processor with one kernel, or a BLAS that is not OpenBLAS
        assert found.returncode in (0, 2)
        return
    assert found.returncode == 1, found.stdout + found.stderr
    assert "FAILED" in found.stdout
    assert "1 failed, 1 passed" in found.stdout
    assert f"\nfailed: {kernel}" in found.stdout


@pytest.mark.thorough
def test_setups_differ_and_suit_the_processor(portable):
    every = portable.setups(KERNELS)
    loaded = [portable.loaded(setup.kernel) for setup in every]
    assert len(set(loaded)) == len(loaded)
    for setup in every:
        environment = setup.environment()
        assert environment["OPENBLAS_CORETYPE"] == setup.kernel
        assert environment["OPENBLAS_NUM_THREADS"] == str(setup.threads)
        assert environment["NPY_DISABLE_CPU_FEATURES"].split() == list(setup.without)


def test_a_kernel_that_the_processor_cannot_run_is_left_out(portable, monkeypatch):
    monkeypatch.setattr(portable, "has", {"AVX2": True, "AVX512F": False})
    assert portable.runnable(KERNELS) == ["Prescott", "Haswell", "Zen"]


def test_every_folder_of_tests_is_run_but_those_without_numbers(portable):
    tests = ROOT / "tests"
    places = {path.relative_to(tests).parts[0] for path in tests.rglob("test_*.py")}
    run_there = {place.removeprefix("tests/") for place in portable.places()}
    assert places - run_there == portable.NOT_NUMERICAL - {"benchmarks"}


def test_ci_runs_the_tests_under_other_kernels_too():
    commands = (ROOT / ".ci" / "run").read_text().splitlines()
    assert "PYTEST_ADDOPTS=--random-order make test ALL=1" in commands
    assert "make test-portable KERNELS=Prescott" in commands
