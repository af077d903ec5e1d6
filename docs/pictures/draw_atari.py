"""Draw the picture of docs/atari.md: a screen, and the four frames that an agent sees of it.

Usage: ``python docs/pictures/draw_atari.py``; needs ``ludus-gym[atari,images]``.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

import ludus
from ludus.wrappers import AtariPreprocessing, FrameStackObservation

PATH = Path(__file__).with_name("atari.png")
BACKGROUND = 255
GAP = 12


def play(steps: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Return the screen of a game of Breakout in full swing, and the observation of it."""
    env = ludus.make("BreakoutNoFrameskip-v4", render_mode="rgb_array")
    env = FrameStackObservation(AtariPreprocessing(env, noop_max=0), 4)
    env.reset(seed=1)
    env.step(1)
    for step in range(steps):
        observation, *_ = env.step(3 if step < 4 else 0)
    screen = env.render()
    env.close()
    return np.asarray(screen), np.asarray(observation)


def compose(screen: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """Return one picture: the screen at twice its size, the frames in two rows beside it."""
    screen = screen.repeat(2, axis=0).repeat(2, axis=1)
    height, width, _ = screen.shape
    side = (height - GAP) // 2
    picture = np.full((height, width + 2 * (side + GAP), 3), BACKGROUND, np.uint8)
    picture[:, :width] = screen
    for number, frame in enumerate(frames):
        row, column = divmod(number, 2)
        top, left = row * (side + GAP), width + GAP + column * (side + GAP)
        large = cv2.resize(frame, (side, side), interpolation=cv2.INTER_NEAREST)
        picture[top : top + side, left : left + side] = large[..., None]
    return picture


def main() -> None:
    """Write the picture."""
    picture = compose(*play())
    cv2.imwrite(str(PATH), picture[..., ::-1], [cv2.IMWRITE_PNG_COMPRESSION, 9])


if __name__ == "__main__":
    main()
