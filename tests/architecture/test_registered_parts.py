"""Every registered part has its tests: where one is missing, a test here fails and names it.

`PARTS` says for each registry and each kind of test which test function has a case for every name
of the registry: among its parametrised values, or, where no test is parametrised over all names,
name by name. A reason stands where such parts need no test of a kind. Whoever registers a part
without its tests reads here which are missing.
"""

import ast
import functools
import importlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from command_runs import run_line

import graphcuts_dp as gc
from graphcuts_dp import GraphCutsError
from graphcuts_dp.cli.main import COMMANDS
from graphcuts_dp.estimate.noises import NOISES
from graphcuts_dp.io.files import FORMATS
from graphcuts_dp.iterative.learning import DISTINGUISHERS
from graphcuts_dp.learn.constructions import CONSTRUCTIONS
from graphcuts_dp.privacy.privacy_unit import PRIVACY_UNITS
from graphcuts_dp.release.measuring import statistics
from graphcuts_dp.session.terms import METHODS
from graphcuts_dp.synth.methods import FITS
from tests.audits.registry import ENTRIES

TESTS = Path(__file__).resolve().parents[1]
KINDS = ("brute force", "sensitivity", "audit", "golden", "crash", "refusal", "help")
UNKNOWN = "nowhere"


@dataclass(frozen=True)
class ByParameters:
    """Test functions that are parametrised over all names, but for some with a reason."""

    tests: str | tuple[str, ...]
    without: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ByName:
    """Test functions, or audits, or golden results, by the name of the part."""

    of: Mapping[str, str]


@dataclass(frozen=True)
class Recorded:
    """Names of audits or of golden results; {} stands for the name of the part."""

    pattern: str


@dataclass(frozen=True)
class NotNeeded:
    """Such parts need no test of this kind."""

    because: str


Evidence = ByParameters | ByName | Recorded | NotNeeded
REFUSED = ByParameters("architecture/test_registered_parts.py::test_an_unknown_name_is_refused")
WRITES_NOTHING = NotNeeded("it writes no file: commands and sessions that use it are struck")
OF_COMMANDS = NotNeeded("the mechanisms that a command runs have theirs")
ROUND_TRIP = "io/test_round_trips.py::test_a_graph_of_one_kind_is_read_as_no_other"
ROW = (
    "attacks/test_one_row_apart_formats.py::test_a_row_changes_its_own_pair_and_nothing_else",
    "attacks/test_one_row_apart.py::test_a_row_of_a_graph_changes_its_own_pair_only",
)
GROUPED, SPARSE = "release: groups, laplace", "release: sparse, laplace"
PRINTS = "it writes no file"
SERVES = "it runs until it is stopped: tests/server and tests/page kill it"

PARTS: dict[str, tuple[Iterable[str], dict[str, Evidence]]] = {
    "noise": (
        NOISES,
        {
            "brute force": ByParameters(
                "theorems/test_noise_bounds.py::test_no_cut_of_small_graphs_exceeds_the_bounds"
            ),
            "sensitivity": ByParameters(
                "privacy/test_distributions.py::test_evidence_is_the_log_likelihood_ratio"
            ),
            "audit": Recorded("release: randomized-response, {}"),
            "golden": Recorded("release: randomized-response, {}"),
            "crash": WRITES_NOTHING,
            "refusal": REFUSED,
            "help": ByParameters(
                "cli/test_typed_choices.py::test_release_takes_each_word_of_its_help"
            ),
        },
    ),
    "statistic": (
        statistics(),
        {
            "brute force": ByName(
                {
                    "entries": "estimate/test_blocks.py"
                    "::test_blocks_hold_the_value_that_was_drawn_for_each_pair",
                    "total": "measure/test_drawn_noise.py"
                    "::test_the_total_has_noise_of_the_whole_rate",
                    "degrees": "measure/test_drawn_noise.py"
                    "::test_degrees_have_noise_of_half_the_rate",
                    "groups": "measure/test_drawn_noise.py"
                    "::test_sums_between_groups_have_the_noise_of_sessions",
                    "second group sums": "measure/test_drawn_noise.py"
                    "::test_refined_sums_between_groups_have_the_finer_part_of_the_coarse_noise",
                    "weights": "measure/test_drawn_noise.py"
                    "::test_counts_of_classes_of_weights_have_noise_of_half_the_rate",
                    "fine weights": "measure/test_drawn_noise.py"
                    "::test_counts_of_classes_of_weights_have_noise_of_half_the_rate",
                    "edges": "measure/test_edge_counts.py"
                    "::test_one_pair_changes_each_count_by_at_most_one",
                    "kept edges": "measure/test_kept_edges.py"
                    "::test_the_law_is_that_of_the_filtered_matrix",
                    "unevenness": "measure/test_structure_test.py"
                    "::test_no_flip_changes_the_unevenness_by_more_than_two",
                    "structure": "measure/test_structure_test.py"
                    "::test_the_value_is_that_of_another_solver",
                }
            ),
            "sensitivity": ByName(
                {
                    "entries": "privacy/test_distributions.py"
                    "::test_evidence_is_the_log_likelihood_ratio",
                    **dict.fromkeys(
                        ("total", "degrees", "groups", "second group sums"),
                        "measure/test_cells.py::test_one_pair_changes_one_sum_of_each_level_by_one",
                    ),
                    **dict.fromkeys(
                        ("weights", "fine weights"),
                        "measure/test_cells.py"
                        "::test_one_weight_changes_one_sum_of_each_level_by_at_most_the_sensitivity",
                    ),
                    "edges": "measure/test_edge_counts.py"
                    "::test_one_pair_changes_each_count_by_at_most_one",
                    "kept edges": "measure/test_kept_edges.py"
                    "::test_the_law_is_that_of_the_filtered_matrix",
                    "unevenness": "measure/test_structure_test.py"
                    "::test_no_flip_changes_the_unevenness_by_more_than_two",
                    "structure": "measure/test_structure_test.py"
                    "::test_no_flip_of_a_small_graph_changes_the_count_by_more_than_proven",
                }
            ),
            **dict.fromkeys(
                ("audit", "golden"),
                ByName(
                    {
                        "entries": "release: randomized-response, laplace",
                        **dict.fromkeys(("total", "degrees"), "release: auto, laplace"),
                        **dict.fromkeys(("groups", "second group sums"), GROUPED),
                        **dict.fromkeys(("weights", "fine weights", "edges", "kept edges"), SPARSE),
                        **dict.fromkeys(("unevenness", "structure"), "structure test"),
                    }
                ),
            ),
            "crash": WRITES_NOTHING,
            "refusal": NotNeeded("nobody types its name: mechanisms choose what they measure"),
            "help": NotNeeded("nobody types its name: mechanisms choose what they measure"),
        },
    ),
    "fit": (
        FITS,
        {
            "brute force": ByParameters("synth/test_fits.py::test_a_fit_is_a_point_of_the_box"),
            "sensitivity": ByParameters(
                "release/test_release_graph.py"
                "::test_equal_noisy_matrices_give_equal_releases_whatever_the_graph"
            ),
            "audit": Recorded("fit: {}"),
            "golden": Recorded("fit: {}"),
            "crash": WRITES_NOTHING,
            "refusal": REFUSED,
            "help": ByParameters(
                "cli/test_typed_choices.py::test_release_takes_each_word_of_its_help"
            ),
        },
    ),
    "update rule": (
        CONSTRUCTIONS,
        {
            "brute force": ByParameters(
                "session/test_session_parameters.py"
                "::test_no_adversary_makes_more_updates_than_the_bound_of_a_step"
            ),
            "sensitivity": NotNeeded("it learns from noisy answers alone: `learn` reads no graph"),
            "audit": Recorded("iterative: {}"),
            "golden": Recorded("iterative: {}"),
            "crash": ByParameters(
                "session/test_every_session.py::test_a_session_goes_on_as_if_it_had_not_been_closed"
            ),
            "refusal": REFUSED,
            "help": ByParameters(
                "cli/test_typed_choices.py::test_sessions_take_each_word_of_their_help"
            ),
        },
    ),
    "distinguisher": (
        DISTINGUISHERS,
        {
            "brute force": ByName(
                {
                    "exponential": "iterative/test_distinguisher.py"
                    "::test_counts_of_a_list_of_cuts_are_those_of_its_cuts",
                    "released": "iterative/test_distinguisher.py"
                    "::test_released_answers_give_the_query_of_the_largest_noisy_gap_without_more_noise",
                    "exact-cuts": "iterative/test_distinguisher.py"
                    "::test_probabilities_of_all_neighbours_differ_by_no_more_than_epsilon",
                    **dict.fromkeys(
                        ("response-rank-one", "power-rank-one", "power-rank-one-certified"),
                        "iterative/test_rank_one.py::test_cuts_without_noise_against_brute_force",
                    ),
                }
            ),
            "sensitivity": ByName(
                {
                    **dict.fromkeys(
                        ("exponential", "released"),
                        "iterative/test_distinguisher.py"
                        "::test_no_pair_changes_a_score_or_a_count_by_more_than_the_sensitivity",
                    ),
                    "exact-cuts": "iterative/test_distinguisher.py"
                    "::test_probabilities_of_all_neighbours_differ_by_no_more_than_epsilon",
                    "response-rank-one": "privacy/test_distributions.py"
                    "::test_evidence_is_the_log_likelihood_ratio",
                    **dict.fromkeys(
                        ("power-rank-one", "power-rank-one-certified"),
                        "iterative/test_rank_one.py"
                        "::test_calls_and_certificates_spend_no_more_than_their_budget",
                    ),
                }
            ),
            "audit": Recorded("distinguisher: {}"),
            "golden": Recorded("distinguisher: {}"),
            "crash": WRITES_NOTHING,
            "refusal": REFUSED,
            "help": ByParameters(
                "cli/test_typed_choices.py::test_iterative_releases_take_each_word_of_their_help"
            ),
        },
    ),
    "session method": (
        METHODS,
        {
            "brute force": ByParameters(
                "session/test_plain_mechanisms.py"
                "::test_sessions_of_every_method_keep_their_intervals_and_end",
                {"median": "its graphs are listed: session/test_median_sessions.py"},
            ),
            "sensitivity": ByName(
                {
                    **dict.fromkeys(
                        ("gaussian", "laplace"),
                        "session/test_plain_mechanisms.py::test_noise_pays_for_what_is_claimed",
                    ),
                    "binary": "session/test_plain_mechanisms.py"
                    "::test_response_reads_the_graph_once_and_survives_without_it",
                    **dict.fromkeys(
                        (*CONSTRUCTIONS, "median"),
                        "theorems/test_sparse_vector_privacy.py"
                        "::test_whole_sessions_of_adaptive_analysts_cost_what_their_instances_cost",
                    ),
                }
            ),
            "audit": Recorded("session: {}"),
            "golden": Recorded("session: {}"),
            "crash": ByParameters(
                "session/test_every_session.py::test_a_session_goes_on_as_if_it_had_not_been_closed"
            ),
            "refusal": REFUSED,
            "help": ByParameters(
                "cli/test_typed_choices.py::test_sessions_take_each_word_of_their_help"
            ),
        },
    ),
    "reader": (
        FORMATS,
        {
            "brute force": ByParameters(
                ROUND_TRIP, {".konect": "its name is out.*: tests/io/test_files.py"}
            ),
            "sensitivity": ByParameters(
                ROW,
                {".edgelist": "another name of .edges", ".feather": "another name of .arrow"},
            ),
            "audit": NotNeeded("it draws no noise"),
            "golden": NotNeeded("it draws no noise; what it reads is compared with what was meant"),
            "crash": NotNeeded("it writes no file; tests/io/test_atomic.py strikes what writes"),
            "refusal": REFUSED,
            "help": NotNeeded("an ending is a part of a name, and no word of a command"),
        },
    ),
    "privacy unit": (
        PRIVACY_UNITS,
        {
            "brute force": ByName(
                {
                    "edge": "privacy/test_privacy_units.py"
                    "::test_the_largest_squares_are_those_of_a_search",
                    "row": "contract/test_contract.py::test_every_kind_of_source_reads_the_same",
                    "user": "contract/test_neighbours.py::test_a_user_changes_at_most_the_bound",
                    "vertex": "graph/test_bounded_cuts.py"
                    "::test_a_bounded_cut_is_the_value_of_its_linear_program_rounded_down",
                }
            ),
            "sensitivity": ByName(
                {
                    "edge": "privacy/test_privacy_units.py"
                    "::test_cells_change_by_what_k_pairs_can_change",
                    "row": "measure/test_user_changes.py"
                    "::test_the_stated_change_is_the_largest_there_is",
                    "user": "measure/test_user_changes.py"
                    "::test_the_stated_change_is_the_largest_there_is",
                    "vertex": "graph/test_bounded_cuts.py"
                    "::test_no_vertex_changes_any_query_by_more_than_the_bound",
                }
            ),
            "audit": ByName(
                {
                    "edge": "flows: laplace",
                    "row": "rows: flows by period",
                    "user": "users: flows, laplace",
                    "vertex": "degree bound",
                }
            ),
            "golden": ByName(
                {
                    "edge": "release: two edges",
                    "row": "rows: flows by period",
                    "user": "release: user",
                    "vertex": "session: vertex",
                }
            ),
            "crash": WRITES_NOTHING,
            "refusal": REFUSED,
            "help": ByParameters(
                "architecture/test_registered_parts.py::test_help_names_each_privacy_unit"
            ),
        },
    ),
    "command": (
        COMMANDS,
        {
            "brute force": OF_COMMANDS,
            "sensitivity": OF_COMMANDS,
            "audit": OF_COMMANDS,
            "golden": NotNeeded("results have theirs, and what a command writes is a result"),
            "crash": ByParameters(
                "crash/test_command_faults.py"
                "::test_a_command_with_a_fault_reports_it_and_leaves_complete_files_or_none",
                {
                    **dict.fromkeys(("answer", "plan", "inspect", "audit"), PRINTS),
                    **dict.fromkeys(("serve", "page"), SERVES),
                    "release-iteratively": "there as `release, iterative`",
                    "flows-over-time": "crash/test_series_faults.py",
                    "resume": "crash/test_resumption.py",
                    "report": "its page is saved as pictures are: tests/reports",
                    "benchmark": "continues where it was stopped: tests/benchmark",
                    "store": "crash/test_store_faults.py and crash/test_backup_faults.py",
                },
            ),
            "refusal": ByParameters(
                "architecture/test_registered_parts.py::test_a_command_refuses_an_unknown_option"
            ),
            "help": ByParameters(
                "architecture/test_registered_parts.py::test_a_command_prints_its_help"
            ),
        },
    ),
}


# What is there.


@functools.cache
def module_of(path: str) -> object:
    """Import a file of tests, under the name by which pytest has perhaps imported it."""
    folder = (TESTS / path).parent
    if (folder / "__init__.py").exists():
        return importlib.import_module(f"tests.{path.removesuffix('.py').replace('/', '.')}")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module(Path(path).stem)


def texts_in(value: object) -> Iterator[str]:
    """Texts by which a value of a parameter is known: itself, or its name."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from texts_in(part)
    else:
        name = getattr(value, "name", None)
        yield from [name] if isinstance(name, str) else []


@functools.cache
def texts_of_test(test: str) -> tuple[str, ...]:
    """Return all texts among the parameters of a test, of cases that are not slow."""
    path, _, name = test.partition("::")
    function = getattr(module_of(path), name)
    texts: list[str] = []
    for mark in getattr(function, "pytestmark", ()):
        assert mark.name != "slow", f"{test} is slow"
        if mark.name != "parametrize":
            continue
        texts += texts_in(mark.kwargs.get("ids") if not callable(mark.kwargs.get("ids")) else ())
        for case in mark.args[1]:
            slow = any(own.name == "slow" for own in getattr(case, "marks", ()))
            values = getattr(case, "values", case)
            texts += () if slow else texts_in([getattr(case, "id", None), values])
    return tuple(texts)


@functools.cache
def functions_of(path: str) -> frozenset[str]:
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@functools.cache
def recorded(kind: str) -> frozenset[str]:
    """Return the names of all audits, or of all golden results."""
    if kind == "audit":
        return frozenset(name for entry in ENTRIES for name in entry.covers)
    record = (TESTS / "golden" / "answers.json").read_text(encoding="utf-8")
    return frozenset(json.loads(record))


def is_recorded(kind: str, name: str) -> bool:
    """Return whether there is an audit or a golden result of a name, or several of its kinds."""
    return any(known == name or known.startswith(f"{name}, ") for known in recorded(kind))


def is_named(name: str, texts: Iterable[str]) -> bool:
    """Return whether a name is a word of one of the texts."""
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    return any(word.search(text) for text in texts)


def missing(kind: str, names: Iterable[str], evidence: Evidence) -> list[str]:
    """Return the names without a test of this kind, and exceptions of names that are not there."""
    names = list(names)
    match evidence:
        case NotNeeded():
            return []
        case Recorded(pattern):
            return [name for name in names if not is_recorded(kind, pattern.format(name))]
        case ByParameters(tests, without):
            tests = (tests,) if isinstance(tests, str) else tests
            texts = [text for test in tests for text in texts_of_test(test)]
            absent = [name for name in names if name not in without and not is_named(name, texts)]
            return absent + [name for name in without if name not in names]
        case ByName(of):
            absent = [name for name in of if name not in names]
            for name in names:
                test = of.get(name, "")
                path, _, function = test.partition("::")
                there = function in functions_of(path) if function else is_recorded(kind, test)
                absent += [] if test and there else [name]
            return absent


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", PARTS)
def test_every_registered_part_has_its_tests(part, kind):
    names, evidence = PARTS[part]
    absent = missing(kind, names, evidence[kind])
    assert not absent, f"no {kind} test of the {part} {', '.join(absent)}: see {evidence[kind]}"


@pytest.mark.parametrize("part", PARTS)
def test_every_kind_of_test_is_there_or_has_a_reason(part):
    names, evidence = PARTS[part]
    assert list(names)
    assert evidence.keys() == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "evidence"),
    [
        ("brute force", PARTS["noise"][1]["brute force"]),
        ("audit", PARTS["noise"][1]["audit"]),
        ("golden", PARTS["fit"][1]["golden"]),
        ("sensitivity", PARTS["statistic"][1]["sensitivity"]),
        ("sensitivity", ByName({UNKNOWN: "measure/test_cells.py::test_that_is_not_there"})),
        ("help", PARTS["command"][1]["help"]),
    ],
)
def test_a_part_without_a_test_is_noticed(kind, evidence):
    assert UNKNOWN in missing(kind, [UNKNOWN], evidence)


# The tests of all names of a registry that no other file has.

GRAPH = gc.Graph([0, 1], [1, 2], vertices=6)
TERMS = {"epsilon": 1.0, "delta": 1e-6}
REFUSING: dict[str, tuple[Callable[[Path], object], Iterable[str]]] = {
    "noise": (lambda _: gc.release_graph(GRAPH, epsilon=1.0, noise=UNKNOWN), NOISES),
    "fit": (lambda _: gc.release_graph(GRAPH, epsilon=1.0, fit=UNKNOWN), FITS),
    "update rule": (
        lambda _: gc.release_iteratively(GRAPH, construction=UNKNOWN, **TERMS),
        CONSTRUCTIONS,
    ),
    "distinguisher": (
        lambda _: gc.release_iteratively(
            GRAPH, construction=gc.Learning(distinguisher=UNKNOWN), **TERMS
        ),
        DISTINGUISHERS,
    ),
    "session method": (
        lambda folder: gc.open_session(
            GRAPH, store=folder / "s.db", queries=3, method=UNKNOWN, **TERMS
        ),
        METHODS,
    ),
    "reader": (lambda folder: gc.read_graph(folder / f"x.{UNKNOWN}"), FORMATS),
    "privacy unit": (lambda _: gc.PrivacyUnit.of(UNKNOWN), PRIVACY_UNITS),
}


@pytest.mark.parametrize(
    ("part", "name"), [(part, name) for part, (_, names) in REFUSING.items() for name in names]
)
def test_an_unknown_name_is_refused(part, name, tmp_path):
    """In one line, which lists every name that is known."""
    (tmp_path / f"x.{UNKNOWN}").write_text("1 2\n")
    with pytest.raises(GraphCutsError) as error:
        REFUSING[part][0](tmp_path)
    message = str(error.value)
    assert UNKNOWN in message
    assert "\n" not in message
    assert is_named(name, [message]), message
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_its_help(name):
    status, out, err = run_line(name, "--help")
    assert (status, err) == (0, "")
    assert f"graphcuts-dp {name}" in out
    assert COMMANDS[name][1].split()[0] in out


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_refuses_an_unknown_option(name):
    status, out, err = run_line(name, f"--{UNKNOWN}")
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith(f"error: No such option: --{UNKNOWN}")


@pytest.mark.parametrize("name", PRIVACY_UNITS)
def test_help_names_each_privacy_unit(name):
    _, out, _ = run_line("flows", "--help")
    assert is_named(name, [out])
