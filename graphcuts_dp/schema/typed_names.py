"""Lists of names as people type them: `split_names` reads one, and `join_names` writes one.

The rules are those of CSV (RFC 4180), with blanks around names ignored: names stand with commas
between, as in `north,south`. A name that holds a comma, or begins with a quote, stands in double
quotes, and a quote within these is typed twice: `"Halle, Saale",Leipzig`. Every list of names that
is typed is read here: sets of vertices, groups and periods in queries, lists of periods, levels.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from graphcuts_dp.errors import ParameterError


def split_names(text: str, separator: str = ",") -> list[str]:
    """Return the names of a list, in order; an empty name is kept, for the caller to refuse.

    Args:
        text: the list as it was typed.
        separator: the character between names: a comma, or a slash between levels.

    Raises:
        ParameterError: quotes that do not match.
    """
    return [
        item["word"].strip() if item["quoted"] is None else item["quoted"].replace('""', '"')
        for item in _items(text, separator)
    ]


def split_lists(text: str, separator: str = "/") -> list[str]:
    """Return the lists of names between slashes, each as it was typed, for `split_names`.

    A slash within quotes belongs to a name.

    Raises:
        ParameterError: quotes that do not match.
    """
    lists, start = [], 0
    for item in _items(text, f",{separator}"):
        if item["after"] != ",":
            lists.append(text[start : item.start("after")])
            start = item.end()
    return lists


def join_names(names: Iterable[Any], separator: str = ",") -> str:
    """Return a list of names as one text, of which `split_names` makes the same texts again."""
    return separator.join(_quoted_if_needed(str(name), separator) for name in names)


def needs_quotes(name: str, separator: str = ",") -> bool:
    """Return whether a name is typed in quotes."""
    return separator in name or name.startswith('"') or name != name.strip()


def _quoted_if_needed(name: str, separator: str) -> str:
    return '"' + name.replace('"', '""') + '"' if needs_quotes(name, separator) else name


def _items(text: str, separators: str) -> Iterator[re.Match[str]]:
    """Match one name after the other: its text in quotes or without, and the character after it."""
    between = f"[{re.escape(separators)}]"
    pattern = re.compile(
        rf'\s*+(?:"(?P<quoted>(?:[^"]|"")*+)"\s*+|(?P<word>(?!")(?:(?!{between}).)*+))'
        rf"(?P<after>{between}|\Z)",
        re.DOTALL,
    )
    position = 0
    while True:
        item = pattern.match(text, position)
        if item is None:
            raise ParameterError(
                'check the quotes: a name with a comma is typed "Lee, Ann", and a quote within '
                'such a name twice, ""'
            )
        yield item
        if not item["after"]:
            return
        position = item.end()
