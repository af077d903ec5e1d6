"""A research task as an environment: a sandbox with a shell, and a score out of its reach."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from ludus import logger
from ludus.core import Env
from ludus.errors import ResetNeeded, SandboxError, SandboxUnavailable, StateError, TaskError
from ludus.research.data.data_cache import CachedTask
from ludus.research.episode import episode_state
from ludus.research.episode.actions import Action, ActionSpace
from ludus.research.episode.agent_sandbox import agent_policy, refuse_missing_gpus
from ludus.research.episode.assessment import Assessor, Grade, graded_in_sandboxes
from ludus.research.episode.episode import Finish, ResearchEpisode
from ludus.research.episode.limits import End, EpisodeLimits
from ludus.research.episode.observation import Observation, observation_space
from ludus.research.episode.terminal import HOME, Terminal
from ludus.research.episode.transcript import Transcript
from ludus.research.grading.draws import DrawKind, Draws, draw_kind
from ludus.research.task.discovery import load_task
from ludus.research.task.task import BaseTask, Task
from ludus.sandbox import Sandbox, open_sandbox

__all__ = ["MLGymEnv", "ResearchEnv"]

_Step = tuple[Observation, float, bool, bool, dict[str, Any]]


class ResearchEnv(Env[Observation, Action]):
    """An agent with a shell in a sandbox, and a task to work on.

    An action is a text for the sandbox's persistent bash, or a tool call such as ``{"tool": "open",
    "arguments": {"path": "main.py"}}``; the tools are commands too. A command runs to its end or
    its time limit, and everything it started ends with it.

    ``reset(seed=...)`` determines splits and data. Without a seed an episode has the seed of the
    one before; the first has 0. What graders draw also depends on an unpredictable nonce of the
    episode, see :mod:`ludus.research.grading.draws`.

    Observations are for the agent. ``info`` and rewards are for the operator: at the end they
    reveal the result of the test.

    ``validate`` scores the work on the validation split, ``submit`` ends the episode
    (``terminated``). A limit ends it too (``truncated``); either way the work is graded once on the
    test split. Rewards are improvements of the normalised score and add up to the final one, see
    :mod:`ludus.research.task.reward`. At the end ``info["outcome"]`` is ``"scored"``,
    ``"agent_fault"`` or ``"infrastructure_fault"``. The latter has no score; its reward of 0 means
    nothing.

    Args:
        task: Its id, or the path of its folder.
        task_class: A class for the task, or its ``"module:name"``.
        max_steps: Instead of the task's own.
        time_limit: Seconds of an episode; by default ``MLGYM_ENV_TIMEOUT``, or 10,000.
        cost_limit: How much may be added with :meth:`add_cost`.
        backend: Of all sandboxes; see :func:`ludus.sandbox.open_sandbox`.
        policy: Other values for fields of the agent's policy.
        gpus: Instead of the task's own; 0 does without.
        grade: Instead of :func:`ludus.research.grading.grade`.
        draws: ``"private"``, or ``"public"`` for draws from the seed alone; by default
            ``LUDUS_RESEARCH_DRAWS``, or private. The draws of an existing episode continue it.
        render_mode: ``"ansi"``, or ``None``.

    Raises:
        TaskError: There is no such task, or it is wrong.
        PolicyNotEnforceable: The task needs a GPU.
        SandboxUnavailable: The backend isolates nothing.
        ResearchError: There is no such kind of draws.

    Attributes:
        limits: Limits of an episode.
        state_bytes: Largest state that ``get_state`` returns.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"]}  # type: ignore[misc]

    def __init__(
        self,
        task: str | os.PathLike[str] | Task,
        *,
        task_class: str | Callable[..., BaseTask] | None = None,
        max_steps: int | None = None,
        time_limit: float | None = None,
        cost_limit: float | None = None,
        backend: str | None = None,
        policy: Mapping[str, Any] | None = None,
        gpus: int | None = None,
        grade: Grade | None = None,
        draws: DrawKind | Draws | None = None,
        render_mode: str | None = None,
    ) -> None:
        if backend == "process":
            raise SandboxUnavailable(
                "The 'process' backend isolates nothing, so that labels and graders would be open "
                "to the agent. Use bubblewrap, podman, docker or gvisor."
            )
        self.task = load_task(task if isinstance(task, str | Task) else Path(task))
        refuse_missing_gpus(self.task, gpus)
        self.render_mode = render_mode
        self.limits = EpisodeLimits.of(
            self.task, steps=max_steps, seconds=time_limit, cost=cost_limit
        )
        self._data = CachedTask.of(self.task)
        self._policy = agent_policy(self.task, policy)
        self._backend, self._grade = backend, grade
        self._kept_draws = draws if isinstance(draws, Draws) else None
        self._draw_kind = draw_kind(None if isinstance(draws, Draws) else draws)
        self.state_bytes = episode_state.LARGEST
        self._rules = _rules(self.task, task_class)
        self._episode: ResearchEpisode | None = None
        self._transcript = Transcript()
        self._seed, self._is_over = 0, True
        self.action_space = ActionSpace()
        self.observation_space = observation_space(self.limits.steps)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in a fresh sandbox; there are no ``options``.

        Raises:
            DataMissing: The task's data has to be fetched first.
            TaskError: The task's ``data.py`` failed, or its files were changed.
            ResearchError: There is no room for the data.
            SandboxError: No such sandbox can be opened here; ``PolicyNotEnforceable`` says which of
                the task's resources cannot be limited.
        """
        super().reset(seed=seed)
        self._leave()
        if seed is not None:
            self._seed = int(seed)
        workspace = self._data.keep(self._seed).workspace
        episode = self._open(self._kept_draws or Draws.begin(self._draw_kind))
        try:
            episode.terminal.sandbox.put(workspace, HOME)
        except BaseException:
            episode.terminal.sandbox.close()
            raise
        self._begin(episode)
        added = self._rules.reset(self._seed)
        self._transcript = Transcript()
        return episode.first().observation(), {**episode.info(), **added, "seed": self._seed}

    def step(self, action: Action) -> _Step:
        """Execute one action.

        Raises:
            InvalidAction: It is neither a text nor a tool call; nothing was done.
            ResetNeeded: There is no episode, or it is over.
        """
        return self._step(action)

    def finish(self, end: End = "agent") -> _Step:
        """Truncate the episode and grade the work, for instance because the agent cannot go on.

        Args:
            end: Reason, one word for ``info["end"]``.

        Raises:
            ResetNeeded: There is no episode, or it is over.
            ValueError: Only the agent itself submits.
        """
        if end in ("", "submitted"):
            raise ValueError(f"end is {end!r}; expected a word such as 'agent' or 'cost'.")
        return self._step(Finish(end))

    def add_cost(self, cost: float) -> None:
        """Add to the agent's cost; at ``cost_limit`` the next step is the last.

        Raises:
            ResetNeeded: There is no episode, or it is over.
        """
        self._current().cost += float(cost)

    @property
    def artefacts(self) -> Mapping[str, bytes]:
        """The files that were graded last, by their paths."""
        graded = None if self._episode is None else self._episode.assessor.artefacts
        return {} if graded is None else graded.files

    @property
    def sandbox(self) -> Sandbox:
        """The agent's sandbox.

        Raises:
            ResetNeeded: There is no episode, or it is over.
        """
        return self._current().terminal.sandbox

    @property
    def box(self) -> Sandbox:
        """Old name of :attr:`sandbox`."""
        return self.sandbox

    def render(self) -> str | None:
        """Return the terminal as text; control characters are shown, not obeyed."""
        if self.render_mode is None:
            logger.warn("render() does nothing without a render_mode; make it with 'ansi'.")
            return None
        return self._transcript.text()

    def close(self) -> None:
        """Close the sandbox."""
        self._leave()
        self._episode = None

    def _step(self, action: Action | Finish) -> _Step:
        episode = self._current()
        observation, reward, done, info = self._rules.step(action)
        self._transcript.add(action if not isinstance(action, Finish) else "", observation)
        truncated = episode.end not in ("", "submitted")
        self._is_over = done or truncated
        if self._is_over:
            self._leave("its episode is over")
        return observation, float(reward), bool(done) and not truncated, truncated, info

    def _current(self) -> ResearchEpisode:
        if self._episode is None or self._is_over:
            state = "There is no episode yet" if self._episode is None else "The episode is over"
            raise ResetNeeded(f"{state}; call reset() first.")
        return self._episode

    def _open(self, draws: Draws) -> ResearchEpisode:
        sandbox = open_sandbox(self._policy, backend=self._backend, label=self.task.id[:24])
        try:
            terminal = Terminal(sandbox)
        except BaseException:
            sandbox.close()
            raise
        grade = self._grade or graded_in_sandboxes(self._policy, self._backend)
        assessor = Assessor(self._data, self._seed, grade, draws)
        return ResearchEpisode(self.task, terminal, self.limits, assessor)

    def _begin(self, episode: ResearchEpisode) -> None:
        self._episode, self._is_over = episode, False
        self._rules.execute = episode.execute

    def _leave(self, reason: str = "it was closed") -> None:
        if self._episode is None:
            return
        try:
            self._episode.jobs.stop_all()
            self._episode.terminal.sandbox.close(reason)
        except (SandboxError, OSError) as problem:
            # How the episode ended stands; what is left is removed when the next sandbox opens.
            logger.warn(f"The agent's sandbox could not be closed. {problem}")

    def _save_state(self) -> dict[str, Any]:
        episode = self._current()
        return {
            "task": self._data.digest,
            "seed": str(self._seed),
            "draws": episode.assessor.draws.plain(),
            "episode": episode_state.save(episode, self._rules, limit=self.state_bytes),
            "transcript": self._transcript.text(),
        }

    def _load_state(self, fields: dict[str, Any]) -> None:
        if fields.get("task") != self._data.digest:
            raise StateError(
                f"The state is not of task {self.task.id} as it is now. Use the task, and the "
                "version of it, that the state was taken from."
            )
        try:
            draws = self._kept_draws or Draws.from_plain(fields.get("draws"))
        except ValueError as problem:
            raise StateError(f"The state does not say what graders draw from: {problem}.") from None
        before, self._seed = self._seed, int(fields["seed"])
        try:
            episode = self._open(draws)
        except BaseException:
            self._seed = before
            raise
        try:
            history = episode_state.load(fields["episode"], episode)
        except BaseException:
            episode.terminal.sandbox.close()
            self._seed = before
            raise
        self._leave()
        self._begin(episode)
        self._rules.reset(self._seed)
        self._rules.history = history
        self._transcript = Transcript(fields["transcript"], episode.terminal.cwd)


MLGymEnv = ResearchEnv
"""The name under which MLGym has it."""


def _rules(task: Task, task_class: str | Callable[..., BaseTask] | None) -> BaseTask:
    """Make the task object that decides on rewards and the end."""
    made: Any = task_class or BaseTask
    if isinstance(made, str):
        module, _, name = made.partition(":")
        try:
            made = getattr(import_module(module), name)
        except (ImportError, AttributeError) as problem:
            raise TaskError(f"The class {task_class!r} of task {task.id}: {problem}.") from problem
    rules = made(task.config)
    if not isinstance(rules, BaseTask):
        raise TaskError(
            f"Task {task.id} is made by {task_class!r}, which returned a {type(rules).__name__}; "
            "expected a ludus.research.BaseTask."
        )
    return rules
