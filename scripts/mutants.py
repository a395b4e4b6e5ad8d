"""List the mutants of the code that are worth trying: small edits aimed at privacy.

Most mutants follow rules: noise is left out or drawn once for all, statements of the accounting are
dropped, guards are removed, the last element is forgotten, nothing is clipped, sums and products
are swapped, constants are halved or doubled, comparisons are shifted by one, the largest takes the
place of the smallest. Docstrings, messages, annotations, subscripts and margins for rounding stay
as they are. mutants_by_hand.toml has mistakes of other kinds.
"""

import ast
import functools
import itertools
import re
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGETS = {
    "privacy": "*",
    "measure": "statistics cells entries",
    "estimate": "measurement cell_changes strategy",
    "release": "graphs graph_jobs flow_tables measuring",
    "synth": "budget_plans decisions sparse_decisions",
    "iterative": "accuracy construction game rounds *tuning net answers answer_grid sensing "
    "query_lists distinguisher* rank_one power_method",
    "cuts": "least network",
    "learn": "calibration_base calibrations parameters bounds forecasts workload",
    "session": "online starts plain queries counts runner store_sessions",
    "ledger": "ledger records opening uses",
    "distances": "coordinate counts",
}
# Files that draw noise or account for it.
CORE = re.compile(
    "privacy/(choices|composition|count_distribution|count_noise|distributions|entropy|exceeding|filters|inversion)|"
    "privacy/(k_norm|laws|level_noise|noise|noisy_comparison|sparse_vector|staircase)|"
    "learn/(calibrations|calibration_base|parameters)|session/(online|plain|runner|starts)|"
    "ledger/uses|"
    "measure/(cells|entries|statistics)|release/(measuring|flow_tables)|"
    "synth/(budget_plans|decisions)|estimate/strategy|"
    "iterative/(accuracy|answer_grid|answers|construction|game|net)[.]|"
    "iterative/(paper_tuning|rounds|sensing|tuning)[.]|"
    "cuts/(least|network)[.]|"
    "iterative/(distinguisher|power_method|rank_one)[.]|"
    "distances/(coordinate|counts)[.]"
)
# Margins for rounding: a flip changes the last digits.
GUARDED = re.compile(r"1e-\d+|_SLACK|_MARGIN|_OUTWARD")
SYMMETRIC = re.compile(r"draw\(|sample_discrete|degree_noise")  # its sign does not matter
PRIVATE = re.compile(
    r"sensitiv|scale|rate|rho|epsilon|delta|budget|cost|spen[dt]|share|sigma|\beta\b|left|remain|"
    r"deviation|variance|pure|beta|failure|margin|slack|cap|limit|change|step|largest|updates"
)
DRAW = re.compile(r"sample_\w+|draw|respond|discrete_\w+_noise")
_ALWAYS = ("by hand", "noise", "reuse", "clip")
NOISE = re.compile(r"noise|sample_|draw\(|\bup\b|\bdown\b|fresh|secret|flips?\b")
_TABLE = (ROOT / "scripts" / "mutants_by_hand.toml").read_text(encoding="utf-8")
COMPARE = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
SWAP = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
_OPPOSITES = (("max", "min"), ("maximum", "minimum"), ("ceil", "floor"))
EXTREME = {one: other for pair in _OPPOSITES for one, other in (pair, pair[::-1])}
CONSTANT: dict[Any, str] = {1: "2", 2: "1", 4: "2", 8: "4", 0.5: "1.0"}


@dataclass(frozen=True)
class Mutant:
    """One edit: bytes start..stop of a file become `text`."""

    path: str
    function: str  # qualified name; "" at module or class level
    line: int
    kind: str
    start: int
    stop: int
    old: str
    text: str
    weight: bool  # whether the statement contains words of privacy, see `PRIVATE`

    @property
    def key(self) -> str:
        """A name that is stable as long as the file does not change."""
        return f"{self.path}:{self.line}:{self.start} {self.kind}: {self._change}"

    def applied(self, source: bytes) -> bytes:
        """Return a whole file with the edit in it."""
        return source[: self.start] + self.text.encode() + source[self.stop :]

    @property
    def entry(self) -> str:
        """Return how the list of survivors begins its line, wherever in the file the mutant is."""
        path = self.path.removeprefix("graphcuts_dp/")
        return f"- `{path}` `{self.function or 'module'}`: `{self._change}`"

    @property
    def _change(self) -> str:
        return f"{_one_line(self.old)} => {_one_line(self.text)}"


@dataclass(frozen=True)
class Edit:
    """A mistake that somebody could make: the text `old` of a function becomes `new`.

    No file is named, so that the entry stays valid if code moves: of all functions of this name in
    the package exactly one contains the text, exactly once.

    Attributes:
        function: qualified name: "measure_degrees", "OneSidedPair.cost".
        old: text of the function.
        new: the text with the mistake.
        killed_by: the test that fails with the mistake and passes without, as
            `mutate.py --by-hand` checks. "" if only a whole run of `mutate.py` can show it.
        mistake: the mistake in words.
    """

    function: str
    old: str
    new: str
    killed_by: str = ""
    mistake: str = ""


BY_HAND = tuple(Edit(**entry) for entry in tomllib.loads(_TABLE)["edit"])


class Finder:
    """All mutants of one file."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source = path, source
        self.starts = line_starts(source)
        self.found: list[Mutant] = []
        self.silenced: set[ast.AST] = set()  # nodes that are done, or irrelevant
        self.scope: list[str] = []
        self.statement = ""
        self.visit(ast.parse(source))

    def span(self, node: Any) -> tuple[int, int]:
        """Return where a node lies, in bytes."""
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def text(self, node: ast.AST) -> str:
        """Return the source of a node."""
        start, stop = self.span(node)
        return self.source[start:stop].decode()

    def add(self, node: Any, kind: str, text: str) -> None:
        """Add a mutant in which the node becomes the text."""
        start, stop = self.span(node)
        old = self.source[start:stop].decode()
        weight = bool(PRIVATE.search(self.statement) or PRIVATE.search(".".join(self.scope)))
        function = ".".join(self.scope)
        self.found.append(
            Mutant(self.path, function, node.lineno, kind, start, stop, old, text, weight)
        )

    def visit(self, node: ast.AST) -> None:
        """Walk down, past docstrings, annotations, messages and decorators."""
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if node.name in ("__repr__", "__str__"):
                return
            self.scope.append(node.name)
            for child in node.body:
                self.visit(child)
            self.scope.pop()
            return
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.stmt) and not isinstance(node, ast.If | ast.For | ast.While):
            self.statement = self.text(node)
        elif isinstance(node, ast.If | ast.While):
            self.statement = self.text(node.test)
        getattr(self, f"_{type(node).__name__}", lambda _: None)(node)
        for name, value in ast.iter_fields(node):
            if name == "annotation" or (name == "slice" and isinstance(node, ast.Subscript)):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _neutral(child):
                    self.visit(child)

    def _BinOp(self, node: ast.BinOp) -> None:
        left, right = self.text(node.left), self.text(node.right)
        if isinstance(node.op, ast.Add | ast.Sub):
            if NOISE.search(right) and not NOISE.search(left):
                self.add(node, "noise", f"({left})")
                self.silenced |= set(ast.walk(node.right))
            elif NOISE.search(left) and not NOISE.search(right):
                self.add(node, "noise", f"({right})")
                self.silenced |= set(ast.walk(node.left))
        text = isinstance(node.left, ast.JoinedStr | ast.List | ast.Tuple) or '"' in left + right
        symmetric = isinstance(node.op, ast.Add | ast.Sub) and SYMMETRIC.search(left + right)
        if type(node.op) in SWAP and not (text or symmetric or GUARDED.search(right)):
            self.add(node, "arithmetic", f"(({left}) {SWAP[type(node.op)]} ({right}))")

    def _Compare(self, node: ast.Compare) -> None:
        for i, op in enumerate(node.ops):
            if type(op) not in COMPARE:
                continue
            parts = [f"({self.text(node.left)})"]
            for j, (other, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
                sign = COMPARE[type(op)] if i == j else _operator(other)
                parts += [sign, f"({self.text(right)})"]
            self.add(node, "comparison", "(" + " ".join(parts) + ")")

    def _BoolOp(self, node: ast.BoolOp) -> None:
        word = " or " if isinstance(node.op, ast.And) else " and "
        self.add(node, "logic", "(" + word.join(f"({self.text(v)})" for v in node.values) + ")")

    def _UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub | ast.Not) and not isinstance(node.operand, ast.Constant):
            kind = "logic" if isinstance(node.op, ast.Not) else "arithmetic"
            self.add(node, kind, f"({self.text(node.operand)})")

    def _Constant(self, node: ast.Constant) -> None:
        value = node.value if type(node.value) in (int, float) else None
        if value in CONSTANT and node not in self.silenced:
            self.add(node, "constant", CONSTANT[value])

    def _Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else self.text(node.func)
        if name in EXTREME:
            start, stop = self.span(node.func)
            head = self.source[start:stop].decode()
            tail = self.source[stop : self.span(node)[1]].decode()
            self.add(node, "extreme", head[: -len(name)] + EXTREME[name] + tail)
        if DRAW.fullmatch(name) and node.args:
            if node not in self.silenced:
                self.add(node, "noise", f"(({self.text(node)}) * 0)")
            size = node.args[1] if name.startswith("sample_") and len(node.args) == 3 else None
            if isinstance(size, ast.Constant):
                self.silenced.add(size)  # more draws than are used
            if size is not None and self.text(size) != "1":
                one = f"{name}({self.text(node.args[0])}, 1, {self.text(node.args[2])})"
                self.add(node, "reuse", f"__import__('numpy').resize({one}, {self.text(size)})")
        if name == "restart" and node.args:
            self.add(node, "reuse", f"({self.text(node.args[0])})")
        if name == "clip":
            self.add(node, "clip", f"({self.text(node.args[0])})")

    def _Expr(self, node: ast.Expr) -> None:
        text = self.text(node)
        if not isinstance(node.value, ast.Constant | ast.Yield) and not text.startswith(
            "progress("
        ):
            self.add(node, "drop", "pass")

    def _AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.value, ast.Constant | ast.JoinedStr) and '"' in self.text(node.value):
            return
        self.add(node, "drop", "pass")
        self.silenced |= set(ast.walk(node.value))
        if type(node.op) in SWAP and not SYMMETRIC.search(self.text(node.value)):
            new = f"{self.text(node.target)} {SWAP[type(node.op)]}= {self.text(node.value)}"
            self.add(node, "arithmetic", new)

    def _If(self, node: ast.If) -> None:
        if isinstance(node.body[-1], ast.Raise):
            self.add(node.test, "guard", "False")

    def _For(self, node: ast.For | ast.comprehension) -> None:
        if not isinstance(node.iter, ast.Call) or self.text(node.iter.func) not in (
            "count",
            "range",
        ):
            self.add(node.iter, "last", f"list({self.text(node.iter)})[:-1]")

    _comprehension = _For


def _operator(op: ast.cmpop) -> str:
    tree = ast.Compare(ast.Name("a"), [op], [ast.Name("b")])
    return ast.unparse(tree)[2:-2]


def _neutral(node: ast.AST) -> bool:
    """Return whether a part of code is irrelevant to privacy, such as shapes."""
    return isinstance(node, ast.keyword) and node.arg in ("axis", "dtype", "shape", "ndmin")


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def by_hand() -> list[Mutant]:
    """Return the mutants of `BY_HAND`.

    Raises:
        ValueError: the text of an entry is not in exactly one such function, exactly once.
    """
    functions_named: dict[str, list[tuple[str, bytes, int, int]]] = defaultdict(list)
    for file in sorted((ROOT / "graphcuts_dp").rglob("*.py")):
        source = file.read_bytes()
        for name, begin, end in functions_of(source):
            functions_named[name].append((file.relative_to(ROOT).as_posix(), source, begin, end))
    mutants = []
    for edit in BY_HAND:
        old = edit.old.encode()
        fitting = [
            (path, source, begin + source[begin:end].index(old))
            for path, source, begin, end in functions_named[edit.function]
            if source[begin:end].count(old) == 1
        ]
        if len(fitting) != 1:
            raise ValueError(
                f"{edit.function} has moved or changed ({len(fitting)} functions of this name have"
                f" this text just once): {_one_line(edit.old)}"
            )
        ((path, source, start),) = fitting
        line = source[:start].count(b"\n") + 1
        span = start, start + len(old)
        mutants.append(
            Mutant(path, edit.function, line, "by hand", *span, edit.old, edit.new, True)
        )
    return mutants


def line_starts(source: bytes) -> list[int]:
    """Return the first byte of each line, and the end of the file."""
    return [0, *itertools.accumulate(map(len, source.splitlines(keepends=True)))]


@functools.cache
def functions_of(source: bytes) -> list[tuple[str, int, int]]:
    """Return functions and classes of a file: qualified name, first byte, byte after the last."""
    starts, functions = line_starts(source), []

    def walk(node: ast.AST, scope: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = scope
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{scope}.{child.name}".lstrip(".")
                functions.append((inner, starts[child.lineno - 1], starts[child.end_lineno or 0]))
            walk(child, inner)

    walk(ast.parse(source), "")
    return functions


def targets() -> list[tuple[str, str]]:
    """Return folders, and patterns of the names of files in them."""
    return [(folder, f"{name}.py") for folder, of in TARGETS.items() for name in of.split()]


def candidates() -> list[Mutant]:
    """Return every mutant of every target."""
    mutants = by_hand()
    for folder, pattern in targets():
        for path in sorted((ROOT / "graphcuts_dp" / folder).glob(pattern)):
            mutants += Finder(path.relative_to(ROOT).as_posix(), path.read_bytes()).found
    return mutants


def select(mutants: list[Mutant], *, sample: int, seed: int) -> list[Mutant]:
    """Select all mutants by hand, or without noise or accounting, and a sample of the others.

    Two thirds of the sample are in the core and contain words of privacy; files have equal shares.
    """
    tiers: list[list[Mutant]] = [[], [], []]
    for mutant in mutants:
        core = bool(CORE.search(mutant.path))
        affects_budget = core and mutant.weight
        always = mutant.kind in _ALWAYS or (affects_budget and mutant.kind == "drop")
        tiers[0 if always else 1 if affects_budget else 2].append(mutant)

    def lot(mutant: Mutant) -> str:  # the same whatever happens to other code
        name = f"{seed} {mutant.path} {mutant.function} {mutant.kind} {mutant.old} {mutant.text}"
        return sha256(name.encode()).hexdigest()

    def drawn(tier: list[Mutant], size: int) -> list[Mutant]:
        turns: Counter[str] = Counter()
        ranks = []
        for mutant in sorted(tier, key=lot):
            ranks.append((turns[mutant.path], lot(mutant), mutant))
            turns[mutant.path] += 1
        return [mutant for *_, mutant in sorted(ranks, key=lambda rank: rank[:2])[:size]]

    first = drawn(tiers[1], 2 * sample // 3)
    chosen = {*tiers[0], *first, *drawn(tiers[2], sample - len(first))}
    return [mutant for mutant in mutants if mutant in chosen]
