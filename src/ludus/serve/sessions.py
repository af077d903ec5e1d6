"""All sessions of a server, with their limits."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from ludus import logger
from ludus.core import Env, VectorEnv
from ludus.errors import BadArguments, CapacityReached, ServeError, SessionGone, UnknownName
from ludus.serve.limits import Limits
from ludus.serve.places import Inline, Place, WorkerThread
from ludus.serve.served import Served
from ludus.serve.session import Session

__all__ = ["Sessions"]

_REMEMBERED = 10_000
_LARGEST_INLINE = 1024
"""Environments of a batch that is still stepped in the event loop."""
_REASONS = {
    "closed": "it was closed",
    "idle": "nobody used it for too long",
    "age": "it was too old",
    "shutdown": "the server is shutting down",
    "disconnected": "its connection ended",
}
_AUTORESET = (None, "NextStep", "SameStep", "Disabled")


class Sessions:
    """Opens, finds and closes sessions; an async context manager that closes all at its end.

    Args:
        served: What may be opened.
        limits: How much of it.
        make_options: Further arguments of ``make`` for every environment.

    Attributes:
        served: What may be opened, by name.
        limits: As given.
        opened: Number of sessions that were ever opened.
        closed: Number of sessions that were closed, by reason.
        refused: Number of sessions that were refused because of a limit.
        on_close: Functions that are called with each session that begins to close, and the reason.
    """

    def __init__(
        self,
        served: Sequence[Served],
        limits: Limits | None = None,
        *,
        make_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.served = {one.name: one for one in served}
        if len(self.served) != len(served) or not served:
            raise ServeError("A server offers at least one environment, and none twice.")
        self.limits = limits or Limits()
        self._make_options = dict(make_options or {})
        self._sessions: dict[str, Session] = {}
        self._opening: Counter[str] = Counter()
        self._gone: OrderedDict[str, str] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()
        self._reaper: asyncio.Task[None] | None = None
        self._ended_steps = 0
        self._is_closed = False
        self.opened = self.refused = 0
        self.closed: Counter[str] = Counter()
        self.on_close: list[Callable[[Session, str], None]] = []

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions.values()))

    @property
    def is_closed(self) -> bool:
        """Whether no session can be opened any more."""
        return self._is_closed

    @property
    def active(self) -> int:
        """Number of sessions, those that are being opened or closed included."""
        return len(self._sessions) + self._opening.total() + len(self._closing)

    @property
    def total_steps(self) -> int:
        """Steps of all environments of all sessions, closed ones included."""
        return self._ended_steps + sum(one.total_steps for one in self._sessions.values())

    async def open(
        self,
        name: str,
        *,
        num_envs: int | None = None,
        kwargs: Mapping[str, Any] | None = None,
        owner: str = "",
        autoreset_mode: str | None = None,
    ) -> Session:
        """Open a session.

        Args:
            name: Of what is served.
            num_envs: For a batch, its size.
            kwargs: A client's arguments of ``make``.
            owner: Whom it counts for.
            autoreset_mode: Of a batch: ``"NextStep"``, ``"SameStep"`` or ``"Disabled"``.

        Raises:
            UnknownName: It is not served.
            BadArguments: The client may not set an argument, or the environment refuses it.
            CapacityReached: There are too many sessions.
            Error: The environment cannot be made.
        """
        served = self.find(name)
        if num_envs is not None and not 1 <= num_envs <= self.limits.envs:
            raise BadArguments(
                f"num_envs is {num_envs}; expected 1 to {self.limits.envs}, or null for no batch."
            )
        if autoreset_mode not in _AUTORESET or (autoreset_mode and num_envs is None):
            raise BadArguments(
                f"autoreset_mode is {autoreset_mode!r:.40}; for a batch, expected one of "
                f"{_AUTORESET[1:]}."
            )
        self._check_room(owner)
        self._opening[owner] += 1
        try:
            return await self._open(served, num_envs, kwargs, owner, autoreset_mode)
        finally:
            self._opening[owner] -= 1
            self._opening += Counter()  # forgets the zeros

    def find(self, name: str) -> Served:
        """Return what is served under a name.

        Raises:
            UnknownName: Nothing is.
        """
        if name not in self.served:
            raise UnknownName(f"{name!r:.100} is not served here; served are {list(self.served)}.")
        return self.served[name]

    def get(self, session_id: str) -> Session:
        """Return a session.

        Raises:
            SessionGone: There is none of this id; the message says why, if that is known.
        """
        session = self._sessions.get(session_id)
        if session is not None:
            return session
        why = self._gone.get(session_id, "unknown")
        reason = _REASONS.get(why, "there never was one, or the server was restarted")
        raise SessionGone(f"There is no such session: {reason}. Open another one.", why=why)

    async def close(self, session_id: str, why: str = "closed") -> None:
        """Close a session, after its calls; one that is not there is no error.

        A task that is cancelled while it waits leaves the session closing.
        """
        session = self._sessions.get(session_id)
        if session is not None:
            await asyncio.shield(self._begin_closing(session, why))

    async def close_all(self, why: str = "shutdown", *, seconds: float = 30.0) -> None:
        """Close all sessions side by side and open no others.

        Args:
            why: The reason that clients hear.
            seconds: How long to wait for calls that are under way.
        """
        self._is_closed = True
        if self._reaper is not None:
            self._reaper.cancel()
            with suppress(asyncio.CancelledError):
                await self._reaper
            self._reaper = None
        for session in self:
            self._begin_closing(session, why)
        if self._closing:
            await asyncio.wait(set(self._closing), timeout=seconds)

    def reap(self) -> int:
        """Begin to close the sessions that are idle or too old; return how many.

        It waits for none, so that one that hangs in a call keeps no other.
        """
        now, limits = time.monotonic(), self.limits
        due: list[tuple[Session, str]] = []
        for one in self:
            if limits.life_seconds is not None and now - one.opened_at > limits.life_seconds:
                due.append((one, "age"))
            elif (
                limits.idle_seconds is not None
                and not one.running
                and now - one.used_at > limits.idle_seconds
            ):
                due.append((one, "idle"))
        for session, why in due:
            self._begin_closing(session, why)
        return len(due)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close_all()

    def _check_room(self, owner: str) -> None:
        limits = self.limits
        if self._is_closed:
            raise CapacityReached("The server is shutting down.", active=self.active, most=0)
        if self.active >= limits.sessions:
            self.refused += 1
            raise CapacityReached(
                f"The server has {self.active} of at most {limits.sessions} sessions. Try again "
                "later.",
                active=self.active,
                most=limits.sessions,
            )
        if limits.per_owner is None:
            return
        own = self._opening[owner] + sum(s.owner == owner for s in self._sessions.values())
        if own >= limits.per_owner:
            self.refused += 1
            raise CapacityReached(
                f"You have {own} of at most {limits.per_owner} sessions. Close one first.",
                active=own,
                most=limits.per_owner,
            )

    async def _open(
        self,
        served: Served,
        num_envs: int | None,
        kwargs: Mapping[str, Any] | None,
        owner: str,
        autoreset_mode: str | None,
    ) -> Session:
        if "facts" not in vars(served):
            await asyncio.to_thread(lambda: served.facts)
        arguments = {**self._make_options, **served.checked(kwargs)}
        session_id = secrets.token_hex(16)
        inline = served.facts.is_inline and (num_envs or 1) <= _LARGEST_INLINE
        place: Place = Inline() if inline else WorkerThread(f"session-{session_id[:6]}")
        if num_envs is None:
            make: Callable[[], Env | VectorEnv] = lambda: served.make(arguments)  # noqa: E731
        else:
            make = lambda: served.make_vec(num_envs, arguments, autoreset_mode)  # noqa: E731
        made: list[Env | VectorEnv] = []
        try:
            await place.run(lambda: made.append(make()))
        except (TypeError, ValueError) as problem:
            place.close()
            raise BadArguments(f"{served.name} cannot be made: {problem!s:.500}") from problem
        except BaseException:
            # If whoever waited was cancelled, what is made meanwhile is closed, in its thread.
            place.close(lambda: [one.close() for one in made])
            raise
        session = Session(session_id, served, made[0], place, owner=owner)
        if self._is_closed:
            await session.close("shutdown")
            self._check_room(owner)
        self._sessions[session_id] = session
        self.opened += 1
        if self._reaper is None:
            self._reaper = asyncio.create_task(self._reap_forever())
        return session

    def _begin_closing(self, session: Session, why: str) -> asyncio.Task[None]:
        del self._sessions[session.id]
        self._gone[session.id] = why
        while len(self._gone) > _REMEMBERED:
            self._gone.popitem(last=False)
        self.closed[why] += 1
        for notify in self.on_close:
            notify(session, why)
        task = asyncio.create_task(self._close(session, why))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        return task

    async def _close(self, session: Session, why: str) -> None:
        self._ended_steps += session.total_steps
        try:
            await session.close(why)
        except Exception as problem:  # the environment's own code; the session is gone all the same
            logger.warn(f"{session.served.name} could not be closed: {problem!s:.500}")

    async def _reap_forever(self) -> None:
        found = (self.limits.idle_seconds, self.limits.life_seconds)
        shortest = min((limit for limit in found if limit is not None), default=None)
        if shortest is None:
            return
        while True:
            await asyncio.sleep(min(max(shortest / 4, 0.05), 15.0))
            self.reap()
