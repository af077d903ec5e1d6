"""``make_vec_env``: build a batch of environments for SB3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import InvalidArgument
from ludus.interop.gymnasium.adapter import to_gymnasium
from ludus.interop.sb3.episodes import MonitorOptions
from ludus.interop.sb3.rows import make_single_vec_env
from ludus.interop.sb3.vec_env import LudusVecEnv
from ludus.registration import find_spec, make, make_vec
from ludus.vector import SyncVectorEnv

__all__ = ["make_vec_env"]

_MONITOR = ("allow_early_resets", "info_keywords", "override_existing")


def make_vec_env(
    env_id: str | Callable[..., Any],
    n_envs: int = 1,
    seed: int | None = None,
    start_index: int = 0,
    monitor_dir: str | None = None,
    wrapper_class: Callable[..., Any] | None = None,
    env_kwargs: dict[str, Any] | None = None,
    vec_env_cls: type | None = None,
    vec_env_kwargs: dict[str, Any] | None = None,
    monitor_kwargs: dict[str, Any] | None = None,
    wrapper_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Build a monitored batch of environments, with the arguments of SB3's function.

    An id becomes a :class:`LudusVecEnv` over the environment's compiled or engine batch. With
    ``wrapper_class``, a function as ``env_id``, or another ``vec_env_cls``, SB3's own function
    builds single environments, which are stepped in a Python loop.

    Args:
        env_id: An id, or a function that returns an environment of Ludus or Gymnasium.
        n_envs: Number of environments.
        seed: Environment ``i`` gets ``seed + i`` at the first reset; by default a random seed.
        start_index: Number of the first environment, for log files and action spaces.
        monitor_dir: Folder for the files of ``Monitor``, one per environment.
        wrapper_class: Wrapper of each environment, outside of ``Monitor``.
        env_kwargs: Arguments of the environments; by default they render arrays if they can.
        vec_env_cls: ``DummyVecEnv`` or ``SubprocVecEnv``, for single environments.
        vec_env_kwargs: Arguments of ``vec_env_cls``; by default of :func:`ludus.make_vec`.
        monitor_kwargs: Arguments of ``Monitor``.
        wrapper_kwargs: Arguments of ``wrapper_class``.

    Raises:
        Error: The id is unknown, or an argument does not fit the environment or a batch.

    >>> env = make_vec_env("CartPole-v1", n_envs=8, seed=0)
    >>> env.reset().shape
    (8, 4)
    """
    if isinstance(env_id, str) and wrapper_class is None and vec_env_cls in (None, LudusVecEnv):
        monitor = _monitor_options(monitor_dir, start_index, monitor_kwargs or {})
        batch = _batch(env_id, n_envs, env_kwargs or {}, vec_env_kwargs or {})
        env = LudusVecEnv(batch, monitor=monitor)
        if seed is not None:
            env.action_space.seed(seed + start_index)
        env.seed(seed)
        return env
    return make_single_vec_env(
        _single(env_id),
        n_envs=n_envs,
        seed=seed,
        start_index=start_index,
        monitor_dir=monitor_dir,
        wrapper_class=wrapper_class,
        env_kwargs=env_kwargs,
        vec_env_cls=vec_env_cls,
        vec_env_kwargs=vec_env_kwargs,
        monitor_kwargs=monitor_kwargs,
        wrapper_kwargs=wrapper_kwargs,
    )


def _monitor_options(folder: str | None, first: int, options: dict[str, Any]) -> MonitorOptions:
    unknown = sorted(set(options) - set(_MONITOR))
    if unknown:
        raise InvalidArgument(
            f"monitor_kwargs has {', '.join(unknown)}; a batch supports {', '.join(_MONITOR)}. For "
            "others pass vec_env_cls=DummyVecEnv, which has a Monitor per environment."
        )
    return MonitorOptions(folder, first, **options)


def _batch(
    env_id: str, n_envs: int, env_kwargs: dict[str, Any], options: dict[str, Any]
) -> VectorEnv[Any, Any, Any]:
    """Build the batch, by default with ``rgb_array`` rendering unless that makes it slower."""
    if "render_mode" in env_kwargs:
        return _made(env_id, n_envs, env_kwargs, options)
    try:
        drawn = _made(env_id, n_envs, {"render_mode": "rgb_array", **env_kwargs}, options)
    except TypeError:
        return _made(env_id, n_envs, env_kwargs, options)
    if not (isinstance(drawn.unwrapped, SyncVectorEnv) and _has_batch(env_id, options)):
        return drawn
    drawn.close()
    return _made(env_id, n_envs, env_kwargs, options)


def _made(
    env_id: str, n_envs: int, env_kwargs: dict[str, Any], options: dict[str, Any]
) -> VectorEnv[Any, Any, Any]:
    given = {"autoreset_mode": AutoresetMode.SAME_STEP, **options}
    mode = given.pop("vectorization_mode", None)
    if _has_batch(env_id, options):
        try:
            return make_vec(env_id, n_envs, mode, **{"copy": False, **given}, **env_kwargs)
        except TypeError:  # an engine that always returns new arrays has no argument `copy`
            return make_vec(env_id, n_envs, mode, **given, **env_kwargs)
    return make_vec(env_id, n_envs, mode, vector_kwargs=given, **env_kwargs)


def _has_batch(env_id: str, options: dict[str, Any]) -> bool:
    """Return whether the environment's own vector implementation is used."""
    mode = options.get("vectorization_mode")
    if mode is not None:
        return str(getattr(mode, "value", mode)) == "vector_entry_point"
    spec = find_spec(env_id)
    return spec.vector_entry_point is not None and not spec.additional_wrappers


def _single(env_id: str | Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that builds one environment for SB3."""

    def build(**kwargs: Any) -> Any:
        if not isinstance(env_id, str):
            return to_gymnasium(env_id(**kwargs))
        if "render_mode" in kwargs:
            return to_gymnasium(make(env_id, **kwargs))
        try:
            return to_gymnasium(make(env_id, render_mode="rgb_array", **kwargs))
        except TypeError:
            return to_gymnasium(make(env_id, **kwargs))

    return build
