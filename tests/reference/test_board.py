"""Board games beside other implementations: python-chess, and PettingZoo's games.

``LUDUS_TEST_ALL=1`` compares many more games.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyspiel")

from ludus.envs.board import TurnBasedEnv
from ludus.envs.board.opponents.uci import long_notation
from ludus.envs.board.rules import rules_of
from tests.sampling import ALL

GAMES = 200 if ALL else 6
RNG = np.random.default_rng(0)


def ending(board):
    """Return white's result by the rules of open_spiel, ``None`` during a game."""
    if board.is_checkmate():
        return -1.0 if board.turn else 1.0
    drawn = (
        board.is_stalemate()
        or board.is_insufficient_material()
        or board.is_repetition(3)
        or board.halfmove_clock >= 100
    )
    return 0.0 if drawn else None


@pytest.mark.parametrize("seed", range(GAMES))
def test_chess(seed):
    chess = pytest.importorskip("chess")
    rng = np.random.default_rng(seed)
    position, board = rules_of("chess").start(RNG), chess.Board()
    while ending(board) is None:
        assert not position.over
        assert position.to_move == (0 if board.turn else 1)
        moves = {long_notation(position.state, a): a for a in position.legal()}
        assert set(moves) == {move.uci() for move in board.legal_moves}
        # Captures keep games from ending by the fifty moves only.
        takes = [move.uci() for move in board.legal_moves if board.is_capture(move)]
        choices = sorted(takes if takes and seed % 2 else moves)
        chosen = choices[rng.integers(len(choices))]
        position.play(moves[chosen], RNG)
        board.push_uci(chosen)
        ours, theirs = str(position.state).split(), board.fen(en_passant="fen").split()
        assert ours[:3] == theirs[:3]
        assert ours[4:] == theirs[4:]
        assert "".join(position.squares()) == str(board).replace(" ", "").replace("\n", "")
    assert position.over, board.fen()
    assert position.results() == (ending(board), -ending(board) + 0.0)


@pytest.mark.parametrize(
    ("game", "theirs"), [("connect-four", "connect_four_v3"), ("tic-tac-toe", "tictactoe_v3")]
)
def test_games_of_pettingzoo(game, theirs):
    classic = pytest.importorskip("pettingzoo.classic")
    reference = getattr(classic, theirs).raw_env()
    env = TurnBasedEnv(game)
    rng = np.random.default_rng(7)
    for seed in range(GAMES * 3):
        env.reset(seed=seed)
        reference.reset(seed=seed)
        names = dict(zip(env.possible_agents, reference.possible_agents, strict=True))
        while env.agents:
            assert names[env.agent_selection] == reference.agent_selection
            observation, *found = env.last()
            expected = reference.last()
            assert found[:3] == list(expected[1:4])
            if found[1]:
                env.step(None)
                reference.step(None)
                continue
            moves = np.flatnonzero(observation["action_mask"])
            assert moves.tolist() == np.flatnonzero(expected[0]["action_mask"]).tolist()
            action = int(rng.choice(moves))
            env.step(action)
            reference.step(action)
        assert reference.agents == []


def test_classic_go_and_open_spiel_agree_but_for_suicide():
    """Two implementations of Go: what open_spiel allows, the classic rules allow, too."""
    compared = 0
    for seed in range(GAMES):
        rng = np.random.default_rng(seed)
        ours, theirs = rules_of("classic-go", 5).start(RNG), rules_of("go", 5).start(RNG)
        while not theirs.over:
            assert ours.squares() == theirs.squares()
            assert ours.to_move == theirs.to_move
            # Beyond it, the classic rules allow groups to kill themselves.
            assert (theirs.mask() <= ours.mask()).all()
            legal = theirs.legal()
            move = legal[rng.integers(len(legal))]
            ours.play(move, RNG)
            theirs.play(move, RNG)
            compared += 1
    assert compared > 100
