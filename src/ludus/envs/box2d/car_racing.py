"""CarRacing: drive round a track, seeing only pixels (Klimov, 2016)."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ludus.envs.arguments import number
from ludus.envs.box2d.car import Car
from ludus.envs.box2d.car_racing_drawing import FIELD, HEIGHT, WIDTH, RacePicture
from ludus.envs.box2d.car_track import Track, make_track
from ludus.envs.box2d.engine import import_box2d, listen
from ludus.envs.box2d.replayed_env import ReplayedEnv, StepResult
from ludus.envs.screen import Screen, import_pygame, pixels_of
from ludus.errors import InvalidAction
from ludus.spaces import Box, Discrete

__all__ = ["CarRacing", "CarRacingV2"]

FPS = 50
SEEN, SHOWN = (96, 96), (600, 400)
STEP_COST, WHOLE_TRACK = 0.1, 1000.0
SKIDS = 400
# Steering, gas and brake of each discrete action.
PEDALS = ((0.0, 0.0, 0.0), (-0.6, 0.0, 0.0), (0.6, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 0.8))


class CarRacing(ReplayedEnv):
    """Visit every tile of a random track, as fast as you can.

    **Observations** are pictures of 96 by 96 pixels from above the car, with gauges below: speed,
    the four wheels, steering, and how the car turns. **Actions** are steering from -1 (left) to 1
    (right), gas and brake from 0 to 1; without ``continuous`` 0 (nothing), 1 (right), 2 (left),
    3 (gas) and 4 (brake).

    **Rewards** are 1000 divided by the number of tiles for each new tile, less 0.1 each step. The
    episode **ends** when every tile was visited, or the first one again after more than the share
    ``lap_complete_percent``, and with -100 far off the track; ``info["lap_finished"]`` tells which.

    With ``domain_randomize`` each episode has its own colours, unless it is reset with the option
    ``randomize=False``. With ``verbose`` the making of tracks is reported on standard output.

    Raises:
        DependencyNotInstalled: Box2D or pygame is missing.
    """

    uncalled_hooks: ClassVar[tuple[str, ...]] = (
        *("_create_image_array", "_create_track", "_draw_colored_polygon", "_init_colors"),
        *("_reinit_colors", "_render", "_render_indicators", "_render_road"),
    )

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array", "state_pixels"],
        "render_fps": FPS,
    }
    state_fields = ("road_color", "bg_color", "grass_color")
    engine_fields = ("world", "car", "road", "road_poly", "_listener", "_race", "_picture")
    screen_size = (WIDTH, HEIGHT)

    def __init__(
        self,
        render_mode: str | None = None,
        verbose: bool = False,
        lap_complete_percent: float = 0.95,
        domain_randomize: bool = False,
        continuous: bool = True,
    ) -> None:
        import_box2d()
        import_pygame()
        self.render_mode = render_mode
        self.verbose = verbose
        self.lap_complete_percent = lap_complete_percent
        self.domain_randomize = domain_randomize
        self.continuous = continuous
        if domain_randomize:
            self._draw_colors()
        else:
            self.road_color = np.array([102, 102, 102])
            self.bg_color = np.array([102, 204, 102])
            self.grass_color = np.array([102, 230, 102])
        low = np.array([-1, 0, 0], np.float32)
        self.action_space = Box(low, np.ones(3, np.float32)) if continuous else Discrete(5)
        self.observation_space = Box(0, 255, (*SEEN, 3), np.uint8)

    def _draw_colors(self) -> None:
        rng = self.np_random
        self.road_color = rng.uniform(0, 210, size=3)
        self.bg_color = rng.uniform(0, 210, size=3)
        self.grass_color = self.bg_color.copy()
        self.grass_color[rng.integers(3)] += 20

    def _begin(self, reseeded: bool, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        if self.domain_randomize and (options or {}).get("randomize", True):
            self._draw_colors()
        course = self._make_track()
        self.track = course.nodes
        self.world = import_box2d().b2World((0, 0))
        self.prev_reward = 0.0
        self.t = 0.0
        self._build_road(course)
        self.car = Car(self.world, *self.track[0][1:])
        self._race.join(self.car)
        self._move()
        return self._look(SEEN, skids=False), {}

    def _make_track(self) -> Track:
        while True:
            track = make_track(self.np_random)
            if self.verbose:
                result = "does not close" if track is None else f"has {len(track.nodes)} tiles"
                sys.stdout.write(f"Track generation: the road {result}\n")
            if track is not None:
                return track

    def _build_road(self, track: Track) -> None:
        box2d = import_box2d()
        quads: list[Any] = []
        colors: list[Any] = []
        tiles: dict[Any, tuple[int, int]] = {}
        fixture = box2d.b2FixtureDef(shape=box2d.b2PolygonShape(), isSensor=True)
        for i, curbed in enumerate(track.curbs):
            fixture.shape.vertices = corners = track.tile(i)
            tiles[self.world.CreateStaticBody(fixtures=fixture)] = (i, len(quads))
            quads.append(corners)
            colors.append(self.road_color + 0.01 * (i % 3) * 255)
            if curbed:
                corners, color = track.curb(i)
                quads.append(corners)
                colors.append(color)
        self.road = list(tiles)
        self._picture = RacePicture(np.array(quads), np.array(colors))
        self.road_poly = list(zip(quads, self._picture.colors, strict=True))
        colors_of = self._picture.colors, lambda: self.road_color
        self._race = Race(tiles, *colors_of, self.lap_complete_percent)
        self._listener = listen(self.world, self._race)

    @property
    def reward(self) -> float:
        """What the episode has earned so far."""
        return self._race.reward

    @reward.setter
    def reward(self, value: float) -> None:
        self._race.reward = number("reward", value)

    @property
    def tile_visited_count(self) -> int:
        """How many tiles were visited."""
        return self._race.visits

    @tile_visited_count.setter
    def tile_visited_count(self, value: int) -> None:
        self._race.visits = operator.index(value)

    @property
    def new_lap(self) -> bool:
        """Whether the car has come round to the first tile again."""
        return self._race.new_lap

    @new_lap.setter
    def new_lap(self, value: bool) -> None:
        self._race.new_lap = bool(value)

    def _plain_action(self, action: Any) -> Any:
        if not self.continuous:
            if not self.action_space.contains(action):
                raise InvalidAction(
                    f"you passed the invalid action `{action}`; expected an integer from 0 to 4."
                )
            return int(action)
        try:
            return float(action[0]), float(action[1]), float(action[2])
        except (TypeError, ValueError, LookupError) as problem:
            raise InvalidAction(
                f"you passed the invalid action `{action}`; expected steering, gas and brake."
            ) from problem

    def _advance(self, action: Any) -> StepResult:
        self._drive(action)
        # The picture shows what was earned before this step is paid for.
        seen = self._look(SEEN, skids=False)
        reward = self._pay()
        x, y = self.car.hull.position
        if abs(x) > FIELD or abs(y) > FIELD:
            return (seen, -100, *self._ending(False))
        if self._race.finished:
            return (seen, reward, *self._ending(True))
        return seen, reward, False, False, {}

    def _repeat(self, action: Any) -> None:
        self._drive(action)
        self._pay()

    def _drive(self, action: Any) -> None:
        if self.continuous:
            steer, gas, brake = action
            self.car.control(-steer, gas, brake)
        else:
            self.car.control(*PEDALS[action])
        self._move()

    def _pay(self) -> float:
        """Charge the step; return what it gave."""
        race = self._race
        race.reward -= STEP_COST
        gain, self.prev_reward = race.reward - self.prev_reward, race.reward
        return gain

    def _ending(self, lap_finished: bool) -> tuple[bool, bool, dict[str, Any]]:
        """Return terminated, truncated and info of an episode's last step."""
        return True, False, {"lap_finished": lap_finished}

    def _move(self) -> None:
        self.car.step(1.0 / FPS)
        self.world.Step(1.0 / FPS, 180, 60)
        self.t += 1.0 / FPS
        if self.render_mode is not None:
            slipping = [tuple(w.body.position) for w in self.car.wheels if w.slipping]
            self._picture.skids = [*self._picture.skids, *slipping][-SKIDS:]

    def _paint(self, *, skids: bool) -> Any:
        grounds = (self.bg_color, self.grass_color)
        return self._picture.draw(self.car, self.t, self._race.reward, grounds, skids=skids)

    def _look(self, size: tuple[int, int], *, skids: bool) -> np.ndarray[Any, Any]:
        shrink = import_pygame().transform.smoothscale
        return pixels_of(shrink(self._paint(skids=skids), size))

    def _show_on(self, screen: Screen) -> np.ndarray[Any, Any] | None:
        if self.render_mode != "human":
            pixels = self.render_mode == "state_pixels"
            return self._look(SEEN if pixels else SHOWN, skids=not pixels)
        return screen.show_upright(self._paint(skids=True))


class CarRacingV2(CarRacing):
    """The race of the second version, where a finished lap counts as cut off, and info is empty."""

    def _ending(self, lap_finished: bool) -> tuple[bool, bool, dict[str, Any]]:
        return not lap_finished, lap_finished, {}


class Race:
    """Keeps which wheel is on which tile, which tiles were visited, and what that earned.

    Args:
        tiles: Number and row of colour of each tile, by its body.
        colors: The colours of the road; what is touched takes the plain one.
        plain: Returns that colour.
        enough: The share of tiles after which the first one ends the lap.
    """

    def __init__(
        self,
        tiles: dict[Any, tuple[int, int]],
        colors: Any,
        plain: Callable[[], Any],
        enough: float,
    ) -> None:
        self.reward = 0.0
        self.new_lap = False
        self.visits = 0
        self._tiles = tiles
        self._wheels: dict[Any, Any] = {}
        self._colors = colors
        self._plain = plain
        self._enough = enough
        self._visited: set[int] = set()

    @property
    def finished(self) -> bool:
        """Whether the lap is over."""
        return self.new_lap or self.visits == len(self._tiles)

    def join(self, car: Car) -> None:
        """Watch the wheels of a car."""
        self._wheels = {wheel.body: wheel for wheel in car.wheels}

    def begin(self, contact: Any) -> None:
        """Note that something came onto a tile."""
        tile, wheel = self._meeting(contact)
        if wheel is None:
            return
        wheel.tiles.add(tile)
        if tile not in self._visited:
            self._visited.add(tile)
            self.visits += 1
            self.reward += WHOLE_TRACK / len(self._tiles)
            if tile == 0 and self.visits / len(self._tiles) > self._enough:
                self.new_lap = True

    def end(self, contact: Any) -> None:
        """Note that something left a tile."""
        tile, wheel = self._meeting(contact)
        if wheel is not None:
            wheel.tiles.remove(tile)

    def _meeting(self, contact: Any) -> tuple[int, Any]:
        """Return the tile that is touched and the wheel that touches it, if it is one."""
        one, other = contact.fixtureA.body, contact.fixtureB.body
        if other in self._tiles:
            one, other = other, one
        elif one not in self._tiles:
            return -1, None
        tile, row = self._tiles[one]
        self._colors[row] = self._plain()
        return tile, self._wheels.get(other)
