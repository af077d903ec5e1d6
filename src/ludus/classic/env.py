"""The base classes of classic Gym's environments."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from ludus.classic.error import Error, UnsupportedMode
from ludus.spaces import Dict, Space

__all__ = ["Env", "GoalEnv"]

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
