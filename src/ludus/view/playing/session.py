"""One person who plays one environment: what the browser sends, and when a step is due.

The environment is in a process of its own. The session keeps the time: it steps while the clock
runs or keys are pressed, and never faster than the environment answers.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ludus.core.spec import EnvSpec
from ludus.view.playing.gallery import WORKER, order_for, request_for
from ludus.view.replaying.child import Child
from ludus.view.replaying.limits import WorkerLimits
from ludus.view.replaying.messages import Message

__all__ = ["IDLE_SECONDS", "PLAY_LIMITS", "Session", "Told"]

PLAY_LIMITS = WorkerLimits(request_seconds=20.0, cpu_seconds=1800)
IDLE_SECONDS = 300.0
"""After how long without a sign of life from the browser a session ends."""
_SLOW, _FAST, _USUAL = 1.0, 60.0, 30.0
_MOST_KEYS, _MOST_PRESSES = 8, 4
_KEY = re.compile(r"[a-z0-9]{1,12}")
_LONGEST_ACTION = 20_000

Told = Callable[[Mapping[str, Any], bytes | None], Awaitable[None]]
"""Sends figures to the browser, and a frame after them."""


class Session:
    """Plays one environment for one browser.

    Args:
        spec: The environment.
        tell: Sends to the browser.
        limits: Of the process.
    """

    def __init__(self, spec: EnvSpec, tell: Told, limits: WorkerLimits = PLAY_LIMITS) -> None:
        self._spec, self._tell = spec, tell
        self._child = Child(WORKER, order_for(), limits)
        self._held: list[str] = []
        self._runs = False
        self._requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_MOST_PRESSES)
        self._wake = asyncio.Event()
        self._heard = time.monotonic()
        self._over = False
        self._rate = _USUAL
        self.pid = self._child.pid
        """Of the process."""

    async def run(self) -> None:
        """Start the environment and step it until it fails or nobody is there.

        Raises:
            WorkerFailed: The process was stopped or ended.
        """
        answer = await self._ask({**request_for("start", self._spec), "seed": None})
        if answer is None:
            return
        facts = answer.data.get("facts")
        self._rate = _rate_of(facts)
        due = 0.0
        while time.monotonic() - self._heard < IDLE_SECONDS:
            request = self._next()
            if request is None:
                await self._waiting()
                continue
            # Typed moves are made at once; the clock and held keys keep the frame rate.
            if "keys" in request:
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                due = max(due + 1 / self._rate, time.monotonic())
            if await self._ask(request) is None:
                return

    def hear(self, text: str) -> None:
        """Take a message of the browser; what makes no sense is ignored."""
        try:
            told = json.loads(text[:_LONGEST_ACTION])
            json.dumps(told, allow_nan=False)  # as it is sent to the process
        except (ValueError, RecursionError):
            return
        if not isinstance(told, dict):
            return
        self._heard = time.monotonic()
        if "held" in told:
            self._held = _keys(told["held"])
        if "runs" in told:
            self._runs = told["runs"] is True
        for request in _requests(told):
            if not self._requests.full():
                self._requests.put_nowait(request)
        self._wake.set()

    def close(self) -> None:
        """Stop the process."""
        self._child.close()

    def _next(self) -> dict[str, Any] | None:
        if not self._requests.empty():
            return self._requests.get_nowait()
        if not self._over and (self._runs or self._held):
            return {"op": "step", "keys": self._held}
        return None

    async def _waiting(self) -> None:
        self._wake.clear()
        try:
            await asyncio.wait_for(self._wake.wait(), 5.0)
        except TimeoutError:
            return

    async def _ask(self, request: Mapping[str, Any]) -> Message | None:
        """Ask the process and tell the browser; ``None`` if the environment failed."""
        answer = await asyncio.to_thread(self._child.ask, request)
        if "error" in answer.data:
            # A wrong action leaves the environment as it was; anything else ends the session.
            await self._tell({"error": str(answer.data["error"])}, None)
            return answer if "action" in request else None
        self._over = bool(answer.data.get("terminated") or answer.data.get("truncated"))
        await self._tell(answer.data, answer.payloads[0] if answer.payloads else None)
        return answer


def _keys(given: Any) -> list[str]:
    if not isinstance(given, list):
        return []
    return [key for key in given[:_MOST_KEYS] if isinstance(key, str) and _KEY.fullmatch(key)]


def _requests(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the steps and resets that a message asks for."""
    found: list[dict[str, Any]] = []
    if told.get("reset") is True:
        seed = told.get("seed")
        is_seed = type(seed) is int and 0 <= seed < 2**31
        found.append({"op": "reset", "seed": seed if is_seed else None})
    if "press" in told:
        found.append({"op": "step", "keys": _keys(told["press"])})
    if "action" in told:
        found.append({"op": "step", "action": told["action"]})
    if told.get("random") is True:
        found.append({"op": "step", "random": True})
    return found


def _rate_of(facts: Any) -> float:
    rate = facts.get("fps") if isinstance(facts, Mapping) else None
    return min(max(float(rate), _SLOW), _FAST) if isinstance(rate, int | float) else _USUAL
