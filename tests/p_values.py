"""Chi-square tests of what was drawn."""

import numpy as np
import scipy.stats


def chi_square(counts: np.ndarray, chances: np.ndarray, least: float = 40) -> float:
    """p-value of counts; cells that expect too few for a chi-square distribution are one cell."""
    counts, chances = np.asarray(counts), np.asarray(chances)
    assert np.isclose(chances.sum(), 1, rtol=1e-9)
    rare = chances * counts.sum() < least
    if rare.any():
        if chances[rare].sum() * counts.sum() < least:  # together with the smallest of the others
            rare[np.where(rare, np.inf, chances).argmin()] = True
        counts, chances = (np.append(each[~rare], each[rare].sum()) for each in (counts, chances))
    assert len(counts) > 1
    return float(scipy.stats.chisquare(counts, chances * counts.sum()).pvalue)


def dependence(first: np.ndarray, second: np.ndarray, cells: int = 6) -> float:
    """p-value of a chi-square test of independence of two samples, in cells by rank."""
    codes = []
    for values in (first, second):
        shares = np.linspace(0, 1, cells + 1)[1:-1]
        edges = np.unique(np.quantile(values, shares, method="inverted_cdf"))
        codes.append(np.searchsorted(edges, values, side="left"))
    table = np.zeros((codes[0].max() + 1, codes[1].max() + 1))
    np.add.at(table, tuple(codes), 1)
    assert table.sum(0).min() * table.sum(1).min() > 1000 * len(first)  # expected in each cell
    return float(scipy.stats.chi2_contingency(table, correction=False).pvalue)
