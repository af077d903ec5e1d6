"""Time and memory of the viewer with a long record and a large output.

    python benchmarks/view.py [--events 100000] [--megabytes 50] [--viewers 50]

Measures what a browser waits for (the server's answer, and the first paint in Chromium if it is
there, each by a server that has seen nothing yet), beside reading the whole record, and the memory
of the server before and after. Then how long the steps of a running episode take with and without
viewers, in turns.
"""

from __future__ import annotations

import argparse
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Self

import psutil

from ludus.record import Run, read_run

CHROMIUM = Path("/usr/bin/chromium")
SUBJECT = {
    "task": "long", "agent": "scripted", "model": "", "seed": 0, "description": "A long episode.",
    "evaluation": {"metric": "score", "direction": "higher", "baseline": 0.0, "threshold": 1.0},
    "unit": {"budget": {"max_steps": 10**6}},
}  # fmt: skip


def step(n: int, **changed: object) -> dict[str, object]:
    """Return the data of a step as a run records it."""
    score = n / 1e5 if n % 50 == 0 else None
    graded = None if score is None else {"outcome": "scored", "score": score, "files": {}}
    return {
        "n": n, "action": f"python train.py --seed {n}", "thought": "I try another seed.",
        "output": f"epoch {n}: loss 0.1234\n" * 20, "digest": "0" * 64, "characters": 500,
        "exit_code": int(n % 31 == 30), "cwd": "/workspace", "reward": 0.0, "terminated": False,
        "truncated": False, "end": None, "validation": score, "graded": graded, "final": None,
        "cost": n * 0.001, "model_usage": {"prompt_tokens": n * 1000, "completion_tokens": n * 50},
        "seconds": 0.5, "spent": n * 0.6, "waited": 0.0, "measured": {}, "state": None, **changed,
    }  # fmt: skip


def write_record(path: Path, events: int, megabytes: int) -> None:
    with Run.create(path, kind="research", subject=SUBJECT) as run:
        line = b"a line of output that is neither short nor long: 0123456789\n"
        content = line * (megabytes * 2**20 // len(line))
        event = run.add_file("outputs/0.txt", content)
        for n in range(events // 2):
            act = {"n": n, "action": f"python train.py --seed {n}", "thought": "", "cost": 0.001}
            run.append("act", {**act, "state": None})
            more = {"output_file": event.data["path"], "characters": len(content)} if n == 0 else {}
            run.append("step", step(n, **more))


def waited(address: str) -> tuple[float, int]:
    """Return seconds and bytes of an answer."""
    start = time.perf_counter()
    with urllib.request.urlopen(address) as answer:
        content = answer.read()
    return time.perf_counter() - start, len(content)


def first_paint(addresses: dict[str, str]) -> None:
    from playwright.sync_api import sync_playwright

    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    script = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        for name, address in addresses.items():
            page = browser.new_page()
            page.goto(address)
            page.wait_for_timeout(200)
            print(f"{name:44} first paint {page.evaluate(script):7.0f} ms")
            page.close()
        browser.close()


@contextmanager
def serving(folder: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a viewer's process and its address."""
    server = subprocess.Popen(
        [sys.executable, "-m", "ludus", "view", str(folder), "--port", "0", "--no-open"],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        yield server, server.stdout.readline().split()[4].rstrip("/")
    finally:
        server.terminate()
        server.wait()


class Viewers:
    """Reads the stream of an episode as many browsers would, in a thread."""

    def __init__(self, home: str, folder: Path, count: int) -> None:
        self._home, self._folder, self._count = home.removeprefix("http://"), folder, count
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self.received = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _read(self) -> None:
        records = self._folder / "run" / "records"
        while not (found := list(records.glob("*/events.jsonl"))) and not self._is_over.is_set():
            time.sleep(0.05)
        host, _, port = self._home.partition(":")
        if not found:
            return
        path = f"/run/run/e/{found[0].parent.name}/live?after=0"
        ask = f"GET {path} HTTP/1.1\r\nHost: {self._home}\r\n\r\n"
        with ExitStack() as stack, selectors.DefaultSelector() as selector:
            for _ in range(self._count):
                stream = stack.enter_context(socket.create_connection((host, int(port)), 10))
                stream.sendall(ask.encode())
                selector.register(stream, selectors.EVENT_READ)
            while not self._is_over.is_set():
                for key, _ in selector.select(0.1):
                    content = key.fileobj.recv(1 << 16)
                    self.received += len(content)
                    if not content:
                        selector.unregister(key.fileobj)


def seconds_of_steps(folder: Path, actions: Path) -> float:
    """Play an episode of scripted actions; return the time from its first to its last step."""
    command = ["research", "run", "battleOfSexes", "--agent", "scripted", "--runs", "1"]
    options = ["--agent-option", f"file={actions}", "--out", str(folder / "run"), "--parallel", "1"]
    limits = ["--max-steps", "100000"]
    done = subprocess.run(
        [sys.executable, "-m", "ludus", *command, *options, *limits], capture_output=True, text=True
    )
    (record,) = (folder / "run" / "records").iterdir()
    times = [event.time for event in read_run(record).events if event.kind == "step"]
    if len(times) < 2:
        raise SystemExit(done.stdout + done.stderr)
    first, last = (datetime.fromisoformat(times[place]) for place in (0, -1))
    return (last - first).total_seconds()


def slow_down(viewers: int, rounds: int, steps: int) -> None:
    """Print how much longer the steps of an episode take while many watch it."""
    took: dict[bool, list[float]] = {False: [], True: []}
    received = 0
    for turn in range(2 * rounds):
        is_watched = turn % 2 == 1
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            actions = folder / "actions.yaml"
            actions.write_text("- sleep 0.02\n" * steps + "- submit\n")
            with ExitStack() as stack:
                if is_watched:
                    _, home = stack.enter_context(serving(folder))
                    watching = stack.enter_context(Viewers(home, folder, viewers))
                took[is_watched].append(seconds_of_steps(folder, actions))
            if is_watched:
                received += watching.received
    ratios = [with_them / alone for alone, with_them in zip(took[False], took[True], strict=True)]
    print(
        f"{steps} steps: alone {statistics.median(took[False]):.2f} s, with {viewers} viewers "
        f"{statistics.median(took[True]):.2f} s, median of {rounds} ratios "
        f"{statistics.median(ratios):.3f} (at most 1.02); {received / 2**20:.0f} MiB were streamed"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "long")
        write_record(record, given.events, given.megabytes)
        size = (record / "events.jsonl").stat().st_size / 2**20
        print(f"{given.events} events ({size:.0f} MB), an output of {given.megabytes} MB")
        if CHROMIUM.exists():
            for name, page in {"episode": "", "step with the large output": "/s/0-"}.items():
                with serving(folder) as (_, home):
                    first_paint({f"{name}, nothing known": f"{home}/run/long/e/record{page}"})
        with serving(folder) as (server, home):
            base = f"{home}/run/long/e/record"
            memory = psutil.Process(server.pid).memory_info
            processor = psutil.Process(server.pid).cpu_times
            waited(f"{home}/static/view.css")
            print(f"{'memory of the server before':44} {memory().rss / 2**20:7.0f} MiB")
            middle = given.events // 400
            for name, address in {
                "first page of the episode, nothing known": base,
                "the same again": base,
                "page in the middle": f"{base}?page={middle}",
                "step with the large output": f"{base}/s/0-",
                "its last lines": f"{base}/s/0-?line=800000",
                "curve and filters of all steps": f"{base}/overview",
                "search in all steps": f"{base}?q=--seed+{given.events // 2 - 1}",
            }.items():
                before = processor()
                seconds, length = waited(address)
                used = processor().user - before.user + processor().system - before.system
                now = memory().rss / 2**20
                print(
                    f"{name:44} {seconds * 1000:7.0f} ms (processor {used * 1000:5.0f} ms) "
                    f"{length / 1024:5.0f} KiB, server {now:4.0f} MiB"
                )
            if CHROMIUM.exists():
                first_paint({"episode": base, "step with the large output": f"{base}/s/0-"})
        start = time.perf_counter()
        count = sum(1 for _ in read_run(record).events)
        print(f"{'reading and checking all ' + str(count) + ' events':44} "
              f"{(time.perf_counter() - start) * 1000:7.0f} ms")  # fmt: skip
    if given.viewers:
        slow_down(given.viewers, given.rounds, given.steps)


if __name__ == "__main__":
    main()
