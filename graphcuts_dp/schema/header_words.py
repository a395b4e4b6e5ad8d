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
from itertools import islice
from typing import Literal, NamedTuple

Side = Literal["source", "target", "either"]
_SIDES: tuple[Literal["source", "target"], ...] = ("source", "target")
CLEAR, TIME, PAIRED = range(3)  # how sure a word names an endpoint; a pair is as sure as its words
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
# Suffixes and prefixes of the words of a family.
Affixes = tuple[tuple[str, ...], tuple[str, ...]]
_ANY: Affixes = ((*_PLACES, *_OTHERS), _PREFIXES)
_OF_PLACES: Affixes = (_PLACES, ())
_NONE: Affixes = ((), ())

# Marks behind a word: * it may be a time, so it gives way to other pairs (with a suffix it names a
# place); ? it says a side only beside its partner, and alone is no known word; ~ its side is sure,
# but it may be the label of a vertex, so alone it does not show that a line is a header; + it
# stands only with a suffix.
_FAMILIES: tuple[tuple[str, Affixes], ...] = (
    ("source src | target tgt destination dest dst", _ANY),
    ("from | to", _ANY),
    ("origin orig origine origen | destination dest dst destino", _ANY),
    ("start* begin* | end*", _ANY),
    ("start* | destination dest", _NONE),
    ("departure* dep* | arrival* arr*", _ANY),
    ("pickup* | dropoff*", _ANY),
    ("pulocation | dolocation", _NONE),
    ("pulocationid | dolocationid", _NONE),
    ("puzone | dozone", _NONE),
    ("sender | receiver recipient", _ANY),
    ("caller | callee", _ANY),
    ("callernumber callingnumber callingparty | calleenumber callednumber calledparty", _NONE),
    ("payer payor | payee beneficiary", _ANY),
    ("home~ residence~ | work~ workplace~", _OF_PLACES),
    ("hgeocode | wgeocode", _NONE),
    ("follower | followee", _ANY),
    ("ego | alter", _NONE),
    ("node1 | node2", _NONE),
    ("vertex1 | vertex2", _NONE),
    ("id1 | id2", _NONE),
    ("person1 | person2", _NONE),
    ("user1 | user2", _NONE),
    ("left? | right?", _NONE),
    ("user? userid? | item? itemid? movieid?", _NONE),
    # German.
    ("von | nach", _ANY),
    ("quelle quell+ start* ursprung herkunft | ziel", _ANY),
    ("abfahrt* | ankunft*", _ANY),
    ("absender sender | empfänger", _ANY),
    ("zahler auftraggeber | empfänger zahlungsempfänger begünstigter", _ANY),
    ("wohnort~ wohnung~ | arbeitsort~ arbeit~ arbeitsplatz~", _NONE),
    ("anrufer | angerufener angerufene angerufen", _ANY),
    # French.
    ("de? | vers à?", _NONE),
    ("départ* | arrivée*", _ANY),
    ("expéditeur | destinataire", _ANY),
    ("payeur | bénéficiaire", _ANY),
    ("domicile~ résidence~ | travail~", _NONE),
    ("appelant | appelé", _ANY),
    # Spanish.
    ("desde* de? | hasta* a?", _NONE),
    ("salida* | llegada*", _ANY),
    ("remitente emisor | destinatario receptor", _ANY),
    ("pagador | beneficiario", _ANY),
    ("domicilio~ residencia~ | trabajo~", _NONE),
)


class EndpointWord(NamedTuple):
    """A known word as a member of one family.

    Attributes:
        side: the endpoint that it names beside a word of the other side.
        family: the words that it belongs with, and their suffix or prefix.
        ambiguity: CLEAR, TIME if it may name a time, PAIRED if alone it names no side.
        label: whether it may be the label of a vertex, and a line that holds it no header.
        affixes: what it may stand with.
        whole: whether it may stand without any of them.
    """

    side: Literal["source", "target"]
    family: str
    ambiguity: int
    label: bool
    affixes: Affixes = _NONE
    whole: bool = True


NamedColumn = tuple[int, list[EndpointWord]]  # a column and what its name means


def _spellings(word: str) -> set[str]:
    """Return a word as people type it: with accents, without, and with German "ae" for "ä"."""
    spread = word.translate({ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue"})
    parts = unicodedata.normalize("NFD", word)
    return {word, spread, "".join(c for c in parts if not unicodedata.combining(c))}


def _stems() -> dict[str, list[EndpointWord]]:
    """Return what each spelling of each word of the table means."""
    stems: dict[str, list[EndpointWord]] = {}
    for family, affixes in _FAMILIES:
        for side, words in zip(_SIDES, family.split("|"), strict=True):
            for marked in words.split():
                stem, mark = marked.rstrip("*?~+"), marked[-1]
                ambiguity = TIME if mark == "*" else PAIRED if mark == "?" else CLEAR
                own = _NONE if mark == "?" else affixes
                member = EndpointWord(side, family, ambiguity, mark in "?~", own, mark != "+")
                for spelling in _spellings(stem):
                    stems.setdefault(spelling, []).append(member)
    return stems


_STEMS = _stems()
_ALWAYS_KNOWN = {"left", "right", "user", "userid", "item", "itemid", "movieid"}  # since 0.1


def meanings_of(word: str) -> list[EndpointWord]:
    """Return what a word means in each family that has it, with suffix or prefix.

    Args:
        word: in small letters, without blanks and signs.
    """
    meanings = [member for member in _STEMS.get(word, ()) if member.whole]
    if word.endswith(_ANY[0]) or word.startswith(_ANY[1]):
        for number, affixes in enumerate(_ANY):
            for affix in affixes:
                stem = word.removeprefix(affix) if number else word.removesuffix(affix)
                meanings += [
                    EndpointWord(
                        member.side, f"{member.family} {number}{affix}", CLEAR, label=False
                    )
                    for member in _STEMS.get(stem, ())
                    if len(stem) < len(word) and affix in member.affixes[number]
                ]
    return meanings


def is_header_word(word: str) -> bool:
    """Return whether a word shows that its line is a header: a known one that is no label."""
    return word in _ALWAYS_KNOWN or not all(member.label for member in meanings_of(word))


def side_of(word: str) -> Side | None:
    """Return which endpoint a word names: "either" if only its partner tells, None if unknown."""
    members = meanings_of(word)
    sides = {member.side for member in members if member.ambiguity != PAIRED}
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
    known: list[NamedColumn] = []
    counts: Counter[str] = Counter()
    for place in places:
        word = words[place]
        counts[word] += 1
        if counts[word] <= _MOST_OF_A_WORD:
            members = meanings_of(word)
            if members:
                known.append((place, members))
    for pairs in (
        _family_pairs(known, CLEAR),
        _mixed_pair(known),
        _family_pairs(known, TIME),
        _family_pairs(known, PAIRED),
    ):
        first = [*islice(pairs, _MOST_PAIRS)]
        if first:
            return first
    return []


def _mixed_pair(known: Sequence[NamedColumn]) -> Iterator[tuple[int, int]]:
    """Generate the pair of the only sure source and the only sure target, if there is one."""
    sure = [
        (members[0].side, place)
        for place, members in known
        if all(member.ambiguity == CLEAR for member in members)
    ]
    if sorted(side for side, _ in sure) == ["source", "target"]:
        places = dict(sure)
        yield places["source"], places["target"]


def _family_pairs(known: Sequence[NamedColumn], ambiguity: int) -> Iterator[tuple[int, int]]:
    """Generate each pair of one family whose less sure word has this ambiguity."""
    targets: dict[str, list[tuple[int, int]]] = {}
    for place, members in known:
        for member in members:
            if member.side == "target":
                targets.setdefault(member.family, []).append((place, member.ambiguity))
    pairs = {
        (place, target): None
        for place, members in known
        for member in members
        if member.side == "source"
        for target, other in targets.get(member.family, ())
        if max(member.ambiguity, other) == ambiguity
    }
    yield from pairs
