"""Show the public result of a run: on the page, in the report, as a notebook."""

import io
import json
import re
import shlex
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.display import Displayed, cell_text, short, short_bound
from graphcuts_dp.page.estimate import error_of
from graphcuts_dp.page.runs import PageRun
from graphcuts_dp.page.words import KEYS
from graphcuts_dp.reports.release_report import ReleaseReport, report_of, report_of_store
from graphcuts_dp.results import bundle
from graphcuts_dp.results.bundle import receipt_path
from graphcuts_dp.results.flow_table import ALL_NUMBERS, MOSTLY, NUMBERS
from graphcuts_dp.results.flows import Flows
from graphcuts_dp.results.release import Release
from graphcuts_dp.schema.vertices import sets_in

_MOST_ROWS = 400  # of a table on the page
DROWNS = "drowns in noise"  # a verdict of `release.usefulness`
_ERROR = f"error at most ({DEFAULT_PERCENT})"
# Code of the notebook that loads a result, and the cells that show it, by the kind of its use.
_LOAD = """from pathlib import Path

import graphcuts_dp as gc

RESULT = Path({result})
if not RESULT.exists():
    raise FileNotFoundError({advice})"""
_SHOW = {
    "flows": ["flows = gc.load(RESULT)\nflows", "flows.to_frame()", "flows.plot()"],
    "release": ["release = gc.load(RESULT)\nrelease", "release.graph", "release.plot()"],
    "cut": ["cut = gc.load(RESULT)\ncut", "cut.parts"],
    "session": ["print(gc.store_status(RESULT))"],
    "bound": ["print(gc.store_status(RESULT))"],
}


def command_of(run: PageRun) -> str:
    """Return the command of a run, as it can be typed in a terminal."""
    return shlex.join(["graphcuts-dp", *run.plan["words"]])


def data_of(run: PageRun) -> str:
    """Return the name of the private file of a run, with the months that it reports."""
    months = str(run.plan["values"].get(KEYS["months"], "")).strip()
    return ", ".join(filter(None, (Path(run.plan["source"]).name, months)))


def _published_words(run: PageRun) -> list[str]:
    """Return the words of the command without folders: a notebook may be published."""
    return [re.sub(r"[^,=]+", _name_of_file, word) for word in run.plan["words"]]


def _name_of_file(part: re.Match[str]) -> str:
    """Return a part of a word; if it is a whole path, the name of the file."""
    path = Path(part[0])
    return path.name if path.is_absolute() else part[0]


def _without_folder(value: Any) -> Any:
    """Return a value of a report; if it is a whole path, the name of the file."""
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def fragment(run: PageRun) -> str:
    """Return the result as HTML, in which all texts are escaped. Reads the release and the plan."""
    if estimate := estimate_in_words(run):
        return f'<div class="plain"><p>{escape(estimate)}</p></div>'
    if not run.product.result:
        facts = [
            (name.replace("_", " "), _without_folder(value))
            for name, value in run.report.items()
            if not isinstance(value, dict)
        ]
        return _table(("", ""), facts)
    result = bundle.load(run.result)
    parts = [_rows(result)] if isinstance(result, Flows) else []
    if isinstance(result, Release):
        parts.append(_network_in_words(result))
    if isinstance(result, Displayed):
        card = result._repr_html_()
        details_of_card = f"<details><summary>Technical details</summary>{card}</details>"
        parts.append(details_of_card if parts else card)
    usefulness = run.report.get("good_for")
    if isinstance(usefulness, dict):
        heads = ("what is counted", "links, about", _ERROR, "of use?")
        rows = [
            [
                run.product.in_words(str(question["what"])),
                short(question["measures_about"]),
                short_bound(question["error_bound"]),
                question["verdict"],
            ]
            for question in usefulness["questions"]
        ]
        advice = escape(run.product.in_words(usefulness["advice"]))
        parts[1:1] = [_table(heads, rows), f"<p>{advice}</p>"]
    return "\n".join(parts)


def estimate_in_words(run: PageRun) -> str:
    """Return the result of an estimate of people's numbers of rows in words; "" for other runs."""
    if run.product.kind != "bound":
        return ""
    rows, people = int(run.report["max_contributions"]), run.plan.get("people")
    expected = run.plan["expected"]
    if people is None:  # the run began without a guess
        return f"The estimate is {rows:,} rows. It used up {expected['epsilon']:g}."
    return error_of(people, expected).sentences(rows)


def _network_in_words(release: Release) -> str:
    """Return sentences on how to read a simulated network, as HTML."""
    members = " and ".join(f"{len(side):,}" for side in sets_in(release.space))
    sentences = [f"This network has {members} members, with the names of your public list."]
    if release.has_graph:
        sentences.append(
            f"It has {len(release.graph.rows):,} simulated links. Whether two members are linked "
            "in it says little about whether they are linked in the private file: read sums over "
            "many members, not single links."
        )
        if not release.graph.weighted:
            sentences.append("Several rows between the same two members count as one link.")
    sentences.append(f"It used up {release.guarantee.epsilon:g}.")
    return f'<div class="plain">{"".join(f"<p>{escape(text)}</p>" for text in sentences)}</div>'


def noise_warning(run: PageRun) -> str:
    """Return a sentence if most of the released numbers are noise; else "".

    Each number of the finest level is compared with its half width, which was released, too.
    """
    if run.product.result and isinstance(result := bundle.load(run.result), Flows):
        verdict = result.noise_verdict
        if verdict:
            advice = "Larger areas, longer periods or more of the budget give clearer numbers."
            return f"{verdict}. {advice}"
    usefulness = run.report.get("good_for")
    if isinstance(usefulness, dict):
        questions = usefulness["questions"]
        noisy_questions = sum(question["verdict"] == DROWNS for question in questions)
        if questions and noisy_questions / len(questions) > MOSTLY:
            return (
                f"Most of this is noise: {noisy_questions} of {len(questions)} questions below "
                "drown in noise. More of the budget gives clearer answers."
            )
    return ""


def band_note(run: PageRun) -> str:
    """Return a sentence on the band in the picture of a table over periods; "" if there is none.

    The width of the band depends on the noise alone, so it is the same in all periods.
    """
    if not run.product.result or not any(name.endswith(".png") for name in run.files):
        return ""
    flows = bundle.load(run.result)
    if not isinstance(flows, Flows) or flows.periods is None:
        return ""
    period = str(flows.periods.labels(flows.periods.levels[-1])[0])
    _, high = flows.intervals(period=period, simultaneous=True)
    widest = float(np.max(high - flows.values(period=period)))
    return (
        f"The band in the picture is wider (\u00b1 {widest:,.0f}), because it holds for all "
        "numbers at once."
    )


def _rows(flows: Flows) -> str:
    """Return the released table as HTML, each number with the half width of its interval."""
    columns = flows.columns()
    widths = np.concatenate([flows.half_widths_of(level) for level in range(1, flows.cells.depth)])
    single_level = {"level"} if len(flows.levels) == 1 else set()  # the column would say nothing
    names = [
        name
        for name in columns
        if name not in ("count", "outside", *NUMBERS, *ALL_NUMBERS, *single_level)
    ]
    rows = []
    for index in range(min(len(widths), _MOST_ROWS)):
        estimate = f"{columns['estimate'][index]:,.1f} ± {widths[index]:,.1f}"
        labels = [columns[name][index] for name in names]
        rows.append([*labels, columns["count"][index], estimate])
    more = len(widths) - len(rows)
    footer = f"<p>and {more:,} more rows in the file</p>" if more else ""
    sentence = flows.counted_sentence
    footer += f"<p>{escape(sentence[0].upper() + sentence[1:])}.</p>" if sentence else ""
    footer += "<p>To add up numbers, use the column estimate.</p>"
    heads = (*names, "count (whole, for readers)")
    return _table((*heads, f"estimate ± ({DEFAULT_PERCENT}, for calculations)"), rows) + footer


def _table(heads: Any, rows: Any) -> str:
    """Return a table as HTML, in which all cells are escaped."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in heads)
    lines = (
        "<tr>" + "".join(f"<td>{escape(cell_text(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def report_on(run: PageRun) -> ReleaseReport:
    """Return the report of a run: on its result, or on its store if the result stands there.

    Raises:
        GraphCutsError: the result or the store cannot be read, or they do not agree.
    """
    store = run.folder / run.plan["store"]
    if not run.product.result:
        return report_of_store(store, answers=run.answers)
    return report_of(receipt_path(run.result), store=store, answers=run.answers)


def notebook(run: PageRun) -> bytes:
    """Return a notebook that shows the result; it has to be in the same folder as the result."""
    store = Path(run.plan["store"]).name
    result = run.product.result or store  # the answers of a session are in its store
    advice = (
        f"put this notebook beside {result}; if that is lost, `graphcuts-dp resume {store}` writes "
        "it again, free of charge"
    )
    first = _LOAD.format(result=json.dumps(result), advice=json.dumps(advice))
    introduction = (
        f"# {run.product.title}\n\n{run.plan['expected']['guarantee']}\n\n"
        f"Made by `graphcuts-dp {shlex.join(_published_words(run))}`"
    )
    code: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
    }
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "metadata": {}, "source": introduction}
    ]
    cells += [code | {"source": source} for source in (first, *_SHOW[run.product.kind])]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    spec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": cells,
        "metadata": {"kernelspec": spec},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    file = io.StringIO()
    json.dump(document, file, indent=1)
    return file.getvalue().encode()
