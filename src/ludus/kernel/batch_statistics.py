"""What a compiled batch tells of its episodes, and the native code it lends to wrappers."""

from __future__ import annotations

from typing import Any

from ludus.core.batch import BatchEnv
from ludus.core.vector_env import AutoresetMode
from ludus.kernel.native.abi import is_known
from ludus.kernel.native.call_normalise import LARGEST, Normaliser, normaliser
from ludus.kernel.native.call_statistics import EpisodeCounter
from ludus.kernel.storage import Storage
from ludus.kernel.tiers import Tier

__all__ = ["BatchStatistics"]


class BatchStatistics(BatchEnv[Any, Any]):
    """Sums over episodes that the compiled loop keeps; base class of the compiled batch."""

    _storage: Storage
    _tier: Tier
    _at_once: bool
    """Whether native code may read Python's objects."""

    def _function(self, name: str) -> Any:
        raise NotImplementedError

    @property
    def episode_returns(self) -> Any:
        """Each environment's return so far in its episode."""
        return self._storage.returns.copy()

    @property
    def episode_lengths(self) -> Any:
        """Each environment's steps so far in its episode."""
        return self._storage.lengths.copy()

    @property
    def last_episode_returns(self) -> Any:
        """The return of the episode that each environment's last reset ended."""
        return self._storage.last_returns.copy()

    @property
    def last_episode_lengths(self) -> Any:
        """The length of the episode that each environment's last reset ended."""
        return self._storage.last_lengths.copy()

    def normaliser(self, shape: tuple[int, ...]) -> Normaliser | None:
        """Return native code that normalises batches of observations of the given shape.

        ``None`` if there is none: observations have several axes or many numbers, or this batch
        runs as plain Python.
        """
        if not self._lends() or len(shape) != 1 or not 1 <= shape[0] <= LARGEST:
            return None
        return normaliser(shape[0])

    def episode_counter(self, mode: AutoresetMode) -> EpisodeCounter | None:
        """Return native code that counts episodes, ``None`` if this runs as plain Python."""
        if not self._lends():
            return None
        return EpisodeCounter(self.num_envs, same_step=mode is AutoresetMode.SAME_STEP)

    def _lends(self) -> bool:
        """Tell whether there is native code for wrappers.

        It has nothing to do with the kernel and takes LLVM a moment, so a batch that runs in plain
        Python only for now lends it as well.
        """
        if not self._tier.is_final:
            return is_known()
        if self._at_once:
            # What it needs is compiled along with the step.
            self._function("step")
        return self._at_once
