"""Taxi: fetch a passenger and drop them off where they want to go (Dietterich, 2000)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ludus.core.colorize import colorize
from ludus.envs.arguments import probability
from ludus.envs.classic_control.parameter import Flag, Parameter
from ludus.envs.toy_text.tabular import Game, TabularEnv
from ludus.envs.toy_text.taxi_drawing import SIZE, draw
from ludus.envs.toy_text.taxi_kernel import KERNEL, Params, State
from ludus.envs.toy_text.taxi_rules import (
    MAP,
    OPEN_MAP,
    STOPS,
    TAXI,
    Rules,
    decode,
    encode,
    mask_of,
    starts_of,
    table_of,
)
from ludus.envs.view import View
from ludus.errors import ResetNeeded

__all__ = ["MAP", "TaxiEnv", "TaxiV1Env", "TaxiV2Env"]

NAMES = ("South", "North", "East", "West", "Pickup", "Dropoff")


@lru_cache(maxsize=8)
def game_of(rules: Rules, straight: float | None) -> Game:
    """Return the game, cached because its table takes most of the time of ``make``."""
    return Game.of(table_of(rules, straight), starts_of(rules))


def text_of(town: tuple[str, ...], s: int, lastaction: int | None) -> str:
    """Return the town with taxi, passenger and destination in colours, and the last action."""
    cells = [list(line) for line in town]
    row, col, passenger, destination = decode(s)

    def paint(place: tuple[int, int], color: str, blank: str = " ", **style: bool) -> None:
        line, column = 1 + place[0], 2 * place[1] + 1
        letter = cells[line][column]
        cells[line][column] = colorize(blank if letter == " " else letter, color, **style)

    if passenger == TAXI:
        paint((row, col), "green", "_", highlight=True)
    else:
        paint((row, col), "yellow", highlight=True)
        paint(STOPS[passenger], "blue", bold=True)
    paint(STOPS[destination], "magenta")
    foot = "" if lastaction is None else f"  ({NAMES[lastaction]})"
    return "\n".join([*("".join(line) for line in cells), foot, ""])


class _Probability(Parameter):
    """A parameter between 0 and 1."""

    def pack(self, value: Any) -> dict[str, Any]:
        return {self.field: probability(self.name, value)}


class TaxiEnv(TabularEnv):
    """Drive through a town of 5 by 5 cells with four stops: R, G, Y and B.

    The observation is ``((row * 5 + column) * 5 + passenger) * 4 + destination``; passengers wait
    at stop 0 to 3, or sit in the taxi (4). Actions are 0 south, 1 north, 2 east, 3 west, 4 pick up,
    5 drop off. A step costs 1, picking up or dropping off where that is impossible costs 10,
    delivery pays 20 and ends the episode. Dropping the passenger at another stop is allowed.
    The episode starts anywhere, with the passenger at a stop that is not the destination.

    ``info["prob"]`` is the probability of the outcome that occurred; ``info["action_mask"]`` tells
    which actions do something (int8, fit for ``action_space.sample``).

    Args:
        render_mode: ``human``, ``ansi`` or ``rgb_array``.
        is_rainy: Whether a drive that is possible may end left or right of where it should.
        fickle_passenger: Whether some passengers change their mind once, at the first move after
            they got in.
        rainy_probability: How likely the taxi goes where it should in the rain.
        fickle_probability: How many of the passengers are fickle.

    Versions: v4 and v3 are this town without rain by default; with rain or fickle passengers, v3
    is v4, which mended them. Their threshold, 8, lies above the optimum of 7.93, and is kept.
    :class:`TaxiV2Env` and :class:`TaxiV1Env` are the older towns.

    Raises:
        ValueError: A probability is not between 0 and 1.
    """

    uncalled_hooks: ClassVar[tuple[str, ...]] = (
        *("_build_dry_transitions", "_build_rainy_transitions", "_dropoff", "_pickup"),
        *("action_mask", "decode", "encode", "get_surf_loc"),
    )

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "ansi", "rgb_array"],
        "render_fps": 4,
    }
    kernel = KERNEL
    rules: ClassVar[Rules] = Rules(MAP)

    fickle_passenger = Flag(False)
    fickle_probability = _Probability(0.3)

    def __init__(
        self,
        render_mode: str | None = None,
        is_rainy: bool = False,
        fickle_passenger: bool = False,
        rainy_probability: float = 0.8,
        fickle_probability: float = 0.3,
    ) -> None:
        self.desc = np.asarray(self.rules.town, dtype="c")
        self.locs = list(STOPS)
        self._mask = mask_of(self.rules)
        self.max_row = self.max_col = 4
        self.rainy_probability = probability("rainy_probability", rainy_probability)
        fickle_probability = probability("fickle_probability", fickle_probability)
        game = game_of(self.rules, self.rainy_probability if is_rainy else None)
        params = Params(*game.params, bool(fickle_passenger), fickle_probability)
        super().__init__(params, game, View(*SIZE), render_mode)

    @property
    def s(self) -> int:
        """The current state."""
        return int(self.state.s)

    @s.setter
    def s(self, value: int) -> None:
        decode(int(value))
        fickle = self.state is not None and self.state.fickle
        self.state = State(int(value), 1.0, 0.0, False, fickle)

    @property
    def fickle_step(self) -> bool:
        """Whether the passenger will change the destination."""
        return self.state is not None and bool(self.state.fickle)

    @fickle_step.setter
    def fickle_step(self, value: bool) -> None:
        if self.state is None:
            raise ResetNeeded("fickle_step is drawn by reset(); call reset() before setting it.")
        self.state = self.state._replace(fickle=bool(value))

    def info_arrays(
        self, params: Params, observations: np.ndarray[Any, Any]
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Return the action masks of many taxis."""
        return {"action_mask": self._mask.take(observations, axis=0)}

    def encode(self, taxi_row: int, taxi_col: int, pass_loc: int, dest_idx: int) -> int:
        """Return the number of a state."""
        return encode(taxi_row, taxi_col, pass_loc, dest_idx)

    def decode(self, i: int) -> tuple[int, int, int, int]:
        """Return row, column, passenger and destination of state ``i``.

        Raises:
            ValueError: There is no such state.
        """
        return decode(i)

    def action_mask(self, state: int) -> np.ndarray[Any, Any]:
        """Return an int8 array with 1 for each action that does something in ``state``."""
        decode(state)
        mask: np.ndarray[Any, Any] = self._mask[state].copy()
        return mask

    def render(self) -> np.ndarray[Any, Any] | str | None:
        """Return the town as text or picture, or show it in a window."""
        return self._view.render(
            self,
            draw=lambda canvas: draw(canvas, self.rules.town, decode(self.s), self.lastaction),
            text=lambda: text_of(self.rules.town, self.s, self.lastaction),
        )


class TaxiV2Env(TaxiEnv):
    """The town of Taxi-v2, which lacks the wall in the second row."""

    rules: ClassVar[Rules] = Rules(OPEN_MAP)


class TaxiV1Env(TaxiEnv):
    """The town of Taxi-v2 with the start states of Taxi-v1.

    Classic Gym stored each start one state too low, so that passengers may wait where they want to
    go (at R, G or Y); and it left the passenger in the taxi after delivery. Both are kept.
    """

    rules: ClassVar[Rules] = Rules(OPEN_MAP, start_shift=-1, delivered_stays_aboard=True)
