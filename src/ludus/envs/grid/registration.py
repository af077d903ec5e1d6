"""The grid family as data."""

from __future__ import annotations

from typing import Any

from ludus.core.spec import EnvSpec, SecuritySpec

__all__ = ["SPECS"]

_COMMON: dict[str, Any] = {
    "family": "grid",
    "author": "Ludus",
    "licence": "MIT",
    "security": SecuritySpec(trust="builtin"),
}
_MINATAR = (
    ("Asterix", "asterix", "Collect gold in eight lanes and touch no enemy."),
    ("Breakout", "breakout", "Bounce a ball off a paddle to break rows of bricks."),
    ("Freeway", "freeway", "Bring a chicken across eight lanes of traffic, again and again."),
    ("Seaquest", "seaquest", "Shoot enemies and rescue divers before the air runs out."),
    ("SpaceInvaders", "space_invaders", "Shoot a swarm of aliens that moves down and bombs."),
)


def _minatar(name: str, file: str, description: str, version: int) -> EnvSpec:
    path = f"ludus.envs.grid.{file}:{name}Env"
    return EnvSpec(
        f"MinAtar/{name}-v{version}",
        entry_point=path,
        vector_entry_point=f"{path}.vector",
        kwargs={"use_minimal_action_set": version == 1},
        description=description,
        tags=("minatar", "arcade", "discrete-action", "stochastic"),
        **_COMMON,
    )


SPECS = tuple(_minatar(*row, version) for row in _MINATAR for version in (0, 1))
"""Version 0 has all six actions, version 1 those that do something in the game."""
