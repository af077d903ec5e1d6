"""A server that is killed: clients hear of it at once and connect again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.errors import ServerLost
from ludus.testing.require import require_same

PROGRAM = """
import sys
from ludus.serve import Served
from ludus.serve.serving import serve
from ludus.serve.settings import ServeSettings

served = [Served.of("CartPole-v1"), Served.of("Hopper-v5")]
serve(served, ServeSettings(port=int(sys.argv[1])), on_start=lambda s: print(s.port, flush=True))
"""


@contextmanager
def process(port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-c", PROGRAM, str(port)]
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert started.stdout is not None
        yield started, int(started.stdout.readline())
    finally:
        started.kill()
        started.wait(20)
        assert started.stdout is not None
        started.stdout.close()


def refused_at_once(call: Any) -> str:
    began = time.monotonic()
    with pytest.raises(ServerLost) as caught:
        call()
    assert time.monotonic() - began < 1.0
    return str(caught.value)


def test_clients_of_a_killed_server_hear_of_it_and_connect_again() -> None:
    with process() as (server, port):
        url = f"http://127.0.0.1:{port}"
        env = ludus.connect(url, "CartPole-v1")
        batch = ludus.connect(url, "CartPole-v1", num_envs=4)
        pool = ludus.connect(url, "CartPole-v1", num_envs=2, pool=True)
        expected = env.reset(seed=3)
        state = env.get_state()
        after = env.step(1)
        batch.reset(seed=3)
        pool.reset(seed=3)
        pool.send([0, 1])
        os.kill(server.pid, signal.SIGKILL)
        server.wait(20)
        assert "reconnect()" in refused_at_once(lambda: env.step(0))
        refused_at_once(lambda: env.step(0))
        refused_at_once(lambda: batch.step(np.zeros(4, np.int64)))
        # The results may have arrived before the end.
        refused_at_once(lambda: (pool.recv(), pool.step([0, 0])))
        assert "ludus serve" in refused_at_once(env.reconnect)
    with process(port):
        env.reconnect()
        require_same(expected, env.reset(seed=3))
        env.step(0)
        # A saved state goes on on the new server.
        env.set_state(state)
        require_same(after, env.step(1))
        for one in (batch, pool):
            one.reconnect()
            one.reset(seed=3)
        batch.step(np.zeros(4, np.int64))
        for one in (env, batch, pool):
            one.close()


def test_a_client_that_waits_for_an_answer_hears_of_it() -> None:
    with process() as (server, port):
        env = ludus.connect(f"http://127.0.0.1:{port}", "Hopper-v5", num_envs=64)
        env.reset(seed=0)
        os.kill(server.pid, signal.SIGSTOP)
        began = time.monotonic()
        killer = subprocess.Popen(
            [sys.executable, "-c", f"import os,time; time.sleep(.3); os.kill({server.pid}, 9)"]
        )
        with pytest.raises(ServerLost):
            env.step(env.action_space.sample())
        assert killer.wait(20) == 0
        assert time.monotonic() - began < 5.0
        env.close()
