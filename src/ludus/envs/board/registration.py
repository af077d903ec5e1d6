"""Registration of the board games."""

from __future__ import annotations

from typing import Any

from ludus.core.spec import EnvSpec, SecuritySpec

__all__ = ["SPECS"]

_GO = "Surround more of the board than the opponent."
_HEX = "Join two sides of the board with a chain of stones."
_GAMES: tuple[tuple[str, str, dict[str, Any], tuple[str, ...]], ...] = (
    ("TicTacToe-v1", "Put three marks in a row.", {"game": "tic-tac-toe"}, ()),
    ("ConnectFour-v1", "Drop discs to put four in a row.", {"game": "connect-four"}, ()),
    ("Othello-v1", "Turn the opponent's discs by enclosing them.", {"game": "othello"}, ()),
    ("Backgammon-v1", "Race fifteen checkers home by dice.", {"game": "backgammon"}, ("dice",)),
    ("Chess-v1", "Checkmate the opponent's king.", {"game": "chess", "resign": True}, ()),
    *(
        (
            f"Go{size}x{size}-v1",
            _GO,
            {"game": "go", "board_size": size, "resign": True},
            (),
        )
        for size in (9, 13, 19)
    ),
    *(
        (f"Hex{size}x{size}-v1", _HEX, {"game": "hex", "board_size": size, "resign": True}, ())
        for size in (9, 11)
    ),
    *(
        (
            f"Go{size}x{size}-v0",
            _GO + " Gym's rules: no komi, no dead stones.",
            {"game": "classic-go", "board_size": size, "resign": True},
            ("classic",),
        )
        for size in (9, 19)
    ),
    (
        "Hex9x9-v0",
        _HEX + " Gym's observations.",
        {"game": "classic-hex", "board_size": 9, "resign": True},
        ("classic",),
    ),
)


def _spec(id: str, description: str, kwargs: dict[str, Any], tags: tuple[str, ...]) -> EnvSpec:
    return EnvSpec(
        id,
        entry_point="ludus.envs.board.env:BoardEnv",
        vector_entry_point="ludus.envs.board.vector_env:BoardVectorEnv",
        kwargs=kwargs,
        description=description,
        tags=("two-player", "action-mask", "discrete-action", "stochastic", *tags),
        family="board",
        author="Ludus",
        licence="MIT",
        security=SecuritySpec(
            dependencies=("open_spiel>=2.0.2,<3",), subprocess=True, trust="builtin"
        ),
    )


SPECS = tuple(_spec(*row) for row in _GAMES)
"""Version 0 has the rules of OpenAI Gym, version 1 the standard ones."""
