"""Gymnasium's name for :mod:`ludus.errors`."""

from ludus.errors import *  # noqa: F403
from ludus.errors import __all__ as __all__
