"""The table of contenders: a new one is a file beside this one and a name here."""

from collections.abc import Mapping
from importlib import import_module

from scripts.benchmark.base import Contender
from scripts.benchmark.contenders.ours import OURS
from scripts.benchmark.contenders.simple import SIMPLE

_FILES = (
    *("tmf", "high_pass_filter", "topology_sampler", "johnson_lindenstrauss", "dgg", "dp_1k"),
    *("isotonic_degrees", "der", "hrg", "privgraph", "privskg", "louvain_dp", "louvain_dp_parts"),
)


def _of_file(name: str) -> Contender:
    """Return the one contender that a file defines."""
    values = vars(import_module(f"{__package__}.{name}")).values()
    (contender,) = (value for value in values if isinstance(value, Contender))
    return contender


CONTENDERS: Mapping[str, Contender] = {
    contender.name: contender for contender in (*OURS, *SIMPLE, *map(_of_file, _FILES))
}
