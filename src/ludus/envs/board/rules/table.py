"""The games, by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ludus.envs.arguments import positive_int
from ludus.envs.board.rules import boards
from ludus.envs.board.rules.classic_go import ClassicGo
from ludus.envs.board.rules.contract import Rules
from ludus.envs.board.rules.spiel import SpielRules
from ludus.errors import Error

__all__ = ["GAMES", "KOMI", "rules_of"]

_STONES = ("black", "white")
_MARKS = ("x", "o")
KOMI = {"go": 7.5, "classic-go": 0.0}
"""White's compensation for moving second."""


def _go(size: int) -> Rules:
    name = f"go(board_size={size},komi={KOMI['go']})"
    last = size * size
    return SpielRules("go", name, _STONES, boards.go_squares, pass_move=last, flipped=size)


def _hex(size: int) -> Rules:
    name = f"hex(board_size={size},plain_obs_tensor=true)"
    return SpielRules("hex", name, _STONES, boards.hex_squares, text=boards.hex_text)


def _classic_hex(size: int) -> Rules:
    return SpielRules(
        "classic-hex",
        f"hex(board_size={size},plain_obs_tensor=true)",
        _STONES,
        boards.hex_squares,
        text=boards.classic_hex_text,
        dtype=np.float64,
    )


def _backgammon(_: int) -> Rules:
    return SpielRules(
        "backgammon",
        "backgammon",
        _MARKS,
        boards.backgammon_squares,
        text=boards.backgammon_text,
        bounded=False,
    )


def _chess(_: int) -> Rules:
    sides = ("white", "black")
    return SpielRules("chess", "chess", sides, boards.chess_squares, text=boards.chess_text)


def _connect_four(_: int) -> Rules:
    return SpielRules("connect-four", "connect_four", _MARKS, boards.plain_squares)


def _othello(_: int) -> Rules:
    return SpielRules("othello", "othello", _STONES, boards.othello_squares, pass_move=64)


def _tic_tac_toe(_: int) -> Rules:
    return SpielRules("tic-tac-toe", "tic_tac_toe", _MARKS, boards.plain_squares)


GAMES: dict[str, tuple[int, range, Callable[[int], Rules]]] = {
    "backgammon": (0, range(0), _backgammon),
    "chess": (0, range(0), _chess),
    "classic-go": (9, range(2, 20), ClassicGo),
    "classic-hex": (9, range(2, 27), _classic_hex),
    "connect-four": (0, range(0), _connect_four),
    "go": (9, range(2, 20), _go),
    "hex": (11, range(2, 27), _hex),
    "othello": (0, range(0), _othello),
    "tic-tac-toe": (0, range(0), _tic_tac_toe),
}
"""Usual size of the board, 0 where there is only one; sizes it can have; how to build the rules."""


def rules_of(game: str, board_size: int | None = None) -> Rules:
    """Return the rules of a game.

    Raises:
        Error: There is no such game, or not with such a board.
        ValueError: The size is not a positive integer.
        DependencyNotInstalled: open_spiel is not installed.
    """
    if not isinstance(game, str) or game not in GAMES:
        raise Error(f"game={game!r} is unknown; expected one of {sorted(GAMES)}.")
    usual, sizes, build = GAMES[game]
    if board_size is None:
        return build(usual)
    if not usual:
        raise Error(f"board_size={board_size!r} was given, but {game} has one size; leave it out.")
    size = positive_int("board_size", board_size)
    if size not in sizes:
        raise Error(f"board_size={size}; {game} has boards of {sizes[0]} to {sizes[-1]}.")
    return build(size)
