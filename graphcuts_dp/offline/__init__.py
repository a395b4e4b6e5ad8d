"""Offline releases that learn the graph from noisy answers to queries they look for."""

from graphcuts_dp._lazy import exports

__getattr__, __dir__, __all__ = exports(
    __name__,
    {
        "answers_at_once": (
            "FewAnswers",
            "release_answers",
        ),
        "net_release": (
            "NetRelease",
            "release_net",
        ),
        "sensing": ("release_sensing",),
        "sensing_release": ("SensingRelease",),
    },
)
