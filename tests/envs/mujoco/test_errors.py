"""Mistakes and missing things are told in words."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import ludus
from ludus.envs.mujoco import batch, engine
from ludus.envs.mujoco.walkers import HopperEnv
from ludus.errors import (
    ClosedEnvironmentError,
    DependencyNotInstalled,
    EpisodeOver,
    Error,
    ResetNeeded,
)
from tests.envs.mujoco.support import robot

mujoco = pytest.importorskip("mujoco", exc_type=ImportError)


def test_missing_engine_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(DependencyNotInstalled, match=r"pip install 'ludus-gym\[mujoco\]'"):
        engine.import_mujoco()
    with pytest.raises(DependencyNotInstalled, match=r"ludus-gym\[mujoco\]"):
        ludus.make("Ant-v5")
    with pytest.raises(DependencyNotInstalled, match=r"ludus-gym\[mujoco\]"):
        ludus.make_vec("Ant-v5", 2)


def test_engine_without_batches_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(batch._SIGNATURES, "mjb_nowhere", (None, ()))
    batch._library.cache_clear()
    try:
        with pytest.raises(DependencyNotInstalled, match="mujoco 4.*sync"):
            ludus.make_vec("Ant-v5", 2)
    finally:
        batch._library.cache_clear()


def test_batches_do_not_call_back_into_python() -> None:
    env = robot("Hopper-v5")
    mujoco.set_mjcb_control(lambda model, data: None)
    try:
        with pytest.raises(Error, match=r"mjcb_control is set.*sync"):
            batch.Batch(env.model, 2, 1)
    finally:
        mujoco.set_mjcb_control(None)


# Two heaps of boxes, and so little memory that only the first, which lies apart, can be simulated.
CRAMPED = """
<mujoco><size memory="20K"/><worldbody><geom type="plane" size="9 9 1"/>{}</worldbody></mujoco>
""".format('<body pos="0 0 9"><freejoint/><geom type="box" size=".1 .1 .1"/></body>' * 16)


@pytest.mark.parametrize("forces", [False, True])
def test_an_engine_that_fails_says_where_and_steps_the_others(forces: bool) -> None:
    model = mujoco.MjModel.from_xml_string(CRAMPED)
    both = batch.Batch(model, 2, 2, forces=forces)
    places, forces_felt = both.field("qpos"), both.field("cfrc_ext")
    both.reset(np.arange(2, dtype=np.int32))
    places[0, 0::7] = 10.0 * np.arange(16)
    for _ in range(3):
        with pytest.raises(Error, match=r"(?s)failed in environment 1: .*out of memory"):
            both.step(None, 2)
    both.step(np.zeros(1, np.int32), 1)
    assert both.state[:, 0] == pytest.approx([7 * model.opt.timestep, 0.0])
    assert np.isfinite(forces_felt).all()


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"frame_skip": 0}, ValueError, "frame_skip must be at least 1, got 0"),
        ({"frame_skip": 2.5}, TypeError, "frame_skip must be a whole number, got 2.5"),
        ({"width": -3}, ValueError, "width must be at least 1"),
        ({"healthy_reward": "much"}, TypeError, "healthy_reward must be a number, got 'much'"),
        ({"reset_noise_scale": None}, TypeError, "reset_noise_scale must be a number"),
        ({"healthy_z_range": 0.7}, TypeError, "healthy_z_range must be two numbers"),
        ({"healthy_z_range": (2.0, 1.0)}, ValueError, "lower end first"),
        ({"camera_id": 0, "camera_name": "track"}, ValueError, "camera_id.*camera_name"),
        ({"xml_file": "./nowhere.xml"}, OSError, "does not exist.*hopper.xml"),
        ({"no_such_option": 1}, TypeError, "no_such_option"),
    ],
)
def test_wrong_options(options, kind, words) -> None:
    with pytest.raises(kind, match=words):
        ludus.make("Hopper-v5", disable_env_checker=True, **options)
    with pytest.raises(kind, match=words):
        ludus.make_vec("Hopper-v5", 2, **options)


@pytest.mark.parametrize("name", ["Humanoid-v4", "HumanoidStandup-v4"])
def test_options_of_version_5_are_refused_in_version_4(name: str) -> None:
    with pytest.raises(TypeError, match="include_cvel_in_observation.*v5"):
        robot(name, include_cvel_in_observation=False)


def test_unknown_render_mode_of_the_class() -> None:
    with pytest.raises(ValueError, match="render_mode must be one of.*'ascii'"):
        HopperEnv(render_mode="ascii")


def test_wrong_actions() -> None:
    env = robot("Hopper-v5")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="Action dimension mismatch"):
        env.step(np.zeros(4))
    with ludus.make_vec("Hopper-v5", 2) as envs:
        envs.reset(seed=0)
        for wrong in (np.zeros(3), np.zeros((3, 3)), np.zeros((2, 4))):
            with pytest.raises(ValueError, match=r"Expected \(2, 3\)"):
                envs.step(wrong)


def test_wrong_use_of_a_batch() -> None:
    with pytest.raises(ValueError, match="num_threads must be at least 1"):
        ludus.make_vec("Hopper-v5", 2, num_threads=0)
    with pytest.raises(ValueError, match="num_envs must be at least 1"):
        HopperEnv.vector(0)
    envs = ludus.make_vec("Hopper-v5", 2, autoreset_mode="Disabled", max_episode_steps=1)
    with pytest.raises(ResetNeeded):
        envs.step(np.zeros((2, 3)))
    with pytest.raises(ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, False])})
    envs.reset(seed=0)
    envs.step(np.zeros((2, 3)))
    with pytest.raises(EpisodeOver):
        envs.step(np.zeros((2, 3)))
    envs.close()
    with pytest.raises(ClosedEnvironmentError):
        envs.reset()
