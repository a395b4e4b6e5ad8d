"""Usual names of columns that name people or dates, in four languages: proposals by names alone."""

import pytest

from graphcuts_dp import Columns, FileFormatError
from graphcuts_dp.schema.column_names import names_dates, names_people, normalised_names
from graphcuts_dp.schema.column_search import find_columns
from graphcuts_dp.schema.table_headers import asks_for_header, names_in_header, suggested_columns

PEOPLE = [
    *("user", "User ID", "person_id", "patient", "PatID", "pat_id", "card_id", "badge", "Badge No"),
    *("rider_id", "subject", "customer number", "member-id", "case_id", "employeeId", "SSN"),
    *(
        "Personennummer",
        "Patientennummer",
        "Patienten-Nr.",
        "Fallnummer",
        "Fall-ID",
        "Kundennummer",
    ),
    *("Mitarbeiter", "Versichertennummer", "Schülernummer", "schuelerin", "Mitgliedsnummer"),
    *("personne", "id_patient", "numéro de dossier", "numero_abonne", "code client", "Salarié"),
    *("paciente", "id_usuario", "Número de tarjeta", "codigo_cliente", "id del paciente"),
]
DATES = [
    *("date", "Start Date", "started_at", "pickup_datetime", "trip_date", "timestamp"),
    *("Datum", "Aufnahmedatum", "Abfahrtszeit", "Uhrzeit", "Kontaktdatum", "Verlegungsdatum"),
    *("heure", "date de départ", "date_visite", "fecha", "Fecha de salida", "fecha_inicio", "día"),
]
NEITHER = [
    *("passengers", "Personen", "Einwohner", "fall", "case", "pat", "from", "station", "home"),
    *("update", "userland", "dossier", "end_time", "Entlassdatum", "weight", "Betrag", "", "nr"),
]


def normalised(name):
    (word,) = normalised_names([name])
    return word


@pytest.mark.parametrize("name", PEOPLE)
def test_a_column_that_names_people_is_proposed(name):
    assert names_people(normalised(name))
    assert not names_dates(normalised(name))
    assert suggested_columns(["von", "nach", name]) == {"user": name}


@pytest.mark.parametrize("name", DATES)
def test_a_column_of_dates_is_proposed(name):
    assert names_dates(normalised(name))
    assert not names_people(normalised(name))
    assert suggested_columns(["from", name, "to"]) == {"period": name}


@pytest.mark.parametrize("name", NEITHER)
def test_other_names_are_proposed_for_nothing(name):
    assert suggested_columns(["from", name, "to"]) == {}


def test_of_two_columns_for_a_role_none_is_proposed():
    assert suggested_columns(["patient", "Fallnummer", "Datum"]) == {"period": "Datum"}
    assert suggested_columns(["start_time", "end_time"]) == {"period": "start_time"}


@pytest.mark.parametrize(
    ("header", "endpoints"),
    [
        ("PatID;von_Station;nach_Station;Datum", (1, 2)),
        ("patient,from_ward,to_ward,date", (1, 2)),
        ("salle_arrivée,salle_départ,heure", (1, 0)),
        ("fecha,servicio_destino,servicio_origen", (2, 1)),
    ],
)
def test_wards_are_places(header, endpoints):
    names = header.replace(";", ",").split(",")
    places = find_columns(names, Columns(), weighted=False, declared=None)
    assert (places.source, places.target) == endpoints


@pytest.mark.parametrize("name", ["Gewicht", "Betrag", "Häufigkeit", "poids", "montant", "importe"])
def test_weights_are_known_in_four_languages(name):
    places = find_columns(["a", "b", name], Columns(), weighted=None, declared=None)
    assert places.weight == 2


ENDS = ["end_time", "Dropoff Datetime", "arrival date", "updated_at", "Ankunftszeit", "fecha fin"]


@pytest.mark.parametrize("name", [*DATES, *ENDS, "sent_at", "received_at"])
def test_a_known_date_is_no_weight(name):
    places = find_columns(["von", "nach", name], Columns(), weighted=None, declared=None)
    assert places.weight is None


@pytest.mark.parametrize("name", ["fare", "num_passenger", "sent", "end", "duration", "days"])
def test_what_may_be_an_amount_is_asked_about(name):
    with pytest.raises(FileFormatError, match="cannot tell whether column 3 is a weight"):
        find_columns(["sender", "recipient", name], Columns(), weighted=None, declared=None)


def test_names_are_shown_if_the_line_certainly_names_columns():
    places = find_columns(
        ["person", "from", "to", "date"], Columns(), weighted=False, declared=None
    )
    assert places.names == ("person", "from", "to", "date")
    may_be_a_row = find_columns(
        ["Ann", "from", "to", "HIV"], Columns(), weighted=False, declared=None
    )
    assert may_be_a_row.names == ("", "from", "to", "")


@pytest.mark.parametrize(
    ("first", "shown"),
    [
        ("ann,bob", []),
        ("ann,guest,monday", []),
        ("P001,user,Mueller Anna,HIV", []),
        ("user,user,HIV", []),  # two roles, and not two names
        ("patient,x,y,z", []),
        ("patient,from,y,z", []),  # half of them
        ("patient,from,to,z", ["patient", "from", "to", "z"]),
        ("patient", ["patient"]),
        ("from,to,3", []),
    ],
)
def test_of_a_first_line_that_may_be_a_row_no_word_is_shown(first, shown, tmp_path):
    file = tmp_path / "x.csv"
    file.write_text(f"{first}\nsecret,rows,{'x,' * 9}\n")
    assert names_in_header(file, Columns()) == shown
    announced = [] if "3" in first else first.split(",")
    assert names_in_header(file, Columns(header=True)) == announced
    assert names_in_header(file, Columns(header=False)) == []
    assert asks_for_header(file, Columns()) is not bool(shown)
    assert not asks_for_header(file, Columns(header=True))
    assert not asks_for_header(file, Columns(header=False))
