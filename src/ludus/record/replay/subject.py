"""What was recorded, described so that it can be built again elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from ludus.codec import encode
from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.env import Env
from ludus.core.spec import EnvSpec
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.core.wrapper import Wrapper
from ludus.errors import CodecError, CustomSpaceError, Error
from ludus.record.format import canonical
from ludus.record.format.values import Values
from ludus.registration.table import registry
from ludus.served_names import own_name
from ludus.spaces import Space, to_dict

__all__ = ["AnyEnv", "autoreset_mode", "describe", "is_onlooker", "layers_of", "registered_fields"]

_LARGEST_SPACE = 2**18
# They change neither observations nor rewards, and some of them draw or write files.
_ONLOOKERS = {
    "HumanRendering",
    "PassiveEnvChecker",
    "RecordEpisodes",
    "RecordEpisodeStatistics",
    "RecordVectorEpisodes",
    "RecordVideo",
    "RenderCollection",
}
AnyEnv = Env[Any, Any] | VectorEnv[Any, Any, Any]


def describe(env: AnyEnv, actions: Values, observations: Values, *, stored: bool) -> dict[str, Any]:
    """Return the subject of the manifest for an environment that is about to be recorded.

    ``stored`` tells whether observations are stored. The field ``unreplayable`` says why the
    environment cannot be built again, ``None`` if it can.
    """
    spec = env.unwrapped.spec
    subject: dict[str, Any] = {
        "id": None if spec is None else spec.id,
        "num_envs": getattr(env, "num_envs", None) if isinstance(env, VectorEnv) else None,
        "autoreset_mode": _mode_name(env),
        "observations": stored,
        "columns": [_column(leaf) for leaf in (*actions.leaves, *observations.leaves)],
        "action_space": _space(env, "action_space"),
        "observation_space": _space(env, "observation_space"),
        "kwargs": {},
        "wrappers": [],
        "registered": None,
        "unreplayable": None,
    }
    try:
        subject |= _recipe(env, spec)
    except _Unknown as reason:
        subject["unreplayable"] = str(reason)
    return subject


class _Unknown(Exception):
    """The environment cannot be described; the text is the reason."""


def _recipe(env: AnyEnv, spec: EnvSpec | None) -> dict[str, Any]:
    if spec is None:
        raise _Unknown(
            f"{env!r:.200} has no spec: it was not built by make() or make_vec() from an id"
        )
    known = registry.get(spec.id)
    if known is None:
        raise _Unknown(f"{spec.id} is not registered")
    for name in ("entry_point", "vector_entry_point"):
        if _point(getattr(spec, name)) != _point(getattr(known, name)):
            raise _Unknown(f"{spec.id} was built with another {name} than it is registered with")
    try:
        registered = registered_fields(known)
    except CodecError as problem:
        raise _Unknown(
            f"{spec.id} is registered with arguments that are not plain: {problem}"
        ) from None
    limits = {} if isinstance(env, Env) else {"max_episode_steps": spec.max_episode_steps}
    return {
        "kwargs": _plain_kwargs(spec),
        "spec_wrappers": [_plain_wrapper(item) for item in _as_rows(spec.additional_wrappers)],
        "wrappers": [_plain_wrapper(_layer(layer)) for layer in layers_of(env)],
        "registered": registered,
        **limits,
    }


def layers_of(env: AnyEnv) -> list[Any]:
    """Return the wrappers around an environment, the innermost first."""
    layers: list[Any] = []
    innermost = env.unwrapped
    while env is not innermost and hasattr(env, "env"):
        layers.append(env)
        env = env.env
    return layers[::-1]


def is_onlooker(entry_point: str) -> bool:
    """Tell whether a wrapper of Ludus changes nothing, so that a replay leaves it out."""
    module, _, name = own_name(entry_point).partition(":")
    return name in _ONLOOKERS and module.startswith(("ludus.wrappers", "ludus.record"))


def registered_fields(spec: EnvSpec) -> dict[str, Any]:
    """Return what a spec says about an environment's behaviour, as plain data."""
    fields = {
        "id": spec.id,
        "entry_point": _point(spec.entry_point),
        "vector_entry_point": _point(spec.vector_entry_point),
        "nondeterministic": spec.nondeterministic,
        "max_episode_steps": spec.max_episode_steps,
        "order_enforce": spec.order_enforce,
        "kwargs": plain(spec.kwargs),
        "additional_wrappers": [plain(row) for row in _as_rows(spec.additional_wrappers)],
    }
    encode(fields)
    return fields


def autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """Return a vector environment's autoreset mode, next step if it does not tell."""
    mode = env.metadata.get("autoreset_mode")
    return mode if isinstance(mode, AutoresetMode) else AutoresetMode.NEXT_STEP


def _mode_name(env: AnyEnv) -> str | None:
    return autoreset_mode(env).value if isinstance(env, VectorEnv) else None


def plain(value: Any) -> Any:
    """Return a value with the members of enums as their values."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, tuple):
        return tuple([plain(part) for part in value])
    return value


def _plain_kwargs(spec: EnvSpec) -> dict[str, Any]:
    kwargs = plain(spec.kwargs)
    if "wrappers" in kwargs:  # of make_vec: callables, each of which wraps one environment
        kwargs["wrappers"] = [_plain_wrapper(_callable_row(item)) for item in kwargs["wrappers"]]
    for name, value in kwargs.items():
        _check_plain(value, f"the argument {name} of {spec.id}")
    return dict(kwargs)


def _plain_wrapper(row: Mapping[str, Any]) -> dict[str, Any]:
    if is_onlooker(row["entry_point"]):
        return {**row, "kwargs": {}}
    if row["kwargs"] is None:
        raise _Unknown(
            f"the wrapper {row['name']} did not record its arguments (derive it from "
            "RecordConstructorArgs)"
        )
    kwargs = plain(row["kwargs"])
    for name, value in kwargs.items():
        _check_plain(value, f"the argument {name} of the wrapper {row['name']}")
    return {**row, "kwargs": kwargs}


def _check_plain(value: Any, what: str) -> None:
    try:
        encode(value)
    except CodecError as problem:
        raise _Unknown(f"{what} is not plain data: {problem}") from None


def _layer(layer: Any) -> dict[str, Any]:
    if isinstance(layer, Wrapper):
        cls, arguments = layer._layer()
    else:
        cls = type(layer)
        arguments = layer._saved_kwargs if isinstance(layer, RecordConstructorArgs) else None
    if arguments is not None:
        arguments = {key: value for key, value in arguments.items() if key != "env"}
    return _row(cls, arguments)


def _callable_row(wrap: Callable[..., Any]) -> dict[str, Any]:
    if isinstance(wrap, type):
        return _row(wrap, {})
    if isinstance(wrap, functools.partial) and isinstance(wrap.func, type) and not wrap.args:
        return _row(wrap.func, dict(wrap.keywords))
    return {"name": repr(wrap)[:200], "entry_point": "", "kwargs": None}


def _row(cls: type, kwargs: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "name": cls.__name__,
        "entry_point": own_name(f"{cls.__module__}:{cls.__qualname__}"),
        "kwargs": kwargs,
    }


def _as_rows(wrappers: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {"name": item.name, "entry_point": own_name(item.entry_point), "kwargs": item.kwargs}
        for item in wrappers
    ]


def _point(entry_point: Callable[..., Any] | str | None) -> str | None:
    if entry_point is None:
        return None
    if isinstance(entry_point, str):
        return own_name(entry_point)
    name = getattr(entry_point, "__qualname__", type(entry_point).__qualname__)
    return own_name(f"{getattr(entry_point, '__module__', '?')}:{name}")


def _column(leaf: Any) -> dict[str, Any]:
    return {"name": leaf.name, "dtype": leaf.dtype.str, "shape": list(leaf.shape)}


def _space(env: AnyEnv, name: str) -> dict[str, Any] | None:
    """Return one environment's space as plain data; ``None`` for one that has no such form."""
    space: Space[Any] = getattr(env, name if isinstance(env, Env) else f"single_{name}")
    try:
        found = to_dict(space)
        return found if len(canonical.dumps(found)) <= _LARGEST_SPACE else None
    except (CustomSpaceError, Error, TypeError, ValueError):
        return None
