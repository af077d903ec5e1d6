"""Settings of an engine: its path and limits."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ludus.envs.arguments import number, positive_int
from ludus.errors import DependencyNotInstalled, Error, InvalidArgument

__all__ = ["EngineSettings", "find_engine", "settings_of"]

_GAMES = "/usr/games"
"""Debian's folder for games, which is often not on the path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The option ``engine_options``.

    Raises:
        TypeError, ValueError: A limit is not a positive number.
    """

    path: str | os.PathLike[str] | None = None
    """The program; by default the one of the engine's name on the path, or in ``/usr/games``."""
    seconds: float = 60.0
    """Seconds for an answer; an engine that takes longer is stopped. CPU time is limited alike."""
    memory_mb: int = 2048
    """Limit of its address space."""
    nodes: int = 20_000
    """Positions that Stockfish searches for a move, which unlike time do not depend on the
    machine. GNU Go has levels instead."""

    def __post_init__(self) -> None:
        positive_int("memory_mb", self.memory_mb)
        positive_int("nodes", self.nodes)
        if number("seconds", self.seconds) <= 0:
            raise ValueError(f"seconds is {self.seconds!r}; expected more than 0.")
        if self.path is not None and not isinstance(self.path, str | os.PathLike):
            raise TypeError(f"path is {self.path!r}; expected the path of a program.")


def settings_of(options: Mapping[str, Any] | None) -> EngineSettings:
    """Return checked settings.

    Raises:
        InvalidArgument: They are not a mapping, or there is no such setting.
        TypeError, ValueError: A setting has a wrong value.
    """
    known = [field.name for field in fields(EngineSettings)]
    if options is None:
        return EngineSettings()
    if not isinstance(options, Mapping) or not set(options) <= set(known):
        raise InvalidArgument(f"engine_options={options!r}; expected a dict with some of {known}.")
    return EngineSettings(**options)


def find_engine(name: str, settings: EngineSettings) -> str:
    """Return the program of an engine; ``name`` is that of the program and of Debian's package.

    Raises:
        Error: There is no executable at the given path.
        DependencyNotInstalled: None was given, and the engine is not installed.
    """
    if settings.path is not None:
        found = shutil.which(os.fspath(settings.path))
        if found is None:
            raise Error(
                f"engine_options['path'] is {os.fspath(settings.path)!r}, where no program is; "
                f"expected that of {name}."
            )
        return found
    found = shutil.which(name) or shutil.which(name, path=_GAMES)
    if found is None:
        raise DependencyNotInstalled(
            f"The opponent {name!r} needs the program {name}, which is neither on the path nor in "
            f"{_GAMES}. On Debian and Ubuntu run `apt install {name}`; if it is elsewhere, give "
            f"engine_options={{'path': ...}}; or choose opponent='mcts' or 'random'."
        )
    return found
