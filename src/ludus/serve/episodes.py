"""One episode of an agent that acts by tool calls, on top of a session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from ludus.errors import CapacityReached, Error, ResetNeeded, SessionGone, StateError
from ludus.png import as_image, to_png
from ludus.serve.schemas import plain, reader
from ludus.serve.session import Result, Session, told_of_research
from ludus.serve.sessions import Sessions
from ludus.serve.tool_calls import action_of, observation_data, view_of

__all__ = ["Episode", "Episodes"]

T = TypeVar("T")

_MOST_WAITING = 8
_DRAWN = "rgb_array"


class Episode:
    """An episode, its last result, and whether it is over.

    Calls run one after the other. A call whose caller is cancelled still runs to its end, so that
    the last result is always that of the last action.

    Attributes:
        session: Where it runs; its id is the handle of the episode.
        seed: With which it began.
        last: The result of the last action, or of the beginning; ``None`` before it.
        total_reward: The sum of all rewards.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.seed: int | None = None
        self.last: Result | None = None
        self.total_reward = 0.0
        self._lock = asyncio.Lock()
        self._calls: set[asyncio.Task[Any]] = set()

    @property
    def handle(self) -> str:
        """The secret by which an agent names it."""
        return self.session.id

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.last is not None and bool(self.last.terminated or self.last.truncated)

    async def begin(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> Result:
        """Begin, or begin anew.

        Args:
            seed: As of the environment's ``reset``.
            options: The same. Of a recorded episode, ``episode_id`` names one to continue.

        Raises:
            SessionGone: The session was closed.
            Error: The environment cannot be reset.
        """
        is_recorded = self.session.served.records is not None
        named = {"episode_id": self.handle, **(options or {})} if is_recorded else options

        async def work() -> Result:
            result = await self.session.reset(seed=seed, options=named)
            self.seed, self.last, self.total_reward = seed, result, 0.0
            return result

        return await self._in_order(work)

    async def act(self, tool: str, arguments: Mapping[str, Any]) -> Result:
        """Take the action of a tool call.

        Raises:
            InvalidAction: It is none; nothing was done.
            ResetNeeded: The episode is over, or has not begun.
            CapacityReached: Too many calls wait already; nothing was done.
            SessionGone: The session was closed.
        """
        action = action_of(self.session.served, tool, arguments)

        async def work() -> Result:
            self.current()
            if self.is_over:
                raise ResetNeeded("The episode is over; no more actions are taken.")
            return self._take(await self.session.step(action))

        self._check_room()
        return await self._in_order(work)

    async def finish(self) -> None:
        """End a research episode whose agent does not go on: its work is graded as it is.

        Any other episode is left alone, and so is one that is over or has not begun.

        Raises:
            SessionGone: The session was closed.
        """

        async def work() -> None:
            if self.session.served.kind == "research" and self.last and not self.is_over:
                done = Result._make(await self.session.call(lambda env: env.unwrapped.finish()))
                self._take(done._replace(info=told_of_research(done.info)))

        await self._in_order(work)

    async def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes; plain data.

        Raises:
            StateError: The environment cannot save its state.
            SessionGone: The session was closed.
        """

        async def work() -> dict[str, Any]:
            last = self.current()
            kept = last._replace(
                observation=observation_data(self.session.served, last.observation),
                reward=float(last.reward),
                terminated=bool(last.terminated),
                truncated=bool(last.truncated),
                info=plain(last.info),
            )
            state = await self.session.get_state()
            return {
                "name": self.session.served.name,
                "state": state,
                "last": kept._asdict(),
                "total": self.total_reward,
                "seed": self.seed,
                "steps": self.session.steps,
            }

        return await self._in_order(work)

    async def restore(self, saved: Mapping[str, Any]) -> Result:
        """Continue from a state of this or another episode of the same environment.

        Raises:
            StateError: It does not fit.
            SessionGone: The session was closed.
        """
        name = self.session.served.name
        if saved.get("name") != name:
            raise StateError(f"The state is of {saved.get('name')!r:.100}, and this is {name}.")

        async def work() -> Result:
            await self.session.set_state(saved["state"])
            last = dict(saved["last"])
            last["observation"] = reader(self.session.observation_space)(last["observation"])
            self.last = Result(**last)
            self.seed, self.total_reward = saved["seed"], float(saved["total"])
            self.session.steps = int(saved["steps"])
            return self.last

        return await self._in_order(work)

    async def picture(self) -> bytes | None:
        """Return a PNG file of what the environment shows now, if it shows anything.

        Raises:
            CapacityReached: Too many calls wait already.
            SessionGone: The session was closed.
        """

        async def work() -> bytes | None:
            shown = view_of(self.session.served, self.current().observation).pictures
            return shown[0] if shown else await self.session.call(_drawn)

        self._check_room()
        return await self._in_order(work)

    def current(self) -> Result:
        """Return the last result.

        Raises:
            ResetNeeded: There is none.
        """
        if self.last is None:
            raise ResetNeeded("The episode has not begun.")
        return self.last

    def _take(self, result: Result) -> Result:
        self.last = result
        self.total_reward += float(result.reward)
        return result

    def _check_room(self) -> None:
        """Turn away what agents ask for; operators always wait for their turn."""
        if len(self._calls) >= _MOST_WAITING:
            raise CapacityReached(
                f"{len(self._calls)} calls of this episode wait already. Make one call at a time.",
                active=len(self._calls),
                most=_MOST_WAITING,
            )

    async def _in_order(self, work: Callable[[], Awaitable[T]]) -> T:
        async def run() -> T:
            async with self._lock:
                return await work()

        task = asyncio.ensure_future(run())
        self._calls.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._calls.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be waiting for it any more


class Episodes:
    """The episodes of a server, by handle.

    Args:
        sessions: Where they run.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._episodes: dict[str, Episode] = {}
        sessions.on_close.append(self._forget)

    async def begin(
        self,
        name: str,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
        owner: str = "",
    ) -> Episode:
        """Open a session and begin an episode in it.

        Args:
            name: Of what is served.
            seed: As of the environment's ``reset``.
            options: The same.
            owner: Whom it counts for.

        Raises:
            CapacityReached: There are too many.
            Error: The environment cannot be made or reset.
        """
        episode = await self.open(name, owner=owner)
        try:
            await episode.begin(seed=seed, options=options)
        except BaseException:
            await self.close(episode.handle)
            raise
        return episode

    async def open(self, name: str, *, owner: str = "") -> Episode:
        """Open a session for an episode; it draws pictures if the environment can.

        Raises:
            CapacityReached: There are too many.
            Error: The environment cannot be made.
        """
        served = self._sessions.find(name)
        facts = await asyncio.to_thread(lambda: served.facts)
        modes = facts.metadata.get("render_modes") or ()
        kwargs = {"render_mode": _DRAWN} if _DRAWN in modes else None
        session = await self._sessions.open(name, kwargs=kwargs, owner=owner)
        self._episodes[session.id] = episode = Episode(session)
        return episode

    def find(self, handle: str) -> Episode:
        """Return an episode.

        Raises:
            SessionGone: There is none of this handle; the message says why, if that is known.
        """
        session = self._sessions.get(handle)
        if session.id not in self._episodes:
            raise SessionGone("There is no episode of this handle.")
        return self._episodes[session.id]

    async def close(self, handle: str) -> None:
        """Close an episode; one that is not there is no error."""
        await self._sessions.close(handle)

    def _forget(self, session: Session, _why: str) -> None:
        self._episodes.pop(session.id, None)


def _drawn(env: Any) -> bytes | None:
    if getattr(env, "render_mode", None) != _DRAWN:
        return None
    try:
        return to_png(as_image(np.asarray(env.render())))
    except Error:
        return None
