"""The base of environments in MuJoCo: the simulation, resets, states and pictures."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ludus.core.env import Env
from ludus.core.finite import check_finite
from ludus.core.types import State
from ludus.envs.mujoco.arithmetic import Array
from ludus.envs.mujoco.engine import import_mujoco
from ludus.envs.mujoco.models import expand_model_path, load_model
from ludus.envs.mujoco.options import check_whole
from ludus.envs.mujoco.rendering import DEFAULT_SIZE, RENDER_MODES, MujocoRenderer
from ludus.envs.screen import warn_no_render_mode
from ludus.errors import StateError
from ludus.spaces import Box, Space

__all__ = ["DEFAULT_SIZE", "MujocoEnv", "control_mismatch", "expand_model_path"]

# The engine leaves these as of the last substep, so they do not follow from the physics state.
_DERIVED = (
    "xpos",
    "xipos",
    "site_xpos",
    "cinert",
    "cvel",
    "cfrc_ext",
    "qfrc_actuator",
    "qfrc_constraint",
    "ten_length",
    "ten_velocity",
)


class MujocoEnv(Env[Array, Any]):
    """A robot of one's own in MuJoCo, advanced by ``frame_skip`` steps of the engine at a time.

    Subclasses implement :meth:`step`, which calls :meth:`do_simulation`, and :meth:`reset_model`.
    To make states saveable, they name in :attr:`state_fields` the attributes that change during an
    episode besides the simulation, an empty tuple if none do.

    Args:
        model_path: The path of an MJCF file, or a built-in robot by Gymnasium's file name.
        frame_skip: Steps of the engine for each step of the environment.
        observation_space: What observations look like; ``None`` if the subclass will say.
        render_mode: One of the modes in :attr:`metadata`, or ``None``.
        width: Width of pictures.
        height: Height of pictures.
        camera_id: Camera by number.
        camera_name: Camera by name; not together with ``camera_id``.
        default_camera_config: Fields of the free camera, used when no camera is chosen.
        max_geom: How many geoms a picture may show.
        visual_options: Flags of the engine's visualiser, by number.

    Raises:
        DependencyNotInstalled: mujoco is missing.
        OSError: There is no such file.
        TypeError: An option has the wrong type.
        ValueError: A number is out of range, a mode is unknown, two cameras are given, or
            ``metadata`` states another ``render_fps`` than the model and ``frame_skip`` give.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": RENDER_MODES}  # type: ignore[misc]

    def __init__(
        self,
        model_path: str,
        frame_skip: int,
        observation_space: Space[Any] | None = None,
        render_mode: str | None = None,
        width: int = DEFAULT_SIZE,
        height: int = DEFAULT_SIZE,
        camera_id: int | None = None,
        camera_name: str | None = None,
        default_camera_config: dict[str, Any] | None = None,
        max_geom: int = 1000,
        visual_options: dict[int, bool] | None = None,
    ) -> None:
        self._mujoco = import_mujoco()
        check_whole(frame_skip=frame_skip, width=width, height=height, max_geom=max_geom)
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode must be one of {RENDER_MODES}, got {render_mode!r}.")
        self.fullpath = expand_model_path(model_path)
        self.width, self.height = width, height
        self.model, self.data = self._initialize_simulation()
        self.init_qpos: Array = self.data.qpos.copy()
        self.init_qvel: Array = self.data.qvel.copy()
        self.frame_skip = frame_skip
        self._set_frame_rate()
        if observation_space is not None:
            self.observation_space = observation_space
        self._set_action_space()
        self.render_mode = render_mode
        self.camera_id, self.camera_name = camera_id, camera_name
        self.mujoco_renderer = MujocoRenderer(
            self.model,
            self.data,
            default_camera_config,
            width,
            height,
            max_geom,
            camera_id,
            camera_name,
            visual_options,
            render_fps=self.metadata["render_fps"],
        )

    def _initialize_simulation(self) -> tuple[Any, Any]:
        """Return the model and its data; override to build a model in another way."""
        model = load_model(self.fullpath)
        shown = model.vis.global_
        shown.offwidth = max(shown.offwidth, self.width)
        shown.offheight = max(shown.offheight, self.height)
        return model, self._mujoco.MjData(model)

    def _set_frame_rate(self) -> None:
        """Put the frame rate, which the model and ``frame_skip`` decide, into the metadata."""
        rate = round(1.0 / self.dt)
        stated = self.metadata.get("render_fps", rate)
        if stated != rate:
            raise ValueError(
                f"{type(self).__name__}.metadata says render_fps={stated!r}, but a step of "
                f"{self.dt:g} s makes {rate} frames a second: state {rate}, leave it out, or "
                "change frame_skip."
            )
        # An instance's own dict: other instances of the class may have another rate.
        self.metadata = {**self.metadata, "render_fps": rate}  # type: ignore[misc]

    def _set_action_space(self) -> Any:
        """Take the actuators' ranges for the action space; override for other actions."""
        low, high = self.model.actuator_ctrlrange.astype(np.float32).T
        self.action_space = Box(low, high, dtype=np.float32)
        return self.action_space

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_mujoco"}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        self._mujoco = import_mujoco()

    @property
    def dt(self) -> float:
        """Simulated seconds in a step."""
        return float(self.model.opt.timestep * self.frame_skip)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Apply the action; implemented by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not implement step()")

    def reset_model(self) -> Any:
        """Put the robot where an episode begins, and return the observation."""
        raise NotImplementedError(f"{type(self).__name__} does not implement reset_model()")

    def _get_reset_info(self) -> dict[str, Any]:
        """Return the info of a reset."""
        return {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Put the robot near its first pose."""
        super().reset(seed=seed)
        self._mujoco.mj_resetData(self.model, self.data)
        observation, info = self.reset_model(), self._get_reset_info()
        if self.render_mode == "human":
            self.render()
        return observation, info

    def do_simulation(self, ctrl: Any, n_frames: int) -> None:
        """Apply a control for ``n_frames`` steps of the engine.

        Raises:
            InvalidAction: A number is NaN or infinite.
            ValueError: There is not one number for each actuator.
        """
        if np.shape(ctrl) != (self.model.nu,):
            raise control_mismatch((self.model.nu,), ctrl)
        check_finite(np.asarray(ctrl), self.action_space)
        self._step_mujoco_simulation(ctrl, n_frames)

    def _step_mujoco_simulation(self, ctrl: Any, n_frames: int) -> None:
        """Advance the engine; override to set controls in another way."""
        self.data.ctrl[:] = ctrl
        self._mujoco.mj_step(self.model, self.data, nstep=n_frames)
        # The engine computes contact forces only on demand.
        self._mujoco.mj_rnePostConstraint(self.model, self.data)

    def set_state(self, state: Any = None, qvel: Any = None, *, qpos: Any = None) -> None:
        """Continue from :meth:`get_state`; with two arrays, set positions and velocities.

        Raises:
            StateError: The state belongs to another class or model.
            ValueError: The arrays do not have the model's shapes.
        """
        if qvel is None:
            super().set_state(state)
            return
        given, places, speeds = state if qpos is None else qpos, self.data.qpos, self.data.qvel
        if np.shape(given) != places.shape or np.shape(qvel) != speeds.shape:
            raise ValueError(
                f"Expected positions of shape {places.shape} and velocities of shape "
                f"{speeds.shape}, got {np.shape(given)} and {np.shape(qvel)}."
            )
        places[:], speeds[:] = given, qvel
        self._mujoco.mj_forward(self.model, self.data)

    def render(self) -> Any:
        """Return a picture, depths or both, as :attr:`render_mode` says; ``None`` for human.

        Raises:
            DependencyNotInstalled: No OpenGL backend works here.
        """
        if self.render_mode is None:
            warn_no_render_mode(self)
            return None
        return self.mujoco_renderer.render(self.render_mode)

    def close(self) -> None:
        """Free what drawing took."""
        self.mujoco_renderer.close()

    def state_vector(self) -> Array:
        """Return positions and velocities in one array."""
        return np.concatenate([self.data.qpos, self.data.qvel])

    def get_body_com(self, body_name: str) -> Array:
        """Return where the frame of a body is."""
        place: Array = self.data.body(body_name).xpos
        return place

    def _save_state(self) -> State:
        kind = self._mujoco.mjtState.mjSTATE_INTEGRATION
        physics = np.empty(self._mujoco.mj_stateSize(self.model, kind))
        self._mujoco.mj_getState(self.model, self.data, physics, kind)
        derived = {name: getattr(self.data, name).copy() for name in _DERIVED}
        return {**super()._save_state(), "physics": physics, "derived": derived}

    def _load_state(self, fields: State) -> None:
        own = {name: fields[name] for name in fields.keys() - {"physics", "derived"}}
        super()._load_state(own)
        self.load_physics(np.asarray(fields["physics"], dtype=np.float64))
        for name in _DERIVED:
            getattr(self.data, name)[:] = fields["derived"][name]

    def load_physics(self, physics: Array) -> None:
        """Take over a state as the engine writes it, and compute what follows from it.

        Raises:
            StateError: It has not as many numbers as this model's.
        """
        mujoco, model, data = self._mujoco, self.model, self.data
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        size = mujoco.mj_stateSize(model, kind)
        if physics.shape != (size,):
            raise StateError(
                f"The state has {physics.size} numbers, this model {size}. Was it taken from "
                "another model or another version of mujoco?"
            )
        mujoco.mj_setState(model, data, physics, kind)
        mujoco.mj_forward(model, data)
        # A forward pass leaves its own warm start behind.
        mujoco.mj_setState(model, data, physics, kind)


def control_mismatch(expected: tuple[int, ...], ctrl: Any) -> ValueError:
    """Return the error about a control that has not one number for each actuator."""
    return ValueError(
        f"Action dimension mismatch. Expected {expected}, found {np.shape(ctrl)}: give one number "
        "for each actuator."
    )
