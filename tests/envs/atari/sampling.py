"""Which games a quick run looks at: loading a cartridge takes a good part of a second."""

from __future__ import annotations

from ludus.envs.atari.games import GAMES
from ludus.envs.atari.registration import SPECS
from tests.sampling import ALL

QUICK = ("breakout", "kaboom", "montezuma_revenge", "pitfall2", "pong")
GAMES_TRIED = tuple(game for game, _, _ in GAMES) if ALL else QUICK
"""All games with ``LUDUS_TEST_ALL=1``."""
IDS_TRIED = (
    "ALE/Pong-v5",
    "ALE/MontezumaRevenge-v5",
    "ALE/Tetris-v5",
    "Breakout-v0",
    "Breakout-v4",
    "BreakoutDeterministic-v4",
    "BreakoutNoFrameskip-v0",
    "BreakoutNoFrameskip-v4",
    "Breakout-ram-v4",
    "Breakout-ramNoFrameskip-v4",
    "SpaceInvadersDeterministic-v4",
)
"""One id of each kind, some of games with oddities."""
ALL_IDS = tuple(spec.id for spec in SPECS)
