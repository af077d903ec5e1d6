"""Registration of the Atari family.

``ALE/Pong-v5`` follows Machado et al. (2018). The classic ids spell their options out in the name:
``-ram`` observes the machine's memory instead of the screen; without a suffix an action lasts 2 to
4 frames at random, with ``Deterministic`` always the same number, with ``NoFrameskip`` one; the
emulator ignores a new action with probability 0.25 in version 0, never in version 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ludus.core.spec import EnvSpec, SecuritySpec
from ludus.envs.atari.games import GAMES, game_title

__all__ = ["CLASSIC", "MODERN", "SPECS"]

_HALF_AN_HOUR = 108_000
"""Frames, at sixty in a second."""
_VECTOR = "ludus.envs.atari.vector_env:AtariVectorEnv"
_SKIPS: tuple[tuple[str, int | tuple[int, int]], ...] = (
    ("", (2, 5)),
    ("Deterministic", 4),
    ("NoFrameskip", 1),
)
_STICKINESS = ((0, 0.25), (4, 0.0))
_TEMPLATE = vars(
    EnvSpec(
        "Template-v0",
        entry_point="ludus.envs.atari.env:AtariEnv",
        family="atari",
        author="Ludus",
        licence="MIT",
        homepage="https://ale.farama.org",
        security=SecuritySpec(dependencies=("ale-py>=0.12,<0.13",), trust="builtin"),
    )
)


def _spec(id: str, name: str, version: int, **fields: Any) -> EnvSpec:
    # Without the constructor, which would parse 848 ids; that would take most of the family's
    # import time.
    spec = EnvSpec.__new__(EnvSpec)
    spec.__dict__ = {**_TEMPLATE, "id": id, "name": name, "version": version, **fields}
    return spec


def _kwargs(game: str, stickiness: float, frameskip: int | tuple[int, int]) -> dict[str, Any]:
    return {
        "game": game,
        "repeat_action_probability": stickiness,
        "full_action_space": False,
        "frameskip": frameskip,
        "max_num_frames_per_episode": _HALF_AN_HOUR,
    }


def _tags(observed: str, stochastic: bool) -> tuple[str, ...]:
    return ("arcade", "discrete-action", observed, *(("stochastic",) if stochastic else ()))


_IMAGE = {stochastic: _tags("image", stochastic) for stochastic in (False, True)}
_RAM = {stochastic: _tags("ram", stochastic) for stochastic in (False, True)}
_OBSERVED: tuple[tuple[str, dict[bool, tuple[str, ...]], dict[str, str]], ...] = (
    ("", _IMAGE, {}),
    ("-ram", _RAM, {"obs_type": "ram"}),
)


def _classic(game: str, description: str) -> Iterator[EnvSpec]:
    title = game_title(game)
    for suffix, tags, observed in _OBSERVED:
        for skip, frames in _SKIPS:
            # Four frames would hide the shots of this game, which blink with that period.
            blinking = game == "space_invaders" and skip == "Deterministic"
            name = f"{title}{suffix}{skip}"
            for version, stickiness in _STICKINESS:
                yield _spec(
                    f"{name}-v{version}",
                    name,
                    version,
                    kwargs={**_kwargs(game, stickiness, 3 if blinking else frames), **observed},
                    description=description,
                    tags=tags[skip == "" or version == 0],
                )


MODERN = tuple(
    _spec(
        f"ALE/{game_title(game)}-v5",
        game_title(game),
        5,
        namespace="ALE",
        vector_entry_point=_VECTOR,
        kwargs=_kwargs(game, 0.25, 4),
        description=description,
        tags=_IMAGE[True],
    )
    for game, _, description in GAMES
)

CLASSIC = tuple(
    spec for game, classic, description in GAMES if classic for spec in _classic(game, description)
)

SPECS = (*MODERN, *CLASSIC)
