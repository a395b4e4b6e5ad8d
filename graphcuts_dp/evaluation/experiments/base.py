"""What an experiment returns: a table, its parameters, and what was found about a claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

from graphcuts_dp.progress import Progress


@final
@dataclass(frozen=True, kw_only=True)
class Finding:
    """A statement of a paper beside what was measured.

    Attributes:
        statement: which one, and what it says: "GRU12 Thm 6.5: error ~ sqrt(|S||T|)".
        claimed: the exponent or number claimed; None where the claim is an inequality in words.
        measured: what the table shows.
        tolerance: the two agree when they differ by at most this.
        agrees: whether they do.
    """

    statement: str
    claimed: float | None
    measured: float
    tolerance: float | None
    agrees: bool

    def __str__(self) -> str:
        claimed = "" if self.claimed is None else f", claimed {self.claimed:.3g}"
        verdict = "agrees" if self.agrees else "does not agree"
        return f"{self.statement}: measured {self.measured:.3g}{claimed}: {verdict}"


@final
@dataclass(frozen=True, kw_only=True)
class Table:
    """The numbers of a figure. Not private: computed from graphs that are made or public.

    Attributes:
        columns: names, in the field's terms, with units where there are any.
        rows: plain strings and numbers, each as long as `columns`.
        parameters: all that the numbers depend on, the seed included: plain values for JSON.
        findings: what the figure tests.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    parameters: Mapping[str, Any]
    findings: Sequence[Finding]

    def where(self, **fixed: Any) -> list[dict[str, Any]]:
        """The rows in which these columns have these values, as dictionaries by column."""
        named = (dict(zip(self.columns, row, strict=True)) for row in self.rows)
        return [row for row in named if all(row[key] == fixed[key] for key in fixed)]


class Experiment(Protocol):
    """A function that measures."""

    def __call__(self, *, quick: bool, seed: int, progress: Progress) -> Table:
        """Measure; the same seed gives the same table, to the last digit.

        Args:
            quick: smaller sizes and fewer repetitions, in seconds instead of minutes; the same
                columns.
            seed: >= 0; all randomness comes from it.
            progress: called with the fraction done and a message.
        """
        ...
