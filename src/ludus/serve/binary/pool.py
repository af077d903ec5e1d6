"""A pool of environments that are stepped each for itself: partial batches."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from ludus.core.infos import add_info
from ludus.errors import BadArguments, StateError
from ludus.serve.binary.describing import declaration
from ludus.serve.binary.hosting import Host
from ludus.serve.binary.values import action_reader, part_of, stacked
from ludus.serve.session import Result, Session
from ludus.untrusted.inside.servant import packed_columns

__all__ = ["PoolHost"]


class PoolHost:
    """Answers the requests about environments that a client steps in any subsets.

    Each environment has a session of its own. One whose episode is over begins the next one with
    its next action, which is ignored, as in the autoreset mode ``NextStep``.

    Args:
        sessions: One session for each environment.
    """

    def __init__(self, sessions: list[Session]) -> None:
        self._sessions = sessions
        self._hosts = [Host(session) for session in sessions]
        self._first = sessions[0]
        self._read = action_reader(self._first.action_space)
        n = len(sessions)
        self._over = np.ones(n, np.bool_)
        self._busy = np.zeros(n, np.bool_)
        self._ready: asyncio.Queue[tuple[int, Result | Exception]] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    async def declare(self) -> dict[str, Any]:
        """Return the declaration of the environments."""
        session, n = self._first, len(self._sessions)
        told = await session.call(lambda env: declaration(session, env, num_envs=n))
        return told | {"autoreset": "NextStep"}

    async def reset(self, seed: Any, options: dict[str, Any] | None) -> list[Any]:
        """Begin an episode in each environment; return observations and merged infos."""
        self._check_idle("reset")
        n = len(self._sessions)
        if options is not None and "reset_mask" in options:
            raise BadArguments("A pool takes no reset_mask; finished environments begin anew.")
        pairs = zip(self._hosts, _seeds(seed, n), strict=True)
        results = await asyncio.gather(*(host.reset(one, options) for host, one in pairs))
        self._over[:] = False
        observations = [observation for observation, _ in results]
        infos: dict[str, Any] = {}
        for row, (_, info) in enumerate(results):
            add_info(infos, info, row, n)
        return [stacked(self._first.observation_space, observations), packed_columns(infos)]

    async def send(self, rows: Any, actions: Any) -> None:
        """Start a step of some environments."""
        chosen = self._rows(rows)
        given = self._read(actions, (len(chosen),))
        self._busy[chosen] = True
        space = self._first.action_space
        for at, row in enumerate(chosen.tolist()):
            action = part_of(space, given, at)
            action = int(action) if isinstance(action, np.integer) else action
            if self._sessions[row].is_inline:
                await self._run(row, action)
            else:
                task = asyncio.create_task(self._run(row, action))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _run(self, row: int, action: Any) -> None:
        session = self._sessions[row]
        try:
            if self._over[row]:
                observation, info = await self._hosts[row].reset(None, None)
                found: Result | Exception = Result(observation, 0.0, False, False, info)
            else:
                found = await session.step(action)
        except Exception as problem:  # of the environment; told to the client by recv()
            found = problem
        self._ready.put_nowait((row, found))

    async def recv(self, count: int) -> list[Any]:
        """Return the results of the first ``count`` environments that are ready."""
        waiting = int(np.count_nonzero(self._busy))
        if not 1 <= count <= waiting:
            raise BadArguments(
                f"recv({count}): {waiting} environments have an action and no result yet."
            )
        found: list[tuple[int, Result]] = []
        problem: Exception | None = None
        for _ in range(count):
            row, result = await self._ready.get()
            self._busy[row] = False
            if isinstance(result, Exception):
                problem, self._over[row] = result, True
            else:
                self._over[row] = result.terminated or result.truncated
                found.append((row, result))
        if problem is not None:
            raise problem
        return self._batch(found)

    def _batch(self, found: list[tuple[int, Result]]) -> list[Any]:
        infos: dict[str, Any] = {}
        for at, (_, result) in enumerate(found):
            add_info(infos, result.info, at, len(found))
        results = [result for _, result in found]
        return [
            np.array([row for row, _ in found], np.int64),
            stacked(self._first.observation_space, [one.observation for one in results]),
            np.array([one.reward for one in results], np.float64),
            np.array([one.terminated for one in results], np.bool_),
            np.array([one.truncated for one in results], np.bool_),
            packed_columns(infos),
        ]

    async def step(self, actions: Any) -> list[Any]:
        """Step all environments and return their results in order."""
        self._check_idle("step")
        n = len(self._sessions)
        await self.send(np.arange(n), actions)
        rows, *parts, infos = await self.recv(n)
        order = np.argsort(rows)
        if (order[1:] > order[:-1]).all():
            return [*parts, infos]
        space = self._first.observation_space
        observations = stacked(space, [part_of(space, parts[0], at) for at in order.tolist()])
        return [observations, *(part[order] for part in parts[1:]), _reordered(infos, order)]

    async def render(self) -> tuple[Any, ...]:
        """Return what each environment draws."""
        self._check_idle("render")
        return tuple([await host.render() for host in self._hosts])

    async def get_state(self) -> Any:
        """Return the states of all environments."""
        self._check_idle("get_state")
        states = [await host.get_state() for host in self._hosts]
        return {"pool": states, "over": self._over.copy()}

    async def set_state(self, state: Any) -> None:
        """Continue from states."""
        self._check_idle("set_state")
        n = len(self._hosts)
        states = state.get("pool") if isinstance(state, dict) else None
        over = state.get("over") if isinstance(state, dict) else None
        if (
            not isinstance(states, list)
            or len(states) != n
            or not isinstance(over, np.ndarray)
            or over.dtype != np.bool_
            or over.shape != (n,)
        ):
            raise StateError(f"The state is not that of a pool of {n} environments.")
        for host, one in zip(self._hosts, states, strict=True):
            await host.set_state(one)
        self._over[:] = over

    async def call(self, name: str, arguments: list[Any]) -> tuple[Any, ...]:
        """Call a method of each environment."""
        self._check_idle("call")
        return tuple([await host.call(name, arguments) for host in self._hosts])

    async def get_attr(self, name: str) -> tuple[Any, ...]:
        """Read an attribute of each environment."""
        self._check_idle("get_attr")
        return tuple([await host.get_attr(name) for host in self._hosts])

    def cancel(self) -> None:
        """Forget steps that nobody waits for any more; their sessions close after them."""
        for task in self._tasks:
            task.cancel()

    def _rows(self, rows: Any) -> Any:
        n = len(self._sessions)
        if (
            type(rows) is not np.ndarray
            or rows.dtype.kind not in "iu"
            or rows.ndim != 1
            or not 1 <= len(rows) <= n
            or rows.min() < 0
            or rows.max() >= n
            or len(np.unique(rows)) != len(rows)
        ):
            raise BadArguments(f"Rows are an array of different numbers from 0 to {n - 1}.")
        if self._busy[rows].any():
            late = rows[self._busy[rows]].tolist()
            raise BadArguments(f"Environments {late[:20]} have a result to receive first.")
        return rows

    def _check_idle(self, call: str) -> None:
        if self._busy.any():
            waiting = np.flatnonzero(self._busy).tolist()
            raise BadArguments(f"{call}: receive the results of {waiting[:20]} first.")


def _seeds(seed: Any, n: int) -> list[int | None]:
    if seed is None:
        return [None] * n
    if isinstance(seed, int):
        return list(range(seed, seed + n))
    if len(seed) != n:
        raise BadArguments(f"{len(seed)} seeds for {n} environments.")
    return list(seed)


def _reordered(infos: Any, order: Any) -> Any:
    """Return packed infos with the environments in another order."""
    if isinstance(infos, dict):
        return {key: _reordered(value, order) for key, value in infos.items()}
    if isinstance(infos, tuple):
        mark, column = infos
        return (mark, [column[at] for at in order.tolist()])
    return infos[order]
