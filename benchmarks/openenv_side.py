"""The official OpenEnv server and clients with CartPole, for benchmarks to race against.

It runs in an environment with the package ``openenv``, which the benchmark need not have::

    python openenv_side.py serve PORT           the official server, as shipped
    python openenv_side.py drive URL sync       its client; reads numbers of steps from its input,
    python openenv_side.py drive URL async      makes them, and writes the seconds that they took
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any


def serve(port: int) -> None:
    """Serve CartPole as OpenEnv's guide says."""
    import uvicorn
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, Observation, State

    import ludus

    class Push(Action):
        action: int

    class Seen(Observation):
        values: list[float]

    class CartPole(Environment):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self._env = ludus.make("CartPole-v1")
            self._state = State(episode_id=None, step_count=0)

        def reset(self, seed: int | None = None, **_: Any) -> Seen:
            values, _info = self._env.reset(seed=seed)
            self._state = State(episode_id=None, step_count=0)
            return Seen(values=values.tolist(), done=False, reward=0.0)

        def step(self, action: Push, **_: Any) -> Seen:
            values, reward, terminated, truncated, _info = self._env.step(action.action)
            self._state.step_count += 1
            return Seen(values=values.tolist(), done=terminated or truncated, reward=reward)

        @property
        def state(self) -> State:
            return self._state

    app = create_app(CartPole, Push, Seen, env_name="cartpole", max_concurrent_envs=8)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def drive_sync(url: str) -> None:
    """Make steps with the blocking client."""
    from openenv import GenericEnvClient

    with GenericEnvClient(base_url=url).sync() as env:
        env.reset(seed=0)
        for line in sys.stdin:
            start = time.perf_counter()
            for number in range(int(line)):
                if env.step({"action": number & 1}).done:
                    env.reset()
            _tell(time.perf_counter() - start)


async def drive_async(url: str) -> None:
    """Make steps with the asynchronous client."""
    from openenv import GenericEnvClient

    async with GenericEnvClient(base_url=url) as env:
        await env.reset(seed=0)
        for line in sys.stdin:
            start = time.perf_counter()
            for number in range(int(line)):
                if (await env.step({"action": number & 1})).done:
                    await env.reset()
            _tell(time.perf_counter() - start)


def _tell(seconds: float) -> None:
    print(seconds, flush=True)


if __name__ == "__main__":
    what, where, *how = sys.argv[1:]
    if what == "serve":
        serve(int(where))
    elif how == ["sync"]:
        drive_sync(where)
    else:
        asyncio.run(drive_async(where))
