"""One environment on a server."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from ludus.core.env import Env
from ludus.core.types import State
from ludus.errors import Error, Inadmissible, InvalidAction
from ludus.serve.binary.frames import ANSWER_LIMITS, MOST_STEPS, Op
from ludus.serve.binary.values import action_reader, lead_length, observation_reader
from ludus.serve.client.link import Link
from ludus.serve.client.opening import Remote, declared_by
from ludus.spaces import Space
from ludus.untrusted.validate.results import admitted_flag, admitted_reward

__all__ = ["RemoteEnv", "Steps", "checked_columns", "checked_infos", "count_of", "parts_of"]

_ANY = (-np.inf, np.inf)
_COLUMNS = (
    ("rewards", np.dtype(np.float64)),
    ("terminated", np.dtype(np.bool_)),
    ("truncated", np.dtype(np.bool_)),
)


class Steps(NamedTuple):
    """Results of several steps, each with one entry per step along its first axis."""

    observations: Any
    rewards: Any
    terminated: Any
    truncated: Any
    infos: list[dict[str, Any]]


class RemoteEnv(Env[Any, Any]):
    """An environment on a server; :func:`ludus.connect` makes it.

    It returns what the same environment returns here, to the bit, and its saved states can be
    set on either. What the server sends is checked against the declared spaces. ``np_random`` is a
    generator of this process, seeded by ``reset(seed=...)``, which the environment does not use.

    Raises (every call):
        ServerLost: The connection is lost; :meth:`reconnect` opens another one.
        ServerTimeout: The server did not answer in time; the connection was closed.
        ServerViolation: It sent something else than it declared; the connection was closed.
        ServedEnvError: The environment raised; the connection goes on. Errors that Ludus's own
            environments raise have the same class as here.
    """

    def __init__(self, link: Link, remote: Remote) -> None:
        self._link, self._remote = link, remote
        self._declare()

    def _declare(self) -> None:
        declared = declared_by(self._link, self._remote)
        if declared.autoreset is not None:
            self._link.connection.violate("a single environment with an autoreset mode")
        self.observation_space = declared.observation_space
        self.action_space = declared.action_space
        self.metadata = declared.metadata
        self.render_mode = declared.render_mode
        self.spec = declared.spec
        self.remote_name = declared.name
        self._action = action_reader(declared.action_space)
        self._observation = observation_reader(declared.observation_space, ANSWER_LIMITS)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode.

        Raises:
            CodecError: ``options`` are no plain data.
        """
        super().reset(seed=seed)
        given = None if seed is None else operator.index(seed)
        try:
            observation, info = parts_of(self._link.call(Op.RESET, given, options), 2)
            return self._observation(observation, (), "observation"), _info(info)
        except Inadmissible as problem:
            self._link.connection.violate(str(problem))

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advance by one action.

        Raises:
            InvalidAction: It is not in the action space.
        """
        value = self._link.call(Op.STEP, self._action(action, ()))
        try:
            observation, reward, terminated, truncated, info = parts_of(value, 5)
            return (
                self._observation(observation, (), "observation"),
                admitted_reward(reward, _ANY),
                admitted_flag(terminated, "terminated"),
                admitted_flag(truncated, "truncated"),
                _info(info),
            )
        except Inadmissible as problem:
            self._link.connection.violate(str(problem))

    def step_many(self, actions: Any) -> Steps:
        """Advance by several actions in one message, and stop where the episode ends.

        Args:
            actions: One action for each step along the first axis: an array, or a list; for a
                ``Dict`` or ``Tuple`` space a dict or tuple of such.

        Returns:
            The results of the steps that were made; fewer than actions if the episode ended.

        Raises:
            InvalidAction: An action is not in the action space; no step was made.
            BadArguments: There are more steps than fit one message.
        """
        wanted = count_of(self.action_space, actions)
        value = self._link.call(Op.STEPS, self._action(actions, (wanted,)), wanted)
        try:
            count, observations, *columns, infos = parts_of(value, 6)
            if type(count) is not int or not 1 <= count <= wanted:
                raise Inadmissible(f"{count!r:.50} steps came for {wanted} actions.")
            rewards, terminated, truncated = checked_columns(columns, (count,))
            over = terminated | truncated
            if over[:-1].any() or (count < wanted and not over[-1]):
                raise Inadmissible("the steps end where the episode does not.")
            return Steps(
                self._observation(observations, (count,), "observations"),
                rewards,
                terminated,
                truncated,
                checked_infos(infos, count),
            )
        except Inadmissible as problem:
            self._link.connection.violate(str(problem))

    def render(self) -> Any:
        """Return what the environment draws: an array, a text, or a list of them."""
        return self._link.call(Op.RENDER)

    def get_state(self) -> State:
        """Return the environment's state, which can be set here, or on the same one elsewhere.

        Raises:
            StateError: It cannot be saved, or stays on the server.
        """
        state = self._link.call(Op.GET_STATE)
        if type(state) is not dict:
            self._link.connection.violate("a state is no dict")
        return dict(state)

    def set_state(self, state: State) -> None:
        """Continue from a state of :meth:`get_state`, here or of a local environment.

        Raises:
            StateError: It is not a state of this environment.
            CodecError: It is no plain data.
        """
        self._link.call(Op.SET_STATE, state)

    def call(self, name: str, *args: Any) -> Any:
        """Call a method of the environment, with plain data, that the server allows to call.

        Raises:
            BadArguments: It does not; the message says what it allows.
        """
        return self._link.call(Op.CALL, name, list(args))

    def get_attr(self, name: str) -> Any:
        """Return an attribute of the environment that the server allows to read.

        Raises:
            BadArguments: It does not; the message says what it allows.
        """
        return self._link.call(Op.GET_ATTR, name)

    def reconnect(self) -> None:
        """Connect anew and open the same environment; it begins without an episode.

        Raises:
            ServerLost: There is no server.
            ServerViolation: Its environment has other spaces than before.
        """
        spaces = self.observation_space, self.action_space
        self._link.reconnect()
        self._declare()
        if (self.observation_space, self.action_space) != spaces:
            self._link.connection.violate("the environment has other spaces than before")

    def close(self) -> None:
        """Let the server close the environment; a second call does nothing."""
        self._link.close()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}: the environment is on a "
            "server. What the server allows to read is returned by get_attr(name)."
        )

    def __reduce__(self) -> Any:
        raise Error("An environment on a server cannot be pickled or copied; connect once more.")

    def __str__(self) -> str:
        of = self.remote_name if self.spec is None else self.spec.id
        return f"<{type(self).__name__}<{of}>>"


def count_of(space: Space[Any], actions: Any) -> int:
    """Return how many steps actions are for, along the first axis.

    Raises:
        InvalidAction: They have no such axis.
        ValueError: There are none, or more than fit one message.
    """
    try:
        count = lead_length(space, actions)
    except (TypeError, LookupError):
        raise InvalidAction(
            f"{actions!r:.200} are no actions; expected one for each step along the first axis."
        ) from None
    if not 1 <= count <= MOST_STEPS:
        raise ValueError(f"{count} actions; expected 1 to {MOST_STEPS} in one call.")
    return count


def checked_columns(columns: list[Any], shape: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Return rewards and flags of several steps, or of a batch's environments.

    Raises:
        Inadmissible: They are no arrays of this shape.
    """
    for (name, dtype), value in zip(_COLUMNS, columns, strict=True):
        if type(value) is not np.ndarray or value.dtype != dtype or value.shape != shape:
            raise Inadmissible(f"{name} are no array of {dtype} and shape {shape}.")
    rewards, terminated, truncated = columns
    if not np.isfinite(rewards).all():
        raise Inadmissible("a reward is not finite.")
    return rewards, terminated, truncated


def checked_infos(infos: Any, count: int) -> list[dict[str, Any]]:
    """Return the infos of several steps.

    Raises:
        Inadmissible: They are no list of dicts.
    """
    if type(infos) is not list or len(infos) != count:
        raise Inadmissible(f"infos are no list of {count} entries.")
    return [_info(info) for info in infos]


def _info(info: Any) -> dict[str, Any]:
    if type(info) is not dict:
        raise Inadmissible(f"an info is a {type(info).__name__}, expected a dict.")
    return info


def parts_of(value: Any, count: int) -> list[Any]:
    """Return the parts of a result.

    Raises:
        Inadmissible: There is another number of them.
    """
    if type(value) is not list or len(value) != count:
        raise Inadmissible(f"a result has not {count} parts.")
    return value
