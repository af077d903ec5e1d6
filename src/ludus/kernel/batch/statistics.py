"""Episode statistics of a compiled batch, and its native code for wrappers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ludus.core.batch import BatchEnv
from ludus.core.vector_env import AutoresetMode
from ludus.kernel.storage import Storage
from ludus.kernel.tiers import Tier

if TYPE_CHECKING:
    from ludus.kernel.native.call.normalise import Normaliser
    from ludus.kernel.native.call.statistics import EpisodeCounter

__all__ = ["BatchStatistics"]


def _copy_of(row: str, meaning: str) -> Any:
    """Return a property that copies a row of the storage."""
    return property(lambda self: getattr(self._storage, row).copy(), doc=meaning)


class BatchStatistics(BatchEnv[Any, Any]):
    """Base class of the compiled batch with the statistics that its loop collects."""

    _storage: Storage
    _tier: Tier
    _at_once: bool
    """Whether native code may access Python objects."""

    def _function(self, name: str) -> Any:
        raise NotImplementedError

    episode_returns = _copy_of("returns", "Return of each environment's current episode so far.")
    episode_lengths = _copy_of("lengths", "Length of each environment's current episode so far.")
    last_episode_returns = _copy_of("last_returns", "Return of the last finished episodes.")
    last_episode_lengths = _copy_of("last_lengths", "Length of the last finished episodes.")

    def normaliser(self, shape: tuple[int, ...]) -> Normaliser | None:
        """Return native code that normalises batches of observations of the given shape.

        ``None`` if observations have several axes or many numbers, or this batch runs as plain
        Python.
        """
        from ludus.kernel.native.call.normalise import LARGEST, normaliser

        if not self._lends() or len(shape) != 1 or not 1 <= shape[0] <= LARGEST:
            return None
        return normaliser(shape[0])

    def episode_counter(self, mode: AutoresetMode) -> EpisodeCounter | None:
        """Return native code that counts episodes, ``None`` if this batch runs as plain Python."""
        if not self._lends():
            return None
        from ludus.kernel.native.call.statistics import EpisodeCounter

        return EpisodeCounter(self.num_envs, same_step=mode is AutoresetMode.SAME_STEP)

    def _lends(self) -> bool:
        """Return whether native code for wrappers is available.

        It does not depend on the kernel and compiles quickly, so it is also used while the batch
        still runs as plain Python.
        """
        if not self._tier.is_final:
            from ludus.kernel.native.abi import is_known

            return is_known()
        if self._at_once:
            # It is compiled together with the step.
            self._function("step")
        return self._at_once
