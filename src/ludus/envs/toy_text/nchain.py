"""NChain: walk to the end of a chain for a large reward, or turn back for a small one."""

from __future__ import annotations

from typing import Any, NamedTuple

from ludus.envs.arguments import positive_int, probability
from ludus.kernel import Kernel, KernelEnv
from ludus.kernel.random import random
from ludus.spaces import Discrete, Space

__all__ = ["NChainEnv", "Params", "State"]


class Params(NamedTuple):
    """Length of the chain, how often actions slip, and the two rewards."""

    n: int
    slip: float
    small: float
    large: float


class State(NamedTuple):
    """The current link, and the last reward."""

    link: int
    reward: float


def initial(params: Params, rng: Any) -> State:
    """Start at the first link."""
    return State(0, 0.0)


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Go forward (0) or back to the start (1); a slip does the opposite."""
    forward = action == 0
    if random(rng) < params.slip:
        forward = not forward
    if not forward:
        return State(0, params.small)
    if state.link < params.n - 1:
        return State(state.link + 1, 0.0)
    return State(state.link, params.large)


def observation(params: Params, state: State) -> int:
    """Return the link."""
    return state.link


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Return the reward of the step."""
    return next_state.reward


def terminal(params: Params, state: State) -> bool:
    """Return false: episodes do not terminate."""
    return False


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the spaces of links and actions."""
    return Discrete(params.n), Discrete(2)


KERNEL = Kernel(
    name="NChain",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    spaces=spaces,
)


class NChainEnv(KernelEnv):
    """A chain of ``n`` links, observed by number (Strens, 2000).

    Action 0 goes one link forward and pays nothing, except at the last link, where it stays and
    pays ``large``. Action 1 goes back to the first link and pays ``small``. With probability
    ``slip`` the opposite happens. The episode never ends by itself.

    Raises:
        ValueError: ``n`` is not a positive integer, or ``slip`` not a probability.
    """

    kernel = KERNEL

    def __init__(self, n: int = 5, slip: float = 0.2, small: float = 2, large: float = 10) -> None:
        links, slips = positive_int("n", n), probability("slip", slip)
        super().__init__(Params(links, slips, float(small), float(large)))
