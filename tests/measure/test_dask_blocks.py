"""Releases on a Dask cluster of two processes: the same as in one process, to the last bit."""

import builtins
import os
import signal

import dask
import distributed
import numpy as np
import pytest
from helpers import random_graph

from graphcuts_dp.cli import main
from graphcuts_dp.errors import ClusterError, ParameterError
from graphcuts_dp.estimate.blocks import LocalBlocks, RowBlock
from graphcuts_dp.measure import parted
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.measure.parted import DaskBlocks, dask_client
from graphcuts_dp.pairs.layout import Layout
from graphcuts_dp.privacy.entropy import SeededEntropy, SystemEntropy
from graphcuts_dp.release.synthesis import release_graph
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.first_order import FirstOrder

N = 372  # the smallest multiple of four whose matrix is cut into several blocks


def noisy_matrix(make_blocks, *, noise="binary", symmetric=True, source=None):
    graph = random_graph(N if symmetric else (N, N))
    distribution = distribution_for(graph, noise, 1.0)
    return randomized_response(graph, distribution, source or SeededEntropy(4), make_blocks)


@pytest.fixture(scope="module")
def cluster():
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def process(_block):
    return os.getpid()


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("noise", ["binary", "laplace"])
def test_the_same_noisy_matrix_wherever_it_is_drawn(noise, symmetric):
    here = noisy_matrix(LocalBlocks.from_pairs, noise=noise, symmetric=symmetric)
    there = noisy_matrix(DaskBlocks.from_pairs, noise=noise, symmetric=symmetric)
    assert np.array_equal(here.steps, there.steps)
    home = there.blocks.fetch()
    assert np.array_equal(np.concatenate(home.map(RowBlock.steps)), here.steps)
    S = np.arange(N) % 3 == 0
    assert here.cut_value(S, ~S) == there.cut_value(S, ~S)
    for sums, others in zip(here.vertex_sums(), there.vertex_sums(), strict=True):
        assert np.array_equal(sums, others)


@pytest.mark.usefixtures("cluster")
def test_blocks_live_on_the_workers_in_order():
    blocks = noisy_matrix(DaskBlocks.from_pairs).blocks
    processes = blocks.map(process)
    assert len(set(processes)) == 2
    assert os.getpid() not in processes
    assert processes == sorted(processes, key=processes.index)  # neighbours live together
    assert blocks.map(lambda block: block.start) == [a for a, _ in blocks.layout.bounds()]


@pytest.mark.usefixtures("cluster")
def test_workers_with_system_entropy_do_not_share_noise():
    first, second = (
        noisy_matrix(DaskBlocks.from_pairs, source=SystemEntropy()).steps for _ in range(2)
    )
    # Two fair draws differ in 39 % of the pairs.
    assert 0.3 < (first != second)[np.triu_indices(N, 1)].mean() < 0.5
    height = 48  # of a block: noise of two blocks, edges taken away
    graph = random_graph(N).dense().astype(int)
    noise = first.astype(int) ^ graph
    assert not np.array_equal(noise[:8, 8:48], noise[height : height + 8, height + 8 : height + 48])


def keep(block, value):
    block.held["kept"] = block.start + value


def kept(block):
    return block.held.get("kept")


@pytest.mark.usefixtures("cluster")
def test_what_is_held_stays_with_its_copy():
    made = noisy_matrix(DaskBlocks.from_pairs).blocks
    first, second = made.copy(), made.copy()
    first.map(keep, 7)
    assert first.map(kept) == [start + 7 for start, _ in made.layout.bounds()]
    assert set(second.map(kept)) == set(made.map(kept)) == set(first.copy().map(kept)) == {None}


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_same_fit(symmetric):
    fits = [
        FirstOrder(max_steps=8)(FitProblem(noisy_matrix(make, symmetric=symmetric).blocks))
        for make in (LocalBlocks.from_pairs, DaskBlocks.from_pairs)
    ]
    assert np.array_equal(fits[0].matrix, fits[1].matrix)
    assert (fits[0].value, fits[0].lower) == (fits[1].value, fits[1].lower)


@pytest.mark.usefixtures("cluster")
def test_the_same_release():
    made = [
        release_graph(
            random_graph(N), epsilon=1.0, seed=3, fit="first-order", time_limit=1e-9, blocks=blocks
        )
        for blocks in ("local", "dask")
    ]
    assert made[0].graph == made[1].graph
    assert np.array_equal(made[0].noisy.steps, made[1].noisy.steps)
    assert isinstance(made[1].noisy.blocks, LocalBlocks)  # answers need no cluster
    assert made[0].certificate.upper == made[1].certificate.upper


def command(monkeypatch, *arguments):
    """Run the command line in this process; returns the status."""
    monkeypatch.setattr("sys.argv", ["graphcuts-dp", *map(str, arguments)])
    return main._status()


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("given_by", ["option", "environment"])
def test_the_command_line_releases_the_same_on_a_cluster(cluster, monkeypatch, tmp_path, given_by):
    source = tmp_path / "mail.edges"
    random_graph(N).write(source)
    start = ("release", source, tmp_path / "here.csv", "--epsilon", 1, "--seed", 3)
    fit = ("--fit", "first-order", "--time-limit", 1e-9)
    assert command(monkeypatch, *start, *fit) == 0
    address = cluster.scheduler.address
    where = ("--blocks", "dask")
    if given_by == "option":
        where += ("--scheduler", address)
    else:
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", address)
    drawn = []
    real = DaskBlocks.from_pairs
    monkeypatch.setattr(
        DaskBlocks, "from_pairs", staticmethod(lambda *given: drawn.append(1) or real(*given))
    )
    there = (*start[:2], tmp_path / "there.csv", *start[3:])
    assert command(monkeypatch, *there, *fit, *where) == 0
    assert drawn == [1]
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


@pytest.mark.parametrize("problem", ["no address", "no answer", "no address at all", "no dask"])
def test_the_command_line_says_on_one_line_what_is_wrong_with_the_cluster(
    monkeypatch, tmp_path, capsys, problem
):
    source = tmp_path / "mail.edges"
    random_graph(30).write(source)
    monkeypatch.setattr(parted, "_PATIENCE", 0.2)
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    start = ("release", source, tmp_path / "s.csv", "--epsilon", 5, "--blocks", "dask")
    expected = "needs the address of a scheduler"
    if problem == "no answer":
        start += ("--scheduler", "tcp://127.0.0.1:1")
        expected = "no Dask scheduler answers at tcp://127.0.0.1:1"
    if problem == "no address at all":
        start += ("--scheduler", "nonsense://there")
        expected = "no Dask scheduler answers at nonsense://there"
    if problem == "no dask":
        forget_dask(monkeypatch)
        expected = "pip install 'graphcuts-dp[dask]'"
    assert command(monkeypatch, *start) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line[:5] != "note:"]
    assert len(errors) == 1
    assert expected in errors[0]
    assert list(tmp_path.iterdir()) == [source]


def fail(block):
    raise ArithmeticError(f"block {block.start}")


@pytest.mark.usefixtures("cluster")
def test_errors_come_home():
    with pytest.raises(ArithmeticError, match="block 0"):
        noisy_matrix(DaskBlocks.from_pairs).blocks.map(fail)


class Computed:
    """A future of Dask's; what is lost is computed again after it was read once."""

    def __init__(self, make, lost=False):
        self._make, self._lost, self._value = make, lost, make()

    def done(self):
        return True

    def result(self):
        found = self._value
        if self._lost:
            self._value, self._lost = self._make(), False
        return found


class Remote:
    """An actor: what its methods return are futures."""

    def __init__(self, there):
        self._there = there

    def __getattr__(self, name):
        return lambda *arguments: Computed(lambda: getattr(self._there, name)(*arguments))


class Cluster:
    """Two workers; the first may die between two readers of its draw, and come back.

    Dask then draws once more for the shelf that is not yet made: seen on a cluster whose workers
    have fixed ports, where the two halves of a symmetric matrix differed in a fifth of the pairs.
    """

    def __init__(self, dies):
        self._dies = dies

    def nthreads(self):
        return {"tcp://first": 1, "tcp://second": 1}

    def submit(self, function, *arguments, actor=False, workers, **_):
        def make():
            made = function(*(a.result() if isinstance(a, Computed) else a for a in arguments))
            return Remote(made) if actor else made

        return Computed(make, self._dies and not actor and "tcp://first" in workers)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("dies", [False, True])
def test_two_draws_of_a_block_are_never_both_read_when_a_worker_dies(monkeypatch, dies, symmetric):
    monkeypatch.setattr(parted, "dask_client", lambda: Cluster(dies))
    if dies:
        with pytest.raises(ClusterError, match="nothing was released: start again"):
            noisy_matrix(DaskBlocks.from_pairs, symmetric=symmetric, source=SystemEntropy())
    else:
        steps = noisy_matrix(DaskBlocks.from_pairs, symmetric=symmetric).steps
        here = noisy_matrix(LocalBlocks.from_pairs, symmetric=symmetric).steps
        assert np.array_equal(steps, here)


def end_process(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_ends_the_work_with_one_sentence(cluster):
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as local,
        distributed.Client(local) as client,
    ):
        layout = Layout((N, N), False)
        distribution = distribution_for(random_graph(N), "binary", 1.0)
        pairs = [end_process] * len(layout.bounds())
        with pytest.raises(ClusterError, match="a worker of the Dask cluster was lost"):
            DaskBlocks.from_pairs(distribution, layout, pairs)
        client.restart()  # no task is left that would end another worker
        client.wait_for_workers(2)
        blocks = noisy_matrix(DaskBlocks.from_pairs).blocks
        with pytest.raises(ClusterError, match="a worker of the Dask cluster was lost"):
            blocks.map(end_process)
    assert cluster.nthreads()  # of the other tests


def test_without_a_cluster(monkeypatch):
    def no_client():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", no_client)
    with pytest.raises(ParameterError, match="Client first"):
        dask_client()
    with pytest.raises(ParameterError, match="Client first"):
        release_graph(random_graph(N), epsilon=1.0, fit="none", blocks="dask")


def forget_dask(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "distributed":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)


def test_without_dask(monkeypatch):
    forget_dask(monkeypatch)
    with pytest.raises(ParameterError, match=r"pip install 'graphcuts-dp\[dask\]'"):
        dask_client()


@pytest.mark.usefixtures("cluster")
def test_a_cluster_without_workers(cluster, monkeypatch):
    monkeypatch.setattr(type(cluster), "nthreads", lambda _: {})
    with pytest.raises(ParameterError, match="no workers"):
        dask_client()


def test_an_unknown_place():
    with pytest.raises(ParameterError, match="local, dask"):
        release_graph(random_graph(N), epsilon=1.0, blocks="spark")
