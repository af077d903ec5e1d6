"""Compares ``ludus serve`` with OpenEnv's own server: its WebSocket protocol and clients, CartPole.

All sides step the same environment, Ludus's, so that only the servers differ. OpenEnv's server runs
as shipped and with ``step_async`` overridden (benchmarks/serve_official.py); Ludus's is started as
users start it. The clients are OpenEnv's: asynchronous, synchronous, and 64 asynchronous ones in
four processes. All sides take turns on loopback.

    make test-interop PEERS=openenv        # installs what is compared with
    .venv-peers/openenv/bin/python benchmarks/serve.py --json serve.json
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from measure import Bar, Rate, Report, Side, console, progress, race, short, table

HERE = Path(__file__).parent
ASYNC_TIMES, SYNC_TIMES, MANY_TIMES = 1.7, 1.25, 2.5
SESSIONS, PROCESSES = 64, 4
SHIPPED, AWAITED, OURS = "OpenEnv as shipped", "OpenEnv, step_async", "ludus serve"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def servers() -> Iterator[dict[str, str]]:
    """Start all servers; yield their addresses."""
    ports = {name: free_port() for name in (SHIPPED, AWAITED, OURS)}
    official = str(HERE / "serve_official.py")
    orders = {
        SHIPPED: [sys.executable, official, str(ports[SHIPPED]), "shipped"],
        AWAITED: [sys.executable, official, str(ports[AWAITED]), "async"],
        OURS: [
            *(sys.executable, "-m", "ludus", "serve", "CartPole-v1"),
            *("--port", str(ports[OURS])),
        ],
    }
    environment = {**os.environ, "LUDUS_COMPILE": "wait"}
    children = [
        subprocess.Popen(
            order, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for order in orders.values()
    ]
    try:
        for name, port in ports.items():
            wait_for(name, f"http://127.0.0.1:{port}/health")
        yield {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.wait(30)


def wait_for(name: str, url: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise SystemExit(f"{name} did not start.")


def balance(result: Any) -> dict[str, int]:
    """Return the action that keeps the pole up, so that episodes are long."""
    _, _, angle, turning = result.observation["observation"]
    return {"action": 1 if angle + 0.5 * turning > 0 else 0}


async def step_async(env: Any, result: Any, calls: int) -> Any:
    for _ in range(calls):
        result = await env.step(balance(result))
        if result.done:
            result = await env.reset()
    return result


def async_side(url: str, loop: asyncio.AbstractEventLoop) -> Side:
    from openenv import GenericEnvClient

    env = GenericEnvClient(base_url=url)

    async def begin() -> Any:
        await env.connect()
        return await env.reset(seed=0)

    last = loop.run_until_complete(begin())

    def run(calls: int) -> None:
        nonlocal last
        last = loop.run_until_complete(step_async(env, last, calls))

    return Side(run, 1)


def sync_side(url: str) -> Side:
    from openenv import GenericEnvClient

    env = GenericEnvClient(base_url=url).sync()
    env.connect()
    last = env.reset(seed=0)

    def run(calls: int) -> None:
        nonlocal last
        for _ in range(calls):
            last = env.step(balance(last))
            if last.done:
                last = env.reset()

    return Side(run, 1)


def work(url: str, count: int, pipe: Connection) -> None:
    """Hold some sessions in a process of its own; step all of them as often as told."""
    from openenv import GenericEnvClient

    async def main() -> None:
        envs = [GenericEnvClient(base_url=url) for _ in range(count)]
        for env in envs:
            await env.connect()
        lasts = [await env.reset(seed=number) for number, env in enumerate(envs)]
        pipe.send("ready")
        loop = asyncio.get_running_loop()
        while calls := await loop.run_in_executor(None, pipe.recv):
            lasts = list(
                await asyncio.gather(
                    *(step_async(*pair, calls) for pair in zip(envs, lasts, strict=True))
                )
            )
            pipe.send("done")

    asyncio.run(main())


def many_side(url: str, children: list[Any]) -> Side:
    context = multiprocessing.get_context("spawn")
    pipes = []
    for _ in range(PROCESSES):
        mine, its = context.Pipe()
        child = context.Process(target=work, args=(url, SESSIONS // PROCESSES, its), daemon=True)
        child.start()
        children.append(child)
        pipes.append(mine)
    for pipe in pipes:
        pipe.recv()

    def run(calls: int) -> None:
        for pipe in pipes:
            pipe.send(calls)
        for pipe in pipes:
            pipe.recv()

    return Side(run, SESSIONS)


def compare(
    title: str, sides: dict[str, Side], options: argparse.Namespace, report: Report
) -> dict[str, Rate]:
    rounds, seconds = (5, 0.5) if options.quick else (15, 1.0)
    with progress(title, rounds) as advance:
        rates = race(sides, rounds=rounds, seconds=seconds, advance=advance)
    shown = table(f"{title}: steps per second", ("server", "fastest", "median", "of shipped"))
    for name, rate in rates.items():
        times = f"{rate.over(rates[SHIPPED]):.2f} ×"
        shown.add_row(name, short(rate.fastest), short(rate.median), times)
    console.print(shown)
    report.add_rates({"part": title}, rates)
    return rates


def judge(claim: str, rates: dict[str, Rate], bar: float, report: Report) -> None:
    report.bars.append(Bar(f"{claim}: over shipped", rates[OURS].over(rates[SHIPPED]), bar))


def compare_one(options: argparse.Namespace, report: Report, urls: dict[str, str]) -> None:
    loop = asyncio.new_event_loop()
    sides = {name: async_side(url, loop) for name, url in urls.items()}
    judge(
        "one session, async", compare("async client", sides, options, report), ASYNC_TIMES, report
    )


def compare_sync(options: argparse.Namespace, report: Report, urls: dict[str, str]) -> None:
    sides = {name: sync_side(url) for name, url in urls.items()}
    judge("one session, sync", compare("sync client", sides, options, report), SYNC_TIMES, report)


def compare_many(options: argparse.Namespace, report: Report, urls: dict[str, str]) -> None:
    children: list[Any] = []
    try:
        sides = {name: many_side(url, children) for name, url in urls.items()}
        title = f"{SESSIONS} sessions, {PROCESSES} processes"
        judge(f"{SESSIONS} sessions", compare(title, sides, options, report), MANY_TIMES, report)
    finally:
        for child in children:
            child.terminate()


Part = Callable[[argparse.Namespace, Report, dict[str, str]], None]
PARTS: dict[str, Part] = {"async": compare_one, "sync": compare_sync, "many": compare_many}


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures there")
    options, report = parser.parse_args(), Report()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    with servers() as urls:
        for part in options.parts or PARTS:
            PARTS[part](options, report, urls)
    report.finish(options.json)


if __name__ == "__main__":
    main()
