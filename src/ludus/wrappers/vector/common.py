"""Records return, length and duration of each episode of a batch."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ludus import logger
from ludus.core.batch_arguments import split_reset_mask
from ludus.core.types import ActType, ObsType, State
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.wrappers.mixins import SavesObjects, take_fields
from ludus.wrappers.vector.dict_info_to_list import check_info_dict

__all__ = ["EpisodeQueues", "RecordEpisodeStatistics", "Statistics"]

Statistics = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
"""Returns, lengths and seconds of some episodes."""


class EpisodeQueues:
    """Returns, lengths and seconds of the last episodes.

    Filling deques number by number takes as long as a step of a compiled batch. So whole arrays are
    kept until a deque is first accessed. From then on the deques are filled at every step, because
    the caller may hold a reference to them.

    Args:
        length: How many episodes are kept; ``None`` for all.
    """

    def __init__(self, length: int | None) -> None:
        self._deques: tuple[deque[Any], ...] = tuple(deque(maxlen=length) for _ in range(3))
        self._length = self._deques[0].maxlen
        self._waiting: deque[Statistics] = deque()
        self._size = 0
        self._seen = False

    def add(self, statistics: Statistics) -> None:
        """Add episodes; the arrays are kept and must not be changed afterwards."""
        self._waiting.append(statistics)
        self._size += len(statistics[0])
        if self._seen:
            self._fill()
        elif self._length is not None:
            # Drop arrays whose values would fall out of the deques anyway.
            while self._size - len(self._waiting[0][0]) >= self._length:
                self._size -= len(self._waiting.popleft()[0])

    def get(self, index: int) -> deque[Any]:
        """Return the deque of returns, lengths or seconds."""
        self._seen = True
        self._fill()
        return self._deques[index]

    def replace(self, index: int, queue: deque[Any]) -> None:
        """Use another deque from now on."""
        self.get(index)
        self._deques = (*self._deques[:index], queue, *self._deques[index + 1 :])

    def _fill(self) -> None:
        for statistics in self._waiting:
            for queue, values in zip(self._deques, statistics, strict=True):
                queue.extend(values)
        self._waiting.clear()
        self._size = 0


def _queue(index: int, meaning: str) -> Any:
    """Return a property for one of the three queues."""

    def get(self: RecordEpisodeStatistics[Any, Any]) -> deque[Any]:
        return self._last.get(index)

    def replace(self: RecordEpisodeStatistics[Any, Any], queue: deque[Any]) -> None:
        self._last.replace(index, queue)

    return property(get, replace, doc=meaning)


class RecordEpisodeStatistics(SavesObjects, VectorWrapper[ObsType, ActType, ObsType, ActType, Any]):
    """Report return, length and duration of every episode that ends.

    A step that ends episodes has ``infos["episode"] = {"r": returns, "l": lengths, "t": seconds}``
    with zeros for the environments still running, and the mask ``infos["_episode"]``. The last
    episodes' values are kept in :attr:`return_queue`, :attr:`length_queue`, :attr:`time_queue`.

    Args:
        buffer_length: How many episodes the queues keep.
        stats_key: The key used instead of ``"episode"``.

    Raises:
        TypeError: ``metadata["autoreset_mode"]`` is not an :class:`AutoresetMode`.
    """

    state_fields: ClassVar[tuple[str, ...]] = (
        "episode_count",
        "episode_lengths",
        "episode_returns",
        "prev_dones",
    )
    saved_objects = ("length_queue", "return_queue", "time_queue")

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, Any],
        buffer_length: int = 100,
        stats_key: str = "episode",
    ) -> None:
        super().__init__(env)
        self._stats_key = stats_key
        mode = env.metadata.get("autoreset_mode")
        if mode is None:
            logger.warn(
                f"{self} is missing `autoreset_mode` in its metadata; RecordEpisodeStatistics "
                "assumes `AutoresetMode.NEXT_STEP`.",
                stacklevel=2,
            )
            mode = AutoresetMode.NEXT_STEP
        elif not isinstance(mode, AutoresetMode):
            raise TypeError(
                "Expected env.metadata['autoreset_mode'] to be an AutoresetMode, got "
                f"{mode!r} of {type(mode)}"
            )
        self._autoreset_mode = mode

        # Compiled batches have native code that does the same as _count_in_numpy.
        find = getattr(env.unwrapped, "episode_counter", None)
        self._counter = None if find is None else find(mode)

        self.episode_count = 0
        self.episode_start_times: npt.NDArray[np.float64] = np.zeros(self.num_envs)
        self.episode_returns: npt.NDArray[np.float64] = np.zeros(self.num_envs)
        self.episode_lengths: npt.NDArray[np.int_] = np.zeros(self.num_envs, dtype=int)
        self.prev_dones: npt.NDArray[np.bool_] = np.zeros(self.num_envs, dtype=bool)
        self._last = EpisodeQueues(buffer_length)

    return_queue = _queue(0, "The returns of the last episodes.")
    length_queue = _queue(1, "The lengths of the last episodes.")
    time_queue = _queue(2, "The seconds that the last episodes took.")

    def reset(  # Gymnasium takes both by position here.
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset, and start the statistics of the environments that were reset."""
        mask, _ = split_reset_mask(options, self.num_envs)
        observations, infos = self.env.reset(seed=seed, options=options)
        chosen = np.ones(self.num_envs, dtype=np.bool_) if mask is None else mask
        self._restart(chosen)
        self.prev_dones = self.prev_dones & ~chosen
        return observations, infos

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Step, and report the episodes that end.

        Raises:
            InfoLayoutError: The infos are not a dict.
            ValueError: The infos hold the statistics' key already.
        """
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        check_info_dict(infos, self)
        at_place, in_turn = self._count(rewards, terminations, truncations)
        if at_place is not None and in_turn is not None:
            self._report(at_place, in_turn, infos)
        return observations, rewards, terminations, truncations, infos

    def _count(self, *results: Any) -> tuple[Statistics, Statistics] | tuple[None, None]:
        """Count a step's rewards, terminations and truncations.

        Returns:
            The statistics of the episodes that end, with zeros for the environments still running,
            and without those; twice ``None`` if none ends.
        """
        if self._counter is not None:
            sums = self.episode_returns, self.episode_lengths, self.episode_start_times
            counted = self._counter(results, self.prev_dones, sums, time.perf_counter())
            if counted is not None:
                self.prev_dones, *statistics = counted
                return tuple(statistics)
        return self._count_in_numpy(*results)

    def _count_in_numpy(
        self, rewards: Any, terminations: Any, truncations: Any
    ) -> tuple[Statistics, Statistics] | tuple[None, None]:
        same_step = self._autoreset_mode is AutoresetMode.SAME_STEP
        self.episode_returns += rewards
        self.episode_lengths += 1
        if not same_step:
            # In next-step mode, the step after an episode's end only resets.
            self._restart(self.prev_dones.nonzero()[0])
        self.prev_dones = np.logical_or(terminations, truncations)
        over = self.prev_dones.nonzero()[0]
        if not over.size:
            return None, None
        seconds = time.perf_counter() - self.episode_start_times.take(over)
        in_turn = (
            self.episode_returns.take(over),
            self.episode_lengths.take(over),
            # Same bits as np.round(seconds, 6), in half the time.
            np.rint(seconds * 1e6) / 1e6,
        )
        if same_step:
            self._restart(over)
        returns, lengths, times = (np.zeros(self.num_envs, part.dtype) for part in in_turn)
        returns[over], lengths[over], times[over] = in_turn
        return (returns, lengths, times), in_turn

    def _restart(self, chosen: npt.NDArray[Any]) -> None:
        """Start the statistics of some environments, given by a mask or by indices."""
        self.episode_start_times[chosen] = time.perf_counter()
        self.episode_returns[chosen] = 0
        self.episode_lengths[chosen] = 0

    def _report(self, at_place: Statistics, in_turn: Statistics, infos: dict[str, Any]) -> None:
        key = self._stats_key
        if key in infos or f"_{key}" in infos:
            raise ValueError(
                f"Attempted to add episode stats with key '{key}' but this key already exists in "
                f"info: {list(infos)}. Pass another stats_key."
            )
        infos[key] = dict(zip(("r", "l", "t"), at_place, strict=True))
        infos[f"_{key}"] = self.prev_dones.copy()
        self.episode_count += len(in_turn[0])
        self._last.add(in_turn)

    def _save_state(self) -> State:
        # Saved as durations, because the clock's zero differs between processes.
        elapsed = time.perf_counter() - self.episode_start_times
        return {**super()._save_state(), "elapsed": elapsed}

    def _load_state(self, fields: State) -> None:
        (elapsed,), rest = take_fields(self, fields, "elapsed")
        super()._load_state(rest)
        self.episode_start_times = time.perf_counter() - elapsed
