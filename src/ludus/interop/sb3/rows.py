"""Attributes and methods of single environments in a batch, as SB3 asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ludus.codec import digest
from ludus.core.vector_env import VectorEnv
from ludus.errors import Error, StateError

__all__ = ["Rows", "rows_of"]

_CHANGES = frozenset({"close", "reset", "seed", "set_state", "step"})
_ADVICE = (
    "For environments of their own, build with "
    "make_vec_env(..., vec_env_kwargs={'vectorization_mode': 'sync'})."
)


class Rows(Protocol):
    """Access to the environments of a batch by their numbers."""

    def get(self, name: str, indices: Sequence[int]) -> list[Any]:
        """Return an attribute of each; raise AttributeError if there is none."""

    def set(self, name: str, value: Any, indices: Sequence[int]) -> None:
        """Assign an attribute in each."""

    def call(
        self, name: str, indices: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        """Call a method of each."""

    def wrapped(self, kind: type, indices: Sequence[int]) -> list[bool]:
        """Return whether each is inside a wrapper of this class."""


def rows_of(env: VectorEnv[Any, Any, Any]) -> Rows:
    """Return how the environments of a batch are reached."""
    base = env.unwrapped
    if hasattr(base, "envs"):
        return _Separate(base.envs)
    if hasattr(base, "visit"):
        return _Compiled(base)
    if hasattr(base, "call"):
        return _Remote(base)
    return _Shared(base)


class _Separate:
    """Environments that are objects of this process."""

    def __init__(self, envs: Sequence[Any]) -> None:
        self._envs = envs

    def get(self, name: str, indices: Sequence[int]) -> list[Any]:
        return [self._envs[index].get_wrapper_attr(name) for index in indices]

    def set(self, name: str, value: Any, indices: Sequence[int]) -> None:
        for index in indices:
            self._envs[index].set_wrapper_attr(name, value)

    def call(
        self, name: str, indices: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        return [found(*args, **kwargs) for found in self.get(name, indices)]

    def wrapped(self, kind: type, indices: Sequence[int]) -> list[bool]:
        return [_is_wrapped(self._envs[index], kind) for index in indices]


class _Remote:
    """Environments in other processes, which are reached all together."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def get(self, name: str, indices: Sequence[int]) -> list[Any]:
        found = self._env.get_attr(name)
        return [found[index] for index in indices]

    def set(self, name: str, value: Any, indices: Sequence[int]) -> None:
        self._check_all("set_attr", indices)
        self._env.set_attr(name, [value] * self._env.num_envs)

    def call(
        self, name: str, indices: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        self._check_all("env_method", indices)
        return list(self._env.call(name, *args, **kwargs))

    def wrapped(self, kind: type, indices: Sequence[int]) -> list[bool]:
        return [False for _ in indices]

    def _check_all(self, what: str, indices: Sequence[int]) -> None:
        if list(indices) != list(range(self._env.num_envs)):
            raise Error(
                f"{what} reaches all environments of {type(self._env).__name__} or none; got "
                f"indices={list(indices)}. {_ADVICE}"
            )


class _Compiled:
    """Environments of a compiled batch, in which a single one stands in for each."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def get(self, name: str, indices: Sequence[int]) -> list[Any]:
        found: list[Any] = self._env.visit(lambda env, _: env.get_wrapper_attr(name), indices)
        return found

    def set(self, name: str, value: Any, indices: Sequence[int]) -> None:
        self._env.visit(lambda env, _: env.set_wrapper_attr(name, value), indices)

    def call(
        self, name: str, indices: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        def work(env: Any, _: int) -> Any:
            return env.get_wrapper_attr(name)(*args, **kwargs)

        found: list[Any] = self._env.visit(work, indices)
        return found

    def wrapped(self, kind: type, indices: Sequence[int]) -> list[bool]:
        return [False for _ in indices]


class _Shared:
    """Environments of an engine: states, without objects of their own.

    One environment object stands for each in turn, put into its state. So attributes and methods
    that read are there; what would change one of them is refused.
    """

    def __init__(self, env: Any) -> None:
        self._env = env
        self._one = getattr(env, "env", getattr(env, "robot", None))

    def _at(self, index: int) -> Any:
        if hasattr(self._env, "env_at"):
            return self._env.env_at(index)
        return self._env if self._one is None else self._one

    def get(self, name: str, indices: Sequence[int]) -> list[Any]:
        if name in ("metadata", "render_mode", "spec"):
            return [getattr(self._env, name) for _ in indices]
        if name.startswith("_"):
            raise AttributeError(f"attempted to get missing private attribute '{name}'")
        return [getattr(self._at(index), name) for index in indices]

    def set(self, name: str, value: Any, indices: Sequence[int]) -> None:
        raise Error(
            f"set_attr({name!r}) would change nothing: the environments of "
            f"{type(self._env).__name__} share the parameters that it was built with. Give these "
            f"as env_kwargs. {_ADVICE}"
        )

    def call(
        self, name: str, indices: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        if name in _CHANGES:
            raise self._refusal(name)
        results = []
        for index in indices:
            one = self._at(index)
            method = getattr(one, name)
            before = _fingerprint(one)
            results.append(method(*args, **kwargs))
            if _fingerprint(one) != before:
                raise self._refusal(name)
        return results

    def _refusal(self, name: str) -> Error:
        return Error(
            f"env_method({name!r}) changes an environment, and those of "
            f"{type(self._env).__name__} are only changed together, by reset() and step(). "
            f"{_ADVICE}"
        )

    def wrapped(self, kind: type, indices: Sequence[int]) -> list[bool]:
        return [False for _ in indices]


def _fingerprint(env: Any) -> str | None:
    """Return a hash of an environment's state, ``None`` if it cannot be saved."""
    try:
        return digest(env.get_state())
    except (AttributeError, StateError):
        return None


def _is_wrapped(env: Any, kind: type) -> bool:
    while env is not env.unwrapped:
        if isinstance(env, kind):
            return True
        env = env.env
    return False
