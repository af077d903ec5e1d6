"""Rules by open_spiel."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled
from ludus.spaces import Box

__all__ = ["SpielPosition", "SpielRules", "import_spiel"]


_DENSE = 512
"""Up to this number of moves, open_spiel's mask is faster to read than its list of legal moves."""


def import_spiel() -> Any:
    """Import open_spiel.

    Raises:
        DependencyNotInstalled: It is missing; the message says what to install.
    """
    try:
        import pyspiel
    except ImportError as problem:
        raise DependencyNotInstalled(
            f"Board games need open_spiel, which is not installed; run `{pip_install('board')}`"
        ) from problem
    return pyspiel


class SpielRules:
    """One of open_spiel's games.

    Args:
        name: The game's name in Ludus.
        spiel: Its name in open_spiel, with parameters.
        colors: Of the player who moves first, and of the other.
        squares: Reads the rows of the board from a state.
        text: Writes a state as text; by default as open_spiel does.
        pass_move: The number of the move that passes, if there is one.
        flipped: Size of a board whose rows open_spiel counts from below; here row 0 is on top.
        bounded: Whether observations lie between 0 and 1.
        dtype: Type of the observations.
    """

    def __init__(
        self,
        name: str,
        spiel: str,
        colors: tuple[str, str],
        squares: Callable[[Any], list[str]],
        *,
        text: Callable[[Any], str] = str,
        pass_move: int | None = None,
        flipped: int = 0,
        bounded: bool = True,
        dtype: type[np.floating[Any]] = np.float32,
    ) -> None:
        self.name = name
        self.colors = colors
        self.squares = squares
        self.text = text
        self.pass_move = pass_move
        self.flipped = flipped
        self.game = import_spiel().load_game(spiel)
        self.moves = int(self.game.num_distinct_actions())
        # Dice may decide who moves first; then player 0 here is player 0 there.
        begin = self.game.new_initial_state()
        self.first = 0 if begin.is_chance_node() else int(begin.current_player())
        self.shape = tuple(self.game.observation_tensor_shape())
        low, high = (0.0, 1.0) if bounded else (-np.inf, np.inf)
        self.observation_space = Box(low, high, self.shape, dtype)
        self._observer: Any = None

    def __getstate__(self) -> dict[str, Any]:
        # An observer cannot be pickled, and is created again when needed.
        return {**self.__dict__, "_observer": None}

    def start(self, rng: np.random.Generator) -> SpielPosition:
        """Return the first position, dice thrown."""
        position = SpielPosition(self, self.game.new_initial_state())
        position.throw(rng)
        return position

    def resume(self, history: list[int]) -> SpielPosition:
        """Return the position after a history of open_spiel's actions."""
        state = self.game.new_initial_state()
        for action in history:
            if state.is_terminal() or int(action) not in state.legal_actions():
                raise ValueError(f"{action!r} is no move of {self.name} in\n{state}")
            state.apply_action(int(action))
        if state.is_chance_node():
            raise ValueError(f"the history ends before dice that are due in\n{state}")
        return SpielPosition(self, state)

    def convert(self, action: int) -> int:
        """Translate a move from Ludus's numbering to open_spiel's, or back."""
        size = self.flipped
        if not size or action >= size * size:
            return action
        row, column = divmod(action, size)
        return (size - 1 - row) * size + column

    def observe(self, state: Any, player: int) -> NDArray[Any]:
        """Return a new array of open_spiel's planes of a state."""
        if self._observer is None:
            observation = importlib.import_module("open_spiel.python.observation")
            self._observer = observation.make_observation(self.game)
        self._observer.set_from(state, player)
        planes = self._observer.tensor.reshape(self.shape)
        if self.flipped:
            planes = planes[:, ::-1]
        # Copied, because the next call overwrites the observer's memory.
        return np.array(planes, dtype=self.observation_space.dtype, order="C")


class SpielPosition:
    """A state of open_spiel under Ludus's numbering of players and moves."""

    def __init__(self, rules: SpielRules, state: Any) -> None:
        self.rules = rules
        self.state = state
        self._mask: NDArray[np.int8] | None = None

    @property
    def history(self) -> list[int]:
        """Moves and dice in open_spiel's numbering."""
        return [int(action) for action in self.state.history()]

    @property
    def last(self) -> int | None:
        """The last move, or throw of dice."""
        history = self.state.history()
        return self.rules.convert(int(history[-1])) if history else None

    @property
    def to_move(self) -> int:
        """The player whose turn it is."""
        return int(self.state.current_player() != self.rules.first)

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return bool(self.state.is_terminal())

    def legal(self) -> list[int]:
        """Return the moves allowed."""
        moves: list[int] = np.flatnonzero(self.mask()).tolist()
        return moves

    def mask(self) -> NDArray[np.int8]:
        """Return 1 for each move allowed."""
        if self._mask is None:
            self._mask = self._read_mask()
        return self._mask

    def _read_mask(self) -> NDArray[np.int8]:
        if self.rules.moves > _DENSE:
            mask = np.zeros(self.rules.moves, dtype=np.int8)
            if not self.over:
                mask[self.state.legal_actions()] = 1
        else:
            mask = np.frombuffer(bytearray(self.state.legal_actions_mask()), dtype=np.int8)
        size = self.rules.flipped
        if size:
            board = mask[: size * size].reshape(size, size)
            board[:] = board[::-1].copy()
        return mask

    def play(self, action: int, rng: np.random.Generator) -> None:
        """Make a legal move."""
        self.state.apply_action(self.rules.convert(action))
        self._mask = None
        self.throw(rng)

    def throw(self, rng: np.random.Generator) -> None:
        """Throw the dice that are due."""
        while self.state.is_chance_node():
            outcomes, chances = zip(*self.state.chance_outcomes(), strict=True)
            drawn = int(np.searchsorted(np.cumsum(chances), rng.random(), side="right"))
            self.state.apply_action(outcomes[min(drawn, len(outcomes) - 1)])

    def results(self) -> tuple[float, float]:
        """Return each player's result."""
        won = self.state.returns()
        # Adding zero turns open_spiel's -0.0 into 0.0.
        return won[self.rules.first] + 0.0, won[1 - self.rules.first] + 0.0

    def observation(self, player: int) -> NDArray[Any]:
        """Return open_spiel's planes of the board."""
        return self.rules.observe(self.state, player ^ self.rules.first)

    def squares(self) -> list[str]:
        """Return the rows of the board."""
        return self.rules.squares(self.state)

    def text(self) -> str:
        """Return the board as text."""
        return self.rules.text(self.state).rstrip() + "\n"
