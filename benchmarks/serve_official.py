"""OpenEnv's own server, with Ludus's CartPole in it: what benchmarks/serve.py compares with.

    python benchmarks/serve_official.py PORT shipped|async

``shipped``: the environment implements ``step``, which the server runs in a thread. ``async``: it
overrides ``step_async``, which the server awaits in its event loop.
"""

from __future__ import annotations

import sys

import uvicorn
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

import ludus


class Move(Action):
    """An action of CartPole."""

    action: int


class Seen(Observation):
    """What is seen of it."""

    observation: list[float]


class CartPole(Environment[Move, Seen, State]):
    """Ludus's CartPole as an environment of OpenEnv."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._env = ludus.make("CartPole-v1")
        self._state = State()

    # ruff: noqa: D102
    def reset(self, seed=None, episode_id=None, **more):
        observation, _ = self._env.reset(seed=seed)
        self._state = State(episode_id=episode_id, step_count=0)
        return Seen(observation=observation.tolist())

    def step(self, action, timeout_s=None, **more):
        observation, reward, terminated, truncated, _ = self._env.step(action.action)
        self._state.step_count += 1
        return Seen(
            observation=observation.tolist(),
            reward=reward,
            done=terminated or truncated,
            metadata={"terminated": terminated, "truncated": truncated},
        )

    @property
    def state(self):
        return self._state

    def close(self) -> None:
        self._env.close()


class AsyncCartPole(CartPole):
    """The same, stepped in the event loop."""

    async def step_async(self, action, timeout_s=None, **more):
        return self.step(action)


KINDS = {"shipped": CartPole, "async": AsyncCartPole}

if __name__ == "__main__":
    port, kind = int(sys.argv[1]), KINDS[sys.argv[2]]
    app = create_app(kind, Move, Seen, env_name="cartpole", max_concurrent_envs=1000)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
