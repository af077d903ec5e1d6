"""A server for the demonstration, in a process of its own, and how fast a client here steps it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import numpy as np

from ludus.errors import ServeError
from ludus.serve.client.connect import connect

__all__ = ["ENV", "served_rates"]

ENV = "CartPole-v1"
_BATCH, _STEPS, _SECONDS = 256, 16, 0.5


def served_rates() -> list[tuple[str, float]]:
    """Return what was stepped over the network, and environment steps per second.

    Raises:
        ServeError: The server did not start.
    """
    with _running() as url:
        with closing(connect(url, ENV)) as env:
            env.reset(seed=0)
            one = _rate(lambda: env.step(0)[2] and env.reset(), 1)
        envs: Any = connect(url, ENV, num_envs=_BATCH)
        with closing(envs):
            envs.reset(seed=0)
            actions = np.zeros((_STEPS, _BATCH), np.int64)
            many = _rate(partial(envs.step_many, actions), actions.size)
    return [
        ("one environment, a step per message", one),
        (f"a batch of {_BATCH}, {_STEPS} steps per message", many),
    ]


@contextmanager
def _running() -> Iterator[str]:
    argv = [sys.executable, "-m", "ludus", "serve", ENV, "--port", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:  # noqa: S603 - our own arguments
        try:
            said = server.stdout.readline().decode() if server.stdout is not None else ""
            if not said.startswith("Serving"):
                raise ServeError("The server did not start; `ludus serve CartPole-v1` says why.")
            yield said.split()[-1]
        finally:
            server.terminate()


def _rate(step: Callable[[], object], size: int) -> float:
    step()
    steps, began = 0, time.perf_counter()
    while time.perf_counter() < began + _SECONDS:
        step()
        steps += size
    return steps / (time.perf_counter() - began)
