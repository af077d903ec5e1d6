"""The worker process that executes one recording again; ``python -m`` runs it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.core.state_files import save_state
from ludus.core.vector_env import VectorEnv
from ludus.errors import Error
from ludus.record.run.reader import read_run
from ludus.view.replaying.drawing import draw, frame_rate, to_bytes
from ludus.view.replaying.playhead import NotThereYet, Playhead
from ludus.view.replaying.serving import Answer, Handler, serve

__all__ = ["main"]

_MOST_NUMBERS = 16
_MOST_STATE = 2**26


def main() -> None:
    """Serve the recording that the first message names."""
    serve(_prepare)


def _prepare(order: Mapping[str, Any]) -> Handler:
    return _Replay(order).answer


class _Replay:
    """Answers requests about one recording."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        reader = read_run(order["path"], within=order.get("within"))
        if order.get("manifest", "") not in ("", reader.manifest_hash):
            raise Error("Another recording has taken its place; load the page again.")
        self._head = Playhead(reader)
        self._seen: _Seen | None = None

    def answer(self, request: Mapping[str, Any]) -> Answer:
        """Answer a request; with ``reached`` alone if its time was over on the way."""
        until = time.monotonic() + float(request.get("seconds", 3.0))
        how = {"about": self._about, "frames": self._frames, "state": self._state}
        try:
            if request["op"] == "observations":
                return self._observations(request, until)
            return how[request["op"]](request, until)
        except NotThereYet as problem:
            return {"reached": problem.row}, ()

    def _about(self, _: Mapping[str, Any], __: float) -> Answer:
        return {
            "render_mode": self._head.render_mode,
            "fps": frame_rate(self._head.env.metadata),
            "rows": self._head.timeline.rows,
        }, ()

    def _frames(self, request: Mapping[str, Any], until: float) -> Answer:
        """Render moments in order; as many as the time allows, at least one."""
        if self._head.render_mode is None:
            raise Error("The environment draws neither images nor text.")
        payloads: list[bytes] = []
        kind = "png"
        for moment in request["moments"]:
            if payloads and time.monotonic() > until:
                break
            try:
                self._head.seek(moment, until)
            except NotThereYet:
                if not payloads:
                    raise
                break
            kind, content = to_bytes(draw(self._head.env, request["env"]), self._head.render_mode)
            payloads.append(content)
        self._head.keep()
        done = list(request["moments"][: len(payloads)])
        return {"moments": done, "kind": kind, "difference": self._head.difference}, payloads

    def _state(self, request: Mapping[str, Any], until: float) -> Answer:
        self._head.seek(request["moment"], until)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state"
            save_state(self._head.env, path)
            if path.stat().st_size > _MOST_STATE:
                raise Error(f"The state has more than {_MOST_STATE} bytes.")
            return {"difference": self._head.difference}, (path.read_bytes(),)

    def _observations(self, request: Mapping[str, Any], until: float) -> Answer:
        """Return the numbers of the observations at some moments, as float64 rows."""
        moments, env = request["moments"], request["env"]
        key = (moments[0], moments[-1], env)
        if self._seen is None or self._seen.key != key:
            self._seen = _Seen(key)
        seen = self._seen
        while len(seen.rows) < len(moments):
            self._head.seek(moments[len(seen.rows)], until)
            seen.rows.append(_numbers(self._head, env))
        width = max(map(len, seen.rows), default=0)
        table = np.full((len(seen.rows), width), np.nan)
        for index, row in enumerate(seen.rows):
            table[index, : len(row)] = row
        return {"width": width, "difference": self._head.difference}, (table.tobytes(),)


class _Seen:
    """Observations collected over several requests."""

    def __init__(self, key: tuple[int, int, int]) -> None:
        self.key = key
        self.rows: list[NDArray[Any]] = []


def _numbers(head: Playhead, index: int) -> NDArray[Any]:
    """Return the first numbers of the present observation; none if it is not made of numbers."""
    found = head.observation
    if isinstance(head.env, VectorEnv) and isinstance(found, np.ndarray):
        found = found[index]
    if found is None or isinstance(found, dict | tuple | list | str):
        return np.empty(0)
    flat = np.asarray(found).reshape(-1)[:_MOST_NUMBERS]
    return flat.astype(np.float64) if flat.dtype.kind in "biuf" else np.empty(0)


if __name__ == "__main__":
    main()
