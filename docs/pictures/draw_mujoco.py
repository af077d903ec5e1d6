"""Draw mujoco.png: the eleven robots, some steps into an episode. It needs no display."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import ludus

# Robot, steps of small random actions, and how far away the camera stands.
ROBOTS = (
    ("Ant-v5", 30, 3.2),
    ("HalfCheetah-v5", 25, 2.6),
    ("Hopper-v5", 12, 2.6),
    ("Walker2d-v5", 12, 2.8),
    ("Humanoid-v5", 10, 2.8),
    ("HumanoidStandup-v5", 20, 3.0),
    ("InvertedPendulum-v5", 5, 2.0),
    ("InvertedDoublePendulum-v5", 5, 2.6),
    ("Pusher-v5", 20, 2.6),
    ("Reacher-v5", 20, 1.0),
    ("Swimmer-v5", 40, 4.0),
)
SIZE, GAP, COLUMNS = 150, 6, 6


def frame(name: str, steps: int, distance: float) -> np.ndarray:
    """Return a picture of a robot that has moved a little, drawn large and scaled down."""
    env = ludus.make(
        name, render_mode="rgb_array", width=2 * SIZE, height=2 * SIZE, disable_env_checker=True
    ).unwrapped
    shown = env.mujoco_renderer
    shown.default_cam_config = {**(shown.default_cam_config or {}), "distance": distance}
    env.action_space.seed(3)
    env.reset(seed=3)
    for _ in range(steps):
        env.step(0.5 * env.action_space.sample())
    picture = env.render().astype(np.uint16)
    env.close()
    return (picture.reshape(SIZE, 2, SIZE, 2, 3).sum((1, 3)) // 4).astype(np.uint8)


def main() -> None:
    """Write the picture beside this file."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    import pygame

    rows = -(-len(ROBOTS) // COLUMNS)
    step = SIZE + GAP
    sheet = pygame.Surface((COLUMNS * step - GAP, rows * step - GAP))
    sheet.fill((255, 255, 255))
    for number, robot in enumerate(ROBOTS):
        row, column = divmod(number, COLUMNS)
        picture = pygame.surfarray.make_surface(frame(*robot).transpose(1, 0, 2))
        sheet.blit(picture, (column * step, row * step))
    # Fewer shades make a smaller file, and nobody sees it.
    pixels = pygame.surfarray.pixels3d(sheet)
    pixels[:] = pixels // 17 * 17
    del pixels
    pygame.image.save(sheet, str(Path(__file__).with_name("mujoco.png")))


if __name__ == "__main__":
    main()
