"""``ludus demo``: a tour of the library with bundled environments."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import track
from rich.table import Table
from rich.text import Text

from ludus.checking import inspect_env
from ludus.cli.console import NOTHING, make_table, out
from ludus.core import VectorEnv
from ludus.distribution import pip_install
from ludus.record import RecordEpisodes, verify
from ludus.registration import family_of, make, make_vec, search
from ludus.testing import benchmark_render

__all__ = ["run"]

_SHOWN_IDS = 6
"""Ids of a family that the tour lists."""


def run(
    folder: Annotated[
        Path, typer.Option("--out", help="Folder for the video and the records.")
    ] = Path("demo"),
    episodes: Annotated[int, typer.Option(min=1, help="Episodes to play.")] = 20,
) -> None:
    """Show what Ludus does: check, record, verify, film and step environments.

    Then runs and verifies a benchmark, shows that a forged result is rejected, runs an agent on a
    research task in a sandbox, and serves an environment to a client. Last come pages about all of
    it, for a browser.
    """
    _list_environments()
    report = inspect_env(make("CartPole-v1").unwrapped, skip_render_check=True)
    out.print(f"\nCartPole-v1 {'passes' if report.ok else 'fails'} the environment checks.")
    record = _free(folder / "record")
    returns = _play(episodes, record)
    out.print(
        f"A heuristic policy has a mean return of {np.mean(returns):.0f} over {episodes} episodes "
        f"(lowest {min(returns):.0f}, highest {max(returns):.0f})."
    )
    found = verify(record)
    out.print(
        f"The record in {record} was replayed: the score {found.verdict} verification "
        f"(ludus verify {record})."
    )
    out.print(f"Video of the first episode: {_film(folder / 'video')}\n")
    out.print(_speeds())
    if importlib.util.find_spec("pygame") is not None:
        out.print(_frame_rates())
    _benchmark(_free(folder / "bench"))
    _research(_free(folder / "research"))
    _serve()
    _pages(folder)


def _pages(folder: Path) -> None:
    """Write the pages of the viewer about everything that was done."""
    from ludus.errors import Error

    try:
        from ludus.view import ViewSettings, export

        with out.status("Writing pages about all of it …"):
            written = export(ViewSettings.of(folder), _free(folder / "pages"))
    except Error as problem:
        out.print(f"\nNo pages: {problem}", markup=False, highlight=False)
        return
    out.print(f"\nPages about all of it, for a browser: {written.first}", highlight=False)
    out.print(f"Live, with more: ludus view {folder}", highlight=False)


def _benchmark(folder: Path) -> None:
    """Run and verify a benchmark, then show that a changed result is rejected."""
    from ludus.bench.running.demo import verified_benchmark
    from ludus.errors import Error

    try:
        with out.status("Running and verifying a small benchmark …"):
            rows = verified_benchmark(folder)
    except Error as problem:
        out.print(f"\nNo benchmark: {problem}", highlight=False)
        return
    columns = ("agent", "environment", "score", "shown as", "")
    table = make_table("\nA benchmark, verified by a signed statement", *columns, right=("score",))
    for what, one in rows:
        style = "green" if one.verified == "verified" else "red"
        cells = (one.agent, one.env, f"{one.score:.1f}" if one.score is not None else NOTHING)
        table.add_row(*map(Text, cells), Text(one.verified, style=style), Text(what))
    out.print(table)


def _research(folder: Path) -> None:
    """Show one research episode, or why none can be run."""
    from ludus.errors import Error
    from ludus.research.running.demo import TASK, DemoSkipped, research_episode

    try:
        with out.status(f"Running an agent on {TASK} …"):
            found = research_episode(folder)
    except (DemoSkipped, Error) as problem:
        out.print(f"\nNo research episode: {problem}", markup=False, highlight=False)
        return
    title = f"An agent on {TASK}, in a sandbox"
    table = make_table(title, "thought", "action", "reward", right=("reward",))
    for row in found.rows:
        table.add_row(*(Text(cell) for cell in row))
    out.print()
    out.print(table)
    out.print(f"{found.summary} To verify it: ludus verify {found.record}", highlight=False)


def _serve() -> None:
    """Show how fast a server's environments are stepped over the network."""
    from ludus.errors import Error
    from ludus.serve.demo import ENV, served_rates

    try:
        with out.status(f"Serving {ENV} …"):
            rates = served_rates()
    except Error as problem:
        out.print(f"\nNo server: {problem}", markup=False, highlight=False)
        return
    title = f"\n{ENV} over the network"
    table = make_table(title, "", "env steps/s", right=("env steps/s",))
    for what, rate in rates:
        table.add_row(what, f"{rate:,.0f}")
    out.print(table)


def _list_environments() -> None:
    families: dict[str, list[str]] = {}
    for spec in search():
        families.setdefault(family_of(spec), []).append(spec.id)
    table = make_table("Environments (ludus envs lists all)", "family", "", "ids", right=("",))
    for family, ids in families.items():
        more = ", …" if len(ids) > _SHOWN_IDS else ""
        table.add_row(family, f"{len(ids)}", ", ".join(ids[:_SHOWN_IDS]) + more)
    out.print(table)


def _lean(observation: np.ndarray[Any, Any]) -> int:
    """Return the action that pushes the cart towards the falling pole."""
    return int(observation[2] + 0.5 * observation[3] > 0)


def _free(path: Path) -> Path:
    """Return the path, with a number if it exists: records are never overwritten."""
    names = (path, *(path.with_name(f"{path.name}-{number}") for number in range(2, 10_000)))
    return next(name for name in names if not name.exists())


def _play(episodes: int, record: Path) -> list[float]:
    returns = []
    with RecordEpisodes(make("CartPole-v1"), record) as env:
        for episode in track(range(episodes), "Playing", console=out, transient=True):
            observation, _ = env.reset(seed=episode)
            total, over = 0.0, False
            while not over:
                observation, reward, terminated, truncated, _ = env.step(_lean(observation))
                total += float(reward)
                over = terminated or truncated
            returns.append(total)
        env.add_result("mean_return", float(np.mean(returns)), episodes=episodes)
    return returns


def _film(folder: Path) -> str:
    for module in ("pygame", "moviepy"):
        if importlib.util.find_spec(module) is None:
            return f"needs {module}; run {pip_install('classic-control', 'video')}"
    from ludus.wrappers import RecordVideo

    env = make("CartPole-v1", render_mode="rgb_array", max_episode_steps=150)
    with RecordVideo(env, str(folder), name_prefix="cartpole") as recorded:
        observation, _ = recorded.reset(seed=0)
        over = False
        while not over:
            observation, _, terminated, truncated, _ = recorded.step(_lean(observation))
            over = terminated or truncated
    return str(max(folder.glob("cartpole*.mp4"), key=lambda path: path.stat().st_mtime))


def _steps_per_second(envs: Any, seconds: float = 0.5) -> float:
    actions = np.zeros(envs.num_envs, dtype=np.int64)
    envs.reset(seed=0)
    for _ in range(10):
        envs.step(actions)
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        envs.step(actions)
        count += envs.num_envs
    elapsed = time.perf_counter() - start
    envs.close()
    return count / elapsed


def _speeds() -> Table:
    """Measure steps per second of the vector backends, and of Gymnasium's if installed."""

    def ludus(mode: str, **options: Any) -> Callable[[int], VectorEnv]:
        return lambda n: make_vec("CartPole-v1", n, vectorization_mode=mode, **options)

    backends: dict[str, Callable[[int], Any]] = {
        "Ludus, compiled batch": ludus("vector_entry_point", compile="wait"),
        "Ludus, one process": ludus("sync"),
        "Ludus, worker processes": ludus("async"),
    }
    if importlib.util.find_spec("gymnasium") is not None:
        import gymnasium

        def peer(mode: str) -> Callable[[int], Any]:
            return lambda n: gymnasium.make_vec("CartPole-v1", n, vectorization_mode=mode)

        backends["Gymnasium, its own batch"] = peer("vector_entry_point")
        backends["Gymnasium, one process"] = peer("sync")
        backends["Gymnasium, worker processes"] = peer("async")
    sizes = (8, 64, 1024)
    columns = [f"{size} environments" for size in sizes]
    table = make_table("CartPole-v1, steps per second", "backend", *columns, right=columns)
    for name in track(backends, "Timing", console=out, transient=True):
        # The slower backends would take too long with a thousand environments.
        counts = sizes if "batch" in name else sizes[:2]
        table.add_row(name, *(f"{_steps_per_second(backends[name](n)):,.0f}" for n in counts))
    return table


def _frame_rates() -> Table:
    """Measure rendered frames per second, and Gymnasium's if installed."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    makers: dict[str, Callable[..., Any]] = {"Ludus": make}
    if importlib.util.find_spec("gymnasium") is not None:
        import gymnasium

        makers["Gymnasium"] = gymnasium.make
    ids = ("CartPole-v1", "FrozenLake-v1", "Taxi-v4")
    table = make_table("\nFrames per second", "library", *ids, right=ids)
    for name, maker in makers.items():
        rates = []
        for env_id in ids:
            with closing(maker(env_id, render_mode="rgb_array")) as env:
                env.reset(seed=0)
                env.render()
                rates.append(f"{benchmark_render(env, 0.3):,.0f}")
        table.add_row(name, *rates)
    return table
