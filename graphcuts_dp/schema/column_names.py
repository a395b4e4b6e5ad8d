"""Names of columns: how they are compared, which are known, and which a message may quote.

Names in a header are compared in a *normalised* form: without case, blanks and signs, see
`normalised_names`. Known names are those of weights and of other columns in this file, and those of
endpoints in `schema.header_words`, whose `meanings_of` returns an empty list for other words. A
first line that is taken for a header may be a private row, so messages quote known names only, see
`known_name`.

Which column names people, and which dates, is proposed by `names_people` and `names_dates`: public
rules on names alone, in English, German, French and Spanish. A name is one of the stems below, or a
stem with one of their affixes: `Patientennummer` is "patienten" and "nummer", `id_usuario` is "id"
and "usuario". They propose; all that they decide is that a column of dates is taken for no weight.
"""

import re
from collections.abc import Sequence
from functools import cache

from graphcuts_dp.schema.columns import parse_number
from graphcuts_dp.schema.header_words import is_header_word, meanings_of, spellings

# Names of columns, normalised by `normalised_names`. These are weights:
_WEIGHTS = (
    *("weight", "weights", "w", "count", "counts", "value", "amount", "frequency", "strength"),
    *("length", "distance"),
    *("gewicht", "anzahl", "betrag", "menge", "häufigkeit", "länge", "entfernung"),  # German
    *("poids", "montant", "quantité", "fréquence", "longueur"),  # French
    *("peso", "importe", "monto", "cantidad", "frecuencia", "distancia"),  # Spanish
)
WEIGHTS = tuple(spelling for word in _WEIGHTS for spelling in sorted(spellings(word)))
# Neither weights nor endpoints:
NO_WEIGHTS = (
    *("type", "id", "edgeid", "index", "label", "timeset", "interval", "kind", "directed"),
    *("time", "timestamp", "ts", "date", "datetime", "unixts", "when", "created", "createdat"),
    *("relation", "relationship", "relationtype", "starttime", "endtime"),
    *("datum", "uhrzeit", "zeitpunkt", "zeitstempel", "heure", "horodatage", "fecha", "hora"),
)
# All known names that are no endpoints:
NO_ENDPOINTS = {*WEIGHTS, *NO_WEIGHTS}
# Types that Neo4j writes behind a colon in names of columns, as in weight:float.
_NEO4J_TYPES = (
    *("int", "long", "float", "double", "boolean", "byte", "short", "char", "string", "point"),
    *("date", "localtime", "time", "localdatetime", "datetime", "duration"),
)
# Stems of names of people. A mark + says: only with an affix. Plurals that may be counts, such as
# "passengers", are none by themselves.
_PEOPLE = (
    # English.
    *("user", "person", "patient", "customer", "client", "member", "passenger", "rider", "driver"),
    *("employee", "student", "pupil", "subject", "participant", "respondent", "subscriber"),
    *("cardholder", "worker", "traveler", "traveller", "citizen", "guest", "donor", "visitor"),
    *("insured", "inmate", "tenant", "card", "badge", "case+", "pat+", "cust+", "emp+", "staff+"),
    *("ssn", "mrn", "imsi", "imei", "msisdn"),
    # German.
    *("personen+", "patienten+", "patientin", "fall+", "kunde", "kunden+", "kundin", "nutzer"),
    *("benutzer", "mitarbeiter", "mitarbeiterin", "mitarbeitenden+", "teilnehmer", "teilnehmerin"),
    *("versicherter", "versicherte", "versicherten+", "mitglied", "mitglieds+", "schüler"),
    *("schülerin", "studierender", "studierenden+", "studenten+", "matrikel+", "personal+"),
    *("fahrgast", "fahrer", "karten+", "karteninhaber", "ausweis", "proband", "probanden+"),
    *("befragter", "befragten+", "klient", "klienten+", "beschäftigter", "beschäftigten+"),
    *("angestellter", "bewohner", "reisender", "abonnent", "abonnenten+", "bürger", "gast"),
    # French.
    *("personne", "usager", "utilisateur", "membre", "passager", "employé", "salarié", "élève"),
    *("étudiant", "assuré", "abonné", "sujet", "adhérent", "voyageur", "carte", "dossier+"),
    # Spanish.
    *("persona", "paciente", "cliente", "usuario", "miembro", "pasajero", "empleado", "alumno"),
    *("trabajador", "estudiante", "asegurado", "afiliado", "abonado", "sujeto", "participante"),
    *("viajero", "tarjeta", "conductor"),
)
# What says that a name is that of an identifier: behind a stem, and before one.
_IDENTIFIER_SUFFIXES = (
    *("id", "ident", "identifier", "uuid", "guid", "nr", "no", "num", "number", "code", "key"),
    *("hash", "token", "pseudonym", "nummer", "kennung", "schlüssel", "kennzeichen", "ref"),
)
_IDENTIFIER_PREFIXES = (
    *("id", "identifiant", "identificador", "num", "numéro", "número", "nº", "no", "code"),
    *("código", "cod"),
)
# Stems of names of dates and times.
_DATES = (
    *("date", "day", "time", "month", "datetime", "timestamp", "started", "startedat", "when"),
    *("created", "createdat", "recordedat", "sentat", "receivedat", "postedat", "orderedat"),
    *("paidat", "occurredat", "timeofday+"),
    *("datum", "tag", "zeit", "monat", "zeitpunkt", "zeitstempel", "uhrzeit"),
    *("jour", "heure", "mois", "horodatage"),
    *("fecha", "día", "hora", "mes"),
)
# What a date may be of: the beginning of what a row is about. Ends are left out, so that of a date
# of the start and one of the end the first is proposed.
_DATE_PREFIXES = (
    *("start", "begin", "pickup", "departure", "trip", "ride", "travel", "visit", "contact"),
    *("event", "entry", "admission", "transfer", "call", "record", "recording"),
    *("beginn", "abfahrts", "fahrt", "reise", "besuchs", "kontakt", "aufnahme", "ereignis"),
    *("verlegungs", "anruf", "fecha", "fechay"),
)
_DATE_SUFFIXES = (
    *("départ", "début", "visite", "contact", "admission", "trajet", "transfert"),
    *("salida", "inicio", "visita", "contacto", "ingreso", "viaje", "traslado"),
)
# What a date of an end may be of: such columns hold no weights, and are proposed for nothing.
_END_PREFIXES = (
    *(
        "end",
        "dropoff",
        "arrival",
        "return",
        "discharge",
        "updated",
        "ende",
        "ankunfts",
        "rückgabe",
    ),
    *("entlassungs", "entlass", "fin", "fechafin", "llegada"),
)
_ENDS = ("ended", "endedat", "arrivedat", "deliveredat", "updatedat", "closedat")
_OF = ("", "de", "du", "des", "del", "dela", "d", "l", "of")  # between a prefix and a stem
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


def shows_header(word: str) -> bool:
    """Return whether a normalised word of a first line shows that the line names columns."""
    return word in NO_ENDPOINTS or is_header_word(word)


def names_no_weight(word: str) -> bool:
    """Return whether a normalised word names a column that holds no weights, such as of dates."""
    return word in NO_WEIGHTS or names_dates(word) or word in _usual_names_of_ends()


def is_usual(word: str) -> bool:
    """Return whether a normalised word is a usual name of a column, which anybody may see."""
    return shows_header(word) or names_people(word) or names_dates(word)


def is_surely_header(words: Sequence[str]) -> bool:
    """Return whether a first line of these normalised words is certain to name columns.

    All of them are usual names of columns, or at least two different ones and more than half are:
    public rules. A row may hold one such word as a cell, such as "user" in a column of roles.
    """
    count = len({word for word in words if is_usual(word)})
    return bool(words) and (count == len(words) or (count > 1 and 2 * count > len(words)))


def is_public_header(cells: Sequence[str]) -> bool:
    """Return whether a first line certainly names columns, so that all of its names may be shown.

    It has no number, no date, and words as `is_surely_header` wants them.
    """
    return is_surely_header(normalised_names(cells)) and not any(map(may_be_a_value, cells))


def may_be_a_value(cell: str) -> bool:
    """Return whether a cell is a number, or begins with a digit, as dates do."""
    return cell.strip()[:1].isdigit() or parse_number(cell) is not None


def names_people(name: str) -> bool:
    """Return whether a normalised name is a usual one of a column that names people."""
    return name in _usual_names_of_people()


def names_dates(name: str) -> bool:
    """Return whether a normalised name is a usual one of a column of dates or times."""
    return name in _usual_names_of_dates()


@cache
def _usual_names_of_people() -> frozenset[str]:
    return _with_affixes(_PEOPLE, _IDENTIFIER_PREFIXES, _IDENTIFIER_SUFFIXES)


@cache
def _usual_names_of_dates() -> frozenset[str]:
    """Return names of dates: those before whose stem, or behind whose stem, an event is named."""
    behind = (f"{linking}{event}" for event in _DATE_SUFFIXES for linking in _OF)
    return _with_affixes(_DATES, _DATE_PREFIXES, tuple(behind))


@cache
def _usual_names_of_ends() -> frozenset[str]:
    """Return names of dates of an end, such as that of an arrival."""
    behind = tuple(
        f"{linking}{event}" for event in ("fin", "arrivée", "llegada") for linking in _OF
    )
    return _with_affixes((*_DATES, *_ENDS), _END_PREFIXES, behind)


def _with_affixes(
    stems: Sequence[str], prefixes: Sequence[str], suffixes: Sequence[str]
) -> frozenset[str]:
    """Return stems by themselves, with each prefix, and with each suffix, in all spellings."""
    names = {stem for stem in stems if not stem.endswith("+")}
    for stem in (marked.removesuffix("+") for marked in stems):
        names |= {stem + suffix for suffix in suffixes}
        names |= {prefix + linking + stem for prefix in prefixes for linking in _OF}
    return frozenset(spelling for name in names for spelling in spellings(name))


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
