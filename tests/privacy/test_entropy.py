import multiprocessing
import os

import numpy as np
import pytest

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.entropy import SeededEntropy, SystemEntropy, entropy_source


def test_a_seeded_stream_repeats():
    first, second = SeededEntropy(7), SeededEntropy(7)
    for count in (1, 8, 13, 4096):
        assert np.array_equal(first.bytes(count), second.bytes(count))


def test_a_seeded_stream_moves_on_and_seeds_differ():
    source = SeededEntropy(7)
    start = source.bytes(64)
    assert not np.array_equal(start, source.bytes(64))
    assert not np.array_equal(start, SeededEntropy(8).bytes(64))


def test_the_stream_of_a_seed_is_the_same_on_every_machine():
    # Philox and SeedSequence are specified; a change of either would void stored figures.
    assert SeededEntropy(0).bytes(8).tolist() == SeededEntropy(np.int64(0)).bytes(8).tolist()
    words = np.random.Philox(np.random.SeedSequence(5)).random_raw(2)
    assert SeededEntropy(5).bytes(16).tobytes() == words.astype("<u8").tobytes()


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100])
@pytest.mark.parametrize("source", [SystemEntropy(), SeededEntropy(1)])
def test_as_many_bytes_as_asked(source, count):
    given = source.bytes(count)
    assert given.dtype == np.uint8
    assert given.shape == (count,)


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


def test_system_entropy_splits_into_itself():
    source = SystemEntropy()
    assert [part.seed for part in source.split(4)] == [None] * 4
    assert len({part.bytes(16).tobytes() for part in source.split(100)}) == 100


def test_system_entropy_never_repeats():
    source = SystemEntropy()
    seen = {source.bytes(16).tobytes() for _ in range(1000)}
    assert len(seen) == 1000  # a repeat of 128 bits has probability below 1e-32
    assert source.seed is None


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, False, None, [1]])
def test_bad_seeds(seed):
    with pytest.raises(ParameterError, match="a seed is an integer >= 0"):
        SeededEntropy(seed)


def test_a_source_is_chosen_by_the_seed():
    assert isinstance(entropy_source(None), SystemEntropy)
    assert isinstance(entropy_source(0), SeededEntropy)  # 0 is a seed, not "no seed"
    assert entropy_source(3).seed == 3


def test_repr_tells_that_a_seed_is_not_private_and_hides_it():
    assert "seeded: not private" in repr(SeededEntropy(12345))
    assert "12345" not in repr(SeededEntropy(12345))
    assert "not private" not in repr(SystemEntropy())


_SHARED = SystemEntropy()


def _draw(queue, count):
    queue.put([_SHARED.bytes(16).tobytes() for _ in range(count)])


def _drawn_by_children(method, count):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    children = [context.Process(target=_draw, args=(queue, 50)) for _ in range(count)]
    for child in children:
        child.start()
    drawn = [queue.get(timeout=60) for _ in children]
    for child in children:
        child.join(timeout=60)
        assert child.exitcode == 0
    return [draw for part in drawn for draw in part]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize(("method", "count"), [("fork", 2), ("spawn", 1)])
def test_children_never_repeat_the_bits_of_their_parent(method, count):
    _SHARED.bytes(16)  # used before the children exist: a buffer would now be shared
    children = _drawn_by_children(method, count)
    parent = [_SHARED.bytes(16).tobytes() for _ in range(50)]
    assert len(set(children + parent)) == 50 * (count + 1)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_bare_fork_does_not_repeat_either():
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write_end, _SHARED.bytes(16).tobytes())
        os._exit(0)
    mine = _SHARED.bytes(16).tobytes()
    assert os.waitpid(pid, 0)[1] == 0
    assert os.read(read_end, 16) != mine
    os.close(read_end)
    os.close(write_end)
