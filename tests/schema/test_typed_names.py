"""Lists of names as they are typed: by the rules of CSV, everywhere."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.schema.typed_names import join_names, split_lists, split_names

NAMES = st.text(st.sampled_from('ab ,"/\n\u00fc@'), max_size=6)


@given(st.lists(NAMES, min_size=1), st.sampled_from(",/"))
def test_what_is_joined_is_split_into_the_same_names(names, separator):
    assert split_names(join_names(names, separator), separator) == names


@given(st.lists(NAMES.filter(lambda name: "\n" not in name), min_size=1))
def test_lists_that_csv_writes_are_read(names):
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="").writerow(names)
    assert split_names(text.getvalue()) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"S\u00fcd, links des Mains",Nord', ["S\u00fcd, links des Mains", "Nord"]),
        ('"a" , b ,"c"', ["a", "b", "c"]),
        ("", [""]),
        ("a,,b,", ["a", "", "b", ""]),
        ('O"Neil,"say ""no"""', ['O"Neil', 'say "no"']),
    ],
)
def test_blanks_around_names_and_quotes_within_them(text, names):
    assert split_names(text) == names


@pytest.mark.parametrize("text", ['"a', '"a"b', '"', 'a,"b', '"a"\n"b"', '"a""'])
def test_quotes_that_do_not_match_are_refused(text):
    with pytest.raises(ParameterError, match="check the quotes"):
        split_names(text)


def test_lists_between_slashes_keep_their_quotes():
    assert split_lists('north,"a/b, c"/ south') == ['north,"a/b, c"', " south"]
    assert [split_names(text) for text in split_lists('x/"y/z"')] == [["x"], ["y/z"]]


def test_periods_may_be_named_with_commas():
    assert gc.Periods.of('"spring, early",autumn').labels == ("spring, early", "autumn")
