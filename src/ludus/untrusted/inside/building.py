"""Builds the requested environment, as ``make`` and ``make_vec`` would."""

from __future__ import annotations

import dataclasses
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

from ludus.codec import encode
from ludus.core.foreign.classic_adapter import take_render_mode
from ludus.core.foreign.env import wrap
from ludus.core.foreign.spaces import standardized
from ludus.core.spec import EnvSpec, SecuritySpec, WrapperSpec
from ludus.core.vector_env import AutoresetMode
from ludus.errors import CodecError
from ludus.registration.entry_point import load_env_creator, resolve
from ludus.registration.lookup import find_spec
from ludus.registration.make_env import choose_rendering, create_env
from ludus.registration.make_vec_env import make_vec
from ludus.spaces.serialization import to_dict

__all__ = ["build", "prepare"]

# A sandbox may do what its policy allows, whatever the spec says of trust.
_HERE = SecuritySpec(trust="plugin")


def prepare(recipe: dict[str, Any]) -> None:
    """Make what the recipe names importable, and stay on the processor it asks for."""
    if recipe["cpu"] is not None:
        os.sched_setaffinity(0, {recipe["cpu"]})
    if recipe["wheel"] is not None:
        target = Path.home() / "wheel"
        with zipfile.ZipFile(recipe["wheel"]) as wheel:
            wheel.extractall(target)  # in the sandbox, where it can hurt nobody else
        sys.path[:0] = [str(target), *map(str, target.glob("*.data/*lib"))]
    sys.path[:0] = recipe["paths"]


def build(recipe: dict[str, Any]) -> tuple[Any, tuple[Any, Any], dict[str, Any]]:
    """Return the environment, the spaces of a single one, and its declaration."""
    spec = _spec(recipe)
    if recipe["num_envs"] is None:
        return _single(recipe, spec)
    return _batch(recipe, spec)


def _spec(recipe: dict[str, Any]) -> EnvSpec:
    if recipe["spec"] is None:
        return dataclasses.replace(find_spec(recipe["id"]), security=_HERE)
    fields = dict(recipe["spec"])
    wrappers = tuple(WrapperSpec(**wrapper) for wrapper in fields.pop("additional_wrappers"))
    return EnvSpec(**fields, additional_wrappers=wrappers, security=_HERE)


def _single(recipe: dict[str, Any], spec: EnvSpec) -> tuple[Any, tuple[Any, Any], dict[str, Any]]:
    arguments = {**spec.kwargs, **recipe["arguments"]}
    creator = resolve(spec.id, spec.entry_point)
    classic_mode = take_render_mode(creator, arguments)
    rendering = _drawn_by_host(creator, arguments) or choose_rendering(creator, arguments)
    env = create_env(spec, creator, arguments, rendering, classic_mode)
    if recipe["wraps"]:
        for wrapper in spec.additional_wrappers:
            env = wrap(env, load_env_creator(wrapper.entry_point), wrapper.kwargs or {})
    spaces = standardized(env.observation_space), standardized(env.action_space)
    return env, spaces, {**_declared(env, spaces, spec), "rendering": rendering}


def _drawn_by_host(creator: Any, arguments: dict[str, Any]) -> str | None:
    """Choose frames instead of a window, of which a sandbox has none."""
    metadata = getattr(creator, "metadata", None)
    modes = metadata.get("render_modes", ()) if isinstance(metadata, dict) else ()
    if arguments.get("render_mode") == "human" and "rgb_array" in modes:
        arguments["render_mode"] = "rgb_array"
        return "HumanRendering"
    return None


def _batch(recipe: dict[str, Any], spec: EnvSpec) -> tuple[Any, tuple[Any, Any], dict[str, Any]]:
    env = make_vec(
        spec,
        recipe["num_envs"],
        recipe["mode"],
        recipe["vector_kwargs"] or None,
        **recipe["arguments"],
    )
    single = env.single_observation_space, env.single_action_space
    spaces = standardized(single[0]), standardized(single[1])
    return env, spaces, {**_declared(env, spaces, spec), "num_envs": env.num_envs}


def _declared(env: Any, spaces: tuple[Any, Any], spec: EnvSpec) -> dict[str, Any]:
    mode = env.metadata.get("autoreset_mode")
    return {
        "name": type(env.unwrapped).__name__,
        "observation_space": to_dict(spaces[0]),
        "action_space": to_dict(spaces[1]),
        "metadata": _plain_entries(env.metadata),
        "render_mode": env.render_mode,
        "rendering": None,
        "autoreset": mode.value if isinstance(mode, AutoresetMode) else None,
        "spec": _reported(spec),
    }


def _reported(spec: EnvSpec) -> dict[str, Any]:
    fields = {
        field.name: getattr(spec, field.name)
        for field in dataclasses.fields(spec)
        if field.init and field.name not in ("security", "additional_wrappers")
    }
    plain = _plain_entries({key: v for key, v in fields.items() if not callable(v)})
    plain["wrapped"] = bool(spec.additional_wrappers)
    return plain


def _plain_entries(entries: Any) -> dict[str, Any]:
    """Return the entries that can be sent."""
    plain = {}
    for key, value in dict(entries).items():
        try:
            encode({key: value})
        except CodecError:
            continue
        plain[key] = value
    return plain
