"""The best linear unbiased combination, against generalised least squares pair by pair."""

import itertools

import numpy as np
import pytest

from graphcuts_dp.measurements.combination import best_combination, cut_types

N, LEFT, RIGHT = 7, 4, 5


def pairs_of(bipartite):
    if bipartite:
        return list(itertools.product(range(LEFT), range(LEFT, LEFT + RIGHT)))
    return list(itertools.combinations(range(N), 2))


def sets(rng, bipartite):
    if bipartite:
        return rng.random(LEFT) < 0.5, rng.random(RIGHT) < 0.5
    return rng.random(N) < 0.5, rng.random(N) < 0.5


def joined(pair, S, T, bipartite):
    i, j = pair
    if bipartite:
        return bool(S[i] and T[j - LEFT])
    return bool((S[i] and T[j]) or (S[j] and T[i]))


def by_pairs(types, values, cells, bipartite):
    """The value of each pair's type."""
    cell = np.concatenate(cells) if bipartite else cells[0]
    place = {tuple(sorted(ends)): t for t, ends in enumerate(zip(types.first, types.second))}  # noqa: B905
    return np.array(
        [values[place[tuple(sorted((cell[i], cell[j])))]] for i, j in pairs_of(bipartite)]
    )


CLASSES = np.array([0, 0, 1, 1, 1, 2, 2]), np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0, 0])


@pytest.mark.parametrize("bipartite", [False, True])
@pytest.mark.parametrize(
    ("degrees", "with_total", "with_blocks"),
    [((), False, False), ((), True, False), ((3.0,), False, False), ((3.0,), True, False),
     ((40.0, 0.5), True, False), ((2.0,), True, True), ((1e-9,), True, True),
     ((1e9,), False, True)],
)  # fmt: skip
def test_it_is_generalised_least_squares(bipartite, degrees, with_total, with_blocks):
    """Best weights of all observations, from their whole covariance, for random cuts."""
    rng = np.random.default_rng(5)
    pairs = pairs_of(bipartite)
    vertices = LEFT + RIGHT if bipartite else N
    entry, total, block = 1.7, 12.0, 5.0
    ends = np.array([[v in pair for pair in pairs] for v in range(vertices)], dtype=float)
    for _ in range(12):
        S, T = sets(rng, bipartite)
        if bipartite:
            classes = (CLASSES[1], CLASSES[2]) if with_blocks else None
            label = np.concatenate([CLASSES[1], 3 + CLASSES[2]])
        else:
            classes = (CLASSES[0], CLASSES[0]) if with_blocks else None
            label = CLASSES[0]
        types, query, cells = cut_types(S, T, bipartite=bipartite, classes=classes)
        wanted = np.array([joined(pair, S, T, bipartite) for pair in pairs], dtype=float)
        assert np.array_equal(by_pairs(types, query, cells, bipartite), wanted)
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
            cell = np.concatenate(cells) if bipartite else cells[0]
            for a, b in ((0, 1), (1, 1)) if not bipartite else ((0, 3), (1, 4)):
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
        found = best_combination(types, query, entry=entry, degrees=degrees, sums=sums)
        mine = np.concatenate(
            [by_pairs(types, found.entries, cells, bipartite),
             *(k[np.concatenate(cells) if bipartite else cells[0]] for k in found.degrees),
             found.sums]
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
    types, query, (cells, _) = cut_types(S, T, bipartite=False)
    found = best_combination(types, query, entry=s2, degrees=[t2])
    crossing = np.logical_or(np.outer(S, T), np.outer(T, S)) & ~np.eye(n, dtype=bool)
    w = crossing.sum(axis=1)
    M = (s2 * (n - 2) + t2) * np.eye(n) + s2 * np.ones((n, n))
    assert found.degrees[0][cells] == pytest.approx(s2 * np.linalg.solve(M, w))
    variance = s2 * types.counts @ found.entries**2 + t2 * types.sizes @ found.degrees[0] ** 2
    expected = s2 * crossing.sum() / 2 - s2**2 * w @ np.linalg.solve(M, w)
    assert variance == pytest.approx(expected)
    assert found.degrees.shape == (1, 4)


def test_an_empty_query_is_answered_by_nothing():
    types, query, _ = cut_types(np.zeros(5, bool), np.ones(5, bool), bipartite=False)
    found = best_combination(
        types, query, entry=1.0, degrees=[2.0], sums=[(np.ones_like(query), 3.0)]
    )
    assert not found.entries.any()
    assert not found.degrees.any()
    assert not found.sums.any()
