"""Time from the start of a process to its first step, against Gymnasium's `make("CartPole-v1")`.

Every figure is a fresh interpreter, timed from outside: start, imports, `make`, `reset`, one step,
end. `cold` has an empty cache of compiled kernels, `warm` has all of it. Sides take turns in every
round, and the medians of the rounds count: a start is disturbed by what else the machine does.
Both libraries find their bytecode compiled, as installed packages do.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 15
COLD, WARM = 0.3, 1.0  # seconds more than Gymnasium at most; ratio at most
MAKE = {
    "gymnasium": 'import gymnasium; env = gymnasium.make("CartPole-v1")',
    "CartPole": 'import ludus; env = ludus.make("CartPole-v1")',
    "Seaquest": 'import ludus; env = ludus.make("MinAtar/Seaquest-v1")',
    "64 CartPoles": 'import ludus; env = ludus.make_vec("CartPole-v1", 64)',
}
PLAY = "env.reset(seed=0); env.action_space.seed(0); env.step(env.action_space.sample())"


def seconds(code: str, bytecode: str, cache: str, mode: str) -> float:
    """Return how long a process takes, from its start to its end."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "LUDUS_CACHE": cache}
    env["LUDUS_COMPILE"] = mode
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    command = [sys.executable, "-c", f"{code}; {PLAY}"]
    subprocess.run(command, check=True, env=env, capture_output=True)
    return time.perf_counter() - start


def run(rounds: int, folder: Path) -> dict[tuple[str, str], list[float]]:
    """Return the times of all rounds, by side and cache."""
    bytecode, warm, cold = (str(folder / name) for name in ("bytecode", "warm", "cold"))
    for code in MAKE.values():
        seconds(code, bytecode, warm, "wait")
    found: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
        for name, code in MAKE.items():
            for state, cache in (("cold", cold), ("warm", warm)):
                shutil.rmtree(cold, ignore_errors=True)
                took = seconds(code, bytecode, cache, "background")
                found.setdefault((name, state), []).append(took)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        found = run(rounds, Path(folder))
    medians = {side: statistics.median(times) for side, times in found.items()}
    print(f"Process start to first step, medians of {rounds} rounds")
    for (name, state), median in medians.items():
        other = medians["gymnasium", state]
        line = f"{name:<13} {state}  {median * 1e3:7.1f} ms"
        if name != "gymnasium":
            more, ratio = median - other, median / other
            holds = more <= COLD if state == "cold" else ratio <= WARM
            line += f"  ratio {ratio:5.2f}  difference {more * 1e3:+8.1f} ms"
            line += f"  {'holds' if holds else 'FAILS'}"
        print(line)
    print(f"bars: cold at most {COLD} s more than gymnasium, warm at most {WARM:.2f} times as long")


if __name__ == "__main__":
    main()
