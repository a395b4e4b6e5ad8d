"""Single steps of HR12 computed from the paper's text alone: claims, errata and rates."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

GRID = np.linspace(0, 1, 2001)


# Sections 1 and 3


def test_section_1_1_in_l_dimensions_tangents_fail_at_every_corner_of_the_cube():
    """On |x|^2/(2 sqrt(l)), which is convex and 1-Lipschitz there: 2^l - 1 mistakes."""
    for size in (2, 4, 8):
        corners = np.array(list(itertools.product((0.0, 1.0), repeat=size)))
        values = (corners**2).sum(axis=1) / (2 * math.sqrt(size))
        slopes = corners / math.sqrt(size)
        assert np.linalg.norm(slopes, axis=1).max() <= 1 + 1e-12
        mistakes, alpha = 0, 0.49 / math.sqrt(size)
        found = np.zeros(len(corners))
        for at in np.argsort(values)[1:]:  # at the origin the first hypothesis, 0, is right
            mistakes += values[at] - found[at] > alpha
            found = np.maximum(found, values[at] + (corners - corners[at]) @ slopes[at])
        assert mistakes == 2**size - 1


def test_footnote_2_a_grid_of_n_to_the_l_points_has_an_error_of_l_over_2_n():
    n, size = 40, 3
    rng = np.random.default_rng(0)
    people, queries = rng.uniform(size=(n, size)), rng.uniform(size=(200, size))
    rounded = np.round(people * n) / n
    answers = [
        np.abs(queries[:, None] - each).sum(axis=2).mean(axis=1) for each in (people, rounded)
    ]
    error = np.abs(answers[0] - answers[1]).max()
    assert 0 < error <= size / (2 * n)


def test_erratum_section_3_1_the_average_distance_is_1_lipschitz():
    """All n people at 0: the average distance of y is |y|_1, whatever n is."""
    for n in (2, 10, 1000):
        people = np.zeros((n, 3))
        average = [
            np.abs(people - y).sum(axis=1).mean() for y in ([0.2, 0.5, 0.1], [0.9, 0.5, 0.1])
        ]
        assert average[1] - average[0] == pytest.approx(0.7)
        assert average[1] - average[0] > 0.7 / n


def test_erratum_section_3_2_without_convexity_mistakes_never_end():
    """A tangent of min(x, 1 - x) lies above it; the largest of the lines never comes down."""
    lines = [(0.0, 0.0), (1.0, 0.0)]  # slopes and values at 0: the first one, the tangent at 1/4
    for _ in range(100):
        hypothesis = max(slope * 1.0 + at_0 for slope, at_0 in lines)
        assert hypothesis - 0.0 == 1  # a mistake at 1, where the function is 0
        lines.append((-1.0, 1.0))  # its tangent there


def test_erratum_section_3_2_update_points_may_be_nearer_than_alpha():
    """1/2 + |x - 1/2| with its left slope at 1/2: the line is off by 2h at 1/2 + h."""
    alpha, step = 0.1, 0.06
    assert (0.5 + step) - (0.5 - step) > alpha > step
    # No tangent of a convex 1-Lipschitz function is off by more than 2h: they are alpha/2 apart.
    rng = np.random.default_rng(1)
    for _ in range(20):
        places = rng.uniform(size=rng.integers(1, 9))
        values = np.abs(GRID[:, None] - places).mean(axis=1)
        slopes = np.sign(GRID[:, None] - places).mean(axis=1)
        for at in range(0, len(GRID), 100):
            off = values - values[at] - slopes[at] * (GRID - GRID[at])
            assert (off <= 2 * np.abs(GRID - GRID[at]) + 1e-12).all()


def test_erratum_section_3_2_the_tangent_is_subtracted_as_a_whole():
    """G(x) = x is its own tangent at 0, and G(x) - G(0) + G'(0) (x - 0) is 2x."""
    alpha, x = 0.2, 1.0
    assert x - (0 + 1 * (x - 0)) == 0 <= alpha / 2
    assert x - 0 + 1 * (x - 0) > alpha / 2
    for value, slope in itertools.product((-alpha / 4, 0, alpha / 4), repeat=2):
        assert abs(value + slope * (x - 0)) <= alpha / 2 + 1e-12  # what noise adds to a tangent


def test_erratum_section_3_3_the_pure_error_does_not_depend_on_delta():
    """alpha/l = l^(5/2) alpha^(-1/2) L/(n epsilon), solved with all constants 1."""
    size, n, log_k = 4.0, 1e6, 3.0

    def excess(alpha):
        return alpha / size - size**2.5 / math.sqrt(alpha) * log_k / n

    solved = brentq(excess, 1e-9, 1e9)
    assert solved == pytest.approx(size ** (7 / 3) * (log_k / n) ** (2 / 3))
    for delta in (0.1, 1e-6):
        assert excess(solved * math.log(4 / delta) ** (2 / 3)) > 0.5 * solved / size


def test_section_3_3_the_nearest_grid_point_must_be_within_half_a_step():
    """1-Lipschitz functions within 1 at all grid points; both move in between. Unit: alpha'/l."""
    x = np.linspace(0, 12, 2401)
    for spacing, most in ((2, 3), (1, 2)):
        away = np.abs(x / spacing - np.round(x / spacing)) * spacing
        truth, found = 0.5 + away, -0.5 - away
        assert np.abs(np.diff(truth)).max() <= x[1] + 1e-12
        assert (truth - found)[away < 1e-12] == pytest.approx(1)
        assert away.max() == pytest.approx(spacing / 2)  # d(y, T), which the proof has as 1
        assert (truth - found).max() == pytest.approx(most)


# Section 4


def test_erratum_theorem_7_the_image_may_have_diameter_2():
    """Definition 5 has pairs with a query only; answers are 1/n-sensitive all the same."""
    image = {
        "query": np.array([0.0, 0.0]),
        "first": np.array([1.0, 0.0]),
        "second": np.array([0, 1.0]),
    }
    from_query = [np.abs(image[x] - image["query"]).sum() for x in ("first", "second")]
    assert from_query == [1, 1]  # all three are at distance 1 of each other: expansion 1
    assert np.abs(image["first"] - image["second"]).sum() == 2
    assert abs(from_query[0] - from_query[1]) <= 1


@pytest.mark.parametrize(
    ("of_n", "of_l", "then_n", "then_l"),
    [(4 / 5, 9 / 5, 4 / 23, 9 / 23), (2 / 3, 7 / 3, 2 / 17, 7 / 17)],
)
def test_theorem_10_has_the_powers_of_remark_7_1(of_n, of_l, then_n, then_l):
    def error(n, size):
        return brentq(lambda a: a - (size / a**2) ** of_l / n**of_n, 1e-12, 1e12)

    assert math.log10(error(1e6, 5) / error(1e7, 5)) == pytest.approx(then_n)
    assert math.log2(error(1e6, 10) / error(1e6, 5)) == pytest.approx(then_l)


def test_erratum_figure_3_levels_from_0_stretch_distances():
    """If every set is {y}, each level adds K d(x, y)/(K log k); from 0 to log k: too many."""
    for k in (2, 4, 1024):
        levels = int(math.log2(k))
        assert sum(1 / levels for _ in range(1, levels + 1)) == pytest.approx(1)
        assert sum(1 / levels for _ in range(levels + 1)) == pytest.approx(1 + 1 / levels)
        # A set is empty with a positive probability, and has no distance then.
        assert (1 - 2.0 ** -(levels - 1)) ** k > 0 or levels == 1


def test_the_chance_of_lemma_12_is_at_least_what_it_says():
    """K/32 of the K sets do, each with a chance of (1 - e^(-1/2))/4; >= is due where < stands."""
    chance = (1 - math.exp(-1 / 2)) / 4
    for k, n in ((2, 2), (16, 16), (4, 1000)):
        count = 512 * (math.log2(k) + math.log2(n))
        assert 1 - 2 ** (-count / 64) >= 1 - 1 / (n**2 * k * math.log2(k))
        assert 2 ** (-count / 64) < 1 / (n**2 * k * math.log2(k))
        failure = binom.logcdf(math.ceil(count / 32) - 1, math.ceil(count), chance)
        assert failure < -count / 64 * math.log(2)


def radii(distances, levels):
    """r_1, r_2, ...: the least radius with 2^(i-1) query points, infinite if there are fewer."""
    ordered = np.sort(distances)
    sizes = [2**i for i in range(levels)]
    return np.array([ordered[size - 1] if size <= len(ordered) else math.inf for size in sizes])


def last_level(x, query, queries, *, printed):
    """i', the radius that r*_i' is set to, and the point whose radius it was."""
    levels = math.ceil(math.log2(len(queries))) + 1
    both = [radii(np.abs(queries - at).sum(axis=1), levels) for at in (x, query)]
    largest = np.maximum(*both)
    apart = np.abs(x - query).sum()
    sums = largest + np.concatenate([[0], largest[:-1]])
    last = np.flatnonzero(sums <= apart)[-1] if printed else np.flatnonzero(sums >= apart)[0]
    before = largest[last - 1] if last else 0.0
    return int(last) + 1, apart - before, x if both[0][last] >= both[1][last] else query


def broken(x, query, queries, *, printed):
    """Whether an open ball has 2^(i' - 1) query points, where Lemma 12 needs fewer."""
    level, radius, at = last_level(x, query, queries, printed=printed)
    return (np.abs(queries - at).sum(axis=1) < radius - 1e-12).sum() >= 2 ** (level - 1)


def test_erratum_theorem_11_the_last_level_is_the_least_with_a_sum_of_at_least_the_distance():
    rng = np.random.default_rng(3)
    cases = []
    for _ in range(200):
        queries = rng.uniform(size=(rng.integers(2, 20), 2))
        x = rng.uniform(size=2)
        cases.append((x, queries[0], queries))
    assert sum(broken(*case, printed=True) for case in cases) > 100
    assert not any(broken(*case, printed=False) for case in cases)
    assert max(last_level(*case, printed=False)[0] for case in cases) == 5  # log2 k < 5 for all k


def test_erratum_lemma_13_is_about_the_radius_that_is_not_redefined():
    """Query points y and z, with d(x, z) = .4 and all else 1: i' = 1 is set to d(x, y) = 1."""
    x_to, y_to = np.array([1.0, 0.4]), np.array([0.0, 1.0])
    largest = np.maximum(radii(x_to, 2), radii(y_to, 2))
    assert largest.tolist() == [0.4, 1]
    assert largest[0] <= 1 < largest.sum()  # i' = 1, and then r*_1 = 1 - 0
    level = abs(x_to.min() - y_to.min())  # K sets of both points, over K log k = K
    assert level == largest[0] != 1.0


def test_erratum_theorem_15_lacks_one_over_n_in_its_pure_part():
    """Exact answers break the printed lower bound, also with a contraction of 64 log k."""
    n, k, alpha = 10_000, 4, 0.1
    distances = np.random.default_rng(2).uniform(0.2, 1, n)
    answer = distances.mean()
    assert answer / (64 * math.log2(k)) - alpha <= answer
    assert distances.sum() / (64 * math.log2(k)) - alpha > answer


# Section 5


def test_erratum_section_5_conjunctions_are_among_convex_lipschitz_queries():
    """sqrt(|S|) times max(0, 1 - |S| + sum of x over S)/sqrt(|S|) is the conjunction on bits."""
    size = 4
    bits = np.array(list(itertools.product((0.0, 1.0), repeat=size)))
    rng = np.random.default_rng(4)
    points = rng.uniform(size=(300, size))
    for chosen in itertools.product((False, True), repeat=size):
        where = np.flatnonzero(chosen)
        if not len(where):
            continue

        def predicate(x, where=where):
            least = 1 - len(where) + x[..., where].sum(axis=-1)
            return np.maximum(0, least) / math.sqrt(len(where))

        conjunction = bits[:, where].all(axis=1)
        assert np.allclose(math.sqrt(len(where)) * predicate(bits), conjunction)
        steps = np.abs(predicate(points[1:]) - predicate(points[:-1]))
        assert (steps <= np.linalg.norm(points[1:] - points[:-1], axis=1) + 1e-12).all()
        middle = predicate((points[1:] + points[:-1]) / 2)
        assert (middle <= (predicate(points[1:]) + predicate(points[:-1])) / 2 + 1e-12).all()
        assert predicate(points).max() <= 1
