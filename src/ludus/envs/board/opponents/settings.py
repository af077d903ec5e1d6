"""How an engine is found and what it may use."""

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
"""Where Debian puts games; not on everybody's path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The option ``engine_options``.

    Raises:
        TypeError, ValueError: A limit is no positive number.
    """

    path: str | os.PathLike[str] | None = None
    """The program; by default the one of the engine's name on the path, or in ``/usr/games``."""
    seconds: float = 60.0
    """For an answer; an engine that takes longer is ended. Computing time is limited alike."""
    memory_mb: int = 2048
    """Of address space."""
    nodes: int = 20_000
    """Positions that Stockfish looks at for a move; unlike time, they do not depend on the
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
        InvalidArgument: They are no mapping, or there is no such setting.
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
        Error: The path that was given leads to nothing that can be run.
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
