"""Answers as plain values, and sets by the names of the groups that they are."""

import hashlib
from typing import Any

import numpy as np

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.graph.groups import Groups


def digest_of_set(mask: BoolVector) -> bytes:
    """SHA-256 of a truth vector."""
    return hashlib.sha256(np.packbits(mask).tobytes()).digest()


def names_of_sets(groups: Groups) -> dict[bytes, str]:
    """The names of all groups, by the digest of their truth vectors; coarser levels go first."""
    found: dict[bytes, str] = {}
    for level in groups.levels:
        codes = groups.codes(level)
        prefix = f"{level}:" if len(groups.levels) > 1 else ""
        for code, label in enumerate(groups.labels(level)):
            found.setdefault(digest_of_set(codes == code), f"@{prefix}{label}")
    return found


def plain_answer(answer: Any) -> dict[str, Any]:
    """An answer as plain values; an infinite end of an interval is None."""
    low, high = answer.interval
    finite = [end if abs(end) != float("inf") else None for end in (low, high)]
    return {
        "value": answer.value,
        "interval": finite,
        "confidence": answer.confidence,
        "guaranteed": answer.guaranteed,
        "updates": [[update.sign, update.value] for update in answer.updates],
        "queries_left": answer.queries_left,
        "updates_left": answer.updates_left,
        "seeded": answer.seeded,
    }
