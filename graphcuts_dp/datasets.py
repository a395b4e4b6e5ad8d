"""The bundled public graphs: `graphcuts_dp.datasets.load("us-flights")`."""

from graphcuts_dp.graph.datasets import Dataset, list_datasets
from graphcuts_dp.graph.datasets import load_dataset as load

__all__ = ["Dataset", "list_datasets", "load", "names"]


def names() -> tuple[str, ...]:
    """Names that `load` takes, sorted."""
    return tuple(dataset.name for dataset in list_datasets())
