"""One object of each kind that users get, quickly made; labels that would break a page."""

import warnings

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning

learn = gc.release_iteratively

EVIL = "<script>alert('x')</script>"
N = 8
LABELS = [EVIL, *"bcdefgh"]


def _sensed(ratings, guarantee):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # one rating is told by nothing
        queries = [gc.CutQuery([0], [1])]
        return learn(ratings, queries, delta=1e-6, construction="sensing:rounds=1", **guarantee)


def private_graph():
    edges = [(i, (i + step) % N) for i in range(N) for step in (1, 3)]
    rows, columns = np.array(edges).T
    return gc.Graph(rows, columns, vertices=LABELS)


def groups_of(graph):
    return gc.Groups(graph.vertices, {"half": [EVIL] * 4 + ["other"] * 4})


def made(folder):
    """Names and objects."""
    graph = private_graph()
    guarantee = {"epsilon": 2.0}
    bipartite = gc.BipartiteGraph([0, 1, 2], [1, 0, 1], left=3, right=2)
    metric = gc.distances.Metric.path(N)
    found = {
        "Graph": graph,
        "BipartiteGraph": bipartite,
        "DirectedGraph": gc.DirectedGraph([0, 1], [1, 2], vertices=LABELS),
        "Release": gc.release_graph(graph, groups=groups_of(graph), **guarantee),
        "Release, sparse": gc.release_graph(graph, mechanism="sparse", **guarantee),
        "Release, seeded": gc.release_graph(graph, fit="none", epsilon=9.0, seed=1),
        "Plan": gc.plan(100, edges=500, queries=50, epsilon=1.0, target_error=9.0),
        "CutNormCertificate": gc.cut_norm(np.array([[1.0, -2.0], [0.5, 3.0]])),
        "Flows": gc.release_flows(graph, groups_of(graph), **guarantee),
        "IterativeRelease": learn(
            graph, delta=1e-6, construction="multiplicative-weights:rounds=2", **guarantee
        ),
        "NetRelease": learn(
            gc.Graph([0], [1], vertices=[EVIL, "b", "c"]),
            [gc.CutQuery(["b"])],
            epsilon=1.0,
            construction="net",
        ),
        "FewAnswers": learn(graph, [gc.CutQuery([EVIL])], construction="answers", **guarantee),
        "SensingRelease": _sensed(bipartite, guarantee),
        "DistanceAnswers": gc.distances.answer_distances(metric, {0: 400, 3: 700}, **guarantee),
        "PrivacyGuarantee": gc.PrivacyGuarantee(epsilon=1.0, neighbours="an edge", seed=3),
        "Explanation": gc.PrivacyUnit().explain(epsilon=1.0, delta=1e-6),
        "Contributions": gc.Contributions.public((1, 2, 5), [9, 4, 2, 1]),
    }
    with gc.open_session(graph, store=folder / "mail.db", queries=9, epsilon=40.0) as session:
        session.ask([EVIL], ["b"])
        session.ask(["b", "c"])
        return found, session._repr_html_(), (session.plot(), session.history.to_frame())
