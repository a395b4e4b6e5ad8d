"""Tables of measured errors: plain values that a plot or a terminal can show.

They were computed from the private graph, so they are not private.
"""

from dataclasses import dataclass
from typing import Any, final

NOT_PRIVATE = "not private: evaluation"


@final
@dataclass(frozen=True)
class CutErrorRow:
    """Errors on one kind of cut.

    Attributes:
        kind: what the cuts are.
        cuts: how many were tried; 0 for the worst of all cuts.
        size: mean true value; for the worst cut, the total weight counted twice (matrix form).
        errors: mean absolute error for each estimate, in the order of `CutErrorTable.estimates`.
    """

    kind: str
    cuts: int
    size: float
    errors: tuple[float, ...]


@final
@dataclass(frozen=True)
class CutPoint:
    """One cut with its true value and its answer.

    Attributes:
        truth: true value.
        synthetic: value on the synthetic graph, or None.
        noisy: estimate from the noisy matrix with the ends of its interval, or None.
    """

    truth: float
    synthetic: float | None
    noisy: tuple[float, float, float] | None = None


@final
@dataclass(frozen=True)
class CutErrorTable:
    """Cut errors of several estimates of one graph. Not private.

    Attributes:
        title: what was measured, with epsilon and noise.
        estimates: names of the columns.
        rows: one for each kind of cut.
        points: single cuts with their answers, for a plot.
    """

    title: str
    estimates: tuple[str, ...]
    rows: tuple[CutErrorRow, ...]
    points: tuple[CutPoint, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, marked as not private."""
        return {
            "mark": NOT_PRIVATE,
            "title": self.title,
            "rows": [
                {
                    "kind": row.kind,
                    "cuts": row.cuts,
                    "size": row.size,
                    "errors": dict(zip(self.estimates, row.errors, strict=True)),
                }
                for row in self.rows
            ],
        }
