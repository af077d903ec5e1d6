"""The version of Gym whose API is provided."""

from __future__ import annotations

__all__ = ["VERSION", "__version__"]

__version__ = VERSION = "0.21.0"
