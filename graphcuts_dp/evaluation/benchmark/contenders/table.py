"""The table of contenders: a new one is a file beside this one and a line here."""

from collections.abc import Mapping

from graphcuts_dp.evaluation.benchmark.base import Contender
from graphcuts_dp.evaluation.benchmark.contenders.ours import OURS
from graphcuts_dp.evaluation.benchmark.contenders.simple import SIMPLE

CONTENDERS: Mapping[str, Contender] = {
    contender.name: contender
    for contender in (
        *OURS,
        *SIMPLE,
    )
}
