"""Batches of one Atari game, stepped and preprocessed in native threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ludus.core.batch import BatchEnv
from ludus.core.batch_arguments import THREADS, BatchedSpaces
from ludus.core.types import State
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.envs.atari.batch_options import native_options
from ludus.envs.atari.batch_seeds import game_seeds, games_to_start
from ludus.envs.atari.emulator import import_ale
from ludus.envs.atari.joystick import action_table, joystick_space, push
from ludus.errors import (
    AlreadyPendingCallError,
    InvalidAction,
    NoAsyncCallError,
    StateError,
)
from ludus.spaces import Box, Discrete

__all__ = ["AtariVectorEnv"]

_NUMBERS = (np.dtype(np.int64), np.dtype(np.int32))


class AtariVectorEnv(BatchEnv[Any, Any]):
    """The emulator's own batch of games, with stacked, scaled, gray frames.

    A game of the batch is a single one under ``AtariPreprocessing`` and ``FrameStackObservation``
    with black frames for padding. ``make_vec(..., vectorization_mode="sync")`` batches raw screens.

    Args:
        game: Name of the cartridge, in snake_case.
        num_envs: How many games.
        batch_size: How many games :meth:`recv` waits for; 0 for all.
        num_threads: Threads; 0 lets the emulator choose.
        thread_affinity_offset: First processor to bind threads to; -1 binds none.
        max_num_frames_per_episode: Frames after which an episode is truncated; ``None`` for never.
        repeat_action_probability: Chance, each frame, that the last action is repeated instead.
        full_action_space: Offer all 18 actions instead of those that the game uses.
        continuous: Take actions as radius and angle of a joystick, and a trigger.
        continuous_action_threshold: How far joystick and trigger must be moved to count.
        autoreset_mode: When a finished game starts again.
        img_height: Height of the observed frames.
        img_width: Width of the observed frames.
        grayscale: Observe gray frames instead of colours.
        stack_num: How many frames an observation holds.
        frameskip: Frames per action.
        maxpool: Observe the maximum of the last two frames.
        noop_max: Start with up to this many frames without action.
        episodic_life: End an episode when a life is lost.
        life_loss_info: Report the loss of a life as a termination, without a reset.
        reward_clipping: Replace rewards by their sign.
        use_fire_reset: Fire at the start of games that wait for it.

    Raises:
        Error: An option has no such value, or there is no such game.
        DependencyNotInstalled: ale-py is not installed.
    """

    resets_itself = frozenset(AutoresetMode)
    # With life_loss_info, terminations are reported although the episode continues.
    counts_episodes = False
    not_forkable = THREADS

    def __init__(
        self,
        game: str,
        num_envs: int,
        *,
        batch_size: int = 0,
        num_threads: int = 0,
        thread_affinity_offset: int = -1,
        max_num_frames_per_episode: int | None = 108_000,
        repeat_action_probability: float = 0.0,
        full_action_space: bool = False,
        continuous: bool = False,
        continuous_action_threshold: float = 0.5,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        img_height: int = 84,
        img_width: int = 84,
        grayscale: bool = True,
        stack_num: int = 4,
        frameskip: int = 4,
        maxpool: bool = True,
        noop_max: int = 30,
        episodic_life: bool = False,
        life_loss_info: bool = False,
        reward_clipping: bool = True,
        use_fire_reset: bool = True,
    ) -> None:
        options = native_options(
            {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        )
        self.ale = import_ale().ALEVectorInterface(**options)
        self._actions = len(self.ale.get_action_set())
        frames = Box(0, 255, shape=tuple(self.ale.get_observation_shape()), dtype=np.uint8)
        pushes = joystick_space() if continuous else Discrete(self._actions)
        super().__init__(
            options["num_envs"],
            BatchedSpaces.of(frames, pushes, options["batch_size"]),
            metadata=self.metadata,
            autoreset_mode=autoreset_mode,
        )
        self.batch_size = options["batch_size"]
        self.continuous, self.grayscale = continuous, grayscale
        self.continuous_action_threshold = continuous_action_threshold
        self.map_action_idx = np.roll(action_table(), 1, axis=(0, 1))
        """Numbers of the actions, by push to the right plus 1, push upwards plus 1, and fire."""
        self._full_strength = np.ones(self.batch_size, dtype=np.float32)
        self._sent = False
        self._outstanding = 0

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | np.ndarray[Any, Any] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start games: all, or those of the boolean array ``options["reset_mask"]``.

        Results that were not received are discarded.

        Args:
            seed: An int gives consecutive seeds to the games that start; a list or an array holds
                one for each.
            options: ``reset_mask`` selects the games to reset.

        Raises:
            TypeError: Seed or mask are of the wrong type.
            ValueError: Seed or mask have the wrong shape, or some games are playing.
            ResetNeeded: A mask came before the first reset of all games.
            Error: A seed is negative.
        """
        self._check_open()
        VectorEnv.reset(self, seed=seed if isinstance(seed, int) else None)
        started = games_to_start(options, self.num_envs)
        seeds = game_seeds(seed, len(started))
        if len(started) < self.num_envs and self.batch_size < self.num_envs:
            raise ValueError(
                "`reset_mask` starts some games anew while the others wait, but with batch_size < "
                f"num_envs ({self.batch_size} < {self.num_envs}) some of them are playing. Reset "
                "all games, or build the environment with batch_size=0."
            )
        if len(started) < self.num_envs:
            self._episodes.check_mask(mask=False)
        self._drop_results()
        observations, infos = self.ale.reset(started, seeds)
        self._sent = False
        self._outstanding = self.num_envs - self.batch_size
        self._episodes.begin(started)
        return observations, infos

    def _drop_results(self) -> None:
        if self._outstanding % self.batch_size:
            raise AlreadyPendingCallError(
                f"{self._outstanding} games are being played, which is no multiple of batch_size="
                f"{self.batch_size}, so their results cannot be waited for. Choose a batch_size "
                "that divides num_envs, or build the batch anew.",
                "reset",
            )
        while self._outstanding:
            self.ale.recv()
            self._outstanding -= self.batch_size

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Send the actions and wait for the results."""
        self.send(actions)
        return self.recv()

    def send(self, actions: Any) -> None:
        """Start a step of the games received last, without waiting for it.

        Raises:
            InvalidAction: The actions are not an array of the right type and shape, or there is no
                such action.
            ResetNeeded: There was no reset, or a game is over and nothing resets it.
            AlreadyPendingCallError: Nothing was received since the last call.
        """
        self._check_open()
        if self.continuous:
            batch = (self.batch_size,)
            numbers, strengths = push(actions, self.continuous_action_threshold, batch)
        else:
            numbers, strengths = self._checked(actions), self._full_strength
        self._check_episodes()
        if self._sent:
            raise AlreadyPendingCallError(
                "send() called twice: the games still play the last actions; call recv() first.",
                "send",
            )
        self.ale.send(numbers, strengths)
        self._sent = True
        self._outstanding += self.batch_size

    def _checked(self, actions: Any) -> np.ndarray[Any, Any]:
        shape = (self.batch_size,)
        if (
            not isinstance(actions, np.ndarray)
            or actions.dtype not in _NUMBERS
            or actions.shape != shape
        ):
            kind = getattr(actions, "dtype", type(actions).__name__)
            raise InvalidAction(
                f"Actions are an array of int64 or int32 of shape {shape}; got {kind} of shape "
                f"{np.shape(actions)}."
            )
        # An invalid action would end the emulator's threads, and recv() would wait forever.
        if np.count_nonzero((actions < 0) | (actions >= self._actions)):
            raise InvalidAction(
                f"Actions are numbers from 0 to {self._actions - 1}; got {actions.tolist()}."
            )
        return actions

    def recv(self) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Return the results of the next ``batch_size`` games; ``info["env_id"]`` is their indices.

        Raises:
            NoAsyncCallError: No game is being played.
        """
        self._check_open()
        if self._outstanding < self.batch_size:
            raise NoAsyncCallError("recv() called without send(): nothing would arrive.", "recv")
        observations, rewards, terminations, truncations, infos = self.ale.recv()
        self._outstanding -= self.batch_size
        self._sent = False
        over = terminations | truncations
        if self.autoreset_mode is AutoresetMode.DISABLED:
            self._episodes.count(rewards, over)
        return observations, rewards, terminations, truncations, infos

    def get_state(self) -> State:
        """Raise: the emulator's batches cannot be saved.

        Raises:
            StateError: Always; a batch of single environments can be saved.
        """
        raise StateError(
            "AtariVectorEnv cannot save its state, since the emulator keeps its batches to itself; "
            'make_vec(..., vectorization_mode="sync") builds a batch that can be saved.'
        )

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the emulator's threads."""
        del self.ale
