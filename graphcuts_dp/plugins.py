"""Gather the interfaces of plug-ins.

These are fits, noises, learners, distinguishers, session methods and file formats.

An installed package adds a name by an entry point of one of these groups:

    graphcuts_dp.fit_methods      a `FitMethod`
    graphcuts_dp.noises           a function (epsilon, max_weight) that makes a `NoiseDistribution`
    graphcuts_dp.learners         a function of a `Universe` that returns a `Learner`
    graphcuts_dp.distinguishers   a function of a `Task` that returns a `Distinguisher`
    graphcuts_dp.session_methods  a subclass of `Method`, which makes a `CutMechanism`
    graphcuts_dp.file_formats     a `FileFormat`; the name is an ending, such as ".arrows"

Stability: from version 0.2.0 on, the names of this module, the members that their docstrings list,
and the groups follow semantic versioning, as docs/deprecation.md says.

Privacy: plug-ins are trusted code; what each must guarantee stands in its docstring.
"""

from typing import TYPE_CHECKING

from graphcuts_dp._lazy import FindName, ListNames, exports

if TYPE_CHECKING:
    from graphcuts_dp.io.file_format import FileFormat as FileFormat
    from graphcuts_dp.io.raw_edges import Options as Options
    from graphcuts_dp.io.raw_edges import RawEdges as RawEdges
    from graphcuts_dp.iterative.distinguisher import Distinguisher as Distinguisher
    from graphcuts_dp.iterative.distinguisher import ProposedQuery as ProposedQuery
    from graphcuts_dp.iterative.task import Task as Task
    from graphcuts_dp.learn.base import Construction as Construction
    from graphcuts_dp.learn.cut_sum import CutSum as CutSum
    from graphcuts_dp.learn.learners import Learner as Learner
    from graphcuts_dp.learn.rules import FriezeKannanRule as FriezeKannanRule
    from graphcuts_dp.privacy.composition import Cost as Cost
    from graphcuts_dp.privacy.count_distribution import IntegerNoise as IntegerNoise
    from graphcuts_dp.privacy.count_noise import ValueNoise as ValueNoise
    from graphcuts_dp.privacy.distributions import GridNoise as GridNoise
    from graphcuts_dp.privacy.distributions import NoiseDistribution as NoiseDistribution
    from graphcuts_dp.privacy.entropy import EntropySource as EntropySource
    from graphcuts_dp.privacy.entropy import SeededEntropy as SeededEntropy
    from graphcuts_dp.queries.universe import Universe as Universe
    from graphcuts_dp.session.base import CutMechanism as CutMechanism
    from graphcuts_dp.session.methods import Method as Method
    from graphcuts_dp.synth.base import Fit as Fit
    from graphcuts_dp.synth.base import FitMethod as FitMethod
    from graphcuts_dp.synth.base import FitProblem as FitProblem


__getattr__: FindName
__dir__: ListNames
__getattr__, __dir__, __all__ = exports(
    "graphcuts_dp",
    {
        "iterative.distinguisher": ("Distinguisher", "ProposedQuery"),
        "iterative.task": ("Task",),
        "io.raw_edges": ("Options", "RawEdges"),
        "io.file_format": ("FileFormat",),
        "learn.base": ("Construction",),
        "learn.cut_sum": ("CutSum",),
        "learn.learners": ("Learner",),
        "learn.rules": ("FriezeKannanRule",),
        "privacy.composition": ("Cost",),
        "privacy.count_distribution": ("IntegerNoise",),
        "privacy.count_noise": ("ValueNoise",),
        "privacy.distributions": ("GridNoise", "NoiseDistribution"),
        "privacy.entropy": ("EntropySource", "SeededEntropy"),
        "queries.universe": ("Universe",),
        "session.base": ("CutMechanism",),
        "session.methods": ("Method",),
        "synth.base": ("Fit", "FitMethod", "FitProblem"),
    },
)
