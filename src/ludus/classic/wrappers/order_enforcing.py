"""Refusing steps before the first reset."""

from __future__ import annotations

from typing import Any

from ludus.classic.error import NotResetYet
from ludus.classic.wrapper import Wrapper

__all__ = ["OrderEnforcing"]


class OrderEnforcing(Wrapper):
    """Refuse ``step`` before the first ``reset``."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._has_reset = False

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Step.

        Raises:
            NotResetYet: ``reset`` has not been called.
        """
        if not self._has_reset:
            raise NotResetYet("Cannot call env.step() before calling reset()")
        return self.env.step(action)  # type: ignore[no-any-return]

    def reset(self, **kwargs: Any) -> Any:
        """Reset."""
        self._has_reset = True
        return self.env.reset(**kwargs)
