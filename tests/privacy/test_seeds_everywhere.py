"""A seed gives the same noise and the same measurements on every machine, to the last bit.

They are integers drawn by exact samplers, so they do not depend on the processor, on BLAS, on how
many threads there are, or on the operating system. What is computed from them afterwards (fits,
certificates, intervals) may differ in the last digits. `scripts/portable.py` runs this file under
other kernels. A digest changes only when the noise itself is drawn in another way: say so in the
changelog, since stored figures and examples are then drawn again.
"""

import hashlib
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.privacy import noise
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.session import running

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


def digest(*parts):
    """Of integers, whatever their type in memory."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(np.asarray(part, dtype="<i8").tobytes())
    return whole.hexdigest()[:16]


def graph_of(kind):
    """A graph of a formula, which no generator of another version makes otherwise."""
    pairs = [(i, j) for i in range(60) for j in range(i + 1, 60) if (7 * i * i + 3 * j) % 11 < 3]
    rows, columns = zip(*pairs, strict=True)
    if kind == "bipartite":
        return gc.BipartiteGraph(rows, columns, left=60, right=60)
    if kind == "weighted":
        weights = [1 + (i * j) % 3 + 0.1 for i, j in pairs]
        return gc.Graph(rows, columns, weights, vertices=60, weight_cap=4.0)
    return gc.Graph(rows, columns, vertices=60)


SAMPLERS = {
    "flips": (lambda s: noise.sample_flips(Fraction(1, 3), 3000, s), "a5268b429422929b"),
    "geometric": (lambda s: noise.sample_geometric(Fraction(1, 5000), 3000, s), "111dd43b87f09f51"),
    "laplace": (
        lambda s: noise.sample_discrete_laplace(Fraction(2, 7), 3000, s),
        "d472ef1678ef5571",
    ),
    "gaussian": (
        lambda s: noise.sample_discrete_gaussian(Fraction(50, 3), 300, s),
        "5d8414dbfb6a09cb",
    ),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samples(name):
    sample, known = SAMPLERS[name]
    assert digest(sample(SeededEntropy(11))) == known


RELEASES = {
    ("simple", "binary", "response"): "38d425570e98f435",
    ("simple", "binary", "auto"): "4d760183a932846e",
    ("simple", "discrete-laplace", "degrees+response"): "eec5106bdd249ab1",
    ("bipartite", "binary", "degrees+response"): "5ed2e2b4ac6ef197",
    ("weighted", "laplace", "degrees+response"): "63ede3229c067063",
    ("weighted", "discrete-laplace", "auto"): "fc15354e6d2a18b5",
}


@pytest.mark.parametrize(("kind", "distribution", "mechanism"), RELEASES)
def test_measurements_of_a_release(kind, distribution, mechanism):
    made = gc.release_graph(
        graph_of(kind), epsilon=1.0, noise=distribution, mechanism=mechanism, seed=5
    )
    parts = [made.noisy.steps]
    if made.degrees is not None:
        parts += [made.degrees.rows, made.degrees.columns]
    if made.total is not None:
        parts.append(round(made.total.value * 2**20))
    assert digest(*parts) == RELEASES[kind, distribution, mechanism]


SESSIONS = {
    "gaussian": "85e8a28e80cf623f",
    "laplace": "1171036e27784dd4",
    "binary": "a3be4a97becc2659",
}


@pytest.mark.parametrize("method", SESSIONS)
def test_answers_of_a_session_without_a_hypothesis(method, tmp_path, monkeypatch):
    # As the noise left them: what is cut to the possible range is the same for many noises.
    monkeypatch.setattr(running, "possible_answer", lambda answer, *_: answer)
    graph = graph_of("simple")
    queries = [gc.CutQuery(range(k), range(k, 60)) for k in range(1, 40)]
    delta = 1e-6 if method == "gaussian" else 0.0
    with gc.open_session(
        graph,
        store=tmp_path / "s.db",
        epsilon=2.0,
        delta=delta,
        queries=len(queries),
        method=method,
        seed=3,
    ) as session:
        values = [session.ask(query.S, query.T).value for query in queries]
    # Binary answers are integers times a factor: their ratios to a thousandth are integers enough.
    assert digest([round(1000 * value) for value in values]) == SESSIONS[method]


FLOWS = {
    ("simple", "laplace"): "a58d113c148781ac",
    ("bipartite", "laplace"): "6926d43880f06d42",
    ("weighted", "laplace"): "2f5a799871174f53",
    ("simple", "gaussian"): "723d27e6df33f3f6",
}


@pytest.mark.parametrize(("kind", "noise_name"), FLOWS)
def test_measured_sums_of_flows(kind, noise_name):
    graph = graph_of(kind)
    levels = {"top": [i // 20 for i in range(60)], "fine": [i // 4 for i in range(60)]}
    groups = gc.Groups(gc.VertexSet(60), levels)
    made = gc.release_flows(
        graph,
        (groups, groups) if kind == "bipartite" else groups,
        epsilon=1.0,
        delta=1e-6 if noise_name == "gaussian" else 0.0,
        noise=noise_name,
        workload="all levels",
        seed=5,
    )
    assert digest(*made.noisy.sums) == FLOWS[kind, noise_name]


def test_noisy_counts_of_a_map():
    ring = gc.Graph(range(40), [(i + 1) % 40 for i in range(40)], vertices=40)
    people = [(i * i) % 40 for i in range(200)]
    made = gc.distances.answer_distances(ring, people, epsilon=1.0, mechanism="histogram", seed=2)
    assert digest(np.rint(1000 * made.values)) == "bdae04fd4f86c01e"


def test_another_seed_is_seen():
    sample, known = SAMPLERS["laplace"]
    assert digest(sample(SeededEntropy(12))) != known
