"""Robots of another package, on Gymnasium and on Ludus under its name."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.interop.programs import check_program

if importlib.util.find_spec("gymnasium_robotics") is None:
    pytest.skip("gymnasium-robotics is missing", allow_module_level=True)

PLAY = """
import warnings
warnings.simplefilter("ignore")
import hashlib, sys
import numpy as np
import gymnasium as gym
import gymnasium_robotics

gym.register_envs(gymnasium_robotics)
env = gym.make("{id}")
env.action_space.seed(0)
digest = hashlib.sha256()
for episode in range(2):
    observation, info = env.reset(seed=episode)
    for _ in range(20):
        observation, reward, *_ = env.step(env.action_space.sample())
        parts = observation.values() if isinstance(observation, dict) else [observation]
        digest.update(b"".join(np.asarray(part).tobytes() for part in (*parts, reward)))
print(digest.hexdigest(), getattr(gym, "__ludus__", False))
"""


@pytest.mark.parametrize("id", ["PointMaze_UMaze-v3", "AdroitHandDoor-v1", "AntMaze_UMaze-v5"])
def test_others_robots_give_the_same_numbers(id: str, tmp_path: Path) -> None:
    theirs = check_program(PLAY.format(id=id), tmp_path, aliased=False).split()
    ours = check_program(PLAY.format(id=id), tmp_path, aliased=True).split()
    assert (theirs[-1], ours[-1]) == ("False", "True")
    assert ours[-2] == theirs[-2]


def test_the_ant_in_its_file_is_the_one_that_is_built() -> None:
    mujoco = pytest.importorskip("mujoco")
    from ludus.envs import mujoco as robots
    from ludus.envs.mujoco.models.ant import ant

    file = Path(robots.__file__).parent / "assets" / "ant.xml"
    read, built = mujoco.MjModel.from_xml_path(str(file)), ant().compile()
    for name in ("body_mass", "body_inertia", "geom_size", "geom_quat", "jnt_range", "jnt_axis"):
        assert (getattr(read, name) == getattr(built, name)).all(), name
