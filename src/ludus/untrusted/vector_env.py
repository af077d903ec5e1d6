"""A batch of environments in one sandbox, as the host sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ludus.codec import DecodeLimits, admit, encode
from ludus.core.batch import BatchEnv, Stepped
from ludus.core.batch_arguments import BatchedSpaces
from ludus.core.types import State
from ludus.core.vector_env import AutoresetMode
from ludus.errors import (
    Inadmissible,
    RemoteEnvError,
    SandboxError,
    StateError,
)
from ludus.untrusted.channel.channel import Channel
from ludus.untrusted.channel.protocol import ANSWER, Kind, Op
from ludus.untrusted.opening import Opened
from ludus.untrusted.options import SandboxOptions
from ludus.untrusted.validate.actions import action_writer
from ludus.untrusted.validate.observations import batch_reader
from ludus.untrusted.validate.results import admitted_columns, admitted_info

__all__ = ["SandboxedVectorEnv"]

_CLOSE_TIMEOUT = 2.0
_FRAME_ITEMS = 100_000


class SandboxedVectorEnv(BatchEnv[Any, Any]):
    """``num_envs`` environments whose code runs in one sandbox.

    It is made by ``ludus.make_vec(..., sandbox=...)``. The sandbox resets finished environments;
    the host counts their steps and sees that time limits are kept. Raises what
    :class:`~ludus.untrusted.SandboxedEnv` does.

    Args:
        opened: the running sandbox.
        options: how it is run.
        num_envs: how many environments.
        limit: steps after which an episode must be truncated.
    """

    resets_itself = frozenset(AutoresetMode)

    def __init__(
        self, opened: Opened, options: SandboxOptions, num_envs: int, limit: int | None
    ) -> None:
        declared, plan = opened.declared, opened.plan
        super().__init__(
            num_envs,
            BatchedSpaces.of(declared.observation_space, declared.action_space, num_envs),
            metadata=declared.metadata,
            render_mode=declared.render_mode,
            autoreset_mode=declared.autoreset or AutoresetMode.NEXT_STEP,
            max_episode_steps=limit,
        )
        self.remote_name = declared.name
        self._options = options
        self._channel: Channel = opened.channel
        self._landing = opened.channel.landing
        self._rewards, self._flags = plan.rewards(self._landing), plan.flags(self._landing)
        self._finite = np.empty(num_envs, np.bool_)
        self._flag_bytes = memoryview(self._landing)[plan.flags_at :][: 2 * num_envs]
        self._read: Callable[[], Any] | None = None
        self._put: Callable[[Any], None] | None = None
        if plan.observation is not None:
            views = plan.observations(self._landing)
            self._read = batch_reader(
                declared.observation_space, views, rounding_steps=options.rounding_steps
            )
        if plan.action is not None:
            views = plan.actions(opened.channel.request)
            self._put = action_writer(declared.action_space, views, num_envs)

    def _reset_rows(
        self, rows: Any, seeds: Sequence[int | None] | None, options: dict[str, Any] | None
    ) -> dict[str, Any]:
        if len(rows) < self.num_envs:
            mask = np.zeros(self.num_envs, np.bool_)
            mask[rows] = True
            options = {**(options or {}), "reset_mask": mask}
        if self._episodes.ready:
            # After an error it is unknown which were reset; too short counts accuse none.
            self._episodes.begin(rows)
        given = [None if seeds is None else list(seeds), options]
        token = self._channel.ask(Op.RESET, encode(given, name="[seed, options]"))
        rewards, terminations, truncations, infos = self._result(
            *self._channel.result(token, self._limit())
        )
        if rewards.any() or terminations.any() or truncations.any():
            self._channel.violation("The sandbox sent rewards or flags with a reset.")
        return infos

    def _step_rows(self, rows: Any, actions: Any) -> Stepped:
        channel = self._channel
        if self._put is None:
            member = admit(self.action_space, actions, name="actions")
            token = channel.ask(Op.STEP, encode(member, name="actions"))
            stepped = self._result(*channel.result(token, self._limit()))
        else:
            self._put(actions)
            token = next(channel.tokens)
            channel.exchange(token)
            stepped = self._result(*channel.examine(token, self._limit()))
        rewards, terminations, truncations, _ = stepped
        try:
            self._episodes.check_flags(rewards, terminations | truncations, truncations)
        except Inadmissible as problem:
            channel.violation(str(problem))
        return stepped

    def _observe(self) -> Any:
        return self._observations

    def _limit(self) -> int:
        return self._options.infos.total_bytes + self._options.frame_bytes

    def _result(self, kind: Kind, extra: bytes) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Keep the observations and return rewards, flags and infos, all checked."""
        read = self._fixed_result if kind is Kind.RESULT else self._loose_result
        try:
            self._observations, rewards, (terminations, truncations), infos = read(extra)
        except Inadmissible as problem:
            self._channel.violation(str(problem))
        return rewards, terminations, truncations, infos

    def _fixed_result(self, extra: bytes) -> tuple[Any, Any, Any, dict[str, Any]]:
        if self._read is None:
            raise Inadmissible("the sandbox sent observations in a block that is not there.")
        _, _, ended, cut, _, reward = ANSWER.unpack_from(self._landing)
        if ended or cut or reward:
            raise Inadmissible("the header has flags or a reward, which are the block's.")
        # Anything left after removing zeros and ones is invalid.
        if bytes(self._flag_bytes).translate(None, b"\x00\x01"):
            raise Inadmissible("a flag is neither 0 nor 1.")
        flags = self._flags.copy().view(np.bool_)
        rewards = self._rewards.copy()
        self._check_rewards(rewards)
        infos: dict[str, Any] = {}
        if extra:
            told = admitted_info(extra, self._options.infos)
            infos = self._admit_infos(told, flags)
        return self._read(), rewards, flags, infos

    def _loose_result(self, extra: bytes) -> tuple[Any, Any, Any, dict[str, Any]]:
        parts = self._channel.decoded(extra, DecodeLimits(total_bytes=self._limit()))
        if type(parts) is not list or len(parts) != 5:
            raise Inadmissible("a result has five parts.")
        observations, rewards, ended, cut, told = parts
        shape = (self.num_envs,)
        for name, value, dtype in (
            ("rewards", rewards, np.float64),
            ("terminations", ended, np.bool_),
            ("truncations", cut, np.bool_),
        ):
            if type(value) is not np.ndarray or value.dtype != dtype or value.shape != shape:
                what = getattr(value, "dtype", type(value).__name__)
                raise Inadmissible(
                    f"{name} are no array of {np.dtype(dtype)} with {shape[0]} entries: {what}."
                )
        self._check_rewards(rewards)
        flags = np.stack([ended, cut])
        info = admitted_info(encode(told), self._options.infos)
        observations = admit(
            self.observation_space,
            observations,
            name="observations",
            rounding_steps=self._options.rounding_steps,
        )
        return observations, rewards, flags, self._admit_infos(info, flags)

    def _check_rewards(self, rewards: Any) -> None:
        np.isfinite(rewards, self._finite)
        if np.count_nonzero(self._finite) != self.num_envs:
            raise Inadmissible("a reward is not finite.")
        low, high = self._options.reward_range
        bounded = low != -np.inf or high != np.inf
        if bounded and (rewards.min() < low or rewards.max() > high):
            raise Inadmissible(f"a reward is not within {low} and {high}.")

    def _admit_infos(self, told: dict[str, Any], flags: Any) -> dict[str, Any]:
        finals = flags.any(axis=0) if self.autoreset_mode is AutoresetMode.SAME_STEP else None
        steps = self._options.rounding_steps
        return admitted_columns(told, self.num_envs, self.single_observation_space, finals, steps)

    # --- the rest of the contract ----------------------------------------------------------

    def render(self) -> tuple[Any, ...] | None:
        """Return the frames of all environments."""
        self._check_open()
        size = self._options.frame_bytes
        limits = DecodeLimits(
            total_bytes=size, array_bytes=size, string_bytes=size, depth=4, items=_FRAME_ITEMS
        )
        frames = self._channel.call(Op.RENDER, limits=limits)
        if frames is not None and type(frames) is not tuple:
            self._channel.violation(f"Frames are a tuple, got {type(frames).__name__}.")
        return frames

    def _save(self) -> State:
        return {"boxed": self._state_call(Op.GET_STATE, b"")}

    def _load(self, state: State) -> None:
        """Let the sandbox continue from a state; steps are counted anew from here."""
        self._state_call(Op.SET_STATE, encode(state["boxed"], name="state"))
        self._episodes.load(started=True, over=False)

    def _state_call(self, op: Op, payload: bytes) -> Any:
        size = self._options.state_bytes
        limits = DecodeLimits(total_bytes=size, array_bytes=size, string_bytes=min(size, 2**24))
        try:
            return self._channel.call(op, payload, limits=limits)
        except RemoteEnvError as problem:
            raise StateError(str(problem)) from problem

    def close_extras(self, **kwargs: Any) -> None:
        """Let the environments close themselves, then give the sandbox back."""
        if self._channel.closed:
            return
        try:
            self._channel.keeper.set_timeout(min(self._options.step_timeout, _CLOSE_TIMEOUT))
            self._channel.call(Op.CLOSE, limits=DecodeLimits(total_bytes=1024))
        finally:
            self.closed = True
            self._channel.close()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{name!r} cannot be had: the environments run in a sandbox, which hands out nothing "
            "but observations, rewards, flags, infos, frames and states."
        )

    def __reduce__(self) -> Any:
        raise SandboxError("Sandboxed environments cannot be pickled or copied; make others.")
