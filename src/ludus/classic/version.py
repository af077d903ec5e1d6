"""The version of classic Gym whose interface is offered."""

from __future__ import annotations

__all__ = ["VERSION", "__version__"]

__version__ = VERSION = "0.21.0"
