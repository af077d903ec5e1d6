"""Environments whose state is the way that led to it.

Box2D does not let anyone set what its solver carries from step to step: the impulses in the
joints, how long a body has rested, the boxes of the broad phase. A world built from positions and
speeds would soon go another way. So a state holds where the random stream stood at the reset and
every action since; to set it is to run the episode again, which gives every bit as it was.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, SupportsFloat

import numpy as np

from ludus.core.env import Env
from ludus.core.finite import check_finite_batch, not_finite
from ludus.core.state import (
    copy_plain,
    read_fields,
    refusing_damage,
    rng_from_plain,
    rng_to_plain,
    write_fields,
)
from ludus.core.types import State
from ludus.envs.hooks import RefusesHooks
from ludus.envs.screen import Screen, warn_no_render_mode
from ludus.errors import ResetNeeded, StateError
from ludus.seeding import generator_state

__all__ = ["ReplayedEnv", "StepResult"]

StepResult = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]


class ReplayedEnv(RefusesHooks, Env[Any, Any]):
    """An environment saved as its reset and the actions since.

    Subclasses implement :meth:`_begin` and :meth:`_advance`, which draw from ``np_random`` only,
    :meth:`_plain_action` and :meth:`_show_on`. In :attr:`state_fields` they name what one episode
    leaves to the next, in :attr:`engine_fields` what belongs to the engine and cannot be copied.
    """

    uncalled_hooks: ClassVar[tuple[str, ...]] = ("_destroy",)

    state_fields: ClassVar[tuple[str, ...]] = ()
    engine_fields: ClassVar[tuple[str, ...]] = ()
    screen_size: ClassVar[tuple[int, int]]
    """Width and height of the picture in a window."""

    _screen: Screen | None = None
    # Gymnasium's names for the window, for subclasses with a render() of their own.
    screen: Any = None
    clock: Any = None
    isopen: bool = True
    _start: State | None = None
    _replayed: State | None = None
    _actions: list[Any]

    def _begin(self, reseeded: bool, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        """Build the world of a new episode; return the first observation and its info.

        ``reseeded`` tells whether the random stream was restarted for it.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement _begin()")

    def _advance(self, action: Any) -> StepResult:
        """Advance the world by what :meth:`_plain_action` returned."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _advance()")

    def _repeat(self, action: Any) -> None:
        """Advance the world as before, when nobody looks; override to leave out what costs."""
        self._advance(action)

    def _plain_action(self, action: Any) -> Any:
        """Return the action as a number or a tuple of numbers; raise InvalidAction."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _plain_action()")

    def _show_on(self, screen: Screen) -> np.ndarray[Any, Any] | None:
        """Draw the world and return what the screen makes of it."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _show_on()")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Build a new world."""
        super().reset(seed=seed)
        self._start = {
            "rng": rng_to_plain(self.np_random, self._np_random_seed),
            "reseeded": seed is not None,
            "options": None if options is None else dict(options),
            "carried": read_fields(self, self.state_fields),
        }
        self._actions = []
        result = self._begin(seed is not None, options)
        if self.render_mode == "human":
            self.render()
        return result

    def step(self, action: Any) -> StepResult:
        """Advance by one action.

        Raises:
            InvalidAction: It is not in the action space, or holds NaN or an infinite number.
            ResetNeeded: There was no reset yet.
        """
        if self._start is None:
            raise ResetNeeded("You forgot to call reset(): there is no world to act in yet.")
        plain = self._plain_action(action)
        # Would spread through the engine's world and crash it in the end.
        if plain.__class__ is tuple and not all(map(math.isfinite, plain)):
            raise not_finite(action, self.action_space)
        self._actions.append(plain)
        result = self._advance(plain)
        if self.render_mode == "human":
            self.render()
        return result

    def render(self) -> np.ndarray[Any, Any] | None:
        """Return a picture, or show it in a window; there is nothing to see before a reset."""
        if self.render_mode is None:
            warn_no_render_mode(self)
            return None
        if self._start is None:
            return None
        if self._screen is None:
            fps = self.metadata["render_fps"]
            self._screen = Screen(*self.screen_size, self.render_mode, fps)
        return self._show_on(self._screen)

    def close(self) -> None:
        """Close the window."""
        if self._screen is not None:
            self._screen.close()
            self._screen = None
            self.isopen = False
        super().close()

    @refusing_damage
    def set_state(self, state: State) -> None:
        """Run the saved episode again, up to where it was saved.

        Raises:
            StateError: The state belongs to another class or is damaged, or something else drew
                from the generator between the steps, so that they cannot be repeated.
        """
        super().set_state(state)
        replayed, self._replayed = self._replayed, None
        if replayed is not None and replayed != state["rng"]["generator"]:
            raise StateError(
                "The episode cannot be run again: np_random was drawn from or replaced between "
                "the steps. Give what draws in between a generator of its own."
            )

    def _save_state(self) -> State:
        if self._start is None:
            return {"carried": read_fields(self, self.state_fields)}
        # A copy, because options may hold anything.
        return {"start": copy_plain(self._start), "actions": np.array(self._actions)}

    def _load_state(self, fields: State) -> None:
        start = fields.get("start")
        if start is None:
            self._start = None
            write_fields(self, self.state_fields, fields["carried"])
            return
        start = copy_plain(start)
        actions = np.asarray(fields["actions"])
        check_finite_batch(actions, self.action_space)
        before, self._start = read_fields(self, self.state_fields), None
        try:
            write_fields(self, self.state_fields, start["carried"])
            self._np_random, self._np_random_seed = rng_from_plain(start["rng"])
            self._begin(start["reseeded"], start["options"])
            self._actions = actions.tolist()
            for action in self._actions:
                self._repeat(action)
        except BaseException:
            write_fields(self, self.state_fields, before)
            raise
        self._start = start
        self._replayed = generator_state(self.np_random)

    def __getstate__(self) -> dict[str, Any]:
        gone = {*self.engine_fields, "_np_random", "_np_random_seed", "_start", "_actions"}
        kept = {name: value for name, value in self.__dict__.items() if name not in gone}
        return {**kept, "_saved": self.get_state()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        saved = kept.pop("_saved")
        self.__dict__.update(kept)
        self.set_state(saved)
