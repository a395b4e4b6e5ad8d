"""Run all benchmarks, one after the other: `make bench`, or with --quick in a short form.

Usage: `python -m scripts.bench.run [--quick] [--save] [--only NAME ...]`. With --save the output
of each is saved in docs/measured, from which `python scripts/measured.py` makes the page
"Measured". A benchmark that fails does not stop the others, and makes the exit status 1.
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
    """Run one benchmark and show its output; return whether it succeeded, and the output."""
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
    """Return the first two lines of a saved result: the command, then date, versions and time."""
    command = " ".join(["python -m", f"scripts.bench.{script.stem}", *options])
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    date = datetime.datetime.now(tz=datetime.UTC).date()
    return (
        f"$ {command}\n{date}: Python {platform.python_version()}, {versions}, "
        f"{os.cpu_count()} processors; {seconds:,.0f} s\n"
    )


def main() -> None:
    """Run every bench_*.py in this folder as a script, with the same options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="run the short form of each benchmark")
    parser.add_argument(
        "--save", action="store_true", help="save the output of each benchmark in docs/measured"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help="run these benchmarks alone, such as: flows sparse",
    )
    arguments = parser.parse_args()
    options = ["--quick"] if arguments.quick else []
    scripts = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    if unknown := set(arguments.only or ()) - set(scripts):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(scripts)}")
    failed = []
    for name in arguments.only or scripts:
        print(f"\n== {name} ==", flush=True)
        start = time.perf_counter()
        succeeded, printed = run(scripts[name], options)
        if not succeeded:
            failed.append(name)
        elif arguments.save:
            KEPT.mkdir(exist_ok=True)
            text = heading(scripts[name], options, time.perf_counter() - start) + "\n" + printed
            (KEPT / f"{name}.txt").write_text(text)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
