"""Many sessions at once, each compared with an environment of its own.

``LUDUS_TEST_ALL`` makes it a minute with 1,000 sessions, ``LUDUS_LOAD_SECONDS`` another time.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import time
import urllib.request
from typing import Any

import numpy as np
from websockets.asyncio.client import connect

import ludus
from tests.sampling import ALL
from tests.serve.commands import serving

SESSIONS = 1000 if ALL else 60
SECONDS = float(os.environ.get("LUDUS_LOAD_SECONDS", "60" if ALL else "2"))


def memory(port: int) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        found = re.search(r"^ludus_memory_bytes (\d+)", answer.read().decode(), re.MULTILINE)
    assert found is not None
    return float(found[1])


async def play(port: int, number: int, end: float) -> int:
    """Play until the end, and compare every answer with a local environment's."""
    env = ludus.make("CartPole-v1")
    steps, rng = 0, np.random.default_rng(number)
    # Without pings: a thousand clients in one process may be late, but must not fail.
    options: dict[str, Any] = {"compression": None, "open_timeout": 120, "ping_interval": None}
    async with connect(f"ws://127.0.0.1:{port}/ws", **options) as socket:

        async def say(kind: str, **data: object) -> dict:
            await socket.send(json.dumps({"type": kind, "data": data}))
            return json.loads(await asyncio.wait_for(socket.recv(), 60))["data"]

        episode = 0
        while time.monotonic() < end:
            seed = number * 10_000 + episode
            observation, _ = env.reset(seed=seed)
            told = await say("reset", seed=seed)
            done = False
            while not done and time.monotonic() < end:
                assert told["observation"]["observation"] == observation.tolist(), number
                action = int(rng.integers(2))
                observation, _, terminated, truncated, _ = env.step(action)
                told = await say("step", action=action)
                done = terminated or truncated
                assert told["done"] is done
                steps += 1
                await asyncio.sleep(1.0 if ALL else 0)
            episode += 1
    return steps


async def play_all(port: int) -> tuple[int, list[float]]:
    end = time.monotonic() + SECONDS + SESSIONS / 100
    samples: list[float] = []

    async def watch() -> None:
        while time.monotonic() < end - SECONDS / 10:
            await asyncio.sleep(SECONDS / 10)
            samples.append(await asyncio.to_thread(memory, port))

    found = await asyncio.gather(*(play(port, n, end) for n in range(SESSIONS)), watch())
    return sum(n for n in found if n is not None), samples


def test_many_sessions_are_neither_lost_nor_crossed_and_memory_is_flat() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with serving("CartPole-v1", "--sessions", str(SESSIONS)) as server:
        steps, samples = asyncio.run(play_all(server.port))
        assert steps > SESSIONS
        middle = len(samples) // 2
        assert samples[-1] - samples[middle] < 16 << 20, samples
