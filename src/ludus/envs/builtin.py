"""The table of families that come with Ludus."""

from __future__ import annotations

from ludus.envs.algorithmic.registration import SPECS as ALGORITHMIC
from ludus.envs.atari.registration import SPECS as ATARI
from ludus.envs.board.registration import SPECS as BOARD
from ludus.envs.box2d.registration import SPECS as BOX2D
from ludus.envs.classic_control.registration import SPECS as CLASSIC_CONTROL
from ludus.envs.grid.registration import SPECS as GRID
from ludus.envs.mujoco.registration import SPECS as MUJOCO
from ludus.envs.toy_text.registration import SPECS as TOY_TEXT
from ludus.registration import registry

__all__ = ["BUILTIN", "ENGINES", "KERNELS", "register_builtin"]

KERNELS = (*CLASSIC_CONTROL, *TOY_TEXT, *ALGORITHMIC, *GRID)
"""The specs of the families that are written in Python and compiled."""

ENGINES = (*BOX2D, *MUJOCO, *BOARD, *ATARI)
"""The specs of the families that need another library's engine, each an extra."""

BUILTIN = (*KERNELS, *ENGINES)
"""The specs of every family, in the order in which they are listed."""


def register_builtin() -> None:
    """Register the built-in specs, without importing any environment."""
    for spec in BUILTIN:
        registry.setdefault(spec.id, spec)
