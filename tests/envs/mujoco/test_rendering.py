"""Pictures of robots, with what there is to draw them."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import ludus
from tests.envs.mujoco.support import robot, why_no_picture

SMALL = {"width": 40, "height": 30}
DRAW = """
import sys
for name in sys.argv[1:]:
    sys.modules[name] = None
import ludus
from ludus.errors import Error
env = ludus.make("Reacher-v5", render_mode="rgb_array", width=40, height=30)
env.reset(seed=0)
try:
    print(env.render().std() > 10)
except Error as problem:
    print(type(problem).__name__, problem)
env.close()
"""


@pytest.fixture
def opengl() -> None:
    """Skip where nothing can draw."""
    if reason := why_no_picture():
        pytest.skip(reason)


def drawn(*missing: str, **environment: str) -> str:
    """Draw in a process of its own, without some modules, and return what it says."""
    kept = {name: value for name, value in os.environ.items() if name != "MUJOCO_GL"}
    done = subprocess.run(
        [sys.executable, "-c", DRAW, *missing],
        capture_output=True,
        text=True,
        timeout=60,
        env={**kept, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.usefixtures("opengl")
def test_modes() -> None:
    pictures = {}
    for mode in ("rgb_array", "depth_array", "rgbd_tuple"):
        env = robot("Reacher-v5", render_mode=mode, **SMALL)
        env.reset(seed=0)
        pictures[mode] = env.render()
        env.close()
    colours, depths = pictures["rgb_array"], pictures["depth_array"]
    assert (colours.shape, colours.dtype) == ((30, 40, 3), np.uint8)
    assert (depths.shape, depths.dtype) == ((30, 40), np.float32)
    assert colours.std() > 10
    assert 0 < depths.min() < depths.max() <= 1
    np.testing.assert_array_equal(pictures["rgbd_tuple"][0], colours)
    np.testing.assert_array_equal(pictures["rgbd_tuple"][1], depths)


@pytest.mark.usefixtures("opengl")
def test_cameras_and_free_view_differ() -> None:
    views = []
    for options in ({}, {"camera_name": "track"}):
        env = robot("Hopper-v5", render_mode="rgb_array", **SMALL, **options)
        env.reset(seed=0)
        views.append(env.render())
        env.close()
    assert (views[0] != views[1]).any()


@pytest.mark.usefixtures("opengl")
def test_batch_draws_what_single_robots_draw() -> None:
    options = {"render_mode": "rgb_array", **SMALL}
    with ludus.make_vec("InvertedPendulum-v5", 2, **options) as envs:
        envs.reset(seed=3)
        for _ in range(5):
            envs.step(np.ones((2, 1)))
        frames = envs.render()
    for number, frame in enumerate(frames):
        single = ludus.make("InvertedPendulum-v5", **options)
        single.reset(seed=3 + number)
        for _ in range(5):
            single.step(np.ones(1, np.float32))
        # The batch draws the present state, a single robot the engine's last look at it.
        assert np.abs(frame.astype(int) - single.render()).mean() < 6
        single.close()
    assert (frames[0] != frames[1]).any()


@pytest.mark.usefixtures("opengl")
def test_osmesa_draws_where_egl_is_missing() -> None:
    if drawn(MUJOCO_GL="osmesa") != "True":
        pytest.skip("no OSMesa here")
    assert drawn("mujoco.egl") == "True"


def test_nothing_to_draw_with() -> None:
    said = drawn("mujoco.egl", "mujoco.osmesa")
    assert said.startswith("DependencyNotInstalled No OpenGL backend works here")
    assert "libegl1" in said


def test_backend_that_cannot_work_here() -> None:
    said = drawn("glfw", MUJOCO_GL="glfw")
    assert said.startswith("DependencyNotInstalled")
    assert "MUJOCO_GL" in said


def test_without_render_mode_nothing_is_drawn() -> None:
    env = robot("Reacher-v5")
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without specifying any render mode"):
        assert env.render() is None
