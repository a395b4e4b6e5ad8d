"""The README's heat map: flows of the US flights graph between states.

Seeded, so that it can be drawn again; a real release never is.
"""

import graphcuts_dp as gc
from graphcuts_dp.datasets import load_groups
from scripts.demo_flows import ROOT, flights
from scripts.figures.style import save_figure

SEED, EPSILON, LEVEL = 2008, 3.0, "state"


def main() -> None:
    """Release and draw."""
    flows = gc.release_flows(flights(), load_groups("us-flights"), epsilon=EPSILON, seed=SEED)
    table = flows.to_frame(LEVEL)
    save_figure(
        flows.plot(LEVEL, title="Connected airports by state"),
        ROOT / "figures" / "demo_flows",
        columns=list(table.columns),
        rows=table.itertuples(index=False, name=None),
        parameters={
            "dataset": "us_flights_2008",
            "levels": list(flows.levels),
            "epsilon": EPSILON,
            "seed": SEED,
        },
    )


if __name__ == "__main__":
    main()
