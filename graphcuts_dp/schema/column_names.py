"""Names of columns: how they are compared, which are known, and which a message may quote.

Names in a header are compared in a *normalised* form: without case, blanks and signs, see
`normalised_names`. Known names are those of weights and of other columns in this file, and those of
endpoints in `schema.header_words`, whose `meanings_of` returns an empty list for other words. A
first line that is taken for a header may be a private row, so messages quote known names only, see
`known_name`.
"""

import re
from collections.abc import Sequence

from graphcuts_dp.schema.header_words import meanings_of

# Names of columns, normalised by `normalised_names`. These are weights:
WEIGHTS = (
    *("weight", "weights", "w", "count", "counts", "value", "amount", "frequency", "strength"),
    *("length", "distance"),
)
# Neither weights nor endpoints:
NO_WEIGHTS = (
    *("type", "id", "edgeid", "index", "label", "timeset", "interval", "kind", "directed"),
    *("time", "timestamp", "ts", "date", "datetime", "unixts", "when", "created", "createdat"),
    *("relation", "relationship", "relationtype", "starttime", "endtime"),
)
# All known names that are no endpoints:
NO_ENDPOINTS = {*WEIGHTS, *NO_WEIGHTS}
# Types that Neo4j writes behind a colon in names of columns, as in weight:float.
_NEO4J_TYPES = (
    *("int", "long", "float", "double", "boolean", "byte", "short", "char", "string", "point"),
    *("date", "localtime", "time", "localdatetime", "datetime", "duration"),
)
_MOST_QUOTED_CHARACTERS = 60  # of a name in a sentence
# A name that begins and ends with a letter or digit, with blanks, dots, hyphens or "_" between.
# Quoting such a name shows nothing beyond its known word but case and separators.
_PLAIN_NAME = re.compile(r"[^\W_](?:[\w .-]*[^\W_])?")


def normalised_names(names: Sequence[str]) -> list[str]:
    """Return names without case, blanks, signs, what stands in brackets, and Neo4j's types."""
    # Each distinct name once: a line may hold millions of equal cells.
    normalised = {
        name: re.sub(r"\(.*?\)|[\W_]", "", _without_neo4j_type(name)).casefold()
        for name in {*names}
    }
    return [normalised[name] for name in names]


def _without_neo4j_type(name: str) -> str:
    """Return `weight` for `weight:float`, and `:START_ID` for `person:START_ID`, as in Neo4j."""
    property_name, colon, neo4j_type = name.partition(":")
    if not colon:
        return name
    neo4j_type = re.sub(r"\(.*?\)|\[\]", "", neo4j_type).strip()
    if neo4j_type.upper() in ("START_ID", "END_ID", "TYPE"):
        return f":{neo4j_type}"
    if property_name and neo4j_type.casefold() in _NEO4J_TYPES:
        return property_name
    return name


def known_name(header_name: str, name: str) -> str:
    """Return a known name as it may be quoted; "" if it is not known.

    Args:
        header_name: the name in the header.
        name: the same, normalised.

    Returns:
        The name as the header writes it, such as "Start Date", if it has the letters and digits of
        the known word in order, and is short. Else the known word in its normalised form: what the
        header writes may then be private, such as text in brackets.
    """
    if name not in NO_ENDPOINTS and not meanings_of(name):
        return ""
    is_short = len(header_name) <= _MOST_QUOTED_CHARACTERS
    if is_short and _PLAIN_NAME.fullmatch(header_name):
        letters = re.sub(r"[\W_]", "", header_name).casefold()
        if letters == name:
            return header_name
    return name
