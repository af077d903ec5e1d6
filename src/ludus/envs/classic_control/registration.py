"""The classic-control family as data."""

from __future__ import annotations

from typing import Any

from ludus.core.spec import EnvSpec, SecuritySpec

__all__ = ["SPECS"]

_COMMON: dict[str, Any] = {
    "family": "classic_control",
    "author": "Ludus",
    "licence": "MIT",
    "security": SecuritySpec(trust="builtin"),
}
_CARTPOLE: dict[str, Any] = {
    "entry_point": "ludus.envs.classic_control.cartpole:CartPoleEnv",
    "description": "Keep a pole upright on a cart by pushing the cart left or right.",
    "tags": ("classic", "discrete-action", "dense-reward"),
    **_COMMON,
}

SPECS = (
    EnvSpec("CartPole-v0", max_episode_steps=200, reward_threshold=195.0, **_CARTPOLE),
    EnvSpec("CartPole-v1", max_episode_steps=500, reward_threshold=475.0, **_CARTPOLE),
    EnvSpec(
        "Pendulum-v1",
        entry_point="ludus.envs.classic_control.pendulum:PendulumEnv",
        max_episode_steps=200,
        description="Swing a pendulum up and keep it upright with limited torque.",
        tags=("classic", "continuous-action", "dense-reward"),
        **_COMMON,
    ),
)
