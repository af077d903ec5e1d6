"""Constants and Blackjack functions of Gymnasium's environment modules.

They are for programs that import them. Ludus's environments do not use them, so assigning one has
no effect. A hand in Blackjack is a list of cards, an ace is 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["CONSTANTS"]

_SCREEN: dict[str, Any] = {"FPS": 50, "SCALE": 30.0, "VIEWPORT_W": 600, "VIEWPORT_H": 400}

_LANDER = {
    **_SCREEN,
    "MAIN_ENGINE_POWER": 13.0,
    "SIDE_ENGINE_POWER": 0.6,
    "INITIAL_RANDOM": 1000.0,
    "LANDER_POLY": [(-14, 17), (-17, 0), (-17, -10), (17, -10), (17, 0), (14, 17)],
    "LEG_AWAY": 20,
    "LEG_DOWN": 18,
    "LEG_W": 2,
    "LEG_H": 8,
    "LEG_SPRING_TORQUE": 40,
    "SIDE_ENGINE_HEIGHT": 14,
    "SIDE_ENGINE_AWAY": 12,
    "MAIN_ENGINE_Y_LOCATION": 4,
}

_WALKER = {
    **_SCREEN,
    "MOTORS_TORQUE": 80,
    "SPEED_HIP": 4,
    "SPEED_KNEE": 6,
    "LIDAR_RANGE": 160 / 30.0,
    "INITIAL_RANDOM": 5,
    "HULL_POLY": [(-30, 9), (6, 9), (34, 1), (34, -8), (-30, -8)],
    "LEG_DOWN": -8 / 30.0,
    "LEG_W": 8 / 30.0,
    "LEG_H": 34 / 30.0,
    "TERRAIN_STEP": 14 / 30.0,
    "TERRAIN_LENGTH": 200,
    "TERRAIN_HEIGHT": 400 / 30.0 / 4,
    "TERRAIN_GRASS": 10,
    "TERRAIN_STARTPAD": 20,
    "FRICTION": 2.5,
}

_RACE = {
    "STATE_W": 96,
    "STATE_H": 96,
    "VIDEO_W": 600,
    "VIDEO_H": 400,
    "WINDOW_W": 1000,
    "WINDOW_H": 800,
    "SCALE": 6.0,
    "FPS": 50,
    "TRACK_RAD": 900 / 6.0,
    "PLAYFIELD": 2000 / 6.0,
    "ZOOM": 2.7,
    "ZOOM_FOLLOW": True,
    "TRACK_DETAIL_STEP": 21 / 6.0,
    "TRACK_TURN_RATE": 0.31,
    "TRACK_WIDTH": 40 / 6.0,
    "BORDER": 8 / 6.0,
    "BORDER_MIN_COUNT": 4,
    "GRASS_DIM": 2000 / 6.0 / 20.0,
    "MAX_SHAPE_DIM": 2000 / 6.0 / 20.0 * math.sqrt(2) * 2.7 * 6.0,
}

_CAR = {
    "SIZE": 0.02,
    "ENGINE_POWER": 100000000 * 0.02 * 0.02,
    "WHEEL_MOMENT_OF_INERTIA": 4000 * 0.02 * 0.02,
    "FRICTION_LIMIT": 1000000 * 0.02 * 0.02,
    "WHEEL_R": 27,
    "WHEEL_W": 14,
    "WHEELPOS": [(-55, 80), (55, 80), (-55, -82), (55, -82)],
    "HULL_POLY1": [(-60, 130), (60, 130), (60, 110), (-60, 110)],
    "HULL_POLY2": [(-15, 120), (15, 120), (20, 20), (-20, 20)],
    "HULL_POLY3": [
        *((25, 20), (50, -10), (50, -40), (20, -90)),
        *((-20, -90), (-50, -40), (-50, -10), (-25, 20)),
    ],
    "HULL_POLY4": [(-50, -120), (50, -120), (50, -90), (-50, -90)],
    "WHEEL_COLOR": (0, 0, 0),
    "WHEEL_WHITE": (77, 77, 77),
    "MUD_COLOR": (102, 102, 0),
}

_UPRIGHT = {"trackbodyid": 2, "lookat": np.array((0.0, 0.0, 1.15)), "elevation": -20.0}
_PERSON = {"trackbodyid": 1, "distance": 4.0, "elevation": -20.0}

_CAMERAS: dict[str, dict[str, Any]] = {
    "ant": {"distance": 4.0},
    "half_cheetah": {"distance": 4.0},
    "hopper": {**_UPRIGHT, "distance": 3.0},
    "humanoid": {**_PERSON, "lookat": np.array((0.0, 0.0, 2.0))},
    "humanoidstandup": {**_PERSON, "lookat": np.array((0.0, 0.0, 0.8925))},
    "inverted_double_pendulum": {
        "trackbodyid": 0,
        "distance": 4.1225,
        "lookat": np.array((0.0, 0.0, 0.12250000000000005)),
    },
    "inverted_pendulum": {"trackbodyid": 0, "distance": 2.04},
    "pusher": {"trackbodyid": -1, "distance": 4.0},
    "reacher": {"trackbodyid": 0},
    "walker2d": {**_UPRIGHT, "distance": 4.0},
}

_DECK = [*range(1, 11), 10, 10, 10]


def cmp(a: float, b: float) -> float:
    """Return 1, 0 or -1 as ``a`` is greater than, equal to or less than ``b``."""
    return float(a > b) - float(a < b)


def draw_card(np_random: np.random.Generator) -> int:
    """Draw a card with replacement."""
    return int(np_random.choice(_DECK))


def draw_hand(np_random: np.random.Generator) -> list[int]:
    """Draw two cards."""
    return [draw_card(np_random), draw_card(np_random)]


def usable_ace(hand: Sequence[int]) -> int:
    """Return 1 if the hand has an ace that can count 11, else 0."""
    return int(1 in hand and sum(hand) + 10 <= 21)


def sum_hand(hand: Sequence[int]) -> int:
    """Return the total; a usable ace counts 11."""
    return sum(hand) + 10 * usable_ace(hand)


def is_bust(hand: Sequence[int]) -> bool:
    """Return whether the total exceeds 21."""
    return sum_hand(hand) > 21


def score(hand: Sequence[int]) -> int:
    """Return the total, 0 for a bust hand."""
    return 0 if is_bust(hand) else sum_hand(hand)


def is_natural(hand: Any) -> bool:
    """Return whether the hand is an ace and a ten."""
    return sorted(hand) == [1, 10]


_HANDS = (cmp, draw_card, draw_hand, usable_ace, sum_hand, is_bust, score, is_natural)

CONSTANTS: dict[str, dict[str, Any]] = {
    "gymnasium.envs.box2d.bipedal_walker": _WALKER,
    "gymnasium.envs.box2d.car_dynamics": _CAR,
    "gymnasium.envs.box2d.car_racing": _RACE,
    "gymnasium.envs.box2d.lunar_lander": _LANDER,
    "gymnasium.envs.classic_control.pendulum": {"DEFAULT_X": math.pi, "DEFAULT_Y": 1.0},
    **{
        f"gymnasium.envs.mujoco.{robot}_v{version}": {"DEFAULT_CAMERA_CONFIG": camera}
        for robot, camera in _CAMERAS.items()
        for version in (4, 5)
    },
    "gymnasium.envs.toy_text.blackjack": {"deck": _DECK, **{f.__name__: f for f in _HANDS}},
    "gymnasium.envs.toy_text.cliffwalking": {"UP": 0, "RIGHT": 1, "DOWN": 2, "LEFT": 3},
    "gymnasium.envs.toy_text.frozen_lake": {"LEFT": 0, "DOWN": 1, "RIGHT": 2, "UP": 3},
}
"""Values by module and name."""
