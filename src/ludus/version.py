"""The version, read by the build and by ``ludus.__version__``."""

__version__ = "0.1.0"
