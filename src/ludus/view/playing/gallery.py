"""Pictures of environments and what they say about themselves, from worker processes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from ludus.core.spec import EnvSpec
from ludus.errors import Error
from ludus.view.replaying.child import Child
from ludus.view.replaying.limits import WorkerLimits
from ludus.view.replaying.messages import Message, WorkerFailed
from ludus.view.replaying.replayer import Frame

__all__ = ["WORKER", "Gallery", "NotAsked", "NotMade", "order_for", "request_for"]

WORKER = "ludus.view.playing.worker"
_KEPT = 400
_KEPT_BYTES = 2**25
_ONES_PER_WORKER = 200


class NotMade(Error):
    """An environment could not be made or drawn; the text is for the user."""


class NotAsked(Error):
    """An environment that is no part of Ludus is made only after somebody asked for it."""


def order_for(imports: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the first message to a worker."""
    return {"imports": list(imports)}


def request_for(operation: str, spec: EnvSpec) -> dict[str, Any]:
    """Return a request about an environment, with its spec where that is plain data."""
    try:
        text: str | None = spec.to_json()
    except (ValueError, TypeError):
        text = None  # the worker looks up the id
    return {"op": operation, "id": spec.id, "spec": text}


class Gallery:
    """Makes environments on behalf of the gallery, one after the other.

    Environments of Ludus share a worker; every other one has a process of its own, and only after
    :meth:`allow`.
    """

    def __init__(self, limits: WorkerLimits | None = None) -> None:
        self._limits = limits or WorkerLimits(idle_seconds=60)
        self._lock = threading.Lock()
        self._worker: Child | None = None
        self._asked: Child | None = None
        self._is_closed = False
        self._used = 0
        self._frames: OrderedDict[str, Frame | str] = OrderedDict()
        self._facts: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._bytes = 0
        self._allowed: set[str] = set()
        self._timer: threading.Timer | None = None

    def allow(self, spec: EnvSpec) -> None:
        """Let an environment be made from now on."""
        self._allowed.add(spec.id)

    def is_allowed(self, spec: EnvSpec) -> bool:
        """Whether an environment may be made."""
        return spec.security.trust == "builtin" or spec.id in self._allowed

    def picture(self, spec: EnvSpec) -> Frame:
        """Return a picture of an environment.

        Raises:
            NotAsked: It is no part of Ludus.
            NotMade: It could not be made or drawn.
        """
        found = self._frames.get(spec.id)
        if found is None:
            found = self._draw(spec)
            self._keep(spec.id, found)
        if isinstance(found, str):
            raise NotMade(found)
        return found

    def facts(self, spec: EnvSpec) -> Mapping[str, Any]:
        """Return what an environment says about itself; raises as :meth:`picture`."""
        if spec.id not in self._facts:
            self._facts[spec.id] = _checked(self._ask(request_for("inspect", spec), spec).data)
            while len(self._facts) > _KEPT:
                self._facts.popitem(last=False)
        return self._facts[spec.id]

    def close(self) -> None:
        """Stop the worker for good; who waits for a picture is told so."""
        self._is_closed = True
        # Without the lock: a thread that waits for the process holds it, and returns by this.
        asked = self._asked
        if asked is not None:
            asked.close()
        self._rest()

    def _rest(self) -> None:
        """Stop the worker until it is needed again."""
        with self._lock:
            self._stop()

    def _draw(self, spec: EnvSpec) -> Frame | str:
        try:
            answer = self._ask(request_for("picture", spec), spec)
        except NotMade as problem:
            if isinstance(problem.__cause__, WorkerFailed):
                raise  # it may work another time
            return str(problem)
        kind = answer.data.get("kind")
        if kind not in ("png", "text") or len(answer.payloads) != 1:
            return "The worker process drew something else."
        return Frame(str(kind), answer.payloads[0])

    def _keep(self, env_id: str, found: Frame | str) -> None:
        with self._lock:
            old = self._frames.pop(env_id, None)
            self._bytes += _size(found) - _size(old)
            self._frames[env_id] = found
            while len(self._frames) > _KEPT or self._bytes > _KEPT_BYTES:
                self._bytes -= _size(self._frames.popitem(last=False)[1])

    def _ask(self, request: Mapping[str, Any], spec: EnvSpec) -> Message:
        if not self.is_allowed(spec):
            raise NotAsked(f"{spec.id} is no part of Ludus and runs code of its own.")
        with self._lock:
            is_shared = spec.security.trust == "builtin"
            try:
                self._check_open()
                child = self._shared() if is_shared else Child(WORKER, order_for(), self._limits)
                try:
                    answer = self._answer(child, request)
                finally:
                    if not is_shared:
                        child.close()
            except WorkerFailed as problem:
                self._stop()
                raise NotMade(str(problem)) from problem
        if "error" in answer.data:
            raise NotMade(str(answer.data["error"]))
        return answer

    def _answer(self, child: Child, request: Mapping[str, Any]) -> Message:
        self._asked = child
        try:
            # Again, after it was set: either this sees that the gallery is closed, or close() sees
            # the process.
            self._check_open()
            return child.ask(request)
        finally:
            self._asked = None

    def _check_open(self) -> None:
        if self._is_closed:
            raise WorkerFailed("The viewer is being stopped.")

    def _shared(self) -> Child:
        """Return the worker of Ludus's environments, now and then a new one."""
        if self._worker is None or not self._worker.is_alive or self._used >= _ONES_PER_WORKER:
            self._stop()
            self._worker, self._used = Child(WORKER, order_for(), self._limits), 0
        self._used += 1
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(self._limits.idle_seconds, self._rest)
        self._timer.daemon = True
        self._timer.start()
        return self._worker

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._worker is not None:
            self._worker.close()
            self._worker = None


_ARGUMENT = ("name", "default", "given", "type")


def _checked(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts in the form that the page expects, whatever the process sent."""
    modes, fps, rows = (data.get(name) for name in ("render_modes", "fps", "arguments"))
    texts = ("observation_space", "action_space", "layers", "doc")
    return {
        **{name: str(data.get(name, "")) for name in texts},
        "render_modes": [str(mode) for mode in modes] if isinstance(modes, list) else [],
        "fps": fps if isinstance(fps, int | float) else None,
        "arguments": [
            {name: str(row.get(name, "")) for name in _ARGUMENT}
            for row in (rows if isinstance(rows, list) else [])
            if isinstance(row, dict)
        ],
    }


def _size(found: Frame | str | None) -> int:
    return len(found.content) if isinstance(found, Frame) else 0
