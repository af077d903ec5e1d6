"""Observations and agents for these tests."""

from __future__ import annotations

import numpy as np

from ludus.research.agents.client import Backoff
from ludus.research.agents.react import ReactAgent, ReactConfig
from ludus.research.model_server.policies import Call
from ludus.research.model_server.server import ModelServer

LS = Call("shell", {"command": "ls"}, "I look around.")


def seen(output="", **changes):
    return {
        "task": "Predict the weather.",
        "output": output,
        "exit_code": np.int64(0),
        "cwd": "/workspace",
        "open_file": "",
        "steps_left": np.int64(9),
        "seconds_left": np.array(np.inf),
        "validation_score": np.array(-np.inf),
        **changes,
    }


class Waits(list):
    """Stands in for sleeping; remembers how long."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def agent_on(server: ModelServer, waits: Waits | None = None, **changes) -> ReactAgent:
    backoff = Backoff(sleep=Waits() if waits is None else waits)
    options = {"model": "scripted", "base_url": server.base_url, "api_key": "unused"}
    return ReactAgent(ReactConfig(**{**options, "backoff": backoff, **changes}))
