"""Time and memory of the viewer with a long record and a large output.

    python benchmarks/view.py [--events 100000] [--megabytes 50]

Measures what a browser waits for (the server's answer, and the first paint in Chromium if it is
there), beside reading the whole record, and the memory of the server before and after.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--megabytes", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "long")
        write_record(record, given.events, given.megabytes)
        size = (record / "events.jsonl").stat().st_size / 2**20
        print(f"{given.events} events ({size:.0f} MB), an output of {given.megabytes} MB")
        server = subprocess.Popen(
            [sys.executable, "-m", "ludus", "view", folder, "--port", "0", "--no-open"],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        try:
            home = server.stdout.readline().split()[4].rstrip("/")
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
        finally:
            server.terminate()
            server.wait()
        start = time.perf_counter()
        count = sum(1 for _ in read_run(record).events)
        print(f"{'reading and checking all ' + str(count) + ' events':44} "
              f"{(time.perf_counter() - start) * 1000:7.0f} ms")  # fmt: skip


if __name__ == "__main__":
    main()
