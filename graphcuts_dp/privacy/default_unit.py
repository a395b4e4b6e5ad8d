"""The privacy unit that functions use unless another one is given."""

from graphcuts_dp.privacy.privacy_unit import PrivacyUnit

EDGE = PrivacyUnit()  # one edge


def default_unit(counting: str | None) -> PrivacyUnit:
    """Return the unit that is meant if none is named: a row where several rows of a pair count.

    Args:
        counting: what cells of rows count, see `schema.counting`; None of a graph.
    """
    return EDGE if counting in (None, "edges") else PrivacyUnit.row()
