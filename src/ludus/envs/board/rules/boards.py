"""Reads boards from open_spiel's states, as rows of characters and as text."""

from __future__ import annotations

from typing import Any

__all__ = [
    "backgammon_squares",
    "backgammon_text",
    "chess_squares",
    "chess_text",
    "classic_hex_text",
    "go_squares",
    "hex_squares",
    "hex_text",
    "othello_squares",
    "plain_squares",
]

# open_spiel writes stones of Hex by the sides that they are joined to.
_HEX = str.maketrans({**dict.fromkeys("xXyz", "x"), **dict.fromkeys("oOpq", "o")})
_CHECKERS = 15
_BAR = 100
"""The number of the bar among open_spiel's points."""


def plain_squares(state: Any) -> list[str]:
    """Return the rows of a game whose text consists of its rows only."""
    return str(state).split()


def othello_squares(state: Any) -> list[str]:
    """Return the rows of Othello."""
    lines = str(state).splitlines()
    rows = [line for line in lines if line[:1].isdigit()]
    return ["".join(row.split()[1:9]).replace("-", ".") for row in rows]


def go_squares(state: Any) -> list[str]:
    """Return the rows of Go, the highest number first."""
    lines = [line.split() for line in str(state).splitlines()]
    names = str.maketrans("+XO", ".xo")
    return [words[1].translate(names) for words in lines if len(words) == 2 and words[0].isdigit()]


def hex_squares(state: Any) -> list[str]:
    """Return the rows of Hex."""
    rows = [line.split() for line in str(state).splitlines()]
    return ["".join(cells).translate(_HEX) for cells in rows if cells]


def hex_text(state: Any) -> str:
    """Return the board of Hex, each row half a cell further to the right."""
    return "\n".join(" " * i + " ".join(row) for i, row in enumerate(hex_squares(state)))


def classic_hex_text(state: Any) -> str:
    """Return the board as OpenAI Gym wrote it: ``O`` for empty cells, ``B`` and ``W``."""
    rows = hex_squares(state)
    size = len(rows)
    indent = " " * 5
    lines = [indent + "".join(f" {column + 1}  | " for column in range(size))]
    lines.append(indent + "-" * (6 * size - 1))
    for i, row in enumerate(rows):
        cells = "".join(f"  {'OBW'['.xo'.index(cell)]}  |" for cell in row)
        lines.append(" " * (2 + 3 * i) + f"{i + 1}  |{cells}")
        lines.append(" " * (3 * i + 1) + "-" * (7 * size - 1))
    return "\n".join(lines)


def chess_squares(state: Any) -> list[str]:
    """Return the ranks from the eighth to the first; white's pieces are capital letters."""
    ranks = str(state).split()[0].split("/")
    return ["".join("." * int(c) if c.isdigit() else c for c in rank) for rank in ranks]


def chess_text(state: Any) -> str:
    """Return the board, and below it the position in Forsyth-Edwards notation."""
    rows = [f"{8 - i} {' '.join(row)}" for i, row in enumerate(chess_squares(state))]
    return "\n".join([*rows, "  a b c d e f g h", str(state)])


def backgammon_squares(state: Any) -> list[str]:
    """Return the checkers on each point, on the bar, and borne off; then the dice.

    The points are in the order in which player 0 passes them; bar and home have one row for each
    player.
    """
    points = ["x" * state.board(0, point) + "o" * state.board(1, point) for point in range(24)]
    bars = ["xo"[player] * state.board(player, _BAR) for player in (0, 1)]
    left = [_CHECKERS - sum(row.count(side) for row in (*points, *bars)) for side in "xo"]
    (dice,) = [line for line in str(state).splitlines() if line.startswith("Dice:")]
    return [*points, *bars, "x" * left[0], "o" * left[1], dice.removeprefix("Dice:").strip()]


def backgammon_text(state: Any) -> str:
    """Return the board as open_spiel writes it, without its history of turns."""
    lines = str(state).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("Previous", "Extra")))
