"""The picture of a race, which is also what the driver sees.

Observations are pixels, so this picture is part of the task: shapes, order, rounding and colours
are those of the original, while what lies outside the picture is left out early.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from ludus.envs.box2d.car import SIZE, WHEEL_RADIUS, WHEEL_WIDTH, Car
from ludus.envs.screen import fill_polygon, import_pygame

__all__ = ["FIELD", "HEIGHT", "WIDTH", "RacePicture", "draw_car"]

WIDTH, HEIGHT = 1000, 800
SCALE, ZOOM = 6.0, 2.7
FIELD = 2000 / SCALE
PATCH = FIELD / 20.0
HULL, TYRE, RIM = (204, 0, 0), (0, 0, 0), (77, 77, 77)
SKID = (40, 40, 30)
BLUE, VIOLET, GREEN, RED, WHITE = (0, 0, 255), (51, 0, 255), (0, 255, 0), (255, 0, 0), (255,) * 3
GAUGES = ((7, BLUE), (8, BLUE), (9, VIOLET), (10, VIOLET))
UNIT_X, UNIT_Y = WIDTH / 40.0, HEIGHT / 40.0
LEAST = 1e-4
EDGE = 2

Floats = np.ndarray[Any, np.dtype[np.float64]]

_GRASS: Floats = np.array(
    [
        [
            (PATCH * x + PATCH, PATCH * y + 0),
            (PATCH * x + 0, PATCH * y + 0),
            (PATCH * x + 0, PATCH * y + PATCH),
            (PATCH * x + PATCH, PATCH * y + PATCH),
        ]
        for x in range(-20, 20, 2)
        for y in range(-20, 20, 2)
    ]
)
_FIELD: Floats = np.array([[(FIELD, FIELD), (FIELD, -FIELD), (-FIELD, -FIELD), (-FIELD, FIELD)]])


class Camera:
    """Turns and shifts places of the world to where they are in the picture."""

    def __init__(self, pygame: Any, car: Car, seconds: float) -> None:
        # The first second zooms in.
        zoom = 0.1 * SCALE * max(1 - seconds, 0) + ZOOM * SCALE * min(seconds, 1)
        turn = -car.hull.angle
        x, y = car.hull.position
        moved = pygame.math.Vector2((-x * zoom, -y * zoom)).rotate_rad(turn)
        self.look(pygame, zoom, (WIDTH / 2 + moved[0], HEIGHT / 4 + moved[1]), turn)

    def look(self, pygame: Any, zoom: float, shift: tuple[float, float], turn: float) -> None:
        """Turn places by ``turn``, enlarge them by ``zoom``, then shift them."""
        self.cosine, self.sine = pygame.math.Vector2(1, 0).rotate_rad(turn)
        self.zoom = zoom
        self.shift = shift

    def many(self, shapes: Floats) -> Floats:
        """Place an array of corners."""
        x, y = shapes[..., 0], shapes[..., 1]
        placed = np.empty_like(shapes)
        placed[..., 0] = (self.cosine * x - self.sine * y) * self.zoom + self.shift[0]
        placed[..., 1] = (self.sine * x + self.cosine * y) * self.zoom + self.shift[1]
        return placed

    def few(self, corners: Any) -> list[tuple[float, float]]:
        """Place a handful of corners."""
        cosine, sine, zoom, (sx, sy) = self.cosine, self.sine, self.zoom, self.shift
        return [
            ((cosine * x - sine * y) * zoom + sx, (sine * x + cosine * y) * zoom + sy)
            for x, y in corners
        ]


class RacePicture:
    """Draws the road of one episode.

    Args:
        road: Corners of tiles and curbs, in the order in which they are drawn.
        colors: One colour for each, which may change.
    """

    def __init__(self, road: Floats, colors: Floats) -> None:
        self.road = road
        self.colors = colors
        self.skids: list[tuple[float, float]] = []
        self._label: tuple[str, Any] = ("", None)

    def draw(
        self,
        car: Car,
        seconds: float,
        reward: float,
        grounds: tuple[Any, Any],
        *,
        skids: bool,
    ) -> Any:
        """Return a surface of 1000 by 800 pixels; the next picture of this thread changes it."""
        pygame = import_pygame()
        (canvas, pixels), (mirror, mirrored) = _surfaces(pygame)
        pixels.fill(0)
        camera = Camera(pygame, car, seconds)
        self._draw_ground(pygame, canvas, camera, grounds)
        for place in camera.few(self.skids) if skids else ():
            pygame.draw.circle(canvas, SKID, place, 2)
        _draw_car(pygame, canvas, camera, car)
        mirrored[...] = pixels[::-1]
        _draw_gauges(pygame, mirror, car)
        self._draw_reward(pygame, mirror, reward)
        return mirror

    def _draw_ground(self, pygame: Any, canvas: Any, camera: Camera, grounds: Any) -> None:
        outline, fill = pygame.gfxdraw.aapolygon, fill_polygon
        far, near = grounds
        layers = ((_FIELD, [far]), (_GRASS, [near] * len(_GRASS)), (self.road, None))
        for shapes, given in layers:
            placed = camera.many(shapes)
            low, high = placed.min(axis=1), placed.max(axis=1)
            inside = (high >= -EDGE).all(axis=1) & (low <= (WIDTH + EDGE, HEIGHT + EDGE)).all(
                axis=1
            )
            (rows,) = inside.nonzero()
            colors = self.colors[rows].astype(int).tolist() if given is None else given
            for corners, color in zip(placed[rows].tolist(), colors, strict=False):
                outline(canvas, corners, color)
                fill(canvas, corners, color)

    def _draw_reward(self, pygame: Any, canvas: Any, reward: float) -> None:
        text = f"{reward:04.0f}"
        if self._label[0] != text:
            pygame.font.init()
            font = pygame.font.Font(pygame.font.get_default_font(), 42)
            self._label = (text, font.render(text, True, WHITE, (0, 0, 0)))
        label = self._label[1]
        place = label.get_rect()
        place.center = (60, HEIGHT - HEIGHT * 2.5 / 40.0)
        canvas.blit(label, place)


_kept = threading.local()


def _surfaces(pygame: Any) -> Any:
    """Return the two surfaces of this thread, each with the array in which its pixels lie.

    To make them for every picture would take longer than to draw it. They are the thread's and not
    the race's since programs have many races and few threads, and the pair takes 6 MB.
    """
    if not hasattr(_kept, "surfaces"):
        arrays = [np.empty((HEIGHT, WIDTH, 4), np.uint8) for _ in range(2)]
        wrap = pygame.image.frombuffer
        _kept.surfaces = [(wrap(array, (WIDTH, HEIGHT), "RGBX"), array) for array in arrays]
    return _kept.surfaces


def _draw_car(pygame: Any, canvas: Any, camera: Camera, car: Car) -> None:
    polygon = pygame.draw.polygon
    for wheel in car.wheels:
        pose = wheel.body.transform
        for fixture in wheel.body.fixtures:
            corners = [pose * corner for corner in fixture.shape.vertices]
            polygon(canvas, TYRE, camera.few(corners))
        rim = _rim(wheel.phase)
        if rim is not None:
            polygon(canvas, RIM, camera.few([pose * corner for corner in rim]))
    pose = car.hull.transform
    for fixture in car.hull.fixtures:
        corners = [pose * corner for corner in fixture.shape.vertices]
        polygon(canvas, HULL, camera.few(corners))


def draw_car(
    canvas: Any, car: Car, zoom: float, translation: tuple[float, float], angle: float
) -> None:
    """Draw a car alone, as a camera with this zoom, shift and angle sees it."""
    pygame = import_pygame()
    camera = Camera(pygame, car, 1.0)
    camera.look(pygame, zoom, translation, angle)
    _draw_car(pygame, canvas, camera, car)


def _rim(phase: float) -> list[tuple[float, float]] | None:
    """Return the bright part of a tyre that shows how far it has turned, if it is on top."""
    ends = []
    for angle in (phase, phase + 1.2):
        hidden, cosine = math.sin(angle) > 0, math.cos(angle)
        ends.append((hidden, float((cosine > 0) - (cosine < 0)) if hidden else cosine))
    if ends[0][0] and ends[1][0]:
        return None
    near, far = (WHEEL_RADIUS * cosine * SIZE for _, cosine in ends)
    half = WHEEL_WIDTH * SIZE
    return [(-half, near), (half, near), (half, far), (-half, far)]


def _draw_gauges(pygame: Any, canvas: Any, car: Car) -> None:
    """Draw speed, the turning of each wheel, steering and the turning of the car as bars."""
    polygon, base = pygame.draw.polygon, HEIGHT - 5 * UNIT_Y
    polygon(canvas, (0, 0, 0), [(WIDTH, HEIGHT), (WIDTH, base), (0, base), (0, HEIGHT)])
    vx, vy = car.hull.linearVelocity
    speed = math.sqrt(vx * vx + vy * vy)
    turning = [(place, wheel.omega, 0.01, color) for wheel, (place, color) in _gauged(car)]
    for place, value, scale, color in ((5, speed, 0.02, WHITE), *turning):
        if abs(value) > LEAST:
            left, right = place * UNIT_X, (place + 1) * UNIT_X
            top, bottom = HEIGHT - (UNIT_Y + UNIT_Y * (scale * value)), HEIGHT - UNIT_Y
            polygon(canvas, color, [(left, top), (right, top), (right, bottom), (left, bottom)])
    steering, spin = car.wheels[0].joint.angle, car.hull.angularVelocity
    for place, value, scale, color in ((20, steering, -10.0, GREEN), (30, spin, -0.8, RED)):
        if abs(value) > LEAST:
            left, right = place * UNIT_X, (place + scale * value) * UNIT_X
            top, bottom = HEIGHT - 4 * UNIT_Y, HEIGHT - 2 * UNIT_Y
            polygon(canvas, color, [(left, top), (right, top), (right, bottom), (left, bottom)])


def _gauged(car: Car) -> Any:
    return zip(car.wheels, GAUGES, strict=True)
