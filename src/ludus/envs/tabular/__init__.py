"""Gymnasium's ``tabular`` environments: variants of Blackjack and Cliff Walking, same kernels.

Seeds give other results here, because Gymnasium uses JAX's generator; the rules are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

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

__getattr__ = lazy_names(__name__, _MODULES)
