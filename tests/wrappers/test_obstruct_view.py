from __future__ import annotations

import numpy as np
import pytest

from ludus.wrappers import ObstructView
from tests.wrappers.script_env import ScriptEnv


class Blank(ScriptEnv):
    def render(self) -> object:
        return np.full((40, 60, 3), 255, np.uint8)


def test_patches_are_squares_clipped_at_the_border() -> None:
    env = ObstructView(Blank(render_mode="rgb_array"), 0.0, 5)
    assert not env._covered(np.array([], dtype=np.int64), 40, 60).any()
    corner = env._covered(np.array([0]), 40, 60)
    assert corner[:3, :3].all()
    assert corner.sum() == 9
    inside = env._covered(np.array([20 * 60 + 30, 20 * 60 + 31]), 40, 60)
    assert inside[18:23, 28:34].all()
    assert inside.sum() == 30


def test_part_of_the_frame_is_noise() -> None:
    env = ObstructView(Blank(render_mode="rgb_array"), 0.3, 4)
    env.reset(seed=0)
    covered = (env.render() != 255).any(-1).mean()
    assert 0.15 < covered <= 0.3


@pytest.mark.parametrize(("ratio", "width"), [(-0.1, 2), (1.0, 2), (0.5, 0)])
def test_bad_arguments(ratio: float, width: int) -> None:
    with pytest.raises(ValueError, match="must"):
        ObstructView(ScriptEnv(), ratio, width)
