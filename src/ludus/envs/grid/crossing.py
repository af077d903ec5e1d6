"""A room divided by walls or lava, seen from inside."""

from __future__ import annotations

from ludus.envs.arguments import positive_int
from ludus.envs.grid.maps import LAVA, WALL
from ludus.envs.grid.partial_view_env import PartialViewEnv
from ludus.envs.grid.rivers import places_along

__all__ = ["OBSTACLES", "CrossingEnv"]

OBSTACLES = {"wall": WALL, "lava": LAVA}


class CrossingEnv(PartialViewEnv):
    """Find the openings on the way to the far corner. See :class:`PartialViewEnv`.

    Each episode draws rivers of wall or lava that run across the room, along columns and rows, and
    one opening in each, such that there is a way. The agent starts at the top left, looking right.

    Args:
        size: Side of the maze, walls included; odd, from 5 on.
        crossings: Number of rivers, from 1 to ``size - 3``.
        obstacle: ``"wall"``, or ``"lava"``, which ends the episode without reward.
        max_steps: Number of steps that scales the reward, ``None`` for ``4 * size * size``.
        render_mode: ``"human"``, ``"rgb_array"`` or ``"ansi"``.

    Raises:
        ValueError: A number is out of its range, or there is no such obstacle.
    """

    def __init__(
        self,
        size: int = 9,
        crossings: int = 1,
        obstacle: str = "lava",
        max_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if positive_int("size", size) % 2 != 1 or size < 5:
            raise ValueError(f"size is {size!r}; expected an odd number from 5 on.")
        most = 2 * places_along(size)
        if positive_int("crossings", crossings) > most:
            raise ValueError(
                f"crossings is {crossings!r}; a room of size {size} has place for 1 to {most}."
            )
        if obstacle not in OBSTACLES:
            raise ValueError(
                f"There is no obstacle {obstacle!r}; choose one of {', '.join(OBSTACLES)}."
            )
        super().__init__(size, crossings, OBSTACLES[obstacle], (1, 1), 0, max_steps, render_mode)
