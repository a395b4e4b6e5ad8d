"""The state of a session that an iterative construction answers, and its bytes."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

from graphcuts_dp.learn.base import Hypothesis
from graphcuts_dp.session.group_start import BoughtStart
from graphcuts_dp.session.packing import pack, pack_hypothesis
from graphcuts_dp.session.sparse_vector import Secret
from graphcuts_dp.session.tunings import Tuning


@final
@dataclass(frozen=True, eq=False)
class OnlineState:
    """State of an `OnlineMechanism`; see `State`.

    Attributes:
        owner: fingerprint of the mechanism.
        tuning: public numbers, fixed at the start.
        total_weight: total weight that the construction was given, in units; public.
        total_error: how far it can be from the true one.
        norm_bound: the bound on a private norm that was bought, in units; None where none was.
        bought: what a start from groups has bought; None for others, and in a state that was
            restored, whose hypothesis holds all that it needs of it.
        current: the hypothesis.
        noise: of the running instances; None when it was lost. Secret.
        queries: answers so far.
        updates: corrections so far.
        lost: updates that interruptions have used up.
        halted: whether updates have run out.
    """

    owner: str = field(repr=False)
    tuning: Tuning = field(repr=False)
    total_weight: float
    total_error: float
    current: Hypothesis = field(repr=False)
    noise: Secret | None = field(repr=False)
    queries: int = 0
    updates: int = 0
    lost: int = 0
    halted: bool = False
    norm_bound: float | None = None
    bought: BoughtStart | None = field(default=None, repr=False)

    @property
    def stopped(self) -> bool:
        """See `State.stopped`."""
        return self.halted or self.queries >= self.tuning.queries

    @property
    def updates_left(self) -> int:
        """Corrections that are left."""
        return max(0, self.tuning.updates - self.updates - self.lost)

    @cached_property
    def public(self) -> bytes:
        """See `State.public`."""
        content: dict[str, Any] = {
            "tuning": self.tuning.to_dict(),
            "total_weight": self.total_weight,
            "total_error": self.total_error,
            "queries": self.queries,
            "updates": self.updates,
            "lost": self.lost,
            "halted": self.halted,
        }
        if self.norm_bound is not None:
            content["norm_bound"] = self.norm_bound
        return pack("public", self.owner, content)

    @property
    def hypothesis(self) -> bytes:
        """See `State.hypothesis`."""
        return pack_hypothesis(self.owner, self.updates, self.current.to_bytes())

    @cached_property
    def secret(self) -> bytes:
        """See `State.secret`."""
        noise = None if self.noise is None else list(self.noise)
        content = {"noise": noise, "updates": self.updates, "lost": self.lost}
        return pack("secret", self.owner, content)
