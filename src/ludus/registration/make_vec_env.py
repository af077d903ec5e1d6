"""Creation of vector environments."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ludus import logger
from ludus.core.env import Env
from ludus.core.foreign.env import as_env, as_vector_env
from ludus.core.spec import EnvSpec
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import Error, InvalidArgument
from ludus.registration.entry_point import check_arguments, resolve
from ludus.registration.foreign import as_spec
from ludus.registration.lookup import decide
from ludus.served_names import own_name

if TYPE_CHECKING:
    from ludus.untrusted.options import Sandboxing

__all__ = ["VectorizeMode", "find_own_batch", "make_vec", "settle_compile", "takes_autoreset_mode"]

_BATCHED = ("step", "reset")
"""Methods that a compiled batch replaces."""


def find_own_batch(spec: EnvSpec) -> None:
    """Set the vector entry point of a kernel environment's spec, as ``kernel.register`` does.

    A class that overrides ``step`` or ``reset`` in Python gets none, because the compiled batch
    would not call them.
    """
    if spec.vector_entry_point is not None or spec.entry_point is None:
        return
    creator: Any = resolve(spec.id, spec.entry_point)
    if _is_kernel_env(creator) and not _overrides_steps(creator):
        text = isinstance(spec.entry_point, str)
        spec.vector_entry_point = f"{spec.entry_point}.vector" if text else creator.vector


def _is_kernel_env(creator: Any) -> bool:
    # There is no kernel environment before this module is imported.
    kernels: Any = sys.modules.get("ludus.kernel.env")
    return (
        kernels is not None and isinstance(creator, type) and issubclass(creator, kernels.KernelEnv)
    )


def _overrides_steps(cls: type) -> bool:
    """Return whether a class outside of Ludus overrides ``step`` or ``reset``."""
    for base in cls.__mro__:
        module, _, _ = own_name(f"{base.__module__}:{base.__qualname__}").partition(":")
        if module.partition(".")[0] == "ludus":
            return False
        if any(name in vars(base) for name in _BATCHED):
            return True
    return False


def takes_autoreset_mode(spec: EnvSpec, vector_kwargs: dict[str, Any]) -> bool:
    """Return whether ``vector_kwargs`` has only a mode, which the vector entry point accepts.

    ``**kwargs`` counts as accepting it only for vector environments of Ludus.
    """
    if set(vector_kwargs) != {"autoreset_mode"} or spec.vector_entry_point is None:
        return False
    creator = resolve(spec.id, spec.vector_entry_point)
    parameters = inspect.signature(creator).parameters.values()
    if any(p.name == "autoreset_mode" and p.kind is not p.VAR_KEYWORD for p in parameters):
        return True
    return any(p.kind is p.VAR_KEYWORD for p in parameters) and _is_ours(creator)


def settle_compile(spec: EnvSpec, arguments: dict[str, Any], *, own_batch: bool) -> None:
    """Remove the argument ``compile`` for a batch of Ludus that has nothing to compile.

    Args:
        spec: Of the environment.
        arguments: Of the environment or its own batch; changed in place.
        own_batch: Whether the environment's own vector implementation is built.

    Raises:
        InvalidArgument: Single environments of Ludus are built, which do not take it.
        KernelError: There is no such way to compile.
    """
    entry_point = spec.vector_entry_point if own_batch else spec.entry_point
    creator: Any = None if entry_point is None else resolve(spec.id, entry_point)
    if not _is_ours(creator) or "compile" in inspect.signature(creator).parameters:
        return
    if not own_batch:
        raise InvalidArgument(
            f"make_vec({spec.id!r}) got compile={arguments['compile']!r}, which says when the code "
            "of an environment's own batch is compiled, but this batch is made of single "
            "environments. Leave it out; the environment variable LUDUS_COMPILE says it for them."
        )
    from ludus.kernel.native.jit import checked_mode

    checked_mode(arguments.pop("compile"), "compile")


def _is_ours(creator: Any) -> bool:
    function = inspect.unwrap(getattr(creator, "__func__", creator))
    return str(getattr(function, "__module__", "")).startswith("ludus.")


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
    wanted = as_spec(id)
    if not isinstance(wanted, str | EnvSpec):
        raise Error(f"Invalid id type: {type(id)}. Expected `str` or `EnvSpec`.")
    env_id, known, sandbox = decide(wanted, sandbox)
    # Only the id is known of an environment that must be looked up in its sandbox.
    spec = EnvSpec(env_id.rpartition(":")[2]) if known is None else copy.deepcopy(known)
    arguments, spec.kwargs = spec.kwargs, {}
    arguments.pop("sandbox", None)
    # The spec of a vector environment records these, so that make_vec(env.spec) rebuilds it.
    num_envs = arguments.pop("num_envs", num_envs)
    vector_kwargs = dict(arguments.pop("vector_kwargs", vector_kwargs) or {})
    wrappers = list(arguments.pop("wrappers", wrappers) or [])
    asked = arguments.pop("vectorization_mode", vectorization_mode)
    arguments.update(kwargs)
    wrapped = bool(wrappers or spec.additional_wrappers)
    own = VectorizeMode.VECTOR_ENTRY_POINT
    if asked in (None, own, own.value) and not wrapped and known is not None and sandbox is None:
        find_own_batch(spec)
    if asked is None and not wrapped and takes_autoreset_mode(spec, vector_kwargs):
        arguments.setdefault("autoreset_mode", vector_kwargs.pop("autoreset_mode"))
    mode = _mode(spec, asked, wrapped or bool(vector_kwargs))
    num_envs = _positive_count(num_envs)

    env: VectorEnv
    if sandbox is not None and not wrappers:
        from ludus.registration.make_sandboxed import make_vec_sandboxed

        env = make_vec_sandboxed(
            env_id,
            None if known is None else spec,
            sandbox,
            num_envs,
            mode=None if asked is None else mode.value,
            vector_kwargs=vector_kwargs,
            **arguments,
        )
        _check_autoreset_metadata(env)
        return env
    if "compile" in arguments and sandbox is None and known is not None:
        settle_compile(spec, arguments, own_batch=mode is own)
    if mode is own:
        env = _from_vector_entry_point(spec, num_envs, vector_kwargs, wrappers, arguments)
    else:

        def build(**given: Any) -> Env:
            # Imported here, because native batches do without.
            from ludus.registration.make_env import make

            return make(env_id if known is None else spec, sandbox=sandbox, **given)

        env = _from_single_envs(mode, spec, num_envs, vector_kwargs, wrappers, arguments, build)

    spec.kwargs = dict(arguments)
    recorded: dict[str, Any] = {"vectorization_mode": mode.value}
    if num_envs != 1:
        recorded["num_envs"] = num_envs
    if vector_kwargs:
        recorded["vector_kwargs"] = vector_kwargs
    if wrappers:
        recorded["wrappers"] = wrappers
    spec.kwargs.update(recorded)
    env.unwrapped.spec = spec
    _check_autoreset_metadata(env)
    return env


def _positive_count(num_envs: Any) -> int:
    """Return the number of environments as an int; integers of NumPy are accepted."""
    if isinstance(num_envs, bool) or not isinstance(num_envs, Integral) or num_envs < 1:
        raise ValueError(f"make_vec(num_envs={num_envs!r}): expected a positive int.")
    return int(num_envs)


def _mode(spec: EnvSpec, mode: VectorizeMode | str | None, wrapped: bool) -> VectorizeMode:
    if mode is None:
        only_vector = spec.entry_point is None
        own = spec.vector_entry_point is not None and (only_vector or not wrapped)
        return VectorizeMode.VECTOR_ENTRY_POINT if own else VectorizeMode.SYNC
    try:
        return VectorizeMode(mode)
    except ValueError as problem:
        raise ValueError(
            f"Invalid vectorization mode: {mode!r}, valid modes: "
            f"{[known.value for known in VectorizeMode]}"
        ) from problem


def _from_single_envs(
    mode: VectorizeMode,
    spec: EnvSpec,
    num_envs: int,
    vector_kwargs: dict[str, Any],
    wrappers: list[Callable[[Env], Env]],
    arguments: dict[str, Any],
    build: Callable[..., Env],
) -> VectorEnv:
    if spec.entry_point is None and spec.vector_entry_point is not None:
        raise Error(
            f"Cannot create vectorized environment for {spec.id} because it doesn't have an entry "
            f"point defined. Leave out vectorization_mode={mode.value!r} to use its vector entry "
            "point."
        )

    def create_single_env() -> Env:
        env = build(**copy.deepcopy(arguments))
        for wrapper in wrappers:
            env = as_env(wrapper(env))
        return env

    from ludus import vector

    backend = vector.SyncVectorEnv if mode is VectorizeMode.SYNC else vector.AsyncVectorEnv
    env_fns = [create_single_env] * num_envs
    check_arguments(spec.id, backend, {"env_fns": env_fns, **vector_kwargs})
    env: VectorEnv = backend(env_fns, **vector_kwargs)
    return env


def _from_vector_entry_point(
    spec: EnvSpec,
    num_envs: int,
    vector_kwargs: dict[str, Any],
    wrappers: list[Callable[[Env], Env]],
    arguments: dict[str, Any],
) -> VectorEnv:
    refused = {
        "`vector_kwargs`": vector_kwargs,
        "the wrappers argument": wrappers,
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
    check_arguments(spec.id, creator, {"num_envs": num_envs, **arguments})
    env: VectorEnv = as_vector_env(creator(num_envs=num_envs, **arguments))
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
