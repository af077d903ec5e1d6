"""Reconstructs the last action of an emulator with sticky actions.

With sticky actions the emulator sometimes repeats its last action, which is the only part of its
state that it does not save. It follows from the state that is saved: each frame draws two words of
the emulator's Mersenne Twister, and the first one decides. So repeating the draws since a known
point shows which of the recent actions was taken.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

__all__ = ["StickyActions"]

_WORDS = re.compile(rb"(?:\d+ ){624}\d+")
_OVERLOOKED = 1e-30
"""Probability that the last action is older than those recorded."""


class StickyActions:
    """Tracks and restores the last action of ``ale``, which repeats it with ``probability``."""

    def __init__(self, ale: Any, probability: float) -> None:
        self._ale = ale
        self._probability = probability
        memory = 1
        if 0 < probability < 1:
            memory = min(10_000, math.ceil(math.log(_OVERLOOKED) / math.log(probability)))
        self._recent: deque[tuple[int, float, int]] = deque(maxlen=memory)
        self._frames = 0
        self._known: tuple[int, float] = (0, 1.0)
        self._generator = b""

    def start(self) -> None:
        """Start a new episode, in which there is no last action yet."""
        if self._probability:
            self._begin(self._ale.cloneState(include_rng=True).serialize(), (0, 1.0))

    def took(self, action: int, strength: float, frames: int) -> None:
        """Record that an action was given to the emulator for some frames."""
        self._recent.append((action, strength, frames))
        self._frames += frames

    def held(self) -> tuple[int, float]:
        """Return number and strength of the action that the emulator would repeat."""
        if not self._probability or not self._frames:
            return self._known
        taken = self._decisions(self._generator, self._frames)
        end = self._frames
        for action, strength, frames in reversed(self._recent):
            if taken[end - frames : end].any():
                return action, strength
            end -= frames
        return self._known

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the last action while the block changes the emulator's state."""
        held = self.held()
        yield
        if self._probability:
            self._begin(self._ale.cloneState(include_rng=True).serialize(), held)

    def restore(self, state: Any, action: int, strength: float) -> None:
        """Set the emulator to ``state``, with a last action."""
        self._begin(state.serialize(), (action, strength))
        self._ale.restoreState(state)
        # The next frame of some games depends on the end of the last one, which is not saved. So
        # one frame is played from here and undone. Even so, a few pixels of the first two frames
        # may differ in Yars' Revenge, Tetris and 3-D Tic-Tac-Toe; memory and later frames do not.
        if not self._ale.getEpisodeFrameNumber():
            self._ale.reset_game()  # which holds no action
        elif self._probability < 1:
            self._hold(action, strength)
        else:
            self._ale.act(action, strength)
        self._ale.restoreState(state)

    def _hold(self, action: int, strength: float) -> None:
        """Play until the emulator takes the action."""
        block = 64
        while not (taken := self._decisions(self._generator, block)).any():
            block *= 2
        for _ in range(int(taken.argmax()) + 1):
            self._ale.act(action, strength)

    def _begin(self, serialised: bytes, known: tuple[int, float]) -> None:
        self._generator = _WORDS.findall(serialised)[-1]
        self._known = known
        self._frames = 0
        self._recent.clear()

    def _decisions(self, generator: bytes, frames: int) -> Any:
        """Return for each frame to come whether the emulator takes the new action."""
        *key, position = (int(word) for word in generator.split())
        twister = np.random.MT19937()
        words: Any = {"key": np.array(key, dtype=np.uint32), "pos": position}
        twister.state = {"bit_generator": "MT19937", "state": words}
        draws = twister.random_raw(2 * frames)[::2] / 2.0**32
        return draws >= np.float32(self._probability)
