"""Blackjack and Cliff Walking as functions of arrays in JAX."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ludus.experimental.functional import FuncEnv

__all__ = ["BlackjackInJax", "Cell", "CliffWalkingInJax", "Hands"]

_CARDS = (*range(1, 11), 10, 10, 10)
_MOST_CARDS = 21
_DEALER_STOPS = 17
_BOTTOM, _RIGHT = 3, 11
# Up, right, down, left.
_MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))


class Hands(NamedTuple):
    """Both hands, an ace as 1 and no card as 0, how many cards they have, and the end."""

    dealer_hand: Any
    player_hand: Any
    dealer_cards: Any
    player_cards: Any
    done: Any


def _with_card(key: Any, hand: Any, count: Any) -> tuple[Any, Any, Any]:
    """Add a card, drawn with the first part of the split key; the second part is the new key."""
    key = jax.random.split(key)[0]
    card = jax.random.choice(key, jnp.array(_CARDS), (1,))[0]
    return key, hand.at[count].set(card), count + 1


def _soft(hand: Any) -> Any:
    return jnp.any(hand == 1) & (jnp.sum(hand) + 10 <= _MOST_CARDS)


def _total(hand: Any) -> Any:
    return jnp.sum(hand) + 10 * _soft(hand)


def _is_natural(hand: Any) -> Any:
    return (jnp.count_nonzero(hand) == 2) & jnp.any(hand == 1) & jnp.any(hand == 10)


class BlackjackInJax(FuncEnv):
    """Blackjack, cards drawn with replacement; action 1 takes a card, 0 lets the dealer play."""

    def __init__(self, params: Any) -> None:
        super().__init__()
        self.default_params = params

    def initial(self, rng: Any, params: Any = None) -> Hands:
        """Deal two cards to the player, then to the dealer."""
        hands = []
        for _ in range(2):
            hand, count = jnp.zeros(_MOST_CARDS), 0
            for _ in range(2):
                rng, hand, count = _with_card(rng, hand, count)
            hands.append(hand)
        return Hands(hands[1], hands[0], 2, 2, 0)

    def transition(self, state: Hands, action: Any, rng: Any = None, params: Any = None) -> Hands:
        """Take a card, or let the dealer draw up to 17."""

        def take(state: Hands) -> tuple[Any, ...]:
            _, hand, count = _with_card(rng, state.player_hand, state.player_cards)
            return state.dealer_hand, hand, jnp.asarray(state.dealer_cards), jnp.asarray(count)

        def stand(state: Hands) -> tuple[Any, ...]:
            start = (rng, state.dealer_hand, jnp.asarray(state.dealer_cards))
            _, hand, count = jax.lax.while_loop(
                lambda dealt: _total(dealt[1]) < _DEALER_STOPS,
                lambda dealt: _with_card(*dealt),
                start,
            )
            return hand, state.player_hand, count, jnp.asarray(state.player_cards)

        takes = jnp.asarray(action) != 0
        dealer, player, dealer_cards, player_cards = jax.lax.cond(takes, take, stand, state)
        done = (~takes | (_total(player) > _MOST_CARDS)).astype(jnp.int32)
        return Hands(dealer, player, dealer_cards, player_cards, done)

    def observation(self, state: Hands, rng: Any = None, params: Any = None) -> Any:
        """Return the player's total, the dealer's first card, and whether an ace counts 11."""
        hand = state.player_hand
        return jnp.array([_total(hand), state.dealer_hand[0], _soft(hand)], jnp.int32)

    def terminal(self, state: Hands, rng: Any = None, params: Any = None) -> Any:
        """Return whether the player has lost or the dealer has played."""
        return jnp.asarray(state.done) > 0

    def reward(
        self, state: Hands, action: Any, next_state: Hands, rng: Any = None, params: Any = None
    ) -> Any:
        """Return 1 for the better hand, -1 for the worse one."""
        params = self.default_params if params is None else params
        player, dealer = _total(next_state.player_hand), _total(next_state.dealer_hand)
        player_bust = player > _MOST_CARDS
        scores = jnp.where(player_bust, 0, player), jnp.where(dealer > _MOST_CARDS, 0, dealer)
        stood = jnp.sign(scores[0] - scores[1])
        paid = jnp.where(jnp.asarray(action) != 0, -1.0 * player_bust, stood)
        natural = _is_natural(next_state.player_hand)
        if params.natural and not params.sab:
            paid = jnp.where(natural & (paid == 1), 1.5, paid)
        if params.sab:
            paid = jnp.where(natural & ~_is_natural(next_state.dealer_hand), 1.0, paid)
        return paid.astype(jnp.float32)


class Cell(NamedTuple):
    """Row and column, the last direction, and whether the last step fell off the cliff."""

    player_position: Any
    last_action: Any
    fallen: Any


class CliffWalkingInJax(FuncEnv):
    """Cliff Walking; an action is an array with one direction: up, right, down, left."""

    def __init__(self, params: Any) -> None:
        super().__init__()
        self.default_params = params

    def initial(self, rng: Any, params: Any = None) -> Cell:
        """Begin at the bottom left."""
        return Cell(jnp.array([_BOTTOM, 0]), -1, False)

    def transition(self, state: Cell, action: Any, rng: Any = None, params: Any = None) -> Cell:
        """Go one cell, not beyond the walls; from the cliff return to the beginning."""
        direction = jnp.asarray(action).reshape((1,))
        moved = state.player_position + jnp.array(_MOVES)[direction[0]]
        moved = jnp.clip(moved, 0, jnp.array([_BOTTOM, _RIGHT]))
        row, column = moved
        fallen = (row == _BOTTOM) & (column >= 1) & (column < _RIGHT)
        place = jnp.where(fallen, jnp.array([_BOTTOM, 0]), moved)
        return Cell(place, direction[0], fallen.reshape((1,)))

    def observation(self, state: Cell, rng: Any = None, params: Any = None) -> Any:
        """Return the index of the cell."""
        row, column = state.player_position
        return (row * (_RIGHT + 1) + column).reshape((1,))

    def terminal(self, state: Cell, rng: Any = None, params: Any = None) -> Any:
        """Return whether the goal at the bottom right is reached."""
        return jnp.array_equal(state.player_position, jnp.array([_BOTTOM, _RIGHT]))

    def reward(
        self, state: Cell, action: Any, next_state: Cell, rng: Any = None, params: Any = None
    ) -> Any:
        """Return -1 for a step, -100 for a fall."""
        fallen = jnp.asarray(next_state.fallen).reshape((1,))[0]
        return jnp.where(fallen, -100.0, -1.0).astype(jnp.float32)
