"""All benchmarks, one after the other: `make bench`, or with --quick for a short look.

Run `python -m scripts.bench.run [--quick] [--save] [--only NAME ...]`. With --save what each
prints is kept in docs/measured, from which `python scripts/measured.py` makes the page "Measured".
A benchmark that fails does not stop the others; the exit status tells that one did.
"""

import argparse
import datetime
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = HERE.parents[1] / "docs" / "measured"
_PACKAGES = ("graphcuts-dp", "numpy", "scipy")


def run(script: Path, options: list[str]) -> tuple[bool, str]:
    """Run one benchmark, show what it prints as it comes, return whether it succeeded and that."""
    lines: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-u", "-m", f"scripts.bench.{script.stem}", *options],
        cwd=HERE.parents[1],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode == 0, "".join(lines)


def heading(script: Path, options: list[str], seconds: float) -> str:
    """What was run, when, and with what: the first two lines of a kept result."""
    command = " ".join(["python -m", f"scripts.bench.{script.stem}", *options])
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    date = datetime.datetime.now(tz=datetime.UTC).date()
    return (
        f"$ {command}\n{date}: Python {platform.python_version()}, {versions}, "
        f"{os.cpu_count()} processors; {seconds:,.0f} s\n"
    )


def main() -> None:
    """Run every bench_*.py beside this file as a script, with the same options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the short form of each")
    parser.add_argument("--save", action="store_true", help="keep what each prints")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these: flows, sparse, ...")
    asked = parser.parse_args()
    options = ["--quick"] if asked.quick else []
    scripts = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    if unknown := set(asked.only or ()) - set(scripts):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(scripts)}")
    failed = []
    for name in asked.only or scripts:
        print(f"\n== {name} ==", flush=True)
        began = time.perf_counter()
        succeeded, printed = run(scripts[name], options)
        if not succeeded:
            failed.append(name)
        elif asked.save:
            KEPT.mkdir(exist_ok=True)
            text = heading(scripts[name], options, time.perf_counter() - began) + "\n" + printed
            (KEPT / f"{name}.txt").write_text(text)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
