"""Local dates of instants, compared with Python's for one instant after the other."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from graphcuts_dp import ParameterError
from graphcuts_dp.schema.time_zones import local_days, zone_of

# Clocks changed at midnight, also within a quarter of an hour of UTC, and by less than one.
CHANGES = {
    "Africa/Monrovia": datetime(1972, 1, 7, 0, 44, 30, tzinfo=UTC),
    "Asia/Shanghai": datetime(1900, 12, 31, 15, 54, 17, tzinfo=UTC),  # back to the day before
    "Pacific/Apia": datetime(2011, 12, 30, 10, tzinfo=UTC),
    "America/Havana": datetime(2026, 3, 8, 5, tzinfo=UTC),
}


@pytest.mark.parametrize("zone", CHANGES)
def test_dates_around_a_change_of_clocks_are_those_of_python(zone):
    moment = int(CHANGES[zone].timestamp())
    near = moment + np.arange(-900, 901)
    far = moment + np.arange(-4 * 86_400, 4 * 86_400, 601)
    seconds = np.concatenate([near, far])
    local = [datetime.fromtimestamp(int(second), zone_of(zone)).date() for second in seconds]
    epoch = datetime(1970, 1, 1).date().toordinal()
    assert local_days(seconds, zone).tolist() == [day.toordinal() - epoch for day in local]


@pytest.mark.parametrize(
    ("name", "hours"), [("+05:30", 5.5), ("-0930", -9.5), ("+00:00", 0.0), ("-01:00", -1.0)]
)
def test_an_offset_is_a_zone(name, hours):
    assert zone_of(name) == timezone(timedelta(hours=hours))
    noon, seconds = np.array([12 * 3600]), int(hours * 3600)
    for shift in (-43_200, 43_199):
        assert local_days(noon + shift, name) == (noon + shift + seconds) // 86_400


@pytest.mark.parametrize("name", ["Middle/Earth", "+25:00", "+05:60", "", "../UTC"])
def test_other_names_are_refused(name):
    with pytest.raises(ParameterError, match="unknown time zone"):
        zone_of(name)
