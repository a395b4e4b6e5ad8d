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

from graphcuts_dp._lazy import FindName, ListNames, exports

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
        "privacy.count_noise": ("IntegerNoise", "ValueNoise"),
        "privacy.distributions": ("GridNoise", "NoiseDistribution"),
        "privacy.entropy": ("EntropySource", "SeededEntropy"),
        "queries.universe": ("Universe",),
        "session.base": ("CutMechanism",),
        "session.methods": ("Method",),
        "synth.base": ("Fit", "FitMethod", "FitProblem"),
    },
)
