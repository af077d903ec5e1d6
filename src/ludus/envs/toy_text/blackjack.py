"""Blackjack: come closer to 21 than the dealer (Sutton and Barto, example 5.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.toy_text.blackjack_drawing import SIZE, draw
from ludus.envs.view import View
from ludus.kernel import Kernel, KernelEnv
from ludus.kernel.random import integers, two_integers
from ludus.spaces import Discrete, Space, Tuple

__all__ = ["BlackjackEnv", "BlackjackV0Env", "Params", "State"]

BASE = 11
"""A hand is a number with one digit to this base per card, the first card foremost."""
FULL = BASE**17
"""Hands above this leave no room for a card; nobody holds that many without bad luck of 1e-15."""
ACE_TEN, TEN_ACE = 1 * BASE + 10, 10 * BASE + 1
SUITS = "CDHS"
FACES = "JQK"


class Params(NamedTuple):
    """The house rules."""

    natural: bool
    sab: bool
    deals_faces: bool


class State(NamedTuple):
    """Both hands with their totals (aces as 1), the dealer's open card, and the outcome so far."""

    player: int
    player_total: int
    player_ace: bool
    dealer: int
    dealer_total: int
    dealer_ace: bool
    dealer_card: int
    suit: int
    face: int
    reward: float
    over: bool


def draw_card(rng: Any) -> int:
    """Return a card from an endless deck: ten, jack, queen and king count 10, aces 1."""
    card = integers(rng, 0, 13) + 1
    return card if card < 10 else 10


def draw_two(rng: Any) -> tuple[int, int]:
    """Return two cards."""
    first, second = two_integers(rng, 1, 14)
    return first if first < 10 else 10, second if second < 10 else 10


def with_card(hand: int, card: int) -> int:
    """Return the hand with one more card."""
    return hand * BASE + card if hand < FULL else hand


def best(total: int, ace: bool) -> int:
    """Return the total with one ace counted as 11 where that does not bust."""
    return total + 10 if ace and total + 10 <= 21 else total


def score(total: int, ace: bool) -> int:
    """Return what a hand is worth in the end, 0 if it is bust."""
    value = best(total, ace)
    return 0 if value > 21 else value


def is_natural(hand: int) -> bool:
    """Tell whether a hand is an ace and a ten and nothing else."""
    return hand in (ACE_TEN, TEN_ACE)


def initial(params: Params, rng: Any) -> State:
    """Deal two cards to the dealer, then two to the player; the dealer's first is open."""
    first, second = draw_two(rng)
    third, fourth = draw_two(rng)
    suit = 3
    face = 0
    if params.deals_faces:
        suit = integers(rng, 0, 4)
        if first == 10:
            face = integers(rng, 0, 3)
    return State(
        third * BASE + fourth,
        third + fourth,
        third == 1 or fourth == 1,
        first * BASE + second,
        first + second,
        first == 1 or second == 1,
        first,
        suit,
        face,
        0.0,
        False,
    )


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Take a card (1), or let the dealer draw to 17 and compare (0)."""
    player, player_total, player_ace = state.player, state.player_total, state.player_ace
    dealer, dealer_total, dealer_ace = state.dealer, state.dealer_total, state.dealer_ace
    pay = 0.0
    over = True
    if action == 1:
        card = draw_card(rng)
        player = with_card(player, card)
        player_total += card
        player_ace = player_ace or card == 1
        over = best(player_total, player_ace) > 21
        pay = -1.0 if over else 0.0
    else:
        while best(dealer_total, dealer_ace) < 17:
            card = draw_card(rng)
            dealer = with_card(dealer, card)
            dealer_total += card
            dealer_ace = dealer_ace or card == 1
        mine = score(player_total, player_ace)
        theirs = score(dealer_total, dealer_ace)
        if mine != theirs:
            pay = 1.0 if mine > theirs else -1.0
        if is_natural(player):
            if params.sab and not is_natural(dealer):
                pay = 1.0
            elif params.natural and not params.sab and pay == 1.0:
                pay = 1.5
    return State(
        player,
        player_total,
        player_ace,
        dealer,
        dealer_total,
        dealer_ace,
        state.dealer_card,
        state.suit,
        state.face,
        pay,
        over,
    )


def observation(params: Params, state: State) -> tuple[int, int, int]:
    """Return the player's total, the dealer's open card, and whether an ace counts as 11."""
    total = best(state.player_total, state.player_ace)
    return total, state.dealer_card, 1 if total != state.player_total else 0


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Return what the round paid."""
    return next_state.reward


def terminal(params: Params, state: State) -> bool:
    """Tell whether the player went bust or stuck."""
    return state.over


def valid(params: Params, state: State) -> bool:
    """Tell whether the dealer, who draws up to 17, will be done soon."""
    return state.dealer_total >= 0


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the spaces of observations and actions."""
    return Tuple((Discrete(32), Discrete(11), Discrete(2))), Discrete(2)


KERNEL = Kernel(
    name="Blackjack",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    spaces=spaces,
    valid=valid,
)


def cards_of(hand: int) -> list[int]:
    """Return the cards of a hand in the order in which they came."""
    cards = []
    while hand:
        hand, card = divmod(hand, BASE)
        cards.append(card)
    return cards[::-1]


def hand_of(cards: Iterable[int]) -> tuple[int, int, bool]:
    """Return hand, total and whether there is an ace.

    Raises:
        ValueError: There is no card, or something that is none.
    """
    hand, total, ace = 0, 0, False
    for card in cards:
        if not 1 <= card <= 10:
            raise ValueError(f"Cards count from 1 (ace) to 10, got {card!r}.")
        hand, total, ace = with_card(hand, int(card)), total + int(card), ace or card == 1
    if not hand:
        raise ValueError("A hand holds at least one card, got none.")
    return hand, total, ace


class BlackjackEnv(KernelEnv):
    """Take cards until you stop or exceed 21; then the dealer draws to 17 and the hands compare.

    The observation is the player's total (an ace counts 11 unless that busts), the dealer's open
    card (1 is an ace), and whether an ace counts 11. Actions are 0 stick, 1 hit. A win pays 1, a
    loss -1, a draw 0. Cards come from an endless deck.

    Args:
        render_mode: ``human`` or ``rgb_array``.
        natural: Whether winning with an ace and a ten as first cards pays 1.5.
        sab: Whether to play as the book does: such a hand then beats every dealer without one, and
            ``natural`` is ignored. ``Blackjack-v1`` is registered with it.

    Attributes:
        player, dealer: The cards held, in order; may be assigned.
        dealer_top_card_suit, dealer_top_card_value_str: How the open card is drawn.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array"],
        "render_fps": 4,
    }
    kernel = KERNEL
    deals_faces: ClassVar[bool] = True
    """Whether a reset also draws a suit and a face for the picture."""

    def __init__(
        self, render_mode: str | None = None, natural: bool = False, sab: bool = False
    ) -> None:
        super().__init__(
            Params(bool(natural), bool(sab), self.deals_faces), render_mode=render_mode
        )
        self._view = View(*SIZE)

    @property
    def natural(self) -> bool:
        """Whether a winning natural pays 1.5."""
        return bool(self.params.natural)

    @property
    def sab(self) -> bool:
        """Whether the rules are those of the book."""
        return bool(self.params.sab)

    @property
    def player(self) -> list[int]:
        """The player's cards."""
        return cards_of(self.state.player)

    @player.setter
    def player(self, cards: Iterable[int]) -> None:
        hand, total, ace = hand_of(cards)
        self.state = self.state._replace(player=hand, player_total=total, player_ace=ace)

    @property
    def dealer(self) -> list[int]:
        """The dealer's cards, the open one first."""
        return cards_of(self.state.dealer)

    @dealer.setter
    def dealer(self, cards: Iterable[int]) -> None:
        cards = list(cards)
        hand, total, ace = hand_of(cards)
        self.state = self.state._replace(
            dealer=hand, dealer_total=total, dealer_ace=ace, dealer_card=cards[0]
        )

    @property
    def dealer_top_card_suit(self) -> str:
        """C, D, H or S."""
        return SUITS[self.state.suit]

    @property
    def dealer_top_card_value_str(self) -> str:
        """The name of the open card: A, 2 to 9, J, Q or K."""
        card = int(self.state.dealer_card)
        return {1: "A", 10: FACES[self.state.face]}.get(card, str(card))

    def render(self) -> np.ndarray[Any, Any] | str | None:
        """Return a picture of the table, or show it in a window."""
        return self._view.render(
            self,
            draw=lambda canvas: draw(
                canvas,
                self.player,
                self.dealer if self.state.over else self.dealer[:1],
                observation(self.params, self.state),
                (self.dealer_top_card_value_str, self.dealer_top_card_suit),
            ),
        )

    def close(self) -> None:
        """Close the window, if one is open."""
        self._view.close()


class BlackjackV0Env(BlackjackEnv):
    """Blackjack-v0: the same game without the book's rule, and no cards drawn for the picture."""

    deals_faces: ClassVar[bool] = False

    def __init__(self, natural: bool = False, render_mode: str | None = None) -> None:
        super().__init__(render_mode=render_mode, natural=natural)
