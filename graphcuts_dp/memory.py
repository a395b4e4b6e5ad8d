"""How much memory there is for this process, as far as the system tells."""

import os
import sys
from pathlib import Path

_NO_LIMIT = 1 << 60  # control groups write some huge number where there is none


def memory_limit(root: Path = Path("/")) -> int | None:
    """The most memory that this process can ever have, in bytes; None where nobody knows.

    The machine's, the process's own limit, or that of its control group (of a container, say),
    whichever is least. Not what is free at the moment: that depends on the size of what has been
    read, which may be private.

    Args:
        root: where `proc` and `sys` lie.
    """
    limits = [_machine(), _process(), *_control_groups(root)]
    return min((limit for limit in limits if limit is not None), default=None)


def _machine() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return None


def _process() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _control_groups(root: Path) -> list[int]:
    """The limits of the process's control group and all around it, of either version."""
    found = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            base, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            base, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = base / path.lstrip("/")
        # A container may see its own group as the root, and not the path that it has outside.
        for folder in (group, *group.parents):
            if folder.is_relative_to(base):
                text = _text(folder / name).strip()
                if text.isdigit() and int(text) < _NO_LIMIT:
                    found.append(int(text))
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
