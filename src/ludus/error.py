"""Alias of :mod:`ludus.errors`, for compatibility with Gymnasium."""

from ludus.errors import *  # noqa: F403
from ludus.errors import __all__ as __all__
