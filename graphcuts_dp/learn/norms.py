"""Norms of mirror descent for cuts: the potential, its exponent, its start, and the B of them.

A graph's matrix x has entries in [0, 1]. With M its total weight, V_1 rows, X pairs, N the most
pairs of a query and t the most columns of one, B = 2 (zeta/alpha)^2 Psi for

    norm        start    zeta               Psi: a bound on Delta(x; start)
    l2          M/X      N^(1/2)            M (1 - M/X)/2
    lp          0        N^(1-1/p)          M^(2/p)/(2(p-1))           since x^p <= x
    2,p         0        V_1^(1-1/p) t^1/2  R_p^2/(2(p-1)),  R_p <= R^(2/p-1) M^(1-1/p)
    entropy     M/X      1/2                M^2 ln(X/M)
    schatten    0        N^(1/2)            R_p^2/(2(p-1)):            cuts have rank one

For schatten R_p <= R_*^(2/p-1) M^(1-1/p), where R_* is the nuclear norm, a private number that has
to be bought, and never above (rank M)^(1/2). Of other linear queries, with coefficients in [-1, 1],
zeta of the entropy is 1, and where no query has a singular value above `spectral`, zeta of schatten
is N^(1-1/p) spectral^(2/p-1): Hoelder's inequality between its largest and its Euclidean norm.

For 2,p, R is the sum of the roots of the left degrees, a private number that has to be bought: a
row's Euclidean norm is at most the root of its degree, so ||x||_{2,1} <= R and ||x||_{2,2}^2 <= M,
and Hoelder's inequality lies between. By Cauchy and Schwarz R is never above (V_1 M)^(1/2).

The exponents of least B: for lp, 2,p and schatten it is C e^(-2r/p)/(p-1), with r = ln(N/M),
r = ln(V_1 M/R^2) and r = ln(N M/(spectral R_*)^2), least at p = r - (r^2 - 2r)^(1/2) if r > 2,
else at p = 2. With p = 2 every norm is l2, and starts where l2 does;
so p = 2 is taken, too, where that start makes B less.

Source: JT12, sections 3.2, 4.1 and 4.2; the choice of p is not in it.
"""

import math
from dataclasses import dataclass, replace
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.learn.bounds import (
    CutSizes,
    Size,
    UpdateBound,
    entropy_start,
    frieze_kannan_updates,
    multiplicative_weights_updates,
    squared_start,
)
from graphcuts_dp.learn.potentials import near_one


def step_size(alpha: float, zeta: float, order: float) -> float:
    """The step eta = alpha^(s-1)/zeta^s, which has the largest proven drop.

    Args:
        alpha: least discrepancy of an update, > 0 (T/2 in JT12).
        zeta: dual norm of the query, or the largest one of the class, > 0.
        order: s >= 2.
    """
    return float(alpha ** (order - 1) / zeta**order)


def printed_step_size(alpha: float, zeta: float, order: float) -> float:
    """The eta that JT12, Alg. 2 prints: (s-1)^(s-1)/s^s of `step_size`, with its arguments."""
    return float((order - 1) ** (order - 1) / order**order) * step_size(alpha, zeta, order)


def proven_drop(eta: float, alpha: float, zeta: float, order: float) -> float:
    """Least fall of Delta(x*; x) in a step of eta: eta alpha - ((s-1)/s) (eta zeta)^(s/(s-1))."""
    return float(eta * alpha - (order - 1) / order * (eta * zeta) ** (order / (order - 1)))


def mirror_drop(alpha: float, zeta: float, order: float = 2.0, rule: Rule = "tight") -> float:
    """The drop of the rule's own step: alpha^s/(s zeta^s); as printed 7/16 of it for s = 2."""
    step = printed_step_size if rule == "as printed" else step_size
    return proven_drop(step(alpha, zeta, order), alpha, zeta, order)


NORMS = ("l2", "lp", "2,p", "entropy", "schatten")
AUTO = "auto"
OF_TWO_SIDES = ("2,p", "schatten")
# Vertices a side: a matrix of all pairs, its rows sorted, its singular values.
MOST_VERTICES = {"l2": 8192, "entropy": 8192, "lp": 4096, "2,p": 4096, "schatten": 2048}
_WRITTEN = {"l": "lp", "2,": "2,p", "schatten-": "schatten"}
NORM_HELP = f"{AUTO}, {', '.join(NORMS)}; a number for p, as in 2,1.25, fixes it"


def parse_norm(text: str) -> tuple[str, float | None]:
    """A norm of `NORMS` or "auto", and its exponent where one was given.

    Args:
        text: a name; or "l1.5", "2,1.5", "schatten-1.5" for a given exponent in (1, 2].

    Raises:
        ParameterError: anything else.
    """
    if text in (AUTO, *NORMS):
        return text, 2.0 if text == "l2" else None
    for start, norm in _WRITTEN.items():
        number = text.removeprefix(start) if isinstance(text, str) else ""
        if number and number != text and number.replace(".", "", 1).isdecimal():
            p = float(number)
            if 1 < p <= 2:
                return norm, p
            raise ParameterError(f"the exponent p of a norm must be above 1 and at most 2, not {p}")
    raise ParameterError(f"unknown norm {text!r:.60}; choose one of {NORM_HELP}")


def worth_nuclear(sizes: CutSizes) -> bool:
    """Whether the nuclear norm can make Schatten's the norm of least B, for some graph.

    The exponent of least B is below 2 if N M > e^2 (spectral R)^2, where R, the nuclear norm,
    is at least M^(1/2) for a matrix of 0 and 1.
    """
    return sizes.spectral is not None and math.e * sizes.spectral < math.sqrt(sizes.most)


def norms_of(sizes: CutSizes) -> tuple[str, ...]:
    """Those of `NORMS` that such a graph can have."""
    return tuple(
        norm
        for norm in NORMS
        if (sizes.bipartite or norm not in OF_TWO_SIDES) and max(sizes.shape) <= MOST_VERTICES[norm]
    )


def worth_buying(sizes: CutSizes) -> bool:
    """Whether the sum of root degrees can make 2,p the norm of least B, for some graph.

    With T of more than e^-2 of all right vertices entropy is never worse. R is at least
    M V_2^(-1/2), in full rows: then, with L = ln(X/M), the group norm has
    B alpha^2 = (t/V_2) X^2 e^(-2L/p)/(p-1), entropy X^2 e^(-2L) L/2. If L <= 2 that has its
    minimum at p = 2, where l2 has no more; at L = 2 they meet for t/V_2 = e^-2, and the larger
    L, the smaller is the t/V_2 where they do.
    """
    return sizes.bipartite and sizes.right < math.exp(-2) * sizes.shape[1]


@final
@dataclass(frozen=True, kw_only=True)
class NormTerms:
    """Mirror descent with one norm, but for its tolerance.

    Attributes:
        norm: of `NORMS`.
        p: its exponent; None for entropy.
        zeta: largest dual norm of a query.
        start_potential: bound on Delta(truth; start).
        weight: of every pair, in the start.
        shift: how far answers of the truth that the bound is about, a multiple of the true one with
            the total that is known, may be from the true ones.
        rule: see `Rule`.
    """

    norm: str
    p: float | None
    zeta: float
    start_potential: float
    weight: float
    shift: float
    rule: Rule

    @property
    def shown(self) -> str:
        """As users can type it."""
        if self.norm == "l2" or self.p is None:
            return self.norm
        start = next(start for start, norm in _WRITTEN.items() if norm == self.norm)
        return f"{start}{self.p:.6g}"

    @property
    def boxed(self) -> bool:
        """Whether the truth is sought in [0, 1] alone: where the potential has a projection."""
        return self.p == 2 or self.norm not in ("entropy", "schatten")

    def updates(self, alpha: float) -> float:
        """B(alpha); infinite for a tolerance that the shift does not allow."""
        left = alpha - self.shift
        if not left > 0:
            return math.inf
        return self.start_potential / mirror_drop(left, self.zeta, rule=self.rule)


def terms_of(
    norm: str,
    p: float | None,
    sizes: CutSizes,
    *,
    total_weight: float,
    total_error: float = 0.0,
    roots: float | None = None,
    nuclear: float | None = None,
    rule: Rule = "tight",
) -> NormTerms:
    """The terms of a norm, with the best exponent that is known unless one is given.

    Args:
        norm: of `NORMS`.
        p: the exponent; None for the one of least B, or as printed `near_one` of the number of
            rows (2,p) or pairs.
        sizes: of the graph and its cuts.
        total_weight: M or a noisy value of it, in (0, X].
        total_error: how far the true one may be, >= 0.
        roots: an upper bound of R for 2,p; None for (V_1 M)^(1/2).
        nuclear: an upper bound of the nuclear norm for schatten; None for (rank M)^(1/2).
        rule: see `Rule`.

    Raises:
        ParameterError: a norm of matrices for one vertex set.
    """
    if norm in OF_TWO_SIDES and not sizes.bipartite:
        raise ParameterError(f"norm {norm!r} is for bipartite graphs; use 'l2', 'lp' or 'entropy'")
    most = min(total_weight + total_error, float(sizes.pairs))
    least = max(total_weight - total_error, 0.0)
    density, off = squared_start(sizes.pairs, total_weight, total_error=total_error)
    euclidean = NormTerms(
        norm=norm,
        p=2.0,
        zeta=math.sqrt(sizes.most),
        start_potential=off / 2,
        weight=density,
        shift=0.0,
        rule=rule,
    )
    if norm == "entropy":
        entropy = entropy_start(sizes.pairs, total_weight, total_error=total_error)
        start = total_weight**2 * entropy
        return replace(
            euclidean, p=None, zeta=sizes.span / 2, start_potential=start, shift=total_error
        )
    rows = sizes.shape[0]
    highest = math.sqrt(rows * most)
    lowest = max(math.sqrt(least), least / math.sqrt(sizes.shape[1]))
    bound = highest if roots is None else min(max(roots, lowest, 1e-9), highest)
    if norm == "schatten":
        highest = math.sqrt(min(sizes.shape) * most)
        bound = highest if nuclear is None else min(max(nuclear, 1e-9), highest)
    chosen = p is None and rule == "tight"
    if p is None:
        p = _exponent(norm, sizes, most, bound, rule)
    if p == 2:
        return euclidean
    length = bound ** (2 / p - 1) * most ** (1 - 1 / p)
    if norm == "lp":
        zeta, length = sizes.most ** (1 - 1 / p), most ** (1 / p)
    elif norm == "2,p":
        zeta = rows ** (1 - 1 / p) * math.sqrt(sizes.right)
    else:  # a query's largest singular value is at most its Euclidean norm
        spectral = math.sqrt(sizes.most) if sizes.spectral is None else sizes.spectral
        zeta = sizes.most ** (1 - 1 / p) * spectral ** (2 / p - 1)
    potential = length**2 / (2 * (p - 1))
    found = replace(euclidean, p=p, zeta=zeta, start_potential=potential, weight=0.0)
    # With p = 2 the start is better than at 0.
    return min((found, euclidean), key=lambda terms: terms.updates(1.0)) if chosen else found


def _exponent(norm: str, sizes: CutSizes, most: float, roots: float, rule: Rule) -> float:
    """Of least B; as printed JT12's."""
    rows = sizes.shape[0]
    if rule == "as printed" and norm != "l2":
        return near_one(rows if norm == "2,p" else sizes.pairs)
    if norm == "lp":
        return best_exponent(math.log(sizes.most / most))
    if norm == "2,p":
        return best_exponent(math.log(rows * most) - 2 * math.log(roots))
    if norm == "schatten" and sizes.spectral is not None:
        return best_exponent(math.log(sizes.most * most) - 2 * math.log(sizes.spectral * roots))
    return 2.0  # of cuts, whose dual norm is the same for all p


def best_exponent(r: float) -> float:
    """The p in (1, 2] for which e^(-2r/p)/(p-1) is least.

    The derivative of its logarithm is (2r(p-1) - p^2)/(p^2 (p-1)): negative for all p if r < 2.
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
    nuclear: float | None = None,
) -> UpdateBound:
    """B of mirror descent on simple graphs of m edges, whatever their degrees.

    Args:
        n: the size.
        edges: m, in (0, X].
        rule: see `Rule`.
        disjoint: whether all queries have disjoint S and T.
        norm: see `parse_norm`; "auto" is the least of all, for each alpha.
        sizes: of the queries; None for those of all cuts.
        nuclear: a guess of the nuclear norm, for schatten.

    Raises:
        ParameterError: a norm that such a graph cannot have.
    """
    sizes = sizes or CutSizes.of(n, disjoint=disjoint)
    name, p = parse_norm(norm)
    names = norms_of(sizes) if name == AUTO else (name,)
    if not names:
        raise ParameterError(f"mirror descent is for up to {max(MOST_VERTICES.values())} vertices")

    def updates(norm: str) -> UpdateBound:
        """Where it is another construction's formula, to the last digit: ties must be ties."""
        terms = terms_of(norm, p, sizes, total_weight=edges, nuclear=nuclear, rule=rule)
        if rule == "tight" and terms.norm == "entropy" and sizes.span == 1:
            return multiplicative_weights_updates(n, edges)
        if rule == "tight" and terms.p == 2 and sizes.right == sizes.shape[1]:
            return frieze_kannan_updates(n, edges, disjoint=sizes.most < sizes.pairs)
        return terms.updates

    bounds = [updates(each) for each in names]
    return lambda alpha: min(bound(alpha) for bound in bounds)
