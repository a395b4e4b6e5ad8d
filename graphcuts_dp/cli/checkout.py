"""Commands whose code is not installed: figures, the benchmark and the audits run in a checkout."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import graphcuts_dp
from graphcuts_dp.errors import ParameterError


def load(module: str) -> ModuleType:
    """A module of this package, or one that lies beside it in a checkout of the source.

    Raises:
        ParameterError: there is no such file beside the package.
    """
    if not module.startswith("graphcuts_dp."):
        root = Path(graphcuts_dp.__file__).resolve().parents[1]
        if not root.joinpath(*module.split(".")).with_suffix(".py").is_file():
            raise ParameterError(
                "this command runs in a checkout of the source, which holds what is not "
                "installed: get the source of graphcuts-dp, and in its folder "
                "`pip install -e .`"
            )
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))
    return import_module(module)
