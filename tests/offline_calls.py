"""`gc.release_iteratively` with the options of its constructions beside its own: for tables."""

from dataclasses import fields
from functools import partial

import graphcuts_dp as gc
from graphcuts_dp.offline.methods import CONSTRUCTION

_OWN = ("epsilon", "delta", "beta", "store", "seed", "progress")


def learn(
    graph, queries=None, *, construction="multiplicative-weights", protect="edges", **options
):
    """Any construction; `at_most` goes with `protect`, and a noise names its construction."""
    own = {name: options.pop(name) for name in _OWN if name in options}
    protect = gc.Protect.of(protect, at_most=options.pop("at_most", None))
    if "player" in options:
        construction = "game"
    noise = options.pop("noise", "auto")
    if construction == "answers" and noise != "auto":
        construction = noise
    if isinstance(construction, str):
        kind = CONSTRUCTION.get(construction)
        known = fields(getattr(kind, "func", kind)) if kind else ()
        other = options.keys() - {each.name for each in known}
        refused = f"{construction}:{min(other)}=1" if kind and other else construction
        construction = kind(**options) if kind and not other else refused
    elif not hasattr(construction, "job"):
        construction = gc.Learning(rule=construction, **options)
    return gc.release_iteratively(graph, queries, construction=construction, protect=protect, **own)


choose_from_net = partial(learn, construction="net")
answer_at_once = partial(learn, construction="answers")
sense = partial(learn, construction="sensing")
