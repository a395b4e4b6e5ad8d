"""One prepared use of the budget: its cost and its guarantee, before any private row is read.

A job is made from the options and from public facts alone: it holds the schema of the private data
without any row (`without_rows`), so that it cannot reveal anything about them. Only `execute`
charges a store in this subpackage.
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

R = TypeVar("R")  # the result of a job
SMALL_RESULT = 2**18  # bytes of a result that does not grow with the data
# Attributes that data of one schema have in common; those that a graph does not have are of rows.
_SCHEMA = (
    "space",
    "weighted",
    "max_weight",
    "max_weight_change",
    "counting",
    "weight_unit",
    "owned",
    "user_is_source",
    "periods",
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

    The whole cost is on the disk before noise is drawn, and the measurements are on the disk before
    a result is computed from them. The result is computed from what the store has, so that `resume`
    computes the same one again. If the job has a `second_measurement`, that is on the disk before
    anything that depends on it is shown.

    Args:
        job: made for data of this schema.
        data: private.
        store: path of the store that is charged, or a `Store`; None charges and stores nothing.
        seed: makes the run repeatable and voids the guarantee; None for the system's entropy.
        progress: True shows a bar; a function is called with the fraction done and a message;
            notebooks get a bar without it.

    Raises:
        ParameterError: the data have another schema, or the seed is no seed. Nothing was spent.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used; or it cannot store the measurements, which are then
            discarded: the cost is spent, and a store that is to `resume` measures again.

    Warns:
        AccuracyWarning: before anything is spent, the warning of the job.
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
    stored, second = charge.measurement, job.second_measurement
    if stored is None:
        # Messages of progress may show noisy values, or which steps run, and a callback may raise.
        # A run that ended before its measurement was stored would have revealed something, and
        # would be repeated: so nothing is reported.
        report(0.0, "measuring")
        measured = job.measure(bounded, source, silent)
        content = pack(job.parts(measured, job.guarantee_of_run(source)))
        stored = KeptMeasurement(content, job.completion(source), complete=second is None)
        charge = charge.keep(content, stored.completion, last=stored.complete)
    # The privacy boundary: no measurement has left the process before.
    result = job.completed(unpack(stored.content, charge.provenance), stored.completion, report)
    if second is not None and not stored.complete:
        # Nothing is reported from here until the second measurement is stored.
        result = second.measured(result, bounded, apart(source))
        charge.keep_later(pack(second.parts(result)))
    elif second is not None and stored.later is not None:
        result = second.restored(result, unpack(stored.later, charge.provenance))
    return result


class SecondMeasurement(ABC, Generic[R]):
    """A measurement of the private data that depends on the result of an earlier one."""

    @abstractmethod
    def measured(self, result: R, bounded: Any, source: EntropySource) -> R:
        """Return the result with the second measurement. Reads private data.

        Args:
            result: of `Job.finish` or `Job.completed`, computed from earlier measurements alone.
            bounded: private, see `Job.bounded`.
            source: where the noise comes from.

        Guarantee: together with `Job.measure`, the cost that `Job.cost` states.
        """

    @abstractmethod
    def parts(self, result: R) -> ResultParts:
        """Return the parts of this measurement for a store."""

    @abstractmethod
    def restored(self, result: R, saved: SavedParts) -> R:
        """Return the result with a measurement from a store, see `parts`."""


@dataclass(frozen=True, kw_only=True)
class Job(ABC, Generic[R]):
    """One prepared use of the budget. All of it may be shown; it holds no private row.

    A kind of job is a subclass with the steps: how private data are bounded and measured, and how
    the result is computed from the measurements.

    Attributes:
        kind: of the use in the ledger: "release", "flows", ...
        public: data of the schema of the job, without any row.
        epsilon: requested epsilon.
        delta: requested delta, in [0, 1).
        budget_plan: how the budget is spent.
        guarantee: for all measurements together, without a seed.

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

        Guarantee: the cost that `cost` states.
        """

    @abstractmethod
    def finish(
        self,
        measured: Any,
        guarantee: PrivacyGuarantee,
        source: EntropySource,
        progress: Progress = silent,
    ) -> R:
        """Return the result, computed from the measurements alone.

        Args:
            measured: the result of `measure`.
            guarantee: of the run.
            source: of ordinary random numbers, for what is drawn from a model.
            progress: called with the fraction done and a message.
        """

    @abstractmethod
    def parts(self, measured: Any, guarantee: PrivacyGuarantee) -> ResultParts:
        """Return the parts of this job for a store: the measurements, or the whole result.

        Args:
            measured: the result of `measure`.
            guarantee: of the run.
        """

    @abstractmethod
    def completed(
        self, saved: SavedParts, completion: Mapping[str, Any], progress: Progress = silent
    ) -> R:
        """Return the result, computed from the parts that `parts` returned.

        Args:
            saved: the parts, as they are read back.
            completion: the result of `completion`.
            progress: called with the fraction done and a message.
        """

    @property
    def second_measurement(self) -> SecondMeasurement[R] | None:
        """The measurement that depends on the result of `completed`; None if there is none."""
        return None

    def completion(self, source: EntropySource) -> dict[str, Any]:
        """Return how the result is computed from its `parts`, as plain values for the store.

        Args:
            source: of the random numbers that the computation needs.
        """
        del source
        return {}

    def bound(self, data: Any) -> Any:
        """Return private data that are bounded for the guarantee of the job. Private.

        Kinds of jobs with a bound override it; callers use `bounded`, which checks the schema.

        Args:
            data: private, of the schema of the job.
        """
        return data

    @property
    def cost(self) -> Cost:
        """The cost of the whole plan, which is charged.

        Raises:
            BudgetError: the plan costs more than the requested epsilon and delta.
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
        """The approximate number of bytes of the result on the disk, from public sizes."""
        return SMALL_RESULT

    @property
    def measured_bytes(self) -> int:
        """The largest number of bytes of the measurements in a store, from public sizes.

        More than a store can keep is refused before anything is spent. Edges that a sparse release
        keeps do not count: their number is private.
        """
        return SMALL_RESULT

    @property
    def warning(self) -> str | None:
        """The reason why the result will be worthless; None if there is none."""
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user before anything is spent."""
        return ()

    def errors(self) -> Iterable[tuple[str, float]]:
        """Return errors of the result: what each is of, and a bound at the default confidence.

        The most important comes first.
        """
        return ()

    def bounded(self, data: PrivateData) -> Any:
        """Check the schema of private data, and bound them for the guarantee by `bound`. Private.

        Args:
            data: private, of the schema of the job.

        Raises:
            ParameterError: the data have another schema than the job.
        """
        if not self._fits(data):
            raise ParameterError("this job is for other data: make one for the schema of these")
        return self.bound(data)

    def _fits(self, data: PrivateData) -> bool:
        """Return True if data have the schema of the job."""
        return type(data) is type(self.public) and all(
            getattr(data, fact, None) == getattr(self.public, fact, None) for fact in _SCHEMA
        )

    def run(self, bounded: Any, source: EntropySource, progress: Progress = silent) -> R:
        """Measure, and compute the result from the measurements. Charges nothing: see `execute`.

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
        """Return the job as a measurement of OpenDP, for its combinators.

        It charges no store. Its domain is the data with the schema of the job. The distance of two
        data sets is the least number of changes that lead from one to the other, where one change
        leads to a neighbour, as `guarantee` defines these. Its measure is max divergence if the
        cost is pure, else zero-concentrated divergence.

        Raises:
            ParameterError: OpenDP is not installed, or neither of the two is proven.

        Guarantee: for data that differ by k changes that of `Cost.for_group(k)`, rounded up.
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

        def loss(changes: int) -> float:
            if changes < 1:
                return 0.0
            of_group = cost.for_group(changes)
            if pure:
                return of_group.epsilon
            assert of_group.rho is not None  # noqa: S101  # a group has a rho if one change has it
            return of_group.rho

        return dp.m.make_user_measurement(
            dp.user_domain(f"{self.kind} of {self.public!r}", self._fits),
            dp.user_distance(f"changes of {self.guarantee.privacy_unit}"),
            dp.max_divergence() if pure else dp.zero_concentrated_divergence(),
            lambda data: self.run(self.bounded(data), entropy_source(None)),
            loss,
        )

    def released_as(self, provenance: Provenance) -> Self:
        """Return the same job, whose result has this provenance.

        Args:
            provenance: the time, the author and the purpose of the release.
        """
        return replace(self, guarantee=self.guarantee.released_as(provenance))

    def guarantee_of_run(self, source: EntropySource) -> PrivacyGuarantee:
        """Return the guarantee of a run, which a seed voids.

        Args:
            source: of the noise of that run.
        """
        plan = self.budget_plan.with_certain_runs()
        return replace(self.guarantee, seed=source.seed, budget_plan=plan)
