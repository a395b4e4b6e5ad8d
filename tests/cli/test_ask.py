"""`graphcuts-dp plan --ask`: what it proposes runs, keeps the error, and reads no private row."""

import builtins
import functools
import io
import math
import random
import re
import shlex

import pytest

import graphcuts_dp as gc
from graphcuts_dp import VertexSet, graph_job
from graphcuts_dp.cli import dialogue, plan_columns, plan_help, plan_questions, proposals
from graphcuts_dp.estimate.noisy_contributions import BOUNDS, hidden_users
from graphcuts_dp.learn.sizes import usual_edges
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.release.usefulness import simulated_graph, usefulness_of
from graphcuts_dp.server import app

N = 40
EDGE, ROW = ("edge", "1"), ("row",)
USER = ("user", "caller")
VERTEX = ("vertex", "3")
ZONES = {"Süd, links des Mains": "Süd", "Nord": "Nord", "Hafen": "Nord"}
# Answers about trips, by question, in order.
TRIPS = {
    "data": "trips.csv",
    "counted": "",
    "unit": "",
    "user": "",
    "directions": "",
    "who": "",
    "product": "",
    "groups": "zones.csv",
    "levels": "district",
    "date": "",
    "periods": "2026-01..2026-03",
    "written": "31.01.2026",
    "continued": "",
    "bad rows": "",
    "known max": "",
    "bound": "",
    "guess": "",
    "error": "",
    "budget": "3",
}


def trips(**changed):
    """Return the answers about trips, with some changed, and those left out that are None."""
    unknown = changed.keys() - {name.replace(" ", "_") for name in TRIPS}
    assert not unknown
    answers = {name: changed.get(name.replace(" ", "_"), text) for name, text in TRIPS.items()}
    return [text for text in answers.values() if text is not None]


@pytest.fixture(autouse=True)
def folder(tmp_path):
    edges = [(i, (i + step) % N) for i in range(N) for step in (1, 2, 3, 5, 7)]
    rows = "".join(f"{a},{b}\n" for a, b in edges)
    (tmp_path / "mail.edges").write_text(rows.replace(",", " "))
    (tmp_path / "calls.csv").write_text("caller,callee\n" + rows)
    (tmp_path / "staff.csv").write_text(
        "vertex,half\n" + "".join(f"{i},{2 * i // N}\n" for i in range(N))
    )
    (tmp_path / "staff.txt").write_text("".join(f"{i}\n" for i in range(N)))
    drawn, lines = random.Random(7), ["patient;from;to;date"]
    for _ in range(400):
        day = f"{drawn.randint(1, 28):02}.{drawn.randint(1, 3):02}.2026"
        a, b = drawn.choices([f'"{zone}"' for zone in ZONES], k=2)
        lines.append(f"p{drawn.randint(1, 90)};{a};{b};{day}")
    (tmp_path / "trips.csv").write_text("\n".join(lines) + "\n")
    zones = "".join(f'"{zone}";{district};{zone[:1]}\n' for zone, district in ZONES.items())
    (tmp_path / "zones.csv").write_text("zone;district;letter\n" + zones)
    (tmp_path / "names.csv").write_text("ann,bob\n" + rows)
    (tmp_path / "letters.csv").write_text(re.sub(r"(?m)^|,", r"\g<0>v", rows.strip()) + "\n")
    (tmp_path / "letters-staff.csv").write_text(
        "vertex,half\n" + "".join(f"v{i},{2 * i // N}\n" for i in range(N))
    )
    (tmp_path / "bare.csv").write_text(re.sub(r"(?m)^p\d+;", r"7;", "\n".join(lines[1:])) + "\n")
    return tmp_path


# The error of a release of a synthetic graph follows from public numbers alone, and is found once.
ERRORS = functools.cache(proposals._error_between_halves)


def error_at_two_digits(epsilon, *sizes, **directed):
    """Return the error at an epsilon that is rounded down: a search asks for dozens of them."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return ERRORS(math.floor(epsilon / unit) * unit, *sizes, **directed)


@pytest.fixture(autouse=True)
def _few_forecasts(request, monkeypatch):
    exact = "exact_forecasts" in request.fixturenames
    forecast = ERRORS if exact else error_at_two_digits
    monkeypatch.setattr(proposals, "_error_between_halves", forecast)


@pytest.fixture
def exact_forecasts():
    """Ask for the forecast of the very epsilon that is proposed."""


@pytest.fixture
def typed(monkeypatch):
    def type_(*lines):
        text = "".join(f"{line}\n" for line in lines)
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return type_


@pytest.fixture
def proposed(told, typed):
    def run(*lines):
        typed(*lines)
        return told("plan", "--ask")

    return run


def lines(data="mail.edges", groups="none", unit=EDGE, error="60", who="everybody"):
    """What somebody types about a graph, or about rows of a file whose header names no date."""
    counted = "lines" if unit == ROW else "pairs"
    asked = [data, counted, *unit, "", who]  # directions, or both ends of one kind
    if who == "everybody" and unit[0] in ("edge", "user"):
        asked.append("graph" if groups == "none" else "table")
    asked += [""] * (who != "everybody")  # how many questions
    asked.append(groups)
    if unit in (ROW, USER) and groups != "none" and who == "everybody":
        asked += ["none", ""]  # no date; bad rows
    asked += [str(N)] * (groups == "none")
    return [*asked, *["", "2"] * (unit == USER), "none", error]


def run_all(told, call):
    """Run all commands as they stand; returns what each printed."""
    printed = []
    for command in told["commands"]:
        first, *words = shlex.split(command)
        assert first == "graphcuts-dp"
        status, out, err = call(*words)
        assert status == 0, (command, err)
        printed.append(" ".join(out.replace("= ", "").split()))
    return printed


@pytest.mark.thorough
@pytest.mark.parametrize("groups", ["none", "staff.csv"])
@pytest.mark.parametrize("who", ["everybody", "analysts", "team"])
@pytest.mark.parametrize("unit", [EDGE, ("edge", "3"), USER, VERTEX], ids=lambda it: it[:2])
def test_what_it_proposes_can_be_typed(groups, who, unit, proposed, call, typed, monkeypatch):
    """Along every path through the questions."""
    monkeypatch.setattr(app, "serve", lambda *_: None)
    error = "300" if groups != "none" and who == "everybody" else "900"  # a cell holds 190 edges
    data = "calls.csv" if unit == USER else "mail.edges"
    if (who, unit, groups) == ("everybody", VERTEX, "none") or (who, unit) == ("team", USER):
        typed(*lines(data, groups, unit, error, who))
        assert "choose analysts" in call("plan", "--ask")[2]
        return
    told = proposed(*lines(data, groups, unit, error, who))
    assert told["private_rows_read"] is False
    printed = run_all(told, call)
    if who == "team":
        assert f"--budget {told['epsilon']:g}" in told["command"]
        return
    assert len(printed) == 3  # a forecast, what spends, and a question afterwards
    assert f"--store {data}.db --budget {2 * told['epsilon']:g}" in told["command"]
    assert float(gc.store_status(f"{data}.db").budget.split()[-1]) == 2 * told["epsilon"]
    assert f"epsilon {told['epsilon']:g}" in printed[1]
    assert re.search(rf"privacy unit:? {told['privacy_unit']}\b", printed[1])


def test_trips_of_people_come_out_by_month_and_district(proposed, call):
    told = proposed(*trips())
    assert (told["epsilon"], told["privacy_unit"]) == (1, "1 user")
    assert "--counting" not in told["command"]
    _, table, answer = run_all(told, call)
    assert "period from to" in table
    assert re.search(r"[\d.]+ rows, between \d+ and [\d,]+ \(95%\) Counted: at most 20 ", answer)
    flows = gc.load("flows.csv")
    assert flows.levels == ("district",)
    assert flows.periods.labels() == ("2026-01", "2026-02", "2026-03")
    # German dates are read as they were answered: nearly all of 400 rows are there.
    assert flows.noisy.map.counted == "rows"
    low, high = flows.total.interval
    assert low <= 400 <= high
    ask = ("answer", "flows.csv", "--from", "Nord", "--period")
    months = call(*ask, "2026-01,2026-02,2026-03")
    assert months[0] == 0
    assert call(*ask, "2026-01..2026-03") == call(*ask, "2026-01..2026-02,2026-03") == months
    assert "unknown period" in call(*ask, "2026-03..2026-04")[2]


def test_a_row_is_proposed_where_only_dates_are_named(proposed, call, folder):
    text = (folder / "trips.csv").read_text()
    (folder / "days.csv").write_text(re.sub(r"(?m)^\w+;", "", text))
    told = proposed(*trips(data="days.csv", user=None, product=None, known_max=None, bound=None))
    assert told["privacy_unit"] == "1 row"
    assert told["error"] < 10  # of a table with sensitivity 1
    run_all(told, call)


def test_wrong_answers_are_asked_again_and_the_others_stay(proposed):
    wrong = [
        *("none.csv", "trips.csv", "mails", "", "persons", "edge", "", "nobody", ""),
        *("sideways", "", "all", "", "map", ""),
        *("none.csv", "none", "zones.csv", "letter/none", "district", ""),
        *("soon", TRIPS["periods"], "1st of May", "31.01.2026", "maybe", "", "perhaps", ""),
        *("none", "1.5", "0", "", "many", "0", ""),
        *("-3", "1e-9", "", "0.5", "3"),
    ]
    assert proposed(*wrong) == proposed(*trips())


@pytest.mark.thorough
def test_back_returns_with_what_was_answered_before(proposed, typed, done):
    # From the third question to the first and forward again, with each answer as it was.
    told = proposed(*trips()[:4], *["back"] * 4, "", "", "", *trips()[3:])
    assert told == proposed(*trips())
    typed("back", *trips())
    assert "This is the first question" in done("plan", "--ask")[1]
    changed = proposed(*trips()[:-2], *["back"] * 4, "skip", "", "", "", "")
    assert "on-bad=skip" in changed["command"]


def test_without_a_file_it_proposes_a_plan(proposed, call):
    told = proposed("", "vertex", "", "analysts", "7", "500", "")
    assert told["command"].startswith("graphcuts-dp plan --n 500 --queries 7")
    assert told["error_of"] == "each of 7 answers, all of them at once,"
    run_all(told, call)


@pytest.mark.thorough
@pytest.mark.usefixtures("exact_forecasts")
def test_the_error_is_kept_and_not_by_much_more_epsilon_than_needed(proposed):
    told = proposed(*lines(groups="staff.csv", error="20"))
    graph = gc.read_graph("mail.edges", vertices=N)
    groups = gc.Groups.read("staff.csv", graph)

    def radius(epsilon):
        flows = gc.release_flows(graph, groups, epsilon=epsilon, seed=1)
        value = flows.values()
        low, high = flows.intervals()
        inside = (low > 0) & (high < 200)  # not cut to what is possible
        assert inside.any()
        return max((high - value)[inside].max(), (value - low)[inside].max())

    assert radius(told["epsilon"]) <= 20
    assert radius(0.9 * told["epsilon"]) > 20
    three = proposed(*lines(groups="staff.csv", unit=("edge", "3"), error="20"))
    assert three["epsilon"] == pytest.approx(3 * told["epsilon"], rel=0.1)
    told = proposed(*lines(who="analysts", error="500"))
    plan = gc.plan(N, edges=200, queries=50, epsilon=told["epsilon"])
    laplace = next(row for row in plan.rows if row.method == "laplace")
    assert 0.85 * 500 < laplace.guaranteed <= 500
    told = proposed(*lines())

    def halves(epsilon):
        """As the dry run of a release forecasts, of a graph with as many edges as is usual."""
        made = simulated_graph(VertexSet(N), usual_edges(N), weighted=False, max_weight=None)
        release = graph_job(made, epsilon=epsilon, fitted=False).run(made, SeededEntropy(0))
        questions = usefulness_of(release, edges=usual_edges(N)).questions
        return next(each.error for each in questions if "halves" in each.text)

    assert 0.95 * 60 < halves(told["epsilon"]) <= 60


def test_it_says_what_the_guarantee_means_and_where_it_is_weak(done, typed):
    typed(*lines(groups="staff.csv", error="2"))
    out, err = done("plan", "--ask")
    for words in ("type:", "  graphcuts-dp flows mail.edges staff.csv", "Forecast:", "Strength:"):
        assert words in out
    assert ("That is weak" in out) == (float(out.split("--epsilon ")[1].split()[0]) >= 3)
    assert "No row of the private file was read" in err
    typed(*lines(who="analysts", error="50"))
    assert "That is weak" in done("plan", "--ask")[0]


def test_no_row_of_the_private_file_changes_what_is_said(done, folder, typed):
    typed(*trips())
    before = done("plan", "--ask")
    head = (folder / "trips.csv").read_text().splitlines()[0]
    (folder / "trips.csv").write_text(f"{head}\nsecret;x;y;never\nsecret\n")
    typed(*trips())
    assert done("plan", "--ask") == before


def test_questions_are_asked_where_somebody_sits(done, monkeypatch):
    asked, answers = [], iter(["calls.csv", "", "user", "colour", "caller"])

    def answered(question):
        asked.append(question)
        return next(answers, "staff.csv" if "public table" in question else "")

    monkeypatch.setattr(dialogue.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(builtins, "input", answered)
    out, err = done("plan", "--ask")
    assert "no column; there are caller, callee" in err
    assert "[lines]" in asked[1]
    assert "[row]" in asked[2]
    assert asked[3] == asked[4]  # asked again
    assert "graphcuts-dp flows calls.csv staff.csv flows.csv" in out


# Answers about a file whose first line is unclear: whether it names the columns, unit, and so on.
STAFF = ("letters-staff.csv", "none", "")  # groups, no date, bad rows
UNCLEAR = {
    "a row, a table of rows": ["letters.csv", "no", "", "row", "1,2", "", "", *STAFF, "none", ""],
    "names, a graph": [
        *(
            "names.csv",
            "yes",
            "pairs",
            "edge",
            "1",
            "same",
            "",
            "graph",
            "none",
            str(N),
            "none",
            "900",
        ),
    ],
    "a row, a graph": [
        *("letters.csv", "no", "pairs", "edge", "1", "", "", "", "graph"),
        *("letters-staff.csv", "none", "900"),
    ],
    "numbers, of people": [
        *("bare.csv", "", "", "user", "1", "", "", "", "", "zones.csv", "district", "4"),
        *("2026-01..2026-03", "31.01.2026", "no", "skip", "", "2", "400", ""),
    ],
}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("case", UNCLEAR)
def test_a_first_line_that_may_be_a_row_is_asked_about_and_never_shown(
    case, done, typed, proposed, call
):
    typed(*UNCLEAR[case])
    for text in done("plan", "--ask"):
        assert not {"ann", "v0", "v1"} & {*re.findall(r"\w+", text)}
        assert "Hafen" not in text or "zones.csv" in UNCLEAR[case]
    told = proposed(*UNCLEAR[case])
    assert ("header=no" in told["command"]) != ("yes" in UNCLEAR[case])
    run_all(told, call)


def test_a_row_that_holds_a_usual_word_is_asked_about_and_not_shown(folder):
    (folder / "roles.csv").write_text("P001,user,Mueller Anna,HIV\nP002,user,Ann,flu\n")
    line = plan_columns.first_line(str(folder / "roles.csv"))
    assert (line.kind, line.shown) == (plan_columns.UNCLEAR, ())
    trips = plan_columns.first_line(str(folder / "trips.csv"))
    assert (trips.kind, trips.shown) == (plan_columns.NAMES, ("patient", "from", "to", "date"))


def test_unknown_names_of_a_header_can_be_typed_and_are_not_shown(proposed, call, folder):
    rows = (folder / "trips.csv").read_text().split("\n", 1)[1]
    (folder / "other.csv").write_text("alpha;beta;gamma;delta\n" + rows)
    answers = trips(data="other.csv", unit="user", user="alpha", directions="beta,gamma")
    answers[answers.index("")] = "yes"
    answers.insert(2, "")
    answers.insert(answers.index("beta,gamma") + 1, "same")
    answers[answers.index("district") + 1] = "delta"
    told = proposed(*answers)
    for column in ("source=beta", "target=gamma", "user=alpha", "period=delta", "header=yes"):
        assert column in told["command"]
    run_all(told, call)
    status, _, err = call("plan", "--ask")
    assert status == 2
    assert "alpha" not in err


@pytest.mark.thorough
def test_a_table_of_noise_is_announced_before_anything_is_paid(proposed, done, typed, folder):
    guessed = trips(guess="100", budget="")
    told = proposed(*guessed)
    # 12 cells, of which each is wrong by more than 100/12
    assert told["error"] > 100 / 12
    assert "noise will hide most of this" in told["warning"]
    assert "take larger groups, or longer periods, or a smaller bound" in told["warning"]
    typed(*guessed)
    assert done("plan", "--ask")[0].startswith("Warning: noise will hide most of this")
    assert not list(folder.glob("*.db"))
    assert proposed(*trips(guess="1e6", budget=""))["warning"] == ""
    assert proposed(*trips())["warning"] == ""  # nobody has guessed
    typed(*trips())
    least = float(told["error"]) * 12
    assert f"With fewer than about {least:,.3g} rows in all" in done("plan", "--ask")[0]
    graph = proposed(*lines()[:-2], "20", "")
    assert "choose a table of what passes between groups" in graph["warning"]
    assert "epsilon = " in proposed(*lines(groups="staff.csv")[:-2], "5", "")["warning"]


def test_a_graph_too_small_for_any_epsilon_is_said_to_be_so(call, typed):
    typed(*lines(unit=("edge", "100"))[:-3], "3", "none", "")
    status, _, err = call("plan", "--ask")
    assert status == 2
    assert "noise hides every graph of 3 vertices" in err.splitlines()[-1]


@pytest.mark.thorough
def test_groups_go_with_a_graph_as_well(proposed, call):
    told = proposed("mail.edges", "", "edge", "1", "", "", "graph", "staff.csv", "none", "900")
    assert "--groups staff.csv" in told["command"]
    assert told["command"].startswith("graphcuts-dp release mail.edges synthetic.graphml")
    assert len(run_all(told, call)) == 3


@pytest.mark.thorough
def test_a_question_mark_shows_how_the_bound_is_estimated_and_asks_again(
    done, call, typed, proposed
):
    """The command runs, and the table that is proposed afterwards is of the same data."""
    bound = trips(bound="mark").index("mark")
    asked = [*trips()[:bound], "?", "4", *trips()[bound + 1 :]]
    typed(*asked)
    _, err = done("plan", "--ask")
    line = next(line for line in err.splitlines() if "come back" in line)
    assert "--contributions table:cells=12 " in line  # 2 districts, both ways, in 3 months
    assert "keep this terminal open" in line
    program, *words = shlex.split(line.partition("come back: ")[2])
    assert program == "graphcuts-dp"
    epsilon = float(words[words.index("--epsilon") + 1])
    # The least, in two digits, at which it hides at most twenty persons of each size.
    assert hidden_users(epsilon, len(BOUNDS) + 1) <= 20 < hidden_users(epsilon - 0.02, len(BOUNDS))
    assert "hides up to 20 persons of each size" in line
    assert done(*words)[0]
    assert gc.store_status("trips.csv.db").epsilon == epsilon
    without_budget = asked[:-1]
    told = proposed(*without_budget)
    assert told["refusal"] == ""
    assert "--budget" not in told["command"]
    run_all(told, call)
    typed(*without_budget)
    again = next(line for line in done("plan", "--ask")[1].splitlines() if "come back" in line)
    assert "--budget" not in again
    left = gc.store_status("trips.csv.db").left
    assert 0 < left < 1
    quarter = float(again.split("--epsilon ")[2].split()[0])  # behind that of another estimate
    assert 0.22 * left <= quarter <= 0.25 * left  # two digits, rounded down


PATHS = {
    "trips": trips(),
    "a graph": lines(),
    "a graph of members": lines(unit=VERTEX, who="analysts"),
    "people, one by one": lines("calls.csv", unit=USER, who="analysts"),
    "a first line that may be a row": UNCLEAR["a row, a table of rows"],
    "no file": ["none", "vertex", "3", "analysts", "", "500", ""],
}


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("path", PATHS)
def test_a_question_mark_explains_every_question(path, done, typed):
    """One line each, before the question is asked again, and the answers are the same."""
    typed(*PATHS[path])
    plain = done("plan", "--ask")
    typed(*(line for answer in PATHS[path] for line in ("?", answer)))
    out, err = done("plan", "--ask")
    assert out == plain[0]
    added = [line for line in err.splitlines() if line not in plain[1].splitlines()]
    assert len(added) == len(PATHS[path])
    assert all(re.match("note: [A-Z].*[?] ", line) for line in added)  # names its question
    assert not [line for line in added if "'?'" in line or "? does not" in line]


def test_every_question_has_an_explanation():
    keys = [question.key for question in plan_questions.questions()]
    assert len(keys) == len({*keys})
    assert {key.removeprefix("right-") for key in keys} == {*plan_help.EXPLANATIONS}
    assert {*plan_help.NEEDED} <= {*keys}


def test_the_file_may_be_named_with_the_command(told, typed, proposed, call, refused):
    typed(*trips()[1:])
    assert told("plan", "--ask", "trips.csv") == proposed(*trips())
    typed("trips.csv", *trips()[1:])
    status, _, err = call("plan", "--ask", "nothing.csv")
    assert status == 0
    assert "nothing.csv does not exist" in err
    assert "plan --ask trips.csv" in refused("plan", "trips.csv", "--epsilon", "1")


def test_a_bound_is_answered_by_how_exact_the_numbers_then_are(done, typed):
    errors = []
    for rows in ("5", "50"):
        typed(*trips(bound=rows))
        out, err = done("plan", "--ask")
        forecast = next(line for line in err.splitlines() if "may then be off by" in line)
        errors.append(float(forecast.split("off by ")[1].split()[0].replace(",", "")))
        stated = re.search(r"is at most ([0-9,.]+) rows", out)[1]
        assert errors[-1] == float(stated.replace(",", ""))
    assert 9 < errors[1] / errors[0] < 11


@pytest.mark.thorough
def test_a_guess_of_the_program_is_marked_and_a_table_is_compared(done, typed):
    typed("mail.edges", "", "edge", "1", "", "", "graph", "staff.csv", "none", "900")
    out = done("plan", "--ask")[0]
    assert "are assumed: replace them by your guess" in out
    assert re.search(r"A table of the sums between the groups alone .* off by \d+", out)
    typed("mail.edges", "", "edge", "1", "", "", "graph", "staff.csv", "300", "900")
    assert "are assumed" not in done("plan", "--ask")[0]
    typed(*lines(groups="staff.csv", who="analysts", error="900"))
    out = done("plan", "--ask")[0]
    assert re.search(r"A table of the sums between the groups alone .* off by \d+", out)
    assert "To count every line, type --counting rows" in out


def test_a_plan_says_which_edges_its_forecast_and_its_warning_assume(done, typed):
    typed("none", "edge", "", "everybody", "10", "30")
    out = done("plan", "--ask")[0]
    assert out.count("22 edges, 2.25 for each vertex, are assumed") == 2


def test_a_number_of_vertices_may_have_an_exponent_and_a_missing_file_is_said_to_be_so(
    proposed, done, typed
):
    told = proposed(*["4e1" if text == str(N) else text for text in lines()])
    assert f"--vertices {N} " in told["command"]
    typed(*lines()[:-3], "missing.txt", *lines()[-3:])
    assert (
        "'missing.txt' is no number such as 20, and no file of this name exists"
        in done("plan", "--ask")[1]
    )


def test_more_vertices_than_a_graph_can_have_are_asked_again(done, typed):
    typed(*lines()[:-3], "1e12", *lines()[-3:])
    assert "a graph has at most 2,147,483,647 vertices" in done("plan", "--ask")[1]


def test_names_of_files_in_a_refusal_stay_as_they_are(proposed, done, typed, call, tmp_path):
    """Options in it are named as they are typed, and this file is named like one."""
    (tmp_path / "mail.edges").rename(tmp_path / "max_weight.edges")
    answers = ["max_weight.edges", *lines(groups="staff.csv", error="300")[1:]]
    run_all(proposed(*answers), call)
    typed("max_weight.edges", *lines(groups="staff.csv", error="1")[1:])
    out = done("plan", "--ask")[0]
    assert "The store max_weight.edges.db would refuse this" in out


def test_a_list_of_vertices_may_be_in_the_home_folder(proposed, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    told = proposed(*["~/staff.txt" if text == str(N) else text for text in lines()])
    assert f"--vertices {tmp_path / 'staff.txt'}" in told["command"]


def test_a_store_that_is_there_keeps_its_budget(proposed, call):
    run_all(proposed(*lines(groups="staff.csv", error="300")), call)
    again = proposed(*lines(groups="staff.csv", error="300"))
    assert "--budget" not in again["command"]
    assert "--store mail.edges.db" in again["command"]
    assert again["command"].count("flows-2.csv") == 1
    run_all(again, call)
    assert len(gc.store_status("mail.edges.db").uses) == 2


def test_a_table_that_goes_on_is_proposed_per_period_with_years_to_come(proposed, call):
    told = proposed(*trips(continued="yes"))
    for words in (
        "flows-over-time trips.csv zones.csv",
        "--period 2026-01 --",
        "--periods 2026-01..2030-12",
        "--privacy-unit user:max-contributions=20,per-period",
    ):
        assert words in told["command"]
    assert told["privacy_unit"] == "1 user in one period"
    run_all(told, call)
    assert gc.load("flows.csv").horizon[-1] == "2030-12"
    quarters = proposed(*trips(periods="2026-Q1..2026-Q3", continued="yes"))
    assert "--periods 2026-Q1..2030-Q4" in quarters["command"]
    assert "would refuse this" in quarters["refusal"]  # the series of months has begun


@pytest.mark.thorough
def test_a_series_with_one_bound_for_all_months_is_proposed_with_what_it_feigns(
    proposed, call, done, typed
):
    asked = trips(continued="all", bound="60")
    told = proposed(*asked)
    for words in (
        "flows-over-time trips.csv zones.csv",
        "--periods 2026-01..2026-12",  # the year ends a bound that grows with it
        "--privacy-unit user:max-contributions=60",
    ):
        assert words in told["command"]
    assert "per-period" not in told["command"]
    typed(*asked)
    out, _ = done("plan", "--ask")
    assert "at most 60 rows of a person count in all of them" in out
    assert "more than about 5 in each month are left out" in out
    run_all(told, call)
    assert gc.load("flows.csv").horizon[-1] == "2026-12"
    typed(*trips(continued="all", bound="?")[:-3], "60", *asked[-3:])
    question = next(line for line in done("plan", "--ask")[1].splitlines() if "come back" in line)
    assert "About 12 times those of a regular person in one month" not in question  # its help
    wrong = [*trips(unit="row", user=None, product=None, known_max=None, bound=None)]
    wrong.insert(wrong.index("31.01.2026") + 1, "all")
    typed(*wrong)
    assert "'all' is neither yes nor no" in done("plan", "--ask")[1]


@pytest.mark.thorough
def test_a_largest_number_that_is_known_bounds_the_bound_and_the_estimate(
    proposed, call, done, typed
):
    typed(*trips(known_max="12", bound="?")[:-3], "13", "5", *trips()[-3:])
    _, err = done("plan", "--ask")
    assert "table:cells=12,known-max=12 " in err
    assert "nobody has more than 12, as you said" in err
    told = proposed(*trips(known_max="12", bound=""))  # the bound that is proposed
    assert "--privacy-unit user:max-contributions=12" in told["command"]
    assert "--known-max 12" in told["command"]
    run_all(told, call)
    assert "all_high" in gc.load("flows.csv").columns(None)  # nothing is left out
    again = trips(known_max="30", bound="12", budget=None)
    assert "--known-max" not in proposed(*again)["command"]
    typed(*again)
    spent = "The store trips.csv.db has spent epsilon = 1 on these data: 2 is left"
    assert spent in done("plan", "--ask")[1]


def test_an_error_that_is_a_slip_is_told_with_its_tiny_epsilon(done, typed):
    typed(*trips(error="90000"))
    assert "That takes epsilon = 0.001 alone" in done("plan", "--ask")[1]
    typed(*trips(error="60"))
    assert "alone: so large an error" not in done("plan", "--ask")[1]


def test_a_list_of_people_is_never_made_from_the_private_file(call, typed, folder):
    (folder / "ratings.csv").write_text("user,film\nann,Alien\n")
    typed("ratings.csv", "yes", "", "", "", "two", "", "", "none")
    err = call("plan", "--ask")[2]
    assert "never make the list from the private file" in err


def test_further_periods_are_asked_about_with_their_factor_before_the_bound(
    done, typed, call, proposed
):
    asked = trips(continued="yes")
    typed(*trips(continued="?")[:-6], "yes", *asked[-6:])
    out, err = done("plan", "--ask")
    assert "decide it before the first table" in err
    assert "--periods 2026-01..2030-12: what you typed, and years to come" in err
    assert "hidden k times less, by k times epsilon, with k up to 60" in out
    assert "with the next --period, as 2026-02, and with --force" in out
    keys = [question.key for question in plan_questions.questions()]
    assert keys.index("continued") < keys.index("rows")
    text = next(each for each in plan_questions.questions() if each.key == "continued").text
    users = {"periods": "2026-01..2026-03", "unit": "user"}
    assert "k times epsilon" in text(users)
    assert "no more budget" in text(users | {"unit": "row"})
    told = proposed(*asked)
    run_all(told, call)
    _, *words = shlex.split(told["command"])
    words[words.index("--period") + 1] = "2026-02"
    assert call(*words, "--force")[0] == 0
    assert gc.load("flows.csv").periods == ("2026-01", "2026-02")


@pytest.mark.parametrize(
    ("periods", "written"), [("2026-01-01..2026-01-31", "31.01.2026"), ("spring,autumn", None)]
)
def test_days_and_names_are_not_continued(periods, written, proposed):
    """No end of a year follows from them; and names have no format of dates."""
    told = proposed(*trips(periods=periods, written=written, continued=None))
    assert f"--periods {periods} " in told["command"]
    assert "flows-over-time" not in told["command"]


def test_no_periods_of_a_column_of_dates_are_asked_again(proposed, done, typed):
    answers = trips()
    index = answers.index(TRIPS["periods"])
    typed(*answers[:index], "none", *answers[index:])
    assert "go back, and type none for it" in done("plan", "--ask")[1]
    without_dates = [*answers[:index], "back", "none", *answers[index + 2 :]]
    assert "--periods" not in proposed(*without_dates)["command"]


def test_a_graph_with_dates_is_asked_whether_more_follows(done, typed, folder):
    (folder / "dated.csv").write_text("caller,callee,date\n")
    asked = ["dated.csv", "pairs", "edge", "1", "", "", "graph", "letters-staff.csv", "yes"]
    typed(*asked, "none", "900")
    assert "--same-people-as" in done("plan", "--ask")[1]


def test_directions_are_asked_where_columns_name_them(proposed, call):
    directed = proposed(*lines("calls.csv", unit=EDGE, error="900"))
    assert "--kind directed" in directed["command"]
    run_all(directed, call)
    together = lines("calls.csv", unit=EDGE, error="900")
    together[together.index("")] = "together"
    assert "--kind" not in proposed(*together)["command"]


# Files of which several lines name the same pair; the columns say no date that is usual.
@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("answers", "counted", "total"),
    [
        (["", "", "", ""], "Counted: every line of the file.", 900),
        (["pairs", "", "", "", "", "table"], "Counted: pairs that occur at least once", 90),
    ],
)
def test_lines_or_pairs_count_as_it_was_answered(
    answers, counted, total, proposed, call, folder, done, typed
):
    """Mails are counted where mails were asked for, and the last lines say which they are."""
    rows = [f"v{i},v{(i + step) % 30},x\n" for i in range(30) for step in (1, 2, 4)] * 10
    (folder / "mails.csv").write_text("sender,recipient,sent_at\n" + "".join(rows))
    ends = [*["none", ""] * (total == 900), "none", "", ""]
    asked = ["mails.csv", *answers, "letters-staff.csv", *ends]
    typed(*asked)
    assert counted in done("plan", "--ask")[0]
    told = proposed(*asked)
    assert told["counted"].startswith(counted)
    run_all(told, call)
    low, high = gc.load("flows.csv").total.interval
    assert low - 20 <= total <= high + 20


RATINGS = ["ratings.csv", "yes", "", "user", "user", "user,film", "two"]
RATED_TABLE = ["users.csv", "films.csv", "day", "2026-01..2026-02", "", "", "", "", "", "", ""]
RATED_PAIRS = ["ratings.csv", "yes", "pairs", "edge", "1", "user,film", "two"]
RATED_GROUPS = ["users.csv", "films.csv", "", "", "900", ""]
# What is typed about ratings, and to how many commands that leads.
TWO_KINDS = {
    "a table of people": ([*RATINGS, "", "", *RATED_TABLE], 3),
    "a table of rows": (
        ["ratings.csv", "yes", "", "row", "user,film", "two", "", *RATED_TABLE[:-1]],
        3,
    ),
    "a graph": ([*RATED_PAIRS, "", "graph", *RATED_GROUPS], 3),
    "analysts": ([*RATED_PAIRS, "analysts", "5", *RATED_GROUPS], 3),
    "team": ([*RATED_PAIRS, "team", "5", *RATED_GROUPS], 1),
}


@pytest.fixture
def ratings(folder):
    """Ratings of films by users, with a public table of groups of both."""
    rows = "".join(f"u{i},Film {i * k % 7},{k},2026-0{k}-11\n" for i in range(30) for k in (1, 2))
    (folder / "ratings.csv").write_text("user,film,stars,day\n" + rows)
    users = "".join(f"u{i},{'old' if i % 2 else 'young'}\n" for i in range(30))
    (folder / "users.csv").write_text("user,age\n" + users)
    films = "".join(f"Film {i},{'Drama' if i < 3 else 'Comedy'}\n" for i in range(7))
    (folder / "films.csv").write_text("film,genre\n" + films)


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("ratings")
@pytest.mark.parametrize("path", TWO_KINDS)
def test_two_kinds_have_groups_of_both_sides(path, proposed, call, monkeypatch):
    monkeypatch.setattr(app, "serve", lambda *_: None)
    asked, commands = TWO_KINDS[path]
    told = proposed(*asked)
    assert "--kind bipartite" in told["command"]
    assert "users.csv" in told["command"]
    assert "--right-groups films.csv" in told["command"]
    assert len(told["commands"]) == commands
    run_all(told, call)  # the first one is a dry run


@pytest.mark.usefixtures("ratings")
def test_a_table_of_the_other_side_is_refused(call, typed):
    typed(*RATINGS, "", "", "films.csv")
    assert "films.csv lists film; name the table that lists user" in call("plan", "--ask")[2]
    typed(*RATINGS, "", "", "users.csv", "users.csv")
    assert "users.csv lists user; name the table that lists film" in call("plan", "--ask")[2]
    typed(*RATINGS[:-1], "")
    assert "this needs same or two" in call("plan", "--ask")[2]


@pytest.mark.thorough
def test_a_store_that_would_refuse_is_told_before_anything_is_typed(proposed, call, done, typed):
    first = proposed(*trips())
    run_all(first, call)
    assert proposed(*trips())["refusal"] == ""  # the budget is 3, and 1 is spent
    other = trips(continued="yes")
    beside = proposed(*other)
    assert "the privacy unit of the store" in beside["refusal"]
    assert "--privacy-unit" in beside["refusal"]
    assert "privacy_unit=" not in beside["refusal"]
    typed(*other)
    out = done("plan", "--ask")[0]
    assert out.startswith("The store trips.csv.db would refuse this")
    assert "--store trips.csv.db " not in out  # no command that is refused
    assert "--store trips.csv-2.db" in beside["command"]
    run_all(beside, call)
    large = [*trips()[:-2], str(first["error"] / 2.5)]
    over_budget = proposed(*large)
    assert "budget" in over_budget["refusal"]
    assert over_budget["commands"] == []
    typed(*large)
    out = done("plan", "--ask")[0]
    assert "No command is printed" in out
    assert "type:" not in out


TRIPS_WITHOUT_GROUPS = trips()[: trips().index("zones.csv")]


@pytest.mark.thorough(cases=13)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (["none.edges"], "none.edges does not exist"),
        (lines(groups="none.csv")[:-2], "none.csv' does not exist"),
        ([*lines()[:-3], ""], "file with one label on each line"),
        ([*lines()[:-3], "1e3.5"], "is no number such as 20"),
        ([*lines()[:-3], "1"], "say how many vertices"),
        ([*lines()[:-3], "staff.csv"], "a table of groups is the answer to an earlier question"),
        (["calls.csv", "", "user"], "this needs a column: caller, callee"),
        ([*TRIPS_WITHOUT_GROUPS, ""], 'two lines for example "name,group" and "A17,North"'),
        (lines(error="0"), "the error is a number"),
        (lines(error="nan"), "the error is a number"),
        (lines(error="much"), "is no number such as 20"),
        (lines(error="1e-9"), "cannot be had"),
        (["mail.edges", "", "edge", "1", "", "me"], "'me' is none of everybody"),
        (["mail.edges", "", "persons"], "'persons' is none of edge"),
        (["calls.csv", "", "user", "nobody"], "there are caller, callee"),
        (
            ["mail.edges", "", "vertex", "3", "", "", "none"],
            "go back (back) and choose analysts",
        ),
        (
            ["calls.csv", "", "row", "", "", "none"],
            "go back (back) and choose pairs in place of lines",
        ),
        (
            ["calls.csv", "pairs", "edge", "", "", "", "table", "none"],
            "go back (back) and choose graph",
        ),
        (["calls.csv", "pairs", "edge", "", "", "", "map"], "'map' is neither table nor graph"),
        (["names.csv", "maybe"], "'maybe' is neither yes nor no"),
        ([*lines(), "0.01"], "this result alone uses up"),
        ([*lines()[:-2], "0"], "the guess is a number from 1 on"),
        (["calls.csv", "", "row", "", "analysts"], "choose everybody"),
        (["calls.csv", "all"], "'all' is neither lines nor pairs"),
        (["calls.csv", "lines", "edge"], "for edge go back (back) and choose pairs"),
        (["calls.csv", "pairs", "row"], "for row go back (back) and choose lines"),
        (["mail.edges", "", "edge", "0"], "group-size must be a whole number"),
        (["mail.edges", "", "edge", "1.5"], "1.5 is no whole number"),
    ],
)
def test_answers_that_end_with_a_wrong_one_are_refused_with_its_question(
    text, message, call, typed
):
    typed(*text)
    status, out, err = call("plan", "--ask")
    assert (status, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("error: ")
    assert err.splitlines()[-1].endswith("no command was printed: start again")
