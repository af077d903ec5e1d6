"""What OpenEnv's messages say: their data from and to actions, results and states."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ludus.codec import DecodeLimits, decode, encode
from ludus.errors import CodecError, StateError
from ludus.serve.errors import InvalidMessage
from ludus.serve.schemas import plain, reader, schema_of, writer
from ludus.serve.served import Served
from ludus.serve.session import Result, Session
from ludus.spaces import Dict

__all__ = ["Exchange", "Wire", "reset_arguments"]

_OWN_FIELDS = {"reward", "done", "metadata"}
_LONGEST_ID = 255
_STATE_LIMITS = DecodeLimits(total_bytes=1 << 22, string_bytes=1 << 22, array_bytes=1 << 22)
_MAC = 32


@dataclass(frozen=True)
class Wire:
    """The form of one served environment's messages.

    Attributes:
        served: The environment.
        key: Signs the states that clients are given, so that no others are restored.
    """

    served: Served
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @cached_property
    def read_action(self) -> Any:
        """Function from JSON data to an action."""
        return reader(self.served.action_space)

    @cached_property
    def write_observation(self) -> Any:
        """Function from an observation to an object for JSON."""
        space = self.served.observation_space
        write = writer(space)
        if self.has_fields:
            return write
        return lambda observation: {"observation": write(observation)}

    @cached_property
    def has_fields(self) -> bool:
        """Whether observations are the fields of a ``Dict`` space."""
        space = self.served.observation_space
        return isinstance(space, Dict) and not _OWN_FIELDS & {str(key) for key in space.spaces}

    @cached_property
    def schemas(self) -> dict[str, Any]:
        """JSON Schemas of action, observation and state."""
        action = schema_of(self.served.action_space)
        observation = schema_of(self.served.observation_space)
        if not self.has_fields:
            observation = _object({"observation": observation}, ["observation"])
        common = {
            "reward": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
            "done": {"type": "boolean", "default": False},
            "metadata": _METADATA,
        }
        observation = {
            **observation,
            "title": "Observation",
            "properties": {**observation["properties"], **common},
        }
        return {
            "action": {
                **_object({"action": action, "metadata": {"type": "object"}}, ["action"]),
                "title": "Action",
            },
            "observation": observation,
            "reset_observation": observation,
            "state": _STATE,
        }

    def seal(self, state: Any) -> str | None:
        """Return a state as text; ``None`` if it is too large."""
        try:
            data = encode(state, _STATE_LIMITS)
        except CodecError:
            return None
        mac = hmac.digest(self._state_key, data, hashlib.sha256)
        return base64.urlsafe_b64encode(mac + data).decode()

    def unseal(self, text: Any) -> dict[str, Any]:
        """Return what :meth:`seal` was given.

        Raises:
            StateError: The text is not from here.
        """
        try:
            raw = base64.urlsafe_b64decode(text.encode("ascii"))
        except (AttributeError, ValueError, binascii.Error):
            raw = b""
        mac, data = raw[:_MAC], raw[_MAC:]
        if not hmac.compare_digest(mac, hmac.digest(self._state_key, data, hashlib.sha256)):
            raise StateError(
                "The injected state is none that this server has given for "
                f"{self.served.name}. Take it from a state message, as it is."
            )
        return dict(decode(data, _STATE_LIMITS))

    @cached_property
    def _state_key(self) -> bytes:
        return hmac.digest(self.key, self.served.name.encode(), hashlib.sha256)


class Exchange:
    """Turns the messages of one session into calls, and results into messages.

    Attributes:
        session: The session.
        episode_id: As the client chose it, or a new one for each episode; ``None`` before a reset.
        is_attached: Whether a socket uses a session that was opened over HTTP.
    """

    def __init__(self, session: Session, wire: Wire) -> None:
        self.session, self.wire = session, wire
        self.episode_id: str | None = None
        self.is_attached = False
        self._read, self._write = wire.read_action, wire.write_observation
        self._last: Any = None

    def action(self, data: Any) -> Any:
        """Return the action of a step's data.

        Raises:
            InvalidMessage: The data has another form.
            InvalidAction: It is none.
        """
        try:
            value = data["action"]
        except (KeyError, TypeError):
            raise InvalidMessage(
                ["data", "action"], 'Expected {"action": VALUE}; see /schema.', "missing"
            ) from None
        if len(data) > 1 and not set(data) <= {"action", "metadata"}:
            unknown = sorted(set(data) - {"action", "metadata"})[:5]
            raise InvalidMessage(["data"], f"Unknown fields {unknown!r:.200}.", "extra_forbidden")
        return self._read(value)

    def step_inline(self, action: Any) -> dict[str, Any]:
        """Make a step in the event loop and return its answer; only for inline sessions."""
        observation, reward, terminated, truncated, info = self.session.step_now(action)
        self._last = observation
        metadata = {"terminated": terminated, "truncated": truncated}
        if info:
            metadata["info"] = plain(info)
        told = self._write(observation)
        told["metadata"] = metadata
        return {
            "observation": told,
            "reward": reward,
            "done": terminated or truncated,
            "metadata": metadata,
        }

    async def step(self, data: Any) -> dict[str, Any]:
        """Make a step and return its answer."""
        return self._told(await self.session.step(self.action(data)))

    async def reset(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Begin an episode and return its answer.

        Raises:
            InvalidMessage: ``seed``, ``episode_id`` or ``options`` is invalid; fields that a reset
                does not know are ignored.
            StateError: The state cannot be restored.
        """
        seed, episode_id, options = reset_arguments(data)
        if (injected := data.get("injected_state")) is not None:
            return await self._inject(injected, seed, episode_id)
        episode_id = episode_id or secrets.token_hex(16)
        if self.session.served.records is not None:
            options = {**(options or {}), "episode_id": episode_id}
        result = await self.session.reset(seed=seed, options=options)
        self.episode_id = episode_id
        return self._told(result, reward=None)

    async def state(self) -> dict[str, Any]:
        """Return the state: counts, and what restores it if clients may know that."""
        told: dict[str, Any] = {"episode_id": self.episode_id, "step_count": self.session.steps}
        if self.session.keeps_state_private or self.episode_id is None:
            return told
        try:
            kept = {"state": await self.session.get_state(), "steps": self.session.steps}
        except StateError:
            return told
        sealed = self.wire.seal({**kept, "observation": self._last})
        return told if sealed is None else {**told, "injected_state": sealed}

    async def _inject(
        self, injected: Any, seed: int | None, episode_id: str | None
    ) -> dict[str, Any]:
        if self.session.keeps_state_private:
            raise StateError(f"States of {self.session.served.name} do not leave the server.")
        kept = self.wire.unseal(injected)
        # Wrappers ask for a reset before the first step.
        await self.session.reset(seed=seed)
        await self.session.set_state(kept["state"])
        self.session.steps = int(kept["steps"])
        self.episode_id = episode_id or secrets.token_hex(16)
        return self._told(Result(kept["observation"], 0.0, False, False, {}), reward=None)

    def _told(self, result: Result, **instead: Any) -> dict[str, Any]:
        self._last = result.observation
        terminated, truncated = bool(result.terminated), bool(result.truncated)
        metadata: dict[str, Any] = {"terminated": terminated, "truncated": truncated}
        if result.info:
            metadata["info"] = plain(result.info)
        return {
            "observation": {**self._write(result.observation), "metadata": metadata},
            "reward": float(result.reward),
            "done": terminated or truncated,
            "metadata": metadata,
            **instead,
        }


def reset_arguments(
    data: Mapping[str, Any],
) -> tuple[int | None, str | None, dict[str, Any] | None]:
    """Return seed, episode's id and options of a reset's data.

    Raises:
        InvalidMessage: One of them is invalid.
    """
    seed, episode_id, options = (data.get(name) for name in ("seed", "episode_id", "options"))
    if type(seed) is float and seed.is_integer():
        seed = int(seed)
    if seed is not None and (type(seed) is not int or not 0 <= seed < 2**63):
        raise InvalidMessage(["data", "seed"], "Expected an integer from 0 to 2**63 - 1, or null.")
    if episode_id is not None and not (
        isinstance(episode_id, str) and 0 < len(episode_id) <= _LONGEST_ID
    ):
        raise InvalidMessage(
            ["data", "episode_id"], f"Expected a text of 1 to {_LONGEST_ID} characters, or null."
        )
    if options is not None and not isinstance(options, dict):
        raise InvalidMessage(["data", "options"], "Expected an object, or null.")
    return seed, episode_id, options


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


_METADATA = {
    "type": "object",
    "properties": {
        "terminated": {"type": "boolean"},
        "truncated": {"type": "boolean"},
        "info": {"type": "object"},
    },
}
_STATE = {
    "title": "State",
    "type": "object",
    "properties": {
        "episode_id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "step_count": {"type": "integer", "minimum": 0},
        "injected_state": {
            "type": "string",
            "description": "What reset(injected_state=...) restores.",
        },
    },
    "required": ["episode_id", "step_count"],
}
