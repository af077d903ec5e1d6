"""One episode: actions in a sandbox, validations, the end and its grading.

Nothing that happens in the test reaches the agent. The last observation is the same whether the
work was scored, refused, or could not be graded, and its clock stops while the test runs. The
result of the test is in ``info``, which is for the operator, as are rewards.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ludus.errors import SandboxError
from ludus.research.episode.actions import ParsedAction, read_action
from ludus.research.episode.assessment import Assessor
from ludus.research.episode.jobs import Jobs
from ludus.research.episode.limits import End, EpisodeLimits
from ludus.research.episode.observation import Seen, nothing_validated
from ludus.research.episode.terminal import Said, Terminal
from ludus.research.grading.artefacts import OF_THE_HOST
from ludus.research.task.outcome import REFUSED, Graded, Outcome
from ludus.research.task.task import ActionResult, Task
from ludus.sandbox.egress.journal import summary

__all__ = ["Finish", "ResearchEpisode"]

_NOT_RUN = -1
_WRONG_CALL = 2
_KILLED = 137
_DIGITS = 6
_NO_SHELL = "The sandbox lets no shell start any more.\n"
_OVER = "The episode is over ({end}).\n"
_FREE_FAULTS = 2
"""Validations of an episode that may fail without being counted; a submission may be the cause."""
_UNCOUNTED = (
    "The validation could not be carried out, for no fault of yours. It is not counted; you may "
    "ask for another.\n"
)
_COUNTED = "The validation could not be carried out. So many have failed that it is counted.\n"


@dataclass(frozen=True, slots=True)
class Finish:
    """In place of an action: the agent has stopped, and its work is graded."""

    end: End


class ResearchEpisode:
    """The state of an episode.

    Attributes:
        end: Why the episode is over; empty while it continues.
        final: The grading that ended it.
        validations: Completed validations, in order.
        validation_faults: Validations that failed because of the infrastructure.
        validations_before: Validations in abandoned records of this episode.
        jobs: Background jobs of the agent.
        cost: What the agent has spent.
        waited: Seconds spent waiting for the agent's model.
        hint: What the agent is told in addition to the task's description.
    """

    def __init__(
        self,
        task: Task,
        terminal: Terminal,
        limits: EpisodeLimits,
        assessor: Assessor,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.task, self.terminal, self.limits, self.assessor = task, terminal, limits, assessor
        self._clock = clock
        self._began = clock()
        self._stopped: float | None = None
        self._open_file = self.hint = ""
        self.steps = 0
        self.cost = self.waited = 0.0
        self.end: End = ""
        self.final: Graded | None = None
        self.validations: list[Graded] = []
        self.validation_faults = self.validations_before = 0
        self.jobs = Jobs(terminal.sandbox)

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return self._clock() - self._began

    @seconds.setter
    def seconds(self, value: float) -> None:
        self._began = self._clock() - value

    @property
    def working(self) -> float:
        """Seconds since it began, without those spent waiting for the agent's model."""
        return max(0.0, self.seconds - self.waited)

    @property
    def reached(self) -> End:
        """The limit that is reached, if one is."""
        return self.limits.reached(self.steps, self.seconds, self.cost, self.working)

    def _left(self, seconds: float) -> float:
        """Return the seconds until the nearer limit of time, when so many have passed."""
        limits = self.limits
        return min(limits.seconds - seconds, limits.working - (seconds - self.waited))

    def first(self) -> Seen:
        """Return what the agent sees before it does anything."""
        return self._seen(Said("", _NOT_RUN))

    def execute(self, action: object) -> ActionResult:
        """Execute an action, the validation it asks for, and the end if it is reached.

        Raises:
            InvalidAction: It is neither a text nor a tool call; nothing was done.
        """
        validation: Graded | None = None
        asked: frozenset[str] = frozenset()
        if isinstance(action, Finish):
            self.end, said, action = action.end, Said("", _NOT_RUN), None
        else:
            command = read_action(action)
            self.steps += 1
            try:
                said = self._run(command)
                if self.jobs.notice:
                    said = _with(said, self.jobs.notice)
                    self.jobs.notice = ""
                asked = self.terminal.requests()
            except (SandboxError, OSError) as problem:
                return self._lost(action, problem)
        if "validate" in asked:
            with self.jobs.frozen():
                validation, told = self._validate()
            said = _with(said, told)
        if not self.end:
            self.end = "submitted" if "submit" in asked else self.reached
        if self.end:
            self.jobs.stop_all()
            self.terminal.end()
            self.terminal.sandbox.end_egress()
            self._stopped, self._open_file = self.seconds, self.terminal.open_file()
            self.final = self.assessor.assess(self.terminal.sandbox, "test")
            said = _with(said, _OVER.format(end=self.end))
        return self._result(action, said, validation)

    def _run(self, command: ParsedAction) -> Said:
        if command.problem:
            return Said(f"{command.problem}\n", _WRONG_CALL)
        left = self._left(self.seconds)
        if left <= 0:
            return Said("The time of the episode was over; nothing was run.\n", _NOT_RUN)
        own = self.limits.short if command.is_tool else self.limits.long
        try:
            if command.job is not None:
                return Said(*self.jobs.call(command.job, self.terminal.cwd, left))
            return self.terminal.run(command.text, min(own, left))
        except (SandboxError, OSError) as problem:
            if (
                not self.terminal.is_sandbox_alive()
                or getattr(problem, "errno", None) in OF_THE_HOST
            ):
                raise
            # The sandbox is alive, but has no more room for a shell. The agent caused this.
            self.end = "box"
            return Said(_NO_SHELL, _KILLED)

    def _validate(self) -> tuple[Graded | None, str]:
        number = self.validations_before + len(self.validations) + 1
        limit = self.limits.validations
        if limit is not None and number + self._counted_faults > limit:
            return None, f"All {limit} validations are used up; nothing was scored.\n"
        made = self.assessor.assess(self.terminal.sandbox, "validation", number)
        if made.outcome.kind == "infrastructure_fault":
            self.validation_faults += 1
            return made, _COUNTED if self._counted_faults else _UNCOUNTED
        self.validations.append(made)
        which = f"Validation {number}" + ("" if limit is None else f" of {limit}")
        if made.outcome.score is None:
            return made, f"{which}: refused. {made.outcome.told or REFUSED}\n"
        metric, scale = self.task.config.evaluation.metric, self.task.scale
        aim = f"{scale.direction} is better, {scale.threshold:g} is the goal"
        return made, f"{which}: {metric} = {made.outcome.score:.{_DIGITS}g} ({aim}).\n"

    @property
    def _counted_faults(self) -> int:
        return max(0, self.validation_faults - _FREE_FAULTS)

    def _lost(self, action: object, problem: Exception) -> ActionResult:
        """End an episode whose sandbox was closed from outside or cannot be reached.

        An agent cannot cause this: whatever ends inside a sandbox leaves the sandbox itself intact,
        and its contents are graded.
        """
        self.end = "box"
        reason = f"{type(problem).__name__}: {problem}"
        self._stopped = self.seconds
        self.final = Graded(Outcome("infrastructure_fault", reason=reason))
        return self._result(action, Said(_OVER.format(end=self.end), _NOT_RUN), None)

    def _result(self, action: object, said: Said, validation: Graded | None) -> ActionResult:
        graded = self.final or validation
        return ActionResult(
            action=action,
            observation=self._seen(said).observation(),
            outcome=None if graded is None else graded.outcome.kind,
            score=None if graded is None else graded.outcome.score,
            final=self.final is not None,
            info=self.info(said, validation),
        )

    def info(self, said: Said | None = None, validation: Graded | None = None) -> dict[str, Any]:
        """Return the operator's ``info`` as plain data."""
        final = None if self.final is None else self.final.outcome
        return {
            "outcome": "running" if final is None else final.kind,
            "reason": "" if final is None else final.reason,
            "score": None if final is None else final.score,
            "normalised_score": None if final is None else self.task.scale.of(final),
            "end": self.end,
            "final": None if self.final is None else self.final.plain(),
            "validation": None if validation is None else validation.plain(),
            "validations": len(self.validations),
            "steps": self.steps,
            "seconds": self.seconds,
            "waited": self.waited,
            "cost": self.cost,
            "command_seconds": 0.0 if said is None else said.seconds,
            "timed_out": said is not None and said.timed_out,
            "usage": {} if said is None else dataclasses.asdict(said.usage),
            "egress": self._egress(),
            "jobs": self.jobs.plain(),
        }

    def _egress(self) -> list[dict[str, Any]]:
        """Return which connections of the sandbox have ended since the last step."""
        log = self.terminal.sandbox.egress
        return [] if log is None else summary(log.take_new())

    def _seen(self, said: Said) -> Seen:
        scores = [score for made in self.validations if (score := made.outcome.score) is not None]
        nothing = nothing_validated(self.task.config.evaluation.direction)
        # At the end both are as they were before the test: nothing of it may show in them.
        spent = self.seconds if self._stopped is None else self._stopped
        is_over = self._stopped is not None
        return Seen(
            task=self.task.config.description + self.hint,
            output=said.output,
            exit_code=said.exit_code,
            cwd=self.terminal.cwd,
            open_file=self._open_file if is_over else self.terminal.open_file(),
            steps_left=self.limits.steps - self.steps,
            seconds_left=self._left(spent),
            # As many digits as in the message, so that a score carries no hidden data.
            validation_score=float(f"{scores[-1]:.{_DIGITS}g}") if scores else nothing,
        )


def _with(said: Said, told: str) -> Said:
    gap = "" if not said.output or said.output.endswith("\n") else "\n"
    return dataclasses.replace(said, output=f"{said.output}{gap}{told}")
