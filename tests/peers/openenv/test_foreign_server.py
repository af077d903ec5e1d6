"""ludus.connect to a server of the package openenv itself."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import ludus
from ludus.errors import (
    CapacityReached,
    InvalidAction,
    ServedEnvError,
    ServeError,
    ServerLost,
    UnknownName,
)
from ludus.testing import EnvConformance

SCRIPT = Path(__file__).parent / "foreign_server.py"


@pytest.fixture(scope="module")
def foreign() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The address of a server, and its process."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    child = subprocess.Popen([sys.executable, str(SCRIPT), str(port)])
    url, until = f"http://127.0.0.1:{port}", time.monotonic() + 120
    try:
        while True:
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5).close()
            except OSError:
                assert time.monotonic() < until
                assert child.poll() is None
                time.sleep(0.2)
            else:
                break
        yield url, child
    finally:
        child.kill()
        child.wait(20)


class TestConformance(EnvConformance):
    seeds = (1, 2)
    steps = 10

    @pytest.fixture(autouse=True)
    def _with_server(self, foreign: tuple[str, Any]) -> None:
        self.url = foreign[0]

    def make(self, **kwargs: Any) -> Any:
        return ludus.connect(self.url, **kwargs)


def test_an_episode(foreign: tuple[str, Any]) -> None:
    with closing(ludus.connect(foreign[0])) as env:
        seen, info = env.reset(seed=3, options={"episode_id": "mine"})
        assert (seen, info) == ({"hint": "none", "tries": 0}, {})
        wanted = random.Random(3).randrange(10)
        for number in range(wanted + 1):
            seen, reward, terminated, truncated, info = env.step({"number": number})
            is_it = number == wanted
            assert seen == {"hint": "equal" if is_it else "low", "tries": number + 1}
            assert (reward, terminated, truncated) == (float(is_it), is_it, False)
            assert info == {"tries": number + 1}
        told = env.server_state()  # type: ignore[attr-defined]
        assert told == {"episode_id": "mine", "step_count": wanted + 1}
        env.action_space.seed(0)
        for _ in range(20):
            assert env.step(env.action_space.sample())[0] in env.observation_space


def test_errors(foreign: tuple[str, Any]) -> None:
    url = foreign[0]
    with closing(ludus.connect(url)) as env:
        env.reset()
        for bad in ({"number": 10}, {"number": "a"}, {}, {"number": 1, "other": 2}, 3):
            with pytest.raises(InvalidAction):
                env.step(bad)
        with pytest.raises(ServedEnvError, match="as asked"):
            env.step({"number": 1, "note": "raise"})
        env.step({"number": 1})
        with closing(ludus.connect(url)):
            with closing(ludus.connect(url)) as third, pytest.raises(CapacityReached):
                third.reset()
            with pytest.raises(UnknownName, match="Guessing"):
                ludus.connect(url, "Other")
            with pytest.raises(ServeError, match="num_envs"):
                ludus.connect(url, num_envs=2)


def test_killed(foreign: tuple[str, subprocess.Popen[bytes]]) -> None:
    url, child = foreign
    env = ludus.connect(url)
    env.reset()
    child.kill()
    child.wait(20)
    began = time.monotonic()
    with pytest.raises(ServerLost, match=r"reconnect\(\)"):
        env.step({"number": 1})
    assert time.monotonic() - began < 1.0
    env.close()
