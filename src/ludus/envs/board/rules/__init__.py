"""The rules of board games."""

from __future__ import annotations

from ludus.envs.board.rules.contract import Position, Rules
from ludus.envs.board.rules.legality import as_move, illegal, is_legal
from ludus.envs.board.rules.table import GAMES, rules_of

__all__ = ["GAMES", "Position", "Rules", "as_move", "illegal", "is_legal", "rules_of"]
