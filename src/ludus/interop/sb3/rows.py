"""Observations, actions and infos of a batch in the form that Stable-Baselines3 expects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ludus.codec import digest
from ludus.core.vector_env import VectorEnv
from ludus.errors import Error, StateError
from ludus.optional import missing

__all__ = [
    "Monitor",
    "ResultsWriter",
    "Rows",
    "VecEnv",
    "final_observation",
    "final_rows",
    "info_rows",
    "make_single_vec_env",
    "rows_of",
]

try:
    from stable_baselines3.common.env_util import make_vec_env as make_single_vec_env
    from stable_baselines3.common.monitor import Monitor, ResultsWriter
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as problem:
    raise missing("Stable-Baselines3", extra="sb3", purpose="ludus.interop.sb3") from problem


_FINAL = frozenset({"final_obs", "final_info", "_final_obs", "_final_info"})


def info_rows(infos: dict[str, Any], num_envs: int, **common: Any) -> list[dict[str, Any]]:
    """Return a new dict per environment, without the entries of finished episodes.

    The mask ``_key`` selects the environments that have ``key``; without a mask, all have it.
    Numbers are converted to Python numbers.

    Args:
        infos: The infos of a vector environment.
        num_envs: Number of environments.
        **common: Entries of every environment.
    """
    rows = [{**common} for _ in range(num_envs)] if common else [{} for _ in range(num_envs)]
    for key, column in infos.items():
        if key in _FINAL or (key[:1] == "_" and key[1:] in infos):
            continue
        _enter(rows, key, _values(column, num_envs), infos.get(f"_{key}"))
    return rows


def final_rows(infos: dict[str, Any], num_envs: int) -> list[dict[str, Any]] | None:
    """Return the final infos of finished episodes, ``None`` if the batch has none."""
    final = infos.get("final_info")
    if isinstance(final, dict):
        return info_rows(final, num_envs)
    return None if final is None else [dict(row or {}) for row in final]


def final_observation(infos: dict[str, Any], index: int) -> Any:
    """Return the final observation of one finished episode.

    Raises:
        ValueError: The infos have no ``final_obs``.
    """
    if "final_obs" not in infos:
        raise ValueError(
            "The vector environment resets in the same step, but its infos have no 'final_obs', so "
            "the final observations of episodes are lost. Return them, or disable autoreset."
        )
    found = infos["final_obs"]
    if isinstance(found, dict):
        return {key: np.array(column[index]) for key, column in found.items()}
    one = found[index]
    return np.array(one) if found.dtype != object else one


def _enter(rows: list[dict[str, Any]], key: str, values: Sequence[Any], mask: Any) -> None:
    if mask is None or mask.all():
        for row, value in zip(rows, values, strict=True):
            row[key] = value
        return
    for index in np.flatnonzero(mask).tolist():
        rows[index][key] = values[index]


def _values(column: Any, num_envs: int) -> Sequence[Any]:
    if isinstance(column, dict):
        return info_rows(column, num_envs)
    if isinstance(column, np.ndarray) and column.ndim and len(column) == num_envs:
        values: list[Any] = column.tolist() if column.ndim == 1 else list(column)
        return values
    if isinstance(column, list | tuple) and len(column) == num_envs:
        return column
    return [column] * num_envs


_CHANGES = frozenset({"close", "reset", "seed", "set_state", "step"})
_ADVICE = (
    "For separate environments, build with "
    "make_vec_env(..., vec_env_kwargs={'vectorization_mode': 'sync'})."
)


class Rows(ABC):
    """Access to the environments of a batch by their indices."""

    def __init__(self, env: Any) -> None:
        self._env = env

    @abstractmethod
    def get(self, name: str, indices: Sequence[int]) -> list[Any]:
        """Return an attribute of each environment; raise AttributeError if it is missing."""

    @abstractmethod
    def set(self, name: str, value: Any, indices: Sequence[int]) -> None:
        """Assign an attribute of each environment."""

    def call(
        self, name: str, indices: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        """Call a method of each environment."""
        return [method(*args, **kwargs) for method in self.get(name, indices)]

    def wrapped(self, kind: type, indices: Sequence[int]) -> list[bool]:
        """Return whether each environment has a wrapper of this class."""
        return [False for _ in indices]


def rows_of(env: VectorEnv[Any, Any, Any]) -> Rows:
    """Return the access to the environments of a batch."""
    base = env.unwrapped
    if hasattr(base, "envs"):
        return _Separate(base)
    if hasattr(base, "visit"):
        return _Compiled(base)
    return _Remote(base) if hasattr(base, "call") else _Shared(base)


class _Separate(Rows):
    """Environments that are objects in this process."""

    def get(self, name: str, indices: Sequence[int]) -> list[Any]:
        return [self._env.envs[index].get_wrapper_attr(name) for index in indices]

    def set(self, name: str, value: Any, indices: Sequence[int]) -> None:
        for index in indices:
            self._env.envs[index].set_wrapper_attr(name, value)

    def wrapped(self, kind: type, indices: Sequence[int]) -> list[bool]:
        return [_is_wrapped(self._env.envs[index], kind) for index in indices]


class _Remote(Rows):
    """Environments in worker processes, which can only be called all together."""

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

    def _check_all(self, what: str, indices: Sequence[int]) -> None:
        if list(indices) != list(range(self._env.num_envs)):
            raise Error(
                f"{what} of {type(self._env).__name__} applies to all environments only; got "
                f"indices={list(indices)}. {_ADVICE}"
            )


class _Compiled(Rows):
    """Environments of a compiled batch; ``visit`` presents each as an environment object."""

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


class _Shared(Rows):
    """States in an engine, without environment objects.

    One environment object is set to each state in turn. So attributes and methods can be read;
    changes are refused.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
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
            f"set_attr({name!r}) has no effect: the environments of {type(self._env).__name__} "
            f"share the parameters it was built with. Pass them as env_kwargs. {_ADVICE}"
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
            f"env_method({name!r}) changes the environment, but those of "
            f"{type(self._env).__name__} can only be changed together, by reset() and step(). "
            f"{_ADVICE}"
        )


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
