"""The environment class of the algorithmic tasks."""

from __future__ import annotations

from typing import Any, ClassVar

from ludus import logger
from ludus.envs.algorithmic.drawing import draw
from ludus.envs.algorithmic.tape import Params
from ludus.envs.screen import show_text
from ludus.kernel import KernelEnv

__all__ = ["AlgorithmicEnv"]


class AlgorithmicEnv(KernelEnv):
    """Read symbols one at a time, and write the output that the task requires.

    **Observations** are the symbol under the head, or the number of symbols where there is none.
    **Actions** are triples: the move of the head (0 left, 1 right; on a grid also 2 up, 3 down),
    whether to write (1) or not (0), and the symbol to write.

    **Rewards**: 1 for a right symbol, -0.5 for a wrong one. Moving is free for a number of steps
    that grows with the input; the step after them earns -1, whatever else it did. The episode
    **ends** there, with a wrong symbol, or with the last one.

    **Curriculum**: inputs are ``min_length`` to ``min_length + 2`` symbols long. Ten (in some tasks
    fifty) good episodes in a row make ``min_length`` one longer, up to 30. It belongs to the
    object: neither seeding nor a reset lowers it.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "ansi"],
        "render_fps": 4,
    }

    def __init__(self, params: Params, letters: bool, render_mode: str | None) -> None:
        self._symbols = [chr(ord("A") + i) if letters else str(i) for i in range(params.base)]
        super().__init__(params, render_mode=render_mode)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Write and move; warn about a symbol written after the last one."""
        result = super().step(action)
        if result[2] and self.state.written > self.state.target_length:
            logger.warn(
                "A symbol was written past the end of the target, although this environment had "
                "returned terminated = True. It counts as wrong; call reset() first."
            )
        return result

    def render(self) -> str | None:
        """Return both tapes, the target and the last step as text, or write it to stdout."""
        return show_text(self, self._text)

    def _text(self) -> str | None:
        if self.state is None:
            return None
        return draw(self.params, self.state, self.last_action, self._symbols)
