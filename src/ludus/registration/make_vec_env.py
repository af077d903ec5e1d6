"""Creation of vector environments."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ludus import logger
from ludus.core.env import Env
from ludus.core.foreign.env import as_env, as_vector_env
from ludus.core.spec import EnvSpec
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import Error
from ludus.registration.entry_point import check_arguments, resolve
from ludus.registration.foreign import as_spec
from ludus.registration.lookup import decide
from ludus.registration.own_batch import find_own_batch, settle_compile, takes_autoreset_mode

if TYPE_CHECKING:
    from ludus.untrusted.options import Sandboxing

__all__ = ["VectorizeMode", "make_vec"]


class VectorizeMode(Enum):
    """How ``make_vec`` runs the environments."""

    ASYNC = "async"
    """In worker processes."""
    SYNC = "sync"
    """One after the other in this process."""
    VECTOR_ENTRY_POINT = "vector_entry_point"
    """By the environment's own vector implementation."""


def make_vec(
    id: str | EnvSpec,
    num_envs: int = 1,
    vectorization_mode: VectorizeMode | str | None = None,
    vector_kwargs: dict[str, Any] | None = None,
    wrappers: Sequence[Callable[[Env], Env]] | None = None,
    *,
    sandbox: Sandboxing | None = None,
    **kwargs: Any,
) -> VectorEnv:
    """Build a vector environment.

    Args:
        id: An id, ``"module:id"``, or a spec, also of a vector environment.
        num_envs: Number of environments.
        vectorization_mode: How to run them. By default the environment's own vector implementation
            if it has one and supports the arguments (no wrappers, no ``vector_kwargs`` other than
            ``autoreset_mode``), else ``"sync"``.
        vector_kwargs: Arguments of the vector environment, e.g. ``{"autoreset_mode": ...}``.
        wrappers: Wrappers of each environment, the first one innermost.
        sandbox: As in ``make``. All environments run in one sandbox, or, with ``wrappers``, each in
            its own.
        **kwargs: Arguments of the environments. Vector implementations of Ludus's own also take
            ``compile``: ``"wait"``, ``"background"`` or ``"never"``, like the environment variable
            ``LUDUS_COMPILE``. Those that an engine steps ignore it.

    Raises:
        Error: The id is unknown, or the mode does not support an argument.
        ValueError: The mode is unknown, or ``num_envs`` is not positive.

    >>> envs = make_vec("CartPole-v1", num_envs=3)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations.shape
    (3, 4)
    """
    call = _Call.read(id, sandbox, num_envs, vectorization_mode, vector_kwargs, wrappers, kwargs)
    mode = call.choose_mode()
    call.num_envs = _positive_count(call.num_envs)
    env: VectorEnv
    if call.sandbox is not None and not call.wrappers:
        env = _from_sandbox(call, call.sandbox, mode)
        _check_autoreset_metadata(env)
        return env
    own = mode is VectorizeMode.VECTOR_ENTRY_POINT
    if "compile" in call.arguments and call.sandbox is None and call.known is not None:
        settle_compile(call.spec, call.arguments, own_batch=own)
    env = _from_vector_entry_point(call) if own else _from_single_envs(call, mode)
    call.spec.kwargs = call.recorded(mode)
    env.unwrapped.spec = call.spec
    _check_autoreset_metadata(env)
    return env


@dataclass(slots=True)
class _Call:
    """What ``make_vec`` was asked for.

    Attributes:
        env_id: The id.
        known: Its spec; ``None`` if it must be looked up in the sandbox.
        sandbox: Options of the sandbox.
        spec: A copy of ``known``, without arguments.
        num_envs: As given, or as recorded in the spec, as the following.
        asked: The mode that was asked for.
        vector_kwargs: Of the vector environment.
        wrappers: Of each environment.
        arguments: Of the environments.
    """

    env_id: str
    known: EnvSpec | None
    sandbox: Sandboxing | None
    spec: EnvSpec
    num_envs: int
    asked: VectorizeMode | str | None
    vector_kwargs: dict[str, Any]
    wrappers: list[Callable[[Env], Env]]
    arguments: dict[str, Any]

    @classmethod
    def read(
        cls,
        id: str | EnvSpec,
        sandbox: Sandboxing | None,
        num_envs: int,
        mode: VectorizeMode | str | None,
        vector_kwargs: dict[str, Any] | None,
        wrappers: Sequence[Callable[[Env], Env]] | None,
        kwargs: dict[str, Any],
    ) -> _Call:
        wanted = as_spec(id)
        if not isinstance(wanted, str | EnvSpec):
            raise Error(f"Invalid id type: {type(id)}. Expected `str` or `EnvSpec`.")
        env_id, known, sandbox = decide(wanted, sandbox)
        # Only the id is known of an environment that must be looked up in its sandbox.
        spec = EnvSpec(env_id.rpartition(":")[2]) if known is None else copy.deepcopy(known)
        recorded, spec.kwargs = spec.kwargs, {}
        recorded.pop("sandbox", None)
        # The spec of a vector environment records these, so that make_vec(env.spec) rebuilds it.
        return cls(
            env_id,
            known,
            sandbox,
            spec,
            recorded.pop("num_envs", num_envs),
            recorded.pop("vectorization_mode", mode),
            dict(recorded.pop("vector_kwargs", vector_kwargs) or {}),
            list(recorded.pop("wrappers", wrappers) or []),
            recorded | kwargs,
        )

    def choose_mode(self) -> VectorizeMode:
        """Return how to run the environments."""
        spec, own = self.spec, VectorizeMode.VECTOR_ENTRY_POINT
        wrapped = bool(self.wrappers or spec.additional_wrappers)
        here = self.known is not None and self.sandbox is None
        if self.asked in (None, own, own.value) and not wrapped and here:
            find_own_batch(spec)
        if self.asked is not None:
            return _valid_mode(self.asked)
        if not wrapped and takes_autoreset_mode(spec, self.vector_kwargs):
            self.arguments.setdefault("autoreset_mode", self.vector_kwargs.pop("autoreset_mode"))
        only_vector = spec.entry_point is None
        plain = not (wrapped or self.vector_kwargs)
        has_own = spec.vector_entry_point is not None and (only_vector or plain)
        return own if has_own else VectorizeMode.SYNC

    def recorded(self, mode: VectorizeMode) -> dict[str, Any]:
        """Return the arguments that the vector environment's spec records."""
        recorded = {**self.arguments, "vectorization_mode": mode.value}
        if self.num_envs != 1:
            recorded["num_envs"] = self.num_envs
        if self.vector_kwargs:
            recorded["vector_kwargs"] = self.vector_kwargs
        if self.wrappers:
            recorded["wrappers"] = self.wrappers
        return recorded


def _positive_count(num_envs: Any) -> int:
    """Return the number of environments as an int; integers of NumPy are accepted."""
    if isinstance(num_envs, bool) or not isinstance(num_envs, Integral) or num_envs < 1:
        raise ValueError(f"make_vec(num_envs={num_envs!r}): expected a positive int.")
    return int(num_envs)


def _valid_mode(mode: VectorizeMode | str) -> VectorizeMode:
    try:
        return VectorizeMode(mode)
    except ValueError as problem:
        raise ValueError(
            f"Invalid vectorization mode: {mode!r}, valid modes: "
            f"{[known.value for known in VectorizeMode]}"
        ) from problem


def _from_sandbox(call: _Call, sandbox: Sandboxing, mode: VectorizeMode) -> VectorEnv:
    from ludus.registration.make_sandboxed import make_vec_sandboxed

    return make_vec_sandboxed(
        call.env_id,
        None if call.known is None else call.spec,
        sandbox,
        call.num_envs,
        mode=None if call.asked is None else mode.value,
        vector_kwargs=call.vector_kwargs,
        **call.arguments,
    )


def _from_single_envs(call: _Call, mode: VectorizeMode) -> VectorEnv:
    spec = call.spec
    if spec.entry_point is None and spec.vector_entry_point is not None:
        raise Error(
            f"Cannot create vectorized environment for {spec.id} because it doesn't have an entry "
            f"point defined. Leave out vectorization_mode={mode.value!r} to use its vector entry "
            "point."
        )

    wanted = call.env_id if call.known is None else spec
    sandbox, arguments, wrappers = call.sandbox, call.arguments, call.wrappers

    def create_single_env() -> Env:
        # Imported here, because native batches do without.
        from ludus.registration.make_env import make

        env = make(wanted, sandbox=sandbox, **copy.deepcopy(arguments))
        for wrapper in wrappers:
            env = as_env(wrapper(env))
        return env

    from ludus import vector

    backend = vector.SyncVectorEnv if mode is VectorizeMode.SYNC else vector.AsyncVectorEnv
    env_fns = [create_single_env] * call.num_envs
    check_arguments(spec.id, backend, {"env_fns": env_fns, **call.vector_kwargs})
    env: VectorEnv = backend(env_fns, **call.vector_kwargs)
    return env


def _from_vector_entry_point(call: _Call) -> VectorEnv:
    spec, arguments = call.spec, call.arguments
    refused = {
        "`vector_kwargs`": call.vector_kwargs,
        "the wrappers argument": call.wrappers,
        "the additional_wrappers parameter in spec": spec.additional_wrappers,
    }
    for what, value in refused.items():
        if value:
            raise Error(
                f"Cannot use `vector_entry_point` vectorization mode with {what} being not empty "
                f"({value}): a custom vector environment takes its arguments through kwargs only. "
                "Use vectorization_mode='sync' or 'async', or wrap the vector environment."
            )
    if spec.vector_entry_point is None:
        raise Error(
            f"Cannot create vectorized environment for {spec.id} because it doesn't have a vector "
            "entry point defined. Use vectorization_mode='sync' or 'async'."
        )
    creator = resolve(spec.id, spec.vector_entry_point)
    if spec.max_episode_steps is not None:
        arguments.setdefault("max_episode_steps", spec.max_episode_steps)
    check_arguments(spec.id, creator, {"num_envs": call.num_envs, **arguments})
    env: VectorEnv = as_vector_env(creator(num_envs=call.num_envs, **arguments))
    return env


def _check_autoreset_metadata(env: VectorEnv) -> None:
    mode = env.metadata.get("autoreset_mode")
    if mode is None:
        logger.warn(
            f"The VectorEnv ({env}) is missing AutoresetMode metadata, metadata={env.metadata}",
            stacklevel=3,
        )
    elif not isinstance(mode, AutoresetMode):
        logger.warn(
            f"The VectorEnv ({env}) metadata['autoreset_mode'] is not an instance of "
            f"AutoresetMode, {type(mode)}.",
            stacklevel=3,
        )
