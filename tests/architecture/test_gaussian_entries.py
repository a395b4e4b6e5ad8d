"""The guide's Gaussian noise for entries, run in a copy of the package.

Its class and its two lines are taken from the guide. A subprocess asks the copy for its cost, for
answers with intervals, and for a saved result.
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
said = {"cost": [cost.epsilon, cost.delta, cost.rho, cost.pure], "bits": distribution.bits}
said["keeps"] = [cost.keeps(epsilon=epsilon, delta=cost.delta) for epsilon in (20.0, 19.9)]
terms = {"neighbours": "one weight", "public": "the vertices"}
guarantee = PrivacyGuarantee(epsilon=cost.epsilon, delta=cost.delta, seed=0, **terms)
errors, held, entries = [], 0, []
for seed in range(400):
    noisy = randomized_response(graph, distribution, SeededEntropy(seed))
    made = gc.Release(measurements=Measurements((noisy,), guarantee))
    answer = made.answer(list(range(5)))
    errors.append(answer.value - truth)
    held += answer.interval[0] <= truth <= answer.interval[1]
    entries.append((noisy.estimate() - graph.dense())[rows, columns])
deviation = distribution.standard_deviation
said["held"] = int(held)
said["entries"] = float(np.std(entries) / deviation)
said["errors"] = float(np.std(errors) / deviation / np.sqrt(5 * 9))
said["width"] = (answer.interval[1] - answer.interval[0]) / float(np.std(errors))
said["bound"] = distribution.radius(45, log_failures=3.0) / deviation / np.sqrt(45)
low, high = distribution.evidence(np.array([0, distribution.sensitivity_steps]))
said["evidence"] = [float(low + high), float(high) > 0]
said["same cost"] = noisy.cost() == cost
try:
    noisy.epsilon
except ParameterError as refused:
    said["refused"] = str(refused)
again = NoisyMatrix.from_parts(*noisy.parts(), noisy.space)
said["again"] = [again.distribution == distribution, bool((again.steps == noisy.steps).all())]
made.save("x.edges")
loaded = gc.Release.load("x.edges")
said["saved"] = [loaded.noisy.distribution.name, loaded.guarantee.epsilon, loaded.guarantee.delta]
said["same answer"] = loaded.answer([0, 1]) == made.answer([0, 1])
print(json.dumps(said))
"""
)
RELEASED = (
    START
    + """
said = {"held": 0}
for seed in range(100):
    made = gc.release_graph(
        graph, epsilon=20.0, noise="gaussian", mechanism="randomized-response", fit="none",
        seed=seed
    )
    low, high = made.answer(list(range(5))).interval
    said["held"] += bool(low <= truth <= high)
made.save("y.edges")
loaded = gc.Release.load("y.edges")
said["stated"] = [loaded.guarantee.epsilon, loaded.guarantee.delta]
said["cost"] = [loaded.noisy.cost().epsilon, loaded.noisy.cost().delta]
said["parts"] = {}
for mechanism in ("randomized-response", "degrees+randomized-response", "auto"):
    options = {"epsilon": 20.0, "noise": "gaussian", "mechanism": mechanism}
    job = graph_job(graph, **options)
    made = gc.release_graph(graph, **options, seed=1, store="s.db")
    made.save(f"{mechanism}.edges")
    guarantee = gc.load(f"{mechanism}.edges").guarantee
    plan = guarantee.budget_plan
    amount = plan.amounts["entries"]
    drawn = {
        value.name: float(amount if value is made.noisy else value.cost().pure)
        for value in made.measurements.values
    }
    said["parts"][mechanism] = [
        made.noisy.cost().keeps(epsilon=amount, delta=1e-6),
        job.least_distribution.epsilon <= amount,
        dict(guarantee.spent) == (drawn if drawn.keys() != {"entries"} else {}),
        float(plan.spent) == guarantee.epsilon == job.cost.epsilon == 20.0,
        guarantee.delta == job.cost.delta == plan.delta == 1e-6,
        made.has_graph,
    ]
status = gc.store_status("s.db")
said["charged"] = [[use.use.cost.epsilon, use.use.cost.delta] for use in status.uses]
print(json.dumps(said))
"""
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the package with the lines of the guide."""
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
def test_a_gaussian_for_entries_is_one_class_and_two_lines(tree):
    said = json.loads(output_of(tree, "-c", ENTRIES))
    epsilon, delta, rho, pure = said.pop("cost")
    assert pure is None
    assert delta == 1e-6
    assert epsilon == pytest.approx(20.0, rel=1e-6)
    assert said.pop("keeps") == [True, False]
    assert rho == pytest.approx(zcdp_rho(epsilon=20.0, delta=1e-6), rel=1e-9)
    # 18,200 entries and 400 sums: within 6.2 deviations of what their standard deviations scatter.
    assert abs(said.pop("entries") - 1) < 6.2 / (2 * 400 * 91) ** 0.5
    assert abs(said.pop("errors") - 1) < 6.2 / (2 * 400) ** 0.5
    assert said.pop("held") >= 380 - 6.2 * (400 * 0.05 * 0.95) ** 0.5
    assert 3.5 < said.pop("width") < 6.5
    assert said.pop("bound") == pytest.approx((2 * (3 + 0.6931)) ** 0.5, rel=1e-3)
    middle, positive = said.pop("evidence")
    assert abs(middle) < 1e-9
    assert positive
    assert said == {
        "bits": False,
        "same cost": True,
        "refused": "gaussian noise has no pure cost",
        "again": [True, True],
        "saved": ["gaussian", epsilon, delta],
        "same answer": True,
    }


@pytest.mark.thorough
def test_a_release_with_a_gaussian_for_entries_states_its_cost(tree):
    said = json.loads(output_of(tree, "-c", RELEASED))
    assert said["held"] >= 95 - 6.2 * (100 * 0.05 * 0.95) ** 0.5
    assert said["stated"][0] == pytest.approx(20.0, rel=1e-5)
    assert said["stated"][0] <= 20.0
    assert said["stated"][1] == 1e-6
    assert said["cost"][1] == 1e-6
    assert said["charged"] == [[20.0, 1e-6]] * 3
    for mechanism, checks in said["parts"].items():
        assert all(checks), mechanism
