"""Research tasks: how fast episodes begin, what an action costs, and many episodes at a time.

Part "latency" times, in the default box and taking turns,

  reset         to a fresh box that holds the workspace and has a shell; the seed's data is there
  ls            one action of ResearchEnv: the command, the folder, the requests, the observation
  bare          the same ls as a process of its own, without a box or a shell
  MLGym's       the same ls by the model of MLGym's protocol that is described at `PausingShell`

What is added is the time of an action less that of the bare process.

Part "parallel" plays whole episodes alone, one per seed, and then twenty at a time, in threads:
reset, commands, the reference solution, a validation, the submission. Each must end with the score
that its seed had alone.

Part "waiting" plays thirty-two episodes of commands that sleep, asynchronously, with
``ludus.research.rollouts``: they must be over within 1.3 times what the longest one sleeps, however
few processors there are. One that is done goes on at once; a batch in lock-step would wait in
every step for its slowest episode.
"""

from __future__ import annotations

import argparse
import os
import resource
import select
import statistics
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from measure import Bar, Report, console, progress, table

from ludus.research import ResearchEnv, Task, load_task, new_task, rollouts, task_ids
from ludus.sandbox import backends

TASK = "battleOfSexes"
RESET_SECONDS, ADDED_MS, TIMES, EPISODES, SEEDS = 0.3, 5.0, 50.0, 20, 4
SLEEPERS, NAPS, LONGEST, WITHIN = 32, 6, 60.0, 1.3


class PausingShell:
    """A model of how MLGym carries out an action; none of its code is in here.

    Modelled is what is known of it: one bash behind a pipe, and for each action a round trip in
    which bash checks the syntax, then one for the command. In each the caller writes and pauses;
    pauses between looks at output and processes until none runs any more; asks for the exit status
    and pauses again. Only the sum of the pauses is a measured fact, 0.5 s for an action. What would
    slow it down more is left out: the container, and the sleeps and installations of its start.
    """

    BEFORE, BETWEEN, STATUS = 0.1, 0.05, 0.1

    def __init__(self, folder: Path) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        argv = ["bash", "--noprofile", "--norc"]
        self._bash = subprocess.Popen(argv, cwd=folder, stderr=subprocess.STDOUT, **pipes)

    def run(self, command: str) -> tuple[str, int]:
        """Return output and exit status."""
        said, status = self._exchange(f"bash -n <<'THE_END'\n{command}\nTHE_END")
        return (said, status) if status else self._exchange(command)

    def close(self) -> None:
        """End bash."""
        self._bash.communicate()

    def _exchange(self, text: str) -> tuple[str, int]:
        self._write(text, self.BEFORE)
        said, running = "", True
        while running:
            time.sleep(self.BETWEEN)
            running = self._is_running()
            while piece := self._piece():
                said += piece
        self._write("echo $?", self.STATUS)
        return said, int(self._piece())

    def _write(self, text: str, pause: float) -> None:
        if self._bash.stdin is not None:
            self._bash.stdin.write(f"{text}\n".encode())
            self._bash.stdin.flush()
        time.sleep(pause)

    def _is_running(self) -> bool:
        pid = self._bash.pid
        return bool(Path(f"/proc/{pid}/task/{pid}/children").read_text())

    def _piece(self) -> str:
        output = self._bash.stdout
        if output is None or not select.select([output], [], [], 0)[0]:
            return ""
        return os.read(output.fileno(), 4096).decode()


# --- latency ----------------------------------------------------------------------------------


def timed(action: Callable[[], Any]) -> float:
    """Return how many seconds an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure_latency(task: Task, options: argparse.Namespace, report: Report) -> None:
    rounds = 5 if options.quick else 25
    seconds: dict[str, list[float]] = {"reset": [], "ls": [], "bare": [], "MLGym's": []}
    with (
        ResearchEnv(task, max_steps=10**6) as env,
        tempfile.TemporaryDirectory() as folder,
        progress("latency", rounds) as advance,
    ):
        env.reset(seed=0)
        for name in env.step("ls")[0]["output"].splitlines():
            Path(folder, name).touch()
        pausing = PausingShell(Path(folder))
        for _ in range(rounds):
            seconds["reset"].append(timed(lambda: env.reset(seed=0)))
            for _ in range(20):
                seconds["ls"].append(timed(lambda: env.step("ls")))
                bare = ["ls", folder]
                seconds["bare"].append(timed(lambda: subprocess.run(bare, capture_output=True)))  # noqa: B023
            seconds["MLGym's"].append(timed(lambda: pausing.run("ls")))
            advance()
        pausing.close()
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    added = {name: medians[name] - medians["bare"] for name in ("ls", "MLGym's")}
    shown = table(f"{task.id}, default box", ["what", "fastest", "median", "90 %", "added"])
    for name, found in seconds.items():
        figures = (min(found), medians[name], statistics.quantiles(found, n=10)[-1])
        cells = [f"{figure * 1e3:.2f} ms" for figure in figures]
        shown.add_row(name, *cells, f"{added[name] * 1e3:.2f} ms" if name in added else "")
        report.figures.append({"part": "latency", "side": name, "seconds": medians[name]})
    console.print(shown)
    ratio = added["MLGym's"] / max(added["ls"], 1e-6)
    report.bars += [
        Bar("reset", medians["reset"], at_most=RESET_SECONDS, unit="s"),
        Bar("ls: added to a bare process", added["ls"] * 1e3, at_most=ADDED_MS, unit="ms"),
        Bar("added: MLGym's protocol / ludus", ratio, at_least=TIMES),
    ]


# --- parallel ---------------------------------------------------------------------------------


@dataclass
class Played:
    """One episode: how it ended, and how long its actions took."""

    result: tuple[str, float | None] = ("", None)
    reset: float = 0.0
    looks: list[float] = field(default_factory=list)
    box_bytes: int = 0


def play(task: Task, seed: int) -> Played:
    """Play the reference solution, with a few looks around."""
    played = Played()
    # Private draws differ from episode to episode, and scores with them.
    with ResearchEnv(task, max_steps=100, draws="public") as env:
        played.reset = timed(lambda: env.reset(seed=seed))
        for source in sorted(task.reference.rglob("*")):
            if source.is_file() and "__pycache__" not in source.parts:
                env.sandbox.write_bytes(
                    str(source.relative_to(task.reference)), source.read_bytes()
                )
        played.looks = [timed(lambda: env.step("ls")) for _ in range(10)]
        env.step(task.config.run.reference or "true")
        env.step("validate")
        played.looks += [timed(lambda: env.step("ls")) for _ in range(10)]
        played.box_bytes = env.sandbox.usage().memory_peak or 0
        info = env.step("submit")[4]
    played.result = info["outcome"], info["score"]
    return played


def measure_parallel(task: Task, options: argparse.Namespace, report: Report) -> None:
    seeds = 2 if options.quick else SEEDS
    with progress("alone", seeds) as advance:
        alone = []
        start = time.perf_counter()
        for seed in range(seeds):
            alone.append(play(task, seed))
            advance()
        each = (time.perf_counter() - start) / seeds
    start = time.perf_counter()
    with lowest_memory() as memory, ThreadPoolExecutor(EPISODES) as pool:
        together = list(pool.map(lambda number: play(task, number % seeds), range(EPISODES)))
    wall = time.perf_counter() - start
    show_episodes(task, {"alone": alone, f"{EPISODES} together": together}, report)
    own, machine = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, memory[0] / 2**20
    console.print(
        f"An episode alone took {each:.2f} s, {EPISODES} together {wall:.1f} s on "
        f"{len(os.sched_getaffinity(0))} processors. This process had {own:.0f} MiB at most; the "
        f"machine's free memory went down by {machine:.0f} MiB."
    )
    figures = {"alone": each, "wall": wall, "own_mib": own, "machine_mib": machine}
    report.figures.append({"part": "parallel", **figures})
    right = sum(played.result[0] == "scored" and played.result == alone[number % seeds].result
                for number, played in enumerate(together))  # fmt: skip
    claim = f"of {EPISODES} episodes, scored as alone"
    report.bars.append(Bar(claim, right, at_least=EPISODES, unit=""))


def show_episodes(task: Task, sides: dict[str, list[Played]], report: Report) -> None:
    shown = table(task.id, ["episodes", "reset", "ls", "90 %", "memory of a box"])
    for name, found in sides.items():
        resets = statistics.median(played.reset for played in found)
        looks = [look for played in found for look in played.looks]
        look, high = statistics.median(looks), statistics.quantiles(looks, n=10)[-1]
        box = max(played.box_bytes for played in found) / 2**20
        times = (f"{resets:.3f} s", f"{look * 1e3:.1f} ms", f"{high * 1e3:.1f} ms")
        shown.add_row(name, *times, f"{box:.0f} MiB")
        figures = {"reset": resets, "ls": look, "box_mib": box}
        report.figures.append({"part": "parallel", "side": name, **figures})
    console.print(shown)


@contextmanager
def lowest_memory() -> Iterator[list[float]]:
    """Yield a list whose only number says by how many bytes free memory has gone down at most."""
    begun, found, over = free_memory(), [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            found[0] = max(found[0], begun - free_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()


def free_memory() -> float:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


# --- waiting ----------------------------------------------------------------------------------


def naps_of(seed: int) -> list[float]:
    """Return the seconds that the commands of an episode sleep; those of 0 sleep longest."""
    random = Random(seed)
    naps = [random.uniform(0.1, 1.0) for _ in range(NAPS)]
    share = 1.0 if seed == 0 else random.uniform(0.3, 1.0)
    return [LONGEST * share * nap / sum(naps) for nap in naps]


class Sleeper:
    """Lets commands sleep, then submits what is there."""

    def reset(self, seed: int, env: Any) -> None:
        """Begin."""
        self.naps = naps_of(seed)

    def act(self, observation: Any) -> str:
        """Return the next command."""
        return f"sleep {self.naps.pop():.3f}" if self.naps else "submit"


def measure_waiting(task: Task, options: argparse.Namespace, report: Report) -> None:
    count = SLEEPERS // 4 if options.quick else SLEEPERS
    naps = [naps_of(seed) for seed in range(count)]
    longest, lock_step = max(map(sum, naps)), sum(map(max, zip(*naps, strict=True)))
    start = time.perf_counter()
    with progress("waiting", count) as advance:
        outcomes = []
        for rollout in rollouts(task, Sleeper, count, concurrency=count):
            outcomes.append("" if rollout.info is None else rollout.info["outcome"])
            advance()
    wall = time.perf_counter() - start
    graded = sum(one in ("scored", "agent_fault") for one in outcomes)
    console.print(
        f"{count} episodes that sleep up to {longest:.1f} s took {wall:.1f} s on "
        f"{len(os.sched_getaffinity(0))} processors; in lock-step their commands alone sleep "
        f"{lock_step:.1f} s."
    )
    figures = {"wall": wall, "longest": longest, "lock_step": lock_step}
    report.figures.append({"part": "waiting", **figures})
    report.bars += [
        Bar(f"{count} asynchronous episodes / the longest", wall / longest, at_most=WITHIN),
        Bar(f"of {count} asynchronous episodes, graded", graded, at_least=count, unit=""),
    ]


PARTS = {"latency": measure_latency, "parallel": measure_parallel, "waiting": measure_waiting}


def parse() -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--task", help=f"id or path; {TASK}, or a new task where there is none")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures there")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    return options


def main() -> None:
    options, report = parse(), Report()
    warnings.simplefilter("ignore")
    if (reason := backends()["bubblewrap"]) is not None:
        raise SystemExit(f"The default box cannot be made here. {reason}")
    with tempfile.TemporaryDirectory() as folder:
        wanted = options.task or (TASK if TASK in task_ids() else new_task("nearLine", folder))
        task = load_task(wanted)
        for part in options.parts or PARTS:
            PARTS[part](task, options, report)
    report.finish(options.json)


if __name__ == "__main__":
    main()
