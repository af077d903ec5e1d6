from __future__ import annotations

import numpy as np
import pytest

from ludus.errors import InvalidProbability
from ludus.wrappers import AddWhiteNoise
from tests.wrappers.script_env import ScriptEnv


def test_noise_covers_the_given_part_of_the_frame() -> None:
    class Large(ScriptEnv):
        def render(self) -> object:
            return np.full((100, 100, 3), 255, np.uint8)

    env = AddWhiteNoise(Large(render_mode="rgb_array"), 0.25)
    env.reset(seed=1)
    frame = env.render()
    assert frame.dtype == np.uint8
    assert abs((frame != 255).any(-1).mean() - 0.25) < 0.03

    gray = AddWhiteNoise(Large(render_mode="rgb_array"), 0.25, is_noise_grayscale=True)
    gray.reset(seed=1)
    frame = gray.render()
    assert (frame == frame[..., :1]).all()


def test_same_seed_same_noise() -> None:
    frames = []
    for _ in range(2):
        env = AddWhiteNoise(ScriptEnv(render_mode="rgb_array"), 0.5)
        env.reset(seed=3)
        frames.append(env.render())
    assert (frames[0] == frames[1]).all()


@pytest.mark.parametrize("probability", [-0.1, 1, 1.5])
def test_bad_probability(probability: float) -> None:
    with pytest.raises(InvalidProbability, match=r"\[0,1\)"):
        AddWhiteNoise(ScriptEnv(), probability)
