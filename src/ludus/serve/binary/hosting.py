"""What a binary connection does to its session: one environment, or one batch."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ludus.errors import BadArguments, StateError
from ludus.serve.binary.describing import declaration
from ludus.serve.binary.frames import ANSWER_LIMITS, MOST_ENV_STEPS, MOST_STEPS
from ludus.serve.binary.values import action_reader, part_of, row_bytes, stacked
from ludus.serve.session import Result, Session
from ludus.untrusted.inside.servant import packed_columns

__all__ = ["CALLABLE", "READABLE", "Host", "read_of", "steps_allowed"]

READABLE = frozenset(
    {
        "episode_lengths",
        "episode_returns",
        "last_episode_lengths",
        "last_episode_returns",
        "max_episode_steps",
        "metadata",
        "np_random_seed",
        "render_mode",
    }
)
"""Attributes that any client may read, except of research tasks."""
CALLABLE: frozenset[str] = frozenset({"action_masks", "get_action_meanings"})
"""Methods that any client may call. An environment adds names of attributes and methods of its own
with ``metadata["served"]``."""


_TURN_SECONDS = 0.005
_TURN_ENV_STEPS = 2**14


class Host:
    """Answers the requests about one session.

    Args:
        session: The session; it is closed by whoever opened it.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lead = () if session.num_envs is None else (session.num_envs,)
        self._actions = action_reader(session.action_space)

    async def declare(self) -> dict[str, Any]:
        """Return the declaration of the environment."""
        session = self.session
        return await session.call(lambda env: declaration(session, env, num_envs=session.num_envs))

    async def reset(self, seed: Any, options: dict[str, Any] | None) -> list[Any]:
        """Begin an episode; return observation and info.

        An episode that is recorded has an id, by which a later reset continues it; the info has the
        one that was chosen for a client that gave none.
        """
        recorded = self.session.served.records is not None
        if recorded:
            options = {"episode_id": secrets.token_hex(16), **(options or {})}
        result = await self.session.reset(seed=seed, options=options)
        info = packed_columns(result.info)
        if recorded and options is not None:
            info = {**info, "episode_id": options["episode_id"]}
        return [result.observation, info]

    async def step(self, action: Any) -> list[Any]:
        """Advance by one action; return the five values."""
        if self.session.is_inline:
            return self.step_inline(action)
        result = await self.session.step(self._actions(action, self.lead))
        if not self.lead:
            # Environments may return any number, and any flag that is true or false.
            observation, reward, terminated, truncated, info = result
            result = Result(observation, float(reward), bool(terminated), bool(truncated), info)
        return _row(result)

    def step_inline(self, action: Any) -> list[Any]:
        """Advance by one action, here and now; only for inline sessions."""
        # A kernel checks its actions itself.
        return _row(self.session.step_now(action))

    async def steps(self, actions: Any, count: int) -> list[Any]:
        """Advance by ``count`` actions; a single environment stops where its episode ends."""
        if not self.session.is_inline:
            # All in one turn of the session's place, where step_now() may be called.
            return await self.session.call(lambda _: self.steps_inline(actions, count))
        results: list[Result] = []
        turn_ends = time.monotonic() + _TURN_SECONDS
        for result in self._played(actions, count):
            results.append(result)
            if time.monotonic() > turn_ends:
                # Others wait for the event loop too.
                await asyncio.sleep(0)
                turn_ends = time.monotonic() + _TURN_SECONDS
        return self._columns(results)

    def steps_inline(self, actions: Any, count: int) -> list[Any]:
        """Advance by ``count`` actions, here and now; only for inline sessions."""
        return self._columns(list(self._played(actions, count)))

    def takes_one_turn(self, count: int) -> bool:
        """Whether so many steps are few enough to hold up the event loop."""
        return count * (self.session.num_envs or 1) <= _TURN_ENV_STEPS

    def _played(self, actions: Any, count: int) -> Iterator[Result]:
        session = self.session
        steps_allowed(count, session)
        given = self._actions(actions, (count, *self.lead))
        step, space, is_single = session.step_now, session.action_space, not self.lead
        for at in range(count):
            action = part_of(space, given, at)
            result = step(int(action) if isinstance(action, np.integer) else action)
            yield result
            if is_single and (result.terminated or result.truncated):
                return

    def _columns(self, results: list[Result]) -> list[Any]:
        observations, rewards, terminated, truncated, infos = zip(*results, strict=True)
        return [
            len(results),
            stacked(self.session.observation_space, observations),
            np.array(rewards, np.float64),
            np.array(terminated, np.bool_),
            np.array(truncated, np.bool_),
            [packed_columns(info) if info else info for info in infos],
        ]

    async def render(self) -> Any:
        """Return what the environment draws."""
        return await self.session.call(lambda env: env.render())

    async def get_state(self) -> Any:
        """Return the state, unless it has to stay here."""
        self._check_state_is_public()
        return await self.session.get_state()

    async def set_state(self, state: Any) -> None:
        """Continue from a state."""
        self._check_state_is_public()
        await self.session.set_state(state)

    def _check_state_is_public(self) -> None:
        if self.session.keeps_state_private:
            raise StateError(
                f"The state of {self.session.served.name} stays on the server, because it holds "
                "what the grader knows."
            )

    async def call(self, name: str, arguments: list[Any]) -> Any:
        """Return what a method returns that clients may call."""
        self._check_name(name, CALLABLE)
        return await self.session.call(lambda env: _of(read_of(env, name)(*arguments)))

    async def get_attr(self, name: str) -> Any:
        """Return an attribute that clients may read."""
        self._check_name(name, READABLE)
        return await self.session.call(lambda env: _of(read_of(env, name)))

    def _check_name(self, name: str, known: frozenset[str]) -> None:
        session = self.session
        own = session.metadata.get("served") or ()
        allowed = {word for word in own if isinstance(word, str) and not word.startswith("_")}
        if not session.keeps_state_private:
            allowed |= known
        if name not in allowed:
            raise BadArguments(
                f"{name!r:.100} of {session.served.name} is not served; served are "
                f"{sorted(allowed)}. An environment adds names with metadata['served']."
            )


def _row(result: Result) -> list[Any]:
    if not result.info:
        return [*result[:4], {}]
    return [*result[:4], packed_columns(result.info)]


def read_of(env: Any, name: str) -> Any:
    """Return an attribute of an environment, or of what it wraps."""
    find: Callable[[str], Any] = getattr(env, "get_wrapper_attr", None) or partial(getattr, env)
    return find(name)


def _of(value: Any) -> Any:
    """Return a value with ranges and enums of metadata as plain data."""
    if isinstance(value, range):
        return list(value)
    if isinstance(value, dict):
        return {key: getattr(part, "value", part) for key, part in value.items()}
    return value


def steps_allowed(count: int, session: Session) -> None:
    """Check how many steps one request asks for.

    Raises:
        BadArguments: There are none, or too many, or their results would be too large.
    """
    n = session.num_envs or 1
    size = row_bytes(session.observation_space) + 16
    most = min(
        MOST_STEPS, max(1, MOST_ENV_STEPS // n), max(1, ANSWER_LIMITS.total_bytes // (2 * n * size))
    )
    if not 1 <= count <= most:
        raise BadArguments(
            f"{count} steps in one message; from 1 to {most} of {session.served.name} with {n} "
            "environments fit one. Send several messages."
        )
