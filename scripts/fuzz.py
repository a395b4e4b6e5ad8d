"""Fuzz all readers with atheris, guided by coverage: `make fuzz`, or one format for longer.

    python scripts/fuzz.py                      # every format, a minute each
    python scripts/fuzz.py .mtx --seconds 3600  # one

Whatever a file holds, a reader gives a graph or a one-line error of ours. Anything else (another
exception, an input that takes 20 seconds or 2 GiB) ends the run with status 1; the input is then
left in the folder of inputs, to become a test in tests/io/test_fuzz_readers.py.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

OPTIONS = (
    *(("Graph", {}), ("BipartiteGraph", {}), ("DirectedGraph", {})),
    *(("Graph", {"weighted": True}), ("Graph", {"weighted": False, "vertices": 9})),
)
LIMITS = ["-timeout=20", "-rss_limit_mb=2048", "-max_len=4096"]


def fuzz(ending: str, seconds: int, inputs: Path) -> None:
    """Fuzz one reader in this process, which libFuzzer ends."""
    import atheris

    with atheris.instrument_imports(
        include=["graphcuts_dp.graph", "graphcuts_dp.io", "graphcuts_dp.schema"]
    ):
        import graphcuts_dp as gc
        from graphcuts_dp.errors import GraphCutsError
    graphs = [
        gc.Graph.of([(0, 1), (1, 2), (0, 3)], vertices=5),
        gc.Graph.of([("a b", "ü"), ("ü", '"')], vertices=["a b", "ü", '"', "&"]),
        gc.Graph.of([(0, 1, 0.5), (1, 2, 3.0)], weighted=True, max_weight=4),
        gc.BipartiteGraph.of([("u", "x"), ("v", "x")]),
        gc.DirectedGraph.of([("u", "x"), ("x", "u")]),
    ]
    for number, graph in enumerate(graphs):
        try:
            graph.write(inputs / f"seed{number}{ending}", force=True)
        except GraphCutsError:
            continue  # some formats cannot hold some of the labels
    target = inputs.with_suffix(ending)

    def one(data: bytes) -> None:
        kind, options = OPTIONS[data[0] % len(OPTIONS) if data else 0]
        target.write_bytes(data)
        try:
            getattr(gc, kind).read(target, **options)
        except GraphCutsError as problem:
            if "\n" in str(problem):
                raise ValueError("a message of several lines") from problem

    arguments = [*LIMITS, f"-max_total_time={seconds}", f"-artifact_prefix={inputs}/found-"]
    atheris.Setup([sys.argv[0], *arguments, str(inputs)], one)
    atheris.Fuzz()


def run(ending: str, seconds: int, inputs: Path) -> tuple[int, bool]:
    """Fuzz one reader in its own process; return the number of inputs, and whether all passed."""
    folder = inputs / ending.lstrip(".")
    folder.mkdir(parents=True, exist_ok=True)
    log = inputs / f"{folder.name}.log"
    command = [sys.executable, __file__, ending, "--seconds", str(seconds), "--inputs", str(folder)]
    with log.open("wb") as handle:
        status = subprocess.run([*command, "--child"], stdout=handle, stderr=handle).returncode
    runs = re.findall(r"^#(\d+)\s|^Done (\d+) runs", log.read_text(errors="replace"), re.MULTILINE)
    count = max((int(first or second) for first, second in runs), default=0)
    print(f"{ending:12}{count:>12,} inputs  {f'FAILED, see {log}' if status else 'ok'}", flush=True)
    return count, status == 0


def main() -> None:
    from graphcuts_dp.io.files import FORMATS

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "endings", nargs="*", metavar="ENDING", help="formats to fuzz, such as .mtx; all if omitted"
    )
    parser.add_argument("--seconds", type=int, default=60, help="seconds for each format")
    parser.add_argument("--inputs", type=Path, help="folder of the inputs, kept for another run")
    options = parser.parse_args()
    if unknown := set(options.endings) - set(FORMATS):
        parser.error(f"unknown {', '.join(sorted(unknown))}; there are {', '.join(FORMATS)}")
    inputs = options.inputs or Path(tempfile.mkdtemp(prefix="fuzz-"))
    outcomes = [run(ending, options.seconds, inputs) for ending in options.endings or FORMATS]
    print(f"{sum(count for count, _ in outcomes):,} inputs; kept in {inputs}")
    sys.exit(not all(well for _, well in outcomes))


if __name__ == "__main__":
    if "--child" in sys.argv:  # the package must not be imported before it is instrumented
        arguments = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=False))
        fuzz(sys.argv[1], int(arguments["--seconds"]), Path(arguments["--inputs"]))
    else:
        main()
