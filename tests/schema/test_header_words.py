"""Known words of headers: endpoints in any order, and advice on unclear headers."""

import re
from ast import literal_eval
from itertools import permutations
from typing import Any

import pandas as pd
import pytest

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, GraphError
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.options import read_options
from graphcuts_dp.schema.column_search import find_columns
from graphcuts_dp.schema.header_words import (
    _FAMILIES,
    _stems,
    endpoint_pairs,
    is_header_word,
    meanings_of,
    side_of,
)

PAIRS = [
    *("source,target", "src,dst", "from,to", "origin,destination", "orig,dest", "ORIGIN,DEST"),
    *("sender,recipient", "sender,receiver", "pickup,dropoff", "caller,callee", "payer,payee"),
    *("start_station_id,end_station_id", "start station name,end station name", "home,work"),
    *("PULocationID,DOLocationID", "h_geocode,w_geocode", "from_stop_id,to_stop_id"),
    *("FromNodeId,ToNodeId", ":START_ID,:END_ID", "node1,node2", "userId,movieId", "start,end"),
    # German.
    *("von,nach", "Quelle,Ziel", "Absender,Empfänger", "absender,empfaenger", "Start,Ziel"),
    *("zahler,empfänger", "Wohnort,Arbeitsort", "Anrufer,Angerufener", "Quellzelle,Zielzelle"),
    # French.
    *("de,vers", "de,à", "origine,destination", "expéditeur,destinataire", "départ,arrivée"),
    *("Expediteur,Destinataire", "domicile,travail", "appelant,appelé", "gare_départ,gare_arrivée"),
    # Spanish.
    *("desde,hasta", "de,a", "origen,destino", "remitente,destinatario", "salida,llegada"),
    *("domicilio,trabajo", "pagador,beneficiario", "zona_origen,zona_destino"),
    # Words of two families.
    *("Recipient,From", "origin,callee", "sender,destination", "von,target"),
]
TARGET_FIRST = {"Recipient,From"}


@pytest.mark.thorough(cases=31)
@pytest.mark.parametrize("pair", PAIRS)
def test_a_pair_of_known_words_shows_the_direction_in_any_order(pair):
    source, target = reversed(pair.split(",")) if pair in TARGET_FIRST else pair.split(",")
    for names in permutations([source, target, "date", "x"]):
        columns = find_columns(names, gc.Columns(), weighted=False, declared=None)
        assert (names[columns.source], names[columns.target]) == (source, target)
        assert (columns.user, columns.weight) == (None, None)
        tail = find_columns(names, gc.Columns(user="tail"), weighted=False, declared=None)
        assert names[tail.user] == source


def test_every_family_is_recognised_by_its_own_words():
    for family, _ in _FAMILIES:
        sources, targets = (
            [word.rstrip("*?~") for word in words.split() if not word.endswith("+")]
            for words in family.split("|")
        )
        for source in sources:
            for target in targets:
                assert endpoint_pairs([target, "x", source], range(3)) == [(2, 0)]


@pytest.mark.thorough
def test_a_word_has_one_side_and_decomposed_accents_are_accents():
    affixes = {affix for _, affixes in _FAMILIES for group in affixes for affix in group}
    for stem in _stems():
        for word in (stem, *(stem + affix for affix in affixes), *(a + stem for a in affixes)):
            members = meanings_of(word)
            assert len({member.side for member in members}) <= 1
            assert side_of(word) in (("source", "target", "either") if members else (None,))
    assert side_of("x") is None
    names = ["Empfa\u0308nger", "Absender"]
    columns = find_columns(names, gc.Columns(), weighted=False, declared=None)
    assert (columns.source, columns.target) == (1, 0)


def test_words_that_may_be_labels_do_not_show_that_a_line_is_a_header(tmp_path):
    assert not any(map(is_header_word, ("a", "de", "à", "home", "work", "wohnort")))
    assert all(map(is_header_word, ("von", "vers", "homezone", "zonadestino", "left")))
    file = tmp_path / "x.csv"
    file.write_text("work,home\na,b\n")
    with pytest.raises(FileFormatError, match="header=True"):
        gc.DirectedGraph.read(file)
    graph = gc.DirectedGraph.read(file, columns=gc.Columns(header=True))
    assert arcs(graph) == [("b", "a")]


def test_other_pairs_come_before_times_and_users():
    for header, expected in {
        "start,end,origin,destination": (2, 3),
        "start,destination": (0, 1),
        "departure,arrival,to,from": (3, 2),
        "Start,Quelle,Ziel": (1, 2),
        "user,item,from,to": (2, 3),
        "start,origin,end,callee": (1, 3),
    }.items():
        columns = find_columns(header.split(","), gc.Columns(), weighted=False, declared=None)
        assert (columns.source, columns.target) == expected
    with_period = gc.Columns(period="start")
    columns = find_columns(["start", "p", "end"], with_period, weighted=False, declared=None)
    assert (columns.source, columns.target) == (1, 2)


def arcs(graph: gc.Graph | gc.DirectedGraph) -> list[tuple[str, str]]:
    labels = graph.labels
    return [(labels[u], labels[v]) for u, v in zip(graph.rows, graph.columns, strict=True)]


# Header; source and target that the advice means.
WRONG_SIDES = {
    "to,x": (1, 0),
    "x,origin": (1, 0),
    "x y,von": (1, 0),
    "vers,x": (1, 0),
    "Zahlungsempfänger,Name": (1, 0),
    "end station,x": (1, 0),
    "Recipient,amount,x": (2, 0),
    "x,date,sender (name)": (2, 0),
    "origin,start": (0, 1),
    "Ziel,to": (0, 1),
}
SEVERAL_PAIRS = {
    "start_station_id,start_station_name,end_station_id,end_station_name": (0, 2),
    "start station id,start station name,end station id,end station name": (0, 2),
    "from,to,origin,destination": (0, 1),
    "from,to,To": (0, 1),
    "source,origin,destination": (0, 2),
}


def advised(message: str) -> dict[str, Any]:
    """Return the first columns that a message advises to pass."""
    source, target = re.search(r"source=(\S+) and target=([^\s,;]+)", message).groups()
    return {"source": literal_eval(source), "target": literal_eval(target)}


@pytest.mark.parametrize(("header", "endpoint_columns"), (WRONG_SIDES | SEVERAL_PAIRS).items())
def test_an_unclear_header_is_refused_and_the_advice_of_the_message_works(
    tmp_path, header, endpoint_columns
):
    names = header.split(",")
    row = [f"cell{index}" for index in range(len(names))]
    expected = [tuple(row[index] for index in endpoint_columns)]
    # A table in memory.
    frame = pd.DataFrame([row], columns=names)
    with pytest.raises(GraphError) as error:
        gc.DirectedGraph.of(frame, weighted=False)
    columns = gc.Columns(**advised(str(error.value)))
    assert arcs(gc.DirectedGraph.of(frame, columns=columns, weighted=False)) == expected
    # A file.
    file = tmp_path / "x.csv"
    file.write_text(f"{header}\n{','.join(row)}\n", encoding="utf-8")
    with pytest.raises(FileFormatError) as error:
        gc.Graph.read(file, weighted=False)
    message = str(error.value)
    assert "\n" not in message
    assert not any(f"'{name}'" in message for name in ("x", "x y", "Name"))
    header_option = {"header": True} if "header=True" in message else {}
    columns = gc.Columns(**advised(message), **header_option)
    graph = gc.DirectedGraph.read(file, columns=columns, weighted=False)
    assert arcs(graph) == expected
    # The command line, which counts columns from 1.
    with pytest.raises(FileFormatError) as error:
        Reading(ignore_weights=True).read(str(file))
    message = str(error.value)
    typed = re.findall(r"--columns ((?:source|target)=[\w-]+)", message)[:2]
    typed += re.findall(r"--columns (header=yes)", message)
    typed = ",".join(typed)
    graph = Reading(
        columns=read_options(typed, gc.Columns), ignore_weights=True, kind="directed"
    ).read(str(file))
    assert arcs(graph) == expected


@pytest.mark.parametrize(("source", "target"), [("DEST", "ORIGIN"), (0, 1)])
def test_columns_of_the_caller_are_never_swapped(source, target):
    frame = pd.DataFrame({"DEST": ["a"], "ORIGIN": ["b"]})
    columns = gc.Columns(source=source, target=target)
    assert arcs(gc.DirectedGraph.of(frame, columns=columns)) == [("a", "b")]
    assert arcs(gc.DirectedGraph.of(frame)) == [("b", "a")]


@pytest.mark.parametrize(
    ("names", "options", "direction"),
    [
        (["DEST", "ORIGIN"], {}, "trips go from ORIGIN to DEST"),
        (["x", "y"], {}, "trips go from column 1 to column 2"),
        (["x", "my zone"], {"source": "my zone", "target": "x"}, "trips go from 'my zone' to x"),
        (["Sent To (name)", "From"], {"source": 1, "target": 0}, "trips go from From to column 1"),
        (["End Station", "start-station"], {}, "trips go from start-station to 'End Station'"),
        (["to:string", "from:string"], {}, "trips go from from to to"),
    ],
)
def test_the_direction_is_described_with_public_names_only(names, options, direction):
    columns = find_columns(names, gc.Columns(**options), weighted=False, declared=None)
    assert columns.direction() == direction


def test_a_header_of_many_equal_words_is_refused_at_once():
    names = [*["from", "to", "de", "à"] * 200_000]
    with pytest.raises(FileFormatError, match="several pairs"):
        find_columns(names, gc.Columns(), weighted=False, declared=None)


@pytest.mark.parametrize("suffix", [".txt", ".edges"])
def test_a_list_whose_first_line_looks_like_a_header_is_refused_with_what_works(tmp_path, suffix):
    """As transfers.txt of GTFS."""
    file = tmp_path / f"transfers{suffix}"
    file.write_text("from_stop_id,to_stop_id,transfer_type,min_transfer_time\nA,B,2,300\nB,C,0,\n")
    with pytest.raises(FileFormatError, match="pass header=True if it is, else header=False"):
        gc.read_graph(file)
    columns = gc.Columns(header=True)
    with pytest.raises(FileFormatError, match="pass weight= if so, else weighted=False"):
        gc.read_graph(file, columns=columns)
    graph = gc.read_graph(file, columns=columns, weighted=False)
    assert arcs(graph) == [("A", "B"), ("B", "C")]
    file.write_text("From Stop\tTo Stop\nOld Mill Rd\tHigh St Kensington\n")
    with pytest.raises(FileFormatError, match="pass delimiter="):
        gc.read_graph(file)
    with pytest.raises(FileFormatError, match="pass header=True if it is"):
        gc.read_graph(file, columns=gc.Columns(delimiter="\t"))
    graph = gc.DirectedGraph.read(file, columns=gc.Columns(delimiter="\t", header=True))
    assert arcs(graph) == [("Old Mill Rd", "High St Kensington")]
