"""A research task as an environment: a sandbox with a shell, and a score out of its reach."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from ludus import logger
from ludus.core import Env
from ludus.errors import ResetNeeded, SandboxError, SandboxUnavailable, StateError
from ludus.research.data.data_cache import CachedTask
from ludus.research.episode import episode_state
from ludus.research.episode.actions import Action, ActionSpace
from ludus.research.episode.agent_sandbox import agent_policy
from ludus.research.episode.assessment import (
    Assessor,
    Grade,
    OwnAssessor,
    graded_in_sandboxes,
)
from ludus.research.episode.episode import Finish, ResearchEpisode
from ludus.research.episode.equipment import Equipment, find_equipment
from ludus.research.episode.journal import Journal
from ludus.research.episode.limits import TERMINAL, End, EpisodeLimits
from ludus.research.episode.observation import Observation
from ludus.research.episode.rules import Rules
from ludus.research.episode.terminal import HOME, Terminal, Transcript
from ludus.research.grading.draws import DrawKind, Draws, draw_kind
from ludus.research.task.classes import make_rules
from ludus.research.task.config import TaskConfig
from ludus.research.task.discovery import load_task
from ludus.research.task.settings import MlgymSettings
from ludus.research.task.task import BaseTask, Task
from ludus.sandbox import Sandbox, open_sandbox

__all__ = ["MLGymEnv", "ResearchEnv"]

TaskLike: TypeAlias = str | os.PathLike[str] | Task | TaskConfig | Mapping[str, Any]
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
        task: Its id, the path of its folder or file, or its configuration: a dict with the fields
            of such a file, or a :class:`~ludus.research.TaskConfig`.
        task_config: MLGym's name of ``task``.
        task_class: A class for the task, or its ``"module:name"``.
        max_steps: Instead of the task's own.
        time_limit: Seconds of an episode; by default ``MLGYM_ENV_TIMEOUT``, or 10,000.
        cost_limit: How much may be added with :meth:`add_cost`.
        working_time: Seconds of an episode without those added with :meth:`add_waiting`; no limit
            by default.
        backend: Of all sandboxes; see :func:`ludus.sandbox.open_sandbox`.
        policy: Other values for fields of the agent's policy.
        gpus: Number or names instead of the task's own; by default ``MLGYM_GPUS``. 0 does without.
        without_image: Run in this machine's folders, whatever image the task names.
        equipment: What :func:`find_equipment` has found before, in place of these two and
            ``backend``.
        grade: Instead of :func:`ludus.research.grading.grade`.
        draws: ``"private"``, or ``"public"`` for draws from the seed alone; by default
            ``LUDUS_RESEARCH_DRAWS``, or private. The draws of an existing episode continue it.
        verbose: Whether each episode has a log file, see :mod:`ludus.research.episode.journal`; by
            default as the task or ``LUDUS_LOG`` says.
        log_folder: Of the log files; by default ``logs`` in ``MLGYM_WORKSPACE_PATH`` or ``runs``.
        log_name: Of a log file for all episodes.
        render_mode: ``"ansi"``; ``"human"`` prints the terminal as it goes; or ``None``.

    Raises:
        TaskError: There is no such task, or it is wrong.
        ImageMissing: The task's image is not on this machine.
        PolicyNotEnforceable: The task needs a GPU or an image that the backend cannot give it.
        SandboxUnavailable: The backend isolates nothing.
        ResearchError: There is no such kind of draws.

    Attributes:
        equipment: The image and the GPUs of the sandboxes.
        limits: Limits of an episode.
        state_bytes: Largest state that ``get_state`` returns.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "human"]}  # type: ignore[misc]

    def __init__(
        self,
        task: TaskLike | None = None,
        *,
        task_config: TaskLike | None = None,
        task_class: str | Callable[..., BaseTask] | None = None,
        max_steps: int | None = None,
        time_limit: float | None = None,
        cost_limit: float | None = None,
        working_time: float | None = None,
        backend: str | None = None,
        policy: Mapping[str, Any] | None = None,
        gpus: int | tuple[str, ...] | None = None,
        without_image: bool = False,
        equipment: Equipment | None = None,
        grade: Grade | None = None,
        draws: DrawKind | Draws | None = None,
        verbose: bool | None = None,
        log_folder: str | os.PathLike[str] | None = None,
        log_name: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        if backend == "process":
            raise SandboxUnavailable(
                "The 'process' backend isolates nothing, so that labels and graders would be open "
                "to the agent. Use bubblewrap, podman, docker or gvisor."
            )
        given = task if task_config is None else task_config
        if given is None or (task is not None and task_config is not None):
            raise TypeError(
                "An environment takes one task: its id, the path of its folder or file, or a dict "
                "with its configuration, as the first argument or as task_config."
            )
        self.task = load_task(Path(given) if isinstance(given, os.PathLike) else given)
        chosen = MlgymSettings.read().gpus if gpus is None else gpus
        found = equipment or find_equipment(
            self.task, backend=backend, gpus=chosen, without_image=without_image
        )
        self.render_mode = render_mode
        self.limits = EpisodeLimits.of(
            self.task, steps=max_steps, seconds=time_limit, cost=cost_limit, working=working_time
        )
        self._data = CachedTask.of(self.task)
        self.equipment = found.examined(self.task, policy)
        self._policy = agent_policy(self.task, policy, self.equipment)
        self._grade = grade
        self._kept_draws = draws if isinstance(draws, Draws) else None
        self._draw_kind = draw_kind(None if isinstance(draws, Draws) else draws)
        self.state_bytes = episode_state.LARGEST
        self._rules = Rules(self.task, make_rules(self.task, task_class), self.limits.steps)
        self._episode: ResearchEpisode | None = None
        self._transcript = Transcript()
        folder = None if log_folder is None else Path(log_folder)
        self._journal = Journal(self.task, verbose=verbose, folder=folder, name=log_name)
        self._seed, self._is_over = 0, True
        self.action_space = ActionSpace()
        self.observation_space = self._rules.observation_space

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
        self._transcript = Transcript()
        self._journal.begin(self._seed, self.limits, episode.terminal.sandbox.backend)
        observation = self._rules.reset(episode, self._seed)
        if observation["output"]:
            self._show("", observation)
        return observation, {**episode.info(), "seed": self._seed}

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

    def add_waiting(self, seconds: float) -> None:
        """Add to the time that the agent has waited for its model, which is no working time.

        Raises:
            ResetNeeded: There is no episode, or it is over.
        """
        self._current().waited += max(0.0, float(seconds))

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
        """Return the terminal as text; control characters are shown, not obeyed.

        With ``"human"`` everything is printed as it happens, and this does nothing.
        """
        if self.render_mode is None:
            logger.warn(
                "render() does nothing without a render_mode; make it with 'ansi' or 'human'."
            )
        if self.render_mode != "ansi":
            return None
        return self._transcript.text()

    def close(self) -> None:
        """Close the sandbox."""
        self._leave()
        self._episode = None

    def _step(self, action: Action | Finish) -> _Step:
        episode = self._current()
        observation, reward, done, info = self._rules.step(action)
        typed = "" if isinstance(action, Finish) else action
        self._show(typed, observation)
        self._journal.step(typed, observation, info)
        self._journal.reward(reward)
        truncated = episode.end not in ("", *TERMINAL)
        self._is_over = done or truncated
        if self._is_over:
            self._leave("its episode is over")
            self._journal.end(info, self.artefacts)
        return observation, reward, done and not truncated, truncated, info

    @property
    def log_file(self) -> Path | None:
        """The log of the episode, if there is one."""
        return self._journal.file

    def _show(self, typed: object, observation: Observation) -> None:
        shown = self._transcript.add(typed, observation)
        if self.render_mode == "human":
            sys.stdout.write(shown)
            sys.stdout.flush()

    def _current(self) -> ResearchEpisode:
        if self._episode is None or self._is_over:
            state = "There is no episode yet" if self._episode is None else "The episode is over"
            raise ResetNeeded(f"{state}; call reset() first.")
        return self._episode

    def _open(self, draws: Draws) -> ResearchEpisode:
        backend, image = self.equipment.backend, self.equipment.image
        sandbox = open_sandbox(
            self._policy,
            backend=backend,
            label=self.task.id[:24],
            image=None if image is None else image.digest,
        )
        try:
            terminal = Terminal(sandbox)
        except BaseException:
            sandbox.close()
            raise
        grade = self._grade or graded_in_sandboxes(self._policy, self.equipment)
        kind = OwnAssessor if self.task.grades_itself else Assessor
        assessor = kind(self._data, self._seed, grade, draws)
        episode = ResearchEpisode(self.task, terminal, self.limits, assessor)
        episode.hint = self._data.hint(self._seed)
        return episode

    def _begin(self, episode: ResearchEpisode) -> None:
        self._episode, self._is_over = episode, False
        self._rules.begin(episode)

    def _leave(self, reason: str = "it was closed") -> None:
        if self._episode is None:
            return
        try:
            self._episode.jobs.stop_all()
            self._episode.terminal.sandbox.close(reason)
        except (SandboxError, OSError) as problem:
            # How the episode ended stands; what is left is removed when the next sandbox opens.
            logger.warn(f"The agent's sandbox could not be closed. {problem}")

    def _image(self) -> str:
        return "" if self.equipment.image is None else self.equipment.image.digest

    def _save_state(self) -> dict[str, Any]:
        episode = self._current()
        return {
            "task": self._data.digest,
            "seed": str(self._seed),
            "draws": episode.assessor.draws.plain(),
            "image": self._image(),
            "rules": self._rules.state(),
            "episode": episode_state.save(episode, self._rules.task, limit=self.state_bytes),
            "transcript": self._transcript.text(),
        }

    def _load_state(self, fields: dict[str, Any]) -> None:
        if fields.get("task") != self._data.digest:
            raise StateError(
                f"The state is not of task {self.task.id} as it is now. Use the task, and the "
                "version of it, that the state was taken from."
            )
        if fields.get("image", "") != self._image():
            was = str(fields.get("image", ""))[:100]
            raise StateError(
                f"The state is of an episode in the image {was or '(none)'}, and this one has "
                f"{self._image() or '(none)'}. Use the same image."
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
        self._rules.set_state(self._seed, history, fields.get("rules"))
        self._transcript = Transcript(fields["transcript"], episode.terminal.cwd)


MLGymEnv = ResearchEnv
"""The name under which MLGym has it."""
