"""Registration of the classic-control family."""

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
    "vector_entry_point": "ludus.envs.classic_control.cartpole:CartPoleEnv.vector",
    "description": "Keep a pole upright on a cart by pushing the cart left or right.",
    "tags": ("classic", "discrete-action", "dense-reward"),
    **_COMMON,
}


def _kernel_env(place: str) -> dict[str, Any]:
    """Return the common fields of the rows of environments with kernels."""
    entry_point = f"ludus.envs.classic_control.{place}"
    return {
        "entry_point": entry_point,
        "vector_entry_point": f"{entry_point}.vector",
        **_COMMON,
    }


def _functional(name: str, **fields: Any) -> EnvSpec:
    """Return a row of Gymnasium's functional variants, which skips the checker as it does there."""
    game = name.partition("-")[0]
    entry_point = f"ludus.envs.phys2d.{game.lower()}:{game}JaxEnv"
    action = "discrete-action" if game == "CartPole" else "continuous-action"
    return EnvSpec(
        f"phys2d/{name}",
        entry_point=entry_point,
        vector_entry_point=f"{entry_point}.vector",
        disable_env_checker=True,
        description=f"{game} as Gymnasium's functional environment has it.",
        tags=("classic", action, "dense-reward", "functional"),
        **_COMMON,
        **fields,
    )


SPECS = (
    EnvSpec("CartPole-v0", max_episode_steps=200, reward_threshold=195.0, **_CARTPOLE),
    EnvSpec("CartPole-v1", max_episode_steps=500, reward_threshold=475.0, **_CARTPOLE),
    EnvSpec(
        "MountainCar-v0",
        max_episode_steps=200,
        reward_threshold=-110.0,
        description="Rock a weak car up a hill by pushing left, right or not at all.",
        tags=("classic", "discrete-action", "sparse-reward"),
        **_kernel_env("mountain_car:MountainCarEnv"),
    ),
    EnvSpec(
        "MountainCarContinuous-v0",
        max_episode_steps=999,
        reward_threshold=90.0,
        description="Rock a weak car up a hill with a force of any size, which costs.",
        tags=("classic", "continuous-action", "sparse-reward"),
        **_kernel_env("continuous_mountain_car:Continuous_MountainCarEnv"),
    ),
    EnvSpec(
        "Pendulum-v1",
        max_episode_steps=200,
        description="Swing a pendulum up and keep it upright with limited torque.",
        tags=("classic", "continuous-action", "dense-reward"),
        **_kernel_env("pendulum:PendulumEnv"),
    ),
    EnvSpec(
        "Acrobot-v1",
        max_episode_steps=500,
        reward_threshold=-100.0,
        description="Swing two links up to a height with a motor at the elbow.",
        tags=("classic", "discrete-action", "sparse-reward"),
        **_kernel_env("acrobot:AcrobotEnv"),
    ),
    _functional("CartPole-v0", max_episode_steps=200, reward_threshold=195.0),
    _functional("CartPole-v1", max_episode_steps=500, reward_threshold=475.0),
    _functional("Pendulum-v0", max_episode_steps=200),
)
