"""The table of contenders: a new one is a file beside this one and a line here."""

from collections.abc import Mapping

from scripts.benchmark.base import Contender
from scripts.benchmark.contenders.der import DER
from scripts.benchmark.contenders.dgg import DGG
from scripts.benchmark.contenders.dp_1k import DP_1K
from scripts.benchmark.contenders.high_pass_filter import HIGH_PASS_FILTER
from scripts.benchmark.contenders.hrg import HRG
from scripts.benchmark.contenders.isotonic_degrees import ISOTONIC_DEGREES
from scripts.benchmark.contenders.johnson_lindenstrauss import (
    JOHNSON_LINDENSTRAUSS,
)
from scripts.benchmark.contenders.louvain_dp import LOUVAIN_DP
from scripts.benchmark.contenders.ours import OURS
from scripts.benchmark.contenders.privgraph import PRIVGRAPH
from scripts.benchmark.contenders.privskg import PRIVSKG
from scripts.benchmark.contenders.simple import SIMPLE
from scripts.benchmark.contenders.tmf import TMF
from scripts.benchmark.contenders.topology_sampler import TOPOLOGY_SAMPLER

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
