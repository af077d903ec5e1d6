"""Adapts environments of an older API, or of another library, to the Ludus API.

Which API an environment has is detected from the object: ``step`` returns four or five values,
``reset`` an observation or a pair, the seed is passed to ``seed()`` or to ``reset``, the render
mode to ``render()`` or to the constructor, and the oldest environments implement ``_step`` and
``_reset``.
"""

from __future__ import annotations

import inspect
import io
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any, ClassVar, SupportsFloat

import numpy as np

from ludus import logger
from ludus.core.env import Env
from ludus.core.foreign.env import as_env
from ludus.core.foreign.spaces import from_foreign
from ludus.core.foreign.step_api import convert_to_terminated_truncated_step_api
from ludus.core.forwarding import ForwardsAttributes
from ludus.core.spec import EnvSpec
from ludus.core.vector_env import VectorEnv
from ludus.spaces import Tuple

__all__ = ["ClassicAdapter", "adapt", "needs_adapting", "take_render_mode"]

_METADATA_NAMES = {"render.modes": "render_modes", "video.frames_per_second": "render_fps"}


def needs_adapting(env: object) -> bool:
    """Return whether an object is an environment that does not follow the Ludus API.

    That is an object of another library with ``step``, ``reset`` and both spaces, or an
    :class:`~ludus.core.Env` of the classic API: its ``reset`` takes no seed (or has the argument
    ``return_info``), or it implements ``_step`` instead of ``step``.
    """
    if isinstance(env, VectorEnv) or hasattr(env, "single_observation_space"):
        return False
    if isinstance(env, Env):
        return _is_classic(type(env))
    parts = ("step", "reset", "action_space", "observation_space")
    return all(hasattr(env, part) for part in parts)


def adapt(env: Any, render_mode: str | None = None) -> Env[Any, Any]:
    """Adapt an environment to the Ludus API; warn once per class of the classic API.

    Args:
        env: An environment for which :func:`needs_adapting` is true.
        render_mode: The mode for an environment that takes it in ``render()``.

    Raises:
        CustomSpaceError: A space is not a standard one.
    """
    kind = type(_core(env))
    if _is_classic(kind):
        _announce(kind)
        return ClassicAdapter(env, render_mode)
    adapted = as_env(env)
    return adapted if isinstance(adapted, Env) else ClassicAdapter(env, render_mode)


def take_render_mode(creator: Callable[..., Any], arguments: dict[str, Any]) -> str | None:
    """Remove ``render_mode`` from the arguments of a class of the classic API and return it.

    Such a class takes the mode in ``render()``; :func:`adapt` stores it until then. For any other
    creator the arguments are not changed.
    """
    if "render_mode" not in arguments or not inspect.isclass(creator) or not _is_classic(creator):
        return None
    if "render_mode" in (_parameters(creator.__init__) or ()):
        return None
    mode: str | None = arguments.pop("render_mode")
    return mode


class ClassicAdapter(ForwardsAttributes, Env[Any, Any]):
    """An environment of an older API, or of another library, as a Ludus environment.

    ``unwrapped`` is the adapter; it forwards attributes of the inner environment,
    :attr:`classic_env`. ``info["TimeLimit.truncated"]`` becomes ``truncated``. In mode ``"human"``
    every reset and step renders.
    """

    _inner_name: ClassVar[str] = "classic_env"

    def __init__(self, env: Any, render_mode: str | None = None) -> None:
        self.action_space = from_foreign(env.action_space)
        self.observation_space = from_foreign(env.observation_space)
        declared = getattr(env, "metadata", None) or {}
        self.metadata = {_METADATA_NAMES.get(key, key): value for key, value in declared.items()}
        self.metadata.setdefault("render_modes", [])
        self.render_mode = getattr(env, "render_mode", None) if render_mode is None else render_mode
        self._reset_takes = _reset_parameters(env)
        self._render_takes_mode = "mode" in (_parameters(_method(env, "render")) or ())
        # Last, because attributes are forwarded to the environment from then on.
        self.classic_env = env

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment, passing the seed in the way that its API expects."""
        super().reset(seed=seed)
        arguments: dict[str, Any] = {}
        if "return_info" in self._reset_takes:
            arguments["return_info"] = True
        if options is not None and "options" in self._reset_takes:
            arguments["options"] = options
        if seed is not None:
            if "seed" in self._reset_takes:
                arguments["seed"] = seed
            else:
                self._seed_inner(seed)
        observation, info = self._as_pair(_method(self.classic_env, "reset")(**arguments))
        if self.render_mode == "human":
            self.render()
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment and return five values."""
        result = _method(self.classic_env, "step")(action)
        if len(result) == 4:
            observation, reward, ended, cut, info = convert_to_terminated_truncated_step_api(result)
            result = observation, reward, bool(ended), bool(cut), info
        if self.render_mode == "human":
            self.render()
        return result  # type: ignore[no-any-return]

    def render(self) -> Any:
        """Render in the mode chosen at construction."""
        render = _method(self.classic_env, "render")
        if not self._render_takes_mode:
            return render()
        if self.render_mode is None:
            logger.warn(
                f"render() of {type(self.classic_env).__name__} needs a render mode; choose one of "
                f"{self.metadata['render_modes']} with make(..., render_mode=...)."
            )
            return None
        frame = render(mode=self.render_mode)
        return frame.getvalue() if isinstance(frame, io.StringIO) else frame

    def close(self) -> None:
        """Close the environment, if it can be closed."""
        close = _method(self.classic_env, "close")
        if close is not None:
            close()

    @property
    def spec(self) -> EnvSpec | None:
        """The spec, which is also set on the inner environment."""
        return self.__dict__.get("_spec")

    @spec.setter
    def spec(self, value: EnvSpec | None) -> None:
        self.__dict__["_spec"] = value
        _core(self.classic_env).spec = value

    @property
    def np_random(self) -> np.random.Generator:
        """The generator of the inner environment, if it has one, else the adapter's own."""
        inner = getattr(self.classic_env, "np_random", None)
        return inner if isinstance(inner, np.random.Generator) else super().np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._np_random, self._np_random_seed = value, -1
        _core(self.classic_env).np_random = value

    def _seed_inner(self, seed: int) -> None:
        env = self.classic_env
        for name in ("seed", "_seed"):
            if callable(getattr(env, name, None)):
                getattr(env, name)(seed)
                return
        if isinstance(env, Env):
            Env.reset(env, seed=seed)

    def _as_pair(self, result: Any) -> tuple[Any, dict[str, Any]]:
        pair = isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)
        # An observation can itself be a pair with a dict, which only its space shows.
        if pair and not (
            isinstance(self.observation_space, Tuple) and result in self.observation_space
        ):
            return result  # type: ignore[no-any-return]
        return result, {}


_announced: weakref.WeakSet[type] = weakref.WeakSet()


def _announce(cls: type) -> None:
    if cls in _announced:
        return
    _announced.add(cls)
    logger.warn(
        f"{cls.__name__} is written for the classic API (four values from step, or reset without "
        "a seed); it runs behind an adapter. To update it: reset(self, *, seed=None, options=None) "
        "returns (obs, info), and step returns (obs, reward, terminated, truncated, info).",
        stacklevel=4,
    )


def _is_classic(cls: type) -> bool:
    """Return whether a class implements the classic API."""
    if _overridden(cls, "_step") and not _overridden(cls, "step"):
        return True
    takes = _parameters(getattr(cls, "reset", None))
    return takes is not None and ("seed" not in takes or "return_info" in takes)


def _overridden(cls: type, name: str) -> bool:
    return getattr(cls, name, None) is not getattr(Env, name, None)


def _core(env: Any) -> Any:
    return getattr(env, "unwrapped", env)


def _method(env: Any, name: str) -> Any:
    """Return the public method, or the one with an underscore if only that is implemented."""
    if isinstance(env, Env) and not _overridden(type(env), name) and hasattr(env, f"_{name}"):
        return getattr(env, f"_{name}")
    return getattr(env, name, None)


class _Anything(frozenset[str]):
    """The parameter names of a callable that takes any keyword."""

    def __contains__(self, name: object) -> bool:
        return name != "return_info"


def _parameters(function: Any) -> frozenset[str] | None:
    """Return the names of the keyword arguments that a callable takes, ``None`` if unknown."""
    if type(function) is FunctionType and not function.__dict__:
        # An undecorated function: reading its code is 50 times as fast as inspect.signature().
        code = function.__code__
        if not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, or not there
        return None
    names = frozenset(p.name for p in parameters)
    return _Anything(names) if any(p.kind is p.VAR_KEYWORD for p in parameters) else names


def _reset_parameters(env: Any) -> frozenset[str]:
    """Return the arguments of ``reset``; classic wrappers accept any and pass them on."""
    layers = [_parameters(_method(layer, "reset")) for layer in (env, _core(env))]
    known = [_Anything() if takes is None else takes for takes in layers]
    return frozenset(
        name for name in ("seed", "options", "return_info") if all(name in takes for takes in known)
    )
