"""Model the fields of receipts: one class for each object that may be in the JSON file.

Each class here is the model of one object of a receipt, and each field of a class that of one of
its values. The type of a field is a type of Python, or one of the types with a range or a pattern
that come first. `receipts.check_fields` compares a receipt with these classes.
"""

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

_SMALLEST_FLOAT = 5e-324  # the least float above 0
_LARGEST_FLOAT = 1e300  # so that sums of a few numbers are finite
_MOST_DIGITS = 1000  # of whole numbers of any size, such as numerator and denominator of a fraction
# A fraction as text. Without exponents, a short text cannot name a number that fills the memory.
_FRACTION = re.compile(r"[0-9]{1,600}(/[0-9]{1,600})?")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Range:
    """The values that a number may have.

    Attributes:
        least: the smallest one.
        most: the largest one.
        infinite: whether it may also be plus infinity.
        open: whether `least` and `most` themselves are excluded.
    """

    least: float
    most: float
    infinite: bool = False
    open: bool = False

    def holds(self, value: float) -> bool:
        """Return whether a number is in the range; NaN never is."""
        if value == math.inf:
            return self.infinite
        if self.open and value in (self.least, self.most):
            return False
        return self.least <= value <= self.most

    def __str__(self) -> str:
        least, most = _short(self.least), _short(self.most)
        return f"between {least} and {most}" if self.open else f"from {least} to {most}"


@dataclass(frozen=True)
class Pattern:
    """The form that a text must have.

    Attributes:
        expression: must match all of the text.
        name: of the form, for messages.
    """

    expression: re.Pattern[str]
    name: str


Real = Annotated[float, Range(-_LARGEST_FLOAT, _LARGEST_FLOAT)]
RealOrInfinite = Annotated[float, Range(-_LARGEST_FLOAT, _LARGEST_FLOAT, infinite=True)]
AtLeast0 = Annotated[float, Range(0, _LARGEST_FLOAT)]
AtLeast0OrInfinite = Annotated[float, Range(0, _LARGEST_FLOAT, infinite=True)]
Above0 = Annotated[float, Range(0, _LARGEST_FLOAT, open=True)]
Above0OrInfinite = Annotated[float, Range(_SMALLEST_FLOAT, _LARGEST_FLOAT, infinite=True)]
Probability = Annotated[float, Range(0, 1)]
Confidence = Annotated[float, Range(0, 1, open=True)]
Index = Annotated[int, Range(0, 2**31 - 1)]
Vertices = Annotated[int, Range(1, 2**31 - 1)]
Count = Annotated[int, Range(0, 2**53)]
Positive = Annotated[int, Range(1, 2**53)]
AnyInteger = Annotated[int, Range(-(10**_MOST_DIGITS), 10**_MOST_DIGITS)]
AnyPositive = Annotated[int, Range(1, 10**_MOST_DIGITS)]
AnyCount = Annotated[int, Range(0, 10**_MOST_DIGITS)]
Exponent = Annotated[int, Range(-1100, 1100)]  # of 2
FractionText = Annotated[str, Pattern(_FRACTION, "a fraction")]
FractionPair = tuple[AnyCount, AnyPositive]
Label = int | str


@dataclass(frozen=True)
class GuaranteeFields:
    """Fields that `PrivacyGuarantee.from_dict` reads; it checks the budget plan itself."""

    epsilon: AtLeast0
    delta: Probability
    privacy_unit: str
    neighbours: str
    public: str
    seed: AnyInteger | None
    rho: AtLeast0 | None
    spent: dict[str, AtLeast0]


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """Fields of all receipts."""

    guarantee: GuaranteeFields
    versions: dict[str, str]
    # See `Provenance.from_dict`; absent in 0.1.
    provenance: dict[str, Label | dict[str, str]] | None = None


@dataclass(frozen=True)
class GraphFields:
    """Fields of the synthetic graph at the path of a result."""

    weighted: bool
    max_weight: Above0 | None


@dataclass(frozen=True)
class LevelFields:
    """Fields of a level of groups, or of periods; see `GroupTree`."""

    name: str
    labels: list[Label]
    sizes: list[Positive]
    parents: list[Index]


@dataclass(frozen=True)
class TreeFields:
    """Fields of nested groups, or of nested periods; see `GroupTree`."""

    levels: list[LevelFields]


@dataclass(frozen=True, kw_only=True)
class CountsFields:
    """Fields of measured counts; see `CountMeasurement`, and `estimate.looks.Look` for `look`."""

    unit: Above0
    noise: str
    parameters: list[FractionPair]
    changes: list[tuple[AnyCount, AnyCount]]
    used_in_decision: bool = False
    look: list[FractionPair] | None = None


@dataclass(frozen=True)
class WeightClassesFields(CountsFields):
    """Fields of measured numbers of pairs in classes of weight; see `Classes`."""

    step: Above0


@dataclass(frozen=True)
class NonlinearFields(CountsFields):
    """Fields of measured counts that are no sums of weights."""

    counted: str
    sensitivity: str


@dataclass(frozen=True)
class CellsFields(CountsFields):
    """Fields of measured sums between groups; see `CellSums`."""

    rows: TreeFields
    columns: TreeFields | None
    periods: TreeFields | None
    measured_levels: list[Index]
    max_weight: Above0 | None
    weighted: bool
    whole: bool
    max_degree: Positive | None
    rounding: str
    directed: bool
    loops: bool
    counting: str | None = None
    margins: bool = False  # absent unless they were measured


@dataclass(frozen=True)
class OverTimeFields(CountsFields):
    """Fields of numbers published over time; see `SumsOverTime`."""

    rows: TreeFields
    columns: TreeFields | None
    directed: bool
    loops: bool
    strategy: str
    horizon: list[str]
    published: Positive
    counting: str


@dataclass(frozen=True)
class EntriesFields:
    """Fields of a noisy matrix; see `NoisyMatrix`."""

    noise: str
    epsilon: FractionPair
    max_weight: Above0 | None
    unit: Above0


@dataclass(frozen=True)
class KeptEdgesFields:
    """Fields of kept edges; see `KeptEdges`."""

    threshold: Positive
    log2_step: Exponent
    max_weight: Above0 | None
    epsilon: FractionPair
    rate: FractionPair


@dataclass(frozen=True)
class SparseModelFields:
    """Fields of the model of a sparse release."""

    max_weight: Above0 | None
    whole: bool


@dataclass(frozen=True)
class FitFields:
    """Fields of the fit of a synthetic graph; see `FitSummary`."""

    method: str
    objective: str
    value: RealOrInfinite | None
    lower: RealOrInfinite | None
    rounds: Count
    stopped: str
    tolerance: AtLeast0 | None
    time_limit: AtLeast0 | None
    rounding: AtLeast0 | None
    mixed: Probability
    near_noise: Count
    directions: Count | None
    shown_from: AtLeast0OrInfinite | None


@dataclass(frozen=True)
class CertificateFields:
    """Fields of the certificate of a release; see `CutNormCertificate`."""

    of: str
    lower: AtLeast0
    upper: AtLeast0OrInfinite
    S: list[Index]
    T: list[Index]
    sign: Literal[-1, 1]
    method: str
    norm: str
    stopped: str
    upper_proof: str
    failure_probability: Probability
    normalised_lower: AtLeast0 | None
    normalised_upper: AtLeast0OrInfinite | None


@dataclass(frozen=True)
class RandomHalvesFields:
    """Fields of the bounds on random halves; see `RandomHalves`."""

    of: str
    total_error_at_most: AtLeast0OrInfinite
    scatter: AtLeast0
    scatter_at_most: AtLeast0
    root_mean_square_at_most: AtLeast0OrInfinite
    confidence: Confidence


@dataclass(frozen=True)
class SquaredDistanceFields(CountsFields):
    """Fields of the measured squared distance of a fit; see `SquaredDistance`."""

    fit_digest: Annotated[str, Pattern(_SHA256, "a SHA-256 in hexadecimal")]


@dataclass(frozen=True)
class ReleaseReceipt(Receipt):
    """Fields of the receipt of a release; `measurement_model` has those of its measurements."""

    shape: tuple[Vertices, Vertices]
    bipartite: bool
    directed: bool
    measurements: dict[str, Any]
    model: SparseModelFields | None
    fit: FitFields | None
    certificate: CertificateFields | None
    graph: GraphFields | None
    random_halves: RandomHalvesFields | None = None  # absent before 0.2


@dataclass(frozen=True)
class LeftOutFields(NonlinearFields):
    """Fields of the noisy sum of what a bound on users leaves out."""

    steps: list[AnyInteger]


@dataclass(frozen=True)
class CountedRowsFields:
    """Fields of what a bounded table counts; see `CountedRows`."""

    max_contributions: Positive
    what: str
    per: str
    known_max: Positive | None
    left_out: LeftOutFields | None


@dataclass(frozen=True, kw_only=True)
class FlowsReceipt(Receipt):
    """Fields of the receipt of flows."""

    workload: str
    shares: list[FractionPair]
    deviations_in_steps: list[AtLeast0OrInfinite]
    sums: CellsFields
    counted_rows: CountedRowsFields | None = None  # absent in 0.1


@dataclass(frozen=True, kw_only=True)
class FlowsOverTimeReceipt(Receipt):
    """Fields of the receipt of flows over time."""

    published: list[str]
    sums: OverTimeFields
    counted_rows: CountedRowsFields | None = None


@dataclass(frozen=True)
class PartitionOptionsFields:
    """Fields of the options of a partition; see `Partitioning`."""

    parts: Index | None
    resolution: AtLeast0 | None
    smallest: Index
    confidence: Confidence


@dataclass(frozen=True)
class PartitionFields:
    """Fields of a partition without its arrays; see `Partition`."""

    kind: str
    names: list[Label]
    shortfall: RealOrInfinite
    confidence: Confidence
    options: PartitionOptionsFields | None
    value: Real | None
    interval: tuple[RealOrInfinite, RealOrInfinite] | None
    optimum: tuple[RealOrInfinite, RealOrInfinite] | None
    notes: list[str]
    # Each of these is null, or absent if an array of that name is stored.
    picture: None = None
    bins: None = None
    tree: None = None


@dataclass(frozen=True)
class PartitionReceipt(Receipt):
    """Fields of the receipt of a partition."""

    partition: PartitionFields
    vertices: list[Vertices | list[Label]]
    bipartite: bool
    directed: bool


@dataclass(frozen=True)
class IterativeSettingsFields:
    """Fields of the settings of an iterative release; of `rounds` at most, `used` were needed."""

    construction: str
    distinguisher: str
    calibration: str
    rounds: Count
    used: Count
    stopped: str
    total: Real | None


@dataclass(frozen=True)
class IterativeAccuracyFields:
    """Fields of the accuracy of an iterative release."""

    error: AtLeast0OrInfinite | None
    confidence: Confidence
    queries: str
    graph_error: AtLeast0OrInfinite | None
    deviation: AtLeast0OrInfinite | None


@dataclass(frozen=True)
class GridFields:
    """Fields of the grid in which cuts were counted."""

    unit: Above0
    sensitivity: AnyPositive
    cap: Above0 | None
    bounded: bool | None


@dataclass(frozen=True)
class NetLawFields:
    """Fields of the error of a graph chosen from a net; see `iterative.accuracy.NetChoice`."""

    members: AnyPositive
    alpha: AtLeast0
    unit: Above0
    rounding: AtLeast0
    rate: FractionText


@dataclass(frozen=True)
class NoiseLawFields:
    """Fields of the noise on the counts of a list; see `iterative.accuracy.CountNoise`."""

    weight: Positive
    rate: FractionText
    grid: GridFields


@dataclass(frozen=True)
class ListFields:
    """Fields of the list of queries of an iterative release; `listed` is true if it has one."""

    kind: Literal["cuts", "questions", "digests"] | None
    listed: bool


@dataclass(frozen=True)
class AnswersReceipt(Receipt):
    """Fields of the receipt of an iterative release without a graph."""

    settings: IterativeSettingsFields
    accuracy: IterativeAccuracyFields
    cap: Above0OrInfinite
    law: NetLawFields | NoiseLawFields | None
    vertices: list[Vertices | list[Label]]
    bipartite: bool
    directed: bool
    list: ListFields


@dataclass(frozen=True)
class IterativeReceipt(AnswersReceipt):
    """Fields of the receipt of an iterative release with a graph."""

    graph: GraphFields


def _short(number: float) -> str:
    """Return a number for a message."""
    if isinstance(number, int) and abs(number) >= 2**53:
        return f"{'-' if number < 0 else ''}2^{abs(number).bit_length() - 1}"
    return f"{number:,g}" if isinstance(number, float) else f"{number:,}"
