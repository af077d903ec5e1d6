"""Running research episodes: as units of a bench run, so that all tools of the bench apply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ludus.bench.agents.spec import AgentSpec
from ludus.bench.planning.plan import BenchPlan
from ludus.bench.planning.unit import Unit
from ludus.bench.running.execute import UnitJob
from ludus.bench.running.folder import AgentRow, BenchFolder
from ludus.bench.running.runner import BenchRun, RunSettings, run_plan
from ludus.errors import ResearchError
from ludus.research.data.data_cache import CachedTask
from ludus.research.episode.agent_sandbox import declared_packages
from ludus.research.running.agents import BUILT_IN, make_agent
from ludus.research.running.job import EpisodeJob
from ludus.research.running.options import FILE, EpisodeOptions, RunFile
from ludus.research.running.plan import make_units, suite_of, task_row
from ludus.research.task.discovery import load_task
from ludus.research.task.task import Task

__all__ = ["is_research_run", "resume_research", "run_research"]


def run_research(
    tasks: Iterable[str | Path | Task],
    agents: Iterable[AgentSpec],
    *,
    out: str | Path,
    runs: int = 4,
    seed: int = 0,
    name: str | None = None,
    options: EpisodeOptions | None = None,
    settings: RunSettings | None = None,
) -> BenchRun:
    """Let agents work on tasks, several times each, into a new folder.

    Args:
        tasks: Ids or paths.
        agents: See :func:`~ludus.research.running.agents.parse_agent`.
        out: The folder.
        runs: Episodes of each agent on each task.
        seed: Of the first one; the others count up from there.
        name: Of the run; by default made from tasks and time.
        options: How episodes are played.
        settings: Workers, store and progress.

    Raises:
        DataMissing: A task's data has to be fetched first.
        BenchError: The run cannot begin.
        ResearchError: A task or an agent is wrong; the message says what to do.
    """
    chosen = (options or EpisodeOptions()).pinned()
    loaded = [load_task(task) for task in tasks]
    specs = list(agents)
    suite = suite_of(loaded, chosen, range(seed, seed + runs))
    work = make_units(suite, specs)
    _check(loaded, specs, chosen, suite.seeds)
    rows = {task.env_id: task_row(task) for task in loaded}
    # First what a run is recognised by last.
    target = Path(out)
    if not (target / "bench.json").exists():
        RunFile(options=chosen, tasks=rows).write(target)
    folder = BenchFolder.create(target, work, name=name)
    return _run(folder, work, RunFile.read(target), settings or RunSettings())


def resume_research(
    path: str | Path,
    *,
    base_url: str | None = None,
    settings: RunSettings | None = None,
) -> BenchRun:
    """Resume a run; finished episodes are not repeated, unfinished ones continue.

    Args:
        path: Its folder.
        base_url: Of the model's server, if it has changed.
        settings: Workers, store and progress.

    Raises:
        BenchError: There is no run, another process is running it, or its tasks have changed.
        ResearchError: It is not a research run, or an agent cannot be made from its name.
    """
    folder = BenchFolder.open(path)
    file = RunFile.read(folder.path)
    if base_url is not None:
        file = file.model_copy(
            update={"options": file.options.model_copy(update={"base_url": base_url})}
        )
    work = make_units(folder.suite, [_known(row) for row in folder.agents])
    if set(folder.unit_ids) != {unit.id for unit in work.units}:
        raise ResearchError(
            f"The work of {path} is not what it was: an agent's code has changed. Results of "
            "different work are not mixed; start another run."
        )
    return _run(folder, work, file, settings or RunSettings())


def is_research_run(path: str | Path) -> bool:
    """Whether a folder is that of a research run."""
    return Path(path, FILE).is_file()


def _run(folder: BenchFolder, work: BenchPlan, file: RunFile, settings: RunSettings) -> BenchRun:
    def job(unit: Unit, name: str, place: str, key: str | None) -> UnitJob:
        row = file.tasks[unit.env]
        return EpisodeJob(unit, name, place, key, task=row, options=file.options)

    at_terminal = any(spec.use == "human" for spec in work.agents)
    engine = "serial" if at_terminal else settings.engine
    workers = None if engine == "serial" else settings.workers
    return run_plan(folder, work, replace(settings, job=job, engine=engine, workers=workers))


def _known(row: AgentRow) -> AgentSpec:
    if not row.by_name:
        raise ResearchError(
            f"The agent {row.name} was an object; the run cannot be resumed without it."
        )
    return AgentSpec(row.name, row.use, options=row.options)


def _check(
    tasks: list[Task], agents: list[AgentSpec], options: EpisodeOptions, seeds: tuple[int, ...]
) -> None:
    """Raise what would go wrong in every episode, before the first one begins."""
    for task in tasks:
        declared_packages(task)
    for spec in agents:
        if spec.use in BUILT_IN:
            agent = make_agent(spec, None, 0, options)
            if callable(getattr(agent, "close", None)):
                agent.close()
    for task in tasks:
        data = CachedTask.of(task)
        for seed in seeds:
            data.prepared(seed)
