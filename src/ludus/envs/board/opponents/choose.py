"""Builds the opponent that the option ``opponent`` names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ludus.envs.board.opponents.contract import Opponent
from ludus.envs.board.opponents.function import FunctionOpponent
from ludus.envs.board.opponents.search import SearchOpponent
from ludus.envs.board.opponents.uniform import UniformOpponent
from ludus.envs.board.rules.contract import Rules
from ludus.errors import Error

__all__ = ["opponent_of"]


def opponent_of(
    choice: Any, rules: Rules, engine_options: Mapping[str, Any] | None = None
) -> Opponent:
    """Return the opponent that an option names.

    Args:
        choice: ``"random"``; ``"mcts"`` or ``"mcts:400"`` (simulations per move); ``"gnugo"`` or
            ``"gnugo:5"`` (level 1 to 10); ``"stockfish"`` or ``"stockfish:3"`` (skill 0 to 20); a
            policy with ``act(observation)``; a function of the observation; an
            :class:`~ludus.envs.board.opponents.Opponent`.
        rules: The game to be played.
        engine_options: For ``gnugo`` and ``stockfish``, see
            :class:`~ludus.envs.board.opponents.settings.EngineSettings`.

    Raises:
        Error: There is no such opponent, or it does not play this game, or it is no engine and has
            no options.
    """
    name, _, strength = choice.partition(":") if isinstance(choice, str) else ("", "", "")
    if name in ("gnugo", "stockfish"):
        return _engine(name, _level(choice, strength), rules, engine_options)
    if engine_options is not None:
        raise Error(
            f"engine_options={engine_options!r} are for the opponents 'gnugo' and 'stockfish', "
            f"not for {choice!r}; leave them out."
        )
    if isinstance(choice, str):
        return _named(choice, name, strength, rules)
    if hasattr(choice, "move") and hasattr(choice, "close"):
        return choice  # type: ignore[no-any-return]
    if hasattr(choice, "act"):
        return FunctionOpponent(choice.act)
    if callable(choice):
        return FunctionOpponent(choice)
    raise _unknown(choice)


def _named(choice: str, name: str, strength: str, rules: Rules) -> Opponent:
    if choice == "random":
        return UniformOpponent()
    if name == "mcts":
        return SearchOpponent(rules, *_level(choice, strength))
    raise _unknown(choice)


def _engine(
    name: str, level: tuple[int, ...], rules: Rules, options: Mapping[str, Any] | None
) -> Opponent:
    # Imported here, because process limits are not available on all systems.
    from ludus.envs.board.opponents.gtp import GnuGoOpponent
    from ludus.envs.board.opponents.settings import settings_of
    from ludus.envs.board.opponents.uci import StockfishOpponent

    cls = GnuGoOpponent if name == "gnugo" else StockfishOpponent
    opponent: Opponent = cls(rules, *level, settings=settings_of(options))
    return opponent


def _level(choice: str, strength: str) -> tuple[int, ...]:
    if ":" not in choice:
        return ()
    if not strength.isdecimal():
        raise _unknown(choice)
    return (int(strength),)


def _unknown(choice: Any) -> Error:
    return Error(
        f"Unrecognized opponent {choice!r}: expected 'random', 'mcts', 'gnugo' or 'stockfish', the "
        "last three with a strength if you like, as in 'mcts:200'; or a policy; or a function of "
        "the observation."
    )
