"""The kernel that docs/kernels.md shows, compiled, against the same code as plain Python.

The code is taken from the page itself. At 1024 environments these sides take turns:

  compiled    make_vec(...), step() as anybody would call it
  functions   a loop over 1024 states that calls the page's functions, as one would write it by hand
  LUDUS_JIT=0 the same vector environment without the compiler

The bar is held against the faster of the two in plain Python.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measure import Bar, Report, Side, console, progress, race, short, stepping, table

import ludus
from ludus.seeding import np_random

AT_LEAST = 100.0
NUM_ENVS = 1024
PAGE = Path(__file__).parent.parent / "docs" / "kernels.md"


def load_page(folder: str) -> tuple[Any, str]:
    """Import the page's first block from a file; return the module and the id it registers."""
    code = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)[0]
    (Path(folder) / "docs_kernel.py").write_text(code)
    sys.path.insert(0, folder)
    before = set(ludus.registry)
    module = importlib.import_module("docs_kernel")
    (env_id,) = set(ludus.registry) - before
    return module, env_id


def vector_side(env_id: str, actions: Any, *, jit: bool) -> Side:
    os.environ["LUDUS_JIT"] = "1" if jit else "0"
    envs = ludus.make_vec(env_id, NUM_ENVS)
    envs.reset(seed=0)
    return stepping(envs.step, list(actions), NUM_ENVS)


def functions_side(page: Any, env_id: str, actions: Any) -> Side:
    """Return the loop that a patient reader of the page would write."""
    limit = ludus.spec(env_id).max_episode_steps or sys.maxsize
    params, streams = page.Params(), [np_random(seed)[0] for seed in range(NUM_ENVS)]
    states = [page.initial(params, rng) for rng in streams]
    elapsed = [0] * NUM_ENVS

    def step(batch: list[int]) -> list[Any]:
        results = []
        for i, action in enumerate(batch):
            state, rng = states[i], streams[i]
            after = page.transition(params, state, action, rng)
            reward = page.reward(params, state, action, after)
            elapsed[i] += 1
            terminated, truncated = page.terminal(params, after), elapsed[i] >= limit
            if terminated or truncated:
                after, elapsed[i] = page.initial(params, rng), 0
            states[i] = after
            results.append((page.observation(params, after), reward, terminated, truncated))
        return results

    return stepping(step, actions.tolist(), NUM_ENVS)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures there")
    options, report = parser.parse_args(), Report()
    rounds, seconds = (5, 0.03) if options.quick else (25, 0.05)
    with tempfile.TemporaryDirectory() as folder:
        page, env_id = load_page(folder)
        space = ludus.make_vec(env_id, NUM_ENVS).action_space
        space.seed(0)
        actions = np.stack([space.sample() for _ in range(64)])
        sides = {
            "compiled": vector_side(env_id, actions, jit=True),
            "functions": functions_side(page, env_id, actions),
            "LUDUS_JIT=0": vector_side(env_id, actions, jit=False),
        }
        with progress(f"{env_id}, {NUM_ENVS} envs", rounds) as advance:
            rates = race(sides, rounds=rounds, seconds=seconds, advance=advance)
    shown = table(
        f"{env_id} of docs/kernels.md, {NUM_ENVS} envs", ["side", "steps/s", "(median)", "compiled"]
    )
    ours = rates["compiled"].fastest
    for name, rate in rates.items():
        times = f"{ours / rate.fastest:.3g}×"
        shown.add_row(name, short(rate.fastest), short(rate.median), times)
    console.print(shown)
    report.add_rates({"id": env_id, "num_envs": NUM_ENVS}, rates)
    plain = max(rate.fastest for name, rate in rates.items() if name != "compiled")
    report.bars.append(Bar("compiled / plain Python", ours / plain, at_least=AT_LEAST))
    report.finish(options.json)


if __name__ == "__main__":
    main()
