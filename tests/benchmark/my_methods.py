"""Methods as a user has them in a file, which tests copy into a folder; some go wrong."""

import os
import time

import numpy as np

from graphcuts_dp import PrivacyGuarantee
from scripts.benchmark.base import Contender, Submission


def zeros(graph, **_):
    return np.zeros(graph.shape)


class Halves:
    """A class whose objects are called."""

    def __call__(self, graph, **_):
        return graph.dense() / 2


def in_order(graph, **_):
    """The densities of the benchmark's blocks-150, by the order of the vertices alone."""
    block = np.arange(graph.shape[0]) * 3 // graph.shape[0]
    matrix = np.where(block[:, None] == block, 0.5, 0.05)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def raises(*_, **__):
    raise ValueError("not\ntoday")


def dies(*_, **__):
    os._exit(3)


def sleeps(*_, **__):
    while True:
        time.sleep(60)


def wrong_shape(*_, **__):
    return np.zeros((2, 2))


def claiming(**more):
    """A method that claims more than it was given."""

    def method(graph, *, epsilon, **_):
        claim = {"epsilon": epsilon, "neighbours": "one pair"} | more
        return Submission(estimate=np.zeros(graph.shape), guarantee=PrivacyGuarantee(**claim))

    return method


greedy, loose = claiming(epsilon=2.0), claiming(delta=0.1)
NEEDY = Contender(name="needy", method=zeros, source="a test", needs_delta=True)
NAMED = Contender(name="named", method=zeros, source="a test")
OURS = Contender(name="ours", method=zeros, source="a test")
NUMBER = 3
