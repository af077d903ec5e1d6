"""Wrappers of every kind of environment: autoreset, time limit, order of calls, statistics."""

from __future__ import annotations

import time
from collections import deque
from copy import deepcopy
from typing import TYPE_CHECKING, Any, SupportsFloat

from ludus import logger
from ludus.core import ActType, Env, EnvSpec, ObsType, RecordConstructorArgs, State, Wrapper
from ludus.errors import ResetNeeded
from ludus.lazy import lazy_attributes
from ludus.wrappers.mixins import SavesObjects, take_fields

if TYPE_CHECKING:
    from ludus.wrappers.passive_env_checker import PassiveEnvChecker

__all__ = [
    "Autoreset",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "TimeLimit",
    "changed_spec",
]

# In a module of its own, because importing the checks takes long.
__getattr__ = lazy_attributes(__name__, {"PassiveEnvChecker": "ludus.wrappers.passive_env_checker"})


def changed_spec(spec: EnvSpec | None, **fields: Any) -> EnvSpec | None:
    """Return a copy of ``spec`` with the fields set; warn and return ``None`` if copying fails."""
    if spec is None:
        return None
    try:
        changed = deepcopy(spec)
    except Exception as problem:  # copying the user's arguments may raise anything
        logger.warn(f"The spec is lost, it could not be copied: {problem!r} occurred in {spec}")
        return None
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


class Autoreset(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Reset in the step after an episode's last one.

    That step ignores its action and returns the first observation of the new episode, reward 0.0
    and the info of ``reset``.

    Example:
        >>> env = Autoreset(ludus.make("CartPole-v1", max_episode_steps=2))
        >>> _ = env.reset(seed=0)
        >>> [env.step(0)[3] for _ in range(4)]
        [False, True, False, False]
    """

    state_fields = ("autoreset",)

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.autoreset = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start a new episode now."""
        self.autoreset = False
        return self.env.reset(seed=seed, options=options)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step, or reset if the episode ended in the step before."""
        if self.autoreset:
            observation, info = self.env.reset()
            self.autoreset = False
            return observation, 0.0, False, False, info
        result = self.env.step(action)
        self.autoreset = result[2] or result[3]
        return result


class OrderEnforcing(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Raise if ``step`` or, unless disabled, ``render`` is called before the first ``reset``."""

    state_fields = ("_has_reset",)

    def __init__(
        self, env: Env[ObsType, ActType], disable_render_order_enforcing: bool = False
    ) -> None:
        RecordConstructorArgs.__init__(
            self, disable_render_order_enforcing=disable_render_order_enforcing
        )
        super().__init__(env)
        self._has_reset = False
        self._disable_render_order_enforcing = disable_render_order_enforcing

    @property
    def has_reset(self) -> bool:
        """Whether the environment was ever reset."""
        return self._has_reset

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step.

        Raises:
            ResetNeeded: The environment was never reset.
        """
        if not self._has_reset:
            raise ResetNeeded(
                "Cannot call env.step() yet: there is no episode before calling env.reset()."
            )
        return self.env.step(action)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset."""
        self._has_reset = True
        return self.env.reset(seed=seed, options=options)

    def render(self) -> Any:
        """Render.

        Raises:
            ResetNeeded: The environment was never reset, and the order is enforced.
        """
        if not self._has_reset and not self._disable_render_order_enforcing:
            raise ResetNeeded(
                "Cannot call env.render() yet: there is no episode before calling env.reset(). If "
                "there is something to show, wrap with `disable_render_order_enforcing=True`."
            )
        return self.env.render()

    def _extended_spec(self) -> EnvSpec | None:
        return changed_spec(self.env.spec, order_enforce=True)


class RecordEpisodeStatistics(
    SavesObjects, Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Add ``{"r": return, "l": length, "t": seconds}`` to the info of an episode's last step.

    The last ``buffer_length`` of each are kept in ``return_queue``, ``length_queue`` and
    ``time_queue``; ``episode_count`` counts the finished episodes.

    Example:
        >>> env = RecordEpisodeStatistics(ludus.make("CartPole-v1", max_episode_steps=5))
        >>> _ = env.reset(seed=0)
        >>> for _ in range(5):
        ...     *_, info = env.step(0)
        >>> info["episode"]["l"], env.length_queue
        (5, deque([5], maxlen=100))
    """

    state_fields = ("episode_count", "episode_returns", "episode_lengths")
    saved_objects = ("return_queue", "length_queue", "time_queue")

    def __init__(
        self, env: Env[ObsType, ActType], buffer_length: int = 100, stats_key: str = "episode"
    ) -> None:
        RecordConstructorArgs.__init__(self, buffer_length=buffer_length, stats_key=stats_key)
        super().__init__(env)
        self._stats_key = stats_key
        self.episode_count = 0
        self.episode_start_time: float = -1
        self.episode_returns: Any = 0.0
        self.episode_lengths = 0
        self.time_queue: deque[float] = deque(maxlen=buffer_length)
        self.return_queue: deque[Any] = deque(maxlen=buffer_length)
        self.length_queue: deque[int] = deque(maxlen=buffer_length)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step; at the end of an episode, add its statistics to the info.

        Raises:
            ValueError: The info already has the key for the statistics.
        """
        result = self.env.step(action)
        _, reward, terminated, truncated, info = result
        self.episode_returns += reward
        self.episode_lengths += 1
        if terminated or truncated:
            self._finish_episode(info)
        return result

    def _finish_episode(self, info: dict[str, Any]) -> None:
        if self._stats_key in info:
            raise ValueError(
                f"The info already has the key {self._stats_key!r}: {info[self._stats_key]}. Is "
                "the environment wrapped twice? Choose another `stats_key`."
            )
        now = time.perf_counter()
        seconds = round(now - self.episode_start_time, 6)
        info[self._stats_key] = {
            "r": self.episode_returns,
            "l": self.episode_lengths,
            "t": seconds,
        }
        self.time_queue.append(seconds)
        self.return_queue.append(self.episode_returns)
        self.length_queue.append(self.episode_lengths)
        self.episode_count += 1
        self.episode_start_time = now

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset, and start the statistics of a new episode."""
        result = self.env.reset(seed=seed, options=options)
        self.episode_start_time = time.perf_counter()
        self.episode_returns = 0.0
        self.episode_lengths = 0
        return result

    def _save_state(self) -> State:
        # Saved as a duration, because the clock's zero differs between processes.
        elapsed = time.perf_counter() - self.episode_start_time
        return {**super()._save_state(), "elapsed": elapsed}

    def _load_state(self, fields: State) -> None:
        (elapsed,), rest = take_fields(self, fields, "elapsed")
        super()._load_state(rest)
        self.episode_start_time = time.perf_counter() - elapsed


class TimeLimit(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Truncate the episode at step ``max_episode_steps``, if it has not ended before.

    Raises:
        TypeError: ``max_episode_steps`` is not an int.
        ValueError: It is not positive.

    Example:
        >>> env = TimeLimit(ludus.make("CartPole-v1"), max_episode_steps=2)
        >>> observation, info = env.reset()
        >>> [env.step(0)[3] for _ in range(2)]
        [False, True]
    """

    state_fields = ("_elapsed_steps",)

    def __init__(self, env: Env[ObsType, ActType], max_episode_steps: int) -> None:
        if not isinstance(max_episode_steps, int):
            raise TypeError(
                f"`max_episode_steps` must be an integer, got {max_episode_steps!r} "
                f"({type(max_episode_steps)})."
            )
        if max_episode_steps <= 0:
            raise ValueError(
                f"`max_episode_steps` must be positive, got {max_episode_steps}: an episode has "
                "at least one step."
            )
        RecordConstructorArgs.__init__(self, max_episode_steps=max_episode_steps)
        super().__init__(env)
        self._max_episode_steps = max_episode_steps
        # None until the first reset, so that step() fails before it.
        self._elapsed_steps: int = None  # type: ignore[assignment]

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step; ``truncated`` is true from step ``max_episode_steps`` on."""
        result = self.env.step(action)
        self._elapsed_steps = elapsed = self._elapsed_steps + 1
        if elapsed < self._max_episode_steps:
            return result
        observation, reward, terminated, _, info = result
        return observation, reward, terminated, True, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset the environment and the step count."""
        self._elapsed_steps = 0
        return self.env.reset(seed=seed, options=options)

    def _extended_spec(self) -> EnvSpec | None:
        return changed_spec(self.env.spec, max_episode_steps=self._max_episode_steps)
