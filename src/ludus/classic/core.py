"""The base classes of Gym's environments and wrappers."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from ludus.classic.error import Error, UnsupportedMode
from ludus.spaces import Dict, Space

__all__ = ["ActionWrapper", "Env", "GoalEnv", "ObservationWrapper", "RewardWrapper", "Wrapper"]

_GOAL_KEYS = ("observation", "achieved_goal", "desired_goal")


class Env:
    """Base class of environments for Gym up to 0.21.

    ``step`` returns four values, ``reset`` only the observation, and ``render`` takes the mode. A
    subclass implements these and ``seed``, or, as in the first versions of Gym, ``_step``,
    ``_reset``, ``_seed``, ``_render`` and ``_close``.
    """

    metadata: dict[str, Any] = {"render.modes": []}  # noqa: RUF012 - classic Gym's interface
    reward_range: tuple[float, float] = (-float("inf"), float("inf"))
    spec: Any = None

    action_space: Space[Any]
    observation_space: Space[Any]

    _closed = False

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Apply an action; return observation, reward, done and info."""
        return self._step(action)  # type: ignore[no-any-return]

    def reset(self) -> Any:
        """Start an episode and return its first observation; does not reseed."""
        return self._reset()

    def render(self, mode: str = "human", close: bool = False) -> Any:
        """Display the environment (``"human"``) or return a frame (``"rgb_array"``, ``"ansi"``).

        Raises:
            UnsupportedMode: The metadata does not list the mode.
        """
        modes = self.metadata.get("render.modes", [])
        if not close and mode not in modes:
            raise UnsupportedMode(
                f"Unsupported rendering mode: {mode!r}; {self} supports {modes}. Add the mode to "
                "metadata['render.modes'] if it is implemented."
            )
        return self._render(mode=mode, close=close)

    def close(self) -> None:
        """Release the resources; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._close()

    def seed(self, seed: int | None = None) -> list[int] | None:
        """Seed the random generators and return the seeds, ``None`` if there are none."""
        return self._seed(seed)

    def configure(self, *args: Any, **kwargs: Any) -> None:
        """Raise ``Error``: configuration belongs in the constructor."""
        raise Error("configure() is no longer supported; pass the arguments to make() instead.")

    @property
    def unwrapped(self) -> Env:
        """The environment without any wrapper."""
        return self

    def _step(self, action: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement step()")

    def _reset(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement reset()")

    def _render(self, mode: str = "human", close: bool = False) -> Any:
        if not close:
            raise NotImplementedError(f"{type(self).__name__} does not implement render()")

    def _close(self) -> None:
        pass

    def _seed(self, seed: int | None = None) -> list[int] | None:
        return None

    def __str__(self) -> str:
        if self.spec is None:
            return f"<{type(self).__name__} instance>"
        return f"<{type(self).__name__}<{self.spec.id}>>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class GoalEnv(Env):
    """An environment whose observations contain the desired and the achieved goal.

    A subclass implements :meth:`compute_reward`, so that rewards can be recomputed for other goals,
    and calls ``super().reset()`` first in ``reset``.
    """

    def reset(self) -> Any:
        """Check the observation space; the subclass returns the observation.

        Raises:
            Error: The observation space is not a ``Dict`` with the three keys.
        """
        if not isinstance(self.observation_space, Dict):
            raise Error(
                "GoalEnv requires an observation space of type Dict, got "
                f"{type(self.observation_space)}."
            )
        for key in _GOAL_KEYS:
            if key not in self.observation_space.spaces:
                raise Error(
                    f'GoalEnv requires the "{key}" key to be part of the observation dictionary; '
                    f"it has {list(self.observation_space.spaces)}."
                )

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: dict[str, Any]) -> float:
        """Return the reward for reaching ``achieved_goal`` instead of ``desired_goal``."""
        raise NotImplementedError(f"{type(self).__name__} does not implement compute_reward()")


class _Inherited:
    """Attribute of a wrapper that is the inner environment's until it is assigned."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, wrapper: Any, owner: type | None = None) -> Any:
        if wrapper is None:
            return self
        assigned = wrapper._assigned
        return assigned[self._name] if self._name in assigned else getattr(wrapper.env, self._name)

    def __set__(self, wrapper: Any, value: Any) -> None:
        wrapper._assigned[self._name] = value


class Wrapper(Env):
    """Base class of wrappers; methods that are not overridden are those of the inner environment.

    So are public attributes that the wrapper lacks. Spaces, metadata and reward range are those of
    the inner environment until they are assigned.
    """

    action_space: Any = _Inherited()
    metadata: Any = _Inherited()
    observation_space: Any = _Inherited()
    reward_range: Any = _Inherited()

    def __init__(self, env: Any) -> None:
        self.env = env
        self._assigned: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"attempted to get missing private attribute {name!r}")
        if name == "env":
            raise AttributeError(f"{type(self).__name__} has no env; call super().__init__(env)")
        return getattr(self.env, name)

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Step the inner environment."""
        return self._step(action)  # type: ignore[no-any-return]

    def reset(self, **kwargs: Any) -> Any:
        """Reset the inner environment."""
        return self._reset(**kwargs)

    def render(self, mode: str = "human", close: bool = False, **kwargs: Any) -> Any:
        """Render the inner environment."""
        # Only environments for the first versions of Gym have an argument `close`.
        return self._render(mode=mode, **({"close": True} if close else {}), **kwargs)

    def close(self) -> None:
        """Close the inner environment."""
        self._close()

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: dict[str, Any]) -> float:
        """Return the reward of the inner goal environment."""
        return self.env.compute_reward(achieved_goal, desired_goal, info)  # type: ignore[no-any-return]

    def _step(self, action: Any) -> Any:
        return self.env.step(action)

    def _reset(self, **kwargs: Any) -> Any:
        return self.env.reset(**kwargs)

    def _render(self, mode: str = "human", close: bool = False, **kwargs: Any) -> Any:
        return self.env.render(mode=mode, **({"close": True} if close else {}), **kwargs)

    def _close(self) -> None:
        self.env.close()

    def _seed(self, seed: int | None = None) -> list[int] | None:
        return self.env.seed(seed)  # type: ignore[no-any-return]

    @property
    def unwrapped(self) -> Env:
        """The innermost environment."""
        return self.env.unwrapped  # type: ignore[no-any-return]

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the wrapper class."""
        return cls.__name__

    @property
    def spec(self) -> Any:
        """The inner spec."""
        return self.env.spec

    def __str__(self) -> str:
        return f"<{type(self).__name__}{self.env}>"

    def __repr__(self) -> str:
        return str(self)


class ObservationWrapper(Wrapper):
    """Base class of wrappers that transform observations, in :meth:`observation`."""

    def _reset(self, **kwargs: Any) -> Any:
        return self.observation(self.env.reset(**kwargs))

    def _step(self, action: Any) -> Any:
        observation, reward, done, info = self.env.step(action)
        return self.observation(observation), reward, done, info

    def observation(self, observation: Any) -> Any:
        """Return the transformed observation."""
        return self._observation(observation)

    def _observation(self, observation: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement observation()")


class RewardWrapper(Wrapper):
    """Base class of wrappers that transform rewards, in :meth:`reward`."""

    def _step(self, action: Any) -> Any:
        observation, reward, done, info = self.env.step(action)
        return observation, self.reward(reward), done, info

    def reward(self, reward: Any) -> Any:
        """Return the transformed reward."""
        return self._reward(reward)

    def _reward(self, reward: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement reward()")


class ActionWrapper(Wrapper):
    """Base class of wrappers that transform actions, in :meth:`action`."""

    def _step(self, action: Any) -> Any:
        return self.env.step(self.action(action))

    def action(self, action: Any) -> Any:
        """Return the action for the inner environment."""
        return self._action(action)

    def reverse_action(self, action: Any) -> Any:
        """Return the inverse of :meth:`action`."""
        return self._reverse_action(action)

    def _action(self, action: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement action()")

    def _reverse_action(self, action: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement reverse_action()")
