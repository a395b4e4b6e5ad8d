"""Numbers for equal pieces of a text, beside a dictionary; digits in words, beside `int`."""

import numpy as np
import pytest

from graphcuts_dp.graph import gathered
from graphcuts_dp.graph.edge_lists import split_cells
from graphcuts_dp.graph.gathered import NameTable, words_before


def _coded(pieces: list[bytes]) -> tuple[list[int], list[str]]:
    """Numbers and names of pieces with a comma behind each, half of them after the others."""
    lengths = np.array([len(piece) for piece in pieces], dtype=np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    words = words_before(b"".join(piece + b"," for piece in pieces))
    table, half = NameTable(), len(pieces) // 2
    codes = [
        table.numbers(words, starts[at], lengths[at]) for at in (slice(half), slice(half, None))
    ]
    return np.concatenate(codes).tolist(), table.names()


def _check(pieces: list[bytes]) -> None:
    codes, names = _coded(pieces)
    assert len(set(names)) == len(names) == len(set(pieces))
    assert [names[number].encode() for number in codes] == pieces


@pytest.mark.parametrize("longest", [0, 1, 7, 8, 9, 16, 17, 40, 256])
def test_equal_pieces_and_no_others_get_one_number(longest: int) -> None:
    draw = np.random.default_rng(longest)
    sizes = draw.integers(0, longest + 1, 3_000)
    _check([bytes(draw.integers(97, 99, size).tolist()) for size in sizes])


def test_pieces_that_differ_in_a_zero_byte_are_not_equal() -> None:
    _check([b"", b"\0", b"\0\0", b"a", b"a\0", b"\0a", b"a" * 8, b"a" * 8 + b"\0", b""])


def test_pieces_that_share_all_but_one_byte() -> None:
    whole = b"0123456789abcdefghijklmn"
    pieces = [whole[:place] + b"#" + whole[place + 1 :] for place in range(len(whole))]
    _check([whole, *pieces, whole, *reversed(pieces)])


def test_hashes_that_collide_cost_time_but_no_correctness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathered.PieceWords, "hashes", lambda self, _: self.first & np.uint64(0))
    _check([b"v%d" % (number % 50) for number in range(400)])


def test_no_pieces_and_names_of_any_length() -> None:
    assert _coded([]) == ([], [])
    table, names = NameTable(), ["x" * 300, "y", "x" * 300, "z" * 256, "é"]
    assert [table.names()[number] for number in table.numbers_of(names)] == names
    assert len(table) == 4


def test_cells_of_a_column_are_taken_together() -> None:
    split = split_cells("ä,b,1\nb,Ω,2.5\n".encode(), b",", 3, (0, 1), inner_blanks=False)
    assert split is not None
    weights = split.numbers(2)
    assert weights is not None
    assert weights.tolist() == [1, 2.5]
    assert split.numbers(0) is split.integers(2) is None
    long = split_cells(b"a,%s\n" % (b"1" * 300), b",", 2, (0, 1), inner_blanks=False)
    assert long is not None
    assert long.texts(1) is None


def _numbers(rows: list[tuple[str, str]]) -> tuple[list[int], list[int]] | None:
    text = "".join(f"{a} {b}\n" for a, b in rows).encode()
    cells = split_cells(text, b" ", 2, (0, 1), inner_blanks=False)
    assert cells is not None
    ends = cells.integers(0), cells.integers(1)
    return None if ends[0] is None or ends[1] is None else (ends[0].tolist(), ends[1].tolist())


@pytest.mark.parametrize("digits", range(1, 19))
def test_integers_of_every_length(digits: int) -> None:
    draw = np.random.default_rng(digits)
    low = 0 if digits == 1 else 10 ** (digits - 1)
    values = [low, 10**digits - 1, *draw.integers(low, 10**digits, 50).tolist()]
    # Beside long ones stand short ones, whose words hold the bytes of their neighbours.
    rows = [(value, other) for value in values for other in (0, 7, value, 10, 99_999_999)]
    found = _numbers([(str(a), str(b)) for a, b in rows])
    assert found == ([a for a, _ in rows], [b for _, b in rows])


@pytest.mark.parametrize("token", ["01", "00", "0123456789", "1" * 19, "1a", "a1", "/9", ":1", "é"])
@pytest.mark.parametrize("place", [0, 1])
def test_what_is_no_plain_integer_is_declined(token: str, place: int) -> None:
    row = ["12345678901", "5"]
    assert _numbers([("1", "2"), (row[0], row[1])]) is not None
    row[place] = token
    assert _numbers([("1", "2"), (row[0], row[1])]) is None


def test_every_byte_that_is_no_digit_is_declined_at_every_place() -> None:
    for byte in set(range(256)) - set(b"0123456789\n \r,\t"):
        for place in range(17):
            token = bytearray(b"12345678912345678")
            token[place] = byte
            cells = split_cells(b"3 %s\n" % bytes(token), b" ", 2, (0, 1), inner_blanks=False)
            assert cells is None or cells.integers(1) is None, (byte, place)
