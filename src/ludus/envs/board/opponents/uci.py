"""Stockfish as an opponent, through the Universal Chess Interface."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.envs.board.opponents.process import EngineProcess
from ludus.envs.board.opponents.settings import EngineSettings, find_engine
from ludus.envs.board.rules.contract import Position, Rules
from ludus.envs.board.rules.spiel import SpielPosition, SpielRules, import_spiel
from ludus.errors import Error

__all__ = ["StockfishOpponent", "long_notation"]


def long_notation(state: Any, action: int) -> str:
    """Return a chess move as engines write it: ``e2e4``, ``e7e8q``."""
    chess = import_spiel().chess
    return str(chess.action_to_move(action, state.board()).to_lan())


class StockfishOpponent:
    """Plays chess with ``skill`` 0 to 20, searching ``settings.nodes`` positions for a move.

    With the skill 20 the move depends on the position only; below it the engine makes random
    mistakes, with a generator that cannot be seeded.

    Raises:
        Error: The game is not chess, or the skill is out of range.
        DependencyNotInstalled: There is no program ``stockfish``.
    """

    def __init__(self, rules: Rules, skill: int = 20, *, settings: EngineSettings) -> None:
        if rules.name != "chess" or not isinstance(rules, SpielRules):
            raise Error(f"The opponent 'stockfish' plays chess only, not {rules.name}.")
        if not 0 <= skill <= 20:
            raise Error(f"Stockfish has the skills 0 to 20, got {skill}.")
        self._command = [find_engine("stockfish", settings)]
        self._skill = skill
        self._settings = settings
        self._engine: EngineProcess | None = None

    def _start(self) -> EngineProcess:
        engine = EngineProcess(self._command, self._settings)
        engine.write("uci")
        engine.read_until(lambda line: line == "uciok")
        for name, value in (("Threads", 1), ("Hash", 16), ("Skill Level", self._skill)):
            engine.write(f"setoption name {name} value {value}")
        return engine

    def move(self, position: Position, rng: np.random.Generator) -> int | None:
        """Return the engine's move."""
        if not isinstance(position, SpielPosition):
            raise Error("Stockfish plays by the rules of open_spiel's chess only.")
        if self._engine is None or not self._engine.alive:
            self.close()
            self._engine = self._start()
        engine = self._engine
        # Clears the hash table, because an earlier search would change this one.
        engine.write("ucinewgame", "isready")
        engine.read_until(lambda line: line == "readyok")
        moves = " ".join(_moves(position))
        engine.write(f"position startpos moves {moves}", f"go nodes {self._settings.nodes}")
        answer = engine.read_until(lambda line: line.startswith("bestmove"))[-1].split()
        found = answer[1] if len(answer) > 1 else ""
        for action in position.state.legal_actions():
            if long_notation(position.state, action) == found:
                return int(action)
        raise Error(f"Stockfish chose {found!r}, which is illegal in\n{position.text()}")

    def close(self) -> None:
        """Stop the engine."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def _moves(position: SpielPosition) -> list[str]:
    state, moves = position.rules.game.new_initial_state(), []
    for action in position.history:
        moves.append(long_notation(state, action))
        state.apply_action(action)
    return moves
