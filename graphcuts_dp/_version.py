"""The package's version, alone so that packaging can read it without importing the rest."""

__version__ = "0.2.0"
