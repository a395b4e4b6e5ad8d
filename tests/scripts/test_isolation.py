"""One odd line among others changes no other row of ours; a reader that lets it do so is found."""

import csv

import pytest

from graphcuts_dp.io import text
from scripts import isolation

TRIES = 200  # together


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("block", [100, 1 << 20])
@pytest.mark.parametrize("reader", isolation.OURS)
def test_no_odd_line_harms_another_row_of_ours(tmp_path, monkeypatch, reader, block):
    monkeypatch.setattr(text, "BLOCK", block)
    harmed, refused = isolation.isolation(reader, TRIES // 8, block, tmp_path)
    assert not harmed
    assert not refused


def test_a_reader_whose_rows_go_on_over_lines_is_found(tmp_path, monkeypatch):
    def twin(path):
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            return [tuple(row[:2]) for row in csv.reader(file) if len(row) == 3][1:]

    monkeypatch.setitem(isolation.OTHERS, "twin", (".csv", twin))
    harmed, _ = isolation.isolation("twin", TRIES, 0, tmp_path)
    assert harmed["a quote that stays open"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reader", isolation.OTHERS)
def test_other_readers_can_be_asked(tmp_path, reader):
    pytest.importorskip(reader)
    isolation.isolation(reader, 3, 0, tmp_path)
