"""The privacy unit that functions use unless another one is given."""

from graphcuts_dp.privacy.privacy_unit import PrivacyUnit

EDGE = PrivacyUnit()  # one edge
