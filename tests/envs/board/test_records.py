"""Numbers of positions that are known, and games that were played."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("pyspiel")

from ludus.envs.board.opponents.gtp import point_of
from ludus.envs.board.rules import rules_of
from tests.envs.board.records import CHESS, OTHELLO, WUZHEN, WUZHEN_DEAD

RNG = np.random.default_rng(0)
PERFT = {
    "start": (
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        (20, 400, 8_902, 197_281),
    ),
    "kiwipete": (
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        (48, 2_039, 97_862, 4_085_603),
    ),
    "rooks and pawns": ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", (14, 191, 2_812, 43_238)),
    "promotions": (
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        (6, 264, 9_467, 422_333),
    ),
    "discovered checks": (
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
        (44, 1_486, 62_379, 2_103_487),
    ),
    "middle game": (
        "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
        (46, 2_079, 89_890, 3_894_594),
    ),
}


def leaves(state, depth):
    """Count the sequences of ``depth`` moves."""
    actions = state.legal_actions()
    if depth == 1:
        return len(actions)
    return sum(leaves(state.child(action), depth - 1) for action in actions)


@pytest.mark.parametrize("name", PERFT)
def test_chess_has_the_published_numbers(name):
    start, counts = PERFT[name]
    state = rules_of("chess").game.new_initial_state(start)
    assert tuple(leaves(state, depth) for depth in (1, 2, 3, 4)) == counts


@pytest.mark.parametrize(
    ("game", "counts"),
    [
        ("othello", [4, 12, 56, 244, 1_396, 8_200, 55_092]),
        ("connect-four", [7, 49, 343, 2_401, 16_807, 117_649, 823_536]),
    ],
)
def test_other_games_have_the_published_numbers(game, counts):
    state = rules_of(game).game.new_initial_state()
    assert [leaves(state, depth) for depth in range(1, 8)] == counts


def test_connect_four_has_the_published_positions():
    positions = {"": rules_of("connect-four").game.new_initial_state()}
    numbers = []
    for _ in range(6):
        going = [state for state in positions.values() if not state.is_terminal()]
        following = (state.child(a) for state in going for a in state.legal_actions())
        positions = {str(state): state for state in following}
        numbers.append(len(positions))
    assert numbers == [7, 49, 238, 1_120, 4_263, 16_422]


def test_every_game_of_tic_tac_toe():
    ends = Counter()
    todo = [rules_of("tic-tac-toe").game.new_initial_state()]
    while todo:
        state = todo.pop()
        if state.is_terminal():
            ends[state.returns()[0]] += 1
        else:
            todo += [state.child(action) for action in state.legal_actions()]
    assert ends == {1.0: 131_184, -1.0: 77_904, 0.0: 46_080}


def test_classic_go_reaches_every_legal_position():
    """Boards of 2 by 2 points have 57 positions without a group that has no liberty."""
    rules = rules_of("classic-go", 2)
    seen, todo = {""}, [[]]
    while todo:
        history = todo.pop()
        position = rules.resume(history)
        for move in position.legal():
            after = rules.resume([*history, move])
            key = (*after.points, after.to_move, after.ko, after.over)
            if key not in seen and len(history) < 12:
                seen.add(key)
                todo.append([*history, move])
    assert len({key[:4] for key in seen if key}) == 57


@pytest.mark.parametrize("name", CHESS)
def test_chess_games(name):
    moves, end, results = CHESS[name]
    position = rules_of("chess").start(RNG)
    for move in moves.split():
        assert not position.over
        action = position.state.parse_move_to_action(move)
        assert position.mask()[action]
        position.play(action, RNG)
    assert position.over
    assert position.results() == results
    assert str(position.state) == end


def test_the_shortest_game_of_othello():
    position = rules_of("othello").start(RNG)
    for field in OTHELLO.split():
        assert not position.over
        move = "abcdefgh".index(field[0]) + 8 * (int(field[1]) - 1)
        assert position.mask()[move]
        position.play(move, RNG)
    assert position.over
    assert position.results() == (1.0, -1.0)
    assert "".join(position.squares()).count("x") == 13


def test_a_game_of_go():
    played, classic = (rules_of(game, 19).start(RNG) for game in ("go", "classic-go"))
    moves = [(ord(row) - 97) * 19 + ord(column) - 97 for column, row in WUZHEN.split()]
    assert len(moves) == 289
    for move in moves:
        for position in (played, classic):
            assert position.mask()[move]
            position.play(move, RNG)
        assert played.squares() == classic.squares()
    assert classic.captures == [11, 8]
    for _ in range(2):
        assert not played.over
        played.play(361, RNG)
    assert played.over
    assert played.results() == (-1.0, 1.0)
    for vertex in WUZHEN_DEAD.split():
        classic.points[point_of(vertex, 19)] = 2
    # Black has 184 points of 361 once dead stones are off, and gives 7.5 for moving first.
    assert classic.score() == -7
