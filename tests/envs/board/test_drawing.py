"""Pictures of boards."""

from __future__ import annotations

import sys

import numpy as np
import pytest

pytest.importorskip("pyspiel")
pytest.importorskip("pygame")

from ludus.envs.board import BoardEnv
from ludus.envs.board.drawing import picture_of
from ludus.envs.board.rules import GAMES, rules_of
from ludus.errors import DependencyNotInstalled, UnsupportedMode

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("game", GAMES)
def test_every_move_changes_the_picture(game):
    rng = np.random.default_rng(2)
    position = rules_of(game).start(rng)
    before = picture_of(position)
    assert before.dtype == np.uint8
    assert before.ndim == 3
    assert before.shape[2] == 3
    for _ in range(8):
        if position.over:
            break
        passed = position.squares()
        legal = position.legal()
        position.play(legal[rng.integers(len(legal))], rng)
        after = picture_of(position)
        assert after.shape == before.shape
        assert (after != before).any() == (position.squares() != passed)
        before = after


@pytest.mark.parametrize("game", ["go", "classic-go"])
def test_stones_lie_on_their_points(game):
    position = rules_of(game, 9).start(RNG)
    for move in (0, 80, 40):
        position.play(move, RNG)
    picture = picture_of(position)
    step = 480 / 10.6
    first, last = round(1.3 * step), round(9.3 * step)
    assert picture[first, first].max() < 60  # black on A9
    assert picture[last, last].min() > 200  # white on J1
    middle = round(5.3 * step)
    assert picture[middle, middle, 0] > 200  # the last move is marked
    assert picture[middle, middle, 2] < 100


def test_white_pieces_stand_below():
    picture = picture_of(rules_of("chess").start(RNG)).astype(int).sum(axis=2)
    upper, lower = picture[24:132], picture[348:456]
    assert (upper < 150).mean() > (lower < 150).mean() + 0.1
    assert (lower > 735).mean() > (upper > 735).mean() + 0.1


def test_sides_of_hex_have_their_colours():
    picture = picture_of(rules_of("hex", 5).start(RNG))
    height, width, _ = picture.shape
    assert picture[16, width // 3].max() < 60
    assert picture[height - 16, 2 * width // 3].max() < 60
    row = picture[height // 2].min(axis=1)
    inside = np.flatnonzero(row != row[0])
    assert row[inside[8]] > 230
    assert row[inside[-8]] > 230


@pytest.mark.parametrize("size", [2, 19])
def test_smallest_and_largest_boards(size):
    for game in ("go", "hex", "classic-go"):
        position = rules_of(game, size).start(RNG)
        position.play(size + 1, RNG)
        assert picture_of(position).std() > 10


def test_modes():
    with pytest.raises(UnsupportedMode, match="rgb_array"):
        BoardEnv("go", render_mode="hologram")
    env = BoardEnv("go", render_mode="rgb_array")
    env.reset(seed=1)
    assert env.render().shape == (480, 480, 3)


def test_people_read_text(capsys):
    env = BoardEnv("tic-tac-toe", render_mode="human")
    env.reset(seed=1)
    assert capsys.readouterr().out == "...\n...\n...\n"
    env.step(4)
    assert capsys.readouterr().out.count("\n") == 3
    assert env.render() is None
    assert capsys.readouterr().out.count("\n") == 3


def test_without_pygame(monkeypatch):
    env = BoardEnv("go", render_mode="rgb_array")
    env.reset(seed=1)
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(DependencyNotInstalled, match="pip install"):
        env.render()
