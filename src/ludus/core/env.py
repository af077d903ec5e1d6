"""The environment API."""

from __future__ import annotations

from types import TracebackType
from typing import Any, ClassVar, Generic, Literal, Self, SupportsFloat

import numpy as np

from ludus.core.spec import EnvSpec
from ludus.core.state import (
    read_fields,
    refusing_damage,
    rng_from_plain,
    rng_to_plain,
    write_fields,
)
from ludus.core.types import ActType, DefaultsToAny, ObsType, State
from ludus.errors import StateError
from ludus.seeding import np_random as make_np_random
from ludus.spaces import Space

__all__ = ["Env"]


class Env(DefaultsToAny, Generic[ObsType, ActType]):
    """An environment that an agent interacts with in steps.

    Subclasses set :attr:`action_space` and :attr:`observation_space` and implement :meth:`step`
    and :meth:`reset`; the first line of ``reset`` is ``super().reset(seed=seed)``, which seeds
    :attr:`np_random`, the only source of randomness an environment should use.

    To make states saveable, name the attributes that change during an episode in
    :attr:`state_fields`; the random generator is always saved.

    Example:
        >>> env = ludus.make("CartPole-v1")
        >>> observation, info = env.reset(seed=0)
        >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        >>> reward, terminated, truncated
        (1.0, False, False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's interface
    render_mode: str | None = None
    spec: EnvSpec | None = None

    action_space: Space[ActType]
    observation_space: Space[ObsType]

    state_fields: ClassVar[tuple[str, ...] | None] = None
    """Attributes that make up the state, or ``None`` if it cannot be saved."""

    _np_random: np.random.Generator | None = None
    _np_random_seed: int | None = None

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Advance by one action.

        Returns:
            Observation, reward, whether a terminal state was reached (``terminated``), whether the
            episode was cut off (``truncated``), and a dict of further information. A later call
            must not change any of these objects.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not implement step(); define it, and return observation, "
            "reward, terminated, truncated and a dict."
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start a new episode; with a seed, restart the random stream first.

        Returns:
            The first observation and a dict of further information.

        Raises:
            Error: The seed is not a non-negative int.
            NotImplementedError: The class has no ``reset`` of its own.
        """
        # This only seeds; the subclass returns the observation and the info.
        if type(self).reset is Env.reset and type(self) is not Env and "reset" not in vars(self):
            raise NotImplementedError(
                f"{type(self).__name__} does not implement reset(); define it, call "
                "super().reset(seed=seed) in it, and return an observation and a dict."
            )
        if seed is not None:
            self._np_random, self._np_random_seed = make_np_random(seed)
        return None  # type: ignore[return-value]

    def render(self) -> Any:
        """Return a frame in the :attr:`render_mode` chosen at construction; ``None`` for human."""
        raise NotImplementedError(f"{type(self).__name__} does not implement render()")

    def close(self) -> None:
        """Release windows, processes and files; a second call does nothing."""

    @property
    def unwrapped(self) -> Env[ObsType, ActType]:
        """The environment without any wrapper."""
        return self

    @property
    def np_random(self) -> np.random.Generator:
        """The environment's random generator, made from system entropy if not seeded yet."""
        if self._np_random is None:
            self._np_random, self._np_random_seed = make_np_random()
        return self._np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._np_random = value
        self._np_random_seed = -1

    @property
    def np_random_seed(self) -> int:
        """The seed of :attr:`np_random`; -1 if the generator was assigned from outside."""
        if self._np_random_seed is None:
            self._np_random, self._np_random_seed = make_np_random()
        return self._np_random_seed

    def get_state(self) -> State:
        """Return the whole state as plain data, random generator included.

        Raises:
            StateError: The environment does not declare its state.
        """
        return {
            "env": type(self).__name__,
            "rng": rng_to_plain(self._np_random, self._np_random_seed),
            "fields": self._save_state(),
        }

    @refusing_damage
    def set_state(self, state: State) -> None:
        """Restore the state that :meth:`get_state` returned, here or in another process.

        Raises:
            StateError: The state belongs to another class or is damaged.
        """
        check_state_owner(self, state, "env")
        self._load_state(state["fields"])
        self._np_random, self._np_random_seed = rng_from_plain(state["rng"])

    def _save_state(self) -> State:
        """Return the fields of the state; override for values that are not plain data."""
        return read_fields(self, self._declared_fields())

    def _load_state(self, fields: State) -> None:
        """Undo :meth:`_save_state`."""
        write_fields(self, self._declared_fields(), fields)

    def _declared_fields(self) -> tuple[str, ...]:
        if self.state_fields is None:
            raise StateError(
                f"{type(self).__name__} does not declare its state. Set the class attribute "
                "state_fields to the names of the attributes that change during an episode "
                "(an empty tuple if none do), or override get_state() and set_state()."
            )
        return self.state_fields

    def has_wrapper_attr(self, name: str) -> bool:
        """Return whether this environment, or a wrapped one, has the attribute."""
        return hasattr(self, name)

    def get_wrapper_attr(self, name: str) -> Any:
        """Return the attribute of this environment, or of a wrapped one."""
        return getattr(self, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set the attribute where it exists; with ``force`` create it if it exists nowhere."""
        if force or hasattr(self, name):
            setattr(self, name, value)
            return True
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        self.close()
        return False

    def __str__(self) -> str:
        if self.spec is None:
            return f"<{type(self).__name__} instance>"
        return f"<{type(self).__name__}<{self.spec.id}>>"


def check_state_owner(owner: object, state: State, key: str) -> None:
    """Raise :class:`StateError` unless ``state[key]`` names the class of ``owner``."""
    if not isinstance(state, dict):
        raise StateError(f"A state is a dict from get_state(), got {type(state).__name__}.")
    found, expected = state.get(key), type(owner).__name__
    if found != expected:
        raise StateError(
            f"The state was taken from {found!r} and cannot be set on {expected!r}. "
            "Build the same stack of wrappers around the same environment first."
        )
