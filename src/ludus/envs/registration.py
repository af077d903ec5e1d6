"""Gymnasium's path for :mod:`ludus.registration`."""

from __future__ import annotations

from typing import Any

from ludus import registration
from ludus.registration import *  # noqa: F403
from ludus.registration import __all__ as __all__


def __getattr__(name: str) -> Any:
    return getattr(registration, name)
