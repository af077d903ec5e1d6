"""Classic Gym's wrappers."""

from __future__ import annotations

from typing import Any

from ludus.classic.env import Env
from ludus.spaces import Space

__all__ = ["ActionWrapper", "ObservationWrapper", "RewardWrapper", "Wrapper"]


class Wrapper(Env):
    """An environment around another one; what is not overridden passes through.

    Public attributes that the wrapper lacks are the inner environment's. The spaces, the metadata
    and the reward range are the inner ones until assigned.
    """

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
        # Only the first versions' environments know `close`.
        return self._render(mode=mode, **({"close": True} if close else {}), **kwargs)

    def close(self) -> None:
        """Close the inner environment."""
        self._close()

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: dict[str, Any]) -> float:
        """Return the inner goal environment's reward."""
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
        """Return the wrapper's name."""
        return cls.__name__

    @property
    def spec(self) -> Any:
        """The inner spec."""
        return self.env.spec

    @property
    def action_space(self) -> Space[Any]:
        """The actions this wrapper takes."""
        return self._own("action_space")  # type: ignore[no-any-return]

    @action_space.setter
    def action_space(self, space: Space[Any]) -> None:
        self._assigned["action_space"] = space

    @property
    def observation_space(self) -> Space[Any]:
        """The observations this wrapper returns."""
        return self._own("observation_space")  # type: ignore[no-any-return]

    @observation_space.setter
    def observation_space(self, space: Space[Any]) -> None:
        self._assigned["observation_space"] = space

    @property
    def reward_range(self) -> tuple[float, float]:
        """The smallest and the largest possible reward."""
        return self._own("reward_range")  # type: ignore[no-any-return]

    @reward_range.setter
    def reward_range(self, value: tuple[float, float]) -> None:
        self._assigned["reward_range"] = value

    @property
    def metadata(self) -> dict[str, Any]:
        """The render modes and frames per second."""
        return self._own("metadata")  # type: ignore[no-any-return]

    @metadata.setter
    def metadata(self, value: dict[str, Any]) -> None:
        self._assigned["metadata"] = value

    def _own(self, name: str) -> Any:
        return self._assigned[name] if name in self._assigned else getattr(self.env, name)

    def __str__(self) -> str:
        return f"<{type(self).__name__}{self.env}>"

    def __repr__(self) -> str:
        return str(self)


class ObservationWrapper(Wrapper):
    """A wrapper that changes observations only: implement :meth:`observation`."""

    def _reset(self, **kwargs: Any) -> Any:
        return self.observation(self.env.reset(**kwargs))

    def _step(self, action: Any) -> Any:
        observation, reward, done, info = self.env.step(action)
        return self.observation(observation), reward, done, info

    def observation(self, observation: Any) -> Any:
        """Return the changed observation."""
        return self._observation(observation)

    def _observation(self, observation: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement observation()")


class RewardWrapper(Wrapper):
    """A wrapper that changes rewards only: implement :meth:`reward`."""

    def _step(self, action: Any) -> Any:
        observation, reward, done, info = self.env.step(action)
        return observation, self.reward(reward), done, info

    def reward(self, reward: Any) -> Any:
        """Return the changed reward."""
        return self._reward(reward)

    def _reward(self, reward: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement reward()")


class ActionWrapper(Wrapper):
    """A wrapper that changes actions only: implement :meth:`action`, and its inverse if needed."""

    def _step(self, action: Any) -> Any:
        return self.env.step(self.action(action))

    def action(self, action: Any) -> Any:
        """Return the action for the inner environment."""
        return self._action(action)

    def reverse_action(self, action: Any) -> Any:
        """Return the action that :meth:`action` would turn into this one."""
        return self._reverse_action(action)

    def _action(self, action: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement action()")

    def _reverse_action(self, action: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement reverse_action()")
