"""Draws a cart and its pole."""

from __future__ import annotations

from typing import Any

from ludus.envs.screen import fill_polygon, import_pygame

__all__ = ["draw"]

CART_Y, CART_WIDTH, CART_HEIGHT, AXLE_OFFSET = 100, 50, 30, 7
POLE_WIDTH, POLE_LENGTH = 10, 125
INK, CART, POLE, AXLE = (40, 40, 48), (52, 73, 94), (210, 150, 90), (120, 130, 200)


def draw(canvas: Any, x: float, theta: float, position_limit: float) -> None:
    """Draw the cart at ``x`` metres with its pole tilted by ``theta`` radians."""
    pygame = import_pygame()
    gfx = pygame.gfxdraw
    width = canvas.get_width()
    center = width / 2 + x * width / (2 * position_limit)
    gfx.hline(canvas, 0, width, CART_Y, INK)

    left, right = center - CART_WIDTH / 2, center + CART_WIDTH / 2
    bottom, top = CART_Y - CART_HEIGHT / 2, CART_Y + CART_HEIGHT / 2
    cart = [(left, bottom), (left, top), (right, top), (right, bottom)]
    axle = (int(center), int(CART_Y + AXLE_OFFSET))
    pole = []
    for corner in (
        (-POLE_WIDTH / 2, -POLE_WIDTH / 2),
        (-POLE_WIDTH / 2, POLE_LENGTH),
        (POLE_WIDTH / 2, POLE_LENGTH),
        (POLE_WIDTH / 2, -POLE_WIDTH / 2),
    ):
        turned = pygame.math.Vector2(corner).rotate_rad(-theta)
        pole.append((turned.x + axle[0], turned.y + axle[1]))
    for shape, color in ((cart, CART), (pole, POLE)):
        fill_polygon(canvas, shape, color)
        gfx.aapolygon(canvas, shape, color)
    gfx.filled_circle(canvas, *axle, POLE_WIDTH // 2, AXLE)
    gfx.aacircle(canvas, *axle, POLE_WIDTH // 2, AXLE)
