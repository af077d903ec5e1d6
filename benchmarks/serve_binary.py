"""Steps per second of ``ludus serve`` and ``ludus.connect`` over the binary sub-protocol.

    python benchmarks/serve_binary.py [--openenv PYTHON] [--rounds 9] [--seconds 0.5] [--json FILE]

CartPole on loopback, server and client each a process of its own: one environment against the
official OpenEnv server with its two clients, and batches with one and with 16 steps per message.
All take turns. ``--openenv`` is the Python of an environment with ``openenv==0.10.*`` and NumPy;
without it the official side is left out.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measure import Bar, Report, Side, console, progress, race, short, table

import ludus

HERE = Path(__file__).parent
SOURCES = HERE.parent / "src"
SERVER = """
import sys
from ludus.serve import Served
from ludus.serve.serving import serve
from ludus.serve.settings import ServeSettings

settings = ServeSettings(port=int(sys.argv[1]))
serve([Served.of("CartPole-v1")], settings, on_start=lambda s: print(s.port, flush=True))
"""
BATCH, MANY = 256, 16


def free_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def running(command: list[str], **given: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a program while the block runs."""
    started = subprocess.Popen(command, text=True, **given)
    try:
        yield started
    finally:
        started.kill()
        started.wait()


def wait_for(url: str) -> None:
    """Wait until a server answers."""
    until = time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return


def one(url: str) -> Side:
    """Return the side that steps one environment."""
    env = ludus.connect(url, "CartPole-v1")
    env.reset(seed=0)

    def run(calls: int) -> None:
        step = env.step
        for number in range(calls):
            result = step(number & 1)
            if result[2] or result[3]:
                env.reset()

    return Side(run, 1)


def batch(url: str, steps: int) -> Side:
    """Return the side that steps a batch, with so many steps per message."""
    env = ludus.connect(url, "CartPole-v1", num_envs=BATCH)
    env.reset(seed=0)
    shape = (BATCH,) if steps == 1 else (steps, BATCH)
    actions = np.random.default_rng(0).integers(2, size=shape)
    call = env.step if steps == 1 else env.step_many  # type: ignore[union-attr]

    def run(calls: int) -> None:
        for _ in range(calls):
            call(actions)

    return Side(run, BATCH * steps)


def official(stack: ExitStack, python: str) -> dict[str, Side]:
    """Return the sides of the official server and its clients."""
    script = str(HERE / "openenv_side.py")
    own = {**os.environ, "PYTHONPATH": str(SOURCES)}
    port = free_port()
    stack.enter_context(running([python, script, "serve", str(port)], env=own))
    wait_for(f"http://127.0.0.1:{port}/health")
    sides = {}
    for how in ("sync", "async"):
        command = [python, script, "drive", f"http://127.0.0.1:{port}", how]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": own}
        client = stack.enter_context(running(command, **pipes))
        sides[f"OpenEnv 0.10, {how} client"] = Side(driving(client), 1)
    return sides


def driving(client: subprocess.Popen[str]) -> Any:
    """Return what lets a client make so many steps, and returns the seconds."""

    def run(calls: int) -> float:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(f"{calls}\n")
        client.stdin.flush()
        return float(client.stdout.readline())

    return run


def main() -> None:
    """Race, and print the bars."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--openenv", metavar="PYTHON", default=os.environ.get("LUDUS_OPENENV"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    report = Report()
    with ExitStack() as stack:
        command = [sys.executable, "-c", SERVER, "0"]
        server = stack.enter_context(running(command, stdout=subprocess.PIPE))
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        sides = {} if options.openenv is None else official(stack, options.openenv)
        sides |= {
            "one environment": one(url),
            f"{BATCH} environments": batch(url, 1),
            f"{BATCH} environments, {MANY} steps per message": batch(url, MANY),
        }
        with progress("racing", options.rounds) as advance:
            rates = race(sides, rounds=options.rounds, seconds=options.seconds, advance=advance)
    shown = table("CartPole on loopback, steps per second", ("", "median", "fastest"))
    for name, rate in rates.items():
        shown.add_row(name, short(rate.median), short(rate.fastest))
    console.print(shown)
    report.add_rates({"benchmark": "serve_binary"}, rates)
    mine = rates["one environment"]
    for name, rate in rates.items():
        if name.startswith("OpenEnv"):
            report.bars.append(Bar(f"one environment over {name}", mine.over(rate), at_least=3.0))
    for name, least in (
        (f"{BATCH} environments", 1.5),
        (f"{BATCH} environments, {MANY} steps per message", 8.0),
    ):
        fastest = rates[name].fastest / 1e6
        report.bars.append(Bar(name, fastest, at_least=least, unit="M/s"))
    report.finish(options.json)


if __name__ == "__main__":
    main()
