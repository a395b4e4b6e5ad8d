"""Count updates used over B(alpha), for every construction, both rules and two analysts.

Each construction learns graphs to tolerances from a fifth to a fourteenth of their edges; the
median, tiny ones. The adversarial analyst always asks the worst cut that `worst_cut` finds, until
none is off by alpha; the random one asks 300 cuts whose sets hold each vertex with probability 1/2.
Every construction is told the truth's own total and divergence, so each B is the smallest that it
can have. Nothing here is private.

Source: GRU12, Theorems 5.1, A.2 and A.4; JT12, Algorithm 2.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.learn.base import Construction, Rule
from graphcuts_dp.learn.learners import FriezeKannanLearner, MultiplicativeWeightsLearner
from graphcuts_dp.learn.median import DatabaseFamily, Median, all_graphs
from graphcuts_dp.learn.potentials import (
    Entropy,
    GroupNorm,
    LpNorm,
    Potential,
    SchattenNorm,
    near_one,
)
from graphcuts_dp.learn.rules import MirrorDescentRule, minimal_start
from graphcuts_dp.plotting.style import COLOURS, PAGE, house_style
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.resources import Progress
from scripts.figures.analysts import worst_cut
from scripts.figures.base import Finding, Table, at_most
from scripts.figures.random_graphs import imbalanced_bipartite, planted_partition
from scripts.figures.small_databases import small_database_size, small_databases
from scripts.figures.update_sequence import UpdateSequence
from scripts.figures.update_sequence import potential as distance_of

COLUMNS = ("construction", "rule", "analyst", "graph", "alpha / |E|", "alpha", "used", "B")
RULES: tuple[Rule, ...] = ("tight", "as printed")
ANALYSTS = ("adversarial", "random")
_MEDIAN = "median"
_RANDOM_QUERIES = 300
_QUICK_RANDOM_QUERIES = 60
_DUE = 1 + 1e-9  # an update is due above alpha by more than rounding
_SIZES = {"imbalanced": 40, "random": 40, "planted": 48}  # vertices, of each side if bipartite
_SHARES = (0.2, 0.1, 0.07)  # alpha / |E|
_TWICE = "random"  # the graph that a quick run tries with two tolerances
_TINY_SHARES = {"tight": (0.2, 0.1), "as printed": (0.5, 0.35)}  # of the median
_OF_MATRICES = ("descent, (2,p)", "descent, Schatten-p")  # need two sides
_TITLES = {"tight": "Tight rule", "as printed": "Rule as printed"}
_LOOKS = {
    "adversarial": ("always the worst cut", "o", COLOURS["synthetic"], COLOURS["synthetic"], -0.17),
    "random": ("random cuts", "s", "white", COLOURS["noisy"], 0.17),
}
_LINEAR = 2e-3  # below it the axis is linear, so that 0 has a place


@final
@dataclass(frozen=True)
class Case:
    """A graph that a construction is to learn, with its queries.

    Attributes:
        graph: its name.
        universe: the pairs.
        truth: the matrix over the universe.
        share: the tolerance over the number of edges.
    """

    graph: str
    universe: Universe
    truth: FloatMatrix
    share: float

    @property
    def total_weight(self) -> float:
        """Its number of edges."""
        return self.universe.total(self.truth)

    @property
    def alpha(self) -> float:
        """The tolerance."""
        return self.share * self.total_weight


Build = Callable[[Case, Rule], Construction[Any]]
Row = tuple[str, str, str, str, float, float, int, float]


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:
    """Updates used over B(alpha) for every construction, with tight and printed rules, against an
    analyst who asks the worst cut and one who asks at random.

    Tests: GRU12 Theorems 5.1, A.2 and A.4, JT12 Algorithm 2.
    """
    sizes = {"imbalanced": 12, "random": 12, "planted": 12} if quick else _SIZES
    random_queries = _QUICK_RANDOM_QUERIES if quick else _RANDOM_QUERIES
    tasks = list(_tasks(_graphs(sizes, seed), quick))
    rows: list[Row] = []
    for number, (name, rule, case, analysts) in enumerate(tasks):
        progress(number / len(tasks), f"{name}, {rule}, {case.graph}, alpha = {case.share} |E|")
        construction = _BUILDS[name](case, rule)
        bound = float(construction.update_bound(case.alpha))
        for analyst in analysts:
            rng = np.random.default_rng([seed, number])
            used = updates_used(construction, case, analyst, rng, random_queries=random_queries)
            rows.append((name, rule, analyst, case.graph, case.share, case.alpha, used, bound))
    parameters = {"vertices": sizes, "queries of the random analyst": random_queries}
    return Table(columns=COLUMNS, rows=rows, parameters=parameters, findings=findings(rows))


def updates_used(
    construction: Construction[Any],
    case: Case,
    analyst: str,
    rng: np.random.Generator,
    *,
    random_queries: int = _RANDOM_QUERIES,
) -> int:
    """Count the updates that an analyst brings about; `UpdateSequence` refuses one more than B.

    Args:
        construction: tuned to the case's alpha.
        case: the truth.
        analyst: one of `ANALYSTS`.
        rng: of the random cuts, and of the oracle's starts.
        random_queries: how many cuts the random analyst asks.
    """
    sequence = UpdateSequence(construction, case.truth)
    if analyst == "random":
        for _ in range(random_queries):
            left, right = case.universe.shape
            _ask(sequence, CutQuery(rng.random(left) < 0.5, rng.random(right) < 0.5))
    else:
        while _ask(sequence, _worst(sequence, rng)):
            pass
    return sequence.count


def _ask(sequence: UpdateSequence[Any], query: CutQuery) -> bool:
    """Update if the answer is off by alpha; whether it was."""
    due = abs(sequence.discrepancy(query)) >= sequence.construction.alpha * _DUE
    if due:
        sequence.update(query)
    return due


def _worst(sequence: UpdateSequence[Any], rng: np.random.Generator) -> CutQuery:
    """Return the worst of all cuts for a median of databases, the worst cut found for a matrix."""
    hypothesis = sequence.hypothesis
    universe = hypothesis.universe
    if isinstance(hypothesis, DatabaseFamily):
        cuts = distinct_cuts(universe)
        off = universe.answers(cuts, sequence.truth) - hypothesis.estimate_all(cuts)
        return cuts[int(np.abs(off).argmax())]
    return worst_cut(sequence.truth - hypothesis.dense(), universe, rng=rng)


def distinct_cuts(universe: Universe) -> list[CutQuery]:
    """Return every cut of a tiny universe that contains a pair, once for each set of pairs."""
    left, right = (list(itertools.product((False, True), repeat=n)) for n in universe.shape)
    cuts = (CutQuery(np.array(S), np.array(T)) for S in left for T in right)
    cut_of = {universe.coefficients(cut).tobytes(): cut for cut in cuts}
    return [cut for cut in cut_of.values() if universe.norm_squared(cut)]


# Graphs

Truths = dict[str, tuple[Universe, FloatMatrix]]


def _graphs(sizes: dict[str, int], seed: int) -> Truths:
    """Return two bipartite graphs and a plain one."""
    V, n = sizes["random"], sizes["planted"]
    rng = np.random.default_rng(seed)
    imbalanced = imbalanced_bipartite(sizes["imbalanced"], seed=rng).dense()
    planted = planted_partition(n, 3, 0.6, 0.05, seed=rng).dense()
    return {
        "imbalanced": (Universe(*imbalanced.shape), imbalanced.astype(np.float64)),
        "random": (Universe(V, V), (rng.random((V, V)) < 1 / 3).astype(np.float64)),
        "planted": (Universe(n), planted.astype(np.float64)),
    }


def _tiny_graphs(n: int) -> Truths:
    """Return a star and a path on n vertices, and a ladder's bipartite half on n."""
    star, path = np.zeros((n, n)), np.zeros((n, n))
    star[0, 1:] = 1
    path[np.arange(n - 1), np.arange(1, n)] = 1
    across = np.triu(np.ones((2, n - 1)))
    return {
        f"star on {n}": (Universe(n), star + star.T),
        f"path on {n}": (Universe(n), path + path.T),
        f"bipartite on {n + 1}": (Universe(2, n - 1), across),
    }


# Constructions


def _median(case: Case, rule: Rule) -> Median:
    """Return the state of all graphs; as printed, of the multisets of GRU12's size."""
    if rule == "tight":
        return Median(start=all_graphs(case.universe), alpha=case.alpha)
    cuts = len(distinct_cuts(case.universe))
    size = small_database_size(
        alpha=case.alpha, total_weight=case.total_weight, queries=cuts, rule=rule
    )
    family = small_databases(case.universe, total_weight=case.total_weight, size=size)
    return Median(start=family, alpha=case.alpha)


def _descent(potential: Callable[[Case], Potential]) -> Build:
    def build(case: Case, rule: Rule) -> MirrorDescentRule:
        psi = potential(case)
        # All pairs at once have the largest dual norm of all cuts; the entropy's is half a range.
        of_matrix = isinstance(psi, GroupNorm | SchattenNorm)
        ones = np.ones(case.universe.shape if of_matrix else case.universe.size)
        construction = MirrorDescentRule(
            start=minimal_start(case.universe, psi),
            psi=psi,
            alpha=case.alpha,
            zeta=0.5 if isinstance(psi, Entropy) else psi.dual_norm(ones),
            start_potential=0.0,
            rule=rule,
        )
        divergence = distance_of(construction, construction.initial(), case.truth)
        return replace(construction, start_potential=divergence)

    return build


_BUILDS: dict[str, Build] = {
    "Frieze-Kannan": lambda case, rule: FriezeKannanLearner(case.universe, rule=rule).construction(
        alpha=case.alpha, total_weight=case.total_weight
    ),
    "multiplicative weights": lambda case, rule: MultiplicativeWeightsLearner(
        case.universe, rule
    ).construction(alpha=case.alpha, total_weight=case.total_weight),
    _MEDIAN: _median,
    "descent, l_p": _descent(lambda case: LpNorm(near_one(case.universe.size))),
    "descent, (2,p)": _descent(lambda case: GroupNorm(near_one(case.universe.shape[0]))),
    "descent, Schatten-p": _descent(lambda case: SchattenNorm(near_one(case.universe.size))),
    "descent, entropy": _descent(lambda case: Entropy(case.total_weight)),
}
CONSTRUCTIONS = tuple(_BUILDS)


def _tasks(truths: Truths, quick: bool) -> Iterator[tuple[str, Rule, Case, Sequence[str]]]:
    """Yield construction, rule, what to learn, and who asks.

    A quick run has a second tolerance on one graph alone, where nobody asks the worst cuts: these
    would take most of its time.
    """
    for name, rule in itertools.product(CONSTRUCTIONS, RULES):
        median = name == _MEDIAN
        # Multisets are many more than graphs.
        graphs = _tiny_graphs(5 if rule == "tight" else 4) if median else truths
        shares = _TINY_SHARES[rule] if median else _SHARES
        for graph, (number, share) in itertools.product(graphs, enumerate(shares)):
            if quick and number >= (2 if graph == _TWICE else 1):
                continue
            analysts = ANALYSTS[1:] if quick and number else ANALYSTS
            universe, truth = graphs[graph]
            if universe.bipartite or name not in _OF_MATRICES:
                yield name, rule, Case(graph, universe, truth, share), analysts


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return the largest share of B that was used, for each construction."""
    statement = "{}, {}: largest share of B(alpha) used"
    return [
        at_most(
            statement.format(_SOURCES[name], name), max(r[6] / r[7] for r in rows if r[0] == name)
        )
        for name in CONSTRUCTIONS
    ]


_SOURCES = {
    "Frieze-Kannan": "GRU12 Thm 5.1",
    "multiplicative weights": "GRU12 Thm A.4",
    _MEDIAN: "GRU12 Thm A.2",
} | {name: "JT12 Alg. 2" for name in CONSTRUCTIONS if name.startswith("descent")}
_NAMES = {
    name: name.replace("e-K", "e–K").replace("l_p", r"$\ell_p$").replace("(2,p)", "$(2,p)$")
    .replace("n-p", "n-$p$")
    for name in CONSTRUCTIONS
}  # fmt: skip


def draw(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of the experiment `updates`.

    Returns:
        A figure of two panels, the tight rule and the one as printed: for each construction the
        updates used over B(alpha), one point for each graph and tolerance, by analyst. The line is
        the bound.
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 3.3))
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        for axes, (rule, title) in zip(panels, _TITLES.items(), strict=True):
            _draw(axes, table, rule)
            axes.set_title(title)
        panels[0].set_yticks(range(len(_NAMES)), list(_NAMES.values()))
        panels[0].set_ylim(len(_NAMES) - 0.5, -0.5)
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower left", ncols=len(names))
    return figure


def _draw(axes: Axes, table: Table, rule: str) -> None:
    for analyst, (name, marker, inside, edge, shift) in _LOOKS.items():
        shares, heights = [], []
        for row_index, construction in enumerate(_NAMES):
            rows = table.where(construction=construction, rule=rule, analyst=analyst)
            shares += [row["used"] / row["B"] for row in rows]
            heights += [row_index + shift] * len(rows)
        axes.scatter(
            shares, heights, s=16, marker=marker, facecolor=inside, edgecolor=edge, label=name
        )
    axes.axvline(1, color="black", linewidth=1.2, label=r"the bound $B(\alpha)$")
    axes.set_xscale("symlog", linthresh=_LINEAR, linscale=0.4)
    axes.set_xlim(-3e-4, 1.5)
    ticks = [0, 0.01, 0.1, 1]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    for row_index in range(len(_NAMES) - 1):
        axes.axhline(row_index + 0.5, color="#e4e4e4", linewidth=0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(r"updates used / $B(\alpha)$")
