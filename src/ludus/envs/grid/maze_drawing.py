"""Draws a maze with its agent and the agent's view, as a picture and as text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ludus.envs.grid.maps import EMPTY, GOAL, LAVA, WALL
from ludus.envs.screen import import_pygame

__all__ = ["Scene", "cell_size", "draw", "write"]

LARGEST_CELL, LARGEST_SIDE = 64, 416
FLOOR, GROUT = (242, 238, 228), (222, 216, 202)
STONE, STONE_TOP = (66, 72, 90), (92, 100, 122)
GREEN, PALE_GREEN = (46, 140, 84), (150, 208, 168)
EMBERS, GLOW = (196, 62, 34), (250, 168, 66)
BODY, RIM = (44, 104, 192), (22, 58, 120)
DIM = (150, 150, 165)
GLYPHS = {EMPTY: ".", WALL: "#", GOAL: "G", LAVA: "~"}
HEADINGS = ">v<^"


class Scene(NamedTuple):
    """What there is to draw."""

    cells: np.ndarray[Any, Any]
    """What each cell holds, by row and column."""
    row: int
    column: int
    heading: int | None = None
    """0 right, 1 down, 2 left, 3 up; ``None`` for a walker without front."""
    seen: np.ndarray[Any, Any] | None = None
    """Which cells the walker sees, ``None`` for all."""


def cell_size(rows: int, columns: int) -> int:
    """Return a cell's side in pixels."""
    return min(LARGEST_CELL, LARGEST_SIDE // max(rows, columns))


def write(scene: Scene) -> str:
    """Return a line per row."""
    lines = [[GLYPHS[kind] for kind in row] for row in scene.cells.tolist()]
    lines[scene.row][scene.column] = "A" if scene.heading is None else HEADINGS[scene.heading]
    return "".join("".join(line) + "\n" for line in lines)


def draw(canvas: Any, scene: Scene) -> None:
    """Draw the cells, those out of sight darker, and the walker."""
    pygame = import_pygame()
    canvas.fill(GROUT)
    side = cell_size(*scene.cells.shape)
    for (row, column), kind in np.ndenumerate(scene.cells):
        box = pygame.Rect(column * side, row * side, side, side)
        _draw_cell(pygame, canvas, box, int(kind))
        if scene.seen is not None and not scene.seen[row, column]:
            canvas.fill(DIM, box, pygame.BLEND_RGB_MULT)
    box = pygame.Rect(scene.column * side, scene.row * side, side, side)
    _draw_walker(pygame, canvas, box, scene.heading)


def _draw_cell(pygame: Any, canvas: Any, box: Any, kind: int) -> None:
    side = box.width
    if kind == WALL:
        canvas.fill(STONE, box)
        canvas.fill(STONE_TOP, (box.left, box.top, side, max(2, side // 6)))
        return
    canvas.fill(FLOOR, box.inflate(-2, -2))
    if kind == GOAL:
        inner = box.inflate(-side // 4, -side // 4)
        pygame.draw.rect(canvas, PALE_GREEN, inner, border_radius=side // 6)
        pygame.draw.rect(canvas, GREEN, inner, max(2, side // 12), border_radius=side // 6)
    elif kind == LAVA:
        canvas.fill(EMBERS, box)
        for height in (0.3, 0.55, 0.8):
            crests = [
                (box.left + share * side, box.top + (height + lift) * side)
                for share, lift in ((0.1, 0.0), (0.3, -0.08), (0.5, 0.0), (0.7, -0.08), (0.9, 0.0))
            ]
            pygame.draw.lines(canvas, GLOW, False, crests, max(2, side // 14))


def _draw_walker(pygame: Any, canvas: Any, box: Any, heading: int | None) -> None:
    side = box.width
    if heading is None:
        pygame.draw.circle(canvas, BODY, box.center, side * 0.34)
        pygame.draw.circle(canvas, RIM, box.center, side * 0.34, max(2, side // 14))
        return
    along = pygame.Vector2(1, 0).rotate(90 * heading)
    across = along.rotate(90)
    middle = pygame.Vector2(box.center)
    back = middle - 0.32 * side * along
    tips = [middle + 0.4 * side * along, back + 0.34 * side * across, back - 0.34 * side * across]
    pygame.draw.polygon(canvas, BODY, tips)
    pygame.draw.polygon(canvas, RIM, tips, max(2, side // 14))
