"""What all MuJoCo environments share: the simulation, resets, states and pictures."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ludus.core.env import Env
from ludus.core.types import State
from ludus.core.vector_env import AutoresetMode
from ludus.envs.mujoco.arithmetic import Array, Fields
from ludus.envs.mujoco.engine import import_mujoco
from ludus.envs.mujoco.models import load_model
from ludus.envs.mujoco.options import check_options, check_whole
from ludus.envs.mujoco.rendering import Painter, camera_number
from ludus.envs.screen import warn_no_render_mode
from ludus.errors import StateError
from ludus.spaces import Box

__all__ = ["RENDER_MODES", "MujocoEnv", "Outcome"]

Outcome = tuple[Any, Any, dict[str, Any]]
RENDER_MODES = ["human", "rgb_array", "depth_array", "rgbd_tuple"]

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
    """A robot in MuJoCo, advanced by ``frame_skip`` steps of the engine at a time.

    Subclasses implement :meth:`features`, :meth:`outcome` and :meth:`draw_state`, and may give
    :meth:`before`, :meth:`reset_info` and :meth:`prepare`. These are the rules of the task, written
    once for one robot and for many: they read :data:`Fields`, whose arrays have an axis more where
    there are many robots, and so they index from the front and reduce over the first axis. A
    subclass's constructor ends with :meth:`_ready`.

    Args:
        xml_file: A built-in robot by Gymnasium's file name, or the path of an MJCF file.
        frame_skip: Steps of the engine for each step of the environment.
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
        ValueError: A number is out of range, a mode is unknown, or two cameras are given.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": RENDER_MODES}  # type: ignore[misc]
    reads: tuple[str, ...] = ()
    """Which of the engine's fields the rules read, besides qpos, qvel and ctrl."""
    _painter: Painter | None = None

    def __init__(
        self,
        xml_file: str,
        frame_skip: int,
        *,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 480,
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
        self.model = load_model(xml_file)
        shown = self.model.vis.global_
        shown.offwidth, shown.offheight = max(shown.offwidth, width), max(shown.offheight, height)
        self.data = self._mujoco.MjData(self.model)
        self.frame_skip = frame_skip
        self.init_qpos: Array = self.data.qpos.copy()
        self.init_qvel: Array = self.data.qvel.copy()
        low, high = self.model.actuator_ctrlrange.astype(np.float32).T
        self.action_space = Box(low, high, dtype=np.float32)
        self.render_mode = render_mode
        self.width, self.height = width, height
        camera_number(self.model, camera_id, camera_name)
        self.camera_id, self.camera_name = camera_id, camera_name
        self.default_camera_config = default_camera_config
        self.max_geom, self.visual_options = max_geom, visual_options
        self._physics = self.model.opt
        # An instance's own dict: frame_skip and the model decide the rate.
        rate = round(1.0 / self.dt)
        self.metadata = {"render_modes": RENDER_MODES, "render_fps": rate}  # type: ignore[misc]

    def _ready(self) -> None:
        """Finish the construction, once the options of the task are known."""
        check_options(self)
        self._bind()
        self.observation_space = Box(-np.inf, np.inf, self.observe().shape, np.float64)

    def _bind(self) -> None:
        """Keep views of the arrays that every step reads; asking the engine anew is slow."""
        names = ("qpos", "qvel", "ctrl", *self.reads)
        self._fields = Fields(**{name: getattr(self.data, name) for name in names})
        self._physics = self.model.opt
        self.prepare(self._fields)

    def __getstate__(self) -> dict[str, Any]:
        own = ("_mujoco", "_fields", "_painter", "_physics")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        self._mujoco = import_mujoco()
        self._bind()

    @classmethod
    def vector(
        cls,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        num_threads: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Build many robots that are stepped together, in threads.

        Args:
            num_envs: How many.
            max_episode_steps: After how many steps an episode is cut off.
            autoreset_mode: When a finished robot starts its next episode.
            num_threads: How many threads; by default one for each core this process may use.
            **kwargs: The constructor's arguments.
        """
        from ludus.envs.mujoco.vector import MujocoVectorEnv

        return MujocoVectorEnv(
            cls(**kwargs),
            num_envs,
            max_episode_steps=max_episode_steps,
            autoreset_mode=autoreset_mode,
            num_threads=num_threads,
        )

    @property
    def dt(self) -> float:
        """Simulated seconds in a step."""
        return float(self._physics.timestep * self.frame_skip)

    def prepare(self, fields: Fields) -> None:
        """Add to the fields what the rules need; called once, the arrays stay where they are."""

    def features(self, fields: Fields) -> list[Array]:
        """Return the parts of an observation."""
        raise NotImplementedError(f"{type(self).__name__} does not implement features()")

    def draw_state(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw positions and velocities for a new episode."""
        raise NotImplementedError(f"{type(self).__name__} does not implement draw_state()")

    def before(self, fields: Fields, action: Any) -> Any:
        """Return what :meth:`outcome` needs from before the simulation, as a copy."""
        return None

    def outcome(self, fields: Fields, action: Any, before: Any) -> Outcome:
        """Return reward, whether the episode has ended, and info, after the simulation."""
        raise NotImplementedError(f"{type(self).__name__} does not implement outcome()")

    def reset_info(self, fields: Fields) -> dict[str, Any]:
        """Return the info of a reset."""
        return {}

    def observe(self) -> Array:
        """Return a new observation."""
        return np.concatenate(self.features(self._fields))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Put the robot near its first pose."""
        super().reset(seed=seed)
        self._mujoco.mj_resetData(self.model, self.data)
        self._place(*self.draw_state(self.np_random))
        observation, info = self.observe(), self.reset_info(self._fields)
        if self.render_mode == "human":
            self.render()
        return observation, info

    def do_simulation(self, ctrl: Any, n_frames: int) -> None:
        """Apply a control for ``n_frames`` steps of the engine.

        Raises:
            ValueError: There is not one number for each actuator.
        """
        target = self._fields.ctrl
        if getattr(ctrl, "shape", None) != target.shape != np.shape(ctrl):
            raise ValueError(
                f"Action dimension mismatch. Expected {target.shape}, found {np.shape(ctrl)}: "
                "give one number for each actuator."
            )
        target[:] = ctrl
        self._mujoco.mj_step(self.model, self.data, nstep=n_frames)
        # The engine computes contact forces only on demand.
        self._mujoco.mj_rnePostConstraint(self.model, self.data)

    def step(self, action: Any) -> tuple[Array, Any, bool, bool, dict[str, Any]]:
        """Apply the action, and count what that earned.

        Raises:
            ValueError: There is not one number for each actuator.
        """
        fields = self._fields
        before = self.before(fields, action)
        self.do_simulation(action, self.frame_skip)
        reward, ended, info = self.outcome(fields, action, before)
        if self.render_mode == "human":
            self.render()
        return self.observe(), reward, bool(ended), False, info

    def _place(self, qpos: Array, qvel: Array) -> None:
        places, speeds = self._fields.qpos, self._fields.qvel
        if np.shape(qpos) != places.shape or np.shape(qvel) != speeds.shape:
            raise ValueError(
                f"Expected positions of shape {places.shape} and velocities of shape "
                f"{speeds.shape}, got {np.shape(qpos)} and {np.shape(qvel)}."
            )
        places[:], speeds[:] = qpos, qvel
        self._mujoco.mj_forward(self.model, self.data)

    def set_state(self, state: Any = None, qvel: Any = None, *, qpos: Any = None) -> None:
        """Continue from :meth:`get_state`; with two arrays, set positions and velocities.

        Raises:
            StateError: The state belongs to another class or model.
            ValueError: The arrays do not have the model's shapes.
        """
        if qvel is None:
            super().set_state(state)
        else:
            self._place(state if qpos is None else qpos, qvel)

    def render(self) -> Any:
        """Return a picture, depths or both, as :attr:`render_mode` says; ``None`` for human.

        Raises:
            DependencyNotInstalled: No OpenGL backend works here.
        """
        if self.render_mode is None:
            warn_no_render_mode(self)
            return None
        if self._painter is None:
            self._painter = Painter(self)
        return self._painter.paint()

    def close(self) -> None:
        """Free what drawing took."""
        if self._painter is not None:
            self._painter.close()
            self._painter = None

    def state_vector(self) -> Array:
        """Return positions and velocities in one array."""
        return np.concatenate([self._fields.qpos, self._fields.qvel])

    def get_body_com(self, body_name: str) -> Array:
        """Return where the frame of a body is."""
        place: Array = self.data.body(body_name).xpos
        return place

    def _save_state(self) -> State:
        kind = self._mujoco.mjtState.mjSTATE_INTEGRATION
        physics = np.empty(self._mujoco.mj_stateSize(self.model, kind))
        self._mujoco.mj_getState(self.model, self.data, physics, kind)
        derived = {name: getattr(self.data, name).copy() for name in _DERIVED}
        return {"physics": physics, "derived": derived}

    def _load_state(self, fields: State) -> None:
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
