"""An audit of one mechanism and of its incorrect variants, and the three ways to run it.

- `Sampled` runs the mechanism on two neighbours and looks for the event that tells them apart.
- `ByLaw` runs it, too, and looks at the exact log-likelihood ratio of each output.
- `Enumerated` computes the probabilities of all outputs.

`audited`, `audited_runs` and `audited_laws` register an audit under the name of a mechanism.

How many runs: a quick audit stops as soon as the claim is refuted, or as soon as a loss of twice
the claim would have come to light (see `sequential`). About 60 runs refute an output that shows the
private data as they are, 160 refute randomised response with half the noise, and 100 to 150 pass a
sound mechanism. A quick audit passes a mechanism whose loss is twice the claim with probability
1e-3, if one event shows all of the loss. A full audit takes all `runs`.

Errors: a sound mechanism is refuted with probability alpha = 1e-6, and never with the fixed seeds
of the tests. An incorrect variant is audited to show that the audit detects its mistake, so a quick
audit is content with error probability `QUICK_ALPHA` there.
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
    draw_of_runs,
)
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.composition import zcdp_rho
from tests.audits.losses import (
    DistributionPair,
    largest_loss_index,
    loss_by_ratio,
    visible_by_ratio,
    worst_exact,
)
from tests.audits.sequential import MISS, audit_until_decided, ratio_until_decided

F = TypeVar("F", bound=Callable[..., Any])
DistributionPairs = Iterable[DistributionPair]
_TOO_FEW_RUNS = (
    "Among the runs that were made, too few tell the neighbours apart as strongly as all parts of "
    "the mechanism together can."
)
MIN_SHARE = 0.5  # of a claim: an audit that detects a smaller share of it gives a reason
# Largest probability that a quick audit wrongly says that an incorrect variant exceeds its claim.
QUICK_ALPHA = 1e-3
_MIN_TRAINING_RUNS = 66  # that choose the event and the pair of neighbours; fewer choose badly


@final
@dataclass(frozen=True)
class VariantResult:
    """The outcome for an incorrect variant.

    Attributes:
        name: the mistake.
        loss: a proven lower bound on the privacy loss.
        caught: whether this refutes the claim.
    """

    name: str
    loss: float
    caught: bool


@final
@dataclass(frozen=True, kw_only=True)
class AuditOutcome:
    """The outcome of the audit of one mechanism.

    Attributes:
        name: of the mechanism.
        method: "exact", "runs", or "ratio".
        claim: the privacy loss that the mechanism guarantees not to exceed.
        loss: a proven lower bound on its privacy loss; the loss itself if `method` is "exact".
        detectable_loss: the bound that as many runs would prove for a mechanism whose loss is the
            claim; the claim if `method` is "exact".
        pair: name of the neighbours that prove the bound.
        event: the set of outputs that proves it.
        incorrect_variants: outcomes for them.
        why_below_half: why the bound is below half of the claim, in one sentence; empty if it is
            not, or if nobody has stated a reason.
    """

    name: str
    method: str
    claim: Claim
    loss: float
    detectable_loss: float
    pair: str
    event: str
    incorrect_variants: tuple[VariantResult, ...]
    why_below_half: str = ""

    @property
    def kept(self) -> bool:
        """Whether the claim stands: the proven loss does not exceed it, up to rounding."""
        return self.loss <= self.claim.value * (1 + 1e-9)

    @property
    def passed(self) -> bool:
        """Whether the claim stands and all incorrect variants were caught."""
        return self.kept and all(variant.caught for variant in self.incorrect_variants)

    @property
    def detected_share(self) -> float:
        """Share of the claim that the proven loss makes up."""
        return max(0.0, self.loss) / self.claim.value

    @property
    def detectable_share(self) -> float:
        """Share of the claim that would be proven of a mechanism whose loss is the claim."""
        return max(0.0, self.detectable_loss) / self.claim.value


@dataclass(frozen=True, kw_only=True)
class Audit(ABC):
    """The audit of one mechanism at fixed parameters.

    Attributes:
        claim: the privacy loss that the mechanism guarantees not to exceed.
        incorrect_variants: by the name of the mistake; each subclass says what the values are.
        runs: on each neighbour, in a full audit; ignored by exact audits.
    """

    claim: Claim
    runs: int = 1
    incorrect_variants: Mapping[str, Any] = field(default_factory=dict)
    method: ClassVar[str]
    slack: ClassVar[float] = 1e-9  # share of the claim: exact losses reach it, up to rounding

    @abstractmethod
    def loss_by_runs(
        self, variant: str | None, runs: int, alpha: float, source: EntropySource
    ) -> AuditResult:
        """Return a proven loss, with its pair of neighbours and its event, of all runs.

        Args:
            variant: name of an incorrect variant; None for the mechanism itself.
            runs: on each neighbour, besides training runs that choose the pair and the event.
            alpha: largest probability that the loss is overstated.
            source: of all noise.
        """

    @abstractmethod
    def loss_when_decided(
        self, variant: str | None, alpha: float, source: EntropySource, miss: float = 0.0
    ) -> tuple[AuditResult, int]:
        """Return a proven loss of as few runs as decide, and the number of these runs.

        Args:
            variant: name of an incorrect variant; None for the mechanism itself.
            alpha: largest probability that the loss is overstated.
            source: of all noise.
            miss: probability of stopping before a loss of twice the claim has come to light; 0 to
                stop only at a refutation, or after all runs.
        """

    def detectable_loss(self, runs: int, alpha: float) -> float:  # noqa: ARG002
        """Return the loss that would be proven of a mechanism whose loss is the claim."""
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
        """Audit the incorrect variants, then the mechanism.

        Args:
            name: of the mechanism.
            source: of all noise.
            quick: whether to stop once decided, with error probability `QUICK_ALPHA` for variants.
            alpha: largest probability that the audit overstates the loss of the mechanism.
            report: called with the name of the next part of the audit.
        """
        variant_alpha = max(alpha, QUICK_ALPHA) if quick else alpha
        variant_results = []
        for variant in self.incorrect_variants:
            report(f"incorrect variant: {variant}")
            result, _ = self.loss_when_decided(variant, variant_alpha, source)
            caught = result.epsilon_lower > self.claim.value * (1 + self.slack)
            variant_results.append(VariantResult(variant, result.epsilon_lower, caught))
        report("the mechanism")
        if quick:
            result, runs = self.loss_when_decided(None, alpha, source, MISS)
        else:
            result, runs = self.loss_by_runs(None, self.runs, alpha, source), self.runs
        return AuditOutcome(
            name=name,
            method=self.method,
            claim=self.claim,
            loss=result.epsilon_lower,
            detectable_loss=self.detectable_loss(runs, alpha),
            pair=result.pair,
            event=result.event,
            incorrect_variants=tuple(variant_results),
        )


@final
@dataclass(frozen=True, kw_only=True)
class Sampled(Audit):
    """An audit by runs, which looks for an event that one neighbour makes likelier.

    Attributes:
        claim: of the mechanism.
        pairs: the neighbours with the largest losses that are known.
        start: takes a source of noise and returns a function of the data: one run.
        incorrect_variants: functions like `start`, by the name of the mistake.
        variant_pairs: neighbours for the incorrect variants; `pairs` if empty.
        runs: on each neighbour of the worst pair, in a full audit.
        batch: whether the function that `start` returns takes (data, number of the first run,
            number of runs) and returns the outputs of all these runs, one a row.
    """

    pairs: Sequence[Neighbours]
    start: Callable[[EntropySource], Any]
    variant_pairs: Sequence[Neighbours] = ()
    runs: int = 8000
    batch: bool = False
    method = "runs"
    slack = 0.0

    def detectable_loss(self, runs: int, alpha: float) -> float:
        """See `Audit.detectable_loss`."""
        return self.claim.detectable_loss(runs, alpha=alpha)

    def loss_by_runs(
        self, variant: str | None, runs: int, alpha: float, source: EntropySource
    ) -> AuditResult:
        """See `Audit.loss_by_runs`."""
        draw, pairs = self._draw(variant, source), self._pairs(variant)
        training = max(_MIN_TRAINING_RUNS, runs // (3 + len(pairs)))
        return audit_worst(draw, pairs, training=training, runs=runs, claim=self.claim, alpha=alpha)

    def loss_when_decided(
        self, variant: str | None, alpha: float, source: EntropySource, miss: float = 0.0
    ) -> tuple[AuditResult, int]:
        """See `Audit.loss_when_decided`."""
        terms: dict[str, Any] = {"claim": self.claim, "alpha": alpha, "miss": miss}
        draw, pairs = self._draw(variant, source), self._pairs(variant)
        return audit_until_decided(draw, pairs, most=self.runs, **terms)

    def _draw(self, variant: str | None, source: EntropySource) -> Draw:
        start = self.start if variant is None else self.incorrect_variants[variant]
        run = start(source.split(1)[0])
        return run if self.batch else draw_of_runs(lambda data, _: run(data))

    def _pairs(self, variant: str | None) -> Sequence[Neighbours]:
        return self.pairs if variant is None or not self.variant_pairs else self.variant_pairs


@final
@dataclass(frozen=True, kw_only=True)
class ByLaw(Audit):
    """An audit of pure epsilon by runs that return the exact log-likelihood ratio of the output.

    It refutes a mechanism whose outputs tell the neighbours apart better than its public law
    allows (see `loss_by_ratio`), on the pair of neighbours with the largest loss. Mistakes that
    leave this ratio as it is stay undetected, so such a mechanism also has an audit by events, or
    tests that compare its noise with the sampler's.

    Attributes:
        claim: of the mechanism.
        pairs: as for `Sampled`.
        ratio: takes a source of noise and returns a function of the data: one run, whose value is
            ln(P/Q) of the output, P on the first neighbour and Q on the second, by the public law.
        incorrect_variants: functions like `ratio`, by the name of the mistake; P and Q remain those
            of the sound mechanism.
        runs: as for `Sampled`.
    """

    pairs: Sequence[Neighbours]
    ratio: Callable[[EntropySource], Callable[[Any], float]]
    runs: int = 8000
    method = "ratio"

    def detectable_loss(self, runs: int, alpha: float) -> float:
        """See `Audit.detectable_loss`."""
        return visible_by_ratio(self.claim, runs, alpha=alpha)

    def loss_by_runs(
        self, variant: str | None, runs: int, alpha: float, source: EntropySource
    ) -> AuditResult:
        """See `Audit.loss_by_runs`. Training runs pick the pair."""
        draw = self._draw(variant, source)

        def ratios_of(pair: Neighbours, count: int) -> tuple[FloatVector, FloatVector]:
            return draw(pair.first, count), draw(pair.second, count)

        training_runs = max(_MIN_TRAINING_RUNS, runs // (3 + len(self.pairs)))
        training = [ratios_of(pair, training_runs) for pair in self.pairs]
        worst_pair = largest_loss_index(training)
        loss = loss_by_ratio(
            training[worst_pair], ratios_of(self.pairs[worst_pair], runs), alpha=alpha
        )
        return AuditResult(loss, "the log-likelihood ratio", self.pairs[worst_pair].name)

    def loss_when_decided(
        self, variant: str | None, alpha: float, source: EntropySource, miss: float = 0.0
    ) -> tuple[AuditResult, int]:
        """See `Audit.loss_when_decided`."""
        terms: dict[str, Any] = {"claim": self.claim, "alpha": alpha, "miss": miss}
        draw = self._draw(variant, source)
        return ratio_until_decided(draw, self.pairs, most=self.runs, **terms)

    def _draw(
        self, variant: str | None, source: EntropySource
    ) -> Callable[[Any, int], FloatVector]:
        start = self.ratio if variant is None else self.incorrect_variants[variant]
        run = start(source.split(1)[0])
        return lambda data, count: np.array([run(data) for _ in range(count)])


@final
@dataclass(frozen=True, kw_only=True)
class Enumerated(Audit):
    """An audit by the probabilities of all outputs.

    Attributes:
        claim: of the mechanism.
        distributions: returns the two distributions of each pair of neighbours.
        incorrect_variants: functions like `distributions`, by the name of the mistake.
    """

    distributions: Callable[[], DistributionPairs]
    method = "exact"

    def loss_by_runs(
        self,
        variant: str | None,
        runs: int,  # noqa: ARG002
        alpha: float,  # noqa: ARG002
        source: EntropySource,  # noqa: ARG002
    ) -> AuditResult:
        """See `Audit.loss_by_runs`. Draws nothing."""
        distributions = self.distributions if variant is None else self.incorrect_variants[variant]
        return worst_exact(distributions(), self.claim)

    def loss_when_decided(
        self,
        variant: str | None,
        alpha: float,
        source: EntropySource,
        miss: float = 0.0,  # noqa: ARG002
    ) -> tuple[AuditResult, int]:
        """See `Audit.loss_when_decided`."""
        return self.loss_by_runs(variant, 1, alpha, source), 1


@final
@dataclass(frozen=True)
class Entry:
    """A mechanism of the package and how it is audited.

    Attributes:
        name: as users of the command type it.
        make: returns the audit at a claimed epsilon; rho-zCDP is audited at rho = epsilon^2/2.
        covers: names of `exported_mechanisms` whose audit this is.
        slow: whether even a quick audit takes many seconds.
        why_below_half: why the audit proves less than half of the claim, in one sentence; empty if
            it proves more, or if more runs would prove more.
    """

    name: str
    make: Callable[[float], Audit]
    covers: tuple[str, ...] = ()
    slow: bool = False
    why_below_half: str = ""

    def run(
        self,
        epsilon: float,
        source: EntropySource,
        *,
        quick: bool,
        alpha: float,
        report: Callable[[str], None] = lambda _: None,
    ) -> AuditOutcome:
        """Audit the mechanism with a claimed epsilon; see `Audit.check`."""
        audit = self.make(epsilon)
        outcome = audit.check(self.name, source, quick=quick, alpha=alpha, report=report)
        reason = self.why_below_half or ("" if outcome.method == "exact" else _TOO_FEW_RUNS)
        return replace(outcome, why_below_half=reason if outcome.detected_share < MIN_SHARE else "")


REGISTERED: list[Entry] = []
Make = TypeVar("Make", bound=Callable[..., Audit])


def audited(
    name: str,
    *choices: Iterable[Any],
    covers: str = "",
    slow: bool | Callable[..., bool] = False,
    why_below_half: str | Callable[..., str] = "",
) -> Callable[[Make], Make]:
    """Register a function that returns the audit at a claimed epsilon.

    Args:
        name: of the entry; each {} in it is replaced by a member of one of `choices`.
        choices: names of the variants of a mechanism. Each combination of a member of each choice
            has an entry of its own, and the function takes it before epsilon.
        covers: name of the mechanism; empty for the name of the entry.
        slow: see `Entry`; or a function of the combination.
        why_below_half: see `Entry`; or a function of the combination.
    """

    def register(make: Make) -> Make:
        for names in itertools.product(*choices):
            entry = Entry(
                name.format(*names),
                partial(make, *names),
                ((covers or name).format(*names),),
                slow=slow(*names) if callable(slow) else slow,
                why_below_half=why_below_half(*names)
                if callable(why_below_half)
                else why_below_half,
            )
            REGISTERED.append(entry)
        return make

    return register


# By the name of the mistake: keywords of the audited function, or a function in its place.
Variants = Mapping[str, Mapping[str, Any] | Callable[..., Any]]


def claimed_epsilon(*terms: Any) -> Claim:
    """Return a claim of pure epsilon; the last term is epsilon, as for all functions `claim`."""
    return Claim(terms[-1])


def claimed_rho(*terms: Any) -> Claim:
    """Return a claim of rho-zCDP, rho = epsilon^2/2."""
    return Claim(terms[-1] ** 2 / 2, kind="rho")


def claimed_for(delta: float) -> Callable[..., Claim]:
    """Return a function that claims the rho-zCDP that (epsilon, delta) follows from."""
    return lambda *terms: Claim(zcdp_rho(epsilon=terms[-1], delta=delta), kind="rho")


def audited_runs(
    name: str,
    *choices: Iterable[Any],
    pairs: Any,
    incorrect_variants: Variants | Callable[..., Variants],
    variant_pairs: Any = (),
    runs: int | Callable[..., int] = 8000,
    claim: Callable[..., Claim] = claimed_epsilon,
    prepared: bool = False,
    column: int | None = None,
    **entry_options: Any,
) -> Callable[[F], F]:
    """Register the audit of a function that runs a mechanism once.

    The function takes a combination of `choices`, epsilon, one of the neighbours and the source of
    noise, and returns the numbers that an observer sees.

    Args:
        name: as for `audited`.
        choices: as for `audited`.
        pairs: see `Sampled`; or a function of the combination and epsilon.
        incorrect_variants: see `Variants`; or a function of the combination that returns them.
        variant_pairs: like `pairs`.
        runs: see `Sampled`; or a function of the combination.
        claim: a function of the combination and epsilon.
        prepared: whether the function takes no neighbour, and returns a function of one.
        column: index of the number of a run that is ln(Q/P), of the second neighbour over the
            first, for an audit by this ratio alone; None for an audit by events.
        entry_options: of `audited`.
    """

    def register(function: F) -> F:
        def make(*terms: Any) -> Audit:
            def start(function: Callable[..., Any], source: EntropySource) -> Callable[[Any], Any]:
                mechanism = partial(function, *terms)
                run = mechanism(source) if prepared else lambda data: mechanism(data, source)
                return run if column is None else lambda data: -float(run(data)[column])

            combination = terms[:-1]
            variants = _variants(function, _called(incorrect_variants, *combination))
            common: dict[str, Any] = {
                "claim": claim(*terms),
                "pairs": _called(pairs, *terms),
                "incorrect_variants": {
                    mistake: partial(start, variant) for mistake, variant in variants.items()
                },
                "runs": _called(runs, *combination),
            }
            sound_start = partial(start, function)
            if column is not None:
                return ByLaw(ratio=sound_start, **common)
            return Sampled(
                start=sound_start, variant_pairs=_called(variant_pairs, *terms), **common
            )

        audited(name, *choices, **entry_options)(make)
        return function

    return register


def audited_laws(
    name: str,
    *choices: Iterable[Any],
    incorrect_variants: Variants | Callable[..., Variants],
    claim: Callable[..., Claim] = claimed_epsilon,
    **entry_options: Any,
) -> Callable[[F], F]:
    """Register the exact audit of a function that returns the laws of all outputs on neighbours.

    The function takes a combination of `choices` and epsilon. The arguments are those of
    `audited_runs`.
    """

    def register(function: F) -> F:
        def make(*terms: Any) -> Audit:
            variants = _variants(function, _called(incorrect_variants, *terms[:-1]))
            return Enumerated(
                claim=claim(*terms),
                distributions=partial(function, *terms),
                incorrect_variants={
                    mistake: partial(variant, *terms) for mistake, variant in variants.items()
                },
            )

        audited(name, *choices, **entry_options)(make)
        return function

    return register


def _called(value: Any, *terms: Any) -> Any:
    """Return value(*terms) of a function, and any other value as it is."""
    return value(*terms) if callable(value) else value


def _variants(function: Callable[..., Any], variants: Variants) -> dict[str, Callable[..., Any]]:
    """Return the functions of all incorrect variants of an audited function."""
    return {
        mistake: variant if callable(variant) else partial(function, **variant)
        for mistake, variant in variants.items()
    }
