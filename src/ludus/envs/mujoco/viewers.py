"""Viewers: an OpenGL context with the scene of one simulation, on screen or off."""

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

__all__ = ["DEFAULT_SIZE", "BaseRender", "OffScreenViewer", "WindowViewer", "open_context"]

DEFAULT_SIZE = 480

_BACKENDS = ("egl", "osmesa")
# What mjv_initGeom takes, and what a marker that does not say so has.
_MARKER: dict[str, Any] = {
    "size": np.full(3, 0.01),
    "pos": np.zeros(3),
    "mat": np.eye(3).ravel(),
    "rgba": np.ones(4),
}


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


def _close_at_exit(viewer: weakref.ref[BaseRender]) -> None:
    """Close a viewer that nobody closed, before the driver is gone."""
    alive = viewer()
    if alive is not None:
        alive.close()


def _forget_platform() -> None:
    """Let the next backend choose: PyOpenGL binds to a platform when it is first imported."""
    os.environ.pop("PYOPENGL_PLATFORM", None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "OpenGL"]:
        sys.modules.pop(name)


class BaseRender:
    """The scene of a simulation, its camera and its options, in an OpenGL context.

    ``cam``, ``vopt``, ``pert`` and ``scn`` are the engine's objects, free to be changed; ``con`` is
    its rendering context and ``viewport`` the rectangle that is drawn.

    Args:
        model: The model.
        data: Its simulation.
        width: Width of pictures.
        height: Height of pictures.
        max_geom: How many geoms a picture may show.
        visual_options: Flags of the engine's visualiser, by number.

    Raises:
        DependencyNotInstalled: No OpenGL backend works here.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        width: int,
        height: int,
        max_geom: int = 1000,
        visual_options: dict[int, bool] | None = None,
    ) -> None:
        self._mujoco = mujoco = import_mujoco()
        self.model, self.data = model, data
        self._markers: list[dict[str, Any]] = []
        self._overlays: dict[int, list[str]] = {}
        self.opengl_context, self.con = open_context(model, width, height)
        self.viewport = mujoco.MjrRect(0, 0, width, height)
        self.scn = mujoco.MjvScene(model, max_geom)
        self.cam, self.vopt, self.pert = mujoco.MjvCamera(), mujoco.MjvOption(), mujoco.MjvPerturb()
        for flag, value in (visual_options or {}).items():
            self.vopt.flags[flag] = value
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self.con)
        self.cam.type, self.cam.fixedcamid = mujoco.mjtCamera.mjCAMERA_FREE, -1
        self.cam.lookat[:] = np.median(data.geom_xpos, axis=0)
        self.cam.distance = model.stat.extent
        # Registered after the driver's own clean-up, and so called before it.
        self._at_exit = functools.partial(_close_at_exit, weakref.ref(self))
        atexit.register(self._at_exit)

    def make_context_current(self) -> None:
        """Let the driver draw into this viewer's context."""
        self.opengl_context.make_current()

    def add_marker(self, **marker_params: Any) -> None:
        """Show a geom in the next picture: ``pos``, ``size``, ``mat``, ``rgba`` and ``type``."""
        self._markers.append(marker_params)

    def add_overlay(self, gridpos: int, text1: str, text2: str) -> None:
        """Add a line of two texts at a place of ``mujoco.mjtGridPos``, in all pictures."""
        lines = self._overlays.setdefault(gridpos, ["", ""])
        lines[0] += f"{text1}\n"
        lines[1] += f"{text2}\n"

    def paint(
        self,
        camera_id: int | None = None,
        *,
        segmentation: bool = False,
        colours: bool = True,
        depths: bool = True,
    ) -> tuple[Any, Any]:
        """Draw the simulation and return colours and depths, ``None`` for what is not wanted.

        Args:
            camera_id: Camera by number, -1 for the free one; ``None`` for the one in ``cam``.
            segmentation: Return kind and number of the shown object, -1 for none, as colours.
            colours: Whether colours are wanted.
            depths: Whether depths are wanted.

        Raises:
            RuntimeError: There are more markers than ``max_geom`` allows.
        """
        mujoco, viewport = self._mujoco, self.viewport
        self.make_context_current()
        if camera_id is not None:
            free, fixed = mujoco.mjtCamera.mjCAMERA_FREE, mujoco.mjtCamera.mjCAMERA_FIXED
            self.cam.type = free if camera_id == -1 else fixed
            self.cam.fixedcamid = camera_id
        everything = mujoco.mjtCatBit.mjCAT_ALL
        scene = self.model, self.data, self.vopt, self.pert, self.cam, everything, self.scn
        mujoco.mjv_updateScene(*scene)
        for marker in self._markers:
            self._place(marker)
        self._markers.clear()
        for flag in (mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR):
            self.scn.flags[flag] = segmentation
        mujoco.mjr_render(viewport, self.scn, self.con)
        for gridpos, texts in self._overlays.items():
            font, lines = mujoco.mjtFontScale.mjFONTSCALE_150, [text.encode() for text in texts]
            mujoco.mjr_overlay(font, gridpos, viewport, *lines, self.con)
        height, width = viewport.height, viewport.width
        rgb = np.zeros(height * width * 3, np.uint8) if colours else None
        depth = np.zeros(height * width, np.float32) if depths else None
        mujoco.mjr_readPixels(rgb, depth, viewport, self.con)
        # The driver's first row is the lowest.
        shown = None if rgb is None else rgb.reshape(height, width, 3)[::-1]
        return (
            self._objects(shown) if segmentation and shown is not None else shown,
            None if depth is None else depth.reshape(height, width)[::-1],
        )

    def _place(self, marker: dict[str, Any]) -> None:
        scene, mujoco = self.scn, self._mujoco
        if scene.ngeom >= scene.maxgeom:
            raise RuntimeError(
                f"No geom is left for a marker: the scene holds {scene.maxgeom}; ask for more with "
                "max_geom."
            )
        kind = marker.get("type", mujoco.mjtGeom.mjGEOM_SPHERE)
        given = {
            name: np.asarray(marker.get(name, default), np.float64).ravel()
            for name, default in _MARKER.items()
        }
        given["rgba"] = given["rgba"].astype(np.float32)
        mujoco.mjv_initGeom(scene.geoms[scene.ngeom], kind, **given)
        scene.ngeom += 1

    def _objects(self, colours: Any) -> Any:
        """Return the kind and the number of the object behind each pixel."""
        count = self.scn.ngeom + 1
        numbers = colours.astype(np.int64) @ (1, 1 << 8, 1 << 16)
        numbers[numbers >= count] = 0
        objects = np.full((count, 2), -1, np.int32)
        for geom in self.scn.geoms[: self.scn.ngeom]:
            if geom.segid != -1:
                objects[geom.segid + 1] = geom.objtype, geom.objid
        return objects[numbers]

    def free(self) -> None:
        """Give back what the driver holds; a second call does nothing."""
        if self.opengl_context is None:
            return
        atexit.unregister(self._at_exit)
        self.make_context_current()
        self.con.free()
        self.opengl_context.free()
        self.opengl_context = None

    def close(self) -> None:
        """Free the context."""
        self.free()


class OffScreenViewer(BaseRender):
    """Returns pictures as arrays."""

    def render(
        self,
        render_mode: str | None = "rgb_array",
        camera_id: int | None = None,
        segmentation: bool = False,
    ) -> Any:
        """Return colours for ``rgb_array``, depths for ``depth_array``, both for ``rgbd_tuple``.

        Args:
            render_mode: The mode.
            camera_id: Camera by number, -1 for the free one; ``None`` for the one in ``cam``.
            segmentation: Return objects instead of colours; see :meth:`paint`.
        """
        colours, depths = self.paint(
            camera_id,
            segmentation=segmentation,
            colours=render_mode != "depth_array",
            depths=render_mode != "rgb_array",
        )
        if render_mode == "rgb_array":
            return colours
        return depths if render_mode == "depth_array" else (colours, depths)


class WindowViewer(BaseRender):
    """Shows pictures in a window.

    Args:
        model: The model.
        data: Its simulation.
        width: Width of the window.
        height: Height of the window.
        max_geom: How many geoms a picture may show.
        visual_options: Flags of the engine's visualiser, by number.
        render_fps: How many pictures a second are shown at most.

    Raises:
        DependencyNotInstalled: No OpenGL backend works here, or pygame is missing.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        width: int | None = None,
        height: int | None = None,
        max_geom: int = 1000,
        visual_options: dict[int, bool] | None = None,
        *,
        render_fps: int = 60,
    ) -> None:
        size = width or DEFAULT_SIZE, height or DEFAULT_SIZE
        self._screen = Screen(*size, "human", render_fps)
        super().__init__(model, data, *size, max_geom, visual_options)

    def render(self, camera_id: int | None = None) -> None:
        """Show the simulation."""
        colours, _ = self.paint(camera_id, depths=False)
        surface = import_pygame().surfarray.make_surface(colours.transpose(1, 0, 2))
        self._screen.show_upright(surface)

    def close(self) -> None:
        """Free the context and close the window."""
        super().close()
        self._screen.close()
