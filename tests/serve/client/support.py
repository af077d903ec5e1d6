"""A server in a thread of the test's process, and what the tests of clients share."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ludus.core import EnvSpec
from ludus.serve import Served
from ludus.serve.app import create_app
from ludus.serve.service import Service
from ludus.serve.serving import listen, make_server
from ludus.serve.settings import ServeSettings
from ludus.testing import CounterEnv

MIB = 2**20


class Told(CounterEnv):
    """An environment that lets clients read and call some of it."""

    metadata = {"render_modes": [], "served": ["double", "goal", "_secret"]}

    _secret = 1
    hidden = 2

    def double(self, number: int) -> int:
        return 2 * number


def served_class(name: str, entry_point: str, **given: Any) -> Served:
    """Return an environment of a class that is trusted here."""
    spec = EnvSpec(name, entry_point=entry_point, disable_env_checker=True)
    return Served(name, spec, **given)


class Running:
    """A server in a thread: its URL and its service."""

    def __init__(self, served: Sequence[Served], settings: ServeSettings) -> None:
        self._listening = listen(settings)
        self.settings = replace(settings, port=self._listening.getsockname()[1])
        app = create_app(served, self.settings)
        self.service: Service = app.state.service
        self.server = make_server(app, self.settings)
        self.thread = threading.Thread(
            target=lambda: self.server.run(sockets=[self._listening]), daemon=True
        )

    @property
    def url(self) -> str:
        return self.settings.url

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(15)
        self._listening.close()


@contextmanager
def running(*served: Served | str, **settings: Any) -> Iterator[Running]:
    """Serve environments while the block runs."""
    given = ServeSettings(**{"port": 0, "message_bytes": 64 * MIB, "grace_seconds": 3, **settings})
    server = Running([Served.of(s) if isinstance(s, str) else s for s in served], given)
    server.thread.start()
    try:
        while not server.server.started:
            if not server.thread.is_alive():
                raise RuntimeError("the server did not start")
            time.sleep(0.01)
        yield server
    finally:
        server.stop()


def raises_within(times: int, call: Any, kinds: Any) -> Any:
    """Return what one of several calls raises."""
    for _ in range(times):
        try:
            call()
        except kinds as problem:
            return problem
        time.sleep(0.02)
    raise AssertionError(f"{times} calls raised nothing")


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


SERVED = (
    "CartPole-v1",
    "Blackjack-v1",
    served_class("Counter-v0", "ludus.testing.envs:CounterEnv"),
    served_class("Dict-v0", "ludus.testing.envs:DictEnv"),
    served_class("Told-v0", f"{__name__}:Told"),
    served_class("Odd-v0", "tests.serve.client.odd:OddEnv"),
    served_class("Image-v0", "ludus.testing.envs:ImageEnv"),
    Served("Slow-v0", EnvSpec("Slow-v0", entry_point="ludus.testing.envs:SlowEnv")),
    Served("Faulty-v0", EnvSpec("Faulty-v0", entry_point="ludus.testing.envs:FaultyEnv")),
)
