"""What the built-in robots share: rules written once, for one robot and for many."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ludus.core.finite import check_finite
from ludus.core.vector_env import AutoresetMode
from ludus.envs.hooks import RefusesHooks
from ludus.envs.mujoco.arithmetic import Array, Fields
from ludus.envs.mujoco.env import MujocoEnv, control_mismatch
from ludus.envs.mujoco.options import check_options
from ludus.spaces import Box

__all__ = ["Outcome", "RobotEnv"]

Outcome = tuple[Any, Any, dict[str, Any]]


class RobotEnv(RefusesHooks, MujocoEnv):
    """A robot whose rules also hold for many robots at once.

    Subclasses implement :meth:`features`, :meth:`outcome` and :meth:`draw_state`, and may give
    :meth:`before`, :meth:`reset_info` and :meth:`prepare`. These are the rules of the task, written
    once for one robot and for many: they read :data:`Fields`, whose arrays have an axis more where
    there are many robots, and so they index from the front and reduce over the first axis. A
    subclass's constructor ends with :meth:`_ready`.
    """

    uncalled_hooks: ClassVar[tuple[str, ...]] = (
        *("_get_rew", "contact_cost", "contact_forces", "control_cost", "get_body_com"),
        *("healthy_reward", "is_healthy", "state_vector", "terminated"),
    )

    state_fields: ClassVar[tuple[str, ...]] = ()
    reads: tuple[str, ...] = ()
    """Which of the engine's fields the rules read, besides qpos, qvel and ctrl."""

    def _ready(self) -> None:
        """Finish the construction, once the options of the task are known."""
        check_options(self)
        self._bind()
        size = sum(part.size for part in self.features(self._fields))
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float64)

    def _initialize_simulation(self) -> tuple[Any, Any]:
        model, data = super()._initialize_simulation()
        self._physics = model.opt
        return model, data

    def _bind(self) -> None:
        """Keep views of the arrays that every step reads; asking the engine anew is slow."""
        names = ("qpos", "qvel", "ctrl", *self.reads)
        self._fields = Fields(**{name: getattr(self.data, name) for name in names})
        self._physics = self.model.opt
        self.prepare(self._fields)

    def __getstate__(self) -> dict[str, Any]:
        own = ("_fields", "_physics")
        return {name: value for name, value in super().__getstate__().items() if name not in own}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        super().__setstate__(fields)
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

    def _get_obs(self) -> Array:
        """Return a new observation; override to let one robot see something else."""
        return np.concatenate(self.features(self._fields))

    def reset_model(self) -> Array:
        """Put the robot near its first pose."""
        self.set_state(*self.draw_state(self.np_random))
        return self._get_obs()

    def _get_reset_info(self) -> dict[str, Any]:
        return self.reset_info(self._fields)

    def do_simulation(self, ctrl: Any, n_frames: int) -> None:
        """Apply a control for ``n_frames`` steps of the engine.

        Raises:
            InvalidAction: A number is NaN or infinite.
            ValueError: There is not one number for each actuator.
        """
        target = self._fields.ctrl
        if getattr(ctrl, "shape", None) != target.shape != np.shape(ctrl):
            raise control_mismatch(target.shape, ctrl)
        check_finite(np.asarray(ctrl), self.action_space)
        self._step_mujoco_simulation(ctrl, n_frames)

    def _step_mujoco_simulation(self, ctrl: Any, n_frames: int) -> None:
        self._fields.ctrl[:] = ctrl
        self._mujoco.mj_step(self.model, self.data, nstep=n_frames)
        # The engine computes contact forces only on demand.
        self._mujoco.mj_rnePostConstraint(self.model, self.data)

    def step(self, action: Any) -> tuple[Array, Any, bool, bool, dict[str, Any]]:
        """Apply the action, and count what that earned.

        Raises:
            InvalidAction: A number is NaN or infinite.
            ValueError: There is not one number for each actuator.
        """
        fields = self._fields
        before = self.before(fields, action)
        self.do_simulation(action, self.frame_skip)
        reward, ended, info = self.outcome(fields, action, before)
        if self.render_mode == "human":
            self.render()
        return self._get_obs(), reward, bool(ended), False, info
