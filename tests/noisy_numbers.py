"""Measurements that no graph was read for: whole numbers with noise of a stated law."""

from fractions import Fraction

import numpy as np

from graphcuts_dp.estimate.measurement import Classes, CountMeasurement, Degrees, Total
from graphcuts_dp.privacy.level_noise import LevelNoise


def _numbers(name, kind, steps, unit, rate, change):
    noise = LevelNoise("laplace", (rate,))
    changes = ((change, change),)
    values = np.asarray(steps, dtype=np.int64)
    return CountMeasurement(
        name=name, map=kind, steps=(values,), unit=unit, noise=noise, changes=changes
    )


def total_of(value, unit, rate=Fraction(1)):
    return _numbers("total", Total(), [round(value / unit)], unit, rate, 1)


def degrees_of(steps, rate=Fraction(1, 12), *, name="early degrees"):
    return _numbers(name, Degrees(), steps, 1.0, rate, 2)


def counts_of(lower, counts, rate=Fraction(1, 100)):
    return _numbers("weights", Classes(lower, 1.0), counts, 1.0, rate, 2)
