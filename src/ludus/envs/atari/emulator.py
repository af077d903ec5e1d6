"""Imports ale-py, finds a game's ROM, and creates the emulator."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled, Error
from ludus.registration.table import did_you_mean

__all__ = ["import_ale", "power_on", "rom_path"]


def import_ale() -> Any:
    """Import the extension module of ale-py, which needs nothing but NumPy.

    Raises:
        DependencyNotInstalled: It is missing; the message says what to install.
    """
    try:
        # If Gymnasium is installed, importing ale-py registers its ids there twice, with warnings.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module("ale_py")._ale_py
    except ImportError as problem:
        raise DependencyNotInstalled(
            f"Atari games need ale-py, which is not installed; run `{pip_install('atari')}`"
        ) from problem


def rom_path(game: str) -> Any:
    """Return the path of a game's cartridge.

    Raises:
        Error: There is no such game, or its file is missing or damaged.
        DependencyNotInstalled: ale-py is not installed.
    """
    import_ale()
    from ale_py import roms

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = roms.get_rom_path(game)
    except OSError as problem:
        raise Error(
            f"The cartridge of {game!r} cannot be read: {problem} ale-py brings all of them; "
            "unset ALE_ROMS_DIR if it is set, or install ale-py anew."
        ) from problem
    if path is None:
        known = sorted(roms.get_all_rom_ids())
        # The id MsPacman has the file name ms_pacman, so underscores are ignored.
        spelled = {name.replace("_", ""): name for name in known}
        same = spelled.get(str(game).replace("_", "").lower())
        hint = f" Did you mean: `{same}`?" if same else did_you_mean(str(game), known)
        raise Error(
            f"game={game!r} is not among the games of ale-py.{hint} Names are in snake_case, "
            f"such as 'ms_pacman': {', '.join(known)}."
        )
    return path


def power_on(settings: dict[str, bool | int | float]) -> Any:
    """Return an emulator with these settings and no cartridge, which logs nothing but errors."""
    native = import_ale()
    native.ALEInterface.setLoggerMode(native.LoggerMode.Error)
    machine = native.ALEInterface()
    setters = {bool: machine.setBool, int: machine.setInt, float: machine.setFloat}
    for name, value in settings.items():
        setters[type(value)](name, value)
    return machine
