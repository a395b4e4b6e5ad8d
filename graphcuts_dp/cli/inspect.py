"""`graphcuts-dp inspect`: what a receipt says, in plain words, and whether its files are whole.

And `datasets`: the small public graphs that come with the package.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from glob import escape
from pathlib import Path
from typing import Any

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report
from graphcuts_dp.datasets import list_datasets, load
from graphcuts_dp.errors import FileFormatError, GraphCutsError, ParameterError
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, Protect, Protected, posterior
from graphcuts_dp.privacy.level_noise import NORMS
from graphcuts_dp.results.bundle import check_files, read_receipt, receipt_path

Fields = Mapping[str, Any]
NOT_PRIVATE = (
    "A seed was given, so whoever guesses it can take the noise off: publish nothing of this."
)
KEEP = (
    "the private file itself, the store and its bounds on what is left, seeds, and whatever was "
    "measured against the truth (evaluate)"
)
_PRIOR = 0.01  # what an attacker may believe beforehand, for one line of odds


def promise(guarantee: PrivacyGuarantee) -> dict[str, str]:
    """Whom it protects, against what, and how well.

    Raises:
        GraphCutsError, ValueError: an epsilon or a protection that no release has.
    """
    budget = f"{guarantee.epsilon:g}"
    delta = f"{guarantee.delta:g}" if guarantee.delta else "0 (pure differential privacy)"
    words = {"Epsilon": budget, "Delta": delta}
    if guarantee.parts:
        spent = ", ".join(f"{name} {float(part):.3g}" for name, part in guarantee.parts)
        words["Epsilon was spent on"] = spent
    words["Protects"] = f"{guarantee.protects}; hidden is {guarantee.neighbours}."
    words["Taken as known"] = f"{guarantee.public}."
    if guarantee.epsilon == 0:
        return words | {"Strength": "nothing private was read, so nothing can come out."}
    count, what = _protected(guarantee)
    bound: dict[str, Any] = {"degree_bound": count} if what == "vertex" else {"steps": count}
    if what == "owner":
        bound["per_period"] = guarantee.differs_within is not None
    told = Protect(kind=what, **bound).explain(epsilon=guarantee.epsilon, delta=guarantee.delta)
    sentences = dict(told.sentences)
    del sentences["Protected"]
    return words | sentences | {"Strength": _strength(sentences["Strength"], guarantee)}


def _strength(text: str, guarantee: PrivacyGuarantee) -> str:
    most = posterior(_PRIOR, guarantee.epsilon)
    but = f", but for a chance of {guarantee.delta:g}" if guarantee.delta else ""
    return (
        f"{text} Who believed a guess with probability {_PRIOR:g} beforehand believes it with at "
        f"most {most:.3g} afterwards{but}."
    )


_BOUNDED: dict[str, Protected] = {"row": "rows", "owner": "owner", "vertex": "vertex"}


def _protected(guarantee: PrivacyGuarantee) -> tuple[int, Protected]:
    """How many, and of what kind."""
    found = re.fullmatch(
        r"([\d,]+) (edges?|row|owner|vertex|person|people)(?: in one \w+)?", guarantee.protects
    )
    if found is None:
        raise ValueError("an unknown protection")
    count, what = int(found[1].replace(",", "")), found[2]
    if what in ("row", "owner", "vertex"):
        bound = re.search(r"at most ([\d,]*\d)", guarantee.neighbours)
        if bound is None:
            raise ValueError("a protection without its bound")
        return int(bound[1].replace(",", "")), _BOUNDED[what]
    return count, "edges" if what.startswith("edge") else "people"


def _receipt(name: str) -> Path:
    """The receipt that is meant: the file itself, the one beside it, or the only one so named.

    Raises:
        FileFormatError: there are several.
    """
    if name.endswith(".json"):
        return Path(name)
    beside = receipt_path(name)
    if beside.exists():
        return beside
    found = sorted(
        file
        for file in beside.parent.glob(f"{escape(Path(name).name)}.*.json")
        if not file.name.endswith(".schema.json")
    )
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise FileFormatError(f"{name} may be any of {names}; name one of them")
    return found[0] if found else beside


def _size(shape: Any) -> str:
    rows, columns = (int(n) for n in shape)
    return f"{rows:,} vertices" if rows == columns else f"{rows:,} x {columns:,} vertices"


def _release(receipt: Fields) -> dict[str, str]:
    fit, size, measured = receipt["fit"], _size(receipt["shape"]), dict(receipt["measurements"])
    sparse, entries = receipt["model"] is not None, measured.pop("entries", None)
    bought = ", ".join(str(name) for name in measured)
    if sparse:
        what = "a sparse release without a graph" if fit is None else "a sparse synthetic graph"
        words = {
            "What it is": f"{what} of {size}, and what was measured for it.",
            "Noise": f"geometric, on {bought}; not on every pair of vertices.",
        }
    else:
        what = f"a synthetic graph of {size}, and the noisy matrix it is made of."
        if fit is None:
            what = f"a noisy matrix of {size}, without a synthetic graph."
        words = {
            "What it is": what,
            "Noise": f"{entries['noise']}, on each pair of vertices by itself, with a standard "
            f"deviation of {float(entries['standard_deviation']):.3g} in units of weight.",
        }
        if bought:
            words["Also measured"] = f"{bought}; each with noise of its own."
    if fit is not None and sparse:
        words["How it was made"] = (
            f"drawn from a model that was fitted to the noisy sums by {fit['method']}; pairs that "
            "are not named among the measurements come from the model."
        )
    elif fit is not None:
        words["How it was made"] = (
            f"fitted to the noisy measurements by {fit['method']} ({fit['objective']}); nothing "
            "but these measurements was read, so the fit costs no privacy."
        )
    if receipt["certificate"] is not None:
        words["How near"] = (
            "no cut of the graph is off from the noisy matrix by more than "
            f"{float(receipt['certificate']['upper']):,.4g}, and with probability 95% no cut of "
            f"the noisy matrix from the truth by more than {float(receipt['noise_bound']):,.4g} "
            "(edges inside both sets counted twice)."
        )
    return words


def _flows(receipt: Fields) -> dict[str, str]:
    errors = ", ".join(
        f"{name} {float(error):.3g}" for name, error in receipt["expected_deviations"].items()
    )
    return {
        "What it is": "a table of what passes between public groups of vertices, with intervals.",
        "Noise": f"discrete {receipt['sums']['noise']}, on sums between groups; standard "
        f"deviations of the estimates: {errors}.",
        "How it was made": f"sums of {', '.join(map(str, receipt['measured']))} were measured, "
        "and made consistent by least squares.",
        "Intervals": f"{receipt['intervals']}.",
    }


_LEARNT = {  # what else than a graph learnt from cuts is made by a construction
    "net": "a graph of {size}, chosen among {members:,} members of a public net.",
    "sensing": "a matrix of {size}, learnt from noisy linear queries.",
    **dict.fromkeys(NORMS, "answers to cuts of {size}, bought together."),
}


def _iterative(receipt: Fields) -> dict[str, str]:
    settings, accuracy, law = receipt["settings"], receipt["accuracy"], receipt["law"] or {}
    what = _LEARNT.get(
        settings["construction"], "a synthetic graph of {size}, learnt from noisy answers to cuts."
    )
    error, deviation = accuracy["error"], accuracy["deviation"]
    near = "nothing is proven about its error."
    if error is not None:
        near = (
            f"answers are off by at most {float(error):,.4g}, of the queries "
            f"{accuracy['queries']!r}, with probability {float(accuracy['confidence']):.0%} for "
            "all of them at once."
        )
    noise = "on the choice of each query and on each answer, as the parts of epsilon above say."
    if "rate" in law:
        unit = float(law.get("unit") or law["grid"]["unit"])
        noise = f"on whole numbers, of rate {law['rate']} for a step of {unit:g}."
    elif deviation is not None:
        noise = f"on each answer, of a standard deviation of at most {float(deviation):.3g}."
    return {
        "What it is": what.format(size=_sides(receipt), members=int(law.get("members", 0))),
        "How it was made": f"by {settings['construction']}"
        + f" with {settings['distinguisher']}" * bool(settings["distinguisher"])
        + f", {int(settings['used'])} of at most {int(settings['rounds'])} rounds"
        + f", calibration {settings['calibration']}" * bool(settings["calibration"])
        + ".",
        "Noise": noise,
        "How near": near,
    }


def _sides(receipt: Fields) -> str:
    sizes = [n if isinstance(n, int) else len(n) for n in receipt["vertices"]]
    return _size(sizes if len(sizes) == 2 else sizes * 2)


def _distances(receipt: Fields) -> dict[str, str]:
    return {
        "What it is": f"average distances from {len(receipt['answers']):,} places of a public map "
        "to all people.",
        "How it was made": f"by {receipt['mechanism']}; everything after the noisy counts is "
        "post-processing.",
        "Noise": f"{receipt['noise']}.",
        "Intervals": f"all hold at once with probability {float(receipt['confidence']):.0%}.",
    }


def _partition(receipt: Fields) -> dict[str, str]:
    told = receipt["partition"]
    what = f"a partition of {_sides(receipt)} into {len(told['names'])} parts, {told['kind']}."
    sure = f"with probability {float(told['confidence']):.0%}"
    if told["interval"] is None:
        over = ", added up over all halvings" if len(told["names"]) > 2 else ""
        return {
            "What it is": f"{what} Not what the cut weighs.",
            "How it was made": "a least cut of the graph with edges of random weights between its "
            "vertices and those that were to be kept apart.",
            "Noise": "discrete Laplace, on each vertex that is none of these.",
            "How near": f"it weighs more than the least cut by at most {told['shortfall']:,.4g} "
            f"{sure}{over}.",
        }
    low, high = (f"{float(end):,.4g}" for end in told["interval"])
    return {
        "What it is": what,
        "How it was made": "from a release alone: it costs no privacy beyond that.",
        "How near": f"its value, the {receipt['measure']}, is {low} to {high} in the true graph "
        f"{sure}, although it was chosen after looking.",
    }


_HOW: Mapping[str, Callable[[Fields], dict[str, str]]] = {
    "release": _release,
    "flows": _flows,
    "partition": _partition,
    "iterative construction": _iterative,
    "answers": _iterative,
    "distances": _distances,
}


_UNREADABLE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, GraphCutsError)


def inspect(
    *,
    receipt: str = typer.Argument(metavar="RECEIPT", help="The .json file beside a release."),
) -> Report:
    """Explain a receipt in plain words, and verify the files that it names.

    Example: graphcuts-dp inspect synthetic.graphml.json

    RECEIPT is the .json file beside a release, or the release itself. The command first verifies
    the digest of the receipt and the checksums of the files that it names; status 2 means that one
    has changed or is missing. This detects damaged and mixed files. It does not show who wrote
    them, since a receipt is not signed.
    """
    file = _receipt(receipt)
    fields = read_receipt(file)
    names, kind = fields["files"], fields["kind"]
    check_files(file, names)
    try:
        guarantee = PrivacyGuarantee.from_dict(fields["guarantee"])
        words = _HOW[kind](fields) | promise(guarantee)
        private = guarantee.is_private
        versions = ", ".join(f"{name} {text}" for name, text in fields["versions"].items())
    except _UNREADABLE:
        raise FileFormatError(f"{file} is damaged or of another version") from None
    words |= {
        "May be published": f"{', '.join(names)} and {file.name}." if private else NOT_PRIVATE,
        "Keep to yourself": f"{KEEP}.",
        "Other releases": "of the same data add up with this one: their epsilons, and what this "
        "page says holds of each alone; graphcuts-dp session status tells the sum.",
        "Files": f"{', '.join(names)}: whole, as the receipt says.",
        "Made with": f"{versions}.",
    }
    told = {heading.lower().replace(" ", "_"): text for heading, text in words.items()}
    marks = [] if private else [f"NOT PRIVATE: {NOT_PRIVATE}\n"]
    return Report(
        told | {"kind": kind, "private": private, "files": list(names)},
        [*marks, *(f"{heading}: {text}" for heading, text in words.items())],
    )


def datasets(
    *,
    name: str | None = typer.Argument(None, metavar="NAME", help="Data set to write to a file."),
    target: str | None = typer.Argument(None, metavar="OUT", help="File to write to."),
    force: bool = options.FORCE,
) -> Report:
    """List the bundled public graphs, or write one to a file.

    Example: graphcuts-dp datasets

    Example: graphcuts-dp datasets us-flights flights.graphml
    """
    if name is not None:
        if target is None:
            raise ParameterError("name the file to write, for example flights.graphml")
        load(name).write(target, force=force)
        return Report({"files": [target]}, [])
    found, lines = list_datasets(), []
    width = max(len(data.name) for data in found)
    for data in found:
        lines.append(f"{data.name:<{width}}  {data.title}")
        facts = (data.source, data.licence, data.sha256 and f"sha256 {data.sha256}")
        lines += [f"{'':<{width}}  {fact}" for fact in facts if fact]
    return Report([asdict(data) for data in found], lines)
