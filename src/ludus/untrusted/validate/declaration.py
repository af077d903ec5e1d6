"""Checks the declaration of a sandboxed environment before anything is built from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ludus.codec import DecodeLimits
from ludus.core.ids import parse_env_id
from ludus.core.spec import EnvSpec, SecuritySpec
from ludus.core.vector_env import AutoresetMode
from ludus.errors import Error
from ludus.spaces import Space
from ludus.spaces.cost import SPACE_LIMITS, SpaceLimits, check_cost
from ludus.spaces.serialization import from_dict
from ludus.terminal_text import excerpt

__all__ = ["LIMITS", "Declaration", "read_declaration"]

LIMITS = DecodeLimits(total_bytes=2**25, depth=80, items=2**21, string_bytes=2**18, int_keys=1000)
"""How large a declaration may be; bounds of images take the most."""

_METADATA_ENTRIES = 200
_RENDERING = (None, "HumanRendering", "RenderCollection")


@dataclass(frozen=True, slots=True)
class Declaration:
    """An environment as its sandbox declares it."""

    name: str
    observation_space: Space[Any]
    action_space: Space[Any]
    metadata: dict[str, Any]
    render_mode: str | None
    rendering: str | None
    autoreset: AutoresetMode | None
    spec: EnvSpec


def read_declaration(
    told: Any,
    *,
    spec: EnvSpec | None,
    wanted: str,
    num_envs: int | None,
    limits: SpaceLimits = SPACE_LIMITS,
) -> Declaration:
    """Check a declaration.

    Args:
        told: the decoded declaration.
        spec: the spec, if the host knows it; otherwise the declared one is read.
        wanted: the id that was asked for.
        num_envs: how many environments were asked for; ``None`` for a single one.
        limits: what the spaces may cost the host.

    Raises:
        ValueError: it is invalid; the message says why.
    """
    if type(told) is not dict:
        raise ValueError(f"a declaration is a dict, got {type(told).__name__}")
    if told.get("num_envs") != num_envs:
        raise ValueError(
            f"{num_envs} environments were asked for, got {told.get('num_envs')!r:.50}"
        )
    metadata = _checked(told, "metadata", dict)
    _check_metadata(metadata)
    rendering = told.get("rendering")
    if rendering not in _RENDERING:
        raise ValueError(f"rendering is {rendering!r:.50}, expected one of {_RENDERING}")
    mode = told.get("autoreset")
    copies = num_envs or 1
    return Declaration(
        name=excerpt(_checked(told, "name", str), 100),
        observation_space=_space(told, "observation_space", copies, limits),
        action_space=_space(told, "action_space", copies, limits),
        metadata=metadata,
        render_mode=_render_mode(told),
        rendering=rendering,
        autoreset=None if mode is None else AutoresetMode(mode),
        spec=_read_spec(_checked(told, "spec", dict), wanted) if spec is None else spec,
    )


def _checked(told: dict[str, Any], key: str, kind: type) -> Any:
    value = told.get(key)
    if type(value) is not kind:
        raise ValueError(f"{key} is of type {type(value).__name__}, expected {kind.__name__}")
    return value


def _optional(told: dict[str, Any], key: str, *kinds: type) -> Any:
    value = told.get(key)
    if value is not None and type(value) not in kinds:
        raise ValueError(f"{key} is of type {type(value).__name__}, expected {kinds[0].__name__}")
    return value


def _render_mode(told: dict[str, Any]) -> str | None:
    mode: str | None = _optional(told, "render_mode", str)
    if mode is not None and (len(mode) > 100 or not mode.isprintable()):
        raise ValueError(f"render_mode is {mode!r:.50}, expected a short word")
    return mode


def _check_metadata(metadata: dict[str, Any]) -> None:
    if len(metadata) > _METADATA_ENTRIES or not all(type(key) is str for key in metadata):
        raise ValueError(f"metadata has {len(metadata)} entries, or keys that are no texts")
    modes = metadata.get("render_modes", [])
    if type(modes) not in (list, tuple) or not all(type(m) in (str, type(None)) for m in modes):
        raise ValueError("metadata['render_modes'] is no list of texts")
    rate = metadata.get("render_fps")
    if rate is not None and (type(rate) not in (int, float) or not 0 < rate < 1e6):
        raise ValueError(f"metadata['render_fps'] is {rate!r:.50}")


def _space(told: dict[str, Any], key: str, copies: int, limits: SpaceLimits) -> Space[Any]:
    described = told.get(key)
    try:
        # Before anything is built: building alone can fill the memory.
        check_cost(described, limits, copies=copies)
    except ValueError as problem:
        raise ValueError(
            f"{key} costs too much: {problem}; if that is right, allow more with "
            "SandboxOptions(spaces=SpaceLimits(...))"
        ) from None
    try:
        return from_dict(described)  # type: ignore[arg-type]
    except Exception as problem:  # hostile data may break any space
        raise ValueError(f"{key} is no space: {problem}") from None


def _read_spec(told: dict[str, Any], wanted: str) -> EnvSpec:
    """Return the spec that a sandbox declares; it is always untrusted."""
    env_id = _checked(told, "id", str)
    try:
        asked, found = parse_env_id(wanted.rpartition(":")[2]), parse_env_id(env_id)
    except Error:
        raise ValueError(f"its id {env_id!r:.100} is malformed") from None
    if asked[:2] != found[:2] or asked[2] not in (None, found[2]):
        raise ValueError(f"{wanted!r} was asked for, got {env_id!r:.100}")
    limit = _optional(told, "max_episode_steps", int)
    if limit is not None and not 0 < limit < 2**62:
        raise ValueError(f"max_episode_steps is {limit!r:.50}, expected a positive int")
    flags = ("nondeterministic", "order_enforce", "disable_env_checker")
    return EnvSpec(
        env_id,
        entry_point=_optional(told, "entry_point", str),
        max_episode_steps=limit,
        kwargs=_checked(told, "kwargs", dict) if "kwargs" in told else {},
        security=SecuritySpec(trust="untrusted"),
        **{flag: _checked(told, flag, bool) for flag in flags},
        reward_threshold=_optional(told, "reward_threshold", float, int),
        author=_optional(told, "author", str),
        description=_optional(told, "description", str),
    )
