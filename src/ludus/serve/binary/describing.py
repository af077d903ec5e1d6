"""What a server declares of an environment when a client opens it."""

from __future__ import annotations

import dataclasses
from typing import Any

from ludus.codec import encode
from ludus.core.vector_env import AutoresetMode
from ludus.errors import CodecError, CustomSpaceError, ServeError
from ludus.serve.binary.frames import PROTOCOL
from ludus.serve.binary.space_forms import describe
from ludus.serve.session import Session
from ludus.spaces import Space

__all__ = ["declaration"]

_RENDER_MODES = ("ansi", "rgb_array")
_SPEC_FIELDS = (
    "id",
    "reward_threshold",
    "nondeterministic",
    "max_episode_steps",
    "order_enforce",
    "disable_env_checker",
    "author",
    "description",
)


def declaration(session: Session, env: Any, *, num_envs: int | None) -> dict[str, Any]:
    """Return the declaration of a session's environment as plain data.

    Raises:
        ServeError: A space has no description, because its class is not Ludus's.
    """
    mode = env.metadata.get("autoreset_mode")
    return {
        "protocol": PROTOCOL,
        "served": session.served.name,
        "kind": session.served.kind,
        "name": type(env.unwrapped).__name__,
        "num_envs": num_envs,
        "observation_space": _described(session, session.observation_space),
        "action_space": _described(session, session.action_space),
        "metadata": _metadata(session),
        "render_mode": env.render_mode,
        "rendering": None,
        "autoreset": mode.value if isinstance(mode, AutoresetMode) else None,
        "spec": _spec(session.served.facts.spec),
    }


def _metadata(session: Session) -> dict[str, Any]:
    """Return the metadata with the render modes that draw for somebody else."""
    found = _plain_entries(session.metadata)
    modes = found.get("render_modes") or ()
    return found | {"render_modes": [mode for mode in modes if mode in _RENDER_MODES]}


def _described(session: Session, space: Space[Any]) -> dict[str, Any]:
    try:
        return describe(space)
    except CustomSpaceError as problem:
        raise ServeError(
            f"{session.served.name} cannot be opened with ludus.connect: {problem}. Use the "
            "server's JSON protocol (OpenEnv) or MCP."
        ) from problem


def _spec(spec: Any) -> dict[str, Any]:
    fields = {field.name: getattr(spec, field.name) for field in dataclasses.fields(spec)}
    return _plain_entries({name: fields[name] for name in _SPEC_FIELDS if name in fields})


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
