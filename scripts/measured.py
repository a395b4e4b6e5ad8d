"""Write docs/measured.md from what the benchmarks printed: docs/measured, one file for each.

`python -m scripts.bench.run --save` keeps their output there.
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "scripts" / "bench"
KEPT = ROOT / "docs" / "measured"
PAGE = ROOT / "docs" / "measured.md"
_HEAD = """# Measured

What each benchmark printed when it was last run, with the command, the date and the versions.
`make bench` runs them all; a single one is a script, and says with `--quick` or without what it
measures in a short or the full form. A short form shows that it works and what the table looks
like; the figures that other pages quote come from the full forms. Times are of a shared machine and
differ by a factor of two from run to run, so ratios within one run are what to compare.

The page is made by `python scripts/measured.py`.
"""


def described(script: Path) -> tuple[str, str]:
    """The first line of a script's docstring, and the rest of it."""
    text = ast.get_docstring(ast.parse(script.read_text())) or script.stem
    title, _, rest = text.partition("\n")
    if rest.strip() and not rest.startswith("\n"):  # a title of two lines
        more, _, rest = rest.partition("\n\n")
        title = f"{title} {' '.join(more.split())}"
    return title.rstrip("."), rest.strip()


def section(script: Path) -> str:
    """What one benchmark measures, and what it printed."""
    name = script.stem.removeprefix("bench_")
    title, rest = described(script)
    kept = KEPT / f"{name}.txt"
    parts = [f"\n## {name.replace('_', ' ').capitalize()}\n", f"{title}.\n"]
    parts += [f"```text\n{rest}\n```\n"] if rest else []
    if kept.exists():
        parts.append(f"```text\n{kept.read_text().rstrip()}\n```\n")
    else:
        parts.append("Not run for this page.\n")
    return "\n".join(parts)


def page() -> str:
    """The text of docs/measured.md."""
    return _HEAD + "".join(section(script) for script in sorted(BENCHMARKS.glob("bench_*.py")))


def main() -> int:
    """Write the page."""
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
