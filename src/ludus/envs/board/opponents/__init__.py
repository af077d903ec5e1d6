"""Opponents of an agent."""

from __future__ import annotations

from ludus.envs.board.opponents.choose import opponent_of
from ludus.envs.board.opponents.contract import Opponent

__all__ = ["Opponent", "opponent_of"]
