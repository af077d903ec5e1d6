"""Runs, resumes or closes one episode and returns its Result."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ludus.atomic import write_whole
from ludus.bench.faults import one_line
from ludus.bench.result import Result
from ludus.bench.running.execute import UnitJob, fault_result
from ludus.errors import Error, InfrastructureFailed, TaskError
from ludus.record import load_signing_key, read_run
from ludus.research.data.data_cache import CachedTask
from ludus.research.episode.agent_sandbox import agent_policy
from ludus.research.episode.assessment import Assessor, graded_in_sandboxes
from ludus.research.episode.env import ResearchEnv
from ludus.research.episode.equipment import (
    Equipment,
    find_equipment,
    reserved_gpus,
    wanted_gpus,
)
from ludus.research.grading.draws import Draws, draw_kind, fresh_draw
from ludus.research.running.agents import BUILT_IN, AgentView, make_agent
from ludus.research.running.log import Log, is_begun
from ludus.research.running.options import EpisodeOptions, TaskRow
from ludus.research.running.playing import PlayedStep, Player
from ludus.research.running.progress import standing
from ludus.research.running.recorded_grading import CannotResume, LoggedGrade, conclude
from ludus.research.running.results import claim_of, failed_claim, result_of_record
from ludus.research.running.resuming import LARGEST, Checkpoints
from ludus.research.running.story import ABANDONED, abandoned_records, tell, used_before
from ludus.research.task.settings import MlgymSettings
from ludus.research.task.task import Task
from ludus.untrusted.package_set import PackageSet

__all__ = ["EpisodeJob"]

_GRADING_SECONDS = 7200.0


@dataclass(frozen=True, slots=True)
class EpisodeJob(UnitJob):
    """One episode, of one agent on one task with one seed, and its record."""

    ends_worker: ClassVar[bool] = True

    task: TaskRow = field(kw_only=True)
    options: EpisodeOptions = field(kw_only=True)

    @property
    def max_seconds(self) -> float | None:
        """Time limit of the worker, far beyond the episode's own."""
        return (self.options.pinned().time_limit or 0.0) + _GRADING_SECONDS

    def cost_so_far(self) -> float:
        """Return the money that the episode has spent, as far as its record says."""
        found = standing(self.record_path)
        return 0.0 if found is None else found.cost

    def execute(self, on_playing: Callable[[], None] = lambda: None) -> Result:
        """Play the episode, or the rest of it, and return its result.

        Raises:
            InfrastructureFailed: Anything but the agent failed. The record says so, and the next
                call resumes it.
        """
        try:
            if not self._is_complete():
                try:
                    self._record(on_playing)
                except CannotResume as problem:
                    if not self._conclude():
                        self._abandon(str(problem))
                        self._record(on_playing)
            self._checkpoints.clear()
            return result_of_record(self)
        except InfrastructureFailed:
            raise
        except (Error, OSError, MemoryError) as problem:
            raise InfrastructureFailed(one_line(problem)) from problem

    def settle(self, reason: str, seconds: float) -> Result:
        """Close the record of a worker that the agent has killed.

        Raises:
            Error: The record cannot be closed.
        """
        subject = self.subject(self.task.load())
        with self._open_log(subject) as log:
            self._begin(log, subject)  # the agent may have removed what was there
            log.result(failed_claim(log.story, subject, reason))
        self._checkpoints.clear()
        return result_of_record(self)

    def give_up(self, reason: str, attempts: int, *, playing: bool) -> Result:
        """Return the result of an episode that could not be played; its record is kept.

        An agent whose own code runs in the worker can kill it. It is at fault if it had started,
        and a sandbox and the grader work without it.
        """
        if playing and self.unit.agent.use not in BUILT_IN:
            without = self._fails_without_agent()
            if without is None:
                with contextlib.suppress(Error, OSError):  # the disk may have filled up since
                    return self._settle_at_last(f"{reason}; the task can be graded without it")
            else:
                reason = f"{reason}; without the agent: {without}"
        return fault_result(self, reason, attempts)

    def _settle_at_last(self, reason: str) -> Result:
        """Close the episode, in a new record if the agent has damaged its own."""
        try:
            return self.settle(reason, 0.0)
        except (Error, OSError):
            # Not under the name of an earlier life, which it cannot describe.
            if self.record_path.exists():
                self._put_aside("-spoilt")
        return self.settle(reason, 0.0)

    def _fails_without_agent(self) -> str | None:
        """Return why sandboxes or grader fail without the agent; ``None`` if they do not."""
        options, seed = self.options, self.unit.seed
        try:
            task = self._load_task()
            equipment = self._equipment(task)
            policy = agent_policy(task, options.policy, equipment)
            with ResearchEnv(task, policy=options.policy, equipment=equipment) as env:
                env.reset(seed=seed)
                *_, info = env.step("true")
            if info["outcome"] == "infrastructure_fault":
                return str(info["reason"])
            kept = CachedTask.of(task)
            good = kept.known_good(seed)
            if good is None:
                return None
            assessor = Assessor(kept, seed, graded_in_sandboxes(policy, equipment))
            found = assessor.grade(good, "validation", fresh_draw()).outcome
        except (Error, OSError, MemoryError) as problem:
            return one_line(problem)
        return found.reason if found.kind == "infrastructure_fault" else None

    def make_agent(self, view: AgentView, seed: int) -> Any:
        """Return the agent of the episode.

        Raises:
            Exception: Whatever its own code raises.
        """
        return make_agent(self.unit.agent, view, seed, self.options)

    def on_step(self, done: PlayedStep) -> None:
        """Hear what a step returned that was just recorded; for subclasses."""

    def subject(self, task: Task, gpus: Sequence[Mapping[str, str]] = ()) -> dict[str, Any]:
        """Return what the record is about; ``gpus`` are those of the agent."""
        config, options = task.config, self.options
        told: dict[str, Any] = {} if options.scale == 1 else {"scale": options.scale}
        if self.task.image is not None:
            told["image"] = self.task.image.model_dump(mode="json")
        if gpus:
            told["gpus"] = [dict(gpu) for gpu in gpus]
        if submission_gpus := wanted_gpus(task, options.gpus)[1]:
            told["submission_gpus"] = submission_gpus
        if self.task.entry_point is not None:
            told["task_class"] = self.task.entry_point
        return told | {
            "task": task.id,
            "task_digest": self.task.digest,
            "env": task.env_id,
            "description": config.description,
            "evaluation": config.evaluation.model_dump(),
            "agent": self.unit.agent.name,
            "model": str(self.unit.agent.options.get("model", "")),
            "seed": self.unit.seed,
            "draws": draw_kind(options.draws),
            "options": options.recorded(),
            "packages": PackageSet.of(["ludus", *config.packages]).plain(),
            "egress": [*config.egress, *options.egress],
            "command_seconds": MlgymSettings.read().long_timeout(config.timeout),
            "unit": self.unit.identity(),
            "unreplayable": "an agent's work is graded again instead",
        }

    @property
    def _checkpoints(self) -> Checkpoints:
        return Checkpoints(Path(self.folder, "checkpoints", self.unit.id))

    def _is_complete(self) -> bool:
        return is_begun(self.record_path) and read_run(self.record_path).outcome == "complete"

    def _open_log(self, subject: dict[str, Any]) -> Log:
        key = None if self.key is None else load_signing_key(self.key)
        return Log.open(self.record_path, subject, key)

    def _load_task(self) -> Task:
        task = self.task.load()
        if task.digest() != self.task.digest:
            raise TaskError(
                f"Task {task.id} is not what it was when the run began. Put it back, or start "
                "another run."
            )
        return task.measured_by(self.options.scale)

    def _equipment(self, task: Task, *, to_grade: bool = False) -> Equipment:
        """Return image and GPUs, which must be those that the run began with."""
        image = self.task.image
        found = find_equipment(
            task,
            backend=self.options.backend,
            gpus=self.options.gpus,
            without_image=image is None,
            digest=None if image is None else image.digest,
            to_grade=to_grade,
        )
        return found.examined(task, self.options.policy)

    def _record(self, on_playing: Callable[[], None]) -> None:
        task = self._load_task()
        with reserved_gpus(self._equipment(task)) as (equipment, gpus):
            subject = self.subject(task, gpus)
            with self._open_log(subject) as log:
                if lost := log.lost_files():
                    raise CannotResume(f"{lost} files of its record were lost")
                self._begin(log, subject)
                if gpus and log.story.last_act is not None:
                    log.note(gpus=gpus)  # the manifest has those of the beginning
                if not log.story.is_over and log.story.result is None:
                    self._play(task, log, on_playing, equipment)
                if log.story.result is None:
                    log.result(claim_of(log.story, subject))

    def _begin(self, log: Log, subject: dict[str, Any]) -> None:
        """Record the draws of an episode, and what its abandoned records have used."""
        if log.story.draws is None and log.story.last_act is None:
            log.draws(self._earlier_draws() or Draws.begin(subject["draws"]))
        if log.story.last_act is None and not log.story.earlier.lives:
            used = used_before(self.folder, self.unit.id)
            if used.lives:
                log.earlier(used)

    def _play(
        self, task: Task, log: Log, on_playing: Callable[[], None], equipment: Equipment
    ) -> None:
        options, seed = self.options, self.unit.seed
        agent_seed = self.unit.agent_seed(0)
        policy = agent_policy(task, options.policy, equipment)
        grade = LoggedGrade(log, graded_in_sandboxes(policy, equipment))
        env = ResearchEnv(
            task,
            max_steps=options.max_steps,
            time_limit=options.time_limit,
            cost_limit=options.cost_limit,
            working_time=options.working_time,
            policy=options.policy,
            equipment=equipment,
            grade=grade,
            draws=log.story.draws,
            verbose=options.verbose or None,
            log_folder=Path(self.folder, "logs"),
            log_name=self.unit.id,
        )
        env.state_bytes = LARGEST
        view = AgentView.of(env)
        with env:
            on_playing()
            try:
                agent = self.make_agent(view, agent_seed)
                if callable(getattr(agent, "reset", None)):
                    agent.reset(agent_seed, view)
            except KeyboardInterrupt:
                raise
            except BaseException as problem:  # the agent's own code may raise anything
                reason = f"The agent cannot be made: {one_line(problem)}"
                if self.unit.agent.use in BUILT_IN or log.story.last_act is not None:
                    # It is bundled, or could be made before: something around it has changed.
                    raise InfrastructureFailed(reason) from problem
                log.result(failed_claim(log.story, self.subject(task), reason))
                return
            try:
                player = Player(env, grade, agent, log, self._checkpoints, seed)
                player.play(self.on_step)
            finally:
                _close(agent, log)

    def _earlier_draws(self) -> Draws | None:
        """Return the draws of an abandoned record of this episode, if there is one.

        One episode has one nonce, however often it is restarted.
        """
        for path in abandoned_records(self.folder, self.unit.id):
            if draws := tell(read_run(path).events).draws:
                return draws
        return None

    def _conclude(self) -> bool:
        """End an episode whose test had begun; return whether it had. It is never restarted."""
        if tell(read_run(self.record_path).events).handed_in is None:
            return False
        task = self._load_task()
        equipment = self._equipment(task, to_grade=True)
        subject = self.subject(task)
        policy = agent_policy(task, self.options.policy, equipment)
        grade = graded_in_sandboxes(policy, equipment)
        with self._open_log(subject) as log:
            conclude(log, self.record_path, task, subject, grade)
            log.result(claim_of(log.story, subject))
        return True

    def _abandon(self, reason: str) -> None:
        """Move a record to the abandoned ones; nothing is deleted."""
        write_whole(self.record_path / "why.txt", f"{reason}\n".encode())
        self._put_aside("")

    def _put_aside(self, what: str) -> None:
        place = Path(self.folder, ABANDONED)
        place.mkdir(exist_ok=True)
        number = 1
        while (target := place / f"{self.unit.id}{what}-{number}").exists():
            number += 1
        self.record_path.rename(target)
        self._checkpoints.clear()


def _close(agent: Any, log: Log) -> None:
    """Close the agent; its exceptions no longer matter."""
    try:
        if callable(getattr(agent, "close", None)):
            agent.close()
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # the agent's own code may raise anything
        log.note(closing=one_line(problem))
