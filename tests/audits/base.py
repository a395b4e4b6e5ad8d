"""What an audit of one mechanism consists of, and how it is run.

How many runs. A claim c is refuted where it lies below a bound that holds with probability
1 - alpha, alpha = 1e-6. If the log-ratio of an event is known to within w/sqrt(n) after n runs, and
its loss is c + d, this happens about as often as d sqrt(n)/w plus a normal number passes z(alpha) =
4.75. So ((z(alpha) + z(miss)) w/d)^2 runs miss it with probability `miss`. For the best event of
randomised response with half the noise at c = 1 w is 2.7 and d = 1, so that 660 runs miss it with
probability 1e-6; where the neighbours show as they are (d infinite), 100 are enough.

So twins are looked at again and again, each time with twice as many fresh runs, until they are
caught or all runs are made; alpha is shared by the looks. What all `runs` miss with probability
1e-6 is missed no more often by looks that end with all of them, and most twins cost far less. A
full audit looks at the mechanism itself with all `runs`, a quick one with as many as its hardest
twin took, and with 450 at least: a mistake in the package breaks the twins, too, so that their
first look catches them, and its 200 runs are too few for a mechanism that is off by a factor of 2,
which 450 miss with probability 1e-3, and the full audit with 1e-6 at most.
A sound mechanism is refuted with probability alpha, by the fixed seeds of the tests not at all.
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
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.entropy import EntropySource
from tests.audits.losses import DistributionPair, loss_by_ratio, visible_by_ratio, worst_exact

F = TypeVar("F", bound=Callable[..., Any])
DistributionPairs = Iterable[DistributionPair]
_FEW = (
    "Among the runs that were made, too few tell the neighbours apart as strongly as all parts of "
    "the mechanism together can."
)
HALF = 0.5  # of a claim: an audit that sees less says why
_TELLING = 0.1  # of training runs, to pick the pair that tells most
_FIRST_LOOK = 200  # runs
_LEAST_QUICK = 450  # runs of the mechanism itself


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
            quick: whether as many runs as the hardest twin took, or 450, will do.
            alpha: probability that the audit finds too much, at most.
            report: called with what is looked at next.
        """
        looks = [min(_FIRST_LOOK, self.runs)]
        while looks[-1] < self.runs:
            looks.append(min(2 * looks[-1], self.runs))
        most, twins = 1, []
        for broken in self.twins:
            report(f"twin: {broken}")
            for runs in looks:
                seen = self.found(broken, runs, alpha / len(looks), source).epsilon_lower
                if caught := seen > self.claim.value * (1 + self.slack):
                    break
            twins.append(TwinResult(broken, seen, caught))
            most = max(most, runs)
        report("the mechanism")
        runs = min(self.runs, max(most, _LEAST_QUICK)) if quick else self.runs
        own = self.found(None, runs, alpha, source)
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
        start = self.start if broken is None else self.twins[broken]
        pairs = self.pairs if broken is None or not self.twin_pairs else self.twin_pairs
        made = start(source.split(1)[0])
        draw: Draw = made if self.batch else one_by_one(lambda data, _: made(data))
        training = max(_FIRST_LOOK // 3, runs // (3 + len(pairs)))
        return audit_worst(draw, pairs, training=training, runs=runs, claim=self.claim, alpha=alpha)


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
        start = self.ratio if broken is None else self.twins[broken]
        run = start(source.split(1)[0])

        def drawn(pair: Neighbours, count: int) -> tuple[FloatVector, FloatVector]:
            first, second = (
                np.array([run(data) for _ in range(count)]) for data in (pair.first, pair.second)
            )
            return first, second

        count = max(_FIRST_LOOK // 3, runs // (3 + len(self.pairs)))
        training = [drawn(pair, count) for pair in self.pairs]
        told = [loss_by_ratio(each, each, alpha=_TELLING) for each in training]
        best = told.index(max(told))
        loss = loss_by_ratio(training[best], drawn(self.pairs[best], runs), alpha=alpha)
        return AuditResult(loss, "the log-likelihood ratio", self.pairs[best].name)


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
