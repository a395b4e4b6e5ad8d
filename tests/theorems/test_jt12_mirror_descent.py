"""JT12, section 3.2 and 4: the potentials' inequalities, the bound B, and where the paper errs.

Every inequality is computed with its stated constant; the slack is rounding.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp.errors import HypothesisError
from graphcuts_dp.learn.norms import printed_step_size, proven_drop, step_size
from graphcuts_dp.learn.potentials import (
    Ball,
    Box,
    Entropy,
    GroupNorm,
    LpNorm,
    SchattenNorm,
    bregman,
)
from graphcuts_dp.learn.rules import MirrorDescentRule, minimal_start
from graphcuts_dp.pairs.universe import Universe
from scripts.figures.bounds import printed_update_bound
from scripts.figures.update_sequence import UpdateSequence, potential


@dataclass(frozen=True)
class FourthPower:
    """(3/4) sum x^4: Delta(x; y) = (3/4) h^2 (6y^2 + 4yh + h^2) >= h^4/4, so the order is 4."""

    order: float = 4.0
    needs_matrix: bool = False

    def value(self, x):
        return 0.75 * float((x**4).sum())

    def norm(self, x):
        return float((x**4).sum()) ** 0.25

    def dual_norm(self, f):
        return float((np.abs(f) ** (4 / 3)).sum()) ** 0.75

    def to_dual(self, x):
        return 3 * x**3

    def minimise(self, theta, domain=None):
        x = np.cbrt(theta / 3)
        return x if domain is None else np.clip(x, domain.low, domain.high)


NORMS = {
    "l_2": LpNorm(2.0),
    "l_1.5": LpNorm(1.5),
    "l_1.1": LpNorm(1.1),
    "group 1.2": GroupNorm(1.2),
    "group 1.7": GroupNorm(1.7),
    "group 2": GroupNorm(2.0),
    "schatten 1.2": SchattenNorm(1.2),
    "schatten 1.6": SchattenNorm(1.6),
}
POTENTIALS = {**NORMS, "entropy": Entropy(6.0), "fourth power": FourthPower()}
BOXED = [name for name in POTENTIALS if not name.startswith("schatten")]


def point(psi, rng, shape=(5, 4)):
    """A random point of the domain, with entries of very different sizes."""
    x = rng.normal(size=shape) * np.exp(2 * rng.normal(size=shape))
    if not isinstance(psi, Entropy):
        return x
    x = np.abs(x)
    return x * (psi.total / x.sum())


seeds = st.integers(0, 10**6)
names = st.sampled_from(sorted(POTENTIALS))
quick = settings(max_examples=60, deadline=None)


def descent(universe, psi, *, alpha=0.5, zeta=1.0, domain=None, truth=None, **more):
    """The rule from its minimal start, whose potential there is the truth's own or a given one."""
    start = minimal_start(universe, psi, domain)
    if truth is not None:
        more["start_potential"] = bregman(psi, truth, start.matrix)
    return MirrorDescentRule(start=start, psi=psi, alpha=alpha, zeta=zeta, domain=domain, **more)


def attack(sequence, queries, value_of=None):
    """Ask the worst query until none is off by alpha: how much each update lowers the potential.

    A value that is given to an update is `value_of` its true answer.
    """
    rule, truth, drops = sequence.construction, sequence.truth, []
    answers = sequence.hypothesis.universe.answers(queries, truth)
    while True:
        gaps = answers - sequence.hypothesis.estimate_all(queries)
        worst = int(np.argmax(np.abs(gaps)))
        if abs(gaps[worst]) < rule.alpha:
            return np.array(drops)
        before = potential(rule, sequence.hypothesis, truth)
        sequence.update(queries[worst], value=value_of and value_of(answers[worst]))
        drops.append(before - potential(rule, sequence.hypothesis, truth))


def random_cuts(shape, count, rng):
    """None without pairs."""
    sides = [[rng.random(side) < 0.5 for side in shape] for _ in range(count)]
    return [gc.CutQuery(S, T) for S, T in sides if S.any() and T.any()]


# Potentials


@quick
@given(seeds, names)
def test_dual_maps_are_inverse_to_each_other(seed, name):
    psi, rng = POTENTIALS[name], np.random.default_rng(seed)
    x = point(psi, rng)
    assert psi.minimise(psi.to_dual(x)) == pytest.approx(x, rel=1e-9, abs=1e-10 * psi.norm(x))
    theta = rng.normal(size=x.shape)
    back = psi.to_dual(psi.minimise(theta))
    if name == "entropy":  # the simplex fixes theta up to a constant
        back = back - back.mean() + theta.mean()
    assert back == pytest.approx(theta, rel=1e-8, abs=1e-9 + _lost_on_the_way(psi, theta))


def _lost_on_the_way(psi, theta):
    """Schatten norms raise singular values to the power 1/(p-1) and write them into a matrix: the
    smallest gets an error of eps times the largest there, and that over its slope back here."""
    if not isinstance(psi, SchattenNorm):
        return 0.0
    values, power = np.linalg.svd(theta, compute_uv=False), 1 / (psi.p - 1)
    return 20 * np.finfo(float).eps * values[0] ** power / values[-1] ** (power - 1)


@quick
@given(seeds, names)
def test_bregman_divergence_has_the_stated_order_and_constant(seed, name):
    """Delta(x; y) >= ||x - y||^s/s: strong convexity for the norms, Pinsker for the entropy."""
    psi, rng = POTENTIALS[name], np.random.default_rng(seed)
    x, y = point(psi, rng), point(psi, rng)
    if seed % 3 == 0:  # near points, where the constant matters
        y = x * (1 + 0.01 * rng.random(x.shape))
        y *= x.sum() / y.sum() if name == "entropy" else 1
    found, least = bregman(psi, x, y), psi.norm(x - y) ** psi.order / psi.order
    scale = abs(psi.value(x)) + abs(psi.value(y))
    assert found >= least * (1 - 1e-9) - 1e-13 * scale
    assert found >= -1e-13 * scale
    assert bregman(psi, x, x) == pytest.approx(0, abs=1e-12 * (1 + scale))


@quick
@given(seeds, st.sampled_from(sorted(NORMS)), st.floats(0.01, 0.99))
def test_definition_3_holds_for_the_norms(seed, name, a):
    psi, rng = NORMS[name], np.random.default_rng(seed)
    x, y = point(psi, rng), point(psi, rng)
    mixed = a * psi.value(x) + (1 - a) * psi.value(y) - a * (1 - a) / 2 * psi.norm(x - y) ** 2
    assert psi.value(a * x + (1 - a) * y) <= mixed * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("p", [1.05, 1.3, 1.8, 2.0])
def test_erratum_jt12_the_potential_is_twice_what_definition_3_needs(p):
    """1/(2(p-1)) is sharp: at (1, 1) in direction (1, -1) Delta is ||h||^2/2 to the first order."""
    x, h = np.array([[1.0], [1.0]]), 1e-4 * np.array([[1.0], [-1.0]])
    for psi in (LpNorm(p), GroupNorm(p)):
        assert bregman(psi, x + h, x) == pytest.approx(psi.norm(h) ** 2 / 2, rel=1e-3)
    diagonal, turned = np.diag(x[:, 0]), np.diag(h[:, 0])
    psi = SchattenNorm(p)
    half = psi.norm(turned) ** 2 / 2
    assert bregman(psi, diagonal + turned, diagonal) == pytest.approx(half, rel=1e-3)


@quick
@given(seeds, names)
def test_hoelder_holds_and_is_attained(seed, name):
    psi, rng = POTENTIALS[name], np.random.default_rng(seed)
    f = rng.normal(size=(5, 4))
    u = point(psi, rng) - point(psi, rng)
    assert np.vdot(f, u) <= psi.dual_norm(f) * psi.norm(u) * (1 + 1e-9)
    if name == "entropy":
        best = np.zeros_like(f)
        best.flat[[f.argmax(), f.argmin()]] = 1, -1
    elif name == "fourth power":
        best = np.cbrt(f)
    else:
        best = psi.minimise(f)
    assert np.vdot(f, best) == pytest.approx(psi.dual_norm(f) * psi.norm(best), rel=1e-9)


@quick
@given(seeds, st.sampled_from(sorted(BOXED)), st.sampled_from([(0, 1), (-0.4, 0.8), (-2, 0)]))
def test_projection_on_the_box_is_the_bregman_projection(seed, name, bounds):
    """<grad Psi(z) - theta, y - z> >= 0 for every y of the box."""
    psi, rng = POTENTIALS[name], np.random.default_rng(seed)
    box = Box(*bounds)
    if name == "entropy":
        psi, box = Entropy(3.0), Box(0, 0.4)
    theta = 2 * rng.normal(size=(5, 4)) * psi.norm(point(psi, rng))
    z = psi.minimise(theta, box)
    assert (z >= box.low).all()
    assert (z <= box.high).all()
    slope = psi.to_dual(z) - theta
    for _ in range(20):
        y = rng.uniform(box.low, box.high, size=z.shape)
        if name == "entropy":  # any other point with the same total
            assert z.sum() == pytest.approx(3.0)
            y = Entropy(3.0).minimise(rng.normal(size=z.shape) * 3, box)
        assert np.vdot(slope, y - z) >= -1e-9 * (1 + np.abs(theta).max())


@quick
@given(seeds, st.sampled_from(sorted(NORMS)), st.floats(0.05, 3))
def test_projection_on_the_ball_is_a_radial_scaling(seed, name, part):
    psi, rng = NORMS[name], np.random.default_rng(seed)
    y = point(psi, rng)
    ball = Ball(part * psi.norm(y))
    z = psi.minimise(psi.to_dual(y), ball)
    assert z == pytest.approx(y * min(1, part), rel=1e-8, abs=1e-9 * psi.norm(y))
    slope = psi.to_dual(z) - psi.to_dual(y)
    for _ in range(20):
        other = point(psi, rng)
        other *= ball.radius * rng.random() / psi.norm(other)
        assert np.vdot(slope, other - z) >= -1e-8 * psi.norm(y) * ball.radius
        # Pythagoras: nothing in the ball gets farther away.
        if part < 1:
            assert bregman(psi, other, z) <= bregman(psi, other, y) * (1 + 1e-9) + 1e-9


# The bound


CASES = [
    ("l_2", None),
    ("l_2", Box()),
    ("l_1.5", None),
    ("l_1.1", Box()),
    ("group 1.2", None),
    ("group 1.2", Box()),
    ("group 1.7", Ball(8.0)),
    ("schatten 1.2", None),
    ("schatten 1.6", Ball(6.0)),
    ("entropy", None),
    ("entropy", Box()),
    ("fourth power", Box()),
]


@pytest.mark.parametrize("rule", ["tight", "as printed"])
@pytest.mark.parametrize(("name", "domain"), CASES)
def test_every_update_lowers_the_potential_as_proven_and_b_holds(name, domain, rule):
    shape, alpha = (7, 6), 5.0 if name == "fourth power" else 2.5
    for seed in range(2):
        rng = np.random.default_rng(seed)
        truth = (rng.random(shape) < 0.35).astype(float)
        truth[0] = 1
        psi = Entropy(truth.sum()) if name == "entropy" else POTENTIALS[name]
        assert not isinstance(domain, Ball) or psi.norm(truth) <= domain.radius
        universe, queries = Universe(*shape), random_cuts(shape, 60, rng)
        zeta = max(psi.dual_norm(universe.coefficients(query)) for query in queries)
        made = descent(universe, psi, alpha=alpha, zeta=zeta, domain=domain, truth=truth, rule=rule)
        drops = attack(UpdateSequence(made, truth), queries)
        assert (drops >= made.least_drop(alpha) * (1 - 1e-9)).all()
        assert 0 < len(drops) <= made.update_bound(alpha)


@quick
@given(seeds, names, st.floats(0.1, 5))
def test_the_drop_of_one_step_from_anywhere(seed, name, alpha):
    """From any point, for any query that is off by alpha or more: not only on a run's path."""
    psi, rng = POTENTIALS[name], np.random.default_rng(seed)
    shape = (5, 4)
    if name == "entropy":
        truth, x = (psi.minimise(2 * rng.normal(size=shape) * psi.total) for _ in range(2))
    else:
        truth, x = rng.random(shape), rng.normal(size=shape)
    f = rng.normal(size=shape)
    gap = np.vdot(f, truth - x)
    alpha = min(alpha, abs(gap))
    zeta = psi.dual_norm(f)
    for eta in (step_size(alpha, zeta, psi.order), printed_step_size(alpha, zeta, psi.order)):
        moved = psi.minimise(psi.to_dual(x) + eta * np.sign(gap) * f)
        drop = bregman(psi, truth, x) - bregman(psi, truth, moved)
        least = proven_drop(eta, alpha, zeta, psi.order)
        assert least >= 0
        assert drop >= least * (1 - 1e-7) - 1e-10 * (1 + abs(psi.value(truth)))


def test_the_tight_step_maximises_the_proven_drop():
    for order in (2.0, 3.0, 4.5):
        eta = step_size(1.7, 2.3, order)
        best = proven_drop(eta, 1.7, 2.3, order)
        assert best == pytest.approx(1.7**order / (order * 2.3**order), rel=1e-12)
        for factor in (0.25, 0.9, 1.1, 3.0):
            assert proven_drop(factor * eta, 1.7, 2.3, order) < best


def test_values_make_longer_steps_and_fewer_updates():
    """A value within value_error makes a step that is still never too long."""
    shape, off, counts = (9, 8), 0.5, []
    for given_value in (False, True):
        rng = np.random.default_rng(8)
        truth = (rng.random(shape) < 0.5).astype(float)
        queries, psi = random_cuts(shape, 80, rng), LpNorm(1.5)
        zeta = max(psi.dual_norm(np.outer(query.S, query.T)) for query in queries)
        made = descent(
            Universe(*shape), psi, alpha=2, zeta=zeta, domain=Box(), truth=truth, value_error=off
        )
        value_of = (lambda true, rng=rng: true + rng.uniform(-off, off)) if given_value else None
        drops = attack(UpdateSequence(made, truth), queries, value_of)
        assert (drops >= made.least_drop(2.0) * (1 - 1e-9)).all()
        counts.append(len(drops))
    assert 0 < counts[1] < counts[0]


# Errata


ONE = gc.CutQuery([0], [0])


def one_dimensional(rule, start_potential=0.5):
    """One pair, the truth 1, the query asked again and again: alpha = 1/2, so R zeta/alpha = 2."""
    made = descent(Universe(1, 1), LpNorm(), start_potential=start_potential, rule=rule)
    return UpdateSequence(made, [[1.0]])


def test_erratum_jt12_the_printed_step_exceeds_the_printed_bound():
    """Steps of 1/8 from 0 to 1 while off by 1/2 or more: five updates, and B = 4."""
    sequence = one_dimensional("as printed")
    printed = printed_update_bound(0.5, 1.0, 2.0, start_potential=0.5)
    assert printed == pytest.approx(4)
    sequence.exhaust([ONE])
    assert sequence.count == 5 > printed
    assert sequence.hypothesis.matrix[0, 0] == 5 / 8
    # The bound that the printed step does have holds.
    assert sequence.construction.update_bound(0.5) == pytest.approx(4 * 16 / 7)
    repaired = one_dimensional("tight")
    repaired.exhaust([ONE])
    assert repaired.count == 2 <= repaired.construction.update_bound(0.5) == pytest.approx(4)


def test_erratum_jt12_the_printed_bound_is_exceeded_by_a_third_in_any_dimension():
    """d pairs with truth 3/4, alpha = 1/2: three updates for each, and B = 2.25 d."""
    universe, truth = Universe(6, 6), np.full((6, 6), 0.75)
    made = descent(universe, LpNorm(), truth=truth, rule="as printed")
    sequence = UpdateSequence(made, truth)
    sequence.exhaust([gc.CutQuery([i], [j]) for i in range(6) for j in range(6)])
    printed = printed_update_bound(0.5, 1.0, 2.0, made.start_potential)
    assert sequence.count == pytest.approx(printed * 4 / 3)
    assert sequence.count <= made.update_bound(0.5)


@pytest.mark.parametrize("order", [2.0, 3.0, 4.0, 6.0])
def test_erratum_jt12_the_printed_step_proves_a_larger_bound_than_printed(order):
    """Psi/drop with the printed step, against the printed B, T = 2 alpha = 1, zeta = 1."""
    proven = 1 / proven_drop(printed_step_size(0.5, 1, order), 0.5, 1, order)
    assert proven > 1.9 * printed_update_bound(0.5, 1, order, 1)
    if order == 2:
        assert proven == pytest.approx(18.3, abs=0.02)
        assert printed_update_bound(0.5, 1, order, 1) == pytest.approx(8)
    # The tight step proves the printed B, and a smaller one for s > 2.
    tight = 1 / proven_drop(step_size(0.5, 1, order), 0.5, 1, order)
    assert tight == pytest.approx(order * 2**order)
    assert tight <= printed_update_bound(0.5, 1, order, 1) * (1 + 1e-12)


def test_the_bound_of_order_four():
    """Psi = (3/4) x^4 on one pair: Theorem 3's general s, drop by drop."""
    made = descent(Universe(1, 1), FourthPower(), alpha=0.25, truth=np.ones((1, 1)))
    drops = attack(UpdateSequence(made, [[1.0]]), [ONE])
    assert (drops >= made.least_drop(0.25) * (1 - 1e-12)).all()
    assert 0 < len(drops) <= made.update_bound(0.25)


def test_erratum_jt12_equation_1_has_the_wrong_sign():
    """l(x) = |f(x*) - f(x)| has the subgradient -sgn(d) f; equation (1) walks up along it."""
    psi, x, truth = LpNorm(1.5), np.zeros((2, 2)), np.ones((2, 2))
    f = np.array([[1.0, 1.0], [0.0, 0.0]])
    gap = np.vdot(f, truth - x)
    gradient = -np.sign(gap) * f
    eta = step_size(gap, psi.dual_norm(f), 2)
    printed = psi.minimise(psi.to_dual(x) + eta * gradient)  # argmin Delta - eta <gradient, x>
    right = psi.minimise(psi.to_dual(x) - eta * gradient)
    assert abs(np.vdot(f, truth - printed)) > gap > abs(np.vdot(f, truth - right))
    assert bregman(psi, truth, printed) > bregman(psi, truth, x) > bregman(psi, truth, right)


def test_erratum_jt12_the_set_c_of_step_1_tells_the_private_norm():
    """Neighbouring graphs, the same public updates: C = {||x|| <= ||x*||} makes them differ."""
    universe, psi, truth = Universe(3, 3), LpNorm(1.5), np.eye(3)
    neighbour = truth + np.eye(3, k=1) * [[1], [0], [0]]

    def after_updates(domain):
        zeta = psi.dual_norm(np.ones((3, 3)))
        rule = descent(universe, psi, alpha=4.0, zeta=zeta, start_potential=100.0, domain=domain)
        hypothesis = rule.initial()
        for _ in range(3):
            hypothesis = rule.update(hypothesis, gc.CutQuery([0, 1, 2], [0, 1, 2]), 1)
        return hypothesis.to_bytes()

    leaked = {after_updates(Ball(psi.norm(data))) for data in (truth, neighbour)}
    assert len(leaked) == 2
    assert len({after_updates(Box()) for _ in (truth, neighbour)}) == 1


def test_the_bound_needs_true_premises():
    """With a start_potential that is too small, the sequence runs past B and is stopped."""
    sequence = one_dimensional("as printed", start_potential=0.125)
    with pytest.raises(HypothesisError, match="more than B"):
        sequence.exhaust([ONE])
    assert sequence.count == 2
