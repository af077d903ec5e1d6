"""Pictures of a simulation, drawn off screen."""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import sys
import weakref
from typing import Any

import numpy as np

from ludus.envs.mujoco.engine import import_mujoco
from ludus.envs.screen import Screen, import_pygame
from ludus.errors import DependencyNotInstalled

__all__ = ["Painter", "camera_number", "open_context"]

_BACKENDS = ("egl", "osmesa")


def open_context(model: Any, width: int, height: int) -> tuple[Any, Any]:
    """Open an OpenGL context that needs no display, and load the model's pictures into it.

    The environment variable ``MUJOCO_GL`` names the backend; without it EGL is tried, then OSMesa.

    Raises:
        DependencyNotInstalled: No backend works here; the message says what each one lacks.
    """
    mujoco, chosen = import_mujoco(), os.environ.get("MUJOCO_GL")
    problems: list[str] = []
    for backend in _BACKENDS if chosen is None else (chosen,):
        if os.environ.get("PYOPENGL_PLATFORM") not in (None, backend):
            _forget_platform()
        try:
            gl = _open(importlib.import_module(f"mujoco.{backend}"), width, height)
            return gl, mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        except Exception as problem:
            problems.append(f"{backend}: {problem!r}")
            _forget_platform()
    raise DependencyNotInstalled(
        f"No OpenGL backend works here ({'; '.join(problems)}). Install the system's libegl1 or "
        "libosmesa6 and `pip install 'ludus[mujoco]'`, and leave MUJOCO_GL unset or set it to egl "
        "or osmesa."
    )


def _open(backend: Any, width: int, height: int) -> Any:
    """Open a context, and once more if the display that the backend keeps was closed by others."""
    try:
        context = backend.GLContext(width, height)
    except Exception:
        # A window of SDL's ends the display of the whole process when it is closed.
        if getattr(backend, "EGL_DISPLAY", None) is None:
            raise
        backend.EGL_DISPLAY = None
        context = backend.GLContext(width, height)
    context.make_current()
    return context


def _close_at_exit(painter: weakref.ref[Painter]) -> None:
    """Close a painter that nobody closed, before the driver is gone."""
    alive = painter()
    if alive is not None:
        alive.close()


def _forget_platform() -> None:
    """Let the next backend choose: PyOpenGL binds to a platform when it is first imported."""
    os.environ.pop("PYOPENGL_PLATFORM", None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "OpenGL"]:
        sys.modules.pop(name)


def camera_number(model: Any, camera_id: int | None, camera_name: str | None) -> int:
    """Return the number of the chosen camera, -1 for the free one.

    Raises:
        ValueError: Both a number and a name are given.
    """
    if camera_id is not None and camera_name is not None:
        raise ValueError(
            "Both `camera_id` and `camera_name` cannot be specified at the same time; got "
            f"{camera_id!r} and {camera_name!r}."
        )
    if camera_id is not None:
        return camera_id
    if camera_name is None:
        return -1
    mujoco = import_mujoco()
    return int(mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, camera_name))


class Painter:
    """Draws one simulation; close it to free what the driver holds.

    Args:
        env: The environment to draw.

    Raises:
        DependencyNotInstalled: No OpenGL backend works here, or a window is asked for without
            pygame.
    """

    def __init__(self, env: Any) -> None:
        self._mujoco = mujoco = import_mujoco()
        self._env = env
        self._size = env.width, env.height
        self._screen: Screen | None = None
        if env.render_mode == "human":
            self._screen = Screen(*self._size, "human", env.metadata["render_fps"])
        self._gl, self._context = open_context(env.model, *self._size)
        self._scene = mujoco.MjvScene(env.model, env.max_geom)
        self._options, self._nudge = mujoco.MjvOption(), mujoco.MjvPerturb()
        for flag, value in (env.visual_options or {}).items():
            self._options.flags[flag] = value
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._camera = self._new_camera()
        # Registered after the driver's own clean-up, and so called before it.
        self._at_exit = functools.partial(_close_at_exit, weakref.ref(self))
        atexit.register(self._at_exit)

    def _new_camera(self) -> Any:
        mujoco, env = self._mujoco, self._env
        camera = mujoco.MjvCamera()
        number = camera_number(env.model, env.camera_id, env.camera_name)
        kinds = mujoco.mjtCamera
        camera.type = kinds.mjCAMERA_FREE if number == -1 else kinds.mjCAMERA_FIXED
        camera.fixedcamid = number
        camera.lookat[:] = np.median(env.data.geom_xpos, axis=0)
        camera.distance = env.model.stat.extent
        for name, value in (env.default_camera_config or {}).items():
            if isinstance(value, np.ndarray):
                getattr(camera, name)[:] = value
            else:
                setattr(camera, name, value)
        return camera

    def paint(self) -> Any:
        """Return the picture, the depths or both, as the mode says; show it for human."""
        mujoco, env, (width, height) = self._mujoco, self._env, self._size
        self._gl.make_current()
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(
            env.model, env.data, self._options, self._nudge, self._camera, everything, self._scene
        )
        frame = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(frame, self._scene, self._context)
        colours = np.zeros((height, width, 3), np.uint8)
        depths = np.zeros((height, width), np.float32)
        mujoco.mjr_readPixels(colours.reshape(-1), depths.reshape(-1), frame, self._context)
        # The driver's first row is the lowest.
        colours, depths = colours[::-1], depths[::-1]
        if self._screen is not None:
            surface = import_pygame().surfarray.make_surface(colours.transpose(1, 0, 2))
            return self._screen.show_upright(surface)
        if env.render_mode == "rgbd_tuple":
            return colours, depths
        return depths if env.render_mode == "depth_array" else colours

    def close(self) -> None:
        """Free the context and close the window."""
        atexit.unregister(self._at_exit)
        self._gl.make_current()
        self._context.free()
        self._gl.free()
        if self._screen is not None:
            self._screen.close()
