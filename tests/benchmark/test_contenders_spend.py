"""Each contender gives its steps the budget that it states: the audits look at the steps."""

from fractions import Fraction

import pytest
from helpers import random_graph

from scripts.benchmark.contenders import (
    der,
    dgg,
    dp_1k,
    hrg,
    isotonic_degrees,
    tmf,
)
from scripts.benchmark.contenders.dendrogram import Dendrogram

EPSILON = 0.7
WHOLE = Fraction(EPSILON)
# Contender, module, function that draws noise, and what it spends of its arguments.
STEPS = {
    "tmf, count": (tmf.TMF, tmf, "noisy_count", lambda *_, epsilon, **__: epsilon),
    "tmf, entries": (tmf.TMF, tmf, "filtered", lambda *_, epsilon, **__: epsilon),
    "dgg": (dgg.DGG, dgg, "noisy_degrees", lambda _, epsilon, __: epsilon),
    "dp-1k": (dp_1k.DP_1K, dp_1k, "measure_histogram", lambda _, epsilon, **__: epsilon),
    "isotonic-degrees": (
        isotonic_degrees.ISOTONIC_DEGREES,
        isotonic_degrees,
        "measure_sorted",
        lambda _, epsilon, **__: epsilon,
    ),
    "der, regions": (der.DER, der, "explored", lambda _, budgets, __: budgets.epsilon),
    "der, edges": (der.DER, der, "reconstructed", lambda *_, rate, **__: rate),
    # The chain's rate is epsilon over twice the sensitivity, a float.
    "hrg, tree": (hrg.HRG, Dendrogram, "walk", lambda tree, _, rate, __: (tree.n, rate)),
    "hrg, counts": (hrg.HRG, hrg, "noisy_chances", lambda *_, epsilon, **__: epsilon),
}
SPENT = {
    "tmf, count": WHOLE / 10,
    "tmf, entries": 9 * WHOLE / 10,
    "dgg": WHOLE,
    "dp-1k": WHOLE,
    "isotonic-degrees": WHOLE,
    "der, regions": 2 * WHOLE / 3,
    "der, edges": WHOLE / 3,
    "hrg, tree": (12, float(WHOLE / 2) / (2 * hrg.sensitivity(12))),
    "hrg, counts": WHOLE / 2,
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_spends_what_is_stated(step, monkeypatch):
    contender, place, name, spent = STEPS[step]
    seen, function = [], getattr(place, name)

    def spy(*given, **named):
        seen.append(spent(*given, **named))
        return function(*given, **named)

    monkeypatch.setattr(place, name, spy)
    monkeypatch.setattr(hrg, "MOVES", 5)
    graph = random_graph(12, 1)
    made = contender.method(graph, epsilon=EPSILON, delta=0.0, groups=None, seed=1)
    assert seen == [SPENT[step]]
    assert made.guarantee.epsilon == EPSILON
    assert sum(part for _, part in made.guarantee.parts) in (0, pytest.approx(EPSILON))


def test_all_steps_together_spend_epsilon():
    for contender in {contender.name for contender, *_ in STEPS.values()} - {"hrg"}:
        assert sum(SPENT[step] for step in STEPS if step.split(",")[0] == contender) == WHOLE
