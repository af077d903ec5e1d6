"""Draw board.png: six boards, some moves into a game. Run it from anywhere; it needs no display."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ludus.envs.board.drawing import picture_of
from ludus.envs.board.opponents.search import SearchOpponent
from ludus.envs.board.rules import rules_of

GAMES = (("chess", None, 24), ("go", 9, 40), ("hex", 11, 44))
MORE = (("othello", None, 26), ("backgammon", None, 24), ("connect-four", None, 22))
HEIGHT, GAP = 240, 10


def play(game: str, size: int | None, moves: int) -> np.ndarray:
    """Return the board after some moves of two players who look ahead a little."""
    rng = np.random.default_rng(7)
    rules = rules_of(game, size)
    position, player = rules.start(rng), SearchOpponent(rules, 60)
    for _ in range(moves):
        if not position.over:
            position.play(player.move(position, rng), rng)
    return picture_of(position)


def scaled(pygame, picture: np.ndarray):
    """Return a picture as a surface of the common height."""
    surface = pygame.surfarray.make_surface(picture.transpose(1, 0, 2))
    width = round(picture.shape[1] * HEIGHT / picture.shape[0])
    return pygame.transform.smoothscale(surface, (width, HEIGHT))


def main() -> None:
    """Write the picture beside this file."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    import pygame

    rows = [[scaled(pygame, play(*game)) for game in games] for games in (GAMES, MORE)]
    width = max(sum(s.get_width() + GAP for s in row) for row in rows) - GAP
    sheet = pygame.Surface((width, 2 * HEIGHT + GAP))
    sheet.fill((255, 255, 255))
    for i, row in enumerate(rows):
        spare = width - sum(s.get_width() for s in row)
        x = 0
        for surface in row:
            sheet.blit(surface, (x, i * (HEIGHT + GAP)))
            x += surface.get_width() + spare // (len(row) - 1)
    # Fewer shades make a smaller file, and nobody sees it.
    pixels = pygame.surfarray.pixels3d(sheet)
    pixels[:] = pixels // 17 * 17
    del pixels
    pygame.image.save(sheet, str(Path(__file__).with_name("board.png")))


if __name__ == "__main__":
    main()
