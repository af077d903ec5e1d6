"""Running research episodes: as units of a bench run, so that all tools of the bench apply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ludus.bench.agents.spec import AgentSpec
from ludus.bench.planning.plan import BenchPlan, Unit, units_of
from ludus.bench.planning.suite import Suite, suite_from
from ludus.bench.running.execute import UnitJob
from ludus.bench.running.folder import AgentRow, BenchFolder
from ludus.bench.running.runner import BenchRun, RunSettings, run_plan
from ludus.errors import ResearchError
from ludus.research.data.data_cache import CachedTask
from ludus.research.episode.agent_sandbox import declared_packages
from ludus.research.episode.equipment import Equipment, find_equipment
from ludus.research.grading.draws import draw_kind
from ludus.research.images.task_image import TaskImage
from ludus.research.running.agents import BUILT_IN, make_agent
from ludus.research.running.job import EpisodeJob
from ludus.research.running.options import FILE, EpisodeOptions, ImageRow, RunFile, TaskRow
from ludus.research.task.discovery import BUNDLED, load_task
from ludus.research.task.task import Task

__all__ = [
    "SUITE",
    "is_research_run",
    "make_units",
    "resume_research",
    "run_research",
    "suite_of",
    "task_row",
]


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
        ImageMissing: A task's image is not on this machine.
        BenchError: The run cannot begin.
        ModelServerError: A model's server cannot be reached, or there is no key for it.
        ResearchError: A task or an agent is wrong; the message says what to do.
    """
    chosen = (options or EpisodeOptions()).pinned()
    loaded = [load_task(task) for task in tasks]
    specs = list(agents)
    seeds = range(seed, seed + runs)
    make_units(suite_of(loaded, chosen, seeds), specs)  # what is wrong with both is told first
    images = _check(loaded, specs, chosen, seeds)
    suite = suite_of(loaded, chosen, seeds, images)
    work = make_units(suite, specs)
    rows = {task.env_id: task_row(task, images.get(task.env_id)) for task in loaded}
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
        ImageMissing: A task's image is not on this machine any more.
        ModelServerError: A model's server cannot be reached, or there is no key for it.
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
    open_units = [unit for unit in work.units if _is_open(folder, unit)]
    for env in dict.fromkeys(unit.env for unit in open_units):
        row = file.tasks[env]
        _equipment(row.load(), file.options, row)
    _check_agents({unit.agent.name: unit.agent for unit in open_units}.values(), file.options)
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
    tasks: list[Task], agents: list[AgentSpec], options: EpisodeOptions, seeds: Sequence[int]
) -> dict[str, TaskImage]:
    """Raise what would go wrong in every episode, before the first one begins.

    Returns the images of tasks by the ids of their environments.
    """
    images = {}
    for task in tasks:
        declared_packages(task)
        if (image := _equipment(task, options).image) is not None:
            images[task.env_id] = image
    _check_agents(agents, options)
    for task in tasks:
        data = CachedTask.of(task)
        for seed in seeds:
            data.prepared(seed)
    return images


def _equipment(task: Task, options: EpisodeOptions, row: TaskRow | None = None) -> Equipment:
    """Raise if a task's image or GPUs are not here, or are not those that a run began with."""
    found = find_equipment(
        task,
        backend=options.backend,
        gpus=options.gpus,
        without_image=options.without_image,
        digest=None if row is None or row.image is None else row.image.digest,
    )
    return found.examined(task, options.policy)


def _check_agents(agents: Iterable[AgentSpec], options: EpisodeOptions) -> None:
    """Raise what is wrong with an agent: options, a package, a key, a server out of reach.

    Agents of one's own are not made here: that would run their code in this process.
    """
    for spec in agents:
        if spec.use not in BUILT_IN:
            _find_module(spec)
            continue
        agent = make_agent(spec, None, 0, options)
        try:
            if callable(getattr(agent, "check", None)):
                agent.check()
        finally:
            if callable(getattr(agent, "close", None)):
                agent.close()


def _is_open(folder: BenchFolder, unit: Unit) -> bool:
    """Tell whether an episode has no result yet, or is going to be tried again."""
    result = folder.result(unit.id)
    return result is None or result.outcome == "infrastructure_fault"


def _find_module(spec: AgentSpec) -> None:
    """Raise if an agent's module is not installed; only its top package is looked for."""
    where = spec.use.rpartition(":")[0]
    top = where.partition(".")[0]
    if spec.by_name and where and not where.endswith(".py") and find_spec(top) is None:
        raise ResearchError(
            f"The agent {spec.name} needs the module {top!r}, which is not installed here. Install "
            "it, or run the command where it can be imported."
        )


SUITE = "research"


def suite_of(
    tasks: Sequence[Task],
    options: EpisodeOptions,
    seeds: Sequence[int],
    images: Mapping[str, TaskImage] | None = None,
) -> Suite:
    """Return tasks as a suite, with their scales from baseline to threshold and their floors.

    ``images`` are those of the tasks that have one, by the ids of their environments.

    Raises:
        ResearchError: There are none, or two have one id.
        SuiteError: There are no seeds.
    """
    ids = [task.id for task in tasks]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if not tasks or twice:
        raise ResearchError(
            f"The task {twice[0]} is named twice." if twice else "There is no task to work on."
        )
    one = re.sub(r"[^a-z0-9]+", "-", ids[0].lower()).strip("-")
    return suite_from(
        {
            # Not "research": the suite of that name has other scores, those of environments.
            "name": f"{SUITE}-{one if len(tasks) == 1 else 'tasks'}",
            "title": "Research tasks" if len(tasks) > 1 else tasks[0].config.name,
            "seeds": list(seeds),
            "budget": {
                "episodes": 1,
                "max_steps": options.max_steps,
                "max_seconds": options.time_limit,
                "max_cost": options.cost_limit,
            },
            "environments": [
                _row(task, options, (images or {}).get(task.env_id)) for task in tasks
            ],
        },
        "the tasks",
    )


def make_units(suite: Suite, agents: Iterable[AgentSpec]) -> BenchPlan:
    """Return the units of a suite: for each seed, every agent on every task.

    Raises:
        ResearchError: There are no agents, or two have one name.
    """
    specs = tuple(agents)
    names = [spec.name for spec in specs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not specs or twice:
        raise ResearchError(
            f"Two agents are called {twice[0]}; rename one: other={twice[0]}."
            if twice
            else "There is no agent; name one."
        )
    return BenchPlan(suite, specs, units_of(suite, specs), ())


def task_row(task: Task, image: TaskImage | None = None) -> TaskRow:
    """Return how a run remembers a task."""
    bundled = task.file.is_relative_to(BUNDLED)
    kept = None if image is None else ImageRow.model_validate(image.plain())
    if task.task_class is None:
        name = task.id if bundled else str(task.file)
        return TaskRow(task=name, digest=task.digest(), image=kept)
    if not isinstance(task.task_class, str):
        raise ResearchError(
            f"Task {task.id} is the class {task.task_class!r}. Episodes run in processes of their "
            "own, so register it as 'module:name'."
        )
    return TaskRow(
        task=task.id,
        digest=task.digest(),
        entry_point=task.task_class,
        description=task.config.description,
        max_steps=task.config.max_steps,
        image=kept,
    )


def _row(task: Task, options: EpisodeOptions, image: TaskImage | None) -> dict[str, Any]:
    scores = task.config.evaluation
    # The digest makes scores of a changed task those of another suite.
    row: dict[str, Any] = {
        "id": task.env_id,
        "better": scores.direction,
        "kwargs": {"task_digest": task.digest()},
    }
    if draw_kind(options.draws) == "public":
        # Draws that can be foreseen make another suite: its scores meet no others on a board.
        row["kwargs"]["draws"] = "public"
    if task.config.image is not None:
        # So do scores of another image, or of none.
        row["kwargs"]["image"] = "none" if image is None else image.digest
    if options.working_time is not None:
        # A suite's budget has no such limit; so it is a suite of its own.
        row["kwargs"]["working_time"] = options.working_time
    if options.max_steps is None:
        row["budget"] = {"max_steps": task.config.max_steps}
    if scores.baseline is not None:
        source = "baseline and threshold of the task"
        row["reference"] = {"min": scores.baseline, "max": scores.threshold, "source": source}
    if (floor := scores.measured_by(options.scale).scale.least) is not None:
        row["floor"] = floor
    return row
