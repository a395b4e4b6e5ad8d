"""Write costs as events of the package dp_accounting, which adds up costs of several libraries.

An event is written as plain values: {"event": name of a class of `dp_accounting.dp_event`, **its
fields}; a list of events is a list of such values. `built_event` makes the object of dp_accounting.

A pure epsilon-DP mechanism is a function of the answer of randomised response to one bit, which is
right with probability e^epsilon / (1 + e^epsilon), even if the mechanism is interactive. So costs
may be computed as if each mechanism were that answer, the worst one with this epsilon. Three events
describe it, and no accountant of dp_accounting 0.6 accepts all of them:

- `DiscreteLaplaceDpEvent(epsilon, 1)`: its privacy loss is epsilon with probability
  e^epsilon / (1 + e^epsilon), else -epsilon, so it is the same, exactly. The accountant for privacy
  loss distributions takes it, and counts repetitions.
- `RandomizedResponseDpEvent(2 / (1 + e^epsilon), 2)` is the same where neighbours replace one
  record. The accountant for privacy loss distributions counts it once, whatever the count with
  which it is composed, so write repetitions one by one. Where neighbours replace a record by a
  special one, its loss is smaller than epsilon: it must not be used there.
- `ZCDpEvent(epsilon^2/2)` is all that the accountant for Renyi privacy takes where neighbours add
  or remove a record. Its bound is loose: epsilon = 1 becomes 5.2 at delta = 1e-6.

Source: Kairouz, Oh, Viswanath 2015, and Lyu 2022 for interactive mechanisms; Bun, Steinke 2016,
Proposition 1.4.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import rounded_up

Event = dict[str, Any]

_NAMES = (
    "ComposedDpEvent",
    "DiscreteLaplaceDpEvent",
    "NoOpDpEvent",
    "RandomizedResponseDpEvent",
    "ZCDpEvent",
)
_SAFETY = 2.0**-50  # relative decrease of a probability, more than its rounding error


def pure_event(losses: Sequence[Fraction]) -> Event:
    """Return the event of mechanisms of these pure epsilons, as discrete Laplace noise."""
    return _together(
        [
            {
                "event": "DiscreteLaplaceDpEvent",
                "noise_parameter": rounded_up(loss),
                "sensitivity": 1,
            }
            for loss in losses
            if loss
        ]
    )


def response_event(losses: Sequence[Fraction]) -> Event:
    """Return the event of mechanisms of these pure epsilons, as randomised response.

    It is valid only if neighbours replace one record.
    """
    return _together(
        [
            {
                "event": "RandomizedResponseDpEvent",
                # 2 / (1 + e^loss), which does not overflow
                "noise_parameter": 2 * math.exp(-loss) / (1 + math.exp(-loss)) * (1 - _SAFETY),
                "num_buckets": 2,
            }
            for loss in losses
            if loss
        ]
    )


def zcdp_event(rhos: Sequence[Fraction]) -> Event:
    """Return the event of mechanisms of these bounds of zCDP."""
    return _together(
        [{"event": "ZCDpEvent", "rho": rounded_up(rho), "xi": 0.0} for rho in rhos if rho]
    )


def event_for(accountant: Any, losses: Sequence[Fraction], rhos: Sequence[Fraction]) -> Any:
    """Return the tightest event that an accountant of dp_accounting accepts.

    Args:
        accountant: of dp_accounting.
        losses: pure epsilons of the mechanisms; empty if they have none.
        rhos: bounds of zCDP of the mechanisms; empty if they have none.

    Raises:
        ParameterError: dp_accounting is not installed, or the accountant accepts none.
    """
    try:
        from dp_accounting import NeighboringRelation
    except ImportError:
        raise ParameterError("dp_accounting is not installed: pip install dp-accounting") from None
    forms = []
    if losses:
        forms.append(pure_event(losses))
        if accountant.neighboring_relation is NeighboringRelation.REPLACE_ONE:
            forms.append(response_event(losses))
    if rhos:
        forms.append(zcdp_event(rhos))
    for form in forms:
        event = built_event(form)
        if accountant.supports(event):
            return event
    raise ParameterError(
        f"{type(accountant).__name__} takes no event of this cost: use the accountant for Renyi "
        "privacy, or compose(..., delta=) of this package"
    )


def built_event(form: Event) -> Any:
    """Return the object of dp_accounting that plain values describe.

    Args:
        form: of `pure_event`, `response_event` or `zcdp_event`, or `dp_event` of a receipt.

    Raises:
        ParameterError: no such event is known here.
    """
    from dp_accounting import dp_event

    fields = dict(form)
    name = fields.pop("event")
    if name not in _NAMES:
        raise ParameterError(f"unknown event {name!r:.60}")
    if "events" in fields:
        fields["events"] = [built_event(event) for event in fields["events"]]
    return getattr(dp_event, name)(**fields)


def _together(events: list[Event]) -> Event:
    """Return one event that composes several, each listed; the event of doing nothing if empty."""
    if not events:
        return {"event": "NoOpDpEvent"}
    return events[0] if len(events) == 1 else {"event": "ComposedDpEvent", "events": events}
