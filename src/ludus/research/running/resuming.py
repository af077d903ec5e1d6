"""Restores an episode to the end of its record.

Usually the workspace and the agent's state were stored after every step, and are restored.
Otherwise (a workspace too large, an agent without a state) the recorded actions are repeated in a
fresh sandbox, and must give the same outputs; an agent without a stored state must choose the same
actions again.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ludus.atomic import write_whole
from ludus.codec import DecodeLimits, decode, encode
from ludus.errors import CodecError, SandboxError, StateError
from ludus.foreign_files import read_regular
from ludus.research.episode.env import ResearchEnv
from ludus.research.running.deciding import decide
from ludus.research.running.log import digest_of
from ludus.research.running.recorded_grading import CannotResume, LoggedGrade
from ludus.research.running.story import Story, Used

__all__ = ["LARGEST", "Checkpoints", "restore"]


def restore(
    env: ResearchEnv,
    grade: LoggedGrade,
    agent: Any,
    story: Story,
    checkpoints: Checkpoints,
    seed: int,
) -> dict[str, Any]:
    """Bring environment and agent to where the record ends.

    Both are fresh, and the agent is reset. Returns the last observation, on which the next decision
    is or was made.

    Raises:
        CannotResume: The recorded actions give other results now.
        Error: The sandbox or the data is not available.
    """
    remembers = _restore_agent(agent, story, checkpoints)
    if story.steps and remembers:
        last = story.steps[-1]
        kept = checkpoints.load(f"box-{last['n']}", last["state"])
        if kept is not None and _restore_env(env, kept):
            if story.decided is not None:
                env.add_cost(story.decided["cost"])
            return dict(kept["observation"])
    return _Replay(env, grade, None if remembers else agent, story).run(seed)


def _restore_agent(agent: Any, story: Story, checkpoints: Checkpoints) -> bool:
    """Restore the agent's state; return whether that succeeded or was not needed."""
    last = story.last_act
    if last is None:
        return True
    kept = checkpoints.load(f"agent-{last['n']}", last["state"])
    if kept is None or not callable(getattr(agent, "set_state", None)):
        return False
    try:
        agent.set_state(kept["state"])
    except KeyboardInterrupt:
        raise
    except BaseException:  # the agent's own code; it must choose the same actions again
        return False
    return True


def _restore_env(env: ResearchEnv, kept: Mapping[str, Any]) -> bool:
    try:
        env.set_state(kept["state"])
    except (StateError, SandboxError, OSError):
        # Such as a workspace so full that it does not fit into a fresh sandbox.
        return False
    return "observation" in kept


def _carried_over(env: ResearchEnv, used: Used) -> dict[str, Any]:
    """Count what earlier lives have used; return the first observation."""
    episode = env._current()
    episode.steps, episode.cost, episode.seconds = used.steps, used.cost, used.seconds
    episode.waited = used.waited
    episode.validations_before = used.validations
    episode.validation_faults = used.validation_faults
    return episode.first().observation()


class _Replay:
    """Repeats the recorded actions; an ``agent`` must choose them again."""

    def __init__(
        self, env: ResearchEnv, grade: LoggedGrade, agent: Any | None, story: Story
    ) -> None:
        self._env, self._grade, self._agent, self._story = env, grade, agent, story

    def run(self, seed: int) -> dict[str, Any]:
        """Return what is seen at the end."""
        observation, _ = self._env.reset(seed=seed)
        earlier = self._story.earlier
        if earlier.lives:
            observation = _carried_over(self._env, earlier)
        spent, waited = earlier.seconds, earlier.waited
        for step in self._story.steps:
            self._choose(observation, step)
            self._env.add_cost(step["cost"] - self._env._current().cost)
            # Only what the episode itself took counts.
            self._env._current().seconds, self._env._current().waited = spent, waited
            self._grade.known = step["graded"]
            observation, *_, info = self._env.step(step["action"])
            self._grade.known = None
            if info["outcome"] != "running":
                raise CannotResume(f"step {step['n']} ended the episode when it was done again")
            self._compare(observation, step)
            spent, waited = float(step["spent"]), float(step.get("waited", 0.0))
        self._env._current().seconds, self._env._current().waited = spent, waited
        if self._story.decided is not None:
            self._choose(observation, self._story.decided)
            self._env.add_cost(self._story.decided["cost"])
        return observation

    def _choose(self, observation: Mapping[str, Any], recorded: Mapping[str, Any]) -> None:
        if self._agent is None:
            return
        chosen = decide(self._agent, observation)
        for name in ("action", "stop"):
            if chosen.get(name) != recorded.get(name):
                raise CannotResume(f"the agent chose something else for step {recorded['n']}")

    def _compare(self, observation: Mapping[str, Any], step: Mapping[str, Any]) -> None:
        same = (
            digest_of(observation["output"]) == step["digest"]
            and int(observation["exit_code"]) == step["exit_code"]
        )
        if not same:
            raise CannotResume(f"step {step['n']} had another output when it was done again")


LARGEST = 1 << 27
"""Bytes of one state; an episode with a larger workspace is resumed by repeating its actions.

At most two of the agent and two of its sandbox are kept at a time, the one being written included.
"""
_LIMITS = DecodeLimits(
    total_bytes=LARGEST,
    string_bytes=LARGEST,
    array_bytes=LARGEST,
    depth=64,
    items=4_000_000,
)


class Checkpoints:
    """The states of one episode, in a folder that is created with the first one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, name: str, owner: Any, **more: Any) -> str | None:
        """Store ``owner.get_state()``, and more plain data.

        Returns:
            Its digest; ``None`` if the owner has no state, or it is too large or cannot be stored.
        """
        try:
            if not callable(getattr(owner, "get_state", None)):
                return None
            data = encode({"state": owner.get_state(), **more}, _LIMITS, name=name)
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._folder / name, data, durable=False)
        except KeyboardInterrupt:
            raise
        except BaseException:  # get_state is the agent's own code; and the disk may be full
            return None
        return hashlib.sha256(data).hexdigest()

    def load(self, name: str, digest: str | None) -> dict[str, Any] | None:
        """Return what was stored under a name, if it has this digest."""
        if digest is None:
            return None
        try:
            data = read_regular(self._folder / name, LARGEST, follow=False)
            if hashlib.sha256(data).hexdigest() != digest:
                return None
            found = decode(data, _LIMITS)
        except (OSError, CodecError):
            return None
        return found if isinstance(found, dict) and "state" in found else None

    def keep_only(self, *names: str) -> None:
        """Remove all others."""
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if path.name not in names:
                with suppress(OSError):
                    path.unlink()

    def clear(self) -> None:
        """Remove all."""
        shutil.rmtree(self._folder, ignore_errors=True)
