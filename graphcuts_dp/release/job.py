"""One prepared use of the budget: what it costs and guarantees, before any private row is read.

A job is made from the options and from public facts alone: it holds the private data emptied of all
rows (`without_rows`), so that nothing it says can tell of them. `execute` is the only place of this
subpackage that charges a store.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, Self, TypeVar

from graphcuts_dp.errors import AccuracyWarning, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.rows import PrivateData
from graphcuts_dp.ledger.charges import KeptMeasurement, begin_charge
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.public_inputs import public_digest
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.entropy import EntropySource, Seed, apart, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.provenance import Provenance
from graphcuts_dp.resources import Progress, progress_function, silent
from graphcuts_dp.results.packing import ResultParts, SavedParts, pack, unpack

R = TypeVar("R")
SMALL_RESULT = 2**18  # bytes of a result that does not grow with the data
_FACTS = (
    *("space", "weighted", "max_weight", "max_weight_change"),
    *("counting", "unit", "owned", "user_is_source", "periods"),
)


def execute(
    job: "Job[R]",
    data: PrivateData,
    *,
    store: PathLike | Store | None = None,
    seed: Seed | None = None,
    progress: Progress | bool = silent,
) -> R:
    """Charge a job to a store, and run it.

    Its whole cost is on the disk before noise is drawn, and what was measured is on the disk before
    a result is made of it. The result is made of what the store has, so that `resume` makes the
    same one again. Where the job has a `second_measurement`, that one is on the disk before
    anything that depends on it is shown.

    Args:
        job: made for data of this schema.
        data: private.
        store: see `begin_charge`; None charges nothing, and nothing is kept.
        seed: makes the run repeatable and voids the guarantee; None for the system's entropy.
        progress: see `seen`; notebooks get a bar without it.

    Raises:
        ParameterError: the data have another schema, or the seed is none. Nothing was spent.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used; or it cannot keep what was measured, which is then
            thrown away: the cost is spent, and a store that is to `resume` measures again.

    Warns:
        AccuracyWarning: before anything is spent, what the job warns of.
    """
    source, report = entropy_source(seed), progress_function(progress)
    bounded = job.bounded(data)
    warning = job.warning
    if warning is not None:
        warnings.warn(warning, AccuracyWarning, stacklevel=4)
    charge = begin_charge(
        store,
        data,
        kind=job.kind,
        parameters=job.parameters,
        cost=job.cost,
        guarantee=job.guarantee_of_run(source),
        periods=job.periods,
        inputs=public_digest(*job.inputs),
        content_bytes=job.measured_bytes,
        stacklevel=4,
    )
    job = job.released_as(charge.provenance)
    if charge.store is None:
        return job.run(bounded, source, report)
    kept, second = charge.measurement, job.second_measurement
    if kept is None:
        # Messages of progress may tell noisy values, or which steps run, and a callback may raise.
        # A run that ended before its measurement was kept would have told something, and be
        # repeated.
        report(0.0, "measuring")
        measured = job.measure(bounded, source, silent)
        content = pack(job.parts(measured, job.guarantee_of_run(source)))
        kept = KeptMeasurement(content, job.completion(source), complete=second is None)
        charge = charge.keep(content, kept.completion, last=kept.complete)
    # The privacy boundary: nothing that was measured has left the process before.
    result = job.completed(unpack(kept.content, charge.provenance), kept.completion, report)
    if second is not None and not kept.complete:
        # Nothing is told from here until the second measurement is kept.
        result = second.measured(result, bounded, apart(source))
        charge.keep_later(pack(second.parts(result)))
    elif second is not None and kept.later is not None:
        result = second.restored(result, unpack(kept.later, charge.provenance))
    return result


class SecondMeasurement(ABC, Generic[R]):
    """A measurement that asks the private data about the result of an earlier one."""

    @abstractmethod
    def measured(self, result: R, bounded: Any, source: EntropySource) -> R:
        """Return the result with what is measured of it. Reads private data.

        Args:
            result: of `Job.finish` or `Job.completed`, made of earlier measurements alone.
            bounded: private, see `Job.bounded`.
            source: where the noise comes from.

        Guarantee: together with `Job.measure`, what `Job.cost` says.
        """

    @abstractmethod
    def parts(self, result: R) -> ResultParts:
        """Return what a store keeps of this measurement."""

    @abstractmethod
    def restored(self, result: R, saved: SavedParts) -> R:
        """Return the result with a measurement that a store has kept, see `parts`."""


@dataclass(frozen=True, kw_only=True)
class Job(ABC, Generic[R]):
    """One prepared use of the budget. All of it may be shown; it holds no private row.

    A kind of job is a subclass that says how private data are bounded and measured, and what is
    made of the measurements.

    Attributes:
        kind: what the ledger calls it: "release", "flows", ...
        public: data of the schema that it is for, without any row.
        epsilon: that was asked for.
        delta: likewise, in [0, 1).
        budget_plan: how it is spent.
        guarantee: for all that is measured together, without a seed.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> job = gc.release.graph_job(club, epsilon=1.0)
        >>> job.kind, job.guarantee.epsilon
        ('release', 1.0)
    """

    kind: str
    public: PrivateData
    epsilon: float | Fraction
    delta: float = 0.0
    budget_plan: BudgetPlan
    guarantee: PrivacyGuarantee

    @abstractmethod
    def measure(self, bounded: Any, source: EntropySource, progress: Progress = silent) -> Any:
        """Draw all noise. The only step that reads private data.

        Args:
            bounded: private, see `bounded`.
            source: where the noise comes from.
            progress: called with the fraction done and a message.

        Guarantee: what `cost` says.
        """

    @abstractmethod
    def finish(
        self,
        measured: Any,
        guarantee: PrivacyGuarantee,
        source: EntropySource,
        progress: Progress = silent,
    ) -> R:
        """Return the result, made from what was measured alone.

        Args:
            measured: what `measure` returned.
            guarantee: of the run.
            source: of ordinary random numbers, for what is drawn from a model.
            progress: called with the fraction done and a message.
        """

    @abstractmethod
    def parts(self, measured: Any, guarantee: PrivacyGuarantee) -> ResultParts:
        """Return what a store keeps of this job: what was measured, or the whole result.

        Args:
            measured: what `measure` returned.
            guarantee: of the run.
        """

    @abstractmethod
    def completed(
        self, saved: SavedParts, completion: Mapping[str, Any], progress: Progress = silent
    ) -> R:
        """Return the result, made of what `parts` returned.

        Args:
            saved: the parts, as they are read back.
            completion: what `completion` returned.
            progress: called with the fraction done and a message.
        """

    @property
    def second_measurement(self) -> SecondMeasurement[R] | None:
        """Return what is measured of the result of `completed`; None if nothing is."""
        return None

    def completion(self, source: EntropySource) -> dict[str, Any]:
        """Return how the result is made of its `parts`, as plain values for the store.

        Args:
            source: of the random numbers that this needs.
        """
        del source
        return {}

    def bound(self, data: Any) -> Any:
        """Return private data in which nobody has more than the job pays for. Private.

        Args:
            data: private, of the schema of the job.
        """
        return data

    @property
    def cost(self) -> Cost:
        """What the whole plan costs, as it is charged.

        Raises:
            BudgetError: the plan costs more than was asked for.
        """
        return stated_cost(self.budget_plan.cost, epsilon=self.epsilon, delta=self.delta)

    @property
    def parameters(self) -> dict[str, Any]:
        """Plain values for the ledger."""
        return {}

    @property
    def inputs(self) -> Sequence[Any]:
        """Public inputs besides the parameters, such as groups: see `public_digest`."""
        return ()

    @property
    def periods(self) -> tuple[str, ...] | None:
        """Labels of the declared periods that `measure` reads, see `charged`; None for all."""
        return None

    @property
    def result_bytes(self) -> int:
        """About how many bytes the result takes on the disk, from public sizes."""
        return SMALL_RESULT

    @property
    def measured_bytes(self) -> int:
        """How many bytes what is measured takes in a store at most, from public sizes."""
        return SMALL_RESULT

    @property
    def warning(self) -> str | None:
        """Why the result will be worthless, or None."""
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What to tell before anything is spent, a sentence each."""
        return ()

    def errors(self) -> Iterable[tuple[str, float]]:
        """Return what may be off by how much, at the default confidence, most important first."""
        return ()

    def bounded(self, data: PrivateData) -> Any:
        """Return the data as they are measured: nobody has more than the job pays for. Private.

        Args:
            data: private, of the schema of the job.

        Raises:
            ParameterError: they are not of the schema that the job was made for.
        """
        if not self._fits(data):
            raise ParameterError("this job is for other data: make one for the schema of these")
        return self.bound(data)

    def _fits(self, data: PrivateData) -> bool:
        """Return whether data are of the schema that the job was made for."""
        return type(data) is type(self.public) and all(
            getattr(data, fact, None) == getattr(self.public, fact, None) for fact in _FACTS
        )

    def run(self, bounded: Any, source: EntropySource, progress: Progress = silent) -> R:
        """Measure, and make the result of what was measured. Charges nothing: see `execute`.

        Args:
            bounded: private, see `bounded`.
            source: where the noise comes from.
            progress: called with the fraction done and a message.
        """
        measured = self.measure(bounded, source, progress)
        # The privacy boundary: a result reads no private data, but may be measured against them.
        result = self.finish(measured, self.guarantee_of_run(source), source, progress)
        second = self.second_measurement
        return result if second is None else second.measured(result, bounded, apart(source))

    def to_opendp(self) -> Any:
        """Return the same as a measurement of OpenDP, which its combinators take.

        It charges no store. Its domain is the data of the schema that the job was made for. The
        distance of two data is the least number of neighbours on a path between them, as
        `guarantee` calls neighbours. Its measure is max divergence where the cost is pure, else
        zero-concentrated divergence.

        Raises:
            ParameterError: OpenDP is not installed, or neither of the two is proven.

        Guarantee: of one path of k steps that of `Cost.for_group(k)`, rounded up.
        """
        try:
            import opendp.prelude as dp
        except ImportError:
            raise ParameterError("OpenDP is not installed: pip install opendp") from None
        cost = self.cost
        pure, rho = cost.pure is not None, cost.rho
        if not pure and rho is None:
            raise ParameterError("this cost is neither pure nor concentrated: no measure fits it")
        dp.enable_features("contrib", "honest-but-curious")

        def spent(steps: int) -> float:
            if steps < 1:
                return 0.0
            group = cost.for_group(steps)
            return group.epsilon if pure or group.rho is None else group.rho

        return dp.m.make_user_measurement(
            dp.user_domain(f"{self.kind} of {self.public!r}", self._fits),
            dp.user_distance(f"changes of {self.guarantee.privacy_unit}"),
            dp.max_divergence() if pure else dp.zero_concentrated_divergence(),
            lambda data: self.run(self.bounded(data), entropy_source(None)),
            spent,
        )

    def released_as(self, provenance: Provenance) -> Self:
        """Return the same job, whose result has this provenance.

        Args:
            provenance: when, by whom and for what it is released.
        """
        return replace(self, guarantee=self.guarantee.released_as(provenance))

    def guarantee_of_run(self, source: EntropySource) -> PrivacyGuarantee:
        """Return the guarantee of a run, which a seed voids.

        Args:
            source: of the noise of that run.
        """
        plan = self.budget_plan.with_certain_runs()
        return replace(self.guarantee, seed=source.seed, budget_plan=plan)
