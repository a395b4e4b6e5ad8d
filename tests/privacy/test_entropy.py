"""Sources of bits: streams, splits, forks; and what each sampler and product draws for a seed.

They are integers drawn by exact samplers, so they do not depend on the processor, on BLAS, on how
many threads there are, or on the operating system. What is computed from them afterwards (fits,
certificates, intervals) may differ in the last digits. `scripts/portable.py` runs this file under
other kernels. A digest changes only when the noise itself is drawn in another way: say so in the
changelog, since stored figures and examples are then drawn again.
"""

import hashlib
import multiprocessing
import os
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy import noise
from graphcuts_dp.privacy.entropy import SystemEntropy, entropy_source

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


def test_the_stream_of_a_seed_is_the_same_on_every_machine():
    # Philox and SeedSequence are specified; a change of either would void stored figures.
    assert SeededEntropy(0).bytes(8).tolist() == SeededEntropy(np.int64(0)).bytes(8).tolist()
    words = np.random.Philox(np.random.SeedSequence(5)).random_raw(2)
    source = SeededEntropy(5)
    assert source.bytes(8).tobytes() + source.bytes(8).tobytes() == words.astype("<u8").tobytes()
    for source in (SystemEntropy(), SeededEntropy(1)):
        assert [source.bytes(n).shape for n in (0, 1, 7, 9)] == [(0,), (1,), (7,), (9,)]


def test_split_streams_are_repeatable_and_all_different():
    first, second = SeededEntropy(7), SeededEntropy(7)
    streams = [*first.split(3), *first.split(3), first, SeededEntropy(8).split(1)[0]]
    streams += [*streams[0].split(2), *streams[1].split(2)]
    drawn = [stream.bytes(32).tobytes() for stream in streams]
    assert len(set(drawn)) == len(drawn)
    again = second.split(3)
    assert [again[i].bytes(32).tobytes() for i in (2, 0, 1)] == [drawn[i] for i in (2, 0, 1)]
    assert second.bytes(32).tobytes() == drawn[6]  # splitting takes nothing from the stream
    assert all(stream.seed == 7 for stream in streams[:7])


def test_system_entropy_never_repeats():
    source = SystemEntropy()
    sources = [source] * 900 + source.split(100)
    seen = {each.bytes(16).tobytes() for each in sources}
    assert len(seen) == 1000  # a repeat of 128 bits has probability below 1e-32
    assert {each.seed for each in sources} == {None}


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, False, None, [1]])
def test_bad_seeds(seed):
    with pytest.raises(ParameterError, match="a seed is an integer >= 0"):
        SeededEntropy(seed)


def test_a_seed_is_not_private_and_no_seed_is_zero():
    assert isinstance(entropy_source(None), SystemEntropy)
    assert entropy_source(0).seed == 0
    assert "seeded: not private" in repr(SeededEntropy(12345))
    assert "12345" not in repr(SeededEntropy(12345))
    assert "not private" not in repr(SystemEntropy())


SHARED = SystemEntropy()


def drawn(_=None):
    """Bytes, and noise so wide that no two draws are equal, in case a sampler keeps bytes back."""
    noises = noise.sample_discrete_laplace(Fraction(1, 2**90), 50, SHARED)
    return [SHARED.bytes(16).tobytes() for _ in range(50)] + noises.tolist()


@pytest.mark.thorough(cases=1)
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize(("method", "count"), [("fork", 2), ("spawn", 1)])
def test_children_never_repeat_the_bits_of_their_parent(method, count):
    seen = set(drawn())  # used before the children exist: a buffer would now be shared
    with multiprocessing.get_context(method).Pool(count, maxtasksperchild=1) as pool:
        for child in pool.map(drawn, range(count), chunksize=1):
            seen |= set(child)
    assert len(seen | set(drawn())) == 100 * (count + 2)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_bare_fork_does_not_repeat_either():
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write_end, SHARED.bytes(16).tobytes())
        os._exit(0)
    mine = SHARED.bytes(16).tobytes()
    assert os.waitpid(pid, 0)[1] == 0
    with os.fdopen(read_end, "rb") as reader, os.fdopen(write_end, "wb"):
        assert reader.read(16) != mine


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
        return gc.Graph(rows, columns, weights, vertices=60, max_weight=4.0)
    return gc.Graph(rows, columns, vertices=60)


SAMPLERS = {
    "flips": (noise.sample_flips, Fraction(1, 3), 3000, "a5268b429422929b"),
    "geometric": (noise.sample_geometric, Fraction(1, 5000), 3000, "111dd43b87f09f51"),
    "laplace": (noise.sample_discrete_laplace, Fraction(2, 7), 3000, "d472ef1678ef5571"),
    "gaussian": (noise.sample_discrete_gaussian, Fraction(50, 3), 300, "5d8414dbfb6a09cb"),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samples(name):
    sample, parameter, count, known = SAMPLERS[name]
    assert digest(sample(parameter, count, SeededEntropy(11))) == known


RELEASES = {
    ("simple", "binary", "randomized-response"): "4973e6feeb1354c9",
    ("simple", "binary", "auto"): "3668a1e2707dec6d",
    ("simple", "discrete-laplace", "degrees+randomized-response"): "dce1c62e310b8fc5",
    ("bipartite", "binary", "degrees+randomized-response"): "0e1fb55f21dfbe8b",
    ("weighted", "laplace", "degrees+randomized-response"): "508209adceb5524d",
    ("weighted", "discrete-laplace", "auto"): "941e1563f7c548d5",
}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("kind", "distribution", "mechanism"), RELEASES)
def test_measurements_of_a_release(kind, distribution, mechanism):
    made = gc.release_graph(
        graph_of(kind), epsilon=1.0, noise=distribution, mechanism=mechanism, seed=5
    )
    parts = [made.noisy.steps]
    if made.degrees is not None:
        parts += [made.degrees.steps[0], made.degrees.steps[-1]]
    if made.total is not None:
        parts.append(round(made.total.total * 2**20))
    assert digest(*parts) == RELEASES[kind, distribution, mechanism]
