"""GNU Go as an opponent, through the Go Text Protocol."""

from __future__ import annotations

import numpy as np

from ludus.envs.board.opponents.process import EngineProcess
from ludus.envs.board.opponents.settings import EngineSettings, find_engine
from ludus.envs.board.rules.contract import Position, Rules
from ludus.envs.board.rules.spiel import SpielRules
from ludus.envs.board.rules.table import KOMI
from ludus.errors import Error

__all__ = ["GnuGoOpponent", "point_of", "vertex_of"]

_LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
_RULES = {
    # Superko, because open_spiel ends repetitions as a draw; and dead stones are captured before
    # passing, because they are not removed.
    "go": ["--positional-superko", "--capture-all-dead"],
    "classic-go": ["--simple-ko", "--allow-suicide", "--capture-all-dead"],
}


def vertex_of(action: int, size: int) -> str:
    """Return a move as GTP writes it: ``A9`` for 0 on a board of 9, ``pass`` for 81."""
    row, column = divmod(action, size)
    return "pass" if row >= size else f"{_LETTERS[column]}{size - row}"


def point_of(vertex: str, size: int) -> int:
    """Undo :func:`vertex_of`.

    Raises:
        ValueError: It is not a vertex of this board.
    """
    if vertex.lower() == "pass":
        return size * size
    column, row = _LETTERS[:size].index(vertex[:1].upper()), size - int(vertex[1:])
    if not 0 <= row < size:
        raise ValueError(f"{vertex!r} is not on a board of {size}")
    return row * size + column


class GnuGoOpponent:
    """Plays Go at ``level`` 1 to 10.

    The engine receives the whole game before each move, so that it needs no state.

    Raises:
        Error: The game is not Go, or the level is out of range.
        DependencyNotInstalled: There is no program ``gnugo``.
    """

    def __init__(self, rules: Rules, level: int = 10, *, settings: EngineSettings) -> None:
        if rules.name not in KOMI or rules.pass_move is None:
            raise Error(f"The opponent 'gnugo' plays Go only, not {rules.name}.")
        if not 1 <= level <= 10:
            raise Error(f"GNU Go has the levels 1 to 10, got {level}.")
        self._rules = rules
        self._size = int(rules.pass_move**0.5)
        self._settings = settings
        program = find_engine("gnugo", settings)
        options = ["--mode", "gtp", "--level", str(level), "--chinese-rules"]
        self._command = [program, *options, *_RULES[rules.name]]
        self._engine: EngineProcess | None = None

    def move(self, position: Position, rng: np.random.Generator) -> int | None:
        """Return the engine's move."""
        if self._engine is None or not self._engine.alive:
            self.close()
            self._engine = EngineProcess(self._command, self._settings)
        questions = [
            f"boardsize {self._size}",
            "clear_board",
            # Clears its cache, because other positions would change its moves.
            "clear_cache",
            f"komi {KOMI[self._rules.name]}",
            f"set_random_seed {rng.integers(2**31)}",
            *self._moves(position),
            f"genmove {'bw'[position.to_move]}",
        ]
        answer = self._ask(self._engine, questions)
        if answer.lower() == "resign":
            return None
        try:
            move = point_of(answer, self._size)
        except ValueError as problem:
            raise Error(f"GNU Go answered {answer!r} when asked for a move.") from problem
        if not position.mask()[move]:
            raise Error(f"GNU Go chose {answer}, which is illegal in\n{position.text()}")
        return move

    def _moves(self, position: Position) -> list[str]:
        convert = self._rules.convert if isinstance(self._rules, SpielRules) else int
        vertices = (vertex_of(convert(action), self._size) for action in position.history)
        return [f"play {'bw'[number % 2]} {vertex}" for number, vertex in enumerate(vertices)]

    def _ask(self, engine: EngineProcess, questions: list[str]) -> str:
        """Return the answer to the last question."""
        engine.write(*questions)
        answer = ""
        for question in questions:
            # An answer is a line that starts with = or ?, and ends with an empty line.
            lines = engine.read_until(lambda line: line == "")
            while not any(lines):
                lines = engine.read_until(lambda line: line == "")
            answer = lines[0]
            if not answer.startswith("="):
                # Later output must not be read as the answer to another question.
                self.close()
                raise Error(f"GNU Go refused {question!r}: {answer.lstrip('? ')!r}.")
        return answer[1:].strip()

    def close(self) -> None:
        """Stop the engine."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
