"""Costs of model calls, and caps that no call may exceed.

A cap is checked before a call, including the call's own worst case: the estimated prompt and the
longest reply allowed. So it holds however long replies become.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ludus.errors import ResearchError
from ludus.research.agents.protocol import AgentStopped, StopReason

__all__ = ["Caps", "Meter", "ModelUsage", "Price", "price_table"]

SHORTEST_REPLY = 64
"""Tokens; where less than that is left for a reply, there is no use in asking."""


@dataclass(frozen=True, slots=True)
class Price:
    """Of a million tokens, in the currency of the cap."""

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None
    """Of input that the server had in its cache; ``None`` for the price of other input."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"A price's {name} must be finite and not negative; got {value}.")

    def of(self, prompt: int, completion: int, cached: int = 0) -> float:
        """Return the price of a call; ``cached`` tokens are part of the prompt."""
        cheap = self.input if self.cached is None else self.cached
        return ((prompt - cached) * self.input + cached * cheap + completion * self.output) / 1e6


def price_table(table: Mapping[str, Mapping[str, float] | Price]) -> dict[str, Price]:
    """Return prices by model from a user's file: ``{model: {input: 2.5, output: 10}}``.

    Raises:
        ResearchError: An entry has other fields, or values that are not prices.
    """
    prices = {}
    for model, entry in table.items():
        try:
            prices[model] = entry if isinstance(entry, Price) else Price(**entry)
        except (TypeError, ValueError) as problem:
            raise ResearchError(
                f"The price of model {model!r} is wrong: {problem} An entry has the fields input, "
                "output and, if wanted, cached: money for a million tokens."
            ) from problem
    return prices


@dataclass(frozen=True, slots=True)
class Caps:
    """How much an episode's model calls may take; ``None`` is no limit."""

    tokens: int | None = None
    """Of all prompts and replies."""
    cost: float | None = None
    seconds: float | None = None
    """From the first observation on, the environment's own time included."""
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What has been used."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0
    retries: int = 0
    estimated_calls: int = 0
    """Calls for which the server did not say, so that tokens were estimated."""

    @property
    def tokens(self) -> int:
        """Of prompts and replies."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(slots=True)
class Meter:
    """Adds up what calls use, and refuses one that would break a cap."""

    caps: Caps = field(default_factory=Caps)
    price: Price | None = None
    clock: Callable[[], float] = time.monotonic
    usage: ModelUsage = field(default_factory=ModelUsage)
    _started: float | None = None
    _before: float = 0.0

    def __post_init__(self) -> None:
        if self.caps.cost is not None and self.price is None:
            raise ResearchError(
                "A cap on cost needs the model's price; give it, or a cap on tokens instead."
            )

    def start(self) -> None:
        """Let the time run, if it does not."""
        if self._started is None:
            self._started = self.clock()

    @property
    def seconds(self) -> float:
        """Since :meth:`start`."""
        running = 0.0 if self._started is None else self.clock() - self._started
        return self._before + running

    @property
    def seconds_left(self) -> float:
        """Until the cap; infinite without one."""
        return math.inf if self.caps.seconds is None else self.caps.seconds - self.seconds

    def admit(self, prompt: int, longest_reply: int) -> int:
        """Return how many tokens the next reply may have, given the estimated tokens of the prompt.

        Raises:
            AgentStopped: A cap is reached, or would be by this call.
        """
        caps, used = self.caps, self.usage
        if caps.calls is not None and used.calls >= caps.calls:
            raise _stopped(StopReason.CALLS, f"{used.calls} of {caps.calls} calls were made")
        if self.seconds_left <= 0:
            raise _stopped(StopReason.TIME, f"{caps.seconds:g} seconds are over")
        allowed = longest_reply
        if caps.tokens is not None:
            left = caps.tokens - used.tokens - prompt
            if left < min(SHORTEST_REPLY, longest_reply):
                what = f"{used.tokens} of {caps.tokens} tokens are used, the prompt has {prompt}"
                raise _stopped(StopReason.TOKENS, what)
            allowed = min(allowed, left)
        if caps.cost is not None and self.price is not None:
            affordable = self._affordable(prompt, caps.cost - used.cost, allowed)
            if affordable < min(SHORTEST_REPLY, longest_reply):
                what = f"{used.cost:.6g} of {caps.cost:.6g} are spent, the next call costs more"
                raise _stopped(StopReason.COST, what)
            allowed = affordable
        return allowed

    def add(
        self,
        prompt: int,
        completion: int,
        *,
        cached: int = 0,
        retries: int = 0,
        estimated: bool = False,
    ) -> None:
        """Put one answered call on the account."""
        used = self.usage
        cost = 0.0 if self.price is None else self.price.of(prompt, completion, cached)
        self.usage = replace(
            used,
            calls=used.calls + 1,
            prompt_tokens=used.prompt_tokens + prompt,
            completion_tokens=used.completion_tokens + completion,
            cached_tokens=used.cached_tokens + cached,
            cost=used.cost + cost,
            retries=used.retries + retries,
            estimated_calls=used.estimated_calls + estimated,
        )

    def get_state(self) -> dict[str, Any]:
        """Return the account as plain data."""
        return {**asdict(self.usage), "seconds": self.seconds}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore an earlier account; the time between does not count."""
        rest = dict(state)
        self._before = float(rest.pop("seconds"))
        self._started = None
        self.usage = ModelUsage(**rest)

    def _affordable(self, prompt: int, money: float, wanted: int) -> int:
        price = self.price or Price()
        left = money - price.of(prompt, 0)
        if left < 0:
            return 0
        return wanted if price.output == 0 else min(wanted, int(left / price.output * 1e6))


def _stopped(reason: StopReason, what: str) -> AgentStopped:
    return AgentStopped(f"The agent's {reason.value.replace('_', ' ')}: {what}.", reason=reason)
