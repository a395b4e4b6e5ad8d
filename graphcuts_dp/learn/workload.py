"""Public terms of a session: what will be asked (`SessionWorkload`), and all numbers (`Setting`).

A session answers queries about a private graph, one by one. Its error depends on public numbers
alone: the size of the graph, the announced workload, the budget and the privacy unit. `Setting`
holds and checks them; `learn.forecasts` computes errors from it. No private data are read here.

Terms used here:

- The *privacy unit* says by what neighbouring data differ. `EDGE` is one edge. Other units are k
  edges, where k is the *group size*, or a vertex, whose edges change together. By *group privacy* a
  mechanism for one edge serves a unit of k edges, if it runs with about epsilon/k.
- An interval is stated with each answer; it is wrong with a small probability.
- A size n (`Size`) is a number of vertices, a pair (left, right) of a bipartite graph, or `ArcsOn`
  of a directed graph. X is its number of vertex pairs.
- `option(...)` gives a dataclass field its default, a help text for the command line, and its range
  (`least` <= value, `above` < value < `below`). `check(self)` raises ParameterError for a field out
  of range, and the base class `Checked` calls it in `__post_init__`. The other arguments concern
  user interfaces only: a form shows a field with `usual=True` at once and hides others at first;
  `group` is the heading under which the help lists a field (`OUTPUT`: what is put out).
"""

from dataclasses import dataclass, replace

from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.learn.sizes import CutSizes, Size, pairs_of, shape_of, usual_edges
from graphcuts_dp.options import OUTPUT, Checked, check, is_number, option
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.distributions import BinaryResponse
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit

# Limits of a forecast: within them no formula over- or underflows in floats.
_MOST_VERTICES = 10**9  # of one side
_MOST_QUERIES = 10**18
_SMALLEST_BETA = 1e-12


@final
@dataclass(frozen=True, kw_only=True)
class SessionWorkload(Checked):
    """Announcement of what a session will be asked.

    The fewer kinds of queries are allowed, the smaller are the errors. So announce each limit below
    that your queries keep to. Plans and forecasts (`Setting`) do not read `disjoint`: they assume
    that all cuts have disjoint S and T. With `linear`, they assume that the largest coefficient of
    each query is 1.

    Attributes:
        queries: k >= 1: how many answers are guaranteed.
        beta: probability that any of the k intervals is wrong, in [1e-100, 1).
        disjoint: only cuts with disjoint S and T will be asked. The methods "frieze-kannan",
            "mirror-descent" and "binary" then have smaller errors and refuse other cuts.
        linear: rank-one, matrix and other linear queries will be asked, too. Method "auto" then
            chooses among the methods that answer them all; the other methods are refused. With
            "mirror-descent" the noise is twice that for cuts. Its privacy proof needs changes that
            move all answers in one direction, as one more edge does with cuts. With coefficients of
            both signs, one more edge raises some answers and lowers others. So it is counted as two
            changes, one that raises and one that lowers (see `Setting.for_one`).
        max_right_size: of a bipartite graph: only cuts with at most so many right vertices will be
            asked. Method "mirror-descent" then has smaller errors and refuses other cuts. None for
            no limit. Mirror descent measures distances in a norm, chosen by name. Without a limit
            no norm has smaller errors for cuts than "entropy"; with a limit others can have.
        max_spectral_norm: of "mirror-descent" with `linear`, on a bipartite graph. Let a query have
            the matrix of coefficients A, with the largest singular value sigma and the largest
            absolute entry a. Only queries with sigma <= max_spectral_norm * a will be asked. With
            norm "schatten" or "auto" the nuclear norm of the graph is then measured; the smaller it
            is, the smaller is the error. None for no limit.
        expected_edges: a public guess of the number of edges, for method "auto", warnings and
            plans. It is not stored. None for a usual number.

    Raises:
        ParameterError: a number out of range.

    Examples:
        >>> gc.SessionWorkload(queries=0)
        Traceback (most recent call last):
        graphcuts_dp.errors.ParameterError: queries must be a whole number from 1 on, not 0
    """

    queries: int = option(
        usual=True, help="Largest number of queries that the session answers.", least=1
    )
    beta: float = option(
        DEFAULT_FAILURE,
        help="Probability that any of the intervals of the session is wrong.",
        least=1e-100,
        below=1,
        group=OUTPUT,
    )
    disjoint: bool = option(
        False,
        help="Announce that S and T of each query share no vertex, which makes errors smaller.",
    )
    linear: bool = option(
        False, help="Answer all linear queries, not only cuts; for method auto or mirror-descent."
    )
    max_right_size: int | None = option(
        None,
        help="For a bipartite graph: announce that no set T has more vertices than this.",
        least=1,
    )
    max_spectral_norm: float | None = option(
        None,
        help="With linear, for a bipartite graph: announce that the largest singular value of a "
        "query is at most this many times its largest coefficient.",
        least=1,
    )
    expected_edges: float | None = option(
        None,
        help="A public guess of the number of edges, for method auto, warnings and plans.",
        above=0,
    )

    def expected(self, n: Size) -> float:
        """Return the expected number of edges, or total in units of the largest weight.

        It lies in [1, X]. Without a guess, `usual_edges` assumes about 10 edges a vertex.

        Args:
            n: number of vertices, or a pair of numbers for two sides.
        """
        guess = usual_edges(n) if self.expected_edges is None else float(self.expected_edges)
        return min(max(1.0, guess), float(pairs_of(n)))


@final
@dataclass(frozen=True, kw_only=True)
class Setting:
    """Public numbers on which the error of a session depends.

    Attributes:
        n: size of the graph: at least two vertex pairs, at most 10^9 vertices a side.
        edges: m, a public guess of the number of edges, in [1, X]. The true one is private.
        workload: the announced workload; at most 10^18 queries, and beta at least 1e-12.
        epsilon: privacy parameter, in [1e-6, 50] (`PrivacyUnit.per_change` checks it).
        delta: privacy parameter, in [0, 1).
        privacy_unit: what neighbouring data differ by.
        rank: with linear queries on a bipartite graph: a public guess of the rank of its matrix;
            None if there is no guess.

    Raises:
        ParameterError: a number out of range, or an announcement that does not fit the graph.
    """

    n: Size
    edges: float
    workload: SessionWorkload
    epsilon: float
    delta: float = option(0.0, help="Second privacy parameter.", least=0, below=1)
    privacy_unit: PrivacyUnit = EDGE
    rank: int | None = None

    def __post_init__(self) -> None:
        check(self)
        sides = shape_of(self.n)
        if not (len(sides) == 2 and all(_is_count(side, _MOST_VERTICES) for side in sides)):
            raise ParameterError(
                "n must be a number of vertices up to 10^9, two of them (left, right), or ArcsOn"
            )
        if self.pairs < 2:
            raise ParameterError("there must be at least two vertex pairs: add vertices")
        if not (is_number(self.edges) and 1 <= self.edges <= self.pairs):
            raise ParameterError(
                f"edges must lie between 1 and the number of pairs, {self.pairs:,}"
            )
        work = self.workload
        if work.queries > _MOST_QUERIES:
            raise ParameterError("queries must be at most 10^18")
        if work.beta < _SMALLEST_BETA:
            raise ParameterError(f"beta must be at least {_SMALLEST_BETA:g} here")
        # Raises if epsilon is out of [1e-6, 50], or epsilon over the group size below 1e-6.
        self.privacy_unit.per_change(self.epsilon)
        if not work.linear and (work.max_spectral_norm is not None or self.rank is not None):
            raise ParameterError("max_spectral_norm and rank are for linear=True")
        if work.linear and self.privacy_unit.kind == "vertex":
            raise ParameterError("privacy_unit='vertex' is for cuts, not for linear=True")
        if self.rank is not None and not _is_count(self.rank, min(sides)):
            raise ParameterError("rank is a whole number of at most the smaller side")
        _ = self.sizes  # the property raises if an announcement does not fit the graph

    @property
    def pairs(self) -> int:
        """X: the number of vertex pairs."""
        return pairs_of(self.n)

    @property
    def sizes(self) -> CutSizes:
        """Sizes of the queries. Cuts are assumed to be between disjoint sets."""
        work = self.workload
        return CutSizes.of(
            self.n,
            disjoint=not work.linear,
            max_right_size=work.max_right_size,
            linear=work.linear,
            spectral=work.max_spectral_norm,
        )

    @property
    def change(self) -> int:
        """Largest change of one answer between neighbours, in edges: the sensitivity.

        The degree bound if the privacy unit is a vertex, else the group size. With `linear` it
        holds for coefficients in [-1, 1].
        """
        # `max_degree` is None unless the unit is a vertex, and at least 1 if it is one.
        return self.privacy_unit.max_degree or self.privacy_unit.group_size

    def for_one(self, *, zcdp: bool = False) -> "Setting":
        """Return the setting with privacy unit "edge" and the share of the budget of one edge.

        Neighbours of this setting may differ by k edges. By group privacy a mechanism may then
        spend about epsilon/k on one edge: `PrivacyUnit.budget_per_change` computes it exactly. With
        linear queries an edge can raise some answers and lower others. That counts as two changes,
        one in each direction: `PrivacyUnit.either_way` is the unit with k doubled.

        The returned setting is for a budget, not for sizes: it has `linear` False, since the
        doubling is done, and no limits that need `linear`. So its `sizes` are those of cuts; take
        them from the original setting. Do not call this for privacy unit "vertex", whose group size
        is 1 though many edges change.

        Args:
            zcdp: whether the mechanism adds up its costs in zCDP; else in epsilon and delta. The
                two divide the budget differently.

        Raises:
            ParameterError: too little is left for one of many edges.
        """
        privacy_unit = self.privacy_unit.either_way if self.workload.linear else self.privacy_unit
        epsilon, delta = privacy_unit.budget_per_change(
            epsilon=self.epsilon, delta=self.delta, zcdp=zcdp
        )
        work = replace(self.workload, linear=False, max_spectral_norm=None)
        return replace(
            self, epsilon=epsilon, delta=delta, privacy_unit=EDGE, workload=work, rank=None
        )

    @property
    def distribution(self) -> BinaryResponse:
        """Binary randomised response of each pair's bit.

        `PrivacyUnit.per_change` gives each bit epsilon divided by the group size.
        """
        largest_weight = 1.0
        return BinaryResponse(self.privacy_unit.per_change(self.epsilon), largest_weight)


def _is_count(number: object, largest: int) -> bool:
    """Return whether this is an int from 1 to `largest`; bool is none."""
    return isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= largest
