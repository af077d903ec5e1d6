"""Toy text: small games, most of them small enough to be solved exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.envs.toy_text.blackjack import BlackjackEnv
    from ludus.envs.toy_text.cliffwalking import CliffWalkingEnv
    from ludus.envs.toy_text.frozen_lake import FrozenLakeEnv
    from ludus.envs.toy_text.guessing_game import GuessingGameEnv
    from ludus.envs.toy_text.hotter_colder import HotterColderEnv
    from ludus.envs.toy_text.kelly_coinflip import KellyCoinflipEnv
    from ludus.envs.toy_text.kelly_coinflip_generalized import KellyCoinflipGeneralizedEnv
    from ludus.envs.toy_text.nchain import NChainEnv
    from ludus.envs.toy_text.roulette import RouletteEnv
    from ludus.envs.toy_text.taxi import TaxiEnv

__all__ = [
    "BlackjackEnv",
    "CliffWalkingEnv",
    "FrozenLakeEnv",
    "GuessingGameEnv",
    "HotterColderEnv",
    "KellyCoinflipEnv",
    "KellyCoinflipGeneralizedEnv",
    "NChainEnv",
    "RouletteEnv",
    "TaxiEnv",
]

_MODULES = {
    "BlackjackEnv": "blackjack",
    "CliffWalkingEnv": "cliffwalking",
    "FrozenLakeEnv": "frozen_lake",
    "GuessingGameEnv": "guessing_game",
    "HotterColderEnv": "hotter_colder",
    "KellyCoinflipEnv": "kelly_coinflip",
    "KellyCoinflipGeneralizedEnv": "kelly_coinflip_generalized",
    "NChainEnv": "nchain",
    "RouletteEnv": "roulette",
    "TaxiEnv": "taxi",
}

__getattr__ = lazy_names(__name__, _MODULES)
