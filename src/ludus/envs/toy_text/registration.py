"""Registration of the toy-text family."""

from __future__ import annotations

from typing import Any

from ludus.core.spec import EnvSpec, SecuritySpec

__all__ = ["SPECS"]


def _row(env_id: str, where: str, description: str, *tags: str, **fields: Any) -> EnvSpec:
    folder = "tabular" if env_id.startswith("tabular/") else "toy_text"
    entry_point = f"ludus.envs.{folder}.{where}"
    return EnvSpec(
        env_id,
        entry_point=entry_point,
        vector_entry_point=f"{entry_point}.vector",
        description=description,
        tags=("toy-text", *tags),
        family="toy_text",
        author="Ludus",
        licence="MIT",
        security=SecuritySpec(trust="builtin"),
        **fields,
    )


_TABLE = ("discrete-action", "tabular")
_LAKE = ("frozen_lake:FrozenLakeEnv", "Cross slippery ice to the goal without falling into a hole.")
_CLIFF = ("cliffwalking:CliffWalkingEnv", "Walk along a cliff to the goal without falling off.")
_RIDE = "Fetch a passenger with a taxi and drop them off where they want to go."
_CARDS = "Come closer to 21 than the dealer without exceeding it."
_SMALL: dict[str, Any] = {"kwargs": {"map_name": "4x4"}, "max_episode_steps": 100}
_LARGE: dict[str, Any] = {"kwargs": {"map_name": "8x8"}, "max_episode_steps": 200}

SPECS = (
    _row("FrozenLake-v0", *_LAKE, *_TABLE, "sparse-reward", reward_threshold=0.78, **_SMALL),
    _row("FrozenLake-v1", *_LAKE, *_TABLE, "sparse-reward", reward_threshold=0.70, **_SMALL),
    _row("FrozenLake8x8-v0", *_LAKE, *_TABLE, "sparse-reward", reward_threshold=0.99, **_LARGE),
    _row("FrozenLake8x8-v1", *_LAKE, *_TABLE, "sparse-reward", reward_threshold=0.85, **_LARGE),
    _row("CliffWalking-v0", *_CLIFF, *_TABLE, "dense-reward"),
    _row("CliffWalking-v1", *_CLIFF, *_TABLE, "dense-reward"),
    _row("CliffWalkingSlippery-v1", *_CLIFF, *_TABLE, "dense-reward", kwargs={"is_slippery": True}),
    *(
        _row(
            f"Taxi-v{version}",
            f"taxi:{name}",
            _RIDE,
            *_TABLE,
            "dense-reward",
            reward_threshold=threshold,
            max_episode_steps=200,
        )
        for version, name, threshold in (
            (1, "TaxiV1Env", 9.7),
            (2, "TaxiV2Env", 8),
            (3, "TaxiEnv", 8),
            (4, "TaxiEnv", 8),
        )
    ),
    _row(
        "Blackjack-v0",
        "blackjack:BlackjackV0Env",
        _CARDS,
        "discrete-action",
        "sparse-reward",
    ),
    _row(
        "Blackjack-v1",
        "blackjack:BlackjackEnv",
        _CARDS,
        "discrete-action",
        "sparse-reward",
        kwargs={"sab": True, "natural": False},
    ),
    _row(
        "NChain-v0",
        "nchain:NChainEnv",
        "Walk to the end of a chain for a large reward, or turn back for a small one.",
        "discrete-action",
        "dense-reward",
        max_episode_steps=1000,
    ),
    _row(
        "Roulette-v0",
        "roulette:RouletteEnv",
        "Bet on a roulette wheel, or walk away.",
        "discrete-action",
        "dense-reward",
        max_episode_steps=100,
    ),
    _row(
        "GuessingGame-v0",
        "guessing_game:GuessingGameEnv",
        "Find a hidden number from hints of higher and lower.",
        "continuous-action",
        "sparse-reward",
        max_episode_steps=200,
    ),
    _row(
        "HotterColder-v0",
        "hotter_colder:HotterColderEnv",
        "Find a hidden number from rewards that grow as guesses come closer.",
        "continuous-action",
        "dense-reward",
        max_episode_steps=200,
    ),
    _row(
        "KellyCoinflip-v0",
        "kelly_coinflip:KellyCoinflipEnv",
        "Bet on a coin that favours you, up to a cap.",
        "discrete-action",
        "sparse-reward",
        reward_threshold=246.61,
    ),
    EnvSpec(
        "KellyCoinflipGeneralized-v0",
        entry_point=("ludus.envs.toy_text.kelly_coinflip_generalized:KellyCoinflipGeneralizedEnv"),
        description="Bet on a coin whose favour has to be found out.",
        tags=("toy-text", "discrete-action", "sparse-reward"),
        family="toy_text",
        author="Ludus",
        licence="MIT",
        security=SecuritySpec(trust="builtin"),
    ),
    # Gymnasium's functional variants, which skip the checker as they do there.
    _row(
        "tabular/Blackjack-v0",
        "blackjack:BlackJackJaxEnv",
        _CARDS,
        "discrete-action",
        "sparse-reward",
        "functional",
        disable_env_checker=True,
    ),
    _row(
        "tabular/CliffWalking-v0",
        "cliffwalking:CliffWalkingJaxEnv",
        _CLIFF[1],
        "tabular",
        "dense-reward",
        "functional",
        disable_env_checker=True,
    ),
)
