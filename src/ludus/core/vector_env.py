"""The API of vector environments: copies of one environment that are stepped together."""

from __future__ import annotations

from enum import Enum
from types import TracebackType
from typing import Any, Generic, Self

import numpy as np

from ludus.core.infos import add_info
from ludus.core.spec import EnvSpec
from ludus.core.types import ActType, ArrayType, DefaultsToAny, ObsType, State
from ludus.errors import StateError
from ludus.seeding import np_random as make_np_random
from ludus.spaces import Space

__all__ = ["AutoresetMode", "VectorEnv"]


class AutoresetMode(Enum):
    """When a finished sub-environment starts its next episode."""

    NEXT_STEP = "NextStep"
    """The step after the last one ignores its action and returns the first observation."""
    SAME_STEP = "SameStep"
    """The last step returns the next first observation; the last one is ``info["final_obs"]``."""
    DISABLED = "Disabled"
    """The caller resets, with ``reset(options={"reset_mask": mask})``."""


class VectorEnv(DefaultsToAny, Generic[ObsType, ActType, ArrayType]):
    """``num_envs`` copies of one environment, stepped together.

    Observations and actions are batched as by ``batch_space``, rewards and the two flags are arrays
    of shape ``(num_envs,)``, infos one dict of arrays with a mask ``_key`` for each ``key``.
    ``metadata["autoreset_mode"]`` is an :class:`AutoresetMode`.
    """

    metadata: dict[str, Any] = {}  # noqa: RUF012 - Gymnasium's interface
    spec: EnvSpec | None = None
    render_mode: str | None = None
    closed: bool = False

    observation_space: Space[Any]
    action_space: Space[Any]
    single_observation_space: Space[Any]
    single_action_space: Space[Any]

    num_envs: int

    _np_random: np.random.Generator | None = None
    _np_random_seed: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start new episodes; an int seed gives environment ``i`` the seed ``seed + i``.

        Returns:
            The batch of first observations and the merged infos.

        Raises:
            NotImplementedError: The class has no ``reset`` of its own.
        """
        # This only seeds; the subclass returns the observations and the infos.
        if (
            type(self).reset is VectorEnv.reset
            and type(self) is not VectorEnv
            and "reset" not in vars(self)
        ):
            raise NotImplementedError(
                f"{type(self).__name__} does not implement reset(); define it, call "
                "super().reset(seed=seed) in it, and return observations and a dict."
            )
        if seed is not None:
            self._np_random, self._np_random_seed = make_np_random(seed)
        return None  # type: ignore[return-value]

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Advance every environment by its action.

        Returns:
            Batches of observations, rewards, terminations, truncations, and the merged infos.
        """
        raise NotImplementedError(f"{self} step function is not implemented.")

    def render(self) -> tuple[Any, ...] | None:
        """Return the frames of all environments."""
        raise NotImplementedError(f"{self} render function is not implemented.")

    def close(self, **kwargs: Any) -> None:
        """Close everything; a second call does nothing. ``kwargs`` go to :meth:`close_extras`."""
        if not self.closed:
            self.close_extras(**kwargs)
            self.closed = True

    def close_extras(self, **kwargs: Any) -> None:
        """Release the resources of the subclass."""

    def get_state(self) -> State:
        """Return the state of every environment as plain data.

        Raises:
            StateError: This kind of vector environment cannot save its state.
        """
        raise StateError(f"{type(self).__name__} cannot save its state.")

    def set_state(self, state: State) -> None:
        """Restore the state that :meth:`get_state` returned.

        Raises:
            StateError: This kind of vector environment cannot restore a state, or not this one.
        """
        raise StateError(f"{type(self).__name__} cannot restore a state.")

    @property
    def np_random(self) -> Any:
        """The batch's own random generator, made from system entropy if not seeded yet."""
        if self._np_random is None:
            self._np_random, self._np_random_seed = make_np_random()
        return self._np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._np_random = value
        self._np_random_seed = -1

    @property
    def np_random_seed(self) -> Any:
        """The seed of :attr:`np_random`; -1 if the generator was assigned from outside."""
        if self._np_random_seed is None:
            self._np_random, self._np_random_seed = make_np_random()
        return self._np_random_seed

    @property
    def unwrapped(self) -> VectorEnv[Any, Any, Any]:
        """The vector environment without any wrapper."""
        return self

    def _add_info(
        self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int
    ) -> dict[str, Any]:
        """Add environment ``env_num``'s info to the merged infos, in place."""
        return add_info(vector_infos, env_info, env_num, self.num_envs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        of = "" if self.spec is None else f"{self.spec.id}, "
        return f"{type(self).__name__}({of}num_envs={self.num_envs})"
