"""What the package states with a confidence: with the default one, or with one that is given.

As a program it prints, as JSON, what it states by default, and what it writes of that.
"""

import contextlib
import io
import json
import sys
import tempfile
import warnings
from fractions import Fraction
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import matplotlib.text
import numpy as np
from period_cases import cells_of, flows_of

import graphcuts_dp as gc
from graphcuts_dp import Contributions, VertexSet, cut_job, flows_job, graph_job
from graphcuts_dp.cli import main
from graphcuts_dp.cli.plan_choices import USUAL_QUERIES, WHO
from graphcuts_dp.cli.proposals import _FORECAST_VERTICES, proposal_of
from graphcuts_dp.cuts.weights import lightest
from graphcuts_dp.distances import (
    Locations,
    Metric,
    answer_distances,
    open_distance_session,
    plan_distances,
)
from graphcuts_dp.learn.least_cut_error import CutErrors, CutRates
from graphcuts_dp.learn.sizes import usual_edges
from graphcuts_dp.planning import plan_contribution_bounds, plan_degree_bounds
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.count_noise import discrete_laplace_radius
from graphcuts_dp.release.usefulness import simulated_graph, usefulness_of
from graphcuts_dp.results.flow_table import CellSum

CONFIDENCE, FAILURE = 0.9, 0.1  # that are given
CLUB = gc.datasets.load("karate")
GROUPS = gc.Groups(CLUB.vertices, {"side": [f"side {row % 3}" for row in range(CLUB.n)]})
HALF = list(range(17))
MATRIX = gc.Query.matrix(np.sign(np.arange(CLUB.n**2) % 3 - 0.5).reshape(CLUB.n, -1))
MAP = Metric.path(40)
PEOPLE = Locations(MAP, [100 if 10 <= v < 20 else 3 for v in range(40)])
TABLE = Contributions(bounds=(1, 5, 20), counts=np.array([900, -2, 300, 3]), rate=Fraction(1, 2))
COMMANDS = ("answer", "release-iteratively", "session start", "distances", "plan")


@cache
def releases() -> dict[str, Any]:
    """Of a fixed seed, which state nothing yet."""
    return {
        "release": gc.release_graph(CLUB, epsilon=4.0, seed=1),
        "sparse": gc.release_graph(CLUB, epsilon=4.0, mechanism="sparse", seed=1),
        "flows": gc.release_flows(CLUB, GROUPS, epsilon=1.0, seed=1),
    }


def stated(given: bool) -> dict[str, Any]:
    """Numbers by the place that states them.

    Args:
        given: whether `CONFIDENCE` is given to all that take one; else the default holds.
    """
    sure: dict[str, Any] = {"confidence": CONFIDENCE} if given else {}
    fails: dict[str, Any] = {"beta": FAILURE} if given else {}
    budget = {"epsilon": 1.0, "delta": 1e-6}
    made = releases()
    numbers: dict[str, Any] = {}

    for name in ("release", "sparse"):
        release = made[name]
        numbers[name] = [
            release.answer(HALF, **sure).interval,
            [each.interval for each in release.answer_all([gc.CutQuery([0])], joint=True, **sure)],
            release.worst_cut_error_bound(**sure),
        ]
    numbers["matrix"] = [made["release"].answer(MATRIX, **sure).interval]
    parts = made["release"].partition("balanced", **sure)
    numbers["partition"] = [parts.confidence, parts.interval, parts.shortfall]

    flows = made["flows"]
    numbers["flows"] = [
        flows.between("side 0", "side 1", **sure).interval,
        [bound.tolist() for bound in flows.intervals(**sure)],
        [column.tolist() for column in flows.columns(**sure).values()],
    ]
    numbers["statistics"] = [
        [one.confidence, one.interval]
        for one in (flows.share_inside(**sure), flows.ei_index(**sure), flows.modularity(**sure))
    ]

    work = gc.SessionWorkload(queries=100, **fails)
    numbers["plan"] = [
        [row.method, row.guaranteed] for row in gc.plan(1000, queries=work, **budget).rows
    ]
    bounds = plan_degree_bounds([5, 10], epsilon=1.0, **fails)
    numbers["degree bounds"] = [row.cut for row in bounds.rows]
    with tempfile.TemporaryDirectory() as folder:
        for method in ("laplace", "multiplicative-weights"):
            store = Path(folder, f"{method}.db")
            with gc.open_session(
                CLUB, store=store, queries=work, method=method, seed=1, **budget
            ) as session:
                numbers[f"session, {method}"] = [session.error_bound, session.ask(HALF).confidence]
        with open_distance_session(
            MAP, PEOPLE, store=Path(folder, "d.db"), epsilon=9.0, queries=3, seed=1, **sure
        ) as asked:
            answer = asked.ask(3)
            numbers["distance session"] = [answer.confidence, answer.interval]
    answers = answer_distances(MAP, PEOPLE, epsilon=1.0, seed=1, **sure)
    planned = plan_distances(MAP, people=PEOPLE.people, epsilon=1.0, **sure)
    numbers["distances"] = [
        answers.confidence,
        [each.interval for each in answers.all()],
        [row.guaranteed for row in planned.rows],
    ]
    for construction in ("multiplicative-weights", "answers", "k-norm"):
        learnt = gc.release_iteratively(
            CLUB, [gc.CutQuery([0])], construction=construction, seed=1, **budget, **fails
        )
        answer, error = learnt.answer([0]), learnt.accuracy.error
        numbers[f"iterative, {construction}"] = [answer.confidence, answer.interval, error]
    return numbers


def forecast_by_default() -> dict[str, Any]:
    """What is stated where no confidence can be given."""
    made = releases()
    job = cut_job(CLUB, 0, 33, epsilon=1.0)
    cut = job.run(CLUB, SeededEntropy(1))
    cut_errors = [error for _, error in job.errors()]
    job = flows_job(CLUB, GROUPS, epsilon=1.0)
    hidden = plan_contribution_bounds(TABLE, epsilon=1)
    asked = {"data": None, "unit": "edge", "bound": 1, "vertices": (500, 500)}
    total = made["flows"].total
    return {
        "least cut": [*cut_errors, cut.shortfall, cut.interval],
        "flows": [error for _, error in job.errors()],
        "total": [total.confidence, total.interval],
        "proposal": [proposal_of(asked | {"who": who}).error_at(1.0) for who in WHO[:2]],
        "contributions": [hidden.confidence, TABLE.radius, TABLE.users_above(1)[1]],
        "usefulness": [
            [each.error for each in usefulness_of(made[name]).questions]
            for name in ("release", "sparse")
        ],
    }


def forecast_as_given() -> dict[str, Any]:
    """The same by what each rests on, for `CONFIDENCE`."""
    made, everybody, half = releases(), list(range(CLUB.n)), list(range(0, CLUB.n, 2))
    flows, rates = made["flows"], CutRates.of(Fraction(1), 1)
    errors_of_cuts = CutErrors.of(rates, CLUB.n, 2, unit=1.0, beta=FAILURE)
    cut_job_of_club = cut_job(CLUB, 0, 33, epsilon=1.0)
    terminal_rows = cut_job_of_club.terminal_rows
    measured_cut = cut_job_of_club.measure(CLUB, SeededEntropy(1))
    cut = lightest(measured_cut, terminal_rows, errors_of_cuts, 1.0)
    radius = float(flows._radii(1, CONFIDENCE, False).max())
    deviations = deviations_of(FAILURE)

    # A smaller graph than that of 500 vertices which is asked for, with errors in proportion.
    tried = _FORECAST_VERTICES
    edges = usual_edges(500) * (tried / 500) ** 1.5
    space = VertexSet(tried)
    graph = simulated_graph(space, edges, weighted=False, max_weight=None)
    in_half = np.arange(tried) % 2 == 0
    forecast = graph_job(graph, epsilon=1.0, simulated=True).run(graph, SeededEntropy(0))
    halves = gc.CutQuery(in_half, ~in_half)
    (found,) = forecast.estimator.estimate([halves], options_of(CONFIDENCE)).queries
    low, high = found.interval
    proposed = [
        (high - low) / 2 * 500 / tried,
        discrete_laplace_radius(1 / USUAL_QUERIES, failure=FAILURE / USUAL_QUERIES),
    ]

    errors = []
    for name in ("release", "sparse"):
        of_kinds = []
        for S in ([0], half):
            T = [each for each in everybody if each not in S]
            answer = made[name].answer(S, T, confidence=CONFIDENCE)
            # Not cut to what is possible, as answers are.
            (found,) = (
                made[name]
                .estimator.estimate([gc.CutQuery(*masks_of(S, T))], options_of(CONFIDENCE))
                .queries
            )
            low, high = found.interval
            typical = None if answer.kind == "unbiased" else answer.typical_error
            of_kinds.append((high - low) / 2 if typical is None else deviations * typical)
        errors.append([*of_kinds, made[name].worst_cut_error_bound(CONFIDENCE)])
    everything = flows._answer(CellSum(0, np.ones(1), union=True), CONFIDENCE, False)
    return {
        "least cut": [
            *(errors_of_cuts.above_least, errors_of_cuts.above_trivial),
            *(cut.shortfall, cut.interval),
        ],
        "flows": [radius],
        "total": [CONFIDENCE, everything.interval],
        "proposal": proposed,
        "contributions": [
            CONFIDENCE,
            discrete_laplace_radius(0.5, failure=FAILURE / 4),
            TABLE.users_above(1, failure=FAILURE)[1],
        ],
        "usefulness": errors,
    }


def deviations_of(failure: float) -> float:
    """How many standard deviations a normal error exceeds, up or down, with that probability."""
    return -NormalDist().inv_cdf(failure / 2)


def masks_of(*sets: list[int]) -> list[Any]:
    """Of vertices by their rows."""
    return [np.isin(np.arange(CLUB.n), rows) for rows in sets]


def options_of(confidence: float) -> Any:
    """Of answers."""
    return gc.estimate.estimator.AnswerOptions(confidence=confidence)


def written() -> dict[str, str]:
    """Titles, legends, notes, cards and help, by default."""
    made = releases()
    flows = made["flows"]
    cells = cells_of()
    over = flows_of(cells, np.zeros(cells.size(cells.depth - 1)))
    compared = gc.cut_errors(CLUB, made["release"])
    cards = {
        "card of a release": made["release"],
        "card of flows": flows,
        "card of usefulness": usefulness_of(made["release"]),
        "card of a plan of bounds": plan_contribution_bounds(TABLE, epsilon=1),
    }
    texts = {name: str(each._card()) for name, each in cards.items()}
    texts["legend of flows"] = words_of(over.plot(by="month"))
    texts["legend of errors"] = words_of(compared.plot())
    texts["notes of a cut"] = " ".join(filter(None, cut_job(CLUB, 0, 33, epsilon=1.0).notes))
    texts["notes of flows"] = " ".join(filter(None, flows_job(CLUB, GROUPS, epsilon=1.0).notes))
    texts["receipt of flows"] = flows._intervals_text
    texts["answer"] = str(made["release"].answer(HALF))
    for command in COMMANDS:
        texts[f"help of {command}"] = printed(*command.split(), "--help")
    return texts


def words_of(figure: Any) -> str:
    """All that is written in a picture."""
    return " | ".join(each.get_text() for each in figure.findobj(matplotlib.text.Text))


def printed(*words: str) -> str:
    """What a command prints."""
    sys.argv = ["graphcuts-dp", *words]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main.run_command()
    return out.getvalue()


def served() -> list[Any] | None:
    """What HTTP and the page of the curator state by default; None without the server's extra."""
    try:
        from graphcuts_dp.page.app import Page
        from graphcuts_dp.page.result import _ERROR
        from graphcuts_dp.server.models import PlanIn
    except ImportError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        form = Page(Path(folder), 0).form({})
    beta = PlanIn.model_json_schema()["properties"]["beta"]["default"]
    return [beta, form["confidence"], _ERROR]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    told = {
        "stated": stated(given=False),
        "forecast": forecast_by_default(),
        "written": written(),
        "served": served(),
        "package": gc.__file__,
    }
    sys.stdout.write(json.dumps(told))
