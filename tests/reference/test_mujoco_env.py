"""A robot of one's own, written for Gymnasium, on Gymnasium's base and on Ludus's."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.errors import DependencyNotInstalled
from tests.interop.programs import check_program
from tests.reference.twins import assert_same

pytest.importorskip("mujoco", exc_type=ImportError)

MODEL = """
<mujoco>
  <option timestep="0.01" integrator="RK4"/>
  <worldbody>
    <light pos="0 0 3"/>
    <camera name="side" pos="0 -2 .5" xyaxes="1 0 0 0 0 1"/>
    <geom type="plane" size="3 3 .1" rgba=".3 .5 .3 1"/>
    <body name="cart" pos="0 0 .2">
      <joint name="slide" type="slide" axis="1 0 0" range="-1 1" limited="true"/>
      <geom type="box" size=".1 .05 .05" rgba=".8 .2 .2 1"/>
      <body name="arm" pos="0 0 .05">
        <joint name="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 .4" size=".02" rgba=".2 .2 .8 1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="slide" gear="20" ctrlrange="-1 1"/></actuator>
</mujoco>
"""

ROBOT = """
import numpy as np
from {library}.envs.mujoco import MujocoEnv
from {library}.spaces import Box
from {library}.utils import EzPickle

class Balance(MujocoEnv, EzPickle):
    metadata = {{"render_modes": ["human", "rgb_array", "depth_array"], "render_fps": 50}}

    def __init__(self, path, **kwargs):
        EzPickle.__init__(self, path, **kwargs)
        space = Box(-np.inf, np.inf, (4,), np.float64)
        MujocoEnv.__init__(self, path, 2, observation_space=space, **kwargs)
        self.steps = 0

    def step(self, action):
        self.do_simulation(action, self.frame_skip)
        self.steps += 1
        angle = float(self.data.qpos[1])
        info = {{"height": self.get_body_com("arm")[2], "seconds": self.data.time}}
        if self.render_mode == "human":
            self.render()
        return self._get_obs(), float(np.cos(angle)), abs(angle) > 1.5, False, info

    def reset_model(self):
        self.steps = 0
        noise = self.np_random.uniform(-0.05, 0.05, self.model.nq)
        self.set_state(self.init_qpos + noise, self.init_qvel)
        return self._get_obs()

    def _get_reset_info(self):
        return {{"angle": float(self.data.qpos[1])}}

    def _get_obs(self):
        return self.state_vector()
"""


def build(library: str, path: Path, **options: Any) -> Any:
    """Return the robot on one of the two bases."""
    names: dict[str, Any] = {"__name__": __name__}
    exec(ROBOT.format(library=library), names)
    return names["Balance"](str(path), **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model of one's own."""
    file = tmp_path / "balance.xml"
    file.write_text(MODEL)
    return file


def test_numbers_are_equal(path: Path) -> None:
    ours, theirs = build("ludus", path), build("gymnasium", path)
    assert isinstance(ours, ludus.Env)
    assert isinstance(theirs, gymnasium.Env)
    assert ours.dt == theirs.dt
    assert ours.fullpath == theirs.fullpath
    assert ours.metadata == theirs.metadata
    assert repr(ours.action_space) == repr(theirs.action_space)
    rng = np.random.default_rng(0)
    for episode in range(3):
        assert_same(ours.reset(seed=episode), theirs.reset(seed=episode))
        for action in rng.uniform(-1, 1, (200, 1)).astype(np.float32):
            step = ours.step(action)
            assert_same(step, theirs.step(action))
            if step[2]:
                break


@pytest.mark.parametrize("options", [{}, {"camera_name": "side"}, {"camera_id": 0}])
@pytest.mark.parametrize("mode", ["rgb_array", "depth_array"])
def test_pictures_are_equal(
    mode: str, options: dict[str, Any], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"render_mode": mode, "width": 60, "height": 40, **options}
    ours, theirs = build("ludus", path, **options), build("gymnasium", path, **options)
    pictures = [picture_of(ours)]
    # Unless told which, Gymnasium tries a window first; where none can be opened, the context that
    # it half made raises when it is freed.
    monkeypatch.setenv("MUJOCO_GL", backend())
    pictures.append(picture_of(theirs))
    assert pictures[0].std() > 0
    np.testing.assert_array_equal(*pictures)


def picture_of(env: Any) -> Any:
    """Return what a robot shows after some steps."""
    env.reset(seed=1)
    for _ in range(5):
        env.step(np.ones(1, np.float32))
    try:
        return env.render()
    except DependencyNotInstalled as problem:
        pytest.skip(str(problem))
    finally:
        env.close()


def backend() -> str:
    """Return the name of a library that draws without a window."""
    for name in ("egl", "osmesa"):
        try:
            import_module(f"mujoco.{name}").GLContext(8, 8).free()
        except (AttributeError, ImportError, RuntimeError):
            continue
        return name
    pytest.skip("robots are drawn with libegl1 or libosmesa6")


USES = """
import gymnasium as gym
from gymnasium.envs.mujoco import MujocoRenderer
from gymnasium.envs.mujoco.mujoco_env import MujocoEnv
from gymnasium.envs.mujoco.ant_v4 import AntEnv as Old
from gymnasium.envs.mujoco.ant_v5 import AntEnv as New

class Lazy(New):
    def step(self, action):
        observation, reward, *rest = super().step(0 * action)
        return observation, 2 * reward, *rest

assert issubclass(Old, MujocoEnv) and issubclass(New, MujocoEnv)
assert Old().observation_space.shape == (27,) and New().observation_space.shape == (105,)
gym.register("Lazy-v0", entry_point=Lazy, max_episode_steps=5)
env, plain = gym.make("Lazy-v0"), gym.make("Ant-v5")
env.reset(seed=0), plain.reset(seed=0)
action = env.action_space.sample()
print(env.step(action)[1] == 2 * plain.step(0 * action)[1], isinstance(
    env.unwrapped.mujoco_renderer, MujocoRenderer))
"""


@pytest.mark.parametrize("aliased", [False, True])
def test_robots_are_extended_under_gymnasiums_names(aliased: bool, tmp_path: Path) -> None:
    assert check_program(USES, tmp_path, aliased=aliased) == "True True\n"
