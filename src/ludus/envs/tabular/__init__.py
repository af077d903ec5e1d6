"""Gymnasium's ``tabular`` environments: variants of Blackjack and Cliff Walking, same kernels.

What a seed gives differs, because there they draw from JAX's generator; the rules are the same.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ludus.envs.tabular.blackjack import BlackjackFunctional, BlackJackJaxEnv
    from ludus.envs.tabular.cliffwalking import CliffWalkingFunctional, CliffWalkingJaxEnv

__all__ = [
    "BlackJackJaxEnv",
    "BlackjackFunctional",
    "CliffWalkingFunctional",
    "CliffWalkingJaxEnv",
]

_MODULES = {
    "BlackJackJaxEnv": "blackjack",
    "BlackjackFunctional": "blackjack",
    "CliffWalkingFunctional": "cliffwalking",
    "CliffWalkingJaxEnv": "cliffwalking",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
