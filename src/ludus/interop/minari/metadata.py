"""Metadata of a dataset: reader of an untrusted ``metadata.json``, specs of environments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ludus.errors import CodecError, RecordDamaged, RecordError
from ludus.interop.gymnasium.plugin import BUILDERS, NAMESPACE
from ludus.interop.minari.spaces import leaves_of, parse_json, read_space
from ludus.record.format import canonical
from ludus.spaces import Box, Space

__all__ = ["Metadata", "Origin", "read_metadata", "spec_json"]

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


_MOST_EPISODES = 10_000_000
_KEPT = (
    "algorithm_name",
    "author",
    "author_email",
    "code_permalink",
    "dataset_id",
    "description",
    "env_spec",
    "minari_version",
)
_LONGEST = 10_000


@dataclass(frozen=True, slots=True)
class Origin:
    """The recording that a dataset was exported from, as claimed by the dataset."""

    run: str
    head: str
    subject: Mapping[str, Any]
    provenance: Any
    in_order: bool
    """Whether the dataset has all episodes of the recording, in order."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata of a dataset."""

    episodes: int
    action_space: Space[Any]
    observation_space: Space[Any]
    about: Mapping[str, Any]
    """Descriptive fields."""
    origin: Origin | None
    """``None`` if the dataset was not exported by Ludus."""


def read_metadata(content: bytes) -> Metadata:
    """Parse ``metadata.json``.

    Raises:
        RecordDamaged: The file is malformed.
        RecordError: The dataset's format is not supported.
    """
    try:
        data = parse_json(content)
    except ValueError as problem:
        raise _damaged(f"it cannot be read: {problem!s:.200}") from None
    if not isinstance(data, dict):
        raise _damaged("it is not an object")
    if data.get("data_format", "hdf5") != "hdf5":
        raise RecordError(
            f"The dataset has the format {data['data_format']!r:.50}; only hdf5 can be imported."
        )
    episodes = data.get("total_episodes")
    if type(episodes) is not int or not 0 <= episodes <= _MOST_EPISODES:
        raise _damaged(f"total_episodes is {episodes!r:.50}")
    for name in ("action_space", "observation_space"):
        if name not in data:
            raise RecordError(f"metadata.json has no {name}, so the arrays cannot be interpreted.")
    actions = read_space(data["action_space"], "action_space")
    observations = read_space(data["observation_space"], "observation_space")
    if data.get("jpeg_encoding", True) and (_has_images(actions) or _has_images(observations)):
        raise RecordError(
            "The dataset stores images as JPEG, which is lossy. Create it with jpeg_encoding=False."
        )
    about = {name: _short(data[name]) for name in _KEPT if name in data}
    return Metadata(episodes, actions, observations, about, _origin(data.get("ludus")))


def _origin(text: Any) -> Origin | None:
    if not isinstance(text, str):
        return None
    try:
        data = canonical.loads(text.encode())
        found = Origin(**{name: data[name] for name in Origin.__slots__})
    except (CodecError, KeyError, TypeError, UnicodeEncodeError):
        return None
    words = isinstance(found.run, str) and isinstance(found.head, str)
    return found if words and isinstance(found.subject, dict) else None


def _has_images(space: Space[Any]) -> bool:
    """Return whether Minari would store a part of the space as JPEG."""
    boxes = [leaf.space for leaf in leaves_of(space) if isinstance(leaf.space, Box)]
    return any(len(box.shape) in (2, 3) and box.dtype.name == "uint8" for box in boxes)


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(each) for each in value[:100]]
    return value[:_LONGEST] if isinstance(value, str) else str(value)[:_LONGEST]


def _damaged(reason: str) -> RecordDamaged:
    return RecordDamaged(f"metadata.json: {reason}.", file="metadata.json")
