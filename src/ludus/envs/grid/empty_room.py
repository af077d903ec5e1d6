"""A room with a goal in its corner, seen from inside."""

from __future__ import annotations

from collections.abc import Sequence

from ludus.envs.arguments import positive_int
from ludus.envs.grid.maps import WALL
from ludus.envs.grid.partial_view_env import PartialViewEnv

__all__ = ["EmptyRoomEnv"]


class EmptyRoomEnv(PartialViewEnv):
    """Walk to the goal in the far corner of an empty room. See :class:`PartialViewEnv`.

    Args:
        size: Side of the room, walls included; from 4 on.
        start: (row, column) at which the agent starts, ``None`` to draw any free cell and a
            direction at each reset.
        direction: The direction at the start: 0 right, 1 down, 2 left, 3 up.
        max_steps: Number of steps that scales the reward, ``None`` for ``4 * size * size``.
        render_mode: ``"human"``, ``"rgb_array"`` or ``"ansi"``.

    Raises:
        ValueError: A number is out of its range, or the start is not a free cell.
    """

    def __init__(
        self,
        size: int = 8,
        start: Sequence[int] | None = (1, 1),
        direction: int = 0,
        max_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if positive_int("size", size) < 4:
            raise ValueError(f"size is {size!r}; expected 4 or more, the walls included.")
        if direction not in range(4):
            raise ValueError(f"direction is {direction!r}; expected 0 to 3.")
        if start is not None:
            inside = all(0 < int(place) < size - 1 for place in start) and len(start) == 2
            if not inside or all(int(place) == size - 2 for place in start):
                raise ValueError(
                    f"start is {tuple(start)}; expected a (row, column) inside the walls of the "
                    f"{size}x{size} room, other than the goal's ({size - 2}, {size - 2})."
                )
        super().__init__(size, 0, WALL, start, direction, max_steps, render_mode)
