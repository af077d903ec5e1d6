"""How long a kernel takes from `make` to its first step, and how much memory a batch takes.

Every figure comes from fresh processes. `cold` has an empty cache (a LUDUS_CACHE of its own) and
compiles; `warm` finds what `cold` left there, and the fastest of some runs counts. Times count from
the call of `make` or `make_vec` until the first step is done; `cpu` is the processor's time for
that, children included, which tells how much a busy machine added; the time in brackets includes
`import ludus`.
Memory is the resident size of a process after 65,536 CartPoles were stepped, above its size after
`import ludus`, with an empty cache and with a full one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import Bar, Report, console, progress, table

import ludus
from ludus.envs.builtin import KERNELS

COLD, WARM, MEMORY = 5.0, 0.5, 64.0
CALLS = {"make": "ludus.make({id!r})", "make_vec": "ludus.make_vec({id!r}, 64)"}
TIMED = """
import json, resource, time
start = time.perf_counter()
import ludus
imported, before = time.perf_counter(), time.process_time()
env = {call}
env.reset(seed=0)
env.action_space.seed(0)
env.step(env.action_space.sample())
end, cpu = time.perf_counter(), time.process_time() - before
cpu += sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
print(json.dumps({{"seconds": end - imported, "cpu": cpu, "with import": end - start}}))
"""
WEIGHED = """
import json, os
from pathlib import Path
def size():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
import ludus
before = size()
envs = ludus.make_vec("CartPole-v1", 65_536)
envs.reset(seed=0)
envs.action_space.seed(0)
for _ in range(3):
    envs.step(envs.action_space.sample())
print(json.dumps([before, size()]))
"""


def fresh(code: str, cache: str) -> Any:
    """Run code in a new process with that cache; return what it printed."""
    env = {**os.environ, "LUDUS_CACHE": cache, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    return json.loads(done.stdout)


def kernel_ids() -> list[str]:
    """Return the ids with a vector form of their own: those that run a kernel."""
    return [spec.id for spec in KERNELS if spec.vector_entry_point is not None]


def one_per_kernel(ids: list[str]) -> list[str]:
    """Return the last id of each entry point: other versions differ in their arguments."""
    return list({ludus.spec(env_id).entry_point: env_id for env_id in ids}.values())


def time_id(env_id: str, runs: int) -> dict[str, dict[str, float]]:
    """Return seconds by what was timed, with and without the import."""
    found = {}
    for name, call in CALLS.items():
        code = TIMED.format(call=call.format(id=env_id))
        with tempfile.TemporaryDirectory() as cache:
            found[f"{name} cold"] = fresh(code, cache)
            warm = [fresh(code, cache) for _ in range(runs)]
        found[f"{name} warm"] = {key: min(run[key] for run in warm) for key in warm[0]}
    return found


def show_times(times: dict[str, dict[str, dict[str, float]]]) -> None:
    names = list(next(iter(times.values())))
    shown = table("Seconds to the first step, cpu (with import)", ["id", *names])
    for env_id, found in times.items():
        cells = []
        for name, run in found.items():
            colour = "green" if run["seconds"] <= bar_of(name) else "red"
            rest = f"cpu {run['cpu']:.2f} ({run['with import']:.2f})"
            cells.append(f"[{colour}]{run['seconds']:.2f}[/] {rest}")
        shown.add_row(env_id, *cells)
    console.print(shown)


def bar_of(name: str) -> float:
    return COLD if name.endswith("cold") else WARM


def add_bars(times: dict[str, dict[str, dict[str, float]]], report: Report) -> None:
    """Judge the slowest environment of each column: the bars are for every one."""
    for name in next(iter(times.values())):
        seconds = {env_id: found[name]["seconds"] for env_id, found in times.items()}
        slowest = max(seconds, key=lambda env_id: seconds[env_id])
        over = sum(took > bar_of(name) for took in seconds.values())
        claim = f"{name}: slowest is {slowest}; {over} of {len(seconds)} over the bar"
        report.bars.append(Bar(claim, seconds[slowest], at_most=bar_of(name), unit="s"))


def weigh(report: Report) -> None:
    with tempfile.TemporaryDirectory() as cache:
        found = {state: fresh(WEIGHED, cache) for state in ("cold", "warm")}
    for state, (bare, full) in found.items():
        console.print(
            f"Resident, {state}: {bare:.0f} MiB after import ludus, {full:.0f} MiB with 65,536 "
            "CartPoles."
        )
        report.figures.append({"cache": state, "import": bare, "65,536 CartPoles": full})
        claim = f"65,536 CartPoles above import ludus, {state}"
        report.bars.append(Bar(claim, full - bare, at_most=MEMORY, unit="MiB"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ids", nargs="+", default=kernel_ids(), metavar="ID")
    parser.add_argument("--quick", action="store_true", help="one id per kernel, fewer runs")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures there")
    options, report = parser.parse_args(), Report()
    ids = one_per_kernel(options.ids) if options.quick else options.ids
    times = {}
    with progress("from make to the first step", len(ids)) as advance:
        for env_id in ids:
            times[env_id] = time_id(env_id, runs=2 if options.quick else 3)
            report.figures.append({"id": env_id, **times[env_id]})
            report.write(options.json)
            advance()
    show_times(times)
    add_bars(times, report)
    weigh(report)
    report.finish(options.json)


if __name__ == "__main__":
    main()
