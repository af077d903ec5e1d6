"""Pictures of a simulation, drawn off screen."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.envs.mujoco.engine import import_mujoco
from ludus.envs.mujoco.viewers import DEFAULT_SIZE, OffScreenViewer, WindowViewer, open_context

__all__ = ["DEFAULT_SIZE", "RENDER_MODES", "MujocoRenderer", "open_context"]

RENDER_MODES = ["human", "rgb_array", "depth_array", "rgbd_tuple"]


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
        self.viewer: OffScreenViewer | WindowViewer | None = None
        self._viewers: dict[str, OffScreenViewer | WindowViewer] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "viewer": None, "_viewers": {}}

    def render(self, render_mode: str | None) -> Any:
        """Return the picture, the depths or both, as the mode says; show it for ``"human"``.

        Raises:
            DependencyNotInstalled: No OpenGL backend works here, or a window is asked for without
                pygame.
            ValueError: The mode is unknown.
        """
        viewer = self._get_viewer(render_mode)
        if isinstance(viewer, WindowViewer):
            return viewer.render(self.camera_id)
        return viewer.render(render_mode, self.camera_id)

    def _get_viewer(self, render_mode: str | None) -> OffScreenViewer | WindowViewer:
        """Return the viewer for a mode, built when first asked for; :attr:`viewer` is the last."""
        if render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode must be one of {RENDER_MODES}, got {render_mode!r}.")
        kind = "human" if render_mode == "human" else "array"
        self.viewer = self._viewers.get(kind) or self._new_viewer(kind)
        self._viewers[kind] = self.viewer
        return self.viewer

    def _new_viewer(self, kind: str) -> OffScreenViewer | WindowViewer:
        given = self.model, self.data, self.width, self.height, self.max_geom, self.visual_options
        viewer: OffScreenViewer | WindowViewer = (
            WindowViewer(*given, render_fps=self.render_fps)
            if kind == "human"
            else OffScreenViewer(*given)
        )
        for name, value in (self.default_cam_config or {}).items():
            if isinstance(value, np.ndarray):
                getattr(viewer.cam, name)[:] = value
            else:
                setattr(viewer.cam, name, value)
        return viewer

    def close(self) -> None:
        """Free the contexts and close the window; the next picture takes them anew."""
        for viewer in self._viewers.values():
            viewer.close()
        self.viewer, self._viewers = None, {}
