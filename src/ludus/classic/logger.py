"""Gym's logger."""

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
    """Drop messages below ``level``, Ludus's warnings included."""
    logger.min_level = level
    _log.setLevel(level)


setLevel = set_level  # noqa: N816 - classic Gym's name


def debug(msg: str, *args: object) -> None:
    """Log a debug message with :mod:`logging`."""
    _log.debug(msg, *args)


def info(msg: str, *args: object) -> None:
    """Log a message with :mod:`logging`."""
    _log.info(msg, *args)


def warn(msg: str, *args: object) -> None:
    """Issue a warning."""
    logger.warn(msg, *args, stacklevel=2)


def deprecation(msg: str, *args: object) -> None:
    """Issue a deprecation warning."""
    logger.warn(msg, *args, category=DeprecationWarning, stacklevel=2)


def error(msg: str, *args: object) -> None:
    """Report an error."""
    logger.error(msg, *args)
