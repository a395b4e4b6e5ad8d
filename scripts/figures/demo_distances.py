"""The map of docs/distances.md: where to meet, on the network of US flights.

Seeded, so that it can be drawn again; a real answer never is.
"""

import graphcuts_dp as gc
from graphcuts_dp.distances.locations import all_distances
from scripts.demo_distances import EPSILON, PEOPLE, ROOT, SEED, made_people
from scripts.figures.style import save_figure


def main() -> None:
    """Answer and draw."""
    metric, people = made_people()
    answers = gc.distances.answer_distances(metric, people, epsilon=EPSILON, seed=SEED)
    save_figure(
        answers.plot(unit="km"),
        ROOT / "figures" / "demo_distances",
        columns=["vertex", "answer", "low", "high", "truth"],
        rows=[
            [answer.vertex, answer.value, *answer.interval, float(truth)]
            for answer, truth in zip(answers.all(), all_distances(people), strict=True)
        ],
        parameters={
            "dataset": "us_flights_2008",
            "people": PEOPLE,
            "epsilon": EPSILON,
            "mechanism": answers.mechanism,
            "noise": answers.noise,
            "seed": SEED,
        },
    )


if __name__ == "__main__":
    main()
