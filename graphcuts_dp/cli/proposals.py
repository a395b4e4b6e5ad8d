"""Turn the answers of `plan --ask` into a command, and forecast its error.

`proposal_of` is where to begin. Answers are by the key of their question, see `asking`. What is
known of the private file comes from its head alone; public files are read whole.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import cast, final

from graphcuts_dp.cli.dialogue import Answers
from graphcuts_dp.cli.group_reading import GroupColumns, GroupFile
from graphcuts_dp.cli.inspect_data import ignores_weights, inspect_head, needs_bound
from graphcuts_dp.cli.plan_columns import NAMES, first_line
from graphcuts_dp.cli.reading import Reading
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
from graphcuts_dp.privacy.privacy_unit import BOUND_KEYS, PrivacyUnit, UnitKind
from graphcuts_dp.release.flow_tables import flows_job
from graphcuts_dp.release.graphs import graph_job
from graphcuts_dp.release.updates import update_plan
from graphcuts_dp.release.usefulness import made_up_graph, usefulness_of
from graphcuts_dp.schema.columns import Column, Columns, column_of
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.schema.typed_names import join_names
from graphcuts_dp.schema.vertices import Arcs, Space, VertexSet, vertex_sets
from graphcuts_dp.session.transcript import store_status

EVERYBODY, ANALYSTS, TEAM = WHO = ("everybody", "analysts", "team")
TABLE, GRAPH = PRODUCTS = ("table", "graph")  # that everybody may see
DIRECTED, TOGETHER = "directed", "together"  # how both directions of a pair count
LINES, PAIRS = "lines", "pairs"  # what of a file with rows counts
SAME, TWO = "same", "two"  # kinds of what both endpoints are
ALL_TIME = "all"  # further periods follow, and one bound on a person is for all of them
_YEARS_TO_COME = 4  # that a table over time is proposed for, after that of its last period
QUERIES = 50  # that analysts ask, if nobody says how many
_ONE_ROW = PrivacyUnit.user(max_contributions=1)  # where no bound is answered yet
_BETWEEN_HALVES = "the number of edges between two halves of all vertices"
# A private estimate of the bound on rows of a person: how many persons of each size it may hide,
# and the most of the budget that it may take for that.
_HIDDEN_PERSONS, _MOST_FOR_ESTIMATE = 20, 0.25
USUAL_ROWS = 20  # of a person, at most
_NEW_BUDGET = 2.0  # that is proposed for a store that does not exist yet
_FORECAST_VERTICES = 300  # most vertices of a graph on which a release is forecast: 20 ms a time


@final
@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A command to propose, and the error of its answers.

    Attributes:
        words: the command without its privacy parameters.
        error_at: the error of an answer at an epsilon; a GraphCutsError where it is no use.
        error_of: what has this error.
        counted: what is counted, such as "rows".
        counted_lines: the same in a sentence about the lines of the file; "" without a file.
        size: about what such an answer measures, by a public guess; None without one.
        table_error_at: the error of a number of a table between the groups alone, at an epsilon;
            None if there are no groups, or a table is proposed already.
        cells: how many such numbers make up all that is counted; None if that is not so.
        smaller: what makes noise matter less at the same epsilon.
        spends: the option that gives epsilon.
        dry_run: words that make the command a forecast, which reads no private file; None if there
            is no forecast.
        assumed: what the forecast assumes because nobody guessed, in words; None for nothing.
        data: with the vertices and the directions of the command, without any row; None if that is
            not known.
        periods: that it is charged for; None for all.
        afterwards: the command to ask the result with, which spends nothing more.
        later: what further periods need, and how much they reveal together; "" for nothing.
    """

    words: list[str]
    error_at: Callable[[float], float]
    error_of: str
    counted: str = "edges"
    counted_lines: str = ""
    size: float | None = None
    table_error_at: Callable[[float], float] | None = None
    cells: int | None = None
    smaller: str = "ask for sums of more vertices"
    spends: str = "--epsilon"
    dry_run: list[str] | None = None
    assumed: str | None = None
    data: PrivateData | None = None
    periods: tuple[str, ...] | None = None
    afterwards: list[str] = field(default_factory=list)
    later: str = ""

    def is_hidden(self, epsilon: float) -> bool:
        """Return whether noise exceeds what an answer measures; False if that is not known."""
        return self.size is not None and not self.error_at(epsilon) <= self.size


def proposal_of(answers: Answers) -> Proposal:
    """Return the command that the answers lead to.

    Raises:
        GraphCutsError: answers that do not fit together.
    """
    unit = unit_of(answers)
    change = unit.max_degree or unit.group_size
    if answers["data"] is None:
        return _planned(answers, change)
    if answers["who"] != EVERYBODY:
        proposal = _answered(answers, change)
    else:
        proposal = _table(answers, unit) if is_table(answers) else _synthetic(answers, change)
    return replace(proposal, counted_lines=_counted_lines(answers, unit))


def _counted_lines(answers: Answers, unit: PrivacyUnit) -> str:
    """Return which lines of the private file count, and what else could count."""
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


def _table(answers: Answers, unit: PrivacyUnit) -> Proposal:
    """Return how a table of flows is released, with the errors of its dry run."""
    data, out = answers["data"], unused("flows.csv")
    private, groups = reading_of(answers).empty_data(unit, _grouping(answers))

    def error_at(epsilon: float) -> float:
        job = flows_job(private, cast(Groups, groups), epsilon=epsilon, privacy_unit=unit)
        return next(iter(job.errors()))[1]

    horizon = horizon_of(answers)
    reading = replace(reading_of(answers), periods=horizon)
    rows, _ = reading.empty_data(unit, _grouping(answers))

    def error_of_period_at(epsilon: float) -> float:
        sides = cast(Groups, groups)
        plan = update_plan(cast(Rows, rows), sides, epsilon=epsilon, privacy_unit=unit)
        return plan.errors()[0][1]

    further = is_continued(answers)
    labels, count_of_cells = groups_of(answers).labels(), cell_count(answers, unit)
    last_labels = groups_of(answers, right=True).labels() if has_two_kinds(answers) else labels
    command = ["flows-over-time" if further else "flows", data, answers["groups"], out]
    words = [*command, *_grouping_words(answers)]
    if further:
        words += ["--period", Periods.of(answers["periods"]).labels[0]]
    elif unit.kind == "user" and unit.group_size == answers.get("known-max"):
        words += ["--known-max", str(unit.group_size)]  # no row is left out, so that this is free
    return Proposal(
        words=[*words, *_reading_words(answers), *_store_words(answers)],
        error_at=error_of_period_at if further else error_at,
        error_of="each number of the table"
        + (" at its finest level" if len(answers.get("levels") or ()) > 1 else ""),
        counted="rows" if counts_lines(answers) else "edges",
        size=None if answers.get("guess") is None else answers["guess"] / count_of_cells,
        cells=count_of_cells,
        smaller=_smaller_table(answers),
        dry_run=["--dry-run"],
        data=private,
        periods=None if horizon is None else Periods.of(horizon).labels,
        afterwards=[
            *("answer", out, "--from", join_names(labels[:1])),
            *("--to", join_names(last_labels[-1:])),
        ],
        later=_later(answers) if further else "",
    )


def cell_count(answers: Answers, unit: PrivacyUnit) -> int:
    """Return how many numbers the finest level of a table has."""
    private, groups = reading_of(answers).empty_data(unit, _grouping(answers))
    cells = flows_job(private, cast(Groups, groups), epsilon=1.0, privacy_unit=unit).cells
    return cells.size(cells.depth - 1)


def _later(answers: Answers) -> str:
    """Return how further periods are published, and what they reveal together."""
    typed, declared = Periods.of(answers["periods"]), Periods.of(cast(str, horizon_of(answers)))
    following = declared.labels[1:2]
    text = ""
    if following:
        text = (
            f"For each further {typed.by}, when it is over, type the same with the next --period, "
            f"as {following[0]}, and with --force, which replaces the table by the longer one."
        )
    if answers["unit"] != "user":
        return f"{text} All {typed.by}s together use up epsilon once.".strip()
    if not is_per_period(answers):
        return (
            f"{text} All {len(declared.labels)} {typed.by}s together use up epsilon once, and at "
            f"most {answers['rows']:,} rows of a person count in all of them: more than about "
            f"{answers['rows'] / len(declared.labels):,.3g} in each {typed.by} are left out, so "
            f"that later {typed.by}s show a decline which is none."
        ).strip()
    return (
        f"{text} The guarantee is for each {typed.by}: a person who is there in k {typed.by}s is "
        f"hidden k times less, by k times epsilon, with k up to {len(declared.labels)}."
    ).strip()


def _smaller_table(answers: Answers) -> str:
    """Return what makes noise matter less in a table, at the same epsilon."""
    remedies = ["take larger groups"]
    if answers.get("periods") is not None:
        remedies.append("longer periods")
    if (answers.get("rows") or answers.get("bound") or 1) > 1:
        remedies.append("a smaller bound of the privacy unit")
    return ", or ".join(remedies)


def _synthetic(answers: Answers, change: int) -> Proposal:
    """Return how a synthetic graph is released, with the error that its dry run forecasts."""
    data, out = answers["data"], unused("synthetic.graphml")
    grouping: list[str] = []
    n: int | tuple[int, int]
    if answers.get("groups") is not None:
        grouping = ["--groups", answers["groups"], *_grouping_words(answers)]
        space = cast(Space, _grouping(answers).space(bipartite=has_two_kinds(answers)))
        left, right = vertex_sets(space)
        n = len(left) if left is right else (len(left), len(right))
    else:
        n = answers["vertices"][1]
    first = _first_vertex(answers)
    edges = answers.get("guess") or usual_edges(n)
    foretold = bool(grouping or reading_of(answers).vertices)
    words = ["release", data, out, *grouping, *_reading_words(answers)]
    return Proposal(
        words=[*words, *_store_words(answers)],
        error_at=lambda epsilon: _error_between_halves(
            epsilon / change, n, edges, directed=reading_of(answers).directed
        ),
        error_of=_BETWEEN_HALVES,
        table_error_at=_table_error(answers) if grouping else None,
        size=edges / 2,
        smaller="go back and choose a table of what passes between groups",
        dry_run=["--dry-run", f"{edges:.0f}"] if foretold else None,
        assumed=None if answers.get("guess") else _assumed_edges(n),
        afterwards=[] if first is None else ["answer", out, "--from", first],
    )


def _table_error(answers: Answers) -> Callable[[float], float]:
    """Return the error of sums between the groups, if they alone are published as a table."""
    unit = unit_of(answers)
    private, groups = reading_of(answers).empty_data(unit, _grouping(answers))

    def error_at(epsilon: float) -> float:
        job = flows_job(private, cast(Groups, groups), epsilon=epsilon, privacy_unit=unit)
        return next(iter(job.errors()))[1]

    return error_at


def estimate_of_bound(answers: Answers) -> list[str]:
    """Return the command that estimates, with noise, how many rows people have.

    It reads the rows as the proposed command does, since a store knows its data by that.
    """
    places_file = [] if answers.get("groups") is None else [answers["groups"]]
    grouping = _grouping_words(answers) if places_file else []
    words = ["flows", answers["data"], *places_file, *grouping, *_reading_words(answers)]
    keys = [f"cells={cell_count(answers, _ONE_ROW)}"] if is_table(answers) else []
    keys += ["per-period"] if is_per_period(answers) else []
    keys += [f"known-max={answers['known-max']}"] if answers.get("known-max") else []
    new = [] if Store(store_of(answers)).exists else ["--budget", f"{_NEW_BUDGET:g}"]
    words += ["--contributions", ":".join(["table", ",".join(keys)] if keys else ["table"])]
    words += ["--epsilon", f"{epsilon_of_estimate(answers):g}"]
    return [*words, "--store", store_of(answers), *new]


def epsilon_of_estimate(answers: Answers) -> float:
    """Return the epsilon at which an estimate hides few persons, within a part of the budget."""
    enough = least_epsilon(
        lambda epsilon: hidden_users(epsilon, len(BOUNDS) + 1) <= _HIDDEN_PERSONS
    )
    store, left = Store(store_of(answers)), None
    if store.exists:
        left = store_status(store).left
    most = _MOST_FOR_ESTIMATE * (_NEW_BUDGET if left is None else left)
    return up_to_digits(enough, 2) if enough <= most else down_to_digits(most, 2)


def store_of(answers: Answers) -> str:
    """Return the name of the store that keeps account of the private file."""
    return f"{answers['data'].rstrip('/')}.db"


def _store_words(answers: Answers) -> list[str]:
    """Return the options that charge a store, with the budget of a new one."""
    budget = answers.get("budget")
    words = ["--store", store_of(answers)]
    return words if budget is None else [*words, "--budget", f"{budget:g}"]


def _answered(answers: Answers, change: int) -> Proposal:
    """Return how analysts are answered one by one."""
    data, grouping = answers["data"], []
    if answers["groups"] is not None:
        grouping = ["--groups", answers["groups"], *_grouping_words(answers)]
    queries = answers.get("queries", QUERIES)
    how = partial(
        Proposal,
        error_at=partial(_error_of_sums, change, queries),
        error_of=_answers_text(queries),
        size=None if answers.get("guess") is None else answers["guess"] / 2,
        table_error_at=_table_error(answers) if grouping else None,
    )
    reading = [*grouping, *_reading_words(answers)]
    if answers["who"] == TEAM:
        words = ["serve", store_of(answers), "--graph", data, *reading]
        return how(words=words, spends="--budget")
    first, store = _first_vertex(answers), store_of(answers)
    words = ["session", "start", data, "--queries", str(queries), *reading]
    return how(
        words=[*words, *_store_words(answers)],
        dry_run=None if first is None else ["--dry-run"],
        afterwards=[] if first is None else ["session", "ask", store, "--from", first],
    )


def _planned(answers: Answers, change: int) -> Proposal:
    """Return the plan of a graph of which no file was named."""
    n, queries = answers["vertices"][1], answers.get("queries", QUERIES)
    words = ["plan", "--n", str(n), "--queries", str(queries)]
    if answers["who"] == EVERYBODY:
        return Proposal(
            words=words,
            error_at=lambda epsilon: _error_between_halves(epsilon / change, n, usual_edges(n)),
            error_of=_BETWEEN_HALVES,
            size=usual_edges(n) / 2,
            assumed=_assumed_edges(n),
        )
    return Proposal(
        words=words,
        error_at=partial(_error_of_sums, change, queries),
        error_of=_answers_text(queries),
    )


def _assumed_edges(n: int | tuple[int, int]) -> str:
    """Return which number of edges a forecast assumes if nobody guesses one."""
    edges, vertices = usual_edges(n), n if isinstance(n, int) else sum(n)
    return f"{edges:.0f} edges, {edges / vertices:.3g} for each vertex, are assumed"


def _answers_text(queries: int) -> str:
    return "the answer" if queries == 1 else f"each of {queries:,} answers, all of them at once,"


def _error_of_sums(change: int, queries: int, epsilon: float) -> float:
    """Return what no error of so many sums with Laplace noise exceeds, all at once."""
    epsilon_of_query = epsilon / (change * queries)
    return float(discrete_laplace_radius(epsilon_of_query, failure=DEFAULT_FAILURE / queries))


def _error_between_halves(
    epsilon: float, n: int | tuple[int, int], edges: float, *, directed: bool = False
) -> float:
    """Return the error of a cut between halves that `release --dry-run` states.

    Of more than `_FORECAST_VERTICES` vertices a smaller graph is tried, with errors in proportion,
    and with an average degree as far from the noise, on which the mechanism chooses how it spends
    its budget.

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
    one_set = isinstance(n, int)
    if expected_worst_cut(noise, shape) > largest_cut(shape, symmetric=one_set, cap=1.0):
        raise ParameterError(
            f"noise hides every graph of {max(shape):,} vertices: allow a larger epsilon, or go "
            "back and choose a table of what passes between groups"
        )
    scale = min(1.0, _FORECAST_VERTICES / max(shape))
    edges *= scale**1.5  # the average degree times sqrt(scale)
    rows, columns = (VertexSet(max(2, round(scale * size))) for size in shape)
    space = (Arcs(rows) if directed else rows) if one_set else (rows, columns)
    graph = made_up_graph(space, max(1.0, edges), weighted=False, max_weight=None)
    job = graph_job(graph, epsilon=epsilon, simulated=True)
    forecast = usefulness_of(job.run(graph, SeededEntropy(0)), edges=edges)
    halves = next(question for question in forecast.questions if "halves" in question.text)
    return halves.error / scale


def unit_of(answers: Answers) -> PrivacyUnit:
    kind = cast(UnitKind, answers["unit"])
    if kind == "row":
        return PrivacyUnit.row()
    bound = answers["rows" if kind == "user" else "bound"]
    each_period = ",per-period" if kind == "user" and is_per_period(answers) else ""
    return PrivacyUnit.of(f"{kind}:{BOUND_KEYS[kind]}={bound}{each_period}")


def horizon_of(answers: Answers) -> str | None:
    """Return the periods to declare: those that were answered, with years to come if it goes on.

    With one bound for all of them, the year ends them: the bound grows with their number.
    """
    text: str | None = answers.get("periods")
    if text is None or not is_continued(answers):
        return text
    labels = Periods.of(text).labels
    years = 0 if answers["continued"] == ALL_TIME else _YEARS_TO_COME
    year, rest_of_year = min(int(labels[-1][:4]) + years, 9999), labels[-1][4:]
    last_of_year = {"-Q": "-Q4", "-": "-12", "": ""}[rest_of_year.rstrip("0123456789")]
    return f"{labels[0]}..{year:04}{last_of_year}"


def is_continued(answers: Answers) -> bool:
    """Return whether further periods of a table will be published."""
    return bool(answers.get("continued")) and answers.get("periods") is not None


def is_per_period(answers: Answers) -> bool:
    """Return whether a person has a bound and a guarantee for each period."""
    return is_continued(answers) and answers["continued"] != ALL_TIME


def is_table(answers: Answers) -> bool:
    """Return whether a table of flows is published, as far as that is answered."""
    published = answers.get("who", EVERYBODY) == EVERYBODY
    return published and answers.get("product", TABLE) == TABLE and bool(answers.get("groups"))


def is_rows(answers: Answers) -> bool:
    """Return whether rows are released as rows, not as a graph."""
    return is_table(answers) and answers["unit"] in ("user", "row")


def has_two_kinds(answers: Answers) -> bool:
    """Return whether the two endpoints are of two kinds, such as users and films."""
    return answers.get("sides") == TWO


def counts_lines(answers: Answers) -> bool:
    """Return whether every line counts, not each pair once."""
    return is_rows(answers) and answers.get("counted") != PAIRS


def reading_of(answers: Answers) -> Reading:
    """Return how the private file is read."""
    typed = {key: column_of(value) for key, value in _columns(answers).items() if key != "header"}
    columns = Columns(
        source=typed.get("source"),
        target=typed.get("target"),
        user=typed.get("user"),
        period=typed.get("period"),
        header={"yes": True, "no": False}.get(_columns(answers).get("header", "")),
        date_format=answers.get("date-format") if "period" in typed else None,
    )
    vertices = answers.get("vertices")
    reading = Reading(
        columns=columns,
        vertices=None if vertices is None else vertices[0],
        periods=answers.get("periods"),
    )
    directions = answers.get("directions", DIRECTED if is_rows(answers) else TOGETHER)
    one_kind = "directed" if directions == DIRECTED else "undirected"
    reading = replace(reading, kind="bipartite" if has_two_kinds(answers) else one_kind)
    if is_rows(answers):
        return replace(reading, counting="rows" if counts_lines(answers) else "edges")
    if columns.user is not None:
        return replace(reading, counting="edges")
    return replace(reading, ignore_weights=_may_have_weights(answers["data"], reading))


def _columns(answers: Answers) -> dict[str, str]:
    """Return the keys of --columns with their values as they are typed."""
    names = ("header", "source", "target", "user", "period", "date-format", "on-bad")
    keys = {key: answers.get(key) for key in names}
    source, target = answers.get("endpoints", (None, None))
    keys |= {"source": source, "target": target}
    if not is_rows(answers):
        keys |= {"period": None, "date-format": None, "on-bad": None}
    numbered = any(str(keys[role]).isdigit() for role in ("source", "target", "user", "period"))
    if numbered and keys["header"] is None and first_line(answers["data"]).kind == NAMES:
        keys["header"] = "yes"  # which has to be said where columns are picked by number
    return {key: str(value) for key, value in keys.items() if value}


def _may_have_weights(path: str, reading: Reading) -> bool:
    head = inspect_head(path, reading).head
    return needs_bound(head, reading) or ignores_weights(head, reading)


def _reading_words(answers: Answers) -> list[str]:
    """Return the options by which a command reads the private file."""
    reading, typed = reading_of(answers), _columns(answers)
    columns = ",".join(f"{key}={value.replace(',', chr(92) + ',')}" for key, value in typed.items())
    words = ["--columns", columns] if columns else []
    implied = reading.counting == "rows" and not typed.keys().isdisjoint({"user", "period"})
    for switch, value in (
        ("--kind", None if reading.kind == "undirected" else reading.kind),
        ("--counting", None if implied else reading.counting),
        ("--periods", horizon_of(answers)),
        ("--vertices", reading.vertices),
    ):
        words += [switch, value] if value is not None else []
    return [*words, *["--ignore-weights"] * reading.ignore_weights]


def groups_of(answers: Answers, *, right: bool = False) -> Groups:
    """Return the public groups; of the left or of the right side, where there are two.

    Raises:
        FileFormatError, GraphError: as `GroupFile.read`.
    """
    side = "right-" if right else ""
    how = GroupColumns(levels=_typed_levels(answers.get(f"{side}levels")))
    grouping = GroupFile(groups=answers[f"{side}groups"], groups_columns=how)
    return cast(Groups, grouping.read(cast(VertexSet, grouping.space(bipartite=False))))


def _typed_levels(levels: list[str] | None) -> list[Column] | None:
    return None if levels is None else [column_of(name) for name in levels]


def _grouping(answers: Answers) -> GroupFile:
    how = GroupColumns(
        levels=_typed_levels(answers.get("levels")),
        right_levels=_typed_levels(answers.get("right-levels")),
    )
    right = answers.get("right-groups")
    return GroupFile(groups=answers["groups"], right_groups=right, groups_columns=how)


def _grouping_words(answers: Answers) -> list[str]:
    typed = ((key, answers.get(key)) for key in ("levels", "right-levels"))
    keys = [
        f"{key}={join_names(levels, '/').replace(',', chr(92) + ',')}"
        for key, levels in typed
        if levels is not None
    ]
    words = ["--groups-columns", ",".join(keys)] if keys else []
    right = answers.get("right-groups")
    return words if right is None else [*words, "--right-groups", right]


def _first_vertex(answers: Answers) -> str | None:
    """Return a set of vertices to ask about, as it is typed; None if no public file names one."""
    if answers["groups"] is not None:
        return join_names([f"@@{groups_of(answers).labels()[0]}"])
    vertices = reading_of(answers).vertices
    if vertices is None:
        return None
    return "0" if vertices.isdigit() else join_names(read_vertices(vertices).labels[:1])


def unused(name: str) -> str:
    """Return a name of a file that does not exist yet: flows.csv, flows-2.csv, ..."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122  # a Path would drop the dot of ./-x
    more = (f"{stem}-{number}{suffix}" for number in count(2))
    return next(candidate for candidate in chain([name], more) if not Path(candidate).exists())
