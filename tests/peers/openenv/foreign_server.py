"""A server of the package openenv, as its guide has it: a number is to be guessed."""

from __future__ import annotations

import random
import sys
from typing import Any, Literal

import uvicorn
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field


class Guess(Action):
    number: int = Field(ge=0, lt=10)
    note: str | None = None


class Hint(Observation):
    hint: Literal["low", "high", "equal", "none"]
    tries: int = 0


class Guessing(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state, self._number = State(episode_id=None, step_count=0), 0
        self._rng = random.Random()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Hint:
        if seed is not None:
            self._rng = random.Random(seed)
        self._number = self._rng.randrange(10)
        self._state = State(episode_id=episode_id, step_count=0)
        return Hint(hint="none")

    def step(self, action: Guess, **_: Any) -> Hint:
        self._state.step_count += 1
        if action.note == "raise":
            raise RuntimeError("as asked")
        hint = "equal"
        if action.number != self._number:
            hint = "low" if action.number < self._number else "high"
        tries = self._state.step_count
        done = hint == "equal"
        return Hint(hint=hint, tries=tries, done=done, reward=done, metadata={"tries": tries})

    @property
    def state(self) -> State:
        return self._state


if __name__ == "__main__":
    app = create_app(Guessing, Guess, Hint, env_name="guessing", max_concurrent_envs=2)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
