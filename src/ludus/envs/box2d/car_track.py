"""The course of a race: a closed road through random checkpoints around the middle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["Track", "make_track"]

SCALE = 6.0
RADIUS = 900 / SCALE
WIDTH, CURB = 40 / SCALE, 8 / SCALE
PIECE = 21 / SCALE
TURN_RATE = 0.31
CHECKPOINTS = 12
FIRST_ANGLE = 2 * math.pi * (-0.5) / CHECKPOINTS
MOST_PIECES, LAPS = 2500, 4
CURB_LENGTH = 4
WHITE, RED = (255, 255, 255), (255, 0, 0)

Node = tuple[float, float, float, float]
Quad = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Track:
    """Nodes (angle seen from the middle, heading, x, y), and where the sharp turns have curbs."""

    nodes: list[Node]
    curbs: list[bool]

    def tile(self, i: int) -> Quad:
        """Return the corners of the road between a node and the one before."""
        return self._strip(i, (-WIDTH, WIDTH))

    def curb(self, i: int) -> tuple[Quad, tuple[int, int, int]]:
        """Return the corners and the colour of the curb beside a tile."""
        side = _sign(self.nodes[i - 1][1] - self.nodes[i][1])
        return self._strip(i, (side * WIDTH, side * (WIDTH + CURB))), RED if i % 2 else WHITE

    def _strip(self, i: int, offsets: tuple[float, float]) -> Quad:
        corners = [
            (x + offset * math.cos(heading), y + offset * math.sin(heading))
            for _, heading, x, y in (self.nodes[i], self.nodes[i - 1])
            for offset in offsets
        ]
        return [corners[0], corners[1], corners[3], corners[2]]


def make_track(rng: Any) -> Track | None:
    """Draw a track, ``None`` if the road does not close; then draw again."""
    path = _drive(_checkpoints(rng))
    starts = [
        i
        for i in range(len(path) - 1, 0, -1)
        if path[i][0] > FIRST_ANGLE and path[i - 1][0] <= FIRST_ANGLE
    ][:2]
    if len(starts) < 2:
        return None
    nodes = path[starts[1] : starts[0] - 1]
    (_, heading, x, y), (_, _, last_x, last_y) = nodes[0], nodes[-1]
    gap_x, gap_y = math.cos(heading) * (x - last_x), math.sin(heading) * (y - last_y)
    if math.sqrt(gap_x * gap_x + gap_y * gap_y) > PIECE:
        return None
    return Track(nodes, _curbs(nodes))


def _checkpoints(rng: Any) -> list[tuple[float, float, float]]:
    """Return angle, x and y of the points to drive to."""
    points = []
    for c in range(CHECKPOINTS):
        angle = 2 * math.pi * c / CHECKPOINTS
        noise = rng.uniform(0, 2 * math.pi * 1 / CHECKPOINTS)
        radius = rng.uniform(RADIUS / 3, RADIUS)
        if c in (0, CHECKPOINTS - 1):
            radius = 1.5 * RADIUS
        else:
            angle += noise
        points.append((angle, radius * math.cos(angle), radius * math.sin(angle)))
    return points


def _drive(checkpoints: list[tuple[float, float, float]]) -> list[Node]:
    """Steer from checkpoint to checkpoint, round and round."""
    x, y, heading = 1.5 * RADIUS, 0.0, 0.0
    target, laps, far_side = 0, 0, False
    path: list[Node] = []
    while laps <= LAPS and len(path) < MOST_PIECES:
        angle = math.atan2(y, x)
        if far_side and angle > 0:
            laps += 1
            far_side = False
        if angle < 0:
            far_side = True
            angle += 2 * math.pi
        while angle > checkpoints[target % CHECKPOINTS][0]:
            target += 1
            if target % CHECKPOINTS == 0:
                angle -= 2 * math.pi
        _, goal_x, goal_y = checkpoints[target % CHECKPOINTS]
        cosine, sine = math.cos(heading), math.sin(heading)
        off = (cosine * (goal_x - x) + sine * (goal_y - y)) * SCALE
        while heading - angle > 1.5 * math.pi:
            heading -= 2 * math.pi
        while heading - angle < -1.5 * math.pi:
            heading += 2 * math.pi
        before = heading
        if abs(off) > 0.3:
            heading -= math.copysign(min(TURN_RATE, abs(0.001 * off)), off)
        x += -sine * PIECE
        y += cosine * PIECE
        path.append((angle, before * 0.5 + heading * 0.5, x, y))
    return path


def _curbs(nodes: list[Node]) -> list[bool]:
    """Mark where the road has been turning sharply to one side."""
    turns = [nodes[i][1] - nodes[i - 1][1] for i in range(len(nodes))]
    curbs = []
    for i in range(len(nodes)):
        recent = [turns[i - back] for back in range(CURB_LENGTH)]
        sharp = all(abs(turn) > TURN_RATE * 0.2 for turn in recent)
        curbs.append(sharp and abs(sum(map(_sign, recent))) == CURB_LENGTH)
    for i in range(len(nodes)):
        for back in range(CURB_LENGTH):
            curbs[i - back] |= curbs[i]
    return curbs


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)
