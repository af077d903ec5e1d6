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

from ludus.distribution import pip_install
from ludus.envs.mujoco.engine import import_mujoco
from ludus.envs.screen import Screen, import_pygame
from ludus.errors import DependencyNotInstalled

__all__ = ["DEFAULT_SIZE", "RENDER_MODES", "MujocoRenderer", "open_context"]

RENDER_MODES = ["human", "rgb_array", "depth_array", "rgbd_tuple"]
DEFAULT_SIZE = 480

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
        f"libosmesa6 and `{pip_install('mujoco')}`, and leave MUJOCO_GL unset or set it to egl "
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


def _close_at_exit(canvas: weakref.ref[_Canvas]) -> None:
    """Close a canvas that nobody closed, before the driver is gone."""
    alive = canvas()
    if alive is not None:
        alive.close()


def _forget_platform() -> None:
    """Let the next backend choose: PyOpenGL binds to a platform when it is first imported."""
    os.environ.pop("PYOPENGL_PLATFORM", None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "OpenGL"]:
        sys.modules.pop(name)


def _camera_number(model: Any, camera_id: int | None, camera_name: str | None) -> int:
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


class MujocoRenderer:
    """Draws one simulation; what the driver holds is taken with the first picture.

    Args:
        model: The model.
        data: Its simulation.
        default_cam_config: Fields of the free camera, used when no camera is chosen.
        width: Width of pictures.
        height: Height of pictures.
        max_geom: How many geoms a picture may show.
        camera_id: Camera by number.
        camera_name: Camera by name; not together with ``camera_id``.
        visual_options: Flags of the engine's visualiser, by number.
        render_fps: How many pictures a second a window shows at most.

    Raises:
        ValueError: Two cameras are given.
    """

    _canvas: _Canvas | None = None
    _screen: Screen | None = None

    def __init__(
        self,
        model: Any,
        data: Any,
        default_cam_config: dict[str, Any] | None = None,
        width: int | None = None,
        height: int | None = None,
        max_geom: int = 1000,
        camera_id: int | None = None,
        camera_name: str | None = None,
        visual_options: dict[int, bool] | None = None,
        *,
        render_fps: int = 60,
    ) -> None:
        self.model, self.data = model, data
        self.default_cam_config = default_cam_config
        self.width, self.height = width or DEFAULT_SIZE, height or DEFAULT_SIZE
        self.max_geom, self.visual_options = max_geom, visual_options
        self.camera_id = _camera_number(model, camera_id, camera_name)
        self.render_fps = render_fps

    def __getstate__(self) -> dict[str, Any]:
        own = ("_canvas", "_screen")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def render(self, render_mode: str | None) -> Any:
        """Return the picture, the depths or both, as the mode says; show it for ``"human"``.

        Raises:
            DependencyNotInstalled: No OpenGL backend works here, or a window is asked for without
                pygame.
            ValueError: The mode is unknown.
        """
        if render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode must be one of {RENDER_MODES}, got {render_mode!r}.")
        if render_mode == "human" and self._screen is None:
            self._screen = Screen(self.width, self.height, "human", self.render_fps)
        if self._canvas is None:
            self._canvas = _Canvas(self)
        colours, depths = self._canvas.paint(
            colours=render_mode != "depth_array",
            depths=render_mode in ("depth_array", "rgbd_tuple"),
        )
        if render_mode == "human" and self._screen is not None:
            surface = import_pygame().surfarray.make_surface(colours.transpose(1, 0, 2))
            return self._screen.show_upright(surface)
        if render_mode == "rgbd_tuple":
            return colours, depths
        return depths if render_mode == "depth_array" else colours

    def close(self) -> None:
        """Free the context and close the window; the next picture takes them anew."""
        if self._canvas is not None:
            self._canvas.close()
        if self._screen is not None:
            self._screen.close()
        self._canvas = self._screen = None


class _Canvas:
    """An off-screen context of OpenGL with the scene of one simulation."""

    def __init__(self, shown: MujocoRenderer) -> None:
        self._mujoco = mujoco = import_mujoco()
        self._model, self._data = shown.model, shown.data
        self._size = shown.width, shown.height
        self._gl, self._context = open_context(shown.model, *self._size)
        self._scene = mujoco.MjvScene(shown.model, shown.max_geom)
        self._options, self._nudge = mujoco.MjvOption(), mujoco.MjvPerturb()
        for flag, value in (shown.visual_options or {}).items():
            self._options.flags[flag] = value
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._camera = self._new_camera(shown)
        # Registered after the driver's own clean-up, and so called before it.
        self._at_exit = functools.partial(_close_at_exit, weakref.ref(self))
        atexit.register(self._at_exit)

    def _new_camera(self, shown: MujocoRenderer) -> Any:
        mujoco, number = self._mujoco, shown.camera_id
        camera, kinds = mujoco.MjvCamera(), mujoco.mjtCamera
        camera.type = kinds.mjCAMERA_FREE if number == -1 else kinds.mjCAMERA_FIXED
        camera.fixedcamid = number
        camera.lookat[:] = np.median(self._data.geom_xpos, axis=0)
        camera.distance = self._model.stat.extent
        for name, value in (shown.default_cam_config or {}).items():
            if isinstance(value, np.ndarray):
                getattr(camera, name)[:] = value
            else:
                setattr(camera, name, value)
        return camera

    def paint(self, *, colours: bool, depths: bool) -> tuple[Any, Any]:
        """Return colours and depths, ``None`` in place of what is not asked for."""
        mujoco, (width, height) = self._mujoco, self._size
        self._gl.make_current()
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(
            self._model,
            self._data,
            self._options,
            self._nudge,
            self._camera,
            everything,
            self._scene,
        )
        frame = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(frame, self._scene, self._context)
        rgb = np.zeros(height * width * 3, np.uint8) if colours else None
        depth = np.zeros(height * width, np.float32) if depths else None
        mujoco.mjr_readPixels(rgb, depth, frame, self._context)
        # The driver's first row is the lowest.
        return (
            None if rgb is None else rgb.reshape(height, width, 3)[::-1],
            None if depth is None else depth.reshape(height, width)[::-1],
        )

    def close(self) -> None:
        """Free the context."""
        atexit.unregister(self._at_exit)
        self._gl.make_current()
        self._context.free()
        self._gl.free()
