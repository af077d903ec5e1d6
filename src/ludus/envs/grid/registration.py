"""Registration of the grid family."""

from __future__ import annotations

from typing import Any

from ludus.core.spec import EnvSpec, SecuritySpec

__all__ = ["MAZES", "MINATAR", "SPECS"]

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
_ROOMS = (
    (
        "FourRooms-v0",
        "four_rooms:FourRoomsEnv",
        "Find a goal in four rooms joined by doorways; every third step goes astray.",
        500,
        ("stochastic",),
    ),
    (
        "FourRoomsVisual-v0",
        "four_rooms:FourRoomsVisualEnv",
        "Find a goal in four rooms, seen from above; every third step goes astray.",
        500,
        ("stochastic", "image"),
    ),
    (
        "MetaMaze-v0",
        "meta_maze:MetaMazeEnv",
        "Find a hidden goal among pillars, then come back to it from anywhere.",
        200,
        ("stochastic", "partial-view", "memory"),
    ),
)
_WALLS, _LAVA = {"obstacle": "wall"}, {"obstacle": "lava"}
_PARTIAL_VIEWS: tuple[tuple[str, str, str, tuple[tuple[int, dict[str, Any]], ...]], ...] = (
    (
        "Empty",
        "empty_room:EmptyRoomEnv",
        "Turn and walk to the far corner of an empty room.",
        tuple((size, {}) for size in (5, 6, 8, 16)),
    ),
    (
        "EmptyRandom",
        "empty_room:EmptyRoomEnv",
        "Turn and walk from anywhere in an empty room to its corner.",
        tuple((size, {"start": None}) for size in (5, 6)),
    ),
    (
        "SimpleCrossing",
        "crossing:CrossingEnv",
        "Find the openings in walls on the way to the far corner.",
        ((9, {"crossings": 1, **_WALLS}), (11, {"crossings": 5, **_WALLS})),
    ),
    (
        "LavaCrossing",
        "crossing:CrossingEnv",
        "Cross streams of lava on the way to the far corner.",
        ((9, {"crossings": 1, **_LAVA}), (11, {"crossings": 5, **_LAVA})),
    ),
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


def _maze(
    id: str,
    path: str,
    description: str,
    limit: int,
    tags: tuple[str, ...],
    **kwargs: Any,
) -> EnvSpec:
    path = f"ludus.envs.grid.{path}"
    return EnvSpec(
        id,
        entry_point=path,
        vector_entry_point=f"{path}.vector",
        max_episode_steps=limit,
        kwargs=kwargs,
        description=description,
        tags=("maze", "discrete-action", *tags),
        **_COMMON,
    )


def _partial_view(
    kind: str, size: int, path: str, description: str, kwargs: dict[str, Any]
) -> EnvSpec:
    return _maze(
        f"Maze/{kind}-{size}x{size}-v0",
        path,
        description,
        4 * size**2,
        ("partial-view", *(() if kind == "Empty" else ("stochastic",))),
        size=size,
        **kwargs,
    )


MINATAR = tuple(_minatar(*row, version) for row in _MINATAR for version in (0, 1))
"""Version 0 has all six actions, version 1 those that do something in the game."""

MAZES = (
    *(_maze(*row) for row in _ROOMS),
    *(
        _partial_view(kind, size, path, description, kwargs)
        for kind, path, description, variants in _PARTIAL_VIEWS
        for size, kwargs in variants
    ),
)

SPECS = (*MINATAR, *MAZES)
