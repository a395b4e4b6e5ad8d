"""Hostile command lines: a strategy for hypothesis, and the files they name."""

import json
from collections.abc import Mapping
from dataclasses import MISSING

import hypothesis.strategies as st
from command_runs import run_line

import graphcuts_dp as gc
from graphcuts_dp.cli import main
from graphcuts_dp.options import described

learn = gc.release_iteratively

NUMBERS = (
    *("nan", "inf", "-inf", "-0", "0", "-1", "1e309", "1e-400", "0x10", "1_0", "٣", "½", "1e"),
    *("", " ", "1" * 5000, "9" * 18, "1e18", "4.5", "0.5", "1", "2", "20", "1e-6", "3", "true"),
)
TEXTS = (
    *("", " ", ",", "a,,b", "0", "0,1", "2,3,4", "0,0", "-1", "ann", "ü,\u2028", "\udcff", "@"),
    *("@missing", "@.", "@binary.edges", "@labels.txt", "@bad\udcff.edges", "a\nb", "\x1b[31m"),
    *("[red]", "[/]", "%s", "{0}", "'\"", "-", "--", "x" * 10_000, "٣", "9" * 5000),
)
# Files that are made by `prepare`, and some that are not there or no files.
GRAPHS = ("plain.edges", "weights.csv", "two.edges", "plain.edges.gz", "bad\udcff.edges")
JUNK = (
    *("missing.edges", ".", "binary.edges", "binary.npz", "empty.csv", "deep.jsonl", "", "/", "~"),
    *("new\nline.edges", "x" * 300 + ".edges", "no.ending", "binary.db", "deep.edges.json", "..."),
    *("plain.edges/x.edges", "/dev/null", "latin.csv", "bad\udcff", "-", "out.", "binary.graphml"),
)
OUTPUTS = ("new.edges", "new.csv", "new.graphml.gz", "new.npz", "new\udcff.edges", "new\n.csv")
# What the values of a parameter look like: by what --help shows of it, and of files by its name.
BY_SHOWN = {
    **dict.fromkeys(("GRAPH", "TRUE", "REAL", "SYNTHETIC", "A", "B"), ("graph",)),
    **dict.fromkeys(("NUMBER", "COUNT", "EDGES", None), ("number",)),
    **dict.fromkeys(("NUMBERS", "COUNTS"), ("number", "text")),
    **dict.fromkeys(("RELEASE", "RECEIPT"), ("release",)),
    **dict.fromkeys(("[MECHANISM ...|all]", "[NAME ...|all]", "NAME|MODULE:NAME"), ("wrong",)),
    "COUNT|FILE": ("number", "file"),
    "GROUPS": ("groups",),
    "JSON": ("query",),
    "LOCATIONS": ("people",),
    "MAP": ("map",),
    "OUT": ("output",),
    "QUERIES": ("queries",),
    "REASON": ("text",),
    "RESULT": ("release",),
    "STORE": ("store",),
}
FILES = {
    **dict.fromkeys(("graph", "data"), ("graph",)),
    **dict.fromkeys(("groups", "right_groups"), ("groups",)),
    **dict.fromkeys(("queries", "cuts", "file"), ("queries",)),
    **{name: (name,) for name in ("html", "locations", "od", "output", "plot", "store")},
    **dict.fromkeys(("margins", "registry", "weights"), ("output",)),
    "same_people_as": ("store",),
    "coordinates": ("file",),
    "proxy_secret": ("file",),
}
OTHERWISE = {
    ("datasets", "name"): ("dataset",),
    ("distances", "store"): ("distance_store", "store"),
    ("plan", "groups"): ("number", "text", "groups"),
    ("plan", "n"): ("number", "text"),
}
# With these a benchmark, an audit or a figure is made, which takes minutes.
LONG = {"--quick", "--out", "--table", "--processes"}


def kinds_of(names, param, about):
    """Kinds of values of a parameter, of which an `Option` is one; none of a flag."""
    if getattr(param, "is_flag", False):
        return ()
    if about is not None and (about.of or about.choices):
        return (about,)
    shown = FILES[param.name] if param.metavar == "FILE" else BY_SHOWN.get(param.metavar, ("text",))
    return OTHERWISE.get((names[0], param.name), shown)


def commands_below(command, *names):
    """Each command with its names; the first of a group has those of the group."""
    if not hasattr(command, "commands"):
        yield names, command
    for name, inner in getattr(command, "commands", {}).items():
        first = name == getattr(command, "first", None)
        yield from commands_below(inner, *names, *(() if first else (name,)))


def commands():
    """What comes after each command: kinds of arguments, then options with kinds of their values.

    Read from the commands themselves. `serve` and `page` listen when all is well: tests/server
    and tests/page start them.
    """
    found = {(): (("text",), {"--version": (), "--help": (), "--wrong": ("number",)})}
    for each in main.COMMANDS:
        for names, command in commands_below(main.loaded_command(each), each):
            known = {about.name: about for about in getattr(command, "known", ())}
            arguments, options = [], {}
            for param in command.params:
                name = param.opts[-1]
                if name in LONG:
                    continue
                kinds = kinds_of(names, param, known.get(param.name))
                if name.startswith("-"):
                    options[name] = kinds
                else:
                    arguments.append(kinds[0])
            found[names] = tuple(arguments), options
    # The argument of `plan` goes with one of its options, and is refused with the others.
    (file_kind,), options = found["plan",]
    found["plan",] = (), options | {"--ask": (file_kind,)}
    del found["serve",], found["page",]
    return found


COMMANDS = commands()
KINDS = {  # what often works, what hardly ever does
    "number": (("1", "2", "0.5", "20", "3"), NUMBERS),
    # No name of an audit or a figure: those take minutes. (The empty name begins all of them.)
    "wrong": (("release", "all of them"), tuple(text for text in TEXTS if text not in ("", "-"))),
    "text": (("0", "0,1", "2,3,4", "default", "@labels.txt", "@@a", "0,@@b"), TEXTS),
    "query": (
        ('{"left": {"0": 0.5}, "right": {"1": 1}}', '{"entries": [[0, 1, 2.5]]}', '{"S": "*"}'),
        ('{"matrix": "/dev/zero"}', '{"matrix": "binary.npz"}', "[" * 10_000, '{"left": [1e999]}'),
    ),
    "dataset": (("us-flights", "karate"), TEXTS),
    "graph": (GRAPHS, JUNK),
    "file": ((*GRAPHS, "labels.txt", "people.csv", "6"), JUNK),
    "release": (
        ("release.edges", "learnt.edges", "net.edges", "sensed.npz", "answers.npz"),
        (*GRAPHS, *JUNK),
    ),
    "output": (OUTPUTS, JUNK),
    "plot": (("new.png", "new\udcff.pdf"), ("new.gif", "no/folder.png", *JUNK)),
    "html": (("new.html", "new\udcff.html"), ("new.htm", "no/folder.html", *JUNK)),
    "od": (("new.csv", "new\udcff.geojson", "new.parquet"), ("new.xlsx", *JUNK)),
    "locations": (("places.csv",), ("people.csv", *GRAPHS, *JUNK)),
    "map": (("weights.csv", "plain.edges"), JUNK),
    "people": (("people.csv",), (*GRAPHS, *JUNK)),
    "groups": (("groups.csv",), (*GRAPHS, *JUNK)),
    "distance_store": (("distances.db",), ("store.db", "new.db", *JUNK)),
    "store": (("store.db",), ("new.db", "bad\udcff.db", *JUNK)),
    "queries": (("queries.jsonl",), (*GRAPHS, *JUNK)),
}
ODD = ("", "Auto", "x\udcff")  # for words of a list
# Without these hardly any command line would get far.
NEEDED = {"--epsilon": "1", "--delta": "1e-6", "--from": "0,1", "--edges": "5", "--n": "9"}
NEEDED |= {"--vertices": "6", "--store": "new.db", "--queries": "9"}
NEEDED |= {"--force": None, "--uncounted": None, "--allow-useless": None}


def value_of(draw, kind):
    """Three times in four one that may work."""
    may_work = draw(st.integers(0, 3)) > 0
    if isinstance(kind, str):
        return draw(st.sampled_from(KINDS[kind][not may_work]))
    if kind.of:
        return object_of(draw, kind.of, may_work)
    if kind.choices or kind.kind is bool:
        return draw(st.sampled_from((kind.choices or ("yes", "no")) if may_work else ODD))
    return value_of(draw, "number" if kind.kind in (int, float) else "text")


def object_of(draw, kinds, may_work):
    """An object of options as a string, or one of a table of them."""
    name = ""
    if isinstance(kinds, Mapping):
        name = draw(st.sampled_from(sorted(kinds)))
        kinds = kinds[name]
    keys = [about for about in described(kinds) if about.typed]
    some = draw(st.lists(st.sampled_from(keys), max_size=3)) if keys else []
    some += [about for about in keys if about.default is MISSING and about not in some]
    typed = [f"{about.key}={value_of(draw, about)}" for about in some]
    if not may_work:
        name, odd = draw(st.sampled_from([(name, "odd=1"), *((odd, "") for odd in ODD)]))
        typed.append(odd)
    return f"{name}:{','.join(typed)}" if name and typed else name + ",".join(typed)


def prepare(folder):
    """Make the files."""
    text = "0 1\n1 2\n2 3\n3 4\n4 5\n0 5\n"
    for name in ("plain.edges", "bad\udcff.edges", "new\nline.edges"):
        (folder / name).write_text(text)
    gc.Graph.of([(0, 1), (1, 2)]).write(folder / "plain.edges.gz")
    (folder / "weights.csv").write_text(
        "source,target,weight\n0,1,0.5\n1,2,2\n2,3,1e9\n0,3,1\n3,4,2\n4,5,7\n"
    )
    (folder / "two.edges").write_text("a x\nb y\na y\n")
    (folder / "labels.txt").write_text("0\n1\n2\n3\n4\n5\n")
    (folder / "people.csv").write_text("vertex,people\n0,3\n1,4\n5,1\n")
    (folder / "groups.csv").write_text("vertex,half\n0,a\n1,a\n2,a\n3,b\n4,b\n5,b\n")
    (folder / "places.csv").write_text("half,lat,lon\na,0,1\nb,2,3\n")
    (folder / "queries.jsonl").write_text('{"S": [0, 1]}\n{"S": [0], "T": [2, 3]}\n')
    (folder / "empty.csv").write_bytes(b"")
    (folder / "latin.csv").write_bytes("source,target\nann,b\xf6b\n".encode("latin-1"))
    for name in ("binary.edges", "binary.npz", "binary.db", "binary.graphml", "no.ending"):
        (folder / name).write_bytes(bytes(range(256)) * 4)
    deep = "[" * 100_000
    (folder / "deep.jsonl").write_text(deep + "\n")
    (folder / "deep.edges").write_text("0 1\n")
    (folder / "deep.edges.json").write_text(deep)
    graph = gc.read_graph(folder / "plain.edges")
    gc.release_graph(graph, epsilon=5.0, seed=0).save(folder / "release.edges")
    rule = gc.Learning(rounds=1)
    learn(graph, epsilon=5.0, delta=1e-6, construction=rule, seed=0).save(folder / "learnt.edges")
    tiny = gc.Graph([0, 1], [1, 2], vertices=4)
    learn(tiny, [gc.CutQuery([0, 1])], epsilon=5.0, seed=0, construction="net").save(
        folder / "net.edges"
    )
    ratings = gc.BipartiteGraph([0, 1], [1, 2], left=6, right=6)
    sums = [gc.CutQuery([0, 1]), gc.CutQuery([2], [1, 2])]
    learn(ratings, sums, epsilon=50.0, delta=0.5, seed=0, construction="sensing").save(
        folder / "sensed.npz"
    )
    few = learn(graph, [gc.CutQuery([0, 1])], epsilon=5.0, seed=0, construction="answers")
    few.save(folder / "answers.npz")
    status, _, err = run_line(
        *("session", "start", "plain.edges", "--store", "store.db", "--epsilon", "40"),
        *("--queries", "100000", "--method", "laplace", "--vertices", "6"),
    )
    assert status == 0, err
    status, _, err = run_line(
        *("distances", "weights.csv", "people.csv", "--store", "distances.db"),
        *("--epsilon", "40", "--queries", "1000"),
    )
    assert status == 0, err


@st.composite
def command_lines(draw):
    """Arguments of one command, many of them wrong."""
    command = draw(st.sampled_from(sorted(COMMANDS)))
    arguments, options = COMMANDS[command]
    line = list(command)
    line += [value_of(draw, kind) for kind in arguments]
    if draw(st.integers(0, 19)) == 0:
        line = line[: draw(st.integers(0, len(line)))]
    for option, value in NEEDED.items():
        other = option in ("--store", "--queries") and command != ("session", "start")
        if option in options and not other and draw(st.integers(0, 19)):
            line += [option] if value is None else [option, value]
    for option in draw(st.lists(st.sampled_from(sorted(options)), max_size=3)) if options else []:
        line.append(option)
        kinds = options[option]
        if kinds:
            line.append(value_of(draw, draw(st.sampled_from(kinds))))
    return line


def wrong_with(status, out, err):
    """What is wrong with how a command ended, or nothing."""
    lines = err.splitlines()
    if status not in (0, 1, 2):
        return f"status {status}"
    if "Traceback" in err or "Traceback" in out:
        return "a traceback"
    if status == 2 and not (lines and lines[-1].startswith("error: ")):
        return "an error without its line"
    if status == 2 and sum(line.startswith("error: ") for line in lines) != 1:
        return "more than one error"
    starts = ("error: ", "note: ", "warning: ", "wrote ", "figure: ", "interrupted: ", "(")
    strange = [line for line in lines if not line.startswith(starts) and " answers in " not in line]
    if strange:
        return f"a line that nobody expects: {strange[0]!r}"
    if any(not line.isprintable() for line in lines):
        return "an error that is not printable"
    if status == 2 and lines[-1].endswith("None"):
        return "an error without a reason"
    if out.lstrip().startswith("{") and "--json" in out:
        json.loads(out)
    return ""
