"""Boxes: how fast environments step in them, and how fast they start and run commands.

Part "stepping" races CartPole-v1 inside and outside of a box:

  unboxed       make("CartPole-v1"), make_vec("CartPole-v1", 256)
  boxed         the same with sandbox=True: box and caller wherever they are put
  boxed pinned  with SandboxOptions(cpu=...), and the caller kept on the other processors
  boxed on one  box and caller kept on one and the same processor

Part "boxes" measures the default box: from nothing to a shell that has answered, and one `echo` in
a running shell, against SWE-ReX's local deployment and `docker exec`, where they are installed.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import io
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measure import Bar, Rate, Report, Side, balancing, console, progress, race, short, table

import ludus
from ludus.sandbox import backends, open_sandbox
from ludus.untrusted import SandboxOptions

BATCH = 256
SINGLE, MANY = "single environment", f"batch of {BATCH}"
BARS = {(SINGLE, "boxed pinned"): 100_000, (MANY, "boxed pinned"): 5_000_000}
START_MS, ECHO_MS, TIMES = 25.0, 1.0, 50.0


# --- stepping ---------------------------------------------------------------------------------


def batch_side(envs: Any) -> Side:
    envs.reset(seed=0)
    batches = [np.random.default_rng(i).integers(0, 2, BATCH) for i in range(16)]

    def run(calls: int) -> None:
        for i in range(calls):
            envs.step(batches[i & 15])

    return Side(run, BATCH)


def pinned(side: Side, processors: set[int]) -> Side:
    """Return the side whose caller stays on some processors."""

    def run(calls: int) -> None:
        with kept_on(processors):
            side.run(calls)

    return Side(run, side.steps_per_call)


@contextmanager
def kept_on(processors: set[int]) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def compare_stepping(options: argparse.Namespace, report: Report) -> None:
    everywhere = os.sched_getaffinity(0)
    cpu = max(everywhere)
    others = everywhere - {cpu} or {cpu}
    makers: dict[str, tuple[Callable[..., Any], Callable[[Any], Side]]] = {
        SINGLE: (lambda **kwargs: ludus.make("CartPole-v1", **kwargs), balancing),
        MANY: (lambda **kwargs: ludus.make_vec("CartPole-v1", BATCH, **kwargs), batch_side),
    }
    for title, (make, side) in makers.items():
        envs = {
            "unboxed": make(),
            "boxed": make(sandbox=True),
            "boxed pinned": make(sandbox=SandboxOptions(cpu=cpu)),
        }
        with kept_on({cpu}):
            envs["boxed on one"] = make(sandbox=SandboxOptions(cpu=cpu))
        sides = {name: side(env) for name, env in envs.items()}
        sides["boxed pinned"] = pinned(sides["boxed pinned"], others)
        sides["boxed on one"] = pinned(sides["boxed on one"], {cpu})
        with progress(title, options.rounds) as advance:
            rates = race(sides, rounds=options.rounds, seconds=options.seconds, advance=advance)
        for env in envs.values():
            env.close()
        show_rates(title, rates)
        report.add_rates({"id": "CartPole-v1", "part": title}, rates)
        for (part, name), bar in BARS.items():
            if part == title:
                claim = f"{part}, {name}: steps/s"
                report.bars.append(Bar(claim, rates[name].fastest, at_least=bar, unit="/s"))


def show_rates(title: str, rates: dict[str, Rate]) -> None:
    shown = table(f"CartPole-v1, {title}", ["side", "steps/s", "of unboxed"])
    for name, rate in rates.items():
        part = rate.fastest / rates["unboxed"].fastest
        shown.add_row(name, f"{short(rate.fastest)} ({short(rate.median)})", f"{part:.2f}")
    console.print(shown)


# --- boxes ------------------------------------------------------------------------------------


def timed(action: Callable[[], Any]) -> float:
    """Return how many milliseconds an action takes."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1e3


def own_times(rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"start": [], "echo": []}
    for _ in range(rounds):
        start = time.perf_counter()
        with open_sandbox() as box, box.shell() as shell:
            shell.run("echo").check()
            times["start"].append((time.perf_counter() - start) * 1e3)
            times["echo"] += [timed(lambda: shell.run("echo hi")) for _ in range(20)]
    return times


def swerex_times(rounds: int) -> dict[str, list[float]]:
    from swerex.deployment.local import LocalDeployment
    from swerex.runtime.abstract import BashAction, CreateBashSessionRequest

    times: dict[str, list[float]] = {"start": [], "echo": []}

    async def measure() -> None:
        start = time.perf_counter()
        deployment = LocalDeployment()
        await deployment.start()
        await deployment.runtime.create_session(CreateBashSessionRequest())
        await deployment.runtime.run_in_session(BashAction(command="echo"))
        times["start"].append((time.perf_counter() - start) * 1e3)
        for _ in range(5):
            start = time.perf_counter()
            await deployment.runtime.run_in_session(BashAction(command="echo hi"))
            times["echo"].append((time.perf_counter() - start) * 1e3)
        await deployment.stop()

    for _ in range(min(rounds, 5)):
        asyncio.run(measure())
    return times


def docker_times(rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"start": [], "echo": []}

    def docker(*words: str) -> str:
        done = subprocess.run(["docker", *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    # The host's own programs serve: no image need be fetched.
    image = subprocess.run(
        ["docker", "import", "-"], input=links(), check=True, capture_output=True
    ).stdout.decode()
    options = ("--detach", "--rm", "--network=none", "--volume=/usr:/usr:ro", image.strip())
    for _ in range(min(rounds, 5)):
        start = time.perf_counter()
        box = docker("run", *options, "/usr/bin/sleep", "600")
        try:
            docker("exec", box, "/usr/bin/echo")
            times["start"].append((time.perf_counter() - start) * 1e3)
            echo = ("exec", box, "/usr/bin/echo", "hi")
            times["echo"] += [timed(lambda: docker(*echo)) for _ in range(5)]  # noqa: B023
        finally:
            docker("kill", box)
    docker("rmi", image.strip())
    return times


def links() -> bytes:
    """Return an archive of the links from a root to ``/usr``, which programs are loaded by."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("bin", "lib", "lib64"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{name}"
            archive.addfile(entry)
    return packed.getvalue()


def why_no_docker() -> str | None:
    """Return why docker cannot take part; root gets a daemon of its own, gone with this process."""
    if shutil.which("docker") is None:
        return "is not installed"
    if "DOCKER_HOST" in os.environ or Path("/var/run/docker.sock").exists():
        return None
    root = str(Path(__file__).parent.parent)
    sys.path.insert(0, root)  # some distributions install a "tests" of their own
    os.environ["PYTHONPATH"] = root
    from tests.sandbox.daemon import why_no_daemon

    return why_no_daemon()


def compare_boxes(options: argparse.Namespace, report: Report) -> None:
    rounds = 5 if options.quick else 20
    sides: dict[str, dict[str, list[float]]] = {}
    sides["ludus"] = own_times(rounds)
    if importlib.util.find_spec("swerex") is not None:
        sides["SWE-ReX local"] = swerex_times(rounds)
    else:
        console.print("SWE-ReX is not installed (pip install swe-rex) and left out.")
    if (reason := why_no_docker()) is None:
        sides["docker exec"] = docker_times(rounds)
    else:
        console.print(f"Docker is left out: {reason}.")
    medians = {
        name: {what: statistics.median(found) for what, found in times.items()}
        for name, times in sides.items()
    }
    shown = table("Boxes", ["side", "start to first answer", "echo"])
    for name, found in medians.items():
        shown.add_row(name, f"{found['start']:.1f} ms", f"{found['echo']:.3f} ms")
        report.figures.append({"part": "boxes", "side": name, **found})
    console.print(shown)
    ours = medians["ludus"]
    report.bars.append(Bar("cold start to a shell", ours["start"], at_most=START_MS, unit="ms"))
    report.bars.append(Bar("echo in a shell", ours["echo"], at_most=ECHO_MS, unit="ms"))
    for name, found in medians.items():
        if name != "ludus":
            claim = f"echo: {name} / ludus"
            report.bars.append(Bar(claim, found["echo"] / ours["echo"], at_least=TIMES))


PARTS = {"stepping": compare_stepping, "boxes": compare_boxes}


def parse() -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures there")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    options.rounds, options.seconds = (5, 0.1) if options.quick else (25, 0.2)
    return options


def main() -> None:
    options, report = parse(), Report()
    warnings.simplefilter("ignore")
    if (reason := backends()["bubblewrap"]) is not None:
        raise SystemExit(f"The default box cannot be made here. {reason}")
    for part in options.parts or PARTS:
        PARTS[part](options, report)
    report.finish(options.json)


if __name__ == "__main__":
    main()
