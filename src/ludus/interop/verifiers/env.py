"""How an episode is played: the environment is the model's user, and answers its actions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pydantic import Field

from ludus import optional
from ludus.errors import InvalidAction
from ludus.interop.text_play import TextEpisode, open_episode

try:
    import verifiers.v1 as vf
except ImportError as problem:
    raise optional.missing("verifiers", extra="verifiers") from problem

if TYPE_CHECKING:
    from ludus.interop.verifiers.taskset import LudusTask

__all__ = ["LudusEnv", "LudusEnvConfig"]

REWARD = "ludus_reward"


class LudusEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """Who plays, under ``--env.*``."""

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime=vf.SubprocessConfig())
    """The model; its harness only passes messages on, so that it acts through the environment."""
    max_malformed: int = Field(3, ge=1)
    """Replies in a row without a usable action after which the model has stopped."""


class LudusEnv(vf.Env[LudusEnvConfig]):  # type: ignore[misc]
    """Plays an episode with one model.

    The reward is the sum of the rewards of the episode; for a research task that is the normalised
    score of the work as it is when the model stops. The environment runs beside verifiers, and a
    research task's sandboxes with it.
    """

    async def run(self, task: LudusTask, agents: vf.Agents) -> None:
        """Play the episode of a task.

        Raises:
            ValueError: The model's harness runs programs on this machine.
            RuntimeError: The environment failed, or the work could not be graded; verifiers takes
                the episode for failed, and may repeat it.
        """
        self._refuse_programs()
        data = task.data
        episode = await asyncio.to_thread(open_episode, data.env, data.arguments)
        try:
            first = await asyncio.to_thread(episode.begin, data.seed)
            async with agents.player.interaction(task) as interaction:
                await self._converse(episode, interaction, first)
            await asyncio.to_thread(episode.finish)
            _record(episode, interaction.trace)
        finally:
            await asyncio.to_thread(episode.close)

    async def _converse(self, episode: TextEpisode, interaction: vf.Interaction, told: str) -> None:
        malformed = 0
        while not episode.is_over:
            segment = await interaction.turn(told)
            if segment.terminated:
                return
            try:
                told = await asyncio.to_thread(episode.reply, segment.last_reply)
                malformed = 0
            except InvalidAction as problem:
                malformed += 1
                if malformed >= self.config.max_malformed:
                    interaction.trace.stop("malformed_replies")
                    return
                told = str(problem)

    def _refuse_programs(self) -> None:
        """Refuse a player whose own tools would reach this machine, and what a task hides on it."""
        harness = self._harnesses["player"]
        if harness.EXECUTES_CODE and isinstance(self.config.player.runtime, vf.SubprocessConfig):
            raise ValueError(
                f"The harness {harness.config.id!r} runs the model's programs on this machine, "
                "where environments and graders are. Use --env.player.harness.id null; the model "
                "acts by its replies."
            )


def _record(episode: TextEpisode, trace: vf.Trace) -> None:
    reward = episode.reward
    if reward is None:
        why = episode.fault or episode.info.get("reason") or "the work could not be graded"
        raise RuntimeError(f"The episode has no reward: {why}")
    trace.record_reward(REWARD, reward)
    trace.record_metric("steps", float(episode.steps))
    told = ("outcome", "score", "normalised_score", "end")
    trace.info["ludus"] = {key: episode.info[key] for key in told if key in episode.info}
