"""Time the first result of each person of the page "Which question do you have?".

Run `python -m scripts.bench.bench_first_answers [--quick]`. Files of the size that each of them
has are made first (not timed); then the commands of the page are run as they are typed, each a
process of its own. Seconds are from the first command to the end of the last. --quick: files of a
tenth of the size, and a hundredth of the million vertices.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import graphcuts_dp as gc
from scripts.bench.harness import Table, server, timed

SMALL = 10 if "--quick" in sys.argv else 1
RNG = np.random.default_rng(1)
OTHERS = {  # who need no files
    "A data protection officer": "plan --explain --epsilon 1 --privacy-unit edge:group-size=20",
    "A researcher with a theorem": "figures table-1 --quick -o figures",
    "Somebody with sixty people and no groups": (
        "plan --n 60 --edges 100 --queries 1000 --epsilon 1 --delta 1e-6"
    ),
}


def typed(folder: Path, commands: str) -> None:
    """Run the commands, with semicolons between them, in the folder."""
    for command in commands.split("; "):
        line = [sys.executable, "-m", "graphcuts_dp", *command.split()]
        ended = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise RuntimeError(f"{command}: {ended.stderr}")


def labels(folder: Path, name: str, stem: str, number: int) -> list[str]:
    """Write a public list of names, one a line, and return it."""
    names = [f"{stem}{i}" for i in range(number)]
    (folder / name).write_text("".join(f"{label}\n" for label in names))
    return names


def groups(folder: Path, name: str, names: list[str], kind: str, number: int) -> None:
    """Write which group each name is in."""
    rows = "".join(f"{label},{kind}{i % number}\n" for i, label in enumerate(names))
    (folder / name).write_text("vertex,group\n" + rows)


def acquainted(n: int, degree: float) -> gc.Graph:
    """Draw people who know each other, most of them within their tenth of all."""
    m = int(n * degree / 2)
    first = RNG.integers(0, n, m)
    near = (first + RNG.integers(1, max(n // 10, 2), m)) % n
    second = np.where(RNG.random(m) < 0.7, near, RNG.integers(0, n, m))
    is_edge = first != second
    return gc.Graph(first[is_edge], second[is_edge], vertices=[f"v{i}" for i in range(n)])


def mail(folder: Path, n: int, degree: float) -> None:
    """Write a graph of mails, its vertices, and four departments."""
    acquainted(n, degree).write(folder / "mail.edges.gz")
    groups(folder, "staff.csv", labels(folder, "staff.txt", "v", n), "unit", 4)


def calls(folder: Path) -> str:
    """Prepare a curator with a million calls of 50,000 people, and 40 regions."""
    people = labels(folder, "people.txt", "p", 50_000 // SMALL)
    groups(folder, "regions.csv", people, "region", 40)
    ends = RNG.integers(0, len(people), (10**6 // SMALL, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    names = np.array(people)
    rows = {"caller": names[ends[:, 0]], "called": names[ends[:, 1]]}
    frame = pd.DataFrame(rows | {"minutes": RNG.integers(1, 60, len(ends))})
    frame.to_csv(folder / "calls.csv", index=False)
    return (
        "flows calls.csv regions.csv flows.csv --epsilon 1 "
        "--columns source=caller,target=called,weight=minutes --max-weight-change 1 "
        "--merge sum --vertices people.txt"
    )


def school(folder: Path) -> str:
    """Prepare a teacher with 200 pupils who name at most ten friends, in ten classes."""
    mail(folder, 200, 7)
    return (
        "session start mail.edges.gz --store school.db --vertices staff.txt --epsilon 1 "
        "--queries 2 --privacy-unit vertex:max-degree=10; "
        "session ask school.db --groups staff.csv --from @@unit1"
    )


def synthetic(folder: Path) -> str:
    """Prepare an analyst who wants a graph of 1,000 people to compute with."""
    mail(folder, 1_000 // SMALL, 40)
    return "release mail.edges.gz synthetic.graphml --epsilon 1 --vertices staff.txt"


def questions(folder: Path) -> str:
    """Prepare an analyst with a hundred questions about 2,000 people."""
    mail(folder, 2_000 // SMALL, 30)
    return (
        "session start mail.edges.gz --store mail.db --vertices staff.txt --epsilon 1 "
        "--delta 1e-6 --queries 100; "
        "session ask mail.db --from v1,v2"
    )


def ratings(folder: Path) -> str:
    """Prepare a service with 1,000 users, 1,700 films, 100,000 ratings, 20 cities, 18 genres."""
    users = labels(folder, "users.txt", "u", 1_000 // SMALL)
    films = labels(folder, "films.txt", "f", 1_700 // SMALL)
    groups(folder, "cities.csv", users, "city", 20)
    groups(folder, "genres.csv", films, "genre", 18)
    size = len(users) * len(films)
    pairs = RNG.choice(size, min(100_000 // SMALL, size // 4), replace=False)
    stars = RNG.integers(1, 6, len(pairs))
    rows = [
        f"{users[pair // len(films)]},{films[pair % len(films)]},{star}"
        for pair, star in zip(pairs, stars, strict=True)
    ]
    (folder / "ratings.csv").write_text("\n".join(["source,target,weight", *rows, ""]))
    queries = [f"@city{i},@genre{j}" for i in range(20) for j in range(18)]
    (folder / "sums.csv").write_text("\n".join(["S,T", *queries, ""]))
    return (
        "release-iteratively ratings.csv learnt.npz --construction sensing --queries sums.csv "
        "--epsilon 1 --delta 1e-6 --max-weight 5 --vertices users.txt,films.txt "
        "--groups cities.csv --right-groups genres.csv"
    )


def meeting(folder: Path) -> str:
    """Prepare a planner with a map of 2,500 crossings and 20,000 people."""
    side = 50 // (3 if SMALL > 1 else 1)
    rows = [
        f"c{i},c{j},{1 + RNG.random():.3f}"
        for i in range(side * side)
        for j in ((i + 1) if (i + 1) % side else None, i + side)
        if j is not None and j < side * side
    ]
    (folder / "roads.csv").write_text("\n".join(["source,target,weight", *rows, ""]))
    homes = RNG.integers(0, side * side, 20_000 // SMALL)
    (folder / "people.csv").write_text("".join(["vertex\n", *(f"c{home}\n" for home in homes)]))
    return "distances roads.csv people.csv --epsilon 1"


def million(folder: Path) -> str:
    """Prepare a curator with a million vertices, five million weighted edges, 100 regions."""
    n, m = 10**6 // SMALL**2, 5 * 10**6 // SMALL**2
    first, second = RNG.integers(0, n, (2, m))
    is_edge = first != second
    weights = RNG.integers(1, 60, m)[is_edge].astype(float)
    graph = gc.Graph(
        first[is_edge], second[is_edge], vertices=n, weights=weights, max_weight_change=1
    )
    graph.write(folder / "calls.npz")
    rows = "".join(f"{i},region{i % 100}\n" for i in range(n))
    (folder / "regions.csv").write_text("vertex,group\n" + rows)
    return (
        "release calls.npz synthetic.npz --epsilon 1 --mechanism sparse --max-weight-change 1 "
        "--groups regions.csv"
    )


PEOPLE = (calls, school, synthetic, questions, ratings, meeting, million)


def team(folder: Path) -> float:
    """Return the seconds until each of five analysts of 2,000 people has an answer."""
    graph = acquainted(2_000 // SMALL, 30)
    start = time.perf_counter()
    process = server(folder, graph, "--budget", "5")
    try:
        for number in range(5):
            process.add(f"a{number}", preapproved=True, epsilon=1.0, queries=100)
        for number in range(5):
            token = process.tokens[f"a{number}"]
            with gc.connect(process.url, token, name="first", epsilon=1.0, queries=100) as session:
                session.ask(["v1", "v2"])
    finally:
        process.stop()
    return time.perf_counter() - start


def told(function: Callable[..., object]) -> str:
    """Return who waits."""
    return (function.__doc__ or "").splitlines()[0].rstrip(".").partition(":")[0]


def main() -> None:
    """Print the table."""
    table = Table("who:<78 seconds:>9.1f")
    makers = {told(make): make for make in PEOPLE}
    makers |= {who: lambda _, command=command: command for who, command in OTHERS.items()}
    for who, make in makers.items():
        with tempfile.TemporaryDirectory() as folder:
            commands = make(Path(folder))
            table.row(who, timed(partial(typed, Path(folder), commands))[0])
    with tempfile.TemporaryDirectory() as folder:
        table.row(told(team), team(Path(folder)))


if __name__ == "__main__":
    main()
