"""What an audit of one mechanism consists of, and how it is run.

How many runs. Those of an incorrect variant end once its claim is refuted, those of a quick audit
of the mechanism itself also once twice the claimed loss would have come to light, see `sequential`:
about 60 runs refute what shows the neighbours as they are, 160 refute randomised response with half
the noise, and 100 to 150 pass a sound mechanism. A quick audit passes a mechanism that is off by a
factor of 2 with probability 1e-3, if an event shows all of the loss. A full audit looks at the
mechanism with all `runs`. A sound mechanism is refuted with probability alpha = 1e-6, by the fixed
seeds of the tests not at all; that an audit catches its twins only shows that it looks at what is
broken, so a quick one is content with `CAUGHT`.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, TypeVar, final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import (
    AuditResult,
    Claim,
    Draw,
    Neighbours,
    audit_worst,
    one_by_one,
)
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.composition import zcdp_rho
from tests.audits.losses import (
    DistributionPair,
    loss_by_ratio,
    most_telling,
    visible_by_ratio,
    worst_exact,
)
from tests.audits.sequential import MISS, audit_until_decided, ratio_until_decided

F = TypeVar("F", bound=Callable[..., Any])
DistributionPairs = Iterable[DistributionPair]
_FEW = (
    "Among the runs that were made, too few tell the neighbours apart as strongly as all parts of "
    "the mechanism together can."
)
HALF = 0.5  # of a claim: an audit that sees less says why
CAUGHT = 1e-3  # probability that a quick audit catches what is no mistake, at most, for each twin
_LEAST_TRAINING = 66  # runs


@final
@dataclass(frozen=True)
class TwinResult:
    """What became of an incorrect variant.

    Attributes:
        name: what is broken.
        found: its loss is at least this.
        caught: whether that refutes the claim.
    """

    name: str
    found: float
    caught: bool


@final
@dataclass(frozen=True, kw_only=True)
class AuditOutcome:
    """What the audit of one mechanism found.

    Attributes:
        name: of the mechanism.
        method: "exact", "runs", or "ratio".
        claim: that was audited.
        found: the mechanism's own loss is at least this.
        visible: what would be found of a mechanism exactly at the claim; the claim if exact.
        pair: neighbours that show the loss.
        event: likewise.
        twins: broken variants.
        unseen: why less than half of the claim is seen, in one sentence; empty where more is, or
            nobody has said it.
    """

    name: str
    method: str
    claim: Claim
    found: float
    visible: float
    pair: str
    event: str
    twins: tuple[TwinResult, ...]
    unseen: str = ""

    @property
    def kept(self) -> bool:
        """Whether the claim stands: what was found does not exceed it."""
        return self.found <= self.claim.value * (1 + 1e-9)

    @property
    def passed(self) -> bool:
        """Whether the claim stands and all twins were caught."""
        return self.kept and all(twin.caught for twin in self.twins)

    @property
    def seen(self) -> float:
        """Share of the claim that was found."""
        return max(0.0, self.found) / self.claim.value

    @property
    def could_see(self) -> float:
        """Share of the claim that would be found of a mechanism exactly at it."""
        return max(0.0, self.visible) / self.claim.value


@dataclass(frozen=True, kw_only=True)
class Audit(ABC):
    """The audit of one mechanism with parameters that were chosen.

    Attributes:
        claim: what the mechanism guarantees.
        twins: broken variants, by what is broken; what they are is up to the kind of audit.
        runs: in full, where there are any.
    """

    claim: Claim
    runs: int = 1
    twins: Mapping[str, Any] = field(default_factory=dict)
    method: ClassVar[str]
    slack: ClassVar[float] = 1e-9  # of the claim, which exact losses of a sound mechanism may reach

    @abstractmethod
    def found(
        self, broken: str | None, runs: int, alpha: float, source: EntropySource
    ) -> AuditResult:
        """The loss that is proven, on which pair of neighbours, and by which event.

        Args:
            broken: which twin; None for the mechanism.
            runs: on each neighbour, after some that pick the pair and the event.
            alpha: probability of finding too much, at most.
            source: of all noise.
        """

    @abstractmethod
    def decided(
        self, broken: str | None, alpha: float, source: EntropySource, miss: float = 0.0
    ) -> tuple[AuditResult, int]:
        """The loss that is proven by as few runs as decide, and how many these were.

        Args:
            broken: as for `found`, like alpha and source.
            miss: probability of an end before a loss of twice the claim has come to light; 0 if
                only a refutation, or all runs, shall be the end.
        """

    def visible(self, runs: int, alpha: float) -> float:  # noqa: ARG002
        """What would be found of a mechanism exactly at the claim."""
        return self.claim.value

    def check(
        self,
        name: str,
        source: EntropySource,
        *,
        quick: bool,
        alpha: float,
        report: Callable[[str], None],
    ) -> AuditOutcome:
        """Audit the twins and the mechanism.

        Args:
            name: of the mechanism.
            source: of all noise.
            quick: whether as many runs of the mechanism as decide will do, and odds of 1000 to 1
                against each twin.
            alpha: probability that the audit finds too much, at most.
            report: called with what is looked at next.
        """
        twins, of_twins = [], max(alpha, CAUGHT) if quick else alpha
        for broken in self.twins:
            report(f"twin: {broken}")
            seen = self.decided(broken, of_twins, source)[0].epsilon_lower
            caught = seen > self.claim.value * (1 + self.slack)
            twins.append(TwinResult(broken, seen, caught))
        report("the mechanism")
        if quick:
            own, runs = self.decided(None, alpha, source, MISS)
        else:
            own, runs = self.found(None, self.runs, alpha, source), self.runs
        return AuditOutcome(
            name=name,
            method=self.method,
            claim=self.claim,
            found=own.epsilon_lower,
            visible=self.visible(runs, alpha),
            pair=own.pair,
            event=own.event,
            twins=tuple(twins),
        )


@final
@dataclass(frozen=True, kw_only=True)
class Sampled(Audit):
    """An audit by runs.

    Attributes:
        claim: of the mechanism.
        pairs: neighbours to try: the worst ones that are known.
        start: makes the mechanism with its source of noise, ready to be run many times.
        twins: likewise, by what is broken.
        twin_pairs: for the twins; empty for `pairs`.
        runs: on each neighbour of the worst pair, in full.
        batch: whether what `start` makes takes (data, first run, how many) and gives all rows.
    """

    pairs: Sequence[Neighbours]
    start: Callable[[EntropySource], Any]
    twin_pairs: Sequence[Neighbours] = ()
    runs: int = 8000
    batch: bool = False
    method = "runs"
    slack = 0.0

    def visible(self, runs: int, alpha: float) -> float:
        """See `Audit.visible`."""
        return self.claim.visible(runs, alpha=alpha)

    def found(
        self, broken: str | None, runs: int, alpha: float, source: EntropySource
    ) -> AuditResult:
        """See `Audit.found`."""
        draw, pairs = self._draw(broken, source), self._pairs(broken)
        training = max(_LEAST_TRAINING, runs // (3 + len(pairs)))
        return audit_worst(draw, pairs, training=training, runs=runs, claim=self.claim, alpha=alpha)

    def decided(
        self, broken: str | None, alpha: float, source: EntropySource, miss: float = 0.0
    ) -> tuple[AuditResult, int]:
        """See `Audit.decided`."""
        terms: dict[str, Any] = {"claim": self.claim, "alpha": alpha, "miss": miss}
        draw, pairs = self._draw(broken, source), self._pairs(broken)
        return audit_until_decided(draw, pairs, most=self.runs, **terms)

    def _draw(self, broken: str | None, source: EntropySource) -> Draw:
        start = self.start if broken is None else self.twins[broken]
        run = start(source.split(1)[0])
        return run if self.batch else one_by_one(lambda data, _: run(data))

    def _pairs(self, broken: str | None) -> Sequence[Neighbours]:
        return self.pairs if broken is None or not self.twin_pairs else self.twin_pairs


@final
@dataclass(frozen=True, kw_only=True)
class ByLaw(Audit):
    """An audit by runs that tell the exact log-likelihood ratio of what came out: pure epsilon.

    It refutes a mechanism whose outputs tell the neighbours apart better than its law allows, see
    `loss_by_ratio`, if the ratio reaches the claim on the pair that tells most. Where only the
    ratio counts, other mistakes do not show: a mechanism has an audit by events, too, or tests
    that compare its noise with the sampler's.

    Attributes:
        claim: of the mechanism.
        pairs: as for `Sampled`.
        ratio: makes the mechanism with its source of noise; a run gives ln(P/Q) of its output,
            for P on the first neighbour and Q on the second, by the mechanism's public law.
        twins: likewise, by what is broken; the law is that of the sound mechanism.
        runs: as for `Sampled`.
    """

    pairs: Sequence[Neighbours]
    ratio: Callable[[EntropySource], Callable[[Any], float]]
    runs: int = 8000
    method = "ratio"

    def visible(self, runs: int, alpha: float) -> float:
        """See `Audit.visible`."""
        return visible_by_ratio(self.claim, runs, alpha=alpha)

    def found(
        self, broken: str | None, runs: int, alpha: float, source: EntropySource
    ) -> AuditResult:
        """See `Audit.found`. Training runs pick the pair."""
        draw = self._draw(broken, source)

        def drawn(pair: Neighbours, count: int) -> tuple[FloatVector, FloatVector]:
            return draw(pair.first, count), draw(pair.second, count)

        count = max(_LEAST_TRAINING, runs // (3 + len(self.pairs)))
        training = [drawn(pair, count) for pair in self.pairs]
        best = most_telling(training)
        loss = loss_by_ratio(training[best], drawn(self.pairs[best], runs), alpha=alpha)
        return AuditResult(loss, "the log-likelihood ratio", self.pairs[best].name)

    def decided(
        self, broken: str | None, alpha: float, source: EntropySource, miss: float = 0.0
    ) -> tuple[AuditResult, int]:
        """See `Audit.decided`."""
        terms: dict[str, Any] = {"claim": self.claim, "alpha": alpha, "miss": miss}
        draw = self._draw(broken, source)
        return ratio_until_decided(draw, self.pairs, most=self.runs, **terms)

    def _draw(self, broken: str | None, source: EntropySource) -> Callable[[Any, int], FloatVector]:
        start = self.ratio if broken is None else self.twins[broken]
        run = start(source.split(1)[0])
        return lambda data, count: np.array([run(data) for _ in range(count)])


@final
@dataclass(frozen=True, kw_only=True)
class Enumerated(Audit):
    """An audit by the probabilities of all outputs.

    Attributes:
        claim: of the mechanism.
        distributions: for every pair of neighbours that is tried.
        twins: likewise, by what is broken.
    """

    distributions: Callable[[], DistributionPairs]
    method = "exact"

    def found(
        self,
        broken: str | None,
        runs: int,  # noqa: ARG002
        alpha: float,  # noqa: ARG002
        source: EntropySource,  # noqa: ARG002
    ) -> AuditResult:
        """See `Audit.found`. Draws nothing."""
        distributions = self.distributions if broken is None else self.twins[broken]
        return worst_exact(distributions(), self.claim)

    def decided(
        self,
        broken: str | None,
        alpha: float,
        source: EntropySource,
        miss: float = 0.0,  # noqa: ARG002
    ) -> tuple[AuditResult, int]:
        """See `Audit.decided`."""
        return self.found(broken, 1, alpha, source), 1


@final
@dataclass(frozen=True)
class Entry:
    """A mechanism of the package and how it is audited.

    Attributes:
        name: as users type it.
        make: the audit at an epsilon that is claimed; rho-zCDP is audited at rho = epsilon^2/2.
        covers: names of `exported_mechanisms` that it stands for.
        slow: whether even a quick look takes many seconds.
        unseen: why its audit sees less than half of the claim, in one sentence; empty where it
            sees more, or where only the number of runs is to blame.
    """

    name: str
    make: Callable[[float], Audit]
    covers: tuple[str, ...] = ()
    slow: bool = False
    unseen: str = ""

    def run(
        self,
        epsilon: float,
        source: EntropySource,
        *,
        quick: bool,
        alpha: float,
        report: Callable[[str], None] = lambda _: None,
    ) -> AuditOutcome:
        """Audit it, claiming an epsilon; see `Audit.check`."""
        audit = self.make(epsilon)
        outcome = audit.check(self.name, source, quick=quick, alpha=alpha, report=report)
        why = self.unseen or ("" if outcome.method == "exact" else _FEW)
        return replace(outcome, unseen=why if outcome.seen < HALF else "")


REGISTERED: list[Entry] = []
Make = TypeVar("Make", bound=Callable[..., Audit])


def audited(
    name: str,
    *choices: Iterable[Any],
    covers: str = "",
    slow: bool | Callable[..., bool] = False,
    unseen: str | Callable[..., str] = "",
) -> Callable[[Make], Make]:
    """Register the audit that a function makes of an epsilon; or several, of names and an epsilon.

    Args:
        name: of the entry, with {} for each of the names.
        choices: which names there are: each combination has an entry.
        covers: name of the mechanism, if it is not that of the entry.
        slow: see `Entry`; or a function of the names.
        unseen: likewise.
    """

    def register(make: Make) -> Make:
        for names in itertools.product(*choices):
            entry = Entry(
                name.format(*names),
                partial(make, *names),
                ((covers or name).format(*names),),
                slow=slow(*names) if callable(slow) else slow,
                unseen=unseen(*names) if callable(unseen) else unseen,
            )
            REGISTERED.append(entry)
        return make

    return register


Twins = Mapping[str, Mapping[str, Any] | Callable[..., Any]]


def claimed_epsilon(*terms: Any) -> Claim:
    """The last of the names and the epsilon of an audit, as pure epsilon."""
    return Claim(terms[-1])


def claimed_rho(*terms: Any) -> Claim:
    """The rho at which an epsilon is audited."""
    return Claim(terms[-1] ** 2 / 2, kind="rho")


def claimed_for(delta: float) -> Callable[..., Claim]:
    """The rho of an (epsilon, delta) guarantee."""
    return lambda *terms: Claim(zcdp_rho(epsilon=terms[-1], delta=delta), kind="rho")


def audited_runs(
    name: str,
    *choices: Iterable[Any],
    pairs: Any,
    twins: Twins | Callable[..., Twins],
    twin_pairs: Any = (),
    runs: int | Callable[..., int] = 8000,
    claim: Callable[..., Claim] = claimed_epsilon,
    prepared: bool = False,
    column: int | None = None,
    **about: Any,
) -> Callable[[F], F]:
    """Register the audit of a function that makes one run of a mechanism.

    It is called with the names, epsilon, one of the neighbours and the source of noise.

    Args:
        name: as for `audited`.
        choices: likewise.
        pairs: see `Sampled`; or a function of the names and epsilon.
        twins: by what is broken, the keywords with which the function is called; or a function in
            its place. Or a function of the names that gives them.
        twin_pairs: like `pairs`.
        runs: see `Sampled`; or a function of the names.
        claim: of the names and epsilon.
        prepared: whether the function is called without a neighbour, and makes a function of it.
        column: which number of a run is ln(Q/P), of the second neighbour to the first, for an audit
            by this alone; None for one by all events.
        about: what else `audited` takes.
    """

    def register(function: F) -> F:
        def make(*terms: Any) -> Audit:
            def start(one: Callable[..., Any], source: EntropySource) -> Callable[[Any], Any]:
                made = partial(one, *terms)
                run = made(source) if prepared else lambda data: made(data, source)
                return run if column is None else lambda data: -float(run(data)[column])

            names = terms[:-1]
            broken = _variants(function, _chosen(twins, *names))
            common: dict[str, Any] = {
                "claim": claim(*terms),
                "pairs": _chosen(pairs, *terms),
                "twins": {twin: partial(start, one) for twin, one in broken.items()},
                "runs": _chosen(runs, *names),
            }
            sound = partial(start, function)
            if column is not None:
                return ByLaw(ratio=sound, **common)
            return Sampled(start=sound, twin_pairs=_chosen(twin_pairs, *terms), **common)

        audited(name, *choices, **about)(make)
        return function

    return register


def audited_laws(
    name: str,
    *choices: Iterable[Any],
    twins: Twins | Callable[..., Twins],
    claim: Callable[..., Claim] = claimed_epsilon,
    **about: Any,
) -> Callable[[F], F]:
    """Register the audit of a function that gives the laws of all outputs on neighbours.

    It is called with the names and epsilon. The arguments are those of `audited_runs`.
    """

    def register(function: F) -> F:
        def make(*terms: Any) -> Audit:
            broken = _variants(function, _chosen(twins, *terms[:-1]))
            return Enumerated(
                claim=claim(*terms),
                distributions=partial(function, *terms),
                twins={twin: partial(one, *terms) for twin, one in broken.items()},
            )

        audited(name, *choices, **about)(make)
        return function

    return register


def _chosen(value: Any, *terms: Any) -> Any:
    return value(*terms) if callable(value) else value


def _variants(function: Callable[..., Any], twins: Twins) -> dict[str, Callable[..., Any]]:
    return {
        name: twin if callable(twin) else partial(function, **twin) for name, twin in twins.items()
    }
