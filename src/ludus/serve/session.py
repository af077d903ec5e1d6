"""One session: one environment, or one batch, behind one id."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ludus.core import Env, VectorEnv
from ludus.core.types import State
from ludus.errors import InvalidAction, SessionGone
from ludus.serve.places import Inline, Place
from ludus.serve.served import Served
from ludus.spaces import Space

__all__ = ["Result", "Session"]

T = TypeVar("T")
_TOLD = ("outcome", "score", "normalised_score", "end", "validations", "steps", "seconds", "cost")
"""What may leave the server of the info of a research task, which also has draws and reasons."""


class Result(NamedTuple):
    """What a reset or a step returns; of a reset, reward and flags are 0.0, False and False.

    Of a batch, all but ``info`` are arrays.
    """

    observation: Any
    reward: Any
    terminated: Any
    truncated: Any
    info: dict[str, Any]


class Session:
    """One environment or batch of a client.

    Calls run one after the other, in the order in which they were made. :class:`Sessions` makes and
    closes sessions.

    Attributes:
        id: Secret of 128 bits; whoever knows it uses the session.
        served: What it is an instance of.
        num_envs: Size of the batch; ``None`` for a single environment.
        steps: Steps since the last reset.
        total_steps: Steps of all environments since it was opened.
        episode: Number of resets.
        owner: Whom it counts for.
        action_space: Of the single environment, or of each one in the batch.
        observation_space: The same.
        metadata: Of the environment.
        is_inline: Whether :meth:`reset_now` and :meth:`step_now` may be called.
        opened_at: Seconds of the monotonic clock.
        used_at: The same, of the last call.
        running: Number of calls that wait or run.
        ended: Is set when it is closed.
    """

    def __init__(
        self,
        session_id: str,
        served: Served,
        env: Env | VectorEnv,
        place: Place,
        *,
        owner: str = "",
    ) -> None:
        self.id, self.served, self.owner = session_id, served, owner
        self._env, self._place = env, place
        self.is_inline = isinstance(place, Inline)
        self.num_envs: int | None = None
        self.action_space: Space[Any]
        self.observation_space: Space[Any]
        if isinstance(env, VectorEnv):
            self.num_envs = env.num_envs
            self.action_space = env.single_action_space
            self.observation_space = env.single_observation_space
        else:
            self.action_space, self.observation_space = env.action_space, env.observation_space
        self.metadata = dict(env.metadata)
        self.steps = self.total_steps = self.episode = self.running = 0
        self._size = self.num_envs or 1
        # Kernels check the actions themselves, as do the processes of a batch.
        self._checked = None if self.is_inline or self.num_envs else self.action_space
        self._env_step = env.step
        self._filter = told_of_research if served.kind == "research" else None
        self._why: str | None = None
        self.ended = asyncio.Event()
        self.opened_at = self.used_at = time.monotonic()

    @property
    def why(self) -> str | None:
        """Why it was closed; ``None`` if it is open."""
        return self._why

    @property
    def keeps_state_private(self) -> bool:
        """Whether its state must not leave the server, because it holds what graders draw from."""
        return self.served.kind == "research"

    async def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Result:
        """Begin an episode.

        Args:
            seed: As of the environment's ``reset``.
            options: The same.

        Raises:
            SessionGone: The session was closed.
        """
        return await self._run(lambda: self.reset_now(seed=seed, options=options))

    async def step(self, action: Any) -> Result:
        """Advance by one action, a member of :attr:`action_space`, or a batch of them.

        Raises:
            SessionGone: The session was closed.
            InvalidAction: It is not a member; nothing was done.
            ResetNeeded: There was no reset yet.
        """
        return await self._run(lambda: self.step_now(action))

    def reset_now(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Result:
        """Begin an episode, in the calling thread; only for inline sessions."""
        self._check_open()
        observation, info = self._env.reset(seed=seed, options=options)
        self.steps, self.episode = 0, self.episode + 1
        self.used_at = time.monotonic()
        info = info if self._filter is None else self._filter(info)
        return Result(observation, 0.0, False, False, info)

    def step_now(self, action: Any) -> Result:
        """Advance by one action, in the calling thread; only for inline sessions."""
        if self._why is not None:
            self._check_open()
        if self._checked is not None and not self._checked.contains(action):
            raise InvalidAction(
                f"{action!r:.200} is no action; expected is a member of {self._checked!s:.200}."
            )
        result = Result._make(self._env_step(action))
        if self._filter is not None:
            result = result._replace(info=self._filter(result.info))
        self.steps += 1
        self.total_steps += self._size
        self.used_at = time.monotonic()
        return result

    async def call(self, function: Callable[[Any], T]) -> T:
        """Return what a function of the environment returns, which runs like any other call.

        Raises:
            SessionGone: The session was closed.
        """

        def run() -> T:
            self._check_open()
            return function(self._env)

        return await self._run(run)

    async def get_state(self) -> State:
        """Return the state of the environment.

        See :attr:`keeps_state_private` before sending it to a client.

        Raises:
            SessionGone: The session was closed.
            StateError: It cannot be saved.
        """
        return await self.call(lambda env: env.get_state())

    async def set_state(self, state: State) -> None:
        """Restore a state that :meth:`get_state` returned, here or in another session.

        Raises:
            SessionGone: The session was closed.
            StateError: It is not a state of this environment.
        """
        await self.call(lambda env: env.set_state(state))

    async def close(self, why: str = "closed") -> None:
        """Close the environment after the calls that were made before; a second call does nothing.

        :meth:`Sessions.close` also gives back its place among the sessions.
        """
        if self._why is not None:
            return
        self._why = why
        self.ended.set()
        try:
            await self._place.run(self._env.close)
        finally:
            self._place.close()

    async def _run(self, call: Callable[[], T]) -> T:
        self._check_open()
        self.running += 1
        self.used_at = time.monotonic()
        try:
            return await self._place.run(call)
        finally:
            self.running -= 1
            self.used_at = time.monotonic()

    def _check_open(self) -> None:
        if self._why is not None:
            raise SessionGone(f"The session was closed ({self._why}).", why=self._why)

    def __repr__(self) -> str:
        # Without its id, which is a secret.
        return f"<Session of {self.served.name}, episode {self.episode}, step {self.steps}>"


def told_of_research(info: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a research task's info that has nothing of how it is graded."""
    kept = {name: info[name] for name in _TOLD if name in info}
    made = info.get("validation")
    if made is not None:
        kept["validation"] = {name: made[name] for name in ("outcome", "score")}
    return kept
