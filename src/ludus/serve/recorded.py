"""Research episodes of clients, recorded like those of agents.

Each episode is a research run of its own below the server's folder: one task, one episode, and an
agent called ``client`` that does what the client sends. So it can be looked at with ``ludus view``,
verified, and resumed from its record: a reset with the id of an episode that is not over continues
it, whatever has become of the server in between.
"""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ludus.bench.agents.spec import AgentSpec
from ludus.bench.running.folder import BenchFolder
from ludus.core import Env
from ludus.errors import (
    BadArguments,
    Error,
    InvalidAction,
    ModelServerError,
    ResearchError,
    ResetNeeded,
    StateError,
)
from ludus.research.episode.actions import read_action
from ludus.research.episode.env import ResearchEnv
from ludus.research.episode.equipment import find_equipment
from ludus.research.running.agents import AgentView
from ludus.research.running.job import EpisodeJob
from ludus.research.running.options import EpisodeOptions, RunFile
from ludus.research.running.playing import PlayedStep
from ludus.research.running.run import make_units, suite_of, task_row
from ludus.research.task.discovery import load_task
from ludus.research.task.task import Task

__all__ = ["RecordedResearch", "absent_client"]

_AGENT = "client"
_USE = "ludus.serve.recorded:absent_client"
_CLOSING_SECONDS = 60.0


@dataclass
class _Line:
    """Between the environment, which the client calls, and the episode, which asks its agent."""

    actions: queue.Queue[Any] = field(default_factory=lambda: queue.Queue(1))
    told: queue.Queue[Any] = field(default_factory=queue.Queue)
    is_cut: bool = False


class _Client:
    """The agent: it does what the client sends."""

    def __init__(self, line: _Line) -> None:
        self._line = line
        self.waited = 0.0

    def act(self, observation: Any) -> Any:
        """Return the client's next action.

        Raises:
            ModelServerError: The client has gone; the episode can be resumed.
        """
        self._line.told.put(observation)
        began = time.monotonic()
        action = _LEAVE if self._line.is_cut else self._line.actions.get()
        self.waited += time.monotonic() - began
        if action is _LEAVE:
            raise ModelServerError("The client has gone.")
        return action

    def get_state(self) -> dict[str, Any]:
        """Return nothing: clients keep their own."""
        return {}

    def set_state(self, state: dict[str, Any]) -> None:
        """Do nothing."""


_LEAVE = object()


def absent_client(*_: Any, **__: Any) -> _Client:
    """Return the agent of an episode that is resumed without its client: it cannot go on."""
    return _Client(_Line(is_cut=True))


@dataclass(frozen=True, slots=True)
class _ClientJob(EpisodeJob):
    """One episode of a client."""

    line: _Line = field(kw_only=True)

    def make_agent(self, view: AgentView, seed: int) -> Any:
        """Return the agent that does what the client sends."""
        return _Client(self.line)

    def on_step(self, done: PlayedStep) -> None:
        """Keep the result for the client."""
        self.line.told.put(done)


class RecordedResearch(Env[Any, Any]):
    """A research task whose episodes are recorded below a folder.

    ``reset(options={"episode_id": ID})`` begins the episode of this id, or continues it if it was
    begun and is not over; ``seed`` must then be the same or ``None``. A step that had not ended
    when the server died is carried out again before.

    Args:
        task: As for :class:`~ludus.research.ResearchEnv`.
        folder: Where the records are.
        **options: Fields of :class:`~ludus.research.EpisodeOptions`.

    Raises:
        Error: As :class:`~ludus.research.ResearchEnv`.
        BadArguments: There is no such option.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(self, task: str, folder: str | Path, **options: Any) -> None:
        if unknown := sorted(options.keys() - EpisodeOptions.model_fields.keys()):
            raise BadArguments(f"Recorded episodes have no option {unknown[0]!r}.")
        self.task: Task = load_task(task)
        self._folder = Path(folder)
        self._options = EpisodeOptions(**options).pinned()
        with ResearchEnv(self.task, max_steps=self._options.max_steps) as env:
            self.action_space, self.observation_space = env.action_space, env.observation_space
        self._line: _Line | None = None
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._is_over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, or continue one.

        Raises:
            BadArguments: There is no episode's id, or the episode is over or has another seed.
            Error: It cannot be played now.
        """
        episode_id = (options or {}).get("episode_id")
        if not isinstance(episode_id, str) or not episode_id:
            raise BadArguments("Recorded episodes need an id: options={'episode_id': TEXT}.")
        self._leave()
        line = _Line()
        job, folder = self._job(episode_id, seed, line)
        if folder.result(job.unit.id) is not None:
            raise BadArguments("The episode of this id is over; begin another one.")
        self._line, self._is_over, self._failure = line, False, None
        self._thread = threading.Thread(
            target=_play, args=(job, folder), name="recorded-episode", daemon=True
        )
        self._thread.start()
        told = line.told.get()
        while isinstance(told, tuple) and not (told[2] or told[3]):
            told = line.told.get()
        if isinstance(told, BaseException):
            self._is_over = True
            raise told
        if isinstance(told, tuple):
            self._is_over = True
            raise BadArguments("The episode of this id is over; begin another one.")
        return told, {"seed": job.unit.seed, "outcome": "running"}

    def step(self, action: Any) -> PlayedStep:
        """Execute one action; see :class:`~ludus.research.ResearchEnv`.

        Raises:
            InvalidAction: It is neither a text nor a tool call; nothing was done.
            ResetNeeded: There is no episode, or it is over.
            InfrastructureFailed: The machine is at fault; a reset with the same id resumes it.
        """
        line = self._line
        if self._failure is not None:
            raise self._failure
        if line is None or self._is_over:
            raise ResetNeeded("There is no episode, or it is over; call reset() first.")
        if not self.action_space.contains(action):
            read_action(action)
            raise InvalidAction(f"{action!r:.200} calls no known tool.")
        line.actions.put(action)
        told = line.told.get()
        if isinstance(told, BaseException):
            self._is_over = True
            raise told
        done: PlayedStep = told
        self._is_over = done[2] or done[3]
        if not self._is_over:
            # What the agent is asked with next is the same observation, or why it cannot go on.
            asked = line.told.get()
            self._failure = asked if isinstance(asked, BaseException) else None
        elif self._thread is not None:
            self._thread.join(_CLOSING_SECONDS)
        return done

    def get_state(self) -> Any:
        """Raise: the record is the state."""
        raise StateError("Recorded episodes are resumed by their ids, from their records.")

    def close(self) -> None:
        """Leave the episode, which can be resumed."""
        self._leave()

    def _leave(self) -> None:
        line, thread = self._line, self._thread
        self._line = self._thread = None
        self._is_over = True
        if line is None or thread is None:
            return
        line.is_cut = True
        with suppress(queue.Full):
            line.actions.put_nowait(_LEAVE)
        thread.join(_CLOSING_SECONDS)

    def _job(
        self, episode_id: str, seed: int | None, line: _Line
    ) -> tuple[_ClientJob, BenchFolder]:
        """Return the episode of an id, new or as it was begun, and the run that it is."""
        # The id comes from the client: no path is made from it.
        digest = hashlib.sha256(f"{self.task.id}\n{episode_id}".encode()).hexdigest()[:32]
        path = self._folder / f"{self.task.id}-{digest}"
        agents = [AgentSpec(_AGENT, _USE, options={"episode": digest})]
        if not (path / "bench.json").exists():
            chosen, env_id = self._options, self.task.env_id
            image = find_equipment(
                self.task,
                backend=chosen.backend,
                gpus=chosen.gpus,
                without_image=chosen.without_image,
            ).image
            suite = suite_of(
                [self.task], chosen, [seed or 0], None if image is None else {env_id: image}
            )
            path.mkdir(parents=True, exist_ok=True)
            rows = {env_id: task_row(self.task, image)}
            RunFile(options=self._options, tasks=rows).write(path)
            folder = BenchFolder.create(path, make_units(suite, agents), name=path.name)
        else:
            folder = BenchFolder.open(path)
        work, file = make_units(folder.suite, agents), RunFile.read(path)
        unit = work.units[0]
        if unit.id not in folder.unit_ids:
            raise ResearchError("The task has changed since the episode was begun.")
        if seed is not None and seed != unit.seed:
            raise BadArguments(f"The episode was begun with the seed {unit.seed}, not {seed}.")
        row = file.tasks[unit.env]
        job = _ClientJob(unit, folder.name, str(path), task=row, options=file.options, line=line)
        return job, folder


def _play(job: _ClientJob, folder: BenchFolder) -> None:
    """Play the episode and keep its result; what fails is told to the client."""
    try:
        with folder.locked():
            folder.write(job.execute())
    except Exception as problem:
        job.line.told.put(problem)
    else:
        job.line.told.put(Error("The episode is over."))
