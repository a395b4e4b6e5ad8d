"""The table of contenders: a new one is a file beside this one and a line here."""

from collections.abc import Mapping

from graphcuts_dp.evaluation.benchmark.base import Contender
from graphcuts_dp.evaluation.benchmark.contenders.der import DER
from graphcuts_dp.evaluation.benchmark.contenders.dgg import DGG
from graphcuts_dp.evaluation.benchmark.contenders.dp_1k import DP_1K
from graphcuts_dp.evaluation.benchmark.contenders.high_pass_filter import HIGH_PASS_FILTER
from graphcuts_dp.evaluation.benchmark.contenders.hrg import HRG
from graphcuts_dp.evaluation.benchmark.contenders.isotonic_degrees import ISOTONIC_DEGREES
from graphcuts_dp.evaluation.benchmark.contenders.johnson_lindenstrauss import (
    JOHNSON_LINDENSTRAUSS,
)
from graphcuts_dp.evaluation.benchmark.contenders.louvain_dp import LOUVAIN_DP
from graphcuts_dp.evaluation.benchmark.contenders.ours import OURS
from graphcuts_dp.evaluation.benchmark.contenders.privgraph import PRIVGRAPH
from graphcuts_dp.evaluation.benchmark.contenders.privskg import PRIVSKG
from graphcuts_dp.evaluation.benchmark.contenders.simple import SIMPLE
from graphcuts_dp.evaluation.benchmark.contenders.tmf import TMF
from graphcuts_dp.evaluation.benchmark.contenders.topology_sampler import TOPOLOGY_SAMPLER

CONTENDERS: Mapping[str, Contender] = {
    contender.name: contender
    for contender in (
        *OURS,
        *SIMPLE,
        TMF,
        HIGH_PASS_FILTER,
        TOPOLOGY_SAMPLER,
        JOHNSON_LINDENSTRAUSS,
        DGG,
        DP_1K,
        ISOTONIC_DEGREES,
        DER,
        HRG,
        PRIVGRAPH,
        PRIVSKG,
        LOUVAIN_DP,
    )
}
