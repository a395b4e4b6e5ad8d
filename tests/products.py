"""Every product that takes a budget, quickly made of data on six vertices.

A product in this table is tested for what it guarantees, what it charges to a store, and what it
refuses; one whose options have a `delta` also for what it says of a large one.
"""

import itertools

import graphcuts_dp as gc

GRAPH = gc.Graph([0, 0, 1, 3], [1, 2, 2, 4], vertices=6)
RATINGS = gc.BipartiteGraph([0, 1, 2], [1, 1, 0], left=3, right=2)
GROUPS = gc.Groups(GRAPH.vertices, {"part": list("aaabbb")})
SMALL = {"workload": gc.FlowWorkload(expected_cell=0)}  # noise may hide what so few vertices have
MAP = gc.distances.Metric.path(5)
PEOPLE = gc.distances.Locations(MAP, [2, 0, 0, 1, 0])

_LEARN, _MW = gc.release_iteratively, "multiplicative-weights:"
_CUT = [gc.CutQuery([0, 1], [3, 4])]
_RATED = [gc.CutQuery([0], [1])]
_DELTA = {"delta": 1e-6}
# How the store calls it, and what makes it of what with which options.
PRODUCTS = {
    "response": (
        "release",
        gc.release_graph,
        (GRAPH,),
        {"mechanism": "randomized-response", "fit": "none"},
    ),
    "auto": ("release", gc.release_graph, (GRAPH,), {}),
    "groups": ("release", gc.release_graph, (GRAPH,), {"groups": GROUPS}),
    "sparse": ("release", gc.release_graph, (GRAPH,), {"mechanism": "sparse"}),
    "flows": ("flows", gc.release_flows, (GRAPH, GROUPS), SMALL),
    "flows, gaussian": (
        *("flows", gc.release_flows, (GRAPH, GROUPS)),
        {"workload": gc.FlowWorkload(noise="gaussian", expected_cell=0)} | _DELTA,
    ),
    **{
        name: ("release-iteratively", _LEARN, data, {"construction": construction} | options)
        for name, data, construction, options in (
            ("iterative", (GRAPH, _CUT), f"{_MW}rounds=1", _DELTA),
            *(
                (f"iterative, {name}", (GRAPH, _CUT), f"{_MW}calibration={name}", _DELTA)
                for name in ("practical", "tight")
            ),
            *(  # by themselves these would run no round here
                (f"iterative, {name}", (GRAPH, _CUT), f"{_MW}calibration={name},rounds=2", _DELTA)
                for name in ("gru12", "dr14")
            ),
            ("iterative, pure", (GRAPH,), f"{_MW}distinguisher=response-rank-one", {}),
            ("iterative, both players", (GRAPH, _CUT), "game:player=both,rounds=3", _DELTA),
            ("iterative, query player", (GRAPH, _CUT), "game:player=query,rounds=2", _DELTA),
            ("iterative, released", (GRAPH, _CUT), f"{_MW}distinguisher=released", {}),
        )
    },
    "answers": ("answers", _LEARN, (GRAPH, _CUT), {"construction": "answers"}),
    "net": ("net", _LEARN, (GRAPH, _CUT), {"construction": "net"}),
    "sensing": (
        *("sensing", _LEARN, (RATINGS, _RATED)),
        {"construction": "sensing:rounds=2"} | _DELTA,
    ),
    "cut": ("cut", gc.least_cut, (GRAPH, 0, 5), {}),
    "cut, several": ("cut", gc.least_cut, (GRAPH, 0, 3, [4, 5]), {}),
    "distances": ("distances", gc.distances.answer_distances, (MAP, PEOPLE), {}),
    "distances, gaussian": (
        *("distances", gc.distances.answer_distances, (MAP, PEOPLE)),
        {"noise": "gaussian", "mechanism": "per-query"} | _DELTA,
    ),
    "session": ("session", gc.open_session, (GRAPH,), {"queries": 5, "method": "laplace"}),
    "session, gaussian": (
        *("session", gc.open_session, (GRAPH,)),
        {"queries": 5, "method": "gaussian"} | _DELTA,
    ),
    "distance session": (
        *("distance session", gc.distances.open_distance_session, (MAP, PEOPLE)),
        {"queries": 2} | _DELTA,
    ),
}
SESSIONS = [name for name in PRODUCTS if PRODUCTS[name][0].endswith("session")]
# Of a graph, and made at once: whom they protect is told in one way.
RELEASES = [name for name in PRODUCTS if name not in SESSIONS and "distances" not in name]
WITH_DELTA = [name for name in PRODUCTS if "delta" in PRODUCTS[name][3]]
_NUMBERS = itertools.count()


def kind_of(name):
    """What a store calls the product."""
    return PRODUCTS[name][0]


def make(name, *other, **options):
    """The product with these options beside those of the table, on other data where some are given.

    A session is a new one, closed.
    """
    _, function, data, usual = PRODUCTS[name]
    data, options = other or data, {"epsilon": 1.0} | usual | options
    if name not in SESSIONS:
        return function(*data, **options)
    with function(*data, name=f"s{next(_NUMBERS)}", **options) as session:
        return session
