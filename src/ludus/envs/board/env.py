"""A board game against an opponent."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from ludus.core.env import Env
from ludus.core.types import State
from ludus.envs.board.drawing import picture_of
from ludus.envs.board.opponents import opponent_of
from ludus.envs.board.rules import Position, as_move, illegal, is_legal, rules_of
from ludus.envs.screen import show_text
from ludus.errors import Error, ResetNeeded, StateError, UnsupportedMode
from ludus.spaces import Discrete

__all__ = ["ILLEGAL_MOVE_MODES", "BoardEnv"]

_CLASSIC = ("classic-go", "classic-hex")
ILLEGAL_MOVE_MODES = ("lose", "raise")


class BoardEnv(Env[Any, Any]):
    """One side of a board game; the other side is part of the environment.

    The reward is 0 until the end, then the result of the game: 1 for a win, -1 for a loss, 0 for a
    draw. ``info["action_mask"]`` marks the legal moves, as ``action_space.sample(mask)`` takes
    them; resigning, where offered, is always possible and never marked.

    Args:
        game: Name of the game, one of :data:`ludus.envs.board.rules.GAMES`.
        board_size: Points per side, for games whose boards differ.
        player_color: The agent's side; by default the one that moves first.
        opponent: The opponent, see :func:`ludus.envs.board.opponents.opponent_of`.
        illegal_move_mode: ``"lose"`` the game by an illegal move, or ``"raise"``.
        resign: Offer one more action, the last one, that gives the game up.
        engine_options: Path and limits of an opponent that is a program, see
            :class:`ludus.envs.board.opponents.settings.EngineSettings`.
        render_mode: ``"ansi"`` returns the board as text, ``"human"`` prints it after
            every reset and step, ``"rgb_array"`` returns a picture.

    Raises:
        Error: An option has no such value, or there is no such game or opponent.
        DependencyNotInstalled: open_spiel is not installed.
    """

    metadata = {"render_modes": ["human", "ansi", "rgb_array"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        game: str,
        *,
        board_size: int | None = None,
        player_color: str | None = None,
        opponent: Any = "random",
        illegal_move_mode: str = "lose",
        resign: bool = False,
        engine_options: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
    ) -> None:
        if illegal_move_mode not in ILLEGAL_MOVE_MODES:
            raise Error(
                f"illegal_move_mode={illegal_move_mode!r}; expected one of {ILLEGAL_MOVE_MODES}."
            )
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            modes = self.metadata["render_modes"]
            raise UnsupportedMode(f"render_mode={render_mode!r}; expected None or one of {modes}.")
        self.rules = rules_of(game, board_size)
        colors = self.rules.colors
        if player_color is not None and player_color not in colors:
            raise Error(f"player_color={player_color!r}; {game} has the colours {colors}.")
        self.player = colors.index(player_color) if player_color else 0
        self.opponent = opponent_of(opponent, self.rules, engine_options)
        self.illegal_move_mode = illegal_move_mode
        self.render_mode = render_mode
        self.resign_action = self.rules.moves if resign else None
        self.observation_space = self.rules.observation_space
        self._actions = self.rules.moves + bool(resign)
        self.action_space = Discrete(self._actions)
        self._classic = game in _CLASSIC
        self._position: Position | None = None
        self._done = False

    @property
    def position(self) -> Position:
        """The current position.

        Raises:
            ResetNeeded: No game was started.
        """
        if self._position is None:
            raise ResetNeeded("No game has begun; call reset() first.")
        return self._position

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a game; if the opponent moves first, its move is made."""
        super().reset(seed=seed)
        self._position = self.rules.start(self.np_random)
        self._done = False
        self._done = self._await_turn() or self.position.over
        if self.render_mode == "human":
            self.render()
        return self._seen()

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Make a move and the opponent's answer; after the end of the game this has no effect.

        Raises:
            InvalidAction: The move is illegal and ``illegal_move_mode`` is ``"raise"``, or it is
                not an integer.
            Error: The opponent failed, or chose a move that is not legal; only a reset helps.
        """
        reward = 0.0 if self._done else self._play(action)
        if self.render_mode == "human":
            self.render()
        observation, info = self._seen()
        return observation, reward, self._done, False, info

    def _play(self, action: Any) -> float:
        move = as_move(action)
        position = self.position
        if move == self.resign_action:
            self._done = True
            return -1.0
        if not is_legal(position, move):
            if self.illegal_move_mode == "raise":
                raise illegal(position, move)
            self._done = True
            return -1.0
        position.play(move, self.np_random)
        if self._await_turn():
            self._done = True
            return 1.0
        self._done = position.over
        return position.results()[self.player] if self._done else 0.0

    def _await_turn(self) -> bool:
        """Let the opponent move until the agent's turn; return whether it resigned."""
        position = self.position
        while not position.over and position.to_move != self.player:
            try:
                move = self._ask_opponent(position)
            except BaseException:
                # Otherwise the next action would be taken for the opponent's move.
                self._position = None
                raise
            if move is None:
                return True
            position.play(move, self.np_random)
        return False

    def _ask_opponent(self, position: Position) -> int | None:
        found = self.opponent.move(position, self.np_random)
        if found is None:
            return None
        try:
            move = operator.index(found)
        except TypeError:
            move = -1
        if not is_legal(position, move):
            raise Error(
                f"The opponent chose {found!r}, which is not legal in\n{position.text()}"
                f"It can choose {position.legal()}, or None to resign."
            )
        return move

    def _seen(self) -> tuple[Any, dict[str, Any]]:
        position = self.position
        mask = np.zeros(self._actions, dtype=np.int8)
        if not self._done:
            mask[: self.rules.moves] = position.mask()
        observation = position.observation(self.player)
        color = self.rules.colors[position.to_move]
        info: dict[str, Any] = {"action_mask": mask, "to_play": color}
        if self._classic:
            info["state"] = {"board": observation.copy(), "to_play": color}
        return observation, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the mask of legal actions; after the end of the game, all are legal.

        sb3-contrib's MaskablePPO calls this method, and needs at least one legal action.
        """
        mask: NDArray[np.bool_] = self._seen()[1]["action_mask"].astype(np.bool_)
        return mask if mask.any() else ~mask

    def render(self) -> str | NDArray[np.uint8] | None:
        """Return the board as text or as a picture, or print it."""
        if self.render_mode == "rgb_array":
            return picture_of(self.position)
        return show_text(self, self.position.text)

    def close(self) -> None:
        """Stop the opponent's process, if it has one."""
        self.opponent.close()

    def _save_state(self) -> State:
        history = None if self._position is None else list(self._position.history)
        game = [self.rules.name, self.rules.moves]
        return {"game": game, "history": history, "done": self._done}

    def _load_state(self, fields: State) -> None:
        game = [self.rules.name, self.rules.moves]
        if list(fields.get("game", ())) != game:
            raise StateError(f"The state is one of {fields.get('game')}, this is {game}.")
        try:
            history = fields["history"]
            self._position = None if history is None else self.rules.resume(list(history))
            self._done = bool(fields["done"])
        except (KeyError, TypeError, ValueError) as problem:
            raise StateError(f"This is no state of {self.rules.name}: {problem}") from problem
