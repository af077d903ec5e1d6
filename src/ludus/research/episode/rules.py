"""How a task's own class takes part in an episode: what it returns is checked and completed.

A class may do everything in :meth:`~ludus.research.task.task.BaseTask.step` itself, call the
inherited method for some actions, or only decide on rewards or the end. The environment counts
steps, keeps to the limits and grades the work in each case.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from ludus.core.state import copy_plain
from ludus.errors import StateError, TaskError
from ludus.research.episode.episode import Finish, ResearchEpisode
from ludus.research.episode.limits import DONE
from ludus.research.episode.observation import Observation, observation_space
from ludus.research.episode.own_observation import OpenDict, merged
from ludus.research.task.task import ActionResult, BaseTask, Task, accepts, reward_of

__all__ = ["Rules"]

_Step = tuple[Observation, float, bool, dict[str, Any]]
_OUTCOME = ("outcome", "reason", "score", "normalised_score", "end", "final", "steps", "seconds")


class Rules:
    """The object of a task's class, for the episodes of one environment.

    Attributes:
        task: The object.
        observation_space: Of the environment; open for what the class adds.
    """

    def __init__(self, task: Task, rules: BaseTask, max_steps: int) -> None:
        self.task = rules
        self._grades_itself = task.grades_itself
        self._is_plain = type(rules) is BaseTask
        known = observation_space(max_steps)
        self.observation_space = known if self._is_plain else OpenDict(known)
        self._episode: ResearchEpisode | None = None
        self._last: ActionResult | None = None
        self._total = 0.0

    def begin(self, episode: ResearchEpisode) -> None:
        """Let the class act in an episode."""
        self._episode = episode
        self.task.execute = self._execute

    def reset(self, episode: ResearchEpisode, seed: int) -> Observation:
        """Begin an episode; return the first observation.

        Raises:
            TaskError: The class returned something that is no observation.
        """
        self._total = 0.0
        reset: Callable[..., Any] = self.task.reset
        given = reset(seed) if accepts(reset, seed) else reset()
        if not self._is_plain:
            self.task.history = []  # its reset need not call ours
        return merged(episode.first().observation(), given, self.observation_space)

    def step(self, action: Any) -> _Step:
        """Take one step; return observation, reward, whether the episode is over, and info.

        Raises:
            InvalidAction: The action is neither a text nor a tool call; nothing was done.
            TaskError: The class returned something that is no step.
        """
        self._last = None
        if self._is_plain:
            observation, reward, done, info = self.task.step(action)
            return observation, float(reward), bool(done), info
        if isinstance(action, Finish):
            observation, reward, done, added = self._finish(action)
        else:
            observation, reward, done, added = self._checked(self.task.step(action))
        last, episode = self._last, self._current
        if last is None:
            episode.steps += 1
        own = episode.first().observation() if last is None else last.observation
        observation = merged(own, observation, self.observation_space)
        if episode.final is None:
            end = DONE if done else episode.reached
            reward += self._conclude(end) if end else 0.0
        self._total += reward
        told = dict(episode.info() if last is None else last.info or {})
        told |= self._graded()
        return observation, reward, episode.final is not None, {**added, **told}

    def state(self) -> Any:
        """Return what the class keeps beside the history.

        Raises:
            StateError: It may keep something, and has no ``get_state``; or what that returns is not
                plain data.
        """
        if self._is_plain:
            return None
        get_state = getattr(self.task, "get_state", None)
        if callable(get_state):
            return [self._total, copy_plain(get_state(), f"{type(self.task).__name__}'s state")]
        own = [name for name in ("__init__", "reset", "step") if self._has_own(name)]
        if own:
            raise StateError(
                f"{type(self.task).__name__} has a {own[0]} of its own, so that its state is not "
                "known. Define get_state(self), which returns plain data, and set_state(self, "
                "state)."
            )
        return [self._total, None]

    def set_state(self, seed: int, history: list[ActionResult], state: Any) -> None:
        """Restore what :meth:`state` returned."""
        reset: Callable[..., Any] = self.task.reset
        _ = reset(seed) if accepts(reset, seed) else reset()
        self.task.history = history
        if state is not None:
            self._total, own = float(state[0]), state[1]
            set_state = getattr(self.task, "set_state", None)
            if callable(set_state):
                set_state(copy_plain(own))

    @property
    def _current(self) -> ResearchEpisode:
        if self._episode is None:
            raise TaskError("The task has no episode; call reset() of its environment first.")
        return self._episode

    def _has_own(self, name: str) -> bool:
        return getattr(type(self.task), name) is not getattr(BaseTask, name)

    def _execute(self, action: Any) -> ActionResult:
        self._last = self._current.execute(action)
        return self._last

    def _finish(self, action: Finish) -> _Step:
        """End an episode whose agent has stopped; a class with its own step is not asked."""
        result = self._execute(action)
        self.task.history.append(result)
        is_asked = not (self._has_own("step") and self._has_own("get_reward"))
        reward = reward_of(self.task, self.task.history) if is_asked else 0.0
        return result.observation, reward, True, dict(result.info or {})

    def _conclude(self, end: str) -> float:
        """Grade the work of an episode that the class or a limit ends; return what that adds.

        Rewards of a class's own stay as they are. If they are those of the scale, they get what is
        missing to the final score.
        """
        last, history = self._last, self.task.history
        result = self._current.execute(Finish(end))
        is_ours = not self._has_own("get_reward") and last is not None and last in history
        if not is_ours:
            return 0.0
        history.append(result)
        return reward_of(self.task, history)

    def _graded(self) -> dict[str, Any]:
        """Return the outcome for ``info``; a task that grades itself scores its rewards' sum."""
        episode = self._current
        final = episode.final
        if final is None:
            return {}
        if self._grades_itself and final.outcome.kind == "scored":
            outcome = dataclasses.replace(final.outcome, score=self._total)
            episode.final = dataclasses.replace(final, outcome=outcome)
        told = episode.info()
        return {name: told[name] for name in _OUTCOME}

    def _checked(self, made: Any) -> _Step:
        name = f"{type(self.task).__name__}.step(action)"
        if not isinstance(made, tuple | list) or len(made) not in (4, 5):
            raise TaskError(
                f"{name} returned {made!r:.100}; expected (observation, reward, done, info)."
            )
        # Gymnasium's five are accepted too.
        observation, reward, *flags, info = made
        try:
            worth = float(reward)
        except (TypeError, ValueError):
            worth = math.nan
        if not math.isfinite(worth):
            raise TaskError(f"{name} returned the reward {reward!r:.80}; expected a finite number.")
        if not isinstance(info, Mapping):
            raise TaskError(f"{name} returned the info {info!r:.80}; expected a dict.")
        done = any(bool(flag) for flag in flags) or bool(self.task.is_done())
        return observation, worth, done, dict(info)
