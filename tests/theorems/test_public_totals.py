"""If the total weight is public, an edge can only be moved; what that costs, and who may say so.

Once two graphs of one total differ, they differ in two pairs. A guarantee about one pair then says
nothing, and the guarantee about two is that of group privacy.
"""

import inspect
import itertools
import math
import re

import numpy as np
import pytest
import session_workers as workers
import typer

import graphcuts_dp as gc
from graphcuts_dp.cli.main import COMMANDS, loaded_command
from graphcuts_dp.cli.options import _key_lines
from graphcuts_dp.session.terms import METHODS

EPSILON = 0.7


@pytest.mark.parametrize("product", [gc.open_session, gc.release_iteratively, gc.release_graph])
def test_no_product_takes_a_public_total(product):
    assert not [name for name in inspect.signature(product).parameters if "total" in name]
    with pytest.raises(TypeError, match="total_weight"):
        product(workers.private_graph(), epsilon=1.0, total_weight=100.0)


def test_no_command_takes_a_public_total():
    def options(command):
        if isinstance(command, typer.core.TyperGroup):
            return [name for each in command.commands.values() for name in options(each)]
        keys = [key for about in getattr(command, "known", ()) for key, _ in _key_lines(about)]
        return [name for each in command.params for name in each.opts] + keys

    found = [name for command in COMMANDS for name in options(loaded_command(command))]
    assert "expected-edges" in found
    assert not [name for name in found if "total" in name]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_no_guarantee_hides_one_pair_and_gives_the_total_away(tmp_path, method):
    delta = 0.0 if method in ("laplace", "binary") else 1e-6
    with gc.open_session(
        workers.private_graph(tiny=method == "median"),
        store=tmp_path / "s.db",
        epsilon=1.0,
        delta=delta,
        queries=10,
        method=method,
    ) as session:
        assert "one pair" in session.guarantee.neighbours
        assert not re.search("total|number of edges", session.guarantee.public)


def test_a_moved_edge_costs_twice_epsilon_and_no_less():
    """Of two answers of randomised response, both bits of which differ: exactly."""
    keep = math.exp(EPSILON) / (1 + math.exp(EPSILON))

    def chance(bits, truth):
        return math.prod(keep if a == b else 1 - keep for a, b in zip(bits, truth, strict=True))

    outcomes = list(itertools.product((0, 1), repeat=2))
    losses = [math.log(chance(bits, (1, 0)) / chance(bits, (0, 1))) for bits in outcomes]
    assert max(losses) == pytest.approx(2 * EPSILON)


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_a_moved_edge_costs_four_times_rho_and_no_less(order):
    """The Renyi divergence of Gaussian noise on one count per pair, shifted by 2: order 4 rho."""
    variance = 9.0
    rho = 1 / (2 * variance)  # of one pair, in one count
    x = np.linspace(-120, 120, 400_001)
    log_p, log_q = (-((x - shift) ** 2) / (2 * variance) for shift in (0.0, 2.0))
    step = x[1] - x[0]
    moment = np.exp(order * log_p + (1 - order) * log_q).sum() * step
    divergence = math.log(moment / math.sqrt(2 * math.pi * variance)) / (order - 1)
    assert divergence == pytest.approx(4 * rho * order, rel=1e-6)
