"""All benchmarks, one after the other: `make bench`, or with --quick for a short look."""

import runpy
import sys
from pathlib import Path


def main() -> None:
    """Run every bench_*.py beside this file as a script, with the same options."""
    for script in sorted(Path(__file__).parent.glob("bench_*.py")):
        print(f"\n== {script.stem} ==", flush=True)
        sys.argv = [str(script), *sys.argv[1:]]
        runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
