"""Rules: captures, ko, suicide and scoring in Go; ends of chess; dice; Hex."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("pyspiel")

from ludus.envs.board.opponents.gtp import point_of, vertex_of
from ludus.envs.board.rules import GAMES, rules_of
from ludus.errors import Error

RNG = np.random.default_rng(0)
GOES = ("go", "classic-go")


def go(game, moves, size=9):
    """Play vertices in turn, black first."""
    position = rules_of(game, size).start(RNG)
    for vertex in moves.split():
        move = point_of(vertex, size)
        assert move in position.legal(), vertex
        position.play(move, RNG)
    return position


def stone(position, vertex, size=9):
    """Return 0 for black, 1 for white, 2 for an empty point."""
    row, column = divmod(point_of(vertex, size), size)
    return int(position.observation(0)[:3, row, column].argmax())


def allowed(position, vertex, size=9):
    return point_of(vertex, size) in position.legal()


def test_vertices():
    assert [vertex_of(a, 9) for a in (0, 8, 72, 80, 81)] == ["A9", "J9", "A1", "J1", "pass"]
    assert all(point_of(vertex_of(a, 19), 19) == a for a in range(362))
    with pytest.raises(ValueError, match="not on a board"):
        point_of("A10", 9)


@pytest.mark.parametrize("game", GOES)
def test_rows_count_from_the_top(game):
    position = rules_of(game, 9).start(RNG)
    position.play(0, RNG)
    assert stone(position, "A9") == 0


@pytest.mark.parametrize("game", GOES)
def test_a_stone_without_liberties_is_taken(game):
    position = go(game, "A8 A9 B9")
    assert stone(position, "A9") == 2
    assert not allowed(position, "A9")


@pytest.mark.parametrize("game", GOES)
def test_a_group_is_taken_whole(game):
    position = go(game, "A7 A9 B8 A8 B9")
    assert stone(position, "A9") == stone(position, "A8") == 2


@pytest.mark.parametrize("game", GOES)
def test_ko(game):
    before = "C5 D5 B4 E4 C3 D3 D4 C4"
    position = go(game, before)
    assert stone(position, "D4") == 2
    assert not allowed(position, "D4")
    position = go(game, before + " A1 A9")
    assert allowed(position, "D4")


def test_a_pass_lifts_ko_in_classic_go():
    assert allowed(go("classic-go", "C5 D5 B4 E4 C3 D3 D4 C4 pass J1"), "D4")


@pytest.mark.parametrize("game", GOES)
def test_one_stone_must_not_kill_itself(game):
    assert not allowed(go(game, "A8 J1 B9 J2 J9"), "A9")


def test_several_stones_may_kill_themselves_in_classic_go_only():
    moves = "A7 A9 B8 J1 B9"
    assert not allowed(go("go", moves), "A8")
    position = go("classic-go", moves + " A8")
    assert stone(position, "A9") == stone(position, "A8") == 2
    assert position.captures == [2, 0]


def test_opening_passes_do_not_end_classic_go():
    assert go("go", "pass pass").over
    position = go("classic-go", "pass pass pass")
    assert not position.over
    assert position.results() == (0.0, 0.0)


def test_classic_go_counts_area_without_komi():
    position = go("classic-go", "B1 pass B2 pass A3 pass pass", size=3)
    assert position.over
    assert position.score() == -9
    assert position.results() == (1.0, -1.0)
    drawn = go("classic-go", "A1 C3 pass pass", size=3)
    assert drawn.score() == 0
    assert drawn.results() == (0.0, 0.0)


def test_standard_go_has_komi():
    assert go("go", "E5 A1 pass pass").results() == (-1.0, 1.0)


def test_text_of_classic_go():
    text = go("classic-go", "A1 C3", size=3).text()
    assert text == (
        "To play: black\n"
        "Move:   2  Komi: 0.0  Handicap: 0  Captures B: 0 W: 0\n"
        "      A B C \n"
        "    +-------+\n"
        "  3 | . . O)|\n"
        "  2 | . . . |\n"
        "  1 | X . . |\n"
        "    +-------+\n"
    )


def test_chess_first_move_is_white():
    rules = rules_of("chess")
    assert rules.colors == ("white", "black")
    position = rules.start(RNG)
    for move in ("f3", "e5", "g4", "Qh4#"):
        assert not position.over
        position.play(position.state.parse_move_to_action(move), RNG)
    assert position.over
    assert position.results() == (-1.0, 1.0)


def chess(moves):
    position = rules_of("chess").start(RNG)
    for move in moves.split():
        assert not position.over, move
        position.play(position.state.parse_move_to_action(move), RNG)
    return position


def test_chess_ends_when_a_position_comes_a_third_time():
    assert not chess("Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1").over
    position = chess("Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8")
    assert position.over
    assert position.results() == (0.0, 0.0)


def test_text_of_chess():
    assert chess("e4").text() == (
        "8 r n b q k b n r\n7 p p p p p p p p\n6 . . . . . . . .\n5 . . . . . . . .\n"
        "4 . . . . P . . .\n3 . . . . . . . .\n2 P P P P . P P P\n1 R N B Q K B N R\n"
        "  a b c d e f g h\nrnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n"
    )


def test_repeating_a_position_of_go_ends_it_as_a_draw():
    # On a board of 2 by 2 points captures soon bring a position back.
    rng = np.random.default_rng(1)
    draws = 0
    for _ in range(300):
        position = rules_of("go", 2).start(RNG)
        seen = {tuple(position.squares())}
        while not position.over:
            legal = position.legal()
            before, move = tuple(position.squares()), legal[rng.integers(len(legal))]
            position.play(move, RNG)
            after = tuple(position.squares())
            repeated = after != before and after in seen
            if repeated:
                assert position.over
                assert position.results() == (0.0, 0.0)
                draws += 1
            seen.add(after)
    assert draws > 10


def test_dice_come_from_the_generator():
    rules = rules_of("backgammon")

    def line(seed):
        rng = np.random.default_rng(seed)
        position = rules.start(rng)
        for _ in range(20):
            position.play(position.legal()[0], rng)
        return position.history

    assert line(3) == line(3)
    assert line(3) != line(4)


def test_dice_are_fair():
    rules = rules_of("backgammon")
    rng = np.random.default_rng(0)
    firsts, doubles, players = Counter(), 0, Counter()
    for _ in range(600):
        position = rules.start(rng)
        first = position.squares()[28]
        firsts["".join(sorted(first))] += 1
        players[position.to_move] += 1
        position.play(position.legal()[0], rng)
        doubles += len(set(position.squares()[28])) == 1
    # Who throws more begins, so that the first throw is no double; 15 are left, 40 each expected.
    assert len(firsts) == 15
    assert all(len(set(dice)) == 2 for dice in firsts)
    assert min(firsts.values()) > 15
    assert 240 < players[0] < 360
    assert 60 < doubles < 145


def test_backgammon_has_its_checkers():
    position = rules_of("backgammon").start(RNG)
    rows = position.squares()
    assert len(rows) == 29
    for side in "xo":
        assert sorted(row.count(side) for row in rows if side in row) == [2, 3, 5, 5]
    while not position.over:
        rows = position.squares()
        assert [sum(row.count(side) for row in rows) for side in "xo"] == [15, 15]
        legal = position.legal()
        position.play(legal[RNG.integers(len(legal))], RNG)
    assert sorted(position.results()) == [-1.0, 1.0]


@pytest.mark.parametrize("size", [2, 5, 11])
def test_a_full_board_of_hex_has_one_winner(size):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        position = rules_of("hex", size).start(rng)
        while not position.over:
            legal = position.legal()
            position.play(legal[rng.integers(len(legal))], rng)
        winner = position.results().index(1.0)
        assert joined(position.squares(), winner)
        assert not joined(position.squares(), 1 - winner)


def joined(squares, player):
    """Tell whether a player's stones join the sides: rows for player 0, columns for 1."""
    mark, size = "xo"[player], len(squares)
    if player:
        squares = ["".join(column) for column in zip(*squares, strict=True)]
    todo = [(0, c) for c in range(size) if squares[0][c] == mark]
    seen = set(todo)
    while todo:
        r, c = todo.pop()
        for place in (
            (r, c - 1),
            (r, c + 1),
            (r - 1, c),
            (r + 1, c),
            (r - 1, c + 1),
            (r + 1, c - 1),
        ):
            on = min(place) >= 0 and max(place) < size
            if on and place not in seen and squares[place[0]][place[1]] == mark:
                seen.add(place)
                todo.append(place)
    return any(r == size - 1 for r, _ in seen)


def test_text_of_hex():
    position = rules_of("classic-hex", 2).start(RNG)
    position.play(0, RNG)
    position.play(3, RNG)
    assert position.text() == (
        "      1  |  2  | \n"
        "     -----------\n"
        "  1  |  B  |  O  |\n"
        " -------------\n"
        "     2  |  O  |  W  |\n"
        "    -------------\n"
    )
    other = rules_of("hex", 2).resume(position.history)
    assert other.text() == "x .\n . o\n"


@pytest.mark.parametrize("game", ["hex", "classic-hex"])
def test_hex_black_joins_top_and_bottom(game):
    position = rules_of(game, 3).start(RNG)
    for move in (1, 0, 3, 2, 6):
        assert not position.over
        position.play(move, RNG)
    assert position.results() == (1.0, -1.0)


@pytest.mark.parametrize("game", GAMES)
def test_histories_lead_back(game):
    position = rules_of(game).start(RNG)
    for _ in range(4):
        legal = position.legal()
        position.play(legal[RNG.integers(len(legal))], RNG)
    again = rules_of(game).resume(list(position.history))
    assert again.text() == position.text()
    assert again.legal() == position.legal()
    assert again.to_move == position.to_move
    with pytest.raises(ValueError, match="is no"):
        rules_of(game).resume([*position.history, 99_999])


def test_refused():
    with pytest.raises(Error, match="tic-tac-toe"):
        rules_of("checkers")
    with pytest.raises(Error, match="one size"):
        rules_of("chess", 9)
    with pytest.raises(Error, match="2 to 19"):
        rules_of("go", 20)
    with pytest.raises(Error, match="2 to 26"):
        rules_of("hex", 1)
    with pytest.raises(Error, match="unknown"):
        rules_of(["go"])
    with pytest.raises(ValueError, match="board_size"):
        rules_of("go", 0)
    with pytest.raises(ValueError, match="board_size"):
        rules_of("go", "nine")
    with pytest.raises(ValueError, match="dice"):
        rules_of("backgammon").resume([])
