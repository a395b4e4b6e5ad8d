"""`graphcuts-dp release`: a private graph in, a synthetic graph out."""

from typing import Annotated, Any

import typer

from graphcuts_dp.cli.console import accuracy_notes, progress_bar, say, show_facts, show_json
from graphcuts_dp.cli.reading import (
    BipartiteOption,
    IgnoreWeightsOption,
    OneBasedOption,
    Reading,
    VerticesOption,
    WeightCapOption,
    check_apart,
    read_lines,
    read_query,
)
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.files import check_labels
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.iterative.methods import (
    CONSTRUCTIONS,
    DISTINGUISHERS,
    IterativeOptions,
    release_iteratively,
)
from graphcuts_dp.iterative.paper_tuning import CALIBRATIONS
from graphcuts_dp.iterative.release import IterativeRelease, check_iterative_path
from graphcuts_dp.measurements.entries import expected_error_note
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.laws import NOISES
from graphcuts_dp.release.allocation import MECHANISMS, least_law
from graphcuts_dp.release.release import Release
from graphcuts_dp.release.storage import check_release_path
from graphcuts_dp.release.synthesis import FITS, ORACLES, fit_method, mechanism_for, release_graph

EXAMPLE = """Example: graphcuts-dp release mail.edges.gz synthetic.graphml --epsilon 1

Writes the synthetic graph, a receipt beside it (.json) and the noisy matrix (.noisy.npz), from
which any cut query can be answered later.

With --mechanism iterative-construction the graph is learnt from noisy answers to cuts that a
private distinguisher finds; the file beside it is then the hypothesis (.hypothesis.npz). It is for
lists of cuts, and for proven errors on small graphs; as a synthetic graph the default is better:

graphcuts-dp release mail.edges.gz out.graphml --epsilon 1 --delta 1e-6
--mechanism iterative-construction --queries cuts.jsonl"""
_ITERATIVE = "iterative-construction"


def release(
    source: Annotated[str, typer.Argument(metavar="IN", help="The private graph.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The synthetic graph.")],
    epsilon: Annotated[float, typer.Option(help="Privacy of one edge; smaller hides more.")],
    noise: Annotated[str, typer.Option(help=f"One of: {', '.join(NOISES)}.")] = "binary",
    mechanism: Annotated[
        str,
        typer.Option(help=f"How epsilon is spent, one of: {', '.join((*MECHANISMS, _ITERATIVE))}."),
    ] = "auto",
    degree_share: Annotated[
        float | None, typer.Option(help="Part of epsilon for noisy degrees, if they are used.")
    ] = None,
    fit: Annotated[str, typer.Option(help=f"One of: {', '.join(FITS)}.")] = "auto",
    oracle: Annotated[
        str, typer.Option(help=f"Of the cutting-plane fit, one of: {', '.join(ORACLES)}.")
    ] = "cut-norm",
    vertices: VerticesOption = None,
    bipartite: BipartiteOption = False,
    ignore_weights: IgnoreWeightsOption = False,
    weight_cap: WeightCapOption = None,
    one_based: OneBasedOption = False,
    unweighted: Annotated[
        bool, typer.Option("--unweighted", help="Round the synthetic weights to 0 and 1.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Repeatable run. NOT PRIVATE: for tests only.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which the fit stops at its best point.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Of the iterative construction, for example 1e-6; response-rank-one needs none."
        ),
    ] = None,
    construction: Annotated[
        str | None, typer.Option(help=f"How it learns: {', '.join(CONSTRUCTIONS)}.")
    ] = None,
    distinguisher: Annotated[
        str | None, typer.Option(help=f"How it finds cuts: {', '.join(DISTINGUISHERS)}.")
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(help="Public cuts to be right on: lines of JSON, as `session run`."),
    ] = None,
    calibration: Annotated[
        str | None, typer.Option(help=f"How its budget is cut up: {', '.join(CALIBRATIONS)}.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="At most so many rounds.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Release a synthetic graph with edge-level differential privacy."""
    exact_epsilon(epsilon)
    given = {
        "delta": delta,
        "construction": construction,
        "distinguisher": distinguisher,
        "calibration": calibration,
        "rounds": rounds,
        "queries": None if queries is None else _queries(queries),
    }
    iterative: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if iterative and mechanism != _ITERATIVE:
        raise ParameterError(f"--{min(iterative)} is for --mechanism {_ITERATIVE}")
    check_apart([target], source, vertices, queries)
    (check_iterative_path if mechanism == _ITERATIVE else check_release_path)(target, force=force)
    reading = Reading(vertices, bipartite, ignore_weights, weight_cap, one_based)
    graph = reading.read(source)
    check_labels(target, graph)
    if mechanism == _ITERATIVE:
        changed = (noise, degree_share, fit, oracle, unweighted, time_limit)
        if changed != ("binary", None, "auto", "cut-norm", False, None):
            raise ParameterError(f"--mechanism {_ITERATIVE} takes no options of noise or fits")
        for note in reading.notes(graph):
            say(f"note: {note}")
        options = IterativeOptions(**iterative)
        with progress_bar("learning") as progress:
            learnt = release_iteratively(
                graph, epsilon=epsilon, options=options, seed=seed, progress=progress
            )
        _show(_facts_learnt(learnt), learnt.save(target, force=force), as_json)
        return
    if noise == "discrete-laplace" and graph.weighted:
        say("note: Weights are rounded down to whole numbers.")
    mechanism = mechanism_for(fit_method(graph, fit, oracle, time_limit), mechanism, degree_share)
    law = least_law(graph, noise, epsilon, mechanism, degree_share)
    for note in (*reading.notes(graph), expected_error_note(graph, law)):
        say(f"note: {note}")
    with accuracy_notes(), progress_bar("fitting") as progress:
        made = release_graph(
            graph,
            epsilon=epsilon,
            noise=noise,
            mechanism=mechanism,
            degree_share=degree_share,
            fit=fit,
            oracle=oracle,
            unweighted=unweighted,
            seed=seed,
            time_limit=time_limit,
            progress=progress,
        )
    _show(_facts(made), made.save(target, force=force), as_json)


def _queries(path: str) -> list[CutQuery]:
    return [read_query(line, number) for number, line in read_lines(path)]


def _show(facts: dict[str, object], written: tuple[str, ...], as_json: bool) -> None:
    if as_json:
        show_json({**facts, "files": list(written)})
    else:
        named = {name.replace("_", " "): _shown(value) for name, value in facts.items()}
        show_facts(named | {"files": "  ".join(written)})


def _facts_learnt(made: IterativeRelease) -> dict[str, object]:
    settings, accuracy = made.settings, made.accuracy
    facts: dict[str, object] = {
        "guarantee": str(made.guarantee),
        "epsilon_spent_on": dict(made.guarantee.parts),
        "vertices": " x ".join(str(n) for n in made.universe.shape),
        "construction": settings.construction,
        "distinguisher": settings.distinguisher,
        "rounds": f"{settings.used} of at most {settings.rounds} ({settings.calibration})",
    }
    if accuracy.error is None:
        return facts | {"error": "nothing is proven for this distinguisher"}
    what = "the queries given" if accuracy.queries == "listed" else "cuts between disjoint sets"
    return facts | {
        "error_at_most": accuracy.error,
        "error_of_the_graph_at_most": accuracy.graph_error,
        "which_holds": f"for {what} at once, with probability {accuracy.confidence:.0%}",
    }


def _facts(made: Release) -> dict[str, object]:
    facts: dict[str, object] = {
        "guarantee": str(made.guarantee),
        "epsilon_spent_on": dict(made.guarantee.parts) or {"entries": made.guarantee.epsilon},
        "noise": made.noisy.law.name,
        "vertices": " x ".join(str(n) for n in made.noisy.shape),
        "expected_worst_cut_error": made.expected_worst_cut_error,
    }
    if made.fit is not None and made.certificate is not None:
        facts |= {
            "fit": f"{made.fit.method} ({made.fit.objective}), stopped by {made.fit.stopped}",
            "distance_from_noisy_matrix_at_least": made.certificate.lower,
            "distance_from_noisy_matrix_at_most": made.certificate.upper,
            "worst_cut_error_at_most": made.worst_cut_error_bound(),
        }
        if made.fit.gap is not None:
            facts["fit_gap"] = made.fit.gap
    return facts


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {part:.3g}" for name, part in value.items())
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
