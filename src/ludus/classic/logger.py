"""Classic Gym's messages, by level."""

from __future__ import annotations

import logging

from ludus import logger

__all__ = [
    "DEBUG",
    "DISABLED",
    "ERROR",
    "INFO",
    "WARN",
    "debug",
    "deprecation",
    "error",
    "info",
    "setLevel",
    "set_level",
    "warn",
]

DEBUG, INFO, WARN, ERROR, DISABLED = 10, 20, 30, 40, 50

_log = logging.getLogger("ludus.classic")


def set_level(level: int) -> None:
    """Drop every message below ``level``, Ludus's own warnings included."""
    logger.min_level = level
    _log.setLevel(level)


setLevel = set_level  # noqa: N816 - classic Gym's name


def debug(msg: str, *args: object) -> None:
    """Report a detail, through :mod:`logging`."""
    _log.debug(msg, *args)


def info(msg: str, *args: object) -> None:
    """Report what happens, through :mod:`logging`."""
    _log.info(msg, *args)


def warn(msg: str, *args: object) -> None:
    """Warn the caller."""
    logger.warn(msg, *args, stacklevel=2)


def deprecation(msg: str, *args: object) -> None:
    """Warn that something will go away."""
    logger.warn(msg, *args, category=DeprecationWarning, stacklevel=2)


def error(msg: str, *args: object) -> None:
    """Report something that went wrong."""
    logger.error(msg, *args)
