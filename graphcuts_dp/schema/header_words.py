"""Known words for the two endpoints of an edge, in English, German, French and Spanish.

A header is public and so are these words: they tell which column is the source of an edge and which
is its target, in whatever order the columns stand. `_FAMILIES` is the whole table; `endpoint_pairs`
finds the pairs of a header in it and `side_of` tells the side of one word.

A family holds the words that belong together, sources before the bar and targets after it. Every
word also stands with a suffix (`from_stop_id`) or prefix (`zona_origen`) of its family, and only
beside a word with the same one, so that a pair of ids and a pair of names are never mixed.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, final

Side = Literal["source", "target", "either"]
_SIDES: tuple[Literal["source", "target"], ...] = ("source", "target")
SURE, TIME, PAIRED = range(3)  # how sure a word names an endpoint; a pair is as sure as its words
_MOST_PAIRS = 3  # that a message offers
_MOST_OF_A_WORD = 2  # columns of one name that are looked at: two leave open which one is meant

_PLACES = (
    *("airport", "airportcode", "airportid", "area", "areaid", "bezirk", "bahnhof", "city"),
    *("cityid", "country", "county", "district", "geocode", "gemeinde", "haltestelle", "iata"),
    *("icao", "location", "locationid", "locationname", "ort", "place", "region", "state"),
    *("station", "stationcode", "stationid", "stationname", "stop", "stopid", "stopname", "tract"),
    *("zelle", "zone", "zoneid", "zonename"),
)
_OTHERS = (
    *("account", "accountid", "addr", "address", "code", "email", "host", "id", "ip", "ipaddress"),
    *("konto", "name", "node", "nodeid", "person", "personid", "user", "userid", "vertex"),
)
_PREFIXES = (
    *("cod", "codigo", "code", "commune", "estacion", "gare", "id", "idzona", "municipio"),
    *("station", "ville", "zona", "zone"),
)
_AFFIXES = (*((suffix, False) for suffix in (*_PLACES, *_OTHERS)), *((p, True) for p in _PREFIXES))
_PLACE_AFFIXES = tuple((suffix, False) for suffix in _PLACES)

# Marks behind a word: * it may be a time, so it gives way to other pairs (with a suffix it names a
# place); ? it says a side only beside its partner, and alone is no known word; ~ its side is sure,
# but it may be the label of a vertex, so alone it does not show that a line is a header; + it
# stands only with a suffix.
_FAMILIES: tuple[tuple[str, tuple[tuple[str, bool], ...]], ...] = (
    ("source src | target tgt destination dest dst", _AFFIXES),
    ("from | to", _AFFIXES),
    ("origin orig origine origen | destination dest dst destino", _AFFIXES),
    ("start* begin* | end*", _AFFIXES),
    ("start | destination dest", ()),
    ("departure* dep* | arrival* arr*", _AFFIXES),
    ("pickup* | dropoff*", _AFFIXES),
    ("pulocation | dolocation", ()),
    ("pulocationid | dolocationid", ()),
    ("puzone | dozone", ()),
    ("sender | receiver recipient", _AFFIXES),
    ("caller | callee", _AFFIXES),
    ("callernumber callingnumber callingparty | calleenumber callednumber calledparty", ()),
    ("payer payor | payee beneficiary", _AFFIXES),
    ("home~ residence~ | work~ workplace~", _PLACE_AFFIXES),
    ("hgeocode | wgeocode", ()),
    ("follower | followee", _AFFIXES),
    ("ego | alter", ()),
    ("node1 | node2", ()),
    ("vertex1 | vertex2", ()),
    ("id1 | id2", ()),
    ("person1 | person2", ()),
    ("user1 | user2", ()),
    ("left? | right?", ()),
    ("user? userid? | item? itemid? movieid?", ()),
    # German.
    ("von | nach", _AFFIXES),
    ("quelle quell+ start ursprung herkunft | ziel", _AFFIXES),
    ("abfahrt* | ankunft*", _AFFIXES),
    ("absender sender | empfänger", _AFFIXES),
    ("zahler auftraggeber | empfänger zahlungsempfänger begünstigter", _AFFIXES),
    ("wohnort~ wohnung~ | arbeitsort~ arbeit~ arbeitsplatz~", ()),
    ("anrufer | angerufener angerufene angerufen", _AFFIXES),
    # French.
    ("de? | vers à?", ()),
    ("départ* | arrivée*", _AFFIXES),
    ("expéditeur | destinataire", _AFFIXES),
    ("payeur | bénéficiaire", _AFFIXES),
    ("domicile~ résidence~ | travail~", ()),
    ("appelant | appelé", _AFFIXES),
    # Spanish.
    ("desde* de? | hasta* a?", ()),
    ("salida* | llegada*", _AFFIXES),
    ("remitente emisor | destinatario receptor", _AFFIXES),
    ("pagador | beneficiario", _AFFIXES),
    ("domicilio~ residencia~ | trabajo~", ()),
)


@final
@dataclass(frozen=True, slots=True)
class EndpointWord:
    """A known word as a member of one family.

    Attributes:
        side: the endpoint that it names beside a word of the other side.
        family: the words that it belongs with, and their suffix.
        doubt: SURE, TIME if it may name a time, PAIRED if alone it names no side.
        label: whether it may be the label of a vertex, and a line that holds it no header.
    """

    side: Literal["source", "target"]
    family: str
    doubt: int
    label: bool


Known = tuple[int, tuple[EndpointWord, ...]]  # a column and what its name means


def _spellings(word: str) -> set[str]:
    """Return a word as people type it: with accents, without, and with German "ae" for "ä"."""
    spread = word.translate({ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue"})
    parts = unicodedata.normalize("NFD", word)
    return {word, spread, "".join(c for c in parts if not unicodedata.combining(c))}


def _members() -> Iterator[tuple[str, EndpointWord]]:
    """Generate each spelling of each word with what it means."""
    for family, affixes in _FAMILIES:
        for side, words in zip(_SIDES, family.split("|"), strict=True):
            for marked in words.split():
                stem, mark = marked.rstrip("*?~+"), marked[-1]
                doubt = TIME if mark == "*" else PAIRED if mark == "?" else SURE
                for spelling in _spellings(stem):
                    if mark != "+":
                        yield spelling, EndpointWord(side, family, doubt, mark in "?~")
                    for affix, before in affixes if mark != "?" else ():
                        word = affix + spelling if before else spelling + affix
                        key = f"{family} {affix}{' before' if before else ''}"
                        yield word, EndpointWord(side, key, SURE, label=False)


def _table() -> dict[str, tuple[EndpointWord, ...]]:
    table: dict[str, tuple[EndpointWord, ...]] = {}
    for word, member in _members():
        table[word] = (*table.get(word, ()), member)
    return table


ENDPOINT_WORDS = _table()  # by words in small letters, without blanks and signs
# Words that show that a line is a header. Some of pairs were always among them.
HEADER_WORDS = frozenset(
    {word for word, members in ENDPOINT_WORDS.items() if not all(each.label for each in members)}
    | {"left", "right", "user", "userid", "item", "itemid", "movieid"}
)


def side_of(word: str) -> Side | None:
    """Return which endpoint a word names: "either" if only its partner tells, None if unknown."""
    members = ENDPOINT_WORDS.get(word, ())
    sides = {member.side for member in members if member.doubt != PAIRED}
    if len(sides) == 1:
        return sides.pop()
    return "either" if members else None


def endpoint_pairs(words: Sequence[str], places: Iterable[int]) -> list[tuple[int, int]]:
    """Find the columns that are named as a source and a target.

    The first of these kinds that has a pair decides: pairs of one family of sure words; a single
    sure source and a single sure target of two families; pairs of a family that may name times;
    pairs of words that say a side only together.

    Args:
        words: names of the columns, normalised.
        places: the columns that may be endpoints.

    Returns:
        Places of source and target, at most `_MOST_PAIRS` pairs; several if the header leaves open
        which one is meant.
    """
    known: list[Known] = []
    counts: Counter[str] = Counter()
    for place in places:
        members = ENDPOINT_WORDS.get(words[place])
        if members is not None and counts[words[place]] < _MOST_OF_A_WORD:
            counts[words[place]] += 1
            known.append((place, members))
    for pairs in (
        _family_pairs(known, SURE),
        _mixed_pair(known),
        _family_pairs(known, TIME),
        _family_pairs(known, PAIRED),
    ):
        first = [*islice(pairs, _MOST_PAIRS)]
        if first:
            return first
    return []


def _mixed_pair(known: Sequence[Known]) -> Iterator[tuple[int, int]]:
    """Generate the pair of the only sure source and the only sure target, if there is one."""
    sure = [
        (members[0].side, place)
        for place, members in known
        if all(member.doubt == SURE for member in members)
    ]
    if sorted(side for side, _ in sure) == ["source", "target"]:
        places = dict(sure)
        yield places["source"], places["target"]


def _family_pairs(known: Sequence[Known], doubt: int) -> Iterator[tuple[int, int]]:
    """Generate each pair of one family whose less sure word has this doubt."""
    targets: dict[str, list[tuple[int, int]]] = {}
    for place, members in known:
        for member in members:
            if member.side == "target":
                targets.setdefault(member.family, []).append((place, member.doubt))
    pairs = {
        (place, target): None
        for place, members in known
        for member in members
        if member.side == "source"
        for target, other in targets.get(member.family, ())
        if max(member.doubt, other) == doubt
    }
    yield from pairs
