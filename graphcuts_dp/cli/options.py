"""Arguments and options that several subcommands have, each with its one help text."""

from typing import Annotated

import typer

PrivateGraph = Annotated[str, typer.Argument(metavar="IN", help="The private graph.")]
Epsilon = Annotated[float, typer.Option(help="Privacy parameter; smaller is more private.")]
Delta = Annotated[
    float, typer.Option(help="0 for pure differential privacy; otherwise choose far below 1/n.")
]
Protect = Annotated[str, typer.Option(help="What is protected: edges, owner or vertex.")]
AtMost = Annotated[
    int | None,
    typer.Option(help="Number of edges protected together, or of rows of an owner that count."),
]
DegreeBound = Annotated[int | None, typer.Option(help="Number of edges of a vertex that count.")]
Complement = Annotated[
    bool, typer.Option("--complement", help="T is all other vertices, as without --to.")
]
Output = Annotated[
    str | None,
    typer.Option("-o", "--output", help="File to write to; standard output if omitted."),
]
Seed = Annotated[
    int | None, typer.Option(help="Seed of a repeatable run. NOT PRIVATE: for tests only.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
ForceOutput = Annotated[bool, typer.Option("--force", help="Replace an existing output file.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
BudgetEpsilon = Annotated[
    float | None,
    typer.Option(help="Budget of a new store: cap on epsilon of all uses of the data together."),
]
BudgetDelta = Annotated[
    float,
    typer.Option(help="Budget of a new store: cap on delta of all uses of the data together."),
]
ExpectHead = Annotated[
    str | None,
    typer.Option(
        help="The head that `store status` printed earlier: refuse a store that "
        "lacks later records."
    ),
]
SessionStore = Annotated[
    str, typer.Argument(metavar="STORE", help="The store, made by `session start`.")
]
Name = Annotated[str, typer.Option(help="Name of the session within the store.")]
AnyName = Annotated[
    str | None,
    typer.Option("--name", help="Name of one session; all sessions in the store if omitted."),
]
MovedGraph = Annotated[
    str | None, typer.Option(help="The private graph, if its file has moved since the start.")
]
Unguaranteed = Annotated[
    bool,
    typer.Option(
        "--unguaranteed",
        help="When the session has no queries left, answer without guarantee, and mark it.",
    ),
]
SessionEpsilon = Annotated[
    float, typer.Option(help="Epsilon of the whole session; smaller is more private.")
]
Promised = Annotated[int, typer.Option(help="Number of answers that the session promises.")]
PublicMap = Annotated[str, typer.Argument(metavar="MAP", help="The public map.")]
PrivateLocations = Annotated[
    str, typer.Argument(metavar="LOCATIONS", help="The private locations of people.")
]
People = Annotated[int, typer.Option(help="Number of people that are protected together.")]
Confidence = Annotated[float, typer.Option(help="Probability that all intervals hold at once.")]
IgnoreLengths = Annotated[
    bool, typer.Option("--ignore-lengths", help="Give every edge of the map length 1.")
]
Coordinates = Annotated[
    str | None,
    typer.Option(help="CSV file with the columns vertex, and x and y, or lon and lat."),
]
Lp = Annotated[
    float | None,
    typer.Option(
        help="Distances are those of the l_p norm of the --coordinates, p from 1 to 2 (2: straight "
        "lines), not along the map's edges."
    ),
]
