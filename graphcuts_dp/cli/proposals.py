"""Turn the answers of `plan --ask` into a command, and forecast its error.

`proposal_of` is where to begin. Answers are values by the key of their question, and `plan_choices`
says what they mean. Only the head of the private file is read; public files are read whole.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import cast, final

from graphcuts_dp.cli.dialogue import Answers
from graphcuts_dp.cli.plan_choices import (
    EVERYBODY,
    LINES,
    TEAM,
    USUAL_QUERIES,
    counts_lines,
    grouping_of,
    grouping_words,
    groups_of,
    has_two_kinds,
    horizon_of,
    is_continued,
    is_per_period,
    is_table,
    reading_of,
    reading_words,
    store_of,
    store_words,
    unit_of,
)
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.display import down_to_digits, up_to_digits
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.estimate.noisy_contributions import BOUNDS, hidden_users
from graphcuts_dp.estimate.worst_cut_errors import expected_worst_cut, largest_cut
from graphcuts_dp.graph.rows import PrivateData, Rows
from graphcuts_dp.io.files import read_vertices
from graphcuts_dp.learn.sizes import usual_edges
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.planning.planner import least_epsilon
from graphcuts_dp.privacy.count_noise import discrete_laplace_radius
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.release.flow_tables import flows_job
from graphcuts_dp.release.graphs import graph_job
from graphcuts_dp.release.updates import update_plan
from graphcuts_dp.release.usefulness import simulated_graph, usefulness_of
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.typed_names import join_names
from graphcuts_dp.schema.vertices import Arcs, Space, VertexSet, vertex_sets
from graphcuts_dp.session.transcript import store_status

ErrorAt = Callable[[float], float]  # from an epsilon to the error of an answer

_EDGES_BETWEEN_HALVES = "the number of edges between two halves of all vertices"
_FORECAST_VERTICES = 300  # most vertices of a graph on which a release is forecast: 20 ms a time
# Of a private estimate of the bound on rows of a person: the number of persons of each size that
# it may hide, and the largest share of the budget that it may take for that.
_HIDDEN_PERSONS, _LARGEST_SHARE_OF_ESTIMATE = 20, 0.25
_BUDGET_WITH_ESTIMATE = 2.0  # proposed for a store that does not exist yet
_ONE_ROW = PrivacyUnit.user(max_contributions=1)  # stands for a bound that is not answered yet


@final
@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A command to propose, and the error of its answers.

    Attributes:
        words: the command without its privacy parameters.
        error_at: the error of an answer at an epsilon; it raises a GraphCutsError if answers are
            useless at that epsilon.
        error_of: what has this error.
        counted_items: what is counted: "rows" or "edges".
        counting_note: sentences on which lines of the private file count; "" without a file.
        typical_value: about what such an answer is, by a public guess; None if nobody guessed.
        table_error_at: the error of a number of a table between the groups alone, at an epsilon;
            None if there are no groups, or a table is proposed already.
        cells: how many numbers of a table make up all that is counted; None if there is no table.
        remedy: what makes noise matter less at the same epsilon.
        epsilon_option: the option that takes epsilon.
        dry_run: words that make the command a forecast, which reads no private file; None if there
            is no forecast.
        assumed: in words, the number of edges that the forecast assumes because nobody guessed;
            None if it assumes none.
        empty_data: data with the vertices and the directions of the command, without any row; None
            if these are not known.
        periods: labels of the periods that are charged; None for all.
        afterwards: the command that asks the result, which spends nothing more; empty if there is
            none.
        next_periods: sentences on how further periods are released, and how much they reveal
            together; "" if there are none.
    """

    words: list[str]
    error_at: ErrorAt
    error_of: str
    counted_items: str = "edges"
    counting_note: str = ""
    typical_value: float | None = None
    table_error_at: ErrorAt | None = None
    cells: int | None = None
    remedy: str = "ask for sums of more vertices"
    epsilon_option: str = "--epsilon"
    dry_run: list[str] | None = None
    assumed: str | None = None
    empty_data: PrivateData | None = None
    periods: tuple[str, ...] | None = None
    afterwards: list[str] = field(default_factory=list)
    next_periods: str = ""

    def is_mostly_noise(self, epsilon: float) -> bool:
        """Return whether the error exceeds a typical answer; False if nobody guessed one."""
        return self.typical_value is not None and not self.error_at(epsilon) <= self.typical_value


def proposal_of(answers: Answers) -> Proposal:
    """Return the command that the answers lead to.

    Raises:
        GraphCutsError: answers that do not fit together.
    """
    unit = unit_of(answers)
    edges_per_unit = unit.max_degree or unit.group_size
    if answers["data"] is None:
        return _plan_proposal(answers, edges_per_unit)
    if answers["who"] != EVERYBODY:
        proposal = _session(answers, edges_per_unit)
    elif is_table(answers):
        proposal = _table(answers, unit)
    else:
        proposal = _synthetic_graph(answers, edges_per_unit)
    return replace(proposal, counting_note=_counting_note(answers, unit))


def _counting_note(answers: Answers, unit: PrivacyUnit) -> str:
    """Return which lines of the private file count, and how others could."""
    bound = f"; of each person at most {unit.group_size:,} count" if unit.kind == "user" else ""
    if counts_lines(answers):
        return f"Counted: every line of the file{bound}."
    text = f"Counted: pairs that occur at least once, each of them once{bound}."
    if not is_table(answers):
        return (
            f"{text} To count every line, type --counting rows in the commands, without "
            "--ignore-weights: the privacy unit is then one row."
        )
    return f"{text} To count every line, answer {LINES} at the question what counts."


# A table of flows between groups


def _table(answers: Answers, unit: PrivacyUnit) -> Proposal:
    """Return how a table of flows is released, with the errors of its dry run."""
    out, cells = unused("flows.csv"), cell_count(answers, unit)
    horizon, guess = horizon_of(answers), answers.get("guess")
    empty_data, _ = reading_of(answers).empty_data(unit, grouping_of(answers))
    if is_continued(answers):
        command, error_at = "flows-over-time", _period_error_at(answers, unit)
        options = ["--period", Periods.of(answers["periods"]).labels[0]]
    else:
        command, error_at, options = "flows", _table_error_at(answers, unit), []
        if unit.kind == "user" and unit.group_size == answers.get("known-max"):
            options = ["--known-max", str(unit.group_size)]  # free, since no row is left out
    words = [command, answers["data"], answers["groups"], out, *grouping_words(answers), *options]
    is_nested = len(answers.get("levels") or ()) > 1
    first_group = groups_of(answers).labels()[0]
    last_group = groups_of(answers, right=has_two_kinds(answers)).labels()[-1]
    return Proposal(
        words=[*words, *reading_words(answers), *store_words(answers)],
        error_at=error_at,
        error_of="each number of the table" + (" at its finest level" if is_nested else ""),
        counted_items="rows" if counts_lines(answers) else "edges",
        typical_value=None if guess is None else guess / cells,
        cells=cells,
        remedy=_remedy_of_table(answers),
        dry_run=["--dry-run"],
        empty_data=empty_data,
        periods=None if horizon is None else Periods.of(horizon).labels,
        afterwards=[
            *("answer", out, "--from", join_names([first_group])),
            *("--to", join_names([last_group])),
        ],
        next_periods=_next_periods(answers) if is_continued(answers) else "",
    )


def cell_count(answers: Answers, unit: PrivacyUnit) -> int:
    """Return how many numbers the finest level of a table has."""
    empty_data, groups = reading_of(answers).empty_data(unit, grouping_of(answers))
    cells = flows_job(empty_data, cast(Groups, groups), epsilon=1.0, privacy_unit=unit).cells
    return cells.size(cells.depth - 1)


def _table_error_at(answers: Answers, unit: PrivacyUnit) -> ErrorAt:
    """Return the error of numbers of a table of flows, as a function of epsilon."""
    empty_data, groups = reading_of(answers).empty_data(unit, grouping_of(answers))

    def error_at(epsilon: float) -> float:
        job = flows_job(empty_data, cast(Groups, groups), epsilon=epsilon, privacy_unit=unit)
        return next(iter(job.errors()))[1]

    return error_at


def _period_error_at(answers: Answers, unit: PrivacyUnit) -> ErrorAt:
    """Return the error of numbers of the next period of a table, as a function of epsilon."""
    reading = replace(reading_of(answers), periods=horizon_of(answers))
    empty_rows, groups = reading.empty_data(unit, grouping_of(answers))

    def error_at(epsilon: float) -> float:
        rows, sides = cast(Rows, empty_rows), cast(Groups, groups)
        plan = update_plan(rows, sides, epsilon=epsilon, privacy_unit=unit)
        return plan.errors()[0][1]

    return error_at


def _remedy_of_table(answers: Answers) -> str:
    """Return what makes noise matter less in a table, at the same epsilon."""
    remedies = ["take larger groups"]
    if answers.get("periods") is not None:
        remedies.append("longer periods")
    if (answers.get("rows") or answers.get("bound") or 1) > 1:
        remedies.append("a smaller bound of the privacy unit")
    return ", or ".join(remedies)


def _next_periods(answers: Answers) -> str:
    """Return how further periods are released, and what they reveal together."""
    typed, declared = Periods.of(answers["periods"]), Periods.of(cast(str, horizon_of(answers)))
    kind, number = typed.by, len(declared.labels)
    sentences = []
    if number > 1:
        sentences.append(
            f"For each further {kind}, when it is over, type the same with the next --period, "
            f"as {declared.labels[1]}, and with --force, which replaces the table by the longer "
            "one."
        )
    if answers["unit"] != "user":
        sentences.append(f"All {kind}s together use up epsilon once.")
    elif is_per_period(answers):
        sentences.append(
            f"The guarantee is for each {kind}: a person who is there in k {kind}s is hidden k "
            f"times less, by k times epsilon, with k up to {number}."
        )
    else:
        bound = answers["rows"]
        sentences.append(
            f"All {number} {kind}s together use up epsilon once, and at most {bound:,} rows of a "
            f"person count in all of them: more than about {bound / number:,.3g} in each {kind} "
            f"are left out, so that later {kind}s show a decline which is none."
        )
    return " ".join(sentences)


# A synthetic graph


def _synthetic_graph(answers: Answers, edges_per_unit: int) -> Proposal:
    """Return how a synthetic graph is released, with the error that its dry run forecasts."""
    out, unit = unused("synthetic.graphml"), unit_of(answers)
    has_groups = answers.get("groups") is not None
    n: int | tuple[int, int]
    if has_groups:
        space = cast(Space, grouping_of(answers).space(bipartite=has_two_kinds(answers)))
        left, right = vertex_sets(space)
        n = len(left) if left is right else (len(left), len(right))
    else:
        n = answers["vertices"][1]
    guess, reading = answers.get("guess"), reading_of(answers)
    edges, directed = guess or usual_edges(n), reading.directed
    vertex = _first_vertex(answers)
    words = ["release", answers["data"], out, *_group_words(answers), *reading_words(answers)]
    can_forecast = has_groups or bool(reading.vertices)
    return Proposal(
        words=[*words, *store_words(answers)],
        error_at=lambda epsilon: _error_between_halves(
            epsilon / edges_per_unit, n, edges, directed=directed
        ),
        error_of=_EDGES_BETWEEN_HALVES,
        table_error_at=_table_error_at(answers, unit) if has_groups else None,
        typical_value=edges / 2,
        remedy="go back and choose a table of what passes between groups",
        dry_run=["--dry-run", f"{edges:.0f}"] if can_forecast else None,
        assumed=None if guess else _assumed_edges(n),
        afterwards=[] if vertex is None else ["answer", out, "--from", vertex],
    )


def _error_between_halves(
    epsilon: float, n: int | tuple[int, int], edges: float, *, directed: bool = False
) -> float:
    """Return the error of a cut between halves that `release --dry-run` states.

    If there are more than `_FORECAST_VERTICES` vertices, a smaller graph is tried, and its error is
    scaled up. The ratio of its average degree to the noise is that of the large graph, since the
    mechanism chooses by it how to spend its budget.

    Args:
        epsilon: of one edge.
        n: public number of vertices, or numbers on both sides.
        edges: public guess of the number of edges.
        directed: whether both directions of a pair are kept apart.

    Raises:
        ParameterError: a release is refused as useless.
    """
    noise = noise_distribution("binary", epsilon=epsilon, max_weight=1.0)
    shape = (n, n) if isinstance(n, int) else n
    has_one_side = isinstance(n, int)
    if expected_worst_cut(noise, shape) > largest_cut(shape, symmetric=has_one_side, cap=1.0):
        raise ParameterError(
            f"noise hides every graph of {max(shape):,} vertices: allow a larger epsilon, or go "
            "back and choose a table of what passes between groups"
        )
    scale = min(1.0, _FORECAST_VERTICES / max(shape))
    edges *= scale**1.5  # the average degree times sqrt(scale)
    rows, columns = (VertexSet(max(2, round(scale * size))) for size in shape)
    space = (Arcs(rows) if directed else rows) if has_one_side else (rows, columns)
    graph = simulated_graph(space, max(1.0, edges), weighted=False, max_weight=None)
    job = graph_job(graph, epsilon=epsilon, simulated=True)
    forecast = usefulness_of(job.run(graph, SeededEntropy(0)), edges=edges)
    halves = next(question for question in forecast.questions if "halves" in question.text)
    return halves.error / scale


def _assumed_edges(n: int | tuple[int, int]) -> str:
    """Return which number of edges a forecast assumes if nobody guesses one."""
    edges, vertices = usual_edges(n), n if isinstance(n, int) else sum(n)
    return f"{edges:.0f} edges, {edges / vertices:.3g} for each vertex, are assumed"


# Answers one by one, and a plan without a file


def _session(answers: Answers, edges_per_unit: int) -> Proposal:
    """Return how analysts are answered one by one."""
    queries, guess = answers.get("queries", USUAL_QUERIES), answers.get("guess")
    has_groups = answers["groups"] is not None
    proposal = partial(
        Proposal,
        error_at=partial(_error_of_answers, edges_per_unit, queries),
        error_of=_answers_in_words(queries),
        typical_value=None if guess is None else guess / 2,
        table_error_at=_table_error_at(answers, unit_of(answers)) if has_groups else None,
    )
    data, store = answers["data"], store_of(answers)
    options = [*_group_words(answers), *reading_words(answers)]
    if answers["who"] == TEAM:
        words = ["serve", store, "--graph", data, *options]
        return proposal(words=words, epsilon_option="--budget")
    vertex = _first_vertex(answers)
    words = ["session", "start", data, "--queries", str(queries), *options]
    return proposal(
        words=[*words, *store_words(answers)],
        dry_run=None if vertex is None else ["--dry-run"],
        afterwards=[] if vertex is None else ["session", "ask", store, "--from", vertex],
    )


def _plan_proposal(answers: Answers, edges_per_unit: int) -> Proposal:
    """Return the plan of a graph if no private file is named."""
    n, queries = answers["vertices"][1], answers.get("queries", USUAL_QUERIES)
    words = ["plan", "--n", str(n), "--queries", str(queries)]
    if answers["who"] != EVERYBODY:
        return Proposal(
            words=words,
            error_at=partial(_error_of_answers, edges_per_unit, queries),
            error_of=_answers_in_words(queries),
        )
    edges = usual_edges(n)
    return Proposal(
        words=words,
        error_at=lambda epsilon: _error_between_halves(epsilon / edges_per_unit, n, edges),
        error_of=_EDGES_BETWEEN_HALVES,
        typical_value=edges / 2,
        assumed=_assumed_edges(n),
    )


def _error_of_answers(edges_per_unit: int, queries: int, epsilon: float) -> float:
    """Return a bound that holds at once for the errors of so many answers with Laplace noise."""
    epsilon_of_query = epsilon / (edges_per_unit * queries)
    return float(discrete_laplace_radius(epsilon_of_query, failure=DEFAULT_FAILURE / queries))


def _answers_in_words(queries: int) -> str:
    return "the answer" if queries == 1 else f"each of {queries:,} answers, all of them at once,"


def _group_words(answers: Answers) -> list[str]:
    """Return the options that name the public groups of a graph; empty if there are none."""
    if answers.get("groups") is None:
        return []
    return ["--groups", answers["groups"], *grouping_words(answers)]


def _first_vertex(answers: Answers) -> str | None:
    """Return a vertex or a group to ask about, as it is typed; None if no public file names one."""
    if answers["groups"] is not None:
        return join_names([f"@@{groups_of(answers).labels()[0]}"])
    vertices = reading_of(answers).vertices
    if vertices is None:
        return None
    return "0" if vertices.isdigit() else join_names(read_vertices(vertices).labels[:1])


def unused(name: str) -> str:
    """Return a name of a file that does not exist yet: flows.csv, flows-2.csv, ..."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122  # a Path would drop the dot of ./-x
    numbered = (f"{stem}-{number}{suffix}" for number in count(2))
    return next(candidate for candidate in chain([name], numbered) if not Path(candidate).exists())


# The private estimate of a bound on the rows of a person


def estimate_of_bound(answers: Answers) -> list[str]:
    """Return the command that estimates, with noise, how many rows people have.

    It reads the rows as the proposed command does, since a store knows its data by that.
    """
    words = ["flows", answers["data"]]
    if answers.get("groups") is not None:
        words += [answers["groups"], *grouping_words(answers)]
    keys = [f"cells={cell_count(answers, _ONE_ROW)}"] if is_table(answers) else []
    keys += ["per-period"] if is_per_period(answers) else []
    keys += [f"known-max={answers['known-max']}"] if answers.get("known-max") else []
    words += [*reading_words(answers), "--contributions"]
    words += [f"table:{','.join(keys)}" if keys else "table"]
    words += ["--epsilon", f"{epsilon_of_estimate(answers):g}", "--store", store_of(answers)]
    is_new = not Store(store_of(answers)).exists
    return [*words, "--budget", f"{_BUDGET_WITH_ESTIMATE:g}"] if is_new else words


def epsilon_of_estimate(answers: Answers) -> float:
    """Return the epsilon at which an estimate hides few persons, within a share of the budget."""
    enough = least_epsilon(
        lambda epsilon: hidden_users(epsilon, len(BOUNDS) + 1) <= _HIDDEN_PERSONS
    )
    store = Store(store_of(answers))
    left = store_status(store).left if store.exists else None
    most = _LARGEST_SHARE_OF_ESTIMATE * (_BUDGET_WITH_ESTIMATE if left is None else left)
    return up_to_digits(enough, 2) if enough <= most else down_to_digits(most, 2)
