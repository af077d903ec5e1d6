"""One environment on a server of OpenEnv's JSON protocol, of whatever make."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ludus.core.env import Env
from ludus.core.spec import EnvSpec
from ludus.errors import (
    CapacityReached,
    Error,
    Inadmissible,
    InvalidAction,
    ResetNeeded,
    ServedEnvError,
    ServeError,
    ServerLost,
)
from ludus.serve.client.json_space import JsonSpace
from ludus.serve.client.transport import TEXT, Connection
from ludus.terminal_text import excerpt
from ludus.untrusted.validate.results import admitted_flag, admitted_reward

__all__ = ["OpenEnvEnv"]

_ANY = (-float("inf"), float("inf"))
_NOT_OBSERVED = ("done", "reward", "metadata")
_TEXT = 2000


class OpenEnvEnv(Env[Any, Any]):
    """An environment on an OpenEnv server; :func:`ludus.connect` makes it.

    Actions and observations are dicts of JSON values; their spaces are made from the server's JSON
    Schemas. OpenEnv has one flag, ``done``. It is ``terminated``, unless the metadata of an
    observation has ``terminated`` and ``truncated``, as that of Ludus's servers has. A missing
    reward is 0.0. The info is the observation's metadata.

    States cannot be saved over this protocol; :meth:`server_state` returns what there is. Whether
    ``reset(seed=...)`` has an effect is up to the environment. The entries of ``options`` are sent
    along with a reset.

    Args:
        connect: Opens a connection.
        schemas: The server's JSON Schemas of actions and observations.
        spec: What is known of the environment.

    Raises (every call):
        ServerLost: The connection is lost; :meth:`reconnect` opens another one.
        ServerTimeout: The server did not answer in time; the connection was closed.
        ServerViolation: It sent something else than its schemas say; the connection was closed.
        ServedEnvError: The environment raised; ``kind`` is the server's code.
    """

    def __init__(
        self, connect: Callable[[], Connection], schemas: dict[str, Any], spec: EnvSpec
    ) -> None:
        self._connect = connect
        self._connection = connect()
        self.spec = spec
        self.action_space = JsonSpace(_without(schemas.get("action"), ("metadata",)))
        self.observation_space = JsonSpace(_open(schemas.get("observation")))
        # What a reset returns may have a schema of its own.
        first = schemas.get("reset_observation")
        self._first = self.observation_space if first is None else JsonSpace(_open(first))
        if first is not None and self._first != self.observation_space:
            either = [self._first.schema, self.observation_space.schema]
            self.observation_space = JsonSpace(_either(either))
        self._started = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start a new episode.

        Raises:
            ServeError: ``options`` are no JSON.
        """
        super().reset(seed=seed)
        data = dict(options or {})
        if seed is not None:
            data["seed"] = operator.index(seed)
        told = self._ask({"type": "reset", "data": data}, "observation")
        observation, _, _, _, info = self._result(told, self._first)
        self._started = True
        return observation, info

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Advance by one action.

        Raises:
            InvalidAction: It does not fit the server's schema, or the server refuses it.
            ResetNeeded: There was no reset yet.
        """
        if not self._started:
            raise ResetNeeded(f"Cannot call step() of {self} before reset().")
        why = self.action_space.misfit(action)  # type: ignore[attr-defined]
        if why is not None or not isinstance(action, dict):
            raise InvalidAction(f"The action is invalid: {why or 'it is no dict'}.")
        told = self._ask({"type": "step", "data": action}, "observation")
        return self._result(told, self.observation_space)

    def server_state(self) -> dict[str, Any]:
        """Return what the server tells of the episode: its id, the number of steps and more."""
        return self._ask({"type": "state"}, "state")

    def _result(
        self, told: dict[str, Any], space: Any
    ) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        try:
            observation = told.get("observation")
            if type(observation) is not dict:
                raise Inadmissible("an observation is no object.")
            own = observation.pop("metadata", None)
            info = told.get("metadata", own)
            info = {} if info is None else info
            if type(info) is not dict:
                raise Inadmissible("metadata is no object.")
            why = space.misfit(observation)
            if why is not None:
                raise Inadmissible(f"an observation does not fit the schema: {why}.")
            reward, done = told.get("reward"), admitted_flag(told.get("done", False), "done")
            # The protocol allows null and bools.
            number = float(reward or 0) if type(reward) in (bool, type(None)) else reward
            number = admitted_reward(number, _ANY)
        except Inadmissible as problem:
            self._connection.violate(str(problem))
        terminated, truncated = info.get("terminated"), info.get("truncated")
        if type(terminated) is bool and type(truncated) is bool:
            return observation, number, terminated, truncated, info
        return observation, number, done, False, info

    def _ask(self, message: dict[str, Any], kind: str) -> dict[str, Any]:
        """Send a message and return the data of the answer, which has to be of a kind."""
        try:
            data = json.dumps(message, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as problem:
            raise ServeError(f"What is sent has to be JSON: {problem!s:.300}") from None
        connection = self._connection
        answer = connection.exchange(data, TEXT, _decoded)
        if type(answer) is not dict or type(answer.get("data")) is not dict:
            connection.violate("an answer is no object with data")
        told: dict[str, Any] = answer["data"]
        if answer.get("type") == kind:
            return told
        if answer.get("type") != "error":
            connection.violate(f"an answer of type {answer.get('type')!r:.60} instead of {kind}")
        raise self._error(told)

    def _error(self, told: dict[str, Any]) -> Error:
        code = excerpt(str(told.get("code")), 100)
        text = excerpt(str(told.get("message")), _TEXT)
        details = told.get("errors")
        if details:
            text += f": {excerpt(str(details), _TEXT)}"
        if code == "CAPACITY_REACHED":
            return CapacityReached(text)
        if code == "VALIDATION_ERROR":
            return InvalidAction(text)
        return ServedEnvError(f"The server answered {code}: {text}", kind=code)

    def reconnect(self) -> None:
        """Connect anew; the environment begins without an episode.

        Raises:
            ServerLost: There is no server.
        """
        self._connection.close()
        self._started = False
        self._connection = self._connect()

    def close(self) -> None:
        """Tell the server that the session is over; a second call does nothing."""
        connection = self._connection
        if not connection.lost:
            with suppress(ServerLost):
                connection.send(b'{"type":"close"}', TEXT)
            connection.close()

    def __reduce__(self) -> Any:
        raise Error("An environment on a server cannot be pickled or copied; connect once more.")


def _decoded(message: Any) -> Any:
    """Return the value of a JSON message.

    Raises:
        ValueError: It is no JSON.
    """
    try:
        return json.loads(bytes(message))
    except RecursionError:
        raise ValueError("JSON that is nested too deep") from None


def _without(schema: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of an object without some of its entries."""
    if not isinstance(schema, dict):
        return {"type": "object"}
    properties = schema.get("properties")
    required = schema.get("required")
    made = dict(schema)
    if isinstance(properties, dict):
        made["properties"] = {key: part for key, part in properties.items() if key not in names}
    if isinstance(required, list):
        made["required"] = [key for key in required if key not in names]
    return made


def _open(schema: Any) -> dict[str, Any]:
    """Return the schema of what is in an observation: the reward and the flag are beside it.

    Further entries are allowed, because schemas of models lack what is computed.
    """
    made = _without(schema, _NOT_OBSERVED)
    if made.get("additionalProperties") is False:
        del made["additionalProperties"]
    return made


def _either(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of what fits any of some, with their definitions together."""
    definitions: dict[str, Any] = {}
    for schema in schemas:
        found = schema.get("$defs")
        definitions |= found if isinstance(found, dict) else {}
    return {"anyOf": schemas, "$defs": definitions}
