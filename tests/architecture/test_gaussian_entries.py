"""Gaussian noise for entries by docs/extending.md, in a copy of the package.

The class and its two lines are those of the guide. A process with the copy reports the cost,
answers with intervals, and a saved result.
"""

import json

import pytest
from package_copies import copied_package, insert_import, output_of, python_blocks

from graphcuts_dp.privacy.composition import zcdp_rho

FILE = "privacy/gaussian_entries.py"
TABLE = "estimate/noises.py"
START = """
import json, warnings
import numpy as np
import graphcuts_dp as gc
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.measurement import Measurements
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.release.graphs import graph_job

warnings.simplefilter("ignore")
n = 14
rows, columns = np.triu_indices(n, 1)
weights = np.where((rows + 2 * columns) % 3 == 0, (rows * columns) % 11, 0).astype(float)
held = weights > 0
graph = gc.Graph(rows[held], columns[held], weights[held], vertices=n, max_weight=10.0)
truth = graph.dense()[:5, 5:].sum()
"""
ENTRIES = (
    START
    + """
distribution = distribution_for(graph, "gaussian", 20.0)
cost = distribution.cost
report = {"cost": [cost.epsilon, cost.delta, cost.rho, cost.pure], "bits": distribution.bits}
report["keeps"] = [cost.keeps(epsilon=epsilon, delta=cost.delta) for epsilon in (20.0, 19.9)]
terms = {"neighbours": "one weight", "public": "the vertices"}
guarantee = PrivacyGuarantee(epsilon=cost.epsilon, delta=cost.delta, seed=0, **terms)
errors, covered, entries = [], 0, []
for seed in range(400):
    noisy = randomized_response(graph, distribution, SeededEntropy(seed))
    release = gc.Release(measurements=Measurements((noisy,), guarantee))
    answer = release.answer(list(range(5)))
    errors.append(answer.value - truth)
    covered += answer.interval[0] <= truth <= answer.interval[1]
    entries.append((noisy.estimate() - graph.dense())[rows, columns])
deviation = distribution.standard_deviation
report["held"] = int(covered)
report["entries"] = float(np.std(entries) / deviation)
report["errors"] = float(np.std(errors) / deviation / np.sqrt(5 * 9))
report["width"] = (answer.interval[1] - answer.interval[0]) / float(np.std(errors))
report["bound"] = distribution.radius(45, log_failures=3.0) / deviation / np.sqrt(45)
low, high = distribution.evidence(np.array([0, distribution.sensitivity_steps]))
report["evidence"] = [float(low + high), float(high) > 0]
report["same cost"] = noisy.cost() == cost
try:
    noisy.epsilon
except ParameterError as refused:
    report["refused"] = str(refused)
loaded_noise = NoisyMatrix.from_parts(*noisy.parts(), noisy.space)
report["loaded noise"] = [
    loaded_noise.distribution == distribution, bool((loaded_noise.steps == noisy.steps).all())
]
release.save("x.edges")
loaded = gc.Release.load("x.edges")
report["saved"] = [loaded.noisy.distribution.name, loaded.guarantee.epsilon, loaded.guarantee.delta]
report["same answer"] = loaded.answer([0, 1]) == release.answer([0, 1])
print(json.dumps(report))
"""
)
RELEASED = (
    START
    + """
report = {"held": 0}
for seed in range(100):
    release = gc.release_graph(
        graph, epsilon=20.0, noise="gaussian", mechanism="randomized-response", fit="none",
        seed=seed
    )
    low, high = release.answer(list(range(5))).interval
    report["held"] += bool(low <= truth <= high)
release.save("y.edges")
loaded = gc.Release.load("y.edges")
report["stated"] = [loaded.guarantee.epsilon, loaded.guarantee.delta]
report["cost"] = [loaded.noisy.cost().epsilon, loaded.noisy.cost().delta]
report["parts"] = {}
for mechanism in ("randomized-response", "degrees+randomized-response", "auto"):
    options = {"epsilon": 20.0, "noise": "gaussian", "mechanism": mechanism}
    job = graph_job(graph, **options)
    release = gc.release_graph(graph, **options, seed=1, store="s.db")
    release.save(f"{mechanism}.edges")
    guarantee = gc.load(f"{mechanism}.edges").guarantee
    plan = guarantee.budget_plan
    amount = plan.amounts["entries"]
    drawn = {
        value.name: float(amount if value is release.noisy else value.cost().pure)
        for value in release.measurements.values
    }
    report["parts"][mechanism] = [
        release.noisy.cost().keeps(epsilon=amount, delta=1e-6),
        job.least_distribution.epsilon <= amount,
        dict(guarantee.spent) == (drawn if drawn.keys() != {"entries"} else {}),
        float(plan.spent) == guarantee.epsilon == job.cost.epsilon == 20.0,
        guarantee.delta == job.cost.delta == plan.delta == 1e-6,
        release.has_graph,
    ]
status = gc.store_status("s.db")
report["charged"] = [[use.use.cost.epsilon, use.use.cost.delta] for use in status.uses]
print(json.dumps(report))
"""
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return a folder with a copy of the package that has the lines of the guide."""
    source, lines = python_blocks("## A noise that is no Laplace")[:2]
    imported, line = lines.splitlines(keepends=True)
    tree = tmp_path_factory.mktemp("tree")
    package = copied_package(tree)
    (package / FILE).write_text(source)
    table = (package / TABLE).read_text()
    last = '    "staircase": staircase_noise,\n'
    assert table.count(last) == 1
    table = insert_import(table.replace(last, last + line), imported)
    (package / TABLE).write_text(table)
    return tree


@pytest.mark.thorough
def test_one_class_and_two_lines_add_gaussian_noise_for_entries_with_its_cost_and_intervals(tree):
    report = json.loads(output_of(tree, "-c", ENTRIES))
    epsilon, delta, rho, pure = report.pop("cost")
    assert pure is None
    assert delta == 1e-6
    assert epsilon == pytest.approx(20.0, rel=1e-6)
    assert report.pop("keeps") == [True, False]
    assert rho == pytest.approx(zcdp_rho(epsilon=20.0, delta=1e-6), rel=1e-9)
    # Standard deviations of 400 * 91 entries and of 400 sums: within 6.2 standard errors.
    assert abs(report.pop("entries") - 1) < 6.2 / (2 * 400 * 91) ** 0.5
    assert abs(report.pop("errors") - 1) < 6.2 / (2 * 400) ** 0.5
    assert report.pop("held") >= 380 - 6.2 * (400 * 0.05 * 0.95) ** 0.5
    assert 3.5 < report.pop("width") < 6.5
    assert report.pop("bound") == pytest.approx((2 * (3 + 0.6931)) ** 0.5, rel=1e-3)
    middle, positive = report.pop("evidence")
    assert abs(middle) < 1e-9
    assert positive
    assert report == {
        "bits": False,
        "same cost": True,
        "refused": "gaussian noise has no pure cost",
        "loaded noise": [True, True],
        "saved": ["gaussian", epsilon, delta],
        "same answer": True,
    }


@pytest.mark.thorough
def test_a_release_with_gaussian_entries_states_saves_and_charges_its_cost(tree):
    report = json.loads(output_of(tree, "-c", RELEASED))
    assert report["held"] >= 95 - 6.2 * (100 * 0.05 * 0.95) ** 0.5
    assert report["stated"][0] == pytest.approx(20.0, rel=1e-5)
    assert report["stated"][0] <= 20.0
    assert report["stated"][1] == 1e-6
    assert report["cost"][1] == 1e-6
    assert report["charged"] == [[20.0, 1e-6]] * 3
    for mechanism, checks in report["parts"].items():
        assert all(checks), mechanism
