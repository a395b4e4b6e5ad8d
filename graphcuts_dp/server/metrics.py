"""Counters for Prometheus: how much is asked, what is refused, how long replies take, what is left.

Privacy: monitors read these numbers, who may neither ask nor read answers. All of them are
    functions of public facts and of what analysts sent and were shown. They change when a reply
    leaves, at a tick, and the time of a reply is that of its tick, so no number tells how long a
    computation took. A request waits from when it came until its reply leaves; how many wait for
    the store would tell when the work on one of them ended, and is not counted. What is left of a
    budget is a fact that curators, and analysts by `/v1/budget`, see. Numbers of answers count
    records, and no value, set or vertex is in them.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, final

BOUNDS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds of the histogram
ASK, OTHER = "ask", "other"
_PREFIX = "graphcuts_dp"


@final
@dataclass(frozen=True)
class GraphFigures:
    """Public numbers of one graph of a server.

    Attributes:
        epsilon: spent by all uses together.
        delta: likewise.
        budget_epsilon: the most that may be spent; None without a budget.
        budget_delta: likewise.
        sessions: how many were asked for, by state.
    """

    epsilon: float
    delta: float
    budget_epsilon: float | None
    budget_delta: float | None
    sessions: Mapping[str, int]


@final
class Metrics:
    """Counts replies as they leave."""

    def __init__(self) -> None:
        self.replies: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.asks: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.waiting = 0
        self.graphs: dict[str, GraphFigures] = {}  # as of the last reply that changed them
        self._buckets: dict[str, list[int]] = {
            kind: [0] * (len(BOUNDS) + 1) for kind in (ASK, OTHER)
        }
        self._seconds: dict[str, float] = dict.fromkeys((ASK, OTHER), 0.0)

    def count_reply(
        self, status: int, seconds: float, *, refusal: str | None, asked: tuple[str, int] | None
    ) -> None:
        """Count a reply that leaves.

        Args:
            status: of HTTP.
            seconds: since its request came.
            refusal: kind of the problem, as its `type` ends; None if there was none.
            asked: of a request for answers, the name of the graph and how many answers the reply
                has; None for other requests.
        """
        self.replies[str(status)] += 1
        if refusal is not None:
            self.refusals[refusal] += 1
        if asked is not None:
            graph, answers = asked
            self.asks[graph] += 1
            self.answers[graph] += answers
        kind = OTHER if asked is None else ASK
        self._buckets[kind][bisect_left(BOUNDS, seconds)] += 1
        self._seconds[kind] += seconds

    def text(self, *, overruns: int) -> str:
        """Return the numbers of replies in the text format of Prometheus.

        Args:
            overruns: replies that left later than allotted.
        """
        families = [
            _family("up", "gauge", "Whether the server runs.", [({}, 1)]),
            _counters("requests_total", "Replies, by status.", "status", self.replies),
            _counters("refusals_total", "Refused requests, by reason.", "reason", self.refusals),
            _counters("asks_total", "Requests that got answers, by graph.", "graph", self.asks),
            _counters("answers_total", "Answers in replies, by graph.", "graph", self.answers),
            _family(
                "late_replies_total",
                "counter",
                "Replies that left later than allotted.",
                [({}, overruns)],
            ),
            _family(
                "waiting_requests",
                "gauge",
                "Requests whose replies have not left, this one included.",
                [({}, self.waiting)],
            ),
            self._histogram(),
        ]
        return "".join(families)

    def _histogram(self) -> str:
        name, samples = "reply_seconds", []
        for kind, counts in self._buckets.items():
            total = 0
            for bound, count in zip((*BOUNDS, None), counts, strict=True):
                total += count
                limit = "+Inf" if bound is None else f"{bound:g}"
                samples.append(_sample(f"{name}_bucket", {"kind": kind, "le": limit}, total))
            samples.append(_sample(f"{name}_sum", {"kind": kind}, round(self._seconds[kind], 3)))
            samples.append(_sample(f"{name}_count", {"kind": kind}, total))
        help_text = "Seconds from a request to the tick at which its reply left."
        return _head(name, "histogram", help_text) + "".join(samples)


def budgets_text(graphs: Mapping[str, GraphFigures]) -> str:
    """Return what was spent, what is left, and how many sessions there are, for Prometheus.

    Args:
        graphs: public numbers of each graph, by its name; without a budget nothing is left.
    """
    families = []
    for part in ("epsilon", "delta"):
        spent_samples, left_samples = [], []
        for name, graph in graphs.items():
            labels = {"graph": name}
            spent_part: float = getattr(graph, part)
            budget: float | None = getattr(graph, f"budget_{part}")
            spent_samples.append((labels, spent_part))
            if budget is not None:
                left_samples.append((labels, max(0.0, budget - spent_part)))
        families.append(
            _family(f"spent_{part}", "gauge", f"Spent {part}, by graph.", spent_samples)
        )
        help_text = f"What is left of the budget's {part}, by graph."
        families.append(_family(f"budget_left_{part}", "gauge", help_text, left_samples))
    sessions = [
        ({"graph": name, "state": state}, count)
        for name, graph in graphs.items()
        for state, count in sorted(graph.sessions.items())
    ]
    help_text = "Sessions that were asked for, by graph and state."
    return "".join([*families, _family("sessions", "gauge", help_text, sessions)])


def _counters(name: str, help_text: str, label: str, counts: Counter[str]) -> str:
    samples = [({label: value}, count) for value, count in sorted(counts.items())]
    return _family(name, "counter", help_text, samples)


def _family(
    name: str, kind: str, help_text: str, samples: Iterable[tuple[dict[str, str], float]]
) -> str:
    lines = [_sample(name, labels, value) for labels, value in samples]
    return _head(name, kind, help_text) + "".join(lines)


def _head(name: str, kind: str, help_text: str) -> str:
    return f"# HELP {_PREFIX}_{name} {help_text}\n# TYPE {_PREFIX}_{name} {kind}\n"


def _sample(name: str, labels: dict[str, str], value: float) -> str:
    """Return one line; labels are names of graphs, states and reasons, which need no escapes."""
    shown = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return f"{_PREFIX}_{name}{'{' + shown + '}' if shown else ''} {value!r}\n"
