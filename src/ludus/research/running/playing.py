"""Plays one episode, from its beginning or from the end of its record."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from ludus.bench.faults import one_line
from ludus.errors import Error, InfrastructureFailed
from ludus.record.format import canonical
from ludus.research.episode import episode_state
from ludus.research.episode.env import ResearchEnv
from ludus.research.episode.own_observation import own_parts
from ludus.research.episode.workspace_changes import WorkspaceChanges
from ludus.research.running.conversation import Conversation
from ludus.research.running.deciding import decide
from ludus.research.running.log import Log
from ludus.research.running.partial_output import PartialOutput
from ludus.research.running.recorded_grading import CannotResume, LoggedGrade
from ludus.research.running.resuming import LARGEST, Checkpoints, restore

__all__ = ["PlayedStep", "Player"]

PlayedStep = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]
"""What a step of the environment returns."""

_MEASURED = ("timed_out", "usage")
_IF_ANY = ("egress", "jobs")
_USAGE = 1 << 16


class Player:
    """Lets an agent play one episode and records every step.

    The agent gets observations and nothing else: no reward, no ``info``, and not the last
    observation. An agent whose own code runs in this process could measure the time until it is
    closed, but no episode is left in which to use that.
    """

    def __init__(
        self,
        env: ResearchEnv,
        grade: LoggedGrade,
        agent: Any,
        log: Log,
        checkpoints: Checkpoints,
        seed: int,
    ) -> None:
        self._env, self._grade, self._agent = env, grade, agent
        self._log, self._checkpoints, self._seed = log, checkpoints, seed
        self._conversation = Conversation(log)
        self._changes = WorkspaceChanges()
        self._printed = PartialOutput(log.path)

    def play(self, on_step: Callable[[PlayedStep], None] | None = None) -> None:
        """Play until the work is graded.

        Args:
            on_step: Is called with what each step returned, once it is recorded.

        Raises:
            CannotResume: The record cannot be continued; the episode has to be restarted.
            InfrastructureFailed: Anything but the agent failed; the episode can be resumed.
        """
        try:
            observation = restore(
                self._env, self._grade, self._agent, self._log.story, self._checkpoints, self._seed
            )
            # Only now: what is chosen again while a record is repeated is in it already.
            _tell(self._agent, self._conversation)
            self._see_workspace()
            with self._printed:
                self._env._current().terminal.on_output = self._printed.write
                while not self._log.story.is_over:
                    if self._log.story.decided is None:
                        self._decide(observation)
                    done = self._carry_out()
                    if on_step is not None:
                        on_step(done)
                    observation = done[0]
        except CannotResume:
            raise
        except InfrastructureFailed as fault:
            self._log.fault(str(fault))
            raise
        except Exception as problem:  # errors of the agent are handled; any other is a fault
            self._log.fault(one_line(problem))
            raise InfrastructureFailed(one_line(problem)) from problem

    def _see_workspace(self) -> None:
        """Record the files of the first workspace, with which later ones are compared."""
        try:
            if (self._env.sandbox.usage().disk_used or 0) > LARGEST:
                return
            listing = self._changes.first(episode_state.workspace(self._env._current(), LARGEST))
        except (Error, OSError, MemoryError):
            return  # no step depends on it, and what is wrong shows in the first one
        if listing is not None:
            self._log.tree(listing)

    def _decide(self, observation: Mapping[str, Any]) -> None:
        number, episode = len(self._log.story.steps), self._env._current()
        before, waited = _amount(self._agent, "cost"), _amount(self._agent, "waited")
        began, left = episode.seconds, episode.limits.seconds - episode.seconds
        decided = self._nothing_left() or decide(self._agent, observation, left)
        if self._conversation.problem is not None:
            raise self._conversation.problem
        # What the agent says it spent, or what it has reported of its calls, if that is more.
        reported = self._log.story.asks.cost
        cost = max(reported, _amount(self._agent, "cost") - before)
        # No agent can have waited longer than the decision took.
        most = episode.seconds - began
        self._env.add_waiting(min(max(0.0, _amount(self._agent, "waited") - waited), most))
        state = self._checkpoints.save(f"agent-{number}", self._agent)
        self._log.act({**decided, "cost": cost, "state": state})
        self._env.add_cost(cost)
        self._checkpoints.keep_only(f"agent-{number}", f"box-{number - 1}")

    def _nothing_left(self) -> dict[str, Any] | None:
        """Return the end of an episode whose earlier lives have used up a limit."""
        if self._log.story.steps or not self._log.story.earlier.lives:
            return None
        episode = self._env._current()
        end = episode.reached
        message = "Nothing is left of this limit: the episode had used it when it began anew."
        return {"stop": end, "message": message} if end else None

    def _carry_out(self) -> PlayedStep:
        """Execute the decision, record the result, and return it."""
        number = len(self._log.story.steps)
        decided = self._log.story.decided or {}
        most = self._env.sandbox.policy.output
        self._printed.begin(self._log.partial_room)
        if "stop" in decided:
            done = self._env.finish(decided["stop"])
        else:
            done = self._env.step(decided["action"])
        observation, reward, terminated, truncated, info = done
        final = info["final"]
        handed_in = self._log.story.handed_in
        if handed_in is not None and (final is None or final["files"] != handed_in["files"]):
            raise CannotResume("the last step ended otherwise when it was done again")
        if info["outcome"] == "infrastructure_fault":
            # The agent does not see this: the step is repeated from the state before it.
            raise InfrastructureFailed(info["reason"] or "the sandbox is gone")
        state, changes = None, None
        # What is larger would be copied for nothing.
        if final is None and (info["usage"].get("disk_used") or 0) <= LARGEST:
            seen = _WithWorkspace(self._env)
            state = self._checkpoints.save(f"box-{number}", seen, observation=observation)
            changes = None if seen.workspace is None else self._changes.since(seen.workspace)
        self._log.step(
            observation["output"],
            {
                "exit_code": int(observation["exit_code"]),
                "cwd": observation["cwd"],
                "reward": float(reward),
                "terminated": terminated,
                "truncated": truncated,
                "end": info["end"],
                "validation": (info["validation"] or {}).get("score"),
                "graded": info["validation"],
                "final": final,
                "cost": info["cost"],
                "model_usage": _usage(self._agent),
                "seconds": info["command_seconds"],
                "spent": info["seconds"],
                "waited": info["waited"],
                "measured": {name: info[name] for name in _MEASURED},
                **{name: info[name] for name in _IF_ANY if info[name]},
                "state": state,
                **({"observation": own} if (own := own_parts(observation)) else {}),
            },
            printed=self._printed if self._printed.printed > most else None,
            changes=changes,
        )
        self._printed.end()
        self._checkpoints.keep_only(f"agent-{number}", f"box-{number}")
        return observation, float(reward), terminated, truncated, info


class _WithWorkspace:
    """An environment whose state is taken, and the workspace in it kept."""

    def __init__(self, env: ResearchEnv) -> None:
        self._env = env
        self.workspace: bytes | None = None

    def get_state(self) -> dict[str, Any]:
        state = self._env.get_state()
        self.workspace = state["fields"]["episode"]["workspace"]
        return state


def _tell(agent: Any, conversation: Conversation) -> None:
    """Tell an agent where to report the calls of its model, if it wants to know."""
    try:
        if callable(getattr(agent, "log_calls", None)):
            agent.log_calls(conversation)
    except KeyboardInterrupt:
        raise
    except BaseException:  # the agent's own code may raise anything
        return


def _amount(agent: Any, name: str) -> float:
    """Return an amount that the agent reports, such as its cost; 0 if it is none."""
    try:
        amount = float(getattr(agent, name, 0.0))
    except KeyboardInterrupt:
        raise
    except BaseException:  # the agent's own code may raise anything
        return 0.0
    return amount if math.isfinite(amount) else 0.0


def _usage(agent: Any) -> dict[str, Any]:
    """Return the agent's reported model usage; empty if a record cannot hold it."""
    try:
        usage = getattr(agent, "usage", None)
        told = asdict(usage) if is_dataclass(usage) and not isinstance(usage, type) else {}
        fits = len(canonical.dumps(told)) <= _USAGE
    except KeyboardInterrupt:
        raise
    except BaseException:  # the agent's own code may raise anything
        return {}
    return told if fits else {}
