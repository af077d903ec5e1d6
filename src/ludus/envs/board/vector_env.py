"""Batches of games against one opponent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ludus.core.vector_env import AutoresetMode
from ludus.envs.arguments import positive_int
from ludus.envs.board.env import BoardEnv
from ludus.envs.board.opponents import opponent_of
from ludus.envs.board.rules import rules_of
from ludus.vector import SyncVectorEnv

__all__ = ["BoardVectorEnv"]


class BoardVectorEnv(SyncVectorEnv[Any, Any]):
    """Steps its games one after the other, all with the same opponent.

    An opponent is a function of position and random numbers, so one is enough: a batch of 64 games
    against GNU Go runs one GNU Go. For slow opponents, ``vectorization_mode="async"`` is faster.

    Args:
        game: As for :class:`~ludus.envs.board.BoardEnv`, and all further options likewise.
        num_envs: How many games.
        autoreset_mode: When a finished game starts again.
    """

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        *,
        board_size: int | None = None,
        player_color: str | None = None,
        opponent: Any = "random",
        illegal_move_mode: str = "lose",
        resign: bool = False,
        engine_options: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        shared = opponent_of(opponent, rules_of(game, board_size), engine_options)

        def build() -> BoardEnv:
            return BoardEnv(
                game,
                board_size=board_size,
                player_color=player_color,
                opponent=shared,
                illegal_move_mode=illegal_move_mode,
                resign=resign,
                render_mode=render_mode,
            )

        number = positive_int("num_envs", num_envs)
        super().__init__([build] * number, autoreset_mode=autoreset_mode)
