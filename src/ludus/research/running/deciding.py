"""Asks an agent for its next action and contains its failures."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ludus.bench.faults import one_line
from ludus.bench.running.play import CtrlC
from ludus.core.state import copy_plain
from ludus.errors import (
    CodecError,
    DependencyNotInstalled,
    InfrastructureFailed,
    InvalidAction,
    ModelServerError,
    StateError,
)
from ludus.record.format import canonical
from ludus.research.agents.protocol import AgentStopped
from ludus.research.episode.actions import read_action

__all__ = ["decide"]

_MOST_BYTES = 1 << 20
_MESSAGE = 2000
_GRACE = 1.0


class _TimeOver(BaseException):
    """Not an ``Exception``, which an agent may catch to try again."""


def decide(
    agent: Any, observation: Mapping[str, Any], seconds: float | None = None
) -> dict[str, Any]:
    """Return an agent's action and thought, or why it stops.

    An agent that fails has stopped, and its work is graded.

    Args:
        agent: The agent.
        observation: What it sees.
        seconds: How long it may take; by default as long as the observation says.

    Returns:
        ``action`` and ``thought``; or ``stop``, one word, and a ``message``.

    Raises:
        InfrastructureFailed: A bundled agent cannot reach its model, which says nothing about the
            agent. The same error from another agent is no evidence.
    """
    with CtrlC() as ctrl_c:
        try:
            decided = _decide(agent, observation, seconds)
        # The agent's own, SystemExit too: it must not end the run.
        except BaseException as problem:
            decided = _stop("agent_error", _shown(problem))
            ctrl_c.check()
    if "fault" in decided:
        raise InfrastructureFailed(decided["fault"])
    return decided


def _decide(agent: Any, observation: Mapping[str, Any], seconds: float | None) -> dict[str, Any]:
    left = float(observation["seconds_left"]) if seconds is None else seconds
    try:
        with _alarm(left + _GRACE):
            action = agent.act(observation)
        return {"action": _plain(action), "thought": _thought(agent)}
    except AgentStopped as stopped:
        return _stop(stopped.reason.value, str(stopped))
    except _TimeOver:
        return _stop("time", "The time of the episode was over before the agent had decided.")
    except (ModelServerError, DependencyNotInstalled) as problem:
        if not _is_ours(type(agent)):
            raise
        return {"fault": one_line(problem)}
    except InvalidAction as problem:
        return _stop("invalid_action", str(problem))


def _is_ours(kind: type) -> bool:
    """Whether a class comes with Ludus; its own ``__module__`` is no evidence."""
    name = kind.__module__
    module = sys.modules.get(name) if name.startswith("ludus.") else None
    return module is not None and vars(module).get(kind.__name__) is kind


def _shown(problem: BaseException) -> str:
    try:
        return one_line(problem)
    except BaseException:  # __str__ of the agent's own exception; the caller checks for Ctrl-C
        return "an exception that cannot be shown"


def _plain(action: Any) -> Any:
    """Return an action as a record can hold it.

    Raises:
        InvalidAction: It cannot be recorded, or is not an action.
    """
    try:
        copied = copy_plain(action, "action")
        size = len(canonical.dumps({"action": copied}))
    except (StateError, CodecError, RecursionError) as problem:
        raise InvalidAction(f"The action is not plain data: {problem}") from problem
    if size > _MOST_BYTES:
        raise InvalidAction(f"The action has {size:,} bytes; at most {_MOST_BYTES:,} are taken.")
    read_action(copied)
    return copied


def _thought(agent: Any) -> str:
    thought = getattr(agent, "thought", "")
    text = thought if isinstance(thought, str) else ""
    return text.encode("utf-8", "replace").decode()[: 1 << 16]


def _stop(reason: str, message: str) -> dict[str, Any]:
    return {"stop": reason, "message": message.encode("utf-8", "replace").decode()[:_MESSAGE]}


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt the block when its time is over, where that can be done: in the main thread."""
    if threading.current_thread() is not threading.main_thread() or not seconds < 1e8:
        yield
        return

    def ring(*_: object) -> None:
        raise _TimeOver

    before = signal.signal(signal.SIGALRM, ring)
    # Again every second, for agents that swallow it.
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001), 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
