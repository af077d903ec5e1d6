"""Recording: what it costs, and how fast recordings are executed again.

Part "cost" races environments with and without recording (actions, rewards, flags, seeds, and a
check of every observation):

  one           make("CartPole-v1")
  sync 64       make_vec("CartPole-v1", 64, vectorization_mode="sync")
  batch 1024    make_vec("CartPole-v1", 1024), in compiled code

Part "replay" records ten million steps of the batch, executes them again, and compares every bit;
the memory that this takes is measured at a tenth of the way and at the end, each in a process of
its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import (
    Bar,
    Rate,
    Report,
    Side,
    balancing,
    console,
    progress,
    race,
    short,
    stepping,
    table,
)

import ludus
from ludus.record import RecordEpisodes, RecordVectorEpisodes, read_run, replay

BATCH, SYNC = 1024, 64
COST, SPEED, REPLAY, MEMORY = 1.15, 20_000_000, 0.5, 1.1
ROWS = 10_000_000 // BATCH


# --- cost -------------------------------------------------------------------------------------


def batch_side(envs: Any) -> Side:
    envs.reset(seed=0)
    n = envs.num_envs
    batches = [np.random.default_rng(i).integers(0, 2, n) for i in range(16)]
    return stepping(envs.step, batches, n)


CASES: dict[str, tuple[Callable[[], Any], Callable[..., Any], Callable[[Any], Side]]] = {
    "one": (lambda: ludus.make("CartPole-v1"), RecordEpisodes, balancing),
    f"sync {SYNC}": (
        lambda: ludus.make_vec("CartPole-v1", SYNC, vectorization_mode="sync"),
        RecordVectorEpisodes,
        batch_side,
    ),
    f"batch {BATCH}": (
        lambda: ludus.make_vec("CartPole-v1", BATCH),
        RecordVectorEpisodes,
        batch_side,
    ),
}


def compare_cost(options: argparse.Namespace, report: Report) -> None:
    shown = table("CartPole-v1", ["environments", "alone", "recorded", "cost of recording"])
    rates: dict[str, dict[str, Rate]] = {}
    for title, (make, wrap, side) in CASES.items():
        folder = Path(tempfile.mkdtemp())
        envs = {"alone": make(), "recorded": wrap(make(), folder / "run")}
        with progress(title, options.rounds) as advance:
            sides = {name: side(env) for name, env in envs.items()}
            found = race(sides, rounds=options.rounds, seconds=options.seconds, advance=advance)
        for env in envs.values():
            env.close()
        shutil.rmtree(folder)
        rates[title] = found
        report.add_rates({"id": "CartPole-v1", "part": title}, found)
        ratio = found["alone"].median / found["recorded"].median
        cells = [f"{short(rate.fastest)} ({short(rate.median)})" for rate in found.values()]
        shown.add_row(title, *cells, f"× {ratio:.2f}")
    console.print(shown)
    sync, batch = rates[f"sync {SYNC}"], rates[f"batch {BATCH}"]
    cost = sync["alone"].median / sync["recorded"].median
    report.bars.append(Bar(f"sync {SYNC}: time recorded / alone", cost, at_most=COST))
    speed = batch["recorded"].fastest
    report.bars.append(Bar(f"batch {BATCH}: steps recorded", speed, at_least=SPEED, unit="/s"))


# --- replay -----------------------------------------------------------------------------------


def child(job: str, path: str, rows: int) -> None:
    """Record or replay in this process; print seconds and the most memory it had, as JSON."""
    batches = [np.random.default_rng(i).integers(0, 2, BATCH) for i in range(16)]
    with ludus.make_vec("CartPole-v1", BATCH) as envs:  # so that its code is loaded
        envs.reset(seed=0)
        envs.step(batches[0])
    start = time.perf_counter()
    if job == "record":
        with RecordVectorEpisodes(ludus.make_vec("CartPole-v1", BATCH), path) as recording:
            recording.reset(seed=0)
            for row in range(rows):
                recording.step(batches[row & 15])
    elif not replay(path).is_equal:
        raise SystemExit("The recording did not come out the same.")
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(json.dumps({"seconds": seconds, "mib": memory}) + "\n")


def in_process(job: str, path: Path, rows: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", job, str(path), str(rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def compare_replay(options: argparse.Namespace, report: Report) -> None:
    shown = table("Recorded and executed again", ["steps", "job", "steps/s", "memory"])
    figures: dict[tuple[str, int], dict[str, float]] = {}
    whole = ROWS // 10 if options.quick else ROWS
    with progress("replay", 4) as advance, tempfile.TemporaryDirectory() as folder:
        for rows in (whole // 10, whole):
            path = Path(folder) / str(rows)
            for job in ("record", "replay"):
                found = figures[job, rows] = in_process(job, path, rows)
                rate = f"{short(rows * BATCH / found['seconds'])}"
                shown.add_row(short(rows * BATCH), job, rate, f"{found['mib']:.0f} MiB")
                report.figures.append({"part": "replay", "job": job, "rows": rows, **found})
                advance()
        size = sum(file.stat().st_size for file in (Path(folder) / str(whole)).iterdir())
        steps = read_run(Path(folder) / str(whole)).rows * BATCH
    console.print(shown)
    console.print(f"{size / steps:.2f} bytes per step on the disk")
    speed = figures["record", whole]["seconds"] / figures["replay", whole]["seconds"]
    report.bars.append(Bar("speed: replaying / recording", speed, at_least=REPLAY))
    for job in ("record", "replay"):
        growth = figures[job, whole]["mib"] / figures[job, whole // 10]["mib"]
        claim = f"memory of {job}: ten times the steps / a tenth"
        report.bars.append(Bar(claim, growth, at_most=MEMORY))


PARTS = {"cost": compare_cost, "replay": compare_replay}


def parse() -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures there")
    parser.add_argument("--child", nargs=3, metavar=("JOB", "PATH", "ROWS"), help="for itself")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    options.rounds, options.seconds = (5, 0.1) if options.quick else (25, 0.2)
    return options


def main() -> None:
    options, report = parse(), Report()
    warnings.simplefilter("ignore")
    if options.child is not None:
        job, path, rows = options.child
        child(job, path, int(rows))
        return
    for part in options.parts or PARTS:
        PARTS[part](options, report)
    report.finish(options.json)


if __name__ == "__main__":
    main()
