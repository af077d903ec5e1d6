"""Compiled batches against Gymnasium, EnvPool, gymnax and C, on the same arrays of actions.

Sides, as far as they are installed:

  ludus             make_vec(id, n): step() as anybody would call it
  ludus no copy     make_vec(id, n, copy=False): step() returns the buffers themselves
  ludus rollout     rollout(actions): many steps in one call
  gymnasium make    one environment, reset when an episode ends (1 environment only)
  gymnasium sync    make_vec(..., vectorization_mode="sync")
  gymnasium native  make_vec(..., vectorization_mode="vector_entry_point"), where it has one
  envpool           make_gymnasium(..., num_threads=1), all environments in every step
  gymnax            jit of lax.scan over vmap(step), resetting as gymnax does; compiled beforehand
  C call            c/cartpole.c, called once per step
  C rollout         c/cartpole.c, many steps in one call, into memory that is there already

A cell shows steps per second in the fastest round, in brackets in the median round, and how
many times as fast Ludus is: `ludus` against what steps, `ludus no copy` against C that steps and
against Gymnasium's own batch of CartPoles, `ludus rollout` against whole rollouts. Copying the
results takes a quarter of a step of 1024 CartPoles; the row `ludus` has that figure. Bars are held
at 1024 environments.
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from c_limit import FLAGS, CCartPole, build
from measure import Bar, Rate, Report, Side, console, progress, race, short, stepping, table

import ludus

SIZES = (1, 64, 1024, 8192)
JUDGED = 1024
THREADED = 65_536
EXAMPLES = """\
examples:
  vector.py --quick                         a first look, in a minute or two
  vector.py --ids CartPole-v1 --sizes 1024  one race
  vector.py --json vector.json              everything, figures kept

What is not installed is left out: pip install 'ludus-gym[peers]' brings the peers. Without a C
compiler the C limit is left out. Nothing else should run at the same time; if medians are far from
the fastest rounds, something did.
"""


@dataclass(frozen=True, slots=True)
class Peers:
    """An environment's ids elsewhere; where versions differ, they behave the same."""

    gymnasium: str | None = None
    envpool: str | None = None
    gymnax: str | None = None


IDS = {
    "CartPole-v1": Peers("CartPole-v1", "CartPole-v1", "CartPole-v1"),
    "MountainCar-v0": Peers("MountainCar-v0", "MountainCar-v0", "MountainCar-v0"),
    "MountainCarContinuous-v0": Peers(*["MountainCarContinuous-v0"] * 3),
    "Pendulum-v1": Peers("Pendulum-v1", "Pendulum-v1", "Pendulum-v1"),
    "Acrobot-v1": Peers("Acrobot-v1", "Acrobot-v1", "Acrobot-v1"),
    "FrozenLake-v1": Peers("FrozenLake-v1", "FrozenLake-v1"),
    "FrozenLake8x8-v1": Peers("FrozenLake8x8-v1", "FrozenLake8x8-v1"),
    "CliffWalking-v1": Peers("CliffWalking-v1", "CliffWalking-v1"),
    "CliffWalkingSlippery-v1": Peers("CliffWalkingSlippery-v1", "CliffWalkingSlippery-v1"),
    "Taxi-v4": Peers("Taxi-v4", "Taxi-v3"),
    "Blackjack-v1": Peers("Blackjack-v1", "Blackjack-v1"),
    "NChain-v0": Peers(envpool="NChain-v0"),
    "MinAtar/Breakout-v1": Peers(gymnax="Breakout-MinAtar"),
}
# Against whom Ludus is put, which of its figures counts, and the bar at JUDGED environments.
CARTPOLE = (
    ("gymnasium native", 10.0),
    ("envpool", 100.0),
    ("gymnax", 20.0),
    ("C call", 0.6),
    ("C rollout", 0.6),
)
OURS = {
    "C call": "ludus no copy",
    "C rollout": "ludus rollout",
    "gymnasium native": "ludus no copy",
    "gymnax": "ludus rollout",
}


def bars_of(env_id: str) -> tuple[tuple[str, float], ...]:
    if env_id == "CartPole-v1":
        return CARTPOLE
    return (("gymnax", 5.0),) if IDS[env_id].envpool is None else (("envpool", 50.0),)


def draw_actions(env_id: str, n: int) -> Any:
    """Return batches of random actions, as many as keep them and their results in the cache."""
    space = ludus.make_vec(env_id, n).action_space
    space.seed(0)
    return np.stack([space.sample() for _ in range(max(64, min(1024, 2**17 // n)))])


# --- the sides --------------------------------------------------------------------------------


def ludus_sides(env_id: str, n: int, actions: Any) -> Iterator[tuple[str, Side]]:
    for name, copy in (("ludus", True), ("ludus no copy", False)):
        envs: Any = ludus.make_vec(env_id, n, copy=copy)
        envs.reset(seed=0)
        yield name, stepping(envs.step, list(actions), n)
    if not isinstance(envs.single_observation_space, ludus.spaces.Tuple):
        yield "ludus rollout", stepping(envs.rollout, [actions], n * len(actions))


def gymnasium_sides(env_id: str, n: int, actions: Any) -> Iterator[tuple[str, Side]]:
    import gymnasium

    if n == 1:
        env = gymnasium.make(env_id)
        env.reset(seed=0)

        def step(action: Any) -> None:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

        yield "gymnasium make", stepping(step, [batch[0] for batch in actions], 1)
    modes = {"sync": "gymnasium sync", "vector_entry_point": "gymnasium native"}
    for mode, name in modes.items():
        if mode == "sync" or gymnasium.spec(env_id).vector_entry_point is not None:
            envs = gymnasium.make_vec(env_id, n, vectorization_mode=mode)
            envs.reset(seed=0)
            yield name, stepping(envs.step, list(actions), n)


def envpool_sides(env_id: str, n: int, actions: Any) -> Iterator[tuple[str, Side]]:
    import envpool

    pool = envpool.make_gymnasium(env_id, num_envs=n, num_threads=1, seed=0)
    pool.reset()
    batches = list(actions.astype(pool.action_space.dtype))
    yield "envpool", stepping(pool.step, batches, n)


def gymnax_sides(env_id: str, n: int, actions: Any) -> Iterator[tuple[str, Side]]:
    import gymnax
    import jax

    env, params = gymnax.make(env_id)
    step_all = jax.vmap(env.step, (0, 0, 0, None))

    def step(carry: Any, batch: Any) -> Any:
        key, states = carry
        key, own = jax.random.split(key)
        seen, states, reward, *flags, _ = step_all(jax.random.split(own, n), states, batch, params)
        return (key, states), (seen, reward, *flags)

    scan = jax.jit(lambda carry, batches: jax.lax.scan(step, carry, batches))
    key = jax.random.key(0)
    _, states = jax.vmap(env.reset, (0, None))(jax.random.split(key, n), params)
    carry = key, states
    kind = np.int32 if actions.dtype.kind == "i" else np.float32

    def run(batches: Any) -> None:
        nonlocal carry
        carry, trajectory = scan(carry, batches)
        jax.block_until_ready(trajectory)

    batches = jax.device_put(actions.reshape(-1, n).astype(kind))
    yield "gymnax", stepping(run, [batches], n * len(actions))


def c_sides(library: Any, n: int, actions: Any) -> Iterator[tuple[str, Side]]:
    addresses = [batch.ctypes.data for batch in actions]
    yield "C call", stepping(CCartPole(library, n).step, addresses, n)
    whole = CCartPole(library, n, steps=len(actions)).rollout
    yield "C rollout", stepping(whole, addresses[:1], n * len(actions))


def sides_of(env_id: str, n: int, actions: Any, library: Any) -> dict[str, Side]:
    peers = IDS[env_id]
    found = dict(ludus_sides(env_id, n, actions))
    makers: dict[str, Callable[..., Iterator[tuple[str, Side]]]] = {
        "gymnasium": gymnasium_sides,
        "envpool": envpool_sides,
        "gymnax": gymnax_sides,
    }
    for package, make_sides in makers.items():
        theirs = getattr(peers, package)
        if theirs is not None and importlib.util.find_spec(package) is not None:
            found.update(make_sides(theirs, n, actions))
    if library is not None and env_id == "CartPole-v1":
        found.update(c_sides(library, n, actions))
    return found


# --- races ------------------------------------------------------------------------------------


def ratio(rates: dict[str, Rate], name: str) -> float | None:
    ours = rates.get(OURS.get(name, "ludus"))
    return None if ours is None else ours.fastest / rates[name].fastest


def show(env_id: str, results: dict[int, dict[str, Rate]]) -> None:
    shown = table(env_id, ["side", *(f"{n:,} envs" for n in results)])
    names = dict.fromkeys(name for rates in results.values() for name in rates)
    for name in names:
        cells = []
        for rates in results.values():
            rate, times = rates.get(name), ratio(rates, name) if name in rates else None
            text = "" if rate is None else f"{short(rate.fastest)} ({short(rate.median)})"
            ours = name.startswith("ludus")
            cells.append(text if ours or times is None else f"{text} [cyan]{times:7.3g}×[/]")
        shown.add_row(name, *cells)
    console.print(shown)


def compare(env_id: str, options: argparse.Namespace, library: Any, report: Report) -> None:
    results: dict[int, dict[str, Rate]] = {}
    with progress(env_id, len(options.sizes) * options.rounds) as advance:
        for n in options.sizes:
            actions = draw_actions(env_id, n)
            sides = sides_of(env_id, n, actions, library)
            results[n] = race(
                sides, rounds=options.rounds, seconds=options.seconds, advance=advance
            )
    show(env_id, results)
    for n, rates in results.items():
        report.add_rates({"id": env_id, "num_envs": n}, rates)
    for name, bar in bars_of(env_id):
        times = ratio(results[JUDGED], name) if name in results.get(JUDGED, {}) else None
        if times is not None:
            claim = f"{env_id}, {JUDGED} envs: {OURS.get(name, 'ludus')} / {name}"
            report.bars.append(Bar(claim, times, at_least=bar))


def compare_threads(options: argparse.Namespace, report: Report) -> None:
    """Race two threads against one, where every thread has enough to do."""
    actions = list(draw_actions("CartPole-v1", THREADED)[:8])
    sides = {}
    for count in (1, 2):
        envs = ludus.make_vec("CartPole-v1", THREADED, copy=False, num_threads=count)
        envs.reset(seed=0)
        sides[f"num_threads={count}"] = stepping(envs.step, actions, THREADED)
    with progress(f"threads, {THREADED:,} CartPoles", options.rounds) as advance:
        rates = race(sides, rounds=options.rounds, seconds=options.seconds, advance=advance)
    shown = table(f"CartPole-v1, {THREADED:,} envs", ["make_vec(..., copy=False,", "steps/s"])
    for name, rate in rates.items():
        shown.add_row(f"{name})", f"{short(rate.fastest)} ({short(rate.median)})")
    console.print(shown)
    report.add_rates({"id": "CartPole-v1", "num_envs": THREADED}, rates)
    one, two = (rate.fastest for rate in rates.values())
    report.bars.append(Bar(f"{THREADED:,} CartPoles: two threads / one", two / one, at_least=1.7))


def agree(library: Any, n: int = 256, steps: int = 600) -> bool:
    """Tell whether C and Ludus play the same episodes, and so do the same work."""
    theirs = CCartPole(library, n)
    envs = ludus.make_vec("CartPole-v1", n)
    envs.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, 2, (steps, n))
    same = True
    for batch in actions:
        theirs.step(batch.ctypes.data)
        seen, rewards, ended, cut, _ = envs.step(batch)
        same &= np.allclose(seen.T, theirs.observations[0], atol=1e-5)
        same &= np.array_equal(rewards, theirs.rewards[0])
        same &= np.array_equal((ended, cut), (theirs.terminations[0], theirs.truncations[0]))
    return bool(same)


def parse() -> argparse.Namespace:
    form = partial(argparse.RawDescriptionHelpFormatter, max_help_position=32)
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=form)
    ids = f"environments, of these: {', '.join(IDS)}"
    sizes = f"numbers of environments, by default {SIZES}"
    parser.add_argument("--ids", nargs="+", default=list(IDS), choices=IDS, metavar="ID", help=ids)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="N", help=sizes)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures there")
    options = parser.parse_args()
    options.rounds, options.seconds = (5, 0.02) if options.quick else (25, 0.03)
    return options


def main() -> None:
    options, report = parse(), Report()
    warnings.simplefilter("ignore")
    library = build()
    if library is not None:
        says = "plays the same episodes" if agree(library) else "PLAYS OTHER EPISODES"
        console.print(f"c/cartpole.c, built with cc {' '.join(FLAGS)}, {says} as Ludus.")
    # First, since threads that peers leave behind would share the processors.
    compare_threads(options, report)
    for env_id in options.ids:
        compare(env_id, options, library, report)
        report.write(options.json)
    report.finish(options.json)


if __name__ == "__main__":
    main()
