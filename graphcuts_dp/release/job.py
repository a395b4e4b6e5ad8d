"""One prepared use of the budget: what it costs and promises, before any private row is read.

A job is made from the options and from public facts alone: it holds the private data emptied of all
rows (`without_rows`), so that nothing it says can tell of them. `execute` is the only place of this
room that charges a store.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, final

from graphcuts_dp.errors import AccuracyWarning, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.rows import PrivateData
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.noise import EntropySource, entropy_source
from graphcuts_dp.resources import Progress, seen, silent

R = TypeVar("R")
_FACTS = (
    *("space", "weighted", "weight_cap", "hide_change"),
    *("counting", "unit", "owned", "owner_is_tail", "periods"),
)


def execute(
    job: "Job[R]",
    data: PrivateData,
    *,
    store: PathLike | Store | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> R:
    """Charge a job to a store, and run it: its whole cost is on the disk before noise is drawn.

    Args:
        job: made for data of this schema.
        data: private.
        store: see `charged`; None charges nothing.
        seed: makes the run repeatable and voids the promise; None for the system's entropy.
        progress: called with the fraction done and a message; notebooks get a bar without it.

    Raises:
        ParameterError: data of another schema, or no seed. Nothing was spent.
        BudgetError: the budget of the store does not allow it. Nothing was spent.
        LedgerError: the store cannot be used.

    Warns:
        AccuracyWarning: before anything is spent, what the job warns of.
    """
    source = entropy_source(seed)
    bounded = job.bounded(data)
    if job.warning is not None:
        warnings.warn(job.warning, AccuracyWarning, stacklevel=3)
    with charged(
        store,
        data,
        kind=job.kind,
        parameters=job.parameters,
        cost=job.cost,
        guarantee=job.promise(source),
        periods=job.periods,
    ):
        return job.run(bounded, source, seen(progress))


@final
@dataclass(frozen=True, kw_only=True)
class Job(Generic[R]):
    """One prepared use of the budget. All of it may be shown; it holds no private row.

    Attributes:
        kind: what the ledger calls it: "release", "flows", ...
        public: data of the schema that it is for, without any row.
        bound: bounds private data before they are measured; None where `measure` does it.
        parameters: for the ledger, plain values.
        cost: of all that is drawn.
        guarantee: of the same, without a seed.
        measure: draws all noise: (bounded data, noise, progress) -> what was drawn. The only part
            that reads private data.
        finish: makes the result: (drawn, promise with its seed, noise, progress) -> result.
        warning: why the result will be worthless, or None.
        told: makes the notes.
        errors: tells what may be off by how much, with the default confidence, in the order of
            interest.
        periods: labels of the declared periods that `measure` reads, see `charged`; None for all.
    """

    kind: str
    public: PrivateData
    bound: Callable[[Any], Any] | None = None
    parameters: dict[str, Any]
    cost: Cost
    guarantee: PrivacyGuarantee
    measure: Callable[[Any, EntropySource, Progress], Any]
    finish: Callable[[Any, PrivacyGuarantee, EntropySource, Progress], R]
    warning: str | None = None
    told: Callable[[], Iterable[str | None]] = tuple
    errors: Callable[[], Iterable[tuple[str, float]]] = tuple
    periods: tuple[str, ...] | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What to tell a user before anything is spent, a sentence each."""
        return tuple(filter(None, self.told()))

    def bounded(self, data: PrivateData) -> Any:
        """The data as they are measured: nobody has more than the job pays for. Private.

        Raises:
            ParameterError: they are not of the schema that the job was made for.
        """
        if not self._fits(data):
            raise ParameterError("this job is for other data: make one for the schema of these")
        return data if self.bound is None else self.bound(data)

    def _fits(self, data: PrivateData) -> bool:
        """Whether data are of the schema that the job was made for."""
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
        drawn = self.measure(bounded, source, progress)
        # From here on nothing reads the private graph.
        return self.finish(drawn, self.promise(source), source, progress)

    def to_opendp(self) -> Any:
        """The same as a measurement of OpenDP, which its combinators take. It charges no store.

        Its domain is the data of the schema that the job was made for. The distance of two data is
        the least number of neighbours on a path between them, as `guarantee` calls neighbours. Its
        measure is max divergence where the cost is pure, else zero-concentrated divergence.

        Raises:
            ParameterError: OpenDP is not installed, or neither of the two is proven.

        Guarantee: of one path of k steps that of `Cost.for_group(k)`, rounded up.
        """
        try:
            import opendp.prelude as dp
        except ImportError:
            raise ParameterError("OpenDP is not installed: pip install opendp") from None
        pure, rho = self.cost.pure is not None, self.cost.rho
        if not pure and rho is None:
            raise ParameterError("this cost is neither pure nor concentrated: no measure fits it")
        dp.enable_features("contrib", "honest-but-curious")

        def spent(steps: int) -> float:
            if steps < 1:
                return 0.0
            cost = self.cost.for_group(steps)
            return cost.epsilon if pure or cost.rho is None else cost.rho

        return dp.m.make_user_measurement(
            dp.user_domain(f"{self.kind} of {self.public!r}", self._fits),
            dp.user_distance(f"changes of {self.guarantee.protects}"),
            dp.max_divergence() if pure else dp.zero_concentrated_divergence(),
            lambda data: self.run(self.bounded(data), entropy_source(None)),
            spent,
        )

    def promise(self, source: EntropySource) -> PrivacyGuarantee:
        """The guarantee of a run: a seed voids it."""
        return replace(self.guarantee, seed=source.seed)
