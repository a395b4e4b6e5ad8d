"""The best linear unbiased combination, against generalised least squares pair by pair."""

import itertools

import numpy as np
import pytest

from graphcuts_dp.estimate.least_squares import best_combination, cut_types
from graphcuts_dp.pairs.universe import Layout

N = 7
LAYOUTS = {
    "plain": Layout((N, N), symmetric=True),
    "two sides": Layout((4, 5), symmetric=False),
    "directed": Layout((N, N), symmetric=False, directed=True),
}


def pairs_of(layout):
    rows, columns = layout.shape
    if layout.symmetric:
        return list(itertools.combinations(range(rows), 2))
    every = itertools.product(range(rows), range(columns))
    return [(i, rows + j) for i, j in every if i != j or not layout.hollow]


def sets(rng, layout):
    return rng.random(layout.shape[0]) < 0.5, rng.random(layout.shape[1]) < 0.5


def joined(pair, S, T, layout):
    i, j = pair
    if not layout.symmetric:
        return bool(S[i] and T[j - len(S)])
    return bool((S[i] and T[j]) or (S[j] and T[i]))


def by_pairs(types, values, cells, layout):
    """The value of each pair's type."""
    cell = cells[0] if layout.symmetric else np.concatenate(cells)
    place = {tuple(sorted(ends)): t for t, ends in enumerate(zip(types.first, types.second))}  # noqa: B905
    return np.array([values[place[tuple(sorted((cell[i], cell[j])))]] for i, j in pairs_of(layout)])


def combined(types, query, *, entry, degrees=(), sums=()):
    """`best_combination` of all degrees, so many times measured, and of sums over blocks."""
    patterns = [types.ends] * len(degrees) + [pattern[:, None] for pattern, _ in sums]
    variances = [variance * types.sizes for variance in degrees] + [[own] for _, own in sums]
    return best_combination(
        types.counts,
        query,
        np.hstack([np.empty((len(query), 0)), *patterns]),
        np.concatenate([[], *variances]),
        entry=entry,
    )


CLASSES = np.array([0, 0, 1, 1, 1, 2, 2]), np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0, 0])


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize(
    ("degrees", "with_total", "with_blocks"),
    [((), False, False), ((), True, False), ((3.0,), False, False), ((3.0,), True, False),
     ((40.0, 0.5), True, False), ((2.0,), True, True), ((1e-9,), True, True),
     ((1e9,), False, True)],
)  # fmt: skip
def test_it_is_generalised_least_squares(kind, degrees, with_total, with_blocks):
    """Best weights of all observations, from their whole covariance, for random cuts."""
    rng = np.random.default_rng(5)
    layout = LAYOUTS[kind]
    pairs = pairs_of(layout)
    vertices = N if layout.symmetric else sum(layout.shape)
    entry, total, block = 1.7, 12.0, 5.0
    ends = np.array([[v in pair for pair in pairs] for v in range(vertices)], dtype=float)
    for _ in range(12):
        S, T = sets(rng, layout)
        both = (CLASSES[0], CLASSES[0]) if layout.hollow else CLASSES[1:]
        label = both[0] if layout.symmetric else np.concatenate([both[0], 3 + both[1]])
        types, query, cells = cut_types(S, T, layout, classes=both if with_blocks else None)
        wanted = np.array([joined(pair, S, T, layout) for pair in pairs], dtype=float)
        assert np.array_equal(by_pairs(types, query, cells, layout), wanted)
        assert types.counts.sum() == len(pairs)
        assert types.sizes.sum() == vertices
        rows, variances, sums = [np.eye(len(pairs))], [np.full(len(pairs), entry)], []
        for variance in degrees:
            rows.append(ends)
            variances.append(np.full(vertices, variance))
        if with_total:
            sums.append((np.ones(len(types.counts)), total))
            rows.append(np.ones((1, len(pairs))))
            variances.append([total])
        if with_blocks:
            cell = cells[0] if layout.symmetric else np.concatenate(cells)
            for a, b in ((0, 1), (1, 1)) if layout.symmetric else ((0, 3), (1, 4)):
                inside = [{label[i], label[j]} == {a, b} for i, j in pairs]
                kind = [label[np.flatnonzero(cell == c)[0]] for c in range(len(types.sizes))]
                pattern = np.array(
                    [{kind[f], kind[s]} == {a, b} for f, s in zip(types.first, types.second)]  # noqa: B905
                )
                sums.append((pattern.astype(float), block))
                rows.append(np.array([inside], dtype=float))
                variances.append([block])
        design, spread = np.vstack(rows), np.concatenate(variances)
        information = design.T @ (design / spread[:, None])
        best = design / spread[:, None] @ np.linalg.solve(information, wanted)  # Gauss and Markov
        entries, ks = combined(types, query, entry=entry, degrees=degrees, sums=sums)
        split = len(degrees) * len(types.sizes)
        of_degrees = ks[:split].reshape(len(degrees), len(types.sizes))
        mine = np.concatenate(
            [by_pairs(types, entries, cells, layout),
             *(k[cells[0] if layout.symmetric else np.concatenate(cells)] for k in of_degrees),
             ks[split:]]
        )  # fmt: skip
        assert design.T @ mine == pytest.approx(wanted, abs=1e-9)  # unbiased
        assert spread @ mine**2 == pytest.approx(spread @ best**2, rel=1e-5)
        if max(degrees, default=0) < 1e6 and min(degrees, default=1) > 1e-6:
            assert mine == pytest.approx(best, abs=1e-7)
        assert spread @ mine**2 <= entry * wanted.sum() * (1 + 1e-9)  # never worse than entries


def test_the_closed_form_for_degrees():
    """V = s^2 sum q^2 - s^4 w' M^-1 w, and at most four numbers k."""
    n, s2, t2 = 30, 0.9, 40.0
    rng = np.random.default_rng(1)
    S, T = rng.random(n) < 0.5, rng.random(n) < 0.3
    types, query, (cells, _) = cut_types(S, T, Layout((n, n), symmetric=True))
    entries, k = combined(types, query, entry=s2, degrees=[t2])
    crossing = np.logical_or(np.outer(S, T), np.outer(T, S)) & ~np.eye(n, dtype=bool)
    w = crossing.sum(axis=1)
    M = (s2 * (n - 2) + t2) * np.eye(n) + s2 * np.ones((n, n))
    assert k[cells] == pytest.approx(s2 * np.linalg.solve(M, w))
    variance = s2 * types.counts @ entries**2 + t2 * types.sizes @ k**2
    expected = s2 * crossing.sum() / 2 - s2**2 * w @ np.linalg.solve(M, w)
    assert variance == pytest.approx(expected)
    assert k.shape == (4,)


def test_an_empty_query_is_answered_by_nothing():
    types, query, _ = cut_types(np.zeros(5, bool), np.ones(5, bool), Layout((5, 5), symmetric=True))
    entries, ks = combined(
        types, query, entry=1.0, degrees=[2.0], sums=[(np.ones_like(query), 3.0)]
    )
    assert not entries.any()
    assert not ks.any()
