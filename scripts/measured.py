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
    """The text of docs/measured.md; what stands before its first section stays."""
    head = PAGE.read_text().partition("\n## ")[0]
    return head + "".join(section(script) for script in sorted(BENCHMARKS.glob("bench_*.py")))


def main() -> int:
    """Write the page."""
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
