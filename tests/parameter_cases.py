"""Values of every parameter of sessions and of rounds, for each rule and calibration."""

import graphcuts_dp as gc

# Sessions: the class and the step of each method; lengths; noise that a calibration has besides.
METHODS = {
    "multiplicative-weights": (gc.MultiplicativeWeights, {"eta": 0.02}),
    "frieze-kannan": (gc.FriezeKannan, {"step": 900.0}),
    "mirror-descent": (gc.MirrorDescent, {"norm": "l2", "eta": 0.005}),
}
LENGTHS = {"alpha": 2500.0, "updates": 900, "threshold": 7000.0, "sigma": 300.0}
NOISES = {
    "tight": {"threshold_sigma": 250.0},
    "gru12": {},
    "jt12": {},
    "dr14": {"threshold_sigma": 500.0, "value_sigma": 9000.0, "sigma": 600.0},
}
EVERYTHING = [(method, calibration) for method in METHODS for calibration in NOISES]


def values_of(method, calibration):
    """Every parameter of a method with a calibration."""
    _, step = METHODS[method]
    return {"calibration": calibration, **step, **LENGTHS, **NOISES[calibration]}


def typed(method, values):
    """The same, as the command line takes it."""
    parts = [f"{name.replace('_', '-')}={value}" for name, value in values.items()]
    return f"{method}:{','.join(parts)}"


# Releases by rounds: the step of each rule, and the numbers of each calibration.
ROUNDS = 6
STEPS = {"multiplicative-weights": {"eta": 0.05}, "frieze-kannan": {"step": 3000.0}}
STEPS["mirror-descent"] = {"norm": "l2", "eta": 0.03}
NUMBERS = {
    "practical": {"rounds": ROUNDS, "sigma": 60.0},
    "tight": {"rounds": ROUNDS, "sigma": 60.0, "alpha": 5000.0, "threshold": 6000.0},
    **{
        paper: {"rounds": ROUNDS, "sigma": 90.0, "alpha": 5000.0, "threshold": 7000.0}
        for paper in ("gru12", "dr14", "nik17")
    },
}
