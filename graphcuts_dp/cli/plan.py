"""`graphcuts-dp plan`: compare what mechanisms guarantee, by formulas and public numbers alone.

`plan --ask` is in `asking`.
"""

from dataclasses import dataclass
from typing import cast, final, get_args

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.asking import ask as ask_and_propose
from graphcuts_dp.cli.console import Report
from graphcuts_dp.cli.reading import PRIVACY_UNIT
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.counted_rows import counted_sentence
from graphcuts_dp.estimate.strategy import equal_groups
from graphcuts_dp.learn.workload import SessionWorkload
from graphcuts_dp.options import Checked, input_option, option, output_option
from graphcuts_dp.planning import planner
from graphcuts_dp.planning.planner import RowTable
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.schema.counting import CONTRIBUTED, Counting
from graphcuts_dp.schema.group_tree import GroupTree
from graphcuts_dp.schema.typed_names import split_names


def _read_integers(text: str, rule: str) -> list[int]:
    """Return whole numbers between commas.

    Args:
        text: what was typed.
        rule: what to type, for the error.

    Raises:
        ParameterError: a part is no whole number.
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"{text!r:.40}: {rule}") from None


def _read_size(text: str) -> int | tuple[int, int]:
    rule = "--n is a whole number, or LEFT,RIGHT of a graph with two sides"
    numbers = _read_integers(text, rule)
    if len(numbers) > 2:
        raise ParameterError(rule)
    return (numbers[0], numbers[1]) if len(numbers) == 2 else numbers[0]


@final
@dataclass(frozen=True, kw_only=True)
class PlannedGraph(Checked):
    """Options that describe the graph, by public numbers."""

    n: int | tuple[int, int] | None = input_option(
        None,
        help="Number of vertices; LEFT,RIGHT for a graph with two sides.",
        parse=_read_size,
        metavar="COUNT",
    )
    edges: float | None = input_option(
        None,
        help="A public guess of the number of edges; if omitted, 10 for each vertex, which is an "
        "average degree of 20.",
    )
    rank: int | None = option(
        None,
        help="With --queries K,linear and two sides: a public guess of the rank of the matrix "
        "of weights.",
    )
    kind: str = input_option(
        "undirected",
        help="Kind of the graph; leave it out for a graph with two sides.",
        choices=("undirected", "directed"),
    )


@final
@dataclass(frozen=True, kw_only=True)
class PlannedFlows(Checked):
    """Options that describe flows to plan as well."""

    groups: str | None = input_option(
        None,
        help="Also plan flows: the number of public groups of equal sizes on each level, coarsest "
        "first, such as 5,50; for two sides LEFT:RIGHT, such as 5,50:4,20.",
    )
    counting: str | None = input_option(
        None,
        help="With --groups: plan flows of rows, and what is counted; see `flows`. Rows if "
        "--periods names periods.",
        choices=tuple(get_args(Counting)),
    )
    periods: str | None = input_option(
        None, help="With --groups: the periods of rows, as 2026-01..2026-12.", metavar="FROM..TO"
    )
    by: list[str] | None = input_option(
        None,
        help="With --periods: levels of them, as year,month; see `flows`.",
        parse=split_names,
    )

    def of(
        self, n: int | tuple[int, int]
    ) -> GroupTree | tuple[GroupTree, GroupTree] | RowTable | None:
        """Return the flows to plan: groups of a graph, or a table of rows.

        Args:
            n: number of vertices, or of both sides.

        Returns:
            The groups, or those of both sides; with an option for rows, a table. None if no flows
            are planned.

        Raises:
            ParameterError: options that do not fit together.
        """
        group_trees = None if self.groups is None else _read_groups(self.groups, n)
        if (self.counting, self.periods, self.by) == (None, None, None):
            return group_trees
        if group_trees is None:
            raise ParameterError(
                "--counting, --periods and --by are for flows: add --groups, as 5,50"
            )
        return RowTable(
            groups=group_trees,
            counting=cast(Counting, self.counting or "rows"),
            periods=self.periods,
            by=self.by,
        )


def _read_groups(text: str, n: int | tuple[int, int]) -> GroupTree | tuple[GroupTree, GroupTree]:
    """Return groups of nearly equal sizes on each level, of both sides if there are two."""
    sizes, side_texts = n if isinstance(n, tuple) else (n,), text.split(":")
    if len(side_texts) != len(sizes):
        raise ParameterError("--groups is LEFT:RIGHT for two sides, and has no colon for one")
    rule = "--groups are whole numbers, for example 5,50"
    trees = [
        equal_groups(size, _read_integers(side_text, rule))
        for size, side_text in zip(sizes, side_texts, strict=True)
    ]
    return (trees[0], trees[1]) if len(trees) == 2 else trees[0]


def plan(
    *,
    file: str | None = typer.Argument(
        None,
        metavar="FILE",
        help="With --ask: the private file, of which only the names of the columns are read.",
    ),
    graph: PlannedGraph,
    epsilon: float | None = options.ANY_EPSILON,
    delta: float = options.DELTA,
    privacy_unit: PrivacyUnit | None = PRIVACY_UNIT,
    queries: SessionWorkload = option(
        SessionWorkload(queries=1000),
        help="How many queries will be asked, and of what kind; 1000 if omitted.",
        of=SessionWorkload,
    ),
    flows: PlannedFlows,
    target_error: float | None = output_option(
        None, help="Also show the epsilon that guarantees this error."
    ),
    explain: bool = output_option(False, help="Explain in plain words what the guarantee means."),
    ask: bool = output_option(False, help="Ask some questions, and print the commands to type."),
) -> Report:
    """Compare what all mechanisms would guarantee, best first. Reads no data.

    Example: graphcuts-dp plan --n 5000 --edges 5e4 --queries 1e6 --epsilon 1 --delta 1e-6

    Example: graphcuts-dp plan --n 200 --groups 5,50 --periods 2026-01..2026-12 --by month
    --privacy-unit user:max-contributions=20 --epsilon 1

    Example: graphcuts-dp plan --explain --epsilon 1 --privacy-unit vertex:max-degree=50

    Example: graphcuts-dp plan --ask trips.csv

    The command uses formulas only. It reads no data and spends no budget. --edges is a guess that
    may be public, such as the number of edges of a similar graph; never count the edges of the
    private graph. --explain says in plain words what a guarantee means. --ask asks about your data,
    what is protected and how exact answers must be, and prints commands that you can type as they
    are, and that use a store; it warns if noise will hide most of the result. It reads only the
    names of the columns of the private file, and no row. An empty line accepts the answer in
    brackets, a wrong answer is asked again, "?" explains a question, and "back" returns to the
    question before.
    """
    if ask:
        return ask_and_propose(file)
    if file is not None:
        raise ParameterError(f"a plan reads no file; to be asked about one: plan --ask {file}")
    missing = [
        f"--{name} {example}"
        for name, value, example in (("n", graph.n, "5000"), ("epsilon", epsilon, "1"))
        if value is None and not (explain and name == "n")
    ]
    if missing:
        raise ParameterError(f"a plan needs {' and '.join(missing)}, for example; or --ask")
    if privacy_unit is None:
        privacy_unit = _default_unit(flows)
    if explain:
        explanation = privacy_unit.explain(epsilon=cast(float, epsilon), delta=delta)
        return Report(explanation.to_dict(), [explanation])
    n = cast(int, graph.n)
    comparison = planner.plan(
        n,
        epsilon=cast(float, epsilon),
        edges=graph.edges,
        queries=queries,
        delta=delta,
        rank=graph.rank,
        directed=graph.kind == "directed",
        privacy_unit=privacy_unit,
        groups=flows.of(n),
        target_error=target_error,
    )
    return Report(comparison.to_dict(), [comparison], _notes_on_users(privacy_unit, flows))


def _default_unit(flows: PlannedFlows) -> PrivacyUnit:
    """Return a row if flows count rows or their weight, else an edge."""
    implies_rows = flows.counting is None and flows.periods is not None
    counts_rows = flows.counting in ("rows", "weight") or implies_rows
    return PrivacyUnit.row() if counts_rows else EDGE


def _notes_on_users(privacy_unit: PrivacyUnit, flows: PlannedFlows) -> list[str]:
    """Return what flows count of users, and how to compare bounds; empty if there are no users."""
    if privacy_unit.kind != "user" or flows.groups is None:
        return []
    counting = cast(Counting, flows.counting or "rows")
    sentence = counted_sentence(privacy_unit.group_size, what=CONTRIBUTED[counting])
    note = (
        f"Errors are of counted {CONTRIBUTED[counting]}: {sentence}. With a known maximum, flows "
        "--dry-run --known-max NUMBER compares this bound with it, for all rows."
    )
    return [note]
