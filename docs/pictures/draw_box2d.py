"""Draws ``box2d.png``: a lander, a walker on hard ground, and a car in a bend.

Run it as ``python docs/pictures/draw_box2d.py``; no display is needed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import ludus
from ludus.envs.box2d.bipedal_walker import BipedalWalkerHeuristics
from ludus.envs.box2d.lunar_lander import heuristic
from ludus.envs.screen import import_pygame


def landing() -> np.ndarray:
    """Return a lander about to land."""
    env = ludus.make("LunarLander-v3", render_mode="rgb_array")
    seen, _ = env.reset(seed=3)
    for _ in range(105):
        seen, *_ = env.step(heuristic(env, seen))
    return env.render()


def walking() -> np.ndarray:
    """Return a walker before stumps and stairs."""
    env = ludus.make("BipedalWalkerHardcore-v3", render_mode="rgb_array")
    seen, _ = env.reset(seed=8)
    mind = BipedalWalkerHeuristics()
    for _ in range(160):
        seen, _, over, *_ = env.step(mind.step_heuristic(seen))
        if over:
            break
    return env.render()


def racing() -> np.ndarray:
    """Return a car before a bend."""
    env = ludus.make("CarRacing-v3", render_mode="rgb_array", continuous=False)
    env.reset(seed=1)
    for number in range(75):
        env.step(3 if number < 60 else 2)
    return env.render()


def draw(path: Path) -> None:
    """Write the three pictures side by side."""
    pygame = import_pygame()
    row = np.concatenate([landing(), walking(), racing()], axis=1)
    surface = pygame.surfarray.make_surface(row.transpose(1, 0, 2))
    height, width, _ = row.shape
    small = pygame.transform.smoothscale(surface, (width // 2, height // 2))
    pygame.image.save(small, str(path))


if __name__ == "__main__":
    draw(Path(__file__).with_name("box2d.png"))
