"""Norms of mirror descent on cuts: names, exponents, starts, and the bound B on updates of each.

Mirror descent (`learn.rules`) corrects a matrix x, an approximation of the *truth*: the private
matrix of weights in [0, 1]. The user chooses a norm, or "auto". The potential is a divergence
Delta(truth; x) that belongs to the norm (see `learn.potentials`). It falls with every update of
tolerance alpha by a least drop, and B(alpha) is the potential at the start over that drop: the
largest number of updates. An `UpdateBound` is this function B. A `Rule` is "as printed" for JT12's
exponents and steps, "tight" for the best of the same proof. Every potential here has order s = 2
(`learn.potentials` defines orders); formulas of steps are written for any s, as in JT12.

Symbols, with the names of fields of `CutSizes` and `NormTerms`:

    M       total weight of the graph             X   vertex pairs (`pairs`)
    N       most pairs of a query (`largest_query`)
    span    largest difference of two coefficients of a query: 1 for cuts, 2 if in [-1, 1]
    V_1     rows of the matrix, V_2 its columns   t   most columns of a query (`query_columns`)
    zeta    largest dual norm of a query          Psi bound on Delta(truth; start)
    R       sum of the root degrees of the rows   R_* nuclear norm of the matrix

R and R_* are private: they are measured with noise before B is known, or replaced by the largest
values that they can have. Then B = 2 (zeta/alpha)^2 Psi with

    norm        start    zeta               Psi
    l2          M/X      N^(1/2)            M (1 - M/X)/2
    lp          0        N^(1-1/p)          M^(2/p)/(2(p-1))           since x^p <= x
    2,p         0        V_1^(1-1/p) t^1/2  R_p^2/(2(p-1)),  R_p = R^(2/p-1) M^(1-1/p)
    entropy     M/X      1/2                M^2 ln(X/M)
    schatten    0        N^(1/2)            R_p^2/(2(p-1)),  R_p = R_*^(2/p-1) M^(1-1/p)

R_p bounds the norm of the truth. For 2,p: let r_i be the Euclidean norms of the rows. A row with
weights in [0, 1] has r_i^2 <= its degree, so sum r_i <= R and sum r_i^2 <= M. Hoelder's inequality
between the exponents 1 and 2 is ||r||_p <= ||r||_1^(2/p-1) ||r||_2^(2-2/p), which is at most R_p.
The same holds for singular values with R_*. By Cauchy and Schwarz R <= (V_1 M)^(1/2), and R_* <=
(rank M)^(1/2).

The zeta of entropy and of schatten in the table are for cuts. On a bipartite graph, which schatten
needs, the matrix of a cut has rank one: its only singular value is at most N^(1/2).

Other linear queries have coefficients in [-1, 1]. Then zeta of entropy is span/2 = 1. For schatten,
let no query have a singular value above `spectral`. The dual norm of a query is the l_q norm of its
singular values sigma_i, with q = p/(p-1) >= 2. Since sigma_i^q <= spectral^(q-2) sigma_i^2 and
sum sigma_i^2 <= N, zeta of schatten is (spectral^(q-2) N)^(1/q) = N^(1-1/p) spectral^(2/p-1).

The exponent of least B. For lp, 2,p and schatten with the start 0, zeta^2 Psi of the table is a
factor without p times e^(-2r/p)/(p-1), where r is ln(N/M), ln(V_1 M/R^2) or
ln(N M/(spectral R_*)^2). `best_exponent` finds the p for which this is least. At p = 2 each of
these norms is the Euclidean norm of all entries. Then the rule of l2 can be used, with its start
M/X, for which Psi is smaller. So B of l2 is computed as well, and the smaller of the two taken.

Source: JT12, sections 3.2, 4.1 and 4.2; the choice of p is not in it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.base import Rule, updates_of
from graphcuts_dp.learn.bounds import (
    UpdateBound,
    entropy_start,
    frieze_kannan_updates,
    multiplicative_weights_updates,
    squared_start,
)
from graphcuts_dp.learn.potentials import near_one
from graphcuts_dp.learn.sizes import CutSizes, Size

NORMS = ("l2", "lp", "2,p", "entropy", "schatten")
AUTO = "auto"  # the norm of least B
BIPARTITE_NORMS = ("2,p", "schatten")  # norms of rows and of singular values: for two sides
# Most vertices on a side. All norms hold a matrix of all pairs (8 n^2 bytes); "lp" and "2,p" also
# sort its rows, "schatten" computes its singular values.
MOST_VERTICES: Mapping[str, int] = {
    "l2": 8192,
    "entropy": 8192,
    "lp": 4096,
    "2,p": 4096,
    "schatten": 2048,
}
_PREFIXES: Mapping[str, str] = {"l": "lp", "2,": "2,p", "schatten-": "schatten"}  # before a number
NORM_HELP = f"{AUTO}, {', '.join(NORMS)}; a number for p, as in 2,1.25, fixes it"
_LEAST_NORM_BOUND = 1e-9  # a noisy norm can be 0 or negative, and its logarithm is taken


# Names of norms


def parse_norm(text: str) -> tuple[str, float | None]:
    """Return the norm that a text names, and its exponent; None for the exponent of least B.

    Args:
        text: a name of `NORMS`, "auto", or a name with an exponent in (1, 2]: "l1.5", "2,1.5",
            "schatten-1.5".

    Raises:
        ParameterError: anything else.
    """
    if text in (AUTO, *NORMS):
        return text, 2.0 if text == "l2" else None
    for prefix, norm in _PREFIXES.items():
        number = text.removeprefix(prefix) if isinstance(text, str) else ""  # text if no prefix
        if number and number != text and number.replace(".", "", 1).isdecimal():
            p = float(number)
            if 1 < p <= 2:
                return norm, p
            raise ParameterError(f"the exponent p of a norm must be above 1 and at most 2, not {p}")
    raise ParameterError(f"unknown norm {text!r:.60}; choose one of {NORM_HELP}")


def norms_of(sizes: CutSizes) -> tuple[str, ...]:
    """Return the norms of `NORMS` that a graph of this size can have, in the order of `NORMS`."""
    return tuple(
        norm
        for norm in NORMS
        if (sizes.bipartite or norm not in BIPARTITE_NORMS)
        and max(sizes.shape) <= MOST_VERTICES[norm]
    )


# Drops: by how much an update lowers the divergence. `order` is s, which is 2 for all potentials.
# `learn.rules` makes its steps with these functions: so its steps and B here belong together.


def step_size(alpha: float, zeta: float, order: float) -> float:
    """Return the step eta = alpha^(s-1)/zeta^s, which has the largest proven drop.

    Args:
        alpha: least discrepancy of an update, > 0 (T/2 in JT12).
        zeta: dual norm of the query, or the largest one of the class, > 0.
        order: s >= 2, the order of uniform convexity of the potential.
    """
    return float(alpha ** (order - 1) / zeta**order)


def printed_step_size(alpha: float, zeta: float, order: float) -> float:
    """Return the eta that JT12, Alg. 2 prints: (s-1)^(s-1)/s^s times `step_size`."""
    return float((order - 1) ** (order - 1) / order**order) * step_size(alpha, zeta, order)


def proven_drop(eta: float, alpha: float, zeta: float, order: float) -> float:
    """Return the least drop of Delta for a step eta: eta alpha - ((s-1)/s) (eta zeta)^(s/(s-1))."""
    return float(eta * alpha - (order - 1) / order * (eta * zeta) ** (order / (order - 1)))


def mirror_drop(
    alpha: float,
    zeta: float,
    order: float = 2.0,
    rule: Rule = "tight",
    *,
    eta: float | None = None,
) -> float:
    """Return the least drop of a rule: alpha^s/(s zeta^s); as printed 7/16 of it for s = 2.

    Args:
        alpha: least discrepancy of an update, > 0.
        zeta: the largest dual norm of a query, > 0.
        order: s >= 2, the order of uniform convexity of the potential.
        rule: see `Rule`.
        eta: of every update, > 0; None for that of the rule.

    Returns:
        The drop; not positive if nothing is proven for this eta.
    """
    if eta is None:
        step = printed_step_size if rule == "as printed" else step_size
        eta = step(alpha, zeta, order)
    return proven_drop(eta, alpha, zeta, order)


# B of each norm


@final
@dataclass(frozen=True, kw_only=True)
class NormTerms:
    """Mirror descent with one norm, before it is tuned to a tolerance.

    Attributes:
        norm: a name of `NORMS`.
        p: its exponent; None for entropy.
        zeta: largest dual norm of a query.
        start_potential: Psi, a bound on Delta(truth; start).
        weight: weight of every pair in the start.
        shift: 0 for all norms but entropy. With entropy, all hypotheses have the known, noisy total
            weight, and the proof of B compares them with the true graph scaled to that total. The
            shift is the most by which an answer differs between the true and the scaled graph. If
            an answer is off by alpha from the true graph, it is off by at least alpha - shift from
            the scaled one: so B uses alpha - shift.
        rule: see `Rule`.
        eta: of every update; None for that of the rule.
    """

    norm: str
    p: float | None
    zeta: float
    start_potential: float
    weight: float
    shift: float
    rule: Rule
    eta: float | None = None

    @property
    def shown(self) -> str:
        """The norm with its exponent, as users type it."""
        if self.norm == "l2" or self.p is None:
            return self.norm
        prefix = next(prefix for prefix, norm in _PREFIXES.items() if norm == self.norm)
        return f"{prefix}{self.p:.6g}"

    @property
    def in_unit_box(self) -> bool:
        """True if hypotheses stay in [0, 1]: if the potential has a projection on a box."""
        return self.p == 2 or self.norm not in ("entropy", "schatten")

    def updates(self, alpha: float) -> float:
        """Return B(alpha); infinite if alpha is not above the shift, or eta is too large."""
        shifted_alpha = alpha - self.shift
        if not shifted_alpha > 0:
            return math.inf
        drop = mirror_drop(shifted_alpha, self.zeta, rule=self.rule, eta=self.eta)
        return updates_of(self.start_potential, drop)


def terms_of(
    norm: str,
    p: float | None,
    sizes: CutSizes,
    *,
    total_weight: float,
    total_error: float = 0.0,
    root_degrees: float | None = None,
    nuclear_norm: float | None = None,
    rule: Rule = "tight",
) -> NormTerms:
    """Return the terms of a norm; the table of the module has the formulas.

    The rule decides on the exponent and on the drop. The start is that of the table under both.

    Args:
        norm: a name of `NORMS`.
        p: the exponent in (1, 2], 2 for l2. None to choose it: the one of least B or, as printed,
            JT12's ln V/(ln V - 1), where V is the number of rows (2,p) or pairs (lp, schatten).
        sizes: sizes of the graph and its queries.
        total_weight: M or a noisy value of it, in (0, X].
        total_error: how far the true M may be from `total_weight`, >= 0.
        root_degrees: an upper bound of R, for 2,p; None for (V_1 M)^(1/2).
        nuclear_norm: an upper bound of R_*, for schatten; None for (rank M)^(1/2).
        rule: see `Rule`.

    Raises:
        ParameterError: a norm of bipartite graphs for another graph.
    """
    if norm in BIPARTITE_NORMS and not sizes.bipartite:
        raise ParameterError(f"norm {norm!r} is for bipartite graphs; use 'l2', 'lp' or 'entropy'")
    density, squared_distance = squared_start(sizes.pairs, total_weight, total_error=total_error)
    # Mirror descent in the Euclidean norm, with the start M/X. These are the terms of l2, and those
    # of lp, 2,p and schatten with p = 2, whose name is kept. The terms of other norms are copies of
    # these with some fields replaced.
    l2_terms = NormTerms(
        norm=norm,
        p=2.0,
        zeta=math.sqrt(sizes.largest_query),
        start_potential=squared_distance / 2,
        weight=density,
        shift=0.0,
        rule=rule,
    )
    if norm == "entropy":
        relative_entropy = entropy_start(sizes.pairs, total_weight, total_error=total_error)
        return replace(
            l2_terms,
            p=None,
            zeta=sizes.span / 2,
            start_potential=total_weight**2 * relative_entropy,
            shift=total_error,
        )
    largest_total = min(total_weight + total_error, float(sizes.pairs))
    least_total = max(total_weight - total_error, 0.0)
    norm_bound = 0.0  # of R or R_*; lp and l2 have no use for it
    if norm == "2,p":
        norm_bound = _root_degrees_bound(sizes, root_degrees, least_total, largest_total)
    elif norm == "schatten":
        norm_bound = _nuclear_norm_bound(sizes, nuclear_norm, largest_total)
    exponent = _exponent(norm, sizes, largest_total, norm_bound, rule) if p is None else p
    if exponent == 2:
        return l2_terms
    zeta, truth_norm = _zeta_and_truth_norm(norm, exponent, sizes, largest_total, norm_bound)
    terms = replace(
        l2_terms,
        p=exponent,
        zeta=zeta,
        start_potential=truth_norm**2 / (2 * (exponent - 1)),
        weight=0.0,
    )
    if p is None and rule == "tight":
        # p = 2 with its better start may have the smaller B. Both B are a constant times alpha^-2
        # (the shift of both is 0), so the one that is smaller at 1 is smaller at every alpha.
        return min((terms, l2_terms), key=lambda candidate: candidate.updates(1.0))
    return terms


def _zeta_and_truth_norm(
    norm: str, p: float, sizes: CutSizes, largest_total: float, norm_bound: float
) -> tuple[float, float]:
    """Return zeta, and a bound on the norm of the truth, as in the table of the module.

    Args:
        norm: "lp", "2,p" or "schatten".
        p: the exponent, in (1, 2).
        sizes: sizes of the graph and its queries.
        largest_total: the largest M.
        norm_bound: a bound of R for 2,p, of R_* for schatten; not read for lp.
    """
    if norm == "lp":
        return sizes.largest_query ** (1 - 1 / p), largest_total ** (1 / p)
    truth_norm = norm_bound ** (2 / p - 1) * largest_total ** (1 - 1 / p)  # R_p
    if norm == "2,p":
        return sizes.shape[0] ** (1 - 1 / p) * math.sqrt(sizes.query_columns), truth_norm
    # No singular value of a query is larger than its Euclidean norm.
    spectral = math.sqrt(sizes.largest_query) if sizes.spectral is None else sizes.spectral
    return sizes.largest_query ** (1 - 1 / p) * spectral ** (2 / p - 1), truth_norm


def _root_degrees_bound(
    sizes: CutSizes, measured: float | None, least_total: float, largest_total: float
) -> float:
    """Clip a measured bound of R to the range of R; without one return the largest R.

    With row degrees d_i: M^(1/2) <= sum d_i^(1/2). As d_i <= V_2, d_i^(1/2) >= d_i V_2^(-1/2), so
    M V_2^(-1/2) <= R. And R <= (V_1 M)^(1/2) by Cauchy and Schwarz.
    """
    rows, columns = sizes.shape
    high = math.sqrt(rows * largest_total)
    if measured is None:
        return high
    low = max(math.sqrt(least_total), least_total / math.sqrt(columns))
    return min(max(measured, low, _LEAST_NORM_BOUND), high)


def _nuclear_norm_bound(sizes: CutSizes, measured: float | None, largest_total: float) -> float:
    """Clip a measured bound of R_* to at most (rank M)^(1/2); without one return that."""
    high = math.sqrt(min(sizes.shape) * largest_total)
    return high if measured is None else min(max(measured, _LEAST_NORM_BOUND), high)


def _exponent(
    norm: str, sizes: CutSizes, largest_total: float, norm_bound: float, rule: Rule
) -> float:
    """Return the exponent of least B or, as printed, JT12's.

    Args:
        norm: any but entropy.
        sizes: sizes of the graph and its queries.
        largest_total: the largest M.
        norm_bound: a bound of R for 2,p, of R_* for schatten.
        rule: see `Rule`.
    """
    rows = sizes.shape[0]
    if rule == "as printed" and norm != "l2":
        # near_one(V) is ln V/(ln V - 1), or 2 for small V.
        return near_one(rows if norm == "2,p" else sizes.pairs)
    if norm == "lp":
        return best_exponent(math.log(sizes.largest_query / largest_total))
    if norm == "2,p":
        return best_exponent(math.log(rows * largest_total) - 2 * math.log(norm_bound))
    if norm == "schatten" and sizes.spectral is not None:
        return best_exponent(
            math.log(sizes.largest_query * largest_total)
            - 2 * math.log(sizes.spectral * norm_bound)
        )
    # l2; or schatten on cuts, whose zeta is the same for all p, and whose Psi is least at 2.
    return 2.0


def best_exponent(r: float) -> float:
    """Return the p in (1, 2] for which e^(-2r/p)/(p-1) is least.

    The derivative of its logarithm is (2r(p-1) - p^2)/(p^2 (p-1)). If r < 2 it is negative for all
    p, so p = 2. Else its smaller zero is r - (r^2 - 2r)^(1/2), computed here without cancellation
    as 2r/(r + (r^2 - 2r)^(1/2)).
    """
    return 2.0 if r <= 2 else 2 * r / (r + math.sqrt(r * (r - 2)))


def norm_updates(
    n: Size,
    edges: float,
    rule: Rule = "tight",
    disjoint: bool = False,
    *,
    norm: str = AUTO,
    sizes: CutSizes | None = None,
    nuclear_norm: float | None = None,
) -> UpdateBound:
    """Return B of mirror descent on simple graphs of m edges, whatever their degrees.

    Mirror descent with entropy has the B of multiplicative weights, and with p = 2 that of
    Frieze-Kannan if queries may use all columns. Computed by two formulas, equal bounds could
    differ in the last digit. So the function of the other construction is called then. Method
    "auto" of a session relies on it: of methods with equal errors it takes the first of its list,
    and rounding must not decide that.

    Args:
        n: size of the graph.
        edges: m, in (0, X].
        rule: see `Rule`.
        disjoint: whether all queries have disjoint S and T; not read if `sizes` is given.
        norm: see `parse_norm`; "auto" is the least of all B, for each alpha.
        sizes: sizes of the graph and its queries; None for those of all cuts.
        nuclear_norm: a guess of the nuclear norm, for schatten; None for the largest one.

    Raises:
        ParameterError: a norm of bipartite graphs for another graph; or "auto" for more vertices
            than any norm can have. A named norm is not refused for the number of vertices: the
            learner does that.
    """
    sizes = sizes or CutSizes.of(n, disjoint=disjoint)
    parsed_norm, p = parse_norm(norm)
    names = norms_of(sizes) if parsed_norm == AUTO else (parsed_norm,)
    if not names:
        raise ParameterError(f"mirror descent is for up to {max(MOST_VERTICES.values())} vertices")
    bounds: list[UpdateBound] = []  # B of each norm
    for name in names:
        terms = terms_of(name, p, sizes, total_weight=edges, nuclear_norm=nuclear_norm, rule=rule)
        if rule == "tight" and terms.norm == "entropy" and sizes.span == 1:
            bounds.append(multiplicative_weights_updates(n, edges))
        elif rule == "tight" and terms.p == 2 and sizes.query_columns == sizes.shape[1]:
            # Two announcements make N less than X in `CutSizes`: disjoint sets on one vertex set,
            # and a limit on right vertices. The latter is ruled out here: all columns may be used.
            only_disjoint = sizes.largest_query < sizes.pairs
            bounds.append(frieze_kannan_updates(n, edges, disjoint=only_disjoint))
        else:
            bounds.append(terms.updates)
    return lambda alpha: min(bound(alpha) for bound in bounds)


# When a private norm is worth its share of the budget


def root_degrees_can_help(sizes: CutSizes) -> bool:
    """Return whether some graph has its least B with 2,p, if R is measured.

    There is none unless t < e^-2 V_2, where t of the V_2 columns are the most of a query. Proof. B
    of 2,p is the smaller the smaller R is. So take the least R of a graph with total M, which is
    M V_2^(-1/2): rows are full or empty. Let L = ln(X/M), so M = X e^-L. The table of the module
    has for 2,p, with N = V_1 t and X = V_1 V_2:

        zeta^2 = V_1^(2-2/p) t,
        R_p^2 = R^(4/p-2) M^(2-2/p) = M^(2/p) V_2^(1-2/p),
        zeta^2 R_p^2 = t V_1^(2-2/p) V_2^(1-2/p) M^(2/p) = (t/V_2) X^2 (M/X)^(2/p).

    So the three norms in question have

        2,p:      B alpha^2 = (t/V_2) X^2 e^(-2L/p)/(p-1),
        entropy:  B alpha^2 = X^2 e^(-2L) L/2,
        l2:       B alpha^2 = (t/V_2) X^2 e^(-L) (1 - M/X).

    1. L <= 2: the exponent of least B is that of `best_exponent` for r = L, which is p = 2. There
       2,p has (t/V_2) X^2 e^(-L), and l2 has less.
    2. L > 2: let f(L) be the least e^(-2L/p)/(p-1) over p. 2,p beats entropy if
       t/V_2 < g(L) with g(L) = e^(-2L) L/(2 f(L)). At L = 2 the best p is 2 and f = e^-2, so
       g = e^-2. It remains to show that g decreases. The logarithm of f has the derivative -2/p in
       L, with the best p held fixed (envelope theorem). So that of g has the derivative
       -2 + 1/L + 2/p. The best p fulfils 2L (p-1) = p^2 (see `best_exponent`), so
       1/L = 2 (p-1)/p^2, and the derivative is
       -2 (p-1)/p + 2 (p-1)/p^2 = -2 (p-1)^2/p^2 < 0.
    """
    return sizes.bipartite and sizes.query_columns < math.exp(-2) * sizes.shape[1]


def nuclear_norm_can_help(sizes: CutSizes) -> bool:
    """Return whether some graph has its least B with schatten, if the nuclear norm is measured.

    Schatten differs from l2 only if its exponent of least B is below 2, which needs r > 2 in
    `best_exponent`: N M > e^2 (spectral R_*)^2. For a matrix of 0 and 1, the squared singular
    values add up to M, so their sum R_* is at least M^(1/2). So N > e^2 spectral^2 is needed.
    """
    return sizes.spectral is not None and math.e * sizes.spectral < math.sqrt(sizes.largest_query)
