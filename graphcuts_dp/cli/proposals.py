"""What the answers of `plan --ask` lead to: a command, and the error of its answers.

`proposal_of` is where to begin. Answers are by the key of their question, see `asking`. What is
known of the private file comes from its head alone; public files are read whole.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, cast, final

from graphcuts_dp.cli.inspect_data import head_of, ignores_weights, needs_bound
from graphcuts_dp.cli.reading import GroupColumns, GroupFile, Reading
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.estimate.worst_cut_errors import expected_worst_cut, largest_cut
from graphcuts_dp.io.files import read_vertices
from graphcuts_dp.io.heads import FileHead
from graphcuts_dp.learn.sizes import usual_edges
from graphcuts_dp.privacy.count_noise import discrete_laplace_radius
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.privacy_unit import BOUND_KEYS, PrivacyUnit, UnitKind
from graphcuts_dp.release.flow_tables import flows_job
from graphcuts_dp.release.graphs import graph_job
from graphcuts_dp.release.usefulness import made_up_graph, usefulness_of
from graphcuts_dp.schema.columns import Columns, column_of
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.typed_names import join_names
from graphcuts_dp.schema.vertices import VertexSet

EVERYBODY, ANALYSTS, TEAM = WHO = ("everybody", "analysts", "team")
_QUERIES = 50  # that analysts ask
_FORECAST_VERTICES = 300  # most vertices of a graph on which a release is forecast: 20 ms a time

Answers = dict[str, Any]


@final
@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A command to propose, and the error of its answers.

    Attributes:
        words: the command without its privacy parameters.
        error_at: the error of an answer at an epsilon; a GraphCutsError where it is no use.
        error_of: what has this error.
        what: what is counted, such as "rows".
        spends: the option that gives epsilon.
        dry_run: words that make the command a forecast, which reads no private file; None if there
            is no forecast.
        afterwards: the command to ask the result with, which spends nothing more.
    """

    words: list[str]
    error_at: Callable[[float], float]
    error_of: str
    what: str = "edges"
    spends: str = "--epsilon"
    dry_run: list[str] | None = None
    afterwards: list[str] = field(default_factory=list)


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
        return _answered(answers, change)
    return _synthetic(answers, change) if answers["groups"] is None else _table(answers, unit)


def _table(answers: Answers, unit: PrivacyUnit) -> Proposal:
    """Return how a table of flows is released, with the errors of its dry run."""
    data, out = answers["data"], _unused("flows.csv")
    private, groups = reading_of(answers).without_file(unit, _grouping(answers))

    def error_at(epsilon: float) -> float:
        job = flows_job(private, cast(Groups, groups), epsilon=epsilon, privacy_unit=unit)
        return next(iter(job.errors()))[1]

    labels = groups_of(answers).labels()
    words = ["flows", data, answers["groups"], out, *_grouping_words(answers)]
    return Proposal(
        words=[*words, *_reading_words(answers), "--store", f"{data}.db"],
        error_at=error_at,
        error_of="each number of the table's finest level",
        what="rows" if is_rows(answers) else "edges",
        dry_run=["--dry-run"],
        afterwards=[
            *("answer", out, "--from", join_names(labels[:1])),
            *("--to", join_names(labels[-1:])),
        ],
    )


def _synthetic(answers: Answers, change: int) -> Proposal:
    """Return how a synthetic graph is released, with the error that its dry run forecasts."""
    data, (_, n) = answers["data"], answers["vertices"]
    out = _unused("synthetic.graphml")
    first = _first_vertex(answers)
    return Proposal(
        words=["release", data, out, *_reading_words(answers), "--store", f"{data}.db"],
        error_at=lambda epsilon: _error_between_halves(epsilon / change, n),
        error_of="a cut between halves of all vertices",
        dry_run=["--dry-run", f"{usual_edges(n):.0f}"] if reading_of(answers).vertices else None,
        afterwards=[] if first is None else ["answer", out, "--from", first],
    )


def _answered(answers: Answers, change: int) -> Proposal:
    """Return how analysts are answered one by one."""
    data, grouping = answers["data"], []
    if answers["groups"] is not None:
        grouping = ["--groups", answers["groups"], *_grouping_words(answers)]
    how = partial(
        Proposal,
        error_at=partial(_error_of_sums, change),
        error_of=f"each of {_QUERIES} answers, all at once",
    )
    reading = [*grouping, *_reading_words(answers)]
    if answers["who"] == TEAM:
        words = ["serve", f"{data}.db", "--graph", data, *reading]
        return how(words=words, spends="--budget")
    first, store = _first_vertex(answers), f"{data}.db"
    return how(
        words=["session", "start", data, "--store", store, "--queries", str(_QUERIES), *reading],
        dry_run=None if first is None else ["--dry-run"],
        afterwards=[] if first is None else ["session", "ask", store, "--from", first],
    )


def _planned(answers: Answers, change: int) -> Proposal:
    """Return the plan of a graph of which no file was named."""
    n = answers["vertices"][1]
    words = ["plan", "--n", str(n), "--queries", str(_QUERIES)]
    if answers["who"] == EVERYBODY:
        return Proposal(
            words=words,
            error_at=lambda epsilon: _error_between_halves(epsilon / change, n),
            error_of="a cut between halves of all vertices of a release",
        )
    return Proposal(
        words=words,
        error_at=partial(_error_of_sums, change),
        error_of=f"each of {_QUERIES} answers, all at once",
    )


def _error_of_sums(change: int, epsilon: float) -> float:
    """Return what no error of `_QUERIES` sums with Laplace noise exceeds, all at once."""
    each = epsilon / (change * _QUERIES)
    return float(discrete_laplace_radius(each, failure=DEFAULT_FAILURE / _QUERIES))


def _error_between_halves(epsilon: float, n: int) -> float:
    """Return the error of a cut between halves that `release --dry-run` states.

    The graph of the dry run has as many edges as is usual. Of more than `_FORECAST_VERTICES` a
    smaller one is tried, with errors in proportion, and with an average degree as far from the
    noise, on which the mechanism chooses how it spends its budget.

    Args:
        epsilon: of one edge.
        n: public number of vertices.

    Raises:
        ParameterError: a release is refused as useless.
    """
    noise = noise_distribution("binary", epsilon=epsilon, max_weight=1.0)
    if expected_worst_cut(noise, (n, n)) > largest_cut((n, n), symmetric=True, cap=1.0):
        raise ParameterError("the noise hides every graph of this size; allow a larger epsilon")
    tried = min(n, _FORECAST_VERTICES)
    edges = usual_edges(n) * (tried / n) ** 1.5  # the average degree times sqrt(tried/n)
    graph = made_up_graph(VertexSet(tried), max(1.0, edges), weighted=False, max_weight=None)
    job = graph_job(graph, epsilon=epsilon, simulated=True)
    forecast = usefulness_of(job.run(graph, SeededEntropy(0)), edges=edges)
    halves = next(question for question in forecast.questions if "halves" in question.what)
    return halves.error * n / tried


def unit_of(answers: Answers) -> PrivacyUnit:
    kind = cast(UnitKind, answers["unit"])
    if kind == "row":
        return PrivacyUnit.row()
    return PrivacyUnit.of(f"{kind}:{BOUND_KEYS[kind]}={answers['bound']}")


def is_rows(answers: Answers) -> bool:
    """Return whether rows are released as rows, not as a graph."""
    published = answers.get("who", EVERYBODY) == EVERYBODY
    return published and answers["unit"] in ("user", "row") and bool(answers.get("groups"))


def reading_of(answers: Answers) -> Reading:
    """Return how the private file is read."""
    typed = {key: column_of(value) for key, value in _columns(answers).items()}
    columns = Columns(
        source=typed.get("source"),
        target=typed.get("target"),
        user=typed.get("user"),
        period=typed.get("period"),
        date_format=answers.get("date-format") if "period" in typed else None,
    )
    vertices = answers.get("vertices")
    reading = Reading(
        columns=columns,
        vertices=None if vertices is None else vertices[0],
        periods=answers.get("periods"),
    )
    if is_rows(answers):
        return replace(reading, kind="directed", counting="rows")
    if columns.user is not None:
        return replace(reading, counting="edges")
    return replace(reading, ignore_weights=_may_have_weights(answers["data"], reading))


def _columns(answers: Answers) -> dict[str, str]:
    """Return the keys of --columns with their values as they are typed."""
    names = ("source", "target", "user", "period", "date-format", "on-bad")
    keys = {key: answers.get(key) for key in names}
    source, target = answers.get("endpoints", (None, None))
    keys |= {"source": source, "target": target}
    if not is_rows(answers):
        keys |= {"period": None, "date-format": None, "on-bad": None}
    return {key: str(value) for key, value in keys.items() if value}


def _may_have_weights(path: str, reading: Reading) -> bool:
    head, _, _ = head_of(path, reading)
    return needs_bound(head, reading) or ignores_weights(head, reading)


def lists_vertices(head: FileHead) -> bool:
    return head.lists_vertices or head.declared.vertices is not None


def _reading_words(answers: Answers) -> list[str]:
    """Return the options by which a command reads the private file."""
    reading, typed = reading_of(answers), _columns(answers)
    columns = ",".join(f"{key}={value.replace(',', chr(92) + ',')}" for key, value in typed.items())
    words = ["--columns", columns] if columns else []
    for switch, value in (
        ("--kind", reading.kind if reading.directed else None),
        ("--counting", reading.counting if reading.counting == "edges" or not typed else None),
        ("--periods", reading.periods),
        ("--vertices", reading.vertices),
    ):
        words += [switch, value] if value is not None else []
    return [*words, *["--ignore-weights"] * reading.ignore_weights]


def groups_of(answers: Answers) -> Groups:
    """Return the public groups.

    Raises:
        FileFormatError, GraphError: as `GroupFile.read`.
    """
    grouping = _grouping(answers)
    return cast(Groups, grouping.read(cast(VertexSet, grouping.space(bipartite=False))))


def _grouping(answers: Answers) -> GroupFile:
    levels: list[str] | None = answers.get("levels")
    how = GroupColumns(levels=None if levels is None else [column_of(name) for name in levels])
    return GroupFile(groups=answers["groups"], groups_columns=how)


def _grouping_words(answers: Answers) -> list[str]:
    levels = answers.get("levels")
    if levels is None:
        return []
    text = join_names(levels, "/").replace(",", "\\,")
    return ["--groups-columns", f"levels={text}"]


def _first_vertex(answers: Answers) -> str | None:
    """Return a set of vertices to ask about, as it is typed; None if no public file names one."""
    if answers["groups"] is not None:
        return join_names([f"@@{groups_of(answers).labels()[0]}"])
    vertices = reading_of(answers).vertices
    if vertices is None:
        return None
    return "0" if vertices.isdigit() else join_names(read_vertices(vertices).labels[:1])


def _unused(name: str) -> str:
    """Return a name of a file that does not exist yet: flows.csv, flows-2.csv, ..."""
    path = Path(name)
    more = (f"{path.stem}-{number}{path.suffix}" for number in count(2))
    return next(candidate for candidate in chain([name], more) if not Path(candidate).exists())
