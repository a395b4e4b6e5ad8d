"""Known words for the two endpoints of an edge, in English, German, French and Spanish.

The header of a table is public. Its words say which column holds the *source* of an edge and which
the *target*, in whatever order the columns stand. `endpoint_pairs` finds such pairs of columns, and
`side_of` says which endpoint a single word names. Words are normalised: small letters, without
blanks and signs.

The table `_FAMILIES` holds all words. A *family* holds the words that belong together, sources
before the bar and targets behind it. A word may also stand with an *affix*: a suffix
(`from_stop_id`) or a prefix (`zona_origen`). It then pairs only with a word with the same affix, so
a column of ids is never paired with one of names.

A word has several *meanings* if it stands in several families. All of them have the same side,
which `_mixed_pair` relies on and a test checks: a word that stands before the bar of one family
must not stand behind that of another.

If nobody has said whether a file has a header, its first line is taken for one only if a word
shows it (`is_header_word`): the line may be a row, whose cells are labels of vertices, such as
"home".
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Literal, NamedTuple

Side = Literal["source", "target", "either"]
_SIDES: tuple[Literal["source", "target"], ...] = ("source", "target")
# How surely a word names an endpoint, from sure to unsure:
# CLEAR: always; this is so for all words without the marks * and ? of `_FAMILIES`.
# TIME: unless it names a time, such as "start"; mark *.
# PAIRED: only beside a word of the other side of its family, such as "left" beside "right"; mark ?.
# A pair is as sure as its less sure word: it has the larger of the two numbers.
CLEAR, TIME, PAIRED = range(3)
_MOST_PAIRS = 3  # that are returned, for a message that offers them
# Of columns with the same name only so many are looked at, as a header may have millions. Two are
# enough: they make two pairs, so that `endpoint_pairs` leaves open which one is meant.
_MOST_SAME_NAME = 2

_PLACES = (
    *("airport", "airportcode", "airportid", "area", "areaid", "bezirk", "bahnhof", "city"),
    *("cityid", "country", "county", "district", "geocode", "gemeinde", "haltestelle", "iata"),
    *("icao", "location", "locationid", "locationname", "ort", "place", "region", "state"),
    *("station", "stationcode", "stationid", "stationname", "stop", "stopid", "stopname", "tract"),
    *("zelle", "zone", "zoneid", "zonename"),
    # Of hospitals and houses.
    *("ward", "wardid", "wardname", "department", "unit", "room", "floor", "building", "site"),
    *(
        "abteilung",
        "klinik",
        "zimmer",
        "raum",
        "gebäude",
        "gebaeude",
        "standort",
        "stadtteil",
        "kreis",
    ),
)
_OTHERS = (
    *("account", "accountid", "addr", "address", "code", "email", "host", "id", "ip", "ipaddress"),
    *("konto", "name", "node", "nodeid", "person", "personid", "user", "userid", "vertex"),
)
_PREFIXES = (
    *("cod", "codigo", "code", "commune", "estacion", "gare", "id", "idzona", "municipio"),
    *("station", "ville", "zona", "zone"),
    *("abteilung", "arrêt", "arret", "chambre", "lieu", "quartier", "salle", "service", "ward"),
    *("barrio", "ciudad", "lugar", "parada", "planta", "sala", "servicio"),
)

# Suffixes, and prefixes, that the words of a family may have: (suffixes, prefixes).
Affixes = tuple[tuple[str, ...], tuple[str, ...]]
_ANY: Affixes = ((*_PLACES, *_OTHERS), _PREFIXES)
_OF_PLACES: Affixes = (_PLACES, ())
_NONE: Affixes = ((), ())

# A word may end with a mark. All marks are about the word without an affix; with one it is CLEAR.
# *  It may name a time, as "start". A pair with it is taken only if there is no sure pair.
# ?  It says a side only beside its partner. It may be the label of a vertex, and has no affix.
# ~  Its side is sure, but it may be the label of a vertex.
# +  It does not occur without an affix.
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
# Words with ? that show a header all the same. Earlier versions took files with these words in the
# first line for files with a header, and must go on to do so.
_ALWAYS_KNOWN = {"left", "right", "user", "userid", "item", "itemid", "movieid"}


class EndpointWord(NamedTuple):
    """One meaning of a word: its membership in one family.

    Attributes:
        side: the endpoint that it names beside a word of the other side.
        family_key: the family and the affix of the word. Two words pair if they have the same key.
        ambiguity: CLEAR, TIME or PAIRED.
        may_be_label: whether it may be the label of a vertex, so that its line may be a row.
        affixes: suffixes and prefixes that it may have; none if it has one already.
        stands_alone: whether it may stand without an affix.
    """

    side: Literal["source", "target"]
    family_key: str
    ambiguity: int
    may_be_label: bool
    affixes: Affixes = _NONE
    stands_alone: bool = True


NamedColumn = tuple[int, list[EndpointWord]]  # position of a column, and the meanings of its name


def endpoint_pairs(words: Sequence[str], positions: Iterable[int]) -> list[tuple[int, int]]:
    """Find the columns whose names are those of a source and a target.

    The first of these kinds of pairs that occurs decides:

    1. pairs of one family whose words are sure;
    2. the only sure source and the only sure target, of two families;
    3. pairs of one family of which a word may name a time;
    4. pairs of one family of which a word says a side only beside its partner.

    Args:
        words: names of all columns, normalised.
        positions: the columns that may be endpoints.

    Returns:
        Positions of source and target of at most `_MOST_PAIRS` pairs. Several pairs mean that the
        header leaves open which one is meant.
    """
    known_columns: list[NamedColumn] = []
    counts: Counter[str] = Counter()
    for position in positions:
        word = words[position]
        counts[word] += 1
        if counts[word] <= _MOST_SAME_NAME:
            meanings = meanings_of(word)
            if meanings:
                known_columns.append((position, meanings))
    for pairs in (
        _family_pairs(known_columns, CLEAR),
        _mixed_pair(known_columns),
        _family_pairs(known_columns, TIME),
        _family_pairs(known_columns, PAIRED),
    ):
        first_pairs = [*islice(pairs, _MOST_PAIRS)]
        if first_pairs:
            return first_pairs
    return []


def _family_pairs(
    known_columns: Sequence[NamedColumn], ambiguity: int
) -> Iterator[tuple[int, int]]:
    """Generate each pair of one family whose less sure word has this ambiguity, once."""
    targets: dict[str, list[tuple[int, int]]] = {}  # by family: position and ambiguity
    for position, meanings in known_columns:
        for meaning in meanings:
            if meaning.side == "target":
                targets.setdefault(meaning.family_key, []).append((position, meaning.ambiguity))
    pairs = {  # a dict, which keeps the order and each pair once
        (position, target): None
        for position, meanings in known_columns
        for meaning in meanings
        if meaning.side == "source"
        for target, target_ambiguity in targets.get(meaning.family_key, ())
        if max(meaning.ambiguity, target_ambiguity) == ambiguity
    }
    yield from pairs


def _mixed_pair(known_columns: Sequence[NamedColumn]) -> Iterator[tuple[int, int]]:
    """Generate the pair of the only sure source and the only sure target, if there is one."""
    # Side and position of each column with a sure word. All meanings of a word have the same side.
    sure_columns = [
        (meanings[0].side, position)
        for position, meanings in known_columns
        if all(meaning.ambiguity == CLEAR for meaning in meanings)
    ]
    if sorted(side for side, _ in sure_columns) == ["source", "target"]:
        positions = dict(sure_columns)
        yield positions["source"], positions["target"]


def side_of(word: str) -> Side | None:
    """Return which endpoint a word names: "either" if only its partner decides, None if unknown."""
    meanings = meanings_of(word)
    sides = {meaning.side for meaning in meanings if meaning.ambiguity != PAIRED}
    if len(sides) == 1:
        return sides.pop()
    return "either" if meanings else None


def is_header_word(word: str) -> bool:
    """Return whether a word shows that its line is a header: a known one that is no label."""
    if word in _ALWAYS_KNOWN:
        return True
    return any(not meaning.may_be_label for meaning in meanings_of(word))


def meanings_of(word: str) -> list[EndpointWord]:
    """Return the meanings of a word, with or without an affix; none if it is unknown.

    Args:
        word: normalised: in small letters, without blanks and signs.
    """
    meanings = [meaning for meaning in _stems().get(word, ()) if meaning.stands_alone]
    suffixes, prefixes = _ANY  # all that any family has
    # This one test of all affixes is faster than the loops, and false for most names of columns.
    if word.endswith(suffixes) or word.startswith(prefixes):
        for suffix in suffixes:
            if word.endswith(suffix):
                meanings += _with_affix(word.removesuffix(suffix), suffix, is_prefix=False)
        for prefix in prefixes:
            if word.startswith(prefix):
                meanings += _with_affix(word.removeprefix(prefix), prefix, is_prefix=True)
    return meanings


def _with_affix(stem: str, affix: str, *, is_prefix: bool) -> list[EndpointWord]:
    """Return the meanings of a stem with an affix, which makes it sure.

    Words that stand only with an affix are among them, so `stands_alone` is not asked here.
    """
    kind = int(is_prefix)  # index into `Affixes`: 0 for suffixes, 1 for prefixes
    # The key of the family and the affix. `kind` tells the suffix "zone" from the prefix "zone".
    return [
        EndpointWord(meaning.side, f"{meaning.family_key} {kind}{affix}", CLEAR, may_be_label=False)
        for meaning in _stems().get(stem, ())
        if affix in meaning.affixes[kind]
    ]


@cache
def _stems() -> dict[str, list[EndpointWord]]:
    """Return the meanings of each word of the table, in each of its spellings."""
    stems: dict[str, list[EndpointWord]] = {}
    for family, family_affixes in _FAMILIES:
        for side, words in zip(_SIDES, family.split("|"), strict=True):
            for marked_word in words.split():
                stem = marked_word.rstrip("*?~+")
                mark = marked_word[-1]  # without a mark a letter or digit, which means nothing
                ambiguity = {"*": TIME, "?": PAIRED}.get(mark, CLEAR)
                meaning = EndpointWord(
                    side,
                    family,
                    ambiguity,
                    may_be_label=mark in "?~",
                    affixes=_NONE if mark == "?" else family_affixes,
                    stands_alone=mark != "+",
                )
                for spelling in spellings(stem):
                    stems.setdefault(spelling, []).append(meaning)
    return stems


def spellings(word: str) -> set[str]:
    """Return a word with accents, without accents, and with German "ae" for "ä"."""
    with_digraphs = word.translate({ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue"})
    decomposed = unicodedata.normalize("NFD", word)
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    return {word, with_digraphs, plain}
