"""Write a report as a page of HTML that prints on two sheets, or as text in Markdown.

The page contains its style and refers to no other file. Every text of a report is escaped. Its
first sheet is the report, its second the check list; `report.css` fits them to A4 and to Letter.
"""

import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from graphcuts_dp.reports.contents import short_text
from graphcuts_dp.reports.hazards import Hazard
from graphcuts_dp.reports.release_report import ReleaseReport
from graphcuts_dp.reports.words import (
    ABOUT_ASKED,
    ABOUT_HAZARDS,
    ASKED,
    CHECKED,
    DECISION,
    HAZARDS,
    HEADINGS,
    NO,
    YES,
    YOU_CHECK,
)

STYLE = Path(__file__).resolve().parent / "report.css"
_LONGEST_SENTENCE = 320  # characters on the page; files and JSON have all of them
_LONGEST_CELL = 150  # characters of a cell of a table on the page
_MOST_ROWS = 4  # of a table on the first sheet
# Characters of a line of the first sheet, and of both columns of its tables.
_LINE_WIDTH, _COLUMN_WIDTHS = 92, (32, 60)
_MOST_LINES = 52  # that fit in letters of the usual size; more are written in smaller ones
_ANSWER_WIDTH = 50  # characters of a line of an answer on the second sheet
_BLANK = "\\_" * 30  # to be filled in, on paper
Pairs = Sequence[tuple[str, str]]


def html_page(report: ReleaseReport) -> str:
    """Return a whole page of HTML, with its style."""
    style, title = STYLE.read_text(encoding="utf-8"), escape(report.title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style}</style></head>"
        f'<body class="reported">{html_sheets(report)}</body></html>\n'
    )


def html_sheets(report: ReleaseReport) -> str:
    """Return both sheets as HTML for a page that has the style already."""
    parts = [_sheet_start(is_dense=sheet_lines(report) > _MOST_LINES)]
    parts.append(f"<h1>{_text(report.title)}</h1>")
    parts.append(f'<p class="files">{_text(", ".join(report.names))}</p>')
    if report.warning:
        parts.append(f'<p class="warning">{_text(report.warning)}</p>')
    for heading, sentences, pairs in _sections(report):
        parts.append(f"<h2>{_text(heading)}</h2>")
        if sentences:
            parts.append(f"<p>{' '.join(map(_text, sentences))}</p>")
        if pairs:
            rows = (
                f"<tr><th>{_text(name)}</th><td>{_text(text)}</td></tr>" for name, text in pairs
            )
            parts.append(f"<table>{''.join(rows)}</table>")
    longest = max(len(hazard.answer) for hazard in report.hazards)
    parts += ["</section>", _sheet_start(is_dense=longest > _ANSWER_WIDTH)]
    parts.append(f"<h1>{_text(HAZARDS)}</h1>")
    parts.append(f'<p class="files">{_text(ABOUT_HAZARDS)}</p>')
    checked, questions = _checked_and_asked(report.hazards)
    for heading, about, hazards in ((CHECKED, "", checked), (ASKED, ABOUT_ASKED, questions)):
        parts.append(f"<h2>{_text(heading)}</h2>")
        if about:
            parts.append(f'<p class="files">{_text(about)}</p>')
        parts += ['<table class="hazards"><tbody>', *map(_html_hazard, hazards), "</tbody></table>"]
    parts.append("</section>")
    return "\n".join(parts)


def _sheet_start(*, is_dense: bool) -> str:
    """Return the tag that begins a sheet; a dense one has smaller letters."""
    return f'<section class="sheet{" dense" if is_dense else ""}">'


def _text(text: str) -> str:
    """Return the text of a sentence, escaped for HTML."""
    return escape(_line(text))


def _line(text: str, most: int = _LONGEST_SENTENCE) -> str:
    """Return a text in one line, shortened to a number of characters."""
    return short_text(" ".join(text.split()), most)


def _sections(report: ReleaseReport) -> Iterator[tuple[str, Sequence[str], Pairs]]:
    """Yield the headings of the first sheet, each with its sentences and its table."""
    parts: dict[str, tuple[Sequence[str], Pairs]] = {
        "published": (report.published, ()),
        "unit": (report.unit, ()),
        "odds": (report.odds, ()),
        "errors": ((), _rows_of_errors(report.errors)),
        "left_out": (report.left_out, ()),
        "not_guaranteed": (report.not_guaranteed, ()),
        "budget": (report.budget, ()),
        "origin": ((), report.origin),
        "check": ((report.check_code, *report.check), ()),
        "decision": (DECISION, ()),
    }
    for part, heading in HEADINGS.items():
        sentences, pairs = parts[part]
        rows = [(_line(name, _LONGEST_CELL), _line(text, _LONGEST_CELL)) for name, text in pairs]
        yield heading, sentences, rows


def _rows_of_errors(errors: Pairs) -> Pairs:
    """Return the first errors, and a row with the number of the others, or that there are none."""
    if not errors:
        return (("errors", "not stated in the receipt"),)
    more = len(errors) - _MOST_ROWS
    if more <= 0:
        return errors
    return (*errors[:_MOST_ROWS], ("more", f"{more:,} more in the files"))


def _checked_and_asked(hazards: Sequence[Hazard]) -> tuple[list[Hazard], list[Hazard]]:
    """Return the hazards that the program has checked, and those that people have to answer."""
    return (
        [hazard for hazard in hazards if not hazard.question],
        [hazard for hazard in hazards if hazard.question],
    )


def _html_hazard(hazard: Hazard) -> str:
    """Return a row of the check list; that of a question has space to write in."""
    name = f"{_text(hazard.name)} <small>({hazard.chapter.split()[0]})</small>"
    if hazard.question:
        answer = f'<div class="answer">{_cell(hazard.answer)}</div>'
        evidence = f"{_cell(hazard.evidence)}{_files(hazard)}"
        return (
            f'<tr><th class="asked">{name}<div><small>{evidence}</small></div></th>'
            f"<td>{_text(hazard.question)}{answer}</td></tr>"
        )
    mark, word, kind = ("✓", YES, "yes") if hazard.addressed else ("–", NO, "no")
    if hazard.addressed and hazard.only_stated:
        mark, word, kind = "?", YOU_CHECK, "stated"
    files = f"<small>{_files(hazard)}</small>" if hazard.files else ""
    cells = f'<td class="{kind}">{mark} {word}</td><td>{_text(hazard.evidence)}{files}</td>'
    return f"<tr><th>{name}</th>{cells}</tr>"


def _cell(text: str) -> str:
    """Return the text of a cell, escaped for HTML."""
    return escape(_line(text, _LONGEST_CELL))


def _files(hazard: Hazard) -> str:
    """Return the files of the source that the evidence rests on, in brackets; "" for none."""
    return f" ({_text(', '.join(hazard.files))})" if hazard.files else ""


def sheet_lines(report: ReleaseReport) -> int:
    """Return the approximate number of lines of the first sheet; a heading counts twice."""
    lines = 3 + _line_count(", ".join(report.names), _LINE_WIDTH)
    lines += _line_count(report.warning, _LINE_WIDTH)
    for _, sentences, pairs in _sections(report):
        lines += 2 + _line_count(" ".join(map(_line, sentences)), _LINE_WIDTH)
        lines += sum(max(map(_line_count, pair, _COLUMN_WIDTHS)) for pair in pairs)
    return lines


def _line_count(text: str, width: int) -> int:
    """Return the number of lines that a text takes at a width in characters."""
    return math.ceil(len(text) / width)


def markdown(report: ReleaseReport) -> str:
    """Return the report as text in Markdown."""
    lines = [f"# {_markdown(report.title)}", "", _markdown(", ".join(report.names)), ""]
    if report.warning:
        lines += [f"**{report.warning}**", ""]
    for heading, sentences, pairs in _sections(report):
        lines += [f"## {heading}", ""]
        if sentences:
            lines += [*map(_markdown, sentences), ""]
        if pairs:
            lines += [f"- {_markdown(name)}: {_markdown(text)}" for name, text in pairs]
            lines.append("")
    lines += [f"# {HAZARDS}", "", ABOUT_HAZARDS, ""]
    checked, questions = _checked_and_asked(report.hazards)
    lines += [f"## {CHECKED}", ""]
    for hazard in checked:
        mark = "x" if hazard.addressed and not hazard.only_stated else " "
        note = "" if mark == "x" else f"{YOU_CHECK if hazard.addressed else NO}: "
        lines.append(
            f"- [{mark}] {hazard.name}: {note}{_markdown(hazard.evidence)}{_files(hazard)}"
        )
    lines += ["", f"## {ASKED}", "", ABOUT_ASKED, ""]
    for hazard in questions:
        answer = _markdown(hazard.answer) or _BLANK
        evidence = f"{_markdown(hazard.evidence)}{_files(hazard)}"
        lines.append(f"- {hazard.name} ({evidence}). {hazard.question} {answer}")
    text = "\n".join(lines).replace("\n\n\n", "\n\n")
    return f"{text}\n"


def _markdown(text: str) -> str:
    """Return a text in one line without HTML and links; intervals keep their brackets."""
    return escape(_line(text), quote=False).replace("](", "]\\(")
