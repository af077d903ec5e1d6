"""Generalized Kelly Coinflip: betting on a coin whose favour has to be found out."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from ludus.core.env import Env
from ludus.envs.screen import show_text
from ludus.envs.toy_text.kelly_coinflip import BROKE, settle
from ludus.errors import InvalidAction, ResetNeeded
from ludus.spaces import Box, Discrete, Tuple

__all__ = ["KellyCoinflipGeneralizedEnv"]

Observation = tuple[np.ndarray[Any, Any], int, int, int, np.ndarray[Any, Any]]
MOST_ACTIONS = np.iinfo(np.int64).max
MOST_MONEY = float(np.finfo(np.float32).max)
WEALTH_QUANTILE, ROUNDS_QUANTILE = 0.85, 0.99
LARGEST_UNIFORM, LARGEST_NORMAL = 1 - 2.0**-53, 14.0
"""Upper bounds of NumPy's uniform and standard normal draws."""
LARGEST_EXPONENT = 709.0


def pareto_quantile(q: float, shape: float, location: float) -> float:
    """Return the quantile of the generalised Pareto distribution of scale 1."""
    # SciPy's formula, with which classic Gym drew: another order of operations rounds some caps
    # to another number. The exponent's bound keeps the largest caps finite.
    return location + math.expm1(min(-shape * math.log1p(-q), LARGEST_EXPONENT)) / shape


class KellyCoinflipGeneralizedEnv(Env[Observation, int]):
    """Bet as in :class:`~ludus.envs.toy_text.kelly_coinflip.KellyCoinflipEnv`, knowing less.

    Every reset draws the coin's edge from a Beta distribution, the cap from a generalised Pareto
    distribution, and the number of rounds from a normal one. The observation is the money, the
    rounds played, those won, those lost, and the most money held so far; the action is the bet in
    cents. Observation and action space follow cap and rounds: **they change at each reset**, unless
    ``clip_distributions`` bounds both. Before the first reset they hold every game there can be.
    Vector environments keep these wide spaces, and so take bets beyond the cap of a game; such a
    bet is all the money, as every bet of more than there is.

    Batches are not compiled: a kernel's spaces stay as they are, and Beta and normal numbers with
    NumPy's bits would take NumPy's algorithms and tables. ``make_vec`` steps single environments
    instead, which play as they play alone.

    Args:
        initial_wealth: Money at the start.
        edge_prior_alpha: First parameter of the edge's Beta distribution.
        edge_prior_beta: Second parameter.
        max_wealth_alpha: Shape of the cap's distribution.
        max_wealth_m: Location of the cap's distribution.
        max_rounds_mean: Mean of the number of rounds.
        max_rounds_sd: Standard deviation of the number of rounds.
        reseed: Accepted for classic Gym's sake; seeding is up to ``reset(seed=...)``.
        clip_distributions: Draw again until the cap is at most its 85 % quantile and the rounds at
            most their 99 % quantile; the spaces then have these bounds and stay as they are.
        render_mode: ``human`` writes a line per step to standard output, ``ansi`` returns it.

    Kept from classic Gym: every round counts as won, whatever the coin showed; and the cap's
    location is 200 where its scale was meant, which gives it an infinite mean. Only spaces too
    large for 64 bits or for float32 are cut.

    Raises:
        ValueError: A parameter of a distribution is not positive, or not finite.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "ansi"],
        "render_fps": 4,
    }
    state_fields = (
        "edge",
        "max_wealth",
        "max_rounds",
        "wealth",
        "rounds",
        "rounds_elapsed",
        "wins",
        "losses",
        "max_ever_wealth",
        "_started",
    )

    def __init__(
        self,
        initial_wealth: float = 25.0,
        edge_prior_alpha: float = 7,
        edge_prior_beta: float = 3,
        max_wealth_alpha: float = 5.0,
        max_wealth_m: float = 200.0,
        max_rounds_mean: float = 300.0,
        max_rounds_sd: float = 25.0,
        reseed: bool = True,
        clip_distributions: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self.initial_wealth = float(initial_wealth)
        self.edge_prior_alpha = edge_prior_alpha
        self.edge_prior_beta = edge_prior_beta
        self.max_wealth_alpha = max_wealth_alpha
        self.max_wealth_m = max_wealth_m
        self.max_rounds_mean = max_rounds_mean
        self.max_rounds_sd = max_rounds_sd
        self.clip_distributions = clip_distributions
        self.render_mode = render_mode
        for name in (
            "initial_wealth",
            "edge_prior_alpha",
            "edge_prior_beta",
            "max_wealth_alpha",
            "max_wealth_m",
            "max_rounds_mean",
        ):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(
                    f"{name} must be positive and finite, got {getattr(self, name)!r}."
                )
        if not 0 <= max_rounds_sd < math.inf:
            raise ValueError(
                f"max_rounds_sd must not be negative or infinite, got {max_rounds_sd!r}."
            )
        self._started = False
        self._draw_game()
        self._all_bets = self.action_space

    def _draw_game(self) -> None:
        self.edge = float(self.np_random.beta(self.edge_prior_alpha, self.edge_prior_beta))
        most_wealth, most_rounds = self._bounds()
        self.max_wealth = self._draw_cap()
        while self.max_wealth > most_wealth:
            self.max_wealth = self._draw_cap()
        self.max_rounds = self._draw_rounds()
        while self.max_rounds > most_rounds:
            self.max_rounds = self._draw_rounds()
        self.wealth = self.max_ever_wealth = self.initial_wealth
        self.rounds, self.rounds_elapsed, self.wins, self.losses = self.max_rounds, 0, 0, 0
        self._set_spaces()

    def _bounds(self) -> tuple[int, int]:
        """Return the largest cap and number of rounds of a game; larger ones are drawn again."""
        q, above_mean = LARGEST_UNIFORM, LARGEST_NORMAL
        if self.clip_distributions:
            q, above_mean = WEALTH_QUANTILE, NormalDist().inv_cdf(ROUNDS_QUANTILE)
        wealth = pareto_quantile(q, self.max_wealth_alpha, self.max_wealth_m)
        rounds = self.max_rounds_mean + self.max_rounds_sd * above_mean
        return max(1, round(wealth)), max(1, round(rounds))

    def _draw_cap(self) -> float:
        q = self.np_random.uniform()
        return float(max(1, round(pareto_quantile(q, self.max_wealth_alpha, self.max_wealth_m))))

    def _draw_rounds(self) -> int:
        drawn = self.np_random.normal(self.max_rounds_mean, self.max_rounds_sd)
        return max(1, round(float(drawn)))

    def _set_spaces(self) -> None:
        wealth: float
        wealth, rounds = self._bounds()
        if self._started and not self.clip_distributions:
            wealth, rounds = self.max_wealth, self.max_rounds
        money = Box(0, min(wealth, MOST_MONEY), (1,), np.float32)
        count = Discrete(min(rounds, MOST_ACTIONS - 1) + 1)
        spaces = {
            "observation_space": Tuple((money, count, count, count, money)),
            "action_space": Discrete(int(min(wealth * 100, MOST_ACTIONS))),
        }
        for name, space in spaces.items():
            # An equal space is kept, because it may have been seeded.
            if getattr(self, name, None) != space:
                setattr(self, name, space)
        self.reward_range = (0.0, self.max_wealth)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Draw a new game, and with it new spaces."""
        super().reset(seed=seed)
        self._started = True
        self._draw_game()
        if self.render_mode == "human":
            self.render()
        return self._observation(), {}

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Bet ``action`` cents on heads."""
        if not self._started:
            raise ResetNeeded("Call reset before using step method.")
        if not self._all_bets.contains(action):
            raise InvalidAction(
                f"{action!r} ({type(action)}) invalid: expected a bet in {self.action_space}."
            )
        won = bool(self.np_random.uniform() < self.edge)
        self.wealth = settle(self.wealth, int(action), won, self.max_wealth)
        self.max_ever_wealth = max(self.max_ever_wealth, self.wealth)
        self.rounds -= 1
        self.rounds_elapsed += 1
        self.wins += 1
        over = self.wealth < BROKE or self.wealth == self.max_wealth or self.rounds == 0
        if self.render_mode == "human":
            self.render()
        return self._observation(), self.wealth if over else 0.0, over, False, {}

    def _observation(self) -> Observation:
        return (
            np.array([self.wealth], dtype=np.float32),
            self.rounds_elapsed,
            self.wins,
            self.losses,
            np.array([self.max_ever_wealth], dtype=np.float32),
        )

    def _load_state(self, fields: dict[str, Any]) -> None:
        super()._load_state(fields)
        self._set_spaces()

    def render(self) -> str | None:
        """Return one line on money, rounds and luck, or write it to standard output."""
        return show_text(self, self._line)

    def _line(self) -> str:
        return (
            f"Current wealth: {self.wealth}; Rounds left: {self.rounds}; True edge: {self.edge}; "
            f"True max wealth: {self.max_wealth}; Rounds elapsed: {self.rounds_elapsed}\n"
        )
