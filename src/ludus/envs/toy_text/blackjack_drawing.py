"""Draws a blackjack table."""

from __future__ import annotations

from typing import Any

from ludus.envs.screen import import_pygame
from ludus.envs.view import label

__all__ = ["SIZE", "draw"]

SIZE = (384, 376)
CARD = (60, 86)
FELT, RIM, CHALK = (38, 104, 74), (26, 76, 54), (226, 238, 228)
PAPER, BLACK, RED = (250, 248, 240), (38, 38, 46), (196, 54, 54)
BACK, LATTICE = (60, 78, 140), (96, 116, 180)


def draw(
    canvas: Any,
    player: list[int],
    dealer: list[int],
    observed: tuple[int, int, int],
    top: tuple[str, str],
) -> None:
    """Draw both hands; ``top`` names value and suit of the dealer's open card.

    While the dealer has only that one, the other lies face down.
    """
    pygame = import_pygame()
    total, _, usable_ace = observed
    canvas.fill(FELT)
    pygame.draw.rect(canvas, RIM, canvas.get_rect(), 10, border_radius=18)
    label(canvas, "DEALER", (SIZE[0] // 2, 32), 26, CHALK)
    names = [top[0], *map(_name, dealer[1:])]
    if len(dealer) == 1:
        names.append("")
    _draw_row(pygame, canvas, names, 96, top[1])
    _draw_row(pygame, canvas, [_name(card) for card in player], 238, "S")
    label(canvas, "PLAYER", (SIZE[0] // 2, 174), 26, CHALK)
    label(canvas, str(total), (SIZE[0] // 2, 314), 44, CHALK)
    if usable_ace:
        label(canvas, "the ace counts 11", (SIZE[0] // 2, 346), 24, CHALK)


def _name(card: int) -> str:
    return "A" if card == 1 else str(card)


def _draw_row(pygame: Any, canvas: Any, names: list[str], middle: int, suit: str) -> None:
    step = min(CARD[0] + 12, (SIZE[0] - 60 - CARD[0]) // max(len(names) - 1, 1))
    left = (SIZE[0] - step * (len(names) - 1) - CARD[0]) // 2
    for index, name in enumerate(names):
        box = pygame.Rect(left + index * step, middle - CARD[1] // 2, *CARD)
        pygame.draw.rect(canvas, PAPER, box, border_radius=8)
        pygame.draw.rect(canvas, RIM, box, 1, border_radius=8)
        if not name:
            _draw_back(pygame, canvas, box)
            continue
        shown = suit if index == 0 else "CDHS"[index % 4]
        color = RED if shown in "DH" else BLACK
        label(canvas, name, (box.left + 16, box.top + 16), 28, color)
        _draw_suit(pygame, canvas, shown, box.centerx + 4, box.centery + 12, color)


def _draw_back(pygame: Any, canvas: Any, box: Any) -> None:
    inner = box.inflate(-10, -10)
    pygame.draw.rect(canvas, BACK, inner, border_radius=5)
    for shift in range(8, inner.height, 14):
        start, end = (inner.left, inner.top + shift), (inner.right - 1, inner.top + shift)
        pygame.draw.line(canvas, LATTICE, start, end, 3)


def _draw_suit(
    pygame: Any, canvas: Any, suit: str, x: int, y: int, color: tuple[int, int, int]
) -> None:
    if suit == "D":
        pygame.draw.polygon(canvas, color, [(x, y - 18), (x + 13, y), (x, y + 18), (x - 13, y)])
        return
    circles: tuple[tuple[int, int], ...]
    if suit == "H":
        circles, tip = ((-7, -6), (7, -6)), [(x - 14, y - 2), (x + 14, y - 2), (x, y + 18)]
    elif suit == "S":
        circles, tip = ((-7, 4), (7, 4)), [(x - 14, y + 1), (x + 14, y + 1), (x, y - 18)]
    else:
        circles, tip = ((-9, 4), (9, 4), (0, -9)), [(x, y - 6), (x + 8, y + 6), (x - 8, y + 6)]
    for dx, dy in circles:
        pygame.draw.circle(canvas, color, (x + dx, y + dy), 8)
    pygame.draw.polygon(canvas, color, tip)
    if suit in "SC":
        pygame.draw.polygon(canvas, color, [(x, y), (x + 6, y + 18), (x - 6, y + 18)])
