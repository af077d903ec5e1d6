"""The Gymnasium spec from which Minari rebuilds the environment of a dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ludus.interop.gymnasium.plugin import BUILDERS, NAMESPACE

__all__ = ["spec_json"]

# Arguments of make_vec, not of one environment.
_OF_BATCHES = {
    "autoreset_mode",
    "max_episode_steps",
    "num_envs",
    "vector_kwargs",
    "vectorization_mode",
    "wrappers",
}
# Wrappers that gymnasium.make adds itself, or that change no observations.
_PLAIN_WRAPPERS = {
    "HumanRendering",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "RecordVideo",
    "RenderCollection",
    "TimeLimit",
}


def spec_json(subject: Mapping[str, Any]) -> str | None:
    """Return a Gymnasium ``EnvSpec`` as JSON, or ``None`` if it cannot describe the environment.

    An id that is registered in Gymnasium refers to Gymnasium's environment, others to Ludus's.

    Args:
        subject: Field ``subject`` of a recording's manifest.
    """
    try:
        return _spec_json(subject)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None  # an argument that is not JSON, or a malformed manifest


def _spec_json(subject: Mapping[str, Any]) -> str | None:
    env_id, registered = subject.get("id"), subject.get("registered")
    if not isinstance(env_id, str) or not isinstance(registered, Mapping):
        return None
    kwargs = dict(subject["kwargs"])
    inside = [*subject.get("spec_wrappers", []), *kwargs.get("wrappers", [])]
    wrappers = [*inside, *subject["wrappers"]]
    if any(row["name"] not in _PLAIN_WRAPPERS for row in wrappers):
        return None
    limits = [row["kwargs"]["max_episode_steps"] for row in wrappers if row["name"] == "TimeLimit"]
    limit = subject.get("max_episode_steps") if subject.get("num_envs") else None
    spec = {
        **_known(env_id),
        "nondeterministic": registered.get("nondeterministic", False),
        "max_episode_steps": limits[0] if limits else limit,
        "order_enforce": registered.get("order_enforce", True),
        "disable_env_checker": False,
        "additional_wrappers": [],
        "vector_entry_point": None,
    }
    given = {name: value for name, value in kwargs.items() if name not in _OF_BATCHES}
    spec["kwargs"] = {**spec["kwargs"], **given}
    return json.dumps(spec)


def _known(env_id: str) -> dict[str, Any]:
    """Return id, entry point and arguments of an environment in Gymnasium."""
    try:
        from gymnasium.envs.registration import registry
    except ImportError:
        registry = {}
    theirs = registry.get(env_id)
    if theirs is not None and isinstance(theirs.entry_point, str):
        return {
            "id": env_id,
            "entry_point": theirs.entry_point,
            "reward_threshold": theirs.reward_threshold,
            "kwargs": dict(theirs.kwargs),
        }
    return {
        "id": env_id if "/" in env_id else f"{NAMESPACE}/{env_id}",
        "entry_point": f"{BUILDERS}:make_env",
        "reward_threshold": None,
        "kwargs": {"ludus_id": env_id},
    }
