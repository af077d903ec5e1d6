"""Robots that users write on the base class."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import ludus
from ludus.envs.mujoco import MujocoEnv, MujocoRenderer
from ludus.envs.mujoco.walkers import HopperEnv
from ludus.errors import DependencyNotInstalled, StateError
from ludus.spaces import Box
from ludus.utils.env_checker import check_env

pytest.importorskip("mujoco", exc_type=ImportError)

SMALL = {"width": 40, "height": 30}


class Pendulum(MujocoEnv):
    """Counts its steps besides what the engine knows."""

    state_fields = ("steps",)

    def __init__(self, **kwargs: Any) -> None:
        space = Box(-np.inf, np.inf, (4,), np.float64)
        super().__init__("inverted_pendulum.xml", 2, space, **kwargs)
        self.steps = 0

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.do_simulation(action, self.frame_skip)
        self.steps += 1
        return self.state_vector(), 1.0, self.steps >= 20, False, {}

    def reset_model(self) -> Any:
        self.steps = 0
        noise = self.np_random.uniform(-0.01, 0.01, 2)
        self.set_state(self.init_qpos + noise, self.init_qvel)
        return self.state_vector()


class Undeclared(Pendulum):
    state_fields = None  # type: ignore[assignment]


class Rushed(Pendulum):
    metadata: ClassVar[dict[str, Any]] = {"render_fps": 7}  # type: ignore[misc]


class Empty(MujocoEnv):
    """Forgets to implement what a robot needs."""


class Doubled(Pendulum):
    """Builds its own model, and pushes twice as hard."""

    def _initialize_simulation(self) -> tuple[Any, Any]:
        model, data = super()._initialize_simulation()
        model.opt.gravity[2] = -3.0
        return model, data

    def _step_mujoco_simulation(self, ctrl: Any, n_frames: int) -> None:
        super()._step_mujoco_simulation(2 * ctrl, n_frames)

    def _set_action_space(self) -> Any:
        self.action_space = Box(-1.0, 1.0, (1,), np.float32)
        return self.action_space


class Looking(HopperEnv):
    """A built-in robot that sees its height only."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.row = 1
        self.observation_space = Box(-np.inf, np.inf, (1,), np.float64)

    def _get_obs(self) -> Any:
        return self.data.qpos[[self.row]]


def played(env: Any, steps: int = 5) -> list[Any]:
    return [env.step(np.array([0.3 * i], np.float32))[0] for i in range(steps)]


def test_it_keeps_the_contract() -> None:
    check_env(Doubled(), skip_render_check=True, suppress=["infinite-bounds"])
    assert Pendulum().metadata["render_fps"] == 25


def test_states_hold_the_simulation_and_what_is_declared() -> None:
    env, other = Pendulum(), Pendulum()
    env.reset(seed=1)
    played(env)
    state = env.get_state()
    future = played(env)
    other.reset(seed=9)
    other.set_state(state)
    assert other.steps == 5
    np.testing.assert_array_equal(played(other), future)
    with pytest.raises(StateError, match=r"Undeclared does not declare its state.*state_fields"):
        Undeclared().get_state()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on_alike_and_apart(duplicate: Any) -> None:
    env = Pendulum(render_mode="rgb_array", **SMALL)
    env.reset(seed=4)
    played(env)
    twin = duplicate(env)
    assert twin.mujoco_renderer.data is twin.data is not env.data
    np.testing.assert_array_equal(played(twin), played(env))
    env.step(np.ones(1, np.float32))
    assert (twin.state_vector() != env.state_vector()).any()


def test_batches_of_it() -> None:
    ludus.register("OwnPendulum-v0", entry_point=Pendulum, max_episode_steps=10)
    try:
        for mode in ("sync", "async"):
            with ludus.make_vec("OwnPendulum-v0", 2, vectorization_mode=mode) as envs:
                observations, _ = envs.reset(seed=3)
                single = Pendulum()
                np.testing.assert_array_equal(observations[1], single.reset(seed=4)[0])
    finally:
        del ludus.registry["OwnPendulum-v0"]


def test_hooks_change_model_controls_and_actions() -> None:
    env, plain = Doubled(), Pendulum()
    assert env.action_space == Box(-1.0, 1.0, (1,), np.float32)
    env.reset(seed=0)
    plain.reset(seed=0)
    plain.model.opt.gravity[2] = -3.0
    env.step(np.ones(1, np.float32))
    plain.step(2 * np.ones(1, np.float32))
    np.testing.assert_array_equal(env.state_vector(), plain.state_vector())


def test_a_built_in_robot_may_see_something_else_but_not_in_a_batch() -> None:
    env, plain = Looking(), HopperEnv()
    assert env.reset(seed=2)[0] == plain.reset(seed=2)[0][0]
    action = np.full(3, 0.5, np.float32)
    assert env.step(action)[0] == plain.step(action)[0][0]
    with pytest.raises(TypeError, match=r'Looking has a _get_obs\(\).*vectorization_mode="sync"'):
        Looking.vector(2)


def test_mistakes_are_told() -> None:
    with pytest.raises(ValueError, match=r"render_fps=7, but a step of 0\.04 s makes 25 frames"):
        Rushed()
    with pytest.raises(OSError, match=r"nowhere\.xml does not exist; give the path.*ant\.xml"):
        Empty("nowhere.xml", 1)
    empty = Empty("ant.xml", 5)
    with pytest.raises(NotImplementedError, match=r"Empty does not implement reset_model\(\)"):
        empty.reset()
    with pytest.raises(NotImplementedError, match=r"Empty does not implement step\(\)"):
        empty.step(empty.action_space.sample())
    env = Pendulum()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"mismatch\. Expected \(1,\), found \(2,\): give one"):
        env.step(np.zeros(2))
    with pytest.raises(ValueError, match=r"positions of shape \(2,\).*got \(3,\) and \(2,\)"):
        env.set_state(np.zeros(3), np.zeros(2))


def test_a_path_below_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "own.xml").write_text("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    env = Empty("~/own.xml", 5)
    assert env.fullpath == str(tmp_path / "own.xml")
    assert env.action_space.shape == (0,)


def test_one_renderer_draws_in_every_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = Pendulum(render_mode="rgb_array", **SMALL)
    env.reset(seed=0)
    shown = MujocoRenderer(env.model, env.data, width=40, height=30)
    try:
        colours = shown.render("rgb_array")
    except DependencyNotInstalled as problem:
        pytest.skip(str(problem))
    both = shown.render("rgbd_tuple")
    np.testing.assert_array_equal(both[0], colours)
    np.testing.assert_array_equal(both[1], shown.render("depth_array"))
    assert shown.render("human") is None
    np.testing.assert_array_equal(env.render(), colours)
    with pytest.raises(ValueError, match=r"render_mode must be one of .*got 'ansi'"):
        shown.render("ansi")
    shown.close()
    np.testing.assert_array_equal(shown.render("rgb_array"), colours)
    shown.close()
    env.close()
    env.close()
