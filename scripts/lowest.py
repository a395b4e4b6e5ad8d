"""Print the lowest versions that pyproject.toml allows of what it names, as constraints for pip.

`make test-lowest` installs them into an environment of their own and runs the tests there.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_EXTRA = "all"  # whose lowest versions count, besides the dependencies
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?>=(?P<lowest>[\w.]+)(;(?P<marker>.*))?")


def lowest_versions(requirements: Iterable[str], *, python: tuple[int, int]) -> Iterator[str]:
    """Yield "name==version" for each requirement "name>=version" that counts for a Python.

    Args:
        requirements: as in pyproject.toml, for example "pyarrow>=22; python_version >= '3.14'".
        python: major and minor version.

    Raises:
        ValueError: a requirement has no lowest version, or a marker of another form.
    """
    for requirement in requirements:
        match = _REQUIREMENT.fullmatch(requirement.replace(" ", ""))
        if match is None:
            raise ValueError(f"{requirement!r} names no lowest version: write name>=version")
        if _counts(match["marker"], python):
            yield f"{match['name']}=={match['lowest']}"


def _counts(marker: str | None, python: tuple[int, int]) -> bool:
    if marker is None:
        return True
    match = re.fullmatch(r"python_version(<|>=)'(\d+)\.(\d+)'", marker)
    if match is None:
        raise ValueError(f"{marker!r} is no comparison of python_version by < or >=")
    newer = python >= (int(match[2]), int(match[3]))
    return newer if match[1] == ">=" else not newer


def main() -> None:
    """Print the constraints, one on each line."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *project["optional-dependencies"][_EXTRA]]
    lines = lowest_versions(named, python=sys.version_info[:2])
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
