"""Blackjack: come closer to 21 than the dealer (Sutton and Barto, example 5.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.core.types import State as SavedState
from ludus.envs.classic_control.parameter import Flag
from ludus.envs.hooks import RefusesHooks
from ludus.envs.toy_text.blackjack_drawing import SIZE, draw
from ludus.envs.view import View
from ludus.kernel import Kernel, KernelEnv
from ludus.kernel.random import integers_below, integers_if
from ludus.spaces import Discrete, Space, Tuple

__all__ = ["BlackjackEnv", "BlackjackV0Env", "Params", "State"]

BASE = 11
"""Base of the number that encodes a hand, with one digit per card, the first card highest."""
FULL = BASE**17
"""Largest hand that can take another card; larger ones have a probability of 1e-15."""
ACE_TEN, TEN_ACE = 1 * BASE + 10, 10 * BASE + 1
SUITS = "CDHS"
FACES = "JQK"


class Params(NamedTuple):
    """The house rules."""

    natural: bool
    sab: bool
    deals_faces: bool


class State(NamedTuple):
    """Both hands, their totals, the dealer's open card, and the outcome so far.

    A hand is soft if an ace in it counts 11.
    """

    player: int
    player_count: int
    player_soft: bool
    dealer: int
    dealer_count: int
    dealer_soft: bool
    dealer_card: int
    suit: int
    face: int
    reward: float
    over: bool


def value(rank: int) -> int:
    """Return the value of a card by its rank from 1 (ace, as 1) to 13 (king)."""
    return rank if rank < 10 else 10


def draw_card(rng: Any, wanted: bool) -> int:
    """Return a card from an endless deck, or 0 if none is wanted."""
    return value(integers_if(rng, wanted, 1, 14))


def draw_two(rng: Any) -> tuple[int, int]:
    """Return two cards."""
    first, second = integers_below(rng, 13, 13, True)
    return value(first + 1), value(second + 1)


def with_card(hand: int, card: int) -> int:
    """Return the hand with one more card; 0 is none."""
    return hand * BASE + card if (card > 0) & (hand < FULL) else hand


def count_with(count: int, soft: bool, card: int) -> tuple[int, bool]:
    """Return the total of a hand with one more card, and whether it is soft."""
    least = count - 10 * soft + card
    soft = (soft | (card == 1)) & (least <= 11)
    return least + 10 * soft, soft


def score(count: int) -> int:
    """Return the final value of a hand, 0 if it is bust."""
    return count if count <= 21 else 0


def is_natural(hand: int) -> bool:
    """Return whether a hand is an ace and a ten and nothing else."""
    return hand in (ACE_TEN, TEN_ACE)


def initial(params: Params, rng: Any) -> State:
    """Deal two cards to the dealer, then two to the player; the dealer's first is open."""
    first, second = draw_two(rng)
    third, fourth = draw_two(rng)
    suit = 3
    face = 0
    if params.deals_faces:
        suit, face = integers_below(rng, 4, 3, first == 10)
    player_soft = (third == 1) | (fourth == 1)
    dealer_soft = (first == 1) | (second == 1)
    return State(
        third * BASE + fourth,
        third + fourth + 10 * player_soft,
        player_soft,
        first * BASE + second,
        first + second + 10 * dealer_soft,
        dealer_soft,
        first,
        suit,
        face,
        0.0,
        False,
    )


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Take a card (1), or let the dealer draw to 17 and compare (0)."""
    # Who draws cannot be predicted, so there is one draw for both and arithmetic instead of
    # branches.
    sticks = 1 - action
    enough = 17 * sticks
    card = draw_card(rng, state.dealer_count * sticks < 17)
    mine = card * action
    player = with_card(state.player, mine)
    player_count, player_soft = count_with(state.player_count, state.player_soft, mine)
    card -= mine
    dealer = with_card(state.dealer, card)
    dealer_count, dealer_soft = count_with(state.dealer_count, state.dealer_soft, card)
    while dealer_count < enough:
        card = draw_card(rng, True)
        dealer = with_card(dealer, card)
        dealer_count, dealer_soft = count_with(dealer_count, dealer_soft, card)
    ours, theirs = score(player_count), score(dealer_count)
    bust = 1 if ours == 0 else 0
    won = (1 if ours > theirs else 0) - (1 if ours < theirs else 0)
    pay = float(won * sticks - bust * action)
    if is_natural(player) and action == 0:
        if params.sab and not is_natural(dealer):
            pay = 1.0
        elif params.natural and not params.sab and pay == 1.0:
            pay = 1.5
    return State(
        player,
        player_count,
        player_soft,
        dealer,
        dealer_count,
        dealer_soft,
        state.dealer_card,
        state.suit,
        state.face,
        pay,
        bust + sticks > 0,
    )


def observation(params: Params, state: State) -> tuple[int, int, int]:
    """Return the player's total, the dealer's open card, and whether an ace counts as 11."""
    return state.player_count, state.dealer_card, int(state.player_soft)


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Return the reward of the round."""
    return next_state.reward


def terminal(params: Params, state: State) -> bool:
    """Return whether the player went bust or stuck."""
    return state.over


def valid(params: Params, state: State) -> bool:
    """Return whether the dealer, who draws up to 17, will be done soon."""
    return state.dealer_count >= 0


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the observation and the action space."""
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
    """Return a hand, its total and whether it is soft.

    Raises:
        ValueError: There are no cards, or one is not a card.
    """
    hand, count, soft = 0, 0, False
    for card in cards:
        if not 1 <= card <= 10:
            raise ValueError(f"Cards count from 1 (ace) to 10, got {card!r}.")
        hand = with_card(hand, int(card))
        count, soft = count_with(count, soft, int(card))
    if not hand:
        raise ValueError("A hand holds at least one card, got none.")
    return hand, count, soft


class BlackjackEnv(RefusesHooks, KernelEnv):
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
        natural, sab: The house rules; may be assigned.
        player, dealer: The cards held, in order; may be assigned.
        dealer_top_card_suit, dealer_top_card_value_str: How the open card is drawn.
    """

    uncalled_hooks: ClassVar[tuple[str, ...]] = ("_get_obs",)

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array"],
        "render_fps": 4,
    }
    kernel = KERNEL
    deals_faces: ClassVar[bool] = True
    """Whether a reset also draws the suit and the face of the open card, for rendering."""

    natural = Flag(False)
    sab = Flag(False)

    def __init__(
        self, render_mode: str | None = None, natural: bool = False, sab: bool = False
    ) -> None:
        self._hands: dict[str, tuple[list[int], list[int]]] = {}
        super().__init__(
            Params(bool(natural), bool(sab), self.deals_faces), render_mode=render_mode
        )
        self._view = View(*SIZE)

    @property
    def player(self) -> list[int]:
        """The player's cards; may be edited in place."""
        return self._shown_hand("player")

    @player.setter
    def player(self, cards: Iterable[int]) -> None:
        hand, count, soft = hand_of(cards)
        self.state = self.state._replace(player=hand, player_count=count, player_soft=soft)
        self._hands.pop("player", None)

    @property
    def dealer(self) -> list[int]:
        """The dealer's cards, the open one first; may be edited in place."""
        return self._shown_hand("dealer")

    @dealer.setter
    def dealer(self, cards: Iterable[int]) -> None:
        cards = list(cards)
        hand, count, soft = hand_of(cards)
        self.state = self.state._replace(
            dealer=hand, dealer_count=count, dealer_soft=soft, dealer_card=cards[0]
        )
        self._hands.pop("dealer", None)

    def _get_obs(self) -> tuple[int, int, int]:
        """Return the player's total, the dealer's open card, and whether an ace counts 11."""
        self._take_edits()
        total, card, usable = observation(self.params, self.state)
        return int(total), int(card), int(usable)

    def _shown_hand(self, owner: str) -> list[int]:
        cards = cards_of(getattr(self.state, owner))
        shown, before = self._hands.get(owner, (cards, cards))
        if shown == before != cards:
            shown = cards
        if shown is cards:
            self._hands[owner] = (cards, cards.copy())
            self._holding = True
            self._watch()
        return shown

    def _is_watched(self) -> bool:
        return bool(self._hands)

    def _before_step(self, action: Any) -> None:
        self._take_edits()

    def _after_step(self) -> None:
        self._forget_edits()

    def _forget_edits(self) -> None:
        self._hands.clear()
        self._holding = False

    def _take_edits(self) -> None:
        """Read hands that were edited in place."""
        for owner, (shown, before) in list(self._hands.items()):
            if shown != before:
                setattr(self, owner, shown)

    def __getstate__(self) -> dict[str, Any]:
        self._take_edits()
        return {**super().__getstate__(), "_hands": {}}

    def _save_state(self) -> SavedState:
        self._take_edits()
        return super()._save_state()

    def _load_state(self, fields: SavedState) -> None:
        self._forget_edits()
        super()._load_state(fields)

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
        """Close the window."""
        self._view.close()


class BlackjackV0Env(BlackjackEnv):
    """Blackjack-v0: the same game without the book's rule, and no cards drawn for the picture."""

    deals_faces: ClassVar[bool] = False

    def __init__(self, natural: bool = False, render_mode: str | None = None) -> None:
        super().__init__(render_mode=render_mode, natural=natural)
